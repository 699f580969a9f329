//! Which files git tracks or would track.
//!
//! Git is not asked: a repository may name programs for git to run, and a
//! machine that checks a record may have no git. What matters is little and
//! its format is documented: the index (what is tracked) and the ignore rules
//! (what would not be): `.gitignore` in each directory, `info/exclude`, and
//! `core.excludesFile` of the repository, else of the user, else git's default
//! `~/.config/git/ignore`. Tests hold the result against git itself.
//!
//! The environment that redirects git (`GIT_DIR` and its like) is not heeded.
//! A repository within the work tree, a submodule or not, is a work tree with
//! an index and rules of its own: its files count, git's list of the outer one
//! would have only its name. A project that the repository around it ignores
//! as a whole, tracking nothing of it, is in no work tree.

use std::borrow::Cow;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};

use super::covers::as_path;
use super::error::SubjectError;
use super::git_index::{MAX_BYTES, Tracked};
use crate::git::{GitDirs, read_small};

/// The largest file of ignore rules, in bytes.
const RULES_MAX: u64 = 8 << 20;
const SMALL: u64 = 1 << 20;
/// The file with a directory's ignore rules.
pub(super) const GITIGNORE: &str = ".gitignore";

/// A repository whose work tree holds some of the files.
pub(super) struct Repository {
    /// What stands before a path from the project's root, to make it one from
    /// the work tree's.
    lead: Vec<u8>,
    /// Or how much of it is to be taken off.
    skip: usize,
    index: PathBuf,
    oid: usize,
    tracked: OnceLock<Result<Tracked, String>>,
    /// `info/exclude`, then the user's; the first that decides counts.
    exclude: [Gitignore; 2],
}

/// The ignore rules that hold in a directory: its own, then those above.
pub(super) struct Rules {
    repository: Arc<Repository>,
    own: Option<Gitignore>,
    /// Where the directory's path ends in a path from the work tree's root.
    at: usize,
    above: Option<Arc<Rules>>,
    /// The directory is ignored: only what is tracked in it counts.
    ignored: bool,
}

impl Rules {
    /// Those that hold at the project's root, if it is in a work tree.
    ///
    /// # Errors
    /// `subject-git-unreadable`.
    pub(super) fn of_project(root: &Path) -> Result<Option<Arc<Self>>, SubjectError> {
        for top in root.ancestors() {
            let Some(dirs) = GitDirs::of(top).map_err(SubjectError::repository)? else {
                continue;
            };
            let below = root.strip_prefix(top).unwrap_or(Path::new(""));
            let mut lead = below.as_os_str().as_bytes().to_vec();
            if !lead.is_empty() {
                lead.push(b'/');
            }
            let repository = Repository::open(&dirs, lead, 0)?;
            let mut rules = Arc::new(Self::top(repository, read_rules(&top.join(GITIGNORE))?));
            let (mut path, mut dir) = (Vec::new(), top.to_owned());
            for name in below.components() {
                let name = name.as_os_str();
                path = super::beneath::join(&path, name.as_bytes());
                dir.push(name);
                if rules.ignores(&path, true) {
                    // All of the project, or only what is tracked of it.
                    if !rules.repository.tracked()?.has_below(&path) {
                        return Ok(None);
                    }
                    rules = Arc::new(rules.below(&path, None, true));
                } else {
                    let own = read_rules(&dir.join(GITIGNORE))?;
                    rules = Arc::new(rules.below(&path, own, rules.ignored));
                }
            }
            return Ok(Some(rules));
        }
        Ok(None)
    }

    /// Those at the root of a repository within, at `dir` from the project's
    /// root; `None` if there is none.
    ///
    /// # Errors
    /// `subject-git-unreadable`.
    pub(super) fn of_repository_at(
        root: &Path,
        dir: &[u8],
        own: Option<Gitignore>,
    ) -> Result<Option<Self>, SubjectError> {
        let Some(dirs) = GitDirs::of(&root.join(as_path(dir))).map_err(SubjectError::repository)?
        else {
            return Ok(None);
        };
        let repository = Repository::open(&dirs, Vec::new(), dir.len() + 1)?;
        Ok(Some(Self::top(repository, own)))
    }

    fn top(repository: Repository, own: Option<Gitignore>) -> Self {
        Self {
            repository: Arc::new(repository),
            own,
            at: 0,
            above: None,
            ignored: false,
        }
    }

    /// Those of a directory in this one, `dir` from the work tree's root.
    fn below(self: &Arc<Self>, dir: &[u8], own: Option<Gitignore>, ignored: bool) -> Self {
        Self {
            repository: Arc::clone(&self.repository),
            own,
            at: dir.len() + 1,
            above: Some(Arc::clone(self)),
            ignored,
        }
    }

    /// Those of a directory below the project's root, `dir` from there.
    pub(super) fn enter(
        self: &Arc<Self>,
        dir: &[u8],
        own: Option<Gitignore>,
        ignored: bool,
    ) -> Arc<Self> {
        if own.is_none() && ignored == self.ignored {
            return Arc::clone(self);
        }
        let dir = self.repository.path(dir).into_owned();
        Arc::new(self.below(&dir, own, ignored))
    }

