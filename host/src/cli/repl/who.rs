//! Who answers: named by a command, or offered at the first question.
//!
//! A name that is new to the project may be a slip. It is asked about without
//! being in the way of what was typed ahead, or pasted, for the next question:
//! whoever goes on says yes, and `n` takes it back.

use super::{Line, Repl, Topic};
use crate::cli::output::clean;
use crate::cli::{Failure, op_id};

/// A name that is being asked about.
#[derive(Debug)]
pub(super) struct Doubted {
    /// Who answered before it.
    before: Option<String>,
}

impl Repl<'_> {
    pub(super) fn tell_op_id(&self) {
        match self.session.op_id() {
            Some(op_id) => self.out.note(format!("You answer as {}.", clean(&op_id))),
            None => self
                .out
                .note("Nobody answers yet; /op-id ID says who you are."),
        }
    }

    pub(super) fn set_op_id(&mut self, id: &str) -> Result<(), Failure> {
        let before = self.session.op_id();
        let op_id = (id != "clear").then_some(id);
        self.answer_as(op_id)?;
        match op_id {
            Some(op_id) => self.doubt_new_name(op_id, before),
            None => Ok(()),
        }
    }

    /// Has somebody, or nobody, answer from now on.
    fn answer_as(&mut self, op_id: Option<&str>) -> Result<(), Failure> {
        self.session.set_op_id(op_id)?;
        self.doubted = None;
        if let Some(recorder) = &mut self.recorder {
            recorder.op_id(op_id)?;
        }
        if let Some(op_id) = op_id
            && !self.people.iter().any(|person| person == op_id)
        {
            self.people.push(op_id.to_owned());
        }
        match op_id {
            Some(op_id) => self
                .out
                .note(format!("You answer as {} from now on.", clean(op_id))),
            None => self
                .out
                .note("Nobody answers from now on; /op-id ID says who does."),
        }
        Ok(())
    }

    /// Asks about a name that nobody used before.
    pub(super) fn doubt_new_name(
        &mut self,
        op_id: &str,
        before: Option<String>,
    ) -> Result<(), Failure> {
        if !self.reader.is_interactive() {
            return Ok(());
        }
        if let Some(new) = self.session.read(|reader| op_id::is_new(reader, op_id))? {
            let asked = format!("Note that {new}. Is that you? Go on, or n takes it back.");
            self.out.note_wrapped(asked, 2);
            self.doubted = Some(Doubted { before });
        }
        Ok(())
    }

    /// Whether a line takes back the name that was asked about.
    pub(super) fn takes_back(&mut self, line: &Line, topic: Topic) -> Result<bool, Failure> {
        let Line::Text(text) = line else {
            return Ok(false);
        };
        let Some(Doubted { before }) = self.doubted.take() else {
            return Ok(false);
        };
        let no = matches!(text.trim().to_lowercase().as_str(), "n" | "no");
        if !no || !matches!(topic, Topic::Turn | Topic::Verdict) {
            return Ok(false);
        }
        self.answer_as(before.as_deref())?;
        Ok(true)
    }

    /// Asks, once, whether whoever is there is who git says.
    pub(super) fn ask_who(&mut self) -> Result<bool, Failure> {
        if !self.reader.is_interactive() {
            return Ok(false);
        }
        // Asked once: who says no says who they are.
        let Some(who) = self.who.take() else {
            return Ok(false);
        };
        let prompt = format!("Nobody answers yet. Answer as {}? [y/n]: ", clean(&who));
        if !self.agrees(&prompt)? {
            return Ok(false);
        }
        self.answer_as(Some(&who))?;
        Ok(true)
    }

    /// Asks what is answered with yes or no; whatever is neither is no.
    fn agrees(&mut self, prompt: &str) -> Result<bool, Failure> {
        loop {
            match self.read(prompt, Topic::Choice)? {
                Line::Redraw => {}
                Line::Text(text) => {
                    return Ok(matches!(text.trim().to_lowercase().as_str(), "y" | "yes"));
                }
                Line::End => {
                    self.leaving = true;
                    return Ok(false);
                }
                Line::Interrupted { .. } | Line::Unreadable(_) => return Ok(false),
            }
        }
    }
}
