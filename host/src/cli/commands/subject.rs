//! `ghyll subject`: the files a verdict is about, now or as judged, and what
//! lies between.

use std::sync::Arc;

use clap::Args;
use ghyll::files::disk::CapDisk;
use ghyll::grid::{Arrow, Clause};
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::subject::changed;
use ghyll::subject::{self, Covers, Manifest, Reading, Sha256, SubjectStore};
use ghyll::view::{View, find_arrow, grid_in_force};
use serde_json::json;

use crate::cli::{Common, Failure, Output};

#[derive(Args)]
pub struct SubjectArgs {
    /// ARROW, ARROW/CLAUSE, or the first digits of a subject
    #[arg(value_name = "ARROW[/CLAUSE]|DIGEST")]
    what: String,
    /// Print what lies between this subject and the files as they are now, or
    /// the first subject named
    #[arg(value_name = "DIGEST")]
    other: Option<String>,
    /// The files as they were when last judged, not as they are now
    #[arg(long, conflicts_with_all = ["changed", "other"])]
    judged: bool,
    /// Print what changed since the files were last judged
    #[arg(long, conflicts_with = "other")]
    changed: bool,
}

pub fn run(common: &Common, out: &Output, args: &SubjectArgs) -> Result<u8, Failure> {
    let project = common.project()?;
    let disk = CapDisk::new(project.ghyll())?;
    let store = SubjectStore::new(&disk);
    let kept =
        |digits: &str| -> Result<Manifest, Failure> { Ok(store.read(&store.find(digits)?)?) };
    let named = named(&project, &args.what);
    if args.changed || args.other.is_some() {
        let (old, new) = match (named, &args.other) {
            (Ok(clause), None) => (
                store.read(&clause.judged(&project)?)?,
                clause.now(&project)?,
            ),
            (Ok(clause), Some(other)) => (kept(other)?, clause.now(&project)?),
            (Err(_), Some(other)) if is_digits(&args.what) => (kept(&args.what)?, kept(other)?),
            (Err(_), None) if is_digits(&args.what) => {
                let words = "--changed takes an ARROW/CLAUSE; of two subjects, name both";
                return Err(Failure::usage(words));
            }
            (Err(unknown), _) => return Err(unknown),
        };
        return print_changes(&project, out, &old, &new);
    }
    let manifest = match named {
        Ok(clause) if args.judged => store.read(&clause.judged(&project)?)?,
        Ok(clause) => clause.now(&project)?,
        // It may be a subject; if it cannot be one, the grid's word stands.
        Err(unknown) if is_digits(&args.what) => match store.find(&args.what) {
            Ok(subject) => store.read(&subject)?,
            Err(e) if e.code() == "subject-unknown" => {
                return Err(match unknown.code.as_str() {
                    "arrow-unknown" => e.into(),
                    _ => unknown,
                });
            }
            Err(e) => return Err(e.into()),
        },
        Err(unknown) => return Err(unknown),
    };
    print(out, &manifest)
}

