//! What a user copies from `tests/hosts`, run as a user runs it.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use ghyll_tests::judge::{Judge, Native};
use ghyll_tests::{runtimes, vectors};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Runs a host on a record given on stdin: its exit status and its answer.
fn judge(host: &mut Command, record: &str) -> (i32, Value) {
    let mut running = host
        .arg("--component")
        .arg(runtimes::component())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the host runs");
    let mut stdin = running.stdin.take().expect("its stdin");
    // A host that has seen enough closes early.
    let _ = stdin.write_all(record.as_bytes());
    drop(stdin);
    let output = running.wait_with_output().expect("the host ends");
    let answer = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code().expect("an exit status"), answer)
}

/// What a host has to say of a record, from the native library.
fn expected(record: &Value, prev_chain: &str) -> (i32, Value) {
    let args = json!({
        "rec": record,
        "prev_chain": prev_chain,
        "limits": { "max_residue_bytes": 0 },
    });
    let mut answer = json!({
        "code": "", "detail": "", "path": "", "truncated": false, "substituted": [],
        "chain": "", "line": "",
    });
    for function in ["encode-line", "encode-attestation-path", "validate"] {
        match Native.call(function, &args) {
            Ok(Value::Object(members)) => {
                for (key, value) in members {
                    answer[key] = value;
                }
            }
            Ok(_) => {}
            Err(fault) => {
                answer["code"] = json!(fault.code);
                answer["detail"] = json!(fault.detail);
            }
        }
    }
    (i32::from(answer["code"] != ""), answer)
}

/// Records of the vectors, few enough to start a host for each.
fn records() -> Vec<Value> {
    let interesting = [
        "pass, confirmed",
        "fail with a note",
        "largest version",
        "all four replaced",
        "adversary is the source",
        "op-id of json",
        "line: every control",
        "line: other scripts",
        "line: a mebibyte and one",
        "reason: 4097 bytes",
        "first of the rest: op_id",
    ];
    vectors::cases()
        .into_iter()
        .filter(|case| interesting.iter().any(|name| case["name"] == *name))
        .map(|mut case| case["args"]["rec"].take())
        .filter(Value::is_object)
        .collect()
}

fn judges_like_the_library(host: impl Fn() -> Command) {
    let chain = "5e".repeat(32);
    let records = records();
    assert!(records.len() >= 8, "only {} records", records.len());
    let mut linked = host();
    linked.args(["--prev-chain", &chain]);
    let record = &records[0];
    assert_eq!(
        judge(&mut linked, &record.to_string()),
        expected(record, &chain)
    );
    for record in records {
        let (answer, expected) = (
            judge(&mut host(), &record.to_string()),
            expected(&record, ""),
        );
        assert_eq!(answer, expected, "{record:.500}");
    }
    for nothing in [
        "",
        "x",
        "null",
        "[]",
        "{\"kind\":1}",
        "{\"kind\":null}",
        "{\"kind\":\"\\ud800\"}",
        "{\"grid_version\":\"1\"}",
        "{\"grid_version\":-1}",
        "{\"grid_version\":1.5}",
        "{\"grid_version\":18446744073709551616}",
    ] {
        assert_eq!(judge(&mut host(), nothing), (2, Value::Null), "{nothing}");
    }
}

#[test]
fn python_judges_a_record_like_the_library() {
    let Some(python) = runtimes::python() else {
        return runtimes::skip("no python3");
    };
    judges_like_the_library(|| {
        let mut host = Command::new(&python);
        host.arg(runtimes::hosts().join("python/judge.py"));
        host
    });
}

#[test]
fn node_judges_a_record_like_the_library() {
    let Some(home) = runtimes::node() else {
        return runtimes::skip("no node and npm");
    };
    judges_like_the_library(|| {
        let mut host = Command::new("node");
        host.arg(home.join("judge.mjs"));
        host
    });
}

/// Code, path and line of each finding, in one order.
fn findings(list: &Value) -> Vec<(String, String, u64)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut findings: Vec<_> = list
        .as_array()
        .expect("findings")
        .iter()
        .map(|f| {
            (
                text(&f["code"]),
                text(&f["path"]),
                f["line"].as_u64().expect("a line"),
            )
        })
        .collect();
    findings.sort();
    findings
}

