//! The peer of the mock's throughput: hyper, which streams an answer of 200 items to every request.
//!
//! `hyper_stream [stream|flush]` prints its address on the first line and serves until it is killed. `stream` hands
//! hyper the items as fast as it takes them, which may put many into one write; `flush` yields after each, so that hyper
//! writes every item by itself. TCP_NODELAY is set, one thread serves. How it is measured stands in `benches/README.md`.

use bytes::Bytes;
use futures_util::{Stream, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io::Write;

/// Items of one answer.
const ITEMS: usize = 200;

/// One item, about as long as the frame in which the mock says a few characters as Anthropic does.
const ITEM: &[u8] = b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
\"delta\":{\"type\":\"text_delta\",\"text\":\"one word\"}}\n\n";

fn items(flush: bool) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> {
    stream::unfold(0, move |sent| async move {
        if flush && sent > 0 {
            tokio::task::yield_now().await;
        }
        (sent < ITEMS).then(|| (Ok(Frame::data(Bytes::from_static(ITEM))), sent + 1))
    })
}

async fn answer(
    request: Request<Incoming>,
    flush: bool,
) -> Result<Response<impl hyper::body::Body<Data = Bytes, Error = Infallible>>, hyper::Error> {
    // The body is read whole, as the mock reads it.
    let _ = request.into_body().collect().await?;
    let mut response = Response::new(StreamBody::new(Box::pin(items(flush))));
    let kind = hyper::header::HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, kind);
    Ok(response)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let flush = match std::env::args().nth(1).as_deref() {
        None | Some("stream") => false,
        Some("flush") => true,
        Some(other) => {
            eprintln!("unknown mode {other:?}; use stream or flush");
            std::process::exit(2);
        }
    };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(request, flush));
            // An error is the client's end of the connection.
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
        });
    }
}
