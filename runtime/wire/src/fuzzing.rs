//! The bodies of the fuzz targets, so that a stable test replays the committed corpus through the very same code.
//!
//! It owns the properties and a second, naive parser to compare with. Each function panics where its property does not
//! hold, and is built for tests and for the `fuzzing` feature only.

mod arguments;
pub mod forge;
mod names;
mod schemas;
mod turns;

pub use arguments::argument_ladder;
pub use names::name_ladder;
pub use schemas::schema_clean;
pub use turns::dialect_turn;

use crate::sse::{SseDecoder, SseError, SseLimits};

/// Small enough that a fuzzer reaches it, large enough for most inputs to stay below.
const LIMITS: SseLimits = SseLimits { max_event_bytes: 64 };

/// An event with everything that it borrows copied.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owned {
    name: String,
    data: String,
    id: String,
    offset: u64,
}

/// All that a stream comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Outcome {
    events: Vec<Owned>,
    error: Option<SseError>,
    pending: u64,
    retry: Option<u64>,
}

/// The decoder agrees with the reference parser on any bytes, whole and byte by byte.
pub fn sse_bytes(bytes: &[u8]) {
    sse_partition(bytes, &[bytes.len().max(1)]);
    sse_partition(bytes, &[1]);
}

/// The decoder agrees with the reference parser for a partition that the input itself chooses: its first byte tells
/// how many of the following bytes are chunk sizes, which are then used in turn.
pub fn sse_split_invariance(input: &[u8]) {
    let Some((&count, rest)) = input.split_first() else { return };
    let (sizes, bytes) = rest.split_at(usize::from(count % 8).min(rest.len()));
    let sizes: Vec<usize> = sizes.iter().map(|&size| usize::from(size)).collect();
    sse_partition(bytes, &sizes);
}

/// The decoder agrees with the reference parser when it is fed chunks of `sizes`, used in turn. Where they are all 0 it
/// is fed byte by byte.
pub fn sse_partition(bytes: &[u8], sizes: &[usize]) {
    let decoded = decode(bytes, sizes);
    let expected = reference(bytes);
    assert_eq!(decoded.error, expected.error);
    assert_eq!(decoded.events, expected.events);
    if expected.error.is_none() {
        assert_eq!(decoded, expected);
    }
}

fn decode(bytes: &[u8], sizes: &[usize]) -> Outcome {
    let stuck = sizes.iter().all(|&size| size == 0);
    let mut sizes = sizes.iter().copied().cycle();
    let mut decoder = SseDecoder::new(LIMITS);
    let mut out = Outcome::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        let size = if stuck { 1 } else { sizes.next().unwrap_or(1) };
        let (chunk, tail) = rest.split_at(size.min(rest.len()));
        rest = tail;
        let fed = decoder.feed(chunk, |event| {
            out.events.push(Owned {
                name: event.name.to_owned(),
                data: event.data.to_owned(),
                id: event.id.to_owned(),
                offset: event.offset,
            });
        });
        if let Err(error) = fed {
            out.error = Some(error);
            return out;
        }
    }
    out.pending = decoder.finish().pending;
    out.retry = decoder.retry();
    out
}

/// The lines of a whole stream, each with its offset, and whether its end was there.
fn lines(bytes: &[u8]) -> Vec<(usize, &[u8], bool)> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\n' && bytes[at] != b'\r' {
            at += 1;
            continue;
        }
        lines.push((start, &bytes[start..at], true));
        at += if bytes[at..].starts_with(b"\r\n") { 2 } else { 1 };
        start = at;
    }
    lines.push((start, &bytes[start..], false));
    lines
}

/// The standard's algorithm on the whole stream, written for plainness and nothing else.
fn reference(bytes: &[u8]) -> Outcome {
    let mut out = Outcome::default();
    let (mut name, mut id) = (String::new(), String::new());
    let mut data: Vec<String> = Vec::new();
    let (mut used, mut event_start) = (0, 0);
    for (number, (start, line, ended)) in lines(bytes).into_iter().enumerate() {
        if used + line.len() > LIMITS.max_event_bytes {
            let offset = (start + LIMITS.max_event_bytes - used) as u64;
            out.error = Some(SseError::TooLarge { offset, limit: LIMITS.max_event_bytes });
            return out;
        }
        if !ended {
            let from = if used > 0 { event_start } else { start };
            out.pending = (bytes.len() - from) as u64;
            return out;
        }
        let text = match std::str::from_utf8(line) {
            Ok(text) => text,
            Err(error) => {
                out.error = Some(SseError::InvalidUtf8 { offset: (start + error.valid_up_to()) as u64 });
                return out;
            }
        };
        let text = if number == 0 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        if text.is_empty() {
            if !data.is_empty() {
                let offset = event_start as u64;
                out.events.push(Owned { name: name.clone(), data: data.join("\n"), id: id.clone(), offset });
            }
            name.clear();
            data.clear();
            used = 0;
            continue;
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => data.push(value.to_owned()),
            "event" => name = value.to_owned(),
            "id" if !value.contains('\0') => id = value.to_owned(),
            "retry" if !value.is_empty() && value.chars().all(|digit| digit.is_ascii_digit()) => {
                out.retry = Some(value.parse().unwrap_or(u64::MAX));
            }
            _ => {}
        }
        if ["data", "event", "id"].contains(&field) {
            if used == 0 {
                event_start = start;
            }
            used += line.len();
        }
    }
    out
}

/// Runs every committed input of a target through its body; answers how many there were.
#[cfg(test)]
pub fn replay(target: &str, body: impl Fn(&[u8])) -> usize {
    let mut count = 0;
    for folder in ["corpus", "regressions"] {
        let folder = format!("{}/../../fuzz/{folder}/{target}", env!("CARGO_MANIFEST_DIR"));
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(bytes) = std::fs::read(entry.path()) else { continue };
            body(&bytes);
            count += 1;
        }
    }
    count
}
