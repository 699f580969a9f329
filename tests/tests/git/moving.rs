//! What git moves.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use ghyll_tests::clones::{Clone, Home, git, shorten, text};

const LEDGER: &str = "A-ledger";

/// Two verdicts on `main`, one more on `work`, all committed; `work` is
/// checked out.
fn branched(home: &Home) -> Clone {
    let one = home.project("one");
    one.dispatch("A-bill");
    one.attest("A-bill/B1", "pass", "al");
    one.attest("A-bill/B2", "fail", "al");
    one.commit("two verdicts");
    one.git(&["switch", "-q", "-c", "work"]);
    one.attest("A-bill/B3", "pass", "al");
    one.commit("a third");
    one
}

#[test]
fn a_switch_and_back_leaves_everything_as_it_was() {
    let home = Home::new();
    let one = branched(&home);
    let there = (one.stands("A-bill"), one.records());
    one.git(&["switch", "-q", "main"]);
    // Readers say at once what a session says then.
    let here = (one.stands("A-bill"), one.records());
    assert_eq!(here.1.len(), 2);
    assert_eq!(here.0[3], "unevaluated", "{here:?}");
    let repairs = one.repairs();
    assert!(
        repairs.contains("1 record of 1 file is on another branch"),
        "{repairs}"
    );
    let said = one.session();
    assert!(said.contains("on another branch"), "{said}");
    assert_eq!((one.stands("A-bill"), one.records()), here);
    one.verified();
    // And once it followed there is nothing to say.
    assert!(!one.session().contains("on another branch"));
    assert_eq!(one.repairs(), "nothing to recover\n");

    one.git(&["switch", "-q", "work"]);
    assert_eq!((one.stands("A-bill"), one.records()), there);
    one.session();
    assert_eq!((one.stands("A-bill"), one.records()), there);
    one.verified();
}

#[test]
fn a_record_that_takes_the_place_of_one_as_long_is_copied_too() {
    let home = Home::new();
    let one = home.project("one");
    one.dispatch("A-bill");
    one.commit("asked");
    // Each branch has a verdict that the other has not, in as many bytes.
    for (branch, clause) in [("a", "A-bill/B1"), ("b", "A-bill/B3")] {
        one.git(&["switch", "-q", "-c", branch, "main"]);
        one.attest_new("A-bill", clause);
        one.commit("a verdict");
        one.verified();
    }
    for branch in ["a", "b"] {
        one.git(&["switch", "-q", branch]);
        one.session();
        one.verified();
    }
}

#[test]
fn verification_tells_a_switch_from_a_cut() {
    let home = Home::new();
    let one = branched(&home);
    one.session();
    let codes = |report: &serde_json::Value| -> Vec<String> {
        let issues = report["issues"].as_array().unwrap();
        let code = |issue: &serde_json::Value| issue["code"].as_str().unwrap().to_owned();
        issues.iter().map(code).collect()
    };
    const TAIL: &str = "attestation-tail-missing";
    // Before any session has followed, the index still has what is elsewhere.
    one.git(&["switch", "-q", "main"]);
    one.verified();
    shorten(&one.files()[0]);
    // The one that is on the other branch, and the one that is cut off: who
    // cuts a file takes from it what git would answer for.
    assert_eq!(codes(&one.verify()), [TAIL, TAIL]);
    one.git(&["checkout", "-q", "--", "."]);
    one.session();
    one.verified();
    // Nor does a cut pass for a switch on the way back.
    one.git(&["switch", "-q", "work"]);
    one.session();
    shorten(&one.files()[0]);
    let report = one.verify();
    assert_eq!(codes(&report), [TAIL], "{report:#}");
    one.git(&["switch", "-q", "-f", "main"]);
    one.verified();
}

#[test]
fn a_branch_that_has_no_record_at_all_is_no_loss_either() {
    let home = Home::new();
    let one = home.project("one");
    one.git(&["switch", "-q", "-c", "work"]);
    one.dispatch("A-bill");
    for clause in ["A-bill/B1", "A-bill/B2", "A-bill/B3"] {
        one.attest(clause, "pass", "al");
    }
    one.commit("three");
    assert_eq!(one.stands("A-bill")[0], "complete");
    one.git(&["switch", "-q", "main"]);
    assert!(!one.ghyll("attestations").exists());
    assert_eq!(one.stands("A-bill")[0], "unevaluated");
    assert!(one.repairs().contains("3 records of 1 file"));
    one.session();
    one.session();
    one.verified();
    assert!(!one.ghyll("attestations").exists(), "nothing is created");
    // Work goes on there, on what is there.
    one.dispatch("A-bill");
    one.attest("A-bill/B1", "fail", "bo");
    one.commit("another");
    one.verified();
    one.git(&["switch", "-q", "work"]);
    assert_eq!(one.stands("A-bill")[0], "complete");
    one.git(&["merge", "-q", "--no-edit", "main"]);
    let b1 = &one.arrow("A-bill")["clauses"][0];
    assert_eq!(
        (&b1["status"], &b1["concurrent"]),
        (&"fail".into(), &true.into())
    );
    one.session();
    one.verified();
    assert_eq!(one.records().len(), 4);
}

