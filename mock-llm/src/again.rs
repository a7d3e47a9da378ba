//! Requests that were answered before, byte for byte: the short way for a server under load.
//!
//! Whether a turn answers a request depends on the script, on what was bound, and on the request that each turn last
//! answered. Whoever changes one of these calls [`Again::forget`]; between two changes the same bytes get the same turn.
//! It is only used where no journal is kept, since it neither reads a request nor judges it.

use crate::http::{Incoming, Rendered};
use bytes::Bytes;
use std::sync::Arc;

/// Most requests that are kept.
const MOST: usize = 16;
/// Longest body that is kept, in bytes.
const LONGEST: usize = 256 << 10;

/// The requests that are known, with their turns.
#[derive(Debug, Default)]
pub(crate) struct Again {
    known: Vec<Known>,
    /// The one that is replaced next.
    next: usize,
}

#[derive(Debug)]
struct Known {
    path: String,
    body: Bytes,
    old: bool,
    turn: usize,
    rendered: Arc<Rendered>,
}

impl Again {
    /// The turn and response of a known request.
    pub(crate) fn find(&self, incoming: &Incoming) -> Option<(usize, Arc<Rendered>)> {
        let same =
            |known: &&Known| known.body == incoming.body && known.path == incoming.path && known.old == incoming.old;
        // Only conversation requests are kept, and they are all of one method.
        let known = self.known.iter().filter(|_| incoming.method == "POST").find(same)?;
        Some((known.turn, known.rendered.clone()))
    }

    /// Keeps a conversation request that `turn` answered with `rendered`.
    pub(crate) fn keep(&mut self, incoming: &Incoming, turn: usize, rendered: &Arc<Rendered>) {
        if incoming.body.len() > LONGEST || self.find(incoming).is_some() {
            return;
        }
        let known = Known {
            path: incoming.path.clone(),
            // A copy, so that the connection's buffer is not kept alive by it.
            body: Bytes::copy_from_slice(&incoming.body),
            old: incoming.old,
            turn,
            rendered: rendered.clone(),
        };
        if self.known.len() < MOST {
            self.known.push(known);
        } else {
            self.known[self.next] = known;
            self.next = (self.next + 1) % MOST;
        }
    }

    /// Forgets all of them, because what they depend on has changed.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path: &str, body: &str) -> Incoming {
        let body = Bytes::copy_from_slice(body.as_bytes());
        Incoming { method: "POST".into(), path: path.into(), body, ..Incoming::default() }
    }

    /// What is found for `asked` after these requests were kept, each with its position as its turn.
    #[track_caller]
    fn check(kept: &[Incoming], asked: &Incoming, expect: Option<usize>) {
        let mut again = Again::default();
        for (turn, incoming) in kept.iter().enumerate() {
            again.keep(incoming, turn, &Arc::default());
        }
        assert_eq!(again.find(asked).map(|(turn, _)| turn), expect);
    }

    #[test]
    fn only_equal_requests_are_found() {
        let kept = [request("/a", "x"), request("/a", "y")];
        check(&kept, &request("/a", "y"), Some(1));
        check(&kept, &request("/a", "z"), None);
        check(&kept, &request("/b", "x"), None);
        check(&kept, &Incoming { old: true, ..request("/a", "x") }, None);
        check(&kept, &Incoming { method: "PUT".into(), ..request("/a", "x") }, None);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let many: Vec<Incoming> = (0..=MOST).map(|n| request("/a", &n.to_string())).collect();
        check(&many, &many[0], None);
        check(&many, &many[MOST], Some(MOST));
        let long = request("/a", &"x".repeat(LONGEST + 1));
        check(std::slice::from_ref(&long), &long, None);
    }

    #[test]
    fn nothing_is_found_after_a_change() {
        let mut again = Again::default();
        again.keep(&request("/a", "x"), 0, &Arc::default());
        again.forget();
        assert!(again.find(&request("/a", "x")).is_none());
    }
}
