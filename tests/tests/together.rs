//! Several at once: sessions, threads, readers beside a writer, and a session
//! that ends while something is open.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ghyll::bus::Event;
use ghyll::modal::{StubAnswer, StubModal};
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::session::{Submission, preview};
use ghyll_tests::survive::Dice;
use ghyll_tests::survive::fixture::{self, ARROW, REFS};

fn project() -> (tempfile::TempDir, Arc<Policy>) {
    let scratch = fixture::scratch();
    fixture::make(scratch.path());
    (scratch, Arc::new(Policy::load().unwrap()))
}

fn status(dir: &Path) -> Option<u32> {
    Project::open(dir).unwrap().locked_by()
}

#[test]
fn a_second_session_is_refused_at_once_with_the_pid_of_the_first() {
    let (scratch, policy) = project();
    let dir = scratch.path();
    let first = fixture::open(dir, &policy).unwrap();
    let started = std::time::Instant::now();
    let error = fixture::open(dir, &policy).err().unwrap();
    assert!(started.elapsed().as_secs() < 2);
    assert_eq!(error.code(), "session-locked");
    let pid = std::process::id();
    assert!(error.to_string().contains(&format!("pid {pid}")), "{error}");
    assert_eq!(status(dir), Some(pid));
    // Readers are not kept away.
    let seen = preview(&Project::open(dir).unwrap(), Arc::clone(&policy)).unwrap();
    assert_eq!(seen.session, Some(pid));
    drop(first);
    assert_eq!(status(dir), None);
    fixture::open(dir, &policy).unwrap();
}

#[test]
fn asking_who_has_the_project_never_keeps_a_session_from_starting() {
    let (scratch, policy) = project();
    let dir = scratch.path();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let project = Project::open(dir).unwrap();
            while !stop.load(Ordering::Relaxed) {
                project.locked_by();
            }
        });
        for _ in 0..20 {
            let opened = fixture::open(dir, &policy);
            if let Err(error) = opened {
                stop.store(true, Ordering::Relaxed);
                panic!("{error}");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn records_of_several_threads_are_all_there_and_a_reader_sees_no_damage_meanwhile() {
    const THREADS: u64 = 4;
    const EACH: u64 = 20;
    let (scratch, policy) = project();
    let dir = scratch.path();
    let session = fixture::open(dir, &policy).unwrap();
    session.dispatch(ARROW).unwrap();
    let stop = AtomicBool::new(false);
    // Its own instance of the component, as another process would have.
    let readers_policy = Policy::load().unwrap();
    let ids: Vec<String> = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut looks = 0;
            while !stop.load(Ordering::Relaxed) {
                fixture::assert_clean(dir, &readers_policy);
                looks += 1;
            }
            looks
        });
        let writers: Vec<_> = (0..THREADS)
            .map(|n| {
                let session = &session;
                scope.spawn(move || {
                    let mut dice = Dice::new(n);
                    let attest = |_| fixture::attest(session, &mut dice).unwrap();
                    (0..EACH).map(attest).collect::<Vec<_>>()
                })
            })
            .collect();
        let recorded = writers.into_iter().flat_map(|w| w.join().unwrap());
        let ids = recorded.map(|r| r.row.rec.attestation_id.clone()).collect();
        stop.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
        ids
    });
    assert_eq!(
        ids.iter().collect::<HashSet<_>>().len() as u64,
        THREADS * EACH
    );
    drop(session);
    let report = fixture::assert_clean(dir, &policy);
    assert_eq!(report.tree.records, THREADS * EACH);
}

