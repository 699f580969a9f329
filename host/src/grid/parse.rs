//! From text to a checked [`Grid`].
//!
//! Every check runs, whatever the ones before it found: a field that is
//! missing or of the wrong kind is reported once, reads as empty, and further
//! checks pass over empty fields. Only a grid without problems is returned.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use super::error::{GridError, Problem, is_invisible};
use super::yaml::{self, Key, Node, Read, Value};
use super::{Arrow, Clause, Eval, Grid, MAX_BYTES, Settings};

const GRID_KEYS: &[&str] = &[
    "version",
    "arrows",
    ROUNDS_MAX.name,
    NOTE_MAX.name,
    PENDING_MAX.name,
];
const ARROW_KEYS: &[&str] = &[
    "id",
    "source-role",
    "target-role",
    "adversary-role",
    "stratum",
    "context",
    "clauses",
];
const CLAUSE_KEYS: &[&str] = &[
    "id",
    "concept",
    "eval",
    "depth",
    "min-tier",
    "run",
    TIMEOUT.name,
];

/// A key whose value is a positive integer, with its codes.
struct IntegerKey {
    name: &'static str,
    not_integer: &'static str,
    not_positive: &'static str,
    too_large: &'static str,
    max: u64,
}

macro_rules! integer_key {
    ($name:literal, $max:expr) => {
        IntegerKey {
            name: $name,
            not_integer: concat!($name, "-must-be-integer"),
            not_positive: concat!($name, "-must-be-positive"),
            too_large: concat!($name, "-too-large"),
            max: $max,
        }
    };
}

/// The settings are kept in 32 bits. A widening, which `From` cannot do in a
/// constant.
const U32_MAX: u64 = u32::MAX as u64;

const VERSION: IntegerKey = integer_key!("version", u64::MAX);
const ROUNDS_MAX: IntegerKey = integer_key!("insufficient-basis-rounds-max", U32_MAX);
/// 1 MiB: a note, escaped twice into a line, must stay within what one call of
/// the policy component accepts.
const NOTE_MAX: IntegerKey = integer_key!("residue-note-max-bytes", 1024 * 1024);
const PENDING_MAX: IntegerKey = integer_key!("modal-pending-max-len", U32_MAX);
const TIMEOUT: IntegerKey = integer_key!("timeout-s", U32_MAX);

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Roles that records use for themselves: the operator who attests and the
/// initial attestation. An arrow between them could only certify itself.
const RESERVED_ROLES: [&str; 2] = ["operator", "init"];

impl Grid {
    /// Checks `text` as version `version` of the grid. `file` is how problems
    /// name it.
    ///
    /// # Errors
    /// [`GridError::Invalid`] with every problem in the text, by line;
    /// [`GridError::TooLarge`].
    pub fn parse(text: &str, version: u64, file: &Path) -> Result<Grid, GridError> {
        if text.len() > MAX_BYTES {
            return Err(GridError::TooLarge {
                path: file.to_owned(),
            });
        }
        let mut check = Check {
            file,
            problems: Vec::new(),
        };
        let grid = check.document(text, version);
        let mut problems = check.problems;
        if problems.is_empty() {
            return Ok(grid);
        }
        problems.sort_by_key(|problem| problem.line);
        Err(GridError::Invalid { problems })
    }
}

/// The problems found so far.
struct Check<'a> {
    file: &'a Path,
    problems: Vec<Problem>,
}

/// A map's entries and where it starts.
#[derive(Clone, Copy)]
struct Map<'n> {
    line: usize,
    entries: &'n [(Key, Node)],
}

impl<'n> Map<'n> {
    /// The value of `key`; null counts as absent.
    fn get(self, key: &str) -> Option<&'n Node> {
        self.raw(key).filter(|node| !node.is_null())
    }

    fn raw(self, key: &str) -> Option<&'n Node> {
        let entry = self.entries.iter().find(|(known, _)| known.text == key);
        entry.map(|(_, node)| node)
    }
}

/// A text field. Empty when there was a problem with it, already reported, or
/// when it is optional and absent.
#[derive(Default)]
struct Text {
    value: String,
    line: usize,
}

impl Text {
    fn given(self) -> Option<String> {
        Some(self.value).filter(|value| !value.is_empty())
    }

    /// Two names are the same when a person would take them for the same.
    fn same_name(&self, other: &Text) -> bool {
        !self.value.is_empty() && folded(&self.value) == folded(&other.value)
    }
}

fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}

impl Check<'_> {
    fn report(&mut self, line: usize, code: &'static str, message: String) {
        self.problems.push(Problem {
            file: self.file.to_owned(),
            line,
            code,
            message,
        });
    }

    fn document(&mut self, text: &str, version: u64) -> Grid {
        let mut grid = Grid {
            version,
            arrows: Vec::new(),
            settings: Settings::default(),
        };
        let read = yaml::read(text, &mut |line, code, message| {
            self.report(line, code, message);
        });
        let root = match read {
            Read::Document(root) if !root.is_null() => root,
            Read::Document(_) | Read::Empty => Node {
                line: 1,
                value: Value::Map(Vec::new()),
            },
            Read::Broken => return grid,
        };
        let Some(map) = self.map(&root, "a grid", GRID_KEYS) else {
            return grid;
        };
        self.version(map, version);
        grid.settings = self.settings(map);
        let nodes = self.list(
            map,
            "arrows",
            "grid-arrows-empty",
            "grid-arrows-must-be-list",
        );
        let mut names = Names::default();
        for node in nodes {
            grid.arrows.extend(self.arrow(node, &mut names));
        }
        grid
    }

    fn version(&mut self, map: Map<'_>, expected: u64) {
        if let Some((found, line)) = self.positive(map, &VERSION)
            && found != expected
        {
            let message = format!("the file is version {expected}, its text says {found}");
            self.report(line, "grid-version-mismatch", message);
        }
    }

    fn settings(&mut self, map: Map<'_>) -> Settings {
        let mut settings = Settings::default();
        if let Some((max, _)) = self.positive(map, &ROUNDS_MAX) {
            settings.insufficient_basis_rounds_max = u32::try_from(max).unwrap_or(u32::MAX);
        }
        if let Some((max, _)) = self.positive(map, &NOTE_MAX) {
            settings.residue_note_max_bytes = u32::try_from(max).unwrap_or(u32::MAX);
        }
        if let Some((max, _)) = self.positive(map, &PENDING_MAX) {
            settings.modal_pending_max_len = usize::try_from(max).unwrap_or(usize::MAX);
        }
        settings
    }

    fn arrow(&mut self, node: &Node, names: &mut Names) -> Option<Arrow> {
        let map = self.map(node, "an arrow", ARROW_KEYS)?;
        let id = self.id(map);
        // An arrow without an id of its own gives its clauses no refs to check.
        let prefix = self
            .unique(&mut names.arrows, &id, "grid-arrow-id-duplicate")
            .then(|| format!("att-{}", id.value));
        if let Some(prefix) = &prefix {
            self.unambiguous(&mut names.refs, prefix.clone(), &id);
        }

        let source = self.role(map, "source-role", true);
        let target = self.role(map, "target-role", true);
        let adversary = self.role(map, "adversary-role", false);
        for role in [&source, &target] {
            if RESERVED_ROLES.contains(&folded(&role.value).as_str()) {
                let message = format!(
                    "{:?} is the name ghyll attests under, so such an arrow would certify itself",
                    role.value
                );
                self.report(role.line, "grid-role-reserved", message);
            }
        }
        if source.same_name(&target) {
            let message = format!("source and target are the same role, {:?}", target.value);
            self.report(target.line, "grid-roles-equal", message);
        }
        if adversary.same_name(&source) || adversary.same_name(&target) {
            let message = format!(
                "{:?} cannot be the adversary of an arrow it is an end of",
                adversary.value
            );
            self.report(adversary.line, "grid-adversary-role-conflict", message);
        }

        let stratum = self.text(map, "stratum", true).value;
        let context = self.text(map, "context", true).value;
        let nodes = self.list(
            map,
            "clauses",
            "grid-arrow-clauses-empty",
            "grid-arrow-clauses-must-be-list",
        );
        let mut siblings = HashMap::new();
        let mut clauses = Vec::new();
        for node in nodes {
            clauses.extend(self.clause(node, prefix.as_deref(), &mut siblings, &mut names.refs));
        }
        Some(Arrow {
            id: id.value,
            source_role: source.value,
            target_role: target.value,
            adversary_role: adversary.given(),
            stratum,
            context,
            clauses,
        })
    }

    fn clause(
        &mut self,
        node: &Node,
        prefix: Option<&str>,
        siblings: &mut HashMap<String, usize>,
        refs: &mut HashMap<String, usize>,
    ) -> Option<Clause> {
        let map = self.map(node, "a clause", CLAUSE_KEYS)?;
        let id = self.id(map);
        if self.unique(siblings, &id, "grid-clause-id-duplicate")
            && let Some(prefix) = prefix
        {
            self.unambiguous(refs, format!("{prefix}-{}", id.value), &id);
        }
        let concept = self.text(map, "concept", true).value;
        let eval = self.eval(map);
        Some(Clause {
            id: id.value,
            concept,
            eval,
            depth: self.text(map, "depth", false).given(),
            min_tier: self.text(map, "min-tier", false).given(),
        })
    }

    fn eval(&mut self, map: Map<'_>) -> Eval {
        let timeout = self.positive(map, &TIMEOUT);
        let eval = self.text(map, "eval", true);
        match eval.value.as_str() {
            "machine" => Eval::Machine {
                run: self.run(map),
                timeout: timeout
                    .map_or(DEFAULT_TIMEOUT, |(seconds, _)| Duration::from_secs(seconds)),
            },
            "attested" => {
                for (key, code) in [
                    ("run", "grid-clause-run-unexpected"),
                    (TIMEOUT.name, "grid-clause-timeout-unexpected"),
                ] {
                    if let Some(node) = map.raw(key) {
                        let message =
                            format!("an attested clause is decided by a person: no {key:?}");
                        self.report(node.line, code, message);
                    }
                }
                Eval::Attested
            }
            "" => Eval::Attested,
            other => {
                let message = format!("expected \"machine\" or \"attested\", found {other:?}");
                self.report(eval.line, "grid-clause-eval-invalid", message);
                Eval::Attested
            }
        }
    }

    /// The command of a machine clause. Plain `true` or `1` are taken as
    /// written: an argument is always text.
    fn run(&mut self, map: Map<'_>) -> Vec<String> {
        let nodes = self.list(
            map,
            "run",
            "grid-clause-run-empty",
            "grid-clause-run-must-be-list",
        );
        let mut run = Vec::new();
        for node in nodes {
            match &node.value {
                Value::Alias => {}
                Value::Scalar { text, .. } if !node.is_null() && !text.contains('\0') => {
                    if run.is_empty() && text.trim().is_empty() {
                        let message = "the program to run has no name".to_owned();
                        self.report(node.line, "grid-clause-run-empty", message);
                    }
                    run.push(text.clone());
                }
                _ => {
                    let message = "an argument must be text without NUL".to_owned();
                    self.report(node.line, "grid-clause-run-argument-invalid", message);
                }
            }
        }
        run
    }

    /// A map, its keys checked against the `known` ones.
    fn map<'n>(&mut self, node: &'n Node, what: &str, known: &[&str]) -> Option<Map<'n>> {
        let entries = match &node.value {
            Value::Map(entries) => entries,
            Value::Alias => return None,
            Value::Scalar { .. } | Value::List(_) => {
                let message = format!("{what} must be a map with the keys {}", known.join(", "));
                self.report(node.line, "grid-must-be-map", message);
                return None;
            }
        };
        for (key, _) in entries {
            if !known.contains(&key.text.as_str()) {
                let message = unknown_key(&key.text, what, known);
                self.report(key.line, "grid-key-unknown", message);
            }
        }
        let line = node.line;
        Some(Map { line, entries })
    }

    /// The items of a list that must have some.
    fn list<'n>(
        &mut self,
        map: Map<'n>,
        key: &str,
        empty: &'static str,
        not_list: &'static str,
    ) -> &'n [Node] {
        let line = map.raw(key).map_or(map.line, |node| node.line);
        match map.get(key).map(|node| &node.value) {
            Some(Value::List(items)) if !items.is_empty() => return items,
            Some(Value::Alias) => {}
            None | Some(Value::List(_)) => {
                self.report(line, empty, format!("{key:?} needs at least one entry"));
            }
            Some(_) => self.report(line, not_list, format!("{key:?} must be a list")),
        }
        &[]
    }

    /// A positive integer of at most `key.max`, and its line. Null is a value
    /// here: a limit that is named must be set.
    fn positive(&mut self, map: Map<'_>, key: &IntegerKey) -> Option<(u64, usize)> {
        let node = map.raw(key.name)?;
        let name = key.name;
        let (sign, digits) = match &node.value {
            Value::Alias => return None,
            Value::Scalar { text, plain: true } => match text.strip_prefix('-') {
                Some(digits) => ("-", digits),
                None => ("", text.strip_prefix('+').unwrap_or(text)),
            },
            _ => ("", ""),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let message = format!("{name} must be an integer, in digits and unquoted");
            self.report(node.line, key.not_integer, message);
            return None;
        }
        if sign == "-" || digits.bytes().all(|byte| byte == b'0') {
            let message = format!("{name} must be at least 1");
            self.report(node.line, key.not_positive, message);
            return None;
        }
        // Digits that do not parse are too many.
        match digits.parse::<u64>() {
            Ok(value) if value <= key.max => Some((value, node.line)),
            _ => {
                let message = format!("{name} must be at most {}", key.max);
                self.report(node.line, key.too_large, message);
                None
            }
        }
    }

    /// A text field: not blank and, if `required`, there. A plain number is
    /// its text.
    fn text(&mut self, map: Map<'_>, key: &str, required: bool) -> Text {
        let Some(node) = map.get(key) else {
            if required {
                let line = map.raw(key).map_or(map.line, |node| node.line);
                self.report(line, "grid-field-missing", format!("{key:?} is missing"));
            }
            return Text::default();
        };
        let line = node.line;
        match &node.value {
            Value::Alias => {}
            Value::Scalar { text, .. } if !node.is_bool() => {
                if !text.trim().is_empty() {
                    let value = text.clone();
                    return Text { value, line };
                }
                self.report(line, "grid-field-blank", format!("{key:?} is blank"));
            }
            _ => {
                let message = format!("{key:?} must be text; quote it if it is meant as such");
                self.report(line, "grid-field-must-be-text", message);
            }
        }
        Text::default()
    }

    fn id(&mut self, map: Map<'_>) -> Text {
        let id = self.text(map, "id", true);
        let unfit = |c: char| c.is_whitespace() || c.is_control() || is_invisible(c);
        if id.value.contains(unfit) {
            let message = format!(
                "the id {:?} has whitespace, control or invisible characters",
                id.value
            );
            self.report(id.line, "grid-id-invalid", message);
            return Text::default();
        }
        id
    }

    fn role(&mut self, map: Map<'_>, key: &str, required: bool) -> Text {
        let role = self.text(map, key, required);
        let unfit = |c: char| c.is_control() || is_invisible(c);
        if role.value.contains("__") {
            let message = format!(
                "the role {:?} contains \"__\", which separates roles in the audit tree",
                role.value
            );
            self.report(role.line, "grid-role-invalid", message);
        } else if role.value.contains(unfit) {
            let message = format!(
                "the role {:?} has control or invisible characters",
                role.value
            );
            self.report(role.line, "grid-role-invalid", message);
        }
        role
    }

    /// Enters an id among its siblings; whether it is a new one.
    fn unique(&mut self, seen: &mut HashMap<String, usize>, id: &Text, code: &'static str) -> bool {
        if id.value.is_empty() {
            return false;
        }
        if let Some(first) = seen.get(&id.value) {
            let message = format!("the id {:?} is already used on line {first}", id.value);
            self.report(id.line, code, message);
            return false;
        }
        seen.insert(id.value.clone(), id.line);
        true
    }

    /// Enters the ref, without version, that `id` will be asked for by.
    /// Hyphens may stand in ids, so two pairs of ids can make one ref, and a
    /// verdict on one would then count for the other.
    fn unambiguous(&mut self, refs: &mut HashMap<String, usize>, name: String, id: &Text) {
        if let Some(first) = refs.get(&name) {
            let message = format!("its ref {name:?} is also that of the id on line {first}");
            self.report(id.line, "grid-ref-ambiguous", message);
        } else {
            refs.insert(name, id.line);
        }
    }
}

/// What has to be unique across the grid, with the line it was first seen on.
#[derive(Default)]
struct Names {
    arrows: HashMap<String, usize>,
    refs: HashMap<String, usize>,
}

fn unknown_key(key: &str, what: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(key, known), *known))
        .min();
    match nearest {
        // A third of the letters wrong is still a slip of the pen.
        Some((distance, nearest)) if distance <= 1 + nearest.len() / 3 => {
            format!("{what} has no key {key:?}; did you mean {nearest:?}?")
        }
        _ => format!("{what} has no key {key:?}; it has {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests;
