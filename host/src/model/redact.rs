//! Keeps a key out of what comes back: an endpoint may repeat it.
//!
//! Text comes in pieces, so what may be the beginning of the key is held back
//! until more has come.

/// What stands for the key.
const INSTEAD: &str = "[key]";
/// Of a shorter text nobody could say whether it is the key.
const MIN: usize = 8;

/// Takes one key out of a text that comes in pieces.
pub(super) struct Redactor<'k> {
    key: Option<&'k str>,
    held: String,
}

impl<'k> Redactor<'k> {
    pub(super) fn new(key: Option<&'k str>) -> Self {
        Self {
            key: key.filter(|key| key.len() >= MIN),
            held: String::new(),
        }
    }

    /// What of the text so far, and of `more`, can be shown.
    pub(super) fn push(&mut self, more: &str) -> String {
        self.held.push_str(more);
        let Some(key) = self.key else {
            return std::mem::take(&mut self.held);
        };
        let clear = self.held.replace(key, INSTEAD);
        let keep = (1..key.len())
            .rev()
            .filter_map(|n| key.get(..n))
            .find(|start| clear.ends_with(start))
            .map_or(0, str::len);
        let (shown, held) = clear.split_at(clear.len() - keep);
        let (shown, held) = (shown.to_owned(), held.to_owned());
        self.held = held;
        shown
    }

    /// What was held back and is no key after all.
    pub(super) fn end(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// A whole text without the key.
pub(super) fn redact(text: &str, key: Option<&str>) -> String {
    let mut redactor = Redactor::new(key);
    let mut clear = redactor.push(text);
    clear.push_str(&redactor.end());
    clear
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_out_however_it_is_cut_and_the_rest_stays() {
        let key = "sk-sk-secret";
        let text = "sk- a sk-sk-secret b sk-sk-sk-secret sk-sk-secre";
        let clear = "sk- a [key] b sk-[key] sk-sk-secre";
        assert_eq!(redact(text, Some(key)), clear);
        for size in 1..text.len() {
            let mut redactor = Redactor::new(Some(key));
            let mut seen = String::new();
            for piece in text.as_bytes().chunks(size) {
                seen.push_str(&redactor.push(std::str::from_utf8(piece).unwrap()));
            }
            seen.push_str(&redactor.end());
            assert_eq!(seen, clear, "in pieces of {size}");
        }
        assert_eq!(redact("a b", Some("a")), "a b", "too short to be one");
        assert_eq!(redact(text, None), text);
    }
}
