//! `ghyll engine …` from outside: every kind of damage is found by its right
//! code, a healthy project has none, and what is lost is gone on without only
//! when somebody says so.

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
        sample.ok(&["init"]);
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
        assert!(
            found.contains(&("attestation-aggregate-divergence".into(), "flat".into())),
            "{field}"
        );
    }
}

#[test]
fn removed_swapped_and_copied_lines_are_found() {
    let sample = Sample::new();
    let files = sample.files();
    let whole = lines(&files[0]);

    write(&files[0], &[whole[0].clone(), whole[2].clone()]);
    sample.assert_found("attestation-chain-broken", "tree");
    sample.assert_found("attestation-tail-missing", "tree");

    write(&files[0], &whole[..2]);
    sample.assert_found("attestation-tail-missing", "tree");
    sample.assert_found("attestation-aggregate-divergence", "flat");
    sample.assert_found("attestation-aggregate-divergence", "index");

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
    sample.assert_found("attestation-chain-broken", "tree");
    sample.assert_found("attestation-duplicate", "tree");

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
    sample.assert_found("attestation-path-mismatch", "tree");
    sample.assert_found("attestation-tail-missing", "tree");
    fs::rename(&elsewhere, &files[0]).unwrap();

    let whole = fs::read(&files[0]).unwrap();
    fs::remove_file(&files[0]).unwrap();
    sample.assert_found("attestation-tail-missing", "tree");
    sample.assert_found("attestation-aggregate-divergence", "flat");
    fs::write(&files[0], whole).unwrap();

    fs::write(files[0].with_file_name("notes.txt"), "x").unwrap();
    fs::create_dir(files[0].with_file_name("d.jsonl")).unwrap();
    let foreign = ("attestation-foreign-file".to_owned(), "tree".to_owned());
    assert_eq!(sample.found(), [foreign.clone(), foreign]);
    fs::remove_file(files[0].with_file_name("notes.txt")).unwrap();
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
    assert!(sample.found().contains(&divergence));
    assert_eq!(sample.verify(&[])["issues"][0]["line"], 5);

    // The order of lines in it is nobody's business.
    let mut turned = whole.clone();
    turned.reverse();
    write(&flat, &turned);
    assert!(sample.found().is_empty());

    // It is caught up by the next session, in order.
    fs::remove_file(&flat).unwrap();
    assert_eq!(sample.found().len(), 4);
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
    assert_eq!(sample.found(), [divergence.clone(), divergence.clone()]);
    sample.ok(&["engine", "rebuild-index"]);
    assert!(sample.found().is_empty());

    fs::remove_file(&db).unwrap();
    assert_eq!(sample.found(), [divergence]);
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
        chain = ghyll::losses::sha256(format!("{chain}{object}").as_bytes());
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
            let whole = lines(file);
            let object = whole[0].split(",\"chain\"").next().unwrap();
            let object = format!("{}}}", object.replace("alice@", "malic@"));
            let chain = ghyll::losses::sha256(format!("{}{object}", "0".repeat(64)).as_bytes());
            let forged = format!("{},\"chain\":\"{chain}\"}}\n", object.trim_end_matches('}'));
            let conn = rusqlite::Connection::open(s.path("engine.db")).unwrap();
            conn.execute(
                "UPDATE file_heads SET lines = 1, bytes = 0 WHERE lines = 3",
                [],
            )
            .unwrap();
            write(file, &[forged]);
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
        sample.refused(&["dispatch", "A-checkout"], "attestation-symlink-refused");
        let accept = ["engine", "rebuild-index", "--accept-loss"];
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
            assert_eq!(sample.run(&["dispatch", "A-checkout"]).0, 3);
            if pipe {
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
