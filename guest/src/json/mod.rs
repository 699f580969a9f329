//! JSON as lines hold it.
//!
//! The bytes of a line are hashed, so there must be exactly one way to write a
//! string, and what is written so can be read without a reader of all JSON.

mod escape;
mod read;
mod write;

pub(crate) use read::{Value, flat_object, push_unescaped, string_end};
pub(crate) use write::{push_key, push_list, push_string, string_len};

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    #[test]
    fn what_is_written_is_read() {
        let every: String = (0u32..0x300).filter_map(char::from_u32).collect();
        for text in ["", "a", "\"\\\"", "0123456\n89", "01234567\"", &every] {
            let mut out = String::new();
            push_string(&mut out, text);
            out.push_str("behind");
            let inside = out.strip_prefix('"').unwrap();
            let (end, escaped) = string_end(inside.as_bytes()).unwrap();
            assert_eq!(&inside[end..], "\"behind");
            assert_eq!(escaped, inside[..end] != *text);
            let mut back = String::new();
            push_unescaped(&mut back, &inside[..end]);
            assert_eq!(back, text);
        }
        for other in [
            "a",
            "\\u0041\"",
            "\\/\"",
            "\\u000a\"",
            "\\u001F\"",
            "\t\"",
            "\\",
            "\\u00",
        ] {
            assert_eq!(string_end(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn flat_objects() {
        let read = |text| {
            let mut seen = String::new();
            flat_object(text, |key, value| {
                seen.push_str(key);
                match value {
                    Value::Text(text) => seen.push_str(&format!("={text};")),
                    Value::List(items) => {
                        seen.push_str(&format!("={:?};", items.collect::<Vec<_>>()));
                    }
                }
                Some(())
            })
            .map(|()| seen)
        };
        assert_eq!(read("{}").unwrap(), "");
        assert_eq!(
            read(r#"{"a":"b\nc","d":[],"e":["f","g]"]}"#).unwrap(),
            "a=b\nc;d=[];e=[\"f\", \"g]\"];"
        );
        for other in [
            "",
            "{",
            "{} ",
            "{,}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1}"#,
            r#"{"a":"b",}"#,
            r#"{"a":["b",]}"#,
            r#"{"a":["b" ]}"#,
            r#"{"a":["b""c"]}"#,
            r#"{"a":[["b"]]}"#,
            r#"{"a":["b"}"#,
            r#"{"a":"b"}}"#,
            r#"{"a" :"b"}"#,
            r#"{"\n":"b"}"#,
            r#"{"a":[,"b"]}"#,
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn escapes_as_serde_json_does_and_counts_right() {
        let mut every: String = (0u32..0x300).filter_map(char::from_u32).collect();
        every.push_str("\u{2028}\u{1f600}/</script>");
        for text in ["", "a", "\"\\\"", "tail\n", &every] {
            let mut out = String::new();
            push_string(&mut out, text);
            assert_eq!(out, serde_json::to_string(text).unwrap());
            assert_eq!(out.len(), string_len(text));
        }
        assert!(
            every.to_string().contains('\u{7f}'),
            "DEL is covered, and left as it is"
        );
    }
}
