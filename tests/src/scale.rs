//! Valid projects of any size, the same again from the same seed.
//!
//! What a busy company has after a year, without the year: arrows in several
//! contexts between several roles, traversed again and again, each traversal a
//! file of a few records and now and then one of a thousand, each clause
//! answered in many rounds. Every line is the policy component's. Index and
//! flat file are not made: like a fresh clone, a project gets them when ghyll
//! first looks at it.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};

use ghyll::audit::TREE_DIR;
use ghyll::clock::rfc3339;
use ghyll::files::disk::CapDisk;
use ghyll::grid::Grid;
use ghyll::policy::{ArrowDefinition, Attestation, Clause, Policy, UnitPayload};
use ghyll::project::Project;
use ghyll::subject::{Entry, Manifest, Sha256, SubjectStore};
use ghyll::view::empty_record;
use jiff::Timestamp;

use crate::survive::Dice;

/// Clauses of each arrow.
const CLAUSES: u32 = 5;
/// One traversal of so many is long, by so much.
const LONG: (u64, u64) = (500, 100);
/// How often the covered files of a context change in the course of a project.
const VERSIONS: u64 = 20;
/// Traversals that wait to be written.
const WAITING: usize = 64;
/// Threads that encode and write.
const THREADS: usize = 2;
/// When the first record was given, in seconds since 1970: 2024-01-01.
const START: u64 = 1_704_067_200;
/// Seconds between two records.
const STEP: u64 = 30;

/// What a project is to be like.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Records, exactly.
    pub records: u64,
    /// By which everything is drawn.
    pub seed: u64,
    /// Contexts.
    pub contexts: u32,
    /// Pairs of roles that hand over in each context.
    pub pairs: u32,
    /// Records of an ordinary traversal, on average.
    pub per_file: u64,
    /// Files that each context's clauses cover; 0 for none.
    pub covered: u32,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            records: 1000,
            seed: 1,
            contexts: 10,
            pairs: 5,
            per_file: 10,
            covered: 0,
        }
    }
}

/// What was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Made {
    /// Records.
    pub records: u64,
    /// Files of the tree.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// An arrow, and what is asked of it.
struct Arrow {
    context: u32,
    source: String,
    target: String,
    adversary: String,
    stratum: &'static str,
    id: String,
    clauses: Vec<Asked>,
}

/// A clause, and how often it was answered.
struct Asked {
    id: String,
    attestation_ref: String,
    concept: String,
    round: u32,
}

/// The id of one of a plan's arrows.
#[must_use]
pub fn arrow_id(context: u32, pair: u32) -> String {
    format!("A-{context:02}-{pair:02}")
}

fn concept(context: u32, pair: u32, clause: u32) -> String {
    format!("What role {pair} hands over in context {context} holds, as far as point {clause} goes")
}

const STRATA: [&str; 3] = ["behaviour", "design", "code"];

fn role(number: u32) -> String {
    format!("role-{number:02}")
}

/// The third of each three pairs has somebody who doubts.
fn adversary(pair: u32) -> String {
    match pair % 3 {
        2 => role(pair - 1),
        _ => String::new(),
    }
}

/// The grid of a plan, as text.
fn grid(plan: &Plan) -> String {
    let mut text = String::from("version: 1\n\narrows:\n");
    for context in 0..plan.contexts {
        for pair in 0..plan.pairs {
            text.push_str(&format!(
                "  - id: {}\n    source-role: {}\n    target-role: {}\n",
                arrow_id(context, pair),
                role(pair),
                role(pair + 1),
            ));
            let adversary = adversary(pair);
            if !adversary.is_empty() {
                text.push_str(&format!("    adversary-role: {adversary}\n"));
            }
            text.push_str(&format!(
                "    stratum: {}\n    context: context-{context:02}\n",
                STRATA[pair as usize % STRATA.len()]
            ));
            if plan.covered > 0 {
                text.push_str(&format!("    covers: [\"work/{context:02}/**\"]\n"));
            }
            text.push_str("    clauses:\n");
            for clause in 1..=CLAUSES {
                text.push_str(&format!(
                    "      - id: C{clause}\n        concept: {}\n        eval: attested\n",
                    concept(context, pair, clause)
                ));
            }
        }
    }
    text
}

