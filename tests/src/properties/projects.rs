//! Projects: grids of any text, trees of any files, databases of any rows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ghyll::audit::load::LimitsOf;
use ghyll::audit::rebuild::rebuild;
use ghyll::clock::SystemClock;
use ghyll::codes;
use ghyll::db::{DbError, Filter};
use ghyll::grid::{Grid, GridLimits, diff};
use ghyll::project::Project;
use ghyll::view::View;
use ghyll::work::proved;
use ghyll::work::standing;
use rusqlite::types::Value;
use tempfile::TempDir;

use super::{Pieces, policy};
use crate::survive::damage::project_of;
use crate::survive::fixture;
use crate::survive::recover::good;

fn assert_coded(code: &str, words: &str) {
    assert!(codes::page(code).is_some(), "{code} has no page: {words}");
}

/// A grid that is taken says what it says under any number, has ids that can be
/// told apart, and is not different from itself.
pub fn grid(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let file = Path::new("grid.yaml");
    let grid = match Grid::judge(&text, file) {
        Ok(grid) => grid,
        Err(error) => {
            assert_coded(error.code(), &error.to_string());
            return;
        }
    };
    assert!(!grid.arrows.is_empty());
    assert_eq!(Grid::judge(&text, file).unwrap(), grid, "the same again");
    let later = Grid::numbered(&text, 4711, file).unwrap();
    let later = Grid::judge(&later, file).unwrap();
    assert!(diff(&grid, &later).is_empty(), "{text}");
    let policy = policy();
    let mut arrows = BTreeSet::new();
    for arrow in &grid.arrows {
        let mut ids = vec![&arrow.id, &arrow.source_role, &arrow.target_role];
        ids.extend([&arrow.context, &arrow.stratum]);
        ids.extend(&arrow.adversary_role);
        ids.extend(arrow.clauses.iter().map(|clause| &clause.id));
        for id in ids {
            policy.check_grid_id(id).unwrap();
        }
        assert!(arrows.insert(policy.skeleton(&arrow.id).unwrap()), "{text}");
        let key = |role: &str| policy.role_key(role).unwrap();
        let (source, target) = (key(&arrow.source_role), key(&arrow.target_role));
        assert_ne!(source, target, "{text}");
        assert_ne!(source, "operator", "{text}");
        let mut clauses = BTreeSet::new();
        for clause in &arrow.clauses {
            let look = policy.skeleton(&clause.id).unwrap();
            assert!(clauses.insert(look), "{text}");
        }
    }
}

/// A project of eight verdicts in which nothing waits, made once.
fn sample() -> &'static TempDir {
    static SAMPLE: OnceLock<TempDir> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let dir = fixture::scratch();
        project_of(dir.path(), policy(), 8);
        let session = fixture::open(dir.path(), policy()).unwrap();
        for pass in session.read(|reader| reader.open_passes()).unwrap() {
            session.abort_pass(&pass.pass_id, "done").unwrap();
        }
        dir
    })
}

fn open(dir: &Path) -> Result<View, String> {
    let project = Project::open(dir).map_err(|e| e.code().to_owned())?;
    View::open(project, Arc::clone(policy())).map_err(|e| {
        assert_coded(e.code(), &e.to_string());
        e.code().to_owned()
    })
}

/// The chains of all records that a view shows.
fn shown(view: &View) -> Result<BTreeSet<String>, DbError> {
    let mut chains = BTreeSet::new();
    view.each_record(&Filter::default(), |row| {
        chains.insert(row.chain);
        Ok::<_, DbError>(())
    })?;
    Ok(chains)
}

fn statuses(view: &View) -> Vec<String> {
    let mut lines = Vec::new();
    for (arrow, stands) in view.arrows().unwrap() {
        for clause in &stands.clauses {
            let newest = clause.newest.as_ref().map(|row| row.chain.clone());
            let status = (clause.status, clause.round, clause.deeper, newest);
            lines.push(format!("{}/{}: {status:?}", arrow.id, clause.id));
        }
    }
    lines
}

fn make_anew(dir: &Path, accept: Option<&str>) -> Result<(), String> {
    let project = Project::open(dir).unwrap();
    let grids = GridLimits::new(project.ghyll()).unwrap();
    let limits: &LimitsOf<'_> = &|version| grids.for_reading(version);
    let fold = &standing::fold_all;
    let done = rebuild(&project, policy(), limits, &SystemClock, accept, fold);
    done.map(drop).map_err(|e| {
        assert_coded(e.code(), &e.to_string());
        e.code().to_owned()
    })
}