#[test]
fn rebuild_follows_a_switch_as_a_session_does() {
    let home = Home::new();
    let one = branched(&home);
    one.git(&["switch", "-q", "main"]);
    one.ok(&["engine", "rebuild-index"]);
    assert_eq!(one.records().len(), 2);
    one.verified();
    assert!(!one.ghyll("accepted-losses.jsonl").exists());
    one.git(&["switch", "-q", "work"]);
    one.ok(&["engine", "rebuild-index"]);
    assert_eq!(one.records().len(), 3);
    one.verified();
}

#[test]
fn answers_given_on_two_branches_to_one_pass_can_be_merged() {
    let home = Home::new();
    let one = home.project("one");
    one.dispatch("A-bill");
    one.commit("asked");
    one.git(&["switch", "-q", "-c", "work"]);
    one.attest("A-bill/B1", "pass", "al");
    one.commit("on work");
    one.git(&["switch", "-q", "main"]);
    // Still asked, by the same pass; its file goes on elsewhere.
    one.attest("A-bill/B2", "pass", "bo");
    one.attest("A-bill/B3", "pass", "bo");
    assert_eq!(one.files().len(), 1, "one file beside it");
    one.commit("on main");
    one.verified();
    one.git(&["switch", "-q", "work"]);
    assert_eq!(one.stands("A-bill")[1..], ["pass", "pending", "pending"]);
    one.git(&["merge", "-q", "--no-edit", "main"]);
    assert_eq!(one.stands("A-bill")[0], "complete");
    assert_eq!(one.records().len(), 3);
    one.session();
    one.verified();
}

#[test]
fn an_escalation_is_reached_on_a_branch_too() {
    let home = Home::new();
    let one = home.project("one");
    one.dispatch("A-bill");
    one.commit("asked");
    one.git(&["switch", "-q", "-c", "work"]);
    one.attest("A-bill/B1", "pass", "al");
    one.commit("on work");
    one.git(&["switch", "-q", "main"]);
    for _ in 0..3 {
        one.attest("A-bill/B2", "insufficient-basis", "bo");
    }
    let (code, _, err) = one.run(&["attest", "A-bill/B2", "pass", "--op-id", "bo"]);
    assert_eq!(code, 3);
    assert!(err.contains("error[escalation-due]"), "{err}");
    one.ok(&[
        "attest",
        "A-bill/B2",
        "route-upstream",
        "--residue",
        "deeper",
        "--op-id",
        "bo",
    ]);
    one.verified();
}

#[test]
fn stashes_resets_rebases_and_reverts_keep_what_was_committed() {
    let home = Home::new();
    let one = branched(&home);
    // Work not committed goes into a stash and comes back.
    one.dispatch(LEDGER);
    one.attest("A-ledger/D1", "pass", "al");
    one.git(&["stash", "-q", "-u"]);
    assert_eq!(one.records().len(), 3);
    one.session();
    one.verified();
    one.git(&["stash", "pop", "-q"]);
    assert_eq!(one.records().len(), 4);
    one.session();
    one.verified();
    one.commit("a fourth");
    // Back, and forward again by the reflog.
    one.git(&["reset", "-q", "--hard", "HEAD~1"]);
    one.session();
    assert_eq!(one.records().len(), 3);
    one.verified();
    one.git(&["reset", "-q", "--hard", "HEAD@{1}"]);
    one.session();
    assert_eq!(one.records().len(), 4);
    // A rebase on a main that went on.
    one.git(&["switch", "-q", "main"]);
    fs::write(one.0.join("README"), "more\n").unwrap();
    one.commit("more");
    one.git(&["switch", "-q", "work"]);
    one.git(&["rebase", "-q", "main"]);
    one.session();
    assert_eq!(one.records().len(), 4);
    one.verified();
    // Taken back by a commit: it is in the one before.
    one.git(&["revert", "--no-edit", "HEAD"]);
    one.session();
    assert_eq!(one.records().len(), 3);
    one.verified();
}

