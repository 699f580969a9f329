//! The one place things are printed from.
//!
//! Data goes to standard output, everything else to standard error. Whatever
//! came from a file, a model or a record passes through [`clean`] on its way
//! out, so that no text can move the cursor, turn letters around or write a
//! line that looks like ours.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::failure::Failure;
use super::{Color, Common};

/// Printing, as the command line asks for it.
pub struct Output {
    json: bool,
}

impl Output {
    /// Printing by the common flags; colour is settled for the whole process.
    pub fn new(common: &Common) -> Self {
        match common.color {
            Color::Auto => {}
            Color::Always => anstream::ColorChoice::Always.write_global(),
            Color::Never => anstream::ColorChoice::Never.write_global(),
        }
        Self { json: common.json }
    }

    /// Whether data is to be JSON.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Prints a line of data.
    pub fn line(&self, text: &str) -> io::Result<()> {
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

    /// Tells the person at the terminal something that is not data.
    pub fn note(&self, text: &str) {
        note(text);
    }

    /// Says why a command failed. Further lines are indented, so that none of
    /// them can be taken for one of ours.
    pub fn failure(&self, failure: &Failure) {
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let mut lines = failure.message.lines();
        let first = clean(lines.next().unwrap_or_default());
        self.note(&format!("{red}error[{}]{red:#}: {first}", clean(&failure.code)));
        for line in lines {
            self.note(&format!("  {}", clean(line)));
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

fn is_harmless(c: char) -> bool {
    !c.is_control()
        && !matches!(c,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
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
    use super::clean;

    #[test]
    fn nothing_that_acts_on_a_terminal_gets_through() {
        let hostile = "a\u{1b}[31mb\u{9b}2Jc\rd\u{202e}e\u{200b}f\u{feff}g\nh\u{7}i\u{e0041}j";
        assert_eq!(clean(hostile), "a[31mb2Jcdefg hij");
        assert_eq!(clean("Größe 日本 🙂"), "Größe 日本 🙂");
    }
}
