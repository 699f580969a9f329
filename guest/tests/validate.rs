//! What makes a record valid, code by code.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use common::record;
use ghyll_policy::{Attestation, Limits, validate};

/// The code of a healthy record after `spoil`, or `ok`.
fn after(spoil: impl FnOnce(&mut Attestation)) -> &'static str {
    let mut rec = record();
    spoil(&mut rec);
    validate(&rec, &Limits::default()).map_or_else(|fault| fault.code, |()| "ok")
}

#[test]
fn healthy_records_are_healthy() {
    assert_eq!(after(|_| {}), "ok");
    assert_eq!(
        after(|r| {
            r.kind = "on-the-spot".into();
            r.clause_id = String::new();
            r.hint_json = r#"{"arrow_id":"A"}"#.into();
            r.grid_version = (1 << 53) - 1;
        }),
        "ok"
    );
    assert_eq!(
        after(|r| {
            r.adversary_role = "breaker".into();
            r.reason = String::new();
        }),
        "ok"
    );
}

#[test]
fn what_must_be_named_must_not_be_blank() {
    for blank in ["", " ", "\t\u{3000}"] {
        assert_eq!(
            after(|r| r.attestation_id = blank.into()),
            "attestation-id-empty"
        );
        assert_eq!(
            after(|r| r.arrow_id = blank.into()),
            "attestation-arrow-id-empty"
        );
        assert_eq!(after(|r| r.op_id = blank.into()), "attestation-op-id-empty");
        assert_eq!(
            after(|r| r.attested_by_role = blank.into()),
            "attestation-attested-by-role-empty"
        );
        assert_eq!(
            after(|r| r.pass_id = blank.into()),
            "attestation-pass-id-empty"
        );
        assert_eq!(
            after(|r| r.clause_id = blank.into()),
            "attestation-depth-type-requires-clause-id"
        );
    }
}

#[test]
fn the_op_id_has_its_own_rules() {
    assert_eq!(
        after(|r| r.op_id = "a b".into()),
        "op-id-invalid-characters"
    );
    assert_eq!(after(|r| r.op_id = "x".repeat(257)), "op-id-too-long");
}

#[test]
fn kind_and_clause_go_together() {
    for kind in ["", "Depth-Type", "depth_type", "on-the-spot "] {
        assert_eq!(after(|r| r.kind = kind.into()), "attestation-kind-invalid");
    }
    for clause in ["C1", " "] {
        assert_eq!(
            after(|r| {
                r.kind = "on-the-spot".into();
                r.clause_id = clause.into();
            }),
            "attestation-on-the-spot-rejects-clause-id"
        );
    }
}

#[test]
fn nobody_certifies_themselves() {
    for by in ["analyst", "ARCHITECT", " Analyst\t"] {
        assert_eq!(
            after(|r| r.attested_by_role = by.into()),
            "attestation-self-cert-forbidden"
        );
    }
    for adversary in ["analyst", " Architect "] {
        assert_eq!(
            after(|r| r.adversary_role = adversary.into()),
            "attestation-self-cert-forbidden"
        );
        // Made at initialisation, the record is on behalf of no roles.
        assert_eq!(
            after(|r| {
                r.adversary_role = adversary.into();
                r.attested_by_role = " INIT".into();
            }),
            "ok"
        );
    }
    assert_eq!(
        after(|r| {
            r.source_role = "ÄRGER".into();
            r.attested_by_role = "ärger".into();
        }),
        "attestation-self-cert-forbidden"
    );
    assert_eq!(
        after(|r| {
            r.source_role = "Init".into();
            r.attested_by_role = "init".into();
        }),
        "attestation-self-cert-forbidden"
    );
}

#[test]
fn roles_do_not_contain_the_separator() {
    let spoils: [fn(&mut Attestation); 3] = [
        |r| r.source_role = "a__b".into(),
        |r| r.target_role = "__".into(),
        |r| r.adversary_role = "x__".into(),
    ];
    for spoil in spoils {
        assert_eq!(after(spoil), "attestation-role-invalid");
        assert_eq!(
            after(|r| {
                spoil(r);
                r.attested_by_role = "init".into();
            }),
            "ok"
        );
    }
}

