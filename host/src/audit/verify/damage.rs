//! What is said of damage: one issue a record, which names what was there, who
//! has it still, and what to do.

use std::collections::BTreeMap;

use super::found::{Bad, Extra, FileFound, Lack, Lost, Otherwise, Said};
use super::sink::Told;
use super::{Issue, On, VerifyError, full, issue};
use crate::audit::flat::CONFLICT;
use crate::audit::{FLAT_FILE, TREE_DIR};
use crate::db::ENGINE_DB;
use crate::policy::{Policy, PolicyError};
use crate::text::count;

impl Told {
    /// Tells what was found of one file; `indexed` if there is an index at all.
    pub(super) fn file_issues(
        &mut self,
        policy: &Policy,
        path: &str,
        mut found: FileFound,
        mut extras: Vec<Extra>,
        indexed: bool,
    ) -> Result<(), VerifyError> {
        let at = full(path);
        if let Some(line) = found.conflict {
            let advice = format!(
                "take one side (git checkout --ours -- .ghyll/{at}, or --theirs) and give the other's verdicts again: ghyll attest"
            );
            self.issues.push(Issue {
                line,
                ..issue("attestation-line-malformed", On::Tree, &at, CONFLICT).advise(advice)
            });
            return Ok(());
        }
        if found.left_out {
            let message = "git's sparse checkout leaves it out, so what it says cannot be read";
            self.issues.push(
                issue("attestation-not-checked-out", On::Tree, &at, message)
                    .advise("git sparse-checkout add .ghyll, in the project's directory"),
            );
            return Ok(());
        }
        let as_indexed = found.is_as_indexed();
        let mut whole: Vec<Issue> = Vec::new();
        let mut before = None;
        let mut lacks = std::mem::take(&mut found.lacks);
        let mut lost = std::mem::take(&mut found.lost);
        for bad in std::mem::take(&mut found.bad) {
            let others = (&mut lost, &mut extras, &mut lacks);
            whole.extend(self.bad_line(policy, &at, bad, others, &mut before)?);
        }
        // Rows of which the tree says something else, or nothing.
        for row in lost {
            let twin = lacks
                .values()
                .find(|lack| lack.id == row.id)
                .map(|lack| lack.line);
            let now = twin.and_then(|line| lacks.remove(&line));
            let flat = take_by_id(&mut extras, &row.id);
            let issue = if as_indexed {
                let says = row.said.words();
                let message = match now.as_ref().and_then(|lack| lack.said.as_ref()) {
                    Some(tree) if *tree.words() == says => {
                        format!("the index has it otherwise than {at}:{}", row.line)
                    }
                    Some(tree) => {
                        format!(
                            "the index says {says}, {at}:{} says {}",
                            row.line,
                            tree.words()
                        )
                    }
                    None => format!("indexed as line {} of {at}, which it is not", row.line),
                };
                divergence(On::Index, ENGINE_DB, message).advise(REBUILD)
            } else {
                let line = now.as_ref().map_or(row.line, |lack| lack.line);
                let others = others(flat.as_ref(), true);
                let was = row.said.words();
                let (code, message) = match now.and_then(|lack| lack.said) {
                    Some(said) => (
                        "attestation-chain-broken",
                        format!("was {was} ({others}); is {} now", said.words()),
                    ),
                    None if found.missing => (
                        "attestation-tail-missing",
                        format!("{was} ({others}): the file is missing"),
                    ),
                    None if row.line > found.lines => (
                        "attestation-tail-missing",
                        format!("{was} ({others}): the file ends before it"),
                    ),
                    None => (
                        "attestation-chain-broken",
                        format!("{was} ({others}): gone from the file"),
                    ),
                };
                let mut issue = Issue {
                    line,
                    ..issue(code, On::Tree, &at, message)
                };
                issue.also(On::Index);
                restore(issue, &at, flat.as_ref())
            };
            whole.push(Issue {
                attestation_id: row.id,
                ..issue
            });
        }
        if found.lost_more > 0 {
            let (on, path) = match as_indexed {
                true => (On::Index, ENGINE_DB),
                false => (On::Tree, at.as_str()),
            };
            self.issues.more(on, path, found.lost_more);
        }
        // A record that was changed changes the chain of all behind it, which is
        // no damage of theirs.
        let changed = lacks.values().any(|lack| {
            let mut flat = extras.iter().filter(|extra| extra.id == lack.id);
            flat.any(|extra| extra.said.is_some() && extra.said != lack.said)
        });
        for lack in lacks.into_values() {
            whole.extend(lacking(
                &at,
                lack,
                &mut extras,
                as_indexed && !changed,
                indexed,
            ));
        }
        if found.rows_elsewhere > 0 && whole.is_empty() && as_indexed {
            let rows = count(usize::try_from(found.rows_elsewhere).unwrap_or(0), "row");
            let message = format!("{rows} of {at} name another place or chain than the tree");
            whole.push(divergence(On::Index, ENGINE_DB, message).advise(REBUILD));
        }
        whole.append(&mut found.issues);
        if found.astray > 0 && whole.is_empty() {
            found.otherwise.clear();
        }
        for otherwise in found.otherwise {
            seen_otherwise(&at, &found.lines, &otherwise, found.missing, &mut whole);
        }
        // What cannot be told apart any more is not told again.
        let blurred = found.lacks_more > 0 && (changed || !as_indexed);
        whole.sort_by(|a, b| a.order().cmp(&b.order()));
        for issue in whole {
            self.issues.push(issue);
        }
        self.issues.more(On::Tree, &at, found.bad_more);
        self.issues.more(On::Flat, FLAT_FILE, found.lacks_more);
        for warning in found.warnings {
            self.warnings.push(warning);
        }
        self.warnings.more(On::Tree, &at, found.warnings_more);
        for extra in extras {
            if !(blurred && extra.code.is_empty()) {
                self.extra_alone(extra);
            }
        }
        Ok(())
    }

