//! Judging files: what is healthy, what an auditor is told, and that neither
//! depends on how the file was cut into chunks.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;

use common::{Line, record, resolved};
use ghyll_policy::{
    Attestation, Cursor, GENESIS, Limits, MAX_LINE_BYTES, Surface, check_lines, encode_line,
};

const PATH: &str = "v1/shop/stratum-domain/analyst__architect/p1.jsonl";

fn tree() -> Surface {
    Surface::Tree(PATH.into())
}

/// Lines of a file as a host writes them.
fn file(records: &[Attestation]) -> Vec<String> {
    let mut chain = String::new();
    let mut lines = Vec::new();
    for rec in records {
        let encoded = encode_line(rec, &chain).unwrap();
        chain = encoded.chain;
        lines.push(encoded.line);
    }
    lines
}

fn three() -> Vec<String> {
    file(&[1, 2, 3].map(|round| Attestation {
        attestation_id: ghyll_policy::attestation_id("att-A-C1-v1", round),
        reason: format!("round {round}, é"),
        ..record()
    }))
}

/// Reads a file as a host does, `step` bytes more at a time.
fn read(file: &[u8], surface: Surface, step: usize) -> (Vec<Line>, Cursor) {
    let mut cursor = Cursor::start(surface);
    let mut lines = Vec::new();
    let (mut start, mut end) = (0, step.min(file.len()));
    loop {
        cursor.at_end = end == file.len();
        let chunk = &file[start..end];
        let checked = check_lines(chunk, &cursor, &Limits::default());
        start += usize::try_from(checked.consumed).unwrap();
        lines.extend(resolved(&checked, chunk, cursor.bytes));
        let progress = checked.consumed > 0;
        cursor = checked.cursor;
        if cursor.at_end && start == end {
            return (lines, cursor);
        }
        if !progress || start == end {
            assert!(!cursor.at_end, "no progress at the end");
            assert!(end - start <= MAX_LINE_BYTES + step);
            end = (end + step).min(file.len());
        }
    }
}

fn all(file: &[u8], surface: Surface) -> Vec<Line> {
    read(file, surface, 1 << 20).0
}

/// The problems of every line, as codes.
fn problems(file: impl AsRef<[u8]>, surface: Surface) -> Vec<Vec<&'static str>> {
    all(file.as_ref(), surface)
        .iter()
        .map(|line| line.problems.iter().map(|p| p.code).collect())
        .collect()
}

fn one(line: impl AsRef<[u8]>, surface: Surface) -> Line {
    let lines = all(line.as_ref(), surface);
    assert_eq!(lines.len(), 1);
    lines.into_iter().next().unwrap()
}

fn codes(line: &Line) -> Vec<&'static str> {
    line.problems.iter().map(|p| p.code).collect()
}

/// An older line: the healthy record without `keys`, and without a chain.
fn legacy(without: &[&str]) -> String {
    let line = &file(&[record()])[0];
    let mut object: serde_json::Map<_, _> = serde_json::from_str(line).unwrap();
    for key in without.iter().chain(&["chain"]) {
        object.remove(*key).unwrap();
    }
    format!("{}\n", serde_json::Value::from(object))
}

fn replaced(line: &str, from: &str, to: &str) -> String {
    assert!(line.contains(from), "no {from} in {line}");
    line.replacen(from, to, 1)
}

#[test]
fn a_written_file_is_healthy() {
    let text = three().concat();
    for surface in [tree(), Surface::Flat] {
        let (lines, cursor) = read(text.as_bytes(), surface, 1 << 20);
        let mut offset = 0;
        for (index, line) in (1u32..).zip(&lines) {
            assert_eq!(line.problems, []);
            assert_eq!(line.warnings, []);
            assert!(line.chained);
            assert_eq!(line.number, u64::from(index));
            assert_eq!(
                (line.attestation_ref.as_str(), line.round),
                ("att-A-C1-v1", index)
            );
            assert_eq!(line.path, PATH);
            assert_eq!(line.offset, offset);
            offset += line.length;
            assert!(line.rec.as_ref().unwrap().reason.starts_with("round"));
        }
        assert_eq!(lines.len(), 3);
        assert_eq!(cursor.bytes, u64::try_from(text.len()).unwrap());
        assert_eq!(cursor.lines, 3);
        assert_eq!(cursor.chain, lines[2].chain);
        let mut first = lines[0].rec.clone().unwrap();
        first.reason = "looks right".into();
        assert_eq!(first, record());
    }
}

