//! The engine database after a crash, in another mode, and in other hands.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ghyll::db::Db;
use rusqlite::Connection;

fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.clone(), fs::read(path).unwrap())
        })
        .collect()
}

fn copy(from: &Path, to: &Path, names: &[&str]) {
    for name in names {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

fn notes(db: &Db) -> Option<String> {
    db.read(|tx| tx.note("n")).unwrap()
}

#[test]
fn a_journal_left_by_a_crash_is_read_past_without_touching_anything() {
    let (live, crashed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = live.path().join("engine.db");
    let db = Db::open(&path).unwrap();
    db.transaction(|tx| tx.set_note("n", "before")).unwrap();
    drop(db);
    // A transaction too large for the cache is half in the file when the
    // process dies.
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE notes SET value = 'after'")
        .unwrap();
    for n in 0..2000 {
        let key = format!("key {n}");
        conn.execute(
            "INSERT INTO notes VALUES (?1, ?2)",
            [&key, &"x".repeat(500)],
        )
        .unwrap();
    }
    copy(
        live.path(),
        crashed.path(),
        &["engine.db", "engine.db-journal"],
    );
    drop(conn);

    let path = crashed.path().join("engine.db");
    let before = files(crashed.path());
    let db = Db::open_read_only(&path).unwrap().unwrap();
    assert_eq!(notes(&db).as_deref(), Some("before"));
    drop(db);
    assert_eq!(files(crashed.path()), before);
    // A session puts it right.
    let db = Db::open(&path).unwrap();
    assert_eq!(notes(&db).as_deref(), Some("before"));
    drop(db);
    assert_eq!(files(crashed.path()).len(), 1);
}

#[test]
fn a_log_left_by_another_program_is_read_and_done_away_with() {
    let (live, crashed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = live.path().join("engine.db");
    drop(Db::open(&path).unwrap());
    let conn = Connection::open(&path).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    conn.execute("INSERT INTO notes VALUES ('n', 'in the log')", [])
        .unwrap();
    copy(live.path(), crashed.path(), &["engine.db", "engine.db-wal"]);
    drop(conn);

    let path = crashed.path().join("engine.db");
    let before = files(crashed.path());
    let db = Db::open_read_only(&path).unwrap().unwrap();
    assert_eq!(notes(&db).as_deref(), Some("in the log"));
    drop(db);
    assert_eq!(files(crashed.path()), before);
    let db = Db::open(&path).unwrap();
    assert_eq!(notes(&db).as_deref(), Some("in the log"));
    drop(db);
    assert_eq!(files(crashed.path()).len(), 1, "no log is left");
}

#[test]
fn a_database_in_other_hands_is_waited_for_and_then_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("engine.db");
    drop(Db::open(&path).unwrap());
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let error = Db::open(&path).err().unwrap();
    assert_eq!(error.code(), "engine-db-locked");
    assert!(error.to_string().contains("another program"), "{error}");
    conn.execute_batch("COMMIT").unwrap();
    Db::open(&path).unwrap();
}

#[test]
fn an_empty_file_is_no_database_yet() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("engine.db");
    fs::write(&path, "").unwrap();
    assert!(Db::open_read_only(&path).unwrap().is_none());
    assert_eq!(fs::read(&path).unwrap(), b"");
    assert_eq!(notes(&Db::open(&path).unwrap()), None);
}
