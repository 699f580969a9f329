//! Comparing an audit tree with one that is known to be right.
//!
//! A replay with a given clock and seed writes the same bytes every time, so a
//! tree kept beside the scripts says what they should come to.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// A file could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct GoldenError {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// How the tree `found` differs from the tree `expected`, a sentence for every
/// file that does, by path. A `found` that is not there is a tree without
/// files.
///
/// # Errors
/// If `expected` is no directory, or a file of either cannot be read.
pub fn differences(expected: &Path, found: &Path) -> Result<Vec<String>, GoldenError> {
    let wanted = files(expected)?;
    let there = if found.exists() {
        files(found)?
    } else {
        BTreeSet::new()
    };
    let mut differences = Vec::new();
    for path in wanted.union(&there) {
        let name = path.display();
        if !there.contains(path) {
            differences.push(format!("{name}: missing"));
        } else if !wanted.contains(path) {
            differences.push(format!("{name}: not expected"));
        } else {
            let (want, have) = (read(&expected.join(path))?, read(&found.join(path))?);
            if let Some(line) = first_difference(&want, &have) {
                differences.push(format!("{name}:{line}: differs"));
            }
        }
    }
    Ok(differences)
}

/// The first line that is not the same, from 1.
fn first_difference(want: &[u8], have: &[u8]) -> Option<usize> {
    if want == have {
        return None;
    }
    let lines = |bytes| <[u8]>::split_inclusive(bytes, |byte| *byte == b'\n');
    let same = lines(want)
        .zip(lines(have))
        .take_while(|(a, b)| a == b)
        .count();
    Some(same + 1)
}

fn read(path: &Path) -> Result<Vec<u8>, GoldenError> {
    // Looked at first: reading a FIFO waits for whoever writes to it.
    let read = std::fs::metadata(path).and_then(|meta| match meta.is_file() {
        true => std::fs::read(path),
        false => Err(io::Error::other("not an ordinary file")),
    });
    read.map_err(|source| GoldenError {
        path: path.to_owned(),
        source,
    })
}

/// All that is no directory below `root`; links are not followed.
fn files(root: &Path) -> Result<BTreeSet<PathBuf>, GoldenError> {
    let mut found = BTreeSet::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        let here = root.join(&directory);
        let fail = |source| GoldenError {
            path: here.clone(),
            source,
        };
        for entry in std::fs::read_dir(&here).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let path = directory.join(entry.file_name());
            if entry.file_type().map_err(fail)?.is_dir() {
                directories.push(path);
            } else {
                found.insert(path);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_extra_and_differing_files_are_named() {
        let (want, have) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |root: &Path, path: &str, text: &str| {
            let file = root.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        for root in [want.path(), have.path()] {
            write(root, "v1/same.jsonl", "a\n");
        }
        assert!(differences(want.path(), have.path()).unwrap().is_empty());
        write(want.path(), "v1/gone.jsonl", "a\n");
        write(have.path(), "v1/new.jsonl", "a\n");
        write(want.path(), "v1/x/longer.jsonl", "a\nb\n");
        write(have.path(), "v1/x/longer.jsonl", "a\nb\nc\n");
        write(want.path(), "v1/x/other.jsonl", "a\nb\n");
        write(have.path(), "v1/x/other.jsonl", "a\nc\n");
        assert_eq!(
            differences(want.path(), have.path()).unwrap(),
            [
                "v1/gone.jsonl: missing",
                "v1/new.jsonl: not expected",
                "v1/x/longer.jsonl:3: differs",
                "v1/x/other.jsonl:2: differs",
            ]
        );
        assert_eq!(
            differences(want.path(), Path::new("/nowhere"))
                .unwrap()
                .len(),
            4
        );
        assert!(differences(Path::new("/nowhere"), have.path()).is_err());
        #[cfg(unix)]
        for root in [want.path(), have.path()] {
            let fifo = root.join("fifo");
            let made = std::process::Command::new("mkfifo").arg(fifo).status();
            assert!(made.unwrap().success());
        }
        #[cfg(unix)]
        assert!(differences(want.path(), have.path()).is_err());
    }
}
