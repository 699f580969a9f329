//! The rules ids are judged by, asked of the policy component.
//!
//! What may stand in an id, when two look alike and how one becomes a path is
//! the component's to say, as another host has to say the same. Judging a grid
//! sees only this trait, so that its own tests need no component.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::policy::{Attestation, Policy, PolicyError};

/// What is asked about the ids of a grid (of arrows, clauses, roles, contexts
/// and strata).
pub trait IdRules {
    /// Whether `id` has only characters that can be seen and told apart.
    ///
    /// # Errors
    /// In words: what it has that it may not.
    fn check_id(&self, id: &str) -> Result<(), String>;

    /// What `id` looks like: equal for two that a person cannot tell apart.
    ///
    /// # Errors
    /// In words: why there is no answer.
    fn skeleton(&self, id: &str) -> Result<String, String>;

    /// What roles are compared by: two with the same key are one.
    ///
    /// # Errors
    /// In words: why there is no answer.
    fn role_key(&self, role: &str) -> Result<String, String>;

    /// The path segments of a context, a stratum and the roles source,
    /// adversary (may be empty) and target, in this order; `None` where they
    /// cannot stand in a record at all.
    ///
    /// # Errors
    /// In words: why there is no answer.
    fn segments(
        &self,
        context: &str,
        stratum: &str,
        roles: [&str; 3],
    ) -> Result<Option<[String; 3]>, String>;
}

/// Rules that are asked once about the same: roles and contexts come back in
/// arrow after arrow, and asking the component costs more than remembering.
pub(super) struct Remembered<'a> {
    rules: &'a dyn IdRules,
    checks: RefCell<HashMap<String, Result<(), String>>>,
    skeletons: RefCell<HashMap<String, Result<String, String>>>,
    role_keys: RefCell<HashMap<String, Result<String, String>>>,
    segments: RefCell<HashMap<[String; 5], Segments>>,
}

type Segments = Result<Option<[String; 3]>, String>;

impl<'a> Remembered<'a> {
    pub(super) fn new(rules: &'a dyn IdRules) -> Self {
        Self {
            rules,
            checks: RefCell::default(),
            skeletons: RefCell::default(),
            role_keys: RefCell::default(),
            segments: RefCell::default(),
        }
    }
}

impl IdRules for Remembered<'_> {
    fn check_id(&self, id: &str) -> Result<(), String> {
        let mut known = self.checks.borrow_mut();
        let ask = || self.rules.check_id(id);
        known.entry(id.to_owned()).or_insert_with(ask).clone()
    }

    fn skeleton(&self, id: &str) -> Result<String, String> {
        let mut known = self.skeletons.borrow_mut();
        let ask = || self.rules.skeleton(id);
        known.entry(id.to_owned()).or_insert_with(ask).clone()
    }

    fn role_key(&self, role: &str) -> Result<String, String> {
        let mut known = self.role_keys.borrow_mut();
        let ask = || self.rules.role_key(role);
        known.entry(role.to_owned()).or_insert_with(ask).clone()
    }

    fn segments(&self, context: &str, stratum: &str, roles: [&str; 3]) -> Segments {
        let mut known = self.segments.borrow_mut();
        let [source, adversary, target] = roles;
        let key = [context, stratum, source, adversary, target].map(str::to_owned);
        let ask = || self.rules.segments(context, stratum, roles);
        known.entry(key).or_insert_with(ask).clone()
    }
}

/// The rules of the embedded component, loaded once for the process.
pub(super) fn component() -> &'static dyn IdRules {
    static RULES: OnceLock<Component> = OnceLock::new();
    RULES.get_or_init(|| Component(Policy::load().map(Arc::new)))
}

struct Component(Result<Arc<Policy>, PolicyError>);

impl IdRules for Component {
    fn check_id(&self, id: &str) -> Result<(), String> {
        let policy = self.0.as_ref().map_err(PolicyError::to_string)?;
        policy.check_grid_id(id).map_err(|e| e.to_string())
    }

    fn skeleton(&self, id: &str) -> Result<String, String> {
        let policy = self.0.as_ref().map_err(PolicyError::to_string)?;
        policy.skeleton(id).map_err(|e| e.to_string())
    }

    fn role_key(&self, role: &str) -> Result<String, String> {
        let policy = self.0.as_ref().map_err(PolicyError::to_string)?;
        policy.role_key(role).map_err(|e| e.to_string())
    }

    fn segments(
        &self,
        context: &str,
        stratum: &str,
        [source, adversary, target]: [&str; 3],
    ) -> Result<Option<[String; 3]>, String> {
        let policy = self.0.as_ref().map_err(PolicyError::to_string)?;
        let record = Attestation {
            attestation_id: String::new(),
            kind: String::new(),
            arrow_id: String::new(),
            clause_id: String::new(),
            op_id: String::new(),
            attested_by_role: "operator".to_owned(),
            source_role: source.to_owned(),
            target_role: target.to_owned(),
            adversary_role: adversary.to_owned(),
            verdict: String::new(),
            reason: String::new(),
            timestamp: String::new(),
            grid_version: 1,
            pass_id: "pass".to_owned(),
            context: context.to_owned(),
            stratum: stratum.to_owned(),
            unit: String::new(),
            unit_payload_json: String::new(),
            hint_json: String::new(),
        };
        let path = match policy.encode_path(&record) {
            Ok(encoded) => encoded.path,
            Err(PolicyError::Refused(_)) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let mut names = path.split('/').skip(1).map(str::to_owned);
        Ok(match (names.next(), names.next(), names.next()) {
            (Some(context), Some(stratum), Some(roles)) => Some([context, stratum, roles]),
            _ => None,
        })
    }
}
