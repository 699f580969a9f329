//! The data of a briefing, and what of it is kept where there is too much.

use serde::Serialize;

use crate::db::{DbError, Row};
use crate::grid::{Arrow, Clause};
use crate::session::SessionError;
use crate::shape;
use crate::subject::changed::{Change, Lines};
use crate::view::View;
use crate::work::Verdict;
use crate::work::status::{ArrowStatus, ArrowView, ClauseStatus, ClauseView};
use crate::work::verdict::Evidence;

/// So many changed files of a clause are named; the rest is counted.
pub(super) const FILES_MAX: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Data {
    pub(super) grid_version: u64,
    pub(super) arrow: Option<ArrowData>,
    /// Verdicts that a clause does not hold, since it last held.
    pub(super) fails: Vec<Said>,
    /// Verdicts that there is no basis to judge, the newest in a row.
    pub(super) missing_basis: Vec<Said>,
    /// Why something deeper is asked for, since the clause last held.
    pub(super) routed_upstream: Vec<Said>,
    /// What commands said of machine clauses that fail.
    pub(super) machine_fails: Vec<Said>,
    /// What changed under verdicts that a clause holds.
    pub(super) stale: Vec<Stale>,
    /// Why what the model said of clauses last was not taken up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) evidence_refused: Option<Refused>,
    pub(super) other_arrows: Vec<Other>,
    /// Whether something was cut or left out.
    pub(super) cut: bool,
    /// Turns of this chat that are not sent any more.
    pub(super) earlier_turns_left_out: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ArrowData {
    pub(super) id: String,
    pub(super) status: ArrowStatus,
    pub(super) source_role: String,
    pub(super) target_role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) adversary_role: Option<String>,
    pub(super) stratum: String,
    pub(super) context: String,
    pub(super) clauses: Vec<ClauseData>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ClauseData {
    pub(super) id: String,
    pub(super) concept: String,
    pub(super) eval: &'static str,
    pub(super) status: ClauseStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) depth: Option<String>,
    pub(super) accepted_risk: bool,
}

/// What was said of a clause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Said {
    pub(super) clause: String,
    pub(super) round: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) places: Vec<String>,
    pub(super) note: String,
}

/// A clause that held, and how what it covers differs from what was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Stale {
    pub(super) clause: String,
    pub(super) files: Vec<Changed>,
    /// How many more there are.
    #[serde(skip_serializing_if = "is_none")]
    pub(super) more: usize,
    /// Why they cannot be told: a code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unknown: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Changed {
    pub(super) path: String,
    pub(super) change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lines: Option<Lines>,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Why what a model said of clauses was not taken up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    code: String,
    message: String,
}

