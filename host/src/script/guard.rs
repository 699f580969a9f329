//! What a script may use, and the watch over it.
//!
//! Rhai bounds a value when it is read and counts nothing else: what the host
//! keeps, what waits as the argument of a call, and what only reaches itself
//! are no variables. So memory is what the program's allocator says it is,
//! looked at before every operation; and since one operation must not take
//! much more, natives that could are bounded by what they are given
//! ([`Guard::judge`]). Once a limit is reached it stays reached, so no `catch`
//! leads around it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rhai::{Array, Dynamic, EvalAltResult, EvalContext, FnPtr, Map, Position};

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
    /// Bytes of text in one value, nested values included.
    pub string: usize,
    /// Elements in one value, nested ones included.
    pub array: usize,
    /// Map entries in one value, nested ones included.
    pub map: usize,
    /// Bytes the program may hold while the script runs, beyond what it held
    /// when the script began: values, arguments, what the host keeps.
    pub memory: usize,
    /// Bytes of expectations kept for the report: texts, and what each costs.
    pub expectations: usize,
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
            map: 30_000,
            memory: 64 << 20,
            expectations: 4 << 20,
            deadline: Duration::from_secs(60),
        }
    }
}

/// Values nest at most this deep.
const NESTING: usize = 256;
/// Closures in one value, those that closures hold included.
const CLOSURES: usize = 10_000;
/// Values of up to this many parts are judged whenever they are used.
const JUDGED_ALWAYS: usize = 512;
/// What an expectation costs beside its text: itself, and its case in a report.
const EXPECTATION: usize = 96;

/// Watches one script.
pub(super) struct Guard {
    pub(super) limits: Limits,
    /// `None` if it is further off than time is counted.
    pub(super) deadline: Option<Instant>,
    /// The bytes the program holds now.
    heap: fn() -> usize,
    /// The bytes it held when the script began.
    held: usize,
    operations: AtomicU64,
    /// Bytes of expectations kept so far.
    expectations: AtomicU64,
    /// How often variables may be used before one is judged again.
    rest: AtomicU64,
    /// What was exceeded first.
    exceeded: OnceLock<String>,
    /// Values that closures share with the scope they were made in, by where
    /// they are. One of them may hold a closure that holds it, which nothing
    /// would ever free.
    shared: Mutex<HashMap<usize, Dynamic>>,
}

impl Guard {
    /// Starts the watch; `heap` tells how many bytes the program holds.
    pub(super) fn new(limits: Limits, started: Instant, heap: fn() -> usize) -> Self {
        Self {
            limits,
            deadline: started.checked_add(limits.deadline),
            heap,
            held: heap(),
            operations: AtomicU64::new(0),
            expectations: AtomicU64::new(0),
            rest: AtomicU64::new(0),
            exceeded: OnceLock::new(),
            shared: Mutex::default(),
        }
    }

    /// Counts an operation; says what is exceeded.
    pub(super) fn step(&self) -> Option<&str> {
        if self.operations.fetch_add(1, Ordering::Relaxed) >= self.limits.operations {
            self.exceed(format!("more than {} operations", self.limits.operations));
        }
        self.look()
    }

    /// Looks at time and memory; says what is exceeded, now or before.
    pub(super) fn look(&self) -> Option<&str> {
        if (self.heap)().saturating_sub(self.held) > self.limits.memory {
            self.exceed(format!("more than {} bytes of memory", self.limits.memory));
        }
        if self.deadline.is_some_and(|end| end <= Instant::now()) {
            self.exceed(self.too_late());
        }
        self.exceeded()
    }

    pub(super) fn too_late(&self) -> String {
        format!("not done after {} s", self.limits.deadline.as_secs_f64())
    }

    /// What was exceeded first, if anything was.
    pub(super) fn exceeded(&self) -> Option<&str> {
        self.exceeded.get().map(String::as_str)
    }

    /// Ends the script at its next operation.
    pub(super) fn exceed(&self, why: String) {
        self.exceeded.get_or_init(|| why);
    }