    /// A line of the tree that is no good record, with what others have of it.
    fn bad_line(
        &mut self,
        policy: &Policy,
        at: &str,
        bad: Bad,
        (lost, extras, lacks): (&mut Vec<Lost>, &mut Vec<Extra>, &mut BTreeMap<u64, Lack>),
        before: &mut Option<(u64, String)>,
    ) -> Result<Option<Issue>, VerifyError> {
        let same = |said: &Said| bad.said.as_ref() == Some(said);
        // What says the same as this line is not what is damaged.
        take_if(lost, |row| row.id == bad.id && same(&row.said));
        let links = |to: &str| match &bad.unlinked {
            None => Ok(false),
            Some(rec) => match policy.encode_line(rec, to) {
                Ok(line) => Ok(line.chain == bad.chain),
                Err(PolicyError::Refused(_)) => Ok(false),
                Err(e) => Err(e),
            },
        };
        if let Some((line, chain)) = before.take()
            && line.saturating_add(1) == bad.line
            && links(&chain)?
            && !bad.accepted
        {
            // It follows what stood before it and is damaged, as told.
            return Ok(None);
        }
        let mut id = bad.id.clone();
        let mut indexed = take_if(lost, |row| !id.is_empty() && row.id == id);
        let mut follows = None;
        if indexed.is_none() {
            for (n, row) in lost.iter().enumerate() {
                if links(&row.chain)? {
                    follows = Some(n);
                    break;
                }
            }
            if follows.is_none() {
                // Its id may be what was changed.
                indexed = take_if(lost, |row| row.line == bad.line);
                if let Some(row) = &indexed {
                    id.clone_from(&row.id);
                }
            }
        }
        let mut flat = take_if(extras, |extra| match id.is_empty() {
            true => !extra.id.is_empty(),
            false => extra.id == id,
        });
        if id.is_empty()
            && let Some(extra) = &flat
        {
            id.clone_from(&extra.id);
        }
        let mut detail = bad.detail.clone();
        // It says what it said: then what stood before it is gone.
        if indexed.is_none() && flat.is_none() {
            if let Some(n) = follows {
                let row = lost.remove(n);
                id.clone_from(&row.id);
                indexed = Some(row);
            }
            for (n, extra) in extras.iter().enumerate() {
                let its = indexed.is_some() && extra.id == id;
                if its || indexed.is_none() && links(&extra.chain)? {
                    id.clone_from(&extra.id);
                    flat = Some(extras.remove(n));
                    break;
                }
            }
            if indexed.is_some() || flat.is_some() {
                detail = format!("it is gone from before {}", bad.id);
            }
        }
        lacks.remove(&bad.line);
        let chain = indexed
            .as_ref()
            .map(|row| &row.chain)
            .or(flat.as_ref().map(|extra| &extra.chain));
        *before = chain.map(|chain| (bad.line, chain.clone()));
        let was = indexed
            .as_ref()
            .map(|row| &row.said)
            .or(flat.as_ref().and_then(|extra| extra.said.as_ref()));
        let message = match was {
            Some(was) => format!(
                "{detail}; was {} ({}){}",
                was.words(),
                others(flat.as_ref(), indexed.is_some()),
                match &bad.said {
                    Some(said) if id == bad.id && said.words() != was.words() =>
                        format!("; says {} now", said.words()),
                    _ => String::new(),
                }
            ),
            None => detail,
        };
        let mut found = Issue {
            line: bad.line,
            attestation_id: id,
            ..issue(&bad.code, On::Tree, at, message)
        };
        if indexed.is_some() {
            found.also(On::Index);
        }
        if bad.accepted {
            self.warnings.push(found);
            return Ok(None);
        }
        if bad.code == "attestation-line-partial" {
            return Ok(Some(found.advise("the next session cuts it off")));
        }
        if let Some(path) = &bad.belongs {
            let advice = format!(
                "move it, or its file, to {}; or {}",
                full(path),
                accept("it")
            );
            return Ok(Some(found.advise(advice)));
        }
        Ok(Some(restore(found, at, flat.as_ref())))
    }

