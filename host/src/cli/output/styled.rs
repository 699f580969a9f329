//! Text with styles, which cannot act on a terminal.
//!
//! A style is a value beside the text and never a sequence inside it: what is
//! put into a [`Text`] is cleaned as it goes in, so an escape that comes out
//! was written here and did not come with the data.

use std::fmt;

use anstyle::{AnsiColor, Style};
use ghyll::text::{clean, wrap};

/// Text to be shown, on one line, piece by piece.
#[derive(Debug, Clone, Default)]
pub struct Text(Vec<(Style, String)>);

impl Text {
    /// Appends text, cleaned.
    pub fn push(&mut self, more: impl Into<Self>) {
        self.0.extend(more.into().0);
    }

    /// The same words in one style.
    pub fn styled(text: &str, style: Style) -> Self {
        Self(vec![(style, clean(text))])
    }

    /// The words alone.
    pub fn plain(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The columns it takes.
    pub fn width(&self) -> usize {
        self.0
            .iter()
            .map(|(_, text)| ghyll::text::width(text))
            .sum()
    }

    /// As it goes to a terminal.
    pub fn ansi(&self) -> String {
        let mut shown = String::new();
        for (style, text) in &self.0 {
            if style.is_plain() || text.is_empty() {
                shown.push_str(text);
            } else {
                shown.push_str(&format!("{style}{text}{style:#}"));
            }
        }
        shown
    }

    /// Lines of at most `columns` columns, all but the first indented.
    pub fn wrapped(&self, indent: usize, columns: usize) -> Vec<Self> {
        let plain = self.plain();
        let broken = wrap(&plain, indent, columns);
        let mut styles = self
            .0
            .iter()
            .flat_map(|(style, text)| text.chars().map(move |c| (*style, c)));
        broken
            .lines()
            .enumerate()
            .map(|(n, line)| {
                let body = if n == 0 {
                    line
                } else {
                    line.trim_start_matches(' ')
                };
                let mut text = Self(vec![(Style::new(), " ".repeat(line.len() - body.len()))]);
                for c in body.chars() {
                    // Breaking drops blanks and adds none.
                    let style = styles.by_ref().find(|(_, is)| *is == c);
                    text.add(style.map_or(Style::new(), |(style, _)| style), c);
                }
                text
            })
            .collect()
    }

    fn add(&mut self, style: Style, c: char) {
        match self.0.last_mut() {
            Some((last, text)) if *last == style => text.push(c),
            _ => self.0.push((style, c.to_string())),
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::styled(text, Style::new())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&Text> for Text {
    fn from(text: &Text) -> Self {
        text.clone()
    }
}

/// The words without their styles, for a message made of strings.
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(_, text)| f.write_str(text))
    }
}

/// Text of several pieces: strings, cleaned, and styled [`Text`].
macro_rules! text {
    ($($piece:expr),+ $(,)?) => {{
        let mut text = $crate::cli::output::Text::default();
        $(text.push($piece);)+
        text
    }};
}
pub(crate) use text;

/// What is wrong.
pub const ALARM: Style = Style::new()
    .bold()
    .fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));
/// What is said first.
pub const STRONG: Style = Style::new().bold();
/// What is there to be looked up, not read.
pub const QUIET: Style = Style::new().dimmed();

/// A line that came.
pub const ADDED: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
/// A line that went.
pub const REMOVED: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));

/// A word in the colour of what it means.
pub fn status(word: &str) -> Text {
    let color = match word {
        "complete" | "pass" | "closed" | "verified" | "resolved" => AnsiColor::Green,
        "blocked" | "fail" | "aborted" | "unreadable" => AnsiColor::Red,
        "provisional" | "pending" | "insufficient-basis" | "accepted-risk" | "open" | "stale"
        | "warning" => AnsiColor::Yellow,
        _ => return Text::from(word),
    };
    Text::styled(word, Style::new().fg_color(Some(color.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_in_data_is_never_one_on_the_screen() {
        let hostile = "x\u{1b}[2Jy\u{202e}";
        let shown = text![hostile, " ", status(hostile), Text::styled(hostile, ALARM)].ansi();
        let without_ours = shown
            .replace(&ALARM.render().to_string(), "")
            .replace(&ALARM.render_reset().to_string(), "");
        assert_eq!(without_ours, "x[2Jy x[2Jyx[2Jy");
    }

    #[test]
    fn a_style_goes_on_where_a_line_is_broken() {
        let text = text!["one ", Text::styled("two three", STRONG), " four"];
        let lines: Vec<String> = text.wrapped(2, 11).iter().map(Text::ansi).collect();
        let (on, off) = (STRONG.render(), STRONG.render_reset());
        assert_eq!(
            lines,
            [
                format!("one {on}two{off}"),
                format!("  {on}three{off}"),
                "  four".to_owned()
            ]
        );
    }
}
