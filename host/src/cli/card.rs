//! What a question looks like: all that helps to answer it, in words.
//!
//! Plain labelled lines, no frames: read the same by eye, by a screen reader
//! and without colour. Colour only repeats what the words say.

use ghyll::engine::{Finding, Row};
use ghyll::modal::ModalHint;
use ghyll::verdicts::evidence;

use super::output::{Output, clean};
use super::repl::{count, excerpt};

/// Where the text behind a label starts.
const INDENT: usize = 13;

/// Shows what a verdict is asked on.
pub fn verdict(out: &Output, hint: &ModalHint) {
    out.note("");
    out.heading(&format!("Verdict asked: {}", name(hint)), false);
    fields(out, hint);
    out.note_wrapped(
        "  Answer with  p pass, f fail (asks where), i insufficient-basis (asks why), s skip for \
         now",
        INDENT + 2,
    );
}

/// Shows what an escalation is about.
pub fn escalation(out: &Output, hint: &ModalHint) {
    let rounds = hint
        .history
        .iter()
        .rev()
        .take_while(|row| row.rec.verdict == "insufficient-basis");
    out.note("");
    out.heading(&format!("*** ESCALATION *** {}", name(hint)), true);
    out.note_wrapped(
        &format!(
            "  {} in a row found no basis to judge this clause. Somebody has to decide: there is \
             no default here and no skip.",
            count(rounds.count(), "round"),
        ),
        2,
    );
    fields(out, hint);
    let disposes = match hint.findings.first() {
        Some(first) => format!("; disposes of finding #{}", first.finding_id),
        None => String::new(),
    };
    out.note_wrapped(
        &format!("  1  accept the risk: the clause may pass (asks for a note){disposes}"),
        5,
    );
    out.note_wrapped(
        &format!(
            "  2  route upstream: back to {} for a deeper artifact, and this pass ends (asks why)",
            clean(&hint.request.source_role),
        ),
        5,
    );
}

/// The ref and its round, for headings.
pub fn name(hint: &ModalHint) -> String {
    format!(
        "{}, round {}",
        clean(&hint.request.attestation_ref),
        hint.request.round
    )
}

fn fields(out: &Output, hint: &ModalHint) {
    let request = &hint.request;
    let field = |label: &str, text: &str| {
        out.note_wrapped(
            &format!("  {label:<width$}{text}", width = INDENT - 2),
            INDENT,
        );
    };
    field(
        "Clause",
        &format!("{}: {}", clean(&request.clause_id), clean(&request.concept)),
    );
    let adversary = match request.adversary_role.as_str() {
        "" => String::new(),
        role => format!(", with {} as adversary", clean(role)),
    };
    field(
        "Arrow",
        &format!(
            "{}, from {} to {}{adversary}",
            clean(&request.arrow_id),
            clean(&request.source_role),
            clean(&request.target_role),
        ),
    );
    field(
        "Context",
        &format!(
            "{}, stratum {}",
            clean(&request.context),
            clean(&request.stratum)
        ),
    );
    for row in &hint.history {
        field("Earlier", &earlier(row));
    }
    for finding in &hint.findings {
        field("Finding", &open_finding(finding));
    }
    if request.deeper > 0 {
        let times = count(
            usize::try_from(request.deeper).unwrap_or(usize::MAX),
            "time",
        );
        field(
            "Deeper",
            &format!(
                "routed upstream {times}: the artifact has to be {} deeper than the grid asks",
                count(
                    usize::try_from(request.deeper).unwrap_or(usize::MAX),
                    "tier"
                ),
            ),
        );
    }
    match &hint.op_id {
        Some(op_id) => field("Answering", &clean(op_id)),
        None => field("Answering", "nobody yet; type /op-id ID to say who you are"),
    }
    if hint.waiting > 0 {
        field("Waiting", &format!("{} more after this one", hint.waiting));
    }
}

fn earlier(row: &Row) -> String {
    let evidence = evidence(row);
    let said = if evidence.is_empty() {
        String::new()
    } else {
        format!(": {}", excerpt(&evidence))
    };
    format!(
        "round {}, {} by {}{said}",
        row.round,
        clean(&row.rec.verdict),
        clean(&row.rec.op_id)
    )
}

fn open_finding(finding: &Finding) -> String {
    format!(
        "#{} open, {}, {}: {}",
        finding.finding_id,
        clean(&finding.severity),
        clean(&finding.kind),
        excerpt(&finding.detail),
    )
}
