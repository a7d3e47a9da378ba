//! The journal: everything that crossed the wire, in order, without a clock.
//!
//! It is what a trace is lowered from and what a failure is replayed from. Entries carry a sequence number and no
//! time, so that two runs of the same script can be compared byte for byte.

use crate::binding::Bound;
use crate::judge::Objection;
use bytes::Bytes;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use slot_oracles::trace::WireRequest;
use std::collections::VecDeque;
use std::fmt::Write as _;

/// How much is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JournalMode {
    /// Everything.
    #[default]
    Full,
    /// The last so many entries. Facts of older requests are gone from the trace too.
    Last(usize),
    /// Nothing: for benches.
    Off,
}

/// One entry.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Position in the order of events, from 0; counts on when older entries are dropped.
    pub seq: u64,
    /// The connection, from 0.
    pub connection: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A client connected.
    Connected,
    /// A request arrived.
    Request(Box<RequestRecord>),
    /// The abstract operations were bound, at the first tools an agent sent.
    Bound {
        /// What stands for what.
        bound: Bound,
    },
    /// A response waits for its gate.
    Held {
        /// The gate.
        gate: String,
    },
    /// A gate was opened.
    Released {
        /// The gate.
        gate: String,
    },
    /// What will be written.
    Answer {
        /// The request it answers, by its `id`.
        request: u64,
        /// The status.
        status: u16,
        /// The scripted turn, when one answers.
        #[serde(skip_serializing_if = "Option::is_none")]
        turn: Option<usize>,
        /// Which of the turn's failing attempts this is, from 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        attempt: Option<usize>,
        /// How many times that turn has now been served, failing attempts aside.
        #[serde(skip_serializing_if = "Option::is_none")]
        times: Option<usize>,
        /// Cuts and faults whose anchor the body does not hold.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
        /// The body, before its transfer encoding.
        body: Raw,
    },
    /// One write went out and was flushed.
    Wrote {
        /// The request it answers.
        request: u64,
        /// Where the carried part of the body begins.
        offset: usize,
        /// How many bytes of the body it carried; 0 for the head alone.
        len: usize,
        /// How many bytes went on the connection, with head and chunk framing.
        wire: usize,
    },
    /// The response broke off, as its script has it.
    Broke {
        /// The request it answers.
        request: u64,
        /// How.
        how: &'static str,
    },
    /// The response is complete.
    Done {
        /// The request it answers.
        request: u64,
    },
    /// The client went away before its response was complete.
    ClientGone {
        /// The request that was being answered.
        request: u64,
        /// What was noticed.
        cause: String,
    },
    /// What arrived was no request.
    Refused {
        /// The status it was answered with.
        status: u16,
        /// Why.
        problem: String,
    },
    /// The connection ended.
    Closed {
        /// Who ended it, or what failed.
        cause: String,
    },
}

/// A request and what was made of it.
#[derive(Clone, Debug, Serialize)]
pub struct RequestRecord {
    /// Number of the request, from 0, over all connections and kinds.
    pub id: u64,
    /// The head exactly as transmitted.
    pub head: Raw,
    /// The body, its transfer encoding taken off.
    pub body: Raw,
    /// What it was taken for.
    #[serde(flatten)]
    pub kind: Kind,
    /// What the judge has against it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<Objection>,
}

/// What a request was taken for.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// A step of the conversation that the script plays.
    Conversation {
        /// The facts for the trace.
        parsed: WireRequest,
    },
    /// Side traffic: answered apart, not judged.
    Side {
        /// The matcher's name.
        matcher: String,
    },
    /// A conversation request in no known state.
    Unexpected {
        /// The facts for the trace.
        parsed: WireRequest,
        /// Why no turn answers it.
        reason: String,
    },
    /// A body that is no request of its dialect.
    Malformed {
        /// What is wrong.
        problem: String,
    },
    /// A probe such as a model list, answered without the script.
    Probe,
    /// No route of any dialect.
    Unmatched,
}

/// Bytes, written to JSON as text when they are UTF-8 and as `{"hex": ...}` when they are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Raw(pub Bytes);

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Ok(text) = std::str::from_utf8(&self.0) {
            return serializer.serialize_str(text);
        }
        let mut hex = String::with_capacity(self.0.len() * 2);
        for byte in &self.0 {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("hex", &hex)?;
        map.end()
    }
}

/// The entries, in order.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    mode: JournalMode,
    next: u64,
    entries: VecDeque<Entry>,
}

impl Journal {
    pub(crate) fn new(mode: JournalMode) -> Self {
        Journal { mode, ..Journal::default() }
    }

    /// Whether anything is kept; building an entry costs, so ask first.
    pub(crate) fn is_on(&self) -> bool {
        self.mode != JournalMode::Off
    }

    pub(crate) fn push(&mut self, connection: u64, event: Event) {
        let most = match self.mode {
            JournalMode::Full => usize::MAX,
            JournalMode::Last(most) => most,
            JournalMode::Off => return,
        };
        self.entries.push_back(Entry { seq: self.next, connection, event });
        self.next += 1;
        while self.entries.len() > most {
            self.entries.pop_front();
        }
    }

    /// The entries that were kept, in order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The requests that were kept, in order of arrival.
    pub fn requests(&self) -> impl Iterator<Item = &RequestRecord> {
        self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Request(record) => Some(&**record),
            _ => None,
        })
    }

    /// The conversation's requests, known and unexpected, as facts for a trace.
    pub fn conversation(&self) -> impl Iterator<Item = &WireRequest> {
        self.requests().filter_map(|record| match &record.kind {
            Kind::Conversation { parsed } | Kind::Unexpected { parsed, .. } => Some(parsed),
            _ => None,
        })
    }

    /// The wire log: one JSON object a line.
    pub fn to_jsonl(&self) -> String {
        let mut out = String::new();
        for entry in &self.entries {
            // Every key is a string and every number an integer, so an entry always serialises.
            if let Ok(line) = serde_json::to_string(entry) {
                out.push_str(&line);
                out.push('\n');
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mode: JournalMode, expect: &[u64]) {
        let mut journal = Journal::new(mode);
        for _ in 0..4 {
            journal.push(0, Event::Connected);
        }
        let got: Vec<u64> = journal.entries().map(|entry| entry.seq).collect();
        assert_eq!(got, expect);
    }

    #[test]
    fn a_mode_says_how_much_is_kept() {
        check(JournalMode::Full, &[0, 1, 2, 3]);
        check(JournalMode::Last(2), &[2, 3]);
        check(JournalMode::Off, &[]);
    }

    #[test]
    fn bytes_that_are_no_text_survive_the_log() {
        let json = |bytes: &'static [u8]| serde_json::to_string(&Raw(Bytes::from_static(bytes))).unwrap();
        assert_eq!(json("ü".as_bytes()), "\"ü\"");
        assert_eq!(json(b"\xff\x00"), r#"{"hex":"ff00"}"#);
    }
}
