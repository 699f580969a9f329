//! The shell blocks of a document, run as somebody would who follows it, and
//! what they print held against what the document shows.
//!
//! Each ```` ```sh ```` block runs where the one before it ended; a
//! ```` ```text ```` block right after it is what it prints, both streams
//! together. A comment in front of a block says what a reader is told in words:
//! `<!-- exit 1 -->`, `<!-- exits 0 1 -->` for each line of it, `<!-- typed`, then the lines typed into it, then `-->`. A
//! block that begins with cargo builds ghyll, and is not run. Times, ids and digests differ from run to run and
//! are compared as such.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::document::{Block, blocks, read, root, writing};

/// A block to be run.
#[derive(Debug)]
struct Step {
    block: Block,
    /// What is typed into it.
    typed: String,
    exit: i32,
    /// What it prints, where the document shows that.
    shown: Option<Block>,
}

/// The steps of a document, in order.
fn steps(text: &str) -> Vec<Step> {
    let lines: Vec<&str> = text.lines().collect();
    let all = blocks(text);
    let mut steps = Vec::new();
    for (at, block) in all.iter().enumerate() {
        if block.language != "sh" || block.text.starts_with("cargo ") {
            continue;
        }
        let mut step = Step {
            block: block.clone(),
            typed: String::new(),
            exit: 0,
            shown: None,
        };
        let mut said = comment(&lines[..block.line - 1]);
        let each = said.first().and_then(|line| line.strip_prefix("exits "));
        if let Some(each) = each {
            let codes: Vec<i32> = each.split(' ').map(|code| code.parse().unwrap()).collect();
            assert_eq!(
                codes.len(),
                block.text.lines().count(),
                "line {}",
                block.line
            );
            steps.extend(block.text.lines().zip(codes).map(|(line, exit)| Step {
                block: Block {
                    text: line.to_owned(),
                    ..block.clone()
                },
                typed: String::new(),
                exit,
                shown: None,
            }));
            continue;
        }
        while let Some(first) = said.first() {
            match (first.strip_prefix("exit "), first.as_str()) {
                (Some(code), _) => step.exit = code.parse().unwrap(),
                (None, "typed") => {
                    for line in said.drain(..).skip(1) {
                        let _ = writeln!(step.typed, "{line}");
                    }
                    break;
                }
                (None, other) => panic!("line {}: {other:?} is no remark", block.line),
            }
            said.remove(0);
        }
        // Only blanks lie between a block and what it prints.
        let end = block.line + block.text.lines().count() + 1;
        step.shown = all
            .get(at + 1)
            .filter(|next| next.language == "text")
            .filter(|next| lines[end..next.line - 1].iter().all(|l| l.is_empty()))
            .cloned();
        steps.push(step);
    }
    steps
}

/// The lines of the comment that ends right before a block.
fn comment(before: &[&str]) -> Vec<String> {
    if !before.last().is_some_and(|line| line.ends_with("-->")) {
        return Vec::new();
    }
    let start = before.iter().rposition(|line| line.starts_with("<!--"));
    let text = before[start.unwrap()..].join("\n");
    let text = text.trim_start_matches("<!--").trim_end_matches("-->");
    text.trim().lines().map(str::to_owned).collect()
}

/// A home directory of nobody's, in which steps run.
struct Sandbox {
    home: tempfile::TempDir,
    /// Where the next step runs.
    at: PathBuf,
}

impl Sandbox {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let config = "[user]\n\tname = Kim\n\temail = kim@example.com\n\
                      [init]\n\tdefaultBranch = main\n";
        std::fs::write(home.path().join(".gitconfig"), config).unwrap();
        let at = home.path().canonicalize().unwrap();
        Self { home, at }
    }

    /// Runs a script; its exit status, and what it printed.
    fn run(&mut self, script: &str, typed: &str) -> (i32, String) {
        let home = self.home.path().canonicalize().unwrap();
        let (input, place) = (home.join(".input"), home.join(".place"));
        std::fs::write(&input, typed).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_ghyll")).parent().unwrap();
        let script = format!("exec 2>&1\ntrap 'pwd > \"$HOME/.place\"' EXIT\n{script}");
        let mut command = Command::new("sh");
        command
            .args(["-euc", &script])
            .current_dir(&self.at)
            .env_clear()
            .env(
                "PATH",
                format!("{}:{}", program.display(), std::env::var("PATH").unwrap()),
            )
            .env("HOME", &home)
            .env("LC_ALL", "C.UTF-8")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::from(std::fs::File::open(&input).unwrap()));
        let output = command.output().unwrap();
        let place = std::fs::read_to_string(place).unwrap();
        self.at = PathBuf::from(place.trim_end());
        let said = String::from_utf8(output.stdout).unwrap();
        let said = said.replace(home.to_str().unwrap(), "~");
        (output.status.code().unwrap(), said)
    }
}

