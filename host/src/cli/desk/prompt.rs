//! The operator's prompt: questions on the session's own reader.
//!
//! What is typed is judged by the policy as soon as it is complete, so that a
//! wrong answer repeats only the question it was given to; and a line that
//! starts with `/` is a command at any of them, but inside a note of several
//! lines. End of input, Ctrl-C and `/exit` leave the question open: none of
//! them is an answer. Where nobody can be asked again a refused answer ends
//! the session, so that the next line lands on no other question; an empty line
//! at a verdict is no answer, and the question is asked again.

mod evidence;

use evidence::AGAIN;
use ghyll::codes;
use ghyll::modal::{
    EscalationChoice, ModalError, ModalHint, OperatorModalPrompt, Problem, VerdictAnswer,
};
use ghyll::session::{Session, Submission, Via};
use ghyll::text::{clean, nearest};
use ghyll::work::Verdict;
use ghyll::work::status::ClauseStatus;

use super::editor::Editor;
use super::question::{self, Question};
use super::{Desk, Draft, Flow};
use crate::cli::Failure;
use crate::cli::output::Output;
use crate::cli::reader::{Line, Topic};
use ghyll::locations;

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

/// What was typed at a verdict prompt.
enum Word {
    /// With places, and a note, if any were given with it.
    Pass(Vec<String>, String),
    Fail,
    InsufficientBasis,
    Skip,
}

/// A prompt at a desk.
pub struct TermModal<'r, 'a> {
    desk: &'r mut dyn Desk<'a>,
    session: &'a Session,
    out: &'a Output,
    /// The question that is open, and whether it is an escalation.
    open: Option<(ModalHint, bool)>,
}

impl OperatorModalPrompt for TermModal<'_, '_> {
    fn via(&self) -> Via {
        if self.desk.is_interactive() {
            Via::Terminal
        } else {
            Via::Pipe
        }
    }

    fn present_verdict(&mut self, hint: &ModalHint) -> Result<VerdictAnswer, ModalError> {
        match self.verdict(hint) {
            Err(Stop::Withdrawn) => Ok(VerdictAnswer::Withdrawn),
            other => Ok(other?),
        }
    }

    fn present_escalation(&mut self, hint: &ModalHint) -> Result<EscalationChoice, ModalError> {
        Ok(self.escalation(hint)?)
    }

    fn withdrawn(&mut self, _: &ModalHint, why: &Problem) -> Result<(), ModalError> {
        self.say("Nothing was recorded of your answer:");
        Ok(self.refuse(&why.code, &why.message)?)
    }
}

impl<'r, 'a> TermModal<'r, 'a> {
    /// A prompt at `desk`.
    pub fn new(desk: &'r mut dyn Desk<'a>) -> Self {
        let (session, out) = (desk.session(), desk.out());
        Self {
            desk,
            session,
            out,
            open: None,
        }
    }

    fn verdict(&mut self, hint: &ModalHint) -> Result<VerdictAnswer, Stop> {
        self.open(hint, false)?;
        let word = loop {
            let typed = self.ask(hint, "Verdict [p/f/i/s]: ", Topic::Verdict)?;
            let word = match self.word(hint, &typed)? {
                Some(Word::Skip) => return Ok(VerdictAnswer::Skip),
                Some(word) => word,
                None => continue,
            };
            // Said before any evidence is typed, not after.
            if self.somebody_answers()? {
                break word;
            }
        };
        let mut submission = Submission {
            via: self.via(),
            ..Submission::default()
        };
        submission.verdict = match word {
            Word::Pass(places, note) => {
                submission.inspected = places;
                submission.residue = note;
                Verdict::Pass
            }
            Word::Fail => {
                submission.inspected = self.places(hint)?;
                Verdict::Fail
            }
            Word::InsufficientBasis => {
                submission.residue = self.note(hint, "What is missing")?;
                Verdict::InsufficientBasis
            }
            Word::Skip => return Ok(VerdictAnswer::Skip),
        };
        Ok(VerdictAnswer::Submit(submission))
    }

