//! A reverse proxy that puts a session on a tape: every request goes to the upstream, every answer comes back write for
//! write as it arrived.
//!
//! It changes no byte of an answer on its way to the client. Requests are framed anew, ask for no compression, and are
//! not on the tape at all. The upstream is reached over plain HTTP; TLS is the business of something in front of it.

mod response;
mod secrets;
mod upstream;

pub use upstream::{Upstream, UpstreamError};

use crate::dialect::Dialect;
use crate::http::{Incoming, ReadError, Reader, response::document};
use crate::server::{Link, Listening, turn_away, within};
use crate::tape::{BEGIN, Exchange, TapedEnd, history::history};
use response::{Progress, Response};
use secrets::Secrets;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Most bytes of one write; what arrives in a larger piece is taped as several.
const LONGEST_WRITE: usize = 256 << 10;

/// A recording proxy. Clones write to the same tape.
#[derive(Clone)]
pub struct Recorder {
    upstream: Arc<Upstream>,
    sink: Arc<Mutex<Sink>>,
}

struct Sink {
    out: Box<dyn io::Write + Send>,
    recorded: Recorded,
}

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// How many exchanges are on the tape.
    pub exchanges: usize,
    /// What is not on it, and why.
    pub problems: Vec<String>,
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.exchanges == 1 { "" } else { "s" };
        write!(f, "{} exchange{s} recorded", self.exchanges)?;
        self.problems.iter().try_for_each(|problem| write!(f, "\nnot recorded: {problem}"))
    }
}

/// How a connection to the client goes on after an exchange.
enum Next {
    Keep,
    Close,
    Reset,
}

impl Recorder {
    /// Records what `upstream` answers. The tape is written to `out`, exchange by exchange as they end.
    ///
    /// # Errors
    ///
    /// When the begin of the tape cannot be written.
    pub fn new(upstream: Upstream, mut out: impl io::Write + Send + 'static) -> io::Result<Recorder> {
        out.write_all(BEGIN.as_bytes())?;
        out.flush()?;
        let sink = Sink { out: Box::new(out), recorded: Recorded::default() };
        Ok(Recorder { upstream: Arc::new(upstream), sink: Arc::new(Mutex::new(sink)) })
    }

    /// Listens on TCP. Port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// When the address cannot be bound.
    pub async fn listen(&self, addr: SocketAddr) -> io::Result<Listening> {
        let recorder = self.clone();
        let handle = move |stream, stopped| {
            let (recorder, upstream) = (recorder.clone(), recorder.upstream.clone());
            let dial = move || {
                let upstream = upstream.clone();
                async move { upstream.dial().await }
            };
            async move { recorder.serve(stream, Link::tcp(stopped), dial).await }
        };
        Listening::bind(addr, handle).await
    }

