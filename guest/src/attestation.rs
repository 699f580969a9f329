//! The record itself, and the same borrowed.
//!
//! Rules are written for the borrowed form, so that a record that is still the
//! bytes of its line is judged where it stands, without a copy of anything.

use alloc::string::String;

macro_rules! fields {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// One verdict, immutable once written.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
        pub struct Attestation {
            $($(#[$doc])* pub $field: String,)*
            /// The grid the arrow was declared in, from 1 to
            /// [`MAX_GRID_VERSION`](crate::MAX_GRID_VERSION).
            pub grid_version: u64,
        }

        /// A record's fields, wherever they stand.
        #[derive(Debug, Clone, Copy, Default)]
        pub(crate) struct Fields<'a> {
            $(pub(crate) $field: &'a str,)*
            pub(crate) grid_version: u64,
        }

        impl<'a> From<&'a Attestation> for Fields<'a> {
            fn from(rec: &'a Attestation) -> Self {
                Self {
                    $($field: &rec.$field,)*
                    grid_version: rec.grid_version,
                }
            }
        }
    };
}

fields! {
    /// The ref answered; from the second round on with `.r<k>` behind it.
    attestation_id,
    /// `depth-type` (one clause) or `on-the-spot` (a whole arrow).
    kind,
    /// The arrow.
    arrow_id,
    /// Empty exactly when the kind is `on-the-spot`.
    clause_id,
    /// The human who answers for it.
    op_id,
    /// In which role; never one of the arrow's own.
    attested_by_role,
    /// Who hands over.
    source_role,
    /// Who takes over.
    target_role,
    /// Empty but for a three-role chain.
    adversary_role,
    /// `pass`, `fail`, `insufficient-basis`, `accepted-risk`, `route-upstream`.
    verdict,
    /// Free text and annotations, at most
    /// [`MAX_REASON_BYTES`](crate::MAX_REASON_BYTES), no control characters.
    reason,
    /// RFC 3339, UTC (`Z`), exactly nine fractional digits.
    timestamp,
    /// The traversal of the arrow the verdict belongs to.
    pass_id,
    /// The arrow's context.
    context,
    /// The arrow's stratum.
    stratum,
    /// `confirm`, `record-locations-inspected`, `write-residue-note`.
    unit,
    /// JSON text of the evidence, see [`encode_unit_payload`](crate::encode_unit_payload).
    unit_payload_json,
    /// JSON text of the hint shown, `{}` when there was none.
    hint_json,
}
