//! Chats as they were held: `.ghyll/chats/<session>.jsonl`, one line a turn.
//!
//! A file only grows, is durable at the end of every turn, and is its owner's
//! alone, for what is said in a chat may be anything. A line that a crash cut
//! off is cut away when the chat is taken up again.

use std::io;

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

use crate::files::append::AppendFile;
use crate::files::disk::{CapDisk, Disk, Kind, read_full};
use crate::files::{Way, open_below};
use crate::project::Project;

/// The directory, in `.ghyll`.
pub const CHATS_DIR: &str = "chats";

/// How much of the end of a chat is read when it is taken up again, in bytes:
/// more than a model is ever sent.
const TAIL: u64 = 4 << 20;

/// One turn: what an operator said, and what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// When it ended, RFC 3339.
    pub at: String,
    /// Who answered for the session then; empty for nobody.
    #[serde(default)]
    pub op_id: String,
    /// The arrow it was about; empty for none.
    #[serde(default)]
    pub arrow: String,
    /// The model's name; empty if none was reached.
    #[serde(default)]
    pub model: String,
    /// The operator's words.
    pub said: String,
    /// The model's words, as far as they came.
    pub reply: String,
    /// Why it stopped: `stop`, `length`, `other`, or `incomplete`.
    pub finish: String,
    /// The code of what went wrong; empty for nothing.
    #[serde(default)]
    pub error: String,
}

/// Why a chat could not be kept, or taken up again.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// A turn is not on disk.
    #[error("{path}: {source}; this turn is not kept")]
    Write {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A chat cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file or directory.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl TranscriptError {
    /// The public code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Write { .. } => "chat-write-failed",
            Self::Read { .. } => "chat-unreadable",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Write { .. } => "make room, or see who else writes below .ghyll/chats",
            Self::Read { .. } => "move it away, or start without --resume",
        }
    }
}

/// A chat that was taken up again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resumed {
    /// Its file, below `.ghyll`.
    pub path: String,
    /// Its newest turns, oldest first.
    pub turns: Vec<Turn>,
    /// Bytes of a line that a crash had cut off; they are gone.
    pub torn: u64,
    /// Lines that are no turn; they stay, and are passed over.
    pub unreadable: usize,
}

/// The file that a chat goes to.
pub struct Transcript {
    ghyll: Dir,
    disk: CapDisk,
    /// Below `.ghyll`.
    path: String,
    /// The file this session would make for itself.
    own: String,
    /// Made with the first turn.
    file: Option<AppendFile>,
}

impl Transcript {
    /// A new chat, of the session with this id. Its file is made with the
    /// first turn.
    ///
    /// # Errors
    /// `chat-unreadable`, if there are no more file handles.
    pub fn new(project: &Project, session_id: &str) -> Result<Self, TranscriptError> {
        let clone = || Ok((project.ghyll().try_clone()?, CapDisk::new(project.ghyll())?));
        let (ghyll, disk) = clone().map_err(read_failed(CHATS_DIR))?;
        let own = format!("{CHATS_DIR}/{session_id}.jsonl");
        Ok(Self {
            ghyll,
            disk,
            path: own.clone(),
            own,
            file: None,
        })
    }

    /// Goes on with the chat that was last added to; `None` if there is none,
    /// and then this stays a new one.
    ///
    /// # Errors
    /// `chat-unreadable`.
    pub fn resume(&mut self) -> Result<Option<Resumed>, TranscriptError> {
        let Some(path) = self.newest().map_err(read_failed(CHATS_DIR))? else {
            return Ok(None);
        };
        let (resumed, file) = self.take_up(&path).map_err(read_failed(&path))?;
        self.path = path;
        self.file = Some(file);
        Ok(Some(resumed))
    }

    /// The file, below `.ghyll`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Keeps a turn, durably. Where somebody else goes on with the same chat,
    /// this session's turns go to a file of its own from then on.
    ///
    /// # Errors
    /// `chat-write-failed`.
    pub fn keep(&mut self, turn: &Turn) -> Result<(), TranscriptError> {
        let mut line = serde_json::to_vec(turn).map_err(|e| self.write_failed(e.into()))?;
        line.push(b'\n');
        match self.append(&line) {
            Err(_) if self.path != self.own => {
                self.path.clone_from(&self.own);
                self.file = None;
                self.append(&line)
            }
            done => done,
        }
        .map_err(|e| self.write_failed(e))
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(make(&self.ghyll, &self.disk, &self.path)?),
        };
        file.append(&self.disk, line).map(drop)
    }

    fn write_failed(&self, source: io::Error) -> TranscriptError {
        TranscriptError::Write {
            path: self.path.clone(),
            source,
        }
    }

    fn newest(&self) -> io::Result<Option<String>> {
        let entries = match self.disk.list_meta(CHATS_DIR) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let chats = entries.into_iter().filter_map(|(entry, meta)| {
            let meta = meta.ok()?;
            let is_chat = meta.kind == Kind::File && entry.name.ends_with(".jsonl");
            is_chat.then_some((meta.mtime_ns, entry.name))
        });
        Ok(chats.max().map(|(_, name)| format!("{CHATS_DIR}/{name}")))
    }

    fn take_up(&self, path: &str) -> io::Result<(Resumed, AppendFile)> {
        let mut file = self.disk.open_append(path)?;
        let bytes = file.meta()?.bytes;
        let from = bytes.saturating_sub(TAIL);
        let mut tail = vec![0; usize::try_from(bytes - from).unwrap_or(0)];
        let read = read_full(file.as_mut(), from, &mut tail)?;
        tail.truncate(read);
        let whole = tail
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        if whole == 0 && from > 0 {
            return Err(io::Error::other("its last line is longer than any is"));
        }
        let torn = (tail.len() - whole) as u64;
        tail.truncate(whole);
        if torn > 0 {
            file.set_len(bytes - torn)?;
            file.sync()?;
        }
        drop(file);
        // Where the beginning is not read, nor is the line that is cut by it.
        let start = match from {
            0 => 0,
            _ => tail.iter().position(|b| *b == b'\n').map_or(0, |at| at + 1),
        };
        let mut resumed = Resumed {
            path: path.to_owned(),
            torn,
            ..Resumed::default()
        };
        let lines = tail.get(start..).unwrap_or_default();
        for line in lines.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(turn) => resumed.turns.push(turn),
                Err(_) => resumed.unreadable += 1,
            }
        }
        Ok((resumed, AppendFile::open(&self.disk, path, bytes - torn)?))
    }
}

