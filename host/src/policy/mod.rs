//! The policy component, as one small safe API.
//!
//! Every rule two hosts could read differently lives in the component (see
//! `wit/policy.wit`); this module is the only one that knows wasmtime. The
//! component was compiled by the build script and is embedded; here it is
//! given bounded memory, a deadline per call and nothing else, for it imports
//! nothing. A trap or an overrun is an error, and the next call starts on a
//! fresh instance.

mod config;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Store, StoreLimits, StoreLimitsBuilder};

#[allow(missing_docs)] // documented in wit/policy.wit, from which it is generated
mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "policy",
        additional_derives: [PartialEq, Eq],
    });
}

pub use bindings::exports::ghyll::policy::hints::{ArrowDefinition, Clause, Hint};
pub use bindings::exports::ghyll::policy::paths::EncodedPath;
pub use bindings::exports::ghyll::policy::records::{
    Attestation, Checked, CheckedLine, Cursor, EncodedLine, Limits, PolicyError as Refusal, Surface,
};
pub use bindings::exports::ghyll::policy::units::UnitPayload;

/// The component as committed, byte for byte.
pub const COMPONENT: &[u8] = include_bytes!("../../../guest/ghyll-policy.wasm");
/// The contract the component fulfils.
pub const WIT: &str = include_str!("../../../wit/policy.wit");
/// The contract's package and version.
pub const PACKAGE: &str = "ghyll:policy@0.1.0";

static COMPILED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ghyll-policy.cwasm"));

/// Linear memory the component may use, in bytes; the contract states it.
const MEMORY_LIMIT: usize = 128 << 20;
/// How often the epoch advances while a policy is alive.
const TICK: Duration = Duration::from_millis(20);
/// Ticks a call may take: five seconds, thousands of times what any call needs.
const DEADLINE_TICKS: u64 = 250;

/// Why the policy gave no positive answer.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The policy refuses; the code is the contract's.
    #[error("{}", .0.detail)]
    Refused(Refusal),
    /// The component could not be loaded or did not finish a call.
    #[error("the policy component failed: {0:#}")]
    Component(wasmtime::Error),
}

impl PolicyError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Refused(refusal) => &refusal.code,
            Self::Component(_) => "policy-component-failed",
        }
    }
}

impl From<Refusal> for PolicyError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A loaded policy. Calls are serialised; the component keeps no state.
pub struct Policy {
    engine: Engine,
    component: Component,
    instance: Mutex<Option<Instance>>,
}

struct Instance {
    store: Store<StoreLimits>,
    policy: bindings::Policy,
}

impl Policy {
    /// Loads the embedded component.
    ///
    /// # Errors
    /// `policy-component-failed` if this machine cannot run it.
    pub fn load() -> Result<Self, PolicyError> {
        let engine = Engine::new(&config::engine_config()).map_err(PolicyError::Component)?;
        let component = deserialize(&engine).map_err(PolicyError::Component)?;
        start_clock(&engine);
        Ok(Self {
            engine,
            component,
            instance: Mutex::new(None),
        })
    }

