//! What may be shown, and how it is put: the one place that says so.
//!
//! Names, notes and messages come from files, models, records and people. On
//! their way to a screen they become text that only shows: nothing in it moves
//! a cursor, turns letters around or writes a line that looks like ours. The
//! same goes for every surface, so it lives here and not at a terminal.

use jiff::Timestamp;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// The most of a text that is shown in passing, in characters.
const EXCERPT: usize = 200;

/// A text on one line, without anything that acts on a terminal: control
/// characters (escape and carriage return among them), bidirectional and other
/// invisible formatting. Line ends and tabs become blanks.
pub fn clean(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\n' | '\t' => Some(' '),
            c if is_harmless(c) => Some(c),
            _ => None,
        })
        .collect()
}

/// Whether a character only shows.
pub fn is_harmless(c: char) -> bool {
    crate::policy::may_be_shown(c)
}

/// How many columns a text takes on a terminal.
pub fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// How long ago an RFC 3339 time was; the time itself if it is none.
pub fn age(timestamp: &str, now: Timestamp) -> String {
    match timestamp.parse() {
        Ok(then) => ago(then, now),
        Err(_) => clean(timestamp),
    }
}

/// An RFC 3339 time to the second, UTC; as it stands if it is none.
pub fn second(timestamp: &str) -> String {
    match timestamp.parse::<Timestamp>() {
        Ok(then) => then.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Err(_) => clean(timestamp),
    }
}

/// The beginning of a text, cleaned, and how long it is in bytes if that is
/// not all.
pub fn excerpt(text: &str) -> String {
    let text = clean(text);
    match text.char_indices().nth(EXCERPT) {
        None => text,
        Some((end, _)) => {
            format!(
                "{}… ({} bytes in all)",
                text.get(..end).unwrap_or_default(),
                text.len()
            )
        }
    }
}

/// Breaks a text at blanks into lines of at most `columns` columns, all but the
/// first indented by `indent`. A word longer than a line is broken too: it may
/// not hide what comes after it. `usize::MAX` columns leave the text whole.
pub fn wrap(text: &str, indent: usize, columns: usize) -> String {
    if columns == usize::MAX {
        return text.to_owned();
    }
    // Where there is hardly room, it goes to the text.
    let indent = if indent.saturating_add(8) > columns {
        2
    } else {
        indent
    };
    let indent = " ".repeat(indent);
    let options = Options::new(columns)
        .subsequent_indent(&indent)
        .break_words(true)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, options).join("\n")
}

/// A number of things: `1 request`, `2 requests`, `3 entries`.
pub fn count(n: usize, thing: &str) -> String {
    if n == 1 {
        return format!("1 {thing}");
    }
    match thing.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{n} {stem}ies"),
        _ if thing.ends_with(['s', 'x']) => format!("{n} {thing}es"),
        _ => format!("{n} {thing}s"),
    }
}

/// How long ago `then` was at `now`, both UTC: `just now`, `3 hours ago`. A
/// time that is yet to come is `in the future`, for a clock is wrong then.
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let seconds = now.as_second().saturating_sub(then.as_second());
    let (unit, thing) = match seconds {
        i64::MIN..-1 => return "in the future".to_owned(),
        -1..MINUTE => return "just now".to_owned(),
        MINUTE..HOUR => (MINUTE, "minute"),
        HOUR..DAY => (HOUR, "hour"),
        s if s < 7 * DAY => (DAY, "day"),
        s if s < 60 * DAY => (7 * DAY, "week"),
        s if s < 730 * DAY => (30 * DAY, "month"),
        _ => (365 * DAY, "year"),
    };
    let n = usize::try_from(seconds / unit).unwrap_or(usize::MAX);
    format!("{} ago", count(n, thing))
}

/// The name most like `word`, if any is like it at all.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let likeness = |name: &str| strsim::jaro_winkler(&word.to_lowercase(), &name.to_lowercase());
    names
        .into_iter()
        .map(|name| (likeness(name), name))
        .filter(|(likeness, _)| *likeness >= 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let names = ["A-checkout", "A-refund"];
        assert_eq!(nearest("a-chekout", names).as_deref(), Some("A-checkout"));
        assert_eq!(nearest("zzz", names), None);
    }

    #[test]
    fn text_is_broken_at_blanks_and_a_long_word_is_broken_too() {
        assert_eq!(wrap("  one two three", 4, 12), "  one two\n    three");
        assert_eq!(
            wrap("aaaaaaaaaaaaaaaaaaaaaaaaaa b", 2, 20),
            "aaaaaaaaaaaaaaaaaa\n  aaaaaaaa b"
        );
        assert_eq!(
            wrap("日本語日本語日本語日本語", 2, 20),
            "日本語日本語日本語\n  日本語"
        );
        assert_eq!(wrap("one two", 2, usize::MAX), "one two");
        assert_eq!(
            wrap("a well-known path/with/parts", 0, 14),
            "a well-known\npath/with/part\ns"
        );
    }

    #[test]
    fn nothing_that_acts_on_a_terminal_gets_through() {
        let hostile = "a\u{1b}[31mb\u{9b}2Jc\rd\u{202e}e\u{200b}f\u{feff}g\nh\u{7}i\u{e0041}j";
        assert_eq!(clean(hostile), "a[31mb2Jcdefg hij");
        assert_eq!(clean("Größe 日本 🙂"), "Größe 日本 🙂");
    }

    #[test]
    fn things_are_counted_in_good_english() {
        let told: Vec<String> = [
            (0, "file"),
            (1, "file"),
            (2, "index"),
            (3, "entry"),
            (2, "day"),
        ]
        .map(|(n, thing)| count(n, thing))
        .into();
        assert_eq!(
            told,
            ["0 files", "1 file", "2 indexes", "3 entries", "2 days"]
        );
    }

    #[test]
    fn ages_are_told_in_the_largest_unit_that_fits() {
        let now: Timestamp = "2026-07-01T12:00:00Z".parse().unwrap();
        let told = |then: &str| ago(then.parse().unwrap(), now);
        assert_eq!(told("2026-07-01T11:59:01Z"), "just now");
        assert_eq!(told("2026-07-01T11:59:00Z"), "1 minute ago");
        assert_eq!(told("2026-07-01T09:00:00Z"), "3 hours ago");
        assert_eq!(told("2026-06-29T12:00:00Z"), "2 days ago");
        assert_eq!(told("2026-06-20T12:00:00Z"), "1 week ago");
        assert_eq!(told("2026-04-01T12:00:00Z"), "3 months ago");
        assert_eq!(told("2023-07-01T12:00:00Z"), "3 years ago");
        assert_eq!(told("2026-07-01T12:00:05Z"), "in the future");
    }

    #[test]
    fn a_time_is_told_to_the_second() {
        assert_eq!(
            second("2026-07-01T12:00:59.123456789Z"),
            "2026-07-01T12:00:59Z"
        );
        assert_eq!(second("2026-07-01T12:00:59+02:00"), "2026-07-01T10:00:59Z");
        assert_eq!(second("yesterday"), "yesterday");
    }

    #[test]
    fn an_excerpt_says_how_much_there_is() {
        assert_eq!(excerpt("a\nb"), "a b");
        let long = excerpt(&"é".repeat(201));
        assert!(long.ends_with("é… (402 bytes in all)"), "{long}");
    }
}
