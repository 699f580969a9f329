//! The room as a whole, on real trees, held against `sha256sum` and git.

mod git;
mod store;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use cap_std::ambient_authority;
use proptest::prelude::*;
use tempfile::TempDir;

use super::digest::Reader;
use super::*;

fn project(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        put(dir.path(), path, text);
    }
    dir
}

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn covers(globs: &[&str]) -> Covers {
    let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
    Covers::parse(&globs).unwrap()
}

fn look(root: &Path, globs: &[&str]) -> Result<Taken, SubjectError> {
    take(root, &covers(globs), Reading::EveryByte(None))
}

fn paths(root: &Path, globs: &[&str]) -> Vec<String> {
    let entries = look(root, globs).unwrap().manifest.entries().to_vec();
    entries.into_iter().map(|entry| entry.path).collect()
}

fn text(manifest: &Manifest) -> Vec<u8> {
    let mut text = Vec::new();
    manifest.write(&mut text).unwrap();
    text
}

fn sha256sum_accepts(root: &Path, manifest: &Manifest) -> bool {
    let mut check = Command::new("sha256sum")
        .args(["--check", "--strict", "--quiet", "-"])
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    check
        .stdin
        .take()
        .unwrap()
        .write_all(&text(manifest))
        .unwrap();
    check.wait().unwrap().success()
}

const ODD: [&str; 8] = [
    "new\nline",
    "return\r",
    "back\\slash",
    "\\n",
    " blank ",
    "-dash",
    "ünï",
    "a\\\nb\r",
];

#[test]
fn sha256sum_writes_and_accepts_the_same() {
    let dir = project(&[]);
    for name in ODD {
        put(dir.path(), name, name);
        put(dir.path(), &format!("d/{name}"), "x");
    }
    let taken = look(dir.path(), &["**"]).unwrap();
    assert!(sha256sum_accepts(dir.path(), &taken.manifest));
    let mut names: Vec<&str> = taken
        .manifest
        .entries()
        .iter()
        .map(|e| e.path.as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names.len(), 16);
    let theirs = Command::new("sha256sum")
        .current_dir(dir.path())
        .arg("--")
        .args(&names)
        .output();
    assert_eq!(text(&taken.manifest), theirs.unwrap().stdout);
    assert_eq!(taken.subject, Sha256::of(&text(&taken.manifest)));
    put(dir.path(), "-dash", "changed");
    assert!(!sha256sum_accepts(dir.path(), &taken.manifest));
    assert_ne!(look(dir.path(), &["**"]).unwrap().subject, taken.subject);
    put(dir.path(), "-dash", "-dash");
    assert_eq!(look(dir.path(), &["**"]).unwrap().subject, taken.subject);
}

#[test]
fn a_manifest_is_read_only_as_it_is_written() {
    let a = Sha256::of(b"a");
    let good = format!("{a}  a\n\\{a}  b\\\\c\n");
    assert_eq!(
        text(&Manifest::parse(good.as_bytes()).unwrap()),
        good.as_bytes()
    );
    let upper = a.to_string().to_uppercase();
    for (bad, line) in [
        (format!("{a}  a"), 1),
        (format!("{a}  b\n{a}  a\n"), 2),
        (format!("{a}  a\n{a}  a\n"), 2),
        (format!("{upper}  a\n"), 1),
        (format!("{a} *a\n"), 1),
        (format!("{a}  \n"), 1),
        (format!("{a}  /etc/passwd\n"), 1),
        (format!("{a}  a/../../b\n"), 1),
        (format!("\\{a}  a\n"), 1),
        (format!("{a}  a\\b\n"), 1),
        (format!("\\{a}  a\\tb\n"), 1),
        (format!("{a}  a\n\n"), 2),
    ] {
        assert_eq!(
            Manifest::parse(bad.as_bytes()).unwrap_err().line,
            line,
            "{bad:?}"
        );
    }
}

#[test]
fn what_is_covered_counts_and_nothing_else() {
    let dir = project(&[
        ("src/a.rs", "a"),
        ("src/.hidden/b", "b"),
        ("src/gen/c.rs", "c"),
        ("src/.git/config", "never"),
        (".ghyll/grid.v1.yaml", "never"),
        (
            "sub/.ghyll/grid.v1.yaml",
            "a project's record is work to the one around it",
        ),
        ("other", "o"),
    ]);
    symlink("../other", dir.path().join("src/link")).unwrap();
    symlink("..", dir.path().join("src/loop")).unwrap();
    symlink("nowhere", dir.path().join("src/broken")).unwrap();
    let taken = look(dir.path(), &["src/**", "!src/gen/**", "docs/*"]).unwrap();
    let entries = taken.manifest.entries();
    let names: Vec<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(
        names,
        [
            "src/.hidden/b",
            "src/a.rs",
            "src/broken",
            "src/link",
            "src/loop"
        ]
    );
    assert_eq!(entries[3].sha256, Sha256::of(b"../other"));
    assert_eq!(taken.unmatched, ["docs/*"]);
    assert_eq!(
        paths(dir.path(), &["**/*.yaml"]),
        ["sub/.ghyll/grid.v1.yaml"]
    );
    let empty = look(dir.path(), &["src/gen", "*.md"]).unwrap_err();
    assert_eq!(empty.code(), "subject-empty");
    assert_eq!(
        empty.to_string(),
        "no file matches `src/gen`, `*.md`; src/gen is a directory, its files are `src/gen/**`"
    );
}

