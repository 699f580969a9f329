//! Tests of the driver on real sessions: what is asked when, and that nothing
//! is ever lost.

use crate::modal::Attended;
use std::sync::{Arc, Mutex};

use super::*;
use crate::bus::{Bus, Event};
use crate::clock::SystemClock;
use crate::grid::Grid;
use crate::policy::Policy;
use crate::project::Project;
use crate::session::{Session, Submission};
use crate::work::Verdict;

/// A project with one arrow of `clauses` attested clauses.
struct Bench {
    dir: tempfile::TempDir,
    bus: Arc<Bus>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Bench {
    fn new(clauses: usize, pending_max: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::create(dir.path()).unwrap();
        let mut grid = format!(
            "version: 1\nmodal-pending-max-len: {pending_max}\narrows:\n  - id: A\n    \
             source-role: maker\n    target-role: taker\n    stratum: s\n    context: c\n    \
             clauses:\n"
        );
        for n in 1..=clauses {
            grid.push_str(&format!(
                "      - {{id: C{n}, concept: holds, eval: attested}}\n"
            ));
        }
        Grid::write(project.ghyll(), 1, &grid).unwrap();
        let bus = Arc::new(Bus::default());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&heard);
        bus.subscribe(move |event| {
            let text = match event {
                Event::EscalationResolved { outcome, .. } => format!("{} {outcome}", event.kind()),
                _ => event.kind().to_owned(),
            };
            list.lock().unwrap().push(text);
        });
        Self { dir, bus, heard }
    }

    fn session(&self) -> Attended {
        let project = Project::open(self.dir.path()).unwrap();
        let policy = Arc::new(Policy::load().unwrap());
        let bus = Arc::clone(&self.bus);
        let session = Attended::open(project, policy, Arc::new(SystemClock), bus).unwrap();
        session.set_op_id(Some("alice")).unwrap();
        session
    }

    fn heard(&self, kind: &str) -> usize {
        self.heard
            .lock()
            .unwrap()
            .iter()
            .filter(|heard| *heard == kind)
            .count()
    }
}

fn answer(verdict: &str, residue: &str) -> StubAnswer {
    StubAnswer::Verdict(VerdictAnswer::Submit(Submission {
        verdict: Verdict::parse(verdict).unwrap(),
        residue: residue.to_owned(),
        ..Submission::default()
    }))
}

fn skip() -> StubAnswer {
    StubAnswer::Verdict(VerdictAnswer::Skip)
}

fn asked(prompt: &StubModal) -> Vec<&str> {
    prompt
        .asked
        .iter()
        .map(|(hint, _)| hint.request.clause_id.as_str())
        .collect()
}

#[test]
fn more_requests_than_the_queue_holds_are_all_asked_in_one_turn_and_in_order() {
    let bench = Bench::new(20, 2);
    let session = bench.session();
    session.dispatch("A").unwrap();
    assert_eq!(bench.heard("modal-backpressure"), 18);
    let mut prompt = StubModal::new(std::iter::repeat_n(answer("pass", ""), 20));
    session.drain_pending(&mut prompt).unwrap();
    let expected: Vec<String> = (1..=20).map(|n| format!("C{n}")).collect();
    assert_eq!(asked(&prompt), expected);
    assert_eq!(session.pending().unwrap(), []);
}

#[test]
fn skipped_requests_do_not_keep_others_from_being_asked() {
    let bench = Bench::new(4, 2);
    let session = bench.session();
    session.dispatch("A").unwrap();
    let mut prompt = StubModal::new([skip(), skip(), skip(), answer("pass", "")]);
    session.drain_pending(&mut prompt).unwrap();
    assert_eq!(asked(&prompt), ["C1", "C2", "C3", "C4"]);
    let mut prompt = StubModal::new(std::iter::repeat_n(answer("pass", ""), 3));
    session.drain_pending(&mut prompt).unwrap();
    assert_eq!(asked(&prompt), ["C1", "C2", "C3"]);
}

#[test]
fn the_next_round_waits_for_the_next_turn_even_when_the_queue_is_full() {
    let bench = Bench::new(1, 1);
    let session = bench.session();
    session.dispatch("A").unwrap();
    for round in 1..=2 {
        let mut prompt = StubModal::new([answer("insufficient-basis", "cannot tell")]);
        session.drain_pending(&mut prompt).unwrap();
        assert_eq!(prompt.asked.len(), 1);
        assert_eq!(prompt.asked[0].0.request.round, round);
        assert_eq!(
            prompt.asked[0].0.history.len(),
            usize::try_from(round).unwrap() - 1
        );
    }
}

