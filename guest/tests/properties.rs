//! What holds for any input at all.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use common::{Line, record, resolved};
use ghyll_policy::{
    Attestation, Cursor, Hint, Limits, MAX_GRID_VERSION, Surface, UnitPayload, attestation_id,
    belong, check_lines, decode_hint, decode_unit_payload, encode_attestation_path, encode_hint,
    encode_line, encode_unit_payload, validate, validate_op_id,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Any text, but more often than chance would have it one that is troublesome.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,20}",
        any::<String>(),
        "[\"\\\\{}\\[\\]:,/\n\t\u{1}\u{7f}\u{2028}é.]{0,20}",
        Just("__".to_owned()),
        Just("init".to_owned()),
        Just(String::new()),
    ]
}

prop_compose! {
    fn any_record()(
        texts in vec(text(), 14),
        grid_version in any::<u64>(),
    ) -> Attestation {
        let mut texts = texts.into_iter();
        let mut next = || texts.next().unwrap();
        Attestation {
            attestation_id: next(),
            arrow_id: next(),
            clause_id: next(),
            op_id: next(),
            attested_by_role: next(),
            source_role: next(),
            target_role: next(),
            adversary_role: next(),
            reason: next(),
            pass_id: next(),
            context: next(),
            stratum: next(),
            unit_payload_json: next(),
            hint_json: next(),
            grid_version,
            ..record()
        }
    }
}

fn judged(file: &[u8], surface: Surface) -> Vec<Line> {
    let cursor = Cursor {
        at_end: true,
        ..Cursor::start(surface)
    };
    resolved(&check_lines(file, &cursor, &Limits::default()), file, 0)
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(recs in vec(any_record(), 1..4)) {
        let (mut chain, mut file) = (String::new(), String::new());
        for rec in &recs {
            let encoded = encode_line(rec, &chain).unwrap();
            chain = encoded.chain;
            file.push_str(&encoded.line);
        }
        let lines = judged(file.as_bytes(), Surface::Flat);
        prop_assert_eq!(lines.len(), recs.len());
        for (line, rec) in lines.iter().zip(&recs) {
            prop_assert_eq!(line.rec.as_ref(), Some(rec));
            if line.round > 0 {
                prop_assert_eq!(attestation_id(&line.attestation_ref, line.round), rec.attestation_id.clone());
            }
            // Reading finds what writing would have refused, and nothing else.
            let refused = validate(rec, &Limits::default()).err();
            prop_assert_eq!(line.problems.first(), refused.as_ref());
        }
        let in_tree = judged(file.as_bytes(), Surface::Tree("elsewhere".into()));
        for line in in_tree {
            prop_assert!(line.problems.iter().all(|p| p.code != "attestation-chain-broken"));
        }
    }

    #[test]
    fn any_edit_of_a_tree_file_shows(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let first = encode_line(&record(), "").unwrap();
        let second = encode_line(&record(), &first.chain).unwrap();
        let path = encode_attestation_path(&record()).unwrap().path;
        let mut file = (first.line + &second.line).into_bytes();
        let at = at.index(file.len());
        prop_assume!(file[at] != to);
        file[at] = to;
        let lines = judged(&file, Surface::Tree(path));
        prop_assert!(lines.iter().any(|line| !line.problems.is_empty()));
    }

    #[test]
    fn any_bytes_are_judged_alike_however_cut(
        file in vec(prop_oneof![Just(b'\n'), Just(b'{'), Just(b'"'), any::<u8>()], 0..60),
        at in any::<prop::sample::Index>(),
    ) {
        let whole = judged(&file, Surface::Flat);
        let start = Cursor::start(Surface::Flat);
        let cut = at.index(file.len() + 1);
        let first = check_lines(&file[..cut], &start, &Limits::default());
        let rest = &file[usize::try_from(first.consumed).unwrap()..];
        let lines = resolved(&first, &file[..cut], 0);
        let cursor = Cursor { at_end: true, ..first.cursor };
        let second = check_lines(rest, &cursor, &Limits::default());
        prop_assert_eq!(whole, [lines, resolved(&second, rest, cursor.bytes)].concat());
    }

    #[test]
    fn a_path_is_safe_everywhere(rec in any_record()) {
        let Ok(encoded) = encode_attestation_path(&rec) else { return Ok(()) };
        let parts: Vec<&str> = encoded.path.split('/').collect();
        prop_assert_eq!(parts.len(), 5);
        for part in parts {
            prop_assert!(!part.is_empty() && part.len() <= 255);
            prop_assert!(part != "." && !part.ends_with('.'));
            prop_assert!(part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)));
        }
        if (1..=MAX_GRID_VERSION).contains(&rec.grid_version) {
            let mut folder = String::new();
            for part in encoded.path.split('/') {
                prop_assert_eq!(belong(&folder, &[part]), [true]);
                folder = [folder.as_str(), part].join("/").trim_start_matches('/').into();
            }
        }
        prop_assert_eq!(encoded.truncated, !encoded.substituted.is_empty());
    }

    #[test]
    fn json_texts_are_json(texts in vec(text(), 4), inspected in vec(text(), 0..3)) {
        let [arrow_id, clause_id, concept, attestation_ref] = <[String; 4]>::try_from(texts).unwrap();
        let payload = UnitPayload { inspected: inspected.clone(), residue: concept.clone() };
        let read: serde_json::Value = serde_json::from_str(&encode_unit_payload(&payload)).unwrap();
        prop_assert_eq!(read.get("residue").map_or("", |v| v.as_str().unwrap()), &concept);
        let read: Vec<&str> = read.get("inspected").into_iter()
            .flat_map(|v| v.as_array().unwrap())
            .map(|v| v.as_str().unwrap())
            .collect();
        prop_assert_eq!(read, &inspected[..]);
        prop_assert_eq!(decode_unit_payload(&encode_unit_payload(&payload)), Ok(payload));
        let hint = Hint {
            arrow_id: arrow_id.clone(),
            clause_id,
            concept: concept.clone(),
            attestation_ref,
            subject: String::new(),
            locations: inspected,
            basis: concept,
            residue: String::new(),
        };
        let read: serde_json::Value = serde_json::from_str(&encode_hint(&hint)).unwrap();
        prop_assert_eq!(read.get("arrow_id").map_or("", |v| v.as_str().unwrap()), &arrow_id);
        prop_assert_eq!(decode_hint(&encode_hint(&hint)), Ok(hint));
    }

    #[test]
    fn an_op_id_accepted_is_one_plain_word(op_id in text()) {
        if validate_op_id(&op_id).is_ok() {
            prop_assert!(op_id.len() <= 256 && !op_id.contains(['/', '\\', ' ', '\n']));
            prop_assert_eq!(op_id.trim(), &op_id);
        }
    }
}
