//! The component's functions, one method each.

use super::{
    Answered, ArrowDefinition, Attestation, Checked, Clause, Cursor, EncodedLine, EncodedPath,
    Hint, Limits, Policy, PolicyError, UnitPayload,
};

impl Policy {
    /// Whether `id` can be an id of a grid (arrow, clause, role, context,
    /// stratum), as far as its characters go.
    ///
    /// # Errors
    /// `grid-id-invalid-characters`.
    pub fn check_grid_id(&self, id: &str) -> Result<(), PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_operators()
                .call_check_grid_id(&mut i.store, id)
        })?
        .map_err(Into::into)
    }

    /// The skeleton of a text by UTS 39: two with the same one look alike.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn skeleton(&self, text: &str) -> Result<String, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_operators()
                .call_skeleton(&mut i.store, text)
        })
    }

    /// A role's name as names are compared: two with the same key are one role.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn role_key(&self, role: &str) -> Result<String, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_operators()
                .call_role_key(&mut i.store, role)
        })
    }

    /// Ranges of what text that is shown may not contain; [`may_be_shown`] has
    /// them as they were when this was built.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn unshown(&self) -> Result<Vec<(u32, u32)>, PolicyError> {
        let ranges = self.call(|i| i.policy.ghyll_policy_operators().call_unshown(&mut i.store))?;
        Ok(ranges
            .iter()
            .map(|range| (range.start, range.end))
            .collect())
    }

    /// Whether `op_id` can name an operator.
    ///
    /// # Errors
    /// The contract's codes of `validate-op-id`.
    pub fn validate_op_id(&self, op_id: &str) -> Result<(), PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_operators()
                .call_validate_op_id(&mut i.store, op_id)
        })?
        .map_err(Into::into)
    }

    /// Whether `payload` is what `unit` asks for.
    ///
    /// # Errors
    /// The contract's codes of `validate-unit-payload`.
    pub fn validate_unit_payload(
        &self,
        unit: &str,
        payload: &UnitPayload,
        limits: Limits,
    ) -> Result<(), PolicyError> {
        let max = limits.max_residue_bytes;
        self.call(|i| {
            i.policy.ghyll_policy_units().call_validate_unit_payload(
                &mut i.store,
                unit,
                payload,
                max,
            )
        })?
        .map_err(Into::into)
    }

    /// The evidence as a record carries it.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn encode_unit_payload(&self, payload: &UnitPayload) -> Result<String, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_units()
                .call_encode_unit_payload(&mut i.store, payload)
        })
    }

    /// The evidence a record carries.
    ///
    /// # Errors
    /// `attestation-payload-malformed`.
    pub fn decode_unit_payload(&self, text: &str) -> Result<UnitPayload, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_units()
                .call_decode_unit_payload(&mut i.store, text)
        })?
        .map_err(Into::into)
    }

    /// The unit that evidence amounts to.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn infer_unit(&self, payload: &UnitPayload) -> Result<String, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_units()
                .call_infer_unit(&mut i.store, payload)
        })
    }

    /// What an operator is asked about.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn synthesize_hint(
        &self,
        clause: &Clause,
        arrow: &ArrowDefinition,
    ) -> Result<Hint, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_hints()
                .call_synthesize_hint(&mut i.store, clause, arrow)
        })
    }

    /// The hint as a record carries it.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn encode_hint(&self, hint: &Hint) -> Result<String, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_hints()
                .call_encode_hint(&mut i.store, hint)
        })
    }

    /// The hint a record carries; what it does not say is empty.
    ///
    /// # Errors
    /// `attestation-hint-malformed`.
    pub fn decode_hint(&self, text: &str) -> Result<Hint, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_hints()
                .call_decode_hint(&mut i.store, text)
        })?
        .map_err(Into::into)
    }

    /// The ref of a clause, or of a whole arrow when `clause_id` is empty.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn attestation_ref(
        &self,
        arrow_id: &str,
        clause_id: &str,
        grid_version: u64,
    ) -> Result<String, PolicyError> {
        self.call(|i| {
            i.policy.ghyll_policy_hints().call_attestation_ref(
                &mut i.store,
                arrow_id,
                clause_id,
                grid_version,
            )
        })
    }

    /// The id of round `round` (from 1) on a ref.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn attestation_id(&self, attestation_ref: &str, round: u32) -> Result<String, PolicyError> {
        self.call(|i| {
            i.policy.ghyll_policy_records().call_attestation_id(
                &mut i.store,
                attestation_ref,
                round,
            )
        })
    }

    /// The ref an id answers and which round; round 0 where the round is not
    /// written as it is counted.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn ref_and_round(&self, attestation_id: &str) -> Result<Answered, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_records()
                .call_ref_and_round(&mut i.store, attestation_id)
        })
    }

    /// A record's `reason`: what the caller says, how the verdict came in
    /// (`terminal`, `pipe`, `command`, `script`; empty says nothing), and which
    /// values of its path were replaced.
    ///
    /// # Errors
    /// `attestation-reason-invalid`.
    pub fn annotate_reason(
        &self,
        reason: &str,
        via: &str,
        substituted: &[String],
    ) -> Result<String, PolicyError> {
        self.call(|i| {
            i.policy.ghyll_policy_records().call_annotate_reason(
                &mut i.store,
                reason,
                via,
                substituted,
            )
        })?
        .map_err(Into::into)
    }

    /// How much a verdict outweighs others of the same round of one ref, from 1
    /// (`pass`) to 5 (`route-upstream`); 0 is no verdict. Of equal ones the
    /// later by timestamp counts, then the one with the greater chain.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn verdict_severity(&self, verdict: &str) -> Result<u8, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_records()
                .call_verdict_severity(&mut i.store, verdict)
        })
    }

    /// Of `names` in `folder` (below the tree's root, empty for the root), which
    /// are the path of a record or lead to one.
    ///
    /// # Errors
    /// `policy-component-failed`.
    pub fn belong(&self, folder: &str, names: &[String]) -> Result<Vec<bool>, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_paths()
                .call_belong(&mut i.store, folder, names)
        })
    }

    /// The one file of the tree the record may stand in.
    ///
    /// # Errors
    /// The contract's codes of `encode-attestation-path`.
    pub fn encode_path(&self, rec: &Attestation) -> Result<EncodedPath, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_paths()
                .call_encode_attestation_path(&mut i.store, rec)
        })?
        .map_err(Into::into)
    }

    /// Whether the record may be written.
    ///
    /// # Errors
    /// The contract's codes of `validate`.
    pub fn validate(&self, rec: &Attestation, limits: Limits) -> Result<(), PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_records()
                .call_validate(&mut i.store, rec, limits)
        })?
        .map_err(Into::into)
    }

    /// The record's line, linked to the line before it.
    ///
    /// # Errors
    /// The contract's codes of `encode-line`.
    pub fn encode_line(
        &self,
        rec: &Attestation,
        prev_chain: &str,
    ) -> Result<EncodedLine, PolicyError> {
        self.call(|i| {
            i.policy
                .ghyll_policy_records()
                .call_encode_line(&mut i.store, rec, prev_chain)
        })?
        .map_err(Into::into)
    }

    /// Judges the whole lines of a chunk.
    ///
    /// # Errors
    /// `policy-component-failed`; faults of the lines are in the answer.
    pub fn check_lines<'a>(
        &self,
        chunk: &'a [u8],
        cursor: &Cursor,
        limits: Limits,
    ) -> Result<Checked<'a>, PolicyError> {
        let checked = self.call(|i| {
            i.policy
                .ghyll_policy_records()
                .call_check_lines(&mut i.store, chunk, cursor, limits)
        })?;
        Ok(Checked::new(checked, chunk, cursor))
    }
}
