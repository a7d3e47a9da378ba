//! The write plan: which bytes of an encoded body go out together.
//!
//! A plan is data that can be printed and compared. It partitions the body exactly; it never changes a byte of it.

use crate::dialect::Encoded;
use crate::prng::SplitMix64;
use crate::script::{Cut, Delivery};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;

/// The writes of one body, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The byte range of each write. They follow one another without gap and cover the body; none is empty.
    pub writes: Vec<Range<usize>>,
    /// Where the script's own cuts fell.
    pub cuts: Vec<CutMark>,
    /// Cuts whose anchor the body does not hold, by their position in the turn's list.
    pub missing: Vec<usize>,
}

/// One anchored cut as it fell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutMark {
    /// Its position in the turn's list of cuts.
    pub index: usize,
    /// The offset in the body at which a new write begins.
    pub offset: usize,
}

impl Plan {
    /// Begins a new write at `offset`, where the response is to break.
    pub(crate) fn split_at(&mut self, offset: usize) {
        if let Some(at) = self.writes.iter().position(|write| write.start < offset && offset < write.end) {
            let rest = offset..self.writes[at].end;
            self.writes[at].end = offset;
            self.writes.insert(at + 1, rest);
        }
    }

    /// Plans the writes of `body`. `seed` and `turn` choose the sizes of `Delivery::Random` and nothing else.
    pub fn new(body: &Encoded, delivery: Delivery, cuts: &[Cut], seed: u64, turn: usize) -> Plan {
        let mut plan = Plan::default();
        let mut starts = starts(body, delivery, seed, turn);
        for (index, cut) in cuts.iter().enumerate() {
            match locate(&body.bytes, cut) {
                Some(offset) => {
                    plan.cuts.push(CutMark { index, offset });
                    starts.insert(offset);
                }
                None => plan.missing.push(index),
            }
        }
        let mut from = 0;
        for start in starts.into_iter().chain([body.bytes.len()]) {
            if from < start && start <= body.bytes.len() {
                plan.writes.push(from..start);
                from = start;
            }
        }
        plan
    }
}

/// The offsets at which a delivery mode begins a new write.
fn starts(body: &Encoded, delivery: Delivery, seed: u64, turn: usize) -> BTreeSet<usize> {
    let len = body.bytes.len();
    match delivery {
        Delivery::Coalesced => BTreeSet::new(),
        Delivery::Frames => body.frames.iter().map(|frame| frame.start).collect(),
        Delivery::Bytes => (0..len).collect(),
        Delivery::Random => {
            let mut stream = SplitMix64::for_part(seed, turn as u64);
            let mut at = 0;
            std::iter::from_fn(|| {
                at += stream.up_to_64();
                (at < len).then_some(at)
            })
            .collect()
        }
    }
}

