//! A record's `reason`: what the caller says, and what is noted behind it.

use alloc::format;
use alloc::string::String;

use crate::error::{PolicyError, codes, quote};
use crate::paths;

/// The longest reason, in bytes, annotations and all.
pub const MAX_REASON_BYTES: usize = 4096;
/// The longest reason a caller may give, in bytes: the rest is for annotations.
pub const MAX_CALLER_REASON_BYTES: usize = 3072;

/// Whether `reason` has at most `most` bytes, none of them of a control character.
pub(crate) fn check_reason(reason: &str, most: usize) -> Result<(), PolicyError> {
    let detail = if reason.len() > most {
        format!("{} bytes, at most {most}", reason.len())
    } else if reason.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Ok(());
    } else if let Some(c) = reason.chars().find(|c| c.is_control()) {
        format!("control character U+{:04X}", u32::from(c))
    } else {
        return Ok(());
    };
    Err(PolicyError::new(codes::ATTESTATION_REASON_INVALID, detail))
}

/// A record's `reason`: what the caller says, how the verdict came in (`via`:
/// `terminal`, `pipe`, `command`, `script`; empty where that is not to be
/// said), and which values of its path had to be replaced
/// ([`EncodedPath::substituted`](crate::EncodedPath::substituted)), each set off
/// by one blank.
///
/// # Errors
///
/// `attestation-reason-invalid`: over [`MAX_CALLER_REASON_BYTES`], control
/// characters, or a way or a segment there is not.
///
/// ```
/// use ghyll_policy::annotate_reason;
///
/// assert_eq!(
///     annotate_reason("looks right", "pipe", &["context"])?,
///     "looks right via:pipe path-truncated:context"
/// );
/// # Ok::<(), ghyll_policy::PolicyError>(())
/// ```
pub fn annotate_reason<T: AsRef<str>>(
    reason: &str,
    via: &str,
    substituted: &[T],
) -> Result<String, PolicyError> {
    let none = |what, name| {
        PolicyError::new(
            codes::ATTESTATION_REASON_INVALID,
            format!("no such {what}: {}", quote(name)),
        )
    };
    check_reason(reason, MAX_CALLER_REASON_BYTES)?;
    let mut out = String::from(reason);
    let mut annotate = |key: &str, value: &str| {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(key);
        out.push_str(value);
    };
    match via {
        "" => {}
        "terminal" | "pipe" | "command" | "script" => annotate("via:", via),
        other => return Err(none("way for a verdict to come in", other)),
    }
    for segment in substituted.iter().map(AsRef::as_ref) {
        if !paths::SEGMENTS.contains(&segment) {
            return Err(none("segment of a path", segment));
        }
        annotate("path-truncated:", segment);
    }
    // Each of the four once is all a path can say; more would outgrow a reason.
    check_reason(&out, MAX_REASON_BYTES)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(reason: &str, via: &str, substituted: &[&str]) -> &'static str {
        annotate_reason(reason, via, substituted).unwrap_err().code
    }

    #[test]
    fn annotations_in_their_order() {
        for (reason, via, substituted, whole) in [
            ("", "", &[][..], ""),
            ("said", "", &[], "said"),
            ("", "terminal", &[], "via:terminal"),
            (
                "said",
                "script",
                &["context", "pass-id"],
                "said via:script path-truncated:context path-truncated:pass-id",
            ),
            ("", "", &["stratum"], "path-truncated:stratum"),
        ] {
            assert_eq!(annotate_reason(reason, via, substituted).unwrap(), whole);
        }
        let most = "x".repeat(3072);
        assert!(annotate_reason(&most, "command", &paths::SEGMENTS).is_ok());
        let invalid = "attestation-reason-invalid";
        assert_eq!(code(&(most + "x"), "", &[]), invalid);
        assert_eq!(code("a\nb", "", &[]), invalid);
        assert_eq!(code("", "mail", &[]), invalid);
        assert_eq!(code("", "", &["version"]), invalid);
        assert_eq!(code("", "", &["context"; 200]), invalid);
    }
}
