//! The history of a project's sessions: commands to be recalled, and nothing
//! an operator said in answer to a question.
//!
//! Kept below `.ghyll`, where no symbolic link is followed. It is a
//! convenience: if it cannot be read or written, the session does without.

use std::io::{Read, Write};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, OpenOptions};

/// The file, in `.ghyll`.
const FILE: &str = "history";
/// The lines kept.
const LINES_MAX: usize = 500;
/// The bytes read.
const BYTES_MAX: u64 = 1 << 20;

/// A project's history.
pub struct History {
    dir: Option<Dir>,
}

impl History {
    /// The history in `ghyll`, the project's own directory.
    pub fn of(ghyll: &Dir) -> Self {
        Self {
            dir: ghyll.try_clone().ok(),
        }
    }

    /// The lines kept, oldest first.
    pub fn lines(&self) -> Vec<String> {
        let Some(mut file) = self.open(OpenOptions::new().read(true)) else {
            return Vec::new();
        };
        let mut bytes = Vec::new();
        if Read::by_ref(&mut file)
            .take(BYTES_MAX)
            .read_to_end(&mut bytes)
            .is_err()
        {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let old = lines.len().saturating_sub(LINES_MAX);
        if old > LINES_MAX {
            // Once in a while the file is cut to what is kept.
            self.rewrite(lines.get(old..).unwrap_or_default());
        }
        lines.into_iter().skip(old).collect()
    }

    /// Keeps a line. What would be no line, or no text to show, is left out.
    pub fn add(&self, line: &str) {
        if line.chars().any(char::is_control) {
            return;
        }
        if let Some(mut file) = self.open(OpenOptions::new().append(true).create(true)) {
            // A convenience: without it the session goes on.
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }

    fn rewrite(&self, lines: &[String]) {
        if let Some(mut file) = self.open(OpenOptions::new().write(true).truncate(true)) {
            let _ = file.write_all(format!("{}\n", lines.join("\n")).as_bytes());
        }
    }

    fn open(&self, options: &mut OpenOptions) -> Option<std::fs::File> {
        options.follow(FollowSymlinks::No);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        Some(self.dir.as_ref()?.open_with(FILE, options).ok()?.into_std())
    }
}

/// What of a command may be kept: no evidence, and no operator's id either.
pub fn worth_keeping(line: &str) -> Option<String> {
    let line = line.trim();
    let mut words = line.split_whitespace();
    match words.next()? {
        // The ref and the verdict; what follows is evidence.
        "/attest" => {
            let kept: Vec<&str> = words.take(2).take_while(|w| !w.starts_with('-')).collect();
            Some(format!("/attest {}", kept.join(" ")).trim_end().to_owned())
        }
        "/op-id" | "/run-arrow" | "/attestations" | "/passes" | "/findings" | "/pending"
        | "/help" => Some(line.to_owned()),
        // Chat may hold anything, keys among it.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use cap_std::ambient_authority;

    use super::*;

    #[test]
    fn commands_are_kept_and_evidence_and_chat_are_not() {
        assert_eq!(
            worth_keeping("/run-arrow A-x ").as_deref(),
            Some("/run-arrow A-x")
        );
        assert_eq!(
            worth_keeping("/attest att-x fail --inspected a.rs --residue 'secret'").as_deref(),
            Some("/attest att-x fail"),
        );
        assert_eq!(
            worth_keeping("/attest --residue secret att-x pass").as_deref(),
            Some("/attest")
        );
        assert_eq!(worth_keeping("my key is sk-123"), None);
        assert_eq!(worth_keeping("/typo sk-123"), None);
    }

    #[test]
    fn lines_come_back_in_order_and_the_oldest_go() {
        let dir = tempfile::tempdir().unwrap();
        let ghyll = Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap();
        let history = History::of(&ghyll);
        assert_eq!(history.lines(), Vec::<String>::new());
        for n in 0..LINES_MAX * 2 + 5 {
            history.add(&format!("/run-arrow {n}"));
        }
        history.add("two\nlines");
        let lines = history.lines();
        assert_eq!(lines.len(), LINES_MAX);
        assert_eq!(
            lines.last().unwrap(),
            &format!("/run-arrow {}", LINES_MAX * 2 + 4)
        );
        assert_eq!(history.lines(), lines);
        let kept = std::fs::read_to_string(dir.path().join(FILE)).unwrap();
        assert_eq!(kept.lines().count(), LINES_MAX);
    }
}
