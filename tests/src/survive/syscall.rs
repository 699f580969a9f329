//! The fault campaign at the system call: the real program, each command, and
//! one call to the kernel that fails.
//!
//! strace makes the n-th call of a kind fail, which the seam of the store
//! ([`super::fault`]) cannot do for SQLite, the loader of grids, checkpoints or
//! the runtime. After every fault: the command ended with a code of its own and
//! by no signal; what it acknowledged is there, what it did not is not; nothing
//! was read wrongly; and the next session starts and verifies.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::Dice;
use super::fixture::{copy, scratch, tree_lines};
use super::recover::{run, sample};

/// What a campaign came to.
#[derive(Debug, Default)]
pub struct Injected {
    /// Faults made, by command.
    pub faults: BTreeMap<&'static str, u64>,
    /// Commands that were done all the same.
    pub done: u64,
    /// Commands that were refused, with a code.
    pub refused: u64,
}

impl Injected {
    /// Faults made, all told.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.faults.values().sum()
    }
}

/// Calls, and how each may fail.
const CALLS: [(&str, &[&str]); 30] = [
    ("openat", &["EIO", "EMFILE", "EINTR", "ENOSPC"]),
    ("openat2", &["EIO", "EMFILE", "EINTR", "ENOSPC"]),
    ("read", &["EIO", "EINTR"]),
    ("pread64", &["EIO", "EINTR"]),
    ("write", &["EIO", "ENOSPC", "EINTR"]),
    ("pwrite64", &["EIO", "ENOSPC", "EINTR"]),
    ("fsync", &["EIO", "ENOSPC", "EINTR"]),
    ("fdatasync", &["EIO", "ENOSPC", "EINTR"]),
    ("syncfs", &["EIO"]),
    ("ftruncate", &["EIO", "EINTR"]),
    ("mkdir", &["EIO", "ENOSPC"]),
    ("mkdirat", &["EIO", "ENOSPC"]),
    ("rename", &["EIO", "ENOSPC"]),
    ("renameat", &["EIO", "ENOSPC"]),
    ("renameat2", &["EIO", "ENOSPC"]),
    ("unlink", &["EIO"]),
    ("unlinkat", &["EIO"]),
    ("linkat", &["EIO", "ENOSPC"]),
    ("statx", &["EIO", "ENOMEM"]),
    ("newfstatat", &["EIO"]),
    ("fstat", &["EIO"]),
    ("lseek", &["EIO"]),
    ("getdents64", &["EIO"]),
    ("fcntl", &["EINTR", "EMFILE", "ENOLCK"]),
    ("flock", &["EINTR", "ENOLCK"]),
    ("pipe2", &["EMFILE"]),
    ("socketpair", &["EMFILE"]),
    ("epoll_create1", &["EMFILE"]),
    ("eventfd2", &["EMFILE"]),
    ("clone3", &["EAGAIN", "ENOMEM"]),
];

/// What is right after a command that met with a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It makes a project; done again it is there.
    Makes,
    /// It changes the project; done again it is done.
    Changes,
    /// It records one verdict, and says so.
    Records,
    /// It only reads: what it says is right, or it does not say it.
    Reads,
}

/// A command, and on which of the projects.
struct Case {
    name: &'static str,
    args: &'static [&'static str],
    answers: &'static str,
    on: On,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum On {
    /// A directory without a project.
    Nothing,
    /// A project in which three clauses are asked.
    Asked,
    /// One with verdicts.
    Worked,
    /// One with a line that is no good record.
    Damaged,
}

