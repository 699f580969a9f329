//! `ghyll demo`: a sample project in a directory that stays, and a session on
//! it, so that everything can be seen before anything is set up.

use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ghyll::bus::Bus;
use ghyll::clock::SystemClock;
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::script::{Limits, Report, Stage};
use ghyll::session::Session;
use ghyll::store::disk::CapDisk;
use ghyll::store::{TREE_DIR, walk};
use serde_json::json;

use super::output::{self, clean};
use super::run::{ReplOptions, repl};
use super::{Failure, NO, Output};

macro_rules! sample {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../scripts/sample/", $path)))),*]
    };
}

/// The sample project, file by file.
const SAMPLE: &[(&str, &str)] = sample![
    ".ghyll/grid.v1.yaml",
    ".ghyll/grid.current",
    "README.md",
    "docs/design.md",
    "docs/glossary.md",
    "features/checkout.feature",
    "features/payment.feature",
    "features/refund.feature",
    "scripts/demo.rhai",
    "scripts/machine-clauses.rhai",
    "src/payment.rs",
];

/// The morning in the shop that is shown where nobody sits at a terminal.
const MORNING: &str = include_str!("../../../scripts/sample/scripts/demo.rhai");

/// What is said to somebody at a terminal first.
const GUIDE: &str = "
This is the sample project of a shop. The analysts want to hand the checkout over to
the architects, and three clauses need a verdict first. You give it, now: each
question says what it takes. Try one of each:

  p   the clause holds
  f   it fails; say where, for example features/payment.feature:5
  i   there is no basis to tell; three times in a row make it an escalation

At the prompt  ghyll>  an empty line has what is pending asked again, /attestations
shows your verdicts, /help what else there is, /exit leaves.
";
/// Who answers in it, until they say otherwise.
const VISITOR: &str = "you@example.com";

pub fn run(out: &Output) -> Result<u8, Failure> {
    let root = lay_out()?;
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && !out.json() {
        return session(out, &root);
    }
    let report = scripted(out, &root)?;
    for missed in report.failed() {
        out.failure(&Failure::new("expectation-failed", &missed.text));
    }
    if let Some(error) = &report.error {
        let message = format!("{}: {error}", error.place.in_file("scripts/demo.rhai"));
        out.failure(&Failure::new("script-failed", message));
    }
    show(out, &root)?;
    Ok(if report.ok() { 0 } else { NO })
}

/// A session on the sample, with the first questions already asked.
fn session(out: &Output, root: &Path) -> Result<u8, Failure> {
    let policy = Arc::new(Policy::load()?);
    let bus = Arc::new(Bus::default());
    let session = Session::open(Project::open(root)?, policy, Arc::new(SystemClock), bus)?;
    session.dispatch("A-checkout")?;
    let (op_id, guide) = (Some(VISITOR.to_owned()), Some(GUIDE.to_owned()));
    let code = repl(
        session,
        out,
        ReplOptions {
            op_id,
            guide,
            record: None,
        },
    )?;
    show(out, root)?;
    Ok(code)
}

/// Writes the sample into a directory of its own.
fn lay_out() -> Result<PathBuf, Failure> {
    let root = tempfile::Builder::new()
        .prefix("ghyll-demo-")
        .tempdir()?
        .keep();
    let fail = |path: &Path, e: std::io::Error| {
        Failure::new("demo-write-failed", format!("{}: {e}", path.display()))
    };
    for (path, text) in SAMPLE {
        let file = root.join(path);
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent).map_err(|e| fail(parent, e))?;
        }
        std::fs::write(&file, text).map_err(|e| fail(&file, e))?;
    }
    Ok(root)
}

fn scripted(out: &Output, root: &Path) -> Result<Report, Failure> {
    let json = out.json();
    let stage = Stage {
        root: root.to_owned(),
        policy: Arc::new(Policy::load()?),
        clock: Arc::new(SystemClock),
        limits: Limits::default(),
        // What is told is what the demo is for, so it is data; but not JSON.
        log: Arc::new(move |line| {
            if json {
                output::note(&clean(line))
            } else {
                output::told(&clean(line))
            }
        }),
    };
    Ok(stage.run(MORNING)?)
}

/// Says where the tree is, what is in it, and how to look at it.
fn show(out: &Output, root: &Path) -> Result<(), Failure> {
    let project = Project::open(root)?;
    let tree = project.path_of(TREE_DIR);
    let mut files = Vec::new();
    let mut each = |path, _| {
        files.push(path);
        Ok::<_, Failure>(())
    };
    let disk = CapDisk::new(project.ghyll())?;
    walk(&disk, TREE_DIR, &mut each)?;
    if out.json() {
        out.value(&json!({
            "project": project.root(), "tree": tree, "files": files,
        }))?;
        return Ok(());
    }
    out.line("")?;
    out.line(&format!(
        "The audit tree is {}",
        clean(&tree.display().to_string())
    ))?;
    for path in &files {
        out.line(&format!("  {}", clean(path)))?;
    }
    if let Some(path) = files.first() {
        let file = BufReader::new(std::fs::File::open(tree.join(path))?);
        out.line("")?;
        out.line(&format!("The first lines of {}:", clean(path)))?;
        for line in file.lines().take(2) {
            out.line(&clean(&line?))?;
        }
    }
    let shown = clean(&project.root().display().to_string());
    out.line("")?;
    out.line("It stays. To look at it:")?;
    out.line(&format!("  ghyll attestations --dir {shown}"))?;
    out.line(&format!("  ghyll engine verify-attestations --dir {shown}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_all_of_the_sample() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/sample");
        let mut there = Vec::new();
        let mut directories = vec![root.clone()];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    there.push(
                        path.strip_prefix(&root)
                            .unwrap()
                            .to_str()
                            .unwrap()
                            .to_owned(),
                    );
                }
            }
        }
        there.sort();
        let mut embedded: Vec<_> = SAMPLE.iter().map(|(path, _)| (*path).to_owned()).collect();
        embedded.sort();
        assert_eq!(there, embedded);
    }
}
