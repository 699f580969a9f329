//! Who may write, who lives and whose it is, with processes that really do.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::files::tests::promptly;

const ROLE: &str = "GHYLL_TEST_ROLE";
const WHERE: &str = "GHYLL_TEST_WHERE";
const AT_ONCE: Duration = Duration::ZERO;

fn project() -> (tempfile::TempDir, Project) {
    let dir = tempfile::tempdir().unwrap();
    let project = Project::create(dir.path()).unwrap();
    (dir, project)
}

/// Another process: what it does is in [`work_of_another_process`].
struct Other {
    child: Child,
    said: String,
}

impl Other {
    fn start(role: &str, dir: &Path, more: &[(&str, &str)]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "project::tests::work_of_another_process",
                "--nocapture",
            ])
            .env(ROLE, role)
            .env(WHERE, dir)
            .env_remove("GHYLL_TRUST")
            .env_remove("SUDO_UID")
            .envs(more.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = lines
            .by_ref()
            .find_map(|line| Some(line.unwrap().strip_prefix("said ")?.to_owned()))
            .unwrap_or_default();
        // The rest is nobody's concern, but must find room.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, said }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn work_of_another_process() {
    let (Ok(role), Some(dir)) = (std::env::var(ROLE), std::env::var_os(WHERE)) else {
        return;
    };
    let opened = Project::open(Path::new(&dir));
    let say = |said: &str| {
        println!("\nsaid {said}");
        std::io::stdout().flush().unwrap();
    };
    let wait = || {
        let _ = std::io::stdin().lock().read_line(&mut String::new());
    };
    match role.as_str() {
        "lock" => {
            let lock = opened.unwrap().lock("holding on").unwrap();
            say("locked");
            wait();
            drop(lock);
        }
        "live" => {
            let presence = Presence::register(&opened.unwrap(), "other").unwrap();
            say("registered");
            wait();
            drop(presence);
        }
        "open" => say(opened.map_or_else(|e| e.code(), |_| "opened")),
        other => panic!("{other}"),
    }
}

#[test]
fn who_holds_the_project_is_said_and_a_dead_one_holds_nothing() {
    let (dir, project) = project();
    assert_eq!(project.locked_by(), None);
    let other = Other::start("lock", dir.path(), &[]);
    assert_eq!(other.said, "locked");
    let started = Instant::now();
    let error = project
        .lock_within("a test", Duration::from_millis(200))
        .unwrap_err();
    assert!(started.elapsed() >= Duration::from_millis(200));
    assert_eq!(error.code(), "session-locked");
    let ProjectError::Locked(Some(holder)) = &error else {
        panic!("{error}")
    };
    assert_eq!(holder.pid, other.child.id());
    assert_eq!(holder.what, "holding on");
    let since: jiff::Timestamp = holder.since.parse().unwrap();
    assert!(jiff::Timestamp::now().duration_since(since).as_secs() < 60);
    assert_eq!(project.locked_by().as_ref(), Some(holder));
    // Stopped is not dead.
    other.signal(Signal::STOP);
    assert!(project.lock_within("a test", AT_ONCE).is_err());
    other.kill();
    assert_eq!(project.locked_by(), None);
    project.lock_within("a test", AT_ONCE).unwrap();
}

#[test]
fn whoever_waits_gets_it_when_it_is_free() {
    let (dir, project) = project();
    let other = Other::start("lock", dir.path(), &[]);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let lock = project.lock("a test").unwrap();
            lock.still_ours().unwrap();
            Instant::now()
        });
        std::thread::sleep(Duration::from_millis(300));
        assert!(!waiting.is_finished());
        let ended = Instant::now();
        other.end();
        assert!(waiting.join().unwrap() >= ended);
    });
}

#[test]
fn many_who_come_again_at_once_exclude_each_other_and_none_starves() {
    let (dir, _project) = project();
    let counter = dir.path().join("counter");
    std::fs::write(&counter, "0").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let project = Project::open(dir.path()).unwrap();
                for _ in 0..40 {
                    let lock = project.lock("counting").unwrap();
                    let n: u64 = std::fs::read_to_string(&counter).unwrap().parse().unwrap();
                    std::thread::sleep(Duration::from_micros(300));
                    lock.still_ours().unwrap();
                    std::fs::write(&counter, format!("{}", n + 1)).unwrap();
                    // One who only asks disturbs nobody for long.
                    assert!(project.locked_by().is_some());
                }
            });
        }
    });
    assert_eq!(std::fs::read_to_string(&counter).unwrap(), "240");
}

