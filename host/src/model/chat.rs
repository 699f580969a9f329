//! A conversation with a model, turn by turn.
//!
//! A turn begins with a [`session::Turn`]: what an operator said, once all
//! that is due was asked. So nothing reaches a model while a question is open,
//! and that is a matter of types. What comes of a turn is kept, whatever it
//! is: a reply, a part of one, or only the operator's line, which then is said
//! again with the next.

use super::briefing::{Briefing, CHAT_MAX, Refused};
use super::client::{Client, Limits};
use super::config::{Choice, ConfigError, Environment, KEY_ENV, Models};
use super::redact::redact;
use super::transcript::{Resumed, Transcript, TranscriptError, Turn};
use super::{Finish, Message, Model, ModelError, stated};
use crate::modal;
use crate::runtime::cancel::Cancel;
use crate::session::{Session, SessionError, parse_evidence};
use crate::view::ViewError;

/// Why a turn did not reach a model. The line is kept.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The project cannot be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// No model can be asked as things are configured.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl ChatError {
    /// The public code.
    pub fn code(&self) -> &str {
        match self {
            Self::Session(e) => e.code(),
            Self::Config(e) => e.code(),
        }
    }

    /// What to do about it; empty where there is nothing to add.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Session(_) => "",
            Self::Config(e) => e.hint(),
        }
    }
}

impl From<ViewError> for ChatError {
    fn from(error: ViewError) -> Self {
        Self::Session(error.into())
    }
}

/// What is heard of a turn while it is on.
#[derive(Debug, Clone, Copy)]
pub enum Heard<'a> {
    /// It goes to this model.
    Asked {
        /// What operators call it.
        model: &'a str,
        /// Where it answers; empty for one that is not on the network.
        url: &'a str,
        /// The arrow it is about; empty for none.
        arrow: &'a str,
    },
    /// The next piece of the model's text.
    Text(&'a str),
}

/// What came of a turn.
#[derive(Debug)]
pub struct Said {
    /// Which turn of this session it was, from 1.
    pub number: u64,
    /// The model's text, as far as it came.
    pub text: String,
    /// Why it ended there.
    pub outcome: Result<Finish, ModelError>,
    /// Why the turn is not kept, if it is not.
    pub unkept: Option<TranscriptError>,
    /// What it said of clauses in the form that is taken up; `None` if nothing.
    pub stated: Option<Result<Stated, SessionError>>,
}

/// What a model said of clauses, kept until they are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// The arrow the turn was about.
    pub arrow: String,
    /// The clauses.
    pub clauses: Vec<String>,
}

/// A conversation.
pub struct Chat {
    transcript: Option<Transcript>,
    turns: Vec<Turn>,
    /// Turns that are not at hand any more.
    forgotten: usize,
    number: u64,
    limits: Limits,
    /// Why what the model said of clauses last was not taken up.
    refused: Option<Refused>,
}

impl Chat {
    /// A conversation that is kept nowhere.
    pub fn in_memory() -> Self {
        Self {
            transcript: None,
            turns: Vec::new(),
            forgotten: 0,
            number: 0,
            limits: Limits::default(),
            refused: None,
        }
    }

    /// A new conversation, kept as `.ghyll/chats/<session>.jsonl`.
    ///
    /// # Errors
    /// `chat-unreadable`, if there are no more file handles.
    pub fn new(session: &Session) -> Result<Self, TranscriptError> {
        Ok(Self {
            transcript: Some(Transcript::new(session.project(), session.id())?),
            ..Self::in_memory()
        })
    }

    /// Goes on with the newest conversation of the project; `None` if there is
    /// none, and then it is a new one.
    ///
    /// # Errors
    /// `chat-unreadable`; then it is a new one.
    pub fn resume(&mut self) -> Result<Option<Resumed>, TranscriptError> {
        let Some(transcript) = &mut self.transcript else {
            return Ok(None);
        };
        let resumed = transcript.resume()?;
        if let Some(resumed) = &resumed {
            self.turns.clone_from(&resumed.turns);
            self.forget_old();
        }
        Ok(resumed)
    }

