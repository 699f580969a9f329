//! A record held against the grid version it names.
//!
//! A version is never edited, so what a record says of its arrow is what the
//! file of that version says. Where it does not, the file was changed in place
//! after somebody had answered for it (`grid-changed-in-place`).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Arrow, Eval, Grid};
use crate::policy::Attestation;

/// What a record says otherwise than the grid version it names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// `arrow`, `clause`, or the grid's key.
    pub what: &'static str,
    /// What the record has.
    pub recorded: String,
    /// What the grid has; none if nothing.
    pub declared: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, recorded) = (self.what, &self.recorded);
        match &self.declared {
            Some(declared) => write!(
                f,
                "the record's {what} is {recorded:?}, the grid's is {declared:?}"
            ),
            None => write!(f, "the record's {what} {recorded:?} is not in the grid"),
        }
    }
}

#[derive(Deserialize)]
struct Claim {
    #[serde(default)]
    concept: String,
}

/// In what `record` and `grid`, which has to be the version it names, differ;
/// nothing if that version was not changed. What an older record does not say
/// is not held against it.
#[must_use]
pub fn differences(grid: &Grid, record: &Attestation) -> Vec<Difference> {
    let mut found = Vec::new();
    let Some(arrow) = grid.arrow(&record.arrow_id) else {
        found.push(Difference {
            what: "arrow",
            recorded: record.arrow_id.clone(),
            declared: None,
        });
        return found;
    };
    let mut compare = |what, recorded: &str, declared: &str| {
        if recorded != declared {
            found.push(Difference {
                what,
                recorded: recorded.to_owned(),
                declared: Some(declared.to_owned()).filter(|text| !text.is_empty()),
            });
        }
    };
    for (what, recorded, declared) in [
        ("source-role", &record.source_role, &arrow.source_role),
        ("target-role", &record.target_role, &arrow.target_role),
        ("stratum", &record.stratum, &arrow.stratum),
        ("context", &record.context, &arrow.context),
    ] {
        if !recorded.is_empty() {
            compare(what, recorded, declared);
        }
    }
    // Without roles it is of a time when records had none.
    if !record.source_role.is_empty() {
        let declared = arrow.adversary_role.as_deref().unwrap_or_default();
        compare("adversary-role", &record.adversary_role, declared);
    }
    if !record.clause_id.is_empty() {
        clause(arrow, record, &mut found);
    }
    found
}

fn clause(arrow: &Arrow, record: &Attestation, found: &mut Vec<Difference>) {
    let Some(clause) = arrow
        .clauses
        .iter()
        .find(|clause| clause.id == record.clause_id)
    else {
        found.push(Difference {
            what: "clause",
            recorded: record.clause_id.clone(),
            declared: None,
        });
        return;
    };
    if let Eval::Machine { .. } = clause.eval {
        found.push(Difference {
            what: "eval",
            recorded: "attested".to_owned(),
            declared: Some("machine".to_owned()),
        });
    }
    // A hint that is no JSON is the component's to refuse.
    let claim = serde_json::from_str::<Claim>(&record.hint_json);
    if let Ok(Claim { concept }) = claim
        && !concept.is_empty()
        && concept != clause.concept
    {
        found.push(Difference {
            what: "concept",
            recorded: concept,
            declared: Some(clause.concept.clone()),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const GRID: &str = "\
arrows:
  - id: A
    source-role: analyst
    target-role: architect
    adversary-role: doubter
    stratum: s
    context: shop
    clauses:
      - {id: C, concept: 'it \"holds\"', eval: attested}
";

    fn told(grid: &str, record: &Attestation) -> Vec<String> {
        let grid = Grid::parse(grid, 1, Path::new("grid.v1.yaml")).unwrap();
        let found = differences(&grid, record);
        found.iter().map(Difference::to_string).collect()
    }

    fn record() -> Attestation {
        Attestation {
            attestation_id: "att-A-C-v1".into(),
            kind: "depth-type".into(),
            arrow_id: "A".into(),
            clause_id: "C".into(),
            op_id: "al".into(),
            attested_by_role: "operator".into(),
            source_role: "analyst".into(),
            target_role: "architect".into(),
            adversary_role: "doubter".into(),
            verdict: "pass".into(),
            reason: String::new(),
            timestamp: String::new(),
            grid_version: 1,
            pass_id: "p".into(),
            context: "shop".into(),
            stratum: "s".into(),
            unit: "confirm".into(),
            unit_payload_json: "{}".into(),
            hint_json: r#"{"concept":"it \"holds\""}"#.into(),
        }
    }

    #[test]
    fn a_record_of_an_unchanged_grid_has_no_difference() {
        assert!(told(GRID, &record()).is_empty());
        for hint in ["{}", "", "no json", "[]"] {
            let hint_json = hint.to_owned();
            assert!(
                told(
                    GRID,
                    &Attestation {
                        hint_json,
                        ..record()
                    }
                )
                .is_empty()
            );
        }
        // One of the whole arrow, and one that says no more than it must.
        let arrow = Attestation {
            kind: "on-the-spot".into(),
            clause_id: String::new(),
            hint_json: "{}".into(),
            ..record()
        };
        assert!(told(GRID, &arrow).is_empty());
        let old = Attestation {
            source_role: String::new(),
            target_role: String::new(),
            adversary_role: String::new(),
            context: String::new(),
            stratum: String::new(),
            hint_json: String::new(),
            ..record()
        };
        assert!(told(GRID, &old).is_empty());
    }

    #[test]
    fn whatever_was_changed_in_place_is_named() {
        for (from, to, told_as) in [
            (
                "id: A",
                "id: B",
                "the record's arrow \"A\" is not in the grid",
            ),
            (
                "id: C",
                "id: D",
                "the record's clause \"C\" is not in the grid",
            ),
            (
                "\"holds\"'",
                "may'",
                "the record's concept is \"it \\\"holds\\\"\", the grid's is \"it may\"",
            ),
            (
                "eval: attested",
                "eval: machine, run: ['true']",
                "the record's eval is \"attested\", the grid's is \"machine\"",
            ),
            (
                "role: analyst",
                "role: owner",
                "the record's source-role is \"analyst\", the grid's is \"owner\"",
            ),
            (
                "role: architect",
                "role: dev",
                "the record's target-role is \"architect\", the grid's is \"dev\"",
            ),
            (
                "    adversary-role: doubter\n",
                "",
                "the record's adversary-role \"doubter\" is not in the grid",
            ),
            (
                "stratum: s",
                "stratum: t",
                "the record's stratum is \"s\", the grid's is \"t\"",
            ),
            (
                "context: shop",
                "context: bank",
                "the record's context is \"shop\", the grid's is \"bank\"",
            ),
        ] {
            assert_eq!(told(&GRID.replacen(from, to, 1), &record()), [told_as]);
        }
        let without = Attestation {
            adversary_role: String::new(),
            ..record()
        };
        assert_eq!(
            told(GRID, &without),
            ["the record's adversary-role is \"\", the grid's is \"doubter\""]
        );
    }
}