#[test]
fn reading_goes_on_where_it_stopped() {
    let lines = three();
    let (_, cursor) = read(lines[0].as_bytes(), tree(), 1 << 20);
    let rest = lines[1..].concat();
    let checked = check_lines(rest.as_bytes(), &cursor, &Limits::default());
    assert!(checked.lines.iter().all(|line| line.problems.is_empty()));
    assert_eq!(checked.lines[0].number, 2);
    let wrong = Cursor {
        chain: GENESIS.into(),
        ..cursor
    };
    let checked = check_lines(rest.as_bytes(), &wrong, &Limits::default());
    let lines = resolved(&checked, rest.as_bytes(), wrong.bytes);
    assert_eq!(codes(&lines[0]), ["attestation-chain-broken"]);
}

#[test]
fn any_edit_shows_and_is_told_once() {
    let lines = three();
    let edited = [lines[0].as_str(), &replaced(&lines[1], "é", "e"), &lines[2]].concat();
    let broken = vec!["attestation-chain-broken"];
    assert_eq!(problems(edited, tree()), [vec![], broken.clone(), vec![]]);
    let removed = [lines[0].as_str(), &lines[2]].concat();
    assert_eq!(problems(removed, tree()), [vec![], broken.clone()]);
    let reordered = [lines[1].as_str(), &lines[0], &lines[2]].concat();
    assert_eq!(
        problems(reordered, tree()),
        [broken.clone(), broken.clone(), broken.clone()]
    );
    let twice = [lines[0].as_str(), &lines[0]].concat();
    assert_eq!(problems(twice, tree()), [vec![], broken]);
}

#[test]
fn every_single_changed_byte_shows() {
    let line = three().swap_remove(0);
    for at in 0..line.len() {
        let mut bytes = line.clone().into_bytes();
        bytes[at] ^= 1;
        let found = problems(bytes, tree());
        assert!(found.iter().any(|codes| !codes.is_empty()), "byte {at}");
    }
}

#[test]
fn the_flat_file_checks_no_links_but_bytes() {
    let lines = three();
    let mixed = [lines[2].as_str(), &lines[0]].concat();
    assert_eq!(problems(mixed, Surface::Flat), [vec![""; 0], vec![]]);
    let spaced = replaced(&lines[0], "\"kind\":", "\"kind\": ");
    assert_eq!(
        problems(spaced, Surface::Flat),
        [["attestation-line-malformed"]]
    );
}

#[test]
fn what_is_no_record_is_malformed() {
    let line = three().swap_remove(0);
    let deep = format!("{}\n", "[".repeat(500_000));
    let deep_key = format!("{{\"x\":{deep}");
    let deep_value = format!("{{\"kind\":{deep}");
    let strings = [
        "\n",
        "   \n",
        "null\n",
        "[]\n",
        "{\n",
        "{}{}\n",
        "{} x\n",
        "\u{feff}{}\n",
        "{\"kind\":1}\n",
        "{\"kind\":null}\n",
        "{\"kind\":\"a\",\"kind\":\"a\"}\n",
        "{\"kind\":\"a\",\"\\u006bind\":\"a\"}\n",
        "{\"other\":\"\"}\n",
        "{\"grid_version\":\"1\"}\n",
        "{\"grid_version\":-1}\n",
        "{\"grid_version\":1.0}\n",
        "{\"grid_version\":18446744073709551616}\n",
        "{\"timestamp\":1.5}\n",
        "{\"timestamp\":true}\n",
        "{\"timestamp\":18446744073709551616}\n",
        "{\"chain\":null}\n",
        "{\"reason\":\"\\ud800\"}\n",
        "{\"reason\":\"\t\"}\n",
        &deep,
        &deep_key,
        &deep_value,
        &replaced(&line, "}\n", "}\r\n"),
        &replaced(&line, "}\n", ",\"chain\":\"\"}\n"),
    ];
    let mut cases: Vec<Vec<u8>> = strings
        .iter()
        .map(|text| text.as_bytes().to_vec())
        .collect();
    cases.push(b"{\"reason\":\"\xff\"}\n".to_vec());
    cases.push(b"\xed\xa0\x80\n".to_vec());
    for case in cases {
        for surface in [tree(), Surface::Flat] {
            let checked = one(&case, surface);
            assert_eq!(codes(&checked), ["attestation-line-malformed"]);
            assert_eq!((checked.rec, checked.round), (None, 0));
            assert!(checked.problems[0].detail.len() < 300);
        }
    }
}

