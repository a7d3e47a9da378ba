//! One turn is one turn, whatever dialect says it.
//!
//! A random turn goes through the mock's three encoders, which know nothing of the runtime, and through the runtime's three
//! decoders, which know nothing of the mock. What comes out must be what went in, however the bytes were cut.
#![allow(clippy::unwrap_used, missing_docs)]

use mock_llm::dialect::{Dialect as Encoder, Form};
use mock_llm::plan::Plan;
use mock_llm::script::{Delivery, End, Eol, Framing, Stop};
use mock_llm::turn::ModelTurn;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use slot_oracles::trace::ServedCall;
use slot_wire::stream::{StreamDecoder, StreamEnd};
use slot_wire::{Dialect, StopReason, Terminal, Turn};

/// The same dialect on either side.
const PAIRS: [(Encoder, Dialect); 3] = [
    (Encoder::Chat, Dialect::Chat),
    (Encoder::Anthropic, Dialect::Anthropic),
    (Encoder::Responses, Dialect::Responses),
];

/// Argument text, valid or not.
fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => ("[a-z]{1,4}", any::<String>()).prop_map(|(key, value)| serde_json::json!({ key: value }).to_string()),
        1 => Just("{}".to_owned()),
        1 => "[\\{\\}\\[\\]\":,a🦀\\\\\n]{0,12}",
    ]
}

fn calls() -> impl Strategy<Value = Vec<ServedCall>> {
    prop::collection::vec(("[A-Za-z_][A-Za-z0-9_-]{0,11}", arguments()), 0..4).prop_map(|calls| {
        let call = |(at, (name, arguments))| ServedCall { id: format!("call_{at}"), name, arguments };
        calls.into_iter().enumerate().map(call).collect()
    })
}

fn framing() -> impl Strategy<Value = Framing> {
    let eol = prop::sample::select(vec![Eol::Lf, Eol::Crlf, Eol::Cr]);
    (eol, any::<[bool; 5]>()).prop_map(|(eol, [bom, no_space, comments, multi_line, extra_fields])| Framing {
        eol,
        bom,
        no_space,
        comments,
        multi_line,
        extra_fields,
    })
}

fn turn() -> impl Strategy<Value = ModelTurn> {
    let cut = prop::option::weighted(0.3, prop::sample::select(vec![Stop::MaxTokens, Stop::ContentFilter]));
    let end = prop::sample::select(vec![End::Clean, End::Clean, End::NoTerminal]);
    ("[a-zü🦀\n]{0,20}", any::<String>(), calls(), cut, end, framing()).prop_map(
        |(reason, text, calls, cut, end, framing)| {
            let own = if calls.is_empty() { Stop::Stop } else { Stop::ToolCalls };
            ModelTurn { reason, calls, stop: cut.unwrap_or(own), end, framing, ..ModelTurn::text(&text) }
        },
    )
}

/// Decodes a body piece by piece; the faults go with it.
fn decode<'a>(dialect: Dialect, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Turn, StreamEnd, Option<String>) {
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
fn expected(turn: &ModelTurn) -> Turn {
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
fn bare(mut turn: Turn) -> Turn {
    for call in turn.calls.iter_mut().filter(|call| call.arguments.is_empty()) {
        call.arguments.push_str("{}");
    }
    Turn { usage: None, blocks: Vec::new(), ..turn }
}

fn config() -> ProptestConfig {
    let beside = FileFailurePersistence::WithSource("proptest-regressions");
    ProptestConfig { cases: 96, failure_persistence: Some(Box::new(beside)), ..ProptestConfig::default() }
}

fn form(stream: bool) -> Form {
    Form { stream, usage: true, model: "m".to_owned() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn one_turn_is_the_same_in_every_dialect(turn in turn(), seed in any::<u64>()) {
        for (encoder, dialect) in PAIRS {
            let body = encoder.encode(&turn, &form(true));
            let plan = Plan::new(&body, Delivery::Random, &[], seed, 0);
            let pieces = plan.writes.iter().map(|write| &body.bytes[write.clone()]);
            let (decoded, end, fault) = decode(dialect, pieces);
            prop_assert_eq!(fault, None);
            prop_assert_eq!(bare(decoded), bare(expected(&turn)), "{}", dialect.name());
            prop_assert_eq!(end.sse.pending, 0);
        }
    }

    #[test]
    fn how_bytes_are_cut_changes_nothing(turn in turn(), seed in any::<u64>(), keep in 0.0..1.0_f64) {
        for (encoder, dialect) in PAIRS {
            let body = encoder.encode(&turn, &form(true));
            // Cut short at any place as well, so that what is pending is compared too.
            let kept = (body.bytes.len() as f64 * keep) as usize;
            for bytes in [&body.bytes[..], &body.bytes[..kept]] {
                let whole = decode(dialect, [bytes]);
                prop_assert_eq!(&decode(dialect, bytes.chunks(1)), &whole);
                let plan = Plan::new(&body, Delivery::Random, &[], seed, 0);
                let writes = plan.writes.iter().map(|w| w.start.min(bytes.len())..w.end.min(bytes.len()));
                prop_assert_eq!(&decode(dialect, writes.map(|write| &bytes[write])), &whole);
            }
        }
    }

    #[test]
    fn a_cut_stream_has_no_more_than_the_turn_and_no_end(turn in turn(), keep in 0.0..1.0_f64) {
        for (encoder, dialect) in PAIRS {
            let turn = ModelTurn { end: End::NoTerminal, ..turn.clone() };
            let body = encoder.encode(&turn, &form(true));
            let kept = (body.bytes.len() as f64 * keep) as usize;
            let (decoded, _, fault) = decode(dialect, [&body.bytes[..kept]]);
            prop_assert_eq!(fault, None);
            prop_assert_eq!(&decoded.terminal, &Terminal::None);
            let is_part = turn.text.starts_with(&decoded.text);
            prop_assert!(is_part);
            prop_assert!(decoded.calls.len() <= turn.calls.len());
            for (decoded, sent) in decoded.calls.iter().zip(&turn.calls) {
                prop_assert_eq!((&decoded.id, &decoded.name), (&sent.id, &sent.name));
                let is_part = sent.arguments.starts_with(&decoded.arguments) || decoded.arguments == "{}";
                prop_assert!(is_part);
            }
        }
    }

    /// A document says what the stream says. It has no place for argument text that is no JSON object.
    #[test]
    fn the_whole_form_is_the_same_turn(turn in turn()) {
        let whole = turn.calls.iter().all(|call| {
            serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&call.arguments).is_ok()
        });
        prop_assume!(whole);
        for (encoder, dialect) in PAIRS {
            let body = encoder.encode(&turn, &form(false));
            let decoded = dialect.decode_whole(std::str::from_utf8(&body.bytes).unwrap());
            prop_assert_eq!(bare(decoded.unwrap()), bare(expected(&turn)), "{}", dialect.name());
        }
    }
}
