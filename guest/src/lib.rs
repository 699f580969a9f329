//! The judgement every ghyll host shares: pure functions over plain data.
//!
//! A host owns files, clocks and people. What a valid attestation record is,
//! where it belongs, how its bytes read and whether a file of them is whole is
//! decided here, so that two hosts cannot come to two answers. Nothing in this
//! crate does I/O, reads a clock, draws randomness or keeps state.
//!
//! The same code is used in two ways: as this library, and, built for
//! `wasm32-unknown-unknown` with the feature `component`, as the WebAssembly
//! component `ghyll:policy`, which imports nothing. The functions and types here
//! mirror the component's WIT one to one.
//!
//! | WIT interface | functions |
//! |---|---|
//! | `hints` | [`synthesize_hint`], [`encode_hint`], [`decode_hint`], [`attestation_ref`] |
//! | `units` | [`validate_unit_payload`], [`encode_unit_payload`], [`decode_unit_payload`], [`infer_unit`] |
//! | `paths` | [`encode_attestation_path`], [`belong`] |
//! | `records` | [`validate`], [`encode_line`], [`check_lines`], [`attestation_id`], [`ref_and_round`], [`annotate_reason`], [`verdict_severity`] |
//! | `operators` | [`validate_op_id`], [`check_grid_id`], [`skeleton`], [`role_key`], [`unshown`] |
//!
//! No function panics, whatever its input. Time is linear in the input.

#![no_std]
#![deny(missing_docs)]
#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

extern crate alloc;

mod attestation;
mod canonical;
mod check;
#[cfg(all(target_arch = "wasm32", feature = "component"))]
mod component;
mod error;
mod hex;
mod hints;
mod ids;
mod json;
mod line;
mod operators;
mod parse;
mod paths;
mod reason;
mod records;
mod roles;
mod scan;
mod sha256;
mod timestamp;
mod unicode;
mod units;
mod verdict;

pub use attestation::Attestation;
pub use check::{
    Checked, CheckedLine, Content, Cursor, MAX_CHUNK_BYTES, MAX_CHUNK_LINES, Span, Spans, Surface,
    Values, check_lines,
};
pub use error::{PolicyError, codes};
pub use hints::{
    ArrowDefinition, Clause, Hint, MAX_HINT_LOCATION_BYTES, MAX_HINT_LOCATIONS,
    MAX_STATEMENT_BYTES, decode_hint, encode_hint, synthesize_hint,
};
pub use ids::{MAX_GRID_VERSION, MAX_ROUND, attestation_id, attestation_ref, ref_and_round};
pub use line::{EncodedLine, GENESIS, MAX_LINE_BYTES, encode_line};
pub use operators::{MAX_OP_ID_BYTES, check_grid_id, validate_op_id};
pub use paths::{EncodedPath, belong, encode_attestation_path};
pub use reason::{MAX_CALLER_REASON_BYTES, MAX_REASON_BYTES, annotate_reason};
pub use records::{Limits, validate};
pub use roles::role_key;
pub use unicode::{skeleton, unshown};
pub use units::{
    DEFAULT_MAX_RESIDUE_BYTES, UnitPayload, decode_unit_payload, encode_unit_payload, infer_unit,
    validate_unit_payload,
};
pub use verdict::verdict_severity;
