use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;

/// An invented project as that design wrote them: an arrow it began with, one
/// with both kinds of clauses, one that has no record.
const GRID: &str = r#"
grid-version: 1
created-at: "2026-05-20T08:00:00Z"
created-by-op-id: kim@example.com
bounded-contexts:
    - id: ferry
      description: crossings
language-bindings:
    compiles.go: go build ./...
depth-ladder:
    - tier: 0
      label: NONE
severity-threshold: medium
insufficient-basis-rounds-max: 2
remediation-rounds-max: 5
residue-note-max-bytes: 4096
modal-pending-max-len: 0
arrows:
    - clauses:
        - {cost: 1, depth: depth-robust, description: Words are defined once, eval: attested, id: G1, source: role-default}
      context: ferry
      downstream: planner
      upstream: init
    - clauses:
        - {cost: 1, depth: depth-sensitive, description: 'Every crossing: has an end', eval: attested, id: G1, source: role-default}
        - args: {language: go}
          concept: compiles
          cost: 2
          depth: depth-robust
          description: It compiles
          eval: machine
          id: G2
          source: role-default
      context: ferry
      downstream: builder
      upstream: planner
    - clauses:
        - {depth: depth-robust, description: It floats, eval: attested, id: G1}
      context: ferry
      downstream: pilot
      upstream: builder
residue:
    - {arrow: planner→builder/ferry, clause-id: G3, reason: no harbour yet}
"#;

const ARROW: &str = "planner→builder/ferry";

/// A line as that design wrote it: absent fields left out, no chain.
fn line(id: &str, verdict: &str, extra: &str) -> String {
    format!(
        r#"{{"attestation_id":"{id}","kind":"depth-type","arrow_id":"{ARROW}","clause_id":"G1","op_id":"kim@example.com","attested_by_role":"operator","source_role":"planner","target_role":"builder","verdict":"{verdict}","timestamp":1747728000000000001,"grid_version":1,"pass_id":"p-1","context":"ferry","stratum":"plans"{extra}}}"#
    ) + "\n"
}

const PASSED: &str = r#","unit":"confirm","unit_payload_json":"{}","hint_json":"{}""#;
const FAILED: &str = r#","unit":"confirm","unit_payload_json":"{}""#;

struct Old(TempDir);

impl Old {
    fn new(grid: &str) -> Self {
        let old = Self(tempfile::tempdir().unwrap());
        old.write("grid.v1.yaml", grid);
        old.write("grid.current", "v1\n");
        old
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(".ghyll").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Everything in it, by name.
    fn content(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn walk(dir: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, all);
                } else {
                    let bytes = fs::read(&path).unwrap();
                    all.insert(path, bytes);
                }
            }
        }
        let mut all = BTreeMap::new();
        walk(self.0.path(), &mut all);
        all
    }

    fn plan(&self) -> Plan {
        Plan::make(self.0.path(), &Policy::load().unwrap(), None).unwrap()
    }
}

fn codes(all: &[Left]) -> Vec<(&str, &str)> {
    let all = all.iter();
    all.map(|left| (left.what.as_str(), left.code.as_str()))
        .collect()
}

const IN_TREE: &str = "attestations/v1/ferry/stratum-plans/planner__builder/p-1.jsonl";

