//! The policy component, as one small safe API.
//!
//! Every rule two hosts could read differently lives in the component (see
//! `wit/policy.wit`); this module is the only one that knows wasmtime. The
//! component was compiled by the build script and is embedded; here it is
//! given bounded memory, a deadline per call and nothing else, for it imports
//! nothing. A trap or an overrun is an error, and the next call starts on a
//! fresh instance.

mod calls;
mod config;
mod lines;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Store, StoreLimits, StoreLimitsBuilder};

#[allow(missing_docs)] // documented in wit/policy.wit, from which it is generated
mod bindings {
    // A package holds its own; see `build.rs`.
    #[cfg(not(packaged))]
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "policy",
        additional_derives: [PartialEq, Eq],
    });
    #[cfg(packaged)]
    wasmtime::component::bindgen!({
        path: "packaged/wit",
        world: "policy",
        additional_derives: [PartialEq, Eq],
    });
}

pub use bindings::exports::ghyll::policy::hints::{ArrowDefinition, Clause, Hint};
pub use bindings::exports::ghyll::policy::paths::EncodedPath;
pub use bindings::exports::ghyll::policy::records::{
    Answered, Attestation, Cursor, EncodedLine, Limits, PolicyError as Refusal, Surface,
};
pub use bindings::exports::ghyll::policy::units::UnitPayload;
pub use lines::{Checked, CheckedLine};

/// The component as committed, byte for byte.
pub const COMPONENT: &[u8] = include_bytes!(env!("GHYLL_COMPONENT"));
/// The contract the component fulfils.
pub const WIT: &str = include_str!(concat!(env!("GHYLL_WIT"), "/policy.wit"));
/// The contract's package and version.
pub const PACKAGE: &str = "ghyll:policy@0.2.0";

static COMPILED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ghyll-policy.cwasm"));

/// What text may not contain when it is shown, asked of the component when this
/// was built: ranges of characters, both ends included, in order.
static UNSHOWN: &[(char, char)] = include!(concat!(env!("OUT_DIR"), "/unshown.rs"));

/// Instances kept for the next calls; more exist while more threads call.
const KEPT_INSTANCES: usize = 8;
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

/// Whether text that is shown may contain `c` as it is: no control, nothing
/// that reorders the text around it or breaks the line, nothing without looks.
/// The component's rule (`operators.unshown`), kept as a table.
pub fn may_be_shown(c: char) -> bool {
    let behind = UNSHOWN.partition_point(|(start, _)| *start <= c);
    behind
        .checked_sub(1)
        .and_then(|at| UNSHOWN.get(at))
        .is_none_or(|(_, end)| c > *end)
}

/// A loaded policy. Any number of threads may call at once: each call takes an
/// instance of its own from a pool. The component keeps no state, so which one
/// does not matter.
pub struct Policy {
    engine: Engine,
    component: Component,
    instances: Mutex<Vec<Instance>>,
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
        start_clock(&engine).map_err(|e| PolicyError::Component(e.into()))?;
        Ok(Self {
            engine,
            component,
            instances: Mutex::default(),
        })
    }

    fn call<T>(
        &self,
        f: impl FnOnce(&mut Instance) -> wasmtime::Result<T>,
    ) -> Result<T, PolicyError> {
        let idle = || {
            self.instances
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        // Taken out, so that an instance that trapped is not used again.
        let taken = idle().pop();
        let mut instance = match taken {
            Some(instance) => instance,
            None => self.instantiate().map_err(PolicyError::Component)?,
        };
        instance.store.set_epoch_deadline(DEADLINE_TICKS);
        let answer = f(&mut instance).map_err(PolicyError::Component)?;
        let mut idle = idle();
        if idle.len() < KEPT_INSTANCES {
            idle.push(instance);
        }
        Ok(answer)
    }

    fn instantiate(&self) -> wasmtime::Result<Instance> {
        let limits = StoreLimitsBuilder::new()
            .memory_size(config::MEMORY_LIMIT)
            .build();
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
fn start_clock(engine: &Engine) -> std::io::Result<()> {
    let engine = engine.weak();
    let tick = move || {
        loop {
            std::thread::sleep(TICK);
            match engine.upgrade() {
                Some(engine) => engine.increment_epoch(),
                None => break,
            }
        }
    };
    std::thread::Builder::new().spawn(tick).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kept_table_is_the_components() {
        let kept: Vec<_> = UNSHOWN
            .iter()
            .map(|(start, end)| (u32::from(*start), u32::from(*end)))
            .collect();
        assert_eq!(Policy::load().unwrap().unshown().unwrap(), kept);
        for c in ['a', ' ', 'é', '🦊', '\u{fe0f}'] {
            assert!(may_be_shown(c), "{c:?}");
        }
        for c in [
            '\0',
            '\u{9b}',
            '\u{202e}',
            '\u{200b}',
            '\u{2028}',
            '\u{e0041}',
        ] {
            assert!(!may_be_shown(c), "{c:?}");
        }
    }

    #[test]
    fn threads_call_at_once() {
        let policy = Policy::load().unwrap();
        std::thread::scope(|scope| {
            for n in 0..16 {
                let policy = &policy;
                scope.spawn(move || {
                    for round in 1..50 {
                        let id = policy
                            .attestation_id(&format!("att-{n}-v1"), round)
                            .unwrap();
                        assert_eq!(policy.ref_and_round(&id).unwrap().round, round);
                    }
                });
            }
        });
        let idle = policy.instances.lock().unwrap().len();
        assert!((1..=KEPT_INSTANCES).contains(&idle), "{idle}");
    }
}
