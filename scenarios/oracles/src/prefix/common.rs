//! How far two rendered requests agree.

use super::prompt::{Part, Prompt};

/// What two requests have in common at their beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Common {
    /// How many leading parts are the same.
    pub parts: usize,
    /// How many leading bytes are, separators included.
    pub bytes: usize,
}

/// How far `b` repeats `a`. All of `a`, separators included, is repeated exactly if `b` only appends.
pub fn common(a: &Prompt<'_>, b: &Prompt<'_>) -> Common {
    of_parts(a.parts(), b.parts())
}

/// How far one list of parts repeats another.
pub fn of_parts(a: &[Part<'_>], b: &[Part<'_>]) -> Common {
    let mut found = Common::default();
    for (x, y) in a.iter().zip(b) {
        if x.text != y.text {
            found.bytes += of_bytes(x.text.as_bytes(), y.text.as_bytes());
            break;
        }
        found.parts += 1;
        found.bytes += x.text.len() + 1;
    }
    found
}

/// How many leading bytes are the same.
pub fn of_bytes(a: &[u8], b: &[u8]) -> usize {
    /// Enough for the comparison of a step to be one of whole registers.
    const STEP: usize = 256;
    let steps = a.chunks_exact(STEP).zip(b.chunks_exact(STEP));
    let same = steps.take_while(|(x, y)| x == y).count() * STEP;
    same + a[same..].iter().zip(&b[same..]).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefix::Dialect;

    #[track_caller]
    fn check(a: &str, b: &str, parts: usize, bytes: usize) {
        let prompt = |items: &str| format!(r#"{{"input":[{items}]}}"#);
        let (a, b) = (prompt(a), prompt(b));
        let read = |text| Prompt::from_body(text, Some(Dialect::Responses)).unwrap();
        assert_eq!(common(&read(&a), &read(&b)), Common { parts, bytes });
    }

    #[test]
    fn parts_are_counted_with_their_separators() {
        check("", "", 0, 0);
        check("1,22", "1,22,333", 2, 5);
        check("1,22", "1,23", 1, 3);
        check("1,22", "1", 1, 2);
        check("1", "2", 0, 0);
    }

    #[test]
    fn bytes_are_counted_at_every_length() {
        for len in [0, 1, 255, 256, 257, 511, 512, 600] {
            let a = vec![b'x'; len];
            assert_eq!(of_bytes(&a, &a), len);
            for at in [0, 1, 200, 255, 256, 300, 511, 512] {
                let mut b = a.clone();
                if let Some(byte) = b.get_mut(at) {
                    *byte = b'y';
                    assert_eq!(of_bytes(&a, &b), at);
                    assert_eq!(of_bytes(&a[..at], &b), at);
                }
            }
        }
    }
}
