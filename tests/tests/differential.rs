//! The native library and the component, asked the same at random.
//!
//! One source compiled twice must not come to two answers, whatever the bytes,
//! and the component must never trap. `GHYLL_CASES` says how often each
//! property is tried; thirty thousand times under `CI=true`.

use std::env;

use ghyll_tests::judge::{Answer, Component, Judge, Native, good_record};
use ghyll_tests::vectors::check_chunks;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

const FIELDS: [&str; 18] = [
    "attestation_id",
    "kind",
    "arrow_id",
    "clause_id",
    "op_id",
    "attested_by_role",
    "source_role",
    "target_role",
    "adversary_role",
    "verdict",
    "reason",
    "timestamp",
    "pass_id",
    "context",
    "stratum",
    "unit",
    "unit_payload_json",
    "hint_json",
];

/// What means something somewhere in the contract.
const WORDS: [&str; 69] = [
    "",
    " ",
    ".",
    "..",
    "a",
    "a.",
    "a/b",
    "__",
    "_",
    "init",
    " Init ",
    "con",
    "NUL.txt",
    "lpt9.",
    "pass",
    "fail",
    "insufficient-basis",
    "accepted-risk",
    "route-upstream",
    "confirm",
    "record-locations-inspected",
    "write-residue-note",
    "depth-type",
    "on-the-spot",
    "analyst",
    "ANALYST",
    "architect",
    "skeptic",
    "alice@example.com",
    "-alice",
    "att-A-C1-v1.r2",
    "x.r1",
    "x.r02",
    "x.r99999999999",
    "x.r1000000",
    "x.r1000001",
    "e\u{301}",
    "q\u{307}\u{323}",
    "\u{212b}",
    "각\u{11a8}",
    "\u{1100}\u{1161}\u{11a8}",
    "раураl",
    "\u{3164}",
    "\u{fe0f}",
    "{\"arrow_id\":\"A\",\"clause_id\":\"C1\"}",
    "{\"arrow_id\":\"B\"}",
    "{\"subject\":\"\"}",
    "2026-03-04T10:11:12.123456789Z",
    "2024-02-29T23:59:59.0Z",
    "2026-02-30T00:00:00.000000000Z",
    "{}",
    "[]",
    "{\"residue\":\"x\"}",
    "{\"inspected\":[\"a\"]}",
    "{\"inspected\":[\" \"],\"residue\":\" \"}",
    "{\"residue\":\"\\ud800\"}",
    "{\"a\":1e999}",
    "\0",
    "\u{1b}[2J",
    "\n",
    "\r",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{200b}",
    "\u{202e}",
    "é",
    "🦊",
    "İß",
];

fn cases() -> u32 {
    let chosen = env::var("GHYLL_CASES")
        .ok()
        .map(|cases| cases.parse().expect("a number"));
    let ci = env::var("CI").as_deref() == Ok("true");
    chosen.unwrap_or(if ci { 30_000 } else { 1_500 })
}

/// Tries a property so often; one pair of judges serves all cases.
fn always<S: Strategy>(
    inputs: S,
    holds: impl Fn(&Component, S::Value) -> Result<(), TestCaseError>,
) {
    let component = Component::load();
    let config = ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if let Err(found) = TestRunner::new(config).run(&inputs, |input| holds(&component, input)) {
        panic!("{found}");
    }
}

/// Text of meaning, of no meaning, and long.
fn text() -> impl Strategy<Value = String> {
    let word = || select(&WORDS[..]).prop_map(String::from);
    prop_oneof![
        6 => word(),
        2 => prop::collection::vec(word(), 0..4).prop_map(|words| words.concat()),
        2 => any::<String>(),
        1 => "[ -~]{0,40}",
        1 => (word(), 0..400usize).prop_map(|(word, times)| word.repeat(times)),
    ]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..4u64,
        Just((1 << 53) - 1),
        Just(1 << 53),
        Just(u64::MAX),
        any::<u64>()
    ]
}

fn small() -> impl Strategy<Value = u32> {
    prop_oneof![0..40u32, Just(u32::MAX), any::<u32>()]
}

/// A healthy record with some fields replaced, often none, sometimes all.
fn record() -> impl Strategy<Value = Value> {
    let changes = prop::collection::vec((select(&FIELDS[..]), text()), 0..8);
    (changes, number()).prop_map(|(changes, version)| {
        let mut record = good_record();
        record["grid_version"] = json!(version);
        for (field, text) in changes {
            record[field] = json!(text);
        }
        record
    })
}

fn payload() -> impl Strategy<Value = Value> {
    (prop::collection::vec(text(), 0..4), text())
        .prop_map(|(inspected, residue)| json!({ "inspected": inspected, "residue": residue }))
}

/// An object of random texts.
fn texts(keys: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop::collection::vec(text(), keys.len()).prop_map(move |texts| {
        let texts = texts.into_iter().map(Value::from);
        keys.iter()
            .map(|key| (*key).to_owned())
            .zip(texts)
            .collect::<Map<_, _>>()
            .into()
    })
}

