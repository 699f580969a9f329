//! Lines by a hash, 16 bytes each, so that a million fit in a few megabytes.

use std::sync::atomic::{AtomicU32, Ordering};

use sha2::{Digest, Sha256};

use crate::policy::Attestation;

/// The first half of a SHA-256.
pub(super) type Key = u128;

pub(super) fn key(bytes: &[u8]) -> Key {
    half(&Sha256::digest(bytes).into())
}

/// The first half of a digest.
pub(super) fn half(digest: &[u8; 32]) -> Key {
    let mut half = [0; 16];
    half.iter_mut()
        .zip(digest)
        .for_each(|(to, from)| *to = *from);
    Key::from_be_bytes(half)
}

/// A record, by everything it says; its chain is no part of it.
pub(super) fn rec_key(rec: &Attestation) -> Key {
    key(format!("{rec:?}").as_bytes())
}

/// The lines of a file as often as each is there, from which those found
/// elsewhere are taken away, by several threads at once.
#[derive(Default)]
pub(super) struct Keys {
    sorted: Vec<Key>,
    /// How many are left of each.
    left: Vec<AtomicU32>,
}

impl Keys {
    pub(super) fn new(mut keys: Vec<Key>) -> Self {
        keys.sort_unstable();
        let mut left: Vec<AtomicU32> = Vec::with_capacity(keys.len());
        let mut before = None;
        for key in &keys {
            match left.last_mut() {
                Some(count) if before == Some(*key) => {
                    *count.get_mut() = count.get_mut().saturating_add(1);
                }
                _ => left.push(AtomicU32::new(1)),
            }
            before = Some(*key);
        }
        keys.dedup();
        Self { sorted: keys, left }
    }

    /// Takes one away. Returns whether there was one left.
    pub(super) fn take(&self, key: Key) -> bool {
        let count = self.sorted.binary_search(&key).ok();
        count.and_then(|at| self.left.get(at)).is_some_and(|left| {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                .is_ok()
        })
    }

    /// Whether none is left.
    pub(super) fn is_empty(&self) -> bool {
        self.left
            .iter()
            .all(|left| left.load(Ordering::Relaxed) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_taken_as_often_as_it_is_there() {
        let of = |text: &str| key(text.as_bytes());
        let mut all: Vec<Key> = (0..200).map(|n| of(&n.to_string())).collect();
        all.extend([of("twice"), of("twice")]);
        let keys = Keys::new(all);
        assert!(!keys.take(of("never")));
        assert!(keys.take(of("twice")) && keys.take(of("twice")) && !keys.take(of("twice")));
        assert!(!keys.is_empty());
        for n in 0..200 {
            assert!(keys.take(of(&n.to_string())), "{n}");
        }
        assert!(keys.is_empty());
        assert!(Keys::default().is_empty() && !Keys::default().take(1));
    }
}
