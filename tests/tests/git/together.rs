//! What two clones say.

use std::fs;

use ghyll_tests::clones::{Clone, Home, git, text};

fn pull(into: &Clone, from: &Clone, branch: &str) -> bool {
    let from = from.0.to_str().unwrap();
    let args = ["pull", "-q", "--no-rebase", "--no-edit", from, branch];
    git(&into.0, &args).status.success()
}

/// One says pass and fail of B1, in two clones that are then merged.
fn concurrent(home: &Home) -> (Clone, Clone) {
    let one = home.project("one");
    let two = home.clone(&one, "two", &[]);
    one.dispatch("A-bill");
    for clause in ["A-bill/B1", "A-bill/B2", "A-bill/B3"] {
        one.attest(clause, "pass", "al");
    }
    one.commit("al's");
    two.dispatch("A-bill");
    two.attest("A-bill/B1", "fail", "bo");
    two.commit("bo's");
    assert!(pull(&one, &two, "main"));
    assert!(pull(&two, &one, "main"));
    (one, two)
}

#[test]
fn of_the_same_round_given_twice_the_severer_counts_until_the_next_settles_it() {
    let home = Home::new();
    let (one, two) = concurrent(&home);
    let three = home.clone(&one, "three", &[]);
    for clone in [&one, &two, &three] {
        for _ in 0..2 {
            assert_eq!(clone.records().len(), 4);
            assert_eq!(clone.stands("A-bill")[..2], ["blocked", "fail"]);
            let b1 = &clone.arrow("A-bill")["clauses"][0];
            assert_eq!((&b1["concurrent"], &b1["round"]), (&true.into(), &1.into()));
            let shown = clone.ok(&["arrow", "show", "A-bill"]);
            assert!(shown.contains("(concurrent"), "{shown}");
            assert!(
                shown.lines().next().unwrap().contains("concurrent"),
                "{shown}"
            );
            let listed = clone.ok(&["arrow", "list"]);
            let of_it = listed.lines().find(|line| line.starts_with("A-bill"));
            assert!(of_it.unwrap().contains("concurrent"), "{listed}");
            let lines = clone.ok(&["attestations"]);
            assert_eq!(lines.matches("concurrent").count(), 2, "{lines}");
            assert!(lines.contains("fail by "), "{lines}");
            clone.session();
            clone.verified();
        }
        let (_, out, _) = clone.run(&["engine", "rebuild-index", "--accept-loss", "--op-id", "z"]);
        assert!(!clone.ghyll("accepted-losses.jsonl").exists(), "{out}");
        assert_eq!(clone.records().len(), 4);
        assert_eq!(clone.stands("A-bill")[1], "fail");
    }
    // The next round settles it, for everybody.
    two.attest("A-bill/B1", "pass", "cy");
    two.commit("settled");
    assert!(pull(&one, &two, "main"));
    for clone in [&one, &two] {
        let b1 = &clone.arrow("A-bill")["clauses"][0];
        assert_eq!(b1["concurrent"], false);
        assert_eq!(b1["status"], "pass");
        assert!(
            clone
                .records()
                .iter()
                .any(|(id, ..)| id == "att-A-bill-B1-v1.r2")
        );
        assert_eq!(clone.stands("A-bill")[0], "complete");
        clone.session();
        clone.verified();
    }
}

#[test]
fn work_is_handed_over_by_git() {
    let home = Home::new();
    let one = home.project("one");
    one.dispatch("A-bill");
    one.attest("A-bill/B1", "pass", "al");
    one.attest("A-bill/B2", "fail", "al");
    one.commit("half of it");
    let two = home.clone(&one, "two", &[]);
    // What is left is asked there anew, and anything can be corrected.
    assert_eq!(
        two.run(&["attest", "A-bill/B3", "pass", "--op-id", "bo"]).0,
        3
    );
    two.dispatch("A-bill");
    two.attest("A-bill/B3", "pass", "bo");
    two.attest("A-bill/B2", "pass", "bo");
    two.attest("A-bill/B1", "fail", "bo");
    two.attest("A-bill/B1", "pass", "bo");
    two.commit("the rest");
    assert!(pull(&one, &two, "main"));
    for clone in [&one, &two] {
        assert_eq!(clone.stands("A-bill"), ["complete", "pass", "pass", "pass"]);
        assert_eq!(clone.records().len(), 6);
        clone.session();
        clone.verified();
        assert_eq!(clone.ok(&["pending", "--json"]).trim(), "[]");
    }
    assert_eq!(one.records(), two.records());
}

