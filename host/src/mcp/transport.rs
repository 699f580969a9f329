//! Lines of JSON-RPC, bounded before they are understood.
//!
//! The service behind it takes whatever comes and starts a task for each
//! request. So what a hostile client could do is ended here: a line has a
//! greatest length, only so many requests and so many bytes of them are open
//! at once, and what is refused is answered before the next line is read.
//! Who does not read the answers is not read any further either.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, GetMeta,
    JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// The longest line that is taken, in bytes: room for what a producer may say
/// of a dozen clauses.
pub const LINE_MAX: usize = 1 << 20;
/// How many requests may be open at once.
const OPEN_MAX: usize = 32;
/// How many bytes the open requests may have had together.
const OPEN_BYTES_MAX: usize = 4 << 20;
/// How many answers wait to be written before more are worked out.
const ANSWERS: usize = 16;
/// The server's own error: too much at once.
const BUSY: ErrorCode = ErrorCode(-32000);

/// The requests that have no answer yet, with the length of each.
#[derive(Default)]
struct Open(Mutex<HashMap<RequestId, usize>>);

impl Open {
    fn admit(&self, id: &RequestId, length: usize) -> Result<(), ErrorData> {
        let mut open = self.0.lock();
        if open.contains_key(id) {
            let message = "a request with this id is not answered yet";
            return Err(ErrorData::invalid_request(message, None));
        }
        let bytes: usize = open.values().sum();
        if open.len() >= OPEN_MAX || (!open.is_empty() && bytes + length > OPEN_BYTES_MAX) {
            let message = format!(
                "too much at once: at most {OPEN_MAX} requests of {OPEN_BYTES_MAX} bytes together \
                 are open; wait for answers"
            );
            return Err(ErrorData::new(BUSY, message, None));
        }
        open.insert(id.clone(), length);
        Ok(())
    }

    fn close(&self, id: &RequestId) {
        self.0.lock().remove(id);
    }
}

/// Both directions, each with a task of its own.
pub(super) struct Bounded {
    messages: mpsc::Receiver<ClientJsonRpcMessage>,
    answers: Option<mpsc::Sender<Vec<u8>>>,
    open: Arc<Open>,
    reading: JoinHandle<()>,
    writing: JoinHandle<()>,
}

