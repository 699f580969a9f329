//! Long output, page by page.
//!
//! The pager is whoever sits at the terminal's to choose, so it comes from the
//! environment alone: `GHYLL_PAGER`, else `PAGER`, else `less`. An empty one, or
//! `cat`, is none. It is not started before there is more than a screen, and
//! where it cannot do its work what was kept back is shown without it.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;

use ghyll::runtime::signals::TerminalLent;

/// The pager where nobody names one.
const DEFAULT: &str = "less";
/// What `less` is told unless it is told otherwise: to go where all fits on a
/// screen, to show colours, to leave what was read on the screen.
const LESS: &str = "FRX";
/// So much is kept, in bytes, to be shown if the pager turns out to be none.
const KEPT_MAX: usize = 1 << 20;

/// Called with `true` before another program gets the terminal, with `false`
/// once that has ended.
pub type Lend = Arc<dyn Fn(bool) + Send + Sync>;

/// The command that is the pager, if there is to be one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chosen {
    command: String,
    /// Whether somebody named it: then it is said when it does not work.
    named: bool,
}

/// Which pager these variables name.
fn choose(ghyll_pager: Option<OsString>, pager: Option<OsString>) -> Option<Chosen> {
    let named = ghyll_pager.or(pager);
    let command = match &named {
        Some(command) => command.to_string_lossy().trim().to_owned(),
        None => DEFAULT.to_owned(),
    };
    (!command.is_empty() && command != "cat").then_some(Chosen {
        command,
        named: named.is_some(),
    })
}

/// What is printed while somebody may have to turn pages.
pub struct Pager {
    chosen: Chosen,
    lend: Option<Lend>,
    columns: usize,
    /// Rows of the screen that are left.
    left: usize,
    colour: bool,
    /// What was printed so far, as long as that is not too much.
    kept: Option<String>,
    state: State,
}

enum State {
    /// It may yet fit on the screen.
    Waiting,
    Paging(Box<Paging>),
    /// No pager, after all.
    Plain,
}

struct Paging {
    child: Child,
    /// `None` once it takes no more.
    input: Option<ChildStdin>,
    lend: Option<Lend>,
    _keys: TerminalLent,
}

impl Drop for Paging {
    fn drop(&mut self) {
        drop(self.input.take());
        // It may be over already.
        let _ = self.child.wait();
        if let Some(lend) = &self.lend {
            lend(false);
        }
    }
}

/// What is left to be done once all is printed.
#[derive(Debug, Default)]
pub struct Rest {
    /// To be printed as it is.
    pub text: String,
    /// To be told.
    pub note: Option<String>,
}

impl Pager {
    /// A pager, if somebody sits there and wants one. `lend` has the terminal
    /// made ready for another program, where it is not as a shell has it.
    pub fn wanted(lend: Option<Lend>) -> Option<Self> {
        let variable = std::env::var_os;
        let dumb = variable("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        if dumb || !io::stdout().is_terminal() || (lend.is_some() && !io::stdin().is_terminal()) {
            return None;
        }
        let chosen = choose(variable("GHYLL_PAGER"), variable("PAGER"))?;
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        (size.ws_row > 1 && size.ws_col > 0).then(|| Self {
            chosen,
            lend,
            columns: usize::from(size.ws_col),
            // The prompt that follows needs one, too.
            left: usize::from(size.ws_row) - 1,
            colour: anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
            kept: Some(String::new()),
            state: State::Waiting,
        })
    }

    /// Takes a line, with its end, and the columns it takes. What is returned
    /// is to be printed without a pager.
    pub fn take(&mut self, line: &str, width: usize) -> Rest {
        if let State::Plain = self.state {
            return Rest {
                text: line.to_owned(),
                note: None,
            };
        }
        self.keep(line);
        match &mut self.state {
            State::Waiting => {
                let rows = width.max(1).div_ceil(self.columns);
                match self.left.checked_sub(rows) {
                    Some(left) => {
                        self.left = left;
                        Rest::default()
                    }
                    None => self.begin(),
                }
            }
            State::Paging(paging) => {
                paging.write(line, self.colour);
                Rest::default()
            }
            State::Plain => Rest::default(),
        }
    }

