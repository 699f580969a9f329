//! Measures ghyll beside its peers and prints the table of `docs/performance.md`.
//!
//! ```sh
//! cargo run --release -p ghyll-tests --bin bench -- --sizes 1k,10k,100k,1M
//! ```
//!
//! Every row is a pair: what ghyll does and what the best known program for
//! the bare work of it does, on the same project, in turn, several times; the
//! median of each is told, and how many times the second the first is. A ratio
//! says something on any machine, also on one that others use meanwhile; a
//! number of milliseconds says something only beside its row.

mod calls;
mod measured;
mod peers;
mod programs;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use ghyll::policy::Policy;
use ghyll_tests::runtimes;
use ghyll_tests::scale::{Plan, make};

use table::Table;

const USAGE: &str = "bench [--sizes 1k,10k,100k,1M] [--only WORD] [--dir DIR] [--reps N] \
    [--seed N] [--no-git] [--no-calls]";

/// What is measured, and where.
pub struct Bench {
    /// The program.
    pub ghyll: PathBuf,
    /// The project.
    pub dir: PathBuf,
    /// What it is like.
    pub plan: Plan,
    /// How often each is run.
    pub reps: usize,
    /// Only rows with this word in their name.
    pub only: String,
    /// Whether the rows beside git are measured.
    pub git: bool,
    /// Asked in this process.
    pub policy: Arc<Policy>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some((word, rest)) = args.split_first() {
        match word.as_str() {
            "measured" => return measured::serve(rest),
            "peer-index" => return peers::index(rest),
            _ => {}
        }
    }
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            eprintln!("{words}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<(), String> {
    let (mut sizes, mut only, mut dir) = ("1k,10k".to_owned(), String::new(), None);
    let (mut reps, mut seed, mut git, mut calls) = (None, 1, true, true);
    let mut args = args.iter();
    while let Some(name) = args.next() {
        let mut value = || args.next().cloned().ok_or(USAGE);
        match name.as_str() {
            "--sizes" => sizes = value()?,
            "--only" => only = value()?,
            "--dir" => dir = Some(PathBuf::from(value()?)),
            "--reps" => reps = Some(value()?.parse().map_err(|_| USAGE)?),
            "--seed" => seed = value()?.parse().map_err(|_| USAGE)?,
            "--no-git" => git = false,
            "--no-calls" => calls = false,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let own;
    let dir = match &dir {
        Some(dir) => dir.as_path(),
        None => {
            own = tempfile::tempdir().map_err(|e| e.to_string())?;
            own.path()
        }
    };
    let ghyll = runtimes::ghyll();
    let policy = Arc::new(Policy::load().map_err(|e| e.to_string())?);
    table::machine();
    let mut table = Table::default();
    for size in sizes.split(',') {
        let records = number(size).ok_or(USAGE)?;
        let bench = Bench {
            ghyll: ghyll.clone(),
            dir: dir.join(size),
            plan: Plan {
                records,
                seed,
                ..Plan::default()
            },
            reps: reps.unwrap_or(match records {
                ..=10_000 => 7,
                10_001..=100_000 => 5,
                _ => 3,
            }),
            only: only.clone(),
            git,
            policy: Arc::clone(&policy),
        };
        bench.project(size)?;
        programs::all(&bench, size, &mut table)?;
        if calls {
            calls::verdicts(&bench, size, &mut table)?;
        }
        remove(&bench.dir);
    }
    if calls {
        calls::component(&policy, &only, reps.unwrap_or(7), &mut table);
    }
    table.print();
    Ok(())
}

impl Bench {
    fn project(&self, size: &str) -> Result<(), String> {
        remove(&self.dir);
        let started = std::time::Instant::now();
        let made = make(&self.dir, &self.plan, &self.policy);
        eprintln!(
            "{size}: {} records in {} files, {} MB, made in {:.1} s",
            made.records,
            made.files,
            made.bytes >> 20,
            started.elapsed().as_secs_f64()
        );
        Ok(())
    }

    /// Whether a row is asked for.
    pub fn wants(&self, row: &str) -> bool {
        row.contains(&self.only)
    }

    /// Something below `.ghyll`.
    pub fn below(&self, path: &str) -> PathBuf {
        self.dir.join(".ghyll").join(path)
    }
}

fn remove(dir: &Path) {
    // One that is not there is gone already.
    let _ = std::fs::remove_dir_all(dir);
}

fn number(size: &str) -> Option<u64> {
    let (digits, times) = match size.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1000),
        None => match size.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1_000_000),
            None => (size, 1),
        },
    };
    digits.parse::<u64>().ok()?.checked_mul(times)
}
