//! The guard: what ends a command's group when ghyll itself is gone.
//!
//! A process that is killed cannot tidy up, and a group does not end because
//! its starter did. So a command is not started by ghyll but by a small second
//! process, the guard, which is the same program run again with a hidden first
//! argument. The guard holds one end of a socket whose other end only ghyll
//! has. When that is closed, by intent or because ghyll died in whichever way,
//! the guard kills the group, waits until it is gone and ends. It starts the
//! command itself, so there is no moment in which the command lives and nobody
//! watches it; it stands outside of the group, so that nothing done to the
//! group reaches it; and it does not reap the command before the end, so that
//! the group's number cannot have become another's.
//!
//! Where a command is cut short, the guard (on Linux) also ends what left the
//! group on the way, as `timeout` does with what it runs. What was started by
//! a command that ended in its own time and left the group is left alone: that
//! is how a daemon says that it means to stay.
//!
//! `main` of a program that wants this calls [`serve`] before anything else.
//! A program that only uses the library has no guard: its commands' groups end
//! with their time, with their caller's wish and on the signals ghyll hears,
//! but not if the program is killed. It may name the `ghyll` binary with
//! [`use_program`].

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, kill_process_group, waitid,
    waitpgid,
};

/// The hidden first argument. Nothing is gained by giving it by hand.
pub(super) const WORD: &str = "--guard-a-command";
/// What a guard is called in a list of processes.
pub(super) const NAME: &str = "ghyll-guard";

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Is a guard, if this process was started as one, and then says with what to
/// exit; else makes this program the guard of its commands. To be called by
/// `main` before it does anything else.
pub fn serve() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next().as_deref() == Some(OsStr::new(WORD)) {
        return Some(match guard(&args.collect::<Vec<_>>()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        });
    }
    // Names this very file, also when it was replaced by a newer one.
    let running = Path::new("/proc/self/exe");
    if running.exists() {
        use_program(running.to_owned());
    } else if let Ok(program) = std::env::current_exe() {
        use_program(program);
    }
    None
}

/// Makes `program`, a `ghyll` binary, the guard of this process's commands;
/// the first one named is taken.
pub fn use_program(program: PathBuf) {
    let _ = PROGRAM.set(program);
}

pub(super) fn program() -> Option<&'static Path> {
    PROGRAM.get().map(PathBuf::as_path)
}

/// What a guard says over the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// The command runs, and leads the group of this number.
    Started(i32),
    /// It does not, for this reason of the operating system's.
    NotStarted(i32),
    /// It exited with this code.
    Exited(i32),
    /// It was ended by this signal.
    Signalled(i32),
}

impl Report {
    pub(super) const BYTES: usize = 5;

    fn encode(self) -> [u8; Self::BYTES] {
        let (kind, number) = match self {
            Self::Started(number) => (b's', number),
            Self::NotStarted(number) => (b'n', number),
            Self::Exited(number) => (b'e', number),
            Self::Signalled(number) => (b'k', number),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [kind, a, b, c, d]
    }

    pub(super) fn decode([kind, a, b, c, d]: [u8; Self::BYTES]) -> Option<Self> {
        let number = i32::from_le_bytes([a, b, c, d]);
        match kind {
            b's' => Some(Self::Started(number)),
            b'n' => Some(Self::NotStarted(number)),
            b'e' => Some(Self::Exited(number)),
            b'k' => Some(Self::Signalled(number)),
            _ => None,
        }
    }
}

/// What there is to end.
#[derive(Debug, Default)]
struct Watched {
    group: Option<Pid>,
    /// The command ended by itself.
    over: bool,
}

fn guard(argv: &[OsString]) -> io::Result<()> {
    let mut line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let started = start(argv, &line);
    let (child, watched) = match started {
        Ok(started) => started,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
            return line.write_all(&Report::NotStarted(errno).encode());
        }
    };
    // Should nobody listen any more, the watch is at work already.
    let _ = line.write_all(&Report::Started(child.as_raw_pid()).encode());
    if let Some(status) = wait_for(child) {
        let report = match status.exit_status() {
            Some(code) => Report::Exited(code),
            None => Report::Signalled(status.terminating_signal().unwrap_or_default()),
        };
        watched.lock().unwrap_or_else(PoisonError::into_inner).over = true;
        let _ = line.write_all(&report.encode());
    }
    // The watch ends the process.
    loop {
        std::thread::park();
    }
}

/// Starts the command, and a thread that watches the line.
fn start(argv: &[OsString], line: &UnixStream) -> io::Result<(Pid, Arc<Mutex<Watched>>)> {
    let (program, args) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    // What loses its parent below here becomes this process's child.
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Pid::from_raw(1))?;
    let null = File::options().write(true).open("/dev/null")?;
    let watched = Arc::new(Mutex::new(Watched::default()));
    // Held until there is something to end: the watch does not act in between.
    let mut holding = watched.lock().unwrap_or_else(PoisonError::into_inner);
    let (ours, line) = (Arc::clone(&watched), line.try_clone()?);
    std::thread::Builder::new().spawn(move || watch(line, &ours))?;
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()?;
    let pid = Pid::from_child(&child);
    holding.group = Some(pid);
    drop(holding);
    // The command's alone from here on, so that their end can be seen; should
    // it fail, that is only seen later.
    let _ = rustix::stdio::dup2_stdout(&null);
    let _ = rustix::stdio::dup2_stderr(&null);
    Ok((pid, watched))
}

/// Waits until nobody holds the other end of the line, and ends everything.
fn watch(mut line: UnixStream, watched: &Mutex<Watched>) {
    let mut buffer = [0; 16];
    loop {
        match line.read(&mut buffer) {
            Ok(1..) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
        }
    }
    let watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(group) = watched.group {
        let _ = kill_process_group(group, Signal::KILL);
        #[cfg(target_os = "linux")]
        if !watched.over {
            end_descendants();
        }
        // Also those that came to be this process's when their parents died.
        while let Ok(Some(_)) | Err(Errno::INTR) = waitpgid(group, WaitOptions::empty()) {}
    }
    std::process::exit(0);
}

/// Kills children until there are none: whatever loses its parent becomes one.
#[cfg(target_os = "linux")]
fn end_descendants() {
    loop {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            // Not reaped yet, so still the one that was seen.
            let _ = rustix::process::kill_process(child, Signal::KILL);
            while let Err(Errno::INTR) = rustix::process::waitpid(Some(child), WaitOptions::empty())
            {
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn children() -> Vec<Pid> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let lists = tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_ascii_whitespace()
                .filter_map(|word| word.parse().ok().and_then(Pid::from_raw))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// How the command ended, which stays to be asked; `None` if it was ended and
/// reaped by the watch.
fn wait_for(child: Pid) -> Option<WaitIdStatus> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(child), options) {
            Err(Errno::INTR) => {}
            Ok(status) => return status,
            Err(_) => return None,
        }
    }
}
