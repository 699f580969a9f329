//! `ghyll replay`, the program: what holds of the process, not of the library.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use ghyll_tests::runtimes::{ghyll, python, root, skip, succeed};
use serde_json::Value;
use tempfile::TempDir;

fn project() -> TempDir {
    let dir = TempDir::new().unwrap();
    succeed(
        Command::new(ghyll())
            .arg("init")
            .arg("--dir")
            .arg(dir.path()),
    );
    dir
}

fn replay(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let output = Command::new(ghyll())
        .arg("replay")
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    said(&output)
}

fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code().expect("no signal"),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Every file below `dir`, with what is in it.
fn files(dir: &Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

/// Whatever a script does, the process holds no more than 256 MiB: where more
/// is asked of the system it is refused, and then the program would abort.
#[cfg(target_os = "linux")]
#[test]
fn no_script_takes_more_memory_than_stated() {
    let dir = project();
    let big = "let s = \"x\"; for i in 0..21 { s += s; }\n";
    let each = |start: &str, end: &str, n: usize, part: &dyn Fn(usize) -> String| {
        let parts: Vec<String> = (0..n).map(part).collect();
        format!("{big}{start}{}{end}", parts.join(","))
    };
    let nested = format!(
        "fn s() {{ let s = \"x\"; for i in 0..21 {{ s += s; }} s }}\n\
         fn f(a, b) {{ b }}\nfn g(n) {{ if n == 0 {{ 0 }} else {{ {}g(n - 1){} }} }}\ng(25);",
        "f(s() + \"y\", ".repeat(12),
        ")".repeat(12)
    );
    let scripts = [
        big.to_owned() + "for i in 0..1000 { expect(true, s); }",
        big.to_owned() + "let all = []; for i in 0..1000 { all.push(pass([s + i])); }",
        big.to_owned() + "for i in 0..1000 { let a = #{}; a.pad = s + i; let f = || a; a.f = f; }",
        big.to_owned() + "for i in 0..1000 { let a = [0, s + i]; let f = || a; a[0] = f; }",
        big.to_owned() + "for i in 0..1000 { let t = s + i; let a = 0; let f = || [a, t]; a = f; }",
        big.to_owned()
            + "fn w(s) { for i in 0..9000 { this[\"k\" + i] = s; } }\n\
                          let m = #{}; m.w(s); m.to_json();",
        big.to_owned() + "let a = []; a.pad(19000, 0); for i in 0..19000 { a[i] = s; } print(a);",
        big.to_owned() + "s.split(\"\");",
        big.to_owned() + "s.to_chars();",
        each("nosuch(", ");", 1000, &|i| format!("s + \"{i}\"")),
        each("let m = #{", "};", 1000, &|i| {
            format!("k{i}: pass([s + \"{i}\"])")
        }),
        nested,
        "a();".repeat(1 << 18),
        format!("`${{{}1}}`;\nloop {{ }}", "1}${".repeat(200_000)),
    ];
    for script in scripts {
        fs::write(dir.path().join("s.rhai"), &script).unwrap();
        let output = Command::new("sh")
            .args([
                "-c",
                "ulimit -d 262144 && exec \"$0\" replay s.rhai --json --deadline-s 300",
            ])
            .arg(ghyll())
            .current_dir(dir.path())
            .output()
            .unwrap();
        let (exit, out, err) = said(&output);
        let start: String = script.chars().take(150).collect();
        assert_eq!(exit, 1, "{start}\n{err}");
        let out: Value = serde_json::from_str(&out).unwrap();
        let (code, error) = (&out["scripts"][0]["code"], &out["scripts"][0]["error"]);
        assert_eq!(code, "script-limit-exceeded", "{start}\n{error}");
        let place: Vec<_> = error.as_str().unwrap().splitn(4, ':').collect();
        assert!(place[1].parse::<u32>().is_ok() && place[2].parse::<u32>().is_ok());
    }
}

#[test]
fn scripts_go_on_after_one_that_fails_and_the_report_is_what_ci_reads() {
    let dir = project();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write(
        "a.rhai",
        "\u{feff}expect(true, \"<a> & \\\"b\\\"\\n\u{1b}[31m\");",
    );
    write("b.rhai", "expect(false, \"no\");\nnowhere();");
    write(
        "c.rhai",
        "op_id(\"c\"); run_arrow(\"A\"); expect(true, \"\");",
    );
    fs::create_dir(dir.path().join("golden")).unwrap();
    fs::write(dir.path().join("golden/none"), "").unwrap();
    let scripts = ["a.rhai", "b.rhai", "a.rhai"];
    let (exit, out, err) = replay(
        dir.path(),
        &[
            &scripts[..],
            &["--junit", "bad.xml", "--expect", "golden", "--json"],
        ]
        .concat(),
    );
    assert_eq!(exit, 1, "{err}");
    let out: Value = serde_json::from_str(&out).unwrap();
    let ok: Vec<_> = (0..3).map(|i| &out["scripts"][i]["ok"]).collect();
    assert_eq!(ok, [true, false, true]);
    let (exit, _, err) = replay(dir.path(), &["a.rhai", "--junit", "good.xml"]);
    assert_eq!(exit, 0, "{err}");
    // No session: the grid is gone.
    write(".ghyll/grid.current", "v9\n");
    let (exit, out, err) = replay(
        dir.path(),
        &["a.rhai", "none.rhai", "--junit", "refused.xml", "--json"],
    );
    assert_eq!(exit, 3, "{err}");
    let out: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(out["ok"], false);
    assert_eq!(out["scripts"][1]["code"], "script-unreadable");
    for i in 0..2 {
        let code = out["scripts"][i]["code"].as_str().unwrap();
        assert!(err.contains(&format!("error[{code}]: ")), "{err}");
    }

    let report = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    let counts = |xml: &str| {
        (
            xml.matches("<failure").count(),
            xml.matches("<error").count(),
        )
    };
    assert_eq!(counts(&report("bad.xml")), (2, 1), "the tree differs too");
    assert_eq!(counts(&report("good.xml")), (0, 0));
    assert_eq!(counts(&report("refused.xml")), (0, 2));
    let Some(python) = python() else {
        return skip("no Python to validate the reports with");
    };
    let validate = "import sys, xmlschema\n\
                    schema = xmlschema.XMLSchema(sys.argv[1])\n\
                    for report in sys.argv[2:]: schema.validate(report)\n\
                    bad = open(sys.argv[2]).read().replace('type=', 'kind=')\n\
                    assert not schema.is_valid(bad)";
    let mut check = Command::new(python);
    check
        .args(["-c", validate])
        .arg(root().join("tests/junit.xsd"));
    succeed(
        check
            .args(["bad.xml", "good.xml", "refused.xml"])
            .current_dir(dir.path()),
    );
}

#[test]
fn a_clock_behind_what_is_on_record_is_refused_and_nothing_written() {
    let dir = project();
    fs::write(
        dir.path().join("s.rhai"),
        "op_id(\"a\"); init_attest(); expect(true, \"\");",
    )
    .unwrap();
    let at = |time: &str| replay(dir.path(), &["s.rhai", "--seed", "1", "--clock", time]);
    let (exit, _, err) = at("2026-01-01T00:00:00Z");
    assert_eq!(exit, 0, "{err}");
    let before = files(dir.path());
    let (exit, out, err) = at("2026-01-01T00:00:00Z");
    assert_eq!((exit, out.as_str()), (3, ""), "{err}");
    assert!(err.starts_with("error[replay-clock-behind]: "), "{err}");
    assert_eq!(files(dir.path()), before);
    // The index is no witness: the tree is.
    fs::remove_file(dir.path().join(".ghyll/engine.db")).unwrap();
    assert_eq!(at("2025-12-31T00:00:00Z").0, 3);
    assert!(!dir.path().join(".ghyll/engine.db").exists());
    assert_eq!(at("2026-01-02T00:00:00Z").0, 0);
    assert_eq!(replay(dir.path(), &["s.rhai"]).0, 0);
}

#[test]
fn a_script_comes_from_standard_input_too() {
    let dir = project();
    fs::write(dir.path().join("s.rhai"), "\u{feff}expect(true, \"x\");").unwrap();
    let output = Command::new(ghyll())
        .args(["replay", "-", "--json"])
        .current_dir(dir.path())
        .stdin(fs::File::open(dir.path().join("s.rhai")).unwrap())
        .output()
        .unwrap();
    let (exit, out, err) = said(&output);
    assert_eq!(exit, 0, "{err}");
    let out: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(out["scripts"][0]["expectations"], 1);
    let (exit, _, err) = replay(dir.path(), &["."]);
    assert_eq!(exit, 3);
    assert!(err.starts_with("error[script-not-a-file]: "), "{err}");
}
