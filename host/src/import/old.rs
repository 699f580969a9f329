//! A grid of the earlier design, as far as it says anything.
//!
//! Its arrows were written without a fixed shape, so nothing is required here:
//! what is not there is for the layout to tell.

use cap_std::fs::Dir;

use crate::grid::yaml::{self, Node, Read, Value};
use crate::grid::{Grid, printable};

/// What makes a file unfit to be read as such a grid.
pub(super) struct Fault {
    pub(super) line: u64,
    pub(super) code: String,
    pub(super) message: String,
}

/// One version.
pub(super) struct OldGrid {
    pub(super) version: u64,
    /// Keys that are not arrows, in file order.
    pub(super) keys: Vec<Entry>,
    pub(super) arrows: Vec<OldArrow>,
    /// Clauses that were left out there, with a reason.
    pub(super) residue: Vec<Entries>,
}

/// A key and its value.
pub(super) struct Entry {
    pub(super) line: u64,
    pub(super) key: String,
    /// The text of a scalar; none for anything else.
    pub(super) text: Option<String>,
    /// The value on one line, to be shown.
    pub(super) shown: String,
}

/// The entries of a map.
pub(super) struct Entries(pub(super) Vec<Entry>);

impl Entries {
    /// The text under `key`, if there is one that is not blank.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        let entry = self.0.iter().find(|entry| entry.key == key)?;
        entry.text.as_deref().filter(|text| !text.trim().is_empty())
    }

    /// Those under none of `known`.
    pub(super) fn others<'a>(&'a self, known: &'a [&str]) -> impl Iterator<Item = &'a Entry> {
        let others = self.0.iter();
        others.filter(|entry| !known.contains(&entry.key.as_str()))
    }
}

/// An arrow.
pub(super) struct OldArrow {
    pub(super) line: u64,
    /// As its records name it.
    pub(super) id: String,
    pub(super) entries: Entries,
    pub(super) clauses: Vec<OldClause>,
}

/// A clause.
pub(super) struct OldClause {
    pub(super) line: u64,
    pub(super) entries: Entries,
}

/// Reads one version.
pub(super) fn read(ghyll: &Dir, version: u64) -> Result<OldGrid, Fault> {
    let text = Grid::read_text(ghyll, version).map_err(|error| Fault {
        line: 0,
        code: error.code().to_owned(),
        message: error.to_string(),
    })?;
    parse(&text, version)
}

/// Reads the text of one version.
pub(super) fn parse(text: &str, version: u64) -> Result<OldGrid, Fault> {
    let mut first = None;
    let read = yaml::read(text, &mut |line, code, message| {
        first.get_or_insert(Fault {
            line: line as u64,
            code: code.to_owned(),
            message,
        });
    });
    if let Some(fault) = first {
        return Err(fault);
    }
    let not = |message: &str| Fault {
        line: 1,
        code: "import-not-earlier-design".to_owned(),
        message: message.to_owned(),
    };
    let Read::Document(root) = read else {
        return Err(not("it says nothing"));
    };
    let Value::Map(entries) = &root.value else {
        return Err(not("it is no map"));
    };
    let mut grid = OldGrid {
        version,
        keys: Vec::new(),
        arrows: Vec::new(),
        residue: Vec::new(),
    };
    let mut declared = None;
    for (key, node) in entries {
        match key.text.as_str() {
            "grid-version" => declared = scalar(node),
            "arrows" => grid.arrows = list(node).iter().map(arrow).collect(),
            "residue" => grid.residue = list(node).iter().map(map).collect(),
            _ => grid.keys.push(entry(key, node)),
        }
    }
    match declared {
        Some(said) if said == version.to_string() => Ok(grid),
        Some(said) => Err(not(&format!(
            "the file is version {version}, its text says {said:?}"
        ))),
        None => Err(not(
            "it has no grid-version, so it is no grid of the earlier design",
        )),
    }
}

fn arrow(node: &Node) -> OldArrow {
    let entries = map(node);
    let end = |key| entries.text(key).unwrap_or_default();
    // Its records call an arrow without an id so.
    let id = match entries.text("id") {
        Some(id) => id.to_owned(),
        None => format!(
            "{}→{}/{}",
            end("upstream"),
            end("downstream"),
            end("context")
        ),
    };
    let clauses = match &node.value {
        Value::Map(all) => all.iter().find(|(key, _)| key.text == "clauses"),
        _ => None,
    };
    let clauses = clauses.map_or(&[][..], |(_, node)| list(node));
    OldArrow {
        line: node.line as u64,
        id,
        clauses: clauses
            .iter()
            .map(|node| OldClause {
                line: node.line as u64,
                entries: map(node),
            })
            .collect(),
        entries,
    }
}

fn map(node: &Node) -> Entries {
    Entries(match &node.value {
        Value::Map(all) => all.iter().map(|(key, node)| entry(key, node)).collect(),
        _ => Vec::new(),
    })
}

fn entry(key: &yaml::Key, node: &Node) -> Entry {
    Entry {
        line: key.line as u64,
        key: key.text.clone(),
        text: scalar(node),
        shown: shown(node),
    }
}

fn list(node: &Node) -> &[Node] {
    match &node.value {
        Value::List(items) => items,
        _ => &[],
    }
}

fn scalar(node: &Node) -> Option<String> {
    match &node.value {
        Value::Scalar { text, .. } if !node.is_null() => Some(text.clone()),
        _ => None,
    }
}

/// A value on one line, so that it can stand in a comment.
fn shown(node: &Node) -> String {
    match &node.value {
        Value::Scalar { text, plain: true } => printable(text),
        Value::Scalar { text, .. } => format!("{text:?}"),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(shown).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(entries) => {
            let entries = entries.iter();
            let entries: Vec<String> = entries
                .map(|(key, node)| format!("{}: {}", printable(&key.text), shown(node)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Alias => String::new(),
    }
}
