//! Which characters can be seen, and which texts look alike.
//!
//! The data are the Unicode standard's, see `xtask/src/unicode.rs`; which of
//! its classes mean what here is decided there, once.

mod ranges;
mod table;

use alloc::string::String;
use alloc::vec::Vec;

use ranges::{IGNORABLE, Ranges, UNSEEN, UNSHOWN};
use table::Table;

static DECOMPOSITIONS: Table = Table(include_bytes!("decompositions.bin"));
/// First character to second and composed, by turns.
static COMPOSITIONS: Table = Table(include_bytes!("compositions.bin"));
static CLASSES: Table = Table(include_bytes!("classes.bin"));
static CONFUSABLES: Table = Table(include_bytes!("confusables.bin"));

/// Below, every character composes, orders and decomposes to itself or stands
/// composed, so text of such is NFC.
const FIRST_COMBINING: char = '\u{300}';

fn within(c: char, ranges: Ranges) -> bool {
    let c = u32::from(c);
    let behind = ranges.partition_point(|(start, _)| *start <= c);
    behind
        .checked_sub(1)
        .and_then(|at| ranges.get(at))
        .is_some_and(|(_, end)| c <= *end)
}

/// Whether text that is shown may contain `c` as it is: no control, nothing
/// that reorders what is around it or breaks the line, nothing without looks.
pub(crate) fn may_be_shown(c: char) -> bool {
    match c {
        ' '..='~' => true,
        _ => !within(c, UNSHOWN),
    }
}

/// Whether `c` cannot be seen where it stands in an id. The plain blank can,
/// between others.
pub(crate) fn is_unseen(c: char) -> bool {
    match c {
        ' '..='~' => false,
        _ => within(c, UNSEEN),
    }
}

/// What text that is shown may not contain as it is: controls, what reorders
/// the text around it or breaks the line, and what has no looks. Ranges of code
/// points in order, both ends included.
#[must_use]
pub fn unshown() -> &'static [(u32, u32)] {
    UNSHOWN
}

/// Whether `text` is in normalization form C.
pub(crate) fn is_nfc(text: &str) -> bool {
    if text.chars().all(|c| c < FIRST_COMBINING) {
        return true;
    }
    composed(decomposed(text.chars()))
        .into_iter()
        .eq(text.chars())
}

/// The text's skeleton by UTS 39: two texts with the same one look alike.
///
/// ```
/// use ghyll_policy::skeleton;
///
/// assert_eq!(skeleton("C1"), skeleton("Cl"));
/// assert_ne!(skeleton("C1"), skeleton("C2"));
/// ```
#[must_use]
pub fn skeleton(text: &str) -> String {
    let mut looks = Vec::with_capacity(text.len());
    for c in decomposed(text.chars()) {
        if within(c, IGNORABLE) {
            continue;
        }
        let before = looks.len();
        looks.extend(CONFUSABLES.get(c).filter_map(char::from_u32));
        if looks.len() == before {
            looks.push(c);
        }
    }
    decomposed(looks).into_iter().collect()
}

fn class(c: char) -> u32 {
    if c < FIRST_COMBINING {
        return 0;
    }
    CLASSES.get(c).next().unwrap_or(0)
}

/// Normalization form D.
fn decomposed(text: impl IntoIterator<Item = char>) -> Vec<char> {
    let mut out = Vec::new();
    for c in text {
        if let Some(syllable) = Hangul::of(c) {
            out.extend(syllable);
            continue;
        }
        let before = out.len();
        if c >= '\u{c0}' {
            out.extend(DECOMPOSITIONS.get(c).filter_map(char::from_u32));
        }
        if out.len() == before {
            out.push(c);
        }
    }
    // Marks behind one base are ordered by class; equal ones stay in order.
    let marks = |c: &char| class(*c) != 0;
    for run in out.chunk_by_mut(|one, other| marks(one) && marks(other)) {
        if run.len() > 1 {
            order(run);
        }
    }
    out
}

/// Orders marks by class: by counting, as there are few classes, and a library's
/// sort is larger than all else here.
fn order(run: &mut [char]) {
    let mut by_class: [Vec<char>; 256] = [const { Vec::new() }; 256];
    for c in run.iter() {
        let place = usize::try_from(class(*c)).ok();
        if let Some(same) = place.and_then(|place| by_class.get_mut(place)) {
            same.push(*c);
        }
    }
    for (place, c) in run.iter_mut().zip(by_class.iter().flatten()) {
        *place = *c;
    }
}

/// Composes what is decomposed and in order: normalization form C.
fn composed(text: Vec<char>) -> Vec<char> {
    let mut out: Vec<char> = Vec::with_capacity(text.len());
    let mut starter: Option<usize> = None;
    // The class of the last character kept behind the starter.
    let mut last = 0;
    for c in text {
        let this = class(c);
        let behind = starter.is_some_and(|at| at + 1 == out.len());
        if let Some(first) = starter.and_then(|at| out.get_mut(at))
            && (behind || last < this)
            && let Some(both) = compose(*first, c)
        {
            *first = both;
            continue;
        }
        if this == 0 {
            starter = Some(out.len());
        }
        last = this;
        out.push(c);
    }
    out
}

fn compose(first: char, second: char) -> Option<char> {
    if let Some(syllable) = Hangul::compose(first, second) {
        return Some(syllable);
    }
    if second < FIRST_COMBINING {
        return None;
    }
    let mut pairs = COMPOSITIONS.get(first);
    while let (Some(known), Some(both)) = (pairs.next(), pairs.next()) {
        if known == u32::from(second) {
            return char::from_u32(both);
        }
    }
    None
}

