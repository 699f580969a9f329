//! `docs/git.md`, as somebody would follow it: its shell steps run, and git ends
//! up with the files that its table says.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

fn sh(dir: &Path, script: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_ghyll"));
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-euc", script])
        .current_dir(dir)
        .env(
            "PATH",
            format!("{}:{path}", program.parent().unwrap().display()),
        )
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env_remove("GIT_DIR")
        .envs([
            ("GIT_AUTHOR_NAME", "kim"),
            ("GIT_AUTHOR_EMAIL", "kim@example.com"),
        ])
        .envs([
            ("GIT_COMMITTER_NAME", "kim"),
            ("GIT_COMMITTER_EMAIL", "kim@example.com"),
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}\n{said}");
    String::from_utf8(output.stdout).unwrap()
}

#[cfg(unix)]
#[test]
fn the_steps_can_be_followed_and_the_table_is_true() {
    let doc = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/git.md");
    let doc = std::fs::read_to_string(doc).unwrap();
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let steps: Vec<&str> = doc
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(steps.len() >= 3);
    for step in steps {
        sh(dir, step);
    }
    let rows = doc.lines().filter(|line| line.starts_with("| `"));
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let ignored = match cells[2] {
            "ignored" => true,
            "committed" => false,
            other => panic!("{other}"),
        };
        for name in cells[1].split(", ") {
            let name = name.trim_matches('`');
            let file = name.replace("<N>", "7").replace('*', "-wal");
            // A directory is judged by what is in it.
            let file = if file.ends_with('/') {
                format!("{file}v1/x.jsonl")
            } else {
                file
            };
            let script = format!("git check-ignore -q .ghyll/{file} && echo ignored || echo kept");
            assert_eq!(sh(dir, &script).trim() == "ignored", ignored, "{name}");
        }
    }
}
