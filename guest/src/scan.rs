//! Looking for bytes, eight at a time.

/// Every byte of a word.
#[inline(always)]
pub(crate) const fn every(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The bytes of `word` that are zero, by their highest bit; right for the first
/// such byte and everything before it.
#[inline(always)]
pub(crate) const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(every(1)) & !word & every(0x80)
}

/// How many bytes come before the first that `is`, given a test of eight bytes
/// at once that marks them by their highest bit.
#[inline(always)]
pub(crate) fn position(
    bytes: &[u8],
    marks: impl Fn(u64) -> u64,
    is: impl Fn(u8) -> bool,
) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut at = 0;
    for word in words {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(at + marks.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let behind = rest.iter().position(|byte| is(*byte))?;
    Some(at + behind)
}

/// Where `wanted` is first.
#[inline(always)]
pub(crate) fn find(bytes: &[u8], wanted: u8) -> Option<usize> {
    position(
        bytes,
        |word| zeros(word ^ every(wanted)),
        |byte| byte == wanted,
    )
}

/// Whether both are the same.
pub(crate) fn same(one: &[u8], other: &[u8]) -> bool {
    let (words, rest) = one.as_chunks::<8>();
    let (others, other_rest) = other.as_chunks::<8>();
    let equal =
        |(one, other): (&[u8; 8], &[u8; 8])| u64::from_ne_bytes(*one) == u64::from_ne_bytes(*other);
    one.len() == other.len() && words.iter().zip(others).all(equal) && rest == other_rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_found_anywhere() {
        for at in 0..20 {
            let text = [&[b'x'; 20][..at], b"\n", &[b'y'; 20][at..]].concat();
            assert_eq!(find(&text, b'\n'), Some(at));
        }
        assert_eq!(find(b"abcdefghijk\x0b\x8a", b'\n'), None);
    }

    #[test]
    fn a_difference_is_seen_anywhere() {
        let text = [b'x'; 20];
        for length in 0..20 {
            let one = &text[..length];
            assert!(same(one, &text[..length]));
            assert!(!same(one, &text[..length + 1]));
            for at in 0..length {
                let mut other = one.to_vec();
                other[at] = b'y';
                assert!(!same(one, &other));
            }
        }
    }
}
