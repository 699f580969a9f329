//! The proof that the audit tree survives: crashes, faults and damage, made by
//! the hundred, and what has to be true after each.
//!
//! Small numbers of each run with the other tests (`tests/survive.rs`); the
//! `campaign` binary runs as many as it is told to.

pub mod damage;
pub mod fault;
pub mod fixture;
pub mod kill;
pub mod limits;
pub mod recover;
pub mod syscall;

/// Random enough for a campaign, and the same again from the same seed.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that always fall the same way for a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}