/// The same file of a pass extended in two clones, as happens where the
/// session's own state was copied along.
fn extended_twice(home: &Home) -> (Clone, Clone) {
    let one = home.project("one");
    one.dispatch("A-bill");
    one.attest("A-bill/B1", "pass", "al");
    one.commit("one");
    let two = home.clone(&one, "two", &[]);
    fs::copy(one.ghyll("engine.db"), two.ghyll("engine.db")).unwrap();
    one.attest("A-bill/B2", "pass", "al");
    one.commit("al's");
    two.attest("A-bill/B3", "fail", "bo");
    two.commit("bo's");
    assert_eq!(two.files().len(), 1, "the same pass");
    (one, two)
}

#[test]
fn a_pass_extended_twice_is_a_conflict_and_either_side_verifies() {
    for side in ["--ours", "--theirs"] {
        let home = Home::new();
        let (one, two) = extended_twice(&home);
        assert!(!pull(&one, &two, "main"), "git reports a conflict");
        one.git(&["checkout", "-q", side, "--", ".ghyll/attestations"]);
        one.commit("one side");
        one.session();
        one.verified();
        assert_eq!(one.records().len(), 2);
        // And the other is made again.
        match side {
            "--ours" => one.attest("A-bill/B3", "fail", "bo"),
            _ => one.attest("A-bill/B2", "pass", "al"),
        }
        assert_eq!(one.stands("A-bill")[1..], ["pass", "pass", "fail"]);
        one.verified();
    }
}

#[test]
fn conflict_marks_are_called_what_they_are_and_no_side_is_given_up() {
    let home = Home::new();
    let (one, two) = extended_twice(&home);
    // Where git was not told to leave these files alone.
    for clone in [&one, &two] {
        fs::remove_file(clone.ghyll(".gitattributes")).unwrap();
        clone.commit("without attributes");
    }
    assert!(!pull(&one, &two, "main"));
    let file = &one.files()[0];
    let marked = fs::read(file).unwrap();
    assert!(text(&marked).contains("<<<<<<< "));
    let said = one.refused("attestation-audit-corrupt");
    assert!(
        said.contains("conflict marks") && said.contains("git checkout --ours"),
        "{said}"
    );
    let (_, shown, _) = one.run(&["arrow", "show", "A-bill"]);
    assert!(shown.contains("unreadable"), "{shown}");
    for args in [
        vec!["engine", "rebuild-index"],
        vec!["engine", "rebuild-index", "--accept-loss", "--op-id", "z"],
    ] {
        let (exit, _, err) = one.run(&args);
        assert_eq!(exit, 3);
        assert!(err.contains("conflict marks"), "{err}");
    }
    assert_eq!(fs::read(file).unwrap(), marked);
    assert!(!one.ghyll("accepted-losses.jsonl").exists());
    one.git(&["checkout", "-q", "--theirs", "--", ".ghyll/attestations"]);
    one.commit("theirs");
    one.session();
    one.verified();
}

#[test]
fn copies_and_sidecars_are_left_as_they_are_and_stop_nothing() {
    let home = Home::new();
    let one = home.project("one");
    one.dispatch("A-bill");
    one.attest("A-bill/B1", "pass", "al");
    one.commit("one");
    let file = one.files().remove(0);
    let (dir, stem) = (file.parent().unwrap(), file.file_stem().unwrap());
    let stem = stem.to_str().unwrap();
    let copies = [
        format!("{stem} (conflicted copy).jsonl"),
        format!("{stem} (Al's conflicted copy 2026-01-01).jsonl"),
        format!("._{stem}.jsonl"),
        format!("{stem}.jsonl~"),
        format!("{stem}.sync-conflict-20260101-101112-ABCDEFG.jsonl"),
        format!("{stem} 2.jsonl"),
        format!("{stem} - Copy.jsonl"),
        format!(".{stem}.jsonl.swp"),
        "Thumbs.db".to_owned(),
        ".DS_Store".to_owned(),
        "desktop.ini".to_owned(),
    ];
    let bytes = fs::read(&file).unwrap();
    for copy in &copies {
        fs::write(dir.join(copy), &bytes).unwrap();
    }
    one.session();
    one.dispatch("A-bill");
    one.attest("A-bill/B2", "pass", "al");
    assert_eq!(one.records().len(), 2);
    assert_eq!(one.stands("A-bill")[1..3], ["pass", "pass"]);
    one.ok(&["engine", "rebuild-index"]);
    assert_eq!(one.records().len(), 2);
    let report = one.verify();
    let all = ["issues", "warnings"].map(|list| report[list].as_array().unwrap().clone());
    for found in all.concat() {
        assert_eq!(found["code"], "attestation-foreign-file", "{found}");
    }
    for copy in &copies {
        assert_eq!(fs::read(dir.join(copy)).unwrap(), bytes, "{copy}");
    }
}
