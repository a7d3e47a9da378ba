//! One turn is one turn, whatever dialect says it.
//!
//! A random turn goes through the mock's three encoders, which know nothing of the runtime, and through the runtime's three
//! decoders, which know nothing of the mock. What comes out must be what went in, however the bytes were cut.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../../fuzz/src/dialects.rs"]
mod shared;

use mock_llm::plan::Plan;
use mock_llm::script::{Delivery, End, Eol, Framing, Stop};
use mock_llm::turn::ModelTurn;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use shared::{PAIRS, bare, decode, expected, form};
use slot_oracles::trace::ServedCall;
use slot_wire::Terminal;

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

fn config() -> ProptestConfig {
    let beside = FileFailurePersistence::WithSource("proptest-regressions");
    ProptestConfig { cases: 96, failure_persistence: Some(Box::new(beside)), ..ProptestConfig::default() }
}

/// The fuzz target's committed inputs hold.
#[test]
fn the_committed_corpus_holds() {
    let mut count = 0;
    for folder in ["corpus", "regressions"] {
        let folder = format!("{}/../fuzz/{folder}/diff_dialects", env!("CARGO_MANIFEST_DIR"));
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            shared::diff_dialects(&std::fs::read(entry.path()).unwrap());
            count += 1;
        }
    }
    assert!(count >= 8, "only {count} inputs");
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
