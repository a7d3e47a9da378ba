//! Comma-separated values as RFC 4180 has them: every row has as many columns as the first, and quotes are closed.

use super::{MAX_FAULTS, Wrong, counted};

/// Checks a table.
pub(super) fn check(text: &str) -> Result<String, Vec<Wrong>> {
    let mut rows = Rows { text, at: 0, line: 1 };
    let (mut columns, mut count, mut wrongs) = (None, 0_usize, Vec::new());
    while wrongs.len() <= MAX_FAULTS {
        let line = rows.line;
        match rows.next() {
            None => break,
            // Where quotes are not as they should be, nobody knows where the next row begins.
            Some(Err(wrong)) => {
                wrongs.push(wrong);
                break;
            }
            Some(Ok(found)) => {
                count += 1;
                let first = *columns.get_or_insert(found);
                if found != first {
                    let what = format!("{}, and the first row has {first}", counted(found, "column", "columns"));
                    wrongs.push(Wrong { line, column: 1, what });
                }
            }
        }
    }
    if wrongs.is_empty() {
        Ok(format!("{} of {}", counted(count, "row", "rows"), counted(columns.unwrap_or(0), "column", "columns")))
    } else {
        Err(wrongs)
    }
}

struct Rows<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Rows<'_> {
    /// The number of columns of the next row.
    fn next(&mut self) -> Option<Result<usize, Wrong>> {
        if self.at >= self.text.len() {
            return None;
        }
        let mut columns = 1;
        loop {
            if let Err(wrong) = self.field() {
                return Some(Err(wrong));
            }
            match self.text.as_bytes().get(self.at) {
                Some(b',') => {
                    self.at += 1;
                    columns += 1;
                }
                Some(_) => {
                    self.at += 1;
                    self.line += 1;
                    return Some(Ok(columns));
                }
                None => return Some(Ok(columns)),
            }
        }
    }

    /// Passes over one field, up to a comma, a line end or the end.
    fn field(&mut self) -> Result<(), Wrong> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.at) == Some(&b'"') {
            let (line, start) = (self.line, self.at);
            let wrong = |what: &str, line| Wrong { line, column: self.column(start), what: what.to_owned() };
            let mut at = start + 1;
            let mut lines = 0;
            loop {
                match (bytes.get(at), bytes.get(at + 1)) {
                    (None, _) => return Err(wrong("the quote that begins here is not closed", line)),
                    (Some(b'"'), Some(b'"')) => at += 2,
                    (Some(b'"'), after) => match after {
                        None | Some(b',' | b'\n' | b'\r') => break,
                        Some(_) => return Err(wrong("something follows the closing quote of this field", line)),
                    },
                    (Some(b'\n'), _) => {
                        lines += 1;
                        at += 1;
                    }
                    _ => at += 1,
                }
            }
            (self.at, self.line) = (at + 1, self.line + lines);
        }
        let rest = &bytes[self.at..];
        self.at += rest.iter().position(|byte| matches!(byte, b',' | b'\n')).unwrap_or(rest.len());
        Ok(())
    }

    fn column(&self, at: usize) -> usize {
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        self.text[start..at].chars().count() + 1
    }
}
