//! A prompt that answers from a queue and remembers what it was asked.

use std::collections::VecDeque;

use super::{EscalationChoice, ModalError, ModalHint, OperatorModalPrompt, VerdictAnswer};

/// One prepared answer.
#[derive(Debug, Clone)]
pub enum StubAnswer {
    /// To a verdict modal.
    Verdict(VerdictAnswer),
    /// To an escalation.
    Escalation(EscalationChoice),
    /// The operator leaves.
    Leave,
}

/// Answers from a queue; when it is empty, or the next answer is for the other
/// kind of question, the operator has left.
#[derive(Debug, Default)]
pub struct StubModal {
    /// What will be answered.
    pub answers: VecDeque<StubAnswer>,
    /// What was asked, and whether it was an escalation.
    pub asked: Vec<(ModalHint, bool)>,
}

impl StubModal {
    /// A prompt with these answers.
    pub fn new(answers: impl IntoIterator<Item = StubAnswer>) -> Self {
        Self {
            answers: answers.into_iter().collect(),
            asked: Vec::new(),
        }
    }
}

impl OperatorModalPrompt for StubModal {
    fn present_verdict(&mut self, hint: &ModalHint) -> Result<VerdictAnswer, ModalError> {
        self.asked.push((hint.clone(), false));
        match self.answers.pop_front() {
            Some(StubAnswer::Verdict(answer)) => Ok(answer),
            _ => Err(ModalError::Left),
        }
    }

    fn present_escalation(&mut self, hint: &ModalHint) -> Result<EscalationChoice, ModalError> {
        self.asked.push((hint.clone(), true));
        match self.answers.pop_front() {
            Some(StubAnswer::Escalation(choice)) => Ok(choice),
            _ => Err(ModalError::Left),
        }
    }
}