fn is_digits(what: &str) -> bool {
    what.len() >= 8 && what.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// What the grid in force says of a clause, or of an arrow: the files that it
/// covers itself, and the clauses that are about these.
struct Named {
    /// As the user calls it.
    name: String,
    arrow: Arrow,
    globs: Vec<String>,
    /// Ids.
    clauses: Vec<String>,
}

impl Named {
    fn now(&self, project: &Project) -> Result<Manifest, Failure> {
        if self.globs.is_empty() {
            let words = format!("{} covers no files: its grid says of none", self.name);
            return Err(Failure::new("subject-none", words));
        }
        let covers = Covers::parse(&self.globs)?;
        Ok(subject::take(project.root(), &covers, Reading::EveryByte(None))?.manifest)
    }

    fn judged(&self, project: &Project) -> Result<Sha256, Failure> {
        let mut subjects = judged(project, &self.arrow, &self.clauses)?;
        subjects.sort_unstable();
        subjects.dedup();
        match subjects.as_slice() {
            [one] => Ok(*one),
            [] => {
                let words = format!("no verdict on {} names a subject", self.name);
                Err(Failure::new("subject-none", words))
            }
            _ => {
                let words = format!(
                    "the clauses of {0} were judged on different subjects: say {0}/CLAUSE",
                    self.name
                );
                Err(Failure::new("subject-ambiguous", words))
            }
        }
    }
}

fn named(project: &Project, what: &str) -> Result<Named, Failure> {
    let grid = grid_in_force(project)?;
    let (arrow, clause) = match (grid.arrow(what), what.rsplit_once('/')) {
        (None, Some((arrow, clause))) => (find_arrow(&grid, arrow)?, Some(clause)),
        _ => (find_arrow(&grid, what)?, None),
    };
    let globs = match clause {
        None => arrow.covers.as_slice(),
        Some(id) => match arrow.clauses.iter().find(|clause| clause.id == id) {
            Some(clause) => arrow.covers_of(clause),
            None => {
                let words = format!("{} has no clause {id}", arrow.id);
                return Err(Failure::new("clause-unknown", words));
            }
        },
    };
    let is_meant = |other: &&Clause| match clause {
        None => arrow.covers_of(other) == globs,
        Some(id) => other.id == id,
    };
    let clauses = arrow.clauses.iter().filter(is_meant);
    Ok(Named {
        name: what.to_owned(),
        globs: globs.to_vec(),
        clauses: clauses.map(|clause| clause.id.clone()).collect(),
        arrow: arrow.clone(),
    })
}

/// The subjects that the verdicts that count on these clauses name.
fn judged(project: &Project, arrow: &Arrow, clauses: &[String]) -> Result<Vec<Sha256>, Failure> {
    let view = View::open(project.try_clone()?, Arc::new(Policy::load()?))?;
    let (_, stands) = view.arrow(&arrow.id)?;
    let subject = |row: ghyll::db::Row| {
        let hint: serde_json::Value = serde_json::from_str(&row.rec.hint_json).ok()?;
        hint.get("subject")?.as_str()?.parse().ok()
    };
    let meant = stands
        .clauses
        .into_iter()
        .filter(|view| clauses.contains(&view.id));
    Ok(meant
        .filter_map(|view| view.newest)
        .filter_map(subject)
        .collect())
}

/// As `sha256sum` prints it, or as JSON.
fn print(out: &Output, manifest: &Manifest) -> Result<u8, Failure> {
    if out.json() {
        out.value(&json!({
            "subject": manifest.subject(),
            "files": manifest.entries(),
        }))?;
        return Ok(0);
    }
    // To the byte, or `sha256sum -c` would not accept it; on a terminal it is
    // text like any other.
    let mut text = Vec::new();
    manifest.write(&mut text)?;
    if std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        out.paged(|| Ok(out.lines(&String::from_utf8_lossy(&text))?))?;
    } else {
        out.raw(&text)?;
    }
    Ok(0)
}

fn print_changes(
    project: &Project,
    out: &Output,
    old: &Manifest,
    new: &Manifest,
) -> Result<u8, Failure> {
    let mut changes = changed::between(old, new);
    changed::count_lines(project.root(), &mut changes);
    if out.json() {
        let changes: Vec<_> = changes
            .iter()
            .map(|change| {
                json!({
                    "path": change.path, "what": change.what(), "old": change.old,
                    "new": change.new, "lines": change.lines,
                })
            })
            .collect();
        out.value(&json!({
            "old": old.subject(), "new": new.subject(), "changed": changes,
        }))?;
        return Ok(0);
    }
    out.paged(|| {
        for change in &changes {
            out.line(change.in_words())?;
        }
        Ok(())
    })?;
    if changes.is_empty() {
        out.note("nothing changed");
    }
    Ok(0)
}
