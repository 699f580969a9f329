//! From text to a checked [`Grid`].
//!
//! Every rule is checked, whatever the ones before it found; a field that was
//! reported reads as empty, and rules pass over empty fields. Only a grid
//! without problems is returned.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use super::alike::Seen;
use super::error::{GridError, quoted};
use super::fields::{Check, IntegerKey, Map, Text, integer_key};
use super::ids::{self, IdRules, Remembered};
use super::keys::{self, DEFAULT_TIMEOUT_S, MAX_VERSION, NOTE_MAX_BYTES, U32_MAX};
use super::yaml::{self, Node, Read, Value};
use super::{Arrow, Clause, Eval, Grid, MAX_BYTES, Settings};

const VERSION: IntegerKey = integer_key!("version", MAX_VERSION);
const ROUNDS_MAX: IntegerKey = integer_key!("insufficient-basis-rounds-max", U32_MAX);
const NOTE_MAX: IntegerKey = integer_key!("residue-note-max-bytes", NOTE_MAX_BYTES);
const PENDING_MAX: IntegerKey = integer_key!("modal-pending-max-len", U32_MAX);
const TIMEOUT: IntegerKey = integer_key!("timeout-s", U32_MAX);
const MIN_TIER: IntegerKey = integer_key!("min-tier", U32_MAX);

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(DEFAULT_TIMEOUT_S);

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
        judge(text, Some(version), file, ids::component()).map(|judged| judged.grid)
    }

    /// Checks `text` as a grid that has no version yet: whatever `version` it
    /// says, as long as it can be one, is taken, and 1 if it says none.
    ///
    /// # Errors
    /// As [`Grid::parse`].
    pub fn judge(text: &str, file: &Path) -> Result<Grid, GridError> {
        judge(text, None, file, ids::component()).map(|judged| judged.grid)
    }
}

/// A text that was found good.
pub(super) struct Judged {
    pub(super) grid: Grid,
    /// Where the text says its version, if it does.
    pub(super) version_at: Option<Range<usize>>,
}

/// Judges a text by `rules`; its version only if one is expected.
pub(super) fn judge(
    text: &str,
    expected: Option<u64>,
    file: &Path,
    rules: &dyn IdRules,
) -> Result<Judged, GridError> {
    if text.len() > MAX_BYTES {
        return Err(GridError::TooLarge {
            path: file.to_owned(),
        });
    }
    let mut check = Check {
        file,
        rules: &Remembered::new(rules),
        problems: Vec::new(),
    };
    let judged = check.document(text, expected);
    let mut problems = check.problems;
    if problems.is_empty() {
        return Ok(judged);
    }
    problems.sort_by_key(|problem| problem.line);
    Err(GridError::Invalid { problems })
}

