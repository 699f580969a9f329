//! What a script can do to a session, and see of it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use rhai::{Array, Dynamic, Engine, EvalAltResult, INT, ImmutableString, Map, NativeCallContext};

use super::fault::Fault;
use super::guard::Guard;
use super::modal::{self, ScriptedModal};
use super::model::ScriptedModel;
use super::{Expectation, Host, values};
use crate::db::{DbError, Filter, Row};
use crate::modal::DrainError;
use crate::model::Chat;
use crate::runtime::cancel::{Cancel, Why};
use crate::runtime::command::RunError;
use crate::session::{Options, SessionError, Submission, Via};
use crate::shape::Record;
use crate::view::View;
use crate::work::Verdict;
use crate::work::status::ArrowView;

type Context<'c> = NativeCallContext<'c>;
type Answer<T> = Result<T, Box<EvalAltResult>>;

/// Registers all calls.
pub(super) fn register(engine: &mut Engine, host: &Arc<Host>) {
    /// Makes a method of the host a call of the script's.
    macro_rules! call {
        ($name:literal, $method:ident $(, $arg:ident: $type:ty)*) => {
            let host = Arc::clone(host);
            engine.register_fn($name, move |context: Context<'_> $(, $arg: $type)*| {
                host.$method(&context $(, $arg)*)
            });
        };
    }
    modal::register(engine, &host.guard);

    call!("op_id", set_op_id, id: &str);
    call!("op_id", op_id);
    call!("run_arrow", run_arrow, arrow: &str);
    call!("run_arrow", run_arrow_with, arrow: &str, evidence: Map);
    call!("say", say, text: &str);
    call!("attest", attest, attestation_ref: &str, verdict: &str);
    call!("attest", attest_with, attestation_ref: &str, verdict: &str, evidence: Map);
    call!("init_attest", init_attest);
    call!("restart", restart);

    call!("arrow_status", arrow_status, arrow: &str);
    call!("clause_status", clause_status, arrow: &str, clause: &str);
    call!("attestations", attestations);
    call!("attestations", attestations_on, arrow: &str);
    call!("pending", pending);
    call!("findings", findings);
    call!("passes", passes);
    call!("events", events);

    call!("expect", expect, met: bool, text: &str);
    call!("log", log, a: Dynamic);
    // Without it, `log` of a number would be the logarithm.
    call!("log", log_number, a: f64);
    call!("log", log2, a: Dynamic, b: Dynamic);
    call!("log", log3, a: Dynamic, b: Dynamic, c: Dynamic);
}

/// What acts on the session.
impl Host {
    fn set_op_id(&self, _: &Context<'_>, id: &str) -> Answer<()> {
        Ok(self.session()?.set_op_id(Some(id)).map_err(Fault::from)?)
    }

    fn run_arrow(&self, context: &Context<'_>, arrow: &str) -> Answer<String> {
        self.run_arrow_with(context, arrow, Map::new())
    }

    fn run_arrow_with(&self, context: &Context<'_>, arrow: &str, said: Map) -> Answer<String> {
        self.outside_modal("run_arrow")?;
        let evidence = rhai::serde::from_dynamic(&said.into()).map_err(|e| {
            Fault::new("evidence-malformed", format!("what the producer says: {e}"))
        })?;
        let session = self.session()?;
        session
            .dispatch_with(
                arrow,
                &Options {
                    cancel: Cancel::at(self.guard.deadline),
                    evidence,
                    ..Options::default()
                },
            )
            .map_err(|error| match error {
                SessionError::Machine {
                    source:
                        RunError::Cancelled {
                            why: Why::Deadline, ..
                        },
                    ..
                }
                | SessionError::WaitingCancelled {
                    why: Why::Deadline, ..
                } => self.guard.stop(self.guard.too_late()),
                error => Box::<EvalAltResult>::from(Fault::from(error)),
            })?;
        self.ask(context, |prompt| session.drain_pending(prompt))?;
        Ok(self.arrow(arrow)?.status.as_str().to_owned())
    }

    fn say(&self, context: &Context<'_>, text: &str) -> Answer<String> {
        self.outside_modal("say")?;
        let session = self.session()?;
        let mut turn = None;
        self.ask(context, |prompt| {
            turn = Some(session.turn(text, prompt)?);
            Ok(())
        })?;
        let has_model = self.answers.get().is_some_and(|answers| answers.model);
        let Some(turn) = turn.filter(|_| has_model) else {
            return Ok(String::new());
        };
        let mut chat = self.chat.lock().unwrap_or_else(PoisonError::into_inner);
        let model = ScriptedModel::new(self, context, chat.number().saturating_add(1));
        let said = chat.say_to(turn, &model, &mut |_| {}, &Cancel::default());
        match model.error.into_inner() {
            Some(error) => Err(error),
            None => Ok(said.map_err(Fault::from)?.text),
        }
    }

