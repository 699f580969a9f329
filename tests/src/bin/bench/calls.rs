//! Rows in which calls are measured, within this process.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::time::{Duration, Instant};

use ghyll::audit::reader::cursor;
use ghyll::db::Head;
use ghyll::policy::{Attestation, Limits, Policy, Surface};
use ghyll::session::{Session, Submission, Via};
use ghyll::work::Verdict;
use ghyll_policy as native;
use ghyll_tests::scale::arrow_id;
use ghyll_tests::survive::fixture;
use rusqlite::Connection;

use super::Bench;
use super::measured::Cost;
use super::peers::{INDEXES, SCHEMA, insert};
use super::table::{Reach, Table};

/// Verdicts measured at a time, and rounds between the first such and the last.
const BATCH: usize = 40;
const ROUNDS: usize = 1500;

fn timed<T>(f: impl FnOnce() -> T) -> (Duration, T) {
    let started = Instant::now();
    let value = f();
    (started.elapsed(), value)
}

/// Verdicts in a session, beside a bare append and beside a database.
pub fn verdicts(bench: &Bench, size: &str, table: &mut Table) -> Result<(), String> {
    let early = "a verdict in a session / append and fsync";
    let late = "the same, 1500 rounds on / append and fsync";
    let beside = "a verdict in a session / SQLite insert, synchronous=FULL";
    if ![early, late, beside].iter().any(|name| bench.wants(name)) {
        return Ok(());
    }
    let attended = fixture::open(&bench.dir, &bench.policy).map_err(|e| e.to_string())?;
    let session: &Session = &attended;
    let arrow = arrow_id(0, 2);
    session.dispatch(&arrow).map_err(|e| e.to_string())?;
    let asked = format!("{arrow}/C1");
    let mut number = 0;
    verdict(session, &asked, &mut number)?;

    let bare = bench.dir.join("bare");
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&bare)
        .map_err(|e| e.to_string())?;
    let other = bench.dir.join("other.db");
    let conn = database(&other).map_err(|e| e.to_string())?;
    for name in [early, late] {
        let (mut ours, mut appends, mut inserts) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..BATCH {
            let (time, done) = timed(|| verdict(session, &asked, &mut number));
            let line = done?;
            ours.push(Cost::of(time));
            let (time, done) = timed(|| append(&mut file, &line));
            done?;
            appends.push(Cost::of(time));
            let (time, done) = timed(|| insert(&conn, line.as_bytes(), 1, number, 0));
            done.map_err(|e| e.to_string())?;
            inserts.push(Cost::of(time));
        }
        let (ours, reach) = (Cost::median(&ours), Reach::Times(1.5));
        table.add(name, size, reach, ours, Cost::median(&appends));
        if name == early {
            table.add(
                beside,
                size,
                Reach::Times(1.0),
                ours,
                Cost::median(&inserts),
            );
            for _ in 0..ROUNDS {
                verdict(session, &asked, &mut number)?;
            }
        }
    }
    drop(attended);
    for path in [bare, other] {
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// One more verdict on a clause whose pass stays open, for others are asked.
fn verdict(session: &Session, asked: &str, number: &mut i64) -> Result<String, String> {
    *number += 1;
    let submission = Submission {
        verdict: Verdict::Fail,
        inspected: vec![format!("src/file.rs:{number}")],
        via: Via::Command,
        ..Submission::default()
    };
    let attested = session.attest(asked, &submission, "bench@example.com");
    Ok(attested.map_err(|e| e.to_string())?.recorded.line.clone())
}

fn append(file: &mut File, line: &str) -> Result<(), String> {
    let done = file
        .write_all(line.as_bytes())
        .and_then(|()| file.sync_all());
    done.map_err(|e| e.to_string())
}

fn database(path: &std::path::Path) -> rusqlite::Result<Connection> {
    let conn = Connection::open(path)?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.execute_batch(SCHEMA)?;
    conn.execute_batch(INDEXES)?;
    Ok(conn)
}

/// Calls of the component, beside the same code compiled natively.
pub fn component(policy: &Policy, only: &str, reps: usize, table: &mut Table) {
    let rec = record();
    let ours = to_native(&rec);
    let limits = Limits {
        max_residue_bytes: 0,
    };
    let own_limits = native::Limits::default();
    let path = policy.encode_path(&rec).unwrap().path;
    let (mut chunk, mut chain, mut number) = (String::new(), String::new(), 0);
    while chunk.len() < 64 << 10 {
        number += 1;
        let rec = Attestation {
            attestation_id: match number {
                1 => "att-A-checkout-C1-v1".to_owned(),
                round => format!("att-A-checkout-C1-v1.r{round}"),
            },
            ..rec.clone()
        };
        let encoded = policy.encode_line(&rec, &chain).unwrap();
        chunk.push_str(&encoded.line);
        chain = encoded.chain;
    }
    let from = cursor(Surface::Tree(path.clone()), &Head::default());
    let own_from = native::Cursor::start(native::Surface::Tree(path));
    let bytes = chunk.as_bytes();

    let mut row = |name: &str, most: f64, calls: u32, ours: &dyn Fn(), theirs: &dyn Fn()| {
        if !name.contains(only) {
            return;
        }
        let each = |f: &dyn Fn()| {
            let (time, ()) = timed(|| (0..calls).for_each(|_| f()));
            Ok(Cost::of(time / calls))
        };
        table
            .pair(
                (name, ""),
                Reach::Times(most),
                reps,
                || each(ours),
                || each(theirs),
            )
            .unwrap();
    };
    row(
        "check-lines, 64 KiB / native",
        2.5,
        100,
        &|| {
            assert!(
                policy.check_lines(bytes, &from, limits).unwrap().lines[0]
                    .problems
                    .is_empty()
            );
        },
        &|| {
            assert!(
                native::check_lines(bytes, &own_from, &own_limits).lines[0]
                    .problems
                    .is_empty()
            );
        },
    );
    row(
        "encode-attestation-path / native",
        3.0,
        2000,
        &|| {
            policy.encode_path(&rec).unwrap();
        },
        &|| {
            native::encode_attestation_path(&ours).unwrap();
        },
    );
    row(
        "validate / native",
        3.0,
        2000,
        &|| policy.validate(&rec, limits).unwrap(),
        &|| {
            native::validate(&ours, &own_limits).unwrap();
        },
    );
    row(
        "encode-line / native",
        3.0,
        2000,
        &|| {
            policy.encode_line(&rec, "").unwrap();
        },
        &|| {
            native::encode_line(&ours, "").unwrap();
        },
    );
}

fn record() -> Attestation {
    Attestation {
        attestation_id: "att-A-checkout-C1-v1".to_owned(),
        kind: "depth-type".to_owned(),
        arrow_id: "A-checkout".to_owned(),
        clause_id: "C1".to_owned(),
        op_id: "alice@example.com".to_owned(),
        attested_by_role: "operator".to_owned(),
        source_role: "analyst".to_owned(),
        target_role: "architect".to_owned(),
        adversary_role: "skeptic".to_owned(),
        verdict: "fail".to_owned(),
        reason: "via:command".to_owned(),
        timestamp: "2026-03-04T10:11:12.123456789Z".to_owned(),
        grid_version: 1,
        pass_id: "019b76da-a801-7838-a582-2a6f9e62da21".to_owned(),
        context: "checkout".to_owned(),
        stratum: "behaviour".to_owned(),
        unit: "record-locations-inspected".to_owned(),
        unit_payload_json: r#"{"inspected":["features/payment.feature:42-50"]}"#.to_owned(),
        hint_json: r#"{"arrow_id":"A-checkout","clause_id":"C1"}"#.to_owned(),
    }
}

fn to_native(rec: &Attestation) -> native::Attestation {
    let rec = rec.clone();
    native::Attestation {
        attestation_id: rec.attestation_id,
        kind: rec.kind,
        arrow_id: rec.arrow_id,
        clause_id: rec.clause_id,
        op_id: rec.op_id,
        attested_by_role: rec.attested_by_role,
        source_role: rec.source_role,
        target_role: rec.target_role,
        adversary_role: rec.adversary_role,
        verdict: rec.verdict,
        reason: rec.reason,
        timestamp: rec.timestamp,
        grid_version: rec.grid_version,
        pass_id: rec.pass_id,
        context: rec.context,
        stratum: rec.stratum,
        unit: rec.unit,
        unit_payload_json: rec.unit_payload_json,
        hint_json: rec.hint_json,
    }
}