/// A project for each case, below `folder`, by name.
fn projects(folder: &Path) -> Vec<(String, std::path::PathBuf)> {
    let mut derive = Command::new("python3");
    derive
        .arg(vectors::folder().join("derive.py"))
        .arg("--tree")
        .arg(folder);
    runtimes::succeed(&mut derive);
    let mut projects: Vec<_> = fs::read_dir(folder)
        .expect("projects")
        .map(|entry| {
            let entry = entry.expect("a project");
            (
                entry.file_name().into_string().expect("a name"),
                entry.path(),
            )
        })
        .collect();
    projects.sort();
    projects
}

/// A project in which `ghyll` recorded something: on the spot for each of the
/// sample's four arrows, and four verdicts of one pass in one file.
fn recorded(project: &Path) {
    let ghyll = runtimes::ghyll();
    let run = |args: &[&str]| {
        let output = Command::new(&ghyll)
            .arg("--dir")
            .arg(project)
            .args(args)
            .output()
            .expect("ghyll runs");
        // An arrow that is not complete is a 1.
        let fine = matches!(output.status.code(), Some(0 | 1));
        assert!(
            fine,
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    run(&["init", "--example", "--op-id", "alice"]);
    run(&["init", "attest", "--op-id", "alice"]);
    run(&["dispatch", "A-checkout"]);
    let by = ["--op-id", "zoë@example.com"];
    let attest = |args: &[&str]| run(&[&["attest"], args, &by].concat());
    attest(&["att-A-checkout-C1-v1", "pass"]);
    attest(&[
        "att-A-checkout-C2-v1",
        "fail",
        "--inspected",
        "features/\"a\".feature:1",
        "--keep",
    ]);
    attest(&[
        "att-A-checkout-C3-v1",
        "pass",
        "--residue",
        "looked\tat \\ it: é🦊",
    ]);
    attest(&[
        "att-A-checkout-C1-v1",
        "fail",
        "--inspected",
        "b.feature:2",
        "--keep",
    ]);
}

/// The files of a project's audit tree, by their path below its root.
fn tree(project: &Path) -> Vec<(String, String)> {
    fn descend(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).expect("a folder of the tree") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                descend(root, &path, files);
            } else {
                let below = path
                    .strip_prefix(root)
                    .expect("below")
                    .to_str()
                    .expect("text");
                files.push((below.into(), fs::read_to_string(&path).expect("lines")));
            }
        }
    }
    let root = project.join(".ghyll/attestations");
    let mut files = Vec::new();
    descend(&root, &root, &mut files);
    files
}

#[test]
fn every_host_writes_what_ghyll_wrote() {
    let (Some(python), Some(node)) = (runtimes::python(), runtimes::node()) else {
        return runtimes::skip("not both of python3 and node");
    };
    let project = tempfile::tempdir().expect("a folder");
    recorded(project.path());
    let files = tree(project.path());
    assert_eq!(
        files
            .iter()
            .map(|(_, text)| text.lines().count())
            .sum::<usize>(),
        8
    );
    for (path, text) in &files {
        let mut prev_chain = String::new();
        for line in text.split_inclusive('\n') {
            for (program, script) in [
                (python.as_path(), runtimes::hosts().join("python/judge.py")),
                (Path::new("node"), node.join("judge.mjs")),
            ] {
                let mut host = Command::new(program);
                host.arg(&script).args(["--prev-chain", &prev_chain]);
                let (status, answer) = judge(&mut host, line);
                assert_eq!((status, &answer["code"]), (0, &json!("")), "{line}");
                assert_eq!(answer["path"], *path);
                assert_eq!(answer["line"], line);
            }
            let line: Value = serde_json::from_str(line).expect("a line is JSON");
            line["chain"]
                .as_str()
                .expect("a chain")
                .clone_into(&mut prev_chain);
        }
    }
    let verify = || {
        let script = runtimes::hosts().join("verify.py");
        let mut verify = Command::new(&python);
        verify.arg(script).arg(project.path());
        verify
            .arg("--component")
            .arg(runtimes::component())
            .output()
            .expect("it runs")
    };
    assert_eq!(verify().status.code(), Some(0));
    let (path, text) = files
        .iter()
        .find(|(_, text)| text.contains("zoë"))
        .expect("the pass");
    let file = project.path().join(".ghyll/attestations").join(path);
    fs::write(file, text.replacen("zoë", "eve", 1)).expect("the damage");
    let damaged = verify();
    assert_eq!(damaged.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&damaged.stdout).expect("a report");
    let broken = (
        "attestation-chain-broken".to_owned(),
        format!("attestations/{path}"),
        1,
    );
    assert!(findings(&report["issues"]).contains(&broken), "{report:#}");
}

