//! Connections: one at a time over any stream, or many over TCP.

use crate::engine::{Answer, Engine};
use crate::http::{ReadError, Reader, Rendered, response};
use crate::journal::Event;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
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

/// A TCP listener that serves a script. Dropping it ends every connection at once.
#[derive(Debug)]
pub struct Listening {
    addr: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Listening {
    pub(crate) async fn bind(engine: Arc<Engine>, addr: SocketAddr) -> io::Result<Listening> {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(accept(engine, listener, stopped));
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

async fn accept(engine: Arc<Engine>, listener: TcpListener, mut stopped: watch::Receiver<bool>) {
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
        let (engine, stopped) = (engine.clone(), stopped.clone());
        open.spawn(async move {
            // Without it each small write waits for the client's acknowledgement: 40 ms in place of 40 us.
            let _ = stream.set_nodelay(true);
            tcp(engine, stream, stopped).await;
            drop(slot);
        });
    }
    while open.join_next().await.is_some() {}
}

async fn tcp(engine: Arc<Engine>, stream: TcpStream, stopped: watch::Receiver<bool>) {
    serve(engine, stream, Some(IDLE), Some(stopped)).await;
}

/// Serves one connection until it ends.
pub(crate) async fn serve<IO>(
    engine: Arc<Engine>,
    mut io: IO,
    idle: Option<Duration>,
    stopped: Option<watch::Receiver<bool>>,
) where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let connection = engine.connected();
    let cause = exchange(&engine, &mut io, connection, idle, stopped).await;
    // The client may be gone already; then there is nothing to end.
    let _ = io.shutdown().await;
    engine.note(connection, Event::Closed { cause });
}

/// Answers request after request. Returns why the connection ends.
async fn exchange<IO>(
    engine: &Engine,
    io: &mut IO,
    connection: u64,
    idle: Option<Duration>,
    mut stopped: Option<watch::Receiver<bool>>,
) -> String
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let mut reader = Reader::default();
    loop {
        let next = tokio::select! {
            biased;
            next = within(idle, reader.next(io)) => next,
            () = stop(&mut stopped) => return "the server stops".to_owned(),
        };
        let incoming = match next {
            None => return "the client was silent for too long".to_owned(),
            Some(Ok(Some(incoming))) => incoming,
            Some(Ok(None)) => return "the client closed".to_owned(),
            Some(Err(error)) => return refuse(engine, io, connection, error).await,
        };
        let answer = engine.respond(connection, &incoming);
        if let Err(cause) = hold(engine, io, &mut reader, connection, &answer).await {
            engine.note(connection, Event::ClientGone { request: answer.request, cause: cause.clone() });
            return cause;
        }
        if let Err(error) = write(engine, io, connection, answer.request, &answer.rendered).await {
            let cause = error.to_string();
            engine.note(connection, Event::ClientGone { request: answer.request, cause: cause.clone() });
            return cause;
        }
        if answer.rendered.close {
            return "the script closes".to_owned();
        }
        if !incoming.keep_alive {
            return "the client asked for one exchange".to_owned();
        }
    }
}

/// Waits for the answer's gate, if it has one, while watching for the client to leave.
async fn hold<IO>(
    engine: &Engine,
    io: &mut IO,
    reader: &mut Reader,
    connection: u64,
    answer: &Answer,
) -> Result<(), String>
where
    IO: AsyncRead + Unpin,
{
    let Some(gate) = answer.gate.clone() else { return Ok(()) };
    engine.note(connection, Event::Held { gate: gate.clone() });
    tokio::select! {
        biased;
        () = engine.gate(&gate) => {}
        () = reader.gone(io) => return Err("the client closed while its response was held".to_owned()),
    }
    engine.note(connection, Event::Released { gate });
    Ok(())
}

async fn write<IO>(engine: &Engine, io: &mut IO, connection: u64, request: u64, out: &Rendered) -> io::Result<()>
where
    IO: AsyncWrite + Unpin,
{
    for (index, piece) in out.writes.iter().enumerate() {
        if index > 0 {
            // Gives the reader its turn, so that in one process it sees this write before the next.
            tokio::task::yield_now().await;
        }
        io.write_all(&out.wire[piece.wire.clone()]).await?;
        io.flush().await?;
        engine.note(
            connection,
            Event::Wrote { request, offset: piece.body.start, len: piece.body.len(), wire: piece.wire.len() },
        );
    }
    engine.note(connection, Event::Done { request });
    Ok(())
}

/// Answers what was no request. Returns why the connection ends.
async fn refuse<IO>(engine: &Engine, io: &mut IO, connection: u64, error: ReadError) -> String
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let ReadError::Refused { status, problem } = error else { return error.to_string() };
    engine.note(connection, Event::Refused { status, problem: problem.to_owned() });
    let body = serde_json::json!({"error": {"message": problem, "type": "bad_http"}}).to_string().into_bytes();
    let rendered = response::document(status, body, &[("connection", "close")], true);
    if io.write_all(&rendered.wire).await.is_ok() && io.shutdown().await.is_ok() {
        // Closing with unread bytes resets the connection and may take the answer with it.
        let mut sink = vec![0; 16 << 10];
        let _ = tokio::time::timeout(LINGER, async { while matches!(io.read(&mut sink).await, Ok(1..)) {} }).await;
    }
    problem.to_owned()
}

async fn within<F: Future>(limit: Option<Duration>, future: F) -> Option<F::Output> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, future).await.ok(),
        None => Some(future.await),
    }
}

async fn stop(stopped: &mut Option<watch::Receiver<bool>>) {
    match stopped {
        Some(stopped) => {
            // An error means that the listener is gone, which ends its connections as well.
            let _ = stopped.wait_for(|stop| *stop).await;
        }
        None => std::future::pending().await,
    }
}
