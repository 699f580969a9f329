//! Where in the audit tree a record lives.
//!
//! The path is a pure function of the record, so that a record found elsewhere
//! was moved. Its components must be legal and distinct on every file system a
//! project may be checked out on, Windows included, and must never be able to
//! climb out of the tree: what cannot be shown safely is replaced by its hash.

mod belong;
mod segment;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::attestation::{Attestation, Fields};
use crate::error::{PolicyError, codes};
use crate::roles::{check_adversary, check_roles, is_init};
use segment::{needs_hash, push_hash, push_segment};

pub use belong::belong;

/// The values of a path that can be replaced, in their order.
pub(crate) const SEGMENTS: [&str; 4] = ["context", "stratum", "role-pair", "pass-id"];

/// A path below the root of the audit tree, with `/` between components.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct EncodedPath {
    /// The path, ASCII only.
    pub path: String,
    /// Whether any value was replaced by its hash.
    pub truncated: bool,
    /// Which: `context`, `stratum`, `role-pair`, `pass-id`, in this order.
    pub substituted: Vec<&'static str>,
}

/// The one file this record may stand in,
/// `v<N>/<context>/stratum-<S>/<role-pair>/<pass-id>.jsonl`.
///
/// Two identities may share a file (`a/b` and `a_b` read the same); nothing is
/// lost by that, as each record carries its own.
///
/// # Errors
///
/// `attestation-pass-id-empty`, and unless attested by `init`:
/// `attestation-role-invalid`, `attestation-self-cert-forbidden` (an adversary
/// who is source or target).
///
/// ```
/// use ghyll_policy::{Attestation, encode_attestation_path};
///
/// let record = Attestation {
///     source_role: "analyst".into(),
///     target_role: "architect".into(),
///     attested_by_role: "operator".into(),
///     context: "checkout".into(),
///     stratum: "domain".into(),
///     pass_id: "p1".into(),
///     grid_version: 2,
///     ..Default::default()
/// };
/// let encoded = encode_attestation_path(&record)?;
/// assert_eq!(encoded.path, "v2/checkout/stratum-domain/analyst__architect/p1.jsonl");
/// # Ok::<(), ghyll_policy::PolicyError>(())
/// ```
pub fn encode_attestation_path(rec: &Attestation) -> Result<EncodedPath, PolicyError> {
    encode(&rec.into())
}

/// [`encode_attestation_path`] of a record wherever its fields stand.
pub(crate) fn encode(rec: &Fields<'_>) -> Result<EncodedPath, PolicyError> {
    if rec.pass_id.trim().is_empty() {
        return Err(pass_id_empty());
    }
    let role_pair;
    let (context, stratum, roles) = if is_init(rec) {
        ("init", "init", "init")
    } else {
        check_roles(rec)?;
        check_adversary(rec)?;
        role_pair = match rec.adversary_role {
            "" => [rec.source_role, "__", rec.target_role].concat(),
            adversary => [rec.source_role, "__", adversary, "__", rec.target_role].concat(),
        };
        (rec.context, rec.stratum, role_pair.as_str())
    };
    let mut encoded = EncodedPath::default();
    // Room for the longest version, what does not change, and four hashes.
    let values = context.len() + stratum.len() + roles.len() + rec.pass_id.len();
    encoded.path.reserve(values + 192);
    encoded.path.push('v');
    encoded.path.push_str(&rec.grid_version.to_string());
    for (name, prefix, value, suffix) in [
        ("context", "", context, ""),
        ("stratum", "stratum-", stratum, ""),
        ("role-pair", "", roles, ""),
        ("pass-id", "", rec.pass_id, ".jsonl"),
    ] {
        encoded.path.push('/');
        encoded.path.push_str(prefix);
        if needs_hash(value, prefix.len() + suffix.len()) {
            push_hash(&mut encoded.path, value);
            encoded.truncated = true;
            encoded.substituted.push(name);
        } else {
            push_segment(&mut encoded.path, value);
        }
        encoded.path.push_str(suffix);
    }
    Ok(encoded)
}

