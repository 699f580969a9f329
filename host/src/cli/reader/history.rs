//! The history of a project's sessions: commands to be recalled, and nothing
//! an operator said in answer to a question.
//!
//! Kept below `.ghyll`, where no symbolic link is followed. It is a
//! convenience: if it cannot be read or written, the session does without.

use std::io;

use cap_std::fs::Dir;
use ghyll::files::bounded::read_below;
use ghyll::files::disk::CapDisk;
use ghyll::files::replace::replace;
use ghyll::files::{Way, open_below};
use ghyll::text::is_harmless;

/// The file, in `.ghyll`.
const FILE: &str = "history";
/// The lines kept.
const LINES_MAX: usize = 500;
/// The longest file that is read, in bytes; one that is longer was not written
/// here.
const BYTES_MAX: u64 = 4 << 20;

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
        let Some(disk) = self.disk() else {
            return Vec::new();
        };
        let Ok(Some(bytes)) = read_below(&disk, FILE, BYTES_MAX) else {
            return Vec::new();
        };
        let text = String::from_utf8_lossy(&bytes);
        // Whatever else stands in the file is never put on a terminal.
        let lines: Vec<String> = text
            .lines()
            .filter(|line| line.chars().all(is_harmless))
            .map(str::to_owned)
            .collect();
        let old = lines.len().saturating_sub(LINES_MAX);
        if old > LINES_MAX {
            // Once in a while the file is cut to what is kept.
            let kept = lines.get(old..).unwrap_or_default().join("\n");
            let _ = replace(&disk, FILE, format!("{kept}\n").as_bytes());
        }
        lines.into_iter().skip(old).collect()
    }

    /// Keeps a line. What would be no line, or no text to show, is left out.
    pub fn add(&self, line: &str) {
        if !line.chars().all(is_harmless) {
            return;
        }
        // A convenience: without it the session goes on.
        let _ = self.append(&format!("{line}\n"));
    }

    fn append(&self, line: &str) -> io::Result<()> {
        let Some(dir) = &self.dir else {
            return Ok(());
        };
        // Private: what one operator typed is not for the others.
        let mut file = match open_below(dir, FILE, Way::Append) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                open_below(dir, FILE, Way::CreatePrivate)?
            }
            other => other?,
        };
        io::Write::write_all(&mut file, line.as_bytes())
    }

    fn disk(&self) -> Option<CapDisk> {
        CapDisk::new(self.dir.as_ref()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use cap_std::ambient_authority;

    use super::*;

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
        std::fs::write(
            dir.path().join(FILE),
            "/help\n/pen\u{1b}[2Jding\n\u{202e}x\n",
        )
        .unwrap();
        assert_eq!(history.lines(), ["/help"]);
    }
}
