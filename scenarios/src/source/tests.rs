use super::*;
use mock_llm::script::Script;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the reading of it is under test")]
struct Case {
    title: String,
    #[serde(default)]
    turn: Vec<mock_llm::script::Turn>,
    #[serde(default)]
    numbers: BTreeMap<String, u8>,
}

#[track_caller]
fn check(text: &str, expect: &[&str]) {
    let found = match Document::parse("x.toml", text).and_then(|d| d.read::<Case>()) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(found, expect);
}

#[test]
fn a_good_document_is_read() {
    check("title = 't'\nnumbers = { a = 1 }\n[[turn]]\nsay = 'x'\nstop = 'stop'\n", &[]);
}

#[test]
fn an_unknown_field_is_named_with_its_place_and_the_likely_one() {
    check(
        "title = 't'\n[[turn]]\n[[turn.call]]\nid = 'c1'\nop = 'READ'\nmangel = []\n",
        &["x.toml:6:1: unknown field \"mangel\" in turn[0].call[0]; did you mean \"mangle\"?"],
    );
}

#[test]
fn problems_of_one_file_are_reported_together() {
    check(
        "titel = 't'\nnumbers = { a = 300 }\n[[turn]]\nstop = 'tool_cals'\n",
        &[
            "x.toml:1:1: missing field \"title\"",
            "x.toml:1:1: unknown field \"titel\"; did you mean \"title\"?",
            "x.toml:2:17: invalid value: integer `300`, expected u8 in numbers.a",
            "x.toml:4:8: unknown value \"tool_cals\" in turn[0].stop; did you mean \"tool_calls\"?",
        ],
    );
}

#[test]
fn a_value_of_the_wrong_kind_is_reported_once_and_not_as_missing_too() {
    check("title = 7\n", &["x.toml:1:9: invalid type: integer `7`, expected a string in title"]);
    check(
        "title = 't'\n[[turn]]\nstop = 7\n",
        &[
            "x.toml:3:8: an integer where one of stop, tool_calls, max_tokens, content_filter is expected in turn[0].stop",
        ],
    );
}

#[test]
fn what_no_reader_can_see_is_refused() {
    check(
        "title = 'a\tb'\n",
        &["x.toml:1:11: a literal tab; write \\t in a basic string, so that it can be seen, or indent with blanks"],
    );
}

#[test]
fn syntax_errors_have_a_place() {
    let problems = Document::parse("x.toml", "title = \nx = 1\ny = = 2\n").unwrap_err();
    let lines: Vec<usize> = problems.0.iter().map(|p| p.place.line).collect();
    assert_eq!(lines, [1, 3], "{problems}");
}

#[test]
fn columns_count_characters() {
    check(
        "title = 't'\nnumbers = { 'üü' = 1, b = -1 }\n",
        &["x.toml:2:27: invalid value: integer `-1`, expected u8 in numbers.b"],
    );
}

#[test]
fn values_that_no_field_takes_are_refused() {
    check("title = 2020-01-01\n", &["x.toml:1:9: no field takes a date; write it as a string"]);
    check("title = 99999999999999999999\n", &["x.toml:1:9: the integer 99999999999999999999 has more than 64 bits"]);
}

#[test]
fn a_file_beyond_the_limit_is_refused() {
    let text = format!("title = '{}'", "x".repeat(SIZE_LIMIT));
    assert!(Document::parse("x.toml", &text).unwrap_err().to_string().contains("at most 1048576 are read"));
}

#[test]
fn a_document_written_out_is_the_same_document() {
    let text = "title = \"a\\n\\\"b\\\" \\u0007\"\nnumbers = { 'a.b' = 1 }\n[[turn]]\nsay = 'x'\n[[turn.call]]\nid = 'c1'\n\
                with = { path = 'a', n = [1, 2.5, true, {}] }\n[[turn]]\n";
    let first = Document::parse("first", text).unwrap();
    let second = Document::parse("second", &first.root.document()).unwrap();
    assert!(first.root.same(&second.root), "{}", first.root.document());
    assert!(first.root.document().contains("[[turn.call]]\nid = \"c1\""), "{}", first.root.document());
}

#[test]
fn a_script_is_read_as_it_is() {
    let text = "seed = 7\n[[turn]]\ncut = [{ inside = 'ü', byte = 1 }]\n[[turn.call]]\nid = 'c1'\nop = 'SHELL'\nwith = { command = 'x' }\n";
    let script: Script = Document::parse("x", text).unwrap().read().unwrap();
    assert_eq!((script.seed, script.turns[0].calls[0].id.as_str()), (7, "c1"));
}