#[test]
fn a_session_left_with_a_question_open_asks_it_again() {
    let (scratch, policy) = project();
    let dir = scratch.path();
    let session = fixture::open(dir, &policy).unwrap();
    session.dispatch(ARROW).unwrap();
    let pending = session.pending().unwrap();
    let error = session
        .drain_pending(&mut StubModal::new([StubAnswer::Leave]))
        .unwrap_err();
    assert_eq!(error.code(), "modal-left");
    drop(session);

    let seen = preview(&Project::open(dir).unwrap(), Arc::clone(&policy)).unwrap();
    assert_eq!(seen.republish, pending);
    // Twice is the same as once.
    for _ in 0..2 {
        let session = fixture::open(dir, &policy).unwrap();
        assert_eq!(session.pending().unwrap(), pending);
        let pass = session.db().read(|tx| tx.open_passes()).unwrap();
        assert_eq!(pass.len(), 1);
        assert!(!pass[0].recovered_at.is_empty());
    }
}

#[test]
fn a_file_that_somebody_else_changes_takes_no_record() {
    let (scratch, policy) = project();
    let dir = scratch.path();
    let session = fixture::open(dir, &policy).unwrap();
    session.dispatch(ARROW).unwrap();
    let mut dice = Dice::new(5);
    fixture::attest(&session, &mut dice).unwrap();
    let (path, whole) = fixture::tree(dir).into_iter().next().unwrap();
    let aside = scratch.path().join("aside");

    let mut refused = |what: &str| {
        let error = fixture::attest(&session, &mut dice).expect_err(what);
        assert_eq!(error.code(), "attestation-audit-write-failed", "{what}");
    };
    // Grown: their bytes are not cut off.
    let grown = [whole.clone(), b"{\"a\"".to_vec()].concat();
    std::fs::write(&path, &grown).unwrap();
    refused("grown");
    refused("grown, again");
    assert_eq!(std::fs::read(&path).unwrap(), grown);
    // Shorter.
    std::fs::write(&path, &whole[..40]).unwrap();
    refused("cut");
    assert_eq!(std::fs::read(&path).unwrap(), &whole[..40]);
    std::fs::write(&path, &whole).unwrap();
    // Moved away: nothing is written to it any more, nor made in its place.
    std::fs::rename(&path, &aside).unwrap();
    refused("moved");
    refused("moved, again");
    assert!(!path.exists());
    assert_eq!(std::fs::read(&aside).unwrap(), whole);
    // A directory in its place.
    std::fs::create_dir(&path).unwrap();
    refused("directory");
    std::fs::remove_dir(&path).unwrap();
    // Replaced by its own copy, which is as good.
    std::fs::copy(&aside, &path).unwrap();
    fixture::attest(&session, &mut dice).unwrap();
    drop(session);
    assert_eq!(fixture::assert_clean(dir, &policy).tree.records, 2);
}

#[test]
fn a_verdict_on_record_stands_while_the_database_is_in_other_hands() {
    let (scratch, policy) = project();
    let dir = scratch.path();
    let session = fixture::open(dir, &policy).unwrap();
    session.dispatch(ARROW).unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    session.bus().subscribe(move |event| {
        if let Event::AttestationAuditDurabilityFailed { surface, .. } = event {
            ear.lock().unwrap().push(*surface);
        }
    });
    let submission = Submission {
        verdict: "pass".to_owned(),
        ..Submission::default()
    };
    let attest = |n: usize| session.attest(REFS[n], &submission, "alice@example.com");

    let other = rusqlite::Connection::open(dir.join(".ghyll/engine.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let recorded = attest(0).unwrap();
    assert_eq!(*heard.lock().unwrap(), ["index", "state"]);
    assert_eq!(fixture::tree_lines(dir).get(&recorded.line), Some(&1));
    assert_eq!(session.pending().unwrap().len(), 3);
    // Nothing more is taken while rounds cannot be told.
    let error = attest(1).unwrap_err();
    assert_eq!(error.code(), "engine-db-locked");
    assert_eq!(fixture::tree_lines(dir).len(), 1);
    other.execute_batch("COMMIT").unwrap();

    // Both take effect now.
    attest(1).unwrap();
    assert_eq!(session.pending().unwrap().len(), 1);
    drop(session);
    assert_eq!(fixture::assert_clean(dir, &policy).tree.records, 2);
}
