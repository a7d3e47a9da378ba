//! Finds the taped answer of a request.

use super::history::loose;
use super::{Exchange, Tape, TapedEnd};
use crate::escape::unescape;
use crate::http::{Rendered, Stop, Write};
use std::sync::Arc;

/// A tape that is being played.
#[derive(Debug)]
pub(crate) struct Playback {
    tracks: Vec<Track>,
}

#[derive(Debug)]
struct Track {
    exchange: Exchange,
    rendered: Arc<Rendered>,
    served: usize,
}

impl Playback {
    pub(crate) fn new(tape: Tape) -> Playback {
        let track = |exchange: Exchange| Track { rendered: Arc::new(render(&exchange)), exchange, served: 0 };
        Playback { tracks: tape.exchanges.into_iter().map(track).collect() }
    }

    /// Whether anything was taped of this route.
    pub(crate) fn knows(&self, method: &str, path: &str) -> bool {
        self.tracks.iter().any(|track| track.is_route(method, path))
    }

    /// The answer to a request with this history. Where several were taped they follow in order, and the last of them
    /// stays: a failing attempt fails again, and then works.
    ///
    /// # Errors
    ///
    /// Why there is none, with the nearest one.
    pub(crate) fn answer(&mut self, method: &str, path: &str, history: &[String]) -> Result<Arc<Rendered>, String> {
        let route = || self.tracks.iter().enumerate().filter(|(_, track)| track.is_route(method, path));
        let exact: Vec<usize> =
            route().filter(|(_, track)| track.exchange.history == history).map(|(at, _)| at).collect();
        let alike = || route().filter(|(_, track)| track.is_like(history));
        let found = if exact.is_empty() { alike().map(|(at, _)| at).collect() } else { exact };
        let states = || found.iter().map(|at| &self.tracks[*at].exchange.history);
        // What is only alike must not be one of several that differ: nothing tells which of them is meant.
        if states().zip(states().skip(1)).any(|(a, b)| a != b) {
            return Err("several taped histories differ from this one only in the user's words".to_owned());
        }
        let fresh = found.iter().find(|at| self.tracks[**at].served == 0).or(found.last());
        let Some(&at) = fresh else { return Err(self.nearest(method, path, history)) };
        self.tracks[at].served += 1;
        Ok(self.tracks[at].rendered.clone())
    }

    /// What was never asked for.
    pub(crate) fn unserved(&self) -> impl Iterator<Item = String> {
        self.tracks.iter().enumerate().filter(|(_, track)| track.served == 0).map(|(at, track)| {
            let Exchange { method, path, history, .. } = &track.exchange;
            format!("exchange {at} ({method} {path}, {} entries of history)", history.len())
        })
    }

    fn nearest(&self, method: &str, path: &str, history: &[String]) -> String {
        let same = |track: &Track| track.exchange.history.iter().zip(history).take_while(|(a, b)| a == b).count();
        let route = self.tracks.iter().enumerate().filter(|(_, track)| track.is_route(method, path));
        // Of equally near ones the first that goes on.
        let goes_on = |track: &Track| track.exchange.history.len() > same(track);
        let near = route.rev().max_by_key(|(_, track)| (same(track), goes_on(track)));
        let Some((at, track)) = near else { return format!("nothing was taped of {method} {path}") };
        let place = same(track);
        let entry = |history: &[String]| history.get(place).map_or("its end".to_owned(), |entry| format!("`{entry}`"));
        format!(
            "no taped answer has this history; the nearest is that of exchange {at}, which has {} at entry {place}, \
             where this has {}",
            entry(&track.exchange.history),
            entry(history)
        )
    }
}

impl Track {
    fn is_route(&self, method: &str, path: &str) -> bool {
        self.exchange.method == method && self.exchange.path == path
    }

    fn is_like(&self, history: &[String]) -> bool {
        let taped = &self.exchange.history;
        taped.len() == history.len() && taped.iter().zip(history).all(|(a, b)| loose(a) == loose(b))
    }
}

