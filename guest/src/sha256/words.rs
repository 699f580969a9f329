//! Four words, one of each of four messages, that are worked on together.

use core::ops::{Add, BitAnd, BitXor};

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod held {
    use core::arch::wasm32 as simd;

    pub(super) type Held = simd::v128;

    #[inline(always)]
    pub(super) fn of([a, b, c, d]: [u32; 4]) -> Held {
        simd::u32x4(a, b, c, d)
    }
    #[inline(always)]
    pub(super) fn splat(word: u32) -> Held {
        simd::u32x4_splat(word)
    }
    #[inline(always)]
    pub(super) fn get(held: Held) -> [u32; 4] {
        [
            simd::u32x4_extract_lane::<0>(held),
            simd::u32x4_extract_lane::<1>(held),
            simd::u32x4_extract_lane::<2>(held),
            simd::u32x4_extract_lane::<3>(held),
        ]
    }
    #[inline(always)]
    pub(super) fn add(one: Held, other: Held) -> Held {
        simd::u32x4_add(one, other)
    }
    #[inline(always)]
    pub(super) fn xor(one: Held, other: Held) -> Held {
        simd::v128_xor(one, other)
    }
    #[inline(always)]
    pub(super) fn and(one: Held, other: Held) -> Held {
        simd::v128_and(one, other)
    }
    #[inline(always)]
    pub(super) fn left(held: Held, by: u32) -> Held {
        simd::u32x4_shl(held, by)
    }
    #[inline(always)]
    pub(super) fn right(held: Held, by: u32) -> Held {
        simd::u32x4_shr(held, by)
    }
    #[inline(always)]
    pub(super) fn low(one: Held, other: Held) -> Held {
        simd::u32x4_shuffle::<0, 4, 1, 5>(one, other)
    }
    #[inline(always)]
    pub(super) fn high(one: Held, other: Held) -> Held {
        simd::u32x4_shuffle::<2, 6, 3, 7>(one, other)
    }
}

/// The same without such instructions.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod held {
    use core::array::from_fn;

    pub(super) type Held = [u32; 4];

    pub(super) fn of(words: [u32; 4]) -> Held {
        words
    }
    pub(super) fn splat(word: u32) -> Held {
        [word; 4]
    }
    pub(super) fn get(held: Held) -> [u32; 4] {
        held
    }
    pub(super) fn add(one: Held, other: Held) -> Held {
        from_fn(|at| one[at].wrapping_add(other[at]))
    }
    pub(super) fn xor(one: Held, other: Held) -> Held {
        from_fn(|at| one[at] ^ other[at])
    }
    pub(super) fn and(one: Held, other: Held) -> Held {
        from_fn(|at| one[at] & other[at])
    }
    pub(super) fn left(held: Held, by: u32) -> Held {
        held.map(|word| word << by)
    }
    pub(super) fn right(held: Held, by: u32) -> Held {
        held.map(|word| word >> by)
    }
    pub(super) fn low([a, b, ..]: Held, [c, d, ..]: Held) -> Held {
        [a, c, b, d]
    }
    pub(super) fn high([.., a, b]: Held, [.., c, d]: Held) -> Held {
        [a, c, b, d]
    }
}

/// Four words.
#[derive(Clone, Copy)]
pub(super) struct Words(held::Held);

impl Words {
    #[inline(always)]
    pub(super) fn of(words: [u32; 4]) -> Self {
        Self(held::of(words))
    }

    #[inline(always)]
    pub(super) fn splat(word: u32) -> Self {
        Self(held::splat(word))
    }

    #[inline(always)]
    pub(super) fn get(self) -> [u32; 4] {
        held::get(self.0)
    }

    #[inline(always)]
    pub(super) fn shifted(self, by: u32) -> Self {
        Self(held::right(self.0, by))
    }

    #[inline(always)]
    pub(super) fn rotated(self, by: u32) -> Self {
        self.shifted(by) ^ Self(held::left(self.0, 32 - by))
    }

    /// Each word's bytes in the other order.
    #[inline(always)]
    fn turned(self) -> Self {
        // Hidden from the compiler, which would make one shuffle of it all; that
        // is a call out of the component where the engine is to do with the
        // oldest processors' instructions.
        let odd = Self::splat(core::hint::black_box(0x00ff_00ff));
        let pairs = Self(held::left((self & odd).0, 8)) ^ (self.shifted(8) & odd);
        pairs.rotated(16)
    }

    /// Four words of each of four messages, so that those at the same place are
    /// together; they stand highest byte first.
    #[inline(always)]
    pub(super) fn gathered(messages: [&[u8; 16]; 4]) -> [Self; 4] {
        let [a, b, c, d] = messages.map(|bytes| {
            let (words, _) = bytes.as_chunks::<4>();
            held::of(core::array::from_fn(|at| {
                words.get(at).map_or(0, |word| u32::from_le_bytes(*word))
            }))
        });
        let (ac_low, ac_high) = (held::low(a, c), held::high(a, c));
        let (bd_low, bd_high) = (held::low(b, d), held::high(b, d));
        [
            held::low(ac_low, bd_low),
            held::high(ac_low, bd_low),
            held::low(ac_high, bd_high),
            held::high(ac_high, bd_high),
        ]
        .map(|words| Self(words).turned())
    }
}

impl Add for Words {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(held::add(self.0, other.0))
    }
}

impl BitXor for Words {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self(held::xor(self.0, other.0))
    }
}

impl BitAnd for Words {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(held::and(self.0, other.0))
    }
}
