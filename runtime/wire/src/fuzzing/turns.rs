//! The property of the turn decoders.

use crate::Dialect;
use crate::stream::{StreamDecoder, StreamEnd};
use crate::turn::{Turn, TurnDelta};

/// A body decodes to the same turn whole, byte by byte and in pieces, and no body makes a decoder hold more than it got.
///
/// The first byte of the input chooses the dialect and how large the pieces are.
pub fn dialect_turn(input: &[u8]) {
    let Some((&choice, body)) = input.split_first() else { return };
    let dialect = Dialect::ALL[usize::from(choice) % Dialect::ALL.len()];
    let size = usize::from(choice) / Dialect::ALL.len() + 2;
    let whole = decode(dialect, [body]);
    assert_eq!(whole, decode(dialect, body.chunks(1)), "{} changes byte by byte", dialect.name());
    assert_eq!(whole, decode(dialect, body.chunks(size)), "{} changes in pieces of {size}", dialect.name());
    let (turn, ..) = &whole;
    let held =
        turn.text.len() + turn.reasoning.len() + turn.calls.iter().map(|call| call.arguments.len()).sum::<usize>();
    // What is not UTF-8 becomes a replacement character of three bytes; a call of Anthropic begins with `{}`.
    assert!(held <= 3 * body.len(), "{held} bytes out of {}", body.len());
}

/// What a body comes to: the turn, what was left over, the first fault, and the words in the order they were shown. How
/// far a body was read before a fault depends on its pieces, and nothing else may.
fn decode<'a>(
    dialect: Dialect,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Turn, Option<StreamEnd>, Option<String>, String, String) {
    let mut decoder = StreamDecoder::new(dialect);
    let (mut fault, mut deltas) = (None, Vec::new());
    for piece in pieces {
        if let Err(error) = decoder.feed(piece, &mut deltas) {
            // Nobody reads on behind the first fault.
            fault = Some(error.to_string());
            break;
        }
    }
    let (turn, end) = decoder.finish();
    let (mut text, mut reasoning) = (String::new(), String::new());
    for delta in deltas {
        match delta {
            TurnDelta::Text(piece) => text.push_str(&piece),
            TurnDelta::Reasoning(piece) => reasoning.push_str(&piece),
            _ => {}
        }
    }
    (turn, fault.is_none().then_some(end), fault, text, reasoning)
}

#[cfg(test)]
mod tests {
    use super::dialect_turn;
    use crate::fuzzing::replay;
    use proptest::prelude::*;

    #[test]
    fn the_committed_corpus_holds() {
        assert!(replay("dialect_turn", dialect_turn) >= 6);
    }

    proptest! {
        #[test]
        fn the_property_of_the_fuzz_target_holds(choice in any::<u8>(), body in "(data: |event: |[{}\\[\\]\":,a-z0-9 ü]{0,6}|\n|\r\n){0,24}") {
            let input: Vec<u8> = std::iter::once(choice).chain(body.bytes()).collect();
            dialect_turn(&input);
        }
    }
}