#[test]
fn a_chained_line_is_canonical_or_malformed() {
    let line = three().swap_remove(0);
    let all_keys: BTreeMap<String, serde_json::Value> = serde_json::from_str(&line).unwrap();
    // Sorted keys, same values: readable, the chain is stated, but rewritten.
    let sorted = format!("{}\n", serde_json::to_string(&all_keys).unwrap());
    for case in [
        sorted.as_str(),
        &replaced(&line, "{", "{ "),
        &replaced(&line, "é", "\\u00e9"),
        &replaced(&line, "depth-type", "depth\\u002dtype"),
        &replaced(&line, "\"context\":\"shop\",", ""),
        &replaced(&line, "}\n", "} \n"),
        &replaced(&line, "v1", "v\\/"),
    ] {
        let found = codes(&one(case, Surface::Flat));
        assert_eq!(found[0], "attestation-line-malformed", "{case}");
    }
    let checked = one(&sorted, tree());
    assert!(checked.rec.is_some());
    // The next line was linked to what this one states, wherever it does.
    assert_eq!(checked.chain, one(&line, tree()).chain);
}

#[test]
fn a_chain_that_is_none_is_malformed() {
    let line = three().swap_remove(0);
    let chain = one(&line, tree()).chain;
    for bad in ["", "0", &chain.to_uppercase(), &"g".repeat(64)] {
        for surface in [tree(), Surface::Flat] {
            let checked = one(replaced(&line, &chain, bad), surface);
            assert_eq!(codes(&checked), ["attestation-line-malformed"], "{bad}");
            assert!(checked.chained);
        }
    }
}

#[test]
fn a_number_may_stand_for_a_timestamp() {
    let stamp = "\"2026-05-25T10:11:12.123456789Z\"";
    let old = replaced(&legacy(&[]), stamp, "1779703872123456789");
    let checked = one(old, tree());
    assert_eq!(codes(&checked), [""; 0]);
    assert_eq!(checked.rec, Some(record()));
    // On a chained line, the number is among the bytes the chain is over.
    let line = file(&[record()]).swap_remove(0);
    let numbered = replaced(&line, stamp, "1779703872123456789");
    assert_eq!(codes(&one(&numbered, Surface::Flat)), [""; 0]);
    assert_eq!(codes(&one(&numbered, tree())), ["attestation-chain-broken"]);
    let negative = replaced(&legacy(&[]), stamp, "-1");
    let rec = one(negative, tree()).rec.unwrap();
    assert_eq!(rec.timestamp, "1969-12-31T23:59:59.999999999Z");
}

#[test]
fn older_lines_may_lack_what_they_did_not_know() {
    for without in [
        vec![],
        vec!["adversary_role"],
        vec!["hint_json"],
        vec!["unit"],
        vec!["unit", "unit_payload_json", "hint_json", "reason"],
    ] {
        let checked = one(legacy(&without), tree());
        assert_eq!(codes(&checked), [""; 0], "{without:?}");
        assert_eq!(checked.warnings.len(), 1);
        assert_eq!(checked.warnings[0].code, "attestation-chain-absent");
        assert!(!checked.chained);
        let rec = checked.rec.unwrap();
        if without.contains(&"hint_json") {
            assert_eq!(rec.hint_json, "{}");
        }
    }
    let spaced = replaced(&legacy(&[]), "{", "  { ");
    assert_eq!(codes(&one(spaced, tree())), [""; 0]);
    assert_eq!(
        codes(&one(legacy(&["op_id"]), tree())),
        ["attestation-op-id-empty"]
    );
    assert_eq!(
        codes(&one("{}\n", tree()))[..3],
        [
            "attestation-id-empty",
            "attestation-arrow-id-empty",
            "attestation-op-id-empty"
        ]
    );
}

#[test]
fn without_a_unit_there_is_no_evidence_to_judge() {
    let fail = replaced(
        &legacy(&["unit"]),
        "\"verdict\":\"pass\"",
        "\"verdict\":\"fail\"",
    );
    assert_eq!(codes(&one(&fail, tree())), [""; 0]);
    let payload = replaced(
        &fail,
        "\"unit_payload_json\":\"{}\"",
        "\"unit_payload_json\":\"{\\\"residue\\\":\\\"x\\\"}\"",
    );
    assert_eq!(
        codes(&one(payload, tree())),
        ["verdict-unit-unexpected-field"]
    );
    let empty = replaced(&legacy(&[]), "\"unit\":\"confirm\"", "\"unit\":\"\"");
    assert_eq!(codes(&one(empty, tree())), ["verdict-unit-invalid"]);
}