/// The response as it was taped. Its body, for the journal, is everything that went over the wire.
fn render(exchange: &Exchange) -> Rendered {
    let (mut wire, mut writes) = (Vec::new(), Vec::new());
    for write in &exchange.writes {
        let start = wire.len();
        // The loader has seen to it that the escapes are sound; what is not is sent as it stands.
        wire.extend(unescape(write).unwrap_or_else(|_| write.clone().into_bytes()));
        writes.push(Write { wire: start..wire.len(), body: start..wire.len() });
    }
    let stop = match exchange.end {
        TapedEnd::Complete | TapedEnd::Close => None,
        TapedEnd::Reset => Some(Stop::Reset),
        TapedEnd::Stall => Some(Stop::Stall(None)),
    };
    let stop = stop.map(|stop| (writes.len(), stop));
    let body = bytes::Bytes::from(wire);
    let close = exchange.end == TapedEnd::Close;
    Rendered { status: exchange.status.unwrap_or(0), wire: body.clone(), body, writes, stop, close }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(history: &[&str], say: &str) -> Exchange {
        Exchange {
            method: "POST".into(),
            path: "/p".into(),
            history: history.iter().map(|entry| (*entry).to_owned()).collect(),
            status: None,
            writes: vec![say.into()],
            end: TapedEnd::Complete,
        }
    }

    fn tape() -> Playback {
        let exchanges = vec![
            exchange(&["s", "user 1"], "first try"),
            exchange(&["s", "user 1"], "second try"),
            exchange(&["s", "user 1", "assistant c1", "result c1"], "done"),
            exchange(&["s", "user 2", "assistant c1", "result c1"], "other"),
        ];
        Playback::new(Tape { tape: 1, exchanges })
    }

    /// What is answered when these histories are asked for, one after another.
    #[track_caller]
    fn check(asked: &[&[&str]], expect: &[&str]) {
        let mut tape = tape();
        let answers: Vec<String> = asked
            .iter()
            .map(|history| {
                let history: Vec<String> = history.iter().map(|entry| (*entry).to_owned()).collect();
                let answer = tape.answer("POST", "/p", &history);
                answer.map_or_else(|reason| reason, |found| String::from_utf8(found.wire.to_vec()).unwrap())
            })
            .collect();
        assert_eq!(answers, expect);
    }

    #[test]
    fn attempts_follow_in_order_and_the_last_stays() {
        let same: &[&str] = &["s", "user 1"];
        check(&[same, same, same], &["first try", "second try", "second try"]);
    }

    #[test]
    fn other_words_of_the_user_are_the_same_state_when_only_one_is_alike() {
        check(&[&["s", "user 9"]], &["first try"]);
        check(
            &[&["s", "user 9", "assistant c1", "result c1"]],
            &["several taped histories differ from this one only in the user's words"],
        );
        check(&[&["s", "user 2", "assistant c1", "result c1"]], &["other"]);
    }

    #[test]
    fn what_was_not_taped_is_told_with_the_nearest() {
        check(
            &[&["s", "user 1", "assistant c2"], &["t"]],
            &[
                "no taped answer has this history; the nearest is that of exchange 2, which has `assistant c1` at entry \
                 2, where this has `assistant c2`",
                "no taped answer has this history; the nearest is that of exchange 0, which has `s` at entry 0, where \
                 this has `t`",
            ],
        );
        assert_eq!(tape().answer("GET", "/p", &[]).unwrap_err(), "nothing was taped of GET /p");
    }

    #[test]
    fn what_was_never_asked_for_is_listed() {
        let mut tape = tape();
        tape.answer("POST", "/p", &["s".into(), "user 1".into()]).unwrap();
        let unserved: Vec<String> = tape.unserved().collect();
        assert_eq!((unserved.len(), unserved[0].as_str()), (3, "exchange 1 (POST /p, 2 entries of history)"));
    }
}
