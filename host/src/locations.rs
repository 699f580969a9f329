//! Locations, as `FILE`, `FILE:LINE` or `FILE:FIRST-LAST`, and whether they
//! are there.
//!
//! A record is for good, so an operator's slip is pointed out before; it is
//! not refused here, for the operator may have looked at what is not in the
//! project. What the producer names is held to more: it is refused unless it
//! is there. What is shown of a place is read no further than it has to be,
//! and from the project alone.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::files::bounded::open_ordinary;

/// The most that is read to count a file's lines, in bytes.
const READ_MAX: u64 = 64 << 20;

/// The locations in a line, or in lines that were pasted: separated by commas.
pub fn split(line: &str) -> Vec<String> {
    line.split([',', '\n'])
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

/// Why places are not in a project, each as an ordinary file inside it with at
/// least the lines it names; the first that is not, or `None`. Each file is
/// read once, however many of its places are named.
pub fn missing<'p>(
    root: &Path,
    places: impl IntoIterator<Item = &'p str>,
) -> Option<(&'p str, String)> {
    let Ok(root) = root.canonicalize() else {
        return places
            .into_iter()
            .next()
            .map(|place| (place, "the project cannot be read".to_owned()));
    };
    // How far a file's lines have to go, and for which place.
    let mut furthest: BTreeMap<PathBuf, (u64, &str)> = BTreeMap::new();
    for place in places {
        let (file, last) = match producers(&root, place) {
            Ok(found) => found,
            Err(why) => return Some((place, why)),
        };
        let so_far = furthest.entry(file).or_insert((0, place));
        if last > so_far.0 {
            *so_far = (last, place);
        }
    }
    for (file, (last, place)) in furthest {
        match lines(&file, last) {
            Some(lines) if lines >= last => {}
            Some(lines) => return Some((place, format!("it ends at line {lines}"))),
            None => return Some((place, "its lines cannot be counted".to_owned())),
        }
    }
    None
}

/// The file of a place that the producer names, and the last line named.
fn producers(root: &Path, place: &str) -> Result<(PathBuf, u64), String> {
    let (path, first, last) = match (place, span(place)) {
        (whole, _) if inside(root, whole).is_some() => (whole, 1, 0),
        (_, Some((path, first, last))) => (path, first, last),
        (whole, None) => (whole, 1, 0),
    };
    if Path::new(path).is_absolute() {
        return Err("places are named from the project's root".to_owned());
    }
    if first == 0 {
        return Err("lines are counted from 1".to_owned());
    }
    let backwards = place
        .rsplit_once('-')
        .and_then(|(_, end)| end.trim().parse::<u64>().ok())
        .is_some_and(|end| path != place && end < first);
    if backwards {
        return Err("the last line comes before the first".to_owned());
    }
    match inside(root, path) {
        Some(file) => Ok((file, last)),
        None => Err("there is no such file in the project".to_owned()),
    }
}

/// The path of a location and the last line it names, as in `a.rs:10-24`.
fn parse(place: &str) -> (&str, Option<u64>) {
    match span(place) {
        Some((path, 0, _)) => (path, Some(0)),
        Some((path, _, last)) => (path, Some(last)),
        None => (place, None),
    }
}

/// The path, the first line and the last line of a location that names lines.
fn span(place: &str) -> Option<(&str, u64, u64)> {
    let (path, span) = place.rsplit_once(':')?;
    let (first, last) = span.split_once('-').unwrap_or((span, span));
    match (first.trim().parse::<u64>(), last.trim().parse::<u64>()) {
        (Ok(first), Ok(last)) => Some((path, first, first.max(last))),
        _ => None,
    }
}

/// Whether a word is meant as a place, and not as a note.
pub fn looks_like(root: &Path, word: &str) -> bool {
    span(word).is_some() || word.contains("://") || root.join(word).exists()
}

/// The file of a location and the line to open it at, if it is one of the
/// project: what a record or a model names is opened nowhere else.
pub fn target(root: &Path, place: &str) -> Option<(PathBuf, Option<u64>)> {
    let whole = inside(root, place);
    match (whole, span(place)) {
        (Some(file), _) => Some((file, None)),
        (None, Some((path, first, _))) => Some((inside(root, path)?, Some(first.max(1)))),
        (None, None) => None,
    }
}

fn inside(root: &Path, path: &str) -> Option<PathBuf> {
    let file = root.join(path).canonicalize().ok()?;
    let is_inside = file.starts_with(root.canonicalize().ok()?);
    (is_inside && file.is_file()).then_some(file)
}

