//! HTTP/1.1 as a server speaks it, with every byte of every response write under our control.
//!
//! A framework normalises what this crate exists to break: it would not send half a chunk, a wrong length or a reset
//! in the middle of a body. What it reads is bounded and answered with a clear status when it is not HTTP.

mod body;
pub(crate) mod request;
pub(crate) mod response;

pub(crate) use body::{chunk_ranges, chunked_end};
pub(crate) use request::{Incoming, ReadError, Reader};
pub(crate) use response::{Rendered, Shape, Stop, Write};
