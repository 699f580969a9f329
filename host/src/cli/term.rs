//! The operator's prompt: questions on the REPL's own reader.
//!
//! What is typed is judged by the policy as soon as it is complete, so that a
//! wrong answer repeats only the question it was given to; and a line that
//! starts with `/` is a command at any of them. End of input, Ctrl-C and
//! `/exit` leave the question open: none of them is an answer.

use std::io::{self, Read};

use ghyll::modal::{EscalationChoice, ModalError, ModalHint, OperatorModalPrompt, VerdictAnswer};
use ghyll::nearest::nearest;
use ghyll::policy::UnitPayload;
use ghyll::session::{Submission, limits};

use super::output::clean;
use super::reader::{Line, Topic};
use super::repl::{Flow, Repl};
use super::{Failure, card, places};

/// What was said to a question whose answer was not taken in the end, so that
/// it need not be typed again.
#[derive(Debug, Default)]
pub struct Draft {
    request: i64,
    places: Vec<String>,
    note: String,
}

impl Draft {
    /// Nothing is open any more.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

/// Asks for several lines.
const SEVERAL: &str = "<<";
/// Asks for an editor.
const EDITOR: &str = "!e";
/// Takes what was said before.
const AGAIN: &str = "!!";

/// Why a question has no answer.
enum Stop {
    /// The operator left it.
    Left,
    /// A command answered it.
    Withdrawn,
    /// It could not be put.
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Stop> for ModalError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Left => Self::Left,
            Stop::Withdrawn => Self::Withdrawn,
            Stop::Failed(failure) => Self::Failed {
                code: failure.code,
                message: failure.message,
            },
        }
    }
}

enum Word {
    Pass,
    Fail,
    InsufficientBasis,
    Skip,
}

/// A prompt on a session's reader.
pub struct TermModal<'r, 'a> {
    repl: &'r mut Repl<'a>,
}

impl OperatorModalPrompt for TermModal<'_, '_> {
    fn present_verdict(&mut self, hint: &ModalHint) -> Result<VerdictAnswer, ModalError> {
        match self.verdict(hint) {
            Err(Stop::Withdrawn) => Ok(VerdictAnswer::Withdrawn),
            other => Ok(other?),
        }
    }

    fn present_escalation(&mut self, hint: &ModalHint) -> Result<EscalationChoice, ModalError> {
        Ok(self.escalation(hint)?)
    }
}

impl<'r, 'a> TermModal<'r, 'a> {
    /// A prompt on `repl`.
    pub fn new(repl: &'r mut Repl<'a>) -> Self {
        Self { repl }
    }

    fn verdict(&mut self, hint: &ModalHint) -> Result<VerdictAnswer, Stop> {
        self.open(hint, false)?;
        let word = loop {
            let typed = self.ask(hint, "Verdict [p/f/i/s]: ", Topic::Verdict)?;
            let word = match self.word(&typed) {
                Some(Word::Skip) => return Ok(VerdictAnswer::Skip),
                Some(word) => word,
                None => continue,
            };
            // Said before any evidence is typed, not after.
            if self.repl.session.op_id().is_some() {
                break word;
            }
            self.refuse(
                "op-id-required",
                "nobody answers yet; /op-id ID says who you are",
            );
        };
        let mut submission = Submission::default();
        submission.verdict = match word {
            Word::Pass => "pass",
            Word::Fail => {
                submission.inspected = self.places(hint)?;
                "fail"
            }
            Word::InsufficientBasis => {
                submission.residue = self.note(hint, "What is missing")?;
                "insufficient-basis"
            }
            Word::Skip => return Ok(VerdictAnswer::Skip),
        }
        .to_owned();
        Ok(VerdictAnswer::Submit(submission))
    }

    fn escalation(&mut self, hint: &ModalHint) -> Result<EscalationChoice, Stop> {
        self.open(hint, true)?;
        loop {
            let typed = self.ask(hint, "Decide, 1 or 2: ", Topic::Choice)?;
            let choice = typed.trim();
            if choice != "1" && choice != "2" {
                self.again(
                    "Exactly 1 or 2: there is no default, and no skip. Ctrl-C leaves it open.",
                );
                continue;
            }
            if self.repl.session.op_id().is_none() {
                self.refuse(
                    "op-id-required",
                    "nobody answers yet; /op-id ID says who you are",
                );
                continue;
            }
            return Ok(if choice == "1" {
                EscalationChoice::AcceptedRisk(self.note(hint, "Why the risk is acceptable")?)
            } else {
                EscalationChoice::RouteUpstream(self.note(hint, "Why a deeper artifact is needed")?)
            });
        }
    }

