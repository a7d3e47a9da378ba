//! Pages of a file against the file.

use crate::read_file::page::{PAGE_BYTES, Page, PageError, Range, Total, read};
use std::io::{Seek, Write};
use tokio_util::sync::CancellationToken;

/// The most bytes of a file that an input is made into.
const FILE_BYTES: usize = 128 * 1024;

/// The pages of a file are the file, each begins where it was told to, and no number of lines is wrong. The first bytes of
/// an input say how many lines a page has, which page is asked for besides, and how often each line is repeated within
/// itself, so that a short input has lines longer than a page; the rest is the file.
pub fn page_read(input: &[u8]) {
    let [lines, line, byte, times, text @ ..] = input else { return };
    let times = (usize::from(*times) * 16 + 1).min(FILE_BYTES / text.len().max(1)).max(1);
    let mut content = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let (line, end) = match line {
            [line @ .., b'\n'] => (line, &b"\n"[..]),
            line => (line, &b""[..]),
        };
        content.extend(line.repeat(times));
        content.extend_from_slice(end);
    }
    check_all_pages(&content, u64::from(*lines) % 64 + 1);
    let byte = u64::from(*byte) * times as u64 / 2;
    check_page(&content, Range { line: u64::from(*line) + 1, byte, lines: u64::from(*lines) + 1 });
}

/// The page of a file with this content.
pub fn page(content: &[u8], range: Range) -> Result<Page, PageError> {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(content).expect("content");
    file.rewind().expect("a file");
    read(file, content.len() as u64, range, &CancellationToken::new())
}

/// Whoever goes from page to page has read the file, and was told its number of lines each time.
pub fn check_all_pages(content: &[u8], lines: u64) {
    let all = content.split_inclusive(|byte| *byte == b'\n').count() as u64;
    let (mut joined, mut next) = (Vec::new(), Some((1, 0)));
    while let Some((line, byte)) = next {
        let page = page(content, Range { line, byte, lines }).expect("a page");
        assert_eq!(page.total, Total::Exact(all));
        let rows: Vec<(u64, &[u8])> = page.rows.iter().collect();
        assert!(rows.iter().map(|(_, text)| text.len() + 1).sum::<usize>() <= PAGE_BYTES);
        assert!(rows.len() as u64 <= lines);
        for (index, (number, text)) in rows.iter().enumerate() {
            assert_eq!(*number, line + index as u64);
            joined.extend_from_slice(text);
            let last = index + 1 == rows.len();
            let goes_on = last && page.next.is_some_and(|(line, _)| line == *number);
            if !(goes_on || last && page.unfinished) {
                joined.push(b'\n');
            }
        }
        assert!(page.next.is_none_or(|at| at > (line, byte)), "no progress");
        next = page.next;
    }
    assert!(joined == content, "{} bytes became {}", content.len(), joined.len());
}

/// Any page begins where it was told to.
fn check_page(content: &[u8], range: Range) {
    let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
    let asked = usize::try_from(range.line - 1).ok().and_then(|index| lines.get(index));
    let asked = asked.map(|line| line.strip_suffix(b"\n").unwrap_or(line));
    match (page(content, range), asked) {
        (Ok(page), Some(line)) => {
            let from = usize::try_from(range.byte).expect("small");
            let (number, text) = page.rows.iter().next().expect("the line is there");
            assert_eq!(number, range.line);
            assert!(line[from..].starts_with(text));
        }
        (Ok(page), None) => assert_eq!((page.rows.span(), page.next), (None, None)),
        (Err(PageError::PastLine(bytes)), Some(line)) => {
            assert_eq!(bytes, line.len() as u64);
            assert!(range.byte > bytes);
        }
        (found, _) => panic!("{found:?}"),
    }
}
