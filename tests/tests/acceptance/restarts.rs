//! When: sessions end and begin, and things happen at the same time.

use std::fs;
use std::sync::{Arc, Barrier};
use std::thread;

use cucumber::gherkin::Step;
use cucumber::{given, then, when};
use ghyll::bus::Event;
use ghyll::session::Session;

use crate::audit;
use crate::desk::{lines, rows};
use crate::scene::{Scene, coded};
use crate::turns::submission;

#[when("the session dies")]
fn dies(scene: &mut Scene) {
    scene.end();
}

/// The verdict is on disk and acknowledged; nothing after that happens.
#[when(expr = "the session dies right after this verdict is durable:")]
fn dies_acknowledging(scene: &mut Scene, step: &Step) {
    scene.journal.crash();
    scene.turn(lines(step.table.as_ref().expect("an answer")));
}

#[when("a new session starts")]
#[when("a session starts")]
fn starts(scene: &mut Scene) {
    let started = scene.start();
    scene.tried(started.map_err(coded));
}

#[when("another session is started on the same project")]
fn second(scene: &mut Scene) {
    let held = Arc::clone(scene.running().expect("a first session"));
    let project = ghyll::project::Project::open(&scene.root()).expect("the project");
    let policy = Arc::new(ghyll::policy::Policy::load().expect("the policy"));
    let clock = Arc::new(ghyll::clock::SystemClock);
    let started = Session::open(project, policy, clock, Arc::default());
    drop(held);
    scene.tried(started.map_err(coded));
}

#[when("the grid moves on to the next version")]
fn grid_moves(scene: &mut Scene) {
    scene.write_grid();
}

#[when("the index is deleted")]
fn index_deleted(scene: &mut Scene) {
    fs::remove_file(scene.ghyll("engine.db")).expect("the index");
}

#[when("a directory is put where the pass's file belongs")]
fn directory_in_the_way(scene: &mut Scene) {
    fs::create_dir_all(way(scene)).expect("a directory");
}

#[when("the directory is taken away")]
fn directory_gone(scene: &mut Scene) {
    fs::remove_dir(way(scene)).expect("the directory");
}

fn way(scene: &Scene) -> std::path::PathBuf {
    let path = "attestations/v1/checkout/stratum-behaviour/analyst__architect/«pass».jsonl";
    scene.ghyll(&scene.resolve(path))
}

/// The producer does not give up: the arrow comes back as soon as its pass is over.
#[given(expr = "{string} is dispatched again whenever a pass of it closes")]
fn dispatched_again(scene: &mut Scene, arrow: String) {
    let session = scene.session();
    let journal = scene.journal.clone();
    session.bus().subscribe(move |event| {
        if let (Event::PassClosed(pass), Some(session)) = (event, journal.session())
            && pass.arrow_id == arrow
        {
            session.dispatch(&arrow).expect("another pass");
        }
    });
}

/// Every verdict on an arrow `A<n>` has `A<n+1>` dispatched.
#[given("every verdict has the next arrow dispatched")]
fn next_arrow(scene: &mut Scene) {
    let session = scene.session();
    let journal = scene.journal.clone();
    session.bus().subscribe(move |event| {
        if let (Event::AttestationRecorded(recorded), Some(session)) = (event, journal.session()) {
            let number: u32 = recorded.row.rec.arrow_id[1..]
                .parse()
                .expect("A and a number");
            let next = format!("A{}", number + 1);
            if session.grid().arrow(&next).is_some() {
                session.dispatch(&next).expect("the next arrow");
            }
        }
    });
}

/// From as many threads as there are rows, at once.
#[when("these verdicts are submitted at the same time:")]
fn at_the_same_time(scene: &mut Scene, step: &Step) {
    let rows: Vec<_> = rows(step.table.as_ref().expect("verdicts")).collect();
    let session = scene.session();
    let barrier = Barrier::new(rows.len());
    thread::scope(|threads| {
        for row in &rows {
            let (session, barrier) = (&session, &barrier);
            threads.spawn(move || {
                barrier.wait();
                session
                    .attest(&row["ref"], &submission(row), &row["by"])
                    .expect("a verdict");
            });
        }
    });
}