#[test]
fn times_changed_by_a_checkout_change_nothing() {
    let home = Home::new();
    let one = branched(&home);
    let before = (one.stands("A-bill"), one.records());
    for file in one.files() {
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        one.git(&["checkout", "-q", "--", "."]);
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
    assert_eq!((one.stands("A-bill"), one.records()), before);
    one.session();
    assert_eq!((one.stands("A-bill"), one.records()), before);
    one.verified();
}

#[test]
fn work_trees_submodules_and_shallow_clones_are_followed() {
    let home = Home::new();
    let one = branched(&home);
    // A linked work tree, whose `.git` is a file.
    let two = Clone(home.path().join("two"));
    one.git(&["worktree", "add", "-q", two.0.to_str().unwrap(), "main"]);
    assert_eq!(two.records().len(), 2);
    two.session();
    two.git(&["switch", "-q", "-c", "third"]);
    two.attest_new("A-ledger", "A-ledger/D1");
    two.commit("third");
    two.git(&["checkout", "-q", "main"]);
    two.session();
    assert_eq!(two.records().len(), 2);
    two.verified();
    assert_eq!(one.records().len(), 3);

    // A project that is a submodule of another.
    let outer = home.path().join("outer");
    fs::create_dir(&outer).unwrap();
    let outer = Clone(outer);
    outer.git(&["init", "-q"]);
    let url = format!("file://{}", one.0.display());
    outer.git(&["submodule", "add", "-q", "-b", "work", &url, "inner"]);
    outer.commit("with a submodule");
    let inner = Clone(outer.0.join("inner"));
    inner.session();
    assert_eq!(inner.records().len(), 3);
    inner.git(&["checkout", "-q", "origin/main"]);
    inner.session();
    assert_eq!(inner.records().len(), 2);
    inner.verified();

    // A shallow clone.
    let shallow = home.clone(&one, "shallow", &["--depth", "1", "--no-single-branch"]);
    shallow.session();
    assert_eq!(shallow.records().len(), 3);
    shallow.git(&["checkout", "-q", "origin/main"]);
    shallow.session();
    assert_eq!(shallow.records().len(), 2);
    shallow.verified();
    // A project in a directory of a repository.
    let whole = home.path().join("whole");
    fs::create_dir(&whole).unwrap();
    let whole = Clone(whole);
    whole.git(&["init", "-q", "-b", "main"]);
    let part = Clone(whole.0.join("a part [*] of it"));
    part.init();
    whole.commit("start");
    whole.git(&["switch", "-q", "-c", "work"]);
    part.attest_new("A-ledger", "A-ledger/D1");
    whole.commit("one");
    whole.git(&["switch", "-q", "main"]);
    part.session();
    assert_eq!(part.records().len(), 0);
    whole.git(&["switch", "-q", "work"]);
    assert_eq!(part.records().len(), 1);
}

#[test]
fn line_ends_that_git_converts_elsewhere_stay_here() {
    let home = Home::new();
    let one = branched(&home);
    let two = home.clone(
        &one,
        "two",
        &["-c", "core.autocrlf=true", "-c", "core.eol=crlf"],
    );
    assert!(text(&fs::read(two.0.join("src/x.rs")).unwrap()).contains("\r\n"));
    assert_eq!(two.records(), one.records());
    two.session();
    two.git(&["switch", "-q", "main"]);
    two.session();
    assert_eq!(two.records().len(), 2);
    two.verified();
    assert_eq!(two.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_clean_under_a_session_is_noticed_and_loses_nothing() {
    let home = Home::new();
    let one = branched(&home);
    one.dispatch(LEDGER);
    let mut command = one.command(&["run", "--op-id", "al"]);
    let mut session = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = session.stdin.take().unwrap();
    let mut said = BufReader::new(session.stdout.take().unwrap());
    writeln!(stdin, "/passes").unwrap();
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    one.git(&["clean", "-q", "-fdx"]);
    assert!(!one.ghyll("engine.db").exists());
    let committed = one.files();
    let before: Vec<_> = committed.iter().map(|f| fs::read(f).unwrap()).collect();
    let _ = writeln!(stdin, "/attest A-ledger/D1 pass");
    drop(stdin);
    let output = session.wait_with_output().unwrap();
    let err = text(&output.stderr);
    // Either it was recorded, or it was said that it was not.
    let recorded = one.files().len() > committed.len();
    assert_eq!(output.status.code() == Some(0), recorded, "{err}");
    for (file, bytes) in committed.iter().zip(before) {
        assert_eq!(fs::read(file).unwrap(), bytes);
    }
    one.session();
    assert_eq!(one.records().len(), 3 + usize::from(recorded));
    one.verified();
}

#[test]
fn pulls_and_merges_bring_what_others_said() {
    let home = Home::new();
    let one = branched(&home);
    let two = home.clone(&one, "two", &[]);
    two.attest_new(LEDGER, "A-ledger/D1");
    two.commit("in the other clone");
    one.attest("A-bill/B2", "pass", "al");
    one.commit("corrected");
    assert!(
        git(
            &one.0,
            &[
                "pull",
                "-q",
                "--no-rebase",
                "--no-edit",
                two.0.to_str().unwrap(),
                "work"
            ]
        )
        .status
        .success()
    );
    assert_eq!(one.records().len(), 5);
    two.git(&["pull", "-q", "--rebase", one.0.to_str().unwrap(), "work"]);
    assert_eq!(two.records(), one.records());
    for clone in [&one, &two] {
        clone.session();
        clone.verified();
    }
    for arrow in ["A-bill", LEDGER] {
        assert_eq!(one.stands(arrow)[1..2], two.stands(arrow)[1..2]);
    }
}
