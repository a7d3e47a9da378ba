//! Nothing grows without end.

use super::*;

/// A small limit in each place, and what the first event beyond it answers.
#[track_caller]
fn check(deltas: &[&str], expect: &str) {
    let limits = DecodeLimits {
        max_calls: 2,
        max_call_bytes: 20,
        max_arguments_bytes: 30,
        max_text_bytes: 12,
        max_identity_bytes: 4,
        max_rejected: 1,
    };
    let events: Vec<String> = deltas.iter().map(|delta| format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#)).collect();
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let lines = decode(&events, limits);
    assert_eq!(
        lines.last().unwrap(),
        &format!("event {} takes the turn past its limit of {expect}; ask the model for less at a time", events.len())
    );
    assert_eq!(lines[lines.len() - 2], "cut");
}

#[test]
fn each_is_finite() {
    check(&[r#"{"content":"abcdef"}"#, r#"{"content":"ghijklm"}"#], "12 bytes of text");
    check(&[r#"{"reasoning":"abcdef"}"#, r#"{"reasoning":"ghijklm"}"#], "12 bytes of reasoning");
    let call = |id: u8, arguments: &str| {
        format!(
            r#"{{"tool_calls":[{{"index":{id},"id":"c{id}","function":{{"name":"x","arguments":"{arguments}"}}}}]}}"#
        )
    };
    check(&[&call(1, "{}"), &call(2, "{}"), &call(3, "{}")], "2 calls");
    check(&[&call(1, "1234567890"), &call(1, "12345678901")], "20 bytes of arguments in one call");
    check(
        &[&call(1, "1234567890"), &call(2, "1234567890"), &call(1, "1234567890"), &call(2, "1")],
        "30 bytes of arguments in all calls",
    );
    check(&[r#"{"tool_calls":[{"id":"12345"}]}"#], "4 bytes in a call's id or name");
    check(&[r#"{"tool_calls":[{"id":"1"}]}"#, r#"{"tool_calls":[{"id":"2"}]}"#], "1 refused fragments");
}

#[test]
fn a_call_may_have_16_mib_of_arguments() {
    let piece = "A".repeat(1 << 20);
    let event = format!(
        r#"{{"choices":[{{"delta":{{"tool_calls":[{{"id":"c1","function":{{"name":"x","arguments":"{piece}"}}}}]}}}}]}}"#
    );
    let mut decoder = Dialect::Chat.decoder();
    let results: Vec<_> = (0..17).map(|_| decoder.event("", &event, &mut Vec::new())).collect();
    assert!(results[..16].iter().all(Result::is_ok));
    assert!(matches!(results[16], Err(DecodeError::Limit { limit: 16_777_216, .. })));
}
