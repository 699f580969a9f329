//! What goes out with the program: the manual and what a shell offers.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

fn ghyll(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ghyll"));
    command.current_dir(dir).env_remove("GHYLL_OP_ID");
    command
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("man1");
    said(ghyll(temp.path()).arg("man").arg(&dir));
    for (name, words) in [
        ("ghyll", "ghyll\\-init(1)"),
        ("ghyll-init", "\\-\\-import"),
        ("ghyll-init-attest", "\\-\\-op\\-id"),
        ("ghyll-engine-verify-attestations", "\\-\\-checkpoint"),
        ("ghyll-grid-next", "FILE"),
    ] {
        let page = fs::read_to_string(dir.join(format!("{name}.1"))).unwrap();
        assert!(page.contains(words), "{name}: {page}");
        assert!(page.contains(&format!(".TH {name} 1")), "{name}");
    }
    let first = said(ghyll(temp.path()).arg("man"));
    assert_eq!(first, fs::read_to_string(dir.join("ghyll.1")).unwrap());
}

/// What bash is offered at the last of these words.
fn offered(dir: &Path, words: &[&str]) -> Vec<String> {
    let answer = said(
        ghyll(dir)
            .env("GHYLL_COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
            .env("_CLAP_IFS", "\n")
            .args(["--", "ghyll"])
            .args(words),
    );
    answer.lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_is_offered_what_the_project_has() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    said(ghyll(dir).args(["init", "--example"]));
    // Not complete yet, which is its exit code.
    let dispatched = ghyll(dir).args(["dispatch", "A-checkout"]).output();
    assert_eq!(dispatched.unwrap().status.code(), Some(1));
    said(ghyll(dir).args([
        "attest",
        "att-A-checkout-C1-v1",
        "pass",
        "--op-id",
        "kim@example.com",
    ]));

    let arrows = offered(dir, &["dispatch", "A-"]);
    assert!(arrows.contains(&"A-checkout".to_owned()), "{arrows:?}");
    let refs = offered(dir, &["attest", ""]);
    assert!(
        refs.contains(&"att-A-checkout-C2-v1".to_owned()),
        "{refs:?}"
    );
    assert!(refs.contains(&"A-checkout/C1".to_owned()), "{refs:?}");
    assert_eq!(
        offered(dir, &["attest", "x", "ins"]),
        ["insufficient-basis"]
    );
    assert_eq!(
        offered(dir, &["attestations", "--by", "k"]),
        ["kim@example.com"]
    );

    // Nothing to offer is no fault.
    let empty = tempfile::tempdir().unwrap();
    assert!(offered(empty.path(), &["dispatch", "A-"]).is_empty());
    for (shell, words) in [
        ("bash", "complete "),
        ("zsh", "#compdef ghyll"),
        ("fish", "complete "),
    ] {
        let script = said(ghyll(dir).args(["completions", shell]));
        assert!(script.contains(words), "{shell}: {script}");
    }
}
