//! Server-sent events: lines in, the data of whole events out.
//!
//! Lines end with `\n`, `\r\n` or `\r`; an empty one ends an event. Only
//! `data` counts here. A line may not be longer than is said, nor the data of
//! one event, so that a stream without an end in a line costs nothing.

/// Why a stream cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bad {
    /// A line, or the data of an event, is longer than it may be.
    TooLong,
    /// Not UTF-8.
    NotText,
}

/// Reads events out of pieces of a stream.
pub struct Events {
    max: usize,
    line: Vec<u8>,
    data: Option<String>,
    /// The last byte was `\r`: a `\n` that follows belongs to it.
    after_cr: bool,
}

impl Events {
    /// Lines and events of at most `max` bytes.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self {
            max,
            line: Vec::new(),
            data: None,
            after_cr: false,
        }
    }

    /// The data of the events that `bytes` complete.
    ///
    /// # Errors
    /// [`Bad`]; nothing more is to be pushed then.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, Bad> {
        let mut events = Vec::new();
        for &byte in bytes {
            let after_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => events.extend(self.end_line()?),
                _ if self.line.len() >= self.max => return Err(Bad::TooLong),
                byte => self.line.push(byte),
            }
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Result<Option<String>, Bad> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return Ok(self.data.take());
        }
        let text = std::str::from_utf8(&line).map_err(|_| Bad::NotText)?;
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        // A byte order mark may stand in front of the first line.
        if field.trim_start_matches('\u{feff}') != "data" {
            return Ok(None);
        }
        let value = value.strip_prefix(' ').unwrap_or(value);
        match &mut self.data {
            None => self.data = Some(value.to_owned()),
            Some(data) if data.len() + value.len() >= self.max => return Err(Bad::TooLong),
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_the_stream_is_cut() {
        let stream =
            "\u{feff}data: a\n\n: ping\r\n\r\ndata:b\r\ndata:  c\r\rid: 1\ndata\n\ndata: é";
        for size in 1..stream.len() {
            let mut events = Events::new(100);
            let seen: Vec<String> = stream
                .as_bytes()
                .chunks(size)
                .flat_map(|piece| events.push(piece).unwrap())
                .collect();
            assert_eq!(seen, ["a", "b\n c", ""], "in pieces of {size}");
        }
    }

    #[test]
    fn what_has_no_end_or_is_no_text_is_refused() {
        assert_eq!(Events::new(9).push(&[b'x'; 10]), Err(Bad::TooLong));
        let many = "data: 1234\n".repeat(3);
        assert_eq!(Events::new(10).push(many.as_bytes()), Err(Bad::TooLong));
        assert_eq!(Events::new(9).push(b"data: \xff\n"), Err(Bad::NotText));
    }
}