    /// Shows the question, or, if it is asked again, why.
    fn open(&mut self, hint: &ModalHint, escalation: bool) -> Result<(), Stop> {
        self.repl.asking(hint, escalation)?;
        if self.repl.draft.request != hint.request.request_id {
            self.repl.draft = Draft {
                request: hint.request.request_id,
                ..Draft::default()
            };
        }
        match &hint.problem {
            None if escalation => card::escalation(self.repl.out, hint),
            None => card::verdict(self.repl.out, hint),
            Some(problem) => {
                self.refuse(&problem.code, &problem.message);
                self.again(&format!(
                    "Nothing was recorded; asked again: {}. {AGAIN} takes the evidence given before.",
                    card::name(hint)
                ));
            }
        }
        Ok(())
    }

    fn word(&self, typed: &str) -> Option<Word> {
        let word = typed.trim().to_lowercase();
        match word.as_str() {
            "pass" | "p" => return Some(Word::Pass),
            "fail" | "f" => return Some(Word::Fail),
            "insufficient-basis" | "ib" | "i" => return Some(Word::InsufficientBasis),
            "skip" | "s" => return Some(Word::Skip),
            "" => self.again("An empty line is no verdict: p, f, i or s."),
            other => {
                let words = ["pass", "fail", "insufficient-basis", "skip"];
                let meant = match nearest(other, words) {
                    Some(near) => format!("did you mean {near}?"),
                    None => "pass, fail, insufficient-basis or skip (p, f, i, s).".to_owned(),
                };
                self.again(&format!(
                    "{:?} is no verdict here; {meant}",
                    clean(&short(other))
                ));
            }
        }
        None
    }

    /// Asks for places until the policy takes them and the operator means them.
    fn places(&mut self, hint: &ModalHint) -> Result<Vec<String>, Stop> {
        let mut doubted: Option<Vec<String>> = None;
        loop {
            let typed = self.ask(hint, "Where, comma-separated: ", Topic::Locations)?;
            let given = match (typed.trim(), &doubted) {
                ("k" | "keep", Some(kept)) => kept.clone(),
                (AGAIN, _) if !self.repl.draft.places.is_empty() => self.repl.draft.places.clone(),
                _ => places::split(&typed),
            };
            if !self.takes("record-locations-inspected", &given, "")? {
                continue;
            }
            let root = self.repl.session.project().root();
            let doubts: Vec<String> = given
                .iter()
                .filter_map(|place| places::doubt(root, place))
                .collect();
            for doubt in &doubts {
                self.again(&format!("Note that {}.", clean(doubt)));
            }
            // Nobody is there to be asked back where the input is not a
            // terminal: the next line is the answer to the next question.
            if doubts.is_empty()
                || doubted.as_ref() == Some(&given)
                || !self.repl.reader.is_interactive()
            {
                self.repl.draft.places.clone_from(&given);
                return Ok(given);
            }
            self.again("k (keep) records it as given; or give the places again.");
            doubted = Some(given);
        }
    }

    /// Asks for a note until the policy takes it.
    fn note(&mut self, hint: &ModalHint, what: &str) -> Result<String, Stop> {
        let max = hint.max_residue_bytes;
        self.again(&format!(
            "{what}, in one line of at most {max} bytes ({SEVERAL} for several lines, {EDITOR} for \
             an editor):",
        ));
        loop {
            let typed = self.ask(hint, "Note: ", Topic::Note)?;
            let note = match typed.trim() {
                SEVERAL => self.lines(hint)?,
                EDITOR => match self.edit() {
                    Ok(note) => note,
                    Err(failure) => {
                        self.repl.out.failure(&failure);
                        continue;
                    }
                },
                AGAIN if !self.repl.draft.note.is_empty() => self.repl.draft.note.clone(),
                _ => typed,
            };
            if note.len() > 1 && note.contains('\n') {
                self.again(&format!("{} of {max} bytes.", note.len()));
            }
            let taken = self.takes("write-residue-note", &[], &note)?;
            if !note.trim().is_empty() {
                self.repl.draft.note.clone_from(&note);
            }
            if taken {
                return Ok(note);
            }
            if !self.repl.draft.note.is_empty() && self.repl.reader.is_interactive() {
                self.again(&format!("{EDITOR} opens it in an editor."));
            }
        }
    }