#[test]
fn python_verifies_a_tree_with_the_component_alone() {
    let Some(python) = runtimes::python() else {
        return runtimes::skip("no python3");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let projects = projects(folder.path());
    assert!(projects.len() >= 15, "only {} projects", projects.len());
    for (name, project) in projects {
        let expected = fs::read(project.join("findings.json")).expect("the findings by hand");
        let expected = findings(&serde_json::from_slice(&expected).expect("JSON"));
        let mut verify = Command::new(&python);
        verify
            .arg(runtimes::hosts().join("verify.py"))
            .arg(&project);
        let output = verify
            .arg("--component")
            .arg(runtimes::component())
            .output()
            .expect("it runs");
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(findings(&report["issues"]), expected, "{name}");
        assert_eq!(report["ok"], expected.is_empty(), "{name}");
        assert_eq!(
            output.status.code(),
            Some(i32::from(!expected.is_empty())),
            "{name}"
        );
    }
}

/// A project with one record about `manifest`, which is kept as `kept` says:
/// files below `.ghyll/subjects`.
fn about(project: &Path, manifest: &[u8], kept: &[(&str, &[u8])]) {
    let sha256 = |bytes: &[u8]| -> String {
        let digest = Sha256::digest(bytes);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let case = vectors::cases()
        .into_iter()
        .find(|case| case["name"] == "pass, confirmed")
        .expect("a good record");
    let mut args = case["args"].clone();
    args["rec"]["hint_json"] = json!(format!("{{\"subject\":\"{}\"}}", sha256(manifest)));
    args["prev_chain"] = json!("");
    let line = Native.call("encode-line", &args).expect("a line");
    let path = Native
        .call("encode-attestation-path", &args)
        .expect("a path");
    let home = project.join(".ghyll");
    let write = |path: &str, bytes: &[u8]| {
        let file = home.join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("the folder");
        fs::write(file, bytes).expect("the file");
    };
    let line = line["line"].as_str().expect("text").as_bytes();
    let path = path["path"].as_str().expect("text");
    write(&format!("attestations/{path}"), line);
    write("attestations.jsonl", line);
    for (name, bytes) in kept {
        let name = match *name {
            "manifest" => sha256(manifest),
            "itself" => sha256(bytes),
            other => other.to_owned(),
        };
        write(&format!("subjects/{}/{name}", &name[..2]), bytes);
    }
}

#[test]
fn python_and_ghyll_hold_a_record_against_the_manifest_it_names() {
    let Some(python) = runtimes::python() else {
        return runtimes::skip("no python3");
    };
    let line = |digit: &str, path: &str| format!("{}  {path}\n", digit.repeat(64)).into_bytes();
    let (a, b, c) = (line("1", "a/x"), line("2", "a.rs"), line("3", "z"));
    // By the path's bytes, `a.rs` stands before `a/x`.
    let manifest = [&b[..], &a, &c].concat();
    let part = |bytes: &[u8], folder: &str| {
        let digest = Sha256::digest(bytes);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{hex}  {folder}\n")
    };
    const PARTS: &str = "ghyll-subject-parts 1\n";
    let parts = [PARTS, &part(&b, "./"), &part(&a, "a/"), &part(&c, "./")].concat();
    let parts = parts.as_bytes();
    // Parts may have parts of their own.
    let first_two = [&b[..], &a].concat();
    let list_of_two = [PARTS, &part(&b, "./"), &part(&a, "a/")].concat();
    let of_lists = [PARTS, &part(&first_two, "./"), &part(&c, "./")].concat();
    for (kept, issues, warnings) in [
        (vec![("manifest", &manifest[..])], vec![], vec![]),
        (vec![("manifest", &a[..])], vec!["subject-corrupt"], vec![]),
        (vec![], vec![], vec!["subject-missing"]),
        (
            vec![
                ("manifest", parts),
                ("itself", &a),
                ("itself", &b),
                ("itself", &c),
            ],
            vec![],
            vec![],
        ),
        (
            vec![
                ("manifest", of_lists.as_bytes()),
                (&part(&first_two, "")[..64], list_of_two.as_bytes()),
                ("itself", &a),
                ("itself", &b),
                ("itself", &c),
            ],
            vec![],
            vec![],
        ),
        (
            vec![("manifest", parts), ("itself", &b), ("itself", &c)],
            vec![],
            vec!["subject-missing"],
        ),
        (
            vec![
                ("manifest", parts),
                ("itself", &b),
                ("itself", &c),
                (&part(&a, "")[..64], &c),
            ],
            vec!["subject-corrupt"],
            vec![],
        ),
        (
            vec![("manifest", b"ghyll-subject-parts 1\nx\n")],
            vec!["subject-corrupt"],
            vec![],
        ),
    ] {
        let project = tempfile::tempdir().expect("a folder");
        about(project.path(), &manifest, &kept);
        let mut verify = Command::new(&python);
        verify.arg(runtimes::hosts().join("verify.py"));
        verify
            .arg(project.path())
            .arg("--component")
            .arg(runtimes::component());
        let output = verify.output().expect("it runs");
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        let subjects = |report: &Value, of: &str| -> Vec<(String, String, u64)> {
            let mut found = findings(&report[of]);
            found.retain(|(code, ..)| code.starts_with("subject-"));
            found
        };
        let codes = |of: &str| -> Vec<String> {
            let found = subjects(&report, of).into_iter();
            found.map(|(code, ..)| code).collect()
        };
        assert_eq!(
            (codes("issues"), codes("warnings")),
            (
                issues.iter().map(ToString::to_string).collect(),
                warnings.iter().map(ToString::to_string).collect(),
            ),
            "{report:#}"
        );
        assert_eq!(report["ok"], issues.is_empty());
        assert_eq!(output.status.code(), Some(i32::from(!issues.is_empty())));
        for file in ["grid.v1.yaml", "grid.current"] {
            let sample = runtimes::root().join("scripts/sample/.ghyll").join(file);
            fs::copy(sample, project.path().join(".ghyll").join(file)).expect("a grid");
        }
        let output = Command::new(runtimes::ghyll())
            .args(["engine", "verify-attestations", "--json", "--dir"])
            .arg(project.path())
            .output()
            .expect("it runs");
        let own: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        for of in ["issues", "warnings"] {
            assert_eq!(subjects(&own, of), subjects(&report, of), "{own:#}");
        }
    }
}

/// What stands in the tree and the flat file is judged by `ghyll` as by a host
/// that has nothing of it but the component. (The index, which the other host
/// does not have, is told of on a surface of its own, and of grids it knows nothing.)
#[test]
fn ghyll_verifies_a_tree_as_the_other_host_does() {
    let folder = tempfile::tempdir().expect("a folder");
    if !runtimes::succeed(Command::new("python3").arg("--version")).starts_with("Python 3") {
        return runtimes::skip("no python3");
    }
    for (name, project) in projects(folder.path()) {
        let expected = fs::read(project.join("findings.json")).expect("the findings by hand");
        let told = findings(&serde_json::from_slice(&expected).expect("JSON"));
        // One issue a record, whatever the number of surfaces it shows on.
        let in_tree = |code: &str| {
            let mut tree = told.iter().filter(|(_, path, _)| path.contains('/'));
            tree.any(|(of_tree, ..)| of_tree == code)
        };
        let expected: Vec<_> = told
            .iter()
            .filter(|(code, path, _)| path.contains('/') || !in_tree(code))
            .cloned()
            .collect();
        for file in ["grid.v1.yaml", "grid.current"] {
            let sample = runtimes::root().join("scripts/sample/.ghyll").join(file);
            fs::copy(sample, project.join(".ghyll").join(file)).expect("a grid");
        }
        let output = Command::new(runtimes::ghyll())
            .args(["engine", "verify-attestations", "--json", "--dir"])
            .arg(&project)
            .output()
            .expect("it runs");
        let mut report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
        // What is foreign is worth a warning here and an issue there.
        let warnings = report["warnings"].as_array().expect("warnings").clone();
        let foreign = |found: &Value| found["code"] == "attestation-foreign-file";
        let issues = report["issues"].as_array_mut().expect("issues");
        issues.extend(warnings.into_iter().filter(foreign));
        issues.retain(|issue| issue["surface"] != "index" && issue["path"] != "grid.v1.yaml");
        assert_eq!(findings(&report["issues"]), expected, "{name}");
    }
}
