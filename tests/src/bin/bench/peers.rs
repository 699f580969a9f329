//! The straight-line program beside `engine rebuild-index`: every line parsed,
//! every column inserted, the same indexes made behind it; nothing judged.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use rusqlite::{Connection, params};
use serde_json::Value;

/// The table and its indexes, as the engine has them.
pub const SCHEMA: &str = "CREATE TABLE attestations (
    attestation_id TEXT NOT NULL, kind TEXT NOT NULL, arrow_id TEXT NOT NULL,
    clause_id TEXT NOT NULL, op_id TEXT NOT NULL, attested_by_role TEXT NOT NULL,
    source_role TEXT NOT NULL, target_role TEXT NOT NULL, adversary_role TEXT NOT NULL,
    verdict TEXT NOT NULL, reason TEXT NOT NULL, timestamp TEXT NOT NULL,
    grid_version INTEGER NOT NULL, pass_id TEXT NOT NULL, context TEXT NOT NULL,
    stratum TEXT NOT NULL, unit TEXT NOT NULL, unit_payload_json TEXT NOT NULL,
    hint_json TEXT NOT NULL, chain TEXT NOT NULL, attestation_ref TEXT NOT NULL,
    round INTEGER NOT NULL, listed_at TEXT NOT NULL, file_id INTEGER NOT NULL,
    line INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL);";
/// Made when all rows are there.
pub const INDEXES: &str = "
    CREATE INDEX by_ref ON attestations (attestation_ref, round);
    CREATE INDEX by_time ON attestations (listed_at, attestation_ref, round);
    CREATE INDEX by_arrow ON attestations (arrow_id, listed_at);
    CREATE INDEX by_file ON attestations (file_id, line);";

/// The names of a line's members, in the order of the columns.
const MEMBERS: [&str; 20] = [
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
    "grid_version",
    "pass_id",
    "context",
    "stratum",
    "unit",
    "unit_payload_json",
    "hint_json",
    "chain",
];

/// `peer-index TREE DB`.
pub fn index(args: &[String]) -> ExitCode {
    let [tree, db] = args else {
        return ExitCode::from(2);
    };
    match index_tree(Path::new(tree), Path::new(db)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

type Done<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn index_tree(tree: &Path, db: &Path) -> Done {
    let _ = fs::remove_file(db);
    let mut conn = Connection::open(db)?;
    conn.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;",
    )?;
    conn.execute_batch(SCHEMA)?;
    let tx = conn.transaction()?;
    let mut file_id = 0;
    descend(&tx, tree, &mut file_id)?;
    tx.execute_batch(INDEXES)?;
    tx.commit()?;
    Ok(())
}

fn descend(conn: &Connection, dir: &Path, file_id: &mut i64) -> Done {
    let mut entries = fs::read_dir(dir)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_type()?.is_dir() {
            descend(conn, &entry.path(), file_id)?;
            continue;
        }
        *file_id += 1;
        let bytes = fs::read(entry.path())?;
        let mut offset = 0;
        for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            insert(conn, line, *file_id, number as i64 + 1, offset)?;
            offset += line.len() as i64;
        }
    }
    Ok(())
}

/// One line, parsed and inserted.
pub fn insert(conn: &Connection, line: &[u8], file_id: i64, number: i64, offset: i64) -> Done {
    let value: Value = serde_json::from_slice(line)?;
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let id = text("attestation_id");
    let (answered, round) = match id.rsplit_once(".r") {
        Some((answered, round)) => (answered, round.parse().unwrap_or(1)),
        None => (id, 1_i64),
    };
    let version = value.get("grid_version").and_then(Value::as_i64);
    let mut statement = conn.prepare_cached(
        "INSERT INTO attestations VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, \
         ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?12, ?23, ?24, ?25, ?26)",
    )?;
    let [a, b, c, d, e, f, g, h, i, j, k, l, _, n, o, p, q, r, s, t] = MEMBERS.map(text);
    statement.execute(params![
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
        j,
        k,
        l,
        version,
        n,
        o,
        p,
        q,
        r,
        s,
        t,
        answered,
        round,
        file_id,
        number,
        offset,
        line.len() as i64,
    ])?;
    Ok(())
}
