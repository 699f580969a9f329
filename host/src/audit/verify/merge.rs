//! What was found of each line on each surface, brought together: damage to
//! one record is one issue, which names the record, what differs, on which
//! surfaces it shows, and what to do (`damage.rs`).

use std::collections::BTreeMap;

use super::damage::{accept, take_by_id, take_if};
use super::found::{Extra, FileFound};
use super::sink::{FILES, Told};
use super::{Issue, MOST, On, Records, Report, TreeRecords, VerifyError, issue};
use crate::audit::checkpoint::End;
use crate::audit::{FLAT_FILE, TREE_DIR};
use crate::db::ENGINE_DB;
use crate::policy::Policy;
use crate::text::count;

/// Lines of the flat file that no line of the tree is like, kept by one.
const EXTRAS: usize = 4 * MOST * MOST;

/// Everything that was found.
#[derive(Default)]
pub(super) struct Merge {
    pub(super) told: Told,
    pub(super) tree: TreeRecords,
    pub(super) flat: Records,
    pub(super) index: Records,
    pub(super) ends: BTreeMap<String, End>,
    files: BTreeMap<String, FileFound>,
    files_more: u64,
    extras: BTreeMap<String, Vec<Extra>>,
    extras_kept: usize,
    extras_more: u64,
    news: u64,
    /// Why there is no tree to hold anything against.
    lost: Option<String>,
    once: Vec<String>,
}

impl Merge {
    pub(super) fn tell(&mut self, issue: Issue) {
        self.told.issues.push(issue);
    }

    /// Tells what may be found many times and is one matter.
    pub(super) fn tell_once(&mut self, issue: Issue) {
        let what = format!("{} {} {}", issue.code, issue.path, issue.message);
        if !self.once.contains(&what) {
            self.once.push(what);
            self.told.issues.push(issue);
        }
    }

    pub(super) fn warn(&mut self, warning: Issue) {
        self.told.warnings.push(warning);
    }

    pub(super) fn file(&mut self, path: String, mut found: FileFound, keep_end: bool) {
        self.tree.files += u64::from(!found.missing && !found.foreign);
        self.tree.records = self.tree.records.saturating_add(found.records);
        self.news = self.news.saturating_add(found.news);
        if keep_end && !found.foreign {
            self.ends
                .insert(path.clone(), std::mem::take(&mut found.end));
        }
        if found.is_as_it_should_be() {
            return;
        }
        self.files.insert(path, found);
        if self.files.len() > FILES {
            // The first by path are kept, whichever thread was faster.
            self.files.pop_last();
            self.files_more = self.files_more.saturating_add(1);
        }
    }

    pub(super) fn extra(&mut self, extra: Extra) {
        if self.extras_kept < EXTRAS {
            self.extras_kept += 1;
            self.extras
                .entry(extra.path.clone())
                .or_default()
                .push(extra);
        } else if !extra.accepted {
            self.extras_more = self.extras_more.saturating_add(1);
        }
    }

    /// The tree is gone: that is the one issue, whatever else has its records.
    pub(super) fn lose_tree(&mut self, message: &str) {
        self.lost = Some(message.to_owned());
    }

    pub(super) fn forget_extras(&mut self) {
        self.extras.retain(|_, extras| {
            extras.retain(|extra| !extra.code.is_empty());
            !extras.is_empty()
        });
        self.extras_more = 0;
    }

    /// What it all comes to.
    pub(super) fn report(mut self, policy: &Policy) -> Result<Report, VerifyError> {
        if let Some(message) = self.lost.take() {
            let mut lost =
                issue("attestation-audit-lost", On::Tree, TREE_DIR, message).advise(format!(
                    "restore it: git checkout -- .ghyll/{TREE_DIR}; or {}",
                    accept("it")
                ));
            if !self.extras.is_empty() {
                lost.also(On::Flat);
            }
            if self.index.records > 0 {
                lost.also(On::Index);
            }
            self.forget_extras();
            self.told.issues.push(lost);
            self.files.clear();
        }
        if self.news > 0 {
            let news = count(usize::try_from(self.news).unwrap_or(usize::MAX), "line");
            let message =
                format!("the tree is {news} ahead of the index; the next session takes them up");
            self.told.warnings.push(Issue {
                count: self.news,
                ..issue(
                    "attestation-aggregate-divergence",
                    On::Index,
                    ENGINE_DB,
                    message,
                )
            });
        }
        let indexed = self.index.records > 0;
        let mut extras = std::mem::take(&mut self.extras);
        self.find_astray(&mut extras);
        for (path, found) in std::mem::take(&mut self.files) {
            let extras = extras.remove(&path).unwrap_or_default();
            self.told
                .file_issues(policy, &path, found, extras, indexed)?;
        }
        for extra in extras.into_values().flatten() {
            self.told.extra_alone(extra);
        }
        self.told.issues.more(On::Flat, FLAT_FILE, self.extras_more);
        self.told.issues.beyond = self.told.issues.beyond.saturating_add(self.files_more);
        Ok(Report {
            ok: false,
            tree: self.tree,
            flat: self.flat,
            index: self.index,
            issues: self.told.issues.list(),
            warnings: self.told.warnings.list(),
            held_against_checkpoint: false,
            ends: self.ends,
        })
    }

    /// A record that stands in another file than it should is one matter, not
    /// one here and one there.
    fn find_astray(&mut self, extras: &mut BTreeMap<String, Vec<Extra>>) {
        let mut astray = Vec::new();
        for bad in self.files.values().flat_map(|found| &found.bad) {
            if let (Some(path), Some(said)) = (&bad.belongs, &bad.said) {
                astray.push((path.clone(), bad.id.clone(), said.clone()));
            }
        }
        for (path, id, said) in astray {
            let row = self
                .files
                .get_mut(&path)
                .and_then(|found| take_if(&mut found.lost, |row| row.id == id && row.said == said));
            if let (Some(_), Some(found)) = (row, self.files.get_mut(&path)) {
                found.astray += 1;
            }
            if let Some(extras) = extras.get_mut(&path) {
                take_by_id(extras, &id);
            }
        }
    }
}
