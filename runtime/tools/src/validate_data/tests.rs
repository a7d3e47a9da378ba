use super::*;
use crate::testing::{World, call};

#[track_caller]
fn check_text(format: &str, content: &str, expect: &str) {
    let input = object!({ "content": content, "format": format });
    let output = call(&ValidateData::new(World::new().boundary()), input).expect("an answer");
    assert_eq!(output.content, format!("the content is {expect}"));
    assert_eq!(output.is_error, !expect.starts_with("valid"));
}

#[test]
fn json_is_read_strictly() {
    check_text("json", "{\"a\": [1, 2.5, null, \"x\", {\"a\": true}]}\n", "valid JSON (one value).");
    check_text("json", "{\n  \"a\": 1,\n}", "not valid JSON:\n- line 3, column 1: trailing comma");
    check_text(
        "json",
        "{\"a\": 1, \"a\": 2}",
        "not valid JSON:\n- line 1, column 12: the key \"a\" occurs twice in one object",
    );
    check_text(
        "json",
        "{\"a\": 1, \"\\u0061\": 2}",
        "not valid JSON:\n- line 1, column 17: the key \"a\" occurs twice in one object",
    );
    check_text("json", "1 2", "not valid JSON:\n- line 1, column 3: trailing characters");
    check_text("json", "", "not valid JSON:\n- line 1, column 1: EOF while parsing a value");
    check_text("json", "\u{feff}1", "not valid JSON:\n- line 1, column 1: a byte-order mark stands before the data");
    let deep = "[".repeat(100_000);
    let output = call(&ValidateData::new(World::new().boundary()), object!({ "content": deep, "format": "json" }));
    assert!(output.expect("an answer").content.contains("recursion limit exceeded"));
}

#[test]
fn each_line_of_json_lines_is_a_value() {
    check_text("jsonl", "{}\n\n[1]\n", "valid JSON Lines (2 values).");
    check_text(
        "jsonl",
        "{}\n{\n1 x\n",
        "not valid JSON Lines:\n- line 2, column 1: EOF while parsing an object\n- line 3, column 3: trailing characters",
    );
}

#[test]
fn toml_is_told_with_its_place() {
    check_text("toml", "a = 1\n[b]\nc = 'ü'\n", "valid TOML (2 keys).");
    let input = object!({ "content": "a = 1\nü = \n", "format": "toml" });
    let told = call(&ValidateData::new(World::new().boundary()), input).expect("an answer").content;
    assert!(told.starts_with("the content is not valid TOML:\n- line 2, column "), "{told}");
}

#[test]
fn rows_of_a_table_have_the_same_columns() {
    check_text("csv", "a,b\n1,\"x, \"\"y\"\"\n\"\r\n3,4", "valid CSV (3 rows of 2 columns).");
    check_text(
        "csv",
        "a,b\n1\n\"x\ny\",2\n1,2,3\n",
        "not valid CSV:\n- line 2, column 1: 1 column, and the first row has 2\n- line 5, column 1: 3 columns, and the first row has 2",
    );
    check_text("csv", "a,b\n1,\"x\n", "not valid CSV:\n- line 2, column 3: the quote that begins here is not closed");
    check_text(
        "csv",
        "a,\"b\"c\n",
        "not valid CSV:\n- line 1, column 3: something follows the closing quote of this field",
    );
    check_text("csv", "", "valid CSV (0 rows of 0 columns).");
}

#[test]
fn the_name_of_a_file_tells_its_format() {
    let world = World::new().with("a.json", "{}").with("b.TOML", "x = 1").with("c.txt", "1").with("d.json", [0xff]);
    let tool = ValidateData::new(world.boundary());
    let check = |input: Value, expect: &str| {
        let answer = match tool.validate_input(&input) {
            Ok(()) => call(&tool, input).map_or_else(|error| error.to_string(), |output| output.content),
            Err(fault) => fault.message,
        };
        assert!(answer.starts_with(expect), "{answer}");
    };
    check(object!({ "path": "a.json" }), "a.json is valid JSON (one value).");
    check(object!({ "path": "b.TOML" }), "b.TOML is valid TOML (1 key).");
    check(object!({ "path": "c.txt" }), "the format is not known from the name; pass `format`: csv, json, jsonl, toml");
    check(object!({ "path": "c.txt", "format": "json" }), "c.txt is valid JSON");
    check(object!({ "path": "d.json" }), "d.json is not valid JSON:\n- line 1, column 1: this is no UTF-8 text");
    check(object!({ "path": "../x.json" }), "path escapes workspace");
    check(object!({ "path": "a.json", "content": "1" }), "pass `path` or `content`, and not both");
    check(object!({ "content": "1" }), "the format is not known from the name");
}
