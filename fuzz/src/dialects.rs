//! One turn through the mock's three encoders and the runtime's three decoders.
//!
//! Neither side knows the other, so what both agree on is the dialect. The harness' tests include this file as well, so
//! that a stable toolchain replays the committed corpus through the very same code.

use mock_llm::dialect::{Dialect as Encoder, Form};
use mock_llm::plan::Plan;
use mock_llm::script::{Delivery, End, Eol, Framing, Stop};
use mock_llm::turn::ModelTurn;
use slot_oracles::trace::ServedCall;
use slot_wire::stream::{StreamDecoder, StreamEnd};
use slot_wire::{Dialect, StopReason, Terminal, Turn};

/// The same dialect on either side.
pub const PAIRS: [(Encoder, Dialect); 3] = [
    (Encoder::Chat, Dialect::Chat),
    (Encoder::Anthropic, Dialect::Anthropic),
    (Encoder::Responses, Dialect::Responses),
];

/// The turn that the input tells goes through every dialect, in random pieces, and comes out as it went in.
pub fn diff_dialects(input: &[u8]) {
    let (turn, seed) = told(input);
    for (encoder, dialect) in PAIRS {
        let body = encoder.encode(&turn, &form(true));
        let plan = Plan::new(&body, Delivery::Random, &[], seed, 0);
        let (decoded, end, fault) = decode(dialect, plan.writes.iter().map(|write| &body.bytes[write.clone()]));
        assert_eq!(fault, None, "{}", dialect.name());
        assert_eq!(bare(decoded), bare(expected(&turn)), "{}", dialect.name());
        assert_eq!(end.sse.pending, 0, "{}", dialect.name());
    }
}

/// A turn and a seed, told in fields that end with a NUL: choices, reasoning, text, and then a name and arguments for each
/// call.
fn told(input: &[u8]) -> (ModelTurn, u64) {
    let mut fields = input.split(|byte| *byte == 0);
    let choices = fields.next().unwrap_or_default();
    let choice = |at: usize| usize::from(choices.get(at).copied().unwrap_or_default());
    let bit = |at: usize| choice(2) >> at & 1 == 1;
    let mut words = fields.map(|field| String::from_utf8_lossy(field).into_owned());
    let (reason, text) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut calls = Vec::new();
    while let (Some(name), Some(arguments)) = (words.next(), words.next()) {
        if calls.len() == 8 {
            break;
        }
        calls.push(ServedCall { id: format!("call_{}", calls.len()), name: legal(&name), arguments });
    }
    let own = if calls.is_empty() { Stop::Stop } else { Stop::ToolCalls };
    let turn = ModelTurn {
        reason,
        calls,
        stop: [own, own, Stop::MaxTokens, Stop::ContentFilter][choice(0) % 4],
        end: [End::Clean, End::Clean, End::NoTerminal][choice(1) % 3],
        framing: Framing {
            eol: [Eol::Lf, Eol::Crlf, Eol::Cr][choice(3) % 3],
            bom: bit(0),
            no_space: bit(1),
            comments: bit(2),
            multi_line: bit(3),
            extra_fields: bit(4),
        },
        ..ModelTurn::text(&text)
    };
    (turn, choices.iter().fold(0, |seed, byte| seed << 8 | u64::from(*byte)))
}

/// A name that every provider takes.
fn legal(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    format!("t{}", name.chars().take(32).map(plain).collect::<String>())
}

/// How the mock is asked to answer.
pub fn form(stream: bool) -> Form {
    Form { stream, usage: true, model: "m".to_owned(), search: false }
}

/// Decodes a body piece by piece; the first fault goes with it.
pub fn decode<'a>(dialect: Dialect, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Turn, StreamEnd, Option<String>) {
    let mut decoder = StreamDecoder::new(dialect);
    let mut fault = None;
    for piece in pieces {
        if let Err(error) = decoder.feed(piece, &mut Vec::new()) {
            fault.get_or_insert(error.to_string());
        }
    }
    let (turn, end) = decoder.finish();
    (turn, end, fault)
}

/// What every dialect must say of this turn: everything but token counts and what a provider seals.
pub fn expected(turn: &ModelTurn) -> Turn {
    let stop = match turn.stop {
        Stop::Stop => StopReason::Stop,
        Stop::ToolCalls => StopReason::ToolCalls,
        Stop::MaxTokens => StopReason::MaxTokens,
        Stop::ContentFilter => StopReason::ContentFilter,
    };
    let call = |call: &ServedCall| slot_wire::RawCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
    };
    Turn {
        text: turn.text.clone(),
        reasoning: turn.reason.clone(),
        calls: turn.calls.iter().map(call).collect(),
        terminal: if turn.end == End::Clean { Terminal::Clean { stop } } else { Terminal::None },
        ..Turn::default()
    }
}

/// No arguments and an empty object are the same empty call: Anthropic opens every call with an empty object.
pub fn bare(mut turn: Turn) -> Turn {
    for call in turn.calls.iter_mut().filter(|call| call.arguments.is_empty()) {
        call.arguments.push_str("{}");
    }
    Turn { usage: None, blocks: Vec::new(), ..turn }
}
