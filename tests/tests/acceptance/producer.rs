//! What the producer says: a model, in its own turn.

use std::collections::HashMap;

use cucumber::gherkin::Step;
use cucumber::{then, when};
use ghyll::db::Evidence;
use ghyll::modal::{StubAnswer, VerdictAnswer};
use ghyll::model::{Chat, Finish, Message, Model, ModelError};
use ghyll::runtime::cancel::Cancel;

use crate::audit;
use crate::desk::{Act, Desk, Line, rows, text};
use crate::grid::names;
use crate::scene::{Scene, coded};

/// A model that says one thing.
struct Says(String);

impl Model for Says {
    fn name(&self) -> &str {
        "says"
    }

    fn turn(
        &self,
        _: &[Message],
        on_text: &mut dyn FnMut(&str),
        _: &Cancel,
    ) -> Result<Finish, ModelError> {
        on_text(&self.0);
        Ok(Finish::Stop)
    }
}

#[when("the model says:")]
fn says(scene: &mut Scene, step: &Step) {
    turn(scene, Vec::new(), step);
}

#[when(expr = "the operator puts off {string}, and the model says:")]
fn says_past(scene: &mut Scene, clauses: String, step: &Step) {
    let skip = |clause: String| Line {
        clause,
        act: Act::Answer(StubAnswer::Verdict(VerdictAnswer::Skip)),
    };
    turn(scene, names(&clauses).map(skip).collect(), step);
}

fn turn(scene: &mut Scene, lines: Vec<Line>, step: &Step) {
    let reply = step.docstring.as_ref().expect("what it says");
    let model = Says(text(reply.trim_start_matches('\n')));
    let session = scene.session();
    let mut desk = Desk::new(&session, lines);
    let turn = session.turn("go on", &mut desk).expect("a turn");
    let said = Chat::in_memory()
        .say_to(turn, &model, &mut |_| {}, &Cancel::default())
        .expect("a reply");
    assert_eq!(said.text, model.0);
    let taken = said.stated.map_or(Ok(()), |stated| stated.map(drop));
    scene.tried(taken.map_err(coded));
}

#[then("the producer's words were:")]
fn words_were(scene: &mut Scene, step: &Step) {
    let wanted: Vec<_> = rows(step.table.as_ref().expect("words")).collect();
    let asked = scene.asked.iter().map(|(hint, _)| &hint.request);
    let asked: Vec<_> = asked
        .map(|request| (request.clause_id.as_str(), &request.evidence))
        .collect();
    assert_eq!(asked.len(), wanted.len(), "{asked:?}");
    for ((clause, said), row) in asked.into_iter().zip(&wanted) {
        assert_eq!(clause, row["clause"]);
        assert_eq!(*said, evidence(row), "{clause}");
    }
}

fn evidence(row: &HashMap<String, String>) -> Evidence {
    let cell = |name: &str| row.get(name).cloned().unwrap_or_default();
    Evidence {
        locations: names(&cell("look at"))
            .filter(|place| !place.is_empty())
            .collect(),
        basis: cell("it holds"),
        residue: cell("left open"),
    }
}

#[then(expr = "the record {string} keeps the producer's words")]
fn record_keeps(scene: &mut Scene, id: String) {
    let line = audit::record(scene, &id);
    let hint = line.json["hint_json"].as_str().expect("a hint").to_owned();
    let kept: serde_json::Value = serde_json::from_str(&hint).expect("JSON");
    let clause = line.json["clause_id"].as_str().expect("a clause");
    let mut asked = scene.asked.iter();
    let (shown, _) = asked
        .find(|(hint, _)| hint.request.clause_id == clause)
        .expect("the question");
    let said = &shown.request.evidence;
    assert!(!said.basis.is_empty());
    assert_eq!(kept["basis"], said.basis);
    assert_eq!(kept["residue"].as_str().unwrap_or_default(), said.residue);
    let places = kept["locations"].as_array().cloned().unwrap_or_default();
    assert_eq!(places, said.locations);
}