#[test]
fn what_is_no_file_or_has_no_name_is_a_refusal_that_names_it() {
    let refused = |make: &dyn Fn(&Path), globs: &[&str]| {
        let dir = project(&[("src/a", "a")]);
        make(dir.path());
        let error = look(dir.path(), globs).unwrap_err();
        (error.code(), error.to_string())
    };
    let pipe = |root: &Path| {
        assert!(
            Command::new("mkfifo")
                .arg(root.join("src/p"))
                .status()
                .unwrap()
                .success()
        );
    };
    assert_eq!(
        refused(&pipe, &["src/**"]),
        ("subject-not-a-file", "src/p: a pipe, not a file".to_owned())
    );
    let socket = |root: &Path| {
        std::os::unix::net::UnixListener::bind(root.join("src/s")).unwrap();
    };
    assert_eq!(refused(&socket, &["src/*"]).0, "subject-not-a-file");
    let latin = |root: &Path| {
        let name = std::ffi::OsStr::from_bytes(b"src/caf\xe9");
        fs::write(root.join(name), "").unwrap();
    };
    assert_eq!(
        refused(&latin, &["src/**"]),
        (
            "subject-name-invalid",
            "src/caf\\xe9: the name is not UTF-8".to_owned()
        )
    );
    // What is not covered is in nobody's way.
    let dir = project(&[("src/a", "a")]);
    pipe(dir.path());
    latin(dir.path());
    assert_eq!(paths(dir.path(), &["src/a"]), ["src/a"]);
}

#[test]
fn what_cannot_be_read_is_a_refusal_that_names_it() {
    use std::os::unix::fs::PermissionsExt;
    for closed in ["src/a", "src"] {
        let dir = project(&[("src/a", "a"), ("b", "b")]);
        let path = dir.path().join(closed);
        let before = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        let superuser = fs::File::open(&path).is_ok();
        let taken = look(dir.path(), &["**"]);
        let beside = look(dir.path(), &["b"]);
        fs::set_permissions(&path, before).unwrap();
        assert!(beside.is_ok());
        if !superuser {
            let error = taken.unwrap_err();
            assert_eq!(error.code(), "subject-unreadable");
            assert!(
                error.to_string().starts_with(&format!("{closed}: ")),
                "{error}"
            );
        }
    }
}

#[test]
fn more_files_than_there_may_be_are_refused() {
    let dir = project(&[("a", ""), ("b", ""), ("c/d", "")]);
    let at_most = |max| take_at_most(dir.path(), &covers(&["**"]), Reading::EveryByte(None), max);
    assert_eq!(at_most(3).unwrap().manifest.entries().len(), 3);
    let error = at_most(2).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("subject-too-many-files", "more than 2 files match `**`")
    );
}

#[test]
fn a_file_that_changes_while_it_is_read_is_read_again() {
    let dir = project(&[]);
    let path = dir.path().join("a");
    fs::write(&path, vec![b'a'; 600 << 10]).unwrap();
    let root = Beneath::open(dir.path()).unwrap();
    let mut reader = Reader::new(&root);
    let mut once = Some(vec![b'b'; 600 << 10]);
    let place = path.clone();
    reader.meanwhile = Some(Box::new(move || {
        if let Some(bytes) = once.take() {
            fs::write(&place, bytes).unwrap();
        }
    }));
    let read = reader.read(b"a").unwrap().unwrap();
    assert_eq!(read.sha256, Sha256::of(&vec![b'b'; 600 << 10]));

    let mut count = 0_u8;
    let place = path.clone();
    reader.meanwhile = Some(Box::new(move || {
        count = count.wrapping_add(1);
        fs::write(&place, vec![count; 600 << 10]).unwrap();
    }));
    assert_eq!(reader.read(b"a").unwrap_err().code(), "subject-changing");

    // Replaced by a file of the same size and times: the inode tells.
    let other = dir.path().join("other");
    fs::write(&other, vec![b'c'; 600 << 10]).unwrap();
    let mut renamed = false;
    reader.meanwhile = Some(Box::new(move || {
        if !renamed {
            renamed = true;
            fs::rename(&other, &path).unwrap();
        }
    }));
    let read = reader.read(b"a").unwrap().unwrap();
    assert_eq!(read.sha256, Sha256::of(&vec![b'c'; 600 << 10]));
    drop(reader);
    fs::remove_file(dir.path().join("a")).unwrap();
    assert_eq!(Reader::new(&root).read(b"a").unwrap(), None);
}

