//! The policy behind one small interface, however it is run.
//!
//! Tests ask the native library and the component the same questions and
//! compare the answers, so both are asked in JSON, spelled as in the vectors
//! (see `tests/vectors/README.md`). The two have types of the same names and
//! fields; one macro writes the conversions for both.

use ghyll::policy::{Policy, PolicyError};
use serde_json::{Value, json};

/// An answer: the value, or the error of the policy.
pub type Answer = Result<Value, Fault>;

/// An error of the policy, or of what runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The code.
    pub code: String,
    /// What was wrong, in words.
    pub detail: String,
}

/// One way to run the policy.
pub trait Judge {
    /// Calls any function but `check-lines`, by its name in the WIT.
    ///
    /// # Errors
    /// What the policy refuses, or a failure to run it.
    fn call(&self, function: &str, args: &Value) -> Answer;

    /// Calls `check-lines`.
    ///
    /// # Errors
    /// A failure to run it: faults of the lines are in the answer.
    fn check_lines(&self, chunk: &[u8], cursor: &Value, limits: &Value) -> Answer;
}

fn text(value: &Value) -> String {
    value.as_str().expect("a string").into()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().expect("a list").iter().map(text).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn small(value: &Value) -> u32 {
    u32::try_from(number(value)).expect("32 bits")
}

fn ranges(ranges: &[(u32, u32)]) -> Value {
    ranges
        .iter()
        .map(|(start, end)| json!({ "start": start, "end": end }))
        .collect()
}

macro_rules! conversions {
    ($name:ident, $($policy:tt)+) => {
        mod $name {
            use super::{number, small, text, texts};
            use serde_json::{Value, json};
            use $($policy)+::{
                ArrowDefinition, Attestation, Clause, Cursor, EncodedLine, EncodedPath, Hint,
                Limits, Surface, UnitPayload,
            };

            pub fn clause(v: &Value) -> Clause {
                Clause {
                    clause_id: text(&v["clause_id"]),
                    concept: text(&v["concept"]),
                    depth_type_attestation_ref: text(&v["depth_type_attestation_ref"]),
                    subject: text(&v["subject"]),
                    locations: texts(&v["locations"]),
                    basis: text(&v["basis"]),
                    residue: text(&v["residue"]),
                }
            }

            pub fn arrow(v: &Value) -> ArrowDefinition {
                ArrowDefinition {
                    id: text(&v["id"]),
                    source_role: text(&v["source_role"]),
                    target_role: text(&v["target_role"]),
                    context: text(&v["context"]),
                    stratum: text(&v["stratum"]),
                }
            }

            pub fn hint(v: &Value) -> Hint {
                Hint {
                    arrow_id: text(&v["arrow_id"]),
                    clause_id: text(&v["clause_id"]),
                    concept: text(&v["concept"]),
                    attestation_ref: text(&v["attestation_ref"]),
                    subject: text(&v["subject"]),
                    locations: texts(&v["locations"]),
                    basis: text(&v["basis"]),
                    residue: text(&v["residue"]),
                }
            }

            pub fn payload(v: &Value) -> UnitPayload {
                UnitPayload {
                    inspected: texts(&v["inspected"]),
                    residue: text(&v["residue"]),
                }
            }

            pub fn limits(v: &Value) -> Limits {
                Limits {
                    max_residue_bytes: small(&v["max_residue_bytes"]),
                }
            }

            pub fn record(v: &Value) -> Attestation {
                Attestation {
                    attestation_id: text(&v["attestation_id"]),
                    kind: text(&v["kind"]),
                    arrow_id: text(&v["arrow_id"]),
                    clause_id: text(&v["clause_id"]),
                    op_id: text(&v["op_id"]),
                    attested_by_role: text(&v["attested_by_role"]),
                    source_role: text(&v["source_role"]),
                    target_role: text(&v["target_role"]),
                    adversary_role: text(&v["adversary_role"]),
                    verdict: text(&v["verdict"]),
                    reason: text(&v["reason"]),
                    timestamp: text(&v["timestamp"]),
                    grid_version: number(&v["grid_version"]),
                    pass_id: text(&v["pass_id"]),
                    context: text(&v["context"]),
                    stratum: text(&v["stratum"]),
                    unit: text(&v["unit"]),
                    unit_payload_json: text(&v["unit_payload_json"]),
                    hint_json: text(&v["hint_json"]),
                }
            }

            pub fn cursor(v: &Value) -> Cursor {
                Cursor {
                    surface: match &v["surface"]["tree"] {
                        Value::String(path) => Surface::Tree(path.clone()),
                        _ => Surface::Flat,
                    },
                    bytes: number(&v["bytes"]),
                    lines: number(&v["lines"]),
                    chain: text(&v["chain"]),
                    skipped: number(&v["skipped"]),
                    at_end: v["at_end"].as_bool().expect("a bool"),
                }
            }

            pub fn hint_json(h: &Hint) -> Value {
                json!({
                    "arrow_id": h.arrow_id,
                    "clause_id": h.clause_id,
                    "concept": h.concept,
                    "attestation_ref": h.attestation_ref,
                    "subject": h.subject,
                    "locations": h.locations,
                    "basis": h.basis,
                    "residue": h.residue,
                })
            }

            pub fn payload_json(p: &UnitPayload) -> Value {
                json!({ "inspected": p.inspected, "residue": p.residue })
            }

            pub fn path_json(p: &EncodedPath) -> Value {
                json!({
                    "path": p.path,
                    "truncated": p.truncated,
                    "substituted": p.substituted,
                })
            }

            pub fn line_json(l: &EncodedLine) -> Value {
                json!({ "line": l.line, "chain": l.chain })
            }

            pub fn record_json(r: &Attestation) -> Value {
                json!({
                    "attestation_id": r.attestation_id,
                    "kind": r.kind,
                    "arrow_id": r.arrow_id,
                    "clause_id": r.clause_id,
                    "op_id": r.op_id,
                    "attested_by_role": r.attested_by_role,
                    "source_role": r.source_role,
                    "target_role": r.target_role,
                    "adversary_role": r.adversary_role,
                    "verdict": r.verdict,
                    "reason": r.reason,
                    "timestamp": r.timestamp,
                    "grid_version": r.grid_version,
                    "pass_id": r.pass_id,
                    "context": r.context,
                    "stratum": r.stratum,
                    "unit": r.unit,
                    "unit_payload_json": r.unit_payload_json,
                    "hint_json": r.hint_json,
                })
            }

            pub fn cursor_json(c: &Cursor) -> Value {
                let surface = match &c.surface {
                    Surface::Tree(path) => json!({ "tree": path }),
                    Surface::Flat => json!("flat"),
                };
                json!({
                    "surface": surface,
                    "bytes": c.bytes,
                    "lines": c.lines,
                    "chain": c.chain,
                    "skipped": c.skipped,
                    "at_end": c.at_end,
                })
            }

            pub fn faults_json(faults: &[Refusal]) -> Value {
                faults.iter().map(fault_json).collect()
            }

            fn fault_json(f: &Refusal) -> Value {
                json!({ "code": f.code, "detail": f.detail })
            }

            use super::refusal::$name as Refusal;
        }
    };
}

/// The one type the two name differently.
mod refusal {
    pub use ghyll::policy::Refusal as component;
    pub use ghyll_policy::PolicyError as native;
}

conversions!(native, ghyll_policy);
conversions!(component, ghyll::policy);

/// What the library says of a line, with what stands at its spans.
fn native_line(
    checked: &ghyll_policy::Checked,
    line: &ghyll_policy::CheckedLine,
    chunk: &[u8],
    origin: u64,
) -> Value {
    let bytes = line
        .offset
        .checked_sub(origin)
        .and_then(|start| chunk.get(usize::try_from(start).ok()?..))
        .unwrap_or_default();
    let values = line.content.values(bytes);
    json!({
        "number": line.number,
        "offset": line.offset,
        "length": line.length,
        "rec": values.as_ref().map(|values| native::record_json(&values.rec)),
        "attestation_ref": values.map(|values| values.attestation_ref).unwrap_or_default(),
        "round": line.round,
        "chain": line.content.chain(bytes),
        "chained": line.chained,
        "path": checked.path(line),
        "problems": native::faults_json(&line.problems),
        "warnings": native::faults_json(&line.warnings),
    })
}

/// What our host says of a line.
fn component_line(line: &ghyll::policy::CheckedLine<'_>) -> Value {
    json!({
        "number": line.number,
        "offset": line.offset,
        "length": line.length,
        "rec": line.rec().as_ref().map(component::record_json),
        "attestation_ref": line.attestation_ref(),
        "round": line.round,
        "chain": line.chain(),
        "chained": line.chained,
        "path": *line.path,
        "problems": component::faults_json(&line.problems),
        "warnings": component::faults_json(&line.warnings),
    })
}

/// The library, compiled natively.
pub struct Native;

impl Judge for Native {
    fn call(&self, function: &str, args: &Value) -> Answer {
        use ghyll_policy as policy;
        use native::{
            arrow, clause, hint, hint_json, limits, line_json, path_json, payload, payload_json,
            record,
        };
        let none = |()| Value::Null;
        let answer = match function {
            "synthesize-hint" => {
                let hint = policy::synthesize_hint(&clause(&args["c"]), &arrow(&args["def"]));
                Ok(hint_json(&hint))
            }
            "encode-hint" => Ok(json!(policy::encode_hint(&hint(&args["h"])))),
            "decode-hint" => policy::decode_hint(&text(&args["text"])).map(|hint| hint_json(&hint)),
            "decode-unit-payload" => {
                policy::decode_unit_payload(&text(&args["text"])).map(|p| payload_json(&p))
            }
            "infer-unit" => Ok(json!(policy::infer_unit(&payload(&args["payload"])))),
            "belong" => Ok(json!(policy::belong(
                &text(&args["folder"]),
                &texts(&args["names"])
            ))),
            "ref-and-round" => {
                let id = text(&args["attestation_id"]);
                let (attestation_ref, round) = policy::ref_and_round(&id);
                Ok(json!({ "attestation_ref": attestation_ref, "round": round }))
            }
            "annotate-reason" => policy::annotate_reason(
                &text(&args["reason"]),
                &text(&args["via"]),
                &texts(&args["substituted"]),
            )
            .map(Value::from),
            "verdict-severity" => Ok(json!(policy::verdict_severity(&text(&args["verdict"])))),
            "check-grid-id" => policy::check_grid_id(&text(&args["id"])).map(none),
            "skeleton" => Ok(json!(policy::skeleton(&text(&args["text"])))),
            "role-key" => Ok(json!(policy::role_key(&text(&args["role"])))),
            "unshown" => Ok(ranges(policy::unshown())),
            "attestation-ref" => Ok(json!(policy::attestation_ref(
                &text(&args["arrow_id"]),
                &text(&args["clause_id"]),
                number(&args["grid_version"]),
            ))),
            "validate-unit-payload" => policy::validate_unit_payload(
                &text(&args["unit"]),
                &payload(&args["payload"]),
                small(&args["max_residue_bytes"]),
            )
            .map(none),
            "encode-unit-payload" => Ok(json!(policy::encode_unit_payload(&payload(
                &args["payload"]
            )))),
            "encode-attestation-path" => {
                policy::encode_attestation_path(&record(&args["rec"])).map(|p| path_json(&p))
            }
            "validate" => {
                policy::validate(&record(&args["rec"]), &limits(&args["limits"])).map(none)
            }
            "encode-line" => policy::encode_line(&record(&args["rec"]), &text(&args["prev_chain"]))
                .map(|line| line_json(&line)),
            "attestation-id" => Ok(json!(policy::attestation_id(
                &text(&args["attestation_ref"]),
                small(&args["round"]),
            ))),
            "validate-op-id" => policy::validate_op_id(&text(&args["op_id"])).map(none),
            other => panic!("no function {other}"),
        };
        answer.map_err(|refused| Fault {
            code: refused.code.into(),
            detail: refused.detail,
        })
    }

    fn check_lines(&self, chunk: &[u8], cursor: &Value, limits: &Value) -> Answer {
        let cursor = native::cursor(cursor);
        let checked = ghyll_policy::check_lines(chunk, &cursor, &native::limits(limits));
        let lines = checked.lines.iter();
        Ok(json!({
            "lines": lines
                .map(|line| native_line(&checked, line, chunk, cursor.bytes))
                .collect::<Value>(),
            "consumed": checked.consumed,
            "cursor": native::cursor_json(&checked.cursor),
        }))
    }
}

/// The component, in our own host.
pub struct Component(Policy);

impl Component {
    /// Loads it.
    ///
    /// # Panics
    /// If this machine cannot run it.
    #[must_use]
    pub fn load() -> Self {
        Self(Policy::load().expect("the component loads"))
    }
}

impl Judge for Component {
    fn call(&self, function: &str, args: &Value) -> Answer {
        use component::{
            arrow, clause, hint, hint_json, limits, line_json, path_json, payload, payload_json,
            record,
        };
        let policy = &self.0;
        let none = |()| Value::Null;
        match function {
            "synthesize-hint" => policy
                .synthesize_hint(&clause(&args["c"]), &arrow(&args["def"]))
                .map(|hint| hint_json(&hint)),
            "encode-hint" => policy.encode_hint(&hint(&args["h"])).map(Value::from),
            "decode-hint" => policy
                .decode_hint(&text(&args["text"]))
                .map(|hint| hint_json(&hint)),
            "decode-unit-payload" => policy
                .decode_unit_payload(&text(&args["text"]))
                .map(|payload| payload_json(&payload)),
            "infer-unit" => policy
                .infer_unit(&payload(&args["payload"]))
                .map(Value::from),
            "belong" => policy
                .belong(&text(&args["folder"]), &texts(&args["names"]))
                .map(Value::from),
            "ref-and-round" => policy
                .ref_and_round(&text(&args["attestation_id"]))
                .map(|is| json!({ "attestation_ref": is.attestation_ref, "round": is.round })),
            "annotate-reason" => policy
                .annotate_reason(
                    &text(&args["reason"]),
                    &text(&args["via"]),
                    &texts(&args["substituted"]),
                )
                .map(Value::from),
            "verdict-severity" => policy
                .verdict_severity(&text(&args["verdict"]))
                .map(Value::from),
            "check-grid-id" => policy.check_grid_id(&text(&args["id"])).map(none),
            "skeleton" => policy.skeleton(&text(&args["text"])).map(Value::from),
            "role-key" => policy.role_key(&text(&args["role"])).map(Value::from),
            "unshown" => policy.unshown().map(|known| ranges(&known)),
            "attestation-ref" => policy
                .attestation_ref(
                    &text(&args["arrow_id"]),
                    &text(&args["clause_id"]),
                    number(&args["grid_version"]),
                )
                .map(Value::from),
            "validate-unit-payload" => policy
                .validate_unit_payload(
                    &text(&args["unit"]),
                    &payload(&args["payload"]),
                    limits(args),
                )
                .map(none),
            "encode-unit-payload" => policy
                .encode_unit_payload(&payload(&args["payload"]))
                .map(Value::from),
            "encode-attestation-path" => policy
                .encode_path(&record(&args["rec"]))
                .map(|path| path_json(&path)),
            "validate" => policy
                .validate(&record(&args["rec"]), limits(&args["limits"]))
                .map(none),
            "encode-line" => policy
                .encode_line(&record(&args["rec"]), &text(&args["prev_chain"]))
                .map(|line| line_json(&line)),
            "attestation-id" => policy
                .attestation_id(&text(&args["attestation_ref"]), small(&args["round"]))
                .map(Value::from),
            "validate-op-id" => policy.validate_op_id(&text(&args["op_id"])).map(none),
            other => panic!("no function {other}"),
        }
        .map_err(fault)
    }

    fn check_lines(&self, chunk: &[u8], cursor: &Value, limits: &Value) -> Answer {
        self.0
            .check_lines(chunk, &component::cursor(cursor), component::limits(limits))
            .map(|checked| {
                json!({
                    "lines": checked.lines.iter().map(component_line).collect::<Value>(),
                    "consumed": checked.consumed,
                    "cursor": component::cursor_json(&checked.cursor),
                })
            })
            .map_err(fault)
    }
}

fn fault(error: PolicyError) -> Fault {
    Fault {
        code: error.code().into(),
        detail: error.to_string(),
    }
}

/// A record that is good, to have some of it replaced.
pub fn good_record() -> Value {
    json!({
        "attestation_id": "att-A-C1-v1",
        "kind": "depth-type",
        "arrow_id": "A",
        "clause_id": "C1",
        "op_id": "alice",
        "attested_by_role": "operator",
        "source_role": "analyst",
        "target_role": "architect",
        "adversary_role": "",
        "verdict": "pass",
        "reason": "",
        "timestamp": "2026-03-04T10:11:12.123456789Z",
        "grid_version": 1,
        "pass_id": "p1",
        "context": "c",
        "stratum": "s",
        "unit": "confirm",
        "unit_payload_json": "{}",
        "hint_json": "{}",
    })
}
