//! `ghyll engine …` from outside: every kind of damage is found by its right
//! code, a healthy project has none, and what is lost is gone on without only
//! when somebody says so.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

const OP: [&str; 2] = ["--op-id", "alice@example.com"];

/// The sample project with three verdicts in one pass's file and one in
/// another's.
struct Sample {
    dir: TempDir,
}

impl Sample {
    fn new() -> Self {
        let sample = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        sample.ok(&["init", "--example"]);
        std::fs::create_dir(sample.dir.path().join("src")).unwrap();
        std::fs::write(sample.dir.path().join("src/cart.rs"), "line\n".repeat(9)).unwrap();
        sample.run(&["dispatch", "A-checkout"]);
        let attest = |clause: &str, rest: &[&str]| {
            let reference = format!("att-A-checkout-{clause}-v1");
            let args = [&["attest", &reference], rest, &OP].concat();
            sample.ok(&args);
        };
        attest("C1", &["fail", "--inspected", "src/cart.rs:1-9"]);
        attest("C2", &["pass"]);
        attest("C3", &["pass"]);
        sample.run(&["dispatch", "A-checkout"]);
        attest("C1", &["pass"]);
        sample
    }

    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_ghyll"))
            .arg("--dir")
            .arg(self.dir.path())
            .args(args)
            .output()
            .unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    fn ok(&self, args: &[&str]) -> String {
        let (code, out, err) = self.run(args);
        assert_eq!(code, 0, "{args:?}: {out}{err}");
        out
    }

    fn refused(&self, args: &[&str], code: &str) -> String {
        let (exit, out, err) = self.run(args);
        assert_eq!(exit, 3, "{args:?}: {out}{err}");
        assert!(err.starts_with(&format!("error[{code}]: ")), "{err}");
        err
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(".ghyll").join(below)
    }

    fn flat(&self) -> PathBuf {
        self.path("attestations.jsonl")
    }

    /// The files of the tree, the one with three lines first.
    fn files(&self) -> Vec<PathBuf> {
        let dir = self.path("attestations/v1/checkout/stratum-behaviour/analyst__architect");
        let mut files: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        assert_eq!(files.len(), 2);
        files
    }

    /// What verification says: its exit code has to fit.
    fn verify(&self, args: &[&str]) -> Value {
        let args = [&["engine", "verify-attestations", "--json"], args].concat();
        let before = snapshot(self.dir.path());
        let (exit, out, err) = self.run(&args);
        assert_eq!(
            snapshot(self.dir.path()),
            before,
            "verification changed something"
        );
        let report: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        let ok = report["ok"].as_bool().unwrap();
        assert_eq!(exit, if ok { 0 } else { 1 });
        assert_eq!(ok, report["issues"].as_array().unwrap().is_empty());
        report
    }

    /// The codes found, with their surfaces.
    fn found(&self) -> Vec<(String, String)> {
        pairs(&self.verify(&[])["issues"])
    }

    fn assert_found(&self, code: &str, surface: &str) {
        let found = self.found();
        let wanted = (code.to_owned(), surface.to_owned());
        assert!(found.contains(&wanted), "{wanted:?} is not among {found:?}");
    }
}

fn pairs(list: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let list = list.as_array().unwrap();
    list.iter()
        .map(|issue| (text(&issue["code"]), text(&issue["surface"])))
        .collect()
}

fn lines(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    text.split_inclusive('\n').map(str::to_owned).collect()
}

fn write(file: &Path, lines: &[String]) {
    fs::write(file, lines.concat()).unwrap();
}

