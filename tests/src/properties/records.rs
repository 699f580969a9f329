//! The policy: where a record belongs, what it must be, how its line reads.

use std::sync::OnceLock;

use ghyll::policy::{Cursor, Limits, Surface, may_be_shown};
use serde_json::{Value, json};

use super::{Pieces, policy};
use crate::judge::{Answer, Component, Judge, Native, good_record};
use crate::vectors::check_chunks;

const LIMITS: Limits = Limits {
    max_residue_bytes: 0,
};

/// Asks the native library and the component; they say the same.
fn ask(function: &str, args: &Value) -> Answer {
    static COMPONENT: OnceLock<Component> = OnceLock::new();
    let component = COMPONENT.get_or_init(Component::load);
    let native = Native.call(function, args);
    let answer = component.call(function, args);
    let code = |answer: &Answer| answer.clone().map_err(|fault| fault.code);
    assert_eq!(code(&native), code(&answer), "{function} of {args}");
    native
}

/// The sample record with the fields that there are bytes for.
fn record_of(data: &[u8], fields: &[&str]) -> Value {
    let mut pieces = Pieces::new(data);
    let mut rec = good_record();
    for field in fields {
        if let Some(text) = pieces.text() {
            rec[field] = json!(text);
        }
    }
    rec
}

/// Where a record belongs: below the root, in the inverse grammar, and the
/// same on every disk.
pub fn path(data: &[u8]) {
    let fields = [
        "context",
        "stratum",
        "source_role",
        "target_role",
        "adversary_role",
        "pass_id",
        "attested_by_role",
    ];
    let rec = record_of(data, &fields);
    let Ok(place) = ask("encode-attestation-path", &json!({ "rec": rec })) else {
        return;
    };
    let whole = place["path"].as_str().unwrap();
    let parts: Vec<&str> = whole.split('/').collect();
    assert_eq!(parts.len(), 5, "{whole}");
    assert_eq!(parts[0], "v1", "{whole}");
    let middle = parts[2].strip_prefix("stratum-").unwrap();
    let last = parts[4].strip_suffix(".jsonl").unwrap();
    let mut folder = String::new();
    for part in &parts {
        assert!(!part.is_empty() && part.len() <= 255, "{whole}");
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        assert!(part.chars().all(plain), "{whole}");
        assert!(!part.ends_with('.'), "{whole}");
        let belongs = ask("belong", &json!({ "folder": folder, "names": [part] }));
        assert_eq!(belongs, Ok(json!([true])), "{part} of {whole}");
        folder = match folder.is_empty() {
            true => (*part).to_owned(),
            false => format!("{folder}/{part}"),
        };
    }
    let devices = ["CON", "PRN", "AUX", "NUL"];
    for value in [parts[1], middle, parts[3], last] {
        assert!(
            !value.is_empty() && value != "." && value != "..",
            "{whole}"
        );
        let stem = value.split('.').next().unwrap().to_ascii_uppercase();
        let numbered = stem.len() == 4
            && (stem.starts_with("COM") || stem.starts_with("LPT"))
            && matches!(stem.as_bytes()[3], b'1'..=b'9');
        assert!(!devices.contains(&stem.as_str()) && !numbered, "{whole}");
    }
    let substituted = place["substituted"].as_array().unwrap();
    assert_eq!(place["truncated"], !substituted.is_empty(), "{place}");
    for segment in substituted {
        let at = ["", "context", "stratum", "role-pair", "pass-id"]
            .iter()
            .position(|name| segment == name)
            .unwrap();
        let value = parts[at].trim_start_matches("stratum-");
        let hex = value.strip_prefix("h-").unwrap();
        let hex = hex.strip_suffix(".jsonl").unwrap_or(hex);
        assert!(hex.len() == 32 && hex.chars().all(|c| c.is_ascii_hexdigit()));
    }
}