#[test]
fn a_lock_file_that_lost_its_name_locks_nothing() {
    let (dir, project) = project();
    let at = project.path_of(LOCK_FILE);
    let lock = project.lock("a test").unwrap();
    lock.still_ours().unwrap();
    let content = std::fs::read(&at).unwrap();

    std::fs::remove_file(&at).unwrap();
    let error = lock.still_ours().unwrap_err();
    assert_eq!(error.code(), "session-lock-lost");
    assert!(error.to_string().contains("removed"), "{error}");

    // The same words in another file are not the same lock; and somebody else
    // may hold that one.
    std::fs::write(&at, content).unwrap();
    assert_eq!(lock.still_ours().unwrap_err().code(), "session-lock-lost");
    let other = Other::start("lock", dir.path(), &[]);
    assert_eq!(other.said, "locked");
    assert_eq!(lock.still_ours().unwrap_err().code(), "session-lock-lost");
    assert!(project.lock_within("a test", AT_ONCE).is_err());
    other.end();

    // A hard link elsewhere does not help, a rename back does.
    let lock = project.lock("a test").unwrap();
    std::fs::rename(&at, dir.path().join("elsewhere")).unwrap();
    assert!(lock.still_ours().is_err());
    std::fs::rename(dir.path().join("elsewhere"), &at).unwrap();
    lock.still_ours().unwrap();
    drop(lock);

    // The whole `.ghyll` exchanged, with a copy of everything in it.
    let lock = project.lock("a test").unwrap();
    std::fs::rename(project.path_of(""), dir.path().join("old")).unwrap();
    assert_eq!(lock.still_ours().unwrap_err().code(), "session-lock-lost");
    std::fs::create_dir(project.path_of("")).unwrap();
    assert_eq!(lock.still_ours().unwrap_err().code(), "session-lock-lost");
    drop(lock);
    assert_eq!(
        project.lock_within("a test", AT_ONCE).unwrap_err().code(),
        "session-lock-lost"
    );
}

#[test]
fn who_waits_at_a_file_that_is_exchanged_gets_the_one_with_the_name() {
    let (dir, project) = project();
    let other = Other::start("lock", dir.path(), &[]);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let lock = project.lock("a test").unwrap();
            lock.still_ours().is_ok()
        });
        std::thread::sleep(Duration::from_millis(100));
        std::fs::remove_file(project.path_of(LOCK_FILE)).unwrap();
        assert!(waiting.join().unwrap());
    });
    other.end();
}

#[test]
fn what_is_no_file_where_the_lock_belongs_is_named_and_waited_for_by_nobody() {
    let (dir, project) = project();
    let at = project.path_of(LOCK_FILE);
    type Make = fn(&Path);
    let make: [(&str, Make); 4] = [
        ("project-file-invalid", |at| {
            std::fs::create_dir(at).unwrap()
        }),
        ("attestation-symlink-refused", |at| {
            symlink("nowhere", at).unwrap()
        }),
        ("attestation-symlink-refused", |at| {
            std::fs::write(at.with_extension("x"), "").unwrap();
            symlink("lock.x", at).unwrap();
        }),
        ("project-file-invalid", |at| {
            assert!(Command::new("mkfifo").arg(at).status().unwrap().success());
        }),
    ];
    for (code, make) in make {
        make(&at);
        let root = dir.path().to_owned();
        let (found, by) = promptly(move || {
            let project = Project::open(&root).unwrap();
            let error = project.lock("a test").unwrap_err();
            (error.code(), project.locked_by())
        });
        assert_eq!((found, by), (code, None));
        if at.is_dir() {
            std::fs::remove_dir(&at).unwrap();
        } else {
            std::fs::remove_file(&at).unwrap();
        }
    }
    assert!(!project.path_of("nowhere").exists());
    // Whatever is written in it.
    for content in ["", "123\n", "no json", "{\"pid\":\"x\"}\n", "\0\0"] {
        std::fs::write(&at, content).unwrap();
        let lock = project.lock_within("a test", AT_ONCE).unwrap();
        assert_eq!(project.locked_by().unwrap().pid, std::process::id());
        drop(lock);
    }
    let lock = project.lock("a test").unwrap();
    std::fs::write(&at, "garbage").unwrap();
    let error = project.lock_within("a test", AT_ONCE).unwrap_err();
    assert!(error.to_string().contains("does not say who"), "{error}");
    drop(lock);
}

