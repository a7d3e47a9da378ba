#![allow(clippy::unwrap_used)]
use super::*;
use crate::fuzzing;
use proptest::prelude::*;

/// Reads in a turn that ended cleanly; `expect` is the mended text and the rungs.
#[track_caller]
fn check(text: &str, expect: &str, rungs: &[&str]) {
    let read = read_arguments(text, TurnEnd::Clean).unwrap_or_else(|fault| panic!("{text:?}: {fault}"));
    assert_eq!(read.text, expect);
    assert_eq!(read.rungs.iter().map(|rung| rung.as_str()).collect::<Vec<_>>(), rungs);
    assert_eq!(read.value, serde_json::from_str::<Value>(expect).unwrap());
    assert_eq!(read.notice().is_some(), !rungs.is_empty());
    fuzzing::argument_ladder(text.as_bytes());
}

/// Reads in a turn that ended cleanly; `expect` is a part of the fault's message.
#[track_caller]
fn refused(text: &str, expect: &str) -> ArgumentFault {
    match read_arguments(text, TurnEnd::Clean) {
        Ok(read) => panic!("{text:?} was read as {}", read.text),
        Err(fault) => {
            assert!(fault.to_string().contains(expect), "{fault}");
            fuzzing::argument_ladder(text.as_bytes());
            fault
        }
    }
}

#[test]
fn valid_text_is_never_touched() {
    for text in [
        r#"{}"#,
        r#" { "a" : [ 1 , -2.5e3 , true , false , null , { } , [ ] ] } "#,
        r#"{"content":"x,}y","code":"[1,]","b":"}A{ ]"}"#,
        r#"{"path": "a.py", "content": "with open(p) as f:\n    print(1)\n"}"#,
        r#"{"query":"what's the user's file","fence":"```json\n{}\n```"}"#,
        r#"{"escapes":"\"\\\/\b\f\n\r\t\u00e9\ud83e\udd80\u0000"}"#,
        "{\"raw\":\"é🦀\u{7f}\u{2028}\"}",
    ] {
        check(text, text, &[]);
        assert!(matches!(read_arguments(text, TurnEnd::Cut).unwrap().text, Cow::Borrowed(_)));
    }
}

#[test]
fn no_text_is_an_empty_call() {
    check("", "{}", &[]);
    check(" \n\t", "{}", &[]);
}

#[test]
fn s041_raw_line_breaks_and_tabs_are_escaped() {
    check(
        "{\"path\":\"a.txt\",\"content\":\"line1\nline2\tend\r\n\"}",
        r#"{"path":"a.txt","content":"line1\nline2\tend\r\n"}"#,
        &["control-characters"],
    );
}

