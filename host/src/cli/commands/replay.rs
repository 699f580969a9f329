//! `ghyll replay`: operators written down, run again.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ghyll::audit::TREE_DIR;
use ghyll::clock::{Clock, ReplayClock, SystemClock};
use ghyll::files::output;
use ghyll::policy::Policy;
use ghyll::project::GHYLL_DIR;
use ghyll::script::{Limits, NotRun, Report, ScriptError, Stage, golden, junit, source};
use ghyll::view::View;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cli::output::clean;
use crate::cli::{Common, Failure, NO, Output, REFUSED};

#[derive(Args)]
pub struct ReplayArgs {
    /// Scripts, run one after another, each in a session of its own; `-` is
    /// standard input
    #[arg(required = true, value_name = "SCRIPT")]
    scripts: Vec<PathBuf>,
    /// Start the clock at this time instead of now; it advances as it is read
    #[arg(long, value_name = "RFC3339")]
    clock: Option<Timestamp>,
    /// Draw ids from this seed, so that a replay writes the same bytes again
    #[arg(long, value_name = "N", requires = "clock")]
    seed: Option<u64>,
    /// Write what came of it as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Expect the audit tree to be the same as this one afterwards
    #[arg(long, value_name = "DIR")]
    expect: Option<PathBuf>,
    /// How long each script may take, in seconds
    #[arg(long, value_name = "N", default_value_t = Limits::default().deadline.as_secs())]
    deadline_s: u64,
}

/// What came of a script, by name; or why it did not run.
type Came = (String, Result<Report, NotRun>);

pub fn run(common: &Common, out: &Output, args: &ReplayArgs) -> Result<u8, Failure> {
    let project = common.project()?;
    let golden = args.expect.as_deref().map(golden_tree).transpose()?;
    let policy = Arc::new(Policy::load()?);
    let clock: Arc<dyn Clock> = match args.clock {
        Some(start) => {
            refuse_behind(common, &policy, start)?;
            Arc::new(ReplayClock::new(start, args.seed.unwrap_or_else(any_seed)))
        }
        None => Arc::new(SystemClock),
    };
    let stage = Stage {
        root: project.root().to_owned(),
        policy,
        clock,
        limits: Limits {
            deadline: Duration::from_secs(args.deadline_s),
            ..Limits::default()
        },
        log: Arc::new(|line| crate::cli::output::note(clean(line))),
        heap: crate::heap,
    };

    let mut all: Vec<Came> = Vec::new();
    for path in &args.scripts {
        let name = path.display().to_string();
        let came = source::read(path)
            .map_err(NotRun::from)
            .and_then(|source| Ok(stage.run(&source)?));
        // Whatever it recorded is not undone by what can be printed of it.
        out.verdict_stands();
        tell(out, &name, &came)?;
        all.push((name, came));
    }
    let mut refused = all.iter().any(|(_, came)| came.is_err());
    let mut differences = Vec::new();
    if let Some(golden) = &golden {
        let code = match golden::differences(golden, &project.path_of(TREE_DIR)) {
            Ok(found) => {
                differences = found;
                "golden-tree-differs"
            }
            // What cannot be compared is not the same.
            Err(error) => {
                refused = true;
                differences.push(error.to_string());
                "golden-unreadable"
            }
        };
        for difference in &differences {
            out.failure(&Failure::new(code, difference));
        }
    }
    if let Some(file) = &args.junit {
        let scripts = all
            .iter()
            .map(|(name, came)| (name.as_str(), came.as_ref()));
        let fail = |e: &dyn Display| {
            Failure::new("junit-write-failed", format!("{}: {e}", file.display()))
        };
        let expected = golden.is_some().then_some(differences.as_slice());
        let xml = junit::xml(scripts, expected).map_err(|e| fail(&e))?;
        output::write(file, xml.as_bytes()).map_err(|e| fail(&e))?;
    }
    let ok = differences.is_empty() && all.iter().all(|(_, came)| is_ok(came));
    if out.json() {
        let scripts: Vec<Value> = all.iter().map(|(name, came)| value(name, came)).collect();
        out.value(&json!({ "ok": ok, "scripts": scripts, "differences": differences }))?;
    }
    Ok(match (refused, ok) {
        (true, _) => REFUSED,
        (false, true) => 0,
        (false, false) => NO,
    })
}

