//! How much several processes record beside each other: on arrows of their own
//! and all on one, against one process alone.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ghyll::grid::Grid;
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::session::{Submission, Via};
use ghyll::work::Verdict;

use crate::survive::fixture;

/// What some processes came to.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// How many processes.
    pub processes: usize,
    /// Whether all of them on one arrow.
    pub on_one: bool,
    /// Verdicts recorded by all of them.
    pub records: u64,
    /// In this time.
    pub time: Duration,
    /// The fewest and the most that one of them recorded.
    pub share: (u64, u64),
    /// The longest that one verdict took.
    pub longest: Duration,
    /// Times that a process waited for the lock in vain.
    pub starved: u64,
}

impl Figure {
    /// Verdicts a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.records as f64 / self.time.as_secs_f64()
    }
}

fn grid(arrows: usize) -> String {
    let mut text = "version: 1\narrows:\n".to_owned();
    for n in 0..arrows {
        text.push_str(&format!(
            "  - {{id: A{n}, source-role: analyst, target-role: architect, stratum: s, context: c{n}, \
             clauses: [{{id: C1, concept: it holds, eval: attested}}]}}\n"
        ));
    }
    text
}

/// What one of the processes does: opens a session, waits to be told, records
/// for a while, and says what it came to.
///
/// # Errors
/// In words, whatever is refused.
pub fn record(dir: &Path, arrow: &str, millis: u64) -> Result<(), String> {
    let policy = Arc::new(Policy::load().map_err(|e| e.to_string())?);
    let session = fixture::open(dir, &policy).map_err(|e| e.to_string())?;
    session.dispatch(arrow).map_err(|e| e.to_string())?;
    println!("ready");
    let _ = std::io::stdin().lock().read_line(&mut String::new());
    let until = Instant::now() + Duration::from_millis(millis);
    let (mut records, mut starved, mut longest) = (0_u64, 0_u64, Duration::ZERO);
    let reference = format!("{arrow}/C1");
    while Instant::now() < until {
        let submission = Submission {
            verdict: Verdict::Pass,
            inspected: vec![format!("src/cart.rs:{}", records + 1)],
            via: Via::Command,
            ..Submission::default()
        };
        let began = Instant::now();
        match session.attest(&reference, &submission, &std::process::id().to_string()) {
            Ok(_) => records += 1,
            Err(e) if e.code() == "session-locked" => starved += 1,
            Err(e) => return Err(format!("{}: {e}", e.code())),
        }
        longest = longest.max(began.elapsed());
    }
    println!("{records} {starved} {}", longest.as_micros());
    Ok(())
}

/// Has so many processes record for `time`; `program` is the campaign binary.
///
/// # Panics
/// If one of them is refused anything.
pub fn measure(
    program: &Path,
    on: Option<&Path>,
    processes: usize,
    on_one: bool,
    time: Duration,
) -> Figure {
    let scratch = match on {
        Some(dir) => tempfile::tempdir_in(dir).unwrap(),
        None => tempfile::tempdir().unwrap(),
    };
    let dir = scratch.path();
    let project = Project::create(dir).unwrap();
    Grid::write(project.ghyll(), 1, &grid(processes)).unwrap();
    let mut workers: Vec<Worker> = (0..processes)
        .map(|n| Worker::start(program, dir.to_owned(), if on_one { 0 } else { n }, time))
        .collect();
    for worker in &mut workers {
        assert_eq!(worker.line(), "ready");
    }
    let began = Instant::now();
    for worker in &mut workers {
        worker.go();
    }
    let mut each = Vec::new();
    let (mut starved, mut longest) = (0, Duration::ZERO);
    for worker in &mut workers {
        let line = worker.line();
        let numbers: Vec<u64> = line.split(' ').map(|n| n.parse().unwrap()).collect();
        let [records, refused, micros] = numbers[..] else {
            panic!("{line:?}");
        };
        each.push(records);
        starved += refused;
        longest = longest.max(Duration::from_micros(micros));
    }
    let time = began.elapsed();
    drop(workers);
    let records = each.iter().sum();
    let policy = Policy::load().unwrap();
    let report = fixture::assert_clean(dir, &policy);
    assert_eq!(report.tree.records, records);
    Figure {
        processes,
        on_one,
        records,
        time,
        share: (
            each.iter().copied().min().unwrap_or(0),
            each.iter().copied().max().unwrap_or(0),
        ),
        longest,
        starved,
    }
}

struct Worker {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Worker {
    fn start(program: &Path, dir: PathBuf, arrow: usize, time: Duration) -> Self {
        let mut child = Command::new(program)
            .arg("throughput-worker")
            .arg(dir)
            .arg(format!("A{arrow}"))
            .arg(time.as_millis().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().map(Result::unwrap).unwrap_or_default()
    }

    fn go(&mut self) {
        let to = self.child.stdin.as_mut().unwrap();
        to.write_all(b"\n").unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
