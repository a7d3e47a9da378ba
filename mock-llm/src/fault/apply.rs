//! Applies a fault to an encoded body: which bytes remain, and where the response breaks.

use super::{Break, Edit, Fault, FrameFault, Words, gzip};
use crate::dialect::{Dialect, Encoded};
use crate::escape::unescape;
use crate::plan;
use crate::prng::SplitMix64;

/// An encoded body with its faults applied.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faulted {
    /// What is sent.
    pub body: Encoded,
    /// Whether each element of `Encoded::frames` is a write of its own, whatever the delivery.
    pub own_writes: bool,
    /// The place in the body at which the response breaks, and how.
    pub broken: Option<(usize, Break)>,
    /// What the body does not hold although the fault asks for it.
    pub missing: Vec<String>,
}

/// Applies `fault`. `words` are what raw bytes may say of the calls; `seed` and `turn` draw the place of a break that has
/// none.
pub(crate) fn apply(
    mut body: Encoded,
    fault: &Fault,
    words: Words<'_>,
    dialect: Dialect,
    seed: u64,
    turn: usize,
) -> Faulted {
    let mut missing = Vec::new();
    if let Some(parts) = &fault.bytes {
        body = raw(parts, &body, words, &mut missing);
    }
    for edit in &fault.frames {
        // A document has no frames to edit.
        if body.stream && !edit_frames(&mut body, edit, dialect) {
            missing.push(format!("no frame holds `{}`", edit.holding.as_deref().unwrap_or_default()));
        }
    }
    if fault.gzip {
        body = Encoded { bytes: gzip::stored(&body.bytes), frames: Vec::new(), ..body };
    }
    let broken = fault.then.map(|how| {
        let len = body.bytes.len();
        let drawn = || {
            let draw = SplitMix64::for_part(seed, !(turn as u64)).next_u64();
            // One to all but one byte: something arrives, and something does not.
            1 + (draw % (len.max(3) as u64 - 2)) as usize
        };
        let place = match &fault.at {
            None if fault.before_head => 0,
            None => drawn(),
            Some(at) => plan::locate(&body.bytes, at).unwrap_or_else(|| {
                if body.stream {
                    missing.push("the body does not hold the place of the break".to_owned());
                }
                drawn()
            }),
        };
        (place.min(len), how)
    });
    Faulted { body, own_writes: fault.bytes.is_some(), broken, missing }
}

impl Faulted {
    /// Whether the terminal signal is among what is sent before the response breaks.
    pub(crate) fn is_terminal(&self) -> bool {
        let Some(frame) = self.body.terminal else { return false };
        let end = self.body.frames.get(frame).map_or(self.body.bytes.len(), |frame| frame.end);
        self.broken.is_none_or(|(place, _)| end <= place)
    }
}

/// A body of the bytes given. Its terminal signal is, if the turn has one, in the last part.
fn raw(parts: &[String], encoded: &Encoded, words: Words<'_>, missing: &mut Vec<String>) -> Encoded {
    let mut body = Encoded { stream: encoded.stream, ..Encoded::default() };
    for part in parts {
        let start = body.bytes.len();
        // The loader has seen to it that the escapes are sound; what is not is sent as it stands.
        let bytes = unescape(part).unwrap_or_else(|_| part.clone().into_bytes());
        body.bytes.extend(words.fill(&bytes, missing));
        body.frames.push(start..body.bytes.len());
    }
    body.terminal = encoded.terminal.and(parts.len().checked_sub(1));
    body
}

/// Edits the frames. `false` when no frame holds what was asked for.
fn edit_frames(body: &mut Encoded, fault: &FrameFault, dialect: Dialect) -> bool {
    let mut frames: Vec<(Vec<u8>, bool)> = body
        .frames
        .iter()
        .enumerate()
        .map(|(at, range)| (body.bytes[range.clone()].to_vec(), body.terminal == Some(at)))
        .collect();
    let Some(at) = find(&frames, fault) else { return false };
    match fault.edit {
        Edit::Drop => {
            frames.remove(at);
        }
        Edit::Duplicate => frames.insert(at + 1, (frames[at].0.clone(), false)),
        Edit::Swap => {
            if at + 1 >= frames.len() {
                return false;
            }
            frames.swap(at, at + 1);
        }
        Edit::Late => frames.push((frames[at].0.clone(), false)),
        Edit::Error => {
            frames.truncate(at);
            frames.push((dialect.error_event(), false));
        }
    }
    body.terminal = frames.iter().position(|(_, terminal)| *terminal);
    body.bytes.clear();
    body.frames.clear();
    for (bytes, _) in frames {
        let start = body.bytes.len();
        body.bytes.extend(bytes);
        body.frames.push(start..body.bytes.len());
    }
    true
}