    /// The same, now.
    pub(super) fn stop(&self, why: String) -> Box<EvalAltResult> {
        self.exceed(why);
        self.stopped()
    }

    fn stopped(&self) -> Box<EvalAltResult> {
        let why = self.exceeded.get().cloned().unwrap_or_default();
        EvalAltResult::ErrorTerminated(why.into(), Position::NONE).into()
    }

    /// Within a call of the host's that goes on: time and memory.
    ///
    /// # Errors
    /// What ends the script.
    pub(super) fn go_on(&self) -> Result<(), Box<EvalAltResult>> {
        match self.look() {
            None => Ok(()),
            Some(_) => Err(self.stopped()),
        }
    }

    /// Makes room for an expectation with a text of `bytes`.
    ///
    /// # Errors
    /// What ends the script.
    pub(super) fn keep(&self, bytes: usize) -> Result<(), Box<EvalAltResult>> {
        let weight = (bytes + EXPECTATION) as u64;
        let kept = self.expectations.fetch_add(weight, Ordering::Relaxed) + weight;
        let limit = self.limits.expectations;
        if kept > limit as u64 {
            return Err(self.stop(format!("more than {limit} bytes of expectations")));
        }
        Ok(())
    }

    /// Judges a value before something is made of all that is in it.
    ///
    /// # Errors
    /// What ends the script.
    pub(super) fn judge(&self, value: &Dynamic) -> Result<(), Box<EvalAltResult>> {
        match Parts::of(value).beyond(&self.limits) {
            None => Ok(()),
            Some(why) => Err(self.stop(why)),
        }
    }