    /// Sets how long networked models are waited for, and how much is taken.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The turns so far, oldest first; what a model is never sent again is
    /// left out.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// How many turns were begun in this session.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Says `turn` to the model that is configured for the work; `None` if
    /// none is, which is no fault and leaves nothing behind.
    ///
    /// # Errors
    /// [`ChatError`], if no model was asked. What came of one that was asked
    /// is [`Said::outcome`].
    pub fn say(
        &mut self,
        turn: modal::Turn<'_>,
        env: Environment<'_>,
        hear: &mut dyn FnMut(Heard<'_>),
        cancel: &Cancel,
    ) -> Result<Option<Said>, ChatError> {
        let mut arrow = String::new();
        match self.prepare(&turn, env, &mut arrow) {
            Ok(None) => {
                self.number += 1;
                Ok(None)
            }
            Ok(Some((briefing, choice, client))) => {
                hear(Heard::Asked {
                    model: &choice.name,
                    url: choice.endpoint.url(),
                    arrow: &briefing.arrow,
                });
                let said = client.without_key(turn.text());
                Ok(Some(self.ask(&turn, said, briefing, &client, hear, cancel)))
            }
            Err(error) => {
                self.number += 1;
                let code = error.code().to_owned();
                // The error that is told is the first one.
                let mut kept = turn.kept(arrow, code);
                if let Some(key) = env(KEY_ENV) {
                    kept.said = redact(&kept.said, key.to_str().map(str::trim));
                }
                let _ = self.keep(kept);
                Err(error)
            }
        }
    }

    /// As [`Self::say`], to a model of the caller's.
    ///
    /// # Errors
    /// As [`Self::say`].
    pub fn say_to(
        &mut self,
        turn: modal::Turn<'_>,
        model: &dyn Model,
        hear: &mut dyn FnMut(Heard<'_>),
        cancel: &Cancel,
    ) -> Result<Said, ChatError> {
        let briefing = Briefing::of(&turn.session().view()?, turn.text())?;
        hear(Heard::Asked {
            model: model.name(),
            url: "",
            arrow: &briefing.arrow,
        });
        let said = turn.text().to_owned();
        Ok(self.ask(&turn, said, briefing, model, hear, cancel))
    }

    fn prepare(
        &self,
        turn: &modal::Turn<'_>,
        env: Environment<'_>,
        arrow: &mut String,
    ) -> Result<Option<(Briefing, Choice, Client)>, ChatError> {
        let Some(models) = Models::of(turn.session().project(), env)? else {
            return Ok(None);
        };
        let briefing = Briefing::of(&turn.session().view()?, turn.text())?;
        arrow.clone_from(&briefing.arrow);
        let choice = models.for_tier(briefing.least_tier, briefing.raised)?;
        let client = Client::new(choice, env, self.limits)?;
        Ok(Some((briefing, choice.clone(), client)))
    }

    fn ask(
        &mut self,
        turn: &modal::Turn<'_>,
        said: String,
        mut briefing: Briefing,
        model: &dyn Model,
        hear: &mut dyn FnMut(Heard<'_>),
        cancel: &Cancel,
    ) -> Said {
        self.number += 1;
        briefing.refused(self.refused.take());
        let messages: Vec<Message> = briefing.messages(self.forgotten, &self.turns, turn.text());
        let mut text = String::new();
        let mut on_text = |piece: &str| {
            text.push_str(piece);
            hear(Heard::Text(piece));
        };
        let outcome = model.turn(&messages, &mut on_text, cancel);
        // A reply that did not come to its end may have said something else.
        let stated = match &outcome {
            Ok(_) => take_up(turn.session(), &briefing.arrow, &text),
            Err(_) => None,
        };
        let code = match (&outcome, &stated) {
            (Err(error), _) => error.code(),
            (Ok(_), Some(Err(error))) => error.code(),
            (Ok(_), _) => "",
        };
        if let Some(Err(error)) = &stated {
            self.refused = Some(Refused::of(error));
        }
        let finish = match &outcome {
            Ok(Finish::Stop) => "stop",
            Ok(Finish::Length) => "length",
            Ok(Finish::Other) => "other",
            Err(_) => INCOMPLETE,
        };
        let kept = self.keep(Turn {
            model: model.name().to_owned(),
            said,
            reply: text.clone(),
            finish: finish.to_owned(),
            ..turn.kept(briefing.arrow.clone(), code.to_owned())
        });
        Said {
            number: self.number,
            text,
            outcome,
            unkept: kept.err(),
            stated,
        }
    }

    fn keep(&mut self, turn: Turn) -> Result<(), TranscriptError> {
        let kept = match &mut self.transcript {
            Some(transcript) => transcript.keep(&turn),
            None => Ok(()),
        };
        self.turns.push(turn);
        self.forget_old();
        kept
    }

    /// Forgets what a model is never sent again.
    fn forget_old(&mut self) {
        let mut room = CHAT_MAX;
        let sizes = self
            .turns
            .iter()
            .rev()
            .map(|t| t.said.len() + t.reply.len());
        let sent = sizes
            .take_while(|size| {
                let fits = *size <= room;
                room = room.saturating_sub(*size);
                fits
            })
            .count();
        let old = self.turns.len().saturating_sub(sent);
        self.turns.drain(..old);
        self.forgotten = self.forgotten.saturating_add(old);
    }
}

/// Keeps what a reply says of the arrow's clauses in the stated form.
fn take_up(session: &Session, arrow: &str, reply: &str) -> Option<Result<Stated, SessionError>> {
    let said = stated::block(reply)?.and_then(|json| parse_evidence(&json));
    Some(said.and_then(|said| {
        session.keep_said(arrow, &said)?;
        Ok(Stated {
            arrow: arrow.to_owned(),
            clauses: said.into_keys().collect(),
        })
    }))
}

/// How a turn ended that did not come to its end.
const INCOMPLETE: &str = "incomplete";

impl modal::Turn<'_> {
    /// The turn as it is kept while nothing came of it.
    fn kept(&self, arrow: String, error: String) -> Turn {
        Turn {
            at: self.session().time(),
            op_id: self.session().op_id().unwrap_or_default(),
            arrow,
            said: self.text().to_owned(),
            finish: INCOMPLETE.to_owned(),
            error,
            ..Turn::default()
        }
    }
}
