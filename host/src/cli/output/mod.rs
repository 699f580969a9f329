//! The one place things are printed from.
//!
//! Data goes to standard output, everything else to standard error. What is
//! printed is [`Text`], which is cleaned as it is made, so no call site has to
//! think of it: not a command, not the log, not an argument error, not a panic.
//!
//! A reader of standard output that has gone has heard enough, which is no
//! fault of anybody: what is left is not printed, and the command ends as it
//! would have. A full disk is a fault, but not of a verdict that is on record:
//! once one is, it is told and nothing more.

mod data;
mod direct;
mod notes;
mod pager;
mod progress;
mod styled;
mod table;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use parking_lot::Mutex;

use super::failure::Failure;
use super::{Color, Common};
pub use direct::{arguments, clean_stderr, note, tell_panics, told};
use ghyll::bus::{Bus, Event};
pub use ghyll::text::clean;
use pager::{Lend, Pager};
pub use progress::Progress;
pub(crate) use styled::text;
pub use styled::{ADDED, ALARM, QUIET, REMOVED, STRONG, Text, status};
pub use table::Table;

/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;
/// Columns text is laid out for: lines longer than this are hard to read,
/// shorter ones impossible.
const READABLE: std::ops::RangeInclusive<usize> = 20..=100;

/// Printing, as the command line asks for it.
pub struct Output {
    json: bool,
    /// Whether a verdict was recorded: from then on no trouble with standard
    /// output may say that the command failed.
    stands: Arc<AtomicBool>,
    /// Whether standard output takes no more.
    deaf: AtomicBool,
    /// Who turns the pages of what is printed now.
    pager: Mutex<Option<Pager>>,
    /// Has the terminal made ready for another program.
    lend: Mutex<Option<Lend>>,
    /// What is told while pages are turned, to be told after that.
    held_back: Mutex<Vec<Text>>,
    /// Where a test reads what was printed; `None` for the real thing.
    #[cfg(test)]
    captured: Option<Captured>,
}

/// What a test reads, and how wide its screen is.
#[cfg(test)]
struct Captured {
    text: std::sync::Mutex<String>,
    columns: usize,
}

impl Output {
    /// Printing by the common flags; colour is settled for the whole process.
    pub fn new(common: &Common) -> Self {
        match common.color {
            Color::Auto => {}
            Color::Always => anstream::ColorChoice::Always.write_global(),
            Color::Never => anstream::ColorChoice::Never.write_global(),
        }
        Self {
            json: common.json,
            stands: Arc::default(),
            deaf: AtomicBool::new(false),
            pager: Mutex::default(),
            lend: Mutex::default(),
            held_back: Mutex::default(),
            #[cfg(test)]
            captured: None,
        }
    }

    /// Printing that a test can read, without colour, 80 columns wide.
    #[cfg(test)]
    pub fn captured() -> Self {
        Self::captured_at(COLUMNS)
    }

    /// Printing that a test can read, as wide as it says.
    #[cfg(test)]
    pub fn captured_at(columns: usize) -> Self {
        Self {
            json: false,
            stands: Arc::default(),
            deaf: AtomicBool::new(false),
            pager: Mutex::default(),
            lend: Mutex::default(),
            held_back: Mutex::default(),
            captured: Some(Captured {
                text: std::sync::Mutex::default(),
                columns,
            }),
        }
    }

    /// What was printed since the last call.
    #[cfg(test)]
    pub fn take(&self) -> String {
        let captured = self.captured.as_ref().expect("captures");
        std::mem::take(&mut captured.text.lock().unwrap())
    }

    #[cfg(test)]
    fn capture(&self, text: &str) -> bool {
        let Some(captured) = &self.captured else {
            return false;
        };
        captured.text.lock().unwrap().push_str(text);
        true
    }

    #[cfg(not(test))]
    fn capture(&self, _text: &str) -> bool {
        false
    }

    /// How many columns text for a person is laid out for. Where nobody looks,
    /// lines are left whole.
    pub fn columns(&self) -> usize {
        #[cfg(test)]
        if let Some(captured) = &self.captured {
            return captured.columns;
        }
        match columns_of(io::stderr()) {
            Some(columns) => columns.clamp(*READABLE.start(), *READABLE.end()),
            None => usize::MAX,
        }
    }

    /// How many columns a table of data is laid out for: all there are. Where
    /// nobody looks, lines are left whole.
    pub fn data_columns(&self) -> usize {
        #[cfg(test)]
        if let Some(captured) = &self.captured {
            return captured.columns;
        }
        match columns_of(io::stdout()) {
            Some(columns) => columns.max(*READABLE.start()),
            None => usize::MAX,
        }
    }

