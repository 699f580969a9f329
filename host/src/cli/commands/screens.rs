//! What the commands that show something show: on a narrow terminal, a usual
//! and a wide one, and where nobody looks.

use std::path::Path;
use std::sync::Arc;

use ghyll::audit::verify::verify;
use ghyll::bus::Bus;
use ghyll::check::{Options, check};
use ghyll::clock::ReplayClock;
use ghyll::grid::Grid;
use ghyll::modal::Attended;
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::session::{Submission, Via};
use ghyll::view::View;
use ghyll::work::Verdict;

use super::attest::print_where_it_stands;
use super::attestations::{self, ListArgs};
use super::dispatch;
use super::lists::{self, List};
use super::{arrows, check as gate, engine, show, status};
use crate::cli::{Failure, Output};

const GRID: &str = "\
version: 1
arrows:
  - id: A-checkout
    source-role: analyst
    target-role: architect
    adversary-role: sceptic
    stratum: behaviour
    context: checkout
    covers: [\"features/**\"]
    clauses:
      - id: C1
        concept: Every way a checkout can end is described
        eval: attested
      - id: C2
        concept: The payment scenarios name the amounts they are about, in every currency the shop takes
        eval: attested
      - id: C3
        concept: Nothing in the features contradicts the glossary
        eval: attested
        covers: [docs/glossary.md]
      - id: M1
        concept: No scenario is pending
        eval: machine
        run: [sh, -c, \"echo features/payment.feature: 2 scenarios pending; exit 3\"]
  - id: A-design
    source-role: architect
    target-role: implementer
    stratum: design
    context: checkout
    clauses:
      - id: C1
        concept: The design says what happens when the bank does not answer
        eval: attested
        covers: [docs/design.md]
  - id: A-日本
    source-role: implementer
    target-role: reviewer
    stratum: code
    context: payment
    clauses:
      - {id: C1, concept: A charge that was sent twice is made once, eval: attested}
";

struct Scene {
    dir: tempfile::TempDir,
    session: Attended,
}

impl Scene {
    /// A project with something of everything.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::create(dir.path()).unwrap();
        Grid::write(project.ghyll(), 1, GRID).unwrap();
        let features = dir.path().join("features");
        std::fs::create_dir(&features).unwrap();
        let scenario = |n| format!("  Scenario: {n}\n\tThen \u{1b}[2Jthe amount is {n}.00\n");
        let text: String = (1..=20).map(scenario).collect();
        std::fs::write(features.join("payment.feature"), text).unwrap();
        std::fs::create_dir(dir.path().join("docs")).unwrap();
        std::fs::write(dir.path().join("docs/glossary.md"), "# Glossary\n").unwrap();
        drop(project);
        let clock = ReplayClock::new("2026-01-01T09:00:00Z".parse().unwrap(), 7);
        let session = Attended::open(
            Project::open(dir.path()).unwrap(),
            Arc::new(Policy::load().unwrap()),
            Arc::new(clock),
            Arc::new(Bus::default()),
        )
        .unwrap();
        let scene = Self { dir, session };
        for arrow in ["A-checkout", "A-日本"] {
            scene.session.dispatch(arrow).unwrap();
        }
        scene.says("alice@example.com", "C1", Verdict::Pass, &[], "");
        let places = ["features/payment.feature:3-8", "features/gone.feature"];
        scene.says("bob", "C2", Verdict::Fail, &places, "");
        let missing = "the glossary is missing;\nwithout it nobody can tell";
        let none = Verdict::InsufficientBasis;
        scene.says("alice@example.com", "C3", none, &[], missing);
        std::fs::write(features.join("new.feature"), "Scenario: new\n").unwrap();
        scene.session.dispatch("A-checkout").unwrap();
        let basis = ["one", "two", "three"].map(|why| format!("no basis, for reason {why}"));
        for why in &basis {
            scene.on("A-日本", "C1", "carol", none, &[], why);
        }
        let risk = "known, and closed next week";
        scene.on("A-日本", "C1", "dave", Verdict::AcceptedRisk, &[], risk);
        scene
    }

    fn says(&self, op_id: &str, clause: &str, verdict: Verdict, places: &[&str], note: &str) {
        self.on("A-checkout", clause, op_id, verdict, places, note);
    }

    fn on(
        &self,
        arrow: &str,
        clause: &str,
        op_id: &str,
        verdict: Verdict,
        places: &[&str],
        note: &str,
    ) {
        let submission = Submission {
            verdict,
            inspected: places.iter().map(|place| (*place).to_owned()).collect(),
            residue: note.to_owned(),
            via: Via::Command,
            ..Submission::default()
        };
        let reference = format!("{arrow}/{clause}");
        self.session
            .attest(&reference, &submission, op_id)
            .unwrap_or_else(|e| panic!("{reference}: {e}"));
    }

    fn view(&self) -> View {
        self.session.view().unwrap()
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// What `show` prints at each width, under a name.
fn snapshot(name: &str, show: impl Fn(&Output) -> Result<(), Failure>) {
    for columns in [40, 80, 120, usize::MAX] {
        let out = Output::captured_at(columns);
        show(&out).unwrap();
        let seen = out.take();
        for line in seen.lines() {
            let width = ghyll::text::width(line);
            assert!(width <= columns, "{name}, {columns} columns: {line}");
        }
        assert!(!seen.contains('\u{1b}'), "{name}: {seen:?}");
        let width = match columns {
            usize::MAX => "piped".to_owned(),
            columns => columns.to_string(),
        };
        insta::assert_snapshot!(format!("{name}_at_{width}"), seen);
    }
}

#[test]
fn the_overview_and_the_lists() {
    let scene = Scene::new();
    let view = scene.view();
    snapshot("status", |out| status::print(out, &view));
    snapshot("pending", |out| lists::print(out, &view, List::Pending));
    snapshot("findings", |out| lists::print(out, &view, List::Findings));
    snapshot("passes", |out| lists::print(out, &view, List::Passes));
    snapshot("arrow_list", |out| arrows::list(out, &view.arrows()?));
    let all = ListArgs::of_arrow(None);
    snapshot("attestations", |out| attestations::print(out, &view, &all));
}

#[test]
fn one_arrow_and_one_verdict() {
    let scene = Scene::new();
    let view = scene.view();
    for (name, id) in [
        ("arrow_checkout", "A-checkout"),
        ("arrow_design", "A-design"),
    ] {
        let (arrow, stands) = view.arrow(id).unwrap();
        snapshot(name, |out| arrows::print(out, &view, arrow, &stands));
    }
    for (name, what) in [
        ("show_pass", "A-checkout/C1"),
        ("show_fail", "A-checkout/C2"),
        ("show_note", "A-checkout/C3@1"),
    ] {
        snapshot(name, |out| show::print(out, &view, what));
    }
}

#[test]
fn what_a_dispatch_and_an_answer_lead_to() {
    let scene = Scene::new();
    let done = scene.session.dispatch("A-checkout").unwrap();
    snapshot("dispatch", |out| dispatch::print(out, "A-checkout", &done));
    let design = scene.session.dispatch("A-design").unwrap();
    snapshot("dispatch_nothing_covered", |out| {
        dispatch::print(out, "A-design", &design)
    });
    snapshot("attested", |out| {
        print_where_it_stands(out, &scene.session, "A-checkout")
    });
}

#[test]
fn the_gate_and_verification_of_a_damaged_project() {
    let scene = Scene::new();
    let policy = Arc::new(Policy::load().unwrap());
    let gate_of = || {
        let project = Project::open(scene.path()).unwrap();
        let view = View::open_trusting_nothing(project, Arc::clone(&policy)).unwrap();
        check(&view, &Options::default()).unwrap()
    };
    let checked = gate_of();
    snapshot("check", |out| {
        gate::in_words(out, &checked)?;
        out.note_wrapped(gate::in_all(&checked), 2);
        Ok(())
    });
    // What was a fail is made a pass; the files of one verdict are gone.
    let mut harmed = 0;
    for entry in walkdir(scene.path().join(".ghyll")) {
        let text = std::fs::read_to_string(&entry).unwrap_or_default();
        if entry.starts_with(scene.path().join(".ghyll/attestations")) {
            let other = text.replace("\"verdict\":\"fail\"", "\"verdict\":\"pass\"");
            harmed += usize::from(other != text);
            std::fs::write(&entry, other).unwrap();
        } else if entry
            .parent()
            .is_some_and(|dir| dir.parent().is_some_and(|d| d.ends_with("subjects")))
        {
            std::fs::write(&entry, text.replace("features", "FEATURES")).unwrap();
        }
    }
    assert_eq!(harmed, 1);
    let project = Project::open(scene.path()).unwrap();
    let report = verify(&project, &policy, None, &mut |_, _| {}).unwrap();
    assert!(!report.ok);
    snapshot("verify", |out| engine::tell(out, &report));
    let checked = gate_of();
    snapshot("check_damaged", |out| {
        gate::in_words(out, &checked)?;
        out.note_wrapped(gate::in_all(&checked), 2);
        Ok(())
    });
}

fn walkdir(root: impl AsRef<Path>) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    let mut dirs = vec![root.as_ref().to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn errors_say_what_helps() {
    let scene = Scene::new();
    let view = scene.view();
    let unknown = |what: &str| Failure::from(view.arrow(what).err().unwrap());
    let attest = |reference: &str, submission: Submission| {
        let error = scene.session.attest(reference, &submission, "bob");
        Failure::from(error.err().unwrap())
    };
    let fail = Submission {
        verdict: Verdict::Fail,
        places_checked: true,
        ..Submission::default()
    };
    let nowhere = Submission {
        inspected: vec!["features/gone.feature:3".to_owned()],
        ..fail.clone()
    };
    let accepted = Submission {
        verdict: Verdict::AcceptedRisk,
        residue: "so be it".to_owned(),
        ..Submission::default()
    };
    let never_asked = attest("A-design/C1", Submission::default());
    let failures = [
        unknown("A-chekout"),
        attest("A-checkout/C2", fail.clone()),
        attest("A-checkout/C2", nowhere),
        attest("A-checkout/C2", accepted),
        never_asked,
        Failure::from(Verdict::parse("pas").err().unwrap()),
    ];
    snapshot("errors", |out| {
        failures.iter().for_each(|failure| out.failure(failure));
        Ok(())
    });
}