/// Korean syllables, which are composed by arithmetic.
struct Hangul;

impl Hangul {
    const SYLLABLES: u32 = 0xac00;
    const LEADS: u32 = 0x1100;
    const VOWELS: u32 = 0x1161;
    const TAILS: u32 = 0x11a7;
    const LEAD_COUNT: u32 = 19;
    const VOWEL_COUNT: u32 = 21;
    const TAIL_COUNT: u32 = 28;

    /// The parts of a syllable.
    fn of(c: char) -> Option<impl Iterator<Item = char>> {
        let index = u32::from(c).checked_sub(Self::SYLLABLES)?;
        let per_lead = Self::VOWEL_COUNT * Self::TAIL_COUNT;
        let tail = index % Self::TAIL_COUNT;
        let parts = [
            Some(Self::LEADS + index / per_lead),
            Some(Self::VOWELS + index % per_lead / Self::TAIL_COUNT),
            (tail > 0).then_some(Self::TAILS + tail),
        ];
        (index < Self::LEAD_COUNT * per_lead)
            .then(|| parts.into_iter().flatten().filter_map(char::from_u32))
    }

    fn compose(first: char, second: char) -> Option<char> {
        let (first, second) = (u32::from(first), u32::from(second));
        let below = |number: u32, start: u32, count: u32| {
            number.checked_sub(start).filter(|index| *index < count)
        };
        let lead_and_vowel = || {
            let lead = below(first, Self::LEADS, Self::LEAD_COUNT)?;
            let vowel = below(second, Self::VOWELS, Self::VOWEL_COUNT)?;
            Some((lead * Self::VOWEL_COUNT + vowel) * Self::TAIL_COUNT)
        };
        let with_tail = || {
            let all = Self::LEAD_COUNT * Self::VOWEL_COUNT * Self::TAIL_COUNT;
            let index = below(first, Self::SYLLABLES, all)?;
            let tail = below(second, Self::TAILS, Self::TAIL_COUNT)?;
            (index.is_multiple_of(Self::TAIL_COUNT) && tail > 0).then_some(index + tail)
        };
        char::from_u32(Self::SYLLABLES + lead_and_vowel().or_else(with_tail)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn normal_forms() {
        for (text, nfc) in [
            ("", true),
            ("zoë", true),
            ("zoe\u{308}", false),
            // Reordering, composing across a mark, blocked by one.
            ("a\u{323}\u{301}", false),
            ("\u{1ea1}\u{301}", true),
            ("a\u{301}\u{323}", false),
            ("q\u{323}\u{307}", true),
            ("q\u{307}\u{323}", false),
            ("\u{1e9b}\u{323}", true),
            ("\u{344}", false),
            ("\u{212b}", false),
            ("\u{958}", false),
            ("각", true),
            ("\u{1100}\u{1161}", false),
            ("\u{ac00}\u{11a8}", false),
            ("\u{ac01}\u{11a8}", true),
            ("\u{1100}\u{11a8}", true),
            ("\u{f900}", false),
            ("\u{2fa1d}", false),
            ("\u{9c7}\u{9be}", false),
            ("\u{9cb}", true),
            ("\u{301}", true),
            ("\u{301}a", true),
        ] {
            assert_eq!(is_nfc(text), nfc, "{}", text.escape_unicode());
        }
    }

    #[test]
    fn every_character_alone_decomposes_and_composes_back() {
        for c in '\0'..=char::MAX {
            let parts = decomposed([c]);
            assert_eq!(parts, decomposed(parts.clone()), "{c:?}");
            if parts != [c] && is_nfc(&c.to_string()) {
                assert_eq!(composed(parts), [c], "{c:?}");
            }
        }
    }

    #[test]
    fn skeletons() {
        for (one, other) in [
            ("paypal", "раураl"),
            ("m", "rn"),
            ("0", "O"),
            ("A-x", "A\u{2010}x"),
            ("A-x", "A-x\u{fff0}"),
            ("a", "\u{1d41a}"),
            ("é", "e\u{301}"),
            ("∥", "||"),
        ] {
            assert_eq!(skeleton(one), skeleton(other), "{one} {other}");
        }
        for (one, other) in [("a", "b"), ("A", "a"), ("A-x", "A_x"), ("", "x")] {
            assert_ne!(skeleton(one), skeleton(other), "{one} {other}");
        }
    }

    #[test]
    fn what_is_seen_and_what_is_shown() {
        for c in ['a', 'é', '山', '🦊', '\u{301}', '\u{e000}', '\u{378}', ' '] {
            assert!(!is_unseen(c) && may_be_shown(c), "{c:?}");
        }
        for c in [
            '\0',
            '\u{9b}',
            '\u{ad}',
            '\u{200d}',
            '\u{202e}',
            '\u{2028}',
            '\u{e0041}',
        ] {
            assert!(is_unseen(c) && !may_be_shown(c), "{c:?}");
        }
        for c in [
            '\u{fe0f}',
            '\u{34f}',
            '\u{3164}',
            '\u{2800}',
            '\u{a0}',
            '\u{3000}',
            '\u{16fe4}',
        ] {
            assert!(is_unseen(c) && may_be_shown(c), "{c:?}");
        }
    }
}
