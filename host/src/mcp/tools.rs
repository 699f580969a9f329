//! What an agent can ask. Names, arguments and results are public interface;
//! results are of the types that `--json` prints.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rmcp::handler::server::common::{schema_for_input, schema_for_output};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fault::Fault;
use super::place::Place;
use crate::codes;
use crate::db::{Evidence, Filter, Request, Row};
use crate::runtime::cancel::Cancel;
use crate::session::Options;
use crate::shape::{ArrowWhole, DispatchedWhole, Pending, Reason, Record, next_command, reasons};
use crate::view::{View, find_arrow};
use crate::work::pending::escalation_due;

/// The longest that `pending` waits, in seconds.
pub(super) const WAIT_MAX: u64 = 300;
/// The most records that `history` tells.
const HISTORY_MAX: usize = 200;
/// How many it tells unasked.
const HISTORY: usize = 20;

/// What `status` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusArguments {
    /// Only this arrow; all without it.
    #[serde(default)]
    arrow: Option<String>,
}

/// What `dispatch` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DispatchArguments {
    /// The arrow's id.
    pub(super) arrow: String,
    /// What you, the producer, say of clauses, by clause id: `locations` as
    /// FILE, FILE:LINE or FILE:FIRST-LAST from the project's root, `basis` for
    /// why the clause should hold, `residue` for what is left open. The
    /// operator sees it as your words.
    #[serde(default)]
    pub(super) evidence: BTreeMap<String, Evidence>,
}

/// What `pending` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PendingArguments {
    /// How many seconds to wait for an answer, 0 to 300.
    #[serde(default)]
    #[schemars(range(min = 0, max = 300))]
    pub(super) wait_seconds: u64,
}

/// What `history` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryArguments {
    /// Only verdicts on this arrow.
    #[serde(default)]
    arrow: Option<String>,
    /// Only verdicts on this clause.
    #[serde(default)]
    clause: Option<String>,
    /// Only the newest so many, 1 to 200; 20 without it.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
}

/// What `explain` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExplainArguments {
    /// A code, as in `error[code]`.
    code: String,
}

/// Where arrows stand.
#[derive(Debug, Serialize, JsonSchema)]
struct Status<'a> {
    /// The arrows, in the grid's order.
    arrows: Vec<Standing<'a>>,
    /// Records that cannot be read; arrows they may concern are `unreadable`.
    issues: Vec<Issue>,
}

/// An arrow, why it does not hold, and what takes it further.
#[derive(Debug, Serialize, JsonSchema)]
struct Standing<'a> {
    /// The arrow with its clauses.
    #[serde(flatten)]
    arrow: ArrowWhole<'a>,
    /// Why clauses do not hold.
    reasons: Vec<Reason<'a>>,
    /// The command that takes it further: `ghyll run` is an operator's, who
    /// answers; empty if nothing is left to do.
    next: String,
}

/// Something that cannot be read.
#[derive(Debug, Serialize, JsonSchema)]
struct Issue {
    code: String,
    message: String,
}

/// What waits, and what does no longer.
#[derive(Debug, Serialize, JsonSchema)]
struct Waiting<'a> {
    /// What operators are asked now, oldest first.
    pending: Vec<Pending<'a>>,
    /// The verdicts given meanwhile on what was waited for.
    decided: Vec<Record<'a>>,
    /// The refs that are no longer asked although nobody answered.
    withdrawn: Vec<String>,
    /// Whether the time was up before anything was decided.
    timed_out: bool,
}

/// Verdicts on record.
#[derive(Debug, Serialize, JsonSchema)]
struct History<'a> {
    /// Newest last.
    attestations: Vec<Record<'a>>,
}

