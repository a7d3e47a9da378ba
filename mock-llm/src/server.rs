//! Connections: one at a time over any stream, or many over TCP.

use crate::engine::{Answer, Engine};
use crate::http::{ReadError, Reader, Rendered, Stop, Write, response};
use crate::journal::Event;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

/// Most TCP connections at a time; further ones wait to be accepted.
const MOST_CONNECTIONS: usize = 1_024;
/// How long a TCP connection may stay silent between requests. In-process streams have no such limit: a timer there
/// would move a paused clock.
const IDLE: Duration = Duration::from_secs(600);
/// How long a client that was refused may go on sending what nobody reads.
const LINGER: Duration = Duration::from_secs(1);
/// How long responses under way may take after a stop was asked for.
const STOP: Duration = Duration::from_secs(5);
/// Between two comments of a response that sends nothing else.
const COMMENT_PAUSE: Duration = Duration::from_millis(250);

/// A TCP listener that serves a script. Dropping it ends every connection at once.
#[derive(Debug)]
pub struct Listening {
    addr: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Listening {
    /// Listens on `addr`, and hands every connection to `handle`, with a signal that it should end.
    pub(crate) async fn bind<H, F>(addr: SocketAddr, handle: H) -> io::Result<Listening>
    where
        H: Fn(TcpStream, watch::Receiver<bool>) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(accept(listener, stopped, handle));
        Ok(Listening { addr, stop, task })
    }

    /// The address that is listened on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The base URL of the OpenAI dialects, as clients want it: `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.addr)
    }

    /// Stops: no new connection, idle ones end, responses under way are finished within five seconds.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        if tokio::time::timeout(STOP, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept<H, F>(listener: TcpListener, mut stopped: watch::Receiver<bool>, handle: H)
where
    H: Fn(TcpStream, watch::Receiver<bool>) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => break,
            accepted = async {
                let slot = slots.clone().acquire_owned().await.ok()?;
                Some((listener.accept().await, slot))
            } => accepted,
            Some(_) = open.join_next(), if !open.is_empty() => continue,
        };
        let Some((stream, slot)) = accepted else { break };
        // A failed accept is the peer's (it went away) or a lack of descriptors; in both cases the next one may work.
        let Ok((stream, _)) = stream else {
            tokio::task::yield_now().await;
            continue;
        };
        // Without it each small write waits for the client's acknowledgement: 40 ms in place of 40 us.
        let _ = stream.set_nodelay(true);
        let served = handle(stream, stopped.clone());
        open.spawn(async move {
            served.await;
            drop(slot);
        });
    }
    while open.join_next().await.is_some() {}
}

impl Link<TcpStream> {
    /// A TCP connection that a listener accepted.
    pub(crate) fn tcp(stopped: watch::Receiver<bool>) -> Link<TcpStream> {
        let reset = |stream: &TcpStream| {
            // Closing with nothing to linger for sends a reset.
            let _ = stream.set_zero_linger();
        };
        let yields = Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
        Link { idle: Some(IDLE), stopped: Some(stopped), reset, yields }
    }
}

/// What a connection can do beside carrying bytes.
pub(crate) struct Link<IO> {
    /// How long the client may be silent between requests.
    pub idle: Option<Duration>,
    /// Whether the server stops.
    pub stopped: Option<watch::Receiver<bool>>,
    /// Makes the coming end of the connection a reset.
    pub reset: fn(&IO),
    /// Whether the reader gets its turn between two writes, so that it sees the one before the other. On TCP only where
    /// this thread may be the reader's as well; elsewhere it would cost a look at the poller for each frame.
    pub yields: bool,
}

impl<IO> Link<IO> {
    /// A stream without timers or resets.
    pub(crate) fn plain() -> Link<IO> {
        Link { idle: None, stopped: None, reset: |_| {}, yields: true }
    }