    fn escalation(&mut self, hint: &ModalHint) -> Result<EscalationChoice, Stop> {
        self.open(hint, true)?;
        loop {
            let typed = self.ask(hint, "Decide, 1 or 2: ", Topic::Choice)?;
            let choice = typed.trim();
            if self.is_about(hint, choice, true)? {
                continue;
            }
            if choice != "1" && choice != "2" {
                self.say(
                    "Exactly 1 or 2: there is no default, and no skip. Ctrl-C leaves it open.",
                );
                if !choice.is_empty() {
                    self.or_leave()?;
                }
                continue;
            }
            if !self.somebody_answers()? {
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
        self.desk.asking(hint, escalation)?;
        self.open = Some((hint.clone(), escalation));
        let draft = self.desk.draft();
        if draft.request != hint.request.request_id {
            *draft = Draft {
                request: hint.request.request_id,
                ..Draft::default()
            };
        }
        let Some(problem) = &hint.problem else {
            self.show(hint, escalation);
            return Ok(());
        };
        self.say(&format!(
            "Nothing was recorded; asked again: {}. {AGAIN} takes the evidence given before.",
            question::name(hint)
        ));
        self.refuse(&problem.code, &problem.message)
    }

    fn show(&self, hint: &ModalHint, escalation: bool) {
        self.question(hint, escalation).show(self.out);
    }

    fn question<'q>(&self, hint: &'q ModalHint, escalation: bool) -> Question<'q>
    where
        'a: 'q,
    {
        let session = self.session;
        // An arrow of an older grid has no place in this one.
        let others_open = session.arrow_view(&hint.request.arrow_id).ok().map(|view| {
            let other = |id: &str| id != hint.request.clause_id;
            let open = |status| status != ClauseStatus::Pass;
            let clauses = view.clauses.iter();
            clauses
                .filter(|clause| other(&clause.id) && open(clause.status))
                .count()
        });
        Question {
            hint,
            escalation,
            root: session.project().root(),
            now: self.desk.now(),
            rounds_max: session.grid().settings.insufficient_basis_rounds_max,
            others_open,
        }
    }

    /// Whether what was typed is about the question and no answer to it: shown
    /// again, or a place opened.
    fn is_about(&mut self, hint: &ModalHint, typed: &str, escalation: bool) -> Result<bool, Stop> {
        if typed == "?" {
            self.show(hint, escalation);
            return Ok(true);
        }
        if matches!(typed, "d" | "D") {
            let lines = self.question(hint, escalation).difference();
            self.out.notes_paged(lines)?;
            return Ok(true);
        }
        let place = match typed.strip_prefix(['o', 'O']) {
            Some("") => None,
            Some(rest) if rest.starts_with(' ') => Some(rest.trim()),
            _ => return Ok(false),
        };
        let places = question::to_open(hint);
        let Some(place) = place.or(places.first().map(String::as_str)) else {
            self.wrong("No place is named yet; o FILE:LINE opens one.")?;
            return Ok(true);
        };
        let root = self.session.project().root();
        let Some((file, line)) = locations::target(root, place) else {
            self.wrong(&format!("There is no file {place} in the project."))?;
            return Ok(true);
        };
        if !self.desk.is_interactive() {
            self.wrong("An editor needs a terminal.")?;
            return Ok(true);
        }
        if let Err(failure) = Editor::of(root).open(self.desk, &file, line) {
            self.out.failure(&failure);
        }
        Ok(true)
    }

    fn word(&mut self, hint: &ModalHint, typed: &str) -> Result<Option<Word>, Stop> {
        let typed = typed.trim();
        let (first, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        match (typed.to_lowercase().as_str(), first.to_lowercase().as_str()) {
            ("pass" | "p", _) => return Ok(Some(Word::Pass(Vec::new(), String::new()))),
            ("fail" | "f", _) => return Ok(Some(Word::Fail)),
            ("insufficient-basis" | "ib" | "i", _) => return Ok(Some(Word::InsufficientBasis)),
            ("skip" | "s", _) => return Ok(Some(Word::Skip)),
            // Nothing was said, so nothing is refused: what comes next is
            // given to this question all the same.
            ("", _) => self.say("An empty line is no verdict: p, f, i or s."),
            (_, "pass" | "p") => return self.pass_with(rest.trim()),
            _ if self.is_about(hint, typed, false)? => {}
            (other, _) => {
                let words = ["pass", "fail", "insufficient-basis", "skip"];
                let meant = match nearest(other, words) {
                    _ if clean(other) != other => {
                        "it has characters that cannot be seen.".to_owned()
                    }
                    Some(near) => format!("did you mean {near}?"),
                    None => "pass, fail, insufficient-basis or skip (p, f, i, s).".to_owned(),
                };
                self.wrong(&format!(
                    "{:?} is no verdict here; {meant}",
                    clean(&short(other))
                ))?;
            }
        }
        Ok(None)
    }

    fn somebody_answers(&mut self) -> Result<bool, Stop> {
        if self.session.op_id().is_some() || self.desk.ask_who()? {
            return Ok(true);
        }
        let failure = Failure::new(codes::OP_ID_REQUIRED, "nobody answers yet")
            .with_hint("/op-id ID says who you are; then answer again.");
        self.out.failure(&failure);
        self.or_leave()?;
        Ok(false)
    }

    /// Asks one question until there is a line that is no command.
    fn ask(&mut self, hint: &ModalHint, prompt: &str, topic: Topic) -> Result<String, Stop> {
        loop {
            let line = self.line(prompt, topic)?;
            // A paste of several lines is no command, whatever it begins with.
            if line.starts_with('/') && !line.contains('\n') {
                if self.desk.command(&line)? == Flow::Leave {
                    return Err(Stop::Left);
                }
                if !self.stands(hint)? {
                    return Err(Stop::Withdrawn);
                }
                continue;
            }
            // A blank in front of / makes it text.
            return Ok(match line.strip_prefix(' ') {
                Some(text) if text.starts_with('/') => text.to_owned(),
                _ => line,
            });
        }
    }

    /// A line, whatever it holds.
    fn line(&mut self, prompt: &str, topic: Topic) -> Result<String, Stop> {
        loop {
            match self.desk.read(prompt, topic)? {
                Line::Text(line) => return Ok(line),
                Line::Interrupted { .. } => return Err(Stop::Left),
                Line::Redraw => {
                    self.out.clear_screen();
                    if let Some((hint, escalation)) = &self.open {
                        self.show(hint, *escalation);
                    }
                }
                Line::End => {
                    self.desk.input_ended();
                    return Err(Stop::Left);
                }
                Line::Unreadable(why) => self.wrong(why)?,
            }
        }
    }

    /// Whether the question still is one.
    fn stands(&self, hint: &ModalHint) -> Result<bool, Stop> {
        let request = &hint.request;
        let pending = self.session.pending().map_err(Failure::from)?;
        Ok(pending
            .iter()
            .any(|now| (now.request_id, now.round) == (request.request_id, request.round)))
    }

    fn say(&self, text: &str) {
        self.out.note_wrapped(format!("  {text}"), 2);
    }

    /// What was typed is no answer: why.
    fn wrong(&mut self, why: &str) -> Result<(), Stop> {
        self.say(why);
        self.or_leave()
    }

    /// What was typed is refused: why, with its code.
    fn refuse(&mut self, code: &str, message: &str) -> Result<(), Stop> {
        self.out.failure(&Failure::new(code, message));
        self.or_leave()
    }

    fn or_leave(&mut self) -> Result<(), Stop> {
        match self.desk.after_refusal() {
            Flow::Stay => Ok(()),
            Flow::Leave => Err(Stop::Left),
        }
    }
}

/// The beginning of what was typed, enough to recognise it.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