/// Makes a project in `dir`, which has to be empty or absent.
///
/// # Panics
/// If the disk or the policy refuses anything.
pub fn make(dir: &Path, plan: &Plan, policy: &Policy) -> Made {
    let project = Project::create(dir).unwrap();
    Grid::write(project.ghyll(), 1, &grid(plan)).unwrap();
    let subjects: Vec<Vec<String>> = (0..plan.contexts)
        .map(|context| keep_subjects(&project, plan, context))
        .collect();
    let mut arrows = arrows(plan, policy);
    let tree = dir.join(".ghyll").join(TREE_DIR);
    fs::create_dir_all(&tree).unwrap();

    let (give, take) = sync_channel::<Vec<Attestation>>(WAITING);
    let take = Mutex::new(take);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(|| write_all(&take, &tree, policy)))
            .collect();
        let mut dice = Dice::new(plan.seed);
        let mut number = 0;
        while number < plan.records {
            let small = 1 + dice.below(plan.per_file.max(1) * 2 - 1);
            let length = match dice.below(LONG.0) {
                0 => small * LONG.1,
                _ => small,
            };
            let length = length.min(plan.records - number);
            let at = dice.below(arrows.len() as u64) as usize;
            let version = number * VERSIONS / plan.records;
            let subject = &subjects[arrows[at].context as usize];
            let subject = subject.get(version as usize).map_or("", String::as_str);
            let pass = traverse(&mut arrows[at], policy, &mut dice, number, length, subject);
            number += length;
            give.send(pass).unwrap();
        }
        drop(give);
        writers.into_iter().fold(Made::default(), |sum, writer| {
            let made = writer.join().unwrap();
            Made {
                records: sum.records + made.records,
                files: sum.files + made.files,
                bytes: sum.bytes + made.bytes,
            }
        })
    })
}

/// Adds a record to each of the first `files` (at most 1000) files of an
/// arrow, as a colleague's commit would, each a round on; to be called with
/// growing seeds. Returns how many files grew.
///
/// # Panics
/// If the disk or the policy refuses anything.
pub fn grow(dir: &Path, plan: &Plan, policy: &Policy, files: usize, seed: u64) -> usize {
    let tree = dir.join(".ghyll").join(TREE_DIR);
    let arrow = &arrows(plan, policy)[0];
    let mut rec = empty_record();
    (rec.attested_by_role, rec.grid_version, rec.pass_id) = ("operator".into(), 1, "any".into());
    fill(&mut rec, arrow);
    let place = policy.encode_path(&rec).unwrap().path;
    let folder = tree.join(place.rsplit_once('/').unwrap().0);
    let mut found: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    let mut grown = 0;
    for (n, path) in found.iter().take(files).enumerate() {
        let text = fs::read_to_string(path).unwrap();
        let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        let asked = &arrow.clauses[0];
        let round = 500_000 + seed * 1000 + n as u64;
        rec.attestation_id = format!("{}.r{round}", asked.attestation_ref);
        (rec.kind, rec.clause_id) = ("depth-type".into(), asked.id.clone());
        (rec.op_id, rec.verdict) = ("eve@example.com".into(), "pass".into());
        (rec.unit, rec.unit_payload_json) = ("confirm".into(), "{}".into());
        (rec.hint_json, rec.reason) = ("{}".into(), "via:command".into());
        rec.timestamp = time(plan.records + seed * 1000 + n as u64);
        rec.pass_id = last["pass_id"].as_str().unwrap().to_owned();
        let chain = last["chain"].as_str().unwrap();
        let line = policy.encode_line(&rec, chain).unwrap().line;
        fs::write(path, text + line.as_str()).unwrap();
        grown += 1;
    }
    grown
}