/// The error of a record that belongs to no pass.
pub(crate) fn pass_id_empty() -> PolicyError {
    PolicyError::new(
        codes::ATTESTATION_PASS_ID_EMPTY,
        "a record belongs to a pass",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::vec;

    fn record() -> Attestation {
        Attestation {
            attested_by_role: "operator".into(),
            source_role: "analyst".into(),
            target_role: "architect".into(),
            grid_version: 1,
            pass_id: "p1".into(),
            context: "shop".into(),
            stratum: "domain".into(),
            ..Attestation::default()
        }
    }

    fn path(rec: &Attestation) -> String {
        encode_attestation_path(rec).unwrap().path
    }

    fn with_context(value: &str) -> EncodedPath {
        encode_attestation_path(&Attestation {
            context: value.into(),
            ..record()
        })
        .unwrap()
    }

    fn hashed(value: &str) -> String {
        let mut out = String::new();
        push_hash(&mut out, value);
        out
    }

    #[test]
    fn two_roles_or_three() {
        let mut rec = record();
        assert_eq!(
            path(&rec),
            "v1/shop/stratum-domain/analyst__architect/p1.jsonl"
        );
        rec.adversary_role = "breaker".into();
        rec.grid_version = u64::MAX;
        assert_eq!(
            path(&rec),
            "v18446744073709551615/shop/stratum-domain/analyst__breaker__architect/p1.jsonl"
        );
    }

    #[test]
    fn init_belongs_to_no_roles() {
        for by in ["init", " INIT\t", "Init"] {
            let rec = Attestation {
                attested_by_role: by.into(),
                source_role: "a__b".into(),
                adversary_role: "a__b".into(),
                context: "ä".into(),
                ..record()
            };
            let encoded = encode_attestation_path(&rec).unwrap();
            assert_eq!(encoded.path, "v1/init/stratum-init/init/p1.jsonl");
            assert!(!encoded.truncated);
        }
        let rec = Attestation {
            attested_by_role: "init".into(),
            pass_id: "ü".into(),
            ..record()
        };
        assert_eq!(
            encode_attestation_path(&rec).unwrap(),
            EncodedPath {
                path: format!("v1/init/stratum-init/init/{}.jsonl", hashed("ü")),
                truncated: true,
                substituted: vec!["pass-id"],
            }
        );
    }

    #[test]
    fn faults() {
        let code = |rec: &Attestation| encode_attestation_path(rec).unwrap_err().code;
        let mut rec = record();
        rec.pass_id = " \t".into();
        rec.source_role = "a__b".into();
        assert_eq!(code(&rec), "attestation-pass-id-empty");
        rec.pass_id = "p".into();
        assert_eq!(code(&rec), "attestation-role-invalid");
        for adversary in ["a__b", "__"] {
            let rec = Attestation {
                adversary_role: adversary.into(),
                ..record()
            };
            assert_eq!(code(&rec), "attestation-role-invalid");
        }
        for adversary in ["analyst", " ARCHITECT "] {
            let rec = Attestation {
                adversary_role: adversary.into(),
                ..record()
            };
            assert_eq!(code(&rec), "attestation-self-cert-forbidden");
        }
    }

    #[test]
    fn characters_are_replaced_one_for_one() {
        for (value, segment) in [
            ("a/b\\c:d*e?f<g>h|i", "a_b_c_d_e_f_g_h_i"),
            ("a b\"c'd%e~f", "a_b_c_d_e_f"),
            ("v1.2-x_y", "v1.2-x_y"),
            ("end.", "end_"),
            ("...", ".._"),
            (" ", "_"),
            (".hidden", ".hidden"),
            ("../..", ".._._"),
            ("consul", "consul"),
            ("COM0", "COM0"),
            ("COM10", "COM10"),
            ("con:", "con_"),
            ("x.con", "x.con"),
        ] {
            let encoded = with_context(value);
            assert_eq!(encoded.path.split('/').nth(1), Some(segment), "{value}");
            assert!(!encoded.truncated);
        }
    }

    #[test]
    fn what_cannot_be_shown_is_hashed() {
        for value in [
            "", ".", "..", "é", "a\nb", "a\u{7f}", "con", "PRN.txt", "Aux.", "nul.a.b", "com1",
            "LPT9.x",
        ] {
            let encoded = with_context(value);
            assert_eq!(encoded.path.split('/').nth(1), Some(hashed(value).as_str()));
            assert_eq!(encoded.substituted, ["context"], "{value:?}");
            assert!(encoded.truncated);
        }
        assert_eq!(hashed(""), "h-e3b0c44298fc1c149afbf4c8996fb924");
    }

    #[test]
    fn a_component_is_at_most_255_bytes_with_its_affixes() {
        for (limit, segment) in [(255, "context"), (247, "stratum"), (249, "pass-id")] {
            for (len, substituted) in [(limit, false), (limit + 1, true)] {
                let mut rec = record();
                let value = "x".repeat(len);
                match segment {
                    "context" => rec.context = value,
                    "stratum" => rec.stratum = value,
                    _ => rec.pass_id = value,
                }
                let encoded = encode_attestation_path(&rec).unwrap();
                assert_eq!(encoded.truncated, substituted, "{segment} {len}");
                assert_eq!(encoded.substituted == [segment], substituted);
                assert!(encoded.path.split('/').all(|c| c.len() <= 255));
            }
        }
        let rec = Attestation {
            source_role: "s".repeat(200),
            target_role: "t".repeat(54),
            ..record()
        };
        assert_eq!(
            encode_attestation_path(&rec).unwrap().substituted,
            ["role-pair"]
        );
    }

    #[test]
    fn several_are_named_in_order() {
        let rec = Attestation {
            context: String::new(),
            stratum: "ä".into(),
            source_role: "ö".into(),
            pass_id: "nul".into(),
            ..record()
        };
        let encoded = encode_attestation_path(&rec).unwrap();
        assert_eq!(
            encoded.substituted,
            ["context", "stratum", "role-pair", "pass-id"]
        );
        assert_eq!(
            encoded.path,
            format!(
                "v1/{}/stratum-{}/{}/{}.jsonl",
                hashed(""),
                hashed("ä"),
                hashed("ö__architect"),
                hashed("nul")
            )
        );
    }
}