    fn keep(&mut self, line: &str) {
        if let Some(kept) = &mut self.kept {
            kept.push_str(line);
            if kept.len() > KEPT_MAX && !matches!(self.state, State::Waiting) {
                self.kept = None;
            }
        }
    }

    fn begin(&mut self) -> Rest {
        let so_far = self.kept.clone().unwrap_or_default();
        match self.start() {
            Ok(mut paging) => {
                paging.write(&so_far, self.colour);
                self.state = State::Paging(Box::new(paging));
                Rest::default()
            }
            Err(why) => {
                self.state = State::Plain;
                Rest {
                    text: so_far,
                    note: self.failed(&why.to_string()),
                }
            }
        }
    }

    fn start(&self) -> io::Result<Paging> {
        let words = shlex::split(&self.chosen.command);
        let mut words = words
            .ok_or_else(|| io::Error::other("a quote in it is not closed"))?
            .into_iter();
        let program = words.next().unwrap_or_default();
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped());
        for (name, value) in [("LESS", LESS), ("LV", "-c")] {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        let keys = TerminalLent::begin();
        if let Some(lend) = &self.lend {
            lend(true);
        }
        match command.spawn() {
            Ok(mut child) => Ok(Paging {
                input: child.stdin.take(),
                child,
                lend: self.lend.clone(),
                _keys: keys,
            }),
            Err(error) => {
                if let Some(lend) = &self.lend {
                    lend(false);
                }
                Err(error)
            }
        }
    }

    fn failed(&self, why: &str) -> Option<String> {
        let command = &self.chosen.command;
        let said =
            || format!("note: the pager {command:?} does not work ({why}); shown without it");
        self.chosen.named.then(said)
    }

    /// Waits until all was read. What is returned was not shown yet.
    pub fn end(mut self) -> Rest {
        let kept = self.kept.take();
        match std::mem::replace(&mut self.state, State::Plain) {
            State::Waiting => Rest {
                text: kept.unwrap_or_default(),
                note: None,
            },
            State::Plain => Rest::default(),
            State::Paging(mut paging) => {
                drop(paging.input.take());
                let ended = paging.child.wait();
                drop(paging);
                match ended {
                    Ok(status) if !status.success() => Rest {
                        // More than was kept was read by somebody.
                        text: kept.unwrap_or_default(),
                        note: self.failed(&status.to_string()),
                    },
                    _ => Rest::default(),
                }
            }
        }
    }
}

impl Paging {
    fn write(&mut self, text: &str, colour: bool) {
        let written = self.input.as_mut().map(|input| match colour {
            true => input.write_all(text.as_bytes()),
            false => write!(input, "{}", anstream::adapter::strip_str(text)),
        });
        if let Some(Err(_)) = written {
            // Whoever reads has seen enough; or it is told once it has ended.
            self.input = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pager_is_what_the_environment_says_and_cat_or_nothing_is_none() {
        let chosen = |ghyll: Option<&str>, pager: Option<&str>| {
            choose(ghyll.map(Into::into), pager.map(Into::into))
                .map(|chosen| (chosen.command, chosen.named))
        };
        let named = |command: &str| Some((command.to_owned(), true));
        assert_eq!(chosen(None, None), Some(("less".to_owned(), false)));
        assert_eq!(chosen(None, Some("more")), named("more"));
        assert_eq!(chosen(Some("less -S"), Some("more")), named("less -S"));
        for none in ["", " ", "cat"] {
            assert_eq!(chosen(Some(none), Some("more")), None);
            assert_eq!(chosen(None, Some(none)), None);
        }
    }
}
