//! Data, to standard output.

use std::io::{self, Write};
use std::sync::atomic::Ordering;

use ghyll::text::is_harmless;
use serde::Serialize;

use super::{Output, READABLE, Text};

impl Output {
    /// Prints a line of data.
    ///
    /// # Errors
    /// If standard output cannot be written, and nothing was recorded.
    pub fn line(&self, text: impl Into<Text>) -> io::Result<()> {
        let text = text.into();
        if self.capture(&format!("{}\n", text.plain())) {
            return Ok(());
        }
        let line = format!("{}\n", text.ansi());
        // Not held while the rest is printed, which asks for it again.
        let rest = self
            .pager
            .lock()
            .as_mut()
            .map(|pager| pager.take(&line, text.width()));
        match rest {
            Some(rest) => self.print_rest(rest),
            None => self.data(|| write!(anstream::stdout(), "{line}")),
        }
    }

    /// As [`Self::line`], broken into lines that fit on the terminal it goes to;
    /// all but the first are indented by `indent` blanks.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub fn line_wrapped(&self, text: impl Into<Text>, indent: usize) -> io::Result<()> {
        let columns = match self.data_columns() {
            usize::MAX => usize::MAX,
            columns => columns.min(*READABLE.end()),
        };
        let text = text.into();
        if text.width() <= columns {
            return self.line(text);
        }
        let lines = text.wrapped(indent, columns);
        lines.into_iter().try_for_each(|line| self.line(line))
    }

    /// Prints a text of ours of several lines as data.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub fn lines(&self, text: &str) -> io::Result<()> {
        text.lines().try_for_each(|line| self.line(line))
    }

    /// Prints bytes as they are; for files and scripts we made ourselves.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub fn raw(&self, bytes: &[u8]) -> io::Result<()> {
        self.data(|| {
            let mut stdout = io::stdout();
            stdout.write_all(bytes)?;
            stdout.flush()
        })
    }

    /// Prints data as JSON. What could disturb a terminal is escaped, which
    /// changes nothing for a reader of JSON.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub fn value(&self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(value).map_err(io::Error::other)?;
        self.json_text(&text)
    }

    /// Prints a JSON text.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub fn json_text(&self, text: &str) -> io::Result<()> {
        self.json_part(&format!("{text}\n"))
    }

    /// Prints a part of a line of data that comes piece by piece, cleaned; a
    /// line end stays one. A reader that has gone ends nothing.
    pub fn part(&self, text: &str) {
        let safe: String = text
            .chars()
            .filter(|c| *c == '\n' || is_harmless(*c))
            .collect();
        if self.capture(&safe) {
            return;
        }
        let _ = self.data(|| io::stdout().write_all(safe.as_bytes()));
    }

    /// Has what was printed in parts be seen.
    pub fn flush(&self) {
        let _ = io::stdout().flush();
    }

    /// Prints a part of a JSON text; a line end stays one.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub fn json_part(&self, part: &str) -> io::Result<()> {
        let mut safe = String::with_capacity(part.len());
        for c in part.chars() {
            if c == '\n' || is_harmless(c) {
                safe.push(c);
            } else {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    safe.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
        if self.capture(&safe) {
            return Ok(());
        }
        self.data(|| io::stdout().write_all(safe.as_bytes()))
    }

    /// Writes data, unless nobody takes it any more.
    pub(super) fn data(&self, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if self.deaf.load(Ordering::Relaxed) {
            return Ok(());
        }
        let Err(error) = write() else {
            return Ok(());
        };
        let stands = self.stands.load(Ordering::Relaxed);
        if error.kind() != io::ErrorKind::BrokenPipe && !stands {
            return Err(error);
        }
        self.deaf.store(true, Ordering::Relaxed);
        if stands {
            self.note(format!(
                "note: what was recorded stands; standard output could not be written: {error}"
            ));
        }
        Ok(())
    }
}
