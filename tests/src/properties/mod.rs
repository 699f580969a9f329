//! What has to hold whatever the bytes are: one function a property, each
//! taking the bytes that a fuzzer, or `tests/properties.rs`, makes up.
//!
//! A property fails by panicking. It never only says that nothing panics: what
//! is accepted has to be what the contract calls acceptable, and the native
//! library and the component have to come to one answer.

mod projects;
mod records;
mod talks;

use std::sync::{Arc, OnceLock};

use ghyll::policy::Policy;

pub use projects::{database, grid, tree};
pub use records::{check_lines, op_id, path, payload, record};
pub use talks::{chat, mcp, repl, script};

/// A property, and how dear it is to try.
#[derive(Debug, Clone, Copy)]
pub struct Property {
    /// What its fuzz target and its seeds are called.
    pub name: &'static str,
    /// Holds it for these bytes?
    pub holds: fn(&[u8]),
    /// How often the ordinary tests try it.
    pub cases: u32,
}

/// All of them.
pub const ALL: [Property; 12] = [
    property("path", path, 400),
    property("record", record, 400),
    property("check_lines", check_lines, 300),
    property("op_id", op_id, 400),
    property("payload", payload, 400),
    property("grid", grid, 200),
    property("tree", tree, 12),
    property("database", database, 12),
    property("script", script, 20),
    property("repl", repl, 8),
    property("mcp", mcp, 20),
    property("chat", chat, 100),
];

const fn property(name: &'static str, holds: fn(&[u8]), cases: u32) -> Property {
    Property { name, holds, cases }
}

/// One policy for all cases: it keeps no state.
fn policy() -> &'static Arc<Policy> {
    static POLICY: OnceLock<Arc<Policy>> = OnceLock::new();
    POLICY.get_or_init(|| Arc::new(Policy::load().unwrap()))
}

/// Bytes taken for a sequence of texts, with `0xFF` between them: that is in no
/// text, so that any text can be one of them, and seeds can be read.
struct Pieces<'a>(Option<&'a [u8]>);

impl<'a> Pieces<'a> {
    fn new(data: &'a [u8]) -> Self {
        Self(Some(data))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let left = self.0?;
        let end = left.iter().position(|b| *b == 0xff);
        self.0 = end.map(|end| &left[end + 1..]);
        Some(&left[..end.unwrap_or(left.len())])
    }

    fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    /// A number below `n`, 0 where nothing is left.
    fn below(&mut self, n: usize) -> usize {
        let bytes = self.bytes().unwrap_or_default();
        let number = bytes.iter().fold(0_usize, |n, b| {
            n.wrapping_mul(31).wrapping_add(usize::from(*b))
        });
        number % n
    }
}
