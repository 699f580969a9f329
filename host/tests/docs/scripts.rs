//! `docs/scripts.md`: every call has a section with an example that runs on
//! the sample project, and there is a section for nothing else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ghyll::clock::SystemClock;
use ghyll::policy::Policy;
use ghyll::script::{Limits, Report, Stage};

use super::document::{Block, blocks, prose, read, root};

/// The functions that a script may have, which ghyll calls.
const ANSWERING: [&str; 3] = ["verdict", "escalation", "model"];
/// Of the language's own, the one that records are read with.
const LANGUAGE: [&str; 1] = ["parse_json"];

/// What is registered in a source: names behind one of these.
fn registered(source: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for before in [
        "call!(",
        "register_fn(",
        "Verdict::Pass, ",
        "Verdict::Fail, ",
        "Verdict::InsufficientBasis, ",
    ] {
        for after in source.split(before).skip(1) {
            let Some(after) = after.trim_start().strip_prefix('"') else {
                continue;
            };
            names.extend(after.split('"').next().map(str::to_owned));
        }
    }
    names
}

fn calls() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in ["calls.rs", "modal.rs"] {
        names.extend(registered(&read(&format!("host/src/script/{file}"))));
    }
    names.extend(
        ANSWERING
            .iter()
            .chain(&LANGUAGE)
            .map(|&name| name.to_owned()),
    );
    names
}

#[test]
fn every_call_has_a_section_and_no_other() {
    let doc = read("docs/scripts.md");
    let sections: BTreeSet<String> = prose(&doc)
        .filter_map(|(_, line)| line.strip_prefix("### ").map(str::to_owned))
        .collect();
    assert_eq!(sections, calls());
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|e| (e.path(), e.file_name())).unwrap();
        match path.is_dir() {
            true => copy(&path, &to.join(name)),
            false => drop(std::fs::copy(&path, to.join(name)).unwrap()),
        }
    }
}

/// Runs a script on a copy of the sample project; what came of it, and what it
/// logged.
fn run(script: &str) -> (Report, Vec<String>) {
    let temp = tempfile::tempdir().unwrap();
    copy(&root().join("scripts/sample"), temp.path());
    let log = Arc::new(Mutex::new(Vec::new()));
    let lines = Arc::clone(&log);
    let stage = Stage {
        root: PathBuf::from(temp.path()),
        policy: Arc::new(Policy::load().unwrap()),
        clock: Arc::new(SystemClock),
        limits: Limits::default(),
        log: Arc::new(move |line| lines.lock().unwrap().push(line.to_owned())),
        heap: || 0,
    };
    let report = stage.run(script).unwrap();
    let logged = log.lock().unwrap().clone();
    (report, logged)
}

#[test]
fn every_example_runs_and_is_as_it_says() {
    let doc = read("docs/scripts.md");
    let examples: Vec<Block> = blocks(&doc)
        .into_iter()
        .filter(|b| b.language == "rhai")
        .collect();
    let mut shown = BTreeSet::new();
    for example in &examples {
        let place = format!("docs/scripts.md:{}", example.line);
        let (report, logged) = run(&example.text);
        assert!(report.ok(), "{place}: {report:?}\n{logged:?}");
        assert!(!report.expectations.is_empty(), "{place} expects nothing");
        if example.text.contains(&format!("{}(", example.heading)) {
            shown.insert(example.heading.clone());
        }
    }
    assert_eq!(shown, calls(), "a section without an example of its call");
}

/// The table of what a question has is what a script finds in it.
#[test]
fn the_table_of_a_question_has_all_of_it() {
    let doc = read("docs/scripts.md");
    let rows = doc.lines().filter(|line| line.starts_with("| `"));
    let mut told: Vec<&str> = rows
        .filter(|row| !row.starts_with("| `hint."))
        .filter_map(|row| row.split('|').nth(1))
        .flat_map(|cell| cell.split(", "))
        .map(|name| name.trim().trim_matches('`'))
        .collect();
    told.sort_unstable();
    let (report, logged) = run("op_id(\"a\"); run_arrow(\"A-design\"); \
         fn verdict(hint) { let keys = hint.keys(); keys.sort(); \
         if hint.clause_id == \"C1\" { for key in keys { log(key); } } skip() }");
    assert!(report.ok(), "{report:?}");
    assert_eq!(told, logged);
}
