//! Forged calls, taken out of what is shown and out of what enters the history.
//!
//! It owns where the stripper of `slot-wire` stands in a turn: text and reasoning, each in its own stripper, while they
//! stream and once more when the turn is whole. Calls and their arguments never pass through it, and neither do the blocks
//! that go back to their provider verbatim.

use super::TurnObserver;
use slot_wire::forge::{RecognisedForgery, Stripped, Stripper};
use slot_wire::{OpaqueBlock, Turn, TurnDelta};

/// Passes the pieces of a turn on to an observer, without what is forged. What is still held back when it is dropped, at
/// the end of the stream whatever that was, is let go then.
pub struct Scrubbed<'a> {
    observer: &'a dyn TurnObserver,
    text: Option<Stripper>,
    reasoning: Option<Stripper>,
}

impl<'a> Scrubbed<'a> {
    /// At the start of a turn.
    pub fn new(observer: &'a dyn TurnObserver) -> Self {
        Scrubbed { observer, text: None, reasoning: None }
    }

    /// Takes the next piece.
    pub fn delta(&mut self, delta: &TurnDelta) {
        let mut out = String::new();
        match delta {
            TurnDelta::Text(text) => {
                self.text.get_or_insert_default().push(text, &mut out);
                self.show(TurnDelta::Text(out));
            }
            TurnDelta::Reasoning(text) => {
                self.reasoning.get_or_insert_default().push(text, &mut out);
                self.show(TurnDelta::Reasoning(out));
            }
            TurnDelta::Call(_) => self.observer.delta(delta),
        }
    }

    fn show(&self, delta: TurnDelta) {
        if !matches!(&delta, TurnDelta::Text(text) | TurnDelta::Reasoning(text) if text.is_empty()) {
            self.observer.delta(&delta);
        }
    }
}

impl Drop for Scrubbed<'_> {
    fn drop(&mut self) {
        // An observer that has panicked is not called again: a second panic here would end the process.
        if std::thread::panicking() {
            return;
        }
        let rest = |stripper: Option<Stripper>| {
            let mut out = String::new();
            stripper.map(|stripper| stripper.finish(&mut out));
            out
        };
        let (reasoning, text) = (rest(self.reasoning.take()), rest(self.text.take()));
        self.show(TurnDelta::Reasoning(reasoning));
        self.show(TurnDelta::Text(text));
    }
}

/// Takes what is forged out of a turn's text and reasoning; answers what it was, if anything. The turn's blocks keep their
/// places in the text.
pub fn scrub_turn(turn: &mut Turn) -> Option<RecognisedForgery> {
    let reasoning = scrub(&mut turn.reasoning, &mut []);
    let text = scrub(&mut turn.text, &mut turn.blocks);
    RecognisedForgery::of([&reasoning, &text])
}

/// Strips a text that `blocks` stand in, in the order of their places.
fn scrub(text: &mut String, blocks: &mut [OpaqueBlock]) -> Stripped {
    let mut stripper = Stripper::new();
    let mut out = String::with_capacity(text.len());
    let mut taken = 0;
    for block in blocks {
        let place = text.floor_char_boundary(block.after_text).max(taken);
        stripper.push(&text[taken..place], &mut out);
        taken = place;
        // What is held back at this place comes out behind the block: a marker that spans it is found all the same.
        block.after_text = out.len();
    }
    stripper.push(&text[taken..], &mut out);
    let stripped = stripper.finish(&mut out);
    *text = out;
    stripped
}
