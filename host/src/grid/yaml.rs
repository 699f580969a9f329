//! YAML text as a small tree whose every node knows its line.
//!
//! A grid is checked field by field with all mistakes listed, which a typed
//! deserializer that stops at the first cannot do; and `stratum: 1.10` has to
//! stay `1.10`, not become a float. So this works on the parser's events.
//! What a grid has no use for is refused here: anchors and aliases (a file
//! must say what it looks like it says, and not expand), tags, several
//! documents, keys that are not text.

use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Span};

use super::error::{printable, quoted};

/// Deeper than any grid (run inside clause inside arrow), and shallow enough
/// to recurse. The parser's own limits do not count every kind of nesting.
const NESTING_LIMIT: usize = 32;

/// A value and the line it starts on.
pub(crate) struct Node {
    pub(crate) line: usize,
    /// Where it stands in the text, as far as the parser can say.
    pub(crate) bytes: Option<Range<usize>>,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    /// `plain` is false when quoted or a block, which makes it text for sure.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
    /// Stands where an alias was refused, so that its absence is not reported
    /// a second time.
    Alias,
}

/// The key of a map entry; unique in its map.
pub(crate) struct Key {
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl Node {
    /// Whether this is YAML's null.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, plain: true }
            if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// Whether this is a YAML boolean.
    pub(crate) fn is_bool(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, plain: true }
            if matches!(text.as_str(), "true" | "True" | "TRUE" | "false" | "False" | "FALSE"))
    }
}

/// Gets told line, code and message of what is refused.
pub(crate) type Report<'a> = &'a mut dyn FnMut(usize, &'static str, String);

/// The document in `text`. What is not YAML, or not used in a grid, is
/// reported.
pub(crate) fn read(text: &str, report: Report<'_>) -> Read {
    let mut options = Options::default();
    options.emit_unresolved_aliases = true;
    options.emit_comments = false;
    let mut builder = Builder {
        parser: Parser::new_from_str_with_options(text, options),
        depth: 0,
        report,
    };
    match builder.document() {
        Ok(Some(root)) => Read::Document(root),
        Ok(None) => Read::Empty,
        Err(stop) => {
            (builder.report)(stop.line, stop.code, stop.message);
            Read::Broken
        }
    }
}

/// What [`read`] found.
pub(crate) enum Read {
    Document(Node),
    Empty,
    /// Not YAML: nothing can be said about the content.
    Broken,
}

/// Why reading cannot go on.
struct Stop {
    line: usize,
    code: &'static str,
    message: String,
}

impl From<ScanError> for Stop {
    fn from(error: ScanError) -> Self {
        let code = match error.kind() {
            ErrorKind::RecursionLimitExceeded => "grid-yaml-too-deep",
            _ => "grid-yaml-syntax",
        };
        Stop {
            line: error.marker().line(),
            code,
            message: printable(&error.info()),
        }
    }
}

struct Builder<'t, 'r> {
    parser: Parser<'t, granit_parser::StrInput<'t>>,
    /// Of the node being read.
    depth: usize,
    report: Report<'r>,
}

impl<'t> Builder<'t, '_> {
    fn next(&mut self) -> Result<Option<(Event<'t>, Span)>, Stop> {
        Ok(self.parser.next().transpose()?)
    }

    fn document(&mut self) -> Result<Option<Node>, Stop> {
        let mut root = None;
        while let Some((event, span)) = self.next()? {
            match event {
                Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart(..)
                | Event::DocumentEnd => {}
                node if root.is_none() => root = Some(self.node(node, span)?),
                _ => {
                    (self.report)(
                        span.start.line(),
                        "grid-yaml-several-documents",
                        "a grid is a single YAML document".to_owned(),
                    );
                    break;
                }
            }
        }
        Ok(root)
    }

    /// The node that `event` opens, read to its end.
    fn node(&mut self, event: Event<'t>, span: Span) -> Result<Node, Stop> {
        let line = span.start.line();
        if self.depth == NESTING_LIMIT {
            return Err(Stop {
                line,
                code: "grid-yaml-too-deep",
                message: format!("nested deeper than {NESTING_LIMIT} levels"),
            });
        }
        self.depth += 1;
        if event.tag().is_some() {
            (self.report)(
                line,
                "grid-yaml-tag",
                "tags are not used in a grid; quote text that begins with !".to_owned(),
            );
        }
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let plain = style == ScalarStyle::Plain;
                let text = text.into_owned();
                (anchor, Value::Scalar { text, plain })
            }
            Event::SequenceStart(_, anchor, _) => (anchor, self.list()?),
            Event::MappingStart(_, anchor, _) => (anchor, self.map()?),
            // Anything but a node cannot come here; aliases are what is left.
            _ => (1, Value::Alias),
        };
        if anchor != 0 {
            (self.report)(
                line,
                "grid-yaml-alias",
                "anchors and aliases are not used in a grid: write the value out, \
                 or quote text that begins with * or &"
                    .to_owned(),
            );
        }
        self.depth -= 1;
        let bytes = span.byte_range();
        Ok(Node { line, bytes, value })
    }

    fn list(&mut self) -> Result<Value, Stop> {
        let mut items = Vec::new();
        while let Some((event, span)) = self.next()? {
            if matches!(event, Event::SequenceEnd) {
                break;
            }
            items.push(self.node(event, span)?);
        }
        Ok(Value::List(items))
    }

    fn map(&mut self) -> Result<Value, Stop> {
        let mut entries = Vec::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        while let Some((event, span)) = self.next()? {
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let key = self.node(event, span)?;
            let Some((event, span)) = self.next()? else {
                break;
            };
            let value = self.node(event, span)?;
            let line = key.line;
            let Value::Scalar { text, .. } = key.value else {
                (self.report)(line, "grid-key-invalid", "a key must be text".to_owned());
                continue;
            };
            if let Some(first) = seen.get(&text) {
                let message = format!("{} is already set on line {first}", quoted(&text));
                (self.report)(line, "grid-key-duplicate", message);
                continue;
            }
            seen.insert(text.clone(), line);
            entries.push((Key { line, text }, value));
        }
        Ok(Value::Map(entries))
    }
}
