//! Losses that are made to look like git's doing.

use std::fs;
use std::path::Path;

use ghyll_tests::clones::{Clone, Home, git, shorten};

const TAIL: &str = "attestation-tail-missing";
const LOST: &str = "attestation-audit-lost";

/// Three verdicts, all committed.
fn committed(home: &Home) -> Clone {
    let one = home.project("one");
    one.dispatch("A-bill");
    for clause in ["A-bill/B1", "A-bill/B2", "A-bill/B3"] {
        one.attest(clause, "pass", "al");
    }
    one.commit("three verdicts");
    one.session();
    one
}

fn file_from_top(one: &Clone) -> String {
    let file = one.files().remove(0);
    file.strip_prefix(&one.0)
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned()
}

#[test]
fn an_uncommitted_cut_is_a_loss_whatever_the_index_of_git_is_told() {
    for flag in ["", "--assume-unchanged", "--skip-worktree"] {
        let home = Home::new();
        let one = committed(&home);
        if !flag.is_empty() {
            one.git(&["update-index", flag, &file_from_top(&one)]);
        }
        shorten(&one.files()[0]);
        if !flag.is_empty() {
            assert_eq!(one.git(&["status", "--porcelain"]), "", "git is deceived");
        }
        let said = one.refused(TAIL);
        assert!(said.contains("index saw"), "{said}");
        fs::remove_file(&one.files()[0]).unwrap();
        one.refused(TAIL);
        fs::remove_dir_all(one.ghyll("attestations")).unwrap();
        one.refused(LOST);
        // Staged it is no commit either.
        if flag.is_empty() {
            one.git(&["add", "-A"]);
            one.refused(LOST);
        }
    }
}

#[test]
fn a_verdict_that_was_never_committed_is_lost_with_its_file() {
    let home = Home::new();
    let one = committed(&home);
    // As an extension of a file that HEAD has, thrown away by git itself.
    one.attest("A-bill/B1", "fail", "al");
    one.dispatch("A-ledger");
    one.attest("A-ledger/D1", "pass", "al");
    assert_eq!(one.files().len(), 3);
    one.git(&["clean", "-q", "-fd"]);
    one.refused(TAIL);

    let home = Home::new();
    let one = home.project("one");
    one.dispatch("A-bill");
    one.attest("A-bill/B1", "pass", "al");
    one.commit("one");
    one.attest("A-bill/B2", "pass", "al");
    one.git(&["checkout", "-q", "--", "."]);
    one.refused(TAIL);
}

#[test]
fn a_file_that_git_ignores_is_not_explained_by_git() {
    let home = Home::new();
    let one = home.project("one");
    fs::write(one.0.join(".git/info/exclude"), ".ghyll/\n").unwrap();
    fs::write(
        one.ghyll(".gitignore"),
        "/attestations/\n/engine.db*\n/lock\n",
    )
    .unwrap();
    one.commit("ignored");
    one.dispatch("A-bill");
    one.attest("A-bill/B1", "pass", "al");
    one.attest("A-bill/B2", "pass", "al");
    assert!(
        !one.git(&["status", "--porcelain", "-uall"])
            .contains("jsonl")
    );
    shorten(&one.files()[0]);
    one.refused(TAIL);
    fs::remove_dir_all(one.ghyll("attestations")).unwrap();
    one.refused(LOST);
}

/// A repository with the shorter file as all it ever had.
fn forge(dir: &Path) {
    let forger = Clone(dir.to_owned());
    forger.git(&["init", "-q", "-b", "main"]);
    forger.git(&["add", "-A", "-f"]);
    forger.git(&["commit", "-q", "-m", "all there ever was"]);
}

#[test]
fn another_repository_explains_nothing() {
    // One below `.ghyll`, one in the tree.
    for inside in [".ghyll", ".ghyll/attestations"] {
        let home = Home::new();
        let one = committed(&home);
        shorten(&one.files()[0]);
        forge(&one.0.join(inside));
        one.refused(TAIL);
    }
    // One put where there was none.
    let home = Home::new();
    let one = committed(&home);
    fs::remove_dir_all(one.0.join(".git")).unwrap();
    shorten(&one.files()[0]);
    one.refused(TAIL);
    forge(&one.0);
    one.refused(TAIL);
    // One put in front of the one that has the record.
    let home = Home::new();
    let whole = Clone(home.path().join("whole"));
    fs::create_dir(&whole.0).unwrap();
    whole.git(&["init", "-q", "-b", "main"]);
    let part = Clone(whole.0.join("part"));
    part.init();
    part.dispatch("A-bill");
    part.attest("A-bill/B1", "pass", "al");
    part.attest("A-bill/B2", "pass", "al");
    whole.commit("two");
    // It even has all of it, in its first commit.
    forge(&part.0);
    shorten(&part.files()[0]);
    part.git(&["commit", "-q", "-a", "-m", "less"]);
    part.refused(TAIL);
    fs::remove_dir_all(part.0.join(".git")).unwrap();
    part.refused(TAIL);
    whole.git(&["checkout", "-q", "--", "."]);
    part.session();
}

