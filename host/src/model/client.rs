//! A model behind an OpenAI-compatible endpoint: `POST {url}/chat/completions`,
//! streamed as server-sent events.
//!
//! What can be tried again is: 429 and the 500s, with growing waits that
//! differ by chance, and `Retry-After` where it is given. Nothing is tried
//! again once text has come. Everything that comes has a limit, and every wait
//! an end.

use std::hash::{BuildHasher, RandomState};
use std::sync::mpsc::Sender;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::header;
use serde::{Deserialize, Serialize};

use super::config::{Choice, ConfigError, Endpoint, Environment, Key};
use super::http::{self, Response, Waits};
use super::redact::{Redactor, redact};
use super::sse::{Bad, Events};
use super::{Finish, Message, Model, ModelError};
use crate::runtime::cancel::Cancel;
use crate::runtime::{block_on_hearing, unless_cancelled};

/// How long is waited, how often asked, and how much taken.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// To connect, TLS included. Default 10 s.
    pub connect: Duration,
    /// For the next bytes, the first ones included. Default 120 s.
    pub idle: Duration,
    /// For the whole reply. Default 30 min.
    pub whole: Duration,
    /// How often an endpoint is asked that is busy or broken. Default 4.
    pub attempts: u32,
    /// The wait before the second time; it doubles. Default 500 ms.
    pub backoff: Duration,
    /// The longest `Retry-After` that is waited for. Default 60 s.
    pub retry_after: Duration,
    /// The text of a reply, in bytes. Default 1 MiB.
    pub text: usize,
    /// One line of the stream and one event, in bytes. Default 256 KiB.
    pub line: usize,
    /// All that comes for one reply, in bytes. Default 64 MiB.
    pub stream: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            whole: Duration::from_secs(30 * 60),
            attempts: 4,
            backoff: Duration::from_millis(500),
            retry_after: Duration::from_secs(60),
            text: 1 << 20,
            line: 256 << 10,
            stream: 64 << 20,
        }
    }
}

/// The most that is read of what comes with an error, in bytes.
const DETAIL_MAX: usize = 16 << 10;
/// The most of it that is told, in characters.
const TOLD_MAX: usize = 400;

/// A model on the network.
pub struct Client {
    name: String,
    model: String,
    endpoint: Endpoint,
    key: Option<Key>,
    limits: Limits,
}

impl Client {
    /// The model chosen, with its key.
    ///
    /// # Errors
    /// `model-key-unreadable`, `model-key-invalid`.
    pub fn new(choice: &Choice, env: Environment<'_>, limits: Limits) -> Result<Self, ConfigError> {
        Ok(Self {
            name: choice.name.clone(),
            model: choice.model.clone(),
            endpoint: choice.endpoint.clone(),
            key: choice.key(env)?,
            limits,
        })
    }
}

impl Client {
    /// A text without the key, to be kept.
    pub fn without_key(&self, text: &str) -> String {
        redact(text, self.key.as_ref().map(Key::expose))
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: &'a [Message],
    stream: bool,
}

impl Model for Client {
    fn name(&self) -> &str {
        &self.name
    }

