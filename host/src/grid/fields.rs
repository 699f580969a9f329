//! Typed fields off a YAML tree, their problems collected.
//!
//! A field that is missing or of the wrong kind is reported once and reads as
//! empty, so that the rules that follow can go on without asking why.

use std::path::Path;

use super::error::{Problem, quoted};
use super::ids::IdRules;
use super::keys::Key;
use super::yaml::{self, Node, Value};

/// A key whose value is a positive integer, with its codes.
pub(super) struct IntegerKey {
    pub(super) name: &'static str,
    pub(super) not_integer: &'static str,
    pub(super) not_positive: &'static str,
    pub(super) too_large: &'static str,
    pub(super) max: u64,
}

macro_rules! integer_key {
    ($name:literal, $max:expr) => {
        IntegerKey {
            name: $name,
            not_integer: concat!($name, "-must-be-integer"),
            not_positive: concat!($name, "-must-be-positive"),
            too_large: concat!($name, "-too-large"),
            max: $max,
        }
    };
}
pub(super) use integer_key;

/// The problems found so far.
pub(super) struct Check<'a> {
    pub(super) file: &'a Path,
    pub(super) rules: &'a dyn IdRules,
    pub(super) problems: Vec<Problem>,
}

/// A map's entries and where it starts.
#[derive(Clone, Copy)]
pub(super) struct Map<'n> {
    line: usize,
    entries: &'n [(yaml::Key, Node)],
}

impl<'n> Map<'n> {
    /// The value of `key`; null counts as absent.
    pub(super) fn get(self, key: &str) -> Option<&'n Node> {
        self.raw(key).filter(|node| !node.is_null())
    }

    /// The value of `key`, null or not.
    pub(super) fn raw(self, key: &str) -> Option<&'n Node> {
        let entry = self.entries.iter().find(|(known, _)| known.text == key);
        entry.map(|(_, node)| node)
    }
}

/// A text field. Empty when there was a problem with it, already reported, or
/// when it is optional and absent.
#[derive(Default)]
pub(super) struct Text {
    pub(super) value: String,
    pub(super) line: usize,
}

impl Text {
    /// The value of an optional field.
    pub(super) fn given(self) -> Option<String> {
        Some(self.value).filter(|value| !value.is_empty())
    }
}

impl Check<'_> {
    /// A role as roles are compared. That there is no answer is told where ids
    /// are held against each other.
    pub(super) fn role_key(&self, role: &Text) -> Option<String> {
        self.rules.role_key(&role.value).ok()
    }

    /// Whether two names that were given mean the same role.
    pub(super) fn same_role(&self, one: &Text, other: &Text) -> bool {
        let given = !one.value.is_empty() && !other.value.is_empty();
        given
            && self
                .role_key(one)
                .is_some_and(|key| self.role_key(other) == Some(key))
    }

    pub(super) fn report(&mut self, line: usize, code: &'static str, message: String) {
        self.problems.push(Problem {
            file: self.file.to_owned(),
            line,
            code,
            message,
        });
    }

    /// A map, its keys checked against the `known` ones.
    pub(super) fn map<'n>(&mut self, node: &'n Node, what: &str, known: &[Key]) -> Option<Map<'n>> {
        let known: Vec<&str> = known.iter().map(|key| key.name).collect();
        let entries = match &node.value {
            Value::Map(entries) => entries,
            Value::Alias => return None,
            Value::Scalar { .. } | Value::List(_) => {
                let message = format!("{what} must be a map with the keys {}", known.join(", "));
                self.report(node.line, "grid-must-be-map", message);
                return None;
            }
        };
        for (key, _) in entries {
            if !known.contains(&key.text.as_str()) {
                let message = unknown_key(&key.text, what, &known);
                self.report(key.line, "grid-key-unknown", message);
            }
        }
        let line = node.line;
        Some(Map { line, entries })
    }

    /// The items of a list that must have some.
    pub(super) fn list<'n>(
        &mut self,
        map: Map<'n>,
        key: &str,
        empty: &'static str,
        not_list: &'static str,
    ) -> &'n [Node] {
        let line = map.raw(key).map_or(map.line, |node| node.line);
        match map.get(key).map(|node| &node.value) {
            Some(Value::List(items)) if !items.is_empty() => return items,
            Some(Value::Alias) => {}
            None | Some(Value::List(_)) => {
                self.report(line, empty, format!("{key:?} needs at least one entry"));
            }
            Some(_) => self.report(line, not_list, format!("{key:?} must be a list")),
        }
        &[]
    }

    /// A positive integer of at most `key.max`, and its line. Null is a value
    /// here: a limit that is named must be set.
    pub(super) fn positive(&mut self, map: Map<'_>, key: &IntegerKey) -> Option<(u64, usize)> {
        let node = map.raw(key.name)?;
        let name = key.name;
        let (sign, digits) = match &node.value {
            Value::Alias => return None,
            Value::Scalar { text, plain: true } => match text.strip_prefix('-') {
                Some(digits) => ("-", digits),
                None => ("", text.strip_prefix('+').unwrap_or(text)),
            },
            _ => ("", ""),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let message = format!("{name} must be an integer, in digits and unquoted");
            self.report(node.line, key.not_integer, message);
            return None;
        }
        if sign == "-" || digits.bytes().all(|byte| byte == b'0') {
            let message = format!("{name} must be at least 1");
            self.report(node.line, key.not_positive, message);
            return None;
        }
        // Digits that do not parse are too many.
        match digits.parse::<u64>() {
            Ok(value) if value <= key.max => Some((value, node.line)),
            _ => {
                let message = format!("{name} must be at most {}", key.max);
                self.report(node.line, key.too_large, message);
                None
            }
        }
    }

    /// A text field: not blank and, if `required`, there. A plain number is
    /// its text.
    pub(super) fn text(&mut self, map: Map<'_>, key: &str, required: bool) -> Text {
        let Some(node) = map.get(key) else {
            if required {
                let line = map.raw(key).map_or(map.line, |node| node.line);
                self.report(line, "grid-field-missing", format!("{key:?} is missing"));
            }
            return Text::default();
        };
        let line = node.line;
        match &node.value {
            Value::Alias => {}
            Value::Scalar { text, .. } if !node.is_bool() => {
                if !text.trim().is_empty() {
                    let value = text.clone();
                    return Text { value, line };
                }
                self.report(line, "grid-field-blank", format!("{key:?} is blank"));
            }
            _ => {
                let message = format!("{key:?} must be text; quote it if it is meant as such");
                self.report(line, "grid-field-must-be-text", message);
            }
        }
        Text::default()
    }
}

fn unknown_key(key: &str, what: &str, known: &[&str]) -> String {
    let shown = quoted(key);
    let nearest = known
        .iter()
        .map(|known| (known.len(), *known))
        // Comparing takes the product of the lengths.
        .filter(|(len, _)| key.len() <= 2 * len)
        .map(|(len, known)| (strsim::damerau_levenshtein(key, known), len, known))
        .min();
    match nearest {
        // A third of the letters wrong is still a slip of the pen.
        Some((distance, len, nearest)) if distance <= 1 + len / 3 => {
            format!("{what} has no key {shown}; did you mean {nearest:?}?")
        }
        _ => format!("{what} has no key {shown}; it has {}", known.join(", ")),
    }
}
