//! A url that a model answers at, taken apart and judged.

use hyper::Uri;

/// Where a model answers: an `http` or `https` url that ends in `/v1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    url: String,
    tls: bool,
    host: String,
    port: u16,
    authority: String,
    path: String,
}

impl Endpoint {
    /// Reads a url.
    ///
    /// # Errors
    /// What is wrong with it; without the url, for it may hold a password.
    pub fn parse(url: &str) -> Result<Self, &'static str> {
        const SHAPE: &str = "is no url";
        let url = url.trim();
        let uri: Uri = url.parse().map_err(|_| SHAPE)?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err("is neither http:// nor https://"),
        };
        let authority = uri.authority().ok_or(SHAPE)?;
        if authority.as_str().contains('@') {
            return Err("has a user or password in it, which belongs elsewhere");
        }
        if uri.query().is_some() || url.contains('#') {
            return Err("has a query, which belongs elsewhere");
        }
        let path = uri.path().strip_suffix('/').unwrap_or(uri.path());
        if !path.ends_with("/v1") {
            return Err("does not end in /v1");
        }
        let host = authority.host();
        if host.is_empty() {
            return Err(SHAPE);
        }
        Ok(Self {
            url: format!("{}://{authority}{path}", if tls { "https" } else { "http" }),
            tls,
            host: host.trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(if tls { 443 } else { 80 }),
            authority: authority.as_str().to_owned(),
            path: path.to_owned(),
        })
    }

    /// The url, without a slash at its end.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub(in crate::model) fn is_tls(&self) -> bool {
        self.tls
    }

    pub(in crate::model) fn host(&self) -> &str {
        &self.host
    }

    pub(in crate::model) fn port(&self) -> u16 {
        self.port
    }

    pub(in crate::model) fn authority(&self) -> &str {
        &self.authority
    }

    pub(in crate::model) fn path(&self) -> &str {
        &self.path
    }
}