fn arrows(plan: &Plan, policy: &Policy) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    for context in 0..plan.contexts {
        for pair in 0..plan.pairs {
            let id = arrow_id(context, pair);
            let clauses = (1..=CLAUSES).map(|clause| Asked {
                id: format!("C{clause}"),
                attestation_ref: policy
                    .attestation_ref(&id, &format!("C{clause}"), 1)
                    .unwrap(),
                concept: concept(context, pair, clause),
                round: 0,
            });
            arrows.push(Arrow {
                context,
                source: role(pair),
                target: role(pair + 1),
                adversary: adversary(pair),
                stratum: STRATA[pair as usize % STRATA.len()],
                clauses: clauses.collect(),
                id,
            });
        }
    }
    arrows
}

/// Keeps the subjects of a context, one a version; the covered files are left
/// as the last of them has them.
fn keep_subjects(project: &Project, plan: &Plan, context: u32) -> Vec<String> {
    if plan.covered == 0 {
        return Vec::new();
    }
    let folder = project.root().join(format!("work/{context:02}"));
    fs::create_dir_all(&folder).unwrap();
    let disk = CapDisk::new(project.ghyll()).unwrap();
    let store = SubjectStore::new(&disk);
    let text = |file: u32, version: u64| {
        // One file a version changes.
        let files = u64::from(plan.covered);
        let changed = (0..=version).rev().find(|v| v % files == u64::from(file));
        format!("{context} {file} {changed:?} {}\n", plan.seed)
    };
    let path = |file: u32| format!("work/{context:02}/{file:05}.txt");
    for file in 0..plan.covered {
        fs::write(project.root().join(path(file)), text(file, VERSIONS - 1)).unwrap();
    }
    let kept = (0..VERSIONS).map(|version| {
        let entries = (0..plan.covered).map(|file| Entry {
            path: path(file),
            sha256: Sha256::of(text(file, version).as_bytes()),
        });
        let manifest = Manifest::new(entries.collect());
        store.keep(&manifest).unwrap().to_string()
    });
    kept.collect()
}

/// One traversal: each clause answered until it passes, in turn, `length`
/// verdicts long.
fn traverse(
    arrow: &mut Arrow,
    policy: &Policy,
    dice: &mut Dice,
    number: u64,
    length: u64,
    subject: &str,
) -> Vec<Attestation> {
    const WAYS: [&[&str]; 6] = [
        &["pass"],
        &["pass"],
        &["fail", "pass"],
        &["insufficient-basis", "pass"],
        &["fail", "fail", "pass"],
        &[
            "insufficient-basis",
            "insufficient-basis",
            "insufficient-basis",
            "accepted-risk",
        ],
    ];
    let pass_id = pass_id(number, dice);
    let mut records = Vec::with_capacity(length as usize);
    let mut clause = dice.below(u64::from(CLAUSES)) as usize;
    while (records.len() as u64) < length {
        clause = (clause + 1) % arrow.clauses.len();
        for verdict in WAYS[dice.below(WAYS.len() as u64) as usize] {
            if records.len() as u64 == length {
                break;
            }
            let mut rec = empty_record();
            fill(&mut rec, arrow);
            let asked = &mut arrow.clauses[clause];
            asked.round += 1;
            rec.attestation_id = match asked.round {
                1 => asked.attestation_ref.clone(),
                round => format!("{}.r{round}", asked.attestation_ref),
            };
            rec.kind = "depth-type".to_owned();
            rec.clause_id.clone_from(&asked.id);
            rec.op_id = format!("operator.{}@example.com", dice.below(20));
            rec.attested_by_role = "operator".to_owned();
            rec.verdict = (*verdict).to_owned();
            rec.reason = "via:command".to_owned();
            rec.timestamp = time(number + records.len() as u64);
            rec.grid_version = 1;
            rec.pass_id.clone_from(&pass_id);
            let evidence = evidence(verdict, dice);
            rec.unit = policy.infer_unit(&evidence).unwrap();
            rec.unit_payload_json = policy.encode_unit_payload(&evidence).unwrap();
            rec.hint_json = hint(policy, arrow, clause, subject);
            records.push(rec);
        }
    }
    records
}

