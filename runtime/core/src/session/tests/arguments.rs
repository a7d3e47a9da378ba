//! What a session makes of argument text: mended, empty, unreadable, or of a turn that was cut.

use super::*;

/// One call in a turn that ends as `finish` says: what it is answered, and what the history shows of it.
#[track_caller]
fn reads(tool: &str, arguments: &str, finish: &str, expect: &str, history: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async move {
        let mut fixture = fixture(&[call_with(&[("c1", tool, arguments)], Some(finish)), say("")], Unattended);
        fixture.session.run("go", &CancellationToken::new()).await;
        let conversation = fixture.session.conversation();
        let found = results(conversation);
        assert!(found[0].starts_with(expect), "{found:?} does not start with {expect:?}");
        assert_eq!(fixture.runs.load(Ordering::Relaxed), usize::from(found[0].starts_with("c1 ok")));
        let Item::Assistant { calls, .. } = &conversation.items[1] else { panic!("{:?}", conversation.items) };
        assert_eq!(calls[0].arguments, history);
    });
}

#[test]
fn mended_arguments_run_are_announced_and_go_back_as_they_ran() {
    let told = "c1 ok did \"it\"\n\n[the arguments were not valid JSON and were mended: a comma has nothing behind it]";
    reads("look", r#"{"do":"it", }"#, "tool_calls", told, r#"{"do":"it" }"#);
    reads("look", OK, "tool_calls", "c1 ok did \"it\"", OK);
    reads("look", r#"{"did":1,}"#, "stop", "c1 failed the arguments of \"look\" are not what it takes", r#"{"did":1}"#);
}

#[test]
fn blank_arguments_are_an_empty_object() {
    reads("any", "", "tool_calls", "c1 ok", "{}");
    reads("any", "  ", "tool_calls", "c1 ok", "{}");
    reads("look", "", "tool_calls", "c1 failed the arguments of \"look\" are not what it takes", "{}");
}

#[test]
fn what_no_rung_reads_never_runs_and_is_told_why() {
    let shown = r#"{"unreadable_arguments":"{'do':'it'}"}"#;
    let why = "could not be read, so it was not run: a single quote begins a string";
    reads("any", "{'do':'it'}", "tool_calls", &format!("c1 failed the arguments of \"any\" {why}"), shown);
    reads("look", "{'do':'it'}", "tool_calls", &format!("c1 failed the arguments of \"look\" {why}"), shown);
    reads(
        "any",
        "[1]",
        "tool_calls",
        "c1 failed the arguments of \"any\" cannot be used, so it was not run: the arguments must be one JSON object, got an array",
        r#"{"unreadable_arguments":"[1]"}"#,
    );
    let twice = r#"{"do":"a","do":"b"}"#;
    reads(
        "any",
        twice,
        "tool_calls",
        "c1 failed the arguments of \"any\" cannot be used, so it was not run: the key \"do\" is there twice",
        twice,
    );
}

#[test]
fn a_call_that_was_not_read_names_what_is_missing() {
    let calls = call(&[("c1", "look", "{do}")]);
    let expect = "c1 failed the arguments of \"look\" could not be read, so it was not run: a key has no quotes; put every key in double quotes (at byte 1, near \"do}\")\nSo nothing was there of what it takes:\n- /do: the field \"do\" is missing";
    check(&[calls, say("")], Unattended, &[expect]);
}

#[test]
fn nothing_is_mended_in_a_turn_that_was_cut() {
    for finish in ["length", "content_filter", "abort"] {
        reads("any", r#"{"a":1"#, finish, "c1 failed this turn was cut", r#"{"unreadable_arguments":"{\"a\":1"}"#);
        reads("any", "", finish, "c1 failed this turn was cut", "{}");
        reads("any", "{}", finish, "c1 ok", "{}");
    }
    reads("any", r#"{"a":1"#, "stop", "c1 ok", r#"{"a":1}"#);
}

#[test]
fn an_endless_name_is_cut_where_it_is_quoted() {
    let shown = format!("{:?}… (300 bytes)", "x".repeat(slot_wire::names::LONGEST));
    let expect = format!(
        "c1 failed this turn was cut (output limit, filter or lost piece) before the arguments of {shown} were complete"
    );
    reads(&"x".repeat(300), r#"{"a":1"#, "length", &expect, r#"{"unreadable_arguments":"{\"a\":1"}"#);
}

#[test]
fn a_call_that_lost_a_piece_is_not_mended() {
    let piece = |name: &str, arguments: &str| json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": name, "arguments": arguments}}]}}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    let torn = stream(&[piece("look", r#"{"do":"it""#), piece("other", "}"), end.clone()]);
    check(&[torn, say("")], Unattended, &["c1 failed this turn was cut"]);
    let whole = stream(&[piece("look", r#"{"do":"it"}"#), piece("other", "}"), end]);
    check(&[whole, say("")], Unattended, &["c1 ok"]);
}

#[test]
fn a_person_is_told_of_mended_arguments() {
    struct Person;
    impl ApprovalChannel for Person {
        fn ask<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, Option<PersonAnswer>> {
            let approved = question.input["do"] == "rm x" && question.reason.contains("may be incomplete");
            Box::pin(async move { Some(PersonAnswer { approved, comment: String::new(), lasts: Lasts::Once }) })
        }
    }
    check(&[call(&[("a", "exec", r#"{"do":"rm x"#)]), say("")], AskPerson(Person), &["a ok"]);
}
