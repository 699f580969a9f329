//! What a model says of clauses, where it says so in the stated form: one
//! fenced block [`FENCE`] with the JSON that `dispatch --evidence` takes.
//!
//! It is the producer's word, to be shown under its name when a clause is
//! asked for. Everything else in a reply is text, and nothing in it acts.

use crate::session::SessionError;

/// What opens the block.
pub const FENCE: &str = "```ghyll-evidence";
/// What stands behind the backticks.
const INFO: &str = "ghyll-evidence";

/// The JSON in a reply that says something of clauses; `None` if it has no
/// such block. A block inside another one is only quoted.
///
/// # Errors
/// `evidence-malformed`, if the block has no end, or there are two.
pub fn block(reply: &str) -> Option<Result<String, SessionError>> {
    let (mut found, mut open): (Option<String>, Option<Fence<'_>>) = (None, None);
    for line in reply.lines() {
        match &mut open {
            Some(fence) if fence.is_closed_by(line) => {
                let fence = open.take()?;
                if fence.info == INFO && found.replace(fence.text).is_some() {
                    return Some(Err(malformed("it stands in two blocks")));
                }
            }
            Some(fence) => {
                fence.text.push_str(line);
                fence.text.push('\n');
            }
            None => open = Fence::opened_by(line),
        }
    }
    if open.is_some_and(|fence| fence.info == INFO) {
        return Some(Err(malformed("the block has no end")));
    }
    found.map(Ok)
}

fn malformed(why: &str) -> SessionError {
    SessionError::EvidenceMalformed(why.to_owned())
}

/// A fenced block that is being read.
struct Fence<'r> {
    mark: char,
    length: usize,
    info: &'r str,
    text: String,
}

impl<'r> Fence<'r> {
    fn opened_by(line: &'r str) -> Option<Self> {
        let (mark, length, info) = fence(line)?;
        // Backticks behind backticks are a span of code within a line.
        (mark == '~' || !info.contains('`')).then(|| Self {
            mark,
            length,
            info,
            text: String::new(),
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        fence(line).is_some_and(|(mark, length, info)| {
            mark == self.mark && length >= self.length && info.is_empty()
        })
    }
}

/// The mark of a line that fences, how often it stands there, and what follows.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let bare = line.trim_start_matches(' ');
    let mark = bare.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = bare.trim_start_matches(mark);
    let length = bare.len() - rest.len();
    (length >= 3 && line.len() - bare.len() <= 3).then_some((mark, length, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(reply: &str) -> Option<String> {
        block(reply).map(|json| json.unwrap())
    }

    #[test]
    fn a_block_is_found_wherever_it_stands_in_a_reply() {
        let json = "{\"C1\":{}}\n";
        for reply in [
            "```ghyll-evidence\n{\"C1\":{}}\n```",
            "Mended.\r\n\r\n```ghyll-evidence\r\n{\"C1\":{}}\r\n```\r\nThat is all.\r\n",
            "```rust\nfn main() {}\n```\n  ````  ghyll-evidence \n{\"C1\":{}}\n````\n",
            "~~~ghyll-evidence\n{\"C1\":{}}\n~~~~\n",
        ] {
            assert_eq!(found(reply).as_deref(), Some(json), "{reply}");
        }
    }

    #[test]
    fn what_only_looks_like_one_is_text() {
        for reply in [
            "",
            "{\"C1\":{}}",
            "The form is ```ghyll-evidence {\"C1\":{}}```, as you know.",
            "```ghyll-evidence {\"C1\":{}}```\n",
            "```json\n{\"C1\":{}}\n```\n",
            "```ghyll-evidence-2\n{\"C1\":{}}\n```\n",
            "    ```ghyll-evidence\n    {\"C1\":{}}\n    ```\n",
            // Quoted, in a block of its own.
            "````\n```ghyll-evidence\n{\"C1\":{}}\n```\n````\n",
            "```\n```ghyll-evidence\n{\"C1\":{}}\n```\n",
        ] {
            assert_eq!(found(reply), None, "{reply}");
        }
    }

    #[test]
    fn two_blocks_and_one_without_an_end_are_refused() {
        let one = "```ghyll-evidence\n{}\n```\n";
        for reply in [
            format!("{one}{one}"),
            "```ghyll-evidence\n{}\n".to_owned(),
            "````ghyll-evidence\n{}\n```\n".to_owned(),
        ] {
            let error = block(&reply).unwrap().unwrap_err();
            assert_eq!(error.code(), "evidence-malformed", "{reply}");
        }
    }
}
