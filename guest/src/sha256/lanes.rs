//! Four messages hashed at once (FIPS 180-4, with four words for each word).
//!
//! Messages differ in length: when one is done, its lane goes on with the next,
//! so that lanes stand idle only at the very end.

use alloc::vec;
use alloc::vec::Vec;

use super::words::Words;
use super::{Block, Digest, Message};

const LANES: usize = 4;

const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

#[rustfmt::skip]
static CONSTANTS: [[u32; 16]; 4] = [
    [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    ],
    [
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    ],
    [
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    ],
    [
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ],
];

/// The hashes of `messages`.
pub(super) fn digests(messages: &[Message<'_>]) -> Vec<Digest> {
    let mut found = vec![[0; 32]; messages.len()];
    let mut waiting = messages.iter().enumerate();
    let mut lanes: [Lane<'_>; LANES] =
        core::array::from_fn(|_| waiting.next().map(Lane::new).unwrap_or_default());
    let mut state = INITIAL.map(Words::splat);
    while lanes.iter().any(|lane| lane.left > 0) {
        compress(&mut state, lanes.each_mut().map(Lane::next));
        for (at, lane) in lanes.iter_mut().enumerate() {
            if lane.left > 0 {
                continue;
            }
            let digest = take(&mut state, at);
            if let Some(place) = lane.number.and_then(|number| found.get_mut(number)) {
                *place = digest;
            }
            *lane = waiting.next().map(Lane::new).unwrap_or_default();
        }
    }
    found
}

/// The hash that a lane has come to; the lane is made ready for another one.
fn take(state: &mut [Words; 8], lane: usize) -> Digest {
    let mut hash = [0; 32];
    let (places, _) = hash.as_chunks_mut::<4>();
    for ((words, place), first) in state.iter_mut().zip(places).zip(INITIAL) {
        let mut each = words.get();
        if let Some(word) = each.get_mut(lane) {
            *place = core::mem::replace(word, first).to_be_bytes();
        }
        *words = Words::of(each);
    }
    hash
}

/// A message on its way, block by block.
struct Lane<'a> {
    /// Which message it is.
    number: Option<usize>,
    head: Block,
    whole: &'a [Block],
    /// What is left behind the whole blocks, and the length behind that.
    tail: [Block; 2],
    tail_blocks: usize,
    /// Blocks that are still to come.
    left: usize,
}

impl Default for Lane<'_> {
    /// An idle one.
    fn default() -> Self {
        Self {
            number: None,
            head: [0; 64],
            whole: &[],
            tail: [[0; 64]; 2],
            tail_blocks: 0,
            left: 0,
        }
    }
}

impl<'a> Lane<'a> {
    fn new((number, message): (usize, &'a Message<'_>)) -> Self {
        let (whole, rest) = message.body.as_chunks::<64>();
        let head_blocks = usize::from(message.head.is_some());
        let mut tail = [[0; 64]; 2];
        let behind = rest.iter().chain(message.last).chain(&[0x80]);
        for (place, byte) in tail.as_flattened_mut().iter_mut().zip(behind) {
            *place = *byte;
        }
        // A byte that ends the message, and its length, come on top.
        let tail_blocks = (rest.len() + message.last.len() + 1 + 8).div_ceil(64);
        let bytes = head_blocks * 64 + message.body.len() + message.last.len();
        let end = tail.get_mut(tail_blocks - 1);
        if let Some(length) = end.and_then(|block| block.last_chunk_mut()) {
            *length = (bytes as u64 * 8).to_be_bytes();
        }
        Self {
            number: Some(number),
            head: message.head.unwrap_or([0; 64]),
            whole,
            tail,
            tail_blocks,
            left: head_blocks + whole.len() + tail_blocks,
        }
    }

    /// The block that is next; of an idle lane, any.
    fn next(&mut self) -> &Block {
        let left = self.left;
        self.left = left.saturating_sub(1);
        let [first, second] = &self.tail;
        match left.checked_sub(self.tail_blocks) {
            None | Some(0) if left < 2 && self.tail_blocks == 2 => second,
            None | Some(0) => first,
            Some(before) => {
                let at = self.whole.len().checked_sub(before);
                at.and_then(|at| self.whole.get(at)).unwrap_or(&self.head)
            }
        }
    }
}

