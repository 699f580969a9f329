//! A project where there are no locks, as on some network file systems: a
//! library in front of the system's calls refuses them all.

#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const REFUSING: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

int flock(int fd, int operation) {
    (void)fd, (void)operation;
    errno = ENOLCK;
    return -1;
}

static int call(const char *name, int fd, int command, void *argument) {
    if (command == F_SETLK || command == F_SETLKW || command == F_GETLK) {
        errno = ENOLCK;
        return -1;
    }
    int (*next)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);
    return next(fd, command, argument);
}

#define REFUSE(name) \
    int name(int fd, int command, ...) { \
        va_list rest; \
        va_start(rest, command); \
        void *argument = va_arg(rest, void *); \
        va_end(rest); \
        return call(#name, fd, command, argument); \
    }

REFUSE(fcntl)
REFUSE(fcntl64)
"#;

struct Project {
    dir: tempfile::TempDir,
    refusing: PathBuf,
}

impl Project {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (source, refusing) = (dir.path().join("locks.c"), dir.path().join("locks.so"));
        fs::write(&source, REFUSING).unwrap();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&refusing, &source])
            .status();
        assert!(built.unwrap().success());
        let project = Self { dir, refusing };
        project.says(0, &["init", "--example"]);
        project
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ghyll"));
        command
            .args(args)
            .current_dir(self.dir.path())
            .env("LD_PRELOAD", &self.refusing)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn says(&self, code: i32, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        text(&output)
    }

    /// A session that waits for an answer.
    fn session(&self) -> Child {
        let mut command = self.command(&["run"]);
        let child = command.stdin(Stdio::piped()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.alone().exists() {
            assert!(Instant::now() < deadline, "the session does not begin");
            std::thread::sleep(Duration::from_millis(10));
        }
        child
    }

    fn alone(&self) -> PathBuf {
        self.dir.path().join(".ghyll/sessions/alone")
    }

    fn attest(&self, code: i32, clause: &str) -> String {
        let place = [".ghyll/grid.v1.yaml:1", "--op-id", "ada"];
        let mut args = vec!["attest", clause, "pass", "--inspected"];
        args.extend(place);
        self.says(code, &args)
    }
}

fn text(output: &Output) -> String {
    let both = [output.stdout.clone(), output.stderr.clone()].concat();
    String::from_utf8(both).unwrap()
}

fn ends(child: Child) -> String {
    text(&child.wait_with_output().unwrap())
}

/// It is refused: who has the project, in which file, and what to do.
fn names(refused: &str, holder: &Child, file: &Path) {
    assert!(refused.contains("error[session-locked]"), "{refused}");
    for named in [&format!("pid {}", holder.id()), file.to_str().unwrap()] {
        assert!(refused.contains(named), "{refused}");
    }
    assert!(refused.contains("remove the file"), "{refused}");
}

#[test]
fn one_session_has_the_project_and_everybody_reads() {
    let project = Project::new();
    project.says(1, &["dispatch", "A-design"]);
    let mut session = project.session();
    names(
        &project.attest(3, "A-design/C1"),
        &session,
        &project.alone(),
    );
    for command in [
        &["status"][..],
        &["pending", "--json"],
        &["attestations", "--json"],
        &["engine", "verify-attestations"],
    ] {
        project.says(0, command);
    }
    let status = project.says(0, &["engine", "status"]);
    assert!(
        status.contains(&format!("pid {}", session.id())),
        "{status}"
    );
    drop(session.stdin.take());
    let said = ends(session);
    assert!(said.contains("this file system has no locks"), "{said}");
    // It has ended: the next may.
    assert!(!project.alone().exists());
    project.attest(0, "A-design/C1");
    project.says(0, &["engine", "rebuild-index"]);
    project.attest(0, "A-design/C2");
    let status = project.says(0, &["arrow", "show", "A-design"]);
    assert!(status.contains("complete"), "{status}");
    assert!(!project.alone().exists());
}

#[test]
fn a_session_told_to_end_leaves_the_project_and_one_killed_until_somebody_says_so() {
    let project = Project::new();
    project.says(1, &["dispatch", "A-design"]);
    let session = project.session();
    kill_process(Pid::from_child(&session), Signal::TERM).unwrap();
    ends(session);
    assert!(!project.alone().exists());

    let mut session = project.session();
    session.kill().unwrap();
    session.wait().unwrap();
    names(
        &project.attest(3, "A-design/C1"),
        &session,
        &project.alone(),
    );
    fs::remove_file(project.alone()).unwrap();
    project.attest(0, "A-design/C1");
    let verified = project.says(0, &["engine", "verify-attestations"]);
    assert!(verified.contains("verified: 1 record"), "{verified}");
}

#[test]
fn what_a_killed_session_left_is_nothing_where_there_are_locks() {
    let project = Project::new();
    let mut session = project.session();
    session.kill().unwrap();
    session.wait().unwrap();
    let mut dispatch = project.command(&["dispatch", "A-design"]);
    let dispatched = dispatch.env_remove("LD_PRELOAD").output().unwrap();
    assert_eq!(dispatched.status.code(), Some(1), "{dispatched:?}");
    assert!(!project.alone().exists());
}