#[test]
fn memory_is_relied_on_only_where_it_may_be() {
    let dir = project(&[("a", "one"), ("b", "two")]);
    let all = covers(&["*"]);
    let mut memory = Memory::default();
    let take = |reading: Reading<'_>| take(dir.path(), &all, reading).unwrap().manifest;
    let real = take(Reading::Remembered(&mut memory));
    let forged = Sha256::of(b"forged");
    let forge = |memory: &mut Memory, later_ns: i64| {
        for path in ["a", "b"] {
            let mut remembered = memory.get(path).unwrap();
            assert_ne!(remembered.sha256, forged);
            remembered.sha256 = forged;
            remembered.seen_at_ns += later_ns;
            memory.learn(path, remembered);
        }
    };
    // Just written: a change in the same tick could bear the same time.
    forge(&mut memory, 0);
    assert_eq!(take(Reading::Remembered(&mut memory)), real);
    // Seen long after its last change.
    forge(&mut memory, 3_000_000_000);
    let relied = take(Reading::Remembered(&mut memory));
    assert!(relied.entries().iter().all(|entry| entry.sha256 == forged));
    // A gate reads every byte, and puts the memory right.
    assert_eq!(take(Reading::EveryByte(Some(&mut memory))), real);
    // Another inode, size or time is another file.
    let remembered = memory.get("a").unwrap();
    assert_ne!(remembered.sha256, forged);
    let stamp = remembered.stamp;
    let seen = Remembered {
        seen_at_ns: i64::MAX,
        ..remembered
    };
    assert!(seen.holds_for(&stamp));
    for other in [
        Stamp { size: 4, ..stamp },
        Stamp {
            mtime_ns: 0,
            ..stamp
        },
        Stamp {
            ctime_ns: 0,
            ..stamp
        },
        Stamp { inode: 0, ..stamp },
    ] {
        assert!(!seen.holds_for(&other));
    }
}

#[test]
fn a_grid_is_a_subject_of_its_own() {
    let dir = project(&[
        (".ghyll/grid.v1.yaml", "grid"),
        (".ghyll/grid.v2.yaml", "other"),
    ]);
    let ghyll = Dir::open_ambient_dir(dir.path().join(".ghyll"), ambient_authority()).unwrap();
    let taken = of_grid(&ghyll, 1).unwrap();
    let line = format!("{}  .ghyll/grid.v1.yaml\n", Sha256::of(b"grid"));
    assert_eq!(taken.subject, Sha256::of(line.as_bytes()));
    assert!(sha256sum_accepts(dir.path(), &taken.manifest));
    assert_eq!(of_grid(&ghyll, 3).unwrap_err().code(), "subject-unreadable");
    symlink("grid.v1.yaml", dir.path().join(".ghyll/grid.v3.yaml")).unwrap();
    assert_eq!(of_grid(&ghyll, 3).unwrap_err().code(), "subject-not-a-file");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_tree_of_names_is_listed_kept_and_accepted(
        names in prop::collection::btree_set("[a-c\\\\\n\r é.*-]{1,4}(/[a-c \\\\]{1,3}){0,2}", 1..12)
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut expected = BTreeMap::new();
        for name in names {
            let path = dir.path().join(&name);
            // Names that another one's directory has, and `.` and `..`, give way;
            // `-` is sha256sum's word for what it is given to read.
            if name == "-" || name.split('/').any(|part| matches!(part, "." | "..")) {
                continue;
            }
            let made = fs::create_dir_all(path.parent().unwrap()).is_ok() && fs::write(&path, &name).is_ok();
            if made {
                expected.insert(name.clone(), Sha256::of(name.as_bytes()));
            }
        }
        prop_assume!(!expected.is_empty());
        let taken = look(dir.path(), &["**"]).unwrap();
        let found: BTreeMap<_, _> =
            taken.manifest.entries().iter().map(|e| (e.path.clone(), e.sha256)).collect();
        prop_assert_eq!(&found, &expected);
        prop_assert!(sha256sum_accepts(dir.path(), &taken.manifest));
        prop_assert_eq!(&Manifest::parse(&text(&taken.manifest)).unwrap(), &taken.manifest);
        let (_dir, disk) = store::store();
        let store = SubjectStore::new(&disk);
        store.keep(&taken.manifest).unwrap();
        prop_assert_eq!(store.read(&taken.subject).unwrap(), taken.manifest);
    }
}
