//! What a hand does, one thing at a time.

use serde_json::Value;

use super::crowd::{Done, lock};
use super::table::{ARROWS, Ack, Table, somebody};
use crate::survive::Dice;

/// What an attest may be refused for that nothing went wrong about.
const OVERTAKEN: [&str; 3] = [
    "attestation-no-pass-for-ref",
    "escalation-due",
    "escalation-not-due",
];

impl Table<'_> {
    /// One thing, whatever the dice say.
    pub fn act(&self, dice: &mut Dice) {
        let act = match dice.below(100) {
            0..30 => self.attest(dice),
            30..52 => self.dispatch(dice),
            52..62 => self.at_a_pipe(dice),
            62..68 => self.at_a_terminal(dice),
            68..74 => self.replay(dice),
            74..78 => self.abort(dice),
            78..81 => self.rebuild(),
            81..86 => self.verify(),
            86..93 => self.read(dice),
            93..97 => self.edit(dice),
            97..99 => self.gate(),
            _ => self.next_version(),
        };
        *lock(&self.told).acts.entry(act).or_default() += 1;
    }

    fn attest(&self, dice: &mut Dice) -> &'static str {
        let (arrow, clause) = self.clause(dice);
        let name = format!("{arrow}/{clause}");
        let who = somebody(dice);
        let tag = self.tag(None);
        let place = format!("src/{tag}.rs");
        let mut args = vec!["attest", &name];
        match dice.below(5) {
            0 => args.extend(["fail", "--keep", "--inspected", &place]),
            1 | 2 => args.extend(["insufficient-basis", "--residue", &tag]),
            _ => args.extend(["pass", "--keep", "--inspected", &place]),
        }
        args.extend(["--op-id", who]);
        let expected = [&OVERTAKEN[..], &["attestation-subject-changed"]].concat();
        let done = self.run("attest", &args, &expected);
        self.heard(&done);
        if done.codes().iter().any(|code| code == "escalation-due") {
            self.decide(&name, dice);
        }
        "attest"
    }

    /// Only an escalation's verdict decides it.
    fn decide(&self, name: &str, dice: &mut Dice) {
        let verdict = ["accepted-risk", "route-upstream"][dice.below(2) as usize];
        let (who, tag) = (somebody(dice), self.tag(None));
        let args = ["attest", name, verdict, "--residue", &tag, "--op-id", who];
        let done = self.run("attest", &args, &OVERTAKEN);
        self.heard(&done);
    }

    /// Notes what a command acknowledged.
    fn heard(&self, done: &Done) {
        // A line that was cut off by death acknowledges nothing.
        let line = done.out.split_inclusive('\n').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, id, _, "by", op_id, ..] = words[..] else {
            assert!(done.code != Some(0), "{done:?}");
            return;
        };
        if !line.ends_with('\n') {
            return;
        }
        let replaces = done.err.split("It replaces the ").nth(1).and_then(|rest| {
            let (verdict, rest) = rest.split_once(" of round ")?;
            let (round, rest) = rest.split_once(" by ")?;
            let who = rest.split_once(".\n")?.0;
            Some((verdict.to_owned(), round.parse().ok()?, who.to_owned()))
        });
        lock(&self.acks).push(Ack {
            id: id.trim_end_matches(':').to_owned(),
            op_id: op_id.to_owned(),
            replaces,
            told: done.code == Some(0),
        });
    }

    fn dispatch(&self, dice: &mut Dice) -> &'static str {
        let (arrow, _) = ARROWS[dice.below(ARROWS.len() as u64) as usize];
        let mut args = vec!["dispatch", arrow];
        if dice.below(4) == 0 {
            args.extend(["--wait", ["0", "1", "2"][dice.below(3) as usize]]);
        }
        let done = self.run("dispatch", &args, &["role-context-busy"]);
        if matches!(done.code, Some(0 | 1)) && done.codes().is_empty() {
            assert!(done.out.starts_with(&format!("{arrow}: ")), "{done:?}");
        }
        "dispatch"
    }

    fn replay(&self, dice: &mut Dice) -> &'static str {
        let (arrow, _) = ARROWS[dice.below(ARROWS.len() as u64) as usize];
        let (number, who) = (self.number(), somebody(dice));
        // What it is shown is what its answer is tagged with.
        let meant = "\"@\" + hint.attestation_ref + \
                     if hint.round > 1 { \".r\" + hint.round } else { \"\" } + \"@\"";
        let answer = match dice.below(4) {
            0 => format!("fail([\"t{number}\" + {meant}])"),
            1 => format!("insufficient_basis(\"t{number}\" + {meant})"),
            2 => "skip()".to_owned(),
            _ => format!("pass([\"t{number}\" + {meant}], \"\")"),
        };
        let text = format!(
            "op_id(\"{who}\");\nrun_arrow(\"{arrow}\");\n\
             fn verdict(hint) {{ {answer} }}\n\
             fn escalation(hint) {{ accept_risk(\"t{number}\" + {meant}) }}\n"
        );
        let path = self.dir.join(format!("script-{number}.rhai"));
        std::fs::write(&path, text).unwrap();
        let name = path.to_str().unwrap();
        let expected = ["role-context-busy", "attestation-subject-changed"];
        let done = self.run("replay", &["replay", name], &expected);
        let fine = done.code != Some(1) || !done.codes().is_empty();
        assert!(fine, "{done:?}");
        std::fs::remove_file(path).unwrap();
        "replay"
    }

    fn abort(&self, dice: &mut Dice) -> &'static str {
        let listed = self.run("passes", &["passes", "--json"], &[]);
        let passes: Vec<Value> = serde_json::from_str(&listed.out).unwrap_or_default();
        let open: Vec<&str> = passes
            .iter()
            .filter(|pass| pass["status"] == "open")
            .filter_map(|pass| pass["pass_id"].as_str())
            .collect();
        let Some(nth) = dice.below(1000).checked_rem(open.len() as u64) else {
            return "abort";
        };
        let args = [
            "pass",
            "abort",
            open[nth as usize],
            "--reason",
            "by mistake",
        ];
        self.run("abort", &args, &["pass-not-open"]);
        "abort"
    }

    fn rebuild(&self) -> &'static str {
        let done = self.run("rebuild", &["engine", "rebuild-index"], &[]);
        assert!(matches!(done.code, None | Some(0 | 3)), "{done:?}");
        "rebuild"
    }

    fn verify(&self) -> &'static str {
        let args = ["engine", "verify-attestations", "--json"];
        let done = self.run("verify", &args, &[]);
        let Ok(report) = serde_json::from_str::<Value>(&done.out) else {
            assert!(done.code.is_none() || !done.codes().is_empty(), "{done:?}");
            return "verify";
        };
        for issue in report["issues"].as_array().into_iter().flatten() {
            // As far as a death explains it.
            let behind = issue["code"] == "attestation-aggregate-divergence" && issue["line"] == 0;
            let explained = issue["code"] == "attestation-line-partial" || behind;
            assert!(explained && self.crowd.any_killed(), "{issue:#}");
        }
        "verify"
    }

    fn read(&self, dice: &mut Dice) -> &'static str {
        let what: &[&str] = match dice.below(4) {
            0 => &["pending", "--json"],
            1 => &["attestations", "--json", "-n", "3"],
            2 => &["engine", "status", "--json"],
            _ => &["status", "--json"],
        };
        let done = self.run("read", what, &[]);
        if done.codes().is_empty() && done.code.is_some() {
            assert_eq!(done.code, Some(0), "{what:?}: {done:?}");
            let value: Value = serde_json::from_str(&done.out).unwrap();
            for arrow in value["arrows"].as_array().into_iter().flatten() {
                assert_ne!(arrow["status"], "unreadable", "{arrow}");
            }
        }
        "read"
    }

    /// The work that `A-shop` is about goes on.
    fn edit(&self, dice: &mut Dice) -> &'static str {
        let text = ["one\n", "two\n", "three\n"][dice.below(3) as usize];
        let new = self.dir.join(format!(".cart-{}", self.number()));
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.dir.join("src/cart.rs")).unwrap();
        "edit"
    }

    fn gate(&self) -> &'static str {
        let done = self.run("check", &["check", "--no-run", "--format", "json"], &[]);
        assert!(matches!(done.code, None | Some(0 | 1 | 3)), "{done:?}");
        "check"
    }

    fn next_version(&self) -> &'static str {
        let path = self.next_grid();
        let name = path.to_str().unwrap();
        let done = self.run("grid next", &["grid", "next", name], &[]);
        assert!(matches!(done.code, None | Some(0 | 3)), "{done:?}");
        std::fs::remove_file(path).unwrap();
        "grid next"
    }
}