    pub(crate) async fn stop(&mut self) {
        match &mut self.stopped {
            Some(stopped) => {
                // An error means that the listener is gone, which ends its connections as well.
                let _ = stopped.wait_for(|stop| *stop).await;
            }
            None => std::future::pending().await,
        }
    }
}

/// Why a connection ends.
enum Ending {
    /// In good order.
    Close(String),
    /// With a reset.
    Reset,
}

/// Serves one connection until it ends.
pub(crate) async fn serve<IO>(engine: Arc<Engine>, mut io: IO, mut link: Link<IO>)
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let connection = engine.connected();
    let cause = match exchange(&engine, &mut io, connection, &mut link).await {
        Ending::Close(cause) => {
            // The client may be gone already; then there is nothing to end.
            let _ = io.shutdown().await;
            cause
        }
        Ending::Reset => {
            (link.reset)(&io);
            "the script resets".to_owned()
        }
    };
    drop(io);
    engine.note(connection, || Event::Closed { cause });
}

/// Answers request after request.
async fn exchange<IO>(engine: &Engine, io: &mut IO, connection: u64, link: &mut Link<IO>) -> Ending
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let mut reader = Reader::default();
    loop {
        let idle = link.idle;
        let next = tokio::select! {
            biased;
            next = within(idle, reader.next(io)) => next,
            () = link.stop() => return Ending::Close("the server stops".to_owned()),
        };
        let incoming = match next {
            None => return Ending::Close("the client was silent for too long".to_owned()),
            Some(Ok(Some(incoming))) => incoming,
            Some(Ok(None)) => return Ending::Close("the client closed".to_owned()),
            Some(Err(error)) => return Ending::Close(refuse(engine, io, connection, error).await),
        };
        let answer = engine.respond(connection, &incoming);
        let mut reply = Reply { engine, io, reader: &mut reader, link, connection, request: answer.request };
        match reply.send(&answer).await {
            Ok(None) => {}
            Ok(Some(ending)) => return ending,
            Err(cause) => {
                let request = answer.request;
                engine.note(connection, || Event::ClientGone { request, cause: cause.clone() });
                return Ending::Close(cause);
            }
        }
        if answer.rendered.close {
            return Ending::Close("the script closes".to_owned());
        }
        if !incoming.keep_alive {
            return Ending::Close("the client asked for one exchange".to_owned());
        }
    }
}

