//! Which files count where there is git, held against git itself.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;

use super::super::SubjectError;
use super::super::changed::{Lines, between, count_lines};
use super::{look, paths, project, put};

fn git(root: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(root)
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.com",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(args)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {args:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn git_tells_which_ignored_files_count() {
    let dir = project(&[
        (".gitignore", "*.log\n/out/\n!keep.log\n"),
        ("a.rs", ""),
        ("kept.log", "tracked all the same"),
        ("left.log", ""),
        ("keep.log", ""),
        ("out/tracked", ""),
        ("out/left", ""),
        ("new.rs", "not added yet"),
        ("deleted.rs", ""),
    ]);
    let root = dir.path();
    git(root, &["init", "-q"]);
    git(
        root,
        &["add", "-f", "a.rs", "kept.log", "out/tracked", "deleted.rs"],
    );
    fs::remove_file(root.join("deleted.rs")).unwrap();
    symlink("a.rs", root.join("link")).unwrap();
    let counted = [
        ".gitignore",
        "a.rs",
        "keep.log",
        "kept.log",
        "link",
        "new.rs",
        "out/tracked",
    ];
    assert_eq!(paths(root, &["**"]), counted);
    for version in ["4", "3", "2"] {
        git(root, &["update-index", "--index-version", version]);
        assert_eq!(paths(root, &["**"]), counted, "index version {version}");
    }
    // From within the work tree the same rules hold.
    let below = root.join("out");
    assert_eq!(paths(&below, &["**"]), ["tracked"]);
    git(root, &["update-index", "--split-index"]);
    let error = look(root, &["**"]).unwrap_err();
    assert_eq!(error.code(), "subject-git-unreadable");
    git(root, &["update-index", "--no-split-index"]);
    fs::write(root.join(".git/index"), "DIRC").unwrap();
    assert_eq!(
        look(root, &["**"]).unwrap_err().code(),
        "subject-git-unreadable"
    );
}

#[test]
fn line_ends_are_those_on_disk() {
    let dir = project(&[("a", "one\r\n")]);
    let before = look(dir.path(), &["a"]).unwrap().subject;
    git(dir.path(), &["init", "-q"]);
    git(dir.path(), &["config", "core.autocrlf", "true"]);
    git(dir.path(), &["add", "a"]);
    assert_eq!(look(dir.path(), &["a"]).unwrap().subject, before);
}

#[test]
fn a_repository_within_is_asked_for_its_own() {
    let dir = project(&[
        ("a", ""),
        ("sub/.gitignore", "x\n"),
        ("sub/x", ""),
        ("sub/y", ""),
        ("sub/t", ""),
        ("plain/.git/nothing", "no repository"),
        ("plain/z", ""),
    ]);
    let root = dir.path();
    git(root, &["init", "-q"]);
    fs::write(root.join(".git/info/exclude"), "y\n").unwrap();
    git(&root.join("sub"), &["init", "-q"]);
    assert_eq!(
        paths(root, &["**"]),
        ["a", "plain/z", "sub/.gitignore", "sub/t", "sub/y"]
    );
    // As a submodule it is the same.
    git(&root.join("sub"), &["add", "t"]);
    git(&root.join("sub"), &["commit", "-qm", "t"]);
    git(root, &["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
    assert_eq!(
        paths(root, &["sub/**"]),
        ["sub/.gitignore", "sub/t", "sub/y"]
    );
    // A project that the repository around it wants nothing of is its own.
    fs::write(root.join(".git/info/exclude"), "plain/\n").unwrap();
    assert_eq!(paths(&root.join("plain"), &["**"]), ["z"]);
    assert_eq!(
        look(root, &["plain/**"]).unwrap_err().code(),
        "subject-empty"
    );
}

#[test]
fn what_lies_between_two_is_named_and_counted_where_it_can_be() {
    let dir = project(&[
        ("a", "1\n2\n3\n"),
        ("b", "x\n"),
        ("c", "same\n"),
        ("e", "1\n"),
    ]);
    let root = dir.path();
    git(root, &["init", "-q"]);
    git(root, &["add", "a", "b", "c"]);
    git(root, &["commit", "-qm", "as judged"]);
    let old = look(root, &["*"]).unwrap().manifest;
    put(root, "a", "1\n2b\n3\n4\n");
    put(root, "d", "new\nnew\n");
    put(root, "e", "2\n");
    fs::remove_file(root.join("b")).unwrap();
    let new = look(root, &["*"]).unwrap().manifest;
    let mut changes = between(&old, &new);
    count_lines(root, &mut changes);
    let lines = |added, removed| Some(Lines { added, removed });
    let told: Vec<_> = changes
        .iter()
        .map(|c| (c.what(), c.path.as_str(), c.lines))
        .collect();
    assert_eq!(
        told,
        [
            ("changed", "a", lines(2, 1)),
            ("removed", "b", lines(0, 1)),
            ("added", "d", lines(2, 0)),
            // Nobody has what was judged.
            ("changed", "e", None),
        ]
    );
    assert_eq!(between(&new, &new), []);
}

/// What git itself says it tracks or would track, and is there.
fn by_git(root: &Path) -> BTreeSet<String> {
    let listed = git(
        root,
        &[
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
    );
    let is_there = |path: &&str| !path.is_empty() && root.join(path).symlink_metadata().is_ok();
    listed
        .split('\0')
        .filter(is_there)
        .map(str::to_owned)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn git_counts_the_same_files(
        files in prop::collection::btree_set("[ab](/[ab]){0,3}", 1..10),
        top in prop::collection::vec("!?/?(\\*\\*/)?[ab*?](/[ab*]|/\\*\\*|/\\*\\*/[ab])?/?", 0..4),
        deep in prop::collection::vec("!?/?[ab*](/[ab])?/?", 0..3),
        exclude in prop::collection::vec("!?/?[ab](/[ab])?/?", 0..2),
        tracked in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        git(root, &["init", "-q"]);
        let mut made = Vec::new();
        for file in &files {
            let path = root.join(file);
            if fs::create_dir_all(path.parent().unwrap()).is_ok() && fs::write(&path, "").is_ok() {
                made.push(file.as_str());
            }
        }
        fs::write(root.join(".gitignore"), top.join("\n")).unwrap();
        fs::write(root.join(".git/info/exclude"), exclude.join("\n")).unwrap();
        if root.join("a").is_dir() {
            fs::write(root.join("a/.gitignore"), deep.join("\n")).unwrap();
        }
        for at in tracked {
            git(root, &["add", "-f", made[at.index(made.len())]]);
        }
        let ours: BTreeSet<String> = match look(root, &["**"]) {
            Ok(taken) => taken.manifest.entries().iter().map(|e| e.path.clone()).collect(),
            Err(SubjectError::Empty { .. }) => BTreeSet::new(),
            Err(error) => panic!("{error}"),
        };
        prop_assert_eq!(ours, by_git(root));
    }
}
