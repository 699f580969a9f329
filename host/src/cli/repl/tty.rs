//! The terminal while a session is on it, and how the session leaves it.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// Keeps the terminal as a line editor wants it, also between two lines, and
/// gives it back as it was.
#[derive(Debug, Default)]
pub struct QuietTerminal {
    original: Mutex<Option<Termios>>,
}

impl QuietTerminal {
    /// Whether standard input still is a terminal.
    pub fn is_there(&self) -> bool {
        tcgetattr(io::stdin()).is_ok()
    }

    /// No echo, no line discipline, Ctrl-C a key.
    pub fn quiet(&self) {
        let Ok(now) = tcgetattr(io::stdin()) else {
            return;
        };
        let mut quiet = now.clone();
        quiet.input_modes &= !(InputModes::BRKINT
            | InputModes::ICRNL
            | InputModes::INPCK
            | InputModes::ISTRIP
            | InputModes::IXON);
        quiet.local_modes &=
            !(LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN | LocalModes::ISIG);
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        self.original().get_or_insert(now);
        // Should it fail, lines are still edited; only type-ahead shows twice.
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &quiet);
    }

    /// Lets Ctrl-C be a signal while something long runs, and keeps what was
    /// typed ahead when it is.
    pub fn interruptible(&self, on: bool) {
        if self.original().is_none() {
            return;
        }
        let Ok(mut modes) = tcgetattr(io::stdin()) else {
            return;
        };
        modes
            .local_modes
            .set(LocalModes::ISIG | LocalModes::NOFLSH, on);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
    }

    /// Gives the terminal back as it was before the first [`Self::quiet`].
    pub fn restore(&self) {
        if let Some(original) = self.original().as_ref() {
            let _ = tcsetattr(io::stdin(), OptionalActions::Drain, original);
        }
    }

    fn original(&self) -> MutexGuard<'_, Option<Termios>> {
        self.original.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the terminal back at the end of a scope, however that is reached.
#[derive(Debug)]
pub struct GiveBack<'a>(pub &'a QuietTerminal);

impl Drop for GiveBack<'_> {
    fn drop(&mut self) {
        self.0.restore();
    }
}

/// How long work in hand may keep a signal waiting.
const GRACE: Duration = Duration::from_secs(5);
/// How often that is looked at.
const POLL: Duration = Duration::from_millis(10);

/// Whether the session is at work or waits for a line.
///
/// A signal ends the process where nothing is in hand: at a question. The
/// operating system then lets go of the lock, and what was asked is asked
/// again at the next start.
#[derive(Debug, Default)]
pub struct AtWork(Mutex<()>);

impl AtWork {
    /// Held by the session but while it waits for a line.
    pub fn hold(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nothing is in hand, but not forever.
    fn wait(&self) -> Option<MutexGuard<'_, ()>> {
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            match self.0.try_lock() {
                Ok(guard) => return Some(guard),
                Err(std::sync::TryLockError::Poisoned(e)) => return Some(e.into_inner()),
                Err(std::sync::TryLockError::WouldBlock) => std::thread::sleep(POLL),
            }
        }
        None
    }
}

/// Has signals that ask the process to end wait for work in hand, and the
/// terminal given back.
///
/// # Errors
/// If signals cannot be heard of; then they end the process as ever.
#[cfg(unix)]
pub fn leave_on_signals(
    terminal: std::sync::Arc<QuietTerminal>,
    at_work: std::sync::Arc<AtWork>,
) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (mut hangup, mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::hangup())?,
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        )
    };
    std::thread::spawn(move || {
        let number = runtime.block_on(async {
            tokio::select! {
                _ = hangup.recv() => 1,
                _ = interrupt.recv() => 2,
                _ = terminate.recv() => 15,
            }
        });
        // Never let go of: the session does not begin anything new.
        let nothing_in_hand = at_work.wait();
        terminal.restore();
        let rest = if nothing_in_hand.is_some() {
            ""
        } else {
            ", in the middle of something"
        };
        let mut stderr = io::stderr();
        let _ = writeln!(
            stderr,
            "\nghyll: left on a signal{rest}; what is pending is asked again at the next start"
        );
        std::process::exit(128 + number);
    });
    Ok(())
}

/// Elsewhere signals end the process as ever.
#[cfg(not(unix))]
pub fn leave_on_signals(
    _terminal: std::sync::Arc<QuietTerminal>,
    _at_work: std::sync::Arc<AtWork>,
) -> io::Result<()> {
    Ok(())
}
