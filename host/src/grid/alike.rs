//! Ids that people or disks cannot tell apart.
//!
//! Two ids that look alike make a reader take one for the other; two whose
//! paths differ only in case are one directory on some disks and two on
//! others, and a tree that travels by git would come apart.

use std::collections::HashMap;

use super::error::quoted;
use super::fields::{Check, Text};

/// What ids were seen, and where. The first part of a key is the kind of id:
/// only two of one kind can be taken for each other.
#[derive(Default)]
pub(super) struct Seen {
    skeletons: HashMap<(String, String), (String, usize)>,
    paths: HashMap<(&'static str, String), (String, usize)>,
}

/// Names of ghyll's own in the tree: the directories of init attestations.
const OWN: &str = "init";

impl Check<'_> {
    /// Holds an id against those of its kind seen before, by how it looks.
    /// `within` sets ids of one kind apart that may be the same (the clauses of
    /// two arrows).
    pub(super) fn look_alike(&mut self, seen: &mut Seen, kind: &str, within: &str, id: &Text) {
        if id.value.is_empty() {
            return;
        }
        let skeleton = match self.rules.skeleton(&id.value) {
            Ok(skeleton) => skeleton,
            Err(why) => {
                self.report(id.line, "policy-component-failed", why);
                return;
            }
        };
        let key = (format!("{kind}/{within}"), skeleton);
        match seen.skeletons.get(&key) {
            Some((other, _)) if *other == id.value => {}
            Some((other, first)) => {
                let message = format!(
                    "the {kind} {} looks like the {kind} {} on line {first}",
                    spelt(&id.value),
                    spelt(other)
                );
                self.report(id.line, "grid-ids-look-alike", message);
            }
            None => {
                seen.skeletons.insert(key, (id.value.clone(), id.line));
            }
        }
    }

    /// Holds what an arrow is filed under against what others are.
    pub(super) fn paths(
        &mut self,
        seen: &mut Seen,
        context: &Text,
        stratum: &Text,
        [source, adversary, target]: [&Text; 3],
    ) {
        let before = self.problems.len();
        // A role also on its own: it comes back in other arrows.
        let mut roles = [source, adversary, target];
        roles.sort_by_key(|role| role.line);
        for (at, role) in roles.into_iter().enumerate() {
            // Two of one arrow that are the same are a mistake of another kind.
            let same = |other: &&Text| self.same_role(other, role);
            if role.value.is_empty() || roles.iter().take(at).any(same) {
                continue;
            }
            let pair = [role.value.as_str(), "", "-"];
            if let Some([_, _, segment]) = self.segments(role.line, OWN, OWN, pair) {
                self.path(seen, "role", &segment, role);
            }
        }
        if [context, stratum, source, target]
            .iter()
            .any(|text| text.value.is_empty())
        {
            return;
        }
        let names = [source, adversary, target].map(|role| role.value.as_str());
        let Some([context_segment, stratum_segment, roles_segment]) =
            self.segments(source.line, &context.value, &stratum.value, names)
        else {
            return;
        };
        self.path(seen, "context", &context_segment, context);
        self.path(seen, "stratum", &stratum_segment, stratum);
        if self.problems.len() == before {
            let roles = Text {
                value: names.join(" "),
                line: source.line,
            };
            self.path(seen, "pair of roles", &roles_segment, &roles);
        }
    }

    fn segments(
        &mut self,
        line: usize,
        context: &str,
        stratum: &str,
        roles: [&str; 3],
    ) -> Option<[String; 3]> {
        match self.rules.segments(context, stratum, roles) {
            Ok(segments) => segments,
            Err(why) => {
                self.report(line, "policy-component-failed", why);
                None
            }
        }
    }

    fn path(&mut self, seen: &mut Seen, kind: &'static str, segment: &str, text: &Text) {
        let folded = segment.to_ascii_lowercase();
        let own = match kind {
            "context" => folded == OWN && segment != OWN,
            "stratum" => folded == format!("stratum-{OWN}") && segment != format!("stratum-{OWN}"),
            _ => false,
        };
        if own {
            let message = format!(
                "the {kind} {} differs only in case from {OWN:?}, which ghyll files its own by; \
                 not every disk tells them apart",
                quoted(&text.value)
            );
            self.report(text.line, "grid-path-collision", message);
            return;
        }
        let (other, first) = seen
            .paths
            .entry((kind, folded))
            .or_insert_with(|| (segment.to_owned(), text.line));
        if other != segment {
            let message = format!(
                "the {kind} {} is filed under a name that differs only in case from that of the \
                 {kind} on line {first}; not every disk tells them apart",
                quoted(&text.value)
            );
            self.report(text.line, "grid-path-collision", message);
        }
    }
}

/// An id in a way that shows what it is made of: what looks alike is told
/// apart by its code points.
fn spelt(id: &str) -> String {
    let spelt: String = id
        .chars()
        .map(|c| match c {
            c if c.is_ascii() => c.to_string(),
            c => format!("<U+{:04X}>", u32::from(c)),
        })
        .collect();
    quoted(&spelt)
}
