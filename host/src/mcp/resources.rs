//! What an agent can read and be told of: the grid in force, and the records
//! on each arrow.

use std::collections::BTreeMap;

use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use super::fault::Fault;
use super::place::Place;
use super::tools::newest;
use crate::grid::digest;
use crate::shape::LineObject;
use crate::view::View;

/// The grid in force.
const GRID: &str = "ghyll://grid";
/// Before an arrow's id.
const RECORDS: &str = "ghyll://attestations/";
/// The most records that are read at once, the newest.
const RECORDS_MAX: usize = 1000;
/// The most resources that one client follows.
pub(super) const FOLLOWED_MAX: usize = 256;

/// What a URI names.
enum Named {
    Grid,
    Records(String),
}

fn named(uri: &str) -> Option<Named> {
    if uri == GRID {
        return Some(Named::Grid);
    }
    uri.strip_prefix(RECORDS)
        .and_then(decoded)
        .map(Named::Records)
}

/// Whether a URI names something of ours, be it there or not.
pub(super) fn is_ours(uri: &str) -> bool {
    named(uri).is_some()
}

/// All there are.
pub(super) fn all(place: &Place) -> Result<Vec<Resource>, Fault> {
    let view = place.view()?;
    let mut all = vec![
        Resource::new(GRID, "grid")
            .with_description("The grid in force, as it is written: arrows and their clauses.")
            .with_mime_type("application/yaml"),
    ];
    for arrow in &view.grid().arrows {
        all.push(
            Resource::new(format!("{RECORDS}{}", encoded(&arrow.id)), &arrow.id)
                .with_description(format!(
                    "The newest {RECORDS_MAX} verdicts on {}, one JSON object a line, newest last.",
                    crate::text::clean(&arrow.id)
                ))
                .with_mime_type("application/jsonl"),
        );
    }
    Ok(all)
}

/// How the URIs of records are made.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{RECORDS}{{arrow}}"), "attestations")
            .with_description("The verdicts on an arrow.")
            .with_mime_type("application/jsonl"),
    ]
}

/// What a resource says.
pub(super) fn read(place: &Place, uri: &str) -> Result<ResourceContents, Fault> {
    match named(uri).ok_or_else(|| unknown(uri))? {
        Named::Grid => {
            let (_, text) = place.grid_text()?;
            Ok(ResourceContents::text(text, uri).with_mime_type("application/yaml"))
        }
        Named::Records(arrow) => {
            let view = place.view()?;
            check(&view, uri, &arrow)?;
            let mut lines = String::new();
            for row in newest(&view, Some(&arrow), RECORDS_MAX, |_| true)? {
                let line = serde_json::to_string(&LineObject(&row));
                lines.push_str(&line.map_err(|error| Fault::new("mcp-failed", error))?);
                lines.push('\n');
            }
            Ok(ResourceContents::text(lines, uri).with_mime_type("application/jsonl"))
        }
    }
}

/// A word for what a resource says now, another one when it says something
/// else.
pub(super) fn state(place: &Place, uri: &str) -> Result<String, Fault> {
    match named(uri).ok_or_else(|| unknown(uri))? {
        Named::Grid => {
            let (version, text) = place.grid_text()?;
            Ok(format!("{version} {}", digest(text.as_bytes())))
        }
        Named::Records(arrow) => {
            let view = place.view()?;
            check(&view, uri, &arrow)?;
            records_state(&view, &arrow)
        }
    }
}

fn records_state(view: &View, arrow: &str) -> Result<String, Fault> {
    let rows = newest(view, Some(arrow), RECORDS_MAX, |_| true)?;
    let chains: String = rows.iter().map(|row| row.chain.as_str()).collect();
    Ok(digest(chains.as_bytes()))
}

/// Which of what is followed says something else now; what is known of each is
/// brought up to date.
pub(super) fn changed(
    place: &Place,
    followed: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    followed
        .iter()
        .filter_map(|(uri, before)| {
            // What cannot be read just now is looked at again the next time.
            let now = state(place, uri).ok()?;
            (now != *before).then(|| (uri.clone(), now))
        })
        .collect()
}

fn check(view: &View, uri: &str, arrow: &str) -> Result<(), Fault> {
    let known =
        view.grid().arrow(arrow).is_some() || view.read(|reader| reader.knows_arrow(arrow))?;
    known.then_some(()).ok_or_else(|| unknown(uri))
}

fn unknown(uri: &str) -> Fault {
    let uri = crate::text::excerpt(uri);
    Fault::new(
        "mcp-resource-unknown",
        format!("there is no resource {uri:?}"),
    )
}

/// A refusal as the protocol has it where there is no result to put it into.
pub(super) fn error(fault: &Fault) -> ErrorData {
    let data = serde_json::to_value(fault).ok();
    match fault.code.as_str() {
        "mcp-resource-unknown" => ErrorData::resource_not_found(fault.message.clone(), data),
        "mcp-arguments-invalid" => ErrorData::invalid_params(fault.message.clone(), data),
        _ => ErrorData::internal_error(fault.message.clone(), data),
    }
}

/// An id as a part of a URI.
fn encoded(id: &str) -> String {
    let mut part = String::new();
    for byte in id.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                part.push(char::from(byte));
            }
            _ => part.push_str(&format!("%{byte:02X}")),
        }
    }
    part
}

/// The id out of a part of a URI; `None` if it is none.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let value = digit(rest.next())? * 16 + digit(rest.next())?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok().filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_id_is_part_of_a_uri_and_comes_out_again() {
        for id in ["A-checkout", "a/b c%", "Größe", "日本"] {
            let uri = format!("{RECORDS}{}", encoded(id));
            assert!(uri.is_ascii());
            assert!(matches!(named(&uri), Some(Named::Records(out)) if out == id));
        }
        for no in [
            "",
            "ghyll://attestations/",
            "ghyll://attestations/%",
            "ghyll://attestations/%zz",
            "ghyll://attestations/%ff",
            "file:///etc/passwd",
            "ghyll://grid/",
        ] {
            assert!(!is_ours(no), "{no}");
        }
    }
}
