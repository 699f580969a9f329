//! Time and identity, as the session sees them.
//!
//! Both come through one trait, so that a replay with a given clock and seed
//! writes the same bytes twice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

/// Where timestamps and ids come from.
pub trait Clock: Send + Sync {
    /// The time, UTC.
    fn now(&self) -> Timestamp;
    /// A new UUIDv7.
    fn new_id(&self) -> Uuid;
}

/// RFC 3339, UTC, nine fractional digits: the form records carry.
pub fn rfc3339(time: Timestamp) -> String {
    format!("{time:.9}")
}

/// The moment right after an RFC 3339 time; `None` if it is none.
pub fn just_after(time: &str) -> Option<String> {
    let time: Timestamp = time.parse().ok()?;
    time.checked_add(Duration::from_nanos(1)).ok().map(rfc3339)
}

/// The first moment of what an operator means by a day or a time: an RFC 3339
/// time, or a date, which is taken as UTC.
///
/// # Errors
/// If it is neither, in words.
pub fn since(text: &str) -> Result<String, String> {
    let is_day = text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok();
    let time: Result<Timestamp, _> = match is_day {
        true => format!("{text}T00:00:00Z").parse(),
        false => text.parse(),
    };
    time.map(rfc3339).map_err(|_| {
        format!("{text:?} is neither a day (2026-01-31) nor a time (2026-01-31T10:00:00Z)")
    })
}

/// The machine's clock and its random numbers.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn new_id(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// A clock that starts at a given time, advances by a fixed step whenever it
/// is read, and draws ids from a seed.
#[derive(Debug)]
pub struct ReplayClock {
    start: Timestamp,
    seed: u64,
    reads: AtomicU64,
    ids: AtomicU64,
}

impl ReplayClock {
    /// How far each reading advances the clock.
    const STEP: Duration = Duration::from_millis(1);

    /// A clock that first reads `start`.
    pub fn new(start: Timestamp, seed: u64) -> Self {
        Self {
            start,
            seed,
            reads: AtomicU64::new(0),
            ids: AtomicU64::new(0),
        }
    }
}

impl Clock for ReplayClock {
    fn now(&self) -> Timestamp {
        let reads = self.reads.fetch_add(1, Ordering::Relaxed);
        let elapsed = Self::STEP.saturating_mul(u32::try_from(reads).unwrap_or(u32::MAX));
        self.start.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    fn new_id(&self) -> Uuid {
        let n = self.ids.fetch_add(1, Ordering::Relaxed);
        let digest = Sha256::new()
            .chain_update(self.seed.to_be_bytes())
            .chain_update(n.to_be_bytes())
            .finalize();
        let mut random = [0; 10];
        random
            .iter_mut()
            .zip(digest.iter())
            .for_each(|(to, from)| *to = *from);
        let millis = u64::try_from(self.now().as_millisecond()).unwrap_or(0);
        Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_clock_repeats_itself_and_never_stands_still() {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let (a, b) = (ReplayClock::new(start, 1), ReplayClock::new(start, 1));
        assert_eq!(rfc3339(a.now()), "2026-01-01T00:00:00.000000000Z");
        assert_eq!(rfc3339(a.now()), "2026-01-01T00:00:00.001000000Z");
        b.now();
        b.now();
        assert_eq!(a.new_id(), b.new_id());
        assert_ne!(a.new_id(), a.new_id());
        assert_eq!(a.new_id().get_version_num(), 7);
    }
}