#[test]
fn other_control_characters_are_dropped_and_counted() {
    let text = "{\"va\u{b}l\":\"\u{0}a\u{1b}[0m\u{1f}\"}";
    check(text, r#"{"val":"a[0m"}"#, &["control-characters"]);
    let read = read_arguments(text, TurnEnd::Clean).unwrap();
    assert_eq!(read.dropped, 4);
    assert!(read.notice().unwrap().contains("4 control characters were dropped"));
}

#[test]
fn s045_a_backslash_before_a_raw_line_break_survives_with_it() {
    check("{\"c\":\"one \\\ntwo\"}", r#"{"c":"one \\\ntwo"}"#, &["control-characters"]);
    let read = read_arguments("{\"c\":\"one \\\ntwo\"}", TurnEnd::Clean).unwrap();
    assert_eq!(read.value["c"], "one \\\ntwo");
}

#[test]
fn dropping_a_control_character_never_makes_an_escape() {
    refused("{\"c\":\"a\\\u{1}n\"}", "no escape \\\\u{1}");
    refused("{\"c\":\"\\u00\u{1}41\"}", "no escape");
    refused("{\"c\":\"\\ud83e\u{1}\\udd80\"}", "half a surrogate pair");
}

#[test]
fn trailing_commas() {
    check(r#"{"path": "hello.txt",}"#, r#"{"path": "hello.txt"}"#, &["trailing-comma"]);
    check("{\"a\":[1, ] ,\n}", "{\"a\":[1 ] \n}", &["trailing-comma"]);
    check(r#"{"content":"x,}y",}"#, r#"{"content":"x,}y"}"#, &["trailing-comma"]);
    check(r#"{"code":"[1,]",}"#, r#"{"code":"[1,]"}"#, &["trailing-comma"]);
    check(r#"{"a":1},"#, r#"{"a":1}"#, &["trailing-comma"]);
    refused(r#"{"a":1,,}"#, "value is missing");
    refused(r#"{,}"#, "value is missing");
    refused(r#"{"a":[,]}"#, "value is missing");
    refused(r#"{"a":1},,"#, "text follows");
}

#[test]
fn s046_brackets_are_closed_in_stack_order() {
    check(
        r#"{"operations":[{"action":"patch","file":"x.md""#,
        r#"{"operations":[{"action":"patch","file":"x.md"}]}"#,
        &["unclosed-brackets"],
    );
    check(r#"{"a":[{"b":1"#, r#"{"a":[{"b":1}]}"#, &["unclosed-brackets"]);
    check(r#"{"a":"{""#, r#"{"a":"{"}"#, &["unclosed-brackets"]);
    check(r#"{"a":"}}}""#, r#"{"a":"}}}"}"#, &["unclosed-brackets"]);
    check(r#"{"a":{"#, r#"{"a":{}}"#, &["unclosed-brackets"]);
    check("{", "{}", &["unclosed-brackets"]);
    check(r#"{"a": 1,"#, r#"{"a": 1}"#, &["trailing-comma", "unclosed-brackets"]);
}

#[test]
fn s050_an_unclosed_string_is_closed_where_it_ends() {
    let text = r#"{"subject":"Plan","text":"Hello Sam,I hop"#;
    check(text, r#"{"subject":"Plan","text":"Hello Sam,I hop"}"#, &["unclosed-brackets"]);
    let read = read_arguments(text, TurnEnd::Clean).unwrap();
    assert!(read.closed_string && read.notice().unwrap().contains("may be incomplete"));
    check("{\"a\":\"x\n", r#"{"a":"x\n"}"#, &["control-characters", "unclosed-brackets"]);
}

#[test]
fn what_is_lost_is_not_invented() {
    refused(r#"{"a":1,"b"#, "before the value of its last key");
    refused(r#"{"a":1,"b""#, "before the value of its last key");
    refused(r#"{"a":1,"b": "#, "before the value of its last key");
    refused(r#"{"a":tru"#, "ends inside a number");
    refused(r#"{"a":-"#, "ends inside a number");
    refused(r#"{"a":1."#, "ends inside a number");
    refused(r#"{"a":1e+"#, "ends inside a number");
    refused(r#"{"a":"x\"#, "inside an escape");
    refused(r#"{"a":"x\u12"#, "inside an escape");
}

#[test]
fn s069_extra_closers_are_dropped_and_a_second_object_is_not() {
    check(r#"{"path":"a.txt"}}]"#, r#"{"path":"a.txt"}"#, &["extra-closers"]);
    check(r#"{"a":1]]}"#, r#"{"a":1}"#, &["extra-closers"]);
    refused(r#"{"path":"a.txt"}}{"path":"b"}"#, "second value");
}

#[test]
fn s076_a_wrong_closer_is_mended_only_before_nothing_but_closers() {
    check(r#"{"path":"a","edits":[}"#, r#"{"path":"a","edits":[]}"#, &["unclosed-brackets"]);
    check(r#"{"a":[1}]}"#, r#"{"a":[1]}"#, &["unclosed-brackets", "extra-closers"]);
    check(r#"{"a":[{"b":[1}"#, r#"{"a":[{"b":[1]}]}"#, &["unclosed-brackets"]);
    refused(r#"{"a":[1},"b":2}"#, "bracket of the other kind");
    refused(r#"{"x":{"a":[1},"b":2}}"#, "bracket of the other kind");
}

#[test]
fn rungs_report_in_ladder_order_whatever_the_order_in_the_text() {
    check(
        "```json\n{\"b\":[1,],\"a\":\"x\ny\"}]\n```",
        r#"{"b":[1],"a":"x\ny"}"#,
        &["code-fence", "control-characters", "trailing-comma", "extra-closers"],
    );
}

#[test]
fn s048_a_cut_turn_mends_nothing() {
    for text in [
        r#"{"commands":["npm install","npm test""#,
        r#"{"path":"a","max_lines":50"#,
        r#"{"a":1,}"#,
        r#"{"a":1}}"#,
        "{\"a\":\"x\n\"}",
        "```\n{}\n```",
        r#""{\"a\":1}""#,
        r#""{\"a\":"#,
        r#"{"a":"#,
        "",
    ] {
        let fault = read_arguments(text, TurnEnd::Cut).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::Cut { .. }), "{text}: {fault}");
        assert!(fault.to_string().contains("send the call again"));
        assert!(fault.into_fallback().is_err());
    }
}

#[test]
fn s052_one_fence_around_one_object_is_taken_off() {
    check("```json\n{\"path\":\"a.txt\"}\n```", r#"{"path":"a.txt"}"#, &["code-fence"]);
    check(" ```{\"a\":\"```\"}```\n", r#"{"a":"```"}"#, &["code-fence"]);
    check("```\n{\"a\":[1,\n```", r#"{"a":[1]}"#, &["code-fence", "trailing-comma", "unclosed-brackets"]);
    refused("```json\n{\"path\":\"a.txt\"}", "code fence");
    refused("```", "code fence");
    refused("```\n[1]\n```", "code fence");
    refused("```\n{\u{b}```", "JSON has no '\\u{b}' here");
    refused("```\n{}\n```\n```\n{}\n```", "text follows the object");
    assert_eq!(refused("```\n{\"a\":x}\n```", "no literal x").at, 9);
}

#[test]
fn a_string_that_ends_with_its_fence_is_not_closed() {
    // The backticks may be the string's own, as in a text of Markdown that was cut.
    refused("```json\n{\"a\":\"```\ncode\n```", "the text ends inside a number, a literal or a string");
}

#[test]
fn s071_the_tag_of_a_fence_without_the_fence_is_named() {
    refused("json\n{\"location\":\"SF\"}", "do not begin with a JSON object");
}

#[test]
fn an_object_encoded_twice_is_read() {
    check(r#""{\"a\":\"\\n\"}""#, r#"{"a":"\n"}"#, &["double-encoded"]);
    check(r#" " {\"a\":1,}" "#, r#" {"a":1}"#, &["double-encoded", "trailing-comma"]);
    refused(r#""\"{}\"""#, "got a string");
    refused(r#""text""#, "got a string");
    refused(r#""{\"a\":1}"#, "ends inside");
    refused("\"{\\\"a\\\":\n1}\"", "no '\\n' here");
    refused(r#""{}" "{}""#, "do not begin with");
    assert_eq!(refused(r#" "{'a':1}""#, "single quote").at, 1);
    // White space that is not JSON's does not begin an object.
    refused("\"\u{a0}{{\"", "must be one JSON object, got a string");
}

#[test]
fn s061_only_an_object_is_arguments() {
    refused(r#"["a.txt"]"#, "must be one JSON object, got an array");
    refused("42", "got a number");
    refused("true", "got a boolean");
    refused("null ", "got null");
    refused("\"x\"", "got a string");
    refused("[", "got an array");
    refused("nullable", "do not begin with");
    refused("-", "do not begin with");
}

#[test]
fn a_key_that_is_there_twice_is_named_with_its_place() {
    refused(r#"{"a":1,"a":2}"#, "the key \"a\" is there twice (at /a)");
    refused(r#"{"e":[{},{"a/b":1,"\u0061/b":1}]}"#, "the key \"a/b\" is there twice (at /e/1/a~1b)");
    refused("{\"k\u{1}\":1,\"k\":2}", "the key \"k\" is there twice");
}

#[test]
fn s063_integers_are_kept_exactly_or_refused() {
    for text in [r#"{"n":2512292042121000001}"#, r#"{"n":[18446744073709551615,-9223372036854775808,0,-0]}"#] {
        check(text, text, &[]);
        assert_eq!(read_arguments(text, TurnEnd::Clean).unwrap().value.to_string(), text.replace("-0]", "-0.0]"));
    }
    refused(r#"{"n":92233720368547758070}"#, "92233720368547758070 has more than 64 bits");
    refused(r#"{"n":-9223372036854775809}"#, "more than 64 bits");
    refused(r#"{"n":1e400}"#, "1e400 is beyond");
}

#[test]
fn numbers_are_in_json_form() {
    for text in ["01", "+1", ".5", "1.a", "1_000", "0x10", "1.2.3", "--1", "1e5.2"] {
        refused(&format!("{{\"n\":{text}}}"), "no JSON number");
    }
}

#[test]
fn s064_literals_of_other_languages_are_named() {
    refused(r#"{"timeout":NaN}"#, "no literal NaN; send a finite number");
    refused(r#"{"ratio":-Infinity}"#, "no literal -Infinity; send a finite number");
    refused(r#"{"a":True}"#, "no literal True; write true");
    refused(r#"{"a":None}"#, "write null");
    refused(r#"{"a":trueish}"#, "no literal trueish; put text in double quotes");
}

#[test]
fn other_spellings_are_named() {
    refused("{'a':1}", "single quote");
    refused(r#"{"a":'x'}"#, "single quote");
    refused("{“a”:1}", "typographic quote");
    refused("{a:1}", "a key has no quotes");
    refused(r#"{"a":1 /* one */}"#, "no comments");
    refused("{// one\n\"a\":1}", "no comments");
    refused(r#"{"a" 1}"#, "colon is missing");
    refused(r#"{"a":1 "b":2}"#, "comma is missing");
    refused(r#"{"a":}"#, "value is missing");
    refused("{\"a\":\u{a0}1}", "no '\\u{a0}' here");
}

#[test]
fn s073_a_quote_inside_a_string_is_named() {
    refused(r#"{"path":"a.txt","content":"say "hi", then go"}"#, "escape each double quote");
}

#[test]
fn s044_an_unknown_escape_is_named() {
    refused(r#"{"pattern":"\d+\.rs"}"#, "no escape \\d; write a backslash as two");
    refused(r#"{"a":"\é"}"#, "no escape \\é");
    refused(r#"{"a":"\u00é9"}"#, "no escape \\u00é");
}

#[test]
fn half_a_character_a_nul_and_a_byte_order_mark_are_named() {
    refused(r#"{"a":"\ud800"}"#, "\\ud800 is half a surrogate pair");
    refused(r#"{"a":"\udd80\ud83e"}"#, "\\udd80 is half");
    refused(r#"{"a":"\ud83e\u0041"}"#, "\\ud83e is half");
    refused("\u{feff}{\"a\":1}", "byte order mark");
    refused("\0", "NUL");
    refused("{\"a\":1\0}", "NUL");
    refused("{\"a\":1}\0", "NUL");
}

#[test]
fn s053_s054_prose_and_second_objects_are_refused() {
    refused(r#"{"path":"a.txt"} Now I will read it."#, "text follows the object");
    refused(r#"{"language":"python"}{"language":"shell"}"#, "second value");
    refused(r#"{"a":1},{"b":2}"#, "second value");
    refused("Here it is: {}", "do not begin with");
}

#[test]
fn faults_that_could_not_be_read_fall_back_and_others_do_not() {
    assert_eq!(refused("not json at all", "").into_fallback().unwrap().value(), serde_json::json!({}));
    assert!(refused("[]", "").into_fallback().is_err());
    assert!(refused(r#"{"a":1,"a":1}"#, "").into_fallback().is_err());
}

#[test]
fn s070_the_limits() {
    let object = |content: usize| format!("{{\"a\":\"{}\"}}", "A".repeat(content));
    assert!(read_arguments(&object(2 << 20), TurnEnd::Clean).is_ok());
    assert!(read_arguments(&object(MAX_BYTES - 8), TurnEnd::Cut).is_ok());
    let fault = read_arguments(&object(MAX_BYTES), TurnEnd::Clean).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::TooLarge { .. }));

    let unclosed = |bytes: usize| format!("{{\"a\":\"{}", "A".repeat(bytes - 6));
    assert_eq!(unclosed(10).len(), 10);
    assert!(read_arguments(&unclosed(MAX_REPAIR_BYTES), TurnEnd::Clean).is_ok());
    let fault = read_arguments(&unclosed(MAX_REPAIR_BYTES + 1), TurnEnd::Clean).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::TooLargeToRepair { bytes: 1_048_577, .. }), "{fault}");
    assert!(fault.near.is_empty());
}

#[test]
fn depth_is_bounded_as_serde_json_bounds_it() {
    let nested = |depth: usize, closed: bool| {
        let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
        if closed { format!("{{\"a\":{open}{close}}}") } else { format!("{{\"a\":{open}") }
    };
    for closed in [true, false] {
        assert!(read_arguments(&nested(MAX_DEPTH, closed), TurnEnd::Clean).is_ok());
        assert!(matches!(
            read_arguments(&nested(MAX_DEPTH + 1, closed), TurnEnd::Clean).unwrap_err().kind,
            FaultKind::TooDeep { limit: 127 }
        ));
    }
    assert!(serde_json::from_str::<Value>(&nested(MAX_DEPTH, true)).is_ok());
    assert!(serde_json::from_str::<Value>(&nested(MAX_DEPTH + 1, true)).is_err());
}

/// On a small stack, in the sizes at which a recursive or quadratic reader dies.
#[test]
fn hostile_text_is_a_fault() {
    let hostile = || {
        for piece in
            ["[", "{\"a\":", "{", "\"", "\\", ",", "]", "}", "a ", "'", "\"a\",", "/*", "```", "\n", "\0", "-", "9"]
        {
            for prefix in ["", "{\"a\":", "{\"a\":[", "{\"a\":\"", "{\"a\":1", "{", "```\n"] {
                for turn in [TurnEnd::Clean, TurnEnd::Cut] {
                    let text = format!("{prefix}{}", piece.repeat(1_000_000));
                    if let Err(fault) = read_arguments(&text, turn) {
                        assert!(fault.to_string().len() < 600);
                    }
                }
            }
        }
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(hostile).unwrap().join().unwrap();
}

#[test]
fn the_committed_corpus() {
    assert!(fuzzing::replay("argument_ladder", fuzzing::argument_ladder) >= 12);
}

/// JSON objects, as a model might write them.
fn objects() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        "[ -~\n\té🦀{}\",\\[\\]]{0,12}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c\"\n]{0,3}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[a-z]{1,4}", value, 0..4).prop_map(|map| Value::Object(map.into_iter().collect()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn valid_objects_come_out_as_they_are(value in objects(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let read = read_arguments(&text, TurnEnd::Cut).unwrap();
        prop_assert_eq!(&read.text, &text);
        prop_assert_eq!(&read.value, &value);
        let twice = serde_json::to_string(&text).unwrap();
        let read = read_arguments(&twice, TurnEnd::Clean).unwrap();
        prop_assert_eq!(&read.value, &value);
    }

    /// Closers taken from the end of a compact object come back, and with them the same value.
    #[test]
    fn removed_closers_come_back(value in objects(), extra in "[ \n}\\]]{0,4}") {
        let text = serde_json::to_string(&value).unwrap();
        let cut = text.trim_end_matches(['}', ']']);
        prop_assume!(!cut.is_empty() && !cut.ends_with([',', ':']));
        let read = read_arguments(cut, TurnEnd::Clean).unwrap();
        prop_assert_eq!(&read.value, &value);
        let longer = format!("{text}{extra}");
        prop_assert_eq!(&read_arguments(&longer, TurnEnd::Clean).unwrap().value, &value);
        let wrong = format!("{cut}{extra}");
        prop_assert_eq!(&read_arguments(&wrong, TurnEnd::Clean).unwrap().value, &value);
    }

    #[test]
    fn the_ladder_holds_on_torn_objects(value in objects(), at in any::<prop::sample::Index>(), with in "[ \n\u{1}{}\\[\\],:\"'`a1\\\\]{0,3}") {
        let mut text = serde_json::to_string(&value).unwrap();
        let mut at = at.index(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.insert_str(at, &with);
        fuzzing::argument_ladder(text.as_bytes());
        fuzzing::argument_ladder(&text.as_bytes()[..at]);
    }
}
