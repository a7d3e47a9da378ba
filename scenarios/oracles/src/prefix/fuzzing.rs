//! The body of the fuzz target `prefix_meter`, so that a stable test replays its corpus through the very same code.
//!
//! Whatever is captured, the meter survives it, and its numbers agree with a naive second count over the rendered bytes.

use super::{Captured, Mode, Prompt, Provider, measure, tokens};

/// Most requests of one input: the naive count compares each with each.
const MOST: usize = 12;

/// Takes lines, each the body of a request or anything else. A line that begins with `!` declares a break, one that begins
/// with digits and a blank carries a time.
pub fn prefix_meter(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut session: Vec<Captured<'_>> = Vec::new();
    for line in text.lines().take(MOST) {
        let (declared, line) = line.strip_prefix('!').map_or((false, line), |line| (true, line));
        let timed = line.split_once(' ').and_then(|(time, rest)| Some((time.parse::<u32>().ok()?, rest)));
        let (at, body) = timed.map_or((None, line), |(time, rest)| (Some(f64::from(time)), rest));
        if let Ok(prompt) = Prompt::from_body(body, None) {
            session.push(Captured { prompt, at, declared: declared.then(|| "declared".to_owned()) });
        }
    }
    let providers = [provider(Mode::Units), provider(Mode::Marked), provider(Mode::Latest)];
    let Some(found) = measure(&session, &providers) else { return };
    let rendered: Vec<Vec<u8>> = session.iter().map(|captured| render(&captured.prompt)).collect();
    for (at, step) in found.steps.iter().enumerate() {
        assert_eq!(step.bytes, rendered[at].len());
        let before = at.checked_sub(1).map_or(&[][..], |before| &rendered[before]);
        let same = naive(before, &rendered[at]);
        assert_eq!(step.common_bytes, same);
        assert_eq!(step.lost_bytes, before.len() - same);
        assert_eq!(step.culprit.is_some(), same < before.len(), "{step:?}");
    }
    for (provider, simulated) in providers.iter().zip(&found.providers) {
        for (at, read) in simulated.reads.iter().enumerate() {
            // Nothing is found that no earlier request had.
            let best = (0..at).map(|before| naive(&rendered[before], &rendered[at])).max().unwrap_or(0);
            assert!(*read <= provider.cap(tokens(best), &session[at].prompt.model), "{provider:?}");
            if provider.mode == Mode::Units && !simulated.timed {
                assert_eq!(*read, provider.cap(tokens(best), &session[at].prompt.model));
            }
        }
        assert!(simulated.read <= simulated.tokens);
    }
}

/// A request as one text. A separator that no JSON text holds stands behind each part.
fn render(prompt: &Prompt<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for part in prompt.parts() {
        out.extend_from_slice(part.text.as_bytes());
        out.push(0x1f);
    }
    out
}

fn naive(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

fn provider(mode: Mode) -> Provider {
    Provider {
        minimum: 4,
        unit: 2,
        lookback: (mode == Mode::Marked).then_some(3),
        most_marks: (mode != Mode::Units).then_some(4),
        ttl_seconds: Some(300),
        ..Provider::nameless(mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn body() -> impl Strategy<Value = String> {
        let block = prop::sample::select(vec![
            r#"{"role":"user","content":"go"}"#,
            r#"{"role":"user","content":[{"type":"text","text":"go","cache_control":{}}]}"#,
            r#"{"role":"user","content":[{"type":"text","text":"go"},{"type":"text","text":"on"}]}"#,
            r#"{"role":"assistant","content":"on and on and on"}"#,
            r#"{"role":"assistant","content":"on and off"}"#,
            r#"{"role":"system","content":"s"}"#,
            r#"{"type":"function_call_output","output":"x"}"#,
            r#""free""#,
            "[]",
        ]);
        let tool = prop::sample::select(vec![
            r#"{"name":"a","input_schema":{}}"#,
            r#"{"name":"a","cache_control":{}}"#,
            r#"{"function":{"name":"b"}}"#,
        ]);
        let list = |items: Vec<&str>| items.join(",");
        (
            prop::collection::vec(tool, 0..3).prop_map(list),
            prop::collection::vec(block, 0..5).prop_map(list),
            prop::sample::select(vec!["messages", "input"]),
            prop::sample::select(vec!["", "!", "5 ", "400 "]),
            prop::sample::select(vec!["", r#""system":"s","#, r#""cache_control":{},"#]),
        )
            .prop_map(|(tools, items, member, before, more)| {
                format!(r#"{before}{{{more}"tools":[{tools}],"{member}":[{items}]}}"#)
            })
    }

    #[test]
    fn the_committed_corpus_holds() {
        let mut count = 0;
        for folder in ["corpus", "regressions"] {
            let folder = format!("{}/../../fuzz/{folder}/prefix_meter", env!("CARGO_MANIFEST_DIR"));
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                prefix_meter(&std::fs::read(entry.path()).unwrap());
                count += 1;
            }
        }
        assert!(count >= 6, "only {count} inputs");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn a_naive_count_agrees(bodies in prop::collection::vec(body(), 0..8)) {
            prefix_meter(bodies.join("\n").as_bytes());
        }

        #[test]
        fn any_text_is_survived(text in "(\\{\"messages\":\\[|\\]|\\}|\"|cache_control|[{},: 0-9!\\\\ü\n])*") {
            prefix_meter(text.as_bytes());
        }
    }
}
