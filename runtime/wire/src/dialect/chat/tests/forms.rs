//! The forms that providers give the same thing.

use super::*;

#[test]
fn s008_no_choices_and_usage_at_the_end() {
    check(
        &[
            r#"{"choices":[]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}],"usage":null}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":2}}}"#,
            "[DONE]",
        ],
        &["text hi", "usage 3 1 2", "clean Stop"],
    );
}

#[test]
fn usage_tolerates_missing_and_null_counts() {
    check(
        &[r#"{"usage":{"prompt_tokens":3,"completion_tokens":null,"prompt_tokens_details":null}}"#],
        &["usage 3 0 0", "cut"],
    );
    check(&[r#"{"usage":{"prompt_tokens":3,"prompt_cache_hit_tokens":2}}"#], &["usage 3 0 2", "cut"]);
}

#[test]
fn missing_and_null_fields_are_legal() {
    check(
        &[
            "{}",
            r#"{"choices":null}"#,
            r#"{"choices":[{}]}"#,
            r#"{"choices":[{"index":null,"delta":null,"finish_reason":null}]}"#,
            r#"{"choices":[{"delta":{"content":null,"tool_calls":null,"function_call":null,"refusal":null}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[null,{}]}}]}"#,
            "",
            "[DONE]",
        ],
        &["clean Stop"],
    );
}

#[test]
fn content_as_parts() {
    check_deltas(
        &[r#"{"content":[{"type":"text","text":"a"},"b",{"type":"refusal","refusal":"c"},{"type":"image"}]}"#],
        &["text abc", "clean Stop"],
    );
}

#[test]
fn reasoning_under_either_name_but_once() {
    check_deltas(&[r#"{"reasoning_content":"a"}"#, r#"{"reasoning":"b"}"#], &["reasoning ab", "clean Stop"]);
    check_deltas(&[r#"{"reasoning_content":"a","reasoning":"a"}"#], &["reasoning a", "clean Stop"]);
    check_deltas(&[r#"{"reasoning_content":"","reasoning":"a"}"#], &["reasoning a", "clean Stop"]);
}

#[test]
fn a_refusal_is_text() {
    check_deltas(&[r#"{"refusal":"I will not"}"#], &["text I will not", "clean Stop"]);
}

#[test]
fn a_character_torn_between_events_is_joined() {
    check_deltas(&[r#"{"content":"a\ud83e"}"#, r#"{"content":"\udd80b"}"#], &["text a🦀b", "clean Stop"]);
    check_deltas(&[r#"{"content":"a\ud83e"}"#], &["text a\u{fffd}", "clean Stop"]);
}

#[test]
fn other_choices_are_not_mixed_in() {
    check(
        &[
            r#"{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"},{"index":0,"delta":{"content":"yes"}}]}"#,
        ],
        &["text yes", "cut"],
    );
}

#[test]
fn a_message_stands_for_a_delta() {
    check(
        &[
            r#"{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#,
        ],
        &["text hi", "clean Stop"],
    );
}

#[test]
fn the_legacy_function_call() {
    check_deltas(
        &[
            r#"{"function_call":{"name":"x","arguments":""}}"#,
            r#"{"function_call":{"arguments":"{\"a\":"}}"#,
            r#"{"function_call":{"arguments":"1}"}}"#,
        ],
        &[r#"call  x {"a":1}"#, "clean ToolCalls"],
    );
}

#[test]
fn what_is_not_this_dialect_is_an_error_and_runs_nothing() {
    let reason = r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}"#;
    let kept = ["text hi", "cut"];
    for (event, error) in [
        ("null", "invalid type: null, expected an object at line 1 column 4"),
        ("[]", "invalid type: sequence, expected an object at line 1 column 0"),
        ("{\"choices\":[[]]}", "invalid type: sequence, expected an object at line 1 column 12"),
        ("{\"choices\":[{\"delta\":{\"content\":5}}]}", "text that is neither a string nor parts"),
        ("{\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":{}}]}}]}", "a call's id or name that is not a string"),
    ] {
        let error = format!("event 2 is not valid JSON for this dialect: {error}");
        check(&[reason, event], &[kept[0], kept[1], &error]);
    }
    assert!(
        decode(&[reason, "{\"choices\":[{\"delta\":{\"content\":\"ha\nevent: error"], DecodeLimits::default())[2]
            .contains("control character")
    );
}