/// Finds the offset a cut asks for. An anchor is looked for as it is written and, where that is not found, as it
/// reads inside a JSON string, since that is how argument text travels.
pub fn locate(body: &[u8], cut: &Cut) -> Option<usize> {
    let (anchor, offset) = match (&cut.inside, &cut.before, &cut.after) {
        (Some(anchor), None, None) => (anchor, cut.byte.unwrap_or(1)),
        (None, Some(anchor), None) => (anchor, 0),
        (None, None, Some(anchor)) => (anchor, usize::MAX),
        _ => return None,
    };
    let nth = cut.nth.unwrap_or(1).checked_sub(1)?;
    let quoted = serde_json::Value::from(anchor.as_str()).to_string();
    let escaped = &quoted[1..quoted.len() - 1];
    [anchor.as_str(), escaped].into_iter().filter(|anchor| !anchor.is_empty()).find_map(|anchor| {
        let at = memchr::memmem::find_iter(body, anchor.as_bytes()).nth(nth)?;
        Some(at + offset.min(anchor.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn body(text: &str) -> Encoded {
        let mut frames = Vec::new();
        let mut from = 0;
        while let Some(len) = text[from..].find("\n\n") {
            frames.push(from..from + len + 2);
            from += len + 2;
        }
        Encoded { bytes: text.as_bytes().to_vec(), frames, ..Encoded::default() }
    }

    #[track_caller]
    fn check(delivery: Delivery, cuts: &[Cut], expect: &[&str]) {
        let body = body("data: aü\n\ndata: b\n\n");
        let plan = Plan::new(&body, delivery, cuts, 0, 0);
        let got: Vec<_> =
            plan.writes.iter().map(|w| String::from_utf8_lossy(&body.bytes[w.clone()]).into_owned()).collect();
        assert_eq!(got, expect);
    }

    fn inside(anchor: &str, byte: usize) -> Cut {
        Cut { inside: Some(anchor.to_owned()), byte: Some(byte), ..Cut::default() }
    }

    #[test]
    fn frames_go_out_one_by_one() {
        check(Delivery::Frames, &[], &["data: aü\n\n", "data: b\n\n"]);
    }

    #[test]
    fn coalesced_is_one_write() {
        check(Delivery::Coalesced, &[], &["data: aü\n\ndata: b\n\n"]);
    }

    #[test]
    fn a_cut_falls_inside_a_character_whatever_the_delivery() {
        check(Delivery::Coalesced, &[inside("ü", 1)], &["data: a\u{fffd}", "\u{fffd}\n\ndata: b\n\n"]);
        check(Delivery::Frames, &[inside("ü", 1)], &["data: a\u{fffd}", "\u{fffd}\n\n", "data: b\n\n"]);
    }

    #[test]
    fn cuts_before_and_after_take_the_occurrence_asked_for() {
        let before = Cut { before: Some("data".into()), nth: Some(2), ..Cut::default() };
        let after = Cut { after: Some("data".into()), ..Cut::default() };
        check(Delivery::Coalesced, &[before, after], &["data", ": aü\n\n", "data: b\n\n"]);
    }

    #[test]
    fn an_anchor_is_found_in_its_json_form() {
        let cut = Cut { after: Some("say \"hi\"".into()), ..Cut::default() };
        assert_eq!(locate(br#"{"x":"say \"hi\"!"}"#, &cut), Some(16));
    }

    #[test]
    fn an_anchor_that_is_absent_is_reported_and_moves_nothing() {
        let body = body("data: a\n\n");
        let plan = Plan::new(&body, Delivery::Coalesced, &[inside("z", 1), inside("a", 1)], 0, 0);
        assert_eq!((plan.missing, plan.cuts), (vec![0], vec![CutMark { index: 1, offset: 2 }]));
    }

    #[test]
    fn a_seed_is_a_plan() {
        let body = body(&"data: abcdefghij\n\n".repeat(40));
        let plan = |seed| Plan::new(&body, Delivery::Random, &[], seed, 0).writes;
        assert_eq!(plan(5), plan(5));
        assert_ne!(plan(5), plan(6));
        assert!(plan(5).iter().all(|write| write.len() <= 64));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_plan_partitions_the_body(
            text in "[a-cü\n]{0,300}",
            mode in 0_usize..4,
            seed: u64,
            anchors in proptest::collection::vec(("[a-cü]{1,2}", 1_usize..4, 1_usize..3), 0..4),
        ) {
            let body = body(&text);
            let delivery = [Delivery::Frames, Delivery::Bytes, Delivery::Random, Delivery::Coalesced][mode];
            let cuts: Vec<Cut> = anchors
                .into_iter()
                .map(|(anchor, byte, nth)| Cut { nth: Some(nth), ..inside(&anchor, byte) })
                .collect();
            let plan = Plan::new(&body, delivery, &cuts, seed, 3);
            let mut at = 0;
            for write in &plan.writes {
                prop_assert_eq!(write.start, at);
                prop_assert!(write.end > at);
                at = write.end;
            }
            prop_assert_eq!(at, body.bytes.len());
            prop_assert_eq!(plan.cuts.len() + plan.missing.len(), cuts.len());
        }
    }
}
