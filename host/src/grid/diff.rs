//! What lies between two grids, in words.
//!
//! A grid decides who answers for what, so whoever brings a new version into
//! force, or reviews one, has to see a dropped clause or a widened glob as what
//! it is and not as a line among many.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Arrow, Clause, Eval, Grid, Settings};

/// One difference. Nothing differs between two grids, their versions aside,
/// exactly when there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The arrow it is about; none for the whole grid.
    pub arrow: Option<String>,
    /// The clause of that arrow; none for the arrow itself.
    pub clause: Option<String>,
    /// What is different: `added`, `dropped`, `order`, or the key.
    pub what: &'static str,
    /// What it was: the key's value, or a summary of what was dropped; none
    /// where it was not set.
    pub from: Option<Value>,
    /// What it is now: the key's value, or a summary of what was added; none
    /// where it is not set any more.
    pub to: Option<Value>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.arrow, &self.clause) {
            (Some(arrow), Some(clause)) => write!(f, "{arrow}/{clause}: ")?,
            (Some(arrow), None) => write!(f, "{arrow}: ")?,
            _ => {}
        }
        let of = match (&self.arrow, &self.clause) {
            (None, _) => "arrows",
            _ => "clauses",
        };
        let what = self.what;
        let (from, to) = (self.from.as_ref().map(shown), self.to.as_ref().map(shown));
        match (what, from, to) {
            ("added" | "dropped", ..) => {
                let summary = self.to.as_ref().or(self.from.as_ref());
                let summary = summary.and_then(Value::as_str).unwrap_or_default();
                write!(f, "{what}: {summary}")
            }
            ("order", ..) => write!(f, "the {of} stand in another order"),
            (_, Some(from), Some(to)) => write!(f, "{what} was {from}, is now {to}"),
            (_, None, Some(to)) => write!(f, "{what} is now {to}; it was not set"),
            (_, Some(from), None) => write!(f, "{what} is not set any more; it was {from}"),
            (_, None, None) => write!(f, "{what} changed"),
        }
    }
}

/// A value in words. Whole, unlike in an error: what was cut off could be what
/// changed.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(shown).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// What is different in `new`, in the order of `new`, what was dropped behind.
#[must_use]
pub fn diff(old: &Grid, new: &Grid) -> Vec<Change> {
    let mut changes = Changes {
        arrow: None,
        clause: None,
        all: Vec::new(),
    };
    changes.settings(&old.settings, &new.settings);
    for arrow in &new.arrows {
        changes.arrow = Some(arrow.id.clone());
        match old.arrow(&arrow.id) {
            Some(before) => changes.arrow(before, arrow),
            None => changes.push("added", None, Some(json!(summary(arrow)))),
        }
    }
    for arrow in &old.arrows {
        if new.arrow(&arrow.id).is_none() {
            changes.arrow = Some(arrow.id.clone());
            changes.push("dropped", Some(json!(summary(arrow))), None);
        }
    }
    changes.arrow = None;
    let ids = |grid: &Grid| grid.arrows.iter().map(|arrow| arrow.id.clone()).collect();
    changes.order(ids(old), ids(new));
    changes.all
}

struct Changes {
    arrow: Option<String>,
    clause: Option<String>,
    all: Vec<Change>,
}

impl Changes {
    fn push(&mut self, what: &'static str, from: Option<Value>, to: Option<Value>) {
        self.all.push(Change {
            arrow: self.arrow.clone(),
            clause: self.clause.clone(),
            what,
            from,
            to,
        });
    }

    fn compare(&mut self, what: &'static str, from: Option<Value>, to: Option<Value>) {
        if from != to {
            self.push(what, from, to);
        }
    }

    fn settings(&mut self, old: &Settings, new: &Settings) {
        let number = |value: u64| Some(json!(value));
        for (what, from, to) in [
            (
                "insufficient-basis-rounds-max",
                u64::from(old.insufficient_basis_rounds_max),
                u64::from(new.insufficient_basis_rounds_max),
            ),
            (
                "residue-note-max-bytes",
                u64::from(old.residue_note_max_bytes),
                u64::from(new.residue_note_max_bytes),
            ),
            (
                "modal-pending-max-len",
                old.modal_pending_max_len as u64,
                new.modal_pending_max_len as u64,
            ),
        ] {
            self.compare(what, number(from), number(to));
        }
    }

