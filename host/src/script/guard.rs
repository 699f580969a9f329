//! What a script may use, and the watch over it.
//!
//! Rhai bounds each value and each scope; the guard bounds what they come to
//! together, counts operations across the functions that modals call, and
//! holds the deadline. Once a limit is reached it stays reached, so no `catch`
//! leads around it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rhai::{Array, Dynamic, EvalContext, FnPtr, Map};

/// What a script may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Operations, all told.
    pub operations: u64,
    /// How deep calls may nest.
    pub calls: usize,
    /// How deep expressions may nest.
    pub expressions: usize,
    /// Variables in one scope.
    pub variables: usize,
    /// Bytes of text in one value.
    pub string: usize,
    /// Elements in one value, nested ones included.
    pub array: usize,
    /// Map entries in one value, nested ones included.
    pub map: usize,
    /// Bytes in all variables together, roughly.
    pub memory: usize,
    /// Time by the clock on the wall, commands of machine clauses included.
    pub deadline: Duration,
}

impl Default for Limits {
    /// Thousands of verdicts, and an end within a minute.
    fn default() -> Self {
        Self {
            operations: 2_000_000,
            calls: 32,
            expressions: 64,
            variables: 256,
            string: 4 << 20,
            array: 20_000,
            map: 100_000,
            memory: 64 << 20,
            deadline: Duration::from_secs(60),
        }
    }
}

/// Values nest at most this deep.
const NESTING: usize = 256;
/// Below this many values, variables are weighed whenever one is used.
const WEIGHED_ALWAYS: usize = 4096;

/// Watches one script.
pub(super) struct Guard {
    pub(super) limits: Limits,
    pub(super) deadline: Instant,
    operations: AtomicU64,
    scales: Mutex<Scales>,
}

#[derive(Default)]
struct Scales {
    /// Bytes in the variables of each call level, as last weighed.
    levels: Vec<usize>,
    /// How often a variable may be used before they are weighed again.
    rest: usize,
}

impl Guard {
    pub(super) fn new(limits: Limits, started: Instant) -> Self {
        Self {
            limits,
            deadline: started + limits.deadline,
            operations: AtomicU64::new(0),
            scales: Mutex::default(),
        }
    }

    /// Counts an operation; says what is exceeded.
    pub(super) fn step(&self) -> Option<String> {
        if self.operations.fetch_add(1, Ordering::Relaxed) >= self.limits.operations {
            return Some(format!("more than {} operations", self.limits.operations));
        }
        self.late()
    }

    /// Whether time is up, in words.
    pub(super) fn late(&self) -> Option<String> {
        (Instant::now() >= self.deadline).then(|| self.too_late())
    }

    pub(super) fn too_late(&self) -> String {
        format!("not done after {} s", self.limits.deadline.as_secs_f64())
    }

    /// Weighs the variables in scope; says what is exceeded. Large scopes are
    /// weighed less often, for it takes as long as they are large.
    pub(super) fn weigh(&self, context: &EvalContext<'_, '_, '_, '_, '_, '_>) -> Option<String> {
        let level = context.call_level();
        let mut scales = self.scales.lock().unwrap_or_else(PoisonError::into_inner);
        if scales.levels.len() == level + 1 && scales.rest > 0 {
            scales.rest -= 1;
            return None;
        }
        let mut weight = Weight {
            limit: self.limits.memory,
            ..Weight::default()
        };
        for (_, _, value) in context.scope().iter_raw() {
            weight.add(value, 0);
        }
        if weight.too_deep {
            return Some(format!("values nested deeper than {NESTING}"));
        }
        scales.levels.resize(level + 1, 0);
        if let Some(last) = scales.levels.last_mut() {
            *last = weight.bytes;
        }
        scales.rest = if weight.values < WEIGHED_ALWAYS {
            0
        } else {
            weight.values / 256
        };
        let total: usize = scales.levels.iter().sum();
        (total > self.limits.memory).then(|| format!("more than {} bytes", self.limits.memory))
    }
}

#[derive(Default)]
struct Weight {
    limit: usize,
    bytes: usize,
    values: usize,
    too_deep: bool,
}

impl Weight {
    fn add(&mut self, value: &Dynamic, depth: usize) {
        if self.bytes > self.limit || self.too_deep {
            return;
        }
        if depth > NESTING {
            self.too_deep = true;
            return;
        }
        self.values += 1;
        self.bytes += size_of::<Dynamic>();
        if let Ok(text) = value.as_immutable_string_ref() {
            self.bytes += text.len();
        } else if let Some(array) = value.read_lock::<Array>() {
            array.iter().for_each(|item| self.add(item, depth + 1));
        } else if let Some(map) = value.read_lock::<Map>() {
            for (key, item) in map.iter() {
                self.bytes += size_of_val(key) + key.len();
                self.add(item, depth + 1);
            }
        } else if let Some(function) = value.read_lock::<FnPtr>() {
            function
                .iter_curry()
                .for_each(|item| self.add(item, depth + 1));
        }
    }
}
