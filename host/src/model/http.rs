//! One request to an endpoint: connect, TLS where it is asked for, send.
//!
//! HTTP/1.1 on a connection of its own, ended with the exchange: turns are far
//! apart. Nothing is followed, cached or remembered.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Request};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use super::ModelError;
use super::config::{Endpoint, Key};

/// How long is waited for what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waits {
    pub(super) connect: Duration,
    pub(super) idle: Duration,
}

/// A response whose body has yet to come.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    body: Incoming,
    idle: Duration,
    /// Drives the connection; ends with the response.
    _connection: JoinSet<hyper::Result<()>>,
}

impl Response {
    /// The next piece of the body; `None` at its end.
    pub(super) async fn piece(&mut self) -> Result<Option<Bytes>, ModelError> {
        loop {
            let frame = within(self.idle, "it was answering", self.body.frame()).await?;
            match frame {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(_)) => return Err(ModelError::CutOff),
            }
        }
    }

    /// The beginning of the body, at most about `max` bytes of it.
    pub(super) async fn beginning(&mut self, max: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < max
            && let Ok(Some(piece)) = self.piece().await
        {
            bytes.extend_from_slice(&piece);
        }
        bytes.truncate(max);
        bytes
    }

    /// A header as text; empty if there is none.
    pub(super) fn header(&self, name: header::HeaderName) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

/// Posts JSON to a path below the endpoint's url.
pub(super) async fn post(
    endpoint: &Endpoint,
    below: &str,
    key: Option<&Key>,
    body: Bytes,
    waits: Waits,
) -> Result<Response, ModelError> {
    let unreachable = |source| ModelError::Unreachable {
        url: endpoint.url().to_owned(),
        source,
    };
    let mut request = Request::post(format!("{}{below}", endpoint.path()))
        .header(header::HOST, endpoint.authority())
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "text/event-stream, application/json")
        .header(
            header::USER_AGENT,
            concat!("ghyll/", env!("CARGO_PKG_VERSION")),
        );
    if let Some(key) = key {
        request = request.header(header::AUTHORIZATION, bearer(key)?);
    }
    let request = request
        .body(Full::new(body))
        .map_err(|e| unreachable(io::Error::other(e)))?;

    let mut connection = JoinSet::new();
    let connect = async {
        let address = (endpoint.host(), endpoint.port());
        let stream = TcpStream::connect(address).await.map_err(unreachable)?;
        let _ = stream.set_nodelay(true);
        if !endpoint.is_tls() {
            return handshake(&mut connection, stream)
                .await
                .map_err(|e| unreachable(io::Error::other(e)));
        }
        let stream = secure(endpoint, stream).await?;
        handshake(&mut connection, stream)
            .await
            .map_err(|e| unreachable(io::Error::other(e)))
    };
    let mut sender = within(waits.connect, "connecting", connect).await??;
    let response = within(
        waits.idle,
        "waiting for an answer",
        sender.send_request(request),
    )
    .await?;
    let response = match response {
        Ok(response) => response,
        Err(error) => {
            // Who speaks before it is asked ends the connection, not the request.
            let error = match connection.join_next().await {
                Some(Ok(Err(cause))) if error.is_canceled() => cause,
                _ => error,
            };
            let cause = innermost(&error);
            let by_the_network = cause.is_incomplete_message()
                || cause.is_canceled()
                || std::error::Error::source(cause).is_some_and(|e| e.is::<io::Error>());
            return Err(match by_the_network {
                true => unreachable(io::Error::other(error)),
                false => ModelError::Malformed(format!("no HTTP response ({error})")),
            });
        }
    };
    let (parts, body) = response.into_parts();
    Ok(Response {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body,
        idle: waits.idle,
        _connection: connection,
    })
}

/// What an error goes back to, of HTTP's own.
fn innermost(error: &hyper::Error) -> &hyper::Error {
    let mut innermost = error;
    while let Some(source) = std::error::Error::source(innermost)
        && let Some(inner) = source.downcast_ref()
    {
        innermost = inner;
    }
    innermost
}

type Sender = hyper::client::conn::http1::SendRequest<Full<Bytes>>;

async fn handshake<S>(
    connection: &mut JoinSet<hyper::Result<()>>,
    stream: S,
) -> hyper::Result<Sender>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (sender, driven) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    connection.spawn(driven);
    Ok(sender)
}

async fn secure(
    endpoint: &Endpoint,
    stream: TcpStream,
) -> Result<tokio_rustls::client::TlsStream<TcpStream>, ModelError> {
    let refused = |why: String| ModelError::CertificateRefused {
        url: endpoint.url().to_owned(),
        why,
    };
    let name = ServerName::try_from(endpoint.host().to_owned())
        .map_err(|_| refused("its host can have none".to_owned()))?;
    let config = trusting_the_system().map_err(|e| refused(e.to_string()))?;
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .map_err(|source| {
            let tls = source
                .get_ref()
                .and_then(|inner| inner.downcast_ref::<rustls::Error>());
            match tls {
                Some(error @ rustls::Error::InvalidCertificate(_)) => refused(error.to_string()),
                _ => ModelError::Unreachable {
                    url: endpoint.url().to_owned(),
                    source,
                },
            }
        })
}

/// TLS with the certificates the system trusts.
fn trusting_the_system() -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(rustls::Error::General(
            "the system has no trusted certificates".to_owned(),
        ));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

/// The header that carries the key, marked so that nothing logs it.
fn bearer(key: &Key) -> Result<HeaderValue, ModelError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_| {
        ModelError::Failed {
            code: "model-call-failed",
            message: "no header can carry the key".to_owned(),
        }
    })?;
    value.set_sensitive(true);
    Ok(value)
}

async fn within<F: Future>(
    time: Duration,
    doing: &'static str,
    future: F,
) -> Result<F::Output, ModelError> {
    tokio::time::timeout(time, future)
        .await
        .map_err(|_| ModelError::TimedOut { doing, after: time })
}