    fn attest(
        &self,
        context: &Context<'_>,
        attestation_ref: &str,
        verdict: &str,
    ) -> Answer<String> {
        self.attest_with(context, attestation_ref, verdict, Map::new())
    }

    fn attest_with(
        &self,
        _: &Context<'_>,
        attestation_ref: &str,
        verdict: &str,
        evidence: Map,
    ) -> Answer<String> {
        self.outside_modal("attest")?;
        let submission = submission(&self.guard, verdict, evidence)?;
        let session = self.session()?;
        let op_id = session.op_id().unwrap_or_default();
        let recorded = session.attest(attestation_ref, &submission, &op_id);
        Ok(recorded
            .map_err(Fault::from)?
            .recorded
            .row
            .rec
            .attestation_id
            .clone())
    }

    fn init_attest(&self, _: &Context<'_>) -> Answer<INT> {
        self.outside_modal("init_attest")?;
        let session = self.session()?;
        let made = session.init_attest(&session.op_id().unwrap_or_default(), Via::Script);
        Ok(made.map_err(Fault::from)?.try_into().unwrap_or(INT::MAX))
    }

    fn restart(&self, _: &Context<'_>) -> Answer<()> {
        self.outside_modal("restart")?;
        let op_id = self.session()?.op_id();
        self.close();
        *self.chat.lock().unwrap_or_else(PoisonError::into_inner) = Chat::in_memory();
        Ok(self.open(op_id.as_deref()).map_err(Fault::from)?)
    }

    /// Refuses what would ask or record while a question is open.
    fn outside_modal(&self, call: &str) -> Result<(), Fault> {
        if self.in_modal.load(Ordering::Relaxed) {
            let message = format!("{call}(…) while a question is open, or the model is asked");
            return Err(Fault::new("script-call-in-modal", message));
        }
        Ok(())
    }

    /// Does what may put questions. Where the script itself went wrong in
    /// answering, that is the error.
    fn ask(
        &self,
        context: &Context<'_>,
        f: impl FnOnce(&mut ScriptedModal<'_, '_>) -> Result<(), DrainError>,
    ) -> Answer<()> {
        let mut prompt = ScriptedModal::new(self, context);
        let result = f(&mut prompt);
        match (result, prompt.error) {
            (Ok(()), _) => Ok(()),
            (Err(_), Some(error)) => Err(error),
            (Err(error), None) => Err(Fault::from(error).into()),
        }
    }
}

/// What looks at it.
impl Host {
    fn op_id(&self, _: &Context<'_>) -> Answer<String> {
        Ok(self.session()?.op_id().unwrap_or_default())
    }

    fn arrow_status(&self, _: &Context<'_>, arrow: &str) -> Answer<String> {
        Ok(self.arrow(arrow)?.status.as_str().to_owned())
    }

    fn clause_status(&self, _: &Context<'_>, arrow: &str, clause: &str) -> Answer<String> {
        let view = self.arrow(arrow)?;
        let found = view
            .clauses
            .iter()
            .find(|view| view.id == clause)
            .ok_or_else(|| {
                Fault::new(
                    "clause-unknown",
                    format!("{arrow} has no clause {clause:?}"),
                )
            })?;
        Ok(found.status.as_str().to_owned())
    }

    fn arrow(&self, arrow: &str) -> Result<ArrowView, Fault> {
        Ok(self.session()?.arrow_view(arrow)?)
    }

    fn attestations(&self, _: &Context<'_>) -> Answer<Array> {
        self.records(None)
    }

    fn attestations_on(&self, _: &Context<'_>, arrow: &str) -> Answer<Array> {
        self.records(Some(arrow))
    }

    fn records(&self, arrow: Option<&str>) -> Answer<Array> {
        let mut records = Array::new();
        let mut stopped = None;
        let each =
            |row: Row| match values::of(&Record(&row))
                .map_err(Into::into)
                .and_then(|record| {
                    self.room(records.len(), &record)?;
                    Ok(record)
                }) {
                Ok(record) => {
                    records.push(record);
                    Ok(())
                }
                Err(error) => {
                    stopped = Some(error);
                    Err(ReadEnd::Stopped)
                }
            };
        let filter = Filter {
            arrow_id: arrow.map(str::to_owned),
            ..Filter::default()
        };
        let read = self.view()?.each_record(&filter, each);
        match (read, stopped) {
            (_, Some(error)) => Err(error),
            (Err(ReadEnd::Db(error)), None) => Err(Fault::from(error).into()),
            _ => Ok(records),
        }
    }

