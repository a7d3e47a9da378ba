//! O54: what is sent again is the same.

use crate::Finding;
use crate::trace::{WireRequest, WireTrace};

/// Two requests in a row that asked for the same turn carry the same tools, system text and messages, byte for byte.
pub fn are_the_same(trace: &WireTrace) -> Vec<Finding> {
    let pairs = trace.requests.iter().zip(trace.requests.iter().skip(1));
    let again = pairs.filter(|(first, second)| first.turn.is_some() && first.turn == second.turn);
    again
        .filter_map(|(first, second)| {
            let part = differs(first, second)?;
            Some(Finding::new(
                "WIRE-14",
                "retry-differs",
                format!("request {}", second.index),
                format!("it repeats request {}, but its {part} is not the same", first.index),
            ))
        })
        .collect()
}

fn differs(first: &WireRequest, second: &WireRequest) -> Option<String> {
    let (a, b) = (&first.raw, &second.raw);
    if a.tools != b.tools {
        return Some("list of tools".to_owned());
    }
    if a.system != b.system {
        return Some("system text".to_owned());
    }
    let most = a.items.len().max(b.items.len());
    (0..most).find(|at| a.items.get(*at) != b.items.get(*at)).map(|at| format!("item {at}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::RawParts;

    fn request(index: usize, turn: Option<usize>, items: &[&str]) -> WireRequest {
        let raw = RawParts { items: items.iter().map(|i| (*i).to_owned()).collect(), ..RawParts::default() };
        WireRequest { index, turn, raw, ..WireRequest::default() }
    }

    #[track_caller]
    fn check(requests: Vec<WireRequest>, expect: &[&str]) {
        let found = are_the_same(&WireTrace { requests, ..WireTrace::default() });
        assert_eq!(found.iter().map(|f| f.detail.as_str()).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn the_same_again_is_clean() {
        check(vec![request(0, Some(0), &["a"]), request(1, Some(0), &["a"]), request(2, Some(1), &["a", "b"])], &[]);
        check(vec![request(0, None, &["a"]), request(1, None, &["b"])], &[]);
    }

    #[test]
    fn what_was_added_or_changed_is_found() {
        let first = || request(0, Some(0), &["a"]);
        let told = "it repeats request 0, but its";
        check(vec![first(), request(1, Some(0), &["a", "b"])], &[&format!("{told} item 1 is not the same")]);
        let mut other = request(1, Some(0), &["a"]);
        other.raw.system = "now".into();
        check(vec![first(), other], &[&format!("{told} system text is not the same")]);
    }
}
