//! The one place things are printed from.
//!
//! Data goes to standard output, everything else to standard error. Whatever
//! came from a file, a model or a record passes through [`clean`] on its way
//! out, so that no text can move the cursor, turn letters around or write a
//! line that looks like ours.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use unicode_width::UnicodeWidthChar;

use super::failure::Failure;
use super::{Color, Common};

/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;
/// Columns text is laid out for: lines longer than this are hard to read,
/// shorter ones impossible.
const READABLE: std::ops::RangeInclusive<usize> = 20..=100;

/// Printing, as the command line asks for it.
pub struct Output {
    json: bool,
    /// Where a test reads what was printed; `None` for the real thing.
    #[cfg(test)]
    captured: Option<std::sync::Mutex<String>>,
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
            #[cfg(test)]
            captured: None,
        }
    }

    /// Printing that a test can read, without colour.
    #[cfg(test)]
    pub fn captured() -> Self {
        Self {
            json: false,
            captured: Some(std::sync::Mutex::default()),
        }
    }

    /// What was printed since the last call.
    #[cfg(test)]
    pub fn take(&self) -> String {
        let captured = self.captured.as_ref().expect("captures");
        std::mem::take(&mut captured.lock().unwrap())
    }

    #[cfg(test)]
    fn capture(&self, text: &str) -> bool {
        let Some(captured) = &self.captured else {
            return false;
        };
        captured
            .lock()
            .unwrap()
            .push_str(&anstream::adapter::strip_str(text).to_string());
        true
    }

    #[cfg(not(test))]
    fn capture(&self, _text: &str) -> bool {
        false
    }

    /// How many columns text for a person is laid out for. Where nobody looks,
    /// lines are left whole.
    fn columns(&self) -> usize {
        if self.capture("") {
            return COLUMNS;
        }
        match rustix::termios::tcgetwinsize(io::stderr()) {
            Ok(size) if size.ws_col > 0 => {
                usize::from(size.ws_col).clamp(*READABLE.start(), *READABLE.end())
            }
            Ok(_) => COLUMNS,
            Err(_) => usize::MAX,
        }
    }

    /// Whether data is to be JSON.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Prints a line of data.
    pub fn line(&self, text: &str) -> io::Result<()> {
        if self.capture(&format!("{text}\n")) {
            return Ok(());
        }
        writeln!(anstream::stdout(), "{text}")
    }

    /// Prints bytes as they are; for files and scripts we made ourselves.
    pub fn raw(&self, bytes: &[u8]) -> io::Result<()> {
        io::stdout().write_all(bytes)
    }

    /// Prints data as JSON. What could disturb a terminal is escaped, which
    /// changes nothing for a reader of JSON.
    pub fn value(&self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(value).map_err(io::Error::other)?;
        self.json_text(&text)
    }

    /// Prints a JSON text.
    pub fn json_text(&self, text: &str) -> io::Result<()> {
        let mut safe = String::with_capacity(text.len());
        for c in text.chars() {
            if is_harmless(c) {
                safe.push(c);
            } else {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    safe.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
        writeln!(io::stdout(), "{safe}")
    }

    /// For showing how far a long reading is.
    pub fn progress(&self) -> Progress {
        Progress {
            started: Instant::now(),
            bar: None,
        }
    }

    /// Tells the person at the terminal something that is not data.
    pub fn note(&self, text: &str) {
        if self.capture(&format!("{text}\n")) {
            return;
        }
        note(text);
    }

    /// Puts a question, the answer to come on the same line.
    pub fn prompt(&self, text: &str) {
        if self.capture(text) {
            return;
        }
        let mut stderr = anstream::stderr();
        let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
    }

    /// A line that says what follows. An alarming one is so in words too.
    pub fn heading(&self, text: &str, alarming: bool) {
        let style = if alarming {
            Style::new().bold().fg_color(Some(AnsiColor::Red.into()))
        } else {
            Style::new().bold()
        };
        for line in wrap(text, 2, self.columns()).lines() {
            self.note(&format!("{style}{line}{style:#}"));
        }
    }

    /// As [`Self::note`], broken into lines that fit; all but the first are
    /// indented by `indent` blanks. `text` has no style of its own.
    pub fn note_wrapped(&self, text: &str, indent: usize) {
        self.note(&wrap(text, indent, self.columns()));
    }

    /// Says why a command failed. Further lines are indented, so that none of
    /// them can be taken for one of ours.
    pub fn failure(&self, failure: &Failure) {
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let mut lines = failure.message.lines();
        let label = format!("error[{}]", clean(&failure.code));
        let first = format!("{label}: {}", clean(lines.next().unwrap_or_default()));
        let first = wrap(&first, 2, self.columns());
        match first.strip_prefix(&label) {
            Some(rest) => self.note(&format!("{red}{label}{red:#}{rest}")),
            None => self.note(&first),
        }
        for line in lines {
            self.note_wrapped(&format!("  {}", clean(line)), 4);
        }
    }
}

/// As [`Output::line`], from where there is no [`Output`]; for what is told
/// while something else goes on, which does not end because nobody listens.
pub fn told(text: &str) {
    let _ = writeln!(anstream::stdout(), "{text}");
}

/// As [`Output::note`], from where there is no [`Output`].
pub fn note(text: &str) {
    // Nobody is left to be told if this fails.
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// How far a long reading is; shown on a terminal once it takes longer than a
/// second, and nowhere else.
pub struct Progress {
    started: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    const PATIENCE: Duration = Duration::from_secs(1);

    /// So many bytes are read, of so many.
    pub fn show(&mut self, done: u64, total: u64) {
        if self.started.elapsed() < Self::PATIENCE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(total);
            if let Ok(style) = ProgressStyle::with_template("reading {percent} % of {total_bytes}")
            {
                bar.set_style(style);
            }
            bar
        });
        bar.set_length(total);
        bar.set_position(done.min(total));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A text on one line, without anything that acts on a terminal: control
/// characters (escape and carriage return among them), bidirectional and other
/// invisible formatting.
pub fn clean(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\n' | '\t' => Some(' '),
            c if is_harmless(c) => Some(c),
            _ => None,
        })
        .collect()
}

