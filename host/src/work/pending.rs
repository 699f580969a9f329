//! What waits for an operator, and whether it is an escalation.

use super::verdict::Verdict;
use crate::db::{DbError, PassStatus, Reader, Request, Standing};

/// Whether a request still waits, now that its ref stands so.
pub fn waits(request: &Request, standing: Option<&Standing>) -> bool {
    let Some(standing) = standing else {
        return true;
    };
    let elsewhere = was_asked_elsewhere(request, standing);
    (standing.round <= request.asked_after && !elsewhere)
        || match Verdict::of_record(&standing.verdict) {
            Some(Verdict::InsufficientBasis) => true,
            // Accepted one at a time: while one is open, the clause waits.
            Some(Verdict::AcceptedRisk) => standing.open_findings > 0,
            Some(Verdict::Fail) => elsewhere,
            _ => false,
        }
}

/// Whether the records that a request was made upon are not here: git has
/// another branch checked out. Then what is decided here is not asked here.
fn was_asked_elsewhere(request: &Request, standing: &Standing) -> bool {
    standing.round < request.asked_after
        || (standing.round == request.asked_after && standing.pass_id != request.asked_upon)
}

/// Whether something that a pass asked is decided here, and was not where it
/// was asked: it may be asked again when git goes back there.
///
/// # Errors
/// `engine-db-…`.
pub fn rests(reader: &Reader<'_>, pass_id: &str) -> Result<bool, DbError> {
    for request in reader.requests_of_pass(pass_id)? {
        if let Some(standing) = reader.standing(&request.attestation_ref)?
            && was_asked_elsewhere(&request, &standing)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether only the verdicts of an escalation are taken on a ref.
pub fn escalation_due(standing: Option<&Standing>, rounds_max: u32) -> bool {
    standing.is_some_and(|s| {
        s.verdict == Verdict::InsufficientBasis.as_str() && s.basis_streak >= rounds_max
    })
}

/// What waits in an open pass, oldest first.
///
/// # Errors
/// `engine-db-…`.
pub fn of_pass(reader: &Reader<'_>, pass_id: &str) -> Result<Vec<Request>, DbError> {
    let mut pending = Vec::new();
    for request in reader.requests_of_pass(pass_id)? {
        let standing = reader.standing(&request.attestation_ref)?;
        if waits(&request, standing.as_ref()) {
            pending.push(request.at(standing.as_ref()));
        }
    }
    Ok(pending)
}

/// Everything that waits, oldest first.
///
/// # Errors
/// `engine-db-…`.
pub fn all(reader: &Reader<'_>) -> Result<Vec<Request>, DbError> {
    let mut pending = Vec::new();
    for pass in reader.open_passes()? {
        pending.extend(of_pass(reader, &pass.pass_id)?);
    }
    pending.sort_by_key(|request| request.request_id);
    Ok(pending)
}

/// What waits on a ref.
///
/// # Errors
/// `engine-db-…`.
pub fn on(
    reader: &Reader<'_>,
    attestation_ref: &str,
    standing: Option<&Standing>,
) -> Result<Option<Request>, DbError> {
    let Some(request) = reader.newest_request(attestation_ref)? else {
        return Ok(None);
    };
    let open = reader
        .pass(&request.pass_id)?
        .is_some_and(|pass| pass.status == PassStatus::Open);
    Ok((open && waits(&request, standing)).then(|| request.at(standing)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(round: u32, verdict: &str, pass_id: &str) -> Standing {
        Standing {
            round,
            verdict: verdict.to_owned(),
            pass_id: pass_id.to_owned(),
            ..Standing::default()
        }
    }

    #[test]
    fn what_is_decided_here_is_not_asked_because_it_failed_on_another_branch() {
        let there = standing(2, "fail", "p");
        let request = Request::default().asked(Some(&there));
        assert!(waits(&request, Some(&there)), "where it was asked");
        for (here, waiting) in [
            (None, true),
            (Some(standing(1, "pass", "p")), false),
            (Some(standing(2, "pass", "q")), false),
            (Some(standing(1, "fail", "p")), true),
            (Some(standing(2, "fail", "q")), true),
            (Some(standing(2, "insufficient-basis", "q")), true),
            (Some(standing(3, "pass", "q")), false),
            (Some(standing(3, "fail", "q")), false),
        ] {
            assert_eq!(waits(&request, here.as_ref()), waiting, "{here:?}");
        }
        // What passed and is asked again (its files are others) waits.
        let passed = standing(2, "pass", "p");
        let request = Request::default().asked(Some(&passed));
        assert!(waits(&request, Some(&passed)));
    }
}
