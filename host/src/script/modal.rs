//! Answering modals by the functions of a script.

use std::sync::atomic::{AtomicBool, Ordering};

use rhai::{AST, Array, Dynamic, Engine, EvalAltResult, NativeCallContext, Position};

use super::fault::Fault;
use super::{Host, ScriptError, values};
use crate::modal::{EscalationChoice, ModalError, ModalHint, OperatorModalPrompt, VerdictAnswer};
use crate::session::Submission;

/// How often an answer may be refused before the script has failed.
const ATTEMPTS: u32 = 8;

const VERDICT: &str = "verdict";
const ESCALATION: &str = "escalation";

/// Which of the answering functions a script has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answers {
    verdict: bool,
    escalation: bool,
}

impl Answers {
    /// Looks them up; one that could never be called is a mistake.
    pub(super) fn of(ast: &AST) -> Result<Self, ScriptError> {
        let mut answers = Self {
            verdict: false,
            escalation: false,
        };
        for function in ast.iter_functions() {
            let has = match function.name {
                VERDICT => &mut answers.verdict,
                ESCALATION => &mut answers.escalation,
                _ => continue,
            };
            if function.params.len() != 1 {
                let message = format!("{}(…) takes one argument, the hint", function.name);
                return Err(ScriptError::at(Position::NONE, "script-failed", message));
            }
            *has = true;
        }
        Ok(answers)
    }
}

/// What a script answers.
#[derive(Debug, Clone)]
enum Answer {
    Verdict(Submission),
    Skip,
    Escalation(EscalationChoice),
}

/// A prompt that calls the functions of the script it is called from.
pub(super) struct ScriptedModal<'a, 'c> {
    host: &'a Host,
    context: &'a NativeCallContext<'c>,
    /// What the script itself went wrong with.
    pub(super) error: Option<Box<EvalAltResult>>,
}

impl<'a, 'c> ScriptedModal<'a, 'c> {
    pub(super) fn new(host: &'a Host, context: &'a NativeCallContext<'c>) -> Self {
        Self {
            host,
            context,
            error: None,
        }
    }

    fn ask(&mut self, function: &str, hint: &ModalHint) -> Result<Answer, ModalError> {
        if let Some(problem) = hint.problem.as_ref().filter(|p| p.attempts >= ATTEMPTS) {
            let message = format!("{} (refused {ATTEMPTS} times)", problem.message);
            return Err(ModalError::Failed {
                code: problem.code.clone(),
                message,
            });
        }
        let _open = Open::question(&self.host.in_modal);
        let called = self
            .context
            .call_fn::<Dynamic>(function, (values::hint(hint),));
        let wrong = match called.map(Dynamic::try_cast_result::<Answer>) {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(other)) => {
                let type_name = self.context.engine().map_type_name(other.type_name());
                Fault::new(
                    "script-answer-invalid",
                    format!("{function}(hint) returned {type_name}, which is no answer"),
                )
                .into()
            }
            Err(error) => error,
        };
        Err(self.failed(wrong))
    }

    /// Keeps the error with its place in the script, for the driver's has none.
    fn failed(&mut self, error: Box<EvalAltResult>) -> ModalError {
        let message = error.to_string();
        self.error = Some(error);
        ModalError::Failed {
            code: "script-failed".to_owned(),
            message,
        }
    }

    fn wrong_kind(&mut self, function: &str, offered: &str) -> ModalError {
        let message = format!("{function}(hint) can answer with {offered}");
        self.failed(Fault::new("script-answer-invalid", message).into())
    }
}

impl OperatorModalPrompt for ScriptedModal<'_, '_> {
    fn present_verdict(&mut self, hint: &ModalHint) -> Result<VerdictAnswer, ModalError> {
        if !self
            .host
            .answers
            .get()
            .is_some_and(|answers| answers.verdict)
        {
            return Ok(VerdictAnswer::Skip);
        }
        match self.ask(VERDICT, hint)? {
            Answer::Verdict(submission) => Ok(VerdictAnswer::Submit(submission)),
            Answer::Skip => Ok(VerdictAnswer::Skip),
            Answer::Escalation(_) => {
                Err(self.wrong_kind(VERDICT, "pass, fail, insufficient_basis or skip"))
            }
        }
    }

    fn present_escalation(&mut self, hint: &ModalHint) -> Result<EscalationChoice, ModalError> {
        if !self
            .host
            .answers
            .get()
            .is_some_and(|answers| answers.escalation)
        {
            let message = format!(
                "{} is escalated, and the script has no escalation(hint)",
                hint.hint.attestation_ref
            );
            return Err(self.failed(Fault::new("script-escalation-missing", message).into()));
        }
        match self.ask(ESCALATION, hint)? {
            Answer::Escalation(choice) => Ok(choice),
            Answer::Verdict(_) | Answer::Skip => {
                Err(self.wrong_kind(ESCALATION, "accept_risk or route_upstream"))
            }
        }
    }
}

/// A question is open while this lives.
struct Open<'a>(&'a AtomicBool);

impl<'a> Open<'a> {
    fn question(flag: &'a AtomicBool) -> Self {
        flag.store(true, Ordering::Relaxed);
        Self(flag)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

type Made = Result<Answer, Box<EvalAltResult>>;

fn verdict(verdict: &str, inspected: Array, residue: &str) -> Made {
    Ok(Answer::Verdict(Submission {
        verdict: verdict.to_owned(),
        inspected: texts(inspected)?,
        residue: residue.to_owned(),
    }))
}

/// Texts out of an array.
pub(super) fn texts(array: Array) -> Result<Vec<String>, Fault> {
    let text = |item: Dynamic| {
        item.into_string().map_err(|found| {
            Fault::new(
                "script-answer-invalid",
                format!("a location is text, not {found}"),
            )
        })
    };
    array.into_iter().map(text).collect()
}

/// The answers a script can give.
pub(super) fn register(engine: &mut Engine) {
    engine
        .register_type_with_name::<Answer>("Answer")
        .register_fn("pass", || verdict("pass", Array::new(), ""))
        .register_fn("pass", |inspected: Array| verdict("pass", inspected, ""))
        .register_fn("pass", |inspected: Array, note: &str| {
            verdict("pass", inspected, note)
        })
        .register_fn("fail", |inspected: Array| verdict("fail", inspected, ""))
        .register_fn("fail", |inspected: Array, note: &str| {
            verdict("fail", inspected, note)
        })
        .register_fn("insufficient_basis", |note: &str| {
            verdict("insufficient-basis", Array::new(), note)
        })
        .register_fn("insufficient_basis", |inspected: Array, note: &str| {
            verdict("insufficient-basis", inspected, note)
        })
        .register_fn("skip", || Answer::Skip)
        .register_fn("accept_risk", |note: &str| {
            Answer::Escalation(EscalationChoice::AcceptedRisk(note.to_owned()))
        })
        .register_fn("route_upstream", |note: &str| {
            Answer::Escalation(EscalationChoice::RouteUpstream(note.to_owned()))
        });
}
