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
    /// The entries of `<` by what may come second, and what may come third after `</`.
    second: [Vec<usize>; 256],
    third: [bool; 256],
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index =
        Index { entries: [const { Vec::new() }; 3], second: [const { Vec::new() }; 256], third: [false; 256] };
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
            let position = self.entries[slot].len();
            first_bytes(bytes[1]).for_each(|byte| self.second[usize::from(byte)].push(position));
            if bytes[1] == b'/' {
                first_bytes(bytes[2]).for_each(|byte| self.third[usize::from(byte)] = true);
            }
        }
        self.entries[slot].push(entry);
    }
}

/// The first bytes of everything that a letter of a pattern matches.
fn first_bytes(letter: u8) -> impl Iterator<Item = u8> {
    let other_case = Some(letter.to_ascii_uppercase()).filter(|&upper| upper != letter);
    let other_bars: &[u8] = if letter == b'|' { &[0xEF, 0xE2] } else { &[] };
    std::iter::once(letter).chain(other_case).chain(other_bars.iter().copied())
}

fn slot(first: u8) -> Option<usize> {
    b"<[@".iter().position(|&byte| byte == first)
}

/// The longest marker at the start of `text`.
pub(super) fn at(text: &[u8], last: bool) -> Begins {
    let Some(slot) = text.first().and_then(|&first| slot(first)) else { return Begins::Nothing { viable: 0 } };
    let index = &*INDEX;
    let entries = &index.entries[slot];
    let (mut viable, mut longest) = (1, None);
    let mut look = |entry: &Entry| match at_start(entry.pattern, text, last) {
        Seen::Partial => true,
        Seen::No { viable: fitted } => {
            viable = viable.max(fitted);
            false
        }
        Seen::Full { len, closed } => {
            if longest.is_none_or(|marker: Marker| len > marker.len) {
                longest = Some(Marker { row: entry.row, len, alone: entry.ending || closed });
            }
            false
        }
    };
    let partial = match *text {
        [b'<', b'/', third, ..] if !index.third[usize::from(third)] => return Begins::Nothing { viable: 2 },
        [b'<', second, ..] => index.second[usize::from(second)].iter().any(|&entry| look(&entries[entry])),
        _ => entries.iter().any(look),
    };
    if partial {
        return Begins::Partial;
    }
    longest.map_or(Begins::Nothing { viable }, Begins::With)
}