#[test]
fn older_timestamps_may_be_shorter() {
    let nine = "12.123456789Z";
    for (short, long) in [("12Z", "12.000000000Z"), ("12.5Z", "12.500000000Z")] {
        let checked = one(replaced(&legacy(&[]), nine, short), tree());
        assert_eq!(codes(&checked), [""; 0]);
        assert!(checked.rec.unwrap().timestamp.ends_with(long));
        let chained = replaced(&file(&[record()])[0], nine, short);
        assert_eq!(
            codes(&one(chained, Surface::Flat)),
            ["attestation-timestamp-invalid"]
        );
    }
}

#[test]
fn pass_less_lines_live_in_the_flat_file_only() {
    let empty = replaced(&legacy(&[]), "\"pass_id\":\"p1\"", "\"pass_id\":\"\"");
    for line in [legacy(&["pass_id"]), empty] {
        let flat = one(&line, Surface::Flat);
        assert_eq!(codes(&flat), [""; 0]);
        assert_eq!(flat.path, "");
        assert_eq!(codes(&one(&line, tree())), ["attestation-pass-id-empty"]);
    }
    let chained = &file(&[Attestation {
        pass_id: String::new(),
        ..record()
    }])[0];
    assert_eq!(
        codes(&one(chained, Surface::Flat)),
        ["attestation-pass-id-empty"]
    );
}

#[test]
fn lines_without_chain_advance_the_chain_over_all_their_bytes() {
    let old = legacy(&[]);
    let first = one(&old, tree());
    let next = encode_line(&record(), &first.chain).unwrap().line;
    assert_eq!(
        problems([old.as_str(), &next].concat(), tree()),
        [vec![""; 0], vec![]]
    );
    let other = replaced(&old, "looks", "look");
    assert_eq!(
        problems([other.as_str(), &next].concat(), tree()),
        [vec![], vec!["attestation-chain-broken"]]
    );
}

#[test]
fn a_malformed_line_does_not_take_the_next_one_along() {
    let lines = three();
    let bad = replaced(&lines[1], "\"reason\":\"", "\"reason\":\"\\q");
    let text = [lines[0].as_str(), &bad, &lines[2]].concat();
    assert_eq!(
        problems(&text, tree()),
        [
            vec![],
            vec!["attestation-line-malformed", "attestation-chain-broken"],
            vec![]
        ]
    );
    let garbage = [lines[0].as_str(), "garbage\n", &lines[1], &lines[2]].concat();
    assert_eq!(
        problems(garbage, tree()),
        [
            vec![],
            vec!["attestation-line-malformed"],
            vec!["attestation-chain-broken"],
            vec![]
        ]
    );
}

#[test]
fn a_record_stands_where_it_belongs() {
    let line = file(&[record()]).swap_remove(0);
    let elsewhere = Surface::Tree(PATH.replace("p1", "p2"));
    let checked = one(&line, elsewhere);
    assert_eq!(codes(&checked), ["attestation-path-mismatch"]);
    assert!(checked.problems[0].detail.contains(PATH));
    assert_eq!(checked.path, PATH);
}

#[test]
fn all_problems_of_a_line_are_told() {
    let rec = Attestation {
        op_id: "a b".into(),
        verdict: "fail".into(),
        context: "other".into(),
        ..record()
    };
    let line = replaced(&file(&[rec])[0], "looks", "look");
    assert_eq!(
        codes(&one(line, tree())),
        [
            "attestation-chain-broken",
            "op-id-invalid-characters",
            "verdict-unit-insufficient",
            "attestation-path-mismatch"
        ]
    );
}

#[test]
fn what_is_behind_the_last_line_end_waits_or_is_partial() {
    let lines = three();
    let text = [lines[0].as_str(), &lines[1][..20]].concat();
    let waiting = check_lines(text.as_bytes(), &Cursor::start(tree()), &Limits::default());
    assert_eq!(waiting.lines.len(), 1);
    assert_eq!(waiting.consumed, waiting.lines[0].length);
    let (lines, cursor) = read(text.as_bytes(), tree(), 1 << 20);
    assert_eq!(codes(&lines[1]), ["attestation-line-partial"]);
    assert_eq!(
        (lines[1].number, lines[1].length, &lines[1].rec),
        (2, 20, &None)
    );
    assert_eq!(lines[1].chain, lines[0].chain);
    assert_eq!((cursor.bytes, cursor.lines), (lines[0].length, 1));
    assert_eq!(cursor.chain, lines[0].chain);
}

