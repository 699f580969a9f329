//! No call traps, hangs or needs more than the memory the contract states, up
//! to the very edge of what it says arguments may be. Beyond it, a call fails
//! and the next one is as good as ever.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ghyll_tests::judge::{Component, Judge, good_record};
use serde_json::{Value, json};

/// One test at a time: a call has a deadline, and the others would eat it up.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What arguments together must stay below.
const EDGE: usize = 8 << 20;
/// Room for what else a call is given.
const REST: usize = 4096;

fn record(field: &str, text: String) -> Value {
    let mut record = good_record();
    record[field] = json!(text);
    record
}

fn cursor(surface: Value, at_end: bool) -> Value {
    json!({
        "surface": surface, "bytes": 0, "lines": 0, "chain": "", "skipped": 0, "at_end": at_end,
    })
}

/// What a call answers in one word: its code, or nothing.
fn code(judge: &dyn Judge, function: &str, args: &Value) -> String {
    match judge.call(function, args) {
        Ok(_) => String::new(),
        Err(fault) => fault.code,
    }
}

const LIMITS: fn() -> Value = || json!({ "max_residue_bytes": 0 });

#[test]
fn records_at_the_edge() {
    let _alone = alone();
    let component = Component::load();
    // One byte that grows sixfold in JSON, and one that is hashed.
    let long = || "\u{1}".repeat(EDGE - REST);
    for (field, validate, path) in [
        ("attestation_id", "", ""),
        ("op_id", "op-id-too-long", ""),
        ("kind", "attestation-kind-invalid", ""),
        ("attested_by_role", "", ""),
        ("source_role", "", ""),
        ("adversary_role", "", ""),
        ("verdict", "attestation-verdict-invalid", ""),
        ("reason", "attestation-reason-invalid", ""),
        ("pass_id", "", ""),
        ("context", "", ""),
        ("unit", "verdict-unit-invalid", ""),
        ("unit_payload_json", "attestation-payload-malformed", ""),
        ("hint_json", "attestation-hint-malformed", ""),
    ] {
        let rec = record(field, long());
        let args = json!({ "rec": rec, "limits": LIMITS(), "prev_chain": "" });
        assert_eq!(code(&component, "validate", &args), validate, "{field}");
        assert_eq!(
            code(&component, "encode-attestation-path", &args),
            path,
            "{field}"
        );
        assert_eq!(
            code(&component, "encode-line", &args),
            "attestation-line-too-long",
            "{field}"
        );
    }
}

#[test]
fn json_in_strings_at_the_edge() {
    let _alone = alone();
    let component = Component::load();
    let hint = |text: String| {
        let rec = record("hint_json", text);
        code(
            &component,
            "validate",
            &json!({ "rec": rec, "limits": LIMITS() }),
        )
    };
    let room = EDGE - REST;
    // As deep as it gets.
    let deep = format!("{{\"a\":{}", "[".repeat(room));
    assert_eq!(hint(deep), "attestation-hint-malformed");
    let deep = format!(
        "{{\"a\":{}{}}}",
        "[".repeat(room / 2 - 4),
        "]".repeat(room / 2 - 4)
    );
    assert_eq!(hint(deep), "");
    let wide = format!("{{\"a\":[{}0]}}", "0,".repeat(room / 2 - 8));
    assert_eq!(hint(wide), "");
    let keys: String = (0..room / 16).map(|n| format!("\"{n:x}\":0,")).collect();
    assert_eq!(hint(format!("{{{keys}\"x\":0}}")), "");
    let escapes = format!("{{\"a\":\"{}\"}}", "\\u0041".repeat(room / 6 - 4));
    assert_eq!(hint(escapes), "");

    let payload = |text: String| {
        let mut rec = record("unit_payload_json", text);
        rec["unit"] = json!("record-locations-inspected");
        code(
            &component,
            "validate",
            &json!({ "rec": rec, "limits": LIMITS() }),
        )
    };
    let empty = format!("{{\"inspected\":[{}\"\"]}}", "\"\",".repeat(room / 3 - 8));
    assert_eq!(payload(empty), "verdict-inspected-empty");
    let some = format!(
        "{{\"inspected\":[{}\"x\"]}}",
        "\"\\n\",".repeat(room / 5 - 8)
    );
    assert_eq!(payload(some), "");
}