#[test]
fn a_prompt_that_fails_in_the_middle_leaves_the_rest_queued_in_order() {
    let bench = Bench::new(4, 64);
    let session = bench.session();
    session.dispatch("A").unwrap();
    let mut prompt = StubModal::new([skip(), answer("pass", ""), StubAnswer::Leave]);
    let error = session.drain_pending(&mut prompt).unwrap_err();
    assert_eq!(error.code(), "modal-left");
    let mut prompt = StubModal::new(std::iter::repeat_n(answer("pass", ""), 3));
    session.drain_pending(&mut prompt).unwrap();
    assert_eq!(asked(&prompt), ["C1", "C3", "C4"]);
}

#[test]
fn answers_that_raise_questions_eight_times_over_are_capped_and_nothing_is_lost() {
    /// Fails the clause and dispatches again, so that it is asked again.
    struct Stubborn<'a>(&'a Session, usize);
    impl OperatorModalPrompt for Stubborn<'_> {
        fn present_verdict(&mut self, hint: &ModalHint) -> Result<VerdictAnswer, ModalError> {
            self.1 += 1;
            let failed = Submission {
                verdict: Verdict::Fail,
                inspected: vec!["a.rs".into()],
                ..Submission::default()
            };
            self.0
                .attest(&hint.request.attestation_ref, &failed, "alice")
                .unwrap();
            self.0.dispatch("A").unwrap();
            Ok(VerdictAnswer::Withdrawn)
        }
        fn present_escalation(&mut self, _: &ModalHint) -> Result<EscalationChoice, ModalError> {
            Err(ModalError::Left)
        }
    }
    let bench = Bench::new(1, 64);
    let session = bench.session();
    session.dispatch("A").unwrap();
    let mut prompt = Stubborn(&session, 0);
    let error = session.drain_pending(&mut prompt).unwrap_err();
    assert_eq!(error.code(), "modal-drain-cap-exceeded");
    assert_eq!(prompt.1, 8);
    let mut prompt = StubModal::new([answer("pass", "")]);
    session.drain_pending(&mut prompt).unwrap();
    assert_eq!(prompt.asked[0].0.request.round, 9);
    assert_eq!(session.pending().unwrap(), []);
}

#[test]
fn an_event_for_a_request_that_is_being_shown_asks_nothing_twice() {
    struct Again<'a>(&'a Session, usize);
    impl OperatorModalPrompt for Again<'_> {
        fn present_verdict(&mut self, hint: &ModalHint) -> Result<VerdictAnswer, ModalError> {
            self.1 += 1;
            self.0
                .bus()
                .publish(&Event::AttestationRequested(hint.request.clone()));
            Ok(VerdictAnswer::Submit(Submission {
                verdict: Verdict::Pass,
                ..Default::default()
            }))
        }
        fn present_escalation(&mut self, _: &ModalHint) -> Result<EscalationChoice, ModalError> {
            Err(ModalError::Left)
        }
    }
    let bench = Bench::new(1, 64);
    let session = bench.session();
    session.dispatch("A").unwrap();
    let mut prompt = Again(&session, 0);
    session.drain_pending(&mut prompt).unwrap();
    assert_eq!(prompt.1, 1);
}

#[test]
fn every_escalation_presented_is_resolved_once_also_when_the_operator_leaves() {
    let bench = Bench::new(1, 64);
    let session = bench.session();
    session.dispatch("A").unwrap();
    for _ in 0..2 {
        let mut prompt = StubModal::new([answer("insufficient-basis", "cannot tell")]);
        session.drain_pending(&mut prompt).unwrap();
    }
    let mut prompt = StubModal::new([
        answer("insufficient-basis", "cannot tell"),
        StubAnswer::Leave,
    ]);
    assert_eq!(
        session.drain_pending(&mut prompt).unwrap_err().code(),
        "modal-left"
    );
    assert_eq!(
        prompt
            .asked
            .iter()
            .map(|(_, escalation)| *escalation)
            .collect::<Vec<_>>(),
        [false, true]
    );
    assert_eq!(bench.heard("escalation-presented"), 1);
    assert_eq!(bench.heard("escalation-resolved unresolved"), 1);
    drop(session);

    // The count survives the restart: the escalation is what is asked.
    let session = bench.session();
    let choice = EscalationChoice::AcceptedRisk("known".into());
    let refused = EscalationChoice::AcceptedRisk("  ".into());
    let mut prompt = StubModal::new([
        StubAnswer::Escalation(refused),
        StubAnswer::Escalation(choice),
    ]);
    session.drain_pending(&mut prompt).unwrap();
    assert!(prompt.asked.iter().all(|(_, escalation)| *escalation));
    assert_eq!(
        prompt.asked[1].0.problem.as_ref().unwrap().code,
        "verdict-unit-missing-field"
    );
    assert_eq!(bench.heard("escalation-presented"), 2);
    assert_eq!(bench.heard("escalation-resolved accepted-risk"), 1);
    assert_eq!(session.arrow_view("A").unwrap().status.as_str(), "complete");
}