    /// A line of the flat file that the tree has nothing like.
    pub(super) fn extra_alone(&mut self, extra: Extra) {
        let (code, message) = match (extra.code.as_str(), &extra.said) {
            ("", Some(said)) => (
                "attestation-aggregate-divergence",
                format!("{}: the tree does not have this line", said.words()),
            ),
            ("", None) => (
                "attestation-aggregate-divergence",
                "the tree does not have this line".to_owned(),
            ),
            (code, _) => (code, extra.detail.clone()),
        };
        let found = Issue {
            line: extra.line,
            attestation_id: extra.id,
            ..issue(code, On::Flat, FLAT_FILE, message)
        };
        if extra.accepted {
            self.warnings.push(found);
            return;
        }
        self.issues.push(found.advise(format!(
            "if the tree lost it, restore {TREE_DIR} from git; else take the line out of {FLAT_FILE}; or {}",
            accept("it")
        )));
    }
}
pub(crate) const REBUILD: &str = "ghyll engine rebuild-index makes the index anew from the tree";

fn divergence(on: On, path: &str, message: String) -> Issue {
    issue("attestation-aggregate-divergence", on, path, message)
}

/// A good line of the tree that others do not have.
fn lacking(
    at: &str,
    lack: Lack,
    extras: &mut Vec<Extra>,
    as_indexed: bool,
    indexed: bool,
) -> Option<Issue> {
    let place = format!("line {} of {at}", lack.line);
    let flat = take_by_id(extras, &lack.id);
    let same = flat.as_ref().is_some_and(|extra| extra.said == lack.said);
    if !as_indexed && (same || !lack.flat) {
        // The file is another than the index saw, which is told once.
        return None;
    }
    let mut found = if lack.flat {
        let message = match (&flat, &lack.said) {
            (
                Some(Extra {
                    said: Some(other),
                    line,
                    ..
                }),
                Some(said),
            ) if !same => format!(
                "{place} says {}, line {line} here says {}",
                said.words(),
                other.words()
            ),
            (Some(extra), _) => format!("line {} is not, byte for byte, {place}", extra.line),
            (None, _) => format!("does not have {place}"),
        };
        let advice = match (&flat, lack.index || !indexed) {
            (None, _) => "the next session adds it".to_owned(),
            (Some(extra), true) => format!(
                "compare with git which of the two was recorded; if it is the tree's, take line {} out of {FLAT_FILE}",
                extra.line
            ),
            (Some(extra), false) => {
                format!(
                    "the index agrees with the tree: take line {} out of {FLAT_FILE}",
                    extra.line
                )
            }
        };
        let mut found = divergence(On::Flat, FLAT_FILE, message).advise(advice);
        if lack.index {
            found.also(On::Index);
        }
        found
    } else {
        divergence(On::Index, ENGINE_DB, format!("does not have {place}")).advise(REBUILD)
    };
    found.attestation_id = lack.id;
    Some(found)
}