#[test]
fn evidence_and_hints_at_the_edge() {
    let _alone = alone();
    let component = Component::load();
    let length = |function, args: Value| match component.call(function, &args) {
        Ok(Value::String(text)) => text.len(),
        other => panic!("{function}: {other:?}"),
    };
    let room = EDGE - REST;
    let residue = json!({ "payload": { "inspected": [], "residue": "\u{1}".repeat(room) } });
    assert_eq!(length("encode-unit-payload", residue), room * 6 + 14);
    let hint = json!({
        "arrow_id": "\u{1}".repeat(room / 4),
        "clause_id": "\u{1}".repeat(room / 4),
        "concept": "\u{1}".repeat(room / 4),
        "attestation_ref": "\u{1}".repeat(room / 4),
        "subject": "", "locations": [], "basis": "", "residue": "",
    });
    assert!(length("encode-hint", json!({ "h": hint })) > room * 6);
    // A list's entry takes eight bytes before its text takes any.
    let locations = json!({ "inspected": vec![""; room / 8], "residue": "" });
    assert_eq!(
        length("encode-unit-payload", json!({ "payload": locations })),
        room / 8 * 3 + 15
    );
    let args = json!({
        "unit": "record-locations-inspected",
        "payload": locations,
        "max_residue_bytes": 0,
    });
    assert_eq!(
        code(&component, "validate-unit-payload", &args),
        "verdict-inspected-empty"
    );
    let op_id = json!({ "op_id": "🦊".repeat(room / 4) });
    assert_eq!(code(&component, "validate-op-id", &op_id), "op-id-too-long");
    let of = json!({ "attestation_ref": "x".repeat(room), "round": u32::MAX });
    assert_eq!(length("attestation-id", of), room + ".r4294967295".len());
}

#[test]
fn files_at_the_edge() {
    let _alone = alone();
    let component = Component::load();
    let line = |text: &str| text.repeat(EDGE / text.len());
    for (name, file) in [
        ("empty lines", line("\n")),
        ("empty objects", line("{}\n")),
        ("words", line("x\n")),
        ("nothing but zero bytes", line("\0")),
        ("no end of line", line("x")),
        ("quotation marks", line("\"\n")),
        ("open objects", line("{\"op_id\":\"\n")),
        ("one open array", line("[")),
        ("escapes", format!("{{\"op_id\":\"{}", line("\\u0001"))),
        (
            "older lines",
            line("{\"reason\":\"\\n\",\"kind\":\"\",\"hint_json\":\"[\"}\n"),
        ),
        (
            "lines of a mebibyte",
            line(&format!(
                "{{\"op_id\":\"{}\"}}\n",
                "\\t".repeat((1 << 19) - 8)
            )),
        ),
    ] {
        let file = &file.as_bytes()[..file.len().min(EDGE - REST)];
        for surface in [
            json!("flat"),
            json!({ "tree": "v1/c/stratum-s/a__b/p.jsonl" }),
        ] {
            let checked = component
                .check_lines(file, &cursor(surface, true), &LIMITS())
                .unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
            assert!(checked["consumed"].as_u64() > Some(0), "{name}");
        }
    }
}

#[test]
fn a_file_of_nothing_but_line_ends_is_read_to_its_end() {
    let _alone = alone();
    let component = Component::load();
    let file = vec![b'\n'; 100_000];
    let start = cursor(json!("flat"), true);
    let (lines, end) =
        ghyll_tests::vectors::check_chunks(&component, [&file[..]], &start, &LIMITS())
            .expect("lines");
    assert_eq!(lines.len(), file.len());
    assert!(
        lines
            .iter()
            .all(|line| line["problems"] == json!(["attestation-line-malformed"]))
    );
    assert_eq!(end["lines"], file.len());
}

#[test]
fn beyond_the_edge_a_call_fails_and_the_next_does_not() {
    let _alone = alone();
    let component = Component::load();
    let good = json!({ "op_id": "alice" });
    let huge = json!({ "op_id": "x".repeat(200 << 20) });
    assert_eq!(
        code(&component, "validate-op-id", &huge),
        "policy-component-failed"
    );
    assert_eq!(code(&component, "validate-op-id", &good), "");
}
