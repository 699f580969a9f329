//! Reading a Markdown document: headings, fenced blocks, and what is neither.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Whether documents are to be written instead of compared.
pub fn writing() -> bool {
    std::env::var_os("GHYLL_WRITE_DOCS").is_some()
}

/// A document by its path from the repository's root.
pub fn read(path: &str) -> String {
    let file = root().join(path);
    std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Every document, by its path from the repository's root.
pub fn all() -> Vec<String> {
    let mut found = Vec::new();
    for directory in ["", "docs/", "scripts/", "tests/hosts/", "tests/vectors/"] {
        for entry in std::fs::read_dir(root().join(directory)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                found.push(format!("{directory}{name}"));
            }
        }
    }
    found.sort();
    found
}

/// A fenced block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// What stands behind the opening fence.
    pub language: String,
    /// The lines between the fences, each with its end.
    pub text: String,
    /// The line of the opening fence, from 1.
    pub line: usize,
    /// The last heading before it, without its marks.
    pub heading: String,
}

/// The fenced blocks of a document, in order.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut heading = String::new();
    let mut open: Option<Block> = None;
    for (at, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                let _ = writeln!(block.text, "{line}");
            }
            (None, Some(language)) => {
                open = Some(Block {
                    language: language.to_owned(),
                    text: String::new(),
                    line: at + 1,
                    heading: heading.clone(),
                });
            }
            (None, None) => {
                if let Some(said) = heading_of(line) {
                    said.clone_into(&mut heading);
                }
            }
        }
    }
    assert!(open.is_none(), "a fence that is never closed");
    blocks
}

/// The lines outside of fenced blocks.
pub fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        if line.starts_with("```") {
            fenced = !fenced;
            return None;
        }
        (!fenced).then_some((at + 1, line))
    })
}

/// What a heading says.
pub fn heading_of(line: &str) -> Option<&str> {
    let said = line.trim_start_matches('#');
    (said.len() < line.len())
        .then(|| said.strip_prefix(' '))
        .flatten()
}

/// The anchors of a document, as forges make them of its headings.
pub fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = Vec::new();
    for said in prose(text).filter_map(|(_, line)| heading_of(line)) {
        let slug: String = said
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let before = seen.entry(slug.clone()).or_default();
        anchors.push(match *before {
            0 => slug.clone(),
            n => format!("{slug}-{n}"),
        });
        *before += 1;
    }
    anchors
}

/// The rows of every table below a heading, cell by cell.
pub fn table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let mut below = false;
    let mut rows = Vec::new();
    for (_, line) in prose(text) {
        if let Some(said) = heading_of(line) {
            below = said == heading;
        } else if below && line.starts_with("| `") {
            let cells = line.trim_matches('|').split('|').map(str::trim);
            rows.push(cells.map(str::to_owned).collect());
        }
    }
    assert!(!rows.is_empty(), "no table below {heading:?}");
    rows
}

#[test]
fn a_document_is_taken_apart() {
    let text = "# A b\n\n```sh\n# no heading\nx\n```\n## `C-d` e!\n## A b\n| `k` | v |\n";
    let found = blocks(text);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].language.as_str(), found[0].text.as_str()),
        ("sh", "# no heading\nx\n")
    );
    assert_eq!((found[0].line, found[0].heading.as_str()), (3, "A b"));
    assert_eq!(anchors(text), ["a-b", "c-d-e", "a-b-1"]);
    assert_eq!(table(text, "A b"), [["`k`", "v"]]);
}
