//! Where requests go, and how they look there.

use super::secrets::fields;
use crate::http::Incoming;
use std::fmt;
use std::io;
use std::time::Duration;
use tokio::net::TcpStream;

/// How long a connection may take to come about.
const DIAL: Duration = Duration::from_secs(10);

/// Request fields that belong to a connection, or that are written anew.
const OWN: [&str; 9] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
];

/// A server that speaks plain HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    authority: String,
    path: String,
}

/// Why a URL is no upstream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// TLS would be needed.
    #[error(
        "TLS is not spoken here; put something in front of the provider that takes it off, and give its http:// URL"
    )]
    Tls,
    /// No URL of a server.
    #[error("{0} is no URL of a server; give one such as http://127.0.0.1:8000/v1")]
    NoUrl(String),
}

impl Upstream {
    /// Reads a base URL such as `http://127.0.0.1:8000/v1`.
    ///
    /// # Errors
    ///
    /// When it is of another scheme than http, or names no host.
    pub fn parse(url: &str) -> Result<Upstream, UpstreamError> {
        let wrong = || UpstreamError::NoUrl(format!("{url:?}"));
        let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
        if scheme.eq_ignore_ascii_case("https") {
            return Err(UpstreamError::Tls);
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let port = match authority.rfind(':') {
            // Inside brackets a colon is part of the host.
            Some(at) if !authority[at..].contains(']') => Some((&authority[..at], &authority[at + 1..])),
            _ => None,
        };
        let host = port.map_or(authority, |(host, _)| host);
        let is_clean = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#@".contains(&byte));
        let sound = scheme.eq_ignore_ascii_case("http")
            && !host.is_empty()
            && (is_clean(authority) && is_clean(path))
            && port.is_none_or(|(_, port)| port.parse::<u16>().is_ok_and(|port| port > 0));
        if !sound {
            return Err(wrong());
        }
        let authority = if port.is_some() { authority.to_owned() } else { format!("{authority}:80") };
        Ok(Upstream { authority, path: path.trim_end_matches('/').to_owned() })
    }

    /// The path of its base URL, which that of the recorder has as well.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Connects.
    pub(super) async fn dial(&self) -> io::Result<TcpStream> {
        let limit = || io::Error::new(io::ErrorKind::TimedOut, "no connection within ten seconds");
        let stream = tokio::time::timeout(DIAL, TcpStream::connect(&self.authority)).await.map_err(|_| limit())??;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// The request as it goes to this server: the same line, fields and body, with a framing of its own.
    pub(super) fn request(&self, incoming: &Incoming) -> Vec<u8> {
        let version = if incoming.old { "1.0" } else { "1.1" };
        let mut out = format!("{} {} HTTP/{version}\r\n", incoming.method, incoming.path).into_bytes();
        out.extend_from_slice(format!("host: {}\r\n", self.authority).as_bytes());
        for (name, value) in fields(&incoming.head) {
            if !OWN.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(b": ");
                out.extend_from_slice(value);
                out.extend_from_slice(b"\r\n");
            }
        }
        out.extend_from_slice(b"accept-encoding: identity\r\n");
        if !incoming.body.is_empty() || !matches!(incoming.method.as_str(), "GET" | "HEAD") {
            out.extend_from_slice(format!("content-length: {}\r\n", incoming.body.len()).as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&incoming.body);
        out
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[track_caller]
    fn check(url: &str, expect: Result<&str, &str>) {
        let got = Upstream::parse(url).map(|upstream| upstream.to_string()).map_err(|error| error.to_string());
        assert_eq!(got, expect.map(str::to_owned).map_err(str::to_owned));
    }

    #[test]
    fn plain_urls_are_upstreams() {
        check("http://127.0.0.1:8000/v1/", Ok("http://127.0.0.1:8000/v1"));
        check("HTTP://localhost", Ok("http://localhost:80"));
        check("http://[::1]/a/b", Ok("http://[::1]:80/a/b"));
    }

    #[test]
    fn what_is_none_is_told_why() {
        check(
            "https://api.example.com/v1",
            Err(
                "TLS is not spoken here; put something in front of the provider that takes it off, and give its http:// \
                 URL",
            ),
        );
        for url in
            ["ftp://x", "x", "http://", "http://x:0", "http://x:99999", "http://x:", "http://u@x", "http://x/?k=v"]
        {
            let expect = format!("{url:?} is no URL of a server; give one such as http://127.0.0.1:8000/v1");
            check(url, Err(&expect));
        }
    }

    #[test]
    fn a_request_is_framed_anew() {
        let head = "POST /v1/x?a=b HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\nAuthorization: Bearer k\r\n\
                    Accept-Encoding: gzip\r\n\r\n";
        let incoming = Incoming {
            method: "POST".into(),
            path: "/v1/x?a=b".into(),
            head: Bytes::from_static(head.as_bytes()),
            body: Bytes::from_static(b"hi"),
            ..Incoming::default()
        };
        let sent = Upstream::parse("http://there:8").unwrap().request(&incoming);
        assert_eq!(
            String::from_utf8(sent).unwrap(),
            "POST /v1/x?a=b HTTP/1.1\r\nhost: there:8\r\nAuthorization: Bearer k\r\naccept-encoding: identity\r\n\
             content-length: 2\r\n\r\nhi"
        );
    }
}