impl Refused {
    /// Because of this.
    pub fn of(error: &SessionError) -> Self {
        Self {
            code: error.code().to_owned(),
            message: error.to_string(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Other {
    pub(super) id: String,
    pub(super) status: ArrowStatus,
}

impl Data {
    /// Where the arrows of a project stand, and of the one that is `chosen` what
    /// was said of its clauses.
    pub(super) fn of(
        view: &View,
        arrows: &[(&Arrow, ArrowView)],
        chosen: Option<&(&Arrow, ArrowView)>,
    ) -> Result<Self, DbError> {
        let mut data = Self {
            grid_version: view.grid().version,
            arrow: None,
            fails: Vec::new(),
            missing_basis: Vec::new(),
            routed_upstream: Vec::new(),
            machine_fails: Vec::new(),
            stale: Vec::new(),
            evidence_refused: None,
            other_arrows: arrows
                .iter()
                .filter(|(arrow, _)| Some(&arrow.id) != chosen.map(|(arrow, _)| &arrow.id))
                .map(|(arrow, stands)| Other {
                    id: arrow.id.clone(),
                    status: stands.status,
                })
                .collect(),
            cut: false,
            earlier_turns_left_out: 0,
        };
        if let Some((arrow, stands)) = chosen {
            data.arrow = Some(arrow_data(arrow, stands));
            for (clause, stands) in arrow.clauses.iter().zip(&stands.clauses) {
                data.hear(view, stands)?;
                data.stale.extend(stale(view, arrow, clause, stands));
            }
        }
        Ok(data)
    }

    /// Takes in what was said of a clause since it last held.
    fn hear(&mut self, view: &View, clause: &ClauseView) -> Result<(), DbError> {
        if let Some(run) = clause.run.as_ref().filter(|run| !run.passed) {
            self.machine_fails.push(Said {
                clause: clause.id.clone(),
                round: 0,
                places: Vec::new(),
                note: run.detail.clone(),
            });
        }
        if clause.attestation_ref.is_empty() {
            return Ok(());
        }
        let rows = view.read(|reader| reader.rounds_from(&clause.attestation_ref, 0))?;
        let (mut fails, mut bases, mut routes) = (Vec::new(), Vec::new(), Vec::new());
        for row in &rows {
            let verdict = Verdict::of_record(&row.rec.verdict);
            if verdict != Some(Verdict::InsufficientBasis) {
                bases.clear();
            }
            match verdict {
                Some(Verdict::Fail) => fails.push(said(clause, row)),
                Some(Verdict::InsufficientBasis) => bases.push(said(clause, row)),
                Some(Verdict::RouteUpstream) => routes.push(said(clause, row)),
                Some(Verdict::Pass | Verdict::AcceptedRisk) => {
                    fails.clear();
                    routes.clear();
                }
                None => {}
            }
        }
        self.fails.extend(fails);
        self.missing_basis.extend(bases);
        self.routed_upstream.extend(routes);
        Ok(())
    }

    pub(super) fn json(&self) -> String {
        // Nothing in it has a key that is no text.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Cuts, and leaves out, until there is room: the least important first.
    pub(super) fn fit(&mut self, max: usize) {
        const SHORTEST: usize = 128;
        let mut longest = max / 2;
        while self.json().len() > max && longest >= SHORTEST {
            self.shorten(longest);
            self.cut = true;
            longest /= 2;
        }
        if self.json().len() > max {
            self.other_arrows.clear();
        }
        if let Some(arrow) = self.arrow.as_mut().filter(|_| self.cut) {
            let holds = |clause: &ClauseData| clause.status == ClauseStatus::Pass;
            if serde_json::to_string(&arrow).map_or(0, |json| json.len()) > max / 2 {
                arrow.clauses.retain(|clause| !holds(clause));
            }
        }
        // So many that even their beginnings have no room: the newest stay.
        let lists: [fn(&mut Self) -> &mut Vec<Said>; 4] = [
            |data| &mut data.routed_upstream,
            |data| &mut data.missing_basis,
            |data| &mut data.machine_fails,
            |data| &mut data.fails,
        ];
        for list in lists {
            while self.json().len() > max && list(self).len() > 8 {
                let old = list(self).len() / 2;
                list(self).drain(..old);
            }
        }
        while self.json().len() > max && self.stale.len() > 8 {
            let old = self.stale.len() / 2;
            self.stale.drain(..old);
        }
        while self.json().len() > max
            && let Some(arrow) = self
                .arrow
                .as_mut()
                .filter(|arrow| !arrow.clauses.is_empty())
        {
            let half = arrow.clauses.len() / 2;
            arrow.clauses.truncate(half);
        }
    }

    fn shorten(&mut self, longest: usize) {
        let lists = [
            &mut self.fails,
            &mut self.missing_basis,
            &mut self.routed_upstream,
            &mut self.machine_fails,
        ];
        for said in lists.into_iter().flatten() {
            shorten(&mut said.note, longest);
            said.places.truncate((longest / 32).max(4));
            for place in &mut said.places {
                shorten(place, longest);
            }
        }
        for stale in &mut self.stale {
            stale.keep((longest / 128).max(4));
            for file in &mut stale.files {
                shorten(&mut file.path, longest);
            }
        }
        if let Some(refused) = &mut self.evidence_refused {
            shorten(&mut refused.message, longest);
        }
        for clause in self.arrow.iter_mut().flat_map(|arrow| &mut arrow.clauses) {
            shorten(&mut clause.concept, longest);
        }
    }
}

fn shorten(text: &mut String, longest: usize) {
    const MARK: &str = "…";
    if text.len() > longest {
        let end = text.floor_char_boundary(longest.saturating_sub(MARK.len()));
        text.truncate(end);
        text.push_str(MARK);
    }
}

/// What changed under the verdict that a clause holds, whether or not it is
/// asked for again already; `None` if nothing, or there is no such verdict.
fn stale(view: &View, arrow: &Arrow, clause: &Clause, stands: &ClauseView) -> Option<Stale> {
    let newest = stands.newest.as_ref()?;
    let held = matches!(
        Verdict::of_record(&newest.rec.verdict),
        Some(Verdict::Pass | Verdict::AcceptedRisk)
    );
    let covers = !arrow.covers_of(clause).is_empty();
    if !held || !covers || stands.problem.is_some() || stands.judged == stands.subject {
        return None;
    }
    let mut stale = Stale {
        clause: clause.id.clone(),
        files: Vec::new(),
        more: 0,
        unknown: None,
    };
    if stands.judged.is_empty() {
        stale.unknown = Some("subject-none");
        return Some(stale);
    }
    match view.changed(arrow, clause, stands) {
        Ok(changes) => {
            let changed = |change: Change| Changed {
                change: change.what(),
                lines: change.lines,
                path: change.path,
            };
            stale.files = changes.into_iter().map(changed).collect();
            stale.keep(FILES_MAX);
        }
        Err(error) => stale.unknown = Some(error.code()),
    }
    Some(stale)
}

impl Stale {
    /// Names no more files than so many; the rest is counted.
    pub(super) fn keep(&mut self, most: usize) {
        self.more += self.files.len().saturating_sub(most);
        self.files.truncate(most);
    }
}

fn said(clause: &ClauseView, row: &Row) -> Said {
    let said = Evidence::of(row);
    Said {
        clause: clause.id.clone(),
        round: row.round,
        places: said.inspected,
        note: said.residue,
    }
}

fn arrow_data(arrow: &Arrow, stands: &ArrowView) -> ArrowData {
    let clauses = arrow.clauses.iter().zip(&stands.clauses);
    ArrowData {
        id: arrow.id.clone(),
        status: stands.status,
        source_role: arrow.source_role.clone(),
        target_role: arrow.target_role.clone(),
        adversary_role: arrow.adversary_role.clone(),
        stratum: arrow.stratum.clone(),
        context: arrow.context.clone(),
        clauses: clauses
            .map(|(clause, stands)| ClauseData {
                id: clause.id.clone(),
                concept: clause.concept.clone(),
                eval: shape::eval(&clause.eval),
                status: stands.status,
                depth: clause.depth.clone(),
                accepted_risk: stands.accepted_risk,
            })
            .collect(),
    }
}
