//! Answering modals by the functions of a script.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rhai::{AST, Array, Dynamic, Engine, EvalAltResult, NativeCallContext, Position};

use super::fault::Fault;
use super::guard::Guard;
use super::{Host, ScriptError, values};
use crate::modal::{EscalationChoice, ModalError, ModalHint, OperatorModalPrompt, VerdictAnswer};
use crate::session::{Submission, Via};
use crate::work::Verdict;

/// How often an answer may be refused before the script has failed.
const ATTEMPTS: u32 = 8;

const VERDICT: &str = "verdict";
const ESCALATION: &str = "escalation";
/// What answers in place of a model.
pub(super) const MODEL: &str = "model";

/// Which of the answering functions a script has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answers {
    verdict: bool,
    escalation: bool,
    pub(super) model: bool,
}

impl Answers {
    /// Looks them up; one that could never be called is a mistake.
    pub(super) fn of(ast: &AST) -> Result<Self, ScriptError> {
        let mut answers = Self {
            verdict: false,
            escalation: false,
            model: false,
        };
        for function in ast.iter_functions() {
            let (has, argument) = match function.name {
                VERDICT => (&mut answers.verdict, "hint"),
                ESCALATION => (&mut answers.escalation, "hint"),
                MODEL => (&mut answers.model, "messages"),
                _ => continue,
            };
            if function.params.len() != 1 {
                let message = format!("{}(…) takes one argument, the {argument}", function.name);
                return Err(ScriptError::at(Position::NONE, "script-failed", message));
            }
            *has = true;
        }
        Ok(answers)
    }
}

/// What a script answers. It may keep many of one: they share their texts.
#[derive(Debug, Clone)]
enum Answer {
    Verdict(Arc<Submission>),
    Skip,
    Escalation(Arc<EscalationChoice>),
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
        let asked = values::hint(hint).map_err(|fault| self.failed(fault.into()))?;
        let called = self.context.call_fn::<Dynamic>(function, (asked,));
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
    fn via(&self) -> Via {
        Via::Script
    }

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
            Answer::Verdict(submission) => {
                Ok(VerdictAnswer::Submit(Arc::unwrap_or_clone(submission)))
            }
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
            Answer::Escalation(choice) => Ok(Arc::unwrap_or_clone(choice)),
            Answer::Verdict(_) | Answer::Skip => {
                Err(self.wrong_kind(ESCALATION, "accept_risk or route_upstream"))
            }
        }
    }
}

/// A question is open while this lives.
pub(super) struct Open<'a>(&'a AtomicBool);

impl<'a> Open<'a> {
    pub(super) fn question(flag: &'a AtomicBool) -> Self {
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

fn verdict(guard: &Guard, verdict: Verdict, inspected: Array, residue: &str) -> Made {
    Ok(Answer::Verdict(Arc::new(Submission {
        verdict,
        inspected: texts(guard, inspected)?,
        residue: residue.to_owned(),
        via: Via::Script,
        ..Submission::default()
    })))
}

/// Texts out of an array.
pub(super) fn texts(guard: &Guard, array: Array) -> Result<Vec<String>, Box<EvalAltResult>> {
    let array = Dynamic::from(array);
    guard.judge(&array)?;
    let text = |item: Dynamic| {
        item.into_string().map_err(|found| {
            let message = format!("a location is text, not {found}");
            Fault::new("script-answer-invalid", message).into()
        })
    };
    array.cast::<Array>().into_iter().map(text).collect()
}

/// The answers a script can give.
pub(super) fn register(engine: &mut Engine, guard: &Arc<Guard>) {
    engine.register_type_with_name::<Answer>("Answer");
    for (said, name) in [
        (Verdict::Pass, "pass"),
        (Verdict::Fail, "fail"),
        (Verdict::InsufficientBasis, "insufficient_basis"),
    ] {
        let watch = Arc::clone(guard);
        engine.register_fn(name, move |inspected: Array, note: &str| {
            verdict(&watch, said, inspected, note)
        });
    }
    for (said, name) in [(Verdict::Pass, "pass"), (Verdict::Fail, "fail")] {
        let watch = Arc::clone(guard);
        engine.register_fn(name, move |inspected: Array| {
            verdict(&watch, said, inspected, "")
        });
    }
    let watch = Arc::clone(guard);
    engine.register_fn("pass", move || {
        verdict(&watch, Verdict::Pass, Array::new(), "")
    });
    let watch = Arc::clone(guard);
    engine.register_fn("insufficient_basis", move |note: &str| {
        verdict(&watch, Verdict::InsufficientBasis, Array::new(), note)
    });
    let escalation = |choice| Answer::Escalation(Arc::new(choice));
    engine
        .register_fn("skip", || Answer::Skip)
        .register_fn("accept_risk", move |note: &str| {
            escalation(EscalationChoice::AcceptedRisk(note.to_owned()))
        })
        .register_fn("route_upstream", move |note: &str| {
            escalation(EscalationChoice::RouteUpstream(note.to_owned()))
        });
}
