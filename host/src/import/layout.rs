//! The new grid, made of an old one: lines that know which arrow or clause they
//! belong to.
//!
//! What may stand in a grid is the parser's to say, and it is asked: whatever it
//! finds fault with goes into a comment, with what it said, until the rest is a
//! grid. So there is no second copy of its rules here, and what is left is not
//! guessed.

use std::collections::BTreeMap;
use std::path::Path;

use super::Left;
use super::evidence::Evidence;
use super::old::{OldArrow, OldClause, OldGrid};
use crate::grid::{Grid, GridError, printable};

/// Keys that mean here what they meant there.
const SETTINGS: [&str; 3] = [
    "insufficient-basis-rounds-max",
    "residue-note-max-bytes",
    "modal-pending-max-len",
];
/// Keys of an arrow that have a place in the new one.
const ARROW: [&str; 7] = [
    "id",
    "upstream",
    "downstream",
    "context",
    "stratum",
    "adversary",
    "clauses",
];
/// Keys of a clause that have one.
const CLAUSE: [&str; 5] = ["id", "eval", "concept", "description", "depth"];
const UNDECIDED: &str = "import-undecided";

/// A grid as far as it could be written.
pub(super) struct Laid {
    pub(super) text: String,
    /// None if what is left declares nothing.
    pub(super) grid: Option<Grid>,
    /// What stands in comments, and why.
    pub(super) held: Vec<Left>,
}

impl Laid {
    /// One that its author has decided.
    pub(super) fn decided(text: String, grid: Grid) -> Self {
        let held = Vec::new();
        let grid = Some(grid);
        Self { text, grid, held }
    }
}

/// What a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Grid,
    Setting(usize),
    Arrow(usize),
    Clause(usize, usize),
}

/// Code and words of why something stands in a comment.
type Held = BTreeMap<Owner, (String, String)>;

/// Makes a grid of `old`.
pub(super) fn lay_out(old: &OldGrid, known: &Evidence) -> Laid {
    let file = Grid::file_name(old.version);
    let mut held = undecided(old, known);
    loop {
        let lines = lines(old, known, &held);
        let texts: Vec<&str> = lines.iter().map(|(_, text)| text.as_str()).collect();
        let text = texts.join("\n") + "\n";
        let parsed = Grid::parse(&text, old.version, Path::new(&file));
        let before = held.len();
        let grid = match parsed {
            Ok(grid) => Some(grid),
            Err(GridError::Invalid { problems }) => {
                for problem in problems {
                    let owner = lines.get(problem.line.saturating_sub(1));
                    let owner = owner.map_or(Owner::Grid, |(owner, _)| *owner);
                    held.entry(owner)
                        .or_insert((problem.code.to_owned(), problem.message));
                }
                None
            }
            Err(error) => {
                let reason = (error.code().to_owned(), error.to_string());
                held.entry(Owner::Grid).or_insert(reason);
                None
            }
        };
        // Each round holds back more, and there is only so much.
        if grid.is_some() || held.len() == before {
            let held = told(old, &file, &held);
            return Laid { text, grid, held };
        }
    }
}

/// What cannot be said here without guessing.
fn undecided(old: &OldGrid, known: &Evidence) -> Held {
    let mut held = Held::new();
    for (i, arrow) in old.arrows.iter().enumerate() {
        let missing: Vec<&str> = ["upstream", "downstream", "context"]
            .into_iter()
            .filter(|key| arrow.entries.text(key).is_none())
            .collect();
        let why = if !missing.is_empty() {
            Some(format!("it does not say its {}", missing.join(", ")))
        } else if let Err(why) = stratum(arrow, old.version, known) {
            Some(why)
        } else {
            adversary(arrow, old.version, known).err()
        };
        if let Some(why) = why {
            held.insert(Owner::Arrow(i), (UNDECIDED.to_owned(), why));
        }
        for (j, clause) in arrow.clauses.iter().enumerate() {
            if let Some(why) = undecided_clause(clause) {
                held.insert(Owner::Clause(i, j), (UNDECIDED.to_owned(), why));
            }
        }
    }
    held
}

fn undecided_clause(clause: &OldClause) -> Option<String> {
    let eval = clause.entries.text("eval");
    let driver = clause.entries.text("driver");
    match (eval, driver) {
        (Some("attested"), None) if concept(clause).is_none() => {
            Some("it does not say what it claims, which is what an operator is asked".to_owned())
        }
        (Some("attested"), None) => None,
        (Some("machine"), _) | (None, Some(_)) => Some(
            "a machine clause is decided by the exit status of a command here, and by what an \
             evaluator answered there: say which command decides it"
                .to_owned(),
        ),
        (Some("attested"), Some(_)) => {
            Some("it is attested and has a driver: say who decides it".to_owned())
        }
        (Some(other), _) => Some(format!("eval is {other:?}: say who decides it")),
        (None, None) => Some("it does not say who decides it".to_owned()),
    }
}

