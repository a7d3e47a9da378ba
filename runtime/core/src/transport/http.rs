//! One HTTP/1.1 request on a fresh connection, and its body in pieces as they arrive.

use super::{Connector, Endpoint, TransportError};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response,
    body::Incoming,
    client::conn::http1,
    header::{
        ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT,
    },
};
use hyper_util::rt::TokioIo;
use slot_wire::Dialect;
use std::{sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::timeout};

/// The longest piece of a server's words that is kept.
const MESSAGE_LIMIT: usize = 2048;
/// The most of an error body that is read.
const ERROR_BODY_LIMIT: usize = 64 << 10;

/// How long each part of an exchange may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// Until the connection stands.
    pub connect: Duration,
    /// Until the response head has come.
    pub head: Duration,
    /// Between two pieces of the body.
    pub idle: Duration,
    /// Between two events. Comments keep a connection open, but they are no answer.
    pub silence: Duration,
    /// For the whole exchange.
    pub total: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        HttpLimits {
            connect: Duration::from_secs(10),
            head: Duration::from_secs(120),
            idle: Duration::from_secs(120),
            silence: Duration::from_secs(300),
            total: Duration::from_secs(900),
        }
    }
}

/// Sends requests to one model server.
#[derive(Clone)]
pub struct ModelClient {
    connector: Arc<dyn Connector>,
    endpoint: Endpoint,
    key: Option<String>,
    limits: HttpLimits,
}

impl ModelClient {
    /// A client for `endpoint`; `key` is sent in the dialect's header for it and appears nowhere else.
    pub fn new(connector: Arc<dyn Connector>, endpoint: Endpoint, key: Option<String>, limits: HttpLimits) -> Self {
        ModelClient { connector, endpoint, key, limits }
    }

    /// Sends `body` to the dialect's path below the base URL and waits for the head of an event stream.
    pub async fn post(&self, dialect: Dialect, body: Bytes) -> Result<ModelResponse, TransportError> {
        let deadline = tokio::time::Instant::now() + self.limits.total;
        let connect = timeout(self.limits.connect, self.connector.connect(&self.endpoint));
        let io = connect
            .await
            .map_err(|_| late("connection", self.limits.connect))?
            .map_err(|source| TransportError::Connect { host: self.endpoint.host_header(), source })?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(io)).await.map_err(|e| broken("before the request", &e))?;
        let driver = Driver(tokio::spawn(async move {
            // The error of a broken connection reaches the reader through its body.
            let _ = connection.await;
        }));
        let request = self.request(dialect, body)?;
        let response = timeout(self.limits.head, sender.send_request(request))
            .await
            .map_err(|_| late("response", self.limits.head))?
            .map_err(|e| broken("before the response", &e))?;
        let mut response =
            ModelResponse { response, _driver: driver, idle: self.limits.idle, deadline, total: self.limits.total };
        response.expect_stream().await?;
        Ok(response)
    }

    fn request(&self, dialect: Dialect, body: Bytes) -> Result<Request<Full<Bytes>>, TransportError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = hyper::Method::POST;
        let target = format!("{}{}", self.endpoint.prefix, dialect.path());
        *request.uri_mut() = target.parse().map_err(|_| TransportError::Broken {
            during: "before the request",
            reason: format!("the path {target:?} cannot be sent"),
        })?;
        let headers = request.headers_mut();
        let host = HeaderValue::from_str(&self.endpoint.host_header()).map_err(|_| TransportError::Broken {
            during: "before the request",
            reason: "the host name cannot be sent".to_owned(),
        })?;
        headers.insert(HOST, host);
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("slot/", env!("CARGO_PKG_VERSION"))));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        // A compressed stream arrives late and in lumps; it is not asked for and not taken.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        for (name, value) in dialect.headers() {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some(key) = &self.key {
            let (name, before) = dialect.key_header();
            let mut value = HeaderValue::from_str(&format!("{before}{key}")).map_err(|_| TransportError::Key)?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(request)
    }
}