/// A record that is good is written, and read again as what it was; one that is
/// not is found out when it is read.
pub fn record(data: &[u8]) {
    let fields = [
        "verdict",
        "unit",
        "unit_payload_json",
        "hint_json",
        "reason",
        "op_id",
        "attestation_id",
        "kind",
        "clause_id",
        "arrow_id",
        "attested_by_role",
        "source_role",
        "target_role",
        "adversary_role",
        "timestamp",
        "pass_id",
        "context",
        "stratum",
    ];
    let rec = record_of(data, &fields);
    let args = json!({ "rec": rec, "limits": { "max_residue_bytes": 0 }, "prev_chain": "" });
    let valid = ask("validate", &args);
    let place = ask("encode-attestation-path", &args);
    let Ok(line) = ask("encode-line", &args) else {
        return;
    };
    let text = line["line"].as_str().unwrap();
    assert!(text.ends_with("\"}\n"), "{text}");
    assert_eq!(text.matches('\n').count(), 1, "{text}");
    assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}");
    let path = place.as_ref().ok().and_then(|p| p["path"].as_str());
    let cursor = json!({
        "surface": { "tree": path.unwrap_or("v1/c/stratum-s/analyst__architect/p1.jsonl") },
        "bytes": 0, "lines": 0, "chain": "", "skipped": 0, "at_end": true,
    });
    let limits = json!({ "max_residue_bytes": 0 });
    let checked = Native
        .check_lines(text.as_bytes(), &cursor, &limits)
        .unwrap();
    let found = &checked["lines"][0];
    let problems = found["problems"].as_array().unwrap();
    match (&valid, &place) {
        (Ok(_), Ok(_)) => {
            assert!(problems.is_empty(), "{found} of {text}");
            assert_eq!(found["rec"], rec, "{text}");
            assert_eq!(found["chain"], line["chain"], "{text}");
        }
        (Err(fault), _) | (_, Err(fault)) => {
            let codes: Vec<&str> = problems.iter().filter_map(|p| p["code"].as_str()).collect();
            assert!(codes.contains(&fault.code.as_str()), "{fault:?}: {found}");
        }
    }
}

/// Lines of any bytes: however they are cut the same is said of them, the
/// component and the library say the same, and what is accepted is what the
/// policy would write.
pub fn check_lines(data: &[u8]) {
    let (first, file) = data.split_at(data.len().min(1));
    let linked;
    let file = match first.first().is_some_and(|b| b % 4 > 1) {
        true => {
            linked = link(file);
            linked.as_slice()
        }
        false => file,
    };
    let tree = first.first().is_some_and(|b| b % 2 == 1);
    let surface = match tree {
        true => json!({ "tree": "v1/checkout/stratum-behaviour/analyst__architect/p1.jsonl" }),
        false => json!("flat"),
    };
    let cursor = json!({
        "surface": surface, "bytes": 0, "lines": 0, "chain": "", "skipped": 0, "at_end": true,
    });
    let limits = json!({ "max_residue_bytes": 0 });
    let whole = check_chunks(&Native, [file], &cursor, &limits).unwrap();
    let at = first.first().map_or(0, |b| usize::from(*b)) % (file.len() + 1);
    let (left, right) = file.split_at(at);
    let halves = check_chunks(&Native, [left, right], &cursor, &limits).unwrap();
    assert_eq!(whole, halves, "cut at {at}");

    let start = Cursor {
        surface: match tree {
            true => Surface::Tree(surface["tree"].as_str().unwrap().to_owned()),
            false => Surface::Flat,
        },
        bytes: 0,
        lines: 0,
        chain: String::new(),
        skipped: 0,
        at_end: true,
    };
    let checked = policy().check_lines(file, &start, LIMITS).unwrap();
    assert!(checked.consumed <= file.len() as u64);
    let (mut end, mut before) = (0, String::new());
    for (line, native) in checked.lines.iter().zip(&whole.0) {
        assert_eq!(line.offset, end, "lines stand one behind the other");
        end += line.length;
        let codes: Vec<&str> = line.problems.iter().map(|p| p.code.as_str()).collect();
        assert_eq!(json!(codes), native["problems"], "line {}", line.number);
        let chain = line.chain().into_owned();
        if line.problems.is_empty()
            && line.chained
            && let Some(rec) = line.rec()
        {
            policy().validate(&rec, LIMITS).unwrap();
            if tree {
                let again = policy().encode_line(&rec, &before).unwrap();
                assert_eq!(again.chain, chain);
                assert_eq!(line.bytes, again.line.as_bytes(), "{rec:?}");
            }
        }
        before = chain;
    }
}

