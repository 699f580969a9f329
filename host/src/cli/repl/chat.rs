//! What a model says, printed as it comes.
//!
//! Its text is broken into lines that fit and stands behind a margin, so that
//! nothing in it can pass for a question, a prompt or a line of ghyll's. It is
//! only printed: none of it is ever taken for a command or an answer.

use ghyll::modal::Turn;
use ghyll::model::config::environment;
use ghyll::model::{Finish, Heard, ModelError, Said};
use ghyll::runtime::cancel::Cancel;
use ghyll::runtime::signals::InterruptCancels;
use unicode_width::UnicodeWidthChar;

use super::Repl;
use crate::cli::output::clean;
use crate::cli::{Failure, Output};
use ghyll::text::is_harmless;

/// What comes of a chat turn where there is no model.
const NO_MODEL: &str = "No model is configured: nobody hears this but you. \
                        /help lists what there is.";
/// What every line of a model's stands behind.
const MARGIN: &str = "| ";

impl Repl<'_> {
    /// Says a turn to the model, and prints what it says.
    pub(super) fn converse(&mut self, turn: Turn<'_>) -> Result<(), Failure> {
        let interruptible = self.terminal.filter(|_| self.reader.is_interactive());
        let cancel = Cancel::default();
        // Ctrl-C ends the reply, and a second one leaves.
        let interrupts = interruptible.map(|_| InterruptCancels::new(&cancel));
        if let Some(terminal) = interruptible {
            terminal.interruptible(true);
        }
        let out = self.out;
        let mut printed = Printed::new(out);
        let told = &mut self.model_told;
        let mut hear = |heard: Heard<'_>| match heard {
            Heard::Asked { model, url, arrow } => {
                let whom = asked(model, url, arrow);
                // Told when it changes: who hears what is said matters.
                if *told != whom {
                    out.note_wrapped(&whom, 2);
                    *told = whom;
                }
            }
            Heard::Text(text) => printed.push(text),
        };
        let said = self.chat.say(turn, &environment, &mut hear, &cancel);
        printed.end();
        drop(interrupts);
        if let Some(terminal) = interruptible {
            terminal.interruptible(false);
        }
        match said {
            Ok(None) => out.note_wrapped(NO_MODEL, 0),
            Ok(Some(said)) => self.tell(&said)?,
            Err(error) => {
                out.failure(&Failure::new(error.code(), &error));
                hint(out, error.hint());
            }
        }
        Ok(())
    }

    /// Tells how a turn ended, where it is worth a word, and records it.
    fn tell(&mut self, said: &Said) -> Result<(), Failure> {
        let out = self.out;
        match &said.outcome {
            Ok(Finish::Stop) if said.text.trim().is_empty() => out.note("The model said nothing."),
            Ok(Finish::Stop) => {}
            Ok(Finish::Length) => out.note("The model may say no more than that at a time."),
            Ok(Finish::Other) => {
                out.note("The model was held back, or wanted a tool: it has none.")
            }
            Err(error @ ModelError::Cancelled(_)) => {
                out.note_wrapped(format!("Called off: {}.", error.hint()), 0);
            }
            Err(error) => {
                out.failure(&Failure::new(error.code(), error));
                hint(out, error.hint());
            }
        }
        match &said.stated {
            Some(Ok(stated)) if !stated.clauses.is_empty() => {
                let clauses = stated.clauses.join(", ");
                let (clauses, arrow) = (clean(&clauses), clean(&stated.arrow));
                let taken = format!(
                    "Taken as the producer's words on {clauses} of {arrow}, to be seen when asked."
                );
                out.note_wrapped(&taken, 2);
            }
            Some(Err(error)) => {
                out.failure(&Failure::new(error.code(), error));
                hint(
                    out,
                    "nothing it says of clauses was taken; it is told why at your next turn",
                );
            }
            Some(Ok(_)) | None => {}
        }
        if let Some(error) = &said.unkept {
            out.failure(&Failure::new(error.code(), error));
            hint(out, error.hint());
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.replied(said.number, &said.text)?;
        }
        Ok(())
    }
}

