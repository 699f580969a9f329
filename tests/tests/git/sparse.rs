//! Sparse checkouts: what git leaves out is no loss, and hides nothing either.

use std::fs;

use ghyll_tests::clones::{Clone, Home, shorten};

const LEFT_OUT: &str = "attestation-not-checked-out";
const TAIL: &str = "attestation-tail-missing";

/// A pass and, in a file of its own, the fail that came after it.
fn judged(home: &Home) -> Clone {
    let one = home.project("one");
    one.dispatch("A-bill");
    for clause in ["A-bill/B1", "A-bill/B2", "A-bill/B3"] {
        one.attest(clause, "pass", "al");
    }
    one.attest("A-bill/B1", "fail", "bo");
    one.commit("four verdicts");
    assert_eq!(one.files().len(), 2);
    assert_eq!(one.stands("A-bill")[..2], ["blocked", "fail"]);
    one
}

/// The file with the fail, from the repository's root.
fn file_of_the_fail(one: &Clone) -> String {
    let holds_it = |file: &std::path::PathBuf| {
        let text = fs::read_to_string(file).unwrap();
        text.contains("\"verdict\":\"fail\"")
    };
    let file = one.files().into_iter().find(holds_it).unwrap();
    let below = file.strip_prefix(&one.0).unwrap();
    below.to_str().unwrap().to_owned()
}

fn leave_out(one: &Clone, what: &str) {
    let but = format!("!/{what}");
    one.git(&["sparse-checkout", "set", "--no-cone", "/*", &but]);
}

/// Codes of what verification finds.
fn found(one: &Clone) -> Vec<String> {
    let report = one.verify();
    let issues = report["issues"].as_array().unwrap();
    let code = |issue: &serde_json::Value| issue["code"].as_str().unwrap().to_owned();
    issues.iter().map(code).collect()
}

#[test]
fn a_tree_that_is_left_out_is_no_loss_and_comes_back_whole() {
    let home = Home::new();
    let one = judged(&home);
    let before = (one.stands("A-bill"), one.records());
    leave_out(&one, ".ghyll/attestations/");
    assert!(!one.ghyll("attestations").exists());
    let said = one.refused(LEFT_OUT);
    assert!(said.contains("git sparse-checkout add .ghyll"), "{said}");
    assert_eq!(one.stands("A-bill")[0], "unreadable");
    assert_eq!(found(&one), [LEFT_OUT, LEFT_OUT]);
    for args in [
        vec!["engine", "rebuild-index"],
        vec!["engine", "rebuild-index", "--accept-loss", "--op-id", "z"],
    ] {
        let (exit, _, err) = one.run(&args);
        assert_eq!(exit, 3, "{err}");
        assert!(err.contains(LEFT_OUT), "{err}");
    }
    assert!(!one.ghyll("accepted-losses.jsonl").exists());
    one.git(&["sparse-checkout", "disable"]);
    assert_eq!((one.stands("A-bill"), one.records()), before);
    one.session();
    one.verified();
}

#[test]
fn a_fail_that_is_left_out_lets_nothing_pass() {
    let home = Home::new();
    let one = judged(&home);
    let fail = file_of_the_fail(&one);
    leave_out(&one, &fail);
    assert_eq!(one.files().len(), 1);
    one.refused(LEFT_OUT);
    assert_eq!(found(&one), [LEFT_OUT]);
    // The gate says so too, in a clone that has no index to know better.
    let two = home.clone(&one, "two", &["--no-checkout"]);
    leave_out(&two, &fail);
    two.git(&["checkout", "-q", "main"]);
    assert_eq!(two.files().len(), 1);
    let (exit, out, err) = two.run(&["check"]);
    assert_ne!(exit, 0, "{out}{err}");
    assert!(format!("{out}{err}").contains(LEFT_OUT));
    two.refused(LEFT_OUT);
    two.git(&["sparse-checkout", "add", &format!("/{fail}")]);
    assert_eq!(two.stands("A-bill")[..2], ["blocked", "fail"]);
    two.session();
    two.verified();
}

#[test]
fn directories_that_are_chosen_bring_the_project_when_it_is_among_them() {
    let home = Home::new();
    let one = judged(&home);
    one.git(&["sparse-checkout", "set", "src"]);
    assert!(!one.ghyll("grid.current").exists());
    let (exit, _, err) = one.run(&["status"]);
    assert_eq!(exit, 3, "{err}");
    one.git(&["sparse-checkout", "add", ".ghyll"]);
    assert_eq!(one.stands("A-bill")[..2], ["blocked", "fail"]);
    one.session();
    one.verified();
    // Branches are switched there as everywhere.
    one.git(&["switch", "-q", "-c", "work"]);
    one.dispatch("A-ledger");
    one.attest("A-ledger/D1", "pass", "al");
    one.commit("a fifth");
    one.git(&["switch", "-q", "main"]);
    one.verified();
    assert_eq!(one.records().len(), 4);
    assert!(one.session().contains("on another branch"));
    one.git(&["switch", "-q", "work"]);
    assert_eq!(one.records().len(), 5);
}

#[test]
fn a_sparse_checkout_is_no_cover_for_a_cut() {
    let home = Home::new();
    let one = judged(&home);
    let fail = file_of_the_fail(&one);
    let flag = |flag: &str| one.git(&["update-index", flag, &fail]);
    // Git is told to look away, and leaves nothing out.
    flag("--skip-worktree");
    fs::remove_file(one.0.join(&fail)).unwrap();
    one.refused(TAIL);
    // It does leave something out, but not this.
    flag("--no-skip-worktree");
    one.git(&["checkout", "-q", "--", "."]);
    leave_out(&one, "nothing/");
    fs::remove_file(one.0.join(&fail)).unwrap();
    one.refused(TAIL);
    assert_eq!(found(&one), [TAIL]);
    // What is there is judged, whatever git was told.
    one.git(&["checkout", "-q", "--", "."]);
    flag("--skip-worktree");
    let whole = one.files().into_iter().find(|file| !file.ends_with(&fail));
    let whole = whole.unwrap();
    let below = whole.strip_prefix(&one.0).unwrap().to_str().unwrap();
    one.git(&["update-index", "--skip-worktree", below]);
    shorten(&whole);
    one.refused(TAIL);
    assert_eq!(found(&one), [TAIL]);
}

#[test]
fn a_verdict_that_was_never_committed_is_lost_with_a_file_that_is_left_out() {
    let home = Home::new();
    let one = home.project("one");
    one.dispatch("A-bill");
    one.attest("A-bill/B1", "pass", "al");
    one.commit("one verdict");
    one.attest("A-bill/B2", "fail", "bo");
    let file = one.files().remove(0);
    let below = file.strip_prefix(&one.0).unwrap().to_str().unwrap();
    // Git itself keeps a file that was changed; somebody helps it.
    leave_out(&one, ".ghyll/attestations/");
    one.git(&["update-index", "--skip-worktree", below]);
    fs::remove_dir_all(one.ghyll("attestations")).unwrap();
    let (exit, _, err) = one.run(&["attestations"]);
    assert_eq!(exit, 3, "{err}");
    assert!(err.contains(TAIL), "{err}");
    // One record that HEAD has, one that nobody has: the file is not what it was.
    assert_eq!(found(&one), [TAIL, TAIL]);
}
