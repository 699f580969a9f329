//! What a script can do to a session, and see of it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use rhai::{Array, Dynamic, Engine, EvalAltResult, INT, Map, NativeCallContext, Position};

use super::fault::Fault;
use super::modal::{self, ScriptedModal};
use super::{Expectation, Host, values};
use crate::engine::EngineError;
use crate::modal::DrainError;
use crate::session::{SessionError, Submission};
use crate::status::ArrowView;

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
    modal::register(engine);

    call!("op_id", set_op_id, id: &str);
    call!("op_id", op_id);
    call!("run_arrow", run_arrow, arrow: &str);
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
        self.outside_modal("run_arrow")?;
        let session = self.session()?;
        session
            .dispatch_until(arrow, Some(self.guard.deadline))
            .map_err(|error| match error {
                SessionError::Deadline { .. } => {
                    EvalAltResult::ErrorTerminated(self.guard.too_late().into(), Position::NONE)
                        .into()
                }
                error => Box::<EvalAltResult>::from(Fault::from(error)),
            })?;
        self.ask(context, |prompt| session.drain_pending(prompt))?;
        Ok(self.arrow(arrow)?.status.as_str().to_owned())
    }

    fn say(&self, context: &Context<'_>, text: &str) -> Answer<()> {
        self.outside_modal("say")?;
        let session = self.session()?;
        self.ask(context, |prompt| session.turn(text, prompt))
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
        let submission = submission(verdict, evidence)?;
        let session = self.session()?;
        let op_id = session.op_id().unwrap_or_default();
        let recorded = session.attest(attestation_ref, &submission, &op_id);
        Ok(recorded
            .map_err(Fault::from)?
            .row
            .rec
            .attestation_id
            .clone())
    }

    fn init_attest(&self, _: &Context<'_>) -> Answer<INT> {
        self.outside_modal("init_attest")?;
        let session = self.session()?;
        let made = session.init_attest(&session.op_id().unwrap_or_default());
        Ok(made.map_err(Fault::from)?.try_into().unwrap_or(INT::MAX))
    }

    fn restart(&self, _: &Context<'_>) -> Answer<()> {
        self.outside_modal("restart")?;
        let op_id = self.session()?.op_id();
        self.close();
        Ok(self.open(op_id.as_deref()).map_err(Fault::from)?)
    }

    /// Refuses what would ask or record while a question is open.
    fn outside_modal(&self, call: &str) -> Result<(), Fault> {
        if self.in_modal.load(Ordering::Relaxed) {
            let message = format!("{call}(…) while a question is open");
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
        let each = |row| {
            records.push(values::record(row).into());
            Ok::<_, EngineError>(())
        };
        self.session()?
            .db()
            .read(|tx| tx.each_row(arrow, each))
            .map_err(Fault::from)?;
        Ok(records)
    }

    fn pending(&self, _: &Context<'_>) -> Answer<Array> {
        let pending = self.session()?.pending().map_err(Fault::from)?;
        Ok(pending
            .into_iter()
            .map(values::request)
            .map(Dynamic::from)
            .collect())
    }

    fn findings(&self, _: &Context<'_>) -> Answer<Array> {
        let findings = self
            .session()?
            .db()
            .read(|tx| tx.findings())
            .map_err(Fault::from)?;
        Ok(findings
            .into_iter()
            .map(values::finding)
            .map(Dynamic::from)
            .collect())
    }

    fn passes(&self, _: &Context<'_>) -> Answer<Array> {
        let passes = self
            .session()?
            .db()
            .read(|tx| tx.passes())
            .map_err(Fault::from)?;
        Ok(passes
            .into_iter()
            .map(values::pass)
            .map(Dynamic::from)
            .collect())
    }

    fn events(&self, _: &Context<'_>) -> Array {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().map(|kind| (*kind).into()).collect()
    }
}

/// What tells of it.
impl Host {
    fn expect(&self, context: &Context<'_>, met: bool, text: &str) {
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
            words.push(context.call_native_fn::<rhai::ImmutableString>("to_string", (word,))?);
        }
        (self.log)(&words.join(" "));
        Ok(())
    }
}

/// An answer out of `#{inspected: […], residue: "…"}`.
fn submission(verdict: &str, mut evidence: Map) -> Result<Submission, Fault> {
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
        return Err(bad(&format!(
            "evidence is inspected and residue, not {key:?}"
        )));
    }
    Ok(Submission {
        verdict: verdict.to_owned(),
        inspected: modal::texts(inspected)?,
        residue,
    })
}