impl ModelClient {
    /// How long each part of an exchange may take.
    pub fn limits(&self) -> &HttpLimits {
        &self.limits
    }
}

/// The task that moves the connection's bytes; it ends with the response.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A response whose body arrives in pieces.
pub struct ModelResponse {
    response: Response<Incoming>,
    /// Held so that the connection lives as long as the body.
    _driver: Driver,
    idle: Duration,
    total: Duration,
    deadline: tokio::time::Instant,
}

impl ModelResponse {
    /// The next piece of the body; `None` at its end in good order.
    pub async fn next(&mut self) -> Result<Option<Bytes>, TransportError> {
        loop {
            let wait = tokio::time::timeout_at(self.deadline, timeout(self.idle, self.response.body_mut().frame()));
            let frame = wait
                .await
                .map_err(|_| late("end of the response", self.total))?
                .map_err(|_| late("further part of the response", self.idle))?;
            match frame {
                None => return Ok(None),
                Some(Err(e)) => return Err(broken("in the middle of the response", &e)),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    /// Whether the connection's task has ended.
    #[cfg(test)]
    fn connection_ended(&self) -> bool {
        self._driver.0.is_finished()
    }

    async fn expect_stream(&mut self) -> Result<(), TransportError> {
        let status = self.response.status();
        let text = |value: Option<&HeaderValue>| value.and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
        let content_type = text(self.response.headers().get(CONTENT_TYPE));
        let encoding = text(self.response.headers().get(CONTENT_ENCODING));
        if status.is_success() && !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
            return Err(TransportError::Encoded { encoding });
        }
        if status.is_success() && content_type.to_ascii_lowercase().starts_with("text/event-stream") {
            return Ok(());
        }
        let retry_after = text(self.response.headers().get(RETRY_AFTER)).trim().parse().ok();
        let message = self.read_message().await;
        if status.is_success() {
            return Err(TransportError::NotAStream { found: content_type, message });
        }
        Err(TransportError::Status { status: status.as_u16(), message, retry_after })
    }

    /// What the server says in an error body: its `error.message` if it is JSON that has one, else its start.
    async fn read_message(&mut self) -> String {
        let mut body = Vec::new();
        while body.len() < ERROR_BODY_LIMIT {
            match self.next().await {
                Ok(Some(data)) => body.extend_from_slice(&data),
                Ok(None) | Err(_) => break,
            }
        }
        let text = String::from_utf8_lossy(&body);
        let told = serde_json::from_str::<serde_json::Value>(&text)
            .ok()
            .and_then(|v| v["error"]["message"].as_str().or(v["message"].as_str()).map(str::to_owned));
        let text: String = told.unwrap_or_else(|| text.into_owned()).chars().filter(|c| !c.is_control()).collect();
        text.chars().take(MESSAGE_LIMIT / 4).collect()
    }
}

fn late(what: &'static str, limit: Duration) -> TransportError {
    TransportError::Timeout { what, limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) }
}

fn broken(during: &'static str, error: &hyper::Error) -> TransportError {
    let mut reason = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        reason.push_str(": ");
        reason.push_str(&inner.to_string());
        source = inner.source();
    }
    TransportError::Broken { during, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::TcpConnector;
    use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

    async fn client(server: &MockServer) -> ModelClient {
        let endpoint = Endpoint::parse(&format!("{}/v1", server.uri())).unwrap();
        ModelClient::new(Arc::new(TcpConnector), endpoint, Some("secret".into()), HttpLimits::default())
    }

    async fn server(template: ResponseTemplate) -> MockServer {
        let server = MockServer::start().await;
        Mock::given(matchers::path("/v1/chat/completions"))
            .and(matchers::header("authorization", "Bearer secret"))
            .and(matchers::header("content-type", "application/json"))
            .respond_with(template)
            .mount(&server)
            .await;
        server
    }

    #[track_caller]
    fn expect_error(result: Result<ModelResponse, TransportError>) -> TransportError {
        match result {
            Ok(_) => panic!("expected an error"),
            Err(error) => error,
        }
    }

    #[tokio::test]
    async fn a_stream_is_handed_out_and_its_end_seen() {
        let server =
            server(ResponseTemplate::new(200).set_body_raw("data: x\n\n", "text/event-stream; charset=utf-8")).await;
        let mut response = client(&server).await.post(Dialect::Chat, Bytes::from_static(b"{}")).await.unwrap();
        assert!(!response.connection_ended());
        assert_eq!(response.next().await.unwrap().unwrap(), "data: x\n\n");
        assert!(response.next().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_dialect_has_its_own_path_and_headers() {
        let server = MockServer::start().await;
        Mock::given(matchers::path("/v1/messages"))
            .and(matchers::header("x-api-key", "secret"))
            .and(matchers::header("anthropic-version", "2023-06-01"))
            .respond_with(ResponseTemplate::new(200).set_body_raw("data: x\n\n", "text/event-stream"))
            .mount(&server)
            .await;
        assert!(client(&server).await.post(Dialect::Anthropic, Bytes::new()).await.is_ok());
    }

    #[tokio::test]
    async fn an_error_status_carries_the_servers_words_and_its_wish_to_wait() {
        let body = r#"{"error":{"message":"slow down"}}"#;
        let template =
            ResponseTemplate::new(429).insert_header("retry-after", "7").set_body_raw(body, "application/json");
        let server = server(template).await;
        let error = expect_error(client(&server).await.post(Dialect::Chat, Bytes::new()).await);
        assert!(error.is_transient());
        assert_eq!(error.to_string(), "the model server answered 429: slow down");
        assert!(matches!(error, TransportError::Status { retry_after: Some(7), .. }));
    }

    #[tokio::test]
    async fn a_success_without_a_stream_is_no_empty_turn() {
        let server = server(ResponseTemplate::new(200).set_body_raw("<html>login</html>", "text/html")).await;
        let error = expect_error(client(&server).await.post(Dialect::Chat, Bytes::new()).await);
        assert_eq!((error.cause(), error.is_transient()), ("not_a_stream", false));
        assert!(error.to_string().contains("login"));
    }

    #[tokio::test]
    async fn a_compressed_stream_is_refused_and_not_read_as_text() {
        let template = ResponseTemplate::new(200)
            .insert_header("content-encoding", "gzip")
            .set_body_raw(vec![0x1f, 0x8b, 8, 0], "text/event-stream");
        let server = server(template).await;
        let error = expect_error(client(&server).await.post(Dialect::Chat, Bytes::new()).await);
        assert_eq!(error.cause(), "encoded");
        assert!(error.to_string().contains("gzip"), "{error}");
    }

    #[tokio::test]
    async fn a_closed_port_says_what_to_check() {
        let port = {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        };
        let endpoint = Endpoint { host: "127.0.0.1".into(), port, prefix: String::new() };
        let client = ModelClient::new(Arc::new(TcpConnector), endpoint, None, HttpLimits::default());
        let error = expect_error(client.post(Dialect::Chat, Bytes::new()).await);
        assert!(error.to_string().contains("Check that the model server runs"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_answers_is_left_after_its_limit() {
        struct Silent;
        impl Connector for Silent {
            fn connect<'a>(
                &'a self,
                _: &'a Endpoint,
            ) -> crate::contract::BoxFuture<'a, std::io::Result<Box<dyn crate::transport::Io>>> {
                let (near, far) = tokio::io::duplex(64);
                std::mem::forget(far);
                Box::pin(async { Ok(Box::new(near) as Box<dyn crate::transport::Io>) })
            }
        }
        let endpoint = Endpoint { host: "h".into(), port: 1, prefix: String::new() };
        let client = ModelClient::new(Arc::new(Silent), endpoint, None, HttpLimits::default());
        let error = expect_error(client.post(Dialect::Chat, Bytes::new()).await);
        assert_eq!(error.to_string(), "the model server gave no response within 120000 ms");
    }
}
