//! The slash commands there are: one list that parsing, `/help`, completion
//! and history read.

use std::ops::RangeInclusive;

use ghyll::text::nearest;

use crate::cli::Failure;
use crate::cli::reader::{Completes, Offered};

/// Which command it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Traverse an arrow.
    RunArrow,
    /// Say or ask who answers.
    OpId,
    /// Put one verdict on record.
    Attest,
    /// List verdicts.
    Attestations,
    /// List what is asked.
    Pending,
    /// List traversals.
    Passes,
    /// List defects.
    Findings,
    /// List the commands.
    Help,
    /// Leave.
    Exit,
}

/// What of a command the history keeps: no evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// The line as it was typed.
    Whole,
    /// The ref and the verdict; what follows is evidence.
    RefAndVerdict,
    /// Nothing: it is no use to recall it.
    Nothing,
}

/// A slash command.
#[derive(Debug)]
pub struct Slash {
    /// Which it is.
    pub kind: Kind,
    /// How it is called, with its slash.
    pub name: &'static str,
    /// Other names; at `ghyll>` without a slash too.
    aliases: &'static [&'static str],
    /// How its arguments are written.
    arguments: &'static str,
    /// How many there are.
    takes: RangeInclusive<usize>,
    /// What it does.
    pub does: &'static str,
    /// What its arguments are completed with.
    completes: Completes,
    keep: Keep,
}

/// All of them, in the order `/help` lists them.
pub const ALL: &[Slash] = &[
    Slash {
        kind: Kind::RunArrow,
        name: "/run-arrow",
        aliases: &[],
        arguments: "ID",
        takes: 1..=1,
        does: "traverse an arrow: decide its machine clauses, ask for the others",
        completes: Completes::Arrow,
        keep: Keep::Whole,
    },
    Slash {
        kind: Kind::OpId,
        name: "/op-id",
        aliases: &[],
        arguments: "[ID|clear]",
        takes: 0..=1,
        does: "who answers from now on; without ID, who does now",
        completes: Completes::Person,
        keep: Keep::Whole,
    },
    Slash {
        kind: Kind::Attest,
        name: "/attest",
        aliases: &[],
        arguments: "REF VERDICT [--inspected L]… [--residue TEXT]",
        takes: 0..=usize::MAX,
        does: "put one verdict on record, also as a correction",
        completes: Completes::Attest,
        keep: Keep::RefAndVerdict,
    },
    Slash {
        kind: Kind::Attestations,
        name: "/attestations",
        aliases: &[],
        arguments: "[ARROW]",
        takes: 0..=1,
        does: "the verdicts on record, newest last",
        completes: Completes::Arrow,
        keep: Keep::Whole,
    },
    Slash {
        kind: Kind::Pending,
        name: "/pending",
        aliases: &[],
        arguments: "",
        takes: 0..=0,
        does: "what is asked and not answered",
        completes: Completes::Nothing,
        keep: Keep::Whole,
    },
    Slash {
        kind: Kind::Passes,
        name: "/passes",
        aliases: &[],
        arguments: "",
        takes: 0..=0,
        does: "the traversals of arrows, newest last",
        completes: Completes::Nothing,
        keep: Keep::Whole,
    },
    Slash {
        kind: Kind::Findings,
        name: "/findings",
        aliases: &[],
        arguments: "",
        takes: 0..=0,
        does: "the defects found, newest last",
        completes: Completes::Nothing,
        keep: Keep::Whole,
    },
    Slash {
        kind: Kind::Help,
        name: "/help",
        aliases: &["help", "?"],
        arguments: "",
        takes: 0..=usize::MAX,
        does: "this list",
        completes: Completes::Nothing,
        keep: Keep::Whole,
    },
    Slash {
        kind: Kind::Exit,
        name: "/exit",
        aliases: &["exit", "quit"],
        arguments: "",
        takes: 0..=0,
        does: "leave; what is pending is asked again at the next start",
        completes: Completes::Nothing,
        keep: Keep::Nothing,
    },
];

/// What people type who want nobody to answer.
const NOBODY: [&str; 5] = ["none", "nobody", "no-one", "null", "-"];

impl Slash {
    /// The command and how its arguments are written.
    pub fn usage(&self) -> String {
        format!("{} {}", self.name, self.arguments)
            .trim_end()
            .to_owned()
    }

    fn is(&self, word: &str) -> bool {
        self.name == word
            || word
                .strip_prefix('/')
                .is_some_and(|bare| self.aliases.contains(&bare))
    }
}

