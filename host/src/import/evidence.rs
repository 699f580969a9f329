//! What the old project has on record and its grid leaves out.
//!
//! The old grid names no stratum and no adversary, but each record and the
//! database do. Where they all say the same, that is no guess.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use cap_std::fs::Dir;
use rusqlite::{Connection, OpenFlags};

use super::Left;
use crate::db::ENGINE_DB;
use crate::files::bounded::read_below;
use crate::files::disk::CapDisk;
use crate::files::private_tempdir;
use crate::policy::Attestation;

/// The newest database of that design.
const NEWEST_DB: i64 = 5;
/// A database that is larger is not looked into.
const DB_MAX_BYTES: u64 = 1 << 30;
/// Ids that are listed one by one; more are only counted.
const IDS_TOLD: usize = 100;

/// What is known of arrows, by id.
#[derive(Default)]
pub(super) struct Evidence {
    /// By the version a record names.
    strata: BTreeMap<(String, u64), BTreeSet<String>>,
    adversaries: BTreeMap<(String, u64), BTreeSet<String>>,
    /// The database numbered its versions in a way of its own.
    any_version: BTreeMap<String, BTreeSet<String>>,
}

impl Evidence {
    /// Takes in what a good record says of its arrow.
    pub(super) fn record(&mut self, rec: &Attestation) {
        // The first attestations stand outside contexts and strata.
        if rec.attested_by_role.trim().eq_ignore_ascii_case("init") || rec.source_role.is_empty() {
            return;
        }
        let key = (rec.arrow_id.clone(), rec.grid_version);
        if !rec.stratum.is_empty() {
            let strata = self.strata.entry(key.clone()).or_default();
            strata.insert(rec.stratum.clone());
        }
        let adversaries = self.adversaries.entry(key).or_default();
        adversaries.insert(rec.adversary_role.clone());
    }

    /// Every stratum on record for an arrow.
    pub(super) fn strata(&self, arrow: &str, version: u64) -> Vec<&str> {
        let records = self.strata.get(&(arrow.to_owned(), version));
        let database = self.any_version.get(arrow);
        let all = records.into_iter().chain(database).flatten();
        let all: BTreeSet<&str> = all.map(String::as_str).collect();
        all.into_iter().collect()
    }

    /// Every adversary role on record for an arrow; a blank one is none.
    pub(super) fn adversaries(&self, arrow: &str, version: u64) -> Vec<&str> {
        let found = self.adversaries.get(&(arrow.to_owned(), version));
        found.into_iter().flatten().map(String::as_str).collect()
    }
}

/// Takes in what `engine.db` says, and lists what it alone holds. It is only
/// ever a copy that is opened: SQLite writes beside what it reads.
pub(super) fn from_database(
    ghyll: &Dir,
    ids: &HashSet<String>,
    known: &mut Evidence,
    left: &mut Vec<Left>,
) {
    let mut tell = |what: &str, code: &str, message: String| {
        left.push(Left {
            path: ENGINE_DB.to_owned(),
            line: 0,
            what: what.to_owned(),
            code: code.to_owned(),
            message,
        });
    };
    let (connection, _copy) = match copy(ghyll) {
        Ok(Some(opened)) => opened,
        Ok(None) => return,
        Err(why) => return tell("the database", "import-unreadable", why),
    };
    match version(&connection) {
        Ok(version) if version > NEWEST_DB => {
            let message = format!("version {version}; up to {NEWEST_DB} is known");
            return tell("the database", "import-database-newer", message);
        }
        Ok(_) => {}
        Err(error) => return tell("the database", "import-unreadable", error.to_string()),
    }
    // A table that an older version has not got is no fault.
    let arrows = "SELECT id, stratum FROM grid_arrows WHERE stratum <> ''";
    for (id, stratum) in pairs(&connection, arrows).unwrap_or_default() {
        known.any_version.entry(id).or_default().insert(stratum);
    }
    let rows = "SELECT attestation_id, op_id FROM attestations ORDER BY attestation_id";
    let rows = pairs(&connection, rows).unwrap_or_default();
    let alone: Vec<&(String, String)> = rows.iter().filter(|(id, _)| !ids.contains(id)).collect();
    for (id, op_id) in alone.iter().take(IDS_TOLD) {
        let message = format!("by {op_id}: stands in the database alone, and has no line");
        tell(id, "import-record-without-line", message);
    }
    if alone.len() > IDS_TOLD {
        let more = alone.len() - IDS_TOLD;
        let message = format!("{more} more stand in the database alone");
        tell("attestations", "import-record-without-line", message);
    }
    for table in [
        "findings",
        "finding_transitions",
        "requirements",
        "classifications",
        "classification_overwrites",
        "amendments",
        "passes",
        "evaluation_runs",
    ] {
        let count: Result<i64, _> =
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
                row.get(0)
            });
        if let Ok(count) = count
            && count > 0
        {
            let message = format!("{count} rows: a session's own state, which is not taken over");
            tell(table, "import-no-counterpart", message);
        }
    }
}

type Opened = (Connection, tempfile::TempDir);

fn copy(ghyll: &Dir) -> Result<Option<Opened>, String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let disk = CapDisk::new(ghyll).map_err(|e| told(&e))?;
    let read = |name: &str| read_below(&disk, name, DB_MAX_BYTES).map_err(|e| told(&e));
    let Some(bytes) = read(ENGINE_DB)? else {
        return Ok(None);
    };
    let temp = private_tempdir("ghyll-import-").map_err(|e| told(&e))?;
    let path = temp.path().join(ENGINE_DB);
    std::fs::write(&path, bytes).map_err(|e| told(&e))?;
    // What was not yet moved into the database itself.
    let log = format!("{ENGINE_DB}-wal");
    if let Some(bytes) = read(&log)? {
        std::fs::write(temp.path().join(log), bytes).map_err(|e| told(&e))?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|e| told(&e))?;
    Ok(Some((connection, temp)))
}

/// Its version, in whichever of the two ways that design had it says more.
fn version(connection: &Connection) -> rusqlite::Result<i64> {
    let pragma: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let sql = "SELECT CAST(value AS INTEGER) FROM engine_meta WHERE key = 'schema_version'";
    let table: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap_or(0);
    Ok(pragma.max(table))
}

fn pairs(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}
