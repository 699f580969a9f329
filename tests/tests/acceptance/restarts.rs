//! When: sessions end and begin, and things happen at the same time.

use std::fs;
use std::sync::{Arc, Barrier};
use std::thread;

use cucumber::gherkin::Step;
use cucumber::{given, then, when};
use ghyll::audit::load::Notice;
use ghyll::audit::{AttestationStore, Draft, FlatFile};
use ghyll::bus::Event;
use ghyll::db::Db;
use ghyll::files::disk::{CapDisk, Disk};
use ghyll::modal::Attended;
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::session::Submission;
use ghyll::work::standing;
use ghyll::work::status::ArrowStatus;

use crate::audit;
use crate::desk::{lines, rows};
use crate::journal::Death;
use crate::scene::{Scene, coded};
use crate::turns::submission;

#[when("the session dies")]
fn dies(scene: &mut Scene) {
    scene.end();
}

/// The verdict is on disk; nothing after that happens.
#[when(expr = "the session dies right after this verdict is durable:")]
fn dies_acknowledging(scene: &mut Scene, step: &Step) {
    scene.journal.dies(Death::Durable);
    scene.turn(lines(step.table.as_ref().expect("an answer")));
}

#[when(expr = "the arrow {string} is dispatched, and the session dies when its pass is open")]
fn dies_dispatching(scene: &mut Scene, arrow: String) {
    scene.journal.dies(Death::On("pass-opened"));
    scene.crashing(|session| {
        let _ = session.dispatch(&arrow);
    });
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
    let project = Project::open(&scene.root()).expect("the project");
    let policy = Arc::new(Policy::load().expect("the policy"));
    let clock = Arc::new(ghyll::clock::SystemClock);
    let started = Attended::open(project, policy, clock, Arc::default());
    drop(held);
    scene.second = scene.tried(started.map_err(coded));
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

/// The producer does not give up: until the arrow is complete, it comes back as
/// soon as its pass is over.
#[given(expr = "{string} is dispatched again whenever a pass of it closes")]
fn dispatched_again(scene: &mut Scene, arrow: String) {
    let session = scene.session();
    let journal = scene.journal.clone();
    session.bus().subscribe(move |event| {
        if let (Event::PassClosed(pass), Some(session)) = (event, journal.session())
            && pass.arrow_id == arrow
            && session.arrow_view(&arrow).expect("the arrow").status != ArrowStatus::Complete
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

/// Verdicts take effect in the order they were recorded, whoever was quicker.
#[then(expr = "what stands on {string} is what its newest round says")]
fn authoritative(scene: &mut Scene, reference: String) {
    let mut rounds = audit::tree(scene);
    rounds.retain(|line| {
        line.json["attestation_id"]
            .as_str()
            .unwrap()
            .starts_with(&reference)
    });
    let newest = rounds.last().expect("a record").json.clone();
    let status = newest["verdict"].as_str().unwrap();
    let clause = newest["clause_id"].as_str().unwrap();
    let view = scene
        .session()
        .arrow_view(newest["arrow_id"].as_str().unwrap())
        .unwrap();
    let found = view
        .clauses
        .iter()
        .find(|c| c.id == clause)
        .expect("the clause");
    assert_eq!(found.status.as_str(), status);
    let open = rounds
        .iter()
        .rev()
        .take_while(|line| line.json["verdict"] == "fail")
        .count();
    let findings = scene
        .session()
        .read(|reader| reader.open_finding_count())
        .expect("findings");
    assert_eq!(
        findings, open as u64,
        "findings follow the verdicts in their order"
    );
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

/// As if the two had been one pass: the arrows' names differ, their files do
/// not.
#[when(expr = "the record {word} is on record for the arrow {string} too, as {string}")]
fn for_another(scene: &mut Scene, id: String, arrow: String, other: String) {
    let session = scene.session();
    let context = session
        .grid()
        .arrow(&arrow)
        .expect("the arrow")
        .context
        .clone();
    let row = audit::indexed_row(&session, &id);
    rerecord(scene, &id, |rec| {
        rec.hint_json = rec.hint_json.replace(&row.attestation_ref, &other);
        rec.hint_json = rec.hint_json.replace(
            &format!("\"arrow_id\":\"{}\"", rec.arrow_id),
            &format!("\"arrow_id\":\"{arrow}\""),
        );
        (rec.attestation_id, rec.arrow_id, rec.context) = (other, arrow, context);
    });
}

fn rerecord(scene: &mut Scene, id: &str, change: impl FnOnce(&mut ghyll::policy::Attestation)) {
    let session = scene.session();
    let row = audit::indexed_row(&session, id);
    let mut rec = row.rec;
    change(&mut rec);
    let same = rec.attestation_id == id;
    let attestation_ref = if same {
        row.attestation_ref
    } else {
        rec.attestation_id.clone()
    };
    let project = session.project();
    let disk = CapDisk::new(project.ghyll()).expect("a disk");
    let policy = Arc::new(Policy::load().expect("the policy"));
    let db = Arc::new(Db::open(&scene.ghyll("engine.db")).expect("the index"));
    let bus = Arc::clone(session.bus());
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let flat = Box::new(Arc::new(FlatFile::new(Arc::clone(&disk))));
    let store = AttestationStore::new(policy, db, bus, disk, vec![flat]);
    let draft = Draft {
        rec,
        attestation_ref: attestation_ref.clone(),
        limits: session.limits(),
        via: "",
    };
    let lock = project.lock("recording again").expect("the lock");
    let written = store
        .write(draft, &lock, &mut |tx, recorded| {
            standing::fold(tx, &attestation_ref, recorded.row.round)
        })
        .map(|written| store.publish(store.observe(written)));
    scene.tried(written.map_err(|e| (e.code().to_owned(), e.to_string())));
}

#[when(
    expr = "the arrow {string} is redrawn from {string} to {string} in {string}, stratum {string}"
)]
fn redrawn(
    scene: &mut Scene,
    arrow: String,
    source: String,
    target: String,
    context: String,
    stratum: String,
) {
    let arrow = scene.grid.arrow(&arrow);
    (arrow.source, arrow.target) = (source, target);
    (arrow.context, arrow.stratum) = (context, stratum);
    arrow.adversary.clear();
}

#[when("half a line is found at the end of the pass's file")]
fn half_a_line(scene: &mut Scene) {
    let (path, _) = audit::files(scene).pop().expect("a file");
    let path = scene.ghyll("attestations").join(path);
    let mut bytes = fs::read(&path).expect("the file");
    bytes.extend_from_slice(br#"{"attestation_id":"att-A-check"#);
    fs::write(&path, bytes).expect("the file");
}

#[then("the session notes a partial last line")]
fn partial_noted(scene: &mut Scene) {
    let session = scene.session();
    let partial = |notice: &&Notice| matches!(notice, Notice::PartialTail { .. });
    assert_eq!(
        session.notices().iter().filter(partial).count(),
        1,
        "{:?}",
        session.notices()
    );
}

#[when(expr = "the other session attests {string} as {string}")]
fn other_attests(scene: &mut Scene, reference: String, op_id: String) {
    let other = scene.second.as_ref().expect("another session");
    let attested = other.attest(&reference, &Submission::default(), &op_id);
    scene.tried(attested.map_err(coded));
}

#[given("somebody is in the middle of writing")]
fn writing(scene: &mut Scene) {
    let project = Project::open(&scene.root()).expect("the project");
    scene.lock = Some(project.lock("a long write").expect("the lock"));
}

#[when("they are done writing")]
fn done_writing(scene: &mut Scene) {
    scene.lock = None;
}

#[then("the refusal names the process that writes")]
fn names_process(scene: &mut Scene) {
    let (_, words) = scene.refusal.as_ref().expect("a refusal");
    assert!(words.contains(&std::process::id().to_string()), "{words}");
    assert!(words.contains("a long write"), "{words}");
}
