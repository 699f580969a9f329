//! An endpoint in this process: each connection is answered as a test says.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Answers one request.
pub type Handler = Box<dyn FnMut(&mut Wire) + Send>;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Request {
    pub head: String,
    pub body: String,
}

trait Stream: Read + Write + Send {}
impl<S: Read + Write + Send> Stream for S {}

/// A connection to whoever asks.
pub struct Wire {
    stream: Box<dyn Stream>,
    /// Whether the head of the answer still has to go first.
    headless: bool,
}

impl Wire {
    /// Sends bytes, of an event stream.
    pub fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes);
    }

    /// As [`Self::send`]; whether anybody still listens.
    pub fn try_send(&mut self, bytes: &[u8]) -> bool {
        if std::mem::take(&mut self.headless) {
            let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                         Transfer-Encoding: chunked\r\n\r\n";
            if self.stream.write_all(head).is_err() {
                return false;
            }
        }
        let framed = [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
        self.stream
            .write_all(&framed)
            .and_then(|()| self.stream.flush())
            .is_ok()
    }

    /// Sends a whole response.
    pub fn whole(&mut self, status: &str, headers: &str, body: &str) {
        self.headless = false;
        let length = body.len();
        let response = format!(
            "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        let _ = self.stream.write_all(response.as_bytes());
    }

    /// Says nothing until the other side goes.
    pub fn wait_for_end(&mut self) {
        let mut byte = [0];
        while matches!(self.stream.read(&mut byte), Ok(n) if n > 0) {}
    }
}

/// The endpoint; it ends with the test.
pub struct Endpoint {
    scheme: &'static str,
    port: u16,
    ended: Arc<AtomicBool>,
    requests: Arc<Mutex<Vec<Request>>>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Answers all requests the same way, each in a stream that ends well
    /// unless the handler goes on.
    pub fn always(mut handler: Handler) -> Self {
        Self::start("http", true, plain, move |wire| {
            handler(wire);
            true
        })
    }

    /// Answers one request, and then nobody.
    pub fn once(handler: impl FnOnce(&mut Wire) + Send + 'static) -> Self {
        let mut handler = Some(handler);
        Self::each(vec![Box::new(move |wire: &mut Wire| {
            if let Some(handler) = handler.take() {
                handler(wire);
            }
        })])
    }

    /// Answers one request after the other, each as is said for it.
    pub fn each(handlers: Vec<Handler>) -> Self {
        let mut handlers = handlers.into_iter();
        Self::start("http", true, plain, move |wire| {
            match handlers.next() {
                Some(mut handler) => handler(wire),
                None => wire.whole("500 Nobody expected that", "", ""),
            }
            true
        })
    }

    /// Is no HTTP server at all.
    pub fn raw(handler: impl FnOnce(&mut Wire) + Send + 'static) -> Self {
        let mut handler = Some(handler);
        Self::start("http", false, plain, move |wire| {
            wire.headless = false;
            handler.take().is_some_and(|handler| {
                handler(wire);
                true
            })
        })
    }

    fn start(
        scheme: &'static str,
        reads: bool,
        mut secure: impl FnMut(TcpStream) -> Box<dyn Stream> + Send + 'static,
        mut handle: impl FnMut(&mut Wire) -> bool + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ended = Arc::new(AtomicBool::new(false));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (over, heard) = (Arc::clone(&ended), Arc::clone(&requests));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let stream = stream.unwrap();
                let wait = Some(Duration::from_secs(30));
                stream.set_read_timeout(wait).unwrap();
                stream.set_write_timeout(wait).unwrap();
                let mut stream = secure(stream);
                if reads {
                    match read(&mut stream) {
                        Some(request) => heard.lock().unwrap().push(request),
                        None => continue,
                    }
                }
                let headless = reads;
                let mut wire = Wire { stream, headless };
                handle(&mut wire);
            }
        });
        Self {
            scheme,
            port,
            ended,
            requests,
            thread: Some(thread),
        }
    }

    pub fn url(&self) -> String {
        format!("{}://127.0.0.1:{}/v1", self.scheme, self.port)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes it up.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn plain(stream: TcpStream) -> Box<dyn Stream> {
    Box::new(stream)
}

/// An endpoint with a certificate for `name`, and the certificate.
pub fn tls(name: &str, answer: Vec<u8>) -> (Endpoint, String) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let secure = move |stream: TcpStream| -> Box<dyn Stream> {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        Box::new(StreamOwned::new(connection, stream))
    };
    let endpoint = Endpoint::start("https", true, secure, move |wire| {
        wire.send(&answer);
        true
    });
    (endpoint, made.cert.pem())
}

/// Reads a request to its end; `None` if none comes.
fn read(stream: &mut dyn Stream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                let (head, body) = (format!("{head}\r\n"), body.to_owned());
                return Some(Request { head, body });
            }
        }
        match stream.read(&mut piece) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&piece[..n]),
            _ => return None,
        }
    }
}

/// A whole response.
pub fn status(line: &str, headers: &str, body: &str) -> Handler {
    let (line, headers, body) = (line.to_owned(), headers.to_owned(), body.to_owned());
    Box::new(move |wire| wire.whole(&line, &headers, &body))
}

/// An event with a piece of text.
pub fn chunk(text: &str) -> String {
    serde_json::json!({ "choices": [{ "delta": { "content": text } }] }).to_string()
}

/// The event that says how a reply ended.
pub fn done(finish: &str) -> String {
    serde_json::json!({ "choices": [{ "delta": {}, "finish_reason": finish }] }).to_string()
}

/// A stream of events; it ends with the mark if the last says how it ended.
pub fn events(all: &[String]) -> Vec<u8> {
    let mut stream: String = all.iter().map(|data| format!("data: {data}\n\n")).collect();
    if all
        .last()
        .is_some_and(|last| last.contains("finish_reason"))
    {
        stream.push_str("data: [DONE]\n\n");
    }
    stream.into_bytes()
}
