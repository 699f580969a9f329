//! A healthy record to spoil.

use ghyll_policy::Attestation;

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