/// All tools. None gives a verdict.
pub(super) fn all() -> Vec<Tool> {
    fn tool<A: JsonSchema + 'static, R: JsonSchema + 'static>(
        name: &'static str,
        description: &'static str,
    ) -> Tool {
        // Each is an object, which is all that could be wrong with a schema.
        let takes = schema_for_input::<A>().unwrap_or_default();
        let reads = name != "dispatch";
        Tool::new(name, description, takes)
            .with_raw_output_schema(schema_for_output::<R>())
            .with_annotations(
                ToolAnnotations::new()
                    .read_only(reads)
                    .destructive(false)
                    .idempotent(reads)
                    .open_world(false),
            )
    }
    vec![
        tool::<StatusArguments, Status<'static>>(
            "status",
            "Where the arrows of the project stand: each clause with its status, why it does not \
             hold, and what takes the arrow further.",
        ),
        tool::<DispatchArguments, DispatchedWhole<'static>>(
            "dispatch",
            "Say that your work on an arrow is ready to be judged. Runs its machine clauses and \
             asks operators for the attested ones; gives back what is asked and why clauses fail. \
             Only an operator, a person, can answer: wait with `pending`.",
        ),
        tool::<PendingArguments, Waiting<'static>>(
            "pending",
            "What operators are asked. With wait_seconds, waits until something you dispatched is \
             answered, or the time is up, and gives back the verdicts given meanwhile with their \
             places and notes.",
        ),
        tool::<HistoryArguments, History<'static>>(
            "history",
            "The verdicts on record, newest last.",
        ),
        tool::<ExplainArguments, codes::Page>(
            "explain",
            "What a code of ghyll means, and what to do about it.",
        ),
    ]
}

/// The arguments of a call.
pub(super) fn arguments<A: DeserializeOwned>(given: Option<JsonObject>) -> Result<A, Fault> {
    serde_json::from_value(Value::Object(given.unwrap_or_default())).map_err(Fault::arguments)
}

fn value(result: &impl Serialize) -> Result<Value, Fault> {
    serde_json::to_value(result).map_err(|error| Fault::new("mcp-failed", error))
}

/// Where arrows stand.
pub(super) fn status(place: &Place, arguments: &StatusArguments) -> Result<Value, Fault> {
    let view = place.view()?;
    let arrows = match &arguments.arrow {
        Some(id) => vec![view.arrow(id)?],
        None => view.arrows()?,
    };
    value(&Status {
        arrows: arrows
            .iter()
            .map(|(arrow, stands)| Standing {
                arrow: ArrowWhole::new(arrow, stands, |clause, stands| {
                    // Where it cannot be told, that is no reason to say nothing.
                    let changed = view.changed(arrow, clause, stands).unwrap_or_default();
                    changed.into_iter().map(|change| change.path).collect()
                }),
                reasons: reasons(arrow, stands),
                next: next_command(arrow, stands),
            })
            .collect(),
        issues: view
            .damage()
            .iter()
            .map(|damage| Issue {
                code: damage.code().to_owned(),
                message: damage.to_string(),
            })
            .collect(),
    })
}

/// Traverses an arrow.
pub(super) fn dispatch(
    place: &Place,
    arguments: DispatchArguments,
    cancel: &Cancel,
) -> Result<Value, Fault> {
    let options = Options {
        cancel: cancel.clone(),
        evidence: arguments.evidence,
        ..Options::default()
    };
    let done = place.session()?.dispatch_with(&arguments.arrow, &options)?;
    let mut asked = place.asked.lock();
    for request in &done.requested {
        asked.insert(request.attestation_ref.clone(), request.round);
    }
    drop(asked);
    value(&DispatchedWhole::new(&done))
}

/// What is waited for: refs, each with the round it is asked for.
pub(super) type Watched = BTreeMap<String, u32>;

/// What is to be waited for: what this server asked and has not told of, else
/// whatever is asked now.
pub(super) fn watched(place: &Place) -> Result<Watched, Fault> {
    let asked = place.asked.lock().clone();
    if !asked.is_empty() {
        return Ok(asked);
    }
    let pending = place.view()?.pending()?;
    Ok(pending
        .into_iter()
        .map(|request| (request.attestation_ref, request.round))
        .collect())
}

