//! Temporary tables in front of a database that is only read.
//!
//! For every table there is a view of the same name in the `temp` schema,
//! which SQLite looks into first: the database's rows but for those `gone`,
//! and the `new` ones. Triggers send what is written to the view into these
//! two. So whatever a session's start would write can be worked out in front
//! of the database and asked for by the very statements a session uses, while
//! the file stays as it is.

use rusqlite::Connection;

/// The tables, and what tells a row of each from the others.
const TABLES: [(&str, &str); 9] = [
    ("file_heads", "file_id"),
    ("attestations", "rowid"),
    ("standings", "attestation_ref"),
    ("findings", "finding_id"),
    ("passes", "pass_id"),
    ("requests", "request_id"),
    ("evaluation_runs", "run_id"),
    ("digests", "path"),
    ("notes", "key"),
];

/// Lays the views over the database, if they are not there yet.
pub(super) fn lay(conn: &Connection) -> rusqlite::Result<()> {
    let there: bool = conn.query_row(
        "SELECT EXISTS (SELECT 1 FROM temp.sqlite_schema WHERE type = 'view' AND name = 'notes')",
        [],
        |row| row.get(0),
    )?;
    if there {
        return Ok(());
    }
    for (table, key) in TABLES {
        conn.execute_batch(&shadow(conn, table, key)?)?;
    }
    Ok(())
}

/// Lifts them again.
pub(super) fn lift(conn: &Connection) -> rusqlite::Result<()> {
    for (table, _) in TABLES {
        conn.execute_batch(&format!(
            "DROP VIEW IF EXISTS temp.{table};
             DROP TABLE IF EXISTS temp.new_{table};
             DROP TABLE IF EXISTS temp.gone_{table};"
        ))?;
    }
    Ok(())
}

fn shadow(conn: &Connection, table: &str, key: &str) -> rusqlite::Result<String> {
    let columns: Vec<String> = conn
        .prepare(&format!("PRAGMA main.table_info({table})"))?
        .query_map([], |row| row.get(1))?
        .collect::<Result<_, _>>()?;
    let list = columns.join(", ");
    let new: Vec<String> = columns.iter().map(|c| format!("new.{c}")).collect();
    let new = new.join(", ");
    // A table without a key of its own is known by its rowid: the database's
    // own are positive, the new ones negative.
    let keyless = key == "rowid";
    let shown = if keyless {
        format!("rowid AS row_key, {list}")
    } else {
        list.clone()
    };
    let shown_new = if keyless {
        format!("-rowid AS row_key, {list}")
    } else {
        list.clone()
    };
    let old_key = if keyless {
        "old.row_key"
    } else {
        &format!("old.{key}")
    };
    let forget = if keyless {
        "DELETE FROM new_attestations WHERE rowid = -old.row_key;".to_owned()
    } else {
        format!("DELETE FROM new_{table} WHERE {key} = {old_key};")
    };
    let indexes: String = conn
        .prepare("SELECT sql FROM main.sqlite_schema WHERE type = 'index' AND tbl_name = ?1 AND sql IS NOT NULL")?
        .query_map([table], |row| row.get::<_, String>(0))?
        .map(|sql| {
            sql.map(|sql| {
                // `CREATE INDEX name ON table (…)`: the same over the new rows.
                let columns = sql.split_once('(').map_or("", |(_, rest)| rest);
                let name = sql.split_whitespace().skip_while(|w| *w != "INDEX").nth(1).unwrap_or("i");
                format!("CREATE INDEX temp.new_{name} ON new_{table} ({columns};\n")
            })
        })
        .collect::<Result<_, _>>()?;
    let primary = if keyless {
        String::new()
    } else {
        format!("CREATE INDEX temp.new_{table}_key ON new_{table} ({key});")
    };
    Ok(format!(
        "CREATE TABLE temp.new_{table} AS SELECT * FROM main.{table} WHERE 0;
         {primary}
         {indexes}
         CREATE TABLE temp.gone_{table} (row_key PRIMARY KEY) WITHOUT ROWID;
         CREATE VIEW temp.{table} AS
           SELECT {shown} FROM main.{table} WHERE {key} NOT IN (SELECT row_key FROM temp.gone_{table})
           UNION ALL SELECT {shown_new} FROM temp.new_{table};
         CREATE TRIGGER temp.insert_{table} INSTEAD OF INSERT ON temp.{table} BEGIN
           INSERT INTO new_{table} ({list}) VALUES ({new});
         END;
         CREATE TRIGGER temp.delete_{table} INSTEAD OF DELETE ON temp.{table} BEGIN
           {forget}
           INSERT OR IGNORE INTO gone_{table} VALUES ({old_key});
         END;
         CREATE TRIGGER temp.update_{table} INSTEAD OF UPDATE ON temp.{table} BEGIN
           {forget}
           INSERT OR IGNORE INTO gone_{table} VALUES ({old_key});
           INSERT INTO new_{table} ({list}) VALUES ({new});
         END;"
    ))
}