    /// When something was, for a person: how long ago on a terminal, the time
    /// itself, to the second, where it goes elsewhere and may be kept.
    pub fn when(&self, timestamp: &str) -> String {
        match self.data_columns() {
            usize::MAX => ghyll::text::second(timestamp),
            _ => ghyll::text::age(timestamp, now()),
        }
    }

    /// Has `lend` called with `true` before another program gets the terminal,
    /// and with `false` after that.
    pub fn lends_terminal(&self, lend: impl Fn(bool) + Send + Sync + 'static) {
        *self.lend.lock() = Some(Arc::new(lend));
    }

    /// Has somebody at a terminal turn the pages of what `show` prints, where
    /// that is more than a screen.
    ///
    /// # Errors
    /// Those of `show`, and if standard output cannot be written.
    pub fn paged<T>(&self, show: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        if self.json {
            return show();
        }
        *self.pager.lock() = Pager::wanted(self.lend.lock().clone());
        let shown = show();
        let pager = self.pager.lock().take();
        let printed = match pager {
            Some(pager) => self.print_rest(pager.end()),
            None => Ok(()),
        };
        for text in std::mem::take(&mut *self.held_back.lock()) {
            self.note(text);
        }
        let shown = shown?;
        printed?;
        Ok(shown)
    }

    fn print_rest(&self, rest: pager::Rest) -> io::Result<()> {
        if let Some(note) = &rest.note {
            self.held_back.lock().push(Text::from(note));
        }
        match rest.text.as_str() {
            "" => Ok(()),
            text => self.data(|| write!(anstream::stdout(), "{text}")),
        }
    }

    /// Whether data is to be JSON.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Has this output know when a verdict is on record.
    pub fn hears(&self, bus: &Bus) {
        let stands = Arc::clone(&self.stands);
        bus.subscribe(move |event| {
            if let Event::AttestationRecorded(_) = event {
                stands.store(true, Ordering::Relaxed);
            }
        });
    }

    /// A verdict is on record.
    pub fn verdict_stands(&self) {
        self.stands.store(true, Ordering::Relaxed);
    }

    /// For showing how far a long reading is.
    pub fn progress(&self) -> Progress {
        Progress::begin()
    }
}

/// The time ages are told by.
#[cfg(not(test))]
fn now() -> Timestamp {
    Timestamp::now()
}

/// The time ages are told by: a test's is always the same.
#[cfg(test)]
fn now() -> Timestamp {
    "2026-01-01T12:30:00Z".parse().unwrap_or_default()
}

/// How wide a terminal is; `None` if it is none.
fn columns_of(stream: impl std::os::fd::AsFd) -> Option<usize> {
    match rustix::termios::tcgetwinsize(stream) {
        Ok(size) if size.ws_col > 0 => Some(usize::from(size.ws_col)),
        Ok(_) => Some(COLUMNS),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(kind: io::ErrorKind) -> impl FnOnce() -> io::Result<()> {
        move || Err(io::Error::from(kind))
    }

    #[test]
    fn a_reader_that_has_gone_ends_nothing_and_a_full_disk_no_verdict() {
        let out = Output::captured();
        assert!(out.data(broken(io::ErrorKind::StorageFull)).is_err());
        assert!(out.data(broken(io::ErrorKind::BrokenPipe)).is_ok());
        // What is left goes nowhere, and is no error.
        assert!(out.data(broken(io::ErrorKind::StorageFull)).is_ok());
        assert_eq!(out.take(), "");

        let out = Output::captured();
        out.verdict_stands();
        assert!(out.data(broken(io::ErrorKind::StorageFull)).is_ok());
        assert!(out.data(broken(io::ErrorKind::StorageFull)).is_ok());
        assert_eq!(out.take().matches("what was recorded stands").count(), 1);
    }

    #[test]
    fn a_failure_is_told_with_its_code_its_details_and_what_helps() {
        let out = Output::captured_at(60);
        out.failure(&Failure::new(
            "session-locked",
            "the project is in use \u{1b}[2J by\nerror[fake]: a line that looks like ours",
        ));
        out.failure(&Failure::new("no-page-for-this", "unknown").with_hint("do this"));
        insta::assert_snapshot!(out.take());
    }

    #[test]
    fn json_holds_nothing_that_acts_on_a_terminal_and_says_the_same() {
        let out = Output::captured();
        out.value(&"a\u{202e}b\u{e0041}").unwrap();
        let text = out.take();
        assert_eq!(text, "\"a\\u202eb\\udb40\\udc41\"\n");
        let read: String = serde_json::from_str(&text).unwrap();
        assert_eq!(read, "a\u{202e}b\u{e0041}");
    }
}
