//! What is shown of records, requests, findings, passes and arrows: one type
//! each, the same as JSON, as text and in scripts.

mod reasons;

pub use reasons::*;

use schemars::JsonSchema;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::db::{Evidence, Request, Row};
use crate::grid::{Arrow, Clause, Eval};
use crate::policy::Attestation;
use crate::work::status::{ArrowStatus, ArrowView, ClauseStatus, ClauseView};

/// A record as the object of its line.
#[derive(Debug, Clone, Copy)]
pub struct LineObject<'a>(pub &'a Row);

/// The fields of a line that are text, in the contract's order.
fn texts(rec: &Attestation) -> [(&'static str, &str); 18] {
    [
        ("attestation_id", &rec.attestation_id),
        ("kind", &rec.kind),
        ("arrow_id", &rec.arrow_id),
        ("clause_id", &rec.clause_id),
        ("op_id", &rec.op_id),
        ("attested_by_role", &rec.attested_by_role),
        ("source_role", &rec.source_role),
        ("target_role", &rec.target_role),
        ("adversary_role", &rec.adversary_role),
        ("verdict", &rec.verdict),
        ("reason", &rec.reason),
        ("timestamp", &rec.timestamp),
        ("pass_id", &rec.pass_id),
        ("context", &rec.context),
        ("stratum", &rec.stratum),
        ("unit", &rec.unit),
        ("unit_payload_json", &rec.unit_payload_json),
        ("hint_json", &rec.hint_json),
    ]
}

impl Serialize for LineObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(20))?;
        for (key, value) in texts(&self.0.rec) {
            map.serialize_entry(key, value)?;
            if key == "timestamp" {
                map.serialize_entry("grid_version", &self.0.rec.grid_version)?;
            }
        }
        map.serialize_entry("chain", &self.0.chain)?;
        map.end()
    }
}

/// A record with the ref it answers, as scripts see it.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a>(pub &'a Row);

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(22))?;
        for (key, value) in texts(&self.0.rec) {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry("grid_version", &self.0.rec.grid_version)?;
        map.serialize_entry("chain", &self.0.chain)?;
        map.serialize_entry("attestation_ref", &self.0.attestation_ref)?;
        map.serialize_entry("round", &self.0.round)?;
        map.end()
    }
}

impl JsonSchema for Record<'_> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Record".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let rec = crate::view::empty_record();
        let mut properties = serde_json::Map::new();
        let names = texts(&rec).map(|(name, _)| name);
        for name in names.into_iter().chain(["chain", "attestation_ref"]) {
            properties.insert(name.to_owned(), serde_json::json!({ "type": "string" }));
        }
        for name in ["grid_version", "round"] {
            properties.insert(name.to_owned(), serde_json::json!({ "type": "integer" }));
        }
        let required: Vec<_> = properties.keys().cloned().collect();
        schemars::json_schema!({
            "type": "object",
            "description": "A record: the fields of its line, and the ref and round it answers.",
            "properties": properties,
            "required": required,
        })
    }
}

/// What an operator is asked.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Pending<'a> {
    /// What is asked for.
    pub attestation_ref: &'a str,
    /// Which answer it will get, from 1.
    pub round: u32,
    /// The arrow traversed.
    pub arrow_id: &'a str,
    /// The clause in question.
    pub clause_id: &'a str,
    /// What it claims.
    pub concept: &'a str,
    /// The pass that asks.
    pub pass_id: &'a str,
    /// Whether only an escalation's verdicts are taken.
    pub escalation: bool,
    /// How much deeper the artifact has to be than the grid asks.
    pub deeper: u32,
    /// The arrow's context.
    pub context: &'a str,
    /// Its stratum.
    pub stratum: &'a str,
    /// Who hands over.
    pub source_role: &'a str,
    /// To whom.
    pub target_role: &'a str,
    /// Who doubts it; empty for none.
    pub adversary_role: &'a str,
    /// The grid it was made under.
    pub grid_version: u64,
    /// What the producer of the work says of the clause; nobody has checked it.
    pub evidence: &'a Evidence,
}

impl<'a> Pending<'a> {
    /// A request, and whether it is an escalation.
    pub fn new(request: &'a Request, escalation: bool) -> Self {
        Self {
            attestation_ref: &request.attestation_ref,
            round: request.round,
            arrow_id: &request.arrow_id,
            clause_id: &request.clause_id,
            concept: &request.concept,
            pass_id: &request.pass_id,
            escalation,
            deeper: request.deeper,
            context: &request.context,
            stratum: &request.stratum,
            source_role: &request.source_role,
            target_role: &request.target_role,
            adversary_role: &request.adversary_role,
            grid_version: request.grid_version,
            evidence: &request.evidence,
        }
    }
}

/// An arrow on one line.
#[derive(Debug, Clone, Serialize)]
pub struct ArrowLine<'a> {
    /// Its id.
    pub id: &'a str,
    /// Where it stands.
    pub status: ArrowStatus,
    /// Who hands over.
    pub source_role: &'a str,
    /// To whom.
    pub target_role: &'a str,
    /// Who doubts it.
    pub adversary_role: Option<&'a str>,
    /// Its context.
    pub context: &'a str,
    /// Its stratum.
    pub stratum: &'a str,
    /// How many clauses it has.
    pub clauses: usize,
    /// How many of them pass only because somebody took the risk on.
    pub accepted_risk: usize,
    /// How many were answered more than once where nobody could see the
    /// others, and not since.
    pub concurrent: usize,
}

