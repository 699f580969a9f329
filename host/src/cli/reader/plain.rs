//! Lines as they come: from a pipe, a file or a terminal that cannot edit.

use std::io::{self, BufRead, IsTerminal, Read};

use super::{Line, LineReader, Topic};
use crate::cli::output::Output;

/// The longest line read, in bytes: more than any note may have.
const LINE_MAX: u64 = 4 << 20;

/// Reads plain lines; prompts go to standard error.
pub struct PlainReader<'a> {
    out: &'a Output,
    input: Box<dyn BufRead>,
    is_terminal: bool,
    read: u64,
}

impl<'a> PlainReader<'a> {
    /// Reads from standard input.
    pub fn stdin(out: &'a Output) -> Self {
        let stdin = io::stdin();
        Self {
            out,
            is_terminal: stdin.is_terminal(),
            input: Box::new(stdin.lock()),
            read: 0,
        }
    }
}

impl LineReader for PlainReader<'_> {
    fn line(&mut self, prompt: &str, _topic: Topic) -> io::Result<Line> {
        self.out.prompt(prompt);
        let at = match self.is_terminal {
            true => At::Terminal,
            false if self.read == 0 => At::Start,
            false => At::Pipe,
        };
        self.read += 1;
        let line = match read_line(self.input.as_mut(), at) {
            // A terminal that is gone is an end of input like any other.
            Err(e) if self.is_terminal && e.raw_os_error() == Some(EIO) => Line::End,
            other => other?,
        };
        if !self.is_terminal {
            // A transcript reads as if the line had been typed.
            match &line {
                Line::Text(text) => self.out.note(text),
                _ => self.out.note(""),
            }
        } else if line == Line::End {
            self.out.note("");
        }
        Ok(line)
    }

    fn is_interactive(&self) -> bool {
        self.is_terminal
    }

    fn line_number(&self) -> u64 {
        self.read
    }
}

/// Where a line is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// From a terminal, where somebody can be asked again.
    Terminal,
    /// The first line of a pipe or file. A byte-order mark is no part of it.
    Start,
    /// A further one.
    Pipe,
}

/// What some programs put in front of the text they pipe.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What reading from a hung-up terminal says; the same number on every Unix.
const EIO: i32 = 5;

fn read_line(input: &mut dyn BufRead, at: At) -> io::Result<Line> {
    let mut bytes = Vec::new();
    if input.take(LINE_MAX).read_until(b'\n', &mut bytes)? == 0 {
        return Ok(Line::End);
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
    } else if bytes.len() as u64 == LINE_MAX {
        // A pipe's line may have no end; the session ends here instead.
        if at == At::Terminal {
            skip_line(input)?;
        }
        return Ok(Line::Unreadable("a line of more than 4 MiB was left out"));
    }
    if at == At::Start && bytes.starts_with(BOM) {
        bytes.drain(..BOM.len());
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Line::Text(text),
        Err(_) => Line::Unreadable("a line that is not UTF-8 was left out"),
    })
}

fn skip_line(input: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |at| at + 1);
        let done = end.is_some() || buffer.is_empty();
        input.consume(used);
        if done {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_either_ending_and_the_last_needs_none() {
        let mut input: &[u8] = b"one\r\ntwo\n\nlast";
        let mut next = || read_line(&mut input, At::Terminal).unwrap();
        assert_eq!(next(), Line::Text("one".into()));
        assert_eq!(next(), Line::Text("two".into()));
        assert_eq!(next(), Line::Text(String::new()));
        assert_eq!(next(), Line::Text("last".into()));
        assert_eq!(next(), Line::End);
    }

    #[test]
    fn what_is_no_text_is_left_out_and_the_line_behind_it_is_read() {
        let mut bytes = vec![b'x'; usize::try_from(LINE_MAX).unwrap() + 10];
        bytes.extend_from_slice(b"\n\xff\xfe\nnext\n");
        let mut input: &[u8] = &bytes;
        let mut next = || read_line(&mut input, At::Terminal).unwrap();
        assert!(matches!(next(), Line::Unreadable(_)));
        assert!(matches!(next(), Line::Unreadable(_)));
        assert_eq!(next(), Line::Text("next".into()));
    }

    #[test]
    fn a_mark_in_front_is_no_part_of_the_first_line_and_of_no_other() {
        let mut input: &[u8] = b"\xef\xbb\xbfp\r\n\xef\xbb\xbfp\n";
        assert_eq!(
            read_line(&mut input, At::Start).unwrap(),
            Line::Text("p".into())
        );
        assert_eq!(
            read_line(&mut input, At::Pipe).unwrap(),
            Line::Text("\u{feff}p".into())
        );
    }

    #[test]
    fn a_line_without_an_end_is_given_up_on() {
        let mut input = io::BufReader::new(io::repeat(b'x'));
        assert!(matches!(
            read_line(&mut input, At::Pipe).unwrap(),
            Line::Unreadable(_)
        ));
    }
}