#[test]
fn an_empty_file_is_healthy() {
    let (lines, cursor) = read(b"", tree(), 1);
    assert_eq!(lines, []);
    assert_eq!((cursor.bytes, cursor.chain.as_str()), (0, ""));
}

#[test]
fn chunks_may_be_cut_anywhere() {
    let lines = three();
    let spoiled = replaced(&lines[1], "é", "e");
    let text = [
        &lines[0],
        &spoiled,
        "\n{\"x\u{e9}",
        "\n",
        &legacy(&[]),
        &lines[2][..50],
    ]
    .concat();
    let whole = read(text.as_bytes(), tree(), 1 << 20);
    assert_eq!(whole.0.len(), 6);
    for step in [1, 2, 3, 7, 64, 100, 1000] {
        assert_eq!(read(text.as_bytes(), tree(), step), whole, "{step}");
    }
}

#[test]
fn a_line_too_long_is_skipped_in_pieces() {
    let lines = three();
    let line = |len: usize| format!("{}\n", "x".repeat(len - 1));
    for (middle, ended) in [
        (line(MAX_LINE_BYTES + 1), true),
        (line(3 * MAX_LINE_BYTES), true),
        (line(5 * MAX_LINE_BYTES), true),
        ("x".repeat(MAX_LINE_BYTES), false),
        ("x".repeat(5 * MAX_LINE_BYTES), false),
    ] {
        let mut text = [lines[0].as_str(), &middle].concat();
        let mut expected = vec![vec![], vec!["attestation-line-malformed"]];
        if ended {
            text.push_str(&lines[1]);
            expected.push(vec![]);
        } else {
            expected[1].insert(0, "attestation-line-partial");
        }
        assert_eq!(problems(&text, tree()), expected);
        let whole = read(text.as_bytes(), tree(), text.len());
        let len = |text: &str| u64::try_from(text.len()).unwrap();
        let long = &whole.0[1];
        assert_eq!((long.offset, long.length), (len(&lines[0]), len(&middle)));
        assert_eq!(whole.1.skipped, 0);
        assert_eq!(
            whole.1.bytes,
            if ended { len(&text) } else { len(&lines[0]) }
        );
        for step in [
            100_000,
            MAX_LINE_BYTES - 1,
            MAX_LINE_BYTES,
            MAX_LINE_BYTES + 1,
        ] {
            assert_eq!(read(text.as_bytes(), tree(), step), whole, "{step}");
        }
    }
}

#[test]
fn a_line_of_just_a_mebibyte_is_not_too_long() {
    let hinted = |spaces| Attestation {
        hint_json: format!("{{{}}}", " ".repeat(spaces)),
        ..record()
    };
    let room = MAX_LINE_BYTES - file(&[hinted(0)])[0].len();
    let line = file(&[hinted(room)]).swap_remove(0);
    assert_eq!(line.len(), MAX_LINE_BYTES);
    for step in [MAX_LINE_BYTES - 1, MAX_LINE_BYTES, 2 * MAX_LINE_BYTES] {
        let (lines, _) = read(line.as_bytes(), tree(), step);
        assert_eq!(codes(&lines[0]), [""; 0]);
    }
}

#[test]
fn a_call_does_a_bounded_amount_of_work() {
    let ends = vec![b'\n'; 6 << 20];
    let checked = check_lines(&ends, &Cursor::start(tree()), &Limits::default());
    assert_eq!((checked.lines.len(), checked.consumed), (8192, 8192));
    let long = vec![b'x'; 6 << 20];
    let checked = check_lines(&long, &Cursor::start(tree()), &Limits::default());
    assert_eq!((checked.lines.len(), checked.consumed), (0, 4 << 20));
    assert_eq!(checked.cursor.skipped, 4 << 20);
}

#[test]
fn no_cursor_is_too_strange() {
    let cursor = Cursor {
        surface: Surface::Tree(String::new()),
        bytes: u64::MAX,
        lines: u64::MAX,
        chain: "no chain".into(),
        skipped: u64::MAX,
        at_end: true,
    };
    for chunk in [three().concat().as_bytes(), b"", b"x", b"\n"] {
        let checked = check_lines(chunk, &cursor, &Limits::default());
        assert_eq!(checked.consumed, u64::try_from(chunk.len()).unwrap());
        assert!(checked.lines.iter().all(|line| !line.problems.is_empty()));
    }
}