fn is_ok(came: &Result<Report, NotRun>) -> bool {
    came.as_ref().is_ok_and(Report::ok)
}

/// A given clock is for projects made to be reproduced: one that is behind
/// what is on record would date new verdicts before old ones.
fn refuse_behind(common: &Common, policy: &Arc<Policy>, start: Timestamp) -> Result<(), Failure> {
    let view = View::open(common.project()?, Arc::clone(policy))?;
    let newest = view.read(|reader| reader.newest_time())?;
    match newest.and_then(|time| time.parse::<Timestamp>().ok()) {
        Some(newest) if newest > start => Err(Failure::new(
            "replay-clock-behind",
            format!(
                "the newest record is of {newest}, later than --clock {start}: \
                 a given clock is for a project that is made anew with it"
            ),
        )),
        _ => Ok(()),
    }
}

/// The tree in `dir`, which may also be a whole project.
fn golden_tree(dir: &Path) -> Result<PathBuf, Failure> {
    let inside = dir.join(GHYLL_DIR).join(TREE_DIR);
    let tree = if inside.is_dir() {
        inside
    } else {
        dir.to_owned()
    };
    if !tree.is_dir() {
        let message = format!("{}: no such directory", tree.display());
        return Err(Failure::new("golden-unreadable", message));
    }
    Ok(tree)
}

/// With a clock but no seed only the times are given: ids stay unique.
fn any_seed() -> u64 {
    uuid::Uuid::now_v7().as_u64_pair().1
}

/// Says what came of a script: on standard error what failed, and where; on
/// standard output one line.
fn tell(out: &Output, name: &str, came: &Result<Report, NotRun>) -> Result<(), Failure> {
    let expectations = match came {
        Ok(report) => {
            for missed in report.failed() {
                let message = format!("{}: {}", missed.place.in_file(name), missed.text);
                out.failure(&Failure::new("expectation-failed", message));
            }
            if let Some(error) = &report.error {
                // The message of a refusal has the code too.
                let label = format!("error[{}]: ", error.code);
                let message = error.message.strip_prefix(&label).unwrap_or(&error.message);
                let message = format!("{}: {message}", error.place.in_file(name));
                out.failure(&Failure::new(&error.code, message));
            }
            let met = report.expectations.len() - report.failed().count();
            format!("{met} of {} expectations met", report.expectations.len())
        }
        Err(error) => {
            out.failure(&Failure::new(error.code(), not_run(name, error)));
            "not run".to_owned()
        }
    };
    if !out.json() {
        let word = crate::cli::output::status(if is_ok(came) { "pass" } else { "fail" });
        out.line(format!("{word}  {}  {expectations}", clean(name)))?;
    }
    Ok(())
}

/// The file is named once: a script that cannot be read says which.
fn not_run(name: &str, error: &NotRun) -> String {
    match error {
        NotRun::Source(error) => error.to_string(),
        NotRun::Session(error) => format!("{name}: {error}"),
    }
}

fn told(name: &str, error: &ScriptError) -> String {
    format!("{}: {error}", error.place.in_file(name))
}

fn value(name: &str, came: &Result<Report, NotRun>) -> Value {
    let (missed, expectations, error, code) = match came {
        Ok(report) => (
            report.failed().collect::<Vec<_>>(),
            report.expectations.len(),
            report.error.as_ref().map(|error| told(name, error)),
            report.error.as_ref().map(|error| error.code.as_str()),
        ),
        Err(error) => (
            Vec::new(),
            0,
            Some(not_run(name, error)),
            Some(error.code()),
        ),
    };
    let texts: Vec<_> = missed.iter().map(|missed| &missed.text).collect();
    let failures: Vec<_> = missed
        .iter()
        .map(|missed| {
            json!({
                "text": missed.text, "line": missed.place.line, "column": missed.place.column,
            })
        })
        .collect();
    json!({
        "script": name,
        "ok": is_ok(came),
        "expectations": expectations,
        "failed": texts,
        "error": error,
        "code": code,
        "failures": failures,
    })
}