    fn arrow(&mut self, old: &Arrow, new: &Arrow) {
        for (what, from, to) in [
            ("source-role", &old.source_role, &new.source_role),
            ("target-role", &old.target_role, &new.target_role),
            ("stratum", &old.stratum, &new.stratum),
            ("context", &old.context, &new.context),
        ] {
            self.compare(what, Some(json!(from)), Some(json!(to)));
        }
        let role = |arrow: &Arrow| arrow.adversary_role.as_ref().map(|role| json!(role));
        self.compare("adversary-role", role(old), role(new));
        let covers = |arrow: &Arrow| list(Some(&arrow.covers).filter(|list| !list.is_empty()));
        self.compare("covers", covers(old), covers(new));

        for clause in &new.clauses {
            self.clause = Some(clause.id.clone());
            match old.clauses.iter().find(|other| other.id == clause.id) {
                Some(before) => self.clause(before, clause),
                None => self.push("added", None, Some(json!(claim(clause)))),
            }
        }
        for clause in &old.clauses {
            if !new.clauses.iter().any(|other| other.id == clause.id) {
                self.clause = Some(clause.id.clone());
                self.push("dropped", Some(json!(claim(clause))), None);
            }
        }
        self.clause = None;
        let ids = |arrow: &Arrow| {
            arrow
                .clauses
                .iter()
                .map(|clause| clause.id.clone())
                .collect()
        };
        self.order(ids(old), ids(new));
    }

    fn clause(&mut self, old: &Clause, new: &Clause) {
        let concept = |clause: &Clause| Some(json!(clause.concept));
        self.compare("concept", concept(old), concept(new));
        let eval = |clause: &Clause| Some(json!(word(&clause.eval)));
        self.compare("eval", eval(old), eval(new));
        let covers = |clause: &Clause| list(clause.covers.as_ref());
        self.compare("covers", covers(old), covers(new));
        let depth = |clause: &Clause| clause.depth.as_ref().map(|depth| json!(depth));
        self.compare("depth", depth(old), depth(new));
        let tier = |clause: &Clause| clause.min_tier.map(|tier| json!(tier));
        self.compare("min-tier", tier(old), tier(new));
        let run = |clause: &Clause| match &clause.eval {
            Eval::Attested => (None, None),
            Eval::Machine { run, timeout } => (list(Some(run)), Some(json!(timeout.as_secs()))),
        };
        let (old, new) = (run(old), run(new));
        self.compare("run", old.0, new.0);
        self.compare("timeout-s", old.1, new.1);
    }

    /// Whether what is in both stands in the same order.
    fn order(&mut self, old: Vec<String>, new: Vec<String>) {
        let both = |ids: &[String], others: &[String]| -> Vec<String> {
            ids.iter()
                .filter(|id| others.contains(id))
                .cloned()
                .collect()
        };
        if both(&old, &new) != both(&new, &old) {
            self.push("order", Some(json!(old)), Some(json!(new)));
        }
    }
}

fn word(eval: &Eval) -> &'static str {
    match eval {
        Eval::Attested => "attested",
        Eval::Machine { .. } => "machine",
    }
}

fn claim(clause: &Clause) -> String {
    format!("{}, {:?}", word(&clause.eval), clause.concept)
}

fn summary(arrow: &Arrow) -> String {
    let clauses: Vec<&str> = arrow
        .clauses
        .iter()
        .map(|clause| clause.id.as_str())
        .collect();
    format!(
        "from {:?} to {:?}, over {}",
        arrow.source_role,
        arrow.target_role,
        clauses.join(", ")
    )
}

