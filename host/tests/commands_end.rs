//! Whatever ends ghyll while a machine clause's command runs: nothing of the
//! command runs on, and the project is there for the next one.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const GHYLL: &str = env!("CARGO_BIN_EXE_ghyll");

/// Of which every process of a test can be told: it is in their environment.
fn marker() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("GHYLL_TEST_MARKER={}-{count}-end", std::process::id())
}

/// The processes that have `marker` in their environment, with their command
/// lines; zombies have none.
fn alive(marker: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|process| {
            let environment = std::fs::read(process.path().join("environ"));
            environment
                .is_ok_and(|all| all.split(|byte| *byte == 0).any(|v| v == marker.as_bytes()))
        })
        .map(|process| {
            let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ")
        })
        .collect()
}

fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !so() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A project with one arrow, A, and one machine clause, M.
fn project(run: &[&str], timeout: u32) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let run = serde_json::to_string(run).unwrap();
    let grid = format!(
        "version: 1\narrows:\n  - id: A\n    source-role: analyst\n    target-role: architect\n    \
         stratum: L0\n    context: shop\n    clauses:\n      - id: M\n        concept: it holds\n        \
         eval: machine\n        run: {run}\n        timeout-s: {timeout}\n"
    );
    let file = dir.path().join("grid.yaml");
    std::fs::write(&file, grid).unwrap();
    let (code, said) = ghyll(dir.path(), &["init", "--grid", "grid.yaml"]);
    assert_eq!(code, Some(0), "{said}");
    dir
}

/// All that a command says, and how it exits.
fn ghyll(dir: &Path, args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(GHYLL).args(args).current_dir(dir).output();
    let output = output.unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

fn start(dir: &Path, args: &[&str], marker: &str) -> Child {
    let (name, value) = marker.split_once('=').unwrap();
    Command::new(GHYLL)
        .args(args)
        .current_dir(dir)
        .env(name, value)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Ends `child` with `signal` once `count` processes run `sleep`; says how it
/// ended and what it complained of.
fn ended_by(mut child: Child, signal: Signal, marker: &str, count: usize) -> (ExitStatus, String) {
    let sleeping = || {
        alive(marker)
            .iter()
            .filter(|line| line.starts_with("sleep"))
            .count()
    };
    wait_until("the command runs", || sleeping() == count);
    kill_process(Pid::from_child(&child), signal).unwrap();
    let status = child.wait().unwrap();
    if signal == Signal::KILL {
        wait_until("the guard ends it", || alive(marker).is_empty());
    }
    assert_eq!(alive(marker), [""; 0], "{signal:?}");
    let mut said = String::new();
    let mut stderr: ChildStderr = child.stderr.take().unwrap();
    std::io::Read::read_to_string(&mut stderr, &mut said).unwrap();
    (status, said)
}

/// The project is free and sound, and nothing was decided.
fn undecided(dir: &Path) {
    let (_, said) = ghyll(dir, &["arrow", "show", "A", "--json"]);
    assert!(
        said.contains(r#""status":"unevaluated""#) || said.contains(r#""status": "unevaluated""#),
        "{said}"
    );
    let (code, said) = ghyll(dir, &["engine", "recover"]);
    assert_eq!(code, Some(0), "{said}");
}

/// Two that ignore what they are told, one out of its parent's sight, one that
/// has moved to a group of its own.
const STUBBORN: &str = "trap '' TERM INT HUP; (sleep 301 &) ; timeout 302 sleep 302 & sleep 303";
const SLEEPERS: usize = 3;

#[test]
fn dispatch() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let dir = project(&["sh", "-c", STUBBORN], 600);
        let marker = marker();
        let child = start(dir.path(), &["dispatch", "A"], &marker);
        let (status, said) = ended_by(child, signal, &marker, SLEEPERS);
        if signal == Signal::KILL {
            assert_eq!(status.signal(), Some(9));
        } else {
            assert_eq!(status.code(), Some(128 + signal.as_raw()), "{said}");
            assert!(
                said.contains("error[dispatch-cancelled]: A, M: sh was ended"),
                "{said}"
            );
        }
        undecided(dir.path());
    }
}

#[test]
fn a_session_on_pipes() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let dir = project(&["sh", "-c", STUBBORN], 600);
        let marker = marker();
        let mut child = start(dir.path(), &["run", "--op-id", "alice"], &marker);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"/run-arrow A\n").unwrap();
        let (status, said) = ended_by(child, signal, &marker, SLEEPERS);
        if signal != Signal::KILL {
            assert_eq!(status.code(), Some(128 + signal.as_raw()), "{said}");
            assert!(
                said.contains("ghyll: left on a signal; what is pending"),
                "{said}"
            );
        }
        undecided(dir.path());
    }
}