impl Bounded {
    /// Starts both directions; also says when the client has gone.
    pub(super) fn start(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> (Self, watch::Receiver<bool>) {
        let (to_service, messages) = mpsc::channel(1);
        let (answers, to_client) = mpsc::channel(ANSWERS);
        let (left, gone) = watch::channel(false);
        let open = Arc::new(Open::default());
        let reader = Reader {
            lines: Lines::new(read),
            open: Arc::clone(&open),
            answers: answers.clone(),
            to_service,
            begun: false,
        };
        let reading = tokio::spawn(async move {
            reader.read_all().await;
            left.send_replace(true);
        });
        let writing = tokio::spawn(write_all(write, to_client));
        let transport = Self {
            messages,
            answers: Some(answers),
            open,
            reading,
            writing,
        };
        (transport, gone)
    }
}

impl Transport<RoleServer> for Bounded {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answers = self.answers.clone();
        let open = Arc::clone(&self.open);
        async move {
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            let sent = match (answers, line(&message)) {
                (Some(answers), Some(line)) => answers.send(line).await.is_ok(),
                _ => false,
            };
            // Only now: an answer that nobody takes is still an open request.
            if let Some(id) = answered {
                open.close(&id);
            }
            match sent {
                true => Ok(()),
                false => Err(io::ErrorKind::NotConnected.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.reading.abort();
        self.answers = None;
        // Both ends of its channel are gone then, once the reader is.
        let _ = (&mut self.reading).await;
        let _ = (&mut self.writing).await;
        Ok(())
    }
}

async fn write_all(mut write: impl AsyncWrite + Unpin, mut answers: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = answers.recv().await {
        let written = async {
            write.write_all(&line).await?;
            write.flush().await
        };
        if written.await.is_err() {
            // Nobody reads any more: what is still to come fails at once.
            return;
        }
    }
}

fn line(message: &ServerJsonRpcMessage) -> Option<Vec<u8>> {
    let mut line = serde_json::to_vec(message).ok()?;
    line.push(b'\n');
    Some(line)
}

struct Reader<R> {
    lines: Lines<R>,
    open: Arc<Open>,
    answers: mpsc::Sender<Vec<u8>>,
    to_service: mpsc::Sender<ClientJsonRpcMessage>,
    /// Whether the client began as the protocol has it; what is no request
    /// means nothing before.
    begun: bool,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    /// Reads until the client has gone, or nobody wants to hear it.
    async fn read_all(mut self) {
        loop {
            let going_on = match self.lines.next().await {
                Ok(Line::End) | Err(_) => return,
                Ok(Line::TooLong) => {
                    let message = format!("a line of more than {LINE_MAX} bytes");
                    let error = ErrorData::invalid_request(message, None);
                    self.refuse(error, None).await
                }
                Ok(Line::Whole(line)) => match understand(line) {
                    Ok(None) => true,
                    Ok(Some(message)) => {
                        let length = line.len();
                        self.take(message, length).await
                    }
                    Err(refused) => {
                        let (error, id) = *refused;
                        self.refuse(error, id).await
                    }
                },
            };
            if !going_on {
                return;
            }
        }
    }

    async fn take(&mut self, message: ClientJsonRpcMessage, length: usize) -> bool {
        match &message {
            JsonRpcMessage::Request(request) => {
                if let Err(error) = self.open.admit(&request.id, length) {
                    let id = request.id.clone();
                    return self.refuse(error, Some(id)).await;
                }
                self.begun |= matches!(request.request, ClientRequest::InitializeRequest(_))
                    || request.request.get_meta().protocol_version().is_some();
            }
            _ if !self.begun => return true,
            JsonRpcMessage::Notification(notification) => {
                // What is called off gets no answer.
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open.close(id);
                }
            }
            // Nothing is ever asked of the client.
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => return true,
        }
        self.to_service.send(message).await.is_ok()
    }

    async fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) -> bool {
        match line(&ServerJsonRpcMessage::error(error, id)) {
            Some(line) => self.answers.send(line).await.is_ok(),
            None => true,
        }
    }
}

/// An error, and the request it answers where that can be told.
type Refused = Box<(ErrorData, Option<RequestId>)>;

/// The message of a line; `None` if there is none in it.
fn understand(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Refused> {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    if line.is_empty() {
        return Ok(None);
    }
    let error = match serde_json::from_slice(line) {
        Ok(message) => return Ok(Some(message)),
        Err(error) => error,
    };
    // What is JSON may have an id to answer to, or want no answer.
    match serde_json::from_slice::<Envelope>(line) {
        Err(_) => {
            let message = format!("not JSON: {error}");
            Err(Box::new((ErrorData::parse_error(message, None), None)))
        }
        Ok(Envelope::Object { id: None, .. }) => Ok(None),
        Ok(Envelope::Object { id: Some(id), .. }) => {
            let message = "not a request as the protocol has it";
            let error = ErrorData::invalid_request(message, None);
            Err(Box::new((error, serde_json::from_value(id).ok())))
        }
        Ok(Envelope::Other(_)) => {
            let message = "a message is an object, one a line";
            Err(Box::new((ErrorData::invalid_request(message, None), None)))
        }
    }
}

/// As much of a message as it takes to refuse it.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Envelope {
    Object {
        id: Option<serde_json::Value>,
        #[serde(rename = "method")]
        _method: Option<serde::de::IgnoredAny>,
    },
    Other(#[allow(dead_code)] serde::de::IgnoredAny),
}

enum Line<'a> {
    /// Without its end.
    Whole(&'a [u8]),
    /// It was passed over.
    TooLong,
    End,
}

/// Lines of at most [`LINE_MAX`] bytes.
struct Lines<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is still to come.
    passing_over: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(read: R) -> Self {
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            passing_over: false,
        }
    }

    /// The next line. What comes before the end without one is cut off and no
    /// line.
    async fn next(&mut self) -> io::Result<Line<'_>> {
        self.line.clear();
        self.line.shrink_to(64 << 10);
        loop {
            let read = self.read.fill_buf().await?;
            if read.is_empty() {
                return Ok(Line::End);
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let piece = read.get(..end.unwrap_or(read.len())).unwrap_or_default();
            let length = piece.len() + usize::from(end.is_some());
            let too_long = !self.passing_over && self.line.len() + piece.len() > LINE_MAX;
            if !self.passing_over && !too_long {
                self.line.extend_from_slice(piece);
            }
            self.read.consume(length);
            if too_long {
                self.passing_over = end.is_none();
                return Ok(Line::TooLong);
            }
            if end.is_some() {
                if !self.passing_over {
                    return Ok(Line::Whole(&self.line));
                }
                self.passing_over = false;
            }
        }
    }
}