/// The second comes in while the first is being acknowledged: before anything
/// has followed from the first.
#[given(expr = "{string} submits this while the first verdict is being acknowledged:")]
fn overtaking(scene: &mut Scene, op_id: String, step: &Step) {
    let row = rows(step.table.as_ref().expect("a verdict"))
        .next()
        .expect("a row");
    let journal = scene.journal.clone();
    let late = std::sync::Mutex::new(Some((row["ref"].clone(), submission(&row))));
    scene.session().bus().subscribe(move |event| {
        if let (Event::AttestationRecorded(_), Some(session)) = (event, journal.session()) {
            let taken = late.lock().expect("one at a time").take();
            if let Some((reference, submission)) = taken {
                session
                    .attest(&reference, &submission, &op_id)
                    .expect("the second verdict");
            }
        }
    });
}

#[then(expr = "the records on {string} are rounds 1 to {int}, by {string} in some order")]
fn rounds(scene: &mut Scene, reference: String, count: u32, by: String) {
    let found: Vec<_> = audit::tree(scene)
        .into_iter()
        .filter(|line| {
            let id = line.json["attestation_id"].as_str().expect("an id");
            id == reference || id.starts_with(&format!("{reference}.r"))
        })
        .collect();
    let ids: Vec<_> = found
        .iter()
        .map(|line| line.json["attestation_id"].clone())
        .collect();
    let wanted: Vec<_> = (1..=count)
        .map(|round| match round {
            1 => reference.clone(),
            _ => format!("{reference}.r{round}"),
        })
        .collect();
    assert_eq!(ids, wanted);
    let names = |list: Vec<String>| {
        let mut list = list;
        list.sort();
        list
    };
    let operators = found
        .iter()
        .map(|line| line.json["op_id"].as_str().unwrap().to_owned());
    assert_eq!(
        names(operators.collect()),
        names(crate::grid::names(&by).collect())
    );
}

#[then(expr = "the authoritative verdict on {string} is that of its newest round")]
fn authoritative(scene: &mut Scene, reference: String) {
    let newest = audit::tree(scene)
        .into_iter()
        .rfind(|line| {
            line.json["attestation_id"]
                .as_str()
                .unwrap()
                .starts_with(&reference)
        })
        .expect("a record");
    let status = match newest.json["verdict"].as_str().unwrap() {
        "pass" => "pass",
        "fail" => "fail",
        other => panic!("{other} decides nothing"),
    };
    let clause = newest.json["clause_id"].as_str().unwrap();
    let arrow = newest.json["arrow_id"].as_str().unwrap();
    let view = scene.session().arrow_view(arrow).expect("the arrow");
    let found = view
        .clauses
        .iter()
        .find(|c| c.id == clause)
        .expect("the clause");
    assert_eq!(found.status.as_str(), status);
    let open = u64::from(status == "fail");
    let findings = scene
        .session()
        .db()
        .read(|tx| tx.open_finding_count())
        .expect("findings");
    assert_eq!(findings, open, "findings follow the authoritative verdict");
}

#[when(regex = r"^the record (\S+) is recorded again, word for word$")]
fn again(scene: &mut Scene, id: String) {
    rerecord(scene, &id, |_| {});
}

#[when(regex = r#"^the record (\S+) is recorded again with another (\S+): "(.*)"$"#)]
fn again_otherwise(scene: &mut Scene, id: String, field: String, value: String) {
    rerecord(scene, &id, |rec| match field.as_str() {
        "op_id" => rec.op_id = value,
        "timestamp" => rec.timestamp = value,
        "reason" => rec.reason = value,
        other => panic!("no field {other:?} here"),
    });
}

fn rerecord(scene: &mut Scene, id: &str, change: impl FnOnce(&mut ghyll::policy::Attestation)) {
    let session = scene.session();
    let row = session
        .db()
        .read(|tx| tx.row(id))
        .expect("the index")
        .expect("the record");
    let mut rec = row.rec;
    change(&mut rec);
    let recorded = session.store().record(rec);
    scene.tried(recorded.map_err(|e| (e.code().to_owned(), e.to_string())));
}