/// One step of all four.
#[inline(never)]
fn compress(state: &mut [Words; 8], blocks: [&Block; LANES]) {
    let quarter = |at: usize| {
        Words::gathered(blocks.map(|block| block.as_chunks::<16>().0.get(at).unwrap_or(&[0; 16])))
    };
    let [mut w0, mut w1, mut w2, mut w3] = quarter(0);
    let [mut w4, mut w5, mut w6, mut w7] = quarter(1);
    let [mut w8, mut w9, mut w10, mut w11] = quarter(2);
    let [mut w12, mut w13, mut w14, mut w15] = quarter(3);
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;

    macro_rules! round {
        ($a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident $word:ident $constant:expr) => {
            let sum = $e.rotated(6) ^ $e.rotated(11) ^ $e.rotated(25);
            let choice = $g ^ ($e & ($f ^ $g));
            let one = $h + sum + choice + Words::splat($constant) + $word;
            let sum = $a.rotated(2) ^ $a.rotated(13) ^ $a.rotated(22);
            let majority = $b ^ (($a ^ $b) & ($b ^ $c));
            $d = $d + one;
            $h = one + sum + majority;
        };
    }
    // The word 16 places on, by those 1, 9 and 14 places on.
    macro_rules! schedule {
        ($($word:ident $one:ident $nine:ident $fourteen:ident)*) => {
            $(
                $word = $word
                    + ($one.rotated(7) ^ $one.rotated(18) ^ $one.shifted(3))
                    + $nine
                    + ($fourteen.rotated(17) ^ $fourteen.rotated(19) ^ $fourteen.shifted(10));
            )*
        };
    }
    let mut first = true;
    for constants in &CONSTANTS {
        if !core::mem::take(&mut first) {
            schedule! {
                w0 w1 w9 w14   w1 w2 w10 w15  w2 w3 w11 w0    w3 w4 w12 w1
                w4 w5 w13 w2   w5 w6 w14 w3   w6 w7 w15 w4    w7 w8 w0 w5
                w8 w9 w1 w6    w9 w10 w2 w7   w10 w11 w3 w8   w11 w12 w4 w9
                w12 w13 w5 w10 w13 w14 w6 w11 w14 w15 w7 w12  w15 w0 w8 w13
            }
        }
        let [
            k0,
            k1,
            k2,
            k3,
            k4,
            k5,
            k6,
            k7,
            k8,
            k9,
            k10,
            k11,
            k12,
            k13,
            k14,
            k15,
        ] = *constants;
        round!(a b c d e f g h w0 k0);
        round!(h a b c d e f g w1 k1);
        round!(g h a b c d e f w2 k2);
        round!(f g h a b c d e w3 k3);
        round!(e f g h a b c d w4 k4);
        round!(d e f g h a b c w5 k5);
        round!(c d e f g h a b w6 k6);
        round!(b c d e f g h a w7 k7);
        round!(a b c d e f g h w8 k8);
        round!(h a b c d e f g w9 k9);
        round!(g h a b c d e f w10 k10);
        round!(f g h a b c d e w11 k11);
        round!(e f g h a b c d w12 k12);
        round!(d e f g h a b c w13 k13);
        round!(c d e f g h a b w14 k14);
        round!(b c d e f g h a w15 k15);
    }
    for (word, worked) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = *word + worked;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sha256::digest;
    use alloc::string::String;

    #[test]
    fn as_one_after_the_other() {
        let bytes: Vec<u8> = (0..300u32).map(|n| (n * 7 + n / 256) as u8).collect();
        let chain = "0123456789abcdef".repeat(4);
        // Lengths around every block's end, in lanes that end at other times.
        let messages: Vec<Message<'_>> = (0..200usize)
            .map(|n| {
                let body = &bytes[..n * 37 % 300];
                match n % 4 {
                    0 => Message::of(body),
                    1 => Message::behind(&chain[n % 64..], body, n % 8 == 1),
                    _ => Message::behind(&chain, body, n % 4 == 2),
                }
            })
            .collect();
        for count in [0, 1, 3, 4, 5, 200] {
            let messages = &messages[..count];
            let alone: Vec<Digest> = messages.iter().map(digest).collect();
            assert_eq!(digests(messages), alone);
        }
        let open = String::from("{}");
        for body in (0..200).map(|length| &bytes[..length]) {
            for message in [Message::of(body), Message::behind(&open, body, true)] {
                let alone = digest(&message);
                assert_eq!(digests(&[message]), [alone]);
            }
        }
    }
}