/// Makes the file, its owner's alone, and the directory where it is missing.
fn make(ghyll: &Dir, disk: &CapDisk, path: &str) -> io::Result<AppendFile> {
    if disk.meta(CHATS_DIR)?.is_none() {
        disk.create_dir(CHATS_DIR)?;
        disk.sync_dir("")?;
    }
    match open_below(ghyll, path, Way::CreatePrivate) {
        // A turn before could not be written.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        other => drop(other?),
    }
    AppendFile::open(disk, path, 0)
}

fn read_failed(path: &str) -> impl FnOnce(io::Error) -> TranscriptError {
    let path = path.to_owned();
    move |source| TranscriptError::Read { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> (tempfile::TempDir, Project) {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::create(dir.path()).unwrap();
        (dir, project)
    }

    fn turn(said: &str) -> Turn {
        Turn {
            said: said.to_owned(),
            reply: format!("to {said}"),
            finish: "stop".to_owned(),
            ..Turn::default()
        }
    }

    fn said(turns: &[Turn]) -> Vec<&str> {
        turns.iter().map(|turn| turn.said.as_str()).collect()
    }

    #[test]
    fn turns_come_back_and_a_torn_one_is_cut_off() {
        let (_dir, project) = project();
        let mut first = Transcript::new(&project, "s1").unwrap();
        assert_eq!(first.resume().unwrap(), None);
        assert!(!project.path_of(CHATS_DIR).exists(), "made with a turn");
        first.keep(&turn("a\nb \u{1b}[31m")).unwrap();
        first.keep(&turn("c")).unwrap();
        drop(first);
        let file = project.path_of("chats/s1.jsonl");
        let whole = std::fs::read_to_string(&file).unwrap();
        assert_eq!(whole.lines().count(), 2);
        std::fs::write(&file, format!("{whole}nonsense\n{{\"at\":\"")).unwrap();

        let mut second = Transcript::new(&project, "s2").unwrap();
        let resumed = second.resume().unwrap().unwrap();
        assert_eq!(said(&resumed.turns), ["a\nb \u{1b}[31m", "c"]);
        assert_eq!((resumed.torn, resumed.unreadable), (7, 1));
        second.keep(&turn("d")).unwrap();
        assert!(!project.path_of("chats/s2.jsonl").exists());
        let mut third = Transcript::new(&project, "s3").unwrap();
        let resumed = third.resume().unwrap().unwrap();
        assert_eq!(said(&resumed.turns), ["a\nb \u{1b}[31m", "c", "d"]);
        assert_eq!(resumed.torn, 0);
    }

    #[test]
    fn two_that_go_on_with_one_chat_lose_no_turn() {
        let (_dir, project) = project();
        Transcript::new(&project, "s1")
            .unwrap()
            .keep(&turn("a"))
            .unwrap();
        let mut one = Transcript::new(&project, "s2").unwrap();
        let mut other = Transcript::new(&project, "s3").unwrap();
        one.resume().unwrap();
        other.resume().unwrap();
        one.keep(&turn("b")).unwrap();
        other.keep(&turn("c")).unwrap();
        other.keep(&turn("d")).unwrap();
        assert_eq!(other.path(), "chats/s3.jsonl");
        let lines = |name| std::fs::read_to_string(project.path_of(name)).unwrap();
        assert_eq!(lines("chats/s1.jsonl").lines().count(), 2);
        assert_eq!(lines("chats/s3.jsonl").lines().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_chat_is_its_owners_alone_and_no_link_is_followed() {
        use std::os::unix::fs::PermissionsExt;
        let (dir, project) = project();
        let mut chat = Transcript::new(&project, "s1").unwrap();
        chat.keep(&turn("a")).unwrap();
        let mode = std::fs::metadata(project.path_of("chats/s1.jsonl")).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        let elsewhere = dir.path().join("elsewhere");
        std::fs::write(&elsewhere, "").unwrap();
        std::os::unix::fs::symlink(&elsewhere, project.path_of("chats/s2.jsonl")).unwrap();
        let error = Transcript::new(&project, "s2").unwrap().keep(&turn("b"));
        assert_eq!(error.unwrap_err().code(), "chat-write-failed");
        assert_eq!(std::fs::read(&elsewhere).unwrap(), b"");
    }
}
