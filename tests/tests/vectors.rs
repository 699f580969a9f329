//! Every vector, in every host.

use std::process::Command;

use ghyll_tests::judge::{Component, Judge, Native};
use ghyll_tests::{runtimes, vectors};

fn agrees(judge: &dyn Judge) {
    let cases = vectors::cases();
    assert!(cases.len() > 800, "only {} cases", cases.len());
    let wrong: Vec<String> = cases
        .iter()
        .flat_map(|case| vectors::ask(judge, case))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} answers differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_native_library_agrees() {
    agrees(&Native);
}

#[test]
fn our_host_agrees() {
    agrees(&Component::load());
}

#[test]
fn a_wrong_answer_is_noticed() {
    let cases = vectors::cases();
    for (call, part) in [
        ("encode-attestation-path", "/ok/path"),
        ("check-lines", "/ok/cursor/chain"),
        ("check-lines", "/ok/lines"),
        ("validate", "/ok"),
    ] {
        let case = cases
            .iter()
            .find(|case| case["call"] == call)
            .expect("a case");
        assert_eq!(vectors::ask(&Native, case), [""; 0]);
        let mut wrong = case.clone();
        *wrong.pointer_mut(part).expect("a part of the case") = "another".into();
        assert_ne!(vectors::ask(&Native, &wrong), [""; 0], "{call} {part}");
    }
}

#[test]
fn python_agrees() {
    let Some(python) = runtimes::python() else {
        return runtimes::skip("no python3");
    };
    let mut run = Command::new(python);
    run.arg(runtimes::hosts().join("python/run_vectors.py"));
    runtimes::succeed(run.arg("--component").arg(runtimes::component()));
}

#[test]
fn node_agrees() {
    let Some(home) = runtimes::node() else {
        return runtimes::skip("no node and npm");
    };
    let mut run = Command::new("node");
    run.arg(home.join("run-vectors.mjs"));
    run.arg("--component").arg(runtimes::component());
    runtimes::succeed(run.arg("--vectors").arg(vectors::folder()));
}

#[test]
fn the_vectors_are_what_the_contract_derives() {
    let mut derive = Command::new("python3");
    derive
        .arg(vectors::folder().join("derive.py"))
        .arg("--check");
    match runtimes::output(&mut derive) {
        Some(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
        }
        None => runtimes::skip("no python3"),
    }
}
