//! `ghyll demo`: a sample project in a directory that stays, and a session on
//! it, so that everything can be seen before anything is set up.

use ghyll::modal::Attended;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ghyll::audit::{TREE_DIR, walk};
use ghyll::bus::Bus;
use ghyll::clock::SystemClock;
use ghyll::files::disk::CapDisk;
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::script::{Limits, Report, Stage};
use ghyll::session::{Options, parse_evidence};
use serde_json::json;

use crate::cli::commands::run::{ReplOptions, repl};
use crate::cli::output::{self, clean};
use crate::cli::{Failure, NO, Output};

macro_rules! sample {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!(env!("GHYLL_SAMPLE"), "/", $path)))),*]
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

/// The morning in the shop that is shown where nobody sits at a terminal, and
/// the second look after a file was changed.
const ACTS: [(&str, &str); 2] = [
    (
        "scripts/demo.rhai",
        include_str!(concat!(env!("GHYLL_SAMPLE"), "/scripts/demo.rhai")),
    ),
    ("second-look.rhai", include_str!("demo/second-look.rhai")),
];

/// What happens between the two: a file, what it said when it was judged, and
/// what it says since.
const COVERED: &str = "features/refund.feature";
const JUDGED: &str = "    Then nothing is refunded";
const SINCE: &str = "    Then the card is refunded 12.50 EUR again";

/// What is said to somebody at a terminal first.
const GUIDE: &str = "
This is the sample project of a shop. The analysts want to hand the checkout over to
the architects, and three clauses need a verdict first. You give it, now: each
question says what it takes. Try one of each:

  p   the clause holds
  f   it fails; say where, for example features/payment.feature:5
  i   there is no basis to tell; three times in a row make it an escalation
  o   opens the place that is shown in your editor; ? or Ctrl-L shows it all again

A-refund covers a file. Pass it (/run-arrow A-refund), change features/refund.feature
in another window, and it is stale: run it again, and d shows what changed.

At the prompt  ghyll>  an empty line has what is pending asked again, /attestations
shows your verdicts, /help what else there is, /exit leaves.
";
/// Where the analysts say to look, by clause.
const EVIDENCE: &str = r#"{
    "C1": {"locations": ["features/checkout.feature:7-28"],
           "basis": "placed, left, sold out and refused are all there are"},
    "C2": {"locations": ["features/payment.feature:42-52"],
           "residue": "discounts and other currencies name no amount yet"},
    "C3": {"locations": ["docs/glossary.md:3-11"]}
}"#;
/// Who answers in it, until they say otherwise.
const VISITOR: &str = "you@example.com";

pub fn run(out: &Output) -> Result<u8, Failure> {
    let root = lay_out()?;
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && !out.json() {
        return session(out, &root);
    }
    let [morning, second_look] = ACTS;
    let mut ok = act(out, &root, morning)?;
    if ok {
        change(out, &root)?;
        ok = act(out, &root, second_look)?;
    }
    show(out, &root)?;
    Ok(if ok { 0 } else { NO })
}

/// Plays one script on the sample; whether all was as it expects.
fn act(out: &Output, root: &Path, (file, source): (&str, &str)) -> Result<bool, Failure> {
    let report = scripted(out, root, source)?;
    out.verdict_stands();
    for missed in report.failed() {
        out.failure(&Failure::new("expectation-failed", &missed.text));
    }
    if let Some(error) = &report.error {
        let message = format!("{}: {error}", error.place.in_file(file));
        out.failure(&Failure::new(&error.code, message));
    }
    Ok(report.ok())
}

/// Changes what was judged, as an agent might overnight.
fn change(out: &Output, root: &Path) -> Result<(), Failure> {
    let path = root.join(COVERED);
    let text = std::fs::read_to_string(&path)?;
    std::fs::write(&path, text.replacen(JUDGED, SINCE, 1))?;
    let json = out.json();
    tell(json, "");
    tell(json, &format!("Overnight an agent changes {COVERED}:"));
    tell(json, &format!("  - {}", JUDGED.trim()));
    tell(json, &format!("  + {}", SINCE.trim()));
    Ok(())
}

/// What is told is what the demo is for, so it is data; but not JSON.
fn tell(json: bool, line: &str) {
    if json {
        output::note(clean(line))
    } else {
        output::told(clean(line))
    }
}

/// A session on the sample, with the first questions already asked.
fn session(out: &Output, root: &Path) -> Result<u8, Failure> {
    let policy = Arc::new(Policy::load()?);
    let bus = Arc::new(Bus::default());
    let session = Attended::open(Project::open(root)?, policy, Arc::new(SystemClock), bus)?;
    let options = Options {
        evidence: parse_evidence(EVIDENCE)?,
        ..Options::default()
    };
    session.dispatch_with("A-checkout", &options)?;
    let (op_id, guide) = (Some(VISITOR.to_owned()), Some(GUIDE.to_owned()));
    let code = repl(
        session,
        out,
        ReplOptions {
            op_id,
            guide,
            record: None,
            resume: false,
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

fn scripted(out: &Output, root: &Path, source: &str) -> Result<Report, Failure> {
    let json = out.json();
    let stage = Stage {
        root: root.to_owned(),
        policy: Arc::new(Policy::load()?),
        clock: Arc::new(SystemClock),
        limits: Limits::default(),
        log: Arc::new(move |line| tell(json, line)),
        heap: crate::heap,
    };
    Ok(stage.run(source)?)
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
    walk(&Policy::load()?, &disk, TREE_DIR, &mut each)?;
    if out.json() {
        out.value(&json!({
            "project": project.root(), "tree": tree, "files": files,
        }))?;
        return Ok(());
    }
    out.line("")?;
    out.line(format!(
        "The audit tree is {}",
        clean(&tree.display().to_string())
    ))?;
    for path in &files {
        out.line(format!("  {}", clean(path)))?;
    }
    if let Some(path) = files.first() {
        let file = BufReader::new(std::fs::File::open(tree.join(path))?);
        out.line("")?;
        out.line(format!("The first lines of {}:", clean(path)))?;
        for line in file.lines().take(2) {
            out.line(clean(&line?))?;
        }
    }
    let shown = clean(&project.root().display().to_string());
    out.line("")?;
    out.line("It stays. To look at it:")?;
    out.line(format!("  ghyll attestations --dir {shown}"))?;
    out.line(format!("  ghyll engine verify-attestations --dir {shown}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_that_are_shown_are_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/sample");
        let evidence = parse_evidence(EVIDENCE).unwrap();
        assert_eq!(evidence.len(), 3);
        for place in evidence.values().flat_map(|said| &said.locations) {
            assert_eq!(ghyll::locations::doubt(&root, place), None, "{place}");
        }
    }

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
