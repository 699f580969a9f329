//! Modals: a question that waits for an operator.
//!
//! The driver knows what to ask and when; a prompt knows how. Three prompts:
//! a terminal's (`cli::term`), a script's (`script::modal`) and [`StubModal`],
//! which answers from a queue.

mod attended;
mod driver;
#[cfg(test)]
mod driver_tests;
mod stub;

pub use attended::{Attended, Turn};
pub use driver::{DrainError, ModalDriver};
pub use stub::{StubAnswer, StubModal};

use crate::db::{Finding, Request, Row};
use crate::policy::Hint;
use crate::session::{Submission, Via};
use crate::subject::changed::Change;

/// What is asked, and all that helps to answer it.
#[derive(Debug, Clone)]
pub struct ModalHint {
    /// What the policy says to show.
    pub hint: Hint,
    /// The request behind it: roles, context, stratum, pass, round.
    pub request: Request,
    /// Whether only an escalation's verdicts are taken.
    pub escalation: bool,
    /// Earlier answers to the same ref, oldest first.
    pub history: Vec<Row>,
    /// Open findings on the clause, oldest first.
    pub findings: Vec<Finding>,
    /// What changed in the covered files since the last round.
    pub changed: Vec<Change>,
    /// How many more requests are pending, skipped ones included.
    pub waiting: usize,
    /// The largest note, in bytes.
    pub max_residue_bytes: u32,
    /// Who would answer now.
    pub op_id: Option<String>,
    /// Why the last answer was not taken, if this is asked again.
    pub problem: Option<Problem>,
}

/// Why an answer was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The public code.
    pub code: String,
    /// In words.
    pub message: String,
    /// How many answers to this question were not taken, this one included.
    pub attempts: u32,
}

/// An answer to a verdict modal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerdictAnswer {
    /// A verdict with its evidence.
    Submit(Submission),
    /// Not now: asked again next turn.
    Skip,
    /// The question no longer stands (a command answered it meanwhile).
    Withdrawn,
}

/// An answer to an escalation; there is no other, and no default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EscalationChoice {
    /// 1: the risk is accepted, with a residue note.
    AcceptedRisk(String),
    /// 2: back to the source role for a deeper artifact, with a rationale.
    RouteUpstream(String),
}

/// Why a question was not answered. The request stays pending.
#[derive(Debug, thiserror::Error)]
pub enum ModalError {
    /// The operator left: end of input, Ctrl-C, `/exit`.
    #[error("the operator left the question open")]
    Left,
    /// The question no longer stands: a command answered it meanwhile. Not a
    /// failure; draining goes on.
    #[error("the question no longer stands")]
    Withdrawn,
    /// The prompt itself failed.
    #[error("{message}")]
    Failed {
        /// The public code.
        code: String,
        /// In words.
        message: String,
    },
}

impl ModalError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Left => "modal-left",
            Self::Withdrawn => "modal-withdrawn",
            Self::Failed { code, .. } => code,
        }
    }
}

/// Something that can put a question to an operator.
pub trait OperatorModalPrompt {
    /// How its answers come in.
    fn via(&self) -> Via {
        Via::Command
    }

    /// Asks for a verdict: pass, fail, insufficient-basis or skip.
    ///
    /// # Errors
    /// If it was not answered.
    fn present_verdict(&mut self, hint: &ModalHint) -> Result<VerdictAnswer, ModalError>;

    /// Asks for one of the two ways out of an escalation.
    ///
    /// # Errors
    /// If it was not answered.
    fn present_escalation(&mut self, hint: &ModalHint) -> Result<EscalationChoice, ModalError>;

    /// Says that an answer was not recorded, because what was asked is asked no
    /// longer; `why` names who decided it.
    ///
    /// # Errors
    /// If nothing more is to be asked.
    fn withdrawn(&mut self, hint: &ModalHint, why: &Problem) -> Result<(), ModalError> {
        let _ = (hint, why);
        Ok(())
    }
}