fn find(frames: &[(Vec<u8>, bool)], fault: &FrameFault) -> Option<usize> {
    let Some(wanted) = &fault.holding else { return frames.len().checked_sub(1) };
    let holds = |bytes: &[u8]| {
        let cut = crate::script::Cut { before: Some(wanted.clone()), ..Default::default() };
        plan::locate(bytes, &cut).is_some()
    };
    let nth = fault.nth.unwrap_or(1).checked_sub(1)?;
    frames.iter().enumerate().filter(|(_, (bytes, _))| holds(bytes)).map(|(at, _)| at).nth(nth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Cut;

    fn body() -> Encoded {
        Encoded { bytes: b"a\n\nb\n\nc\n\n".to_vec(), frames: vec![0..3, 3..6, 6..9], stream: true, terminal: Some(2) }
    }

    fn edit(edit: Edit, holding: Option<&str>) -> Fault {
        Fault { frames: vec![FrameFault { edit, holding: holding.map(str::to_owned), nth: None }], ..Fault::default() }
    }

    #[track_caller]
    fn check(fault: &Fault, expect: &str, terminal: bool) {
        let faulted = apply(body(), fault, Words::default(), Dialect::Chat, 1, 0);
        assert_eq!(String::from_utf8(faulted.body.bytes.clone()).unwrap().replace("\n\n", "|"), expect);
        assert_eq!(faulted.is_terminal(), terminal);
        assert_eq!(faulted.missing, Vec::<String>::new());
        assert_eq!(faulted.body.frames.last().map(|frame| frame.end), Some(faulted.body.bytes.len()));
    }

    #[test]
    fn frames_are_edited_one_by_one() {
        check(&edit(Edit::Drop, None), "a|b|", false);
        check(&edit(Edit::Duplicate, None), "a|b|c|c|", true);
        check(&edit(Edit::Duplicate, Some("a")), "a|a|b|c|", true);
        check(&edit(Edit::Swap, Some("b")), "a|c|b|", true);
        check(&edit(Edit::Late, Some("a")), "a|b|c|a|", true);
    }

    #[test]
    fn an_error_event_ends_the_stream() {
        let expect = format!("a|{}|", String::from_utf8(Dialect::Chat.error_event()).unwrap().trim_end());
        check(&edit(Edit::Error, Some("b")), &expect, false);
    }

    #[test]
    fn a_frame_that_is_not_there_is_reported() {
        for fault in [edit(Edit::Drop, Some("z")), edit(Edit::Swap, None)] {
            assert_eq!(apply(body(), &fault, Words::default(), Dialect::Chat, 1, 0).missing.len(), 1);
        }
    }

    #[test]
    fn a_break_has_its_place_from_an_anchor_or_the_seed() {
        let at = |at| Fault { then: Some(Break::Close), at, ..Fault::default() };
        let place =
            |fault: &Fault, seed| apply(body(), fault, Words::default(), Dialect::Chat, seed, 0).broken.unwrap().0;
        let after = |text: &str| Some(Cut { after: Some(text.into()), ..Cut::default() });
        assert_eq!(place(&at(after("b")), 1), 4);
        assert_eq!(place(&at(None), 1), place(&at(None), 1));
        assert!((0..100).all(|seed| (1..9).contains(&place(&at(None), seed))));
        check(&at(after("b")), "a|b|c|", false);
        check(&at(after("c\n\n")), "a|b|c|", true);
    }

    #[test]
    fn raw_bytes_stand_for_the_turn() {
        let bytes = Some(vec![r"a\x00\xff".to_owned(), r"\r\n\\".to_owned()]);
        let faulted = apply(body(), &Fault { bytes, ..Fault::default() }, Words::default(), Dialect::Chat, 1, 0);
        assert_eq!(faulted.body.bytes, b"a\x00\xff\r\n\\");
        assert_eq!((faulted.body.frames, faulted.own_writes), (vec![0..3, 3..6], true));
    }
}
