//! The projects that things are measured with are projects like any other.

use std::sync::Arc;

use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::session::{Session, Submission, Via};
use ghyll::view::View;
use ghyll::work::Verdict;
use ghyll::work::status::ArrowStatus;
use ghyll_tests::scale::{Plan, arrow_id, grow, make};
use ghyll_tests::survive::fixture;

fn plan() -> Plan {
    Plan {
        records: 1500,
        contexts: 3,
        pairs: 3,
        covered: 4,
        ..Plan::default()
    }
}

#[test]
fn a_project_of_the_scale_tool_verifies_and_starts_and_stands_somewhere() {
    let dir = tempfile::tempdir().unwrap();
    let policy = Arc::new(Policy::load().unwrap());
    let plan = plan();
    let made = make(dir.path(), &plan, &policy);
    assert_eq!(made.records, plan.records);
    assert_eq!(made.files, fixture::tree(dir.path()).len() as u64);

    let report = fixture::assert_clean(dir.path(), &policy);
    assert_eq!(report.tree.records, plan.records);

    let session = fixture::open(dir.path(), &policy).unwrap();
    let indexed = session.read(|reader| reader.row_count()).unwrap();
    assert_eq!(indexed, plan.records);
    drop(session);
    let view = View::open(Project::open(dir.path()).unwrap(), Arc::clone(&policy)).unwrap();
    assert!(view.damage().is_empty(), "{:?}", view.damage());
    let arrows = view.arrows().unwrap();
    assert_eq!(arrows.len(), 9);
    assert!(
        arrows
            .iter()
            .all(|(_, view)| view.clauses.iter().all(|c| c.round > 0))
    );
    // The covered files are those of the last verdicts.
    assert!(
        arrows
            .iter()
            .any(|(_, view)| view.status == ArrowStatus::Complete)
    );

    assert_eq!(grow(dir.path(), &plan, &policy, 3, 1), 3);
    let session = fixture::open(dir.path(), &policy).unwrap();
    let indexed = session.read(|reader| reader.row_count()).unwrap();
    assert_eq!(indexed, plan.records + 3);
    drop(session);
    fixture::assert_clean(dir.path(), &policy);
}

#[test]
fn the_same_seed_makes_the_same_project() {
    let policy = Policy::load().unwrap();
    let trees = [1, 1, 2].map(|seed| {
        let dir = tempfile::tempdir().unwrap();
        make(
            dir.path(),
            &Plan {
                seed,
                records: 200,
                ..plan()
            },
            &policy,
        );
        let files = fixture::files(dir.path()).into_iter();
        files
            .map(|(path, bytes)| (path.strip_prefix(dir.path()).unwrap().to_owned(), bytes))
            .collect::<Vec<_>>()
    });
    assert!(trees[0] == trees[1]);
    assert!(trees[0] != trees[2]);
    assert!(
        trees[0]
            .iter()
            .any(|(path, _)| path.starts_with(".ghyll/subjects"))
    );
    assert_eq!(arrow_id(1, 2), "A-01-02");
}

/// A session that has looked at a large tree a few times is told what changes
/// from then on. It must find what it would have found by looking.
#[test]
fn a_session_on_a_large_tree_sees_what_others_do_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let policy = Arc::new(Policy::load().unwrap());
    let plan = Plan {
        records: 5000,
        contexts: 2,
        pairs: 3,
        ..Plan::default()
    };
    let made = make(dir.path(), &plan, &policy);
    assert!(made.files > 400, "{made:?}");
    let attended = fixture::open(dir.path(), &policy).unwrap();
    let session: &Session = &attended;
    session.dispatch(&arrow_id(0, 2)).unwrap();
    let mut number = 0;
    let mut verdict = || {
        number += 1;
        let submission = Submission {
            verdict: Verdict::Fail,
            inspected: vec![format!("src/file.rs:{number}")],
            via: Via::Command,
            ..Submission::default()
        };
        session.attest(&format!("{}/C1", arrow_id(0, 2)), &submission, "bob")
    };
    let indexed = || session.read(|reader| reader.row_count()).unwrap();
    for _ in 0..8 {
        verdict().unwrap();
    }
    assert_eq!(indexed(), plan.records + 8);

    // A colleague's commit.
    assert_eq!(grow(dir.path(), &plan, &policy, 4, 1), 4);
    verdict().unwrap();
    assert_eq!(indexed(), plan.records + 8 + 4 + 1);
    // Another process, also while nobody else wrote.
    let other = fixture::open(dir.path(), &policy).unwrap();
    let submission = Submission {
        verdict: Verdict::Fail,
        inspected: vec!["src/other.rs:1".to_owned()],
        ..Submission::default()
    };
    other
        .attest(&format!("{}/C2", arrow_id(0, 2)), &submission, "eve")
        .unwrap();
    drop(other);
    verdict().unwrap();
    assert_eq!(indexed(), plan.records + 8 + 4 + 1 + 2);
    fixture::assert_clean(dir.path(), &policy);

    // What nobody may do is refused as soon as it is done.
    let (path, bytes) = fixture::tree(dir.path()).pop_first().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(verdict().unwrap_err().code(), "attestation-tail-missing");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(verdict().unwrap_err().code(), "attestation-tail-missing");
    std::fs::write(&path, &bytes).unwrap();
    verdict().unwrap();
    let folder = path.parent().unwrap();
    let away = dir.path().join("away");
    std::fs::rename(folder, &away).unwrap();
    assert_eq!(verdict().unwrap_err().code(), "attestation-tail-missing");
    std::fs::rename(&away, folder).unwrap();
    verdict().unwrap();
    fixture::assert_clean(dir.path(), &policy);
}