/// Gives every line that ends in a chain the right one, which no fuzzer finds.
fn link(file: &[u8]) -> Vec<u8> {
    use sha2::{Digest, Sha256};
    let mut linked = Vec::with_capacity(file.len());
    let mut before = "0".repeat(64);
    for line in file.split_inclusive(|b| *b == b'\n') {
        let mark = b",\"chain\":\"";
        let at = line.windows(mark.len()).rposition(|w| w == mark);
        let Some(at) = at else {
            linked.extend_from_slice(line);
            continue;
        };
        let object = [&line[..at], b"}"].concat();
        let hash = Sha256::new().chain_update(&before).chain_update(&object);
        before = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
        linked.extend_from_slice(&line[..at]);
        linked.extend_from_slice(format!(",\"chain\":\"{before}\"}}\n").as_bytes());
    }
    linked
}

/// An op-id that is taken can be seen, told apart and put anywhere.
pub fn op_id(data: &[u8]) {
    let id = String::from_utf8_lossy(data).into_owned();
    let taken = ask("validate-op-id", &json!({ "op_id": id }));
    let as_grid_id = ask("check-grid-id", &json!({ "id": id }));
    let skeleton = ask("skeleton", &json!({ "text": id })).unwrap();
    let again = ask("skeleton", &json!({ "text": skeleton })).unwrap();
    assert_eq!(skeleton, again, "{id:?}: a skeleton is its own");
    if as_grid_id.is_ok() {
        assert!(id.chars().all(may_be_shown), "{id:?}");
    }
    if let Err(fault) = &taken {
        let known = [
            "op-id-required",
            "op-id-too-long",
            "op-id-invalid-characters",
        ];
        assert!(known.contains(&fault.code.as_str()), "{fault:?}");
        return;
    }
    assert!(as_grid_id.is_ok(), "{id:?}");
    assert!(!id.trim().is_empty() && id.len() <= 256, "{id:?}");
    let odd = |c: char| c.is_control() || c.is_whitespace() || c == '/' || c == '\\';
    assert!(!id.chars().any(odd), "{id:?}");
    assert!(!id.contains("..") && !id.ends_with('.'), "{id:?}");
    assert!(!id.starts_with(['.', '-']), "{id:?}");
    // Text of JSON in it is text.
    let mut rec = good_record();
    rec["op_id"] = json!(id);
    let line = ask("encode-line", &json!({ "rec": rec, "prev_chain": "" })).unwrap();
    let read: Value = serde_json::from_str(line["line"].as_str().unwrap()).unwrap();
    assert_eq!(read["op_id"], id);
}

/// Evidence that is read is written as it was meant, and judged by its shape.
pub fn payload(data: &[u8]) {
    let mut pieces = Pieces::new(data);
    let text = pieces.text().unwrap_or_default();
    let unit = pieces.text().unwrap_or_default();
    let max = pieces.below(64);
    let hint = ask("decode-hint", &json!({ "text": text }));
    if let Ok(hint) = hint {
        let written = ask("encode-hint", &json!({ "h": hint })).unwrap();
        let again = ask("decode-hint", &json!({ "text": written }));
        assert_eq!(again, Ok(hint), "{text}");
    }
    let Ok(payload) = ask("decode-unit-payload", &json!({ "text": text })) else {
        return;
    };
    let written = ask("encode-unit-payload", &json!({ "payload": payload })).unwrap();
    let again = ask("decode-unit-payload", &json!({ "text": written })).unwrap();
    assert_eq!(again, payload, "{text}");
    let inferred = ask("infer-unit", &json!({ "payload": payload })).unwrap();
    for unit in [json!(unit), inferred] {
        let args = json!({ "unit": unit, "payload": payload, "max_residue_bytes": max });
        let Ok(_) = ask("validate-unit-payload", &args) else {
            continue;
        };
        let places = payload["inspected"].as_array().unwrap();
        let residue = payload["residue"].as_str().unwrap();
        let blank = residue.trim().is_empty();
        match unit.as_str().unwrap() {
            "confirm" => assert!(places.is_empty() && residue.is_empty(), "{payload}"),
            "record-locations-inspected" => {
                let named = |p: &Value| !p.as_str().unwrap().trim().is_empty();
                assert!(residue.is_empty() && places.iter().any(named), "{payload}");
            }
            "write-residue-note" => {
                let most = if max == 0 { 16384 } else { max };
                assert!(!blank && residue.len() <= most, "{payload}");
            }
            other => panic!("{other:?} is no unit"),
        }
    }
}