const CASES: [Case; 17] = [
    case("init", &["init", "--example"], On::Nothing, Kind::Makes),
    case(
        "init attest",
        &["init", "attest", "--op-id", "al"],
        On::Asked,
        Kind::Changes,
    ),
    case(
        "attest",
        &[
            "attest",
            "att-A-checkout-C1-v1",
            "fail",
            "--inspected",
            "src/cart.rs:1",
            "--op-id",
            "al",
            "--json",
        ],
        On::Asked,
        Kind::Records,
    ),
    Case {
        answers: "p\nf\nsrc/cart.rs:1\nib\nwhat of it?\n/exit\n",
        ..case("run", &["run", "--op-id", "al"], On::Asked, Kind::Changes)
    },
    case(
        "replay",
        &["replay", "operator.rhai"],
        On::Asked,
        Kind::Changes,
    ),
    case(
        "dispatch",
        &["dispatch", "A-payment"],
        On::Worked,
        Kind::Changes,
    ),
    case(
        "rebuild-index",
        &["engine", "rebuild-index"],
        On::Worked,
        Kind::Changes,
    ),
    case(
        "accept-loss",
        &[
            "engine",
            "rebuild-index",
            "--accept-loss",
            "--op-id",
            "carol",
        ],
        On::Damaged,
        Kind::Changes,
    ),
    case(
        "checkpoint",
        &["engine", "checkpoint", "--write"],
        On::Worked,
        Kind::Changes,
    ),
    case(
        "grid next",
        &["grid", "next", "next.yaml"],
        On::Worked,
        Kind::Changes,
    ),
    case("recover", &["engine", "recover"], On::Worked, Kind::Reads),
    case("status", &["status", "--json"], On::Worked, Kind::Reads),
    case(
        "check",
        &["check", "--no-run", "--json"],
        On::Worked,
        Kind::Reads,
    ),
    case(
        "verify",
        &["engine", "verify-attestations", "--json"],
        On::Worked,
        Kind::Reads,
    ),
    case(
        "attestations",
        &["attestations", "--json"],
        On::Worked,
        Kind::Reads,
    ),
    case(
        "show",
        &["show", "A-checkout/C1", "--json"],
        On::Worked,
        Kind::Reads,
    ),
    case("pending", &["pending", "--json"], On::Worked, Kind::Reads),
];