/// Whatever files stand below `.ghyll`: reading, verification and the rebuilding
/// of the index end with an answer or a code, and every record that verifies by
/// the component is shown, or is once the losses are accepted.
pub fn tree(data: &[u8]) {
    let scratch = fixture::scratch();
    let dir = scratch.path();
    fixture::copy(sample().path(), dir);
    let mut pieces = Pieces::new(data);
    for _ in 0..8 {
        let Some(what) = pieces.text() else { break };
        harm(dir, &what, &mut pieces);
    }
    let before = good(dir, policy());
    let project = Project::open(dir).unwrap();
    match proved::verify(&project, policy(), None, &mut |_, _| {}) {
        Ok(report) => {
            for issue in &report.issues {
                assert_coded(&issue.code, &issue.message);
            }
        }
        Err(e) => assert_coded(e.code(), &e.to_string()),
    }
    if let Ok(view) = open(dir) {
        let lost = view.damage().iter().any(|d| {
            assert_coded(d.code(), &d.to_string());
            // What cannot be opened at all may hold any of them.
            matches!(
                d.code(),
                "attestation-audit-unreadable" | "attestation-symlink-refused"
            )
        });
        let shown = shown(&view).unwrap();
        assert!(lost || before.is_subset(&shown), "{:?}", view.damage());
        statuses(&view);
    }
    match make_anew(dir, Some("carol")) {
        Ok(()) => {
            drop(fixture::open(dir, policy()).unwrap());
            let view = open(dir).unwrap();
            assert!(view.damage().is_empty(), "{:?}", view.damage());
            assert!(before.is_subset(&shown(&view).unwrap()));
            let report = fixture::look(dir, policy());
            // An accepted loss that is none is nobody's to take away but git's;
            // and a line that stands there twice is one record, no loss.
            let rest = report.tree_issues().find(|issue| {
                issue.path != "accepted-losses.jsonl"
                    && !issue.message.contains("stands in the file already")
            });
            assert!(rest.is_none(), "{:?}", report.issues);
        }
        // No command makes a directory a file, a grid good or a merge whole.
        Err(code) => {
            let by_hand = code.starts_with("grid-")
                || code.starts_with("project-")
                || code.starts_with("engine-db-")
                || [
                    "attestation-audit-unreadable",
                    "attestation-symlink-refused",
                    "attestation-audit-corrupt",
                    "session-locked",
                ]
                .contains(&code.as_str());
            assert!(by_hand, "{code}");
        }
    }
}

/// One change to the files below `.ghyll`, as the words say.
fn harm(dir: &Path, what: &str, pieces: &mut Pieces<'_>) {
    let root = dir.join(".ghyll");
    let files: Vec<PathBuf> = fixture::files(&root).into_keys().collect();
    let any = |pieces: &mut Pieces<'_>| files.get(pieces.below(files.len().max(1))).cloned();
    match what {
        "new" => {
            let Some(name) = pieces.text() else { return };
            let below = Path::new(&name);
            let plain = |c: Component<'_>| matches!(c, Component::Normal(_));
            if name.is_empty() || name.contains('\0') || !below.components().all(plain) {
                return;
            }
            let path = root.join(below);
            let _ = path.parent().map(fs::create_dir_all);
            let _ = fs::write(path, pieces.bytes().unwrap_or_default());
        }
        "cut" => {
            let Some(path) = any(pieces) else { return };
            let bytes = fs::read(&path).unwrap();
            let at = pieces.below(bytes.len() + 1);
            fs::write(path, &bytes[..at]).unwrap();
        }
        "flip" => {
            let Some(path) = any(pieces) else { return };
            let mut bytes = fs::read(&path).unwrap();
            let at = pieces.below(bytes.len().max(1));
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << pieces.below(8);
            }
            fs::write(path, bytes).unwrap();
        }
        "put" => {
            let Some(path) = any(pieces) else { return };
            let mut bytes = fs::read(&path).unwrap();
            let at = pieces.below(bytes.len() + 1);
            let put = pieces.bytes().unwrap_or_default().to_vec();
            bytes.splice(at..at, put);
            fs::write(path, bytes).unwrap();
        }
        "twice" => {
            let Some(path) = any(pieces) else { return };
            let bytes = fs::read(&path).unwrap();
            fs::write(path, [bytes.as_slice(), &bytes].concat()).unwrap();
        }
        "move" => {
            let (Some(from), Some(to)) = (any(pieces), any(pieces)) else {
                return;
            };
            let _ = fs::rename(from, to);
        }
        "gone" => {
            let Some(path) = any(pieces) else { return };
            fs::remove_file(path).unwrap();
        }
        "dir" => {
            let Some(path) = any(pieces) else { return };
            fs::remove_file(&path).unwrap();
            fs::create_dir(path).unwrap();
        }
        _ => {}
    }
}

