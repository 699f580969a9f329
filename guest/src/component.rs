//! The library as a WebAssembly component: types are mapped, nothing decided.
//!
//! The component imports nothing, so there is nowhere a panic could be told; it
//! traps, and so ends the host's call with an error.

use alloc::string::String;
use alloc::vec::Vec;

use exports::ghyll::policy::{hints, operators, paths, records, units};

wit_bindgen::generate!({
    path: "../wit",
    world: "policy",
    generate_all,
});

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

struct Policy;

export!(Policy);

impl hints::Guest for Policy {
    fn synthesize_hint(c: hints::Clause, def: hints::ArrowDefinition) -> hints::Hint {
        let clause = crate::Clause {
            clause_id: c.clause_id,
            concept: c.concept,
            depth_type_attestation_ref: c.depth_type_attestation_ref,
        };
        let arrow = crate::ArrowDefinition {
            id: def.id,
            source_role: def.source_role,
            target_role: def.target_role,
            context: def.context,
            stratum: def.stratum,
        };
        let hint = crate::synthesize_hint(&clause, &arrow);
        hints::Hint {
            arrow_id: hint.arrow_id,
            clause_id: hint.clause_id,
            concept: hint.concept,
            attestation_ref: hint.attestation_ref,
        }
    }

    fn encode_hint(h: hints::Hint) -> String {
        crate::encode_hint(&crate::Hint {
            arrow_id: h.arrow_id,
            clause_id: h.clause_id,
            concept: h.concept,
            attestation_ref: h.attestation_ref,
        })
    }

    fn attestation_ref(arrow_id: String, clause_id: String, grid_version: u64) -> String {
        crate::attestation_ref(&arrow_id, &clause_id, grid_version)
    }
}

impl units::Guest for Policy {
    fn validate_unit_payload(
        unit: String,
        payload: units::UnitPayload,
        max_residue_bytes: u32,
    ) -> Result<(), units::PolicyError> {
        crate::validate_unit_payload(&unit, &payload.into(), max_residue_bytes).map_err(Into::into)
    }

    fn encode_unit_payload(payload: units::UnitPayload) -> String {
        crate::encode_unit_payload(&payload.into())
    }
}

impl paths::Guest for Policy {
    fn encode_attestation_path(
        rec: paths::Attestation,
    ) -> Result<paths::EncodedPath, paths::PolicyError> {
        let encoded = crate::encode_attestation_path(&rec.into())?;
        Ok(paths::EncodedPath {
            path: encoded.path,
            truncated: encoded.truncated,
            substituted: encoded.substituted.into_iter().map(Into::into).collect(),
        })
    }
}

impl records::Guest for Policy {
    fn validate(
        rec: records::Attestation,
        limits: records::Limits,
    ) -> Result<(), records::PolicyError> {
        crate::validate(&rec.into(), &limits.into()).map_err(Into::into)
    }

    fn encode_line(
        rec: records::Attestation,
        prev_chain: String,
    ) -> Result<records::EncodedLine, records::PolicyError> {
        let crate::EncodedLine { line, chain } = crate::encode_line(&rec.into(), &prev_chain)?;
        Ok(records::EncodedLine { line, chain })
    }

    fn check_lines(
        chunk: Vec<u8>,
        cursor: records::Cursor,
        limits: records::Limits,
    ) -> records::Checked {
        let checked = crate::check_lines(&chunk, &cursor.into(), &limits.into());
        // The findings are about to be copied once more; make room.
        drop(chunk);
        records::Checked {
            lines: checked.lines.into_iter().map(Into::into).collect(),
            consumed: checked.consumed,
            cursor: checked.cursor.into(),
        }
    }

    fn attestation_id(attestation_ref: String, round: u32) -> String {
        crate::attestation_id(&attestation_ref, round)
    }
}

impl operators::Guest for Policy {
    fn validate_op_id(op_id: String) -> Result<(), operators::PolicyError> {
        crate::validate_op_id(&op_id).map_err(Into::into)
    }
}

impl From<crate::PolicyError> for records::PolicyError {
    fn from(fault: crate::PolicyError) -> Self {
        Self {
            code: fault.code.into(),
            detail: fault.detail,
        }
    }
}

impl From<units::UnitPayload> for crate::UnitPayload {
    fn from(payload: units::UnitPayload) -> Self {
        Self {
            inspected: payload.inspected,
            residue: payload.residue,
        }
    }
}

impl From<records::Limits> for crate::Limits {
    fn from(limits: records::Limits) -> Self {
        Self {
            max_residue_bytes: limits.max_residue_bytes,
        }
    }
}

/// Maps a record between its two types, which have the same fields.
macro_rules! map_attestation {
    ($from:ty => $to:ty: $($field:ident)*) => {
        impl From<$from> for $to {
            fn from(rec: $from) -> Self {
                Self { $($field: rec.$field),* }
            }
        }
        impl From<$to> for $from {
            fn from(rec: $to) -> Self {
                Self { $($field: rec.$field),* }
            }
        }
    };
}

map_attestation!(records::Attestation => crate::Attestation:
    attestation_id kind arrow_id clause_id op_id attested_by_role source_role target_role
    adversary_role verdict reason timestamp grid_version pass_id context stratum unit
    unit_payload_json hint_json);

impl From<records::Cursor> for crate::Cursor {
    fn from(cursor: records::Cursor) -> Self {
        Self {
            surface: match cursor.surface {
                records::Surface::Tree(path) => crate::Surface::Tree(path),
                records::Surface::Flat => crate::Surface::Flat,
            },
            bytes: cursor.bytes,
            lines: cursor.lines,
            chain: cursor.chain,
            skipped: cursor.skipped,
            at_end: cursor.at_end,
        }
    }
}

impl From<crate::Cursor> for records::Cursor {
    fn from(cursor: crate::Cursor) -> Self {
        Self {
            surface: match cursor.surface {
                crate::Surface::Tree(path) => records::Surface::Tree(path),
                crate::Surface::Flat => records::Surface::Flat,
            },
            bytes: cursor.bytes,
            lines: cursor.lines,
            chain: cursor.chain,
            skipped: cursor.skipped,
            at_end: cursor.at_end,
        }
    }
}

impl From<crate::CheckedLine> for records::CheckedLine {
    fn from(line: crate::CheckedLine) -> Self {
        Self {
            number: line.number,
            offset: line.offset,
            length: line.length,
            rec: line.rec.map(Into::into),
            attestation_ref: line.attestation_ref,
            round: line.round,
            chain: line.chain,
            chained: line.chained,
            path: line.path,
            problems: line.problems.into_iter().map(Into::into).collect(),
            warnings: line.warnings.into_iter().map(Into::into).collect(),
        }
    }
}
