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
            subject: c.subject,
            locations: c.locations,
            basis: c.basis,
            residue: c.residue,
        };
        let arrow = crate::ArrowDefinition {
            id: def.id,
            source_role: def.source_role,
            target_role: def.target_role,
            context: def.context,
            stratum: def.stratum,
        };
        crate::synthesize_hint(&clause, &arrow).into()
    }

    fn encode_hint(h: hints::Hint) -> String {
        crate::encode_hint(&h.into())
    }

    fn decode_hint(text: String) -> Result<hints::Hint, hints::PolicyError> {
        Ok(crate::decode_hint(&text)?.into())
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

    fn decode_unit_payload(text: String) -> Result<units::UnitPayload, units::PolicyError> {
        let crate::UnitPayload { inspected, residue } = crate::decode_unit_payload(&text)?;
        Ok(units::UnitPayload { inspected, residue })
    }

    fn infer_unit(payload: units::UnitPayload) -> String {
        crate::infer_unit(&payload.into()).into()
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

    fn belong(folder: String, names: Vec<String>) -> Vec<bool> {
        crate::belong(&folder, &names)
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
            paths: checked.paths,
            consumed: checked.consumed,
            cursor: checked.cursor.into(),
        }
    }

    fn attestation_id(attestation_ref: String, round: u32) -> String {
        crate::attestation_id(&attestation_ref, round)
    }

    fn ref_and_round(attestation_id: String) -> records::Answered {
        let (attestation_ref, round) = crate::ref_and_round(&attestation_id);
        records::Answered {
            attestation_ref: attestation_ref.into(),
            round,
        }
    }

    fn annotate_reason(
        reason: String,
        via: String,
        substituted: Vec<String>,
    ) -> Result<String, records::PolicyError> {
        crate::annotate_reason(&reason, &via, &substituted).map_err(Into::into)
    }

    fn verdict_severity(verdict: String) -> u8 {
        crate::verdict_severity(&verdict)
    }
}

impl operators::Guest for Policy {
    fn validate_op_id(op_id: String) -> Result<(), operators::PolicyError> {
        crate::validate_op_id(&op_id).map_err(Into::into)
    }

    fn check_grid_id(id: String) -> Result<(), operators::PolicyError> {
        crate::check_grid_id(&id).map_err(Into::into)
    }

    fn skeleton(text: String) -> String {
        crate::skeleton(&text)
    }

    fn role_key(role: String) -> String {
        crate::role_key(&role)
    }

    fn unshown() -> Vec<operators::Range> {
        let ranges = crate::unshown().iter();
        ranges
            .map(|(start, end)| operators::Range {
                start: *start,
                end: *end,
            })
            .collect()
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

/// Maps a WIT record to its type here and back; both have the same fields.
macro_rules! map_record {
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

map_record!(records::Attestation => crate::Attestation:
    attestation_id kind arrow_id clause_id op_id attested_by_role source_role target_role
    adversary_role verdict reason timestamp grid_version pass_id context stratum unit
    unit_payload_json hint_json);

map_record!(hints::Hint => crate::Hint:
    arrow_id clause_id concept attestation_ref subject locations basis residue);

map_record!(records::Span => crate::Span: offset length);

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

impl From<crate::Content> for records::Content {
    fn from(content: crate::Content) -> Self {
        match content {
            crate::Content::Written(spans) => Self::Written(spans.into()),
            crate::Content::Other(values) => Self::Other(records::Values {
                rec: values.rec.into(),
                attestation_ref: values.attestation_ref,
                chain: values.chain,
            }),
            crate::Content::NoRecord(chain) => Self::NoRecord(chain),
        }
    }
}

impl From<crate::Spans> for records::Spans {
    fn from(spans: crate::Spans) -> Self {
        let [
            attestation_id,
            kind,
            arrow_id,
            clause_id,
            op_id,
            attested_by_role,
            source_role,
            target_role,
            adversary_role,
            verdict,
            reason,
            timestamp,
            grid_version,
            pass_id,
            context,
            stratum,
            unit,
            unit_payload_json,
            hint_json,
        ] = spans.members.map(records::Span::from);
        Self {
            attestation_ref: spans.attestation_ref.into(),
            chain: spans.chain.into(),
            attestation_id,
            kind,
            arrow_id,
            clause_id,
            op_id,
            attested_by_role,
            source_role,
            target_role,
            adversary_role,
            verdict,
            reason,
            timestamp,
            grid_version,
            pass_id,
            context,
            stratum,
            unit,
            unit_payload_json,
            hint_json,
        }
    }
}

impl From<crate::CheckedLine> for records::CheckedLine {
    fn from(line: crate::CheckedLine) -> Self {
        Self {
            number: line.number,
            offset: line.offset,
            length: line.length,
            content: line.content.into(),
            round: line.round,
            chained: line.chained,
            path: line.path,
            problems: line.problems.into_iter().map(Into::into).collect(),
            warnings: line.warnings.into_iter().map(Into::into).collect(),
        }
    }
}
