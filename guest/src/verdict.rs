//! Verdicts, and which of several counts.

/// How much a verdict outweighs others where several answer the same round of
/// one ref, in clones that could not see each other: the higher counts, of
/// equals the later by timestamp, of those the one with the greater chain. From
/// `pass`, 1, over `accepted-risk`, `insufficient-basis` and `fail` to
/// `route-upstream`, 5; 0 for what is no verdict.
///
/// ```
/// use ghyll_policy::verdict_severity;
///
/// assert!(verdict_severity("fail") > verdict_severity("pass"));
/// ```
#[must_use]
pub fn verdict_severity(verdict: &str) -> u8 {
    match verdict {
        "pass" => 1,
        "accepted-risk" => 2,
        "insufficient-basis" => 3,
        "fail" => 4,
        "route-upstream" => 5,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_outweigh_each_other() {
        let order = [
            "",
            "pass",
            "accepted-risk",
            "insufficient-basis",
            "fail",
            "route-upstream",
        ];
        assert!(order.is_sorted_by_key(|verdict| verdict_severity(verdict)));
        assert_eq!(order.map(verdict_severity), [0, 1, 2, 3, 4, 5]);
    }
}