#[test]
fn the_environment_does_not_say_which_repository_it_is() {
    let home = Home::new();
    let one = committed(&home);
    // A clone in which the cut was committed after the whole.
    let other = home.clone(&one, "other", &[]);
    shorten(&other.files()[0]);
    other.commit("less");
    shorten(&one.files()[0]);
    let git_dir = other.0.join(".git");
    for args in [vec!["attestations"], vec!["run", "--op-id", "z"]] {
        let output = one
            .command(&args)
            .env("GIT_DIR", &git_dir)
            .env("GIT_WORK_TREE", &one.0)
            .env("GIT_INDEX_FILE", git_dir.join("index"))
            .env("GIT_OBJECT_DIRECTORY", git_dir.join("objects"))
            .env("GIT_COMMON_DIR", &git_dir)
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "core.worktree")
            .env("GIT_CONFIG_VALUE_0", &one.0)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(TAIL), "{said}");
    }
    // And the other way: what git moved is followed whatever it says.
    one.git(&["checkout", "-q", "--", "."]);
    one.session();
    one.git(&["checkout", "-q", "HEAD~1"]);
    let output = one
        .command(&["run", "--op-id", "z"])
        .env("GIT_DIR", "/nowhere")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_configuration_of_a_repository_runs_nothing_and_hides_nothing() {
    let home = Home::new();
    let one = committed(&home);
    let ran = home.path().join("ran");
    let touch = format!("touch {}", ran.display());
    for (key, value) in [
        ("core.fsmonitor", touch.as_str()),
        ("core.pager", touch.as_str()),
        ("core.hooksPath", "hooks"),
        ("core.sshCommand", touch.as_str()),
        ("diff.external", touch.as_str()),
        ("diff.x.textconv", touch.as_str()),
        ("diff.x.command", touch.as_str()),
        ("filter.x.clean", touch.as_str()),
        ("filter.x.smudge", touch.as_str()),
        ("filter.x.process", touch.as_str()),
        ("core.worktree", "/nowhere"),
        ("core.ignoreStat", "true"),
        ("alias.ls-tree", "!false"),
        ("alias.cat-file", "!false"),
        ("log.showRoot", "false"),
        ("diff.noprefix", "true"),
        ("diff.relative", "true"),
        ("diff.renames", "copies"),
        ("color.ui", "always"),
    ] {
        let config = one.0.join(".git/config");
        let config = config.to_str().unwrap();
        assert!(
            git(home.path(), &["config", "-f", config, key, value])
                .status
                .success()
        );
    }
    fs::write(
        one.0.join(".git/info/attributes"),
        "*.jsonl filter=x diff=x\n",
    )
    .unwrap();
    let whole = fs::read(&one.files()[0]).unwrap();
    shorten(&one.files()[0]);
    one.refused(TAIL);
    fs::write(&one.files()[0], &whole).unwrap();
    one.session();
    // A true move is still told from it.
    let config = one.0.join(".git/config");
    let args = [
        "config",
        "-f",
        config.to_str().unwrap(),
        "--unset",
        "core.worktree",
    ];
    assert!(git(home.path(), &args).status.success());
    let _ = fs::remove_file(&ran);
    for file in one.files() {
        fs::remove_file(file).unwrap();
    }
    one.git(&["update-ref", "--no-deref", "HEAD", "HEAD~1"]);
    let _ = fs::remove_file(&ran);
    let said = one.session();
    assert!(said.contains("on another branch"), "{said}");
    assert!(!ran.exists(), "something of the configuration was run");
}

#[test]
fn a_replaced_object_or_a_graft_hides_nothing() {
    let home = Home::new();
    let one = committed(&home);
    let file = file_from_top(&one);
    let whole = one.git(&["rev-parse", &format!("HEAD:{file}")]);
    shorten(&one.files()[0]);
    let cut = one.git(&["hash-object", "-w", &file]);
    one.git(&["replace", whole.trim(), cut.trim()]);
    // Git now takes the one for the other.
    one.refused(TAIL);
}

#[test]
fn without_git_nothing_is_explained_by_it() {
    let home = Home::new();
    let one = committed(&home);
    one.git(&["checkout", "-q", "HEAD~1"]);
    let empty = home.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let output = one
        .command(&["run", "--op-id", "z"])
        .env("PATH", &empty)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    one.session();
}