const fn case(name: &'static str, args: &'static [&'static str], on: On, kind: Kind) -> Case {
    Case {
        name,
        args,
        answers: "",
        on,
        kind,
    }
}

const OPERATOR: &str = r#"
op_id("al");
run_arrow("A-checkout");
fn verdict(hint) { if hint.clause_id == "C2" { fail(["src/cart.rs:2"]) } else { pass() } }
"#;

/// The projects, made once and copied for each fault.
struct Projects {
    nothing: TempDir,
    asked: TempDir,
    worked: TempDir,
    damaged: TempDir,
}

impl Projects {
    fn new(program: &Path) -> Self {
        let ok = |dir: &Path, args: &[&str]| {
            let (exit, out, err) = run(program, dir, args);
            assert!(exit <= 1, "{args:?}: {out}{err}");
        };
        let nothing = scratch();
        let source = nothing.path().join("src");
        fs::create_dir(&source).unwrap();
        fs::write(source.join("cart.rs"), "line\n".repeat(9)).unwrap();
        fs::write(nothing.path().join("operator.rhai"), OPERATOR).unwrap();
        let asked = scratch();
        copy(nothing.path(), asked.path());
        ok(asked.path(), &["init", "--example"]);
        ok(asked.path(), &["dispatch", "A-checkout"]);
        let worked = sample(program);
        let grid = fs::read_to_string(worked.path().join(".ghyll/grid.v1.yaml")).unwrap();
        let next = grid.replace("Nothing in the features", "Nothing at all in the features");
        assert_ne!(grid, next);
        fs::write(worked.path().join("next.yaml"), next).unwrap();
        let damaged = scratch();
        copy(worked.path(), damaged.path());
        let tree = damaged.path().join(".ghyll/attestations");
        let file = super::fixture::files(&tree).into_keys().next().unwrap();
        let mut bytes = fs::read(&file).unwrap();
        bytes.splice(0..0, *b"no record\n");
        fs::write(&file, bytes).unwrap();
        Self {
            nothing,
            asked,
            worked,
            damaged,
        }
    }

    fn copy(&self, on: On) -> TempDir {
        let from = match on {
            On::Nothing => &self.nothing,
            On::Asked => &self.asked,
            On::Worked => &self.worked,
            On::Damaged => &self.damaged,
        };
        let dir = scratch();
        copy(from.path(), dir.path());
        dir
    }
}

/// Whether strace is here and may trace.
#[must_use]
pub fn available() -> bool {
    Command::new("strace")
        .args(["-f", "-o", "/dev/null", "-e", "trace=none", "true"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Makes at most `each` faults of every command, chosen by `seed`. `None`, with
/// the reason on standard error, where calls cannot be made to fail.
///
/// # Panics
/// With the story of each fault after which something is not as it must be.
pub fn campaign(program: &Path, each: u64, seed: u64) -> Option<Injected> {
    if !available() {
        eprintln!("no faults at the system call: strace is not here, or may not trace");
        return None;
    }
    let projects = Projects::new(program);
    let mut dice = Dice::new(seed);
    let mut total = Injected::default();
    let mut failures = Vec::new();
    for case in &CASES {
        let dir = projects.copy(case.on);
        let log = dir.path().join("strace.log");
        let whole = traced(program, dir.path(), case, &log, None);
        let clean = text(&whole.stdout);
        let mut points = points(&fs::read_to_string(&log).unwrap());
        while points.len() as u64 > each {
            points.swap_remove(dice.below(points.len() as u64) as usize);
        }
        for point in points {
            let dir = projects.copy(case.on);
            match try_one(program, dir.path(), case, &point, &clean) {
                Ok(None) => continue,
                Ok(Some(0 | 1)) => total.done += 1,
                Ok(Some(_)) => total.refused += 1,
                Err(story) => failures.push(format!("{}, {point}: {story}", case.name)),
            }
            *total.faults.entry(case.name).or_default() += 1;
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {}:\n\n{}",
        failures.len(),
        total.count(),
        failures.join("\n\n")
    );
    Some(total)
}

/// Every call of a run, with every way it may fail.
fn points(log: &str) -> Vec<String> {
    let mut counts: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        if let Some((call, _)) = rest.trim_start().split_once('(') {
            *counts.entry(call).or_default().entry(thread).or_default() += 1;
        }
    }
    let mut points = Vec::new();
    for (call, errors) in CALLS {
        let threads = counts.get(call).into_iter().flatten();
        let most = threads.map(|(_, count)| *count).max().unwrap_or(0);
        for at in 1..=most {
            for error in errors {
                points.push(format!("{call}:error={error}:when={at}"));
            }
        }
    }
    points
}

fn traced(program: &Path, dir: &Path, case: &Case, log: &Path, fault: Option<&str>) -> Output {
    let names: Vec<&str> = CALLS.iter().map(|(name, _)| *name).collect();
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(log);
    command.arg("-e").arg(match fault {
        Some(_) => "trace=none".to_owned(),
        // Those that this machine does not have are passed over.
        None => format!("trace=?{}", names.join(",?")),
    });
    if let Some(fault) = fault {
        // What is not traced is not injected either.
        let call = fault.split(':').next().unwrap_or_default();
        command.arg("-e").arg(format!("trace={call}"));
        command.arg("-e").arg(format!("inject={fault}"));
    }
    command.arg(program).arg("--dir").arg(dir).args(case.args);
    let answers = dir.join("answers");
    fs::write(&answers, case.answers).unwrap();
    command
        .current_dir(dir)
        .env_remove("GHYLL_OP_ID")
        .env("NO_COLOR", "1")
        .stdin(fs::File::open(answers).unwrap())
        .output()
        .unwrap()
}

/// Makes one fault. The command's exit code, `None` if the fault was not made.
fn try_one(
    program: &Path,
    dir: &Path,
    case: &Case,
    fault: &str,
    clean: &str,
) -> Result<Option<i32>, String> {
    let before = tree_lines(dir);
    let project = dir.join(".ghyll");
    let files = kept(&project);
    let log = dir.join("strace.log");
    let output = traced(program, dir, case, &log, Some(fault));
    let log = fs::read_to_string(&log).unwrap_or_default();
    let Some(made) = log.lines().find(|line| line.contains("(INJECTED)")) else {
        return Ok(None);
    };
    // The counter by which one thread wakes another is no file: its write fails
    // on no system, and when it comes is a matter of chance.
    if made.contains(r#""\1\0\0\0\0\0\0\0", 8)"#) {
        return Ok(None);
    }
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    if err.contains("error while loading shared libraries") || err.contains("Aborted by loader") {
        return Ok(None);
    }
    let said = format!("\n  {made}\n  {err}");
    let Some(exit) = output.status.code() else {
        return Err(format!("{}{said}", output.status));
    };
    if !matches!(exit, 0 | 1 | 3) || err.contains("fault of its own") {
        return Err(format!("exit {exit}{said}"));
    }
    // Where the very word could not be written, there is none.
    let mute = made.contains("write(1,") || made.contains("write(2,");
    if exit == 3 && !err.contains("error[") && !mute {
        return Err(format!("exit 3 and no code{said}"));
    }
    let after = tree_lines(dir);
    let news: usize =
        after.values().sum::<usize>() - before.values().sum::<usize>().min(after.values().sum());
    match case.kind {
        Kind::Reads => {
            if kept(&project) != files {
                return Err(format!("reading changed something{said}"));
            }
            // Told that the index or the tree could not be read, one is told
            // what can be said without it.
            let told = err.contains("warning[engine-db-") || out.contains("would be refused");
            if exit == 0 && !mute && !told && out != clean {
                return Err(format!("exit 0, and another answer:\n{out}{clean}{said}"));
            }
        }
        Kind::Records => {
            if exit == 0 && news != 1 {
                return Err(format!("acknowledged, and {news} records{said}"));
            }
            if exit != 0 && news != 0 {
                return Err(format!("refused, and {news} records{said}"));
            }
        }
        Kind::Makes | Kind::Changes => {}
    }
    go_on(program, dir, case, exit).map_err(|story| format!("exit {exit}, then {story}{said}"))?;
    Ok(Some(exit))
}

/// What has to go well after a fault.
fn go_on(program: &Path, dir: &Path, case: &Case, exit: i32) -> Result<(), String> {
    let must = |args: &[&str]| {
        let (exit, out, err) = run(program, dir, args);
        match exit {
            0 | 1 => Ok(out),
            _ => Err(format!("ghyll {}: exit {exit}: {err}", args.join(" "))),
        }
    };
    // Refused, it is done again, and is done; or was done and says so.
    if exit == 3 && matches!(case.kind, Kind::Makes | Kind::Changes | Kind::Records) {
        let (again, _, err) = run(program, dir, case.args);
        let there = ["project-already-initialised", "grid-unchanged"];
        let known = there.iter().any(|code| err.contains(code));
        if again > 1 && !known {
            return Err(format!("again: exit {again}: {err}"));
        }
    }
    must(&["status"])?;
    if matches!(case.on, On::Damaged) && exit != 0 {
        return Ok(());
    }
    let (started, _, err) = run(program, dir, &["run"]);
    if started != 0 {
        return Err(format!("a session: exit {started}: {err}"));
    }
    let (verified, out, err) = run(program, dir, &["engine", "verify-attestations"]);
    match verified {
        0 => Ok(()),
        _ => Err(format!("verification: exit {verified}: {out}{err}")),
    }
}

/// What a reader may not touch.
fn kept(project: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    super::fixture::files(project)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
