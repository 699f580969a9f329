//! `ghyll init --import`, on the program: a project of the earlier Go design
//! goes on under this one, and the old one stays as it was.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const GRID: &str = "\
grid-version: 1
created-by-op-id: kim
bounded-contexts:
    - id: ferry
severity-threshold: medium
arrows:
    - clauses:
        - {id: G1, eval: attested, description: Every crossing ends, depth: depth-robust}
      context: ferry
      downstream: builder
      upstream: planner
";
const LINE: &str = concat!(
    r#"{"attestation_id":"att-planner→builder/ferry-G1-v1","kind":"depth-type","#,
    r#""arrow_id":"planner→builder/ferry","clause_id":"G1","op_id":"kim","#,
    r#""attested_by_role":"operator","source_role":"planner","target_role":"builder","#,
    r#""verdict":"pass","timestamp":1747728000000000001,"grid_version":1,"pass_id":"p-1","#,
    r#""context":"ferry","stratum":"plans","unit":"confirm","unit_payload_json":"{}"}"#,
    "\n"
);

fn ghyll(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ghyll"))
        .args(args)
        .current_dir(dir)
        .env_remove("GHYLL_OP_ID")
        .output()
        .unwrap()
}

fn json(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[test]
fn a_project_of_the_earlier_design_goes_on_here() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let old = dir.join(".ghyll");
    fs::create_dir(&old).unwrap();
    fs::write(old.join("grid.v1.yaml"), GRID).unwrap();
    fs::write(old.join("grid.current"), "v1\n").unwrap();

    // Not in its place, but the way is told.
    let refused = ghyll(dir, &["init", "--import", "."]);
    assert_eq!(refused.status.code(), Some(3));
    fs::rename(&old, dir.join(".ghyll-go")).unwrap();
    let import = ["init", "--import", ".ghyll-go"];
    let refused = ghyll(dir, &import);
    assert_eq!(refused.status.code(), Some(3));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("error[import-undecided]"), "{said}");
    assert!(!old.exists(), "nothing is written");

    // Its stratum is on record: no decision is left.
    let flat = dir.join(".ghyll-go/attestations.jsonl");
    fs::write(&flat, LINE).unwrap();
    let done = ghyll(dir, &[&import[..], &["--json"]].concat());
    let told = json(&done);
    assert_eq!(done.status.code(), Some(0), "{told}");
    assert_eq!(told["records"]["tree"], 1);
    assert_eq!(told["left"], Value::Array(vec![]));
    assert_eq!(told["undecided"][0]["what"], "created-by-op-id");

    let shown = json(&ghyll(
        dir,
        &["arrow", "show", "planner→builder/ferry", "--json"],
    ));
    assert_eq!(shown["status"], "complete");
    let verified = ghyll(dir, &["engine", "verify-attestations", "--json"]);
    assert_eq!(json(&verified)["ok"], true);
    let tree = "attestations/v1/ferry/stratum-plans/planner__builder/p-1.jsonl";
    assert_eq!(fs::read_to_string(old.join(tree)).unwrap(), LINE);
    assert_eq!(fs::read_to_string(flat).unwrap(), LINE);
    assert_eq!(fs::read_dir(dir.join(".ghyll-go")).unwrap().count(), 3);
}
