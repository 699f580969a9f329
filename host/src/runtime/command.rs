//! One command, run to its end or to the end of its time.
//!
//! It is an argument vector, never a shell line, and runs in a process group
//! of its own, of which nothing is left when [`run`] returns: not a child
//! that ignores what it is told, nor one that holds the pipes open. Standard
//! input is empty; what else it inherits is the caller's. With a
//! [`super::guard`] that is so too when this process is killed.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::cancel::{Cancel, Why};
pub use super::ended::Ended;
use super::group::{Group, NoGroup};
use super::signals;
use super::tail::Tail;

/// How long what a command left running may go on talking.
const PIPES: Duration = Duration::from_secs(1);

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The program, as it was given.
    pub program: String,
    /// How it ended.
    pub ended: Ended,
    /// The last 2048 bytes of its standard output, as text.
    pub stdout: String,
    /// The last 2048 bytes of its standard error, as text.
    pub stderr: String,
    /// How long it ran.
    pub took: Duration,
    /// How long it was given.
    pub timeout: Duration,
}

impl Finished {
    /// Whether it exited with 0 in time.
    pub fn passed(&self) -> bool {
        self.ended == Ended::Exited(0)
    }

    /// How it ended, in one line.
    pub fn summary(&self) -> String {
        let program = &self.program;
        match &self.ended {
            Ended::Exited(code) => format!("{program}: exit status: {code}"),
            Ended::Signalled(number) => match signals::name(*number) {
                Some(name) => format!("{program}: signal: {number} ({name})"),
                None => format!("{program}: signal: {number}"),
            },
            Ended::TimedOut => {
                format!("{program}: not done after {} s", self.timeout.as_secs_f64())
            }
            Ended::NotStarted(why) => format!("{program}: cannot be started: {why}"),
        }
    }

    /// The summary, then what is kept of its output, as a finding keeps it.
    pub fn detail(&self) -> String {
        let mut detail = self.summary();
        for text in [&self.stdout, &self.stderr] {
            if !text.trim().is_empty() {
                detail.push('\n');
                detail.push_str(text.trim_end());
            }
        }
        detail
    }

    /// At most the last `count` lines of `text`, one of the two outputs.
    pub fn last_lines(text: &str, count: usize) -> Vec<&str> {
        let mut lines: Vec<&str> = text.trim_end().lines().rev().take(count).collect();
        lines.reverse();
        lines
    }
}

/// Why it cannot be said how a command would have ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Something that ghyll needs for it is short or missing.
    #[error("{program} could not be run, {doing}: {source}")]
    Unrunnable {
        /// The program.
        program: String,
        /// What failed, as "starting it".
        doing: &'static str,
        /// Why.
        source: io::Error,
    },
    /// It was called off, and ended.
    #[error("{program} was ended before it was done{}", match why {
        Why::Said => "",
        Why::Deadline => ": the caller's time was over",
        Why::Leaving => ": ghyll was told to end",
    })]
    Cancelled {
        /// The program.
        program: String,
        /// Who called it off.
        why: Why,
    },
}

impl RunError {
    /// The public code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unrunnable { .. } => "machine-clause-unrunnable",
            Self::Cancelled {
                why: Why::Deadline, ..
            } => "dispatch-deadline-exceeded",
            Self::Cancelled { .. } => "dispatch-cancelled",
        }
    }
}

/// Runs `argv` in `dir` for at most `timeout`, or until `cancel` is called
/// off; nothing of its process group is left then.
///
/// A program that is missing or may not be run is an answer,
/// [`Ended::NotStarted`]: whoever declared the command is at fault.
///
/// # Errors
/// `machine-clause-unrunnable` if the fault is ghyll's or the machine's, as
/// with too few file handles or processes; `dispatch-cancelled`,
/// `dispatch-deadline-exceeded`. None of them says anything about the work.
pub fn run(
    argv: &[String],
    dir: &Path,
    timeout: Duration,
    cancel: &Cancel,
) -> Result<Finished, RunError> {
    let program = argv.first().cloned().unwrap_or_default();
    let (owned, dir, cancel) = (argv.to_vec(), dir.to_owned(), cancel.clone());
    super::block_on(async move { finish(&owned, &dir, timeout, &cancel).await }).unwrap_or_else(
        |source| {
            Err(RunError::Unrunnable {
                program,
                doing: "waiting for it",
                source,
            })
        },
    )
}

async fn finish(
    argv: &[String],
    dir: &Path,
    timeout: Duration,
    cancel: &Cancel,
) -> Result<Finished, RunError> {
    let program = argv.first().cloned().unwrap_or_default();
    let cancelled = |why| RunError::Cancelled {
        program: program.clone(),
        why,
    };
    let unrunnable = |doing, source| RunError::Unrunnable {
        program: program.clone(),
        doing,
        source,
    };
    let finished = |ended, stdout, stderr, took| Finished {
        program: program.clone(),
        ended,
        stdout,
        stderr,
        took,
        timeout,
    };
    let Some(_running) = signals::Running::begin() else {
        return Err(cancelled(Why::Leaving));
    };
    if cancel.is_cancelled() {
        return Err(cancelled(cancel.cancelled().await));
    }
    let started = Instant::now();
    let mut group = match Group::start(argv, dir).await {
        Ok(group) => group,
        Err(NoGroup::Program(why)) => {
            let took = started.elapsed();
            let ended = Ended::NotStarted(why);
            return Ok(finished(ended, String::new(), String::new(), took));
        }
        Err(NoGroup::Own { doing, source }) => return Err(unrunnable(doing, source)),
    };
    let mut stdout = Tail::of(group.stdout());
    let mut stderr = Tail::of(group.stderr());
    let ended = tokio::select! {
        biased;
        ended = group.ended() => ended.map_err(|source| unrunnable("waiting for it", source)),
        why = cancel.cancelled() => Err(cancelled(why)),
        () = signals::leaving() => Err(cancelled(Why::Leaving)),
        () = tokio::time::sleep(timeout) => Ok(Ended::TimedOut),
    };
    let took = started.elapsed();
    let mut pipes = async || {
        let both = async { tokio::join!(stdout.end(), stderr.end()) };
        let _ = tokio::time::timeout(PIPES, both).await;
    };
    if matches!(ended, Ok(Ended::Exited(_) | Ended::Signalled(_))) {
        // What it started may have something to say yet: `cmd > >(tee log)`.
        tokio::select! {
            () = pipes() => {}
            () = signals::leaving() => {}
        }
    }
    group.end().await;
    let ended = ended?;
    // All that was in the pipes; what left the group may hold them open.
    pipes().await;
    Ok(finished(ended, stdout.text(), stderr.text(), took))
}

#[cfg(test)]
mod tests;
