//! Git as a program, held short.

use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use parking_lot::Mutex;

/// How long git may take for an answer, all in all.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Git in a directory, with nothing of our environment that redirects it, and
/// nothing of the repository's that it would run or fetch from.
pub(crate) fn command(dir: &Path) -> Command {
    let mut git = Command::new("git");
    git.env_clear();
    for kept in ["PATH", "HOME", "XDG_CONFIG_HOME"] {
        if let Some(value) = std::env::var_os(kept) {
            git.env(kept, value);
        }
    }
    git.env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_LITERAL_PATHSPECS", "1")
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("GIT_TERMINAL_PROMPT", "0")
        .current_dir(dir)
        .args(["--no-pager", "-c", "core.fsmonitor=false"])
        .args(["-c", "core.hooksPath=/dev/null"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    git
}

/// A git that answers, until it is dropped or its time is up.
pub(super) struct Asked {
    child: Arc<Mutex<Child>>,
    /// Dropped, it says that nobody waits any more.
    _waited_for: Sender<()>,
}

impl Asked {
    /// Starts it, with what it reads (if that is a pipe) and what it says.
    ///
    /// # Errors
    /// If there is no git.
    pub(super) fn start(
        command: &mut Command,
    ) -> io::Result<(Self, Option<ChildStdin>, ChildStdout)> {
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let child = Arc::new(Mutex::new(child));
        let (waited_for, end) = mpsc::channel::<()>();
        let watched = Arc::clone(&child);
        std::thread::spawn(move || {
            if end.recv_timeout(TIME_MAX) == Err(RecvTimeoutError::Timeout) {
                let _ = watched.lock().kill();
            }
        });
        let asked = Self {
            child,
            _waited_for: waited_for,
        };
        match stdout {
            Some(stdout) => Ok((asked, stdin, stdout)),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Everything a short command says; `None` if it fails, or says more than
    /// `max` bytes.
    pub(super) fn whole(command: &mut Command, max: u64) -> Option<Vec<u8>> {
        let (asked, _, stdout) = Self::start(command).ok()?;
        let mut said = Vec::new();
        BufReader::new(stdout)
            .take(max.saturating_add(1))
            .read_to_end(&mut said)
            .ok()?;
        let sound = said.len() as u64 <= max && asked.child.lock().wait().ok()?.success();
        sound.then_some(said)
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut child = self.child.lock();
        let _ = child.kill();
        let _ = child.wait();
    }
}