fn list(values: Option<&Vec<String>>) -> Option<Value> {
    Some(json!(values?))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const OLD: &str = "\
insufficient-basis-rounds-max: 3
arrows:
  - id: A
    source-role: analyst
    target-role: architect
    stratum: behaviour
    context: shop
    covers: [src/**]
    clauses:
      - {id: C1, concept: agreed, eval: attested, min-tier: 1}
      - {id: C2, concept: tested, eval: machine, run: [make, test]}
      - {id: C3, concept: read, eval: attested, covers: [docs/*]}
  - id: B
    source-role: architect
    target-role: dev
    stratum: design
    context: shop
    clauses: [{id: C1, concept: fits, eval: attested}]
";

    fn grid(text: &str) -> Grid {
        Grid::judge(text, Path::new("grid.yaml")).unwrap()
    }

    fn told(new: &str) -> Vec<String> {
        let changes = diff(&grid(OLD), &grid(new));
        changes.iter().map(Change::to_string).collect()
    }

    #[test]
    fn each_change_is_told_in_words() {
        for (from, to, told_as) in [
            (
                "max: 3",
                "max: 4",
                "insufficient-basis-rounds-max was 3, is now 4",
            ),
            (
                "role: analyst",
                "role: owner",
                "A: source-role was \"analyst\", is now \"owner\"",
            ),
            (
                "stratum: behaviour",
                "stratum: behaviour\n    adversary-role: doubter",
                "A: adversary-role is now \"doubter\"; it was not set",
            ),
            (
                "[src/**]",
                "[src/**, '!src/x']",
                "A: covers was [\"src/**\"], is now [\"src/**\", \"!src/x\"]",
            ),
            (
                "    covers: [src/**]\n",
                "",
                "A: covers is not set any more; it was [\"src/**\"]",
            ),
            (
                ", covers: [docs/*]",
                "",
                "A/C3: covers is not set any more; it was [\"docs/*\"]",
            ),
            (
                "concept: agreed",
                "concept: settled",
                "A/C1: concept was \"agreed\", is now \"settled\"",
            ),
            (
                "[make, test]",
                "['true']",
                "A/C2: run was [\"make\", \"test\"], is now [\"true\"]",
            ),
            (
                "[make, test]",
                "[make, test], timeout-s: 5",
                "A/C2: timeout-s was 60, is now 5",
            ),
            (
                "min-tier: 1",
                "min-tier: 2, depth: line",
                "A/C1: depth is now \"line\"; it was not set",
            ),
            (
                "      - {id: C3, concept: read, eval: attested, covers: [docs/*]}\n",
                "",
                "A/C3: dropped: attested, \"read\"",
            ),
            (
                "id: B",
                "id: D",
                "D: added: from \"architect\" to \"dev\", over C1",
            ),
        ] {
            let new = OLD.replacen(from, to, 1);
            assert_ne!(new, OLD);
            assert!(told(&new).contains(&told_as.to_owned()), "{:?}", told(&new));
        }
        let new = OLD.replace("eval: machine, run: [make, test]", "eval: attested");
        assert_eq!(
            told(&new),
            [
                "A/C2: eval was \"machine\", is now \"attested\"",
                "A/C2: run is not set any more; it was [\"make\", \"test\"]",
                "A/C2: timeout-s is not set any more; it was 60",
            ]
        );
        let new = OLD.replace("C2, concept: tested", "C4, concept: tested");
        assert_eq!(
            told(&new),
            [
                "A/C4: added: machine, \"tested\"",
                "A/C2: dropped: machine, \"tested\""
            ]
        );
    }

    #[test]
    fn nothing_is_told_exactly_when_nothing_changed() {
        assert!(told(OLD).is_empty());
        assert!(told(&format!("version: 9 # a comment\n{OLD}")).is_empty());
        let mut swapped = grid(OLD);
        swapped.arrows.swap(0, 1);
        swapped.arrows[1].clauses.swap(0, 2);
        let words: Vec<String> = diff(&grid(OLD), &swapped)
            .iter()
            .map(Change::to_string)
            .collect();
        assert_eq!(
            words,
            [
                "A: the clauses stand in another order",
                "the arrows stand in another order"
            ]
        );
    }

    #[test]
    fn a_change_far_into_a_long_text_is_shown() {
        let long = "x".repeat(500);
        let new = OLD.replace("concept: agreed", &format!("concept: {long}y"));
        assert!(told(&new)[0].ends_with("xy\""), "{:?}", told(&new));
    }
}