fn with_records() -> Old {
    let old = Old::new(GRID);
    let first = line("att-1", "pass", PASSED);
    old.write(IN_TREE, &first);
    // The flat file repeats it, and has what the tree has not.
    let legacy = line("att-0", "pass", "").replace(r#""pass_id":"p-1","#, "");
    let bad = line("att-2", "fail", FAILED);
    old.write(
        "attestations.jsonl",
        &format!("# ours\n{legacy}{first}\n{bad}"),
    );
    old
}

#[test]
fn what_maps_is_written_and_the_rest_is_for_its_author() {
    let old = with_records();
    let before = old.content();
    let plan = old.plan();
    assert!(plan.is_decided());
    let grid = Grid::parse(&plan.draft, 1, Path::new("g")).unwrap();
    let [arrow] = grid.arrows.as_slice() else {
        panic!("{}", plan.draft);
    };
    assert_eq!(arrow.id, ARROW);
    assert_eq!(
        (arrow.source_role.as_str(), arrow.target_role.as_str()),
        ("planner", "builder")
    );
    // From its records, which all say so.
    assert_eq!(
        (arrow.stratum.as_str(), arrow.context.as_str()),
        ("plans", "ferry")
    );
    assert_eq!(arrow.adversary_role, None);
    let [clause] = arrow.clauses.as_slice() else {
        panic!("{}", plan.draft);
    };
    assert_eq!(
        (clause.id.as_str(), clause.concept.as_str()),
        ("G1", "Every crossing: has an end")
    );
    assert_eq!(clause.depth.as_deref(), Some("depth-sensitive"));
    assert_eq!(grid.settings.insufficient_basis_rounds_max, 2);
    assert_eq!(grid.settings.residue_note_max_bytes, 4096);
    assert_eq!(grid.settings.modal_pending_max_len, 64, "0 was the default");

    let undecided = codes(&plan.undecided);
    for expected in [
        ("severity-threshold", "import-no-counterpart"),
        ("language-bindings", "import-no-counterpart"),
        ("init→planner/ferry", "import-undecided"),
        ("planner→builder/ferry/G2", "import-undecided"),
        ("planner→builder/ferry/G3", "import-no-counterpart"),
        ("builder→pilot/ferry", "import-undecided"),
    ] {
        assert!(
            undecided.contains(&expected),
            "{expected:?} in {undecided:?}"
        );
    }
    for expected in [
        "  # - id: \"builder→pilot/ferry\"\n  #   source-role: \"builder\"\n",
        "      # - id: \"G2\"\n      #   concept: \"It compiles\"\n      #   eval: \"machine\"\n",
        "        # was there: args: {language: go}\n",
        "# has no counterpart: language-bindings: {compiles.go: go build ./...}\n",
        "      # left out there: G3: no harbour yet\n",
    ] {
        assert!(
            plan.draft.contains(expected),
            "{expected}\nin\n{}",
            plan.draft
        );
    }
    assert_eq!(old.content(), before, "the old files stay");
}

#[test]
fn records_are_taken_byte_for_byte_where_they_verify() {
    let old = with_records();
    let before = old.content();
    let plan = old.plan();
    assert_eq!(
        plan.records(),
        Counts {
            tree: 1,
            flat_only: 1
        }
    );
    assert_eq!(codes(&plan.left), [("att-2", "verdict-unit-insufficient")]);
    assert_eq!(
        (plan.left[0].path.as_str(), plan.left[0].line),
        ("attestations.jsonl", 5)
    );

    let new = tempfile::tempdir().unwrap();
    let project = Project::create(new.path()).unwrap();
    plan.apply(&project).unwrap();
    let read = |name: &str| fs::read_to_string(project.path_of(name)).unwrap();
    let first = line("att-1", "pass", PASSED);
    assert_eq!(read(IN_TREE), first);
    let legacy = line("att-0", "pass", "").replace(r#""pass_id":"p-1","#, "");
    assert_eq!(read("attestations.jsonl"), format!("{legacy}{first}"));
    assert_eq!(read("grid.current"), "v1\n");
    assert_eq!(read("grid.v1.yaml"), plan.draft);
    assert!(!project.path_of(BUILDING).exists());
    assert_eq!(old.content(), before);
    assert_eq!(
        plan.apply(&project).unwrap_err().code(),
        "import-target-in-use"
    );
}

#[test]
fn nothing_is_guessed_and_the_author_can_decide() {
    let old = Old::new(GRID);
    let plan = old.plan();
    assert!(!plan.is_decided(), "no stratum is on record anywhere");
    let new = tempfile::tempdir().unwrap();
    let project = Project::create(new.path()).unwrap();
    assert_eq!(plan.apply(&project).unwrap_err().code(), "import-undecided");
    assert_eq!(fs::read_dir(new.path().join(".ghyll")).unwrap().count(), 0);

    // Taking the marks away and filling in the blank makes an arrow of it.
    let (_, last) = plan.draft.split_once("  # - id: \"builder").unwrap();
    let last = last.replace("\n  # ", "\n  ");
    let decided = format!("arrows:\n  - id: \"builder{last}");
    let decided = decided.replace("stratum:", "stratum: water");
    let policy = Policy::load().unwrap();
    let mine = Some((decided.as_str(), Path::new("mine.yaml")));
    let plan = Plan::make(old.0.path(), &policy, mine);
    let plan = plan.unwrap_or_else(|error| panic!("{error}\n{decided}"));
    plan.apply(&project).unwrap();
    let active = Grid::read_active(project.ghyll()).unwrap();
    assert_eq!(active.arrows[0].id, "builder→pilot/ferry");
    assert_eq!(active.arrows[0].stratum, "water");
    assert_eq!(active.arrows[0].clauses[0].concept, "It floats");
}

#[test]
fn a_record_that_says_otherwise_than_the_grid_is_left() {
    let old = Old::new(GRID);
    let other = line("att-9", "pass", PASSED);
    old.write(IN_TREE, &line("att-1", "pass", PASSED));
    old.write(
        "attestations.jsonl",
        &[
            other.replace("\"G1\"", "\"G2\""),
            line("att-8", "pass", PASSED)
                .replace("p-1", "p-2")
                .replace(ARROW, "gone"),
            // Twice in one pass, and each says something else.
            line("att-7", "pass", PASSED).replace("p-1", "p-7"),
            line("att-7", "pass", PASSED)
                .replace("p-1", "p-7")
                .replace("0001", "0002"),
            "{\"cut\":".to_owned(),
        ]
        .concat(),
    );
    let plan = old.plan();
    assert_eq!(
        plan.records(),
        Counts {
            tree: 1,
            flat_only: 0
        }
    );
    let mut left = codes(&plan.left);
    left.sort_unstable();
    assert_eq!(
        left,
        [
            ("", "attestation-line-partial"),
            ("att-7", "attestation-duplicate"),
            ("att-7", "attestation-duplicate"),
            ("att-8", "grid-changed-in-place"),
            ("att-9", "grid-changed-in-place"),
        ]
    );
}

#[test]
fn strata_that_differ_are_no_evidence() {
    let old = Old::new(GRID);
    old.write(IN_TREE, &line("att-1", "pass", PASSED));
    let other = line("att-2", "pass", PASSED).replace("\"plans\"", "\"code\"");
    old.write("attestations.jsonl", &other);
    let plan = old.plan();
    let told = plan
        .undecided
        .iter()
        .find(|left| left.what == ARROW)
        .unwrap();
    assert!(
        told.message.contains("several (code, plans)"),
        "{}",
        told.message
    );
}

#[test]
fn each_version_keeps_its_number() {
    let old = with_records();
    old.write(
        "grid.v2.yaml",
        &GRID.replace("grid-version: 1", "grid-version: 2"),
    );
    old.write("grid.current", "v2");
    let second = line("att-2", "pass", PASSED)
        .replace("\"grid_version\":1", "\"grid_version\":2")
        .replace("\"plans\"", "\"drafts\"");
    old.write(
        "attestations/v2/ferry/stratum-drafts/planner__builder/p-1.jsonl",
        &second,
    );
    let plan = old.plan();
    let new = tempfile::tempdir().unwrap();
    let project = Project::create(new.path()).unwrap();
    plan.apply(&project).unwrap();
    let stratum = |version| {
        let grid = Grid::read_version(project.ghyll(), version).unwrap();
        grid.arrows[0].stratum.clone()
    };
    assert_eq!(
        (stratum(1), stratum(2)),
        ("plans".to_owned(), "drafts".to_owned())
    );
    assert_eq!(Grid::active_version(project.ghyll()).unwrap(), 2);
    assert_eq!(plan.records().tree, 2);
}

#[test]
fn a_database_is_evidence_and_what_it_alone_holds_is_told() {
    let old = Old::new(GRID);
    let path = old.0.path().join(".ghyll/engine.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = wal;
         PRAGMA user_version = 5;
         CREATE TABLE grid_arrows (id TEXT, grid_version INTEGER, stratum TEXT);
         INSERT INTO grid_arrows VALUES ('builder→pilot/ferry', 3, 'water');
         CREATE TABLE attestations (attestation_id TEXT, op_id TEXT);
         INSERT INTO attestations VALUES ('att-x', 'kim');
         CREATE TABLE findings (id TEXT);
         INSERT INTO findings VALUES ('f');",
    )
    .unwrap();
    let before = old.content();
    let plan = old.plan();
    let grid = Grid::parse(&plan.draft, 1, Path::new("g")).unwrap();
    assert_eq!(grid.arrows[0].stratum, "water");
    assert_eq!(
        codes(&plan.left),
        [
            ("att-x", "import-record-without-line"),
            ("findings", "import-no-counterpart")
        ]
    );
    assert_eq!(old.content(), before, "not even a journal beside it");
    db.execute_batch("PRAGMA user_version = 6").unwrap();
    assert_eq!(
        codes(&old.plan().left),
        [("the database", "import-database-newer")]
    );
}

#[test]
fn what_is_no_such_project_is_refused() {
    let refused = |dir: &Path| {
        let plan = Plan::make(dir, &Policy::load().unwrap(), None);
        plan.err().unwrap().code().to_owned()
    };
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(refused(empty.path()), "import-not-earlier-design");
    assert_eq!(refused(&empty.path().join("gone")), "import-unreadable");
    let ours = Old::new(crate::grid::SKELETON);
    assert_eq!(refused(ours.0.path()), "import-not-earlier-design");
    let chained = Old::new(GRID);
    let chain = format!(r#"{PASSED},"chain":"{}""#, "0".repeat(64));
    chained.write(IN_TREE, &line("att-1", "pass", &chain));
    assert_eq!(refused(chained.0.path()), "import-not-earlier-design");
    // What was moved aside is found by its own name too.
    let aside = with_records();
    let dir = aside.0.path().join(".ghyll");
    assert!(Plan::make(&dir, &Policy::load().unwrap(), None).is_ok());
}

#[test]
fn words_cannot_leave_their_place() {
    let hostile = GRID
        .replace(
            "'Every crossing: has an end'",
            r#""x\"\n- id: y\u2028\x7f""#,
        )
        .replace("no harbour yet", r#""a\nversion: 7\u2028""#)
        .replace(
            "severity-threshold: medium",
            r#""severity\nthreshold": "m\r\nversion: 9""#,
        );
    let old = Old::new(&hostile);
    old.write(IN_TREE, &line("att-1", "pass", PASSED));
    let plan = old.plan();
    let grid = Grid::parse(&plan.draft, 1, Path::new("g"));
    let grid = grid.unwrap_or_else(|error| panic!("{error}\n{}", plan.draft));
    assert_eq!(
        grid.arrows[0].clauses[0].concept,
        "x\"\n- id: y\u{2028}\u{7f}"
    );
    assert!(!plan.draft.contains("\nversion: 7") && !plan.draft.contains("\nversion: 9"));
}