    fn turn(
        &self,
        messages: &[Message],
        on_text: &mut dyn FnMut(&str),
        cancel: &Cancel,
    ) -> Result<Finish, ModelError> {
        let body = serde_json::to_vec(&Body {
            model: &self.model,
            messages,
            stream: true,
        })
        .map_err(|e| short(&e))?;
        let call = Call {
            endpoint: self.endpoint.clone(),
            key: self.key.clone(),
            body: body.into(),
            limits: self.limits,
        };
        let cancel = cancel.clone();
        let turn = |tell| async move {
            let whole = call.limits.whole;
            let turn = tokio::time::timeout(whole, call.run(tell));
            match unless_cancelled(turn, &cancel).await {
                Ok(Ok(done)) => done,
                Ok(Err(_)) => Err(ModelError::TimedOut {
                    doing: "waiting for the end of the reply",
                    after: whole,
                }),
                Err(why) => Err(ModelError::Cancelled(why)),
            }
        };
        block_on_hearing(turn, |text: String| on_text(&text)).unwrap_or_else(|e| Err(short(&e)))
    }
}

/// Something of ghyll's own is short.
fn short(error: &dyn std::fmt::Display) -> ModelError {
    ModelError::Failed {
        code: "model-call-failed",
        message: format!("the model cannot be asked: {error}"),
    }
}

struct Call {
    endpoint: Endpoint,
    key: Option<Key>,
    body: Bytes,
    limits: Limits,
}

impl Call {
    async fn run(self, tell: Sender<String>) -> Result<Finish, ModelError> {
        let mut attempt = 1;
        loop {
            let mut response = self.ask().await?;
            let status = response.status;
            if status == 200 {
                return self.read(response, &tell).await;
            }
            let retry_after = retry_after(response.header(header::RETRY_AFTER));
            let to = response.header(header::LOCATION).to_owned();
            let detail = self.detail(&mut response).await;
            match status {
                429 | 500..=599 => {
                    let wait = retry_after.unwrap_or_else(|| self.backoff(attempt));
                    if attempt >= self.limits.attempts || wait > self.limits.retry_after {
                        return Err(ModelError::Unavailable {
                            status,
                            attempts: attempt,
                            retry_after,
                            detail,
                        });
                    }
                    tokio::time::sleep(wait).await;
                    attempt += 1;
                }
                300..=399 => return Err(ModelError::Redirected { status, to }),
                401 | 403 => return Err(ModelError::Unauthorised { status, detail }),
                _ => return Err(ModelError::Refused { status, detail }),
            }
        }
    }

    async fn ask(&self) -> Result<Response, ModelError> {
        let waits = Waits {
            connect: self.limits.connect,
            idle: self.limits.idle,
        };
        let (key, body) = (self.key.as_ref(), self.body.clone());
        http::post(&self.endpoint, "/chat/completions", key, body, waits).await
    }

    /// The wait before the next attempt: doubled each time, and by chance up
    /// to a half shorter, so that many that were refused do not come at once.
    fn backoff(&self, attempt: u32) -> Duration {
        let full = self
            .limits
            .backoff
            .saturating_mul(1 << attempt.saturating_sub(1).min(16));
        let chance = f64::from(RandomState::new().hash_one(attempt) as u32) / f64::from(u32::MAX);
        full.mul_f64(1.0 - chance / 2.0)
            .min(self.limits.retry_after)
    }

    /// What an endpoint says of an error, without the key.
    async fn detail(&self, response: &mut Response) -> String {
        let bytes = response.beginning(DETAIL_MAX).await;
        let text = String::from_utf8_lossy(&bytes);
        let said = match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(json) => message_of(&json).unwrap_or_default(),
            Err(_) => text.into_owned(),
        };
        self.told(&said)
    }

    fn told(&self, said: &str) -> String {
        let said = redact(said.trim(), self.key.as_ref().map(Key::expose));
        let mut told: String = said.chars().take(TOLD_MAX).collect();
        if told.len() < said.len() {
            told.push('…');
        }
        told
    }

    async fn read(
        &self,
        mut response: Response,
        tell: &Sender<String>,
    ) -> Result<Finish, ModelError> {
        let mut reply = Reply {
            call: self,
            tell,
            redactor: Redactor::new(self.key.as_ref().map(Key::expose)),
            text: 0,
            finish: None,
        };
        let kind = response.header(header::CONTENT_TYPE).to_ascii_lowercase();
        let done = if kind.starts_with("application/json") {
            reply.whole(&mut response).await
        } else {
            reply.stream(&mut response).await
        };
        // What was held back is text too, however it ended.
        let rest = reply.redactor.end();
        if !rest.is_empty() {
            let _ = tell.send(rest);
        }
        done
    }
}

/// A reply that is coming in.
struct Reply<'c> {
    call: &'c Call,
    tell: &'c Sender<String>,
    redactor: Redactor<'c>,
    /// Bytes of text so far.
    text: usize,
    finish: Option<Finish>,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<ChunkChoice>,
    error: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct ChunkChoice {
    /// `message` where the reply is not streamed.
    #[serde(alias = "message")]
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
}

