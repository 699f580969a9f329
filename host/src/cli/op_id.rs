//! Who answers: whoever `--op-id` names, else `GHYLL_OP_ID`, else git's
//! `ghyll.op-id`. Git's `user.email` is offered and never taken: a script that
//! runs as somebody is not that person.

use std::path::Path;
use std::process::{Command, Stdio};

use ghyll::codes::OP_ID_REQUIRED;
use ghyll::db::{DbError, Reader};

use super::{Failure, output::clean};

/// Names who answers, where no command line does.
const VARIABLE: &str = "GHYLL_OP_ID";

/// Who answers in the project at `root`, if anybody is named.
pub fn of(given: Option<&str>, root: &Path) -> Option<String> {
    given
        .map(str::to_owned)
        .or_else(|| std::env::var(VARIABLE).ok().filter(|id| !id.is_empty()))
        .or_else(|| git_config(root, "ghyll.op-id"))
}

/// Who answers.
///
/// # Errors
/// `op-id-required`, with what may be meant.
pub fn needed(given: Option<&str>, root: &Path) -> Result<String, Failure> {
    of(given, root).ok_or_else(|| {
        let failure = Failure::new(OP_ID_REQUIRED, "nobody answers");
        match offered(root) {
            Some(email) => failure.with_hint(format!(
                "Say who you are: --op-id {}, if you are; or set {VARIABLE}.",
                clean(&email)
            )),
            None => failure,
        }
    })
}

/// Who may be meant where nobody is named: git's `user.email`.
pub fn offered(root: &Path) -> Option<String> {
    git_config(root, "user.email")
}

/// That a name is new to a project, and which are not; `None` if somebody used
/// it, or nobody answered for anything yet.
///
/// # Errors
/// `engine-db-…`.
pub fn is_new(reader: &Reader<'_>, op_id: &str) -> Result<Option<String>, DbError> {
    /// Names that are told.
    const TOLD: usize = 5;
    if reader.knows_person(op_id)? {
        return Ok(None);
    }
    let people = reader.people()?;
    if people.is_empty() {
        return Ok(None);
    }
    let mut told = people
        .iter()
        .take(TOLD)
        .map(|person| clean(person))
        .collect::<Vec<_>>()
        .join(", ");
    if people.len() > TOLD {
        told.push_str(&format!(" and {} more", people.len() - TOLD));
    }
    Ok(Some(format!(
        "nobody has answered as {} in this project before, but {told}",
        clean(op_id)
    )))
}

/// What git is configured to, for the repository around `root` or for the user.
pub fn git_config(root: &Path, key: &str) -> Option<String> {
    let answer = Command::new("git")
        .args(["config", "--get", key])
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let value = String::from_utf8(answer.stdout).ok()?;
    let value = value.trim_end_matches(['\r', '\n']);
    (answer.status.success() && !value.is_empty()).then(|| value.to_owned())
}
