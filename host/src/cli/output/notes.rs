//! What is told to the person at the terminal, to standard error.

use std::io::{self, Write};

use super::{ALARM, Output, STRONG, Text, clean, direct, text};
use crate::cli::failure::Failure;

impl Output {
    /// Tells the person at the terminal something that is not data.
    pub fn note(&self, text: impl Into<Text>) {
        let text = text.into();
        if self.capture(&format!("{}\n", text.plain())) {
            return;
        }
        if self.pager.lock().is_some() {
            self.held_back.lock().push(text);
            return;
        }
        direct::note(text);
    }

    /// Clears the screen, for something to be shown on it anew.
    pub fn clear_screen(&self) {
        const CLEAR: &[u8] = b"\x1b[H\x1b[2J";
        let mut stderr = io::stderr();
        if !self.capture("") && io::IsTerminal::is_terminal(&stderr) {
            // What is not cleared scrolls away.
            let _ = stderr.write_all(CLEAR).and_then(|()| stderr.flush());
        }
    }

    /// Puts a question, the answer to come on the same line.
    pub fn prompt(&self, text: &str) {
        let text = clean(text);
        if self.capture(&text) {
            return;
        }
        let mut stderr = anstream::stderr();
        let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
    }

    /// As [`Self::note`], broken into lines that fit; all but the first are
    /// indented by `indent` blanks.
    pub fn note_wrapped(&self, text: impl Into<Text>, indent: usize) {
        let text = text.into();
        if text.plain().is_empty() {
            self.note("");
        }
        for line in text.wrapped(indent, self.columns()) {
            self.note(line);
        }
    }

    /// Tells something long, page by page where somebody is there to turn them.
    ///
    /// # Errors
    /// If it cannot be printed.
    pub fn notes_paged(&self, lines: Vec<Text>) -> Result<(), Failure> {
        if !io::IsTerminal::is_terminal(&io::stdout()) {
            lines.into_iter().for_each(|line| self.note(line));
            return Ok(());
        }
        self.paged(|| Ok(lines.into_iter().try_for_each(|line| self.line(line))?))
    }

    /// A text of ours of several lines.
    pub fn notes(&self, text: &str) {
        text.lines().for_each(|line| self.note(line));
    }

    /// Says why a command failed, and what helps. Further lines are indented,
    /// so that none of them can be taken for one of ours.
    pub fn failure(&self, failure: &Failure) {
        let mut lines = failure.message.lines();
        let label = Text::styled(&format!("error[{}]", failure.code), ALARM);
        let first = lines.next().unwrap_or_default();
        self.note_wrapped(text![label, ": ", first], 2);
        for line in lines {
            self.note_wrapped(format!("  {line}"), 4);
        }
        if let Some(hint) = failure.hint() {
            self.note_wrapped(text![Text::styled("  hint: ", STRONG), hint], 4);
        }
    }
}
