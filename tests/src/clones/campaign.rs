//! Two operators, two clones, three branches, twenty verdicts and five merges
//! in random order, with a count kept beside: no verdict is lost or hidden,
//! both clones say the same, and `check` says of each clause what the count
//! says. A failure names its seed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Clone, Home, git, text};
use crate::survive::Dice;

const BRANCHES: [&str; 3] = ["main", "a", "b"];
const ARROWS: [&str; 2] = ["A-bill", "A-ledger"];
const CLAUSES: [(&str, &str, &str); 5] = [
    ("A-bill", "A-bill/B1", "att-A-bill-B1-v1"),
    ("A-bill", "A-bill/B2", "att-A-bill-B2-v1"),
    ("A-bill", "A-bill/B3", "att-A-bill-B3-v1"),
    ("A-ledger", "A-ledger/D1", "att-A-ledger-D1-v1"),
    ("A-ledger", "A-ledger/D2", "att-A-ledger-D2-v1"),
];
/// The verdicts, the less severe first.
const SEVERITY: [&str; 5] = [
    "pass",
    "accepted-risk",
    "insufficient-basis",
    "fail",
    "route-upstream",
];
const VERDICTS: usize = 20;
const MERGES: usize = 5;

/// What a campaign came to.
#[derive(Debug, Default)]
pub struct Seen {
    /// Histories played.
    pub seeds: u64,
    /// Verdicts given.
    pub given: usize,
    /// Verdicts on record in the end, in each of two clones: the same words
    /// again on what is decided are no new record.
    pub on_record: usize,
    /// Merges.
    pub merges: usize,
    /// Branches switched to.
    pub switches: usize,
    /// Times a clone was held against the count, each clause of it.
    pub looks: usize,
    /// Clauses seen that two clones had answered in the same round.
    pub concurrent: usize,
}

/// Plays `seeds` histories, the first with this seed.
///
/// # Panics
/// If a verdict is lost or hidden, or anything said differs from the count.
pub fn play(seeds: u64, from: u64) -> Seen {
    let mut seen = Seen::default();
    for seed in from..from.saturating_add(seeds) {
        // What is printed last tells which one failed.
        println!("git, seed {seed}");
        one(seed, &mut seen);
        seen.seeds += 1;
    }
    seen
}

/// What tells a record from the others: its id, verdict, op-id and chain.
type Records = BTreeSet<(String, String, String, String)>;

struct Side {
    clone: Clone,
    op: &'static str,
    branch: &'static str,
    /// What each branch has here.
    count: BTreeMap<&'static str, Records>,
}

fn pick(dice: &mut Dice, n: usize) -> usize {
    usize::try_from(dice.below(n as u64)).unwrap()
}

fn on_record(clone: &Clone) -> Records {
    let out = clone.ok(&["attestations", "--json"]);
    let all: Vec<Value> = serde_json::from_str(&out).unwrap();
    let field = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    let key = |line| {
        (
            field(line, "attestation_id"),
            field(line, "verdict"),
            field(line, "op_id"),
            field(line, "chain"),
        )
    };
    let records: Records = all.iter().map(key).collect();
    assert_eq!(records.len(), all.len(), "each record once");
    records
}

/// What the count says of a ref: the verdict that counts, and whether others
/// were given in its round.
fn counted<'r>(records: &'r Records, att: &str) -> (Option<&'r str>, bool) {
    let round_of = |id: &str| match id.strip_prefix(att) {
        Some("") => Some(1),
        Some(rest) => rest.strip_prefix(".r")?.parse::<u64>().ok(),
        None => None,
    };
    let of_ref = || {
        let rounds = records.iter();
        rounds.filter_map(|record| Some((round_of(&record.0)?, record.1.as_str())))
    };
    let newest = of_ref().map(|(round, _)| round).max();
    let said: Vec<&str> = of_ref()
        .filter(|(round, _)| Some(*round) == newest)
        .map(|(_, verdict)| verdict)
        .collect();
    let severity = |verdict: &&&str| SEVERITY.iter().position(|known| *known == **verdict);
    (said.iter().max_by_key(severity).copied(), said.len() > 1)
}

fn clause_of<'v>(arrow: &'v Value, clause: &str) -> &'v Value {
    let id = clause.rsplit_once('/').unwrap().1;
    let clauses = arrow["clauses"].as_array().unwrap();
    clauses.iter().find(|clause| clause["id"] == id).unwrap()
}

impl Side {
    fn here(&mut self) -> &mut Records {
        self.count.entry(self.branch).or_default()
    }

    /// What is shown, and what the gate says, is what was counted.
    fn agrees(&mut self, seen: &mut Seen) {
        seen.looks += 1;
        let records = self.here().clone();
        assert_eq!(on_record(&self.clone), records);
        let arrows = ARROWS.map(|arrow| (arrow, self.clone.arrow(arrow)));
        let (exit, out, err) = self.clone.run(&["check", "--format", "json"]);
        let check: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        let gate = |arrow: &str| {
            let arrows = check["arrows"].as_array().unwrap();
            arrows.iter().find(|found| found["id"] == arrow).unwrap()
        };
        let mut all_hold = true;
        for (arrow, clause, att) in CLAUSES {
            let (verdict, concurrent) = counted(&records, att);
            let shown = &arrows.iter().find(|(id, _)| *id == arrow).unwrap().1;
            let shown = clause_of(shown, clause);
            assert_eq!(shown["verdict"].as_str(), verdict, "{clause}");
            assert_eq!(shown["concurrent"], concurrent, "{clause}");
            seen.concurrent += usize::from(concurrent);
            let status = clause_of(gate(arrow), clause)["status"].as_str().unwrap();
            match verdict {
                Some("pass") => assert_eq!(status, "pass", "{clause}"),
                Some("fail") => assert_eq!(status, "fail", "{clause}"),
                Some("insufficient-basis") => assert_eq!(status, "pending", "{clause}"),
                Some("route-upstream") | None => assert_eq!(status, "unevaluated", "{clause}"),
                // It holds once no other finding is open on the clause.
                Some(_) => assert!(["pass", "pending"].contains(&status), "{clause}: {status}"),
            }
            all_hold &= status == "pass";
        }
        assert_eq!(check["ok"], all_hold, "{out}");
        assert_eq!(exit == 0, all_hold, "{out}{err}");
    }

