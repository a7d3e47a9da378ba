//! The gate of the reference runtime's use of a cache: exact numbers of the canonical sessions. And the meter as a person
//! meets it.

#![allow(clippy::unwrap_used, reason = "a test may simply fail")]

mod common;

use common::Place;
use slot_oracles::prefix::{Captured, Prompt, Session, Simulated, measure};
use slotspec::case::Library;
use slotspec::prefix::canonical::{CANONICAL, play};
use slotspec::prefix::providers;

/// How many requests each canonical session has.
const REQUESTS: [(&str, usize); 6] = [
    ("cache/canonical-short", 2),
    ("cache/canonical-long", 25),
    ("cache/canonical-parallel", 4),
    ("cache/canonical-retries", 8),
    ("cache/canonical-big-results", 6),
    ("cache/canonical-discovery", 7),
];

/// The least efficiency.
const EFFICIENT: f64 = 0.99;

fn measured(library: &Library, id: &str, dialect: &str) -> Session {
    let requests = play(library, id, dialect).unwrap();
    let captured = |request| Captured { prompt: Prompt::from_wire(request), at: None, declared: None };
    let session: Vec<Captured<'_>> = requests.iter().map(captured).collect();
    measure(&session, &providers()).unwrap()
}

/// Breaks, what is sent again, and what each cache finds less than it could: all of it nothing.
#[test]
fn the_canonical_sessions_break_nothing_and_find_everything() {
    let library = Library::load(None, None).unwrap();
    assert_eq!(REQUESTS.map(|(id, _)| id), CANONICAL);
    for (id, requests) in REQUESTS {
        for dialect in ["chat", "anthropic", "responses"] {
            let found = measured(&library, id, dialect);
            let at = format!("{id} in {dialect}");
            assert_eq!(found.steps.len(), requests, "{at}");
            assert_eq!((found.undeclared_breaks, found.declared_breaks, found.catalog.breaks), (0, 0, 0), "{at}");
            assert_eq!((found.resent_bytes(), found.resent_tokens), (0, 0), "{at}");
            assert_eq!(found.stability(), Some(1.0), "{at}");
            assert!(!found.providers.is_empty(), "{at}");
            for cache in &found.providers {
                let Simulated { provider, read, ideal, refused, .. } = cache;
                assert_eq!((*ideal - *read, *refused), (0, 0), "{at}, {provider}");
                // A session below the least length has nothing to find, and proves nothing.
                assert!(*ideal > 0, "{at}: nothing is long enough for {provider}");
                assert!(cache.efficiency() >= Some(EFFICIENT), "{at}, {provider}");
                assert_eq!(cache.cost, cache.ideal_cost, "{at}, {provider}");
            }
        }
    }
}

const GO: &str = r#"{"model":"m","messages":[{"role":"user","content":"go"}]}"#;
const ON: &str = r#"{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant","content":"on"}]}"#;
const OTHER: &str = r#"{"model":"m","messages":[{"role":"user","content":"GO"},{"role":"assistant","content":"on"}]}"#;

/// Runs `slotspec prefix` on a capture: exit code, output, errors.
#[track_caller]
fn check(lines: &[&str], args: &[&str], expect: (i32, &str, &str)) {
    let place = Place::new();
    place.write("c.jsonl", &lines.join("\n"));
    let (code, out, err) = place.run(&[&["prefix", "c.jsonl"], args].concat());
    assert_eq!(code, expect.0, "{out}{err}");
    assert!(out.contains(expect.1), "{out}");
    assert!(err.contains(expect.2), "{err}");
}

#[test]
fn a_session_that_only_appends_is_good() {
    check(&[GO, ON, ON], &[], (0, "breaks     0 undeclared, 0 declared", ""));
    check(&[GO, ON], &["--json"], (0, "\"undeclared_breaks\": 0", ""));
}

#[test]
fn a_break_fails_until_it_is_declared() {
    check(&[GO, ON, OTHER], &[], (1, "c.jsonl:3: history-rewrite at /messages/0/content, undeclared", ""));
    check(&[GO, ON, r#"{"declared":"clear"}"#, OTHER], &[], (0, "declared: clear", ""));
    check(&[GO, OTHER], &["--json"], (1, "\"pointer\": \"/messages/0/content\"", ""));
}

#[test]
fn bad_input_is_told_with_its_line() {
    check(&[GO, "{"], &[], (2, "", "c.jsonl:2: it is no JSON object of a capture"));
    check(&[GO], &["--provider", "opnai"], (2, "", "there is no provider \"opnai\"; did you mean \"openai\"?"));
    check(&[GO], &["nowhere.jsonl"], (2, "", "nowhere.jsonl: cannot be read"));
}

#[test]
fn what_a_failed_case_leaves_can_be_metered() {
    let library = Library::load(None, None).unwrap();
    let requests = play(&library, "cache/canonical-short", "anthropic").unwrap();
    let mut trace = slot_oracles::Trace::default();
    trace.wire.requests = requests;
    let text = serde_json::to_string_pretty(&trace).unwrap();
    check(&[&text], &["--provider", "anthropic"], (0, "efficiency 1.0000", ""));
}
