//! What a shell offers at a word: options, and the arrows, refs, verdicts and
//! people of the project it stands in.
//!
//! The script that a shell loads only asks this program, so it never goes stale.
//! Which words an argument takes is told by its name, so that a command gets
//! them by calling its argument as the others do.

use std::sync::Arc;

use clap::Command;
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use ghyll::grid::Eval;
use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::view::View;
use ghyll::work::verdict::Verdict;

use super::{Failure, Output};
use ghyll::text::is_harmless;

/// What the script sets to ask.
const ASKED: &str = "GHYLL_COMPLETE";

/// Prints the script for a shell.
pub fn script(out: &Output, shell: Shell) -> Result<u8, Failure> {
    let shells = Shells::builtins();
    let unknown = || Failure::usage(format!("no script for {shell}"));
    let writer = shells.completer(&shell.to_string()).ok_or_else(unknown)?;
    let mut script = Vec::new();
    writer.write_registration(ASKED, "ghyll", "ghyll", "ghyll", &mut script)?;
    out.raw(&script)?;
    Ok(0)
}

/// Answers the script, if that is who asks, and ends the process.
pub fn answer(command: fn() -> Command) {
    if std::env::var_os(ASKED).is_some() {
        CompleteEnv::with_factory(move || offering(command()))
            .var(ASKED)
            .complete();
    }
}

/// The command with what its arguments may be.
fn offering(command: Command) -> Command {
    command
        .mut_args(|arg| {
            let candidates = match arg.get_id().as_str() {
                "arrow" | "arrows" => ArgValueCandidates::new(arrows),
                "attestation_ref" | "reference" => ArgValueCandidates::new(refs),
                "what" => ArgValueCandidates::new(clauses),
                "verdict" => ArgValueCandidates::new(verdicts),
                "by" | "op_id" => ArgValueCandidates::new(people),
                "pass" => ArgValueCandidates::new(passes),
                _ => return arg,
            };
            arg.add(candidates)
        })
        .mut_subcommands(offering)
}

/// The project one stands in; a shell is never told why there is none.
fn view() -> Option<View> {
    let project = Project::find(None).ok()?;
    View::open(project, Arc::new(Policy::load().ok()?)).ok()
}

fn candidates(words: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    let words = words.into_iter();
    words
        // A word goes onto a command line as it is.
        .filter(|word| word.chars().all(is_harmless))
        .map(CompletionCandidate::new)
        .collect()
}

fn arrows() -> Vec<CompletionCandidate> {
    let Some(view) = view() else {
        return Vec::new();
    };
    candidates(view.grid().arrows.iter().map(|arrow| arrow.id.clone()))
}

/// What waits first, then every clause that a person decides.
fn refs() -> Vec<CompletionCandidate> {
    let Some(view) = view() else {
        return Vec::new();
    };
    let pending = view.pending().unwrap_or_default();
    let pending = pending.into_iter().map(|request| request.attestation_ref);
    let clauses = view.grid().arrows.iter().flat_map(|arrow| {
        let attested = arrow.clauses.iter();
        let attested = attested.filter(|clause| matches!(clause.eval, Eval::Attested));
        attested.map(|clause| format!("{}/{}", arrow.id, clause.id))
    });
    candidates(pending.chain(clauses))
}

/// Every clause of the grid, as `ARROW/CLAUSE`.
fn clauses() -> Vec<CompletionCandidate> {
    let Some(view) = view() else {
        return Vec::new();
    };
    let arrows = view.grid().arrows.iter();
    candidates(arrows.flat_map(|arrow| {
        let clauses = arrow.clauses.iter();
        clauses.map(|clause| format!("{}/{}", arrow.id, clause.id))
    }))
}

fn verdicts() -> Vec<CompletionCandidate> {
    candidates(
        Verdict::ALL
            .iter()
            .map(|verdict| verdict.as_str().to_owned()),
    )
}

/// Everybody who has answered for something here.
fn people() -> Vec<CompletionCandidate> {
    let Some(view) = view() else {
        return Vec::new();
    };
    candidates(view.read(|reader| reader.people()).unwrap_or_default())
}

fn passes() -> Vec<CompletionCandidate> {
    let passes = view().and_then(|view| view.passes().ok());
    candidates(
        passes
            .unwrap_or_default()
            .into_iter()
            .map(|pass| pass.pass_id),
    )
}
