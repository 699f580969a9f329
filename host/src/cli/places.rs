//! Locations as an operator types them, and whether they are there.
//!
//! A record is for good, so a slip is pointed out before; it is never refused,
//! for the operator may have looked at what is not in the project.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The most that is read to count a file's lines, in bytes.
const READ_MAX: u64 = 64 << 20;

/// The locations in a line: separated by commas.
pub fn split(line: &str) -> Vec<String> {
    line.split(',')
        .map(str::trim)
        .filter(|place| !place.is_empty())
        .map(str::to_owned)
        .collect()
}

/// What is doubtful about a location, if anything.
pub fn doubt(root: &Path, place: &str) -> Option<String> {
    if place.contains("://") {
        return None;
    }
    if root.join(place).exists() {
        return None;
    }
    let (path, last) = parse(place);
    let file = root.join(path);
    if !file.exists() {
        return Some(format!("there is no {path} in the project"));
    }
    let last = last?;
    if file.is_dir() {
        return Some(format!("{path} is a directory, without lines"));
    }
    let lines = lines(&file, last)?;
    if last == 0 {
        return Some(format!("lines of {path} are counted from 1"));
    }
    (lines < last).then(|| format!("{path} ends at line {lines}"))
}

/// The path of a location and the last line it names, as in `a.rs:10-24`.
fn parse(place: &str) -> (&str, Option<u64>) {
    let Some((path, span)) = place.rsplit_once(':') else {
        return (place, None);
    };
    let (first, last) = span.split_once('-').unwrap_or((span, span));
    match (first.trim().parse::<u64>(), last.trim().parse::<u64>()) {
        (Ok(0), _) => (path, Some(0)),
        (Ok(first), Ok(last)) => (path, Some(first.max(last))),
        _ => (place, None),
    }
}

/// How many lines a file has, counted no further than `enough`; `None` if that
/// cannot be told.
fn lines(file: &Path, enough: u64) -> Option<u64> {
    use std::io::Read;
    if !file.metadata().ok()?.is_file() {
        return None; // reading a pipe would never end
    }
    let mut reader = BufReader::new(File::open(file).ok()?.take(READ_MAX));
    let mut count = 0;
    while count < enough {
        let mut line = Vec::new();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => return (reader.get_ref().limit() > 0).then_some(count),
            Ok(_) => count += 1,
            Err(_) => return None,
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_separated_by_commas_and_blanks_do_not_count() {
        assert_eq!(split(" a.rs:1-3 ,, b c.rs, "), ["a.rs:1-3", "b c.rs"]);
        assert_eq!(split(" , "), Vec::<String>::new());
    }

    #[test]
    fn a_slip_is_pointed_out_and_what_is_there_is_not() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.rs"), "one\ntwo\nthree").unwrap();
        std::fs::write(dir.path().join("odd:7"), "").unwrap();
        std::fs::create_dir(dir.path().join("src")).unwrap();
        let doubt = |place| doubt(dir.path(), place);
        for fine in [
            "a.rs",
            "a.rs:3",
            "a.rs:1-3",
            "a.rs:2 - 3",
            "src",
            "odd:7",
            "https://x.y/z:1",
        ] {
            assert_eq!(doubt(fine), None, "{fine}");
        }
        assert_eq!(doubt("b.rs:1").unwrap(), "there is no b.rs in the project");
        assert_eq!(doubt("a.rs:2-4").unwrap(), "a.rs ends at line 3");
        assert_eq!(doubt("a.rs:9-1").unwrap(), "a.rs ends at line 3");
        assert_eq!(doubt("a.rs:0").unwrap(), "lines of a.rs are counted from 1");
        assert_eq!(doubt("src:1").unwrap(), "src is a directory, without lines");
        assert_eq!(
            doubt("a.rs:x").unwrap(),
            "there is no a.rs:x in the project"
        );
    }
}