    /// Several lines, up to one that is a lone `.`.
    fn lines(&mut self, hint: &ModalHint) -> Result<String, Stop> {
        self.again("Several lines; a line that is only . ends them.");
        let mut lines: Vec<String> = Vec::new();
        loop {
            let line = self.ask(hint, "| ", Topic::Note)?;
            if line == "." {
                return Ok(lines.join("\n"));
            }
            lines.push(line);
        }
    }

    /// A note written in the operator's editor.
    fn edit(&mut self) -> Result<String, Failure> {
        if !self.repl.reader.is_interactive() {
            return Err(Failure::usage(
                "an editor needs a terminal; << takes several lines",
            ));
        }
        let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| {
            std::env::var(name)
                .ok()
                .filter(|command| !command.trim().is_empty())
        });
        let Some(editor) = editor else {
            return Err(Failure::usage(
                "EDITOR names no editor; << takes several lines",
            ));
        };
        let words = shlex::split(&editor).unwrap_or_default();
        let Some((program, arguments)) = words.split_first() else {
            return Err(Failure::usage(
                "EDITOR names no editor; << takes several lines",
            ));
        };
        let mut file = tempfile::Builder::new()
            .prefix("note-")
            .suffix(".txt")
            .tempfile()?;
        io::Write::write_all(&mut file, self.repl.draft.note.as_bytes())?;
        let path = file.into_temp_path();
        self.repl
            .reader
            .step_aside(&mut || {
                let mut command = std::process::Command::new(program);
                let status = command.args(arguments).arg(&path).status()?;
                if status.success() {
                    Ok(())
                } else {
                    Err(io::Error::other(status.to_string()))
                }
            })
            .map_err(|e| Failure::new("editor-failed", format!("{program}: {e}")))?;
        // Read anew, for an editor may have put another file in its place.
        let mut note = String::new();
        std::fs::File::open(&path)?
            .take(4 << 20)
            .read_to_string(&mut note)?;
        Ok(note.trim_end().to_owned())
    }

    /// Whether the policy takes the evidence; if not, it is said why.
    fn takes(&self, unit: &str, inspected: &[String], residue: &str) -> Result<bool, Stop> {
        let session = self.repl.session;
        let payload = UnitPayload {
            inspected: inspected.to_vec(),
            residue: residue.to_owned(),
        };
        match session
            .policy()
            .validate_unit_payload(unit, &payload, limits(session.grid()))
        {
            Ok(()) => Ok(true),
            Err(error @ ghyll::policy::PolicyError::Component(_)) => {
                Err(Failure::from(error).into())
            }
            Err(error) => {
                self.refuse(error.code(), &error.to_string());
                Ok(false)
            }
        }
    }

    /// Asks one question until there is a line that is no command.
    fn ask(&mut self, hint: &ModalHint, prompt: &str, topic: Topic) -> Result<String, Stop> {
        loop {
            match self.repl.read(prompt, topic)? {
                Line::Text(line) if line.starts_with('/') => {
                    if self.repl.command_in_modal(&line)? == Flow::Leave {
                        return Err(Stop::Left);
                    }
                    if !self.stands(hint)? {
                        return Err(Stop::Withdrawn);
                    }
                }
                // A blank in front of / makes it text.
                Line::Text(line) => {
                    return Ok(match line.strip_prefix(' ') {
                        Some(text) if text.starts_with('/') => text.to_owned(),
                        _ => line,
                    });
                }
                Line::Interrupted { .. } => return Err(Stop::Left),
                Line::End => {
                    self.repl.input_ended();
                    return Err(Stop::Left);
                }
                Line::Unreadable(why) => self.again(why),
            }
        }
    }

    /// Whether the question still is one.
    fn stands(&self, hint: &ModalHint) -> Result<bool, Stop> {
        let request = &hint.request;
        let pending = self
            .repl
            .session
            .db()
            .read(|tx| tx.pending_on(&request.attestation_ref))
            .map_err(Failure::from)?;
        Ok(pending.is_some_and(|pending| pending.request_id == request.request_id))
    }

    fn refuse(&self, code: &str, message: &str) {
        self.repl.out.failure(&Failure::new(code, message));
    }

    fn again(&self, text: &str) {
        self.repl.out.note_wrapped(&format!("  {text}"), 2);
    }
}

/// The beginning of what was typed, enough to recognise it.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