/// A file is not what the index or a checkpoint saw of it.
fn seen_otherwise(
    at: &str,
    lines: &u64,
    otherwise: &Otherwise,
    missing: bool,
    whole: &mut Vec<Issue>,
) {
    let code = match otherwise.fewer {
        Some(_) => "attestation-tail-missing",
        None => "attestation-chain-broken",
    };
    let mut told = whole.iter_mut().filter(|issue| issue.surface == On::Tree);
    if let Some(first) = told.next() {
        let shows = match otherwise.by {
            On::Tree => On::Index,
            by => by,
        };
        first.also(shows);
        told.for_each(|issue| issue.also(shows));
        return;
    }
    let saw = match otherwise.by {
        On::Checkpoint => "the checkpoint saw",
        _ => "the index saw",
    };
    let message = match otherwise.fewer {
        Some(seen) if missing => {
            let seen = count(usize::try_from(seen).unwrap_or(usize::MAX), "line");
            format!("the file is missing; {saw} {seen} in it")
        }
        Some(seen) => {
            let lines = count(usize::try_from(*lines).unwrap_or(usize::MAX), "line");
            format!("has {lines}; {saw} {seen}")
        }
        None => format!("not what {saw}"),
    };
    let mut found = issue(code, otherwise.by, at, message);
    let advice = match otherwise.by {
        On::Checkpoint => format!(
            "restore it: git checkout -- .ghyll/{at}; if you know why, take a new checkpoint: ghyll engine checkpoint --write"
        ),
        _ => {
            found.also(On::Index);
            format!(
                "restore it: git checkout -- .ghyll/{at}; or {}",
                accept("what is lost")
            )
        }
    };
    whole.push(found.advise(advice));
}

fn restore(mut found: Issue, at: &str, flat: Option<&Extra>) -> Issue {
    let mut ways = format!("restore the file: git checkout -- .ghyll/{at}");
    if let Some(extra) = flat {
        found.also(On::Flat);
        ways.push_str(&format!(
            "; or put line {} of {FLAT_FILE} in its place",
            extra.line
        ));
    }
    ways.push_str(&format!("; or {}", accept("it")));
    found.advise(ways)
}

pub(super) fn accept(what: &str) -> String {
    format!("go on without {what}: ghyll engine rebuild-index --accept-loss --op-id ID")
}

/// Who has it still.
fn others(flat: Option<&Extra>, index: bool) -> String {
    match (flat, index) {
        (Some(extra), true) => format!("so the index and {FLAT_FILE}:{}", extra.line),
        (Some(extra), false) => format!("so {FLAT_FILE}:{}", extra.line),
        (None, _) => "so the index".to_owned(),
    }
}

pub(super) fn take_by_id(extras: &mut Vec<Extra>, id: &str) -> Option<Extra> {
    take_if(extras, |extra| !id.is_empty() && extra.id == id)
}

pub(super) fn take_if<T>(list: &mut Vec<T>, mut is: impl FnMut(&T) -> bool) -> Option<T> {
    let at = list.iter().position(&mut is)?;
    Some(list.remove(at))
}