/// One response on its way.
struct Reply<'a, IO> {
    engine: &'a Engine,
    io: &'a mut IO,
    reader: &'a mut Reader,
    link: &'a mut Link<IO>,
    connection: u64,
    request: u64,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Reply<'_, IO> {
    /// Writes the response. Returns the end of the connection if the script breaks it, an error if the client does.
    async fn send(&mut self, answer: &Answer) -> Result<Option<Ending>, String> {
        if let Some(gate) = &answer.gate {
            self.hold(gate).await?;
        }
        let out = &answer.rendered;
        for index in 0..=out.writes.len() {
            if let Some((at, stop)) = &out.stop
                && *at == index
                && let Some(ending) = self.stop(stop).await?
            {
                return Ok(Some(ending));
            }
            if let Some(piece) = out.writes.get(index) {
                if index > 0 && self.link.yields {
                    tokio::task::yield_now().await;
                }
                self.write(out, piece).await.map_err(|error| error.to_string())?;
            }
        }
        self.note(|| Event::Done { request: self.request });
        Ok(None)
    }

    async fn write(&mut self, out: &Rendered, piece: &Write) -> io::Result<()> {
        self.io.write_all(&out.wire[piece.wire.clone()]).await?;
        self.io.flush().await?;
        let (offset, len, wire) = (piece.body.start, piece.body.len(), piece.wire.len());
        self.note(|| Event::Wrote { request: self.request, offset, len, wire });
        Ok(())
    }

    /// Breaks the response off. `None` when it goes on after a stall.
    async fn stop(&mut self, stop: &Stop) -> Result<Option<Ending>, String> {
        let how = match stop {
            Stop::Stall(_) => "stall",
            Stop::Repeat(_) => "comments",
            Stop::Close => "close",
            Stop::Reset => "reset",
        };
        self.note(|| Event::Broke { request: self.request, how });
        match stop {
            Stop::Stall(Some(gate)) => {
                self.hold(gate).await?;
                Ok(None)
            }
            Stop::Stall(None) => tokio::select! {
                () = self.reader.gone(self.io) => Err("the client closed while its response stalled".to_owned()),
                () = self.link.stop() => Ok(Some(Ending::Close("the server stops".to_owned()))),
            },
            Stop::Repeat(bytes) => loop {
                tokio::select! {
                    () = self.reader.gone(self.io) => return Err("the client closed while it got comments".to_owned()),
                    () = self.link.stop() => return Ok(Some(Ending::Close("the server stops".to_owned()))),
                    () = tokio::time::sleep(COMMENT_PAUSE) => {}
                }
                self.io.write_all(bytes.as_bytes()).await.map_err(|error| error.to_string())?;
                self.io.flush().await.map_err(|error| error.to_string())?;
            },
            Stop::Close => Ok(Some(Ending::Close("the script closes".to_owned()))),
            Stop::Reset => Ok(Some(Ending::Reset)),
        }
    }

    /// Waits for a gate, while watching for the client to leave.
    async fn hold(&mut self, gate: &str) -> Result<(), String> {
        self.note(|| Event::Held { gate: gate.to_owned() });
        tokio::select! {
            biased;
            () = self.engine.gate(gate) => {}
            () = self.reader.gone(self.io) => return Err("the client closed while its response was held".to_owned()),
            () = self.link.stop() => return Err("the server stops".to_owned()),
        }
        self.note(|| Event::Released { gate: gate.to_owned() });
        Ok(())
    }

    fn note(&self, event: impl FnOnce() -> Event) {
        self.engine.note(self.connection, event);
    }
}

/// Answers what was no request. Returns why the connection ends.
async fn refuse<IO>(engine: &Engine, io: &mut IO, connection: u64, error: ReadError) -> String
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let ReadError::Refused { status, problem } = error else { return error.to_string() };
    engine.note(connection, || Event::Refused { status, problem: problem.to_owned() });
    turn_away(io, status, problem).await;
    problem.to_owned()
}

/// Answers what is no request, and ends the connection.
pub(crate) async fn turn_away<IO: AsyncRead + AsyncWrite + Unpin>(io: &mut IO, status: u16, problem: &str) {
    let body = serde_json::json!({"error": {"message": problem, "type": "bad_http"}}).to_string().into_bytes();
    let rendered = response::document(status, body, &[("connection", "close")], true);
    if io.write_all(&rendered.wire).await.is_ok() && io.shutdown().await.is_ok() {
        // Closing with unread bytes resets the connection and may take the answer with it.
        let mut sink = vec![0; 16 << 10];
        let _ = tokio::time::timeout(LINGER, async { while matches!(io.read(&mut sink).await, Ok(1..)) {} }).await;
    }
}

/// What a future gives within a limit.
pub(crate) async fn within<F: Future>(limit: Option<Duration>, future: F) -> Option<F::Output> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, future).await.ok(),
        None => Some(future.await),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;

    #[tokio::test]
    async fn an_accepted_connection_sends_small_writes_at_once() {
        let (tell, mut told) = mpsc::unbounded_channel();
        let handle = move |stream: TcpStream, _| {
            let tell = tell.clone();
            async move { tell.send(stream.nodelay().unwrap()).unwrap() }
        };
        let listening = Listening::bind(([127, 0, 0, 1], 0).into(), handle).await.unwrap();
        let _client = TcpStream::connect(listening.addr()).await.unwrap();
        assert_eq!(told.recv().await, Some(true), "TCP_NODELAY");
    }
}
