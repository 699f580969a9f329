//! Reading what is written here, eight bytes at a time; any other JSON is left to
//! a reader of all of it.

use alloc::borrow::Cow;
use alloc::string::String;

use super::escape::{escape, first_escaped};
use crate::scan::find;

/// Where a string ends that begins at the start of `bytes`, behind its opening
/// quotation mark, and whether anything in it is escaped; `None` unless it is
/// escaped as [`push_string`] does it.
#[inline(always)]
pub(crate) fn string_end(bytes: &[u8]) -> Option<(usize, bool)> {
    let mut at = 0;
    let mut escaped = false;
    loop {
        at += first_escaped(bytes.get(at..)?)?;
        match bytes.get(at)? {
            b'"' => return Some((at, escaped)),
            b'\\' => at += escape(bytes.get(at..)?)?.1,
            _ => return None,
        }
        escaped = true;
    }
}

/// Appends what a string that [`string_end`] found the end of stands for.
pub(crate) fn push_unescaped(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = find(rest.as_bytes(), b'\\') {
        let (before, escaped) = rest.split_at(at);
        out.push_str(before);
        let (byte, length) = escape(escaped.as_bytes()).unwrap_or((b'\\', 1));
        out.push(char::from(byte));
        rest = escaped.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
}

/// A value of a flat object.
pub(crate) enum Value<'a> {
    Text(Cow<'a, str>),
    List(List<'a>),
}

/// Reads an object of texts and lists of texts, written as here: no blanks,
/// nothing escaped that need not be. `None` for any other text, valid or not,
/// and when `each` wants no more.
pub(crate) fn flat_object<'a>(
    text: &'a str,
    mut each: impl FnMut(&'a str, Value<'a>) -> Option<()>,
) -> Option<()> {
    let mut rest = text.strip_prefix('{')?;
    if rest == "}" {
        return Some(());
    }
    loop {
        let key;
        (key, rest) = take_string(rest)?;
        let Cow::Borrowed(key) = key else { return None };
        rest = rest.strip_prefix(':')?;
        if let Some(items) = rest.strip_prefix('[') {
            let mut list = List::new(items);
            while list.next().is_some() {}
            // Only a list that ends where it should is handed on.
            rest = list.rest.strip_prefix(']')?;
            each(key, Value::List(List::new(items)))?;
        } else {
            let value;
            (value, rest) = take_string(rest)?;
            each(key, Value::Text(value))?;
        }
        if rest == "}" {
            return Some(());
        }
        rest = rest.strip_prefix(',')?;
    }
}

/// A string, quotation marks and all, and what is behind it.
fn take_string(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let text = text.strip_prefix('"')?;
    let (end, escaped) = string_end(text.as_bytes())?;
    let (inside, behind) = text.split_at_checked(end)?;
    let value = if escaped {
        let mut value = String::with_capacity(inside.len());
        push_unescaped(&mut value, inside);
        Cow::Owned(value)
    } else {
        Cow::Borrowed(inside)
    };
    Some((value, behind.get(1..)?))
}

/// The texts of a list; stops in front of what is none.
pub(crate) struct List<'a> {
    rest: &'a str,
    more: bool,
}

impl<'a> List<'a> {
    fn new(items: &'a str) -> Self {
        Self {
            rest: items,
            more: true,
        }
    }
}

impl<'a> Iterator for List<'a> {
    type Item = Cow<'a, str>;

    fn next(&mut self) -> Option<Cow<'a, str>> {
        if !self.more {
            return None;
        }
        let (item, behind) = take_string(self.rest)?;
        // A comma promises another text.
        self.more = behind.starts_with(",\"");
        self.rest = if self.more { behind.get(1..)? } else { behind };
        Some(item)
    }
}