impl Reply<'_> {
    async fn stream(&mut self, response: &mut Response) -> Result<Finish, ModelError> {
        let limits = &self.call.limits;
        let mut events = Events::new(limits.line);
        let mut came = 0usize;
        loop {
            let Some(piece) = response.piece().await? else {
                // Some leave out the mark at the end.
                return self.finish.ok_or(ModelError::CutOff);
            };
            came = came.saturating_add(piece.len());
            if came > limits.stream {
                return Err(ModelError::TooLong {
                    what: "all its events",
                    max: limits.stream,
                });
            }
            let complete = events.push(&piece).map_err(|bad| match bad {
                Bad::TooLong => ModelError::TooLong {
                    what: "one event",
                    max: limits.line,
                },
                Bad::NotText => ModelError::Malformed("an event is not text".to_owned()),
            })?;
            for event in complete {
                if event.trim() == "[DONE]" {
                    return Ok(self.finish.unwrap_or(Finish::Stop));
                }
                self.chunk(&event)?;
            }
        }
    }

    /// An endpoint that does not stream answers with all of it.
    async fn whole(&mut self, response: &mut Response) -> Result<Finish, ModelError> {
        let max = self.call.limits.text.saturating_mul(8);
        let bytes = response.beginning(max.saturating_add(1)).await;
        if bytes.len() > max {
            return Err(ModelError::TooLong {
                what: "all of it",
                max,
            });
        }
        self.chunk(&String::from_utf8_lossy(&bytes))?;
        self.finish
            .ok_or_else(|| ModelError::Malformed("it does not say how it ends".to_owned()))
    }

    fn chunk(&mut self, json: &str) -> Result<(), ModelError> {
        let chunk: Chunk = serde_json::from_str(json)
            .map_err(|e| ModelError::Malformed(format!("an event is not as it should be ({e})")))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            let said = message_of(&error).unwrap_or_else(|| error.to_string());
            return Err(ModelError::Refused {
                status: 0,
                detail: self.call.told(&said),
            });
        }
        let Some(choice) = chunk.choices.into_iter().next() else {
            return Ok(());
        };
        if let Some(text) = choice.delta.and_then(|delta| delta.content) {
            self.text(&text)?;
        }
        match choice.finish_reason.as_deref() {
            None | Some("") => {}
            Some("stop") => self.finish = Some(Finish::Stop),
            Some("length") => self.finish = Some(Finish::Length),
            Some(_) => self.finish = Some(Finish::Other),
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), ModelError> {
        let max = self.call.limits.text;
        let room = max - self.text;
        let fits = text
            .get(..text.floor_char_boundary(room))
            .unwrap_or_default();
        self.text += fits.len();
        let shown = self.redactor.push(fits);
        if !shown.is_empty() {
            // Nobody listens only when the turn is over.
            let _ = self.tell.send(shown);
        }
        match fits.len() == text.len() {
            true => Ok(()),
            false => Err(ModelError::TooLong {
                what: "its text",
                max,
            }),
        }
    }
}

/// What an error says, in the shapes that are in use.
fn message_of(json: &serde_json::Value) -> Option<String> {
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let error = json.get("error").unwrap_or(json);
    text(error)
        .or_else(|| error.get("message").and_then(text))
        .or_else(|| error.get("detail").and_then(text))
}

/// How long an endpoint wants to be left alone: seconds, or until a date.
fn retry_after(value: &str) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let until = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    let left = until.duration_since(jiff::Timestamp::now());
    Some(Duration::try_from(left).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(retry_after("7"), Some(Duration::from_secs(7)));
        let past = retry_after("Wed, 21 Oct 2015 07:28:00 GMT");
        assert_eq!(past, Some(Duration::ZERO));
        let future = retry_after("Mon, 21 Oct 2199 07:28:00 GMT");
        assert!(future.is_some_and(|wait| wait > Duration::from_secs(60)));
        assert_eq!(retry_after("soon"), None);
        assert_eq!(retry_after(""), None);
    }
}
