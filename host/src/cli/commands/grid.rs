//! `ghyll grid …`: judge a grid, show the one in force, compare two, bring one
//! into force.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use ghyll::grid::{self, Change, Grid, GridError, diff};
use ghyll::project::Project;
use ghyll::view::grid_in_force;
use serde_json::json;

use crate::cli::output::clean;
use crate::cli::{Common, Failure, NO, Output};

#[derive(Subcommand)]
pub enum GridCommand {
    /// Judge a grid: every mistake in it, with its line
    Check {
        /// The file; - for what is piped in
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print the grid in force as it is written
    Show {
        /// Another version: v1 or 1
        #[arg(value_name = "VERSION")]
        version: Option<String>,
    },
    /// What changes from one grid to another, in words
    ///
    /// With one version, from that to the one in force; with one file, from the
    /// one in force to the file.
    Diff {
        /// A version (v1 or 1), or a file; - for what is piped in
        #[arg(value_name = "A")]
        a: String,
        /// Another
        #[arg(value_name = "B")]
        b: Option<String>,
    },
    /// Bring a grid into force as the next version
    ///
    /// Whatever version the file says is set to the next one; nothing else of
    /// it is touched. Every clause is asked anew under the new version.
    Next {
        /// The file; - for what is piped in
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print the JSON Schema of a grid, for editors
    Schema,
}

pub fn run(common: &Common, out: &Output, command: &GridCommand) -> Result<u8, Failure> {
    match command {
        GridCommand::Check { file } => check(out, file),
        GridCommand::Show { version } => show(common, out, version.as_deref()),
        GridCommand::Diff { a, b } => compare(common, out, a, b.as_deref()),
        GridCommand::Next { file } => next(common, out, file),
        GridCommand::Schema => {
            if out.json() {
                out.value(&grid::schema())?;
            } else {
                out.raw(grid::schema_text().as_bytes())?;
            }
            Ok(0)
        }
    }
}

/// The text of a file that somebody names, or what is piped in; and how to
/// call it.
pub fn read(file: &Path) -> Result<(String, &Path), Failure> {
    if file == Path::new("-") {
        let name = Path::new("(standard input)");
        return Ok((grid::read_stream(name, std::io::stdin().lock())?, name));
    }
    match grid::read_file(file) {
        Ok(text) => Ok((text, file)),
        Err(error @ GridError::NotAFile { .. }) => Err(Failure::new(
            error.code(),
            format!("{error}; a grid that is piped in is read from -"),
        )),
        Err(error) => Err(error.into()),
    }
}

fn check(out: &Output, file: &Path) -> Result<u8, Failure> {
    let (text, name) = read(file)?;
    let shown = name.to_string_lossy();
    match Grid::judge(&text, name) {
        Ok(grid) => {
            let clauses: usize = grid.arrows.iter().map(|arrow| arrow.clauses.len()).sum();
            if out.json() {
                out.value(&json!({
                    "ok": true, "file": shown, "arrows": grid.arrows.len(),
                    "clauses": clauses, "problems": [],
                }))?;
            } else {
                let arrows = count(grid.arrows.len(), "arrow");
                let clauses = count(clauses, "clause");
                out.line(format!("{}: good: {arrows}, {clauses}", clean(&shown)))?;
            }
            Ok(0)
        }
        Err(GridError::Invalid { problems }) => {
            if out.json() {
                out.value(&json!({ "ok": false, "file": shown, "problems": problems }))?;
            } else {
                for problem in &problems {
                    out.line(clean(&problem.to_string()))?;
                }
            }
            Ok(NO)
        }
        Err(error) => Err(error.into()),
    }
}

fn show(common: &Common, out: &Output, version: Option<&str>) -> Result<u8, Failure> {
    let project = common.project()?;
    let (version, in_force) = match version {
        Some(named) => {
            let version = version_of(named).ok_or_else(|| {
                let named = clean(named);
                Failure::usage(format!("{named:?} is no version; one is written v1"))
            })?;
            (version, Grid::active_version(project.ghyll()).ok())
        }
        None => {
            let version = grid_in_force(&project)?.version;
            (version, Some(version))
        }
    };
    let text = Grid::read_text(project.ghyll(), version)?;
    if !out.json() {
        // As it is written, also where it cannot be meant: whoever mends it
        // has to see it.
        return out.paged(|| {
            out.lines(&text)?;
            Ok(0)
        });
    }
    let grid = Grid::read_version(project.ghyll(), version)?;
    let mut value = serde_json::to_value(&grid).map_err(std::io::Error::other)?;
    if let Some(entries) = value.as_object_mut() {
        let file = project.path_of(&Grid::file_name(version));
        entries.insert("in_force".to_owned(), json!(in_force == Some(version)));
        entries.insert("file".to_owned(), json!(file.to_string_lossy()));
        entries.insert("sha256".to_owned(), json!(grid::digest(text.as_bytes())));
    }
    out.value(&value)?;
    Ok(0)
}

/// One side of a comparison.
struct Side {
    name: String,
    grid: Grid,
}

fn compare(common: &Common, out: &Output, a: &str, b: Option<&str>) -> Result<u8, Failure> {
    let in_force = || -> Result<Side, Failure> {
        let grid = grid_in_force(&common.project()?)?;
        let name = format!("v{}", grid.version);
        Ok(Side { name, grid })
    };
    let (from, to) = match b {
        Some(b) => (side(common, a)?, side(common, b)?),
        None if version_of(a).is_some() => (side(common, a)?, in_force()?),
        None => (in_force()?, side(common, a)?),
    };
    let changes = diff(&from.grid, &to.grid);
    if out.json() {
        out.value(&json!({ "from": from.name, "to": to.name, "changes": changes }))?;
        return Ok(0);
    }
    if changes.is_empty() {
        let (from, to) = (clean(&from.name), clean(&to.name));
        out.line(format!("{from} and {to} declare the same"))?;
    }
    out.paged(|| lines(out, &changes))?;
    Ok(0)
}

fn side(common: &Common, named: &str) -> Result<Side, Failure> {
    if let Some(version) = version_of(named) {
        let grid = Grid::read_version(common.project()?.ghyll(), version)?;
        let name = format!("v{version}");
        return Ok(Side { name, grid });
    }
    let (text, name) = read(Path::new(named))?;
    let grid = Grid::judge(&text, name)?;
    let name = name.to_string_lossy().into_owned();
    Ok(Side { name, grid })
}

fn next(common: &Common, out: &Output, file: &Path) -> Result<u8, Failure> {
    let (text, name) = read(file)?;
    let project: Project = common.project()?;
    let _lock = project.lock("grid next")?;
    let next = Grid::next(project.ghyll(), &text, name)?;
    let version = next.grid.version;
    let path = project.path_of(&Grid::file_name(version));
    if out.json() {
        out.value(&json!({
            "grid": path.to_string_lossy(), "grid_version": version,
            "arrows": next.grid.arrows.len(), "before": next.before, "changes": next.changes,
        }))?;
    } else {
        let told = match next.before {
            Some(before) => format!(", {} since v{before}", count(next.changes.len(), "change")),
            None => String::new(),
        };
        out.line(format!("grid v{version} is in force{told}"))?;
        lines(out, &next.changes)?;
    }
    out.note(format!(
        "what was decided before stays on record; under v{version} every clause is asked anew: \
         ghyll dispatch ARROW"
    ));
    Ok(0)
}

fn lines(out: &Output, changes: &[Change]) -> Result<(), Failure> {
    for change in changes {
        out.line(format!("  {}", clean(&change.to_string())))?;
    }
    Ok(())
}

/// A version as it is named, `v1` or `1`; a file of such a name is `./1`.
fn version_of(named: &str) -> Option<u64> {
    let digits = named.strip_prefix('v').unwrap_or(named);
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // One beyond all numbers is a version all the same, and not there.
    all_digits.then(|| digits.parse().unwrap_or(u64::MAX))
}

fn count(n: usize, thing: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {thing}{s}")
}