/// The tables that are derived from the tree, with their columns.
const DERIVED: [(&str, &[&str]); 5] = [
    (
        "file_heads",
        &["path", "bytes", "lines", "chain", "last_offset", "mtime_ns"],
    ),
    (
        "attestations",
        &[
            "attestation_id",
            "arrow_id",
            "clause_id",
            "op_id",
            "verdict",
            "reason",
            "timestamp",
            "grid_version",
            "pass_id",
            "unit",
            "unit_payload_json",
            "hint_json",
            "chain",
            "attestation_ref",
            "round",
            "listed_at",
            "file_id",
            "line",
            "offset",
            "length",
        ],
    ),
    (
        "standings",
        &[
            "attestation_ref",
            "round",
            "verdict",
            "pass_id",
            "listed_at",
            "basis_streak",
            "routed_upstream",
            "open_findings",
            "concurrent",
        ],
    ),
    (
        "findings",
        &[
            "attestation_ref",
            "arrow_id",
            "clause_id",
            "grid_version",
            "status",
            "severity",
            "detail",
            "raised_by",
        ],
    ),
    ("notes", &["key", "value"]),
];

/// Whatever rows the index has: what is then said of the project is what the
/// tree says, or verification says that the index does not; and made anew it
/// says what is said without any database.
pub fn database(data: &[u8]) {
    let scratch = fixture::scratch();
    let dir = scratch.path();
    fixture::copy(sample().path(), dir);
    let db = dir.join(".ghyll/engine.db");
    change_rows(&db, data);

    let bare = fixture::scratch();
    fixture::copy(dir, bare.path());
    fs::remove_file(bare.path().join(".ghyll/engine.db")).unwrap();
    let bare = open(bare.path()).unwrap();
    let truth = statuses(&bare);
    let all = shown(&bare).unwrap();

    let report = fixture::look(dir, policy());
    let tree_issue = report.tree_issues().next();
    if let Ok(view) = open(dir) {
        let said = view
            .read(|_| Ok::<_, DbError>(()))
            .map(|()| statuses(&view));
        if said.as_ref().ok() != Some(&truth) {
            assert!(!report.ok, "{said:?} is not {truth:?}, and verifies");
        }
    }
    match make_anew(dir, None) {
        Ok(()) => {}
        // The index proves what it says of a file that is not so: of a tree
        // that is whole it cannot.
        Err(code) => panic!("{code}: {tree_issue:?}"),
    }
    let view = open(dir).unwrap();
    assert!(view.db_fault().is_none(), "{:?}", view.db_fault());
    assert_eq!(statuses(&view), truth);
    assert_eq!(shown(&view).unwrap(), all);
    let report = fixture::look(dir, policy());
    assert!(report.ok, "{:#?}", report.issues);
    drop(fixture::open(dir, policy()).unwrap());
}

fn change_rows(db: &Path, data: &[u8]) {
    let conn = rusqlite::Connection::open(db).unwrap();
    let mut pieces = Pieces::new(data);
    for _ in 0..8 {
        let Some(what) = pieces.text() else { break };
        let (table, columns) = DERIVED[pieces.below(DERIVED.len())];
        let key = if table == "standings" {
            "attestation_ref"
        } else {
            "rowid"
        };
        let key = if table == "notes" { "key" } else { key };
        let of = format!(
            "{key} = (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {})",
            pieces.below(8)
        );
        // The tables take what they take: anything else is no row of theirs.
        let _ = match what.as_str() {
            "delete" => conn.execute(&format!("DELETE FROM {table} WHERE {of}"), []),
            "clear" => conn.execute(&format!("DELETE FROM {table}"), []),
            "copy" => {
                let list = columns.join(", ");
                conn.execute(
                    &format!("INSERT INTO {table} ({list}) SELECT {list} FROM {table} WHERE {of}"),
                    [],
                )
            }
            _ => {
                let column = columns[pieces.below(columns.len())];
                let text = pieces.text().unwrap_or_default();
                let value = match (what.as_str(), text.parse()) {
                    ("blob", _) => Value::Blob(text.into_bytes()),
                    (_, Ok(number)) => Value::Integer(number),
                    _ => Value::Text(text),
                };
                let sql = format!("UPDATE OR IGNORE {table} SET {column} = ?1 WHERE {of}");
                conn.execute(&sql, [value])
            }
        };
    }
}