/// With the subject and what a producer says.
fn said(of: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let locations = prop::collection::vec(text(), 0..3);
    let subject = prop_oneof![Just(String::new()), "[0-9a-f]{64}", text()];
    (of, subject, locations, text(), text()).prop_map(
        |(mut of, subject, locations, basis, residue)| {
            of["subject"] = json!(subject);
            of["locations"] = json!(locations);
            of["basis"] = json!(basis);
            of["residue"] = json!(residue);
            of
        },
    )
}

fn hint() -> impl Strategy<Value = Value> {
    said(texts(&[
        "arrow_id",
        "clause_id",
        "concept",
        "attestation_ref",
    ]))
}

/// A text that may be a hint or a payload: as the policy writes it, as another
/// writer does, cut, or something else.
fn json_text() -> impl Strategy<Value = String> {
    let written = |function: &'static str, key: &'static str| {
        move |value: Value| {
            let answer = Native
                .call(function, &json!({ key: value }))
                .expect("a text");
            answer.as_str().expect("a text").to_owned()
        }
    };
    let whole = prop_oneof![
        2 => hint().prop_map(written("encode-hint", "h")),
        2 => payload().prop_map(written("encode-unit-payload", "payload")),
        1 => hint().prop_map(|hint| hint.to_string()),
        1 => text(),
    ];
    (
        whole,
        any::<Index>(),
        any::<Index>(),
        prop::bool::weighted(0.3),
    )
        .prop_map(|(mut text, from, to, cut)| {
            if cut {
                let place = |at: Index| text.floor_char_boundary(at.index(text.len() + 1));
                let (from, to) = (place(from), place(to));
                text.replace_range(from.min(to)..from.max(to), "");
            }
            text
        })
}

fn via() -> impl Strategy<Value = String> {
    let ways = ["", "terminal", "pipe", "command", "script"];
    prop_oneof![4 => select(ways.to_vec()).prop_map(String::from), 1 => text()]
}

fn segment() -> impl Strategy<Value = String> {
    let known = ["context", "stratum", "role-pair", "pass-id"];
    prop_oneof![4 => select(known.to_vec()).prop_map(String::from), 1 => text()]
}

/// A name that may belong in the tree.
fn name() -> impl Strategy<Value = String> {
    let names = [
        "v1",
        "v0",
        "v01",
        "init",
        "c",
        "stratum-s",
        "stratum-init",
        "stratum-con",
        "a__b",
        "p.jsonl",
        ".jsonl",
    ];
    prop_oneof![4 => select(names.to_vec()).prop_map(String::from), 1 => text()]
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 0..5).prop_map(|names| names.join("/"))
}

fn call() -> impl Strategy<Value = (&'static str, Value)> {
    let chain = || prop_oneof![Just(String::new()), "[0-9a-f]{64}", text()];
    prop_oneof![
        (
            said(texts(&[
                "clause_id",
                "concept",
                "depth_type_attestation_ref"
            ])),
            texts(&["id", "source_role", "target_role", "context", "stratum"])
        )
            .prop_map(|(c, def)| ("synthesize-hint", json!({ "c": c, "def": def }))),
        hint().prop_map(|h| ("encode-hint", json!({ "h": h }))),
        json_text().prop_map(|text| ("decode-hint", json!({ "text": text }))),
        json_text().prop_map(|text| ("decode-unit-payload", json!({ "text": text }))),
        payload().prop_map(|payload| ("infer-unit", json!({ "payload": payload }))),
        (path(), prop::collection::vec(name(), 0..4))
            .prop_map(|(folder, names)| ("belong", json!({ "folder": folder, "names": names }))),
        text().prop_map(|id| ("ref-and-round", json!({ "attestation_id": id }))),
        (text(), via(), prop::collection::vec(segment(), 0..3)).prop_map(
            |(reason, via, substituted)| (
                "annotate-reason",
                json!({ "reason": reason, "via": via, "substituted": substituted }),
            )
        ),
        text().prop_map(|verdict| ("verdict-severity", json!({ "verdict": verdict }))),
        text().prop_map(|id| ("check-grid-id", json!({ "id": id }))),
        text().prop_map(|text| ("skeleton", json!({ "text": text }))),
        text().prop_map(|role| ("role-key", json!({ "role": role }))),
        (text(), text(), number()).prop_map(|(arrow, clause, version)| (
            "attestation-ref",
            json!({ "arrow_id": arrow, "clause_id": clause, "grid_version": version }),
        )),
        (text(), small()).prop_map(|(of, round)| (
            "attestation-id",
            json!({ "attestation_ref": of, "round": round })
        )),
        (text(), payload(), small()).prop_map(|(unit, payload, most)| (
            "validate-unit-payload",
            json!({ "unit": unit, "payload": payload, "max_residue_bytes": most }),
        )),
        payload().prop_map(|payload| ("encode-unit-payload", json!({ "payload": payload }))),
        text().prop_map(|op_id| ("validate-op-id", json!({ "op_id": op_id }))),
        record().prop_map(|rec| ("encode-attestation-path", json!({ "rec": rec }))),
        (record(), small()).prop_map(|(rec, most)| (
            "validate",
            json!({ "rec": rec, "limits": { "max_residue_bytes": most } }),
        )),
        (record(), chain())
            .prop_map(|(rec, chain)| ("encode-line", json!({ "rec": rec, "prev_chain": chain }))),
    ]
}

