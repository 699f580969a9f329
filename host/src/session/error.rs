//! Why a session could not do what it was asked to, each with its code.

use crate::audit::StoreError;
use crate::audit::load::LoadError;
use crate::db::{DbError, Row};
use crate::grid::GridError;
use crate::policy::PolicyError;
use crate::project::ProjectError;
use crate::runtime::cancel::Why;
use crate::runtime::command::RunError;
use crate::subject::SubjectError;
use crate::subject::changed::Change;
use crate::view::ViewError;
use crate::work::status::StatusError;

/// Why a session could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The project.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// Its grid.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// Its database.
    #[error(transparent)]
    Db(#[from] DbError),
    /// Its tree.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Reading it.
    #[error(transparent)]
    View(#[from] ViewError),
    /// Another arrow's pass is open on the same role and context.
    #[error("{role} is busy in {context}: a pass of {arrow} is open ({pass_id})")]
    RoleContextBusy {
        /// The role.
        role: String,
        /// The context.
        context: String,
        /// Whose pass it is.
        arrow: String,
        /// Which.
        pass_id: String,
    },
    /// There is no such pass here.
    #[error("there is no pass {0:?} in this project; `ghyll passes` lists them")]
    PassUnknown(String),
    /// It has ended already.
    #[error("pass {pass_id} is {status} already")]
    PassNotOpen {
        /// Which.
        pass_id: String,
        /// How it ended.
        status: &'static str,
    },
    /// No pass ever asked for this ref.
    #[error("no pass asks or asked for {0:?}")]
    NoPassForRef(String),
    /// What was asked was decided meanwhile; nothing is asked any more.
    #[error("{attestation_ref} is no longer asked: {}", decided(by))]
    NoLongerAsked {
        /// What was asked.
        attestation_ref: String,
        /// The verdict that decided it; `None` if its pass ended.
        by: Option<Box<Row>>,
    },
    /// What was asked was answered meanwhile, and is asked for another round.
    #[error(
        "{attestation_ref} was answered meanwhile: {}; it is asked again",
        decided(by)
    )]
    AskedAnew {
        /// What was asked.
        attestation_ref: String,
        /// The verdict given meanwhile.
        by: Option<Box<Row>>,
    },
    /// The covered files are not what was shown, or what was named.
    #[error(
        "{attestation_ref}: what is covered is no longer what was shown{}",
        in_words(changed)
    )]
    SubjectChanged {
        /// What is asked.
        attestation_ref: String,
        /// What changed, as far as it can be told.
        changed: Vec<Change>,
    },
    /// The covered files cannot be listed.
    #[error(transparent)]
    Subject(#[from] SubjectError),

    /// Only an escalation's verdicts are taken now.
    #[error(
        "{attestation_ref}: {rounds} rounds in a row had no basis; now only accepted-risk or route-upstream decide it"
    )]
    EscalationDue {
        /// What is asked.
        attestation_ref: String,
        /// Rounds without a basis.
        rounds: u32,
    },
    /// An escalation's verdict where none is due.
    #[error("{attestation_ref}: {verdict} is taken only while an escalation is due")]
    EscalationNotDue {
        /// What is asked.
        attestation_ref: String,
        /// What was answered.
        verdict: &'static str,
    },
    /// The producer says something of a clause the arrow does not have.
    #[error("{arrow} has no clause {clause:?} that anything could be said of")]
    EvidenceUnknownClause {
        /// The arrow.
        arrow: String,
        /// What was named.
        clause: String,
    },
    /// What the producer says cannot be read.
    #[error("what the producer says: {0}")]
    EvidenceMalformed(String),
    /// A place that was named is not there.
    #[error("{of}: {place:?}: {why}")]
    LocationUnknown {
        /// Of what it is said: a clause, or the verdict's own evidence.
        of: String,
        /// The place.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// What the producer says of a clause is more than a record may keep.
    #[error("{clause}: {source}")]
    EvidenceRefused {
        /// Of which clause it is said.
        clause: String,
        /// Why.
        source: PolicyError,
    },
    /// Somebody else's traversal was waited for, and the waiting called off.
    #[error("{arrow} is still being traversed by somebody else{}", match why {
        Why::Deadline => "; the time to wait is over",
        _ => "",
    })]
    WaitingCancelled {
        /// The arrow.
        arrow: String,
        /// Who called it off.
        why: Why,
    },
    /// Nothing can be said of a machine clause; it stays as it was.
    #[error("{arrow}, {clause}: {source}")]
    Machine {
        /// The arrow.
        arrow: String,
        /// The clause.
        clause: String,
        /// Why.
        source: RunError,
    },
    /// The directory capability.
    #[error("{}: {source}", path.display())]
    Io {
        /// What could not be used.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

fn in_words(changed: &[Change]) -> String {
    /// More are counted.
    const SHOWN: usize = 5;
    let mut words = String::new();
    for (n, change) in changed.iter().take(SHOWN).enumerate() {
        words.push_str(if n == 0 { ": " } else { ", " });
        words.push_str(&change.path);
        words.push(' ');
        words.push_str(change.what());
    }
    if changed.len() > SHOWN {
        words.push_str(&format!(" and {} more", changed.len() - SHOWN));
    }
    words
}

fn decided(by: &Option<Box<Row>>) -> String {
    match by {
        Some(row) => format!(
            "{} by {} (round {})",
            row.rec.verdict, row.rec.op_id, row.round
        ),
        None => "its pass has ended".to_owned(),
    }
}

impl SessionError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Project(e) => e.code(),
            Self::Grid(e) => e.code(),
            Self::Db(e) => e.code(),
            Self::Load(e) => e.code(),
            Self::Store(e) => e.code(),
            Self::Policy(e) => e.code(),
            Self::View(e) => e.code(),
            Self::RoleContextBusy { .. } => "role-context-busy",
            Self::PassUnknown(_) => "pass-unknown",
            Self::PassNotOpen { .. } => "pass-not-open",
            Self::NoPassForRef(_) => "attestation-no-pass-for-ref",
            Self::NoLongerAsked { .. } => "attestation-no-longer-asked",
            Self::AskedAnew { .. } => "attestation-asked-anew",
            Self::SubjectChanged { .. } => "attestation-subject-changed",
            Self::Subject(e) => e.code(),
            Self::EscalationDue { .. } => "escalation-due",
            Self::EscalationNotDue { .. } => "escalation-not-due",
            Self::EvidenceUnknownClause { .. } => "evidence-unknown-clause",
            Self::EvidenceMalformed(_) => "evidence-malformed",
            Self::LocationUnknown { .. } => "location-unknown",
            Self::EvidenceRefused { source, .. } => source.code(),
            Self::WaitingCancelled {
                why: Why::Deadline, ..
            } => "dispatch-deadline-exceeded",
            Self::WaitingCancelled { .. } => "dispatch-cancelled",
            Self::Machine { source, .. } => source.code(),
            Self::Io { .. } => "project-unreadable",
        }
    }
}

impl From<StatusError> for SessionError {
    fn from(error: StatusError) -> Self {
        match error {
            StatusError::Db(e) => Self::Db(e),
            StatusError::Policy(e) => Self::Policy(e),
        }
    }
}
