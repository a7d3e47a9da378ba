//! What more than one bench needs, and baselines of what they measured. The benches themselves are in `benches/`.

pub mod arguments;
pub mod baseline;
pub mod dispatch;
pub mod sample;

use std::fmt::Write;

/// A stream as a provider sends it while a model writes the arguments of one call: `events` events named
/// `content_block_delta`, each with a JSON payload that carries a few characters of the arguments. 20,000 of them are
/// about 2.9 MB. Equal counts give equal bytes.
pub fn delta_stream(events: usize) -> Vec<u8> {
    const WORDS: [&str; 8] =
        ["let value", " = parse", "(&input)?;", "\\n    ", "for item in", " items { ", "total += item", ".len(); }"];
    let mut out = String::with_capacity(events * 150);
    for event in 0..events {
        let words = [WORDS[event % 8], WORDS[(event / 8 + 3) % 8]].concat();
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{},\"delta\":\
             {{\"type\":\"input_json_delta\",\"partial_json\":\"{words}\"}}}}\n\n",
            event / 5_000,
        );
    }
    out.into_bytes()
}

/// What a parser made of a stream, to see that all peers do the same work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many events it handed out.
    pub events: usize,
    /// The bytes of their data.
    pub data: usize,
}

impl Tally {
    /// Counts one event.
    pub fn add(&mut self, data: &str) {
        self.events += 1;
        self.data += data.len();
    }
}