#[test]
fn every_function_answers_the_same() {
    always(call(), |component, (function, args)| {
        let expected = Native.call(function, &args);
        prop_assert_eq!(component.call(function, &args), expected);
        Ok(())
    });
}

/// What is done to a file of healthy lines.
#[derive(Debug, Clone)]
enum Damage {
    Byte(Index, u8),
    Cut(Index, Index),
    Insert(Index, String),
    Double(Index, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    use Damage::{Byte, Cut, Double, Insert};
    let at = any::<Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Byte(at, byte)),
        (at(), at()).prop_map(|(from, to)| Cut(from, to)),
        (at(), text()).prop_map(|(at, text)| Insert(at, text)),
        (at(), at()).prop_map(|(from, to)| Double(from, to)),
    ]
}

/// A file: lines that chain, some of them older, some damaged.
fn file() -> impl Strategy<Value = Vec<u8>> {
    let lines = prop::collection::vec(
        (record(), prop::bool::weighted(0.2), select(&FIELDS[..])),
        0..4,
    );
    (lines, prop::collection::vec(damage(), 0..3)).prop_map(|(lines, damages)| {
        let mut chain = String::new();
        let mut file = Vec::new();
        for (mut record, older, lost) in lines {
            let args = json!({ "rec": record, "prev_chain": chain });
            match Native.call("encode-line", &args) {
                Ok(line) if !older => {
                    file.extend_from_slice(line["line"].as_str().expect("a line").as_bytes());
                    line["chain"]
                        .as_str()
                        .expect("a chain")
                        .clone_into(&mut chain);
                }
                _ => {
                    record.as_object_mut().expect("a record").remove(lost);
                    file.extend_from_slice(record.to_string().as_bytes());
                    file.push(b'\n');
                }
            }
        }
        damages.iter().fold(file, damaged)
    })
}

fn damaged(mut file: Vec<u8>, damage: &Damage) -> Vec<u8> {
    let place = |at: &Index| at.index(file.len() + 1);
    let range = |one, other| {
        let (one, other): (usize, usize) = (place(one), place(other));
        one.min(other)..one.max(other)
    };
    match damage {
        Damage::Byte(at, byte) => {
            let at = place(at);
            if let Some(there) = file.get_mut(at) {
                *there = *byte;
            }
        }
        Damage::Cut(from, to) => drop(file.drain(range(from, to))),
        Damage::Insert(at, text) => {
            let at = place(at);
            file.splice(at..at, text.bytes());
        }
        Damage::Double(from, to) => {
            let piece = file[range(from, to)].to_vec();
            file.extend(piece);
        }
    }
    file
}

fn cursor() -> impl Strategy<Value = Value> {
    let surface = prop_oneof![
        Just(json!("flat")),
        Just(json!({ "tree": "v1/c/stratum-s/analyst__architect/p1.jsonl" })),
        text().prop_map(|path| json!({ "tree": path })),
    ];
    let chain = prop_oneof![3 => Just(String::new()), 1 => "[0-9a-f]{64}", 1 => text()];
    let skipped = prop_oneof![4 => Just(0), 1 => number()];
    (surface, number(), number(), chain, skipped, any::<bool>()).prop_map(
        |(surface, bytes, lines, chain, skipped, at_end)| {
            json!({
                "surface": surface,
                "bytes": bytes,
                "lines": lines,
                "chain": chain,
                "skipped": skipped,
                "at_end": at_end,
            })
        },
    )
}

#[test]
fn every_file_reads_the_same() {
    let input = (file(), cursor(), small());
    always(input, |component, (file, cursor, most)| {
        let limits = json!({ "max_residue_bytes": most });
        let ask = |judge: &dyn Judge| -> Answer { judge.check_lines(&file, &cursor, &limits) };
        let expected = ask(&Native);
        prop_assert_eq!(ask(component), expected);
        Ok(())
    });
}

#[test]
fn where_a_file_is_cut_does_not_matter() {
    let cuts = prop::collection::vec(any::<Index>(), 0..5);
    always((file(), cuts), |component, (file, cuts)| {
        let start = json!({
            "surface": { "tree": "v1/c/stratum-s/analyst__architect/p1.jsonl" },
            "bytes": 0, "lines": 0, "chain": "", "skipped": 0, "at_end": true,
        });
        let limits = json!({ "max_residue_bytes": 0 });
        let mut edges: Vec<usize> = cuts.iter().map(|cut| cut.index(file.len() + 1)).collect();
        edges.extend([0, file.len()]);
        edges.sort_unstable();
        let pieces: Vec<&[u8]> = edges
            .windows(2)
            .map(|edge| &file[edge[0]..edge[1]])
            .collect();
        let whole = check_chunks(&Native, [&file[..]], &start, &limits);
        prop_assert_eq!(check_chunks(component, pieces, &start, &limits), whole);
        Ok(())
    });
}
