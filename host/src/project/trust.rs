//! Whose project it is.
//!
//! A project says which commands are run (its machine clauses), as whoever
//! opens it. So one that belongs to somebody else, found on a shared disk or
//! above the current directory, is a way to have one's commands run by others.
//! It is refused before anything of it is read, unless `GHYLL_TRUST` lists its
//! directory (absolute paths, separated as in `PATH`), or is `*`.
//!
//! The reasoning is git's, for its `safe.directory`. What counts is who owns
//! `.ghyll` and as whom ghyll runs. Root is no exception, for what root runs
//! does the most harm: a container that works as root on a folder of its host
//! says `GHYLL_TRUST`. Under `sudo` the project of the person who called it is
//! as good as root's own, for they could have run the commands as root anyway.

use std::path::Path;

use cap_std::fs::Metadata;

use super::ProjectError;

/// The environment variable that lists what is trusted.
#[cfg(unix)]
const TRUST_ENV: &str = "GHYLL_TRUST";

/// Refuses a `.ghyll` of another user.
///
/// # Errors
/// `project-owner-untrusted`.
#[cfg(unix)]
pub(super) fn check(root: &Path, ghyll: &Metadata) -> Result<(), ProjectError> {
    let owner = cap_std::fs::MetadataExt::uid(ghyll);
    let who = Who {
        uid: rustix::process::geteuid().as_raw(),
        sudo_uid: std::env::var("SUDO_UID")
            .ok()
            .and_then(|uid| uid.parse().ok()),
    };
    if who.may_trust(owner) || lists(std::env::var_os(TRUST_ENV).as_deref(), root) {
        return Ok(());
    }
    Err(ProjectError::Untrusted {
        path: root.join(super::GHYLL_DIR),
        root: root.to_owned(),
        owner,
    })
}

/// Owners are no numbers there, and a directory of another user cannot be
/// found above one's own without an administrator having put it there.
#[cfg(not(unix))]
pub(super) fn check(_: &Path, _: &Metadata) -> Result<(), ProjectError> {
    Ok(())
}

/// As whom ghyll runs.
#[cfg(unix)]
#[derive(Debug, Clone, Copy)]
struct Who {
    uid: u32,
    sudo_uid: Option<u32>,
}

#[cfg(unix)]
impl Who {
    fn may_trust(self, owner: u32) -> bool {
        // Only root's environment may say who called: anybody can set it.
        owner == self.uid || (self.uid == 0 && self.sudo_uid == Some(owner))
    }
}

/// Whether `trusted` names `root`, whose links are resolved.
#[cfg(unix)]
fn lists(trusted: Option<&std::ffi::OsStr>, root: &Path) -> bool {
    let Some(trusted) = trusted else {
        return false;
    };
    trusted == "*"
        || std::env::split_paths(trusted)
            // A relative one would trust whatever one happens to be in.
            .filter(|path| path.is_absolute())
            .any(|path| path.canonicalize().is_ok_and(|path| path == root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_trusted_by_its_owner_and_by_root_for_who_called_sudo() {
        let who = |uid, sudo_uid| Who { uid, sudo_uid };
        for (who, owner, trusted) in [
            (who(1000, None), 1000, true),
            (who(1000, None), 0, false),
            (who(1000, None), 1001, false),
            (who(1000, Some(1001)), 1001, false),
            (who(0, None), 0, true),
            (who(0, None), 1000, false),
            (who(0, Some(1000)), 1000, true),
            (who(0, Some(1000)), 1001, false),
        ] {
            assert_eq!(who.may_trust(owner), trusted, "{who:?}: {owner}");
        }
    }

    #[test]
    fn a_list_trusts_what_it_names_and_nothing_below_or_beside() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (a, b) = (root.join("a"), root.join("a/b"));
        std::fs::create_dir_all(&b).unwrap();
        std::os::unix::fs::symlink(&a, root.join("link")).unwrap();
        let lists = |list: String, path: &Path| lists(Some(list.as_ref()), path);
        let (root, a_text) = (root.display(), a.display());
        assert!(lists("*".to_owned(), &a));
        assert!(lists(format!("/nowhere:{a_text}/"), &a));
        assert!(lists(format!("{root}/link"), &a));
        assert!(!lists(format!("{a_text}"), &b));
        assert!(!lists(format!("{a_text}/b"), &a));
        assert!(!lists(format!("{a_text}/*"), &b));
        assert!(!lists(String::new(), &std::env::current_dir().unwrap()));
        assert!(!lists(".".to_owned(), &std::env::current_dir().unwrap()));
        assert!(!super::lists(None, &a));
    }
}