#[test]
fn what_is_said_of_a_holder_has_an_end() {
    let (_dir, project) = project();
    let lock = project.lock(&"x\n\"".repeat(10_000)).unwrap();
    let holder = project.locked_by().unwrap();
    assert_eq!(holder.pid, std::process::id());
    assert_eq!(holder.what.chars().count(), 200);
    drop(lock);
    // What a longer one wrote before is gone.
    let lock = project.lock("short").unwrap();
    let text = std::fs::read_to_string(project.path_of(LOCK_FILE)).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(
        text.starts_with("{\"pid\":") && text.ends_with("}\n"),
        "{text}"
    );
    drop(lock);
}

#[test]
fn the_living_are_told_from_the_dead_by_their_lock_alone() {
    let (dir, project) = project();
    let alive = |id: &str| Presence::is_alive(&project, id).unwrap();
    assert!(!alive("other"), "nobody ever registered");
    let other = Other::start("live", dir.path(), &[]);
    assert_eq!(other.said, "registered");
    assert!(alive("other"));
    other.signal(Signal::STOP);
    assert!(alive("other"), "stopped is not dead");
    let lock = project.lock("a test").unwrap();
    assert_eq!(
        Presence::sweep(&project, &lock).unwrap(),
        Vec::<String>::new()
    );
    assert!(alive("other"));

    // A project that was copied meanwhile has nobody living in it.
    let copy = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(copy.path().join(".ghyll/sessions")).unwrap();
    let file = "sessions/other";
    std::fs::copy(project.path_of(file), copy.path().join(".ghyll").join(file)).unwrap();
    let copied = Project::open(copy.path()).unwrap();
    assert!(!Presence::is_alive(&copied, "other").unwrap());

    other.kill();
    assert!(
        project.path_of(file).exists(),
        "killed, it took nothing away"
    );
    assert!(!alive("other"));
    assert_eq!(Presence::sweep(&project, &lock).unwrap(), ["other"]);
    assert!(!project.path_of(file).exists());
}

#[test]
fn a_session_that_ends_leaves_no_file_and_its_id_is_not_given_twice() {
    let (_dir, project) = project();
    let one = Presence::register(&project, "one").unwrap();
    assert_eq!(one.id(), "one");
    one.still_ours().unwrap();
    assert!(
        Presence::is_alive(&project, "one").unwrap(),
        "also to itself"
    );
    let again = Presence::register(&project, "one").unwrap_err();
    assert_eq!(again.code(), "session-id-invalid");
    let two = Presence::register(&project, "two").unwrap();
    drop(one);
    assert!(!project.path_of("sessions/one").exists());
    assert!(Presence::is_alive(&project, "two").unwrap());
    // Restored from a copy: another file, which nobody holds.
    std::fs::remove_file(project.path_of("sessions/two")).unwrap();
    assert_eq!(two.still_ours().unwrap_err().code(), "session-lock-lost");
    std::fs::write(project.path_of("sessions/two"), "").unwrap();
    assert_eq!(two.still_ours().unwrap_err().code(), "session-lock-lost");
    assert!(!Presence::is_alive(&project, "two").unwrap());
    drop(two);
    assert!(
        project.path_of("sessions/two").exists(),
        "it was not ours to remove"
    );
    for id in ["", "a/b", "..", "a.b", &"x".repeat(65)] {
        assert_eq!(
            Presence::is_alive(&project, id).unwrap_err().code(),
            "session-id-invalid"
        );
        assert!(Presence::register(&project, id).is_err());
    }
}

