//! The terminal while a session is on it, and how the session leaves it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ghyll::runtime::signals::{self, AtWork, Ending};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use super::output::note;

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

/// Has signals that ask the process to end wait for work in hand, and the
/// terminal given back.
pub fn leave_on_signals(terminal: Arc<QuietTerminal>, at_work: Arc<AtWork>) {
    signals::before_leaving(move |leaving| {
        // Never let go of: the session does not begin anything new.
        let nothing_in_hand = at_work.wait();
        terminal.restore();
        let why = match leaving.ending {
            Ending::CpuTime => "without any processor time left",
            Ending::Hangup | Ending::Interrupt | Ending::Terminate => "on a signal",
        };
        let rest = if nothing_in_hand.is_some() {
            ""
        } else {
            ", in the middle of something"
        };
        note("");
        note(format!(
            "ghyll: left {why}{rest}; what is pending is asked again at the next start"
        ));
        // Held until the end.
        leaving.ending.exit();
    });
}
