//! A healthy record to spoil, and lines as a host sees them.
#![allow(dead_code)] // each test uses what it needs of it

use ghyll_policy::{Attestation, Checked, PolicyError};

/// A judged line, with what its bytes say.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub number: u64,
    pub offset: u64,
    pub length: u64,
    pub rec: Option<Attestation>,
    pub attestation_ref: String,
    pub round: u32,
    pub chain: String,
    pub chained: bool,
    pub path: String,
    pub problems: Vec<PolicyError>,
    pub warnings: Vec<PolicyError>,
}

/// The lines of a chunk that stands at `origin`.
pub fn resolved(checked: &Checked, chunk: &[u8], origin: u64) -> Vec<Line> {
    let line = |line: &ghyll_policy::CheckedLine| {
        let start = line
            .offset
            .checked_sub(origin)
            .map(|at| usize::try_from(at).unwrap());
        let bytes = start.and_then(|at| chunk.get(at..)).unwrap_or_default();
        let chain = line.content.chain(bytes).to_owned();
        let values = line.content.values(bytes);
        if let Some(values) = &values {
            assert_eq!(values.chain, chain);
        }
        let (rec, attestation_ref) = values.map_or((None, String::new()), |values| {
            (Some(values.rec), values.attestation_ref)
        });
        Line {
            number: line.number,
            offset: line.offset,
            length: line.length,
            rec,
            attestation_ref,
            round: line.round,
            chain,
            chained: line.chained,
            path: checked.path(line).to_owned(),
            problems: line.problems.clone(),
            warnings: line.warnings.clone(),
        }
    };
    checked.lines.iter().map(line).collect()
}

/// A record that may be written.
pub fn record() -> Attestation {
    Attestation {
        attestation_id: "att-A-C1-v1".into(),
        kind: "depth-type".into(),
        arrow_id: "A".into(),
        clause_id: "C1".into(),
        op_id: "alice@example.com".into(),
        attested_by_role: "operator".into(),
        source_role: "analyst".into(),
        target_role: "architect".into(),
        adversary_role: String::new(),
        verdict: "pass".into(),
        reason: "looks right".into(),
        timestamp: "2026-05-25T10:11:12.123456789Z".into(),
        grid_version: 1,
        pass_id: "p1".into(),
        context: "shop".into(),
        stratum: "domain".into(),
        unit: "confirm".into(),
        unit_payload_json: "{}".into(),
        hint_json: r#"{"arrow_id":"A","clause_id":"C1"}"#.into(),
    }
}