/// What is pending, and what came of what was waited for; `None` if nothing
/// did and it is to be waited on.
pub(super) fn pending(
    place: &Place,
    watched: &Watched,
    last: bool,
    time_up: bool,
) -> Result<Option<Value>, Fault> {
    let view = place.view()?;
    let pending = view.pending()?;
    let rounds_max = view.grid().settings.insufficient_basis_rounds_max;
    let (mut decided, mut withdrawn) = (Vec::new(), Vec::new());
    for (attestation_ref, round) in watched {
        let mut rows = view.read(|reader| reader.rounds_from(attestation_ref, *round))?;
        let asked = |request: &Request| request.attestation_ref == *attestation_ref;
        if rows.is_empty() && !pending.iter().any(asked) {
            withdrawn.push(attestation_ref.clone());
        }
        decided.append(&mut rows);
    }
    let nothing = decided.is_empty() && withdrawn.is_empty();
    if nothing && !last && !watched.is_empty() {
        return Ok(None);
    }
    let mut shown = Vec::new();
    for request in &pending {
        let standing = view.read(|reader| reader.standing(&request.attestation_ref))?;
        let due = escalation_due(standing.as_ref(), rounds_max);
        shown.push(Pending::new(request, due));
    }
    let result = value(&Waiting {
        pending: shown,
        decided: decided.iter().map(Record).collect(),
        withdrawn: withdrawn.clone(),
        timed_out: nothing && time_up,
    })?;
    // Told now, and not again; what is asked for another round is.
    let mut asked = place.asked.lock();
    for told in withdrawn
        .iter()
        .chain(decided.iter().map(|row| &row.attestation_ref))
    {
        let before = asked.remove(told);
        let again = pending
            .iter()
            .find(|request| request.attestation_ref == *told);
        if let (Some(_), Some(request)) = (before, again) {
            asked.insert(told.clone(), request.round);
        }
    }
    Ok(Some(result))
}

/// The verdicts on record.
pub(super) fn history(place: &Place, arguments: &HistoryArguments) -> Result<Value, Fault> {
    let limit = arguments.limit.unwrap_or(HISTORY);
    if !(1..=HISTORY_MAX).contains(&limit) {
        return Err(Fault::arguments(format!("limit is 1 to {HISTORY_MAX}")));
    }
    let view = place.view()?;
    let clause = arguments.clause.as_deref();
    let rows = newest(&view, arguments.arrow.as_deref(), limit, |row| {
        clause.is_none_or(|clause| row.rec.clause_id == clause)
    })?;
    if let (true, Some(id)) = (rows.is_empty(), &arguments.arrow) {
        known(&view, id, clause)?;
    }
    value(&History {
        attestations: rows.iter().map(Record).collect(),
    })
}

/// Whether the grid or a record knows an arrow, and the grid the clause.
fn known(view: &View, id: &str, clause: Option<&str>) -> Result<(), Fault> {
    let on_record = view.read(|reader| reader.knows_arrow(id))?;
    match (find_arrow(view.grid(), id), clause) {
        (Err(_), _) if on_record => Ok(()),
        (Err(unknown), _) => Err(unknown.into()),
        (Ok(arrow), Some(clause)) if !arrow.clauses.iter().any(|c| c.id == clause) => {
            let message = format!("{id} has no clause {clause:?}");
            Err(Fault::new("clause-unknown", message))
        }
        (Ok(_), _) => Ok(()),
    }
}

/// The newest records on an arrow that `takes` takes, newest last.
pub(super) fn newest(
    view: &View,
    arrow: Option<&str>,
    limit: usize,
    takes: impl Fn(&Row) -> bool,
) -> Result<VecDeque<Row>, Fault> {
    let filter = Filter {
        arrow_id: arrow.map(str::to_owned),
        ..Filter::default()
    };
    let mut rows = VecDeque::new();
    view.each_record(&filter, |row| {
        if takes(&row) {
            rows.push_back(row);
            if rows.len() > limit {
                rows.pop_front();
            }
        }
        Ok::<_, Fault>(())
    })?;
    Ok(rows)
}

/// What a code means.
pub(super) fn explain(arguments: &ExplainArguments) -> Result<Value, Fault> {
    let asked = arguments.code.trim().trim_end_matches(']');
    let bare = asked.rsplit('[').next().unwrap_or(asked);
    match codes::page(bare) {
        Some(page) => value(page),
        None => {
            let nearest = crate::text::nearest(bare, codes::all().map(|page| page.code));
            let nearest = nearest.map(|code| format!("; did you mean {code}?"));
            let bare = crate::text::excerpt(bare);
            let message = format!("there is no code {bare:?}{}", nearest.unwrap_or_default());
            Err(Fault::new("code-unknown", message))
        }
    }
}

/// The tools, made once.
pub(super) type Tools = Arc<[Tool]>;
