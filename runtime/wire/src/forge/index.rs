//! The markers by their first bytes, so that a byte which begins none costs next to nothing.

use super::families::{Ends, ROWS};
use super::pattern::{Seen, at_start};
use std::sync::LazyLock;

/// A marker that begins a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    /// Its row.
    pub row: usize,
    /// Its bytes.
    pub len: usize,
    /// Whether nothing belongs to it but itself: it is an orphan ending, or a tag that closes itself.
    pub alone: bool,
}

/// What begins a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    /// No marker; the first `viable` bytes could have begun one.
    Nothing {
        /// How many bytes fitted.
        viable: usize,
    },
    /// More text is needed to tell.
    Partial,
    /// This marker.
    With(Marker),
}

struct Entry {
    pattern: &'static str,
    row: usize,
    ending: bool,
}

struct Index {
    /// The entries by their first byte: `<`, `[` and `@`.
    entries: [Vec<Entry>; 3],
    /// For `<`: what may come second, and what third after `</`.
    second: [bool; 256],
    third: [bool; 256],
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index { entries: [const { Vec::new() }; 3], second: [false; 256], third: [false; 256] };
    for (row, entry) in ROWS.iter().enumerate() {
        index.add(Entry { pattern: entry.open, row, ending: false });
        if let Ends::At(endings) = entry.ends {
            endings.iter().for_each(|pattern| index.add(Entry { pattern, row, ending: true }));
        }
    }
    index
});

impl Index {
    fn add(&mut self, entry: Entry) {
        let bytes = entry.pattern.as_bytes();
        let Some(slot) = slot(bytes[0]) else { return };
        if self.entries[slot].iter().any(|other| other.pattern == entry.pattern) {
            return;
        }
        if bytes[0] == b'<' {
            allow(&mut self.second, bytes[1]);
            if bytes[1] == b'/' {
                allow(&mut self.third, bytes[2]);
            }
        }
        self.entries[slot].push(entry);
    }
}

/// The first bytes of everything that a letter of a pattern matches.
fn allow(set: &mut [bool; 256], letter: u8) {
    let more: &[u8] = if letter == b'|' { &[0xEF, 0xE2] } else { &[] };
    for &byte in [letter, letter.to_ascii_uppercase()].iter().chain(more) {
        set[usize::from(byte)] = true;
    }
}

fn slot(first: u8) -> Option<usize> {
    b"<[@".iter().position(|&byte| byte == first)
}

/// The longest marker at the start of `text`.
pub(super) fn at(text: &[u8], last: bool) -> Begins {
    let Some(slot) = text.first().and_then(|&first| slot(first)) else { return Begins::Nothing { viable: 0 } };
    let index = &*INDEX;
    if slot == 0 {
        match *text {
            [_, b'/', third, ..] if !index.third[usize::from(third)] => return Begins::Nothing { viable: 2 },
            [_, second, ..] if !index.second[usize::from(second)] => return Begins::Nothing { viable: 1 },
            _ => {}
        }
    }
    let mut viable = 1;
    let mut longest: Option<Marker> = None;
    for entry in &index.entries[slot] {
        match at_start(entry.pattern, text, last) {
            Seen::Partial => return Begins::Partial,
            Seen::No { viable: fitted } => viable = viable.max(fitted),
            Seen::Full { len, closed } => {
                if longest.is_none_or(|marker| len > marker.len) {
                    longest = Some(Marker { row: entry.row, len, alone: entry.ending || closed });
                }
            }
        }
    }
    longest.map_or(Begins::Nothing { viable }, Begins::With)
}
