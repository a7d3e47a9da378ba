//! What ends a turn.

use super::*;

#[test]
fn text_then_stop_then_done() {
    check(
        &[
            r#"{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"h"},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"i"},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ],
        &["text hi", "clean Stop"],
    );
}

#[test]
fn a_finish_reason_without_done_is_clean() {
    check(&[r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}"#], &["text hi", "clean Stop"]);
}

#[test]
fn done_without_a_finish_reason_is_clean() {
    check(&[r#"{"choices":[{"delta":{"content":"hi"}}]}"#, "[DONE]"], &["text hi", "clean Stop"]);
    check(
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"c1","function":{"name":"x","arguments":"{}"}}]}}]}"#,
            " [DONE] ",
        ],
        &["call c1 x {}", "clean ToolCalls"],
    );
    check(&["[DONE]"], &["clean Stop"]);
}

#[test]
fn s010_complete_arguments_are_no_terminal_signal() {
    check(
        &[
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"exec_shell","arguments":"{\"command\":\"git push\"}"}}]},"finish_reason":null}]}"#,
        ],
        &[r#"call c1 exec_shell {"command":"git push"}"#, "cut"],
    );
}

#[test]
fn every_reason_has_its_meaning() {
    for (reason, stop) in [
        ("stop", StopReason::Stop),
        ("tool_calls", StopReason::ToolCalls),
        ("function_call", StopReason::ToolCalls),
        ("length", StopReason::MaxTokens),
        ("max_tokens", StopReason::MaxTokens),
        ("content_filter", StopReason::ContentFilter),
        ("abandoned", StopReason::Other("abandoned".to_owned())),
    ] {
        let event = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
        check(&[&event], &[&format!("clean {stop:?}")]);
    }
}

#[test]
fn an_empty_reason_is_none() {
    check(&[r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":""}]}"#], &["text hi", "cut"]);
}

#[test]
fn a_cut_stays_a_cut() {
    check(
        &[
            r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ],
        &["clean MaxTokens"],
    );
    check(
        &[
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        ],
        &["clean ToolCalls"],
    );
}

#[test]
fn a_call_after_the_reason_opens_the_turn_again() {
    let tail = r#"{"choices":[{"delta":{"tool_calls":[{"id":"c1","function":{"name":"x","arguments":"{\"a\""}}]}}]}"#;
    let reason = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;
    check(&[reason, tail], &[r#"call c1 x {"a""#, "cut"]);
    check(&[reason, tail, "[DONE]"], &[r#"call c1 x {"a""#, "clean ToolCalls"]);
}

#[test]
fn empty_deltas_after_the_reason_change_nothing() {
    check(
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"x","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
            r#"{"choices":[{"delta":{"content":"","tool_calls":[{"index":0,"id":"c1","function":{"arguments":""}}]}}]}"#,
        ],
        &["call c1 x {}", "clean ToolCalls"],
    );
}

#[test]
fn events_after_done_are_ignored() {
    check(&["[DONE]", r#"{"choices":[{"delta":{"content":"late"}}]}"#, "nonsense", "[DONE]"], &["clean Stop"]);
}

#[test]
fn an_error_object_ends_the_turn() {
    let text = r#"{"choices":[{"delta":{"content":"hi"}}]}"#;
    check(
        &[text, r#"{"error":{"message":"overloaded","type":"server_error"}}"#, "[DONE]"],
        &["text hi", "error overloaded"],
    );
    check(&[r#"{"error":"no such model"}"#], &["error no such model"]);
    check(&[r#"{"error":{"code":7}}"#], &[r#"error {"code":7}"#]);
    check(&[r#"{"object":"error","message":"bad request","code":400}"#], &["error bad request"]);
    check(
        &[r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"error"}],"error":{"message":"upstream died"}}"#],
        &["text x", "error upstream died"],
    );
    check(
        &[r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#],
        &["error the provider ended the turn with finish_reason error"],
    );
    check(&[r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"error":null}"#], &["clean Stop"]);
}

#[test]
fn an_event_named_error_is_one() {
    let mut decoder = Dialect::Chat.decoder();
    decoder.event("error", r#"{"message":"quota"}"#, &mut Vec::new()).unwrap();
    assert!(decoder.ended());
    assert_eq!(render(&decoder.finish()), ["error quota"]);
}