/// The lines a location names, with their numbers: at most `most` of them, and
/// whether there are more. A location without lines shows the first ones.
/// `None` if it is no text file of the project.
pub fn lines_at(root: &Path, place: &str, most: usize) -> Option<(Vec<(u64, String)>, bool)> {
    let (file, first) = target(root, place)?;
    let last = match (first, span(place)) {
        (Some(_), Some((_, _, last))) => last,
        _ => u64::MAX,
    };
    let first = first.unwrap_or(1);
    let mut reader = BufReader::new(open_ordinary(&file).ok()?.take(READ_MAX));
    let (mut number, mut shown) = (0, Vec::new());
    loop {
        let mut line = Vec::new();
        if reader.read_until(b'\n', &mut line).ok()? == 0 {
            return Some((shown, false));
        }
        number += 1;
        if number > last {
            return Some((shown, false));
        }
        if line.contains(&0) {
            return None;
        }
        if number >= first {
            if shown.len() == most {
                return Some((shown, true));
            }
            shown.push((number, String::from_utf8_lossy(&line).trim_end().to_owned()));
        }
    }
}

/// How many lines a file has, counted no further than `enough`; `None` if that
/// cannot be told.
fn lines(file: &Path, enough: u64) -> Option<u64> {
    let mut reader = BufReader::new(open_ordinary(file).ok()?.take(READ_MAX));
    // A line may be as long as the file: none is kept.
    let (mut count, mut begun) = (0, false);
    while count < enough {
        let read = reader.fill_buf().ok()?;
        if read.is_empty() {
            let all = reader.get_ref().limit() > 0;
            return all.then_some(count + u64::from(begun));
        }
        let ends = read.iter().filter(|byte| **byte == b'\n').count();
        count += u64::try_from(ends).unwrap_or(u64::MAX);
        begun = read.last() != Some(&b'\n');
        let length = read.len();
        reader.consume(length);
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

    #[test]
    fn what_the_producer_names_has_to_be_there() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join("a.rs"), "one\ntwo\nthree").unwrap();
        std::fs::write(root.join("odd:7"), "").unwrap();
        std::fs::write(root.join("empty"), "").unwrap();
        std::fs::write(dir.path().join("secret"), "s\n").unwrap();
        std::os::unix::fs::symlink(dir.path().join("secret"), root.join("link")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        let missing = |place| missing(&root, [place]).map(|(_, why)| why);
        for there in [
            "a.rs", "a.rs:3", "a.rs:1-3", "a.rs:2-2", "odd:7", "empty", "./a.rs:1",
        ] {
            assert_eq!(missing(there), None, "{there}");
        }
        for (place, why) in [
            ("b.rs", "no such file"),
            ("a.rs:4", "ends at line 3"),
            ("a.rs:1-4", "ends at line 3"),
            ("a.rs:3-1", "before the first"),
            ("a.rs:0", "counted from 1"),
            ("a.rs:0-2", "counted from 1"),
            ("a.rs:x", "no such file"),
            ("empty:1", "ends at line 0"),
            ("src", "no such file"),
            ("src:1", "no such file"),
            ("pipe:1", "no such file"),
            ("../secret", "no such file"),
            ("link:1", "no such file"),
            ("/etc/passwd:1", "from the project's root"),
            ("https://x.y/z:1", "no such file"),
            ("", "no such file"),
            ("a.rs:18446744073709551616", "no such file"),
        ] {
            let said = missing(place).unwrap_or_default();
            assert!(said.contains(why), "{place}: {said:?}");
        }
        let absolute = root.join("a.rs");
        let absolute = absolute.to_str().unwrap();
        assert!(missing(absolute).is_some(), "places are relative");
    }

    #[test]
    fn lines_are_shown_with_their_numbers_and_from_the_project_alone() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("a.rs"), "one\ntwo\nthree\n").unwrap();
        std::fs::write(root.join("b.bin"), "a\0b\n").unwrap();
        std::fs::write(dir.path().join("secret"), "s\n").unwrap();
        let at = |place, most| lines_at(&root, place, most);
        let line = |n, text: &str| (n, text.to_owned());
        assert_eq!(
            at("a.rs:2-3", 9).unwrap(),
            (vec![line(2, "two"), line(3, "three")], false)
        );
        assert_eq!(at("a.rs", 1).unwrap(), (vec![line(1, "one")], true));
        assert_eq!(at("a.rs:9", 9).unwrap(), (vec![], false));
        for nothing in [
            "b.bin:1",
            "../secret:1",
            "/etc/passwd",
            "nowhere:1",
            "https://x.y/z:1",
        ] {
            assert_eq!(at(nothing, 9), None, "{nothing}");
        }
        assert!(looks_like(&root, "a.rs") && looks_like(&root, "b.rs:3"));
        assert!(!looks_like(&root, "done."));
    }
}