/// A text without what differs from run to run, and without its alignment.
fn the_same_every_time(text: &str) -> String {
    let mut same = String::new();
    let mut word = String::new();
    for c in text.trim_end().chars().chain(['\n']) {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.') {
            word.push(c);
            continue;
        }
        let time = word.len() >= 20 && word.contains('T') && word.ends_with('Z');
        if time {
            same.push_str("<differs>");
        } else {
            for part in word.split_inclusive(['.', ':']) {
                let bare = part.trim_end_matches(['.', ':']);
                let hex = bare.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
                let digits = bare.bytes().any(|b| b.is_ascii_digit());
                match hex && digits && bare.len() >= 8 {
                    true => same.push_str("<differs>"),
                    false => same.push_str(bare),
                }
                same.push_str(&part[bare.len()..]);
            }
        }
        word.clear();
        // Columns are as wide as what differs.
        if c != ' ' || !same.ends_with(' ') {
            same.push(c);
        }
    }
    let mut same = same.replace(" \n", "\n").replace("just now", "<age>");
    // A machine that is busy takes minutes.
    for n in (1..60).rev() {
        let s = if n == 1 { "" } else { "s" };
        same = same.replace(&format!("{n} minute{s} ago"), "<age>");
    }
    same
}

/// Runs the steps of a document; with `GHYLL_WRITE_DOCS` puts what they print
/// into it.
fn follow(path: &str) {
    let text = read(path);
    let mut sandbox = Sandbox::new();
    let mut printed: Vec<(Block, String)> = Vec::new();
    let steps = steps(&text);
    assert!(steps.len() > 2, "{path}: only {} steps", steps.len());
    for step in steps {
        let (exit, said) = sandbox.run(&step.block.text, &step.typed);
        let place = format!("{path}:{}", step.block.line);
        assert_eq!(exit, step.exit, "{place}:\n{said}");
        let Some(shown) = step.shown else {
            continue;
        };
        if the_same_every_time(&said) == the_same_every_time(&shown.text) {
            continue;
        }
        assert!(
            writing(),
            "{place} prints something else than is shown \
             (GHYLL_WRITE_DOCS=1 cargo test -p ghyll --test docs writes it):\n{said}"
        );
        printed.push((shown, said));
    }
    let mut lines: Vec<&str> = text.lines().collect();
    for (shown, said) in printed.iter().rev() {
        let first = shown.line;
        let last = first + shown.text.lines().count();
        lines.splice(first..last, said.trim_end().lines());
    }
    if !printed.is_empty() {
        std::fs::write(root().join(path), lines.join("\n") + "\n").unwrap();
    }
}

#[test]
fn the_tutorial_can_be_followed_and_prints_what_it_shows() {
    follow("docs/tutorial.md");
}

#[test]
fn the_readme_can_be_followed() {
    follow("README.md");
}

#[test]
fn steps_are_found_with_what_is_typed_and_what_is_printed() {
    let text = "```sh\ncargo install\n```\n\n<!-- exit 1 -->\n```sh\nb\n```\n\n\
                ```text\nB\n```\n<!-- typed\np\n/exit\n-->\n```sh\nc\n```\nthen\n```text\nno\n```\n";
    let found = steps(text);
    assert_eq!(found.len(), 2);
    assert_eq!(
        (
            found[0].exit,
            found[0].shown.as_ref().unwrap().text.as_str()
        ),
        (1, "B\n")
    );
    assert_eq!(
        (found[1].typed.as_str(), found[1].shown.is_none()),
        ("p\n/exit\n", true)
    );
}

#[test]
fn only_what_differs_from_run_to_run_is_let_pass() {
    let same = the_same_every_time;
    let (a, b) = (
        "019b76da-a801-7838-a582-2a6f9e62da21",
        "019b76da-a802-7838-a582-2a6f9e62da29",
    );
    assert_eq!(
        same(&format!("pass {a}   2")),
        same(&format!("pass {b} 2\n"))
    );
    assert_eq!(
        same("at 2026-01-01T00:00:00Z, 1a2b3c4d"),
        same("at 2027-01-01T00:00:01Z, 55555555")
    );
    assert_eq!(same(&format!("{a}.jsonl:2")), same(&format!("{b}.jsonl:2")));
    assert_ne!(same(&format!("{a}.jsonl:2")), same(&format!("{a}.jsonl:3")));
    assert_eq!(same("alice, 12 minutes ago"), same("alice, just now"));
    assert_ne!(same("round 1"), same("round 2"));
    assert_ne!(same("12 files"), same("13 files"));
    assert_ne!(same("a\nb"), same("a b"));
}
