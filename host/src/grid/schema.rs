//! The JSON Schema of a grid, for editors: what they complete, explain and
//! underline. It is made from the table of keys the parser reads by, and says
//! less than the parser: `ghyll grid check` has the last word.

use std::io;

use cap_std::fs::Dir;
use serde_json::{Map, Value, json};

use super::SCHEMA_FILE;
use super::files::replace;
use super::keys::{GRID, Key, Shape};

/// The schema, of draft 7, which editors know.
#[must_use]
pub fn schema() -> Value {
    let mut schema = map(GRID);
    if let Value::Object(entries) = &mut schema {
        entries.insert(
            "$schema".to_owned(),
            json!("http://json-schema.org/draft-07/schema#"),
        );
        entries.insert("title".to_owned(), json!("A grid of ghyll"));
    }
    schema
}

/// The schema as a file has it.
#[must_use]
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// Writes the schema to where a grid in this `.ghyll` directory names it.
///
/// # Errors
/// Those of the disk; what was there before still is.
pub fn write_schema(ghyll: &Dir) -> io::Result<()> {
    replace(ghyll, SCHEMA_FILE, schema_text().as_bytes())
}

fn map(keys: &[Key]) -> Value {
    let mut properties = Map::new();
    for key in keys {
        let mut value = shape(key.shape);
        if let Value::Object(entries) = &mut value {
            entries.insert("description".to_owned(), json!(key.about));
        }
        properties.insert(key.name.to_owned(), value);
    }
    let required: Vec<&str> = keys
        .iter()
        .filter(|key| key.required)
        .map(|key| key.name)
        .collect();
    let mut map = json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    });
    // What only one kind of clause has.
    if keys.iter().any(|key| key.name == "run")
        && let Value::Object(entries) = &mut map
    {
        entries.insert(
            "if".to_owned(),
            json!({ "properties": { "eval": { "const": "machine" } } }),
        );
        entries.insert("then".to_owned(), json!({ "required": ["run"] }));
        entries.insert(
            "else".to_owned(),
            json!({ "properties": { "run": false, "timeout-s": false } }),
        );
    }
    map
}

fn shape(shape: Shape) -> Value {
    // A plain number is taken as its text.
    match shape {
        Shape::Text => json!({ "type": ["string", "number"], "pattern": r"\S" }),
        Shape::Id => json!({ "type": ["string", "number"], "pattern": r"^\S+$" }),
        Shape::Positive { max, default } => {
            let mut value = json!({ "type": "integer", "minimum": 1, "maximum": max });
            if let (Some(default), Value::Object(entries)) = (default, &mut value) {
                entries.insert("default".to_owned(), json!(default));
            }
            value
        }
        // Arguments may be anything that is written on one line.
        Shape::Texts => json!({
            "type": "array", "minItems": 1,
            "items": { "type": ["string", "number", "boolean"] },
        }),
        Shape::Word(words) => json!({ "enum": words }),
        Shape::Maps(keys) => json!({ "type": "array", "minItems": 1, "items": map(keys) }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::{ARROW, CLAUSE};
    use super::super::{Grid, Settings};
    use super::*;

    #[test]
    fn the_schema_has_every_key_and_no_other() {
        let schema = schema();
        for (at, keys) in [
            ("", GRID),
            ("/properties/arrows/items", ARROW),
            ("/properties/arrows/items/properties/clauses/items", CLAUSE),
        ] {
            let map = schema.pointer(at).unwrap();
            assert_eq!(map["additionalProperties"], false);
            let properties = map["properties"].as_object().unwrap();
            assert_eq!(
                properties.keys().collect::<Vec<_>>(),
                keys.iter().map(|key| key.name).collect::<Vec<_>>()
            );
            for (name, value) in properties {
                assert!(
                    value["description"]
                        .as_str()
                        .is_some_and(|text| !text.is_empty()),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn what_the_schema_requires_and_defaults_the_parser_does_too() {
        let schema = schema();
        let full = json!({ "arrows": [{
            "id": "A", "source-role": "a", "target-role": "b", "stratum": "s", "context": "c",
            "clauses": [{ "id": "C", "concept": "c", "eval": "attested" }],
        }]});
        let parse = |grid: &Value| Grid::judge(&grid.to_string(), std::path::Path::new("g"));
        let grid = parse(&full).unwrap();
        for (at, schema_at) in [
            ("", ""),
            ("/arrows/0", "/properties/arrows/items"),
            (
                "/arrows/0/clauses/0",
                "/properties/arrows/items/properties/clauses/items",
            ),
        ] {
            let required = schema.pointer(schema_at).unwrap()["required"]
                .as_array()
                .unwrap();
            let given = full.pointer(at).unwrap().as_object().unwrap();
            assert_eq!(required.len(), given.len(), "{at}");
            for key in required {
                let mut less = full.clone();
                let map = less.pointer_mut(at).unwrap().as_object_mut().unwrap();
                assert!(map.remove(key.as_str().unwrap()).is_some());
                assert!(parse(&less).is_err(), "{at} without {key}");
            }
        }
        let Settings {
            insufficient_basis_rounds_max,
            residue_note_max_bytes,
            modal_pending_max_len,
        } = grid.settings;
        let default = |key: &str| schema["properties"][key]["default"].as_u64().unwrap();
        assert_eq!(
            default("insufficient-basis-rounds-max"),
            u64::from(insufficient_basis_rounds_max)
        );
        assert_eq!(
            default("residue-note-max-bytes"),
            u64::from(residue_note_max_bytes)
        );
        assert_eq!(
            default("modal-pending-max-len"),
            modal_pending_max_len as u64
        );
    }
}