    /// Whether `op_id` can name an operator.
    ///
    /// # Errors
    /// The contract's codes of `validate-op-id`.
    pub fn validate_op_id(&self, op_id: &str) -> Result<(), PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_operators()
                .call_validate_op_id(&mut i.store, op_id)
        })?
        .map_err(Into::into)
    }

    /// Whether `payload` is what `unit` asks for.
    ///
    /// # Errors
    /// The contract's codes of `validate-unit-payload`.
    pub fn validate_unit_payload(
        &self,
        unit: &str,
        payload: &UnitPayload,
        limits: Limits,
    ) -> Result<(), PolicyError> {
        let max = limits.max_residue_bytes;
        self.call(|i| {
            i.policy.ghyll_policy_units().call_validate_unit_payload(
                &mut i.store,
                unit,
                payload,
                max,
            )
        })?
        .map_err(Into::into)
    }

    /// The evidence as a record carries it.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn encode_unit_payload(&self, payload: &UnitPayload) -> Result<String, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_units()
                .call_encode_unit_payload(&mut i.store, payload)
        })
    }

    /// What an operator is asked about.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn synthesize_hint(
        &self,
        clause: &Clause,
        arrow: &ArrowDefinition,
    ) -> Result<Hint, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_hints()
                .call_synthesize_hint(&mut i.store, clause, arrow)
        })
    }

    /// The hint as a record carries it.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn encode_hint(&self, hint: &Hint) -> Result<String, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_hints()
                .call_encode_hint(&mut i.store, hint)
        })
    }

    /// The ref of a clause, or of a whole arrow when `clause_id` is empty.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn attestation_ref(
        &self,
        arrow_id: &str,
        clause_id: &str,
        grid_version: u64,
    ) -> Result<String, PolicyError> {
        self.call(|i| {
            i.policy.ghyll_policy_hints().call_attestation_ref(
                &mut i.store,
                arrow_id,
                clause_id,
                grid_version,
            )
        })
    }

    /// The id of round `round` (from 1) on a ref.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn attestation_id(&self, attestation_ref: &str, round: u32) -> Result<String, PolicyError> {
        self.call(|i| {
            i.policy.ghyll_policy_records().call_attestation_id(
                &mut i.store,
                attestation_ref,
                round,
            )
        })
    }

    /// The one file of the tree the record may stand in.
    ///
    /// # Errors
    /// The contract's codes of `encode-attestation-path`.
    pub fn encode_path(&self, rec: &Attestation) -> Result<EncodedPath, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_paths()
                .call_encode_attestation_path(&mut i.store, rec)
        })?
        .map_err(Into::into)
    }

    /// Whether the record may be written.
    ///
    /// # Errors
    /// The contract's codes of `validate`.
    pub fn validate(&self, rec: &Attestation, limits: Limits) -> Result<(), PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_records()
                .call_validate(&mut i.store, rec, limits)
        })?
        .map_err(Into::into)
    }

    /// The record's line, linked to the line before it.
    ///
    /// # Errors
    /// The contract's codes of `encode-line`.
    pub fn encode_line(
        &self,
        rec: &Attestation,
        prev_chain: &str,
    ) -> Result<EncodedLine, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_records()
                .call_encode_line(&mut i.store, rec, prev_chain)
        })?
        .map_err(Into::into)
    }

    /// Judges the whole lines of a chunk.
    ///
    /// # Errors
    /// `policy-component-failed`; faults of the lines are in the answer.
    pub fn check_lines(
        &self,
        chunk: &[u8],
        cursor: &Cursor,
        limits: Limits,
    ) -> Result<Checked, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_records()
                .call_check_lines(&mut i.store, chunk, cursor, limits)
        })
    }

    fn call<T>(
        &self,
        f: impl FnOnce(&mut Instance) -> wasmtime::Result<T>,
    ) -> Result<T, PolicyError> {
        let mut slot = self.instance.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken out, so that an instance that trapped is not used again.
        let mut instance = match slot.take() {
            Some(instance) => instance,
            None => self.instantiate().map_err(PolicyError::Component)?,
        };
        instance.store.set_epoch_deadline(DEADLINE_TICKS);
        let answer = f(&mut instance).map_err(PolicyError::Component)?;
        *slot = Some(instance);
        Ok(answer)
    }

    fn instantiate(&self) -> wasmtime::Result<Instance> {
        let limits = StoreLimitsBuilder::new().memory_size(MEMORY_LIMIT).build();
        let mut store = Store::new(&self.engine, limits);
        store.limiter(|limits| limits);
        store.set_epoch_deadline(DEADLINE_TICKS);
        // An empty linker: the component gets nothing from this host.
        let linker = Linker::new(&self.engine);
        let policy = bindings::Policy::instantiate(&mut store, &self.component, &linker)?;
        Ok(Instance { store, policy })
    }
}

#[allow(unsafe_code)]
fn deserialize(engine: &Engine) -> wasmtime::Result<Component> {
    // SAFETY: COMPILED was written by this crate's build script, by the same
    // wasmtime and configuration, and is part of this binary: it is as trusted
    // as the code around it.
    unsafe { Component::deserialize(engine, COMPILED) }
}

/// Advances the engine's epoch for as long as the engine lives.
fn start_clock(engine: &Engine) {
    let engine = engine.weak();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(TICK);
            match engine.upgrade() {
                Some(engine) => engine.increment_epoch(),
                None => break,
            }
        }
    });
}
