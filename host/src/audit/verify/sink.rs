//! Issues as they are told: of each file and surface the first ones, and of the
//! rest how many there are, so that damage of any size is told in little memory.

use std::collections::BTreeMap;

use super::{Issue, MOST, On, issue};
use crate::audit::TREE_DIR;

/// Files of which what was found is kept; of more it is counted.
pub(super) const FILES: usize = 1000;

/// Everything that is told: what makes the record not whole, and what does not.
#[derive(Default)]
pub(super) struct Told {
    pub(super) issues: Sink,
    pub(super) warnings: Sink,
}

/// Issues, of each file and surface the first and how many more.
#[derive(Default)]
pub(super) struct Sink {
    groups: BTreeMap<(On, String), (Vec<Issue>, u64)>,
    /// Issues in files of which none is kept.
    pub(super) beyond: u64,
}

impl Sink {
    pub(super) fn push(&mut self, issue: Issue) {
        let group = (issue.surface, issue.path.clone());
        let full = self.groups.len() >= 2 * FILES;
        match self.groups.get_mut(&group) {
            Some((kept, _)) if kept.len() < MOST => kept.push(issue),
            Some((_, more)) => *more = more.saturating_add(1),
            None if full => self.beyond = self.beyond.saturating_add(1),
            None => {
                self.groups.insert(group, (vec![issue], 0));
            }
        }
    }

    /// Counts what was not kept.
    pub(super) fn more(&mut self, on: On, path: &str, more: u64) {
        if more > 0 {
            match self.groups.get_mut(&(on, path.to_owned())) {
                Some((_, known)) => *known = known.saturating_add(more),
                None => self.beyond = self.beyond.saturating_add(more),
            }
        }
    }

    pub(super) fn list(self) -> Vec<Issue> {
        let mut all = Vec::new();
        for ((surface, path), (mut kept, more)) in self.groups {
            kept.sort_by(|a, b| a.order().cmp(&b.order()));
            let last = kept.last().map(|issue| issue.code.clone());
            all.append(&mut kept);
            if more > 0 {
                all.push(Issue {
                    count: more,
                    ..issue(
                        &last.unwrap_or_default(),
                        surface,
                        &path,
                        format!("and {more} more"),
                    )
                });
            }
        }
        if self.beyond > 0 {
            let message = format!("and {} more in other files", self.beyond);
            all.push(Issue {
                count: self.beyond,
                ..issue("attestation-audit-corrupt", On::Tree, TREE_DIR, message)
            });
        }
        all
    }
}