    /// Whether a list of `len` things like `next` may go on.
    fn room(&self, len: usize, next: &Dynamic) -> Answer<()> {
        self.guard.go_on()?;
        let keys = next.read_lock::<Map>().map_or(1, |map| map.len());
        let limit = self.guard.limits.map;
        if len.saturating_mul(keys) > limit {
            return Err(self
                .guard
                .stop(format!("more than {limit} map entries in one value")));
        }
        Ok(())
    }

    /// A list of what the engine knows, as a script sees it.
    fn listed<T>(
        &self,
        things: impl IntoIterator<Item = T>,
        value: impl Fn(T) -> Result<Dynamic, Fault>,
    ) -> Answer<Array> {
        let mut list = Array::new();
        for thing in things {
            let next = value(thing)?;
            self.room(list.len(), &next)?;
            list.push(next);
        }
        Ok(list)
    }

    fn pending(&self, _: &Context<'_>) -> Answer<Array> {
        let view = self.view()?;
        let pending = view.pending().map_err(Fault::from)?;
        self.listed(pending, |request| {
            let escalation = view.escalation_due(&request).map_err(Fault::from)?;
            values::request(&request, escalation)
        })
    }

    fn findings(&self, _: &Context<'_>) -> Answer<Array> {
        let findings = self.view()?.findings().map_err(Fault::from)?;
        self.listed(findings, |finding| values::of(&finding))
    }

    fn passes(&self, _: &Context<'_>) -> Answer<Array> {
        let passes = self.view()?.passes().map_err(Fault::from)?;
        self.listed(passes, |pass| values::of(&pass))
    }

    fn view(&self) -> Result<View, Fault> {
        Ok(self.session()?.view()?)
    }

    fn events(&self, _: &Context<'_>) -> Array {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().map(|kind| (*kind).into()).collect()
    }
}

/// What tells of it.
impl Host {
    fn expect(&self, context: &Context<'_>, met: bool, text: &str) -> Answer<()> {
        self.guard.keep(text.len())?;
        let place = context.call_position().into();
        let mut all = self
            .expectations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.push(Expectation {
            text: text.to_owned(),
            met,
            place,
        });
        Ok(())
    }

    fn log(&self, context: &Context<'_>, a: Dynamic) -> Answer<()> {
        self.log_all(context, [a])
    }

    fn log_number(&self, context: &Context<'_>, a: f64) -> Answer<()> {
        self.log_all(context, [a.into()])
    }

    fn log2(&self, context: &Context<'_>, a: Dynamic, b: Dynamic) -> Answer<()> {
        self.log_all(context, [a, b])
    }

    fn log3(&self, context: &Context<'_>, a: Dynamic, b: Dynamic, c: Dynamic) -> Answer<()> {
        self.log_all(context, [a, b, c])
    }

    fn log_all<const N: usize>(&self, context: &Context<'_>, all: [Dynamic; N]) -> Answer<()> {
        let mut words = Vec::new();
        for word in all {
            // The engine's `to_string` knows our types.
            words.push(context.call_native_fn::<ImmutableString>("to_string", (word,))?);
        }
        (self.log)(&words.join(" "));
        Ok(())
    }
}

/// Why reading records ended before the last.
enum ReadEnd {
    /// The script may not go on; it is told why elsewhere.
    Stopped,
    Db(DbError),
}

impl From<DbError> for ReadEnd {
    fn from(error: DbError) -> Self {
        Self::Db(error)
    }
}

/// An answer out of `#{inspected: […], residue: "…"}`.
fn submission(guard: &Guard, verdict: &str, mut evidence: Map) -> Answer<Submission> {
    let bad = |what: &str| Fault::new("script-evidence-invalid", what);
    let inspected = match evidence.remove("inspected") {
        None => Array::new(),
        Some(value) => value
            .try_cast::<Array>()
            .ok_or_else(|| bad("inspected is an array of locations"))?,
    };
    let residue = match evidence.remove("residue") {
        None => String::new(),
        Some(value) => value.into_string().map_err(|_| bad("residue is text"))?,
    };
    if let Some(key) = evidence.keys().next() {
        let message = format!("evidence is inspected and residue, not {key:?}");
        return Err(bad(&message).into());
    }
    Ok(Submission {
        verdict: Verdict::parse(verdict).map_err(|e| Fault::new(e.code(), e.to_string()))?,
        inspected: modal::texts(guard, inspected)?,
        residue,
        via: Via::Script,
        ..Submission::default()
    })
}