    fn verdict(&mut self, dice: &mut Dice, seen: &mut Seen) {
        let (arrow, clause, _) = CLAUSES[pick(dice, CLAUSES.len())];
        let verdict = ["pass", "pass", "fail", "insufficient-basis"][pick(dice, 4)];
        let escalation = ["accepted-risk", "route-upstream"][pick(dice, 2)];
        let before = self.here().clone();
        // Mostly not the words of before: those are on record already.
        let place = format!("src/x.rs:{}", 1 + dice.below(9));
        let evidence: &[&str] = match verdict {
            "fail" => &["--inspected", &place],
            "insufficient-basis" => &["--residue", "nothing to judge by"],
            _ => &[],
        };
        let op = ["--op-id", self.op];
        let mut args = [&["attest", clause, verdict], evidence, &op].concat();
        let mut taken = false;
        for _ in 0..3 {
            let (code, out, err) = self.clone.run(&args);
            if code == 0 {
                taken = true;
                break;
            }
            assert_eq!(code, 3, "{out}{err}");
            if err.contains("error[attestation-no-pass-for-ref]") {
                self.clone.dispatch(arrow);
            } else if err.contains("error[escalation-due]") {
                let note = ["--residue", "as deep as it goes"];
                args = [&["attest", clause, escalation], &note[..], &op].concat();
            } else {
                panic!("{err}");
            }
        }
        assert!(taken, "{clause}: nobody could give {verdict}");
        let after = on_record(&self.clone);
        assert!(after.is_superset(&before));
        assert!(after.len() - before.len() <= 1);
        *self.here() = after;
        seen.given += 1;
        if dice.below(3) == 0 {
            self.clone.dispatch(arrow);
        }
    }

    fn switch(&mut self, branch: &'static str, seen: &mut Seen) {
        self.clone.commit("before a switch");
        self.clone.git(&["switch", "-q", branch]);
        self.branch = branch;
        seen.switches += 1;
        self.agrees(seen);
    }
}

/// A merge of what another clone, or another branch, has.
fn merge(sides: &mut [Side; 2], into: usize, from: usize, branch: &'static str, seen: &mut Seen) {
    for side in sides.iter() {
        side.clone.commit("before a merge");
    }
    let more = sides[from].count.get(branch).cloned().unwrap_or_default();
    let url = sides[from].clone.0.to_str().unwrap().to_owned();
    let side = &mut sides[into];
    let args = ["pull", "-q", "--no-rebase", "--no-edit", &url, branch];
    let pulled = git(&side.clone.0, &args);
    assert!(pulled.status.success(), "{}", text(&pulled.stderr));
    side.here().extend(more);
    seen.merges += 1;
    side.agrees(seen);
}

fn one(seed: u64, seen: &mut Seen) {
    let mut dice = Dice::new(seed);
    let home = Home::new();
    let first = home.project("one");
    for branch in &BRANCHES[1..] {
        first.git(&["branch", branch]);
    }
    let second = home.clone(&first, "two", &[]);
    for branch in &BRANCHES[1..] {
        second.git(&["branch", "-q", branch, &format!("origin/{branch}")]);
    }
    let side = |clone, op| Side {
        clone,
        op,
        branch: "main",
        count: BTreeMap::new(),
    };
    let mut sides = [side(first, "al"), side(second, "bo")];
    let (mut verdicts, mut merges) = (VERDICTS, MERGES);
    while verdicts + merges > 0 {
        let who = pick(&mut dice, 2);
        if dice.below(4) == 0 {
            let branch = BRANCHES[pick(&mut dice, BRANCHES.len())];
            sides[who].switch(branch, seen);
        }
        if pick(&mut dice, verdicts + merges) < verdicts {
            verdicts -= 1;
            sides[who].verdict(&mut dice, seen);
        } else {
            merges -= 1;
            let branch = BRANCHES[pick(&mut dice, BRANCHES.len())];
            let from = pick(&mut dice, 2);
            merge(&mut sides, who, from, branch, seen);
        }
    }
    // Everything together, both ways.
    for side in &mut sides {
        side.switch("main", seen);
    }
    for (into, from) in [(0, 0), (0, 1), (1, 0)] {
        for branch in BRANCHES {
            merge(&mut sides, into, from, branch, seen);
        }
    }
    let [first, second] = &mut sides;
    assert_eq!(first.here(), second.here());
    let both = [&first.count, &second.count];
    let total: Records = both
        .iter()
        .flat_map(|count| count.values().flatten().cloned())
        .collect();
    assert_eq!(*first.here(), total, "nothing is lost on the way");
    for side in [first, second] {
        side.clone.session();
        side.clone.verified();
        side.agrees(seen);
        side.clone.ok(&["engine", "rebuild-index"]);
        side.agrees(seen);
    }
    seen.on_record += total.len();
}