    /// Looks at a variable that is about to be used. Large ones are judged
    /// less often, for it takes as long as they are large.
    ///
    /// # Errors
    /// What ends the script.
    pub(super) fn used(
        &self,
        name: &str,
        context: &EvalContext<'_, '_, '_, '_, '_, '_>,
    ) -> Result<(), Box<EvalAltResult>> {
        let Some(value) = context.scope().get(name) else {
            return Ok(());
        };
        if value.is_shared() {
            self.remember(value)?;
        }
        let rest = self.rest.load(Ordering::Relaxed);
        if rest > 0 {
            self.rest.store(rest - 1, Ordering::Relaxed);
            return Ok(());
        }
        let parts = Parts::of(value);
        if let Some(why) = parts.beyond(&self.limits) {
            return Err(self.stop(why));
        }
        let count = parts.count();
        if count > JUDGED_ALWAYS {
            self.rest.store(count as u64 / 64, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Keeps hold of a shared value, to let go of what is in it at the end.
    fn remember(&self, value: &Dynamic) -> Result<(), Box<EvalAltResult>> {
        let Some(place) = value
            .read_lock::<Dynamic>()
            .map(|inner| std::ptr::from_ref::<Dynamic>(&inner) as usize)
        else {
            return Ok(());
        };
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let count = shared.len();
        if count >= self.limits.array && !shared.contains_key(&place) {
            return Err(self.stop(format!(
                "more than {} variables captured by closures",
                self.limits.array
            )));
        }
        shared.entry(place).or_insert_with(|| value.clone());
        Ok(())
    }

    /// Empties what closures share, so that what holds itself is freed.
    pub(super) fn let_go(&self) {
        let shared =
            std::mem::take(&mut *self.shared.lock().unwrap_or_else(PoisonError::into_inner));
        for mut value in shared.into_values() {
            let inner = value
                .write_lock::<Dynamic>()
                .map(|mut inner| std::mem::take(&mut *inner));
            drop(inner);
        }
    }
}

/// What is in a value, nested and captured ones included.
#[derive(Debug, Default)]
struct Parts {
    elements: usize,
    entries: usize,
    closures: usize,
    text: usize,
    too_deep: bool,
}

impl Parts {
    fn of(value: &Dynamic) -> Self {
        let mut parts = Self::default();
        parts.add(value, 0);
        parts
    }

    fn count(&self) -> usize {
        self.elements + self.entries + self.closures
    }

    /// What of it is too much, in words.
    fn beyond(&self, limits: &Limits) -> Option<String> {
        let most =
            |what: &str, limit: usize| Some(format!("more than {limit} {what} in one value"));
        if self.too_deep {
            Some(format!("values nested deeper than {NESTING}"))
        } else if self.elements > limits.array {
            most("array elements", limits.array)
        } else if self.entries > limits.map {
            most("map entries", limits.map)
        } else if self.closures > CLOSURES {
            most("closures", CLOSURES)
        } else if self.text > limits.string {
            most("bytes of text", limits.string)
        } else {
            None
        }
    }

    /// Values that many paths lead to are counted on each: that is what
    /// printing and comparing them costs. It ends somewhere all the same.
    fn add(&mut self, value: &Dynamic, depth: usize) {
        if self.too_deep || self.count() > 1_000_000 {
            return;
        }
        if depth > NESTING {
            self.too_deep = true;
            return;
        }
        if let Ok(text) = value.as_immutable_string_ref() {
            self.text = self.text.saturating_add(text.len());
        } else if value.is_int() || value.is_bool() || value.is_unit() {
            // Most of what there is; quickly passed over.
        } else if let Some(array) = value.read_lock::<Array>() {
            self.elements += array.len();
            array.iter().for_each(|item| self.add(item, depth + 1));
        } else if let Some(map) = value.read_lock::<Map>() {
            self.entries += map.len();
            for (key, item) in map.iter() {
                self.text = self.text.saturating_add(key.len());
                self.add(item, depth + 1);
            }
        } else if let Some(function) = value.read_lock::<FnPtr>() {
            self.closures += 1;
            function
                .iter_curry()
                .for_each(|item| self.add(item, depth + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn guard(heap: fn() -> usize) -> Guard {
        Guard::new(Limits::default(), Instant::now(), heap)
    }

    #[test]
    fn memory_is_counted_from_where_the_script_began() {
        static HELD: AtomicUsize = AtomicUsize::new(1 << 30);
        let guard = guard(|| HELD.load(Ordering::Relaxed));
        assert_eq!(guard.step(), None);
        HELD.fetch_add(64 << 20, Ordering::Relaxed);
        assert_eq!(guard.step(), None);
        HELD.fetch_add(1, Ordering::Relaxed);
        let why = Some("more than 67108864 bytes of memory");
        assert_eq!(guard.look(), why);
        // Freed or not: what was exceeded stays so.
        HELD.store(0, Ordering::Relaxed);
        assert_eq!(guard.step(), why);
        assert!(guard.go_on().is_err());
    }

    #[test]
    fn expectations_are_weighed_with_what_each_costs() {
        let guard = guard(|| 0);
        let most = (4 << 20) / (100 + EXPECTATION);
        assert!((0..most).all(|_| guard.keep(100).is_ok()));
        assert!(guard.keep(100).is_err());
        assert!(guard.step().is_some());
    }

    #[test]
    fn a_value_is_judged_by_all_that_is_in_it() {
        let judged = |value: Dynamic| {
            let guard = guard(|| 0);
            let judged = guard.judge(&value);
            assert_eq!(judged.is_err(), guard.exceeded().is_some());
            guard.exceeded().unwrap_or_default().to_owned()
        };
        let text = Dynamic::from("x".repeat(1 << 20));
        let ok: Array = vec![text.clone(); 4];
        assert_eq!(judged(ok.into()), "");
        let much: Array = vec![text; 5];
        assert!(judged(much.into()).contains("bytes of text"));
        let map: Map = (0..30_001)
            .map(|i| (format!("{i}").into(), Dynamic::UNIT))
            .collect();
        assert!(judged(map.into()).contains("map entries"));
        let row: Array = vec![Dynamic::UNIT; 10_000];
        let rows: Array = vec![row.into(); 2];
        assert!(judged(rows.into()).contains("array elements"));
    }
}
