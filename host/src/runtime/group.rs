//! A process group: a command and all it started, begun and ended as one.
//!
//! The command leads a group of its own. Where there is a guard (see
//! [`super::guard`]) it is the guard's child, and the guard says over a line
//! how it fares; where there is none, as in a program that only uses the
//! library, it is ours.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::ended::Ended;
use super::guard::{self, Report};

/// How long a guard may take until the command is started.
const START: Duration = Duration::from_secs(30);
/// How long what was killed may take to be gone.
const GONE: Duration = Duration::from_secs(3);

/// Why there is no group.
pub enum NoGroup {
    /// The program is not there, or is none that can be run.
    Program(String),
    /// Something of our own is short or missing.
    Own {
        /// What failed.
        doing: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// A running group; ended when dropped.
pub struct Group {
    /// The guard, or without one the command.
    child: Child,
    /// To the guard; it ends the group when this is closed.
    line: Option<ChildStdout>,
    group: Option<Pid>,
}

impl Group {
    /// Starts `argv` in `dir`.
    pub async fn start(argv: &[String], dir: &Path) -> Result<Self, NoGroup> {
        let Some((program, args)) = argv.split_first() else {
            return Err(NoGroup::Program("no program is named".to_owned()));
        };
        if argv.iter().any(|word| word.contains('\0')) {
            let why = "a NUL in a program's name or arguments";
            return Err(NoGroup::Program(why.to_owned()));
        }
        // Else a program would seem to be missing.
        if let Err(source) = std::fs::metadata(dir) {
            let doing = "reading the project's directory";
            return Err(NoGroup::Own { doing, source });
        }
        match guard::program() {
            Some(guard) => {
                let start = Self::guarded(guard, argv, dir);
                tokio::time::timeout(START, start)
                    .await
                    .unwrap_or_else(|_| Err(own("starting its guard", io::ErrorKind::TimedOut)))
            }
            None => Self::unguarded(program, args, dir),
        }
    }

    fn unguarded(program: &str, args: &[String], dir: &Path) -> Result<Self, NoGroup> {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).kill_on_drop(true);
        let child = spawn(&mut command, dir).map_err(|e| judged(e, "starting it"))?;
        let group = child.id().and_then(pid);
        Ok(Self {
            child,
            line: None,
            group,
        })
    }

    async fn guarded(guard: &Path, argv: &[String], dir: &Path) -> Result<Self, NoGroup> {
        let doing = "starting its guard";
        let (ours, theirs) = UnixStream::pair().map_err(|e| own(doing, e))?;
        let mut command = Command::new(guard);
        command.arg0(guard::NAME).arg(guard::WORD).args(argv);
        command.stdin(OwnedFd::from(theirs));
        let child = spawn(&mut command, dir).map_err(|e| own(doing, e))?;
        drop(command); // and with it the guard's end of the line
        // Any readable handle would do; this is the type tokio waits on.
        let ours = std::process::ChildStdout::from(OwnedFd::from(ours));
        let line = ChildStdout::from_std(ours).map_err(|e| own(doing, e))?;
        let mut group = Self {
            child,
            line: Some(line),
            group: None,
        };
        match group.report().await.map_err(|e| own(doing, e))? {
            Report::Started(raw) => {
                group.group = u32::try_from(raw).ok().and_then(pid);
                Ok(group)
            }
            Report::NotStarted(errno) => {
                let error = io::Error::from_raw_os_error(errno);
                Err(judged(error, "starting it"))
            }
            Report::Exited(_) | Report::Signalled(_) => Err(own(doing, io::ErrorKind::InvalidData)),
        }
    }

    /// What the command says; once.
    pub fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// What it complains of; once.
    pub fn stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Waits until the command has ended by itself.
    pub async fn ended(&mut self) -> io::Result<Ended> {
        if self.line.is_none() {
            return Ok(from_status(self.child.wait().await?));
        }
        match self.report().await? {
            Report::Exited(code) => Ok(Ended::Exited(code)),
            Report::Signalled(number) => Ok(Ended::Signalled(number)),
            Report::Started(_) | Report::NotStarted(_) => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    async fn report(&mut self) -> io::Result<Report> {
        let Some(line) = &mut self.line else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let mut bytes = [0; Report::BYTES];
        line.read_exact(&mut bytes)
            .await
            .map_err(|e| match e.kind() {
                io::ErrorKind::UnexpectedEof => io::Error::other("its guard was killed"),
                _ => e,
            })?;
        Report::decode(bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Ends all of the group, and waits until it is gone.
    pub async fn end(mut self) {
        self.let_go();
        let gone = tokio::time::timeout(GONE, self.child.wait()).await;
        // A guard knows best what belongs to the command, unless it was killed
        // itself or does not get on.
        match gone {
            Ok(Ok(status)) if status.success() => self.group = None,
            _ => self.kill(),
        }
    }

    /// Has the guard end the group, or without one ends it.
    fn let_go(&mut self) {
        if self.line.take().is_none() {
            self.kill();
        }
    }

    /// A guard keeps the number of the group from being given again until all
    /// of it is gone. Else it is taken while anything of the group lives, and
    /// numbers are not given again so soon.
    fn kill(&mut self) {
        if let Some(group) = self.group.take() {
            // Nobody there is what is wanted.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.let_go();
    }
}

fn spawn(command: &mut Command, dir: &Path) -> io::Result<Child> {
    command
        .current_dir(dir)
        .process_group(0)
        // What a command prints is kept with the run.
        .env_remove(super::WITHHELD_ENV)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

fn pid(raw: u32) -> Option<Pid> {
    i32::try_from(raw).ok().and_then(Pid::from_raw)
}

fn from_status(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exited(code),
        (None, number) => Ended::Signalled(number.unwrap_or_default()),
    }
}

fn own(doing: &'static str, source: impl Into<io::Error>) -> NoGroup {
    NoGroup::Own {
        doing,
        source: source.into(),
    }
}

/// Whose fault it is that a program could not be started. All that is not
/// plainly the program's is ours: short memory, handles, processes, disks.
fn judged(error: io::Error, doing: &'static str) -> NoGroup {
    const PROGRAMS: [Errno; 9] = [
        Errno::NOENT,
        Errno::ACCESS,
        Errno::PERM,
        Errno::NOEXEC,
        Errno::NOTDIR,
        Errno::ISDIR,
        Errno::LOOP,
        Errno::NAMETOOLONG,
        Errno::INVAL,
    ];
    let raw = error.raw_os_error();
    if PROGRAMS
        .iter()
        .any(|errno| raw == Some(errno.raw_os_error()))
    {
        NoGroup::Program(error.to_string())
    } else {
        own(doing, error)
    }
}