fn evidence(verdict: &str, dice: &mut Dice) -> UnitPayload {
    let place = format!(
        "src/part-{}/file.rs:{}-{}",
        dice.below(40),
        3,
        3 + dice.below(90)
    );
    let note =
        "What stands there does not say what is meant, é; ".repeat(1 + dice.below(3) as usize);
    match verdict {
        "pass" if dice.below(2) == 0 => UnitPayload {
            inspected: Vec::new(),
            residue: String::new(),
        },
        "pass" | "fail" => UnitPayload {
            inspected: vec![place],
            residue: String::new(),
        },
        _ => UnitPayload {
            inspected: Vec::new(),
            residue: note,
        },
    }
}

fn hint(policy: &Policy, arrow: &Arrow, clause: usize, subject: &str) -> String {
    let asked = &arrow.clauses[clause];
    let hint = policy.synthesize_hint(
        &Clause {
            clause_id: asked.id.clone(),
            concept: asked.concept.clone(),
            depth_type_attestation_ref: asked.attestation_ref.clone(),
            subject: subject.to_owned(),
            locations: Vec::new(),
            basis: String::new(),
            residue: String::new(),
        },
        &ArrowDefinition {
            id: arrow.id.clone(),
            source_role: arrow.source.clone(),
            target_role: arrow.target.clone(),
            context: context_name(arrow.context),
            stratum: arrow.stratum.to_owned(),
        },
    );
    policy.encode_hint(&hint.unwrap()).unwrap()
}

fn context_name(context: u32) -> String {
    format!("context-{context:02}")
}

/// What a record says of its arrow.
fn fill(rec: &mut Attestation, arrow: &Arrow) {
    rec.arrow_id.clone_from(&arrow.id);
    rec.source_role.clone_from(&arrow.source);
    rec.target_role.clone_from(&arrow.target);
    rec.adversary_role.clone_from(&arrow.adversary);
    rec.context = context_name(arrow.context);
    arrow.stratum.clone_into(&mut rec.stratum);
}

fn seconds(number: u64) -> u64 {
    START + number * STEP
}

fn time(number: u64) -> String {
    rfc3339(Timestamp::from_second(seconds(number) as i64).unwrap())
}

/// A UUIDv7 of the time of a traversal's first record.
fn pass_id(number: u64, dice: &mut Dice) -> String {
    let millis = seconds(number) * 1000;
    let (a, b) = (dice.below(1 << 12), dice.below(1 << 62));
    format!(
        "{:08x}-{:04x}-7{a:03x}-{:04x}-{:012x}",
        millis >> 16,
        millis & 0xffff,
        0x8000 | (b >> 48),
        b & 0xffff_ffff_ffff
    )
}

/// Writes what it is given, a file a traversal.
fn write_all(take: &Mutex<Receiver<Vec<Attestation>>>, tree: &Path, policy: &Policy) -> Made {
    let mut made = Made::default();
    loop {
        let taken = take.lock().unwrap().recv();
        let Ok(records) = taken else { return made };
        let path = policy.encode_path(&records[0]).unwrap().path;
        let (mut text, mut chain) = (String::new(), String::new());
        for rec in &records {
            let encoded = policy.encode_line(rec, &chain).unwrap();
            text.push_str(&encoded.line);
            chain = encoded.chain;
        }
        let path = tree.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &text).unwrap();
        made.records += records.len() as u64;
        made.files += 1;
        made.bytes += text.len() as u64;
    }
}
