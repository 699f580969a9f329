//! What tells git how to treat `.ghyll`: which files belong to one clone alone,
//! and that the rest travels byte for byte.
//!
//! A line-end conversion breaks every chain, and a textual merge of two pass
//! files makes one that verifies in neither clone. What somebody wrote into these
//! files stays: only lines that are missing are put in. What to ignore is
//! theirs to overrule, so ours goes in front; that bytes stay as they are is
//! not, so ours goes behind, and the last line counts.

use std::io;

use cap_std::fs::Dir;
use serde::Serialize;

use crate::files::bounded::read_below;
use crate::files::disk::CapDisk;
use crate::files::replace::replace;

/// What belongs to one clone alone, and, against a pattern of a directory
/// above, what does not.
const IGNORE: (&str, &str) = (
    ".gitignore",
    "\
# What belongs to this clone alone; everything else here is the record, and travels.
/engine.db*
/attestations.jsonl
/lock
/sessions/
/history
/chats/
.*.tmp
# The record is kept whatever the directories above ignore.
!/attestations/
!/attestations/**
!/subjects/
!/subjects/**
!/grid.*
!/checkpoint.json
!/accepted-losses.jsonl
",
);

/// How the rest travels.
const ATTRIBUTES: (&str, &str) = (
    ".gitattributes",
    "\
# Every byte as it is: no line-end conversion and no filter; and never a merge line by
# line, which would make a chain that verifies nowhere. Differences are shown as ever.
* -text -merge -ident -filter !working-tree-encoding
",
);

/// The most that is read of a file that is there.
const MAX_BYTES: u64 = 1 << 20;

/// What was done about one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GitFile {
    /// Its name below `.ghyll`.
    pub name: &'static str,
    /// What was done.
    pub done: Done,
    /// The lines put in, comments aside.
    pub added: Vec<&'static str>,
}

/// What was done about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Done {
    /// It was not there.
    Written,
    /// It lacked lines.
    Extended,
    /// It had all it needs.
    Nothing,
}

/// Why a file could not be written; its name comes first.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {source}")]
pub struct GitFileError {
    /// Its name below `.ghyll`.
    pub name: &'static str,
    /// Why.
    pub source: io::Error,
}

impl GitFileError {
    /// The public code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "git-file-write-failed"
    }
}

/// Writes both files in this `.ghyll` directory, or what they lack.
///
/// # Errors
/// [`GitFileError`]; a file that could not be written is what it was.
pub fn write(ghyll: &Dir) -> Result<Vec<GitFile>, GitFileError> {
    let mut all = Vec::new();
    for (name, text) in [IGNORE, ATTRIBUTES] {
        all.push(write_one(ghyll, name, text).map_err(|source| GitFileError { name, source })?);
    }
    Ok(all)
}

fn write_one(ghyll: &Dir, name: &'static str, text: &'static str) -> io::Result<GitFile> {
    let is_rule = |line: &&str| !line.starts_with('#');
    let disk = CapDisk::new(ghyll)?;
    let present = read_below(&disk, name, MAX_BYTES).map_err(io::Error::other)?;
    let Some(present) = present else {
        replace(&disk, name, text.as_bytes())?;
        return Ok(GitFile {
            name,
            done: Done::Written,
            added: text.lines().filter(is_rule).collect(),
        });
    };
    let has = |line: &str| {
        present
            .split(|byte| *byte == b'\n')
            .any(|there| there.trim_ascii() == line.as_bytes())
    };
    let added: Vec<&str> = text
        .lines()
        .filter(is_rule)
        .filter(|line| !has(line))
        .collect();
    let done = if added.is_empty() {
        Done::Nothing
    } else {
        let mut ours = added.join("\n").into_bytes();
        ours.push(b'\n');
        let mut whole = present;
        if name == ATTRIBUTES.0 {
            if whole.last().is_some_and(|last| *last != b'\n') {
                whole.push(b'\n');
            }
            whole.append(&mut ours);
        } else {
            ours.append(&mut whole);
            whole = ours;
        }
        replace(&disk, name, &whole)?;
        Done::Extended
    };
    Ok(GitFile { name, done, added })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use cap_std::ambient_authority;
    use tempfile::TempDir;

    use super::*;

    fn project() -> (TempDir, Dir) {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join(".ghyll")).unwrap();
        let ghyll = Dir::open_ambient_dir(temp.path().join(".ghyll"), ambient_authority());
        (temp, ghyll.unwrap())
    }

    fn done(ghyll: &Dir) -> [Done; 2] {
        let all = write(ghyll).unwrap();
        [all[0].done, all[1].done]
    }

    #[test]
    fn once_written_nothing_is_missing() {
        let (_temp, ghyll) = project();
        assert_eq!(done(&ghyll), [Done::Written; 2]);
        let before = ghyll.read(".gitignore").unwrap();
        assert_eq!(done(&ghyll), [Done::Nothing; 2]);
        assert_eq!(ghyll.read(".gitignore").unwrap(), before);
    }

    #[test]
    fn what_somebody_wrote_stays() {
        let (_temp, ghyll) = project();
        let theirs = "/lock\r\n# ours\n/notes/\n/subjects/";
        ghyll.write(".gitignore", theirs).unwrap();
        let all = write(&ghyll).unwrap();
        assert_eq!(all[0].done, Done::Extended);
        assert!(all[0].added.contains(&"/engine.db*") && !all[0].added.contains(&"/lock"));
        let text = ghyll.read_to_string(".gitignore").unwrap();
        assert!(text.ends_with(&format!("\n{theirs}")), "{text}");
        assert_eq!(text.matches("/lock").count(), 1);
        ghyll.write(".gitattributes", "* text\n*.md diff").unwrap();
        assert_eq!(write(&ghyll).unwrap()[1].done, Done::Extended);
        let text = ghyll.read_to_string(".gitattributes").unwrap();
        assert!(text.starts_with("* text\n*.md diff\n* -text "), "{text}");
        assert_eq!(done(&ghyll), [Done::Nothing; 2]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_neither_followed_nor_replaced() {
        let (temp, ghyll) = project();
        std::fs::write(temp.path().join("theirs"), "kept").unwrap();
        ghyll.symlink("../theirs", ".gitattributes").unwrap();
        let error = write(&ghyll).unwrap_err();
        assert_eq!(error.name, ".gitattributes");
        assert_eq!(
            std::fs::read_to_string(temp.path().join("theirs")).unwrap(),
            "kept"
        );
    }

    fn git(root: &Path, args: &[&str]) -> (bool, String) {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
            .args(["-c", "core.autocrlf=true", "-c", "core.safecrlf=false"])
            .args(args)
            .current_dir(root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("GIT_DIR")
            .output()
            .expect("git runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.success(),
            format!("{}{}", text(&output.stdout), text(&output.stderr)),
        )
    }

    /// What git itself makes of the two files.
    #[test]
    fn git_keeps_the_record_and_leaves_the_rest() {
        let (temp, ghyll) = project();
        let root = temp.path();
        // Put in where there was another opinion.
        ghyll
            .write(".gitattributes", "* text=auto eol=crlf\n")
            .unwrap();
        write(&ghyll).unwrap();
        // A project that ignores much.
        std::fs::write(
            root.join(".gitignore"),
            "*.jsonl\n*.json\nsubjects/\n*.yaml\n",
        )
        .unwrap();
        std::fs::write(
            root.join(".gitattributes"),
            "* text=auto\n*.jsonl merge=union\n",
        )
        .unwrap();
        let kept = [
            "accepted-losses.jsonl",
            "attestations/v1/c/stratum-s/a__b/p.jsonl",
            "checkpoint.json",
            "grid.current",
            "grid.schema.json",
            "grid.v1.yaml",
            "subjects/ab/abcd",
        ];
        let own = [
            "attestations.jsonl",
            "chats/1.jsonl",
            "engine.db",
            "engine.db-wal",
            "history",
            "lock",
            "sessions/1",
            ".grid.current.1-0.tmp",
        ];
        for name in kept.iter().chain(&own) {
            let file = root.join(".ghyll").join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "one\r\ntwo\nthree\n").unwrap();
        }
        let ok = |args: &[&str]| {
            let (ok, said) = git(root, args);
            assert!(ok, "{args:?}: {said}");
            said
        };
        ok(&["init", "-q", "-b", "main"]);
        ok(&["add", "-A"]);
        let tracked = ok(&["ls-files", ".ghyll"]);
        let mut expected = vec![".gitattributes".to_owned(), ".gitignore".to_owned()];
        expected.extend(kept.map(str::to_owned));
        let expected: Vec<String> = expected
            .iter()
            .map(|name| format!(".ghyll/{name}"))
            .collect();
        assert_eq!(tracked.lines().collect::<Vec<_>>(), expected);
        ok(&["commit", "-q", "-m", "one"]);

        // Both ways, whatever the line ends.
        std::fs::remove_dir_all(root.join(".ghyll/attestations")).unwrap();
        ok(&["checkout", "-q", "--", "."]);
        let pass = root.join(".ghyll").join(kept[1]);
        assert_eq!(std::fs::read(&pass).unwrap(), b"one\r\ntwo\nthree\n");

        // Two sides that append are a conflict, and neither is mixed in.
        ok(&["checkout", "-q", "-b", "other"]);
        std::fs::write(&pass, "one\r\ntwo\nthree\nother\n").unwrap();
        let shown = ok(&["diff", "--", ".ghyll"]);
        assert!(shown.contains("+other"), "differences can be read: {shown}");
        ok(&["commit", "-q", "-a", "-m", "other"]);
        ok(&["checkout", "-q", "main"]);
        std::fs::write(&pass, "one\r\ntwo\nthree\nours\n").unwrap();
        ok(&["commit", "-q", "-a", "-m", "ours"]);
        let (merged, said) = git(root, &["merge", "-q", "other"]);
        assert!(!merged, "{said}");
        assert_eq!(std::fs::read(&pass).unwrap(), b"one\r\ntwo\nthree\nours\n");
    }
}