#[test]
fn a_script() {
    for signal in [Signal::TERM, Signal::KILL] {
        let dir = project(&["sh", "-c", STUBBORN], 600);
        let script = dir.path().join("run.rhai");
        std::fs::write(&script, "try { run_arrow(\"A\") } catch { } loop { }").unwrap();
        let marker = marker();
        let child = start(dir.path(), &["replay", "run.rhai"], &marker);
        let (status, said) = ended_by(child, signal, &marker, SLEEPERS);
        if signal == Signal::TERM {
            assert_eq!(status.code(), Some(143), "{said}");
        }
        undecided(dir.path());
    }
}

#[test]
fn time_that_is_up_ends_all_of_it_and_decides() {
    let dir = project(&["sh", "-c", STUBBORN], 1);
    let marker = marker();
    let child = start(dir.path(), &["dispatch", "A"], &marker);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1));
    assert_eq!(alive(&marker), [""; 0]);
    let (_, said) = ghyll(dir.path(), &["arrow", "show", "A"]);
    assert!(said.contains("blocked"), "{said}");
}

#[test]
fn a_guard_that_is_killed_takes_no_command_with_it_into_the_record() {
    let dir = project(&["sh", "-c", "sleep 0.5; kill -9 $PPID; sleep 304"], 600);
    let marker = marker();
    let child = start(dir.path(), &["dispatch", "A"], &marker);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("error[machine-clause-unrunnable]: A, M: sh could not be run"),
        "{said}"
    );
    wait_until("all of it ends", || alive(&marker).is_empty());
    undecided(dir.path());
}

/// With ever more file handles: it is refused with a code, or it is done, and
/// never is the want of them the work's fault.
#[test]
fn want_of_file_handles_decides_nothing() {
    let mut done = 0;
    for handles in 3..40 {
        let dir = project(&["true"], 60);
        let line = format!("ulimit -n {handles}; exec \"$0\" dispatch A");
        let output = Command::new("sh")
            .args(["-c", &line, GHYLL])
            .current_dir(dir.path())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!said.contains("panicked"), "{handles}: {said}");
        let (_, shown) = ghyll(dir.path(), &["arrow", "show", "A"]);
        assert!(!shown.contains("blocked"), "{handles}: {said}{shown}");
        match output.status.code() {
            Some(0) => done += 1,
            Some(3) => assert!(said.contains("error["), "{handles}: {said}"),
            other => assert_eq!(other, Some(127), "{handles}: not even loaded: {said}"),
        }
        if done == 2 {
            return;
        }
    }
    panic!("never done");
}

#[test]
fn limits_are_told_with_a_code() {
    let dir = project(&["true"], 60);
    // A write beyond it fails, and ghyll lives to say so.
    let line = "ulimit -f 0; exec \"$0\" dispatch A";
    let output = Command::new("sh")
        .args(["-c", line, GHYLL])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("error["), "{said}");
    std::fs::write(
        dir.path().join("long.rhai"),
        "let a = []; a.pad(10000, 0); loop { a.index_of(1); }",
    )
    .unwrap();
    let line = "ulimit -S -t 1; exec \"$0\" replay long.rhai --deadline-s 60";
    let output = Command::new("sh")
        .args(["-c", line, GHYLL])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("error[cpu-time-exceeded]"), "{said}");
}