/// The command a line of words is, and its arguments.
///
/// # Errors
/// `usage`, with how it would be one.
pub fn parse(words: &[String]) -> Result<(Kind, Vec<&str>), Failure> {
    let mut words = words.iter().map(String::as_str);
    let name = words.next().unwrap_or_default();
    let arguments: Vec<&str> = words.collect();
    let Some(slash) = ALL.iter().find(|slash| slash.is(name)) else {
        let meant = match nearest(name, ALL.iter().map(|slash| slash.name)) {
            Some(near) => format!("did you mean {near}?"),
            None => "/help lists the commands.".to_owned(),
        };
        return Err(
            Failure::usage(format!("there is no command {name}; {meant}"))
                .with_hint("A blank in front of / makes it text."),
        );
    };
    if !slash.takes.contains(&arguments.len()) {
        return Err(Failure::usage(format!("that is written {}", slash.usage()))
            .with_hint("/help lists the commands."));
    }
    if let (Kind::OpId, [id]) = (slash.kind, arguments.as_slice())
        && NOBODY.contains(&id.to_lowercase().as_str())
    {
        return Err(
            Failure::usage(format!("{id} is nobody's name, and would be taken for one"))
                .with_hint("/op-id clear has nobody answer; /op-id ID says who does."),
        );
    }
    Ok((slash.kind, arguments))
}

/// Whether a line is a turn, at which what was put off is asked again: one that
/// dispatches or answers, not one that only shows something.
pub fn is_turn(line: &str) -> bool {
    let name = line.split_whitespace().next().unwrap_or_default();
    ALL.iter()
        .find(|slash| slash.is(name))
        .is_some_and(|slash| matches!(slash.kind, Kind::RunArrow | Kind::Attest))
}

/// The command that is meant by a line at `ghyll>` that has no slash: `help`,
/// `?`, `exit`, `quit`.
pub fn bare(line: &str) -> Option<&'static str> {
    let word = line.trim().to_lowercase();
    ALL.iter()
        .find(|slash| slash.aliases.contains(&word.as_str()))
        .map(|slash| slash.name)
}

/// What a line editor completes commands with.
pub fn offered() -> Vec<Offered> {
    ALL.iter()
        .map(|slash| Offered {
            name: slash.name,
            completes: slash.completes,
        })
        .collect()
}

/// What of a command may be kept: no evidence. Chat may hold anything, keys
/// among it, so a line that is no command is not kept.
pub fn worth_keeping(line: &str) -> Option<String> {
    let line = line.trim();
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let slash = ALL.iter().find(|slash| slash.name == name)?;
    match slash.keep {
        Keep::Whole => Some(line.to_owned()),
        Keep::RefAndVerdict => {
            let kept: Vec<&str> = words.take(2).take_while(|w| !w.starts_with('-')).collect();
            Some(format!("{name} {}", kept.join(" ")).trim_end().to_owned())
        }
        Keep::Nothing => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Kind, String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        parse(&words).map(|(kind, _)| kind).map_err(|failure| {
            format!(
                "{}; {}",
                failure.message,
                failure.hint().unwrap_or_default()
            )
        })
    }

    #[test]
    fn commands_are_kept_and_evidence_and_chat_are_not() {
        assert_eq!(
            worth_keeping("/run-arrow A-x ").as_deref(),
            Some("/run-arrow A-x")
        );
        assert_eq!(
            worth_keeping("/attest att-x fail --inspected a.rs --residue 'secret'").as_deref(),
            Some("/attest att-x fail"),
        );
        assert_eq!(
            worth_keeping("/attest --residue secret att-x pass").as_deref(),
            Some("/attest")
        );
        assert_eq!(worth_keeping("my key is sk-123"), None);
        assert_eq!(worth_keeping("/typo sk-123"), None);
    }

    #[test]
    fn a_command_has_its_names_and_its_number_of_arguments() {
        assert_eq!(parsed("/op-id"), Ok(Kind::OpId));
        assert_eq!(parsed("/op-id bob"), Ok(Kind::OpId));
        assert_eq!(parsed("/quit"), Ok(Kind::Exit));
        assert_eq!(parsed("/?"), Ok(Kind::Help));
        assert_eq!(bare(" Quit "), Some("/exit"));
        assert_eq!(bare("?"), Some("/help"));
        assert_eq!(bare("quit now"), None);
        insta::assert_snapshot!(
            ["/op-id a b", "/opid bob", "/op-id None", "/nothing-like-it"]
                .map(|line| parsed(line).unwrap_err())
                .join("\n")
        );
    }
}