impl Check<'_> {
    fn document(&mut self, text: &str, expected: Option<u64>) -> Judged {
        let mut judged = Judged {
            grid: Grid {
                version: expected.unwrap_or(1),
                arrows: Vec::new(),
                settings: Settings::default(),
            },
            version_at: None,
        };
        let read = yaml::read(text, &mut |line, code, message| {
            self.report(line, code, message);
        });
        let root = match read {
            Read::Document(root) if !root.is_null() => root,
            Read::Document(_) | Read::Empty => Node {
                line: 1,
                bytes: None,
                value: Value::Map(Vec::new()),
            },
            Read::Broken => return judged,
        };
        let Some(map) = self.map(&root, "a grid", keys::GRID) else {
            return judged;
        };
        if let Some((found, line)) = self.positive(map, &VERSION) {
            judged.version_at = map.get(VERSION.name).and_then(|node| node.bytes.clone());
            if expected.is_some_and(|expected| expected != found) {
                let expected = judged.grid.version;
                let message = format!("the file is version {expected}, its text says {found}");
                self.report(line, "grid-version-mismatch", message);
            }
            judged.grid.version = found;
        }
        judged.grid.settings = self.settings(map);
        let nodes = self.list(
            map,
            "arrows",
            "grid-arrows-empty",
            "grid-arrows-must-be-list",
        );
        let mut names = Names::default();
        for node in nodes {
            judged.grid.arrows.extend(self.arrow(node, &mut names));
        }
        judged
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
        let map = self.map(node, "an arrow", keys::ARROW)?;
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
            let key = self.role_key(role);
            if key.is_some_and(|key| RESERVED_ROLES.contains(&key.as_str())) {
                let message = format!(
                    "{} is the name ghyll attests under, so such an arrow would certify itself",
                    quoted(&role.value)
                );
                self.report(role.line, "grid-role-reserved", message);
            }
        }
        if self.same_role(&source, &target) {
            let message = format!(
                "source and target are the same role, {}",
                quoted(&target.value)
            );
            self.report(target.line, "grid-roles-equal", message);
        }
        if self.same_role(&adversary, &source) || self.same_role(&adversary, &target) {
            let message = format!(
                "{} cannot be the adversary of an arrow it is an end of",
                quoted(&adversary.value)
            );
            self.report(adversary.line, "grid-adversary-role-conflict", message);
        }

        let stratum = self.name(map, "stratum", true);
        let context = self.name(map, "context", true);
        for (kind, name) in [
            ("arrow", &id),
            ("role", &source),
            ("role", &adversary),
            ("role", &target),
            ("stratum", &stratum),
            ("context", &context),
        ] {
            self.look_alike(&mut names.seen, kind, "", name);
        }
        let roles = [&source, &adversary, &target];
        self.paths(&mut names.seen, &context, &stratum, roles);
        let covers = self.covers(map).unwrap_or_default();
        let nodes = self.list(
            map,
            "clauses",
            "grid-arrow-clauses-empty",
            "grid-arrow-clauses-must-be-list",
        );
        let mut siblings = HashMap::new();
        let mut clauses = Vec::new();
        for node in nodes {
            let clause = self.clause(node, &id.value, prefix.as_deref(), &mut siblings, names);
            clauses.extend(clause);
        }
        Some(Arrow {
            id: id.value,
            source_role: source.value,
            target_role: target.value,
            adversary_role: adversary.given(),
            stratum: stratum.value,
            context: context.value,
            covers,
            clauses,
        })
    }

    fn clause(
        &mut self,
        node: &Node,
        arrow: &str,
        prefix: Option<&str>,
        siblings: &mut HashMap<String, usize>,
        names: &mut Names,
    ) -> Option<Clause> {
        let map = self.map(node, "a clause", keys::CLAUSE)?;
        let id = self.id(map);
        if self.unique(siblings, &id, "grid-clause-id-duplicate")
            && let Some(prefix) = prefix
        {
            self.unambiguous(&mut names.refs, format!("{prefix}-{}", id.value), &id);
        }
        self.look_alike(&mut names.seen, "clause", arrow, &id);
        let concept = self.text(map, "concept", true).value;
        let eval = self.eval(map);
        Some(Clause {
            id: id.value,
            concept,
            eval,
            covers: self.covers(map),
            depth: self.text(map, "depth", false).given(),
            min_tier: self
                .positive(map, &MIN_TIER)
                .and_then(|(tier, _)| u32::try_from(tier).ok()),
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
                let message = format!(
                    "expected \"machine\" or \"attested\", found {}",
                    quoted(other)
                );
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

    fn id(&mut self, map: Map<'_>) -> Text {
        let id = self.name(map, "id", true);
        if id.value.contains(char::is_whitespace) {
            let message = format!("the id {} has whitespace", quoted(&id.value));
            self.report(id.line, "grid-id-invalid", message);
            return Text::default();
        }
        id
    }

    fn role(&mut self, map: Map<'_>, key: &str, required: bool) -> Text {
        let role = self.name(map, key, required);
        if role.value.contains("__") {
            let message = format!(
                "the role {} contains \"__\", which separates roles in the audit tree",
                quoted(&role.value)
            );
            self.report(role.line, "grid-role-invalid", message);
        }
        role
    }

    /// Text that something is called by.
    fn name(&mut self, map: Map<'_>, key: &str, required: bool) -> Text {
        let name = self.text(map, key, required);
        if let Err(why) = self.rules.check_id(&name.value) {
            let message = format!("{key} {} {why}", quoted(&name.value));
            self.report(name.line, "grid-id-invalid-characters", message);
            return Text::default();
        }
        name
    }

    /// Enters an id among its siblings; whether it is a new one.
    fn unique(&mut self, seen: &mut HashMap<String, usize>, id: &Text, code: &'static str) -> bool {
        if id.value.is_empty() {
            return false;
        }
        if let Some(first) = seen.get(&id.value) {
            let message = format!(
                "the id {} is already used on line {first}",
                quoted(&id.value)
            );
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
            let message = format!(
                "its ref {} is also that of the id on line {first}",
                quoted(&name)
            );
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
    seen: Seen,
}

#[cfg(test)]
mod tests;