#[test]
fn the_timestamp_is_canonical() {
    for bad in [
        "",
        "2026-05-25T10:11:12Z",
        "2026-02-30T10:11:12.000000000Z",
        "1779703872",
    ] {
        assert_eq!(
            after(|r| r.timestamp = bad.into()),
            "attestation-timestamp-invalid"
        );
    }
}

#[test]
fn the_hint_is_an_object() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
    for good in ["{}", " {\"x\":[1,{\"y\":null}]}\n", &deep] {
        assert_eq!(after(|r| r.hint_json = good.into()), "ok");
    }
    let open = "[".repeat(200_000);
    for bad in [
        "", " ", "null", "[]", "\"{}\"", "{", "{}{}", "{} x", "{\"a\":}", "{a:1}", &open,
    ] {
        assert_eq!(
            after(|r| r.hint_json = bad.into()),
            "attestation-hint-malformed",
            "{bad:.20}"
        );
    }
}

#[test]
fn the_hint_is_about_what_the_record_is_about() {
    assert_eq!(
        after(|r| r.hint_json = r#"{"arrow_id":"A","clause_id":"C1","more":1}"#.into()),
        "ok"
    );
    for bad in [
        r#"{"arrow_id":"B"}"#,
        r#"{"clause_id":"C2"}"#,
        r#"{"subject":"5E"}"#,
        r#"{"locations":"a"}"#,
    ] {
        assert_eq!(
            after(|r| r.hint_json = bad.into()),
            "attestation-hint-malformed"
        );
    }
}

#[test]
fn rounds_and_versions_have_their_range() {
    for (id, code) in [
        ("att-A-C1-v1.r2", "ok"),
        ("att-A-C1-v1.r1000000", "ok"),
        ("att-A-C1-v1.r1000001", "attestation-id-malformed"),
        ("att-A-C1-v1.r1", "attestation-id-malformed"),
        ("att-A-C1-v1.r02", "attestation-id-malformed"),
    ] {
        assert_eq!(after(|r| r.attestation_id = id.into()), code, "{id}");
    }
    for version in [0, 1 << 53, u64::MAX] {
        assert_eq!(
            after(|r| r.grid_version = version),
            "attestation-grid-version-invalid"
        );
    }
}

#[test]
fn the_payload_is_an_object_of_two() {
    for bad in [
        "",
        "[]",
        r#"{"other":1}"#,
        r#"{"residue":"a","residue":"a"}"#,
        r#"{"inspected":"a"}"#,
        "{}x",
    ] {
        assert_eq!(
            after(|r| r.unit_payload_json = bad.into()),
            "attestation-payload-malformed"
        );
    }
}

#[test]
fn the_reason_is_short_and_plain() {
    assert_eq!(after(|r| r.reason = "é".repeat(2048)), "ok");
    for bad in [
        "x".repeat(4097),
        "a\nb".into(),
        "\u{7f}".into(),
        "\u{85}".into(),
        "\0".into(),
    ] {
        assert_eq!(after(|r| r.reason = bad), "attestation-reason-invalid");
    }
}

#[test]
fn evidence_fits_unit_and_verdict() {
    let confirm = ("confirm", "{}");
    let locations = ("record-locations-inspected", r#"{"inspected":["a.rs:1"]}"#);
    let note = ("write-residue-note", r#"{"residue":"odd"}"#);
    let insufficient = "verdict-unit-insufficient";
    for (verdict, expected) in [
        ("pass", ["ok", "ok", "ok"]),
        ("fail", [insufficient, "ok", "ok"]),
        ("insufficient-basis", [insufficient, insufficient, "ok"]),
        ("accepted-risk", [insufficient, insufficient, "ok"]),
        ("route-upstream", [insufficient, insufficient, "ok"]),
        ("", ["attestation-verdict-invalid"; 3]),
        ("Pass", ["attestation-verdict-invalid"; 3]),
    ] {
        for ((unit, payload), expected) in [confirm, locations, note].into_iter().zip(expected) {
            let code = after(|r| {
                r.verdict = verdict.into();
                r.unit = unit.into();
                r.unit_payload_json = payload.into();
            });
            assert_eq!(code, expected, "{verdict} {unit}");
        }
    }
    for (unit, payload, expected) in [
        ("", "{}", "verdict-unit-invalid"),
        ("other", "{}", "verdict-unit-invalid"),
        ("confirm", note.1, "verdict-unit-unexpected-field"),
        (locations.0, "{}", "verdict-inspected-empty"),
        (
            locations.0,
            r#"{"inspected":["a"],"residue":"x"}"#,
            "verdict-unit-unexpected-field",
        ),
        (note.0, r#"{"residue":" "}"#, "verdict-unit-missing-field"),
    ] {
        let code = after(|r| {
            r.unit = unit.into();
            r.unit_payload_json = payload.into();
        });
        assert_eq!(code, expected, "{unit} {payload}");
    }
}

#[test]
fn the_host_chooses_how_long_a_note_may_be() {
    let mut rec = record();
    rec.unit = "write-residue-note".into();
    rec.unit_payload_json = r#"{"residue":"\u00e9\u00e9"}"#.into();
    let with = |max_residue_bytes| validate(&rec, &Limits { max_residue_bytes });
    assert_eq!(with(4), Ok(()));
    assert_eq!(with(0), Ok(()));
    assert_eq!(with(3).unwrap_err().code, "verdict-residue-too-long");
}

#[test]
fn the_first_fault_in_the_contracts_order_is_told() {
    // Everything wrong at once, then mended from the front.
    let mut rec = Attestation {
        source_role: "a__b".into(),
        target_role: "t".into(),
        adversary_role: "T".into(),
        attested_by_role: " ".into(),
        kind: "x".into(),
        reason: "\n".into(),
        unit_payload_json: "x".into(),
        ..Attestation::default()
    };
    type Mend = fn(&mut Attestation);
    let steps: [(&str, Mend); 17] = [
        ("attestation-id-empty", |r| r.attestation_id = "i".into()),
        ("attestation-arrow-id-empty", |r| r.arrow_id = "a".into()),
        ("attestation-op-id-empty", |r| r.op_id = "..".into()),
        ("op-id-invalid-characters", |r| r.op_id = "o".into()),
        ("attestation-attested-by-role-empty", |r| {
            r.attested_by_role = "t".into()
        }),
        ("attestation-kind-invalid", |r| r.kind = "depth-type".into()),
        ("attestation-depth-type-requires-clause-id", |r| {
            r.clause_id = "c".into()
        }),
        ("attestation-verdict-invalid", |r| r.verdict = "fail".into()),
        ("attestation-pass-id-empty", |r| r.pass_id = "p".into()),
        ("attestation-self-cert-forbidden", |r| {
            r.attested_by_role = "o".into()
        }),
        ("attestation-self-cert-forbidden", |r| {
            r.adversary_role = "v".into()
        }),
        ("attestation-role-invalid", |r| r.source_role = "s".into()),
        ("attestation-timestamp-invalid", |r| {
            r.timestamp = "2026-05-25T10:11:12.123456789Z".into();
        }),
        ("attestation-hint-malformed", |r| r.hint_json = "{}".into()),
        ("attestation-payload-malformed", |r| {
            r.unit_payload_json = "{}".into()
        }),
        ("attestation-reason-invalid", |r| r.reason = String::new()),
        ("verdict-unit-invalid", |r| r.unit = "confirm".into()),
    ];
    for (code, mend) in steps {
        assert_eq!(validate(&rec, &Limits::default()).unwrap_err().code, code);
        mend(&mut rec);
    }
    let last = validate(&rec, &Limits::default()).unwrap_err();
    assert_eq!(last.code, "verdict-unit-insufficient");
    assert!(last.to_string().starts_with("verdict-unit-insufficient: "));
}

#[test]
fn details_quote_little_and_nothing_invisible() {
    let mut rec = record();
    rec.kind = format!("\u{202e}\n{}", "é".repeat(100_000));
    let detail = validate(&rec, &Limits::default()).unwrap_err().detail;
    assert!(detail.len() < 300, "{}", detail.len());
    assert!(!detail.contains(['\u{202e}', '\n']));
    rec = record();
    rec.unit_payload_json = format!("{{\"inspected\":\"{}\"}}", "é".repeat(100_000));
    let detail = validate(&rec, &Limits::default()).unwrap_err().detail;
    assert!(detail.len() < 300, "{}", detail.len());
}
