//! Reading the vectors and asking them (see `tests/vectors/README.md`).

use std::path::PathBuf;
use std::{fs, iter};

use serde_json::{Value, json};

use crate::judge::{Fault, Judge};

/// Where the vectors are.
#[must_use]
pub fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/vectors"))
}

/// Every case of every file, long strings in full.
#[must_use]
pub fn cases() -> Vec<Value> {
    let mut files: Vec<_> = fs::read_dir(folder())
        .expect("the vectors")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a file of vectors");
        let mut vectors: Value = serde_json::from_str(&text).expect("vectors are JSON");
        let Value::Array(cases) = vectors["cases"].take() else {
            panic!("{} holds no cases", file.display());
        };
        all.extend(cases.into_iter().map(expand));
    }
    all
}

/// Asks one case, a file once for each way of cutting it. The answers that
/// differ from what is expected, in words.
pub fn ask(judge: &dyn Judge, case: &Value) -> Vec<String> {
    let expected = match &case["err"] {
        Value::String(code) => json!({ "err": code }),
        _ => json!({ "ok": case["ok"] }),
    };
    let answers: Vec<(String, Value)> = match case["cuts"].as_array() {
        Some(ways) => ways
            .iter()
            .map(|cuts| (format!(", cut {cuts}"), ask_about_file(judge, case, cuts)))
            .collect(),
        None => vec![(String::new(), ask_function(judge, case))],
    };
    answers
        .into_iter()
        .filter(|(_, answer)| *answer != expected)
        .map(|(how, answer)| {
            format!(
                "{}: {}{how}\n  expected {expected:.2000}\n  answered {answer:.2000}",
                case["call"], case["name"]
            )
        })
        .collect()
}

fn ask_function(judge: &dyn Judge, case: &Value) -> Value {
    let call = case["call"].as_str().expect("a function");
    match judge.call(call, &case["args"]) {
        Ok(mut answer) => {
            // A long line is left out: its chain is its hash.
            if call == "encode-line" && case["ok"].get("line").is_none() {
                answer.as_object_mut().map(|line| line.remove("line"));
            }
            json!({ "ok": answer })
        }
        Err(Fault { code, .. }) => json!({ "err": code }),
    }
}

fn ask_about_file(judge: &dyn Judge, case: &Value, cuts: &Value) -> Value {
    let args = &case["args"];
    let data: Vec<u8> = args["file"]
        .as_array()
        .expect("parts of a file")
        .iter()
        .flat_map(bytes)
        .collect();
    let mut edges: Vec<usize> = match cuts["every"].as_u64() {
        Some(step) => (0..data.len())
            .step_by(usize::try_from(step).expect("a step"))
            .collect(),
        None => iter::once(0)
            .chain(cuts.as_array().expect("cuts").iter().map(offset))
            .collect(),
    };
    edges.push(data.len());
    let chunks = edges.windows(2).map(|edge| &data[edge[0]..edge[1]]);
    match check_chunks(judge, chunks, &args["cursor"], &args["limits"]) {
        Ok((lines, cursor)) => json!({ "ok": {
            "lines": lines,
            "cursor": {
                "bytes": cursor["bytes"],
                "lines": cursor["lines"],
                "chain": cursor["chain"],
            },
        } }),
        Err(Fault { code, .. }) => json!({ "err": code }),
    }
}

/// Checks a file as a host does, chunk after chunk: its lines, codes only, and
/// the last cursor.
///
/// # Errors
/// A failure to run the policy.
pub fn check_chunks<'a>(
    judge: &dyn Judge,
    chunks: impl IntoIterator<Item = &'a [u8], IntoIter: ExactSizeIterator>,
    start: &Value,
    limits: &Value,
) -> Result<(Vec<Value>, Value), Fault> {
    let mut cursor = start.clone();
    let mut lines = Vec::new();
    let mut rest = Vec::new();
    let mut chunks = chunks.into_iter();
    while let Some(chunk) = chunks.next() {
        rest.extend_from_slice(chunk);
        let last = chunks.len() == 0;
        cursor["at_end"] = json!(last && start["at_end"] == true);
        // One call looks at so much and no more.
        loop {
            let mut checked = judge.check_lines(&rest, &cursor, limits)?;
            let consumed = offset(&checked["consumed"]);
            rest.drain(..consumed);
            cursor = checked["cursor"].take();
            if let Value::Array(found) = checked["lines"].take() {
                lines.extend(found);
            }
            if consumed == 0 || rest.is_empty() {
                break;
            }
        }
    }
    for line in &mut lines {
        for kind in ["problems", "warnings"] {
            if let Value::Array(faults) = line[kind].take() {
                line[kind] = faults
                    .into_iter()
                    .map(|mut fault| fault["code"].take())
                    .collect();
            }
        }
    }
    Ok((lines, cursor))
}

fn offset(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("an offset")).expect("an offset in memory")
}

/// A value with its long strings in full.
fn expand(value: Value) -> Value {
    match value {
        Value::Object(members) if members.contains_key("repeat") => {
            let part = |key| members.get(key).and_then(Value::as_str).unwrap_or_default();
            let middle = part("repeat").repeat(offset(&members["times"]));
            Value::String([part("before"), &middle, part("after")].concat())
        }
        Value::Object(members) => members
            .into_iter()
            .map(|(key, item)| (key, expand(item)))
            .collect(),
        Value::Array(items) => items.into_iter().map(expand).collect(),
        plain => plain,
    }
}

/// The bytes of one part of a file.
fn bytes(part: &Value) -> Vec<u8> {
    if let Some(long) = part.as_str() {
        return long.into();
    }
    match (&part["text"], &part["base64"]) {
        (Value::String(text), _) => text.clone().into(),
        (_, Value::String(text)) => base64(text),
        _ => panic!("no part of a file: {part}"),
    }
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut have, mut out) = (0u32, 0, Vec::new());
    for digit in text.bytes().filter(|digit| *digit != b'=') {
        let value = DIGITS
            .iter()
            .position(|known| *known == digit)
            .expect("base64");
        bits = bits << 6 | u32::try_from(value).expect("six bits");
        have += 6;
        if have >= 8 {
            have -= 8;
            out.push((bits >> have & 0xff) as u8);
        }
    }
    out
}