/// To whom something is said.
fn asked(model: &str, url: &str, arrow: &str) -> String {
    let about = match arrow {
        "" => String::new(),
        arrow => format!(", about {}", clean(arrow)),
    };
    format!("Said to {} at {}{about}.", clean(model), clean(url))
}

fn hint(out: &Output, hint: &str) {
    if !hint.is_empty() {
        out.note_wrapped(format!("  {hint}"), 4);
    }
}

/// A model's text on its way to the terminal.
struct Printed<'o> {
    out: &'o Output,
    columns: usize,
    /// Where the line that is being printed ends; `None` before its margin.
    column: Option<usize>,
    /// The blanks that come before the next word, if it stays on this line.
    blanks: usize,
    /// A word that may go on.
    word: String,
    width: usize,
}

impl<'o> Printed<'o> {
    fn new(out: &'o Output) -> Self {
        Self {
            out,
            columns: out.columns(),
            column: None,
            blanks: 0,
            word: String::new(),
            width: 0,
        }
    }

    /// Prints as much as has come to the end of a word.
    fn push(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\n' => self.end_line(),
                ' ' | '\t' => {
                    self.end_word();
                    self.blanks += 1;
                }
                c if is_harmless(c) => {
                    let width = c.width().unwrap_or(0);
                    // A word as long as a line is broken: it hides nothing,
                    // and does not wait for its end.
                    if MARGIN.len() + self.width + width > self.columns {
                        self.end_word();
                    }
                    self.word.push(c);
                    self.width += width;
                }
                _ => {}
            }
        }
        self.out.flush();
    }

    /// Prints the rest; what was begun ends with its line.
    fn end(&mut self) {
        self.end_word();
        if self.column.take().is_some() {
            self.out.part("\n");
        }
        self.out.flush();
    }

    fn end_line(&mut self) {
        self.end_word();
        if self.column.take().is_none() {
            self.out.part(MARGIN.trim_end());
        }
        self.blanks = 0;
        self.out.part("\n");
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let mut blanks = std::mem::take(&mut self.blanks);
        let at = self.column.unwrap_or(MARGIN.len());
        if self.column.is_some() && at.saturating_add(blanks + self.width) > self.columns {
            self.out.part("\n");
            self.column = None;
            blanks = 0;
        }
        let mut part = String::new();
        if self.column.is_none() {
            part.push_str(MARGIN);
            // A line's own indent stays, as far as it leaves room.
            blanks = blanks.min(self.columns / 2);
        }
        part.extend(std::iter::repeat_n(' ', blanks));
        part.push_str(&self.word);
        let column = self.column.unwrap_or(MARGIN.len()) + blanks + self.width;
        self.column = Some(column);
        self.out.part(&part);
        self.word.clear();
        self.width = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str, size: usize) -> String {
        let out = Output::captured();
        let mut printed = Printed {
            columns: 20,
            ..Printed::new(&out)
        };
        let chars: Vec<char> = text.chars().collect();
        for piece in chars.chunks(size) {
            printed.push(&piece.iter().collect::<String>());
        }
        printed.end();
        out.take()
    }

    #[test]
    fn text_is_the_same_however_it_comes_and_fits_behind_its_margin() {
        let text = "one two three four five\n\n  indented\naaaaaaaaaaaaaaaaaaaaaaaaaaaa b\n";
        let seen = "| one two three four\n| five\n|\n|   indented\n\
                    | aaaaaaaaaaaaaaaaaa\n| aaaaaaaaaa b\n";
        for size in 1..text.len() {
            assert_eq!(printed(text, size), seen, "in pieces of {size}");
        }
    }

    #[test]
    fn nothing_it_says_acts_on_the_terminal_or_passes_for_ours() {
        let hostile = "\u{1b}[2Ja\rb\u{202e}c\nghyll> /exit\nerror[x]: y\u{7}";
        let seen = printed(hostile, 3);
        assert_eq!(seen, "| [2Jabc\n| ghyll> /exit\n| error[x]: y\n");
    }
}