#[test]
fn what_is_no_file_among_the_sessions_is_named_and_left() {
    let (dir, project) = project();
    let sessions = project.path_of(SESSIONS_DIR);
    std::fs::create_dir(&sessions).unwrap();
    std::fs::create_dir(sessions.join("dir")).unwrap();
    symlink("nowhere", sessions.join("link")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(sessions.join("pipe"))
            .status()
            .unwrap()
            .success()
    );
    std::fs::write(sessions.join("dead"), "").unwrap();
    std::fs::write(sessions.join("._dead"), "").unwrap();
    let root = dir.path().to_owned();
    let (codes, swept) = promptly(move || {
        let project = Project::open(&root).unwrap();
        let codes = ["dir", "link", "pipe"].map(|id| {
            let asked = Presence::is_alive(&project, id).unwrap_err().code();
            assert!(Presence::register(&project, id).is_err());
            asked
        });
        let lock = project.lock("a test").unwrap();
        (codes, Presence::sweep(&project, &lock).unwrap())
    });
    assert_eq!(
        codes,
        [
            "project-file-invalid",
            "attestation-symlink-refused",
            "project-file-invalid"
        ]
    );
    assert_eq!(swept, ["dead"]);
    assert_eq!(std::fs::read_dir(&sessions).unwrap().count(), 4);

    std::fs::remove_dir_all(&sessions).unwrap();
    std::fs::write(&sessions, "").unwrap();
    let error = Presence::register(&project, "x").unwrap_err();
    assert_eq!(error.code(), "project-file-invalid");
    std::fs::remove_file(&sessions).unwrap();
    symlink(dir.path(), &sessions).unwrap();
    let error = Presence::register(&project, "x").unwrap_err();
    assert_eq!(error.code(), "attestation-symlink-refused");
    assert!(!dir.path().join("x").exists());
}

#[test]
fn many_register_and_sweep_at_once_and_nobody_living_is_swept() {
    let (dir, project) = project();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let dir = dir.path();
            scope.spawn(move || {
                let project = Project::open(dir).unwrap();
                for m in 0..30 {
                    let id = format!("{n}-{m}");
                    let presence = Presence::register(&project, &id).unwrap();
                    assert!(Presence::is_alive(&project, &id).unwrap());
                    presence.still_ours().unwrap();
                }
            });
        }
        for _ in 0..60 {
            let lock = project.lock("sweeping").unwrap();
            Presence::sweep(&project, &lock).unwrap();
        }
    });
}

#[test]
fn a_project_of_another_user_is_opened_only_if_it_is_trusted() {
    // Only root can give a directory away.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (dir, project) = project();
    let open = |more: &[(&str, &str)]| Other::start("open", dir.path(), more).said.clone();
    assert_eq!(open(&[]), "opened");
    std::os::unix::fs::chown(project.path_of(""), Some(4242), None).unwrap();
    assert_eq!(open(&[]), "project-owner-untrusted");
    let root = project.root().to_str().unwrap();
    assert_eq!(
        open(&[("GHYLL_TRUST", "/nowhere")]),
        "project-owner-untrusted"
    );
    assert_eq!(open(&[("GHYLL_TRUST", root)]), "opened");
    assert_eq!(open(&[("GHYLL_TRUST", "*")]), "opened");
    assert_eq!(open(&[("SUDO_UID", "4242")]), "opened");
    assert_eq!(open(&[("SUDO_UID", "4243")]), "project-owner-untrusted");
}

#[test]
fn where_a_project_was_looked_for_is_said_as_it_was() {
    let (dir, _project) = project();
    let sub = dir.path().join("sub");
    std::fs::create_dir(&sub).unwrap();
    for dir in [sub, PathBuf::from("/no/such")] {
        let error = Project::find(Some(&dir)).unwrap_err();
        assert_eq!(error.code(), "project-not-found");
        assert!(!error.to_string().contains("parent"), "{error}");
    }
    assert!(
        ProjectError::NotFoundAbove("/x".into())
            .to_string()
            .contains("parent")
    );
    let linked = dir.path().join("linked");
    std::fs::create_dir(&linked).unwrap();
    symlink(dir.path().join(GHYLL_DIR), linked.join(GHYLL_DIR)).unwrap();
    let error = Project::open(&linked).unwrap_err();
    assert_eq!(error.code(), "attestation-symlink-refused");
    let initialised = Project::create(dir.path()).unwrap();
    std::fs::write(initialised.path_of("grid.current"), "v1\n").unwrap();
    let error = Project::create(dir.path()).unwrap_err();
    assert_eq!(error.code(), "project-already-initialised");
}