/// Breaks a text at blanks into lines of at most `columns` columns, all but the
/// first indented by `indent`. A word longer than a line is broken too: it may
/// not hide what comes after it.
pub fn wrap(text: &str, indent: usize, columns: usize) -> String {
    let width = |word: &str| word.chars().map(|c| c.width().unwrap_or(0)).sum::<usize>();
    let indent = if indent.saturating_add(8) > columns {
        2
    } else {
        indent
    };
    let mut lines = String::new();
    let mut column = 0;
    // Blanks in front are the first line's own indent.
    let body = text.trim_start_matches(' ');
    lines.extend(std::iter::repeat_n(' ', text.len() - body.len()));
    column += text.len() - body.len();
    let mut start = true;
    for word in body.split(' ') {
        if !start && column + 1 + width(word) > columns {
            lines.push('\n');
            lines.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else if !start {
            lines.push(' ');
            column += 1;
        }
        start = false;
        for c in word.chars() {
            let wide = c.width().unwrap_or(0);
            if column + wide > columns {
                lines.push('\n');
                lines.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            }
            lines.push(c);
            column += wide;
        }
    }
    lines
}

/// Whether a character only shows.
pub fn is_harmless(c: char) -> bool {
    !c.is_control()
        && !matches!(c,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
}

/// Standard error for the log: what is written to it is cleaned line by line.
pub fn clean_stderr() -> impl Write {
    struct Clean;
    impl Write for Clean {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut stderr = io::stderr().lock();
            for line in String::from_utf8_lossy(bytes).lines() {
                writeln!(stderr, "{}", clean(line))?;
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            io::stderr().flush()
        }
    }
    Clean
}

/// A word in the colour of what it means.
pub fn status(word: &str) -> String {
    let color = match word {
        "complete" | "pass" | "closed" => AnsiColor::Green,
        "blocked" | "fail" | "aborted" => AnsiColor::Red,
        "provisional" | "pending" | "insufficient-basis" | "accepted-risk" | "open" => {
            AnsiColor::Yellow
        }
        _ => return clean(word),
    };
    let style = Style::new().fg_color(Some(color.into()));
    format!("{style}{}{style:#}", clean(word))
}

#[cfg(test)]
mod tests {
    use super::{clean, wrap};

    #[test]
    fn text_is_broken_at_blanks_and_a_long_word_is_broken_too() {
        assert_eq!(wrap("  one two three", 4, 12), "  one two\n    three");
        assert_eq!(
            wrap("aaaaaaaaaaaaaaaaaaaaaaaaaa b", 2, 20),
            "aaaaaaaaaaaaaaaaaaaa\n  aaaaaa b"
        );
        assert_eq!(
            wrap("日本語日本語日本語日本語", 2, 20),
            "日本語日本語日本語日\n  本語"
        );
    }

    #[test]
    fn nothing_that_acts_on_a_terminal_gets_through() {
        let hostile = "a\u{1b}[31mb\u{9b}2Jc\rd\u{202e}e\u{200b}f\u{feff}g\nh\u{7}i\u{e0041}j";
        assert_eq!(clean(hostile), "a[31mb2Jcdefg hij");
        assert_eq!(clean("Größe 日本 🙂"), "Größe 日本 🙂");
    }
}
