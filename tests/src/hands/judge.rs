//! What has to be true when all hands are still.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use ghyll::policy::Policy;
use ghyll::project::Project;
use ghyll::view::View;
use serde_json::Value;

use super::Told;
use super::crowd::lock;
use super::table::{ARROWS, Ack, OVERLAPS, Table};
use crate::survive::fixture;

/// A record as its line has it.
pub struct Line {
    value: Value,
    attestation_ref: String,
    round: u32,
}

impl Line {
    pub fn text(&self, field: &str) -> &str {
        self.value[field].as_str().unwrap()
    }
}

/// Judges a project that nobody is at any more, and has everything decided that
/// is still asked.
///
/// # Panics
/// If anything is not as it has to be.
pub fn settle(table: Table<'_>) -> Told {
    let (kills, stops, long) = table.crowd.counts();
    if kills == 0 {
        let overlaps = table.dir.join(OVERLAPS);
        assert!(!overlaps.exists(), "a command ran beside itself");
    }
    let acks = std::mem::take(&mut *lock(&table.acks));
    // What the last death left is put right by whoever acts next.
    for (arrow, _) in ARROWS {
        quiet(&table, &["dispatch", arrow], &[0, 1, 3]);
    }
    asked(&table, &lines(table.dir));
    answer_all(&table);
    let lines = lines(table.dir);
    verified(&table, lines.len() as u64);
    told_once(&acks, &lines);
    let shown = meant(&lines);
    counted(&table, &lines);
    let left = std::fs::read_dir(table.dir.join(".ghyll/sessions")).unwrap();
    assert_eq!(left.count(), 0, "nobody lives here any more");

    let mut told = table.told.into_inner().unwrap();
    told.acknowledged += acks.len() as u64;
    told.records += lines.len() as u64;
    told.later_rounds += lines.iter().filter(|line| line.round > 1).count() as u64;
    told.shown += shown;
    told.kills += kills;
    told.stops += stops;
    told.long_stops += long;
    told
}

/// Runs a command beside which nothing happens.
fn quiet(table: &Table<'_>, args: &[&str], codes: &[i32]) -> String {
    let done = table.crowd.run(table.program, table.dir, args);
    let code = done.code.unwrap();
    assert!(codes.contains(&code), "{args:?}: {done:?}");
    done.out
}

fn json(table: &Table<'_>, args: &[&str], codes: &[i32]) -> Value {
    serde_json::from_str(&quiet(table, args, codes)).unwrap()
}

/// The lines of the tree; those of a ref are its rounds, without a gap and none
/// twice.
pub fn lines(dir: &Path) -> Vec<Line> {
    let mut rounds: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    let mut lines = Vec::new();
    for (line, times) in fixture::tree_lines(dir) {
        assert_eq!(times, 1, "{line}");
        let value: Value = serde_json::from_str(&line).unwrap();
        let id = value["attestation_id"].as_str().unwrap();
        let (attestation_ref, round) = match id.rsplit_once(".r") {
            Some((attestation_ref, round)) => (attestation_ref, round.parse().unwrap()),
            None => (id, 1),
        };
        let attestation_ref = attestation_ref.to_owned();
        let of_ref = rounds.entry(attestation_ref.clone()).or_default();
        assert!(of_ref.insert(round), "{id} is there twice");
        lines.push(Line {
            value,
            attestation_ref,
            round,
        });
    }
    for (attestation_ref, rounds) in rounds {
        let last = rounds.last().copied().unwrap_or(0);
        let there = rounds.len() as u32;
        assert_eq!(there, last, "rounds of {attestation_ref}: {rounds:?}");
    }
    lines
}

/// Each verdict that was acknowledged is there once, by whom it was given, and
/// what it says that it replaces is the round before it.
fn told_once(acks: &[Ack], lines: &[Line]) {
    let by_id: BTreeMap<&str, &Line> = lines
        .iter()
        .map(|line| (line.text("attestation_id"), line))
        .collect();
    let mut seen = BTreeSet::new();
    for ack in acks {
        assert!(seen.insert(&ack.id), "{} was acknowledged twice", ack.id);
        let Some(line) = by_id.get(ack.id.as_str()) else {
            panic!("acknowledged, and not there: {ack:?}");
        };
        assert_eq!(line.text("op_id"), ack.op_id, "{ack:?}");
        match &ack.replaces {
            None if ack.told => assert_eq!(line.round, 1, "it replaces nothing: {ack:?}"),
            None => {}
            Some((verdict, round, who)) => {
                assert_eq!(*round + 1, line.round, "{ack:?}");
                let before = match round {
                    1 => line.attestation_ref.clone(),
                    round => format!("{}.r{round}", line.attestation_ref),
                };
                let before = by_id[before.as_str()];
                assert_eq!(before.text("verdict"), verdict, "{ack:?}");
                assert_eq!(before.text("op_id"), who, "{ack:?}");
            }
        }
    }
}

