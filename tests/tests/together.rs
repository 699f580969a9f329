//! Several at once: sessions, threads, readers beside a writer, and a session
//! that ends while something is open.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ghyll::audit::rebuild::rebuild;
use ghyll::bus::Event;
use ghyll::clock::SystemClock;
use ghyll::db::{DbError, Filter, Pass};
use ghyll::grid::{Grid, GridLimits};
use ghyll::modal::{
    EscalationChoice, ModalError, ModalHint, OperatorModalPrompt, Problem, StubAnswer, StubModal,
    VerdictAnswer,
};
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::runtime::cancel::Cancel;
use ghyll::session::{Options, Session, Submission};
use ghyll::view::View;
use ghyll::work::{Verdict, standing};
use ghyll_tests::survive::Dice;
use ghyll_tests::survive::fixture::{self, ARROW, REFS};

fn project() -> (tempfile::TempDir, Arc<Policy>) {
    let scratch = fixture::scratch();
    fixture::make(scratch.path());
    (scratch, Arc::new(Policy::load().unwrap()))
}

/// Stops a thread that goes on until it is told to, also when a test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn look(dir: &Path, policy: &Arc<Policy>) -> View {
    View::open(Project::open(dir).unwrap(), Arc::clone(policy)).unwrap()
}

#[test]
fn who_only_sits_there_keeps_nobody_out_and_who_writes_is_named() {
    let (scratch, policy) = project();
    let dir = scratch.path();
    let first = fixture::open(dir, &policy).unwrap();
    first.dispatch(ARROW).unwrap();
    // Two at their prompts: each sees what the other did.
    let second = fixture::open(dir, &policy).unwrap();
    assert_eq!(second.pending().unwrap().len(), 3);
    fixture::attest(&second, &mut Dice::new(1)).unwrap();
    fixture::attest(&first, &mut Dice::new(2)).unwrap();
    assert_eq!(look(dir, &policy).counts().unwrap().attestations, 2);
    assert_eq!(look(dir, &policy).counts().unwrap().locked_by, None);

    // One that is in the middle of writing keeps writers out, not readers.
    let project = Project::open(dir).unwrap();
    let lock = project.lock("a long write").unwrap();
    let started = std::time::Instant::now();
    for error in [
        fixture::open(dir, &policy).err().unwrap(),
        first.dispatch(ARROW).unwrap_err(),
    ] {
        assert_eq!(error.code(), "session-locked");
        let pid = format!("pid {}", std::process::id());
        let words = error.to_string();
        assert!(
            words.contains(&pid) && words.contains("a long write"),
            "{words}"
        );
    }
    assert!((10..16).contains(&started.elapsed().as_secs()));
    let counts = look(dir, &policy).counts().unwrap();
    assert_eq!(counts.locked_by, Some(std::process::id()));
    drop(lock);
    first.dispatch(ARROW).unwrap();
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
    let stop = &AtomicBool::new(false);
    // Its own instance of the component, as another process would have.
    let readers_policy = Policy::load().unwrap();
    let ids: Vec<String> = std::thread::scope(|scope| {
        let _stop = Stop(stop);
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
                    // Another thread's round may come between a look and a verdict.
                    let attest = |_| loop {
                        match fixture::attest(session, &mut dice) {
                            Err(e) if e.code().starts_with("escalation-") => {}
                            recorded => break recorded.unwrap(),
                        }
                    };
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

    assert_eq!(look(dir, &policy).pending().unwrap(), pending);
    // Twice is the same as once.
    for _ in 0..2 {
        let session = fixture::open(dir, &policy).unwrap();
        assert_eq!(session.pending().unwrap(), pending);
        let pass = session.read(|reader| reader.open_passes()).unwrap();
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

    let mut refused = |what: &str, code: &str| {
        for _ in 0..2 {
            let error = fixture::attest(&session, &mut dice).expect_err(what);
            assert_eq!(error.code(), code, "{what}: {error}");
        }
    };
    // Grown by what is no record: it is not cut off, and nothing follows it.
    let grown = [whole.clone(), b"{\"a\":1}\n".to_vec()].concat();
    std::fs::write(&path, &grown).unwrap();
    refused("grown", "attestation-audit-corrupt");
    assert_eq!(std::fs::read(&path).unwrap(), grown);
    // Shorter.
    std::fs::write(&path, &whole[..40]).unwrap();
    refused("cut", "attestation-tail-missing");
    assert_eq!(std::fs::read(&path).unwrap(), &whole[..40]);
    std::fs::write(&path, &whole).unwrap();
    // Moved away: nothing is written to it any more, nor made in its place.
    std::fs::rename(&path, &aside).unwrap();
    refused("moved", "attestation-tail-missing");
    assert!(!path.exists());
    assert_eq!(std::fs::read(&aside).unwrap(), whole);
    // A directory in its place.
    std::fs::create_dir(&path).unwrap();
    refused("directory", "attestation-tail-missing");
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
        verdict: Verdict::Pass,
        ..Submission::default()
    };
    let attest = |n: usize| session.attest(REFS[n], &submission, "alice@example.com");

    let other = rusqlite::Connection::open(dir.join(".ghyll/engine.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let recorded = attest(0).unwrap().recorded;
    assert_eq!(*heard.lock().unwrap(), ["index"]);
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

/// The work that `A-refund` is about.
fn work(dir: &Path) {
    std::fs::create_dir(dir.join("features")).unwrap();
    std::fs::write(dir.join("features/refund.feature"), "Scenario: one\n").unwrap();
}

/// The sample's grid as another version.
fn bring_into_force(dir: &Path, concept: &str) -> u64 {
    let project = Project::open(dir).unwrap();
    let _lock = project.lock("a test").unwrap();
    let version = Grid::active_version(project.ghyll()).unwrap();
    let text = Grid::read_text(project.ghyll(), version).unwrap();
    let text = text.replacen("Every way a checkout can end is described", concept, 1);
    let next = Grid::next(project.ghyll(), &text, Path::new("next.yaml")).unwrap();
    next.grid.version
}

fn pass() -> Submission {
    Submission {
        verdict: Verdict::Pass,
        ..Submission::default()
    }
}

#[test]
fn a_session_goes_on_with_an_index_that_somebody_made_anew_or_took_away() {
    let (scratch, policy) = project();
    let dir = scratch.path();
    work(dir);
    let first = fixture::open(dir, &policy).unwrap();
    let second = fixture::open(dir, &policy).unwrap();
    first.dispatch(ARROW).unwrap();
    first.attest(REFS[0], &pass(), "alice@example.com").unwrap();
    let project = Project::open(dir).unwrap();
    let limits = GridLimits::new(project.ghyll()).unwrap();
    let made_anew = || {
        let limits = |version| limits.for_reading(version);
        let fold = &standing::fold_all;
        rebuild(&project, &policy, &limits, &SystemClock, None, fold).unwrap();
    };
    made_anew();
    // What either does the other sees, and so does whoever comes next.
    second.attest(REFS[1], &pass(), "bob@example.com").unwrap();
    assert_eq!(first.pending().unwrap().len(), 1);
    made_anew();
    first.dispatch("A-refund").unwrap();
    let asked = look(dir, &policy).pending().unwrap();
    assert_eq!(asked.len(), 3);
    assert_eq!(second.pending().unwrap(), asked);

    // As `git clean` does it: the lock, the index and who lives.
    for gone in ["engine.db", "lock", "attestations.jsonl"] {
        std::fs::remove_file(dir.join(".ghyll").join(gone)).unwrap();
    }
    std::fs::remove_dir_all(dir.join(".ghyll/sessions")).unwrap();
    second.dispatch(ARROW).unwrap();
    first.dispatch("A-refund").unwrap();
    assert_eq!(first.pending().unwrap().len(), 3);
    // Both are known to live again: a third takes nothing of theirs for a dead
    // one's.
    let third = fixture::open(dir, &policy).unwrap();
    let open = third.read(|reader| reader.open_passes()).unwrap();
    assert_eq!(open.len(), 2);
    assert!(open.iter().all(|pass| pass.recovered_at.is_empty()));
    drop((first, second, third));
    assert_eq!(fixture::assert_clean(dir, &policy).tree.records, 2);
}

#[test]
fn a_session_takes_up_the_grid_that_somebody_brings_into_force() {
    let (scratch, policy) = project();
    let dir = scratch.path();
    let first = fixture::open(dir, &policy).unwrap();
    first.dispatch(ARROW).unwrap();
    let second = fixture::open(dir, &policy).unwrap();
    assert_eq!(bring_into_force(dir, "Every way out is described"), 2);
    let dispatched = second.dispatch(ARROW).unwrap();
    assert_eq!(dispatched.requested[0].grid_version, 2);
    // The first does not ask by the old one again.
    let again = first.dispatch(ARROW).unwrap();
    assert_eq!(again.pass_id, dispatched.pass_id);
    assert_eq!(first.grid().version, 2);
    let attested = first.attest("A-checkout/C1", &pass(), "alice@example.com");
    assert_eq!(
        attested.unwrap().recorded.row.rec.attestation_id,
        "att-A-checkout-C1-v2"
    );
    let passes = second.read(|reader| reader.passes()).unwrap();
    assert_eq!(passes.len(), 2);
    assert_eq!(passes[0].reason, "grid-changed");
}

#[test]
fn who_reads_while_a_grid_is_brought_into_force_reads_one_or_the_other() {
    let (scratch, policy) = project();
    let dir = scratch.path();
    let stop = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = Stop(stop);
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let policy = Arc::clone(&policy);
                scope.spawn(move || {
                    let mut seen = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let version = look(dir, &policy).counts().unwrap().grid_version;
                        assert!(version >= seen);
                        seen = version;
                    }
                })
            })
            .collect();
        let mut before = "Every way a checkout can end is described".to_owned();
        for n in 0..20 {
            let project = Project::open(dir).unwrap();
            let _lock = project.lock("a test").unwrap();
            let version = Grid::active_version(project.ghyll()).unwrap();
            let text = Grid::read_text(project.ghyll(), version).unwrap();
            let now = format!("Version {n} of it");
            let text = text.replacen(&before, &now, 1);
            Grid::next(project.ghyll(), &text, Path::new("next.yaml")).unwrap();
            before = now;
        }
        stop.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

#[test]
fn a_dispatch_that_is_called_off_keeps_nobody_waiting() {
    let (scratch, policy) = project();
    let dir = scratch.path();
    work(dir);
    let first = fixture::open(dir, &policy).unwrap();
    let options = Options {
        cancel: Cancel::at(Some(Instant::now())),
        ..Options::default()
    };
    let error = first.dispatch_with("A-refund", &options).unwrap_err();
    assert_eq!(error.code(), "dispatch-deadline-exceeded");
    // It lives on, and its pass is open; but it is at it no longer.
    let second = fixture::open(dir, &policy).unwrap();
    let joined = AtomicBool::new(false);
    let options = Options {
        cancel: Cancel::at(Some(Instant::now() + Duration::from_secs(60))),
        joined: Some(&|_, _| joined.store(true, Ordering::Relaxed)),
        ..Options::default()
    };
    let dispatched = second.dispatch_with("A-refund", &options).unwrap();
    assert!(!joined.load(Ordering::Relaxed));
    assert_eq!(dispatched.requested.len(), 2);
    let passes = first.read(|reader| reader.passes()).unwrap();
    assert_eq!(passes.len(), 1);
}

#[test]
fn who_is_waited_for_is_named_and_one_that_cannot_be_judged_is_said() {
    let (scratch, policy) = project();
    let dir = scratch.path();
    let first = fixture::open(dir, &policy).unwrap();
    first.dispatch(ARROW).unwrap();
    // As if the first were still at it.
    let other = rusqlite::Connection::open(dir.join(".ghyll/engine.db")).unwrap();
    other.execute("UPDATE passes SET asked = 0", []).unwrap();
    drop(other);
    let second = fixture::open(dir, &policy).unwrap();
    let named = Mutex::new(None);
    let joined = |_: &Pass, who| *named.lock().unwrap() = who;
    let options = || Options {
        cancel: Cancel::at(Some(Instant::now() + Duration::from_millis(50))),
        joined: Some(&joined),
        ..Options::default()
    };
    let error = second.dispatch_with(ARROW, &options()).unwrap_err();
    assert_eq!(error.code(), "dispatch-deadline-exceeded");
    let who = named.lock().unwrap().take().unwrap();
    assert_eq!(who.pid, std::process::id());

    // Something else in the place of its file: nobody waits for that.
    let file = dir.join(".ghyll/sessions").join(first.id());
    let aside = dir.join("aside");
    std::fs::rename(&file, &aside).unwrap();
    std::fs::create_dir(&file).unwrap();
    let error = second.dispatch_with(ARROW, &options()).unwrap_err();
    assert_eq!(error.code(), "project-file-invalid");
    std::fs::remove_dir(&file).unwrap();
    std::os::unix::fs::symlink(&aside, &file).unwrap();
    let error = second.dispatch_with(ARROW, &options()).unwrap_err();
    assert_eq!(error.code(), "attestation-symlink-refused");
    std::fs::remove_file(&file).unwrap();
    // Nothing is lost of what it asked.
    std::fs::rename(&aside, &file).unwrap();
    assert_eq!(second.pending().unwrap().len(), 3);

    // Who waits until they are done says whose answer it is.
    let (waits, waiting) = std::sync::mpsc::channel();
    let done = std::thread::scope(|scope| {
        let second = &second;
        let dispatch = scope.spawn(move || {
            let joined = move |_: &Pass, _| waits.send(()).unwrap();
            let options = Options {
                joined: Some(&joined),
                ..Options::default()
            };
            second.dispatch_with(ARROW, &options).unwrap()
        });
        waiting.recv().unwrap();
        let other = rusqlite::Connection::open(dir.join(".ghyll/engine.db")).unwrap();
        other.execute("UPDATE passes SET asked = 1", []).unwrap();
        dispatch.join().unwrap()
    });
    let pid = format!("pid {}", std::process::id());
    assert!(done.joined.contains(&pid), "{}", done.joined);
    assert_eq!(second.dispatch(ARROW).unwrap().joined, "");
}

#[test]
fn an_answer_that_came_too_late_is_told_and_never_recorded() {
    /// Somebody else answers while this one thinks.
    struct Late<'a> {
        other: &'a Session,
        verdicts: Vec<Verdict>,
        told: Vec<String>,
        shown: Vec<u32>,
    }
    impl OperatorModalPrompt for Late<'_> {
        fn present_verdict(&mut self, hint: &ModalHint) -> Result<VerdictAnswer, ModalError> {
            self.shown.push(hint.request.round);
            self.told
                .extend(hint.problem.as_ref().map(|p| p.code.clone()));
            let Some(verdict) = self.verdicts.pop() else {
                return Ok(VerdictAnswer::Skip);
            };
            let submission = Submission {
                verdict,
                residue: format!("the other's, of round {}", hint.request.round),
                ..Submission::default()
            };
            let of = &hint.hint.attestation_ref;
            self.other
                .attest(of, &submission, "bob@example.com")
                .unwrap();
            Ok(VerdictAnswer::Submit(pass()))
        }
        fn present_escalation(&mut self, _: &ModalHint) -> Result<EscalationChoice, ModalError> {
            Err(ModalError::Left)
        }
        fn withdrawn(&mut self, _: &ModalHint, why: &Problem) -> Result<(), ModalError> {
            assert!(why.message.contains("bob@example.com"), "{}", why.message);
            self.told.push(why.code.clone());
            Ok(())
        }
    }
    let (scratch, policy) = project();
    let dir = scratch.path();
    let other = fixture::open(dir, &policy).unwrap();
    let session = fixture::open(dir, &policy).unwrap();
    session.set_op_id(Some("alice@example.com")).unwrap();
    session.dispatch(ARROW).unwrap();
    let mut prompt = Late {
        other: &other,
        // The last first: the first is asked again, and then decided.
        verdicts: vec![Verdict::Fail, Verdict::InsufficientBasis],
        told: Vec::new(),
        shown: Vec::new(),
    };
    session.drain_pending(&mut prompt).unwrap();
    assert_eq!(prompt.shown[..2], [1, 2]);
    assert_eq!(
        prompt.told,
        ["attestation-asked-anew", "attestation-no-longer-asked"]
    );
    let lines = fixture::tree_lines(dir);
    assert_eq!(lines.len(), 2);
    assert!(lines.keys().all(|line| line.contains("bob@example.com")));
}

#[test]
fn a_list_that_is_read_slowly_keeps_nobody_from_writing() {
    let (scratch, policy) = project();
    let dir = scratch.path();
    let session = fixture::open(dir, &policy).unwrap();
    session.dispatch(ARROW).unwrap();
    let mut dice = Dice::new(3);
    fixture::attest(&session, &mut dice).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    session
        .bus()
        .subscribe(move |event| heard.lock().unwrap().push(event.kind()));

    let view = look(dir, &policy);
    let mut seen = Vec::new();
    view.each_record(&Filter::default(), |row| {
        // Somebody writes while this one still has more to tell.
        fixture::attest(&session, &mut dice).unwrap();
        seen.push(row.rec.attestation_id);
        Ok::<_, DbError>(())
    })
    .unwrap();
    assert_eq!(seen.len(), 1);
    let told = told.lock().unwrap().clone();
    assert!(told.contains(&"attestation-recorded"), "{told:?}");
    assert!(
        !told.contains(&"attestation-audit-durability-failed"),
        "{told:?}"
    );
    assert_eq!(look(dir, &policy).counts().unwrap().attestations, 2);
}

#[test]
fn what_a_reader_had_ahead_of_the_index_is_not_there_twice_once_the_index_has_it() {
    let (scratch, policy) = project();
    let dir = scratch.path();
    let index = dir.join(".ghyll/engine.db");
    let session = fixture::open(dir, &policy).unwrap();
    session.dispatch(ARROW).unwrap();
    let mut dice = Dice::new(4);
    fixture::attest(&session, &mut dice).unwrap();
    let behind = std::fs::read(&index).unwrap();
    fixture::attest(&session, &mut dice).unwrap();
    drop(session);
    std::fs::write(&index, behind).unwrap();

    let view = look(dir, &policy);
    assert_eq!(view.counts().unwrap().attestations, 2);
    // Somebody else brings the index up, and goes on.
    let session = fixture::open(dir, &policy).unwrap();
    assert_eq!(view.counts().unwrap().attestations, 2);
    fixture::attest(&session, &mut dice).unwrap();
    let mut seen = Vec::new();
    view.each_record(&Filter::default(), |row| {
        seen.push(row.rec.attestation_id);
        Ok::<_, DbError>(())
    })
    .unwrap();
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert_eq!(seen.iter().collect::<HashSet<_>>().len(), 3, "{seen:?}");
    assert_eq!(
        view.pending().unwrap().len(),
        session.pending().unwrap().len()
    );
}

/// A session that records one verdict after the other does not look at every
/// file for each; it hears of what happens to any.
#[test]
fn a_session_at_work_hears_of_whatever_happens_to_the_tree() {
    let (scratch, policy) = project();
    let dir = scratch.path();
    let tree = dir.join(".ghyll/attestations");
    let session = fixture::open(dir, &policy).unwrap();
    session.dispatch(ARROW).unwrap();
    let mut dice = Dice::new(5);
    let mut file = std::path::PathBuf::new();
    for _ in 0..4 {
        let recorded = fixture::attest(&session, &mut dice).unwrap();
        file = tree.join(&recorded.row.path);
    }
    let whole = std::fs::read(&file).unwrap();

    // A colleague's file comes in, as git would bring it: the same records,
    // of a project that has gone on.
    let theirs = fixture::scratch();
    fixture::copy(dir, theirs.path());
    let other = fixture::open(theirs.path(), &policy).unwrap();
    let news = fixture::attest(&other, &mut dice).unwrap();
    std::fs::copy(
        theirs
            .path()
            .join(".ghyll/attestations")
            .join(&news.row.path),
        tree.join(&news.row.path),
    )
    .unwrap();
    let next = fixture::attest(&session, &mut dice).unwrap();
    if next.row.attestation_ref == news.row.attestation_ref {
        assert_eq!(next.row.round, news.row.round + 1);
    }
    assert_eq!(look(dir, &policy).counts().unwrap().attestations, 6);
    fixture::assert_clean(dir, &policy);

    // Somebody takes lines away.
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let error = fixture::attest(&session, &mut dice).unwrap_err();
    assert!(
        ["attestation-tail-missing", "attestation-chain-broken"].contains(&error.code()),
        "{error}"
    );
    // And the tree itself.
    std::fs::rename(&tree, dir.join("aside")).unwrap();
    let error = session.dispatch(ARROW).unwrap_err();
    assert_eq!(error.code(), "attestation-audit-lost");
}