    /// Whether git would leave this file alone: ignored and not tracked.
    ///
    /// # Errors
    /// `subject-git-unreadable`, when that takes the index.
    pub(super) fn leaves_file(&self, path: &[u8]) -> Result<bool, SubjectError> {
        let path = self.repository.path(path);
        if !self.ignored && !self.ignores(&path, false) {
            return Ok(false);
        }
        Ok(!self.repository.tracked()?.has(&path))
    }

    /// Whether git would look into this directory, and if so whether it is
    /// ignored, so that only what is tracked in it counts.
    ///
    /// # Errors
    /// `subject-git-unreadable`, when that takes the index.
    pub(super) fn enters(&self, dir: &[u8]) -> Result<Option<bool>, SubjectError> {
        let dir = self.repository.path(dir);
        if !self.ignored && !self.ignores(&dir, true) {
            return Ok(Some(false));
        }
        Ok(self.repository.tracked()?.has_below(&dir).then_some(true))
    }

    /// Whether the rules say so of a path from the work tree's root, what is
    /// above it being not ignored.
    fn ignores(&self, path: &[u8], is_dir: bool) -> bool {
        let mut rules = Some(self);
        while let Some(here) = rules {
            if let Some(own) = &here.own {
                let name = path.get(here.at..).unwrap_or_default();
                match own.matched(as_path(name), is_dir) {
                    Match::None => {}
                    decided => return decided.is_ignore(),
                }
            }
            rules = here.above.as_deref();
        }
        for exclude in &self.repository.exclude {
            match exclude.matched(as_path(path), is_dir) {
                Match::None => {}
                decided => return decided.is_ignore(),
            }
        }
        false
    }
}

impl Repository {
    fn open(dirs: &GitDirs, lead: Vec<u8>, skip: usize) -> Result<Self, SubjectError> {
        let path = dirs.common.join("config");
        let config = read_small(&path, SMALL).map_err(|e| SubjectError::git(&path, e))?;
        let config = String::from_utf8_lossy(config.as_deref().unwrap_or_default()).into_owned();
        let oid = match config_value(&config, "extensions", "objectformat") {
            Some(format) if format.eq_ignore_ascii_case("sha256") => 32,
            _ => 20,
        };
        let users = match config_value(&config, "core", "excludesfile") {
            Some(path) if !path.is_empty() => Some(from_home(&path)),
            _ => gitconfig_excludes_path(),
        };
        let users = users.map(|path| read_rules(&path)).transpose()?.flatten();
        let repositorys = read_rules(&dirs.common.join("info/exclude"))?;
        Ok(Self {
            lead,
            skip,
            index: dirs.own.join("index"),
            oid,
            tracked: OnceLock::new(),
            exclude: [repositorys, users].map(|rules| rules.unwrap_or_else(Gitignore::empty)),
        })
    }

    /// A path from the project's root as one from the work tree's.
    fn path<'a>(&self, path: &'a [u8]) -> Cow<'a, [u8]> {
        if self.lead.is_empty() {
            return Cow::Borrowed(path.get(self.skip..).unwrap_or_default());
        }
        let mut whole = self.lead.clone();
        whole.extend(path);
        Cow::Owned(whole)
    }

    /// Read when first needed: mostly nothing that is ignored is covered.
    fn tracked(&self) -> Result<&Tracked, SubjectError> {
        let tracked = self.tracked.get_or_init(|| {
            match read_small(&self.index, MAX_BYTES).map_err(|e| e.to_string())? {
                Some(bytes) => Tracked::parse(&bytes, self.oid).map_err(str::to_owned),
                None => Ok(Tracked::default()),
            }
        });
        tracked
            .as_ref()
            .map_err(|why| SubjectError::git(&self.index, why))
    }
}

fn read_rules(path: &Path) -> Result<Option<Gitignore>, SubjectError> {
    // As git does, a link in the place of a work tree's rules is passed over.
    if path.ends_with(GITIGNORE) && path.is_symlink() {
        return Ok(None);
    }
    let bytes = read_small(path, RULES_MAX).map_err(|e| SubjectError::git(path, e))?;
    Ok(bytes.map(|bytes| rules_of(&bytes)))
}

/// The rules of a file of the work tree.
///
/// # Errors
/// Those of reading; a file larger than 8 MiB.
pub(super) fn read_gitignore(file: impl Read) -> io::Result<Gitignore> {
    let mut bytes = Vec::new();
    file.take(RULES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > RULES_MAX {
        return Err(io::Error::other(format!("larger than {RULES_MAX} bytes")));
    }
    Ok(rules_of(&bytes))
}

fn rules_of(bytes: &[u8]) -> Gitignore {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let mut builder = GitignoreBuilder::new("");
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // A line that is no pattern matches nothing, as in git.
        let _ = builder.add_line(None, &String::from_utf8_lossy(line));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn from_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(path),
    }
}

/// The last value of a key in the section without a subsection.
fn config_value(text: &str, section: &str, key: &str) -> Option<String> {
    let (mut inside, mut value) = (false, None);
    for line in text.lines().map(str::trim) {
        let mut line = line;
        if let Some(rest) = line.strip_prefix('[') {
            let (name, after) = rest.split_once(']').unwrap_or((rest, ""));
            inside = name.trim().eq_ignore_ascii_case(section);
            line = after.trim();
        }
        if !inside {
            continue;
        }
        if let Some((name, text)) = line.split_once('=')
            && name.trim().eq_ignore_ascii_case(key)
        {
            value = Some(text.trim().trim_matches('"').to_owned());
        }
    }
    value
}
