//! `ghyll replay`: operators written down, run again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ghyll::clock::{Clock, ReplayClock, SystemClock};
use ghyll::policy::Policy;
use ghyll::project::GHYLL_DIR;
use ghyll::script::{Limits, Report, Stage, golden, junit};
use ghyll::store::TREE_DIR;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::output::clean;
use super::{Common, Failure, NO, Output};

/// The largest script read, in bytes.
const SCRIPT_MAX: u64 = 1 << 20;

#[derive(Args)]
pub struct ReplayArgs {
    /// Scripts, run one after another, each in a session of its own
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

pub fn run(common: &Common, out: &Output, args: &ReplayArgs) -> Result<u8, Failure> {
    let project = common.project()?;
    let scripts = args
        .scripts
        .iter()
        .map(|path| read(path))
        .collect::<Result<Vec<_>, Failure>>()?;
    let golden = args.expect.as_deref().map(golden_tree).transpose()?;
    let clock: Arc<dyn Clock> = match args.clock {
        Some(start) => Arc::new(ReplayClock::new(start, args.seed.unwrap_or_else(any_seed))),
        None => Arc::new(SystemClock),
    };
    let stage = Stage {
        root: project.root().to_owned(),
        policy: Arc::new(Policy::load()?),
        clock,
        limits: Limits {
            deadline: Duration::from_secs(args.deadline_s),
            ..Limits::default()
        },
        log: Arc::new(|line| super::output::note(&clean(line))),
    };

    let mut reports = Vec::new();
    for (name, source) in &scripts {
        let report = stage.run(source)?;
        tell(out, name, &report)?;
        reports.push((name.as_str(), report));
    }
    let mut ok = reports.iter().all(|(_, report)| report.ok());
    let differences = match &golden {
        Some(golden) => {
            let tree = project.path_of(TREE_DIR);
            golden::differences(golden, &tree).map_err(|e| Failure::new("golden-unreadable", e))?
        }
        None => Vec::new(),
    };
    for difference in &differences {
        out.failure(&Failure::new("golden-tree-differs", difference));
        ok = false;
    }
    if let Some(file) = &args.junit {
        let xml = junit::xml(reports.iter().map(|(name, report)| (*name, report)));
        std::fs::write(file, xml)
            .map_err(|e| Failure::new("junit-write-failed", format!("{}: {e}", file.display())))?;
    }
    if out.json() {
        let scripts: Vec<Value> = reports
            .iter()
            .map(|(name, report)| value(name, report))
            .collect();
        out.value(&json!({ "ok": ok, "scripts": scripts, "differences": differences }))?;
    }
    Ok(if ok { 0 } else { NO })
}

fn read(path: &Path) -> Result<(String, String), Failure> {
    use std::io::Read;
    let fail = |e: &dyn std::fmt::Display| {
        Failure::new("script-unreadable", format!("{}: {e}", path.display()))
    };
    let mut source = String::new();
    let file = std::fs::File::open(path).map_err(|e| fail(&e))?;
    file.take(SCRIPT_MAX + 1)
        .read_to_string(&mut source)
        .map_err(|e| fail(&e))?;
    if source.len() as u64 > SCRIPT_MAX {
        return Err(fail(&format!("larger than {SCRIPT_MAX} bytes")));
    }
    Ok((path.display().to_string(), source))
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
fn tell(out: &Output, name: &str, report: &Report) -> Result<(), Failure> {
    for missed in report.failed() {
        let message = format!("{name}:{}: {}", missed.place, missed.text);
        out.failure(&Failure::new("expectation-failed", message));
    }
    if let Some(error) = &report.error {
        out.failure(&Failure::new("script-failed", format!("{name}:{error}")));
    }
    if !out.json() {
        let word = super::output::status(if report.ok() { "pass" } else { "fail" });
        let met = report.expectations.len() - report.failed().count();
        let all = report.expectations.len();
        out.line(&format!(
            "{word}  {}  {met} of {all} expectations met",
            clean(name)
        ))?;
    }
    Ok(())
}

fn value(name: &str, report: &Report) -> Value {
    let failed: Vec<_> = report.failed().map(|missed| &missed.text).collect();
    let failures: Vec<_> = report
        .failed()
        .map(|missed| {
            json!({
                "text": missed.text, "line": missed.place.line, "column": missed.place.column,
            })
        })
        .collect();
    json!({
        "script": name,
        "ok": report.ok(),
        "expectations": report.expectations.len(),
        "failed": failed,
        "error": report.error.as_ref().map(|error| format!("{name}:{error}")),
        "code": report.error.as_ref().map(|error| &error.code),
        "failures": failures,
    })
}
