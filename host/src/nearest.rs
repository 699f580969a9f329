//! What may have been meant: the nearest of some names to a word.

/// The name most like `word`, if any is like it at all.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let likeness = |name: &str| strsim::jaro_winkler(&word.to_lowercase(), &name.to_lowercase());
    names
        .into_iter()
        .map(|name| (likeness(name), name))
        .filter(|(likeness, _)| *likeness >= 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let names = ["A-checkout", "A-refund"];
        assert_eq!(nearest("a-chekout", names).as_deref(), Some("A-checkout"));
        assert_eq!(nearest("zzz", names), None);
    }
}
