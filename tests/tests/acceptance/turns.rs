//! When: dispatches, turns, and verdicts given without being asked.

use cucumber::gherkin::Step;
use cucumber::given;
use cucumber::when;
use ghyll::modal::{StubAnswer, VerdictAnswer};
use ghyll::session::{Submission, Via};
use ghyll::work::Verdict;

use crate::audit;
use crate::desk::{Act, Line, lines, rows, text};
use crate::journal::Fault;
use crate::scene::{Scene, coded};

#[given(expr = "the arrow {string} was dispatched")]
fn was_dispatched(scene: &mut Scene, arrow: String) {
    dispatch(scene, arrow);
    scene.expect_done();
}

#[when(expr = "the arrow {string} is dispatched")]
#[when(expr = "the arrow {string} is dispatched again")]
fn dispatch(scene: &mut Scene, arrow: String) {
    let dispatched = scene.session().dispatch(&arrow);
    scene.tried(dispatched.map_err(coded));
}

#[given("the operator answered:")]
fn answered(scene: &mut Scene, step: &Step) {
    answers(scene, step);
    // Leaving is how a table ends before the questions do.
    assert!(scene.refused_but_for("modal-left").is_none());
}

#[when("the operator answers:")]
#[when("at the next turn the operator answers:")]
fn answers(scene: &mut Scene, step: &Step) {
    scene.turn(lines(step.table.as_ref().expect("answers")));
}

#[when("a turn comes and nobody answers")]
fn no_answer(scene: &mut Scene) {
    scene.turn(Vec::new());
}

#[when(expr = "{string} answers:")]
fn answers_as(scene: &mut Scene, op_id: String, step: &Step) {
    scene.session().set_op_id(Some(&op_id)).expect("an op-id");
    answers(scene, step);
}

#[when(expr = "{string} sits down")]
fn sits_down(scene: &mut Scene, op_id: String) {
    let seated = scene.session().set_op_id(Some(&text(&op_id)));
    scene.tried(seated.map_err(coded));
}

#[when("the operator gives this name:")]
fn gives_name(scene: &mut Scene, step: &Step) {
    let op_id = named(step);
    sits_down(scene, op_id);
}

#[when(expr = "this operator attests {string}:")]
fn named_attests(scene: &mut Scene, reference: String, step: &Step) {
    let submission = Submission {
        verdict: Verdict::Pass,
        ..Submission::default()
    };
    let recorded = scene
        .session()
        .attest(&reference, &submission, &text(&named(step)));
    scene.tried(recorded.map_err(coded));
}

/// The one name in a table.
fn named(step: &Step) -> String {
    step.table.as_ref().expect("a name").rows[1][0].clone()
}

#[when(regex = r"^the operator passes the clauses C(\d+) to C(\d+)$")]
fn passes_many(scene: &mut Scene, from: u32, to: u32) {
    let pass = Submission {
        verdict: Verdict::Pass,
        ..Submission::default()
    };
    let line = |n| Line {
        clause: format!("C{n}"),
        act: Act::Answer(StubAnswer::Verdict(VerdictAnswer::Submit(pass.clone()))),
    };
    scene.turn((from..=to).map(line).collect());
}

#[given(expr = "the file {string} appears in the project")]
#[when(expr = "the file {string} appears in the project")]
fn file_appears(scene: &mut Scene, name: String) {
    std::fs::write(scene.root().join(name), "").expect("the file");
}

#[given(expr = "{string} attested:")]
fn attested(scene: &mut Scene, op_id: String, step: &Step) {
    attests(scene, op_id, step);
    scene.expect_done();
}

#[when(expr = "{string} attests:")]
fn attests(scene: &mut Scene, op_id: String, step: &Step) {
    for row in rows(step.table.as_ref().expect("verdicts")) {
        let submission = submission(&row);
        let reference = scene.resolve(&row["ref"]);
        let recorded = scene
            .session()
            .attest(&reference, &submission, &text(&op_id));
        if scene.tried(recorded.map_err(coded)).is_none() {
            return;
        }
    }
}

/// A row with the columns `verdict`, `locations`, `note`.
pub fn submission(row: &std::collections::HashMap<String, String>) -> Submission {
    let cell = |name: &str| row.get(name).cloned().unwrap_or_default();
    let locations = cell("locations");
    Submission {
        verdict: Verdict::parse(&row["verdict"]).expect("a verdict"),
        inspected: locations
            .split(", ")
            .map(text)
            .filter(|l| !l.is_empty())
            .collect(),
        residue: text(&cell("note")),
        via: Via::Command,
        ..Submission::default()
    }
}

#[given("the project's beginning was attested by \"alice\"")]
fn begun(scene: &mut Scene) {
    attest_beginning(scene, "alice".to_owned());
    scene.expect_done();
}

#[when(expr = "{string} attests the project's beginning")]
#[when(expr = "{string} attests the project's beginning again")]
fn attest_beginning(scene: &mut Scene, op_id: String) {
    let made = scene.session().init_attest(&text(&op_id), Via::Command);
    scene.tried(made.map_err(coded));
}

#[when("the trail is looked at")]
#[given("the trail was looked at")]
fn look(scene: &mut Scene) {
    scene.before = audit::files(scene);
}

#[when(regex = r#"^the disk (is full|takes half of a line|cannot make bytes durable)$"#)]
fn disk_fails(scene: &mut Scene, how: String) {
    let fault = match how.as_str() {
        "is full" => Fault::Full,
        "takes half of a line" => Fault::Short,
        _ => Fault::NoSync,
    };
    scene.journal.fail(fault, "attestations/");
}

#[when("the flat file cannot be written")]
fn flat_fails(scene: &mut Scene) {
    scene.journal.fail(Fault::Full, "attestations.jsonl");
}

#[when("the disk is well again")]
fn disk_heals(scene: &mut Scene) {
    scene.journal.heal();
}

/// Rounds on the first of the clauses that wait, by command.
#[given(regex = r"^(\d+) more rounds go without a basis$")]
#[when(regex = r"^(\d+) more rounds go without a basis$")]
fn rounds(scene: &mut Scene, count: u32) {
    let session = scene.session();
    for round in 1..=count {
        let pending = session.pending().expect("what is pending");
        // A new round waits behind what was asked before it.
        let first = pending.iter().min_by(|a, b| a.clause_id.cmp(&b.clause_id));
        let request = first.expect("something waits");
        let submission = Submission {
            verdict: Verdict::InsufficientBasis,
            inspected: Vec::new(),
            residue: format!("no basis, {round}"),
            via: Via::Command,
            ..Submission::default()
        };
        session.submit(request, &submission).expect("a verdict");
    }
}

#[given(expr = "the clause C1 of {string} went three rounds without a basis")]
fn three_rounds(scene: &mut Scene, arrow: String) {
    was_dispatched(scene, arrow);
    rounds(scene, 3);
}