/// Names, bytes and times of everything below.
fn snapshot(dir: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            all.extend(snapshot(&path));
        } else {
            let bytes = if meta.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            all.push((path, bytes, meta.modified().unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn a_healthy_project_has_no_issues_and_no_warnings() {
    let sample = Sample::new();
    let report = sample.verify(&[]);
    assert_eq!(
        report,
        serde_json::json!({
            "ok": true,
            "tree": { "files": 2, "records": 4 },
            "flat": { "records": 4 },
            "index": { "records": 4 },
            "issues": [],
            "warnings": [],
        })
    );
    // A session changes nothing about that, and neither does a rebuild.
    sample.run(&["dispatch", "A-checkout"]);
    assert!(sample.found().is_empty());
    let status = sample.ok(&["engine", "status", "--json"]);
    let arrow = sample.ok(&["arrow", "show", "A-checkout", "--json"]);
    sample.ok(&["engine", "rebuild-index"]);
    assert!(sample.found().is_empty());
    assert_eq!(sample.ok(&["engine", "status", "--json"]), status);
    assert_eq!(sample.ok(&["arrow", "show", "A-checkout", "--json"]), arrow);
}

#[test]
fn a_changed_byte_in_any_field_is_found() {
    let sample = Sample::new();
    let file = &sample.files()[0];
    let whole = lines(file);
    let record: Value = serde_json::from_str(&whole[1]).unwrap();
    for (field, value) in record.as_object().unwrap() {
        // One byte: of the value where it has one, else of the key.
        let at = match value.as_str() {
            Some("") => whole[1].find(&format!("\"{field}\"")).unwrap() + 1,
            _ => whole[1].find(&format!("\"{field}\":")).unwrap() + field.len() + 4,
        };
        let mut changed = whole.clone();
        let mut bytes = changed[1].clone().into_bytes();
        bytes[at] = if bytes[at] == b'a' { b'b' } else { b'a' };
        changed[1] = String::from_utf8(bytes).unwrap();
        write(file, &changed);
        let found = sample.found();
        let tree = |code: &str| found.contains(&(code.to_owned(), "tree".to_owned()));
        assert!(
            tree("attestation-chain-broken") || tree("attestation-line-malformed"),
            "{field}: {found:?}"
        );
        // Once, whatever the number of surfaces that have it otherwise.
        assert_eq!(found.len(), 1, "{field}: {found:?}");
        let issue = &sample.verify(&[])["issues"][0];
        assert_eq!(issue["attestation_id"], record["attestation_id"], "{issue}");
        if field != "chain" {
            assert_eq!(
                issue["surfaces"],
                serde_json::json!(["tree", "flat", "index"])
            );
        }
    }
}

#[test]
fn removed_swapped_and_copied_lines_are_found() {
    let sample = Sample::new();
    let files = sample.files();
    let whole = lines(&files[0]);

    write(&files[0], &[whole[0].clone(), whole[2].clone()]);
    let tree = |code: &str| (code.to_owned(), "tree".to_owned());
    assert_eq!(sample.found(), [tree("attestation-chain-broken")]);
    let issue = &sample.verify(&[])["issues"][0];
    assert_eq!(
        issue["attestation_id"], "att-A-checkout-C2-v1",
        "the one that is gone"
    );
    assert_eq!(issue["line"], 2);

    write(&files[0], &whole[..2]);
    assert_eq!(sample.found(), [tree("attestation-tail-missing")]);
    let issue = &sample.verify(&[])["issues"][0];
    assert_eq!(issue["attestation_id"], "att-A-checkout-C3-v1");
    assert_eq!(
        issue["surfaces"],
        serde_json::json!(["tree", "flat", "index"])
    );
    assert!(
        issue["message"]
            .as_str()
            .unwrap()
            .contains("pass by alice@example.com")
    );
    assert!(
        issue["what_to_do"]
            .as_str()
            .unwrap()
            .contains("git checkout -- .ghyll/")
    );

    write(
        &files[0],
        &[whole[1].clone(), whole[0].clone(), whole[2].clone()],
    );
    sample.assert_found("attestation-chain-broken", "tree");

    write(&files[0], &whole);
    assert!(sample.found().is_empty());
    let other = lines(&files[1]);
    write(&files[1], &[other[0].clone(), whole[1].clone()]);
    sample.assert_found("attestation-path-mismatch", "tree");

    let half = other[0].len() / 2;
    fs::write(&files[1], format!("{}{}", other[0], &other[0][..half])).unwrap();
    assert_eq!(
        sample.found(),
        [("attestation-line-partial".to_owned(), "tree".to_owned())]
    );
}

#[test]
fn renamed_removed_and_foreign_files_are_found() {
    let sample = Sample::new();
    let files = sample.files();
    let elsewhere = files[0].with_file_name("0.jsonl");

    fs::rename(&files[0], &elsewhere).unwrap();
    let astray = ("attestation-path-mismatch".to_owned(), "tree".to_owned());
    assert_eq!(sample.found(), vec![astray; 3]);
    fs::rename(&elsewhere, &files[0]).unwrap();

    let whole = fs::read(&files[0]).unwrap();
    fs::remove_file(&files[0]).unwrap();
    let missing = ("attestation-tail-missing".to_owned(), "tree".to_owned());
    assert_eq!(sample.found(), vec![missing; 3]);
    fs::write(&files[0], whole).unwrap();

    // Nobody's records: told, left alone, and in nobody's way.
    let copy = fs::read(&files[0]).unwrap();
    for (name, bytes) in [
        ("notes.txt", "x".as_bytes()),
        ("._0.jsonl", &[0, 5, 22, 7]),
        ("0 (copy).jsonl", &copy),
        ("0.sync-conflict-20260101-101010-ABCDEFG.jsonl", &copy),
    ] {
        let place = files[0].with_file_name(name);
        fs::write(&place, bytes).unwrap();
        let report = sample.verify(&[]);
        assert_eq!(report["ok"], true, "{name}: {report}");
        let foreign = ("attestation-foreign-file".to_owned(), "tree".to_owned());
        assert_eq!(pairs(&report["warnings"]), [foreign], "{name}");
        sample.run(&["dispatch", "A-checkout"]);
        sample.ok(&["engine", "rebuild-index"]);
        assert_eq!(fs::read(&place).unwrap(), bytes, "{name}");
        fs::remove_file(place).unwrap();
    }
    fs::create_dir(files[0].with_file_name("d.jsonl")).unwrap();
    assert_eq!(sample.verify(&[])["ok"], true);
    fs::remove_dir(files[0].with_file_name("d.jsonl")).unwrap();

    let tree = sample.path("attestations");
    fs::rename(&tree, sample.path("gone")).unwrap();
    sample.assert_found("attestation-audit-lost", "tree");
    sample.refused(&["dispatch", "A-checkout"], "attestation-audit-lost");
    assert!(!tree.exists(), "nothing is created");
}

#[test]
fn the_flat_file_is_held_against_the_tree() {
    let sample = Sample::new();
    let flat = sample.flat();
    let whole = lines(&flat);
    let divergence = (
        "attestation-aggregate-divergence".to_owned(),
        "flat".to_owned(),
    );

    write(
        &flat,
        &[whole[0].clone(), whole[2].clone(), whole[3].clone()],
    );
    assert_eq!(sample.found(), std::slice::from_ref(&divergence));
    let issue = &sample.verify(&[])["issues"][0];
    assert_eq!(issue["path"], "attestations.jsonl");
    assert_eq!(issue["line"], 0);
    assert_eq!(issue["attestation_id"], "att-A-checkout-C2-v1");

    write(&flat, &[&whole[..], &whole[..1]].concat());
    assert_eq!(sample.found(), std::slice::from_ref(&divergence));
    let strange = whole[0].replace("alice@", "mallory@");
    write(&flat, &[&whole[..], &[strange]].concat());
    assert_eq!(sample.found(), std::slice::from_ref(&divergence));
    assert_eq!(sample.verify(&[])["issues"][0]["line"], 5);

    // The order of lines in it is nobody's business.
    let mut turned = whole.clone();
    turned.reverse();
    write(&flat, &turned);
    assert!(sample.found().is_empty());

    // It is caught up by the next session, in order.
    fs::remove_file(&flat).unwrap();
    let absent = ("attestation-surface-absent".to_owned(), "flat".to_owned());
    let report = sample.verify(&[]);
    assert_eq!(
        (&report["ok"], pairs(&report["warnings"])),
        (&true.into(), vec![absent])
    );
    sample.run(&["dispatch", "A-checkout"]);
    assert_eq!(lines(&flat), whole);
}

#[test]
fn the_index_is_held_against_the_tree_and_made_anew() {
    let sample = Sample::new();
    let db = sample.path("engine.db");
    let whole = fs::read(&db).unwrap();

    let conn = rusqlite::Connection::open(&db).unwrap();
    conn.execute(
        "UPDATE attestations SET op_id = 'mallory' WHERE line = 2",
        [],
    )
    .unwrap();
    drop(conn);
    let divergence = (
        "attestation-aggregate-divergence".to_owned(),
        "index".to_owned(),
    );
    assert_eq!(sample.found(), [divergence]);
    sample.ok(&["engine", "rebuild-index"]);
    assert!(sample.found().is_empty());

    fs::remove_file(&db).unwrap();
    let absent = ("attestation-surface-absent".to_owned(), "index".to_owned());
    let report = sample.verify(&[]);
    assert_eq!(
        (&report["ok"], pairs(&report["warnings"])),
        (&true.into(), vec![absent])
    );
    let status: Value = serde_json::from_str(&sample.ok(&["engine", "status", "--json"])).unwrap();
    assert_eq!(
        (&status["state"], &status["attestations"]),
        (&"missing".into(), &4.into())
    );
    let listed: Value = serde_json::from_str(&sample.ok(&["attestations", "--json"])).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 4);
    assert!(!db.exists(), "reading makes nothing");
    sample.ok(&["engine", "rebuild-index"]);
    assert!(sample.found().is_empty());

    fs::write(&db, &whole[..whole.len() / 3]).unwrap();
    sample.assert_found("engine-db-corrupt", "index");
    let err = sample.refused(&["dispatch", "A-checkout"], "engine-db-corrupt");
    assert!(err.contains("rebuild-index"), "{err}");
    // What stands nowhere else is not said to be nothing.
    for list in ["pending", "findings", "passes"] {
        let err = sample.refused(&[list], "engine-db-corrupt");
        assert!(err.contains("not known"), "{err}");
        let (_, out, _) = sample.run(&[list, "--json"]);
        assert!(serde_json::from_str::<Value>(&out).unwrap().is_array());
    }
    let out = sample.ok(&["engine", "rebuild-index"]);
    assert!(out.contains("engine.db.set-aside-1"), "{out}");
    assert_eq!(
        fs::read(sample.path("engine.db.set-aside-1")).unwrap(),
        &whole[..whole.len() / 3]
    );
    assert!(sample.found().is_empty());

    for (version, code) in [(7, "engine-db-newer"), (-1, "engine-db-version")] {
        let conn = rusqlite::Connection::open(&db).unwrap();
        conn.pragma_update(None, "user_version", version).unwrap();
        drop(conn);
        let bytes = fs::read(&db).unwrap();
        sample.assert_found(code, "index");
        sample.refused(&["dispatch", "A-checkout"], code);
        if version > 1 {
            sample.refused(&["engine", "rebuild-index"], code);
            assert_eq!(fs::read(&db).unwrap(), bytes, "a newer one is not touched");
        } else {
            sample.ok(&["engine", "rebuild-index"]);
            assert!(sample.found().is_empty());
        }
    }
}

/// Whoever can write `engine.db` can have it say anything, in tables that are
/// quite as they should be.
#[test]
fn what_the_index_is_made_to_say_is_not_believed() {
    believed_nothing(&["fail"]);
}

/// Nor where a ref has so many rounds that not all of them are looked at.
#[test]
fn what_the_index_is_made_to_say_of_a_long_history_is_not_believed() {
    believed_nothing(&["pass", "fail", "pass", "fail", "pass", "fail", "fail"]);
}

/// The sample with these verdicts on C2, after the one it has.
fn believed_nothing(verdicts: &[&str]) {
    let sample = Sample::new();
    for (place, verdict) in ["2", "3", "2-3"].iter().cycle().zip(verdicts) {
        let place = format!("src/cart.rs:{place}");
        let attest = ["attest", "att-A-checkout-C2-v1", verdict];
        sample.ok(&[&attest[..], &["--inspected", &place], &OP].concat());
    }
    let newest = verdicts.len() + 1;
    let (db, status) = (sample.path("engine.db"), ["status", "--json"]);
    let whole = fs::read(&db).unwrap();
    let truth = sample.ok(&status);
    let blocked = |said: &str| {
        let said: Value = serde_json::from_str(said).unwrap();
        said["arrows"][0]["status"] == "blocked"
    };
    assert!(blocked(&truth), "{truth}");
    let standing = "UPDATE standings SET verdict = 'pass', open_findings = 0 \
         WHERE attestation_ref = 'att-A-checkout-C2-v1'";
    let row = "UPDATE attestations SET verdict = 'pass' \
         WHERE attestation_ref = 'att-A-checkout-C2-v1'";
    for tampered in [
        standing.to_owned(),
        "UPDATE standings SET basis_streak = 3, verdict = 'insufficient-basis'".to_owned(),
        "UPDATE standings SET concurrent = 1".to_owned(),
        "DELETE FROM standings".to_owned(),
        "UPDATE findings SET status = 'resolved'".to_owned(),
        "DELETE FROM findings".to_owned(),
        "INSERT INTO standings SELECT 'att-B-v1', round, verdict, pass_id, listed_at, \
         basis_streak, routed_upstream, open_findings, concurrent FROM standings LIMIT 1"
            .to_owned(),
        row.to_owned(),
        format!("UPDATE attestations SET op_id = 'mallory' WHERE round = {newest}"),
        format!("{row}; {standing}; DELETE FROM findings"),
        format!("DELETE FROM attestations WHERE round = {newest}; {standing}"),
        format!("UPDATE attestations SET offset = 0, length = 10 WHERE round = {newest}"),
    ] {
        let conn = rusqlite::Connection::open(&db).unwrap();
        conn.execute_batch(&tampered).unwrap();
        drop(conn);
        let found = sample.verify(&[]);
        let surfaces = pairs(&found["issues"]);
        let index = surfaces.iter().all(|(code, surface)| {
            code == "attestation-aggregate-divergence" && surface == "index"
        });
        assert!(!surfaces.is_empty() && index, "{tampered}: {found:#}");
        let advice = found["issues"][0]["what_to_do"].as_str().unwrap();
        assert!(advice.contains("rebuild-index"), "{advice}");

        assert_eq!(sample.ok(&status), truth, "{tampered}");
        let (exit, checked, _) = sample.run(&["check", "--no-run", "--json"]);
        assert!(exit == 1 && blocked(&checked), "{tampered}: {checked}");
        // What is not of this grid harms nobody who works on it.
        if !tampered.contains("att-B-v1") {
            let (_, _, err) = sample.run(&status);
            assert!(
                err.contains("warning[engine-db-corrupt]"),
                "{tampered}: {err}"
            );
            let err = sample.refused(&["dispatch", "A-checkout"], "engine-db-corrupt");
            assert!(err.contains("rebuild-index"), "{err}");
        }
        sample.ok(&["engine", "rebuild-index"]);
        assert!(sample.found().is_empty(), "{tampered}");
        assert_eq!(sample.ok(&status), truth, "{tampered}");
        fs::write(&db, &whole).unwrap();
    }
}

/// A file that grew is read from where the index stopped; what was changed
/// before that is the tree's damage all the same, and not the index's.
#[test]
fn a_line_changed_in_a_file_that_grew_is_blamed_on_the_tree() {
    let sample = Sample::new();
    let file = &sample.files()[0];
    let mut bytes = fs::read(file).unwrap();
    let at = bytes.windows(8).position(|w| w == b"src/cart").unwrap();
    bytes[at] = b'z';
    bytes.extend(b"{\"attestation_id\":");
    fs::write(file, &bytes).unwrap();
    let err = sample.refused(&["status"], "attestation-audit-corrupt");
    assert!(!err.contains("engine-db"), "{err}");
    let err = sample.refused(&["dispatch", "A-checkout"], "attestation-audit-corrupt");
    assert!(err.contains(".jsonl:1"), "{err}");
}

/// What a status shows of an index may lack what that was made to hide; what
/// relies on no index does not.
#[test]
fn a_verdict_that_the_index_hides_is_found_and_blocks() {
    let sample = Sample::new();
    let attest = ["attest", "att-A-checkout-C2-v1", "fail"];
    sample.ok(&[&attest[..], &["--inspected", "src/cart.rs:2"], &OP].concat());
    let conn = rusqlite::Connection::open(sample.path("engine.db")).unwrap();
    let of = "attestation_ref = 'att-A-checkout-C2-v1'";
    conn.execute_batch(&format!(
        "UPDATE attestations SET attestation_ref = 'att-B-v1' WHERE {of} AND round = 2;
         UPDATE standings SET round = 1, verdict = 'pass', open_findings = 0,
           pass_id = (SELECT pass_id FROM attestations WHERE {of} AND round = 1),
           listed_at = (SELECT timestamp FROM attestations WHERE {of} AND round = 1)
           WHERE {of};
         DELETE FROM findings WHERE {of};"
    ))
    .unwrap();
    drop(conn);
    let found = sample.verify(&[]);
    assert!(
        pairs(&found["issues"])
            .iter()
            .any(|(code, on)| code == "attestation-aggregate-divergence" && on == "index"),
        "{found:#}"
    );
    let (exit, checked, _) = sample.run(&["check", "--no-run", "--json"]);
    let checked: Value = serde_json::from_str(&checked).unwrap();
    assert_eq!(
        (exit, &checked["arrows"][0]["status"]),
        (1, &"blocked".into())
    );
    sample.ok(&["engine", "rebuild-index"]);
    assert!(sample.found().is_empty());
}

#[test]
fn a_checkpoint_finds_what_was_rewritten_everywhere() {
    let sample = Sample::new();
    let checkpoint = sample.dir.path().join("checkpoint.json");
    fs::write(&checkpoint, sample.ok(&["engine", "checkpoint"])).unwrap();
    let with = ["--checkpoint", checkpoint.to_str().unwrap()];
    assert_eq!(sample.verify(&with)["ok"], true);

    // What comes after is fine.
    let args = ["attest", "att-A-checkout-C2-v1", "pass", OP[0], OP[1]];
    sample.ok(&args);
    assert_eq!(sample.verify(&with)["ok"], true);

    // The same project with another history, whole in itself.
    let other = Sample::new();
    let (file, theirs) = (&sample.files()[0], lines(&other.files()[0]));
    let pass = |file: &Path| file.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut chain = "0".repeat(64);
    let mut forged = Vec::new();
    for line in &theirs {
        let line = line.replace(&pass(&other.files()[0]), &pass(file));
        let object = line.split(",\"chain\"").next().unwrap().to_owned() + "}";
        chain = ghyll::audit::accepted_losses::sha256(format!("{chain}{object}").as_bytes());
        forged.push(format!(
            "{},\"chain\":\"{chain}\"}}\n",
            object.trim_end_matches('}')
        ));
    }
    // An object's last member may itself end in braces; ours is a string.
    write(file, &forged);
    fs::remove_file(sample.path("engine.db")).unwrap();
    fs::remove_file(sample.flat()).unwrap();
    sample.run(&["dispatch", "A-checkout"]);
    assert_eq!(sample.verify(&[])["ok"], true, "{:?}", sample.found());
    assert_eq!(
        pairs(&sample.verify(&with)["issues"]),
        [(
            "attestation-chain-broken".to_owned(),
            "checkpoint".to_owned()
        )]
    );

    // Lines and files gone everywhere.
    write(file, &forged[..1]);
    fs::remove_file(&sample.files()[1]).unwrap();
    fs::remove_file(sample.path("engine.db")).unwrap();
    fs::remove_file(sample.flat()).unwrap();
    sample.run(&["dispatch", "A-checkout"]);
    assert_eq!(sample.verify(&[])["ok"], true);
    let missing = (
        "attestation-tail-missing".to_owned(),
        "checkpoint".to_owned(),
    );
    assert_eq!(
        pairs(&sample.verify(&with)["issues"]),
        [missing.clone(), missing]
    );

    // A checkpoint that was itself changed, and one of a broken tree.
    let text = fs::read_to_string(&checkpoint).unwrap();
    fs::write(&checkpoint, text.replace("\"lines\":3", "\"lines\":1")).unwrap();
    let args = ["engine", "verify-attestations", with[0], with[1]];
    sample.refused(&args, "checkpoint-root-mismatch");
    fs::write(file, forged[0].replace("alice", "malic")).unwrap();
    sample.refused(&["engine", "checkpoint"], "attestation-chain-broken");
}

#[test]
fn losses_are_refused_until_they_are_accepted_and_never_forgotten() {
    type Damage = fn(&Sample);
    let cases: [(&str, Damage); 5] = [
        ("attestation-tail-missing", |s| {
            let file = &s.files()[0];
            let whole = lines(file);
            write(file, &whole[..2]);
        }),
        ("attestation-tail-missing", |s| {
            fs::remove_file(&s.files()[0]).unwrap()
        }),
        ("attestation-audit-corrupt", |s| {
            let file = &s.files()[0];
            let mut whole = lines(file);
            whole[1] = whole[1].replace("alice@", "malic@");
            write(file, &whole);
        }),
        ("attestation-chain-broken", |s| {
            // Another history of the same length, whole in itself.
            let file = &s.files()[0];
            let mut chain = "0".repeat(64);
            let mut forged = Vec::new();
            for line in lines(file) {
                let object = line.split(",\"chain\"").next().unwrap();
                let object = object.replace("alice@", "malic@");
                let bytes = format!("{chain}{object}}}");
                chain = ghyll::audit::accepted_losses::sha256(bytes.as_bytes());
                forged.push(format!("{object},\"chain\":\"{chain}\"}}\n"));
            }
            write(file, &forged);
        }),
        ("attestation-audit-lost", |s| {
            fs::rename(s.path("attestations"), s.dir.path().join("gone")).unwrap();
        }),
    ];
    for (code, damage) in cases {
        let sample = Sample::new();
        damage(&sample);
        let before = snapshot(&sample.path("."));
        let err = sample.refused(&["dispatch", "A-checkout"], code);
        let preview: Value =
            serde_json::from_str(&sample.ok(&["engine", "recover", "--json"])).unwrap();
        assert_eq!(preview["refused"]["code"], code);
        sample.refused(&["engine", "rebuild-index"], code);
        let after = snapshot(&sample.path("."));
        let but_lock = |all: &[(PathBuf, Vec<u8>, std::time::SystemTime)]| {
            all.iter()
                .filter(|(path, ..)| !path.ends_with("lock"))
                .map(|(path, bytes, _)| (path.clone(), bytes.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(but_lock(&after), but_lock(&before), "{code}: {err}");

        let args = ["engine", "rebuild-index", "--accept-loss", OP[0], OP[1]];
        sample.ok(&args);
        sample.run(&["dispatch", "A-checkout"]);
        let report = sample.verify(&[]);
        assert_eq!(report["ok"], true, "{code}: {report}");
        let warnings = report["warnings"].to_string();
        assert!(
            warnings.contains("accepted as lost by alice@example.com"),
            "{warnings}"
        );
        assert!(sample.ok(&["engine", "status"]).contains("accepted losses"));
        // And it stays so, also when everything is read again.
        sample.ok(&["engine", "rebuild-index"]);
        fs::remove_file(sample.path("engine.db")).unwrap();
        sample.run(&["dispatch", "A-checkout"]);
        assert_eq!(sample.verify(&[])["ok"], true, "{code}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_refused_at_every_level_and_never_followed() {
    use std::os::unix::fs::symlink;
    let below = "attestations/v1/checkout/stratum-behaviour/analyst__architect";
    let mut levels: Vec<String> = below
        .match_indices('/')
        .map(|(at, _)| below[..at].to_owned())
        .collect();
    levels.extend([
        below.to_owned(),
        "FILE".to_owned(),
        "attestations.jsonl".to_owned(),
    ]);
    for level in levels {
        let sample = Sample::new();
        let place = match level.as_str() {
            "FILE" => sample.files()[0].clone(),
            level => sample.path(level),
        };
        let away = sample.dir.path().join("away");
        fs::rename(&place, &away).unwrap();
        symlink(&away, &place).unwrap();
        if away.is_file() {
            // A partial tail behind the link, which nobody may cut off.
            let mut bytes = fs::read(&away).unwrap();
            bytes.extend(b"{\"att");
            fs::write(&away, bytes).unwrap();
        }
        let before = snapshot(sample.dir.path());
        let surface = if level == "attestations.jsonl" {
            "flat"
        } else {
            "tree"
        };
        sample.assert_found("attestation-symlink-refused", surface);
        if surface == "flat" {
            sample.ok(&["dispatch", "A-checkout"]);
            sample.ok(&["engine", "rebuild-index"]);
            assert_eq!(
                fs::read(&away).unwrap().last(),
                Some(&b't'),
                "left as it is"
            );
            continue;
        }
        sample.refused(&["dispatch", "A-checkout"], "attestation-symlink-refused");
        let accept = ["engine", "rebuild-index", "--accept-loss", OP[0], OP[1]];
        sample.refused(&accept, "attestation-symlink-refused");
        let after = snapshot(sample.dir.path());
        let bytes = |all: Vec<(PathBuf, Vec<u8>, _)>| {
            all.into_iter()
                .filter(|(path, ..)| !path.ends_with("lock"))
                .map(|(path, bytes, _)| (path, bytes))
                .collect::<Vec<_>>()
        };
        assert_eq!(bytes(after), bytes(before), "{level}");
    }
    let sample = Sample::new();
    for name in ["engine.db", "."] {
        let place = match name {
            "." => sample.dir.path().join(".ghyll"),
            name => sample.path(name),
        };
        let away = sample.dir.path().join("away");
        fs::rename(&place, &away).unwrap();
        symlink(&away, &place).unwrap();
        sample.refused(&["dispatch", "A-checkout"], "attestation-symlink-refused");
        fs::remove_file(&place).unwrap();
        fs::rename(&away, &place).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_or_a_directory_where_a_file_belongs_is_never_waited_on() {
    let sample = Sample::new();
    for (name, surface, found) in [
        ("attestations.jsonl", "flat", "attestation-foreign-file"),
        ("engine.db", "index", "engine-db-unusable"),
    ] {
        let place = sample.path(name);
        let whole = fs::read(&place).unwrap();
        for pipe in [true, false] {
            fs::remove_file(&place).unwrap();
            if pipe {
                assert!(
                    Command::new("mkfifo")
                        .arg(&place)
                        .status()
                        .unwrap()
                        .success()
                );
            } else {
                fs::create_dir(&place).unwrap();
            }
            let (_, out, _) = sample.run(&["engine", "verify-attestations", "--json"]);
            let report: Value = serde_json::from_str(&out).unwrap();
            let found = (found.to_owned(), surface.to_owned());
            assert!(pairs(&report["issues"]).contains(&found), "{out}");
            // The flat file is a copy: whatever stands in its place stops nothing.
            let exit = if surface == "flat" { 0 } else { 3 };
            let (refused, _, err) = sample.run(&["dispatch", "A-checkout"]);
            assert_eq!(refused, exit, "{err}");
            if surface == "index" {
                assert!(err.contains("`ghyll engine rebuild-index`"), "{err}");
                let out = sample.ok(&["engine", "rebuild-index"]);
                assert!(out.contains("engine.db.set-aside-"), "{out}");
                assert!(sample.found().is_empty());
                fs::remove_file(&place).unwrap();
            } else if pipe {
                fs::remove_file(&place).unwrap();
            } else {
                fs::remove_dir(&place).unwrap();
            }
            fs::write(&place, &whole).unwrap();
        }
    }
    assert!(sample.found().is_empty());
}

#[test]
fn a_project_from_before_the_tree_is_migrated_once() {
    let sample = Sample::new();
    let old = |line: &str| line.split(",\"chain\"").next().unwrap().to_owned() + "}\n";
    let mut legacy: Vec<String> = lines(&sample.flat()).iter().map(|l| old(l)).collect();
    let pass_less = legacy[0].replace(
        &format!("\"pass_id\":\"{}\"", {
            let record: Value = serde_json::from_str(&legacy[0]).unwrap();
            record["pass_id"].as_str().unwrap().to_owned()
        }),
        "\"pass_id\":\"\"",
    );
    legacy.insert(1, pass_less.replace("C1-v1", "C0-v1"));
    fs::remove_dir_all(sample.path("attestations")).unwrap();
    fs::remove_file(sample.path("engine.db")).unwrap();
    write(&sample.flat(), &legacy);

    assert_eq!(sample.verify(&[])["ok"], true);
    let (_, _, err) = sample.run(&["dispatch", "A-checkout"]);
    assert!(!err.contains("error["), "{err}");
    let report = sample.verify(&[]);
    assert_eq!(report["ok"], true, "{report}");
    assert_eq!(report["tree"]["records"], 4);
    assert_eq!(report["flat"]["records"], 5);
    assert_eq!(lines(&sample.flat()), legacy);
    let absent = ("attestation-chain-absent".to_owned(), "tree".to_owned());
    assert!(pairs(&report["warnings"]).contains(&absent));
    sample.run(&["dispatch", "A-checkout"]);
    assert_eq!(sample.verify(&[]), report);
}

/// The project as git has it: without what is derived.
fn clone(sample: &Sample) {
    for name in ["engine.db", "attestations.jsonl", "lock"] {
        let _ = fs::remove_file(sample.path(name));
    }
}

#[test]
fn a_fresh_clone_verifies_and_says_what_is_not_there() {
    let sample = Sample::new();
    clone(&sample);
    let report = sample.verify(&[]);
    assert_eq!(report["ok"], true, "{report}");
    let absent = |surface: &str| ("attestation-surface-absent".to_owned(), surface.to_owned());
    assert_eq!(
        pairs(&report["warnings"]),
        [absent("flat"), absent("index")]
    );
    // And finds there what it finds anywhere.
    let file = &sample.files()[0];
    let mut whole = lines(file);
    whole[1] = whole[1].replace("alice@", "malic@");
    write(file, &whole);
    let broken = ("attestation-chain-broken".to_owned(), "tree".to_owned());
    assert_eq!(sample.found(), [broken]);
}

#[test]
fn what_a_colleague_added_is_ahead_of_the_index_and_no_fault() {
    let (sample, theirs) = (Sample::new(), Sample::new());
    let file = &theirs.files()[0];
    fs::copy(
        file,
        sample.files()[0].with_file_name(file.file_name().unwrap()),
    )
    .unwrap();
    let report = sample.verify(&[]);
    assert_eq!(report["ok"], true, "{report}");
    let ahead = (
        "attestation-aggregate-divergence".to_owned(),
        "index".to_owned(),
    );
    assert_eq!(pairs(&report["warnings"]), [ahead]);
    assert_eq!(report["warnings"][0]["count"], 3);
    // The same ids in two files are two people's, not twice one's.
    sample.run(&["dispatch", "A-checkout"]);
    let report = sample.verify(&[]);
    assert_eq!(
        (&report["ok"], &report["index"]["records"]),
        (&true.into(), &7.into())
    );
}

#[test]
fn a_grid_that_is_edited_in_place_is_found_and_a_missing_one_is_named() {
    let sample = Sample::new();
    let checkpoint: Value = serde_json::from_str(&sample.ok(&["engine", "checkpoint"])).unwrap();
    let grid = sample.path("grid.v1.yaml");
    let text = fs::read_to_string(&grid).unwrap();
    let digest = ghyll::audit::accepted_losses::sha256(text.as_bytes());
    assert_eq!(checkpoint["version"], 2);
    assert_eq!(
        checkpoint["grids"],
        serde_json::json!({ "grid.v1.yaml": digest })
    );

    fs::write(
        &grid,
        text.replace("source-role: analyst", "source-role: owner"),
    )
    .unwrap();
    let changed = ("grid-changed-in-place".to_owned(), "grid".to_owned());
    let found = sample.found();
    assert!(
        !found.is_empty() && found.iter().all(|pair| *pair == changed),
        "{found:?}"
    );
    let issue = &sample.verify(&[])["issues"][0];
    assert_eq!(issue["path"], "grid.v1.yaml");
    let message = issue["message"].as_str().unwrap();
    assert!(
        message.contains("\"analyst\", the grid's is \"owner\""),
        "{message}"
    );

    // What no record says of it, only a checkpoint can tell.
    fs::write(&grid, format!("{text}# a remark\n")).unwrap();
    assert!(sample.found().is_empty());
    sample.ok(&["engine", "checkpoint", "--write"]);
    assert!(sample.found().is_empty());
    fs::write(&grid, &text).unwrap();
    let changed = ("grid-changed-in-place".to_owned(), "checkpoint".to_owned());
    assert_eq!(sample.found(), [changed]);
    fs::remove_file(sample.path("checkpoint.json")).unwrap();

    fs::remove_file(&grid).unwrap();
    let report = sample.verify(&[]);
    assert_eq!(report["ok"], true, "{report}");
    let missing = ("grid-version-missing".to_owned(), "grid".to_owned());
    assert_eq!(pairs(&report["warnings"]), [missing]);
    assert_eq!(report["warnings"][0]["path"], "grid.v1.yaml");
}

#[test]
fn the_checkpoint_a_project_keeps_is_held_against_it() {
    let sample = Sample::new();
    let printed = sample.ok(&["engine", "checkpoint", "--write"]);
    let kept = sample.path("checkpoint.json");
    let same = |a: &str, b: &str| {
        serde_json::from_str::<Value>(a).unwrap() == serde_json::from_str::<Value>(b).unwrap()
    };
    assert!(same(&printed, &fs::read_to_string(&kept).unwrap()));
    assert!(
        sample
            .ok(&["engine", "verify-attestations"])
            .contains("held against the checkpoint")
    );
    sample.ok(&["attest", "att-A-checkout-C2-v1", "pass", OP[0], OP[1]]);
    assert!(sample.found().is_empty(), "what came after is fine");

    let file = &sample.files()[0];
    let whole = lines(file);
    write(file, &whole[..2]);
    clone(&sample);
    let missing = (
        "attestation-tail-missing".to_owned(),
        "checkpoint".to_owned(),
    );
    assert_eq!(sample.found(), [missing]);
    // One that is named is held against it instead.
    let other = sample.dir.path().join("other.json");
    fs::write(&other, sample.ok(&["engine", "checkpoint"])).unwrap();
    assert_eq!(
        sample.verify(&["--checkpoint", other.to_str().unwrap()])["ok"],
        true
    );

    fs::write(&kept, "{}").unwrap();
    let malformed = ("checkpoint-malformed".to_owned(), "checkpoint".to_owned());
    assert_eq!(sample.found(), [malformed]);
}

#[test]
fn however_much_is_wrong_of_each_file_the_first_is_told_and_how_much_more() {
    let sample = Sample::new();
    let mut bytes = fs::read(sample.flat()).unwrap();
    bytes.extend(b"{}\n".repeat(5000));
    fs::write(sample.flat(), bytes).unwrap();
    let report = sample.verify(&[]);
    let issues = report["issues"].as_array().unwrap();
    assert_eq!(issues.len(), 21, "{report}");
    assert_eq!(issues[0]["line"], 5);
    let last = &issues[20];
    assert_eq!(
        (&last["message"], &last["count"]),
        (&"and 4980 more".into(), &4980.into())
    );
    assert_eq!(report["flat"]["records"], 5004);
}

#[test]
fn a_conflict_that_git_left_is_named_as_one() {
    let sample = Sample::new();
    let file = &sample.files()[0];
    let whole = lines(file);
    let text = format!(
        "{}<<<<<<< HEAD\n{}=======\n{}>>>>>>> theirs\n",
        whole[0], whole[1], whole[2]
    );
    fs::write(file, text).unwrap();
    let report = sample.verify(&[]);
    let issues = report["issues"].as_array().unwrap();
    assert_eq!(issues.len(), 1, "{report}");
    assert_eq!(issues[0]["line"], 2);
    assert!(
        issues[0]["message"].as_str().unwrap().contains("git left"),
        "{report}"
    );
    let err = sample.refused(&["dispatch", "A-checkout"], "attestation-audit-corrupt");
    assert!(err.contains("git left"), "{err}");
}

#[test]
fn an_accepted_loss_of_a_very_long_line_covers_that_line_alone() {
    let sample = Sample::new();
    let file = &sample.files()[0];
    let whole = fs::read_to_string(file).unwrap();
    let long = |byte: char| byte.to_string().repeat(3 << 20) + "\n";
    fs::write(file, format!("{whole}{}", long('x'))).unwrap();
    sample.refused(&["dispatch", "A-checkout"], "attestation-audit-corrupt");
    sample.ok(&["engine", "rebuild-index", "--accept-loss", OP[0], OP[1]]);
    assert!(sample.found().is_empty());
    sample.run(&["dispatch", "A-checkout"]);
    assert!(sample.found().is_empty());
    let loss = fs::read_to_string(sample.path("accepted-losses.jsonl")).unwrap();
    let loss: Value = serde_json::from_str(&loss).unwrap();
    assert_eq!(
        loss["sha256"],
        ghyll::audit::accepted_losses::sha256(long('x').as_bytes())
    );
    fs::write(file, format!("{whole}{}", long('y'))).unwrap();
    let malformed = ("attestation-line-malformed".to_owned(), "tree".to_owned());
    assert!(sample.found().contains(&malformed));
    clone(&sample);
    sample.refused(&["dispatch", "A-checkout"], "attestation-audit-corrupt");
}

#[test]
fn a_project_from_before_the_tree_reads_as_a_session_would_have_it() {
    let sample = Sample::new();
    let old = |line: &str| line.split(",\"chain\"").next().unwrap().to_owned() + "}\n";
    let legacy: Vec<String> = lines(&sample.flat()).iter().map(|l| old(l)).collect();
    fs::remove_dir_all(sample.path("attestations")).unwrap();
    fs::remove_file(sample.path("engine.db")).unwrap();
    write(&sample.flat(), &legacy);
    let look = |sample: &Sample| {
        let list = sample.ok(&["attestations", "--json"]);
        let arrow = sample.ok(&["arrow", "show", "A-checkout", "--json"]);
        (list, arrow)
    };
    let before = look(&sample);
    assert!(
        !sample.path("attestations").exists(),
        "reading makes nothing"
    );
    assert_eq!(
        serde_json::from_str::<Value>(&before.0)
            .unwrap()
            .as_array()
            .unwrap()
            .len(),
        4
    );
    sample.run(&["run"]);
    assert!(sample.path("attestations").exists());
    assert_eq!(look(&sample), before);
}