impl<'a> ArrowLine<'a> {
    /// An arrow with where it stands.
    pub fn new(arrow: &'a Arrow, view: &ArrowView) -> Self {
        Self {
            id: &arrow.id,
            status: view.status,
            source_role: &arrow.source_role,
            target_role: &arrow.target_role,
            adversary_role: arrow.adversary_role.as_deref(),
            context: &arrow.context,
            stratum: &arrow.stratum,
            clauses: arrow.clauses.len(),
            accepted_risk: accepted_risks(view),
            concurrent: concurrent(view),
        }
    }
}

/// How many clauses pass only because somebody took the risk on.
pub fn accepted_risks(view: &ArrowView) -> usize {
    view.clauses.iter().filter(|c| c.accepted_risk).count()
}

/// How many clauses were answered more than once where nobody could see the
/// others, and not since.
pub fn concurrent(view: &ArrowView) -> usize {
    view.clauses.iter().filter(|c| c.concurrent).count()
}

/// An arrow with its clauses.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ArrowWhole<'a> {
    /// Its id.
    pub id: &'a str,
    /// Where it stands.
    pub status: ArrowStatus,
    /// Who hands over.
    pub source_role: &'a str,
    /// To whom.
    pub target_role: &'a str,
    /// Who doubts it.
    pub adversary_role: Option<&'a str>,
    /// Its context.
    pub context: &'a str,
    /// Its stratum.
    pub stratum: &'a str,
    /// Its clauses, in the grid's order.
    pub clauses: Vec<ClauseWhole<'a>>,
}

/// A clause with where it stands and why.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ClauseWhole<'a> {
    /// Its id.
    pub id: &'a str,
    /// `machine` or `attested`.
    pub eval: &'static str,
    /// Where it stands.
    pub status: ClauseStatus,
    /// The round asked for, else the last one answered, else 0.
    pub round: u32,
    /// What it claims.
    pub concept: &'a str,
    /// How deep the artifact has to be.
    pub depth: Option<&'a str>,
    /// The least tier of a model for it.
    pub min_tier: Option<u32>,
    /// How much deeper than that, for it was routed upstream.
    pub deeper: u32,
    /// What an operator is asked for; empty for a machine clause.
    pub attestation_ref: &'a str,
    /// The verdict that counts.
    pub verdict: Option<&'a str>,
    /// Whether it passes only because somebody took the risk on.
    pub accepted_risk: bool,
    /// Whether the round that counts was given more than once, where nobody
    /// could see the others.
    pub concurrent: bool,
    /// Open findings on it.
    pub open_findings: usize,
    /// What the last command said.
    pub detail: Option<&'a str>,
    /// What the covered files are now; empty where nothing is covered.
    pub subject: &'a str,
    /// Whether it passed on other files than these.
    pub stale: bool,
    /// The paths that changed since it was judged.
    pub changed: Vec<String>,
    /// Why the covered files cannot be listed.
    pub problem: Option<&'a str>,
}

/// How a clause is decided.
pub fn eval(eval: &Eval) -> &'static str {
    match eval {
        Eval::Attested => "attested",
        Eval::Machine { .. } => "machine",
    }
}

impl<'a> ArrowWhole<'a> {
    /// An arrow with where it and its clauses stand; `changed` tells which
    /// paths changed since a clause was judged.
    pub fn new(
        arrow: &'a Arrow,
        view: &'a ArrowView,
        changed: impl Fn(&Clause, &ClauseView) -> Vec<String>,
    ) -> Self {
        let clauses = arrow.clauses.iter().zip(&view.clauses);
        Self {
            id: &arrow.id,
            status: view.status,
            source_role: &arrow.source_role,
            target_role: &arrow.target_role,
            adversary_role: arrow.adversary_role.as_deref(),
            context: &arrow.context,
            stratum: &arrow.stratum,
            clauses: clauses
                .map(|(clause, view)| ClauseWhole {
                    id: &clause.id,
                    eval: eval(&clause.eval),
                    status: view.status,
                    round: view.round,
                    concept: &clause.concept,
                    depth: clause.depth.as_deref(),
                    min_tier: clause.min_tier,
                    deeper: view.deeper,
                    attestation_ref: &view.attestation_ref,
                    verdict: view.newest.as_ref().map(|row| row.rec.verdict.as_str()),
                    accepted_risk: view.accepted_risk,
                    concurrent: view.concurrent,
                    open_findings: view.open_findings,
                    detail: view.run.as_ref().map(|run| run.detail.as_str()),
                    subject: &view.subject,
                    stale: view.status == ClauseStatus::Stale,
                    changed: changed(clause, view),
                    problem: view.problem.as_ref().map(|(_, words)| words.as_str()),
                })
                .collect(),
        }
    }
}
