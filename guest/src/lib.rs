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
//! | `hints` | [`synthesize_hint`], [`encode_hint`], [`attestation_ref`] |
//! | `units` | [`validate_unit_payload`], [`encode_unit_payload`] |
//! | `paths` | [`encode_attestation_path`] |
//! | `records` | [`validate`], [`encode_line`], [`check_lines`], [`attestation_id`] |
//! | `operators` | [`validate_op_id`] |
//!
//! No function panics, whatever its input. Time is linear in the input.

#![no_std]
#![deny(missing_docs)]
#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

extern crate alloc;

mod check;
#[cfg(all(target_arch = "wasm32", feature = "component"))]
mod component;
mod error;
mod hints;
mod json;
mod line;
mod operators;
mod parse;
mod paths;
mod records;
mod timestamp;
mod units;

pub use check::{
    Checked, CheckedLine, Cursor, MAX_CHUNK_BYTES, MAX_CHUNK_LINES, Surface, check_lines,
};
pub use error::{PolicyError, codes};
pub use hints::{ArrowDefinition, Clause, Hint, attestation_ref, encode_hint, synthesize_hint};
pub use line::{EncodedLine, GENESIS, MAX_LINE_BYTES, attestation_id, encode_line};
pub use operators::{MAX_OP_ID_BYTES, validate_op_id};
pub use paths::{EncodedPath, encode_attestation_path};
pub use records::{Attestation, Limits, MAX_REASON_BYTES, validate};
pub use units::{
    DEFAULT_MAX_RESIDUE_BYTES, UnitPayload, encode_unit_payload, validate_unit_payload,
};