    /// Serves one connection of a client until it ends. `dial` gives a fresh connection to the upstream for each exchange.
    /// It starts no timer, so a paused clock stays where it is.
    pub fn serve_io<IO, D, F, U>(&self, io: IO, dial: D) -> impl Future<Output = ()> + Send + 'static
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        D: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = io::Result<U>> + Send,
        U: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let recorder = self.clone();
        async move { recorder.serve(io, Link::plain(), dial).await }
    }

    /// What was recorded so far.
    pub fn recorded(&self) -> Recorded {
        self.lock().recorded.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn problem(&self, incoming: &Incoming, problem: impl fmt::Display) {
        let path = route(incoming);
        self.lock().recorded.problems.push(format!("{} {path}: {problem}", incoming.method));
    }

    async fn serve<IO, D, F, U>(&self, mut io: IO, mut link: Link<IO>, dial: D)
    where
        IO: AsyncRead + AsyncWrite + Unpin,
        D: Fn() -> F,
        F: Future<Output = io::Result<U>>,
        U: AsyncRead + AsyncWrite + Unpin,
    {
        let mut reader = Reader::default();
        loop {
            let idle = link.idle;
            let next = tokio::select! {
                biased;
                next = within(idle, reader.next(&mut io)) => next,
                () = link.stop() => break,
            };
            let incoming = match next {
                Some(Ok(Some(incoming))) => incoming,
                Some(Err(ReadError::Refused { status, problem })) => {
                    turn_away(&mut io, status, problem).await;
                    return;
                }
                _ => break,
            };
            let next = match dial().await {
                Ok(upstream) => self.exchange(&incoming, &mut io, &mut reader, &mut link, upstream).await,
                Err(error) => self.unreachable(&incoming, &mut io, &error).await,
            };
            match next {
                Next::Keep if incoming.keep_alive => {}
                Next::Keep | Next::Close => break,
                Next::Reset => {
                    (link.reset)(&io);
                    return;
                }
            }
        }
        // The client may be gone already; then there is nothing to end.
        let _ = io.shutdown().await;
    }

    async fn unreachable<IO: AsyncWrite + Unpin>(&self, incoming: &Incoming, io: &mut IO, error: &io::Error) -> Next {
        let problem = format!("the upstream {} cannot be reached: {error}", self.upstream);
        let body = serde_json::json!({"error": {"message": problem, "type": "mock_upstream"}}).to_string();
        let answer = document(502, body.into_bytes(), &[("x-should-retry", "false")], incoming.method != "HEAD");
        self.problem(incoming, problem);
        let sent = io.write_all(&answer.wire).await.is_ok() && io.flush().await.is_ok();
        if sent { Next::Keep } else { Next::Close }
    }

    /// Asks the upstream, and hands every piece of the answer on as it comes.
    async fn exchange<IO, U>(
        &self,
        incoming: &Incoming,
        io: &mut IO,
        reader: &mut Reader,
        link: &mut Link<IO>,
        mut upstream: U,
    ) -> Next
    where
        IO: AsyncRead + AsyncWrite + Unpin,
        U: AsyncRead + AsyncWrite + Unpin,
    {
        let idle = link.idle;
        // An upstream may answer, and close, before it has read everything; so it is read from whatever happens here.
        let asked = self.upstream.request(incoming);
        let _ =
            within(idle, async { upstream.write_all(&asked).await.is_ok() && upstream.flush().await.is_ok() }).await;
        let mut response = Response::new(incoming.method == "HEAD");
        let mut buffer = vec![0; LONGEST_WRITE];
        let end = loop {
            let read = tokio::select! {
                biased;
                read = within(idle, upstream.read(&mut buffer)) => read,
                () = reader.gone(io) => break TapedEnd::Stall,
                () = link.stop() => break TapedEnd::Stall,
            };
            let piece = match read {
                None => break TapedEnd::Stall,
                Some(Err(_)) => break TapedEnd::Reset,
                Some(Ok(0)) => break TapedEnd::Close,
                Some(Ok(len)) => &buffer[..len],
            };
            let progress = response.push(piece);
            if progress == Progress::TooLong {
                self.problem(incoming, "the answer is longer than 64 MiB");
                return Next::Reset;
            }
            if io.write_all(piece).await.is_err() || io.flush().await.is_err() {
                break TapedEnd::Stall;
            }
            if progress == Progress::Complete {
                break if response.closes { TapedEnd::Close } else { TapedEnd::Complete };
            }
        };
        self.tape(incoming, response, end);
        match end {
            TapedEnd::Complete => Next::Keep,
            TapedEnd::Close | TapedEnd::Stall => Next::Close,
            TapedEnd::Reset => Next::Reset,
        }
    }

    fn tape(&self, incoming: &Incoming, response: Response, end: TapedEnd) {
        if response.is_empty() && end == TapedEnd::Stall {
            self.problem(incoming, "nothing was answered before the client left");
            return;
        }
        let secrets = Secrets::of(&incoming.head);
        let mut path = route(incoming).as_bytes().to_vec();
        secrets.cover(&mut path);
        let dialect = Dialect::of_path(route(incoming)).filter(|_| incoming.method == "POST");
        let parsed = dialect.and_then(|dialect| dialect.parse(&incoming.body).ok());
        let status = Some(response.status).filter(|status| *status != 0);
        let exchange = Exchange {
            method: incoming.method.clone(),
            path: String::from_utf8_lossy(&path).into_owned(),
            history: parsed.as_ref().map(history).unwrap_or_default(),
            status,
            writes: response.writes(&secrets),
            end,
        };
        let text = exchange.to_toml();
        let mut sink = self.lock();
        match sink.out.write_all(text.as_bytes()).and_then(|()| sink.out.flush()) {
            Ok(()) => sink.recorded.exchanges += 1,
            Err(error) => {
                drop(sink);
                self.problem(incoming, format_args!("the tape cannot be written: {error}"));
            }
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}

/// The path of a request, without its query, which may hold a key.
fn route(incoming: &Incoming) -> &str {
    incoming.path.split('?').next().unwrap_or_default()
}