/// What an operator was asked: the concept, or the words of a clause without.
fn concept(clause: &OldClause) -> Option<&str> {
    let entries = &clause.entries;
    entries
        .text("concept")
        .or_else(|| entries.text("description"))
}

/// Its stratum, which the old grid leaves out, from where it is on record.
fn stratum(arrow: &OldArrow, version: u64, known: &Evidence) -> Result<String, String> {
    if let Some(said) = arrow.entries.text("stratum") {
        return Ok(said.to_owned());
    }
    let found = known.strata(&arrow.id, version);
    match found.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => Err("it says no stratum, and no record of it does: say which it is".to_owned()),
        several => Err(format!(
            "it says no stratum, and its records say several ({}): say which it is",
            several.join(", ")
        )),
    }
}

fn adversary<'a>(
    arrow: &'a OldArrow,
    version: u64,
    known: &'a Evidence,
) -> Result<Option<&'a str>, String> {
    if let Some(said) = arrow.entries.text("adversary") {
        return Ok(Some(said));
    }
    let found = known.adversaries(&arrow.id, version);
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one).filter(|role| !role.is_empty())),
        several => Err(format!(
            "its records name several adversary roles ({}; blank is none): say which it has",
            several.join(", ")
        )),
    }
}

fn lines(old: &OldGrid, known: &Evidence, held: &Held) -> Vec<(Owner, String)> {
    let mut out = Out {
        lines: Vec::new(),
        held,
    };
    let version = old.version;
    out.comment(Owner::Grid, 0, &format!(
        "Version {version} of a grid of the earlier design, taken over by `ghyll init --import`."
    ));
    out.comment(
        Owner::Grid,
        0,
        "What stands in comments is for its author to decide.",
    );
    out.plain(Owner::Grid, format!("version: {version}"));
    for (i, entry) in old.keys.iter().enumerate() {
        // Zero was how it said that the default holds.
        if SETTINGS.contains(&entry.key.as_str()) && entry.text.as_deref() != Some("0") {
            out.line(
                Owner::Setting(i),
                0,
                format!("{}: {}", entry.key, entry.shown),
            );
        }
    }
    let mut others = old.keys.iter();
    others
        .by_ref()
        .filter(|entry| !SETTINGS.contains(&entry.key.as_str()))
        .for_each(|entry| {
            let text = format!(
                "has no counterpart: {}: {}",
                printable(&entry.key),
                entry.shown
            );
            out.comment(Owner::Grid, 0, &text);
        });
    out.plain(Owner::Grid, String::new());
    out.plain(Owner::Grid, "arrows:".to_owned());
    for (i, arrow) in old.arrows.iter().enumerate() {
        out.arrow(i, arrow, version, known);
        for residue in &old.residue {
            if residue.text("arrow") == Some(arrow.id.as_str()) {
                let clause = residue.text("clause-id").unwrap_or_default();
                let reason = residue.text("reason").unwrap_or_default();
                let text = format!(
                    "left out there: {}: {}",
                    printable(clause),
                    printable(reason)
                );
                out.comment(Owner::Arrow(i), 6, &text);
            }
        }
        out.plain(Owner::Grid, String::new());
    }
    while out.lines.last().is_some_and(|(_, text)| text.is_empty()) {
        out.lines.pop();
    }
    out.lines
}

struct Out<'a> {
    lines: Vec<(Owner, String)>,
    held: &'a Held,
}

