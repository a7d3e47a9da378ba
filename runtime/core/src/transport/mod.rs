//! The way to the model: one HTTP request, one stream of bytes back.
//!
//! How a connection is made is a seam ([`Connector`]): the program dials TCP, the harness hands out in-memory pipes under
//! a paused clock. No proxy is ever taken from the environment.

mod http;

pub use http::{HttpLimits, ModelClient, ModelResponse};

use crate::contract::BoxFuture;
use std::io;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

/// A connection.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// Makes connections.
pub trait Connector: Send + Sync {
    /// Connects to the endpoint's host and port.
    fn connect<'a>(&'a self, endpoint: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Io>>>;
}

/// Dials TCP, without delay for small writes.
pub struct TcpConnector;

impl Connector for TcpConnector {
    fn connect<'a>(&'a self, endpoint: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Io>>> {
        Box::pin(async move {
            let stream = tokio::net::TcpStream::connect((endpoint.host.as_str(), endpoint.port)).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Io>)
        })
    }
}

/// Where the model is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Host name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// What goes before the dialect's own path, without a final slash; may be empty.
    pub prefix: String,
}

impl Endpoint {
    /// Reads a base URL such as `http://127.0.0.1:8080/v1`.
    pub fn parse(base_url: &str) -> Result<Self, EndpointError> {
        let fault = |problem: &'static str| EndpointError { url: base_url.to_owned(), problem };
        let uri: hyper::Uri = base_url.parse().map_err(|_| fault("it is not a URL"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(fault("https is not supported; put a TLS proxy on this machine before it")),
            _ => return Err(fault("it must start with http://")),
        }
        let authority = uri.authority().ok_or_else(|| fault("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(fault("it must not hold a user name or password; the key comes from the environment"));
        }
        if uri.query().is_some() {
            return Err(fault("it must not hold a query"));
        }
        let port = match authority.as_str().rsplit_once(':') {
            Some((_, port)) if !port.ends_with(']') => match port.parse::<u16>() {
                Ok(port) if port > 0 => port,
                _ => return Err(fault("its port is not a number from 1 to 65535")),
            },
            _ => 80,
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(fault("it names no host"));
        }
        Ok(Endpoint { host, port, prefix: uri.path().trim_end_matches('/').to_owned() })
    }

    /// The `Host` header.
    pub fn host_header(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == 80 { host } else { format!("{host}:{}", self.port) }
    }
}

/// Why a base URL cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the base URL {url:?} cannot be used: {problem}. Give one like http://127.0.0.1:8080/v1")]
pub struct EndpointError {
    /// The URL as given.
    pub url: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// Why a request or a response failed. Texts are for a person.
#[derive(Debug, Error)]
pub enum TransportError {
    /// No connection.
    #[error("cannot connect to {host}: {source}. Check that the model server runs and the base URL is right")]
    Connect {
        /// Host and port.
        host: String,
        /// What the system said.
        source: io::Error,
    },
    /// Something took longer than its limit.
    #[error("the model server gave no {what} within {limit_ms} ms")]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// The limit in milliseconds.
        limit_ms: u64,
    },
    /// The server answered with an error status.
    #[error("the model server answered {status}: {message}")]
    Status {
        /// The HTTP status.
        status: u16,
        /// The server's words, at most 2 KiB.
        message: String,
        /// How many seconds the server asks to wait.
        retry_after: Option<u64>,
    },
    /// The answer is no stream of events.
    #[error("the model server answered with content type {found:?} in place of an event stream: {message}")]
    NotAStream {
        /// The content type.
        found: String,
        /// The start of the body, at most 2 KiB.
        message: String,
    },
    /// The answer is compressed, which was not asked for.
    #[error(
        "the model server sent its stream with content encoding {encoding:?} although none was asked for; switch compression off there or in the proxy before it"
    )]
    Encoded {
        /// The encoding.
        encoding: String,
    },
    /// The connection broke or broke the protocol.
    #[error("the connection to the model server broke {during}: {reason}")]
    Broken {
        /// When.
        during: &'static str,
        /// What the HTTP layer said.
        reason: String,
    },
    /// A header value cannot be sent.
    #[error("the API key holds a character that no HTTP header can carry; check the environment variable")]
    Key,
}

impl TransportError {
    /// Whether the same request may succeed when it is sent again.
    pub fn is_transient(&self) -> bool {
        match self {
            TransportError::Connect { .. } | TransportError::Timeout { .. } | TransportError::Broken { .. } => true,
            TransportError::Status { status, .. } => matches!(status, 408 | 429 | 500 | 502 | 503 | 504 | 529),
            TransportError::NotAStream { .. } | TransportError::Encoded { .. } | TransportError::Key => false,
        }
    }

    /// The kind of failure in the log.
    pub fn cause(&self) -> &'static str {
        match self {
            TransportError::Connect { .. } => "connect_failed",
            TransportError::Timeout { .. } => "timeout",
            TransportError::Status { .. } => "error_status",
            TransportError::NotAStream { .. } => "not_a_stream",
            TransportError::Encoded { .. } => "encoded",
            TransportError::Broken { .. } => "connection_broken",
            TransportError::Key => "bad_key",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expect: Result<(&str, u16, &str), &str>) {
        let found = Endpoint::parse(url);
        match (&found, expect) {
            (Ok(e), Ok((host, port, prefix))) => {
                assert_eq!((e.host.as_str(), e.port, e.prefix.as_str()), (host, port, prefix));
            }
            (Err(e), Err(text)) => assert!(e.to_string().contains(text), "{e}"),
            _ => panic!("{url}: {found:?}"),
        }
    }

    #[test]
    fn base_urls_are_read() {
        check("http://127.0.0.1:8080/v1", Ok(("127.0.0.1", 8080, "/v1")));
        check("http://localhost:1/", Ok(("localhost", 1, "")));
        check("http://[::1]:9/a/b/", Ok(("::1", 9, "/a/b")));
        check("http://host", Ok(("host", 80, "")));
    }

    #[test]
    fn other_urls_are_refused_with_what_is_wrong() {
        check("https://api.example.com/v1", Err("https is not supported"));
        check("file:///etc/passwd", Err("http://"));
        check("127.0.0.1:80", Err("http://"));
        check("http://user:pw@host/v1", Err("user name or password"));
        check("http://host/v1?x=1", Err("query"));
        check("http://127.0.0.1:99999/v1", Err("port"));
        check("http://127.0.0.1:0/v1", Err("port"));
        check("http://[::1]/v1", Ok(("::1", 80, "/v1")));
        check("", Err("not a URL"));
    }
}
