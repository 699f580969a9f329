//! `docs/reference.md`: each exit status by its example, and every variable
//! that the sources read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::document::{read, root, table};

#[test]
fn each_exit_status_is_that_of_its_example() {
    let temp = tempfile::tempdir().unwrap();
    let run = |line: &str| {
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some("ghyll"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_ghyll"));
        let output = command
            .args(words)
            .current_dir(temp.path())
            .output()
            .unwrap();
        output.status.code().unwrap()
    };
    assert_eq!(run("ghyll init --example"), 0);
    let rows = table(&read("docs/reference.md"), "Exit status");
    assert_eq!(rows.len(), 4);
    for row in rows {
        let [status, _, example] = &row[..] else {
            panic!("{row:?}");
        };
        let status: i32 = status.trim_matches('`').parse().unwrap();
        assert_eq!(run(example.trim_matches('`')), status, "{example}");
    }
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// The variables a source reads: those of ghyll's own that it names, and what
/// it asks the environment for by name. What is known when it is built is none.
fn variables(source: &str) -> BTreeSet<String> {
    let source = source.split("#[cfg(test)]\nmod tests").next().unwrap();
    let mut found = BTreeSet::new();
    let mut pieces = source.split('"');
    let mut before = pieces.next().unwrap_or_default();
    while let (Some(literal), Some(after)) = (pieces.next(), pieces.next()) {
        let named = !literal.is_empty()
            && literal
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        let own = literal.starts_with("GHYLL_") && !before.ends_with("env!(");
        let asked = before.ends_with("env::var(") || before.ends_with("env::var_os(");
        if named && (own || asked) {
            found.insert(literal.to_owned());
        }
        before = after;
    }
    found
}

#[test]
fn every_variable_that_is_read_is_explained_and_no_other_of_ghylls() {
    let mut files = Vec::new();
    sources(&root().join("host/src"), &mut files);
    let mut read_somewhere = BTreeSet::new();
    for file in files {
        // Documentation is not written for whoever runs ghyll.
        if !file.ends_with("codes/mod.rs") {
            read_somewhere.extend(variables(&std::fs::read_to_string(file).unwrap()));
        }
    }
    let rows = table(&read("docs/reference.md"), "Environment");
    let told: BTreeSet<String> = rows
        .iter()
        .flat_map(|row| row[0].split(", "))
        .map(|name| name.trim_matches('`').to_owned())
        .collect();
    let untold: Vec<_> = read_somewhere.difference(&told).collect();
    assert!(untold.is_empty(), "not in docs/reference.md: {untold:?}");
    let own = told.iter().filter(|name| name.starts_with("GHYLL_"));
    let invented: Vec<_> = own.filter(|name| !read_somewhere.contains(*name)).collect();
    assert!(invented.is_empty(), "nothing reads {invented:?}");
    assert!(read_somewhere.len() > 6, "{read_somewhere:?}");
}

#[test]
fn a_variable_is_found_where_it_is_read() {
    let source =
        "env!(\"GHYLL_WIT\"); const A: &str = \"GHYLL_A\"; std::env::var(\"B\"); x(\"C\");";
    let found: Vec<_> = variables(source).into_iter().collect();
    assert_eq!(found, ["B", "GHYLL_A"]);
}