impl Out<'_> {
    fn plain(&mut self, owner: Owner, text: String) {
        self.lines.push((owner, text.trim_end().to_owned()));
    }

    fn comment(&mut self, owner: Owner, indent: usize, text: &str) {
        let text = format!("{:indent$}# {text}", "");
        self.lines.push((owner, text));
    }

    /// A line of what is meant to count; a comment where it, or the arrow it is
    /// in, cannot.
    fn line(&mut self, owner: Owner, indent: usize, text: String) {
        let inside = match owner {
            Owner::Clause(i, _) => Some(Owner::Arrow(i)),
            _ => None,
        };
        if self.held.contains_key(&owner) || inside.is_some_and(|it| self.held.contains_key(&it)) {
            // Behind a mark at one place for a whole block, so that an editor
            // takes it out again in one go.
            let at = match inside.filter(|it| self.held.contains_key(it)) {
                Some(_) => 2,
                None => {
                    if let Owner::Clause(..) = owner {
                        6
                    } else {
                        indent.min(2)
                    }
                }
            };
            let rest = indent - at;
            self.plain(owner, format!("{:at$}# {:rest$}{text}", "", ""));
        } else {
            self.plain(owner, format!("{:indent$}{text}", ""));
        }
    }

    fn reason(&mut self, owner: Owner, indent: usize) {
        if let Some((code, why)) = self.held.get(&owner) {
            let text = format!("{code}: {}", printable(why));
            self.comment(owner, indent, &text);
        }
    }

    fn arrow(&mut self, i: usize, arrow: &OldArrow, version: u64, known: &Evidence) {
        let owner = Owner::Arrow(i);
        self.reason(owner, 2);
        let entries = &arrow.entries;
        self.line(owner, 2, format!("- id: {}", quoted(&arrow.id)));
        for (key, old) in [("source-role", "upstream"), ("target-role", "downstream")] {
            self.line(
                owner,
                4,
                format!("{key}: {}", quoted_or_blank(entries.text(old))),
            );
        }
        if let Ok(Some(role)) = adversary(arrow, version, known) {
            self.line(owner, 4, format!("adversary-role: {}", quoted(role)));
        }
        let stratum = stratum(arrow, version, known).ok();
        self.line(
            owner,
            4,
            format!("stratum: {}", quoted_or_blank(stratum.as_deref())),
        );
        self.line(
            owner,
            4,
            format!("context: {}", quoted_or_blank(entries.text("context"))),
        );
        for entry in entries.others(&ARROW) {
            let text = format!(
                "has no counterpart: {}: {}",
                printable(&entry.key),
                entry.shown
            );
            self.comment(owner, 4, &text);
        }
        self.line(owner, 4, "clauses:".to_owned());
        for (j, clause) in arrow.clauses.iter().enumerate() {
            self.clause(Owner::Clause(i, j), clause);
        }
    }

    fn clause(&mut self, owner: Owner, clause: &OldClause) {
        self.reason(owner, 6);
        let entries = &clause.entries;
        let is_machine = entries.text("eval") != Some("attested");
        self.line(
            owner,
            6,
            format!("- id: {}", quoted_or_blank(entries.text("id"))),
        );
        let claim = if is_machine {
            // There the concept is the name of an evaluator.
            entries
                .text("description")
                .or_else(|| entries.text("concept"))
        } else {
            concept(clause)
        };
        self.line(owner, 8, format!("concept: {}", quoted_or_blank(claim)));
        let eval = entries
            .text("eval")
            .or(entries.text("driver").map(|_| "machine"));
        self.line(owner, 8, format!("eval: {}", quoted_or_blank(eval)));
        if let Some(depth) = entries.text("depth") {
            self.line(owner, 8, format!("depth: {}", quoted(depth)));
        }
        if is_machine {
            self.line(owner, 8, "run: []".to_owned());
        }
        for entry in &entries.0 {
            let used = CLAUSE.contains(&entry.key.as_str());
            // A second text beside the one that is asked.
            let second = matches!(entry.key.as_str(), "concept" | "description")
                && entry.text.as_deref() != claim;
            if !used || second {
                let text = format!("was there: {}: {}", printable(&entry.key), entry.shown);
                self.comment(owner, 8, &text);
            }
        }
    }
}

/// Text as YAML takes it for text: quoted, and what cannot be seen by number.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            // Shown otherwise than it is: by number.
            _ if printable(c.encode_utf8(&mut [0; 4])).len() > c.len_utf8() => {
                out.push_str(&format!("\\U{:08x}", u32::from(c)));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

fn quoted_or_blank(text: Option<&str>) -> String {
    text.map(quoted).unwrap_or_default()
}

fn told(old: &OldGrid, path: &str, held: &Held) -> Vec<Left> {
    let left = |line: u64, what: &str, code: &str, message: String| Left {
        path: path.to_owned(),
        line,
        what: what.to_owned(),
        code: code.to_owned(),
        message,
    };
    let mut all = Vec::new();
    for entry in &old.keys {
        if !SETTINGS.contains(&entry.key.as_str()) {
            let message = "a grid here says nothing of the kind".to_owned();
            all.push(left(
                entry.line,
                &entry.key,
                "import-no-counterpart",
                message,
            ));
        }
    }
    for residue in &old.residue {
        let what = format!(
            "{}/{}",
            residue.text("arrow").unwrap_or_default(),
            residue.text("clause-id").unwrap_or_default()
        );
        let line = residue.0.first().map_or(0, |entry| entry.line);
        let message = "was left out there, with a reason".to_owned();
        all.push(left(line, &what, "import-no-counterpart", message));
    }
    for (owner, (code, why)) in held {
        let arrow = |i: usize| old.arrows.get(i);
        let (line, what) = match owner {
            Owner::Grid => (0, "the grid".to_owned()),
            Owner::Setting(i) => old
                .keys
                .get(*i)
                .map_or((0, String::new()), |entry| (entry.line, entry.key.clone())),
            Owner::Arrow(i) => arrow(*i).map_or((0, String::new()), |it| (it.line, it.id.clone())),
            Owner::Clause(i, j) => arrow(*i)
                .and_then(|arrow| {
                    let clause = arrow.clauses.get(*j)?;
                    let id = clause.entries.text("id").unwrap_or_default();
                    Some((clause.line, format!("{}/{id}", arrow.id)))
                })
                .unwrap_or_default(),
        };
        all.push(left(line, &what, code, why.clone()));
    }
    all.sort_by_key(|left| left.line);
    all
}