/// No word stands in two records, and where it was known which question it
/// answers, it stands in that record. Returns how many were known.
pub fn meant(lines: &[Line]) -> u64 {
    let (mut seen, mut shown) = (BTreeSet::new(), 0);
    for line in lines {
        let id = line.text("attestation_id");
        let payload = line.text("unit_payload_json");
        let mut parts = payload.split('@');
        let (Some(number), Some(meant)) = (parts.next(), parts.next()) else {
            continue;
        };
        assert!(
            seen.insert((number.to_owned(), meant.to_owned())),
            "said once, recorded twice: {payload}"
        );
        if meant != "any" {
            assert_eq!(meant, id, "laid over what was not shown: {payload}");
            shown += 1;
        }
    }
    shown
}

/// What is pending is what the requests of open passes ask for and the tree has
/// no answer to, told apart here by the tree alone.
fn asked(table: &Table<'_>, lines: &[Line]) {
    let project = Project::open(table.dir).unwrap();
    let view = View::open(project, Arc::new(Policy::load().unwrap())).unwrap();
    let mut expected = BTreeSet::new();
    let requests = view.read(|reader| {
        let mut requests = Vec::new();
        for pass in reader.open_passes()? {
            requests.extend(reader.requests_of_pass(&pass.pass_id)?);
        }
        Ok::<_, ghyll::db::DbError>(requests)
    });
    for request in requests.unwrap() {
        let newest = lines
            .iter()
            .filter(|line| line.attestation_ref == request.attestation_ref)
            .max_by_key(|line| line.round);
        let round = newest.map_or(0, |line| line.round);
        let again = newest.is_some_and(|line| line.text("verdict") == "insufficient-basis");
        if round <= request.asked_after || again {
            expected.insert((request.attestation_ref, u64::from(round) + 1));
        }
    }
    let pending = json(table, &["pending", "--json"], &[0]);
    let pending: BTreeSet<_> = pending
        .as_array()
        .unwrap()
        .iter()
        .map(|asked| {
            let of = asked["attestation_ref"].as_str().unwrap().to_owned();
            (of, asked["round"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(pending, expected);
}

/// Answers whatever is asked until nothing is, arrow by arrow.
fn answer_all(table: &Table<'_>) {
    let mut turns = 0;
    loop {
        turns += 1;
        assert!(turns < 100, "it never ends");
        let pending = json(table, &["pending", "--json"], &[0]);
        let pending = pending.as_array().unwrap();
        for asked in pending {
            let of = asked["attestation_ref"].as_str().unwrap();
            let tag = table.tag(None);
            let verdict = if asked["escalation"] == true {
                "accepted-risk"
            } else {
                "pass"
            };
            let args = ["attest", of, verdict, "--residue", &tag, "--op-id", "erin"];
            quiet(table, &args, &[0]);
        }
        let mut complete = 0;
        for (arrow, _) in ARROWS {
            // Another arrow of its role and context may be open.
            complete +=
                u64::from(quiet(table, &["dispatch", arrow], &[0, 1, 3]).contains("complete"));
        }
        if complete == ARROWS.len() as u64 {
            break;
        }
    }
    assert_eq!(
        json(table, &["pending", "--json"], &[0]),
        Value::Array(vec![])
    );
}

/// Tree, flat file and index are one.
fn verified(table: &Table<'_>, records: u64) {
    let args = ["engine", "verify-attestations", "--json"];
    let report = json(table, &args, &[0]);
    assert_eq!(report["ok"], true, "{report:#}");
    for surface in ["tree", "flat", "index"] {
        assert_eq!(report[surface]["records"], records, "{surface}");
    }
    let status = json(table, &["engine", "status", "--json"], &[0]);
    assert_eq!(status["attestations"], records);
    assert_eq!(status["passes"]["open"], 0, "{status}");
}

/// Statuses are what the lines come to.
fn counted(table: &Table<'_>, lines: &[Line]) {
    let status = json(table, &["status", "--json"], &[0]);
    let version = json(table, &["engine", "status", "--json"], &[0])["grid_version"]
        .as_u64()
        .unwrap();
    for arrow in status["arrows"].as_array().unwrap() {
        let id = arrow["id"].as_str().unwrap();
        assert_eq!(arrow["status"], "complete", "{arrow}");
        assert_eq!(arrow["decided"], arrow["clauses"], "{arrow}");
        let of_arrow = lines.iter().filter(|line| {
            line.text("arrow_id") == id && line.value["grid_version"].as_u64() == Some(version)
        });
        let mut newest: BTreeMap<&str, &Line> = BTreeMap::new();
        for line in of_arrow {
            let of = newest.entry(&line.attestation_ref).or_insert(line);
            if of.round < line.round {
                *of = line;
            }
        }
        let accepted = newest
            .values()
            .filter(|line| line.text("verdict") == "accepted-risk")
            .count();
        assert_eq!(arrow["accepted_risk"], accepted, "{arrow}");
    }
}
