//! How long a request body is, and the chunked transfer encoding of one.

use std::ops::Range;

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyLength {
    /// So many bytes follow.
    Known(usize),
    /// Chunks follow.
    Chunked,
}

/// Longest line that gives a chunk's size, with its extensions.
const MAX_SIZE_LINE: usize = 1 << 10;

/// Where a chunked body with its trailers ends. `None` when more bytes are needed. `scanned` is how far the chunks
/// have been walked; it is kept between calls, so that a body is walked once however it arrives.
pub(crate) fn chunked_end(bytes: &[u8], scanned: &mut usize) -> Result<Option<usize>, &'static str> {
    loop {
        let Some((size, line)) = chunk_size(&bytes[*scanned..])? else { return Ok(None) };
        if size == 0 {
            return trailers_end(bytes, *scanned + line);
        }
        let end = scanned.saturating_add(line).saturating_add(size);
        match bytes.get(end..end.saturating_add(2)) {
            Some(b"\r\n") => *scanned = end + 2,
            Some(_) => return Err("a chunk does not end where its size says"),
            None => return Ok(None),
        }
    }
}

/// The size a chunk line gives and the length of that line with its end.
fn chunk_size(bytes: &[u8]) -> Result<Option<(usize, usize)>, &'static str> {
    let Some(end) = memchr::memmem::find(bytes, b"\r\n") else {
        return if bytes.len() > MAX_SIZE_LINE { Err("a chunk size line is longer than 1 KiB") } else { Ok(None) };
    };
    let digits = bytes[..end].split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let size = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    match size.and_then(|text| usize::from_str_radix(text, 16).ok()) {
        Some(size) => Ok(Some((size, end + 2))),
        None => Err("a chunk size is no hexadecimal number"),
    }
}

/// Where the trailer section that begins at `from` ends: at its first empty line.
fn trailers_end(bytes: &[u8], from: usize) -> Result<Option<usize>, &'static str> {
    let mut at = from;
    loop {
        let Some(len) = memchr::memmem::find(&bytes[at..], b"\r\n") else {
            return if bytes.len() - from > MAX_SIZE_LINE {
                Err("the trailers are longer than 1 KiB")
            } else {
                Ok(None)
            };
        };
        at += len + 2;
        if len == 0 {
            return Ok(Some(at));
        }
    }
}

/// Where the data of a chunked body lies, as far as it is one.
pub(crate) fn chunk_ranges(bytes: &[u8]) -> Vec<Range<usize>> {
    let (mut ranges, mut at) = (Vec::new(), 0);
    while let Some(Ok(Some((size @ 1.., line)))) = bytes.get(at..).map(chunk_size) {
        let data = at + line..(at + line).saturating_add(size);
        if bytes.get(data.clone()).is_none() {
            break;
        }
        at = data.end + 2;
        ranges.push(data);
    }
    ranges
}

/// The data of a chunked body that `chunked_end` found complete.
pub(super) fn dechunk(bytes: &[u8]) -> Vec<u8> {
    chunk_ranges(bytes).into_iter().flat_map(|range| &bytes[range]).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<Option<&str>, &'static str>) {
        let end = chunked_end(text.as_bytes(), &mut 0);
        let data = end.map(|end| end.map(|end| dechunk(&text.as_bytes()[..end])));
        assert_eq!(data, expect.map(|data| data.map(|data| data.as_bytes().to_vec())));
    }

    #[test]
    fn chunks_end_at_the_empty_trailer_line() {
        check("3\r\nabc\r\n0\r\n\r\nrest", Ok(Some("abc")));
        check("0\r\nX: y\r\n\r\n", Ok(Some("")));
        check("3\r\nabc\r\n0\r\nX: y\r\n", Ok(None));
        check("3\r\nab", Ok(None));
    }

    #[test]
    fn broken_chunks_are_named() {
        check("3\r\nabcd\r\n", Err("a chunk does not end where its size says"));
        check("+3\r\nabc\r\n", Err("a chunk size is no hexadecimal number"));
        check("\r\n", Err("a chunk size is no hexadecimal number"));
        check("ffffffffffffffff\r\nabc", Ok(None));
        check(&"1".repeat(2_000), Err("a chunk size line is longer than 1 KiB"));
    }
}
