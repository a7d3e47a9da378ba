use super::*;
use proptest::prelude::*;
use serde_json::json;

#[track_caller]
fn check_all(schema: Value, input: Value, expect: &[&str]) {
    let found: Vec<String> =
        check(&schema, &input).iter().map(|fault| format!("{}: {}", fault.pointer, fault.message)).collect();
    assert_eq!(found, expect);
}

/// The one fault of a field `f` of this schema.
#[track_caller]
fn check_field(schema: Value, value: Value, expect: &str) {
    let schema = json!({"type": "object", "properties": {"f": schema}});
    let expect = if expect.is_empty() { Vec::new() } else { vec![format!("/f: {expect}")] };
    let expect: Vec<&str> = expect.iter().map(String::as_str).collect();
    check_all(schema, json!({"f": value}), &expect);
}

#[test]
fn all_faults_are_told_at_once_with_their_places() {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["path", "edits"],
        "properties": {
            "path": {"type": "string"},
            "edits": {"type": "array", "items": {"type": "object", "required": ["line"], "properties": {
                "line": {"type": "integer", "minimum": 1}, "text": {"type": "string"}}}},
            "limit": {"type": "integer"},
        },
    });
    check_all(
        schema,
        json!({"file_path": "a", "limt": 3, "edits": [{"line": 0}, {"line": "2", "text": 5}, 7]}),
        &[
            "/path: the field \"path\" is missing: string",
            "/edits/0/line: must be at least 1, and is 0",
            "/edits/1/line: must be integer from 1, and is the string \"2\"; send 2 without quotes",
            "/edits/1/text: must be a string, and is the number 5; send it in quotes",
            "/edits/2: must be {\"line\": integer from 1, \"text\"?: string}, and is the number 7",
            "/file_path: there is no field \"file_path\"; did you mean \"path\"?",
            "/limt: there is no field \"limt\"; did you mean \"limit\"?",
        ],
    );
}

#[test]
fn nothing_is_coerced_and_the_answer_says_so() {
    check_field(
        json!({"type": "integer"}),
        json!("1200"),
        "must be an integer, and is the string \"1200\"; send 1200 without quotes",
    );
    check_field(
        json!({"type": "boolean"}),
        json!("true"),
        "must be a boolean, and is the string \"true\"; send true without quotes",
    );
    check_field(
        json!({"type": "number"}),
        json!("1.5"),
        "must be a number, and is the string \"1.5\"; send 1.5 without quotes",
    );
    check_field(json!({"type": "integer"}), json!(1.0), "must be an integer, and is the number 1.0; send 1");
    check_field(
        json!({"type": "integer"}),
        json!(1.5),
        "must be an integer, and is the number 1.5; send a whole number",
    );
    check_field(json!({"type": "string"}), json!(5), "must be a string, and is the number 5; send it in quotes");
    check_field(json!({"type": "boolean"}), json!(1), "must be a boolean, and is the number 1");
    check_field(
        json!({"type": "array"}),
        json!("[1]"),
        "must be an array, and is the string \"[1]\"; send the array itself, not its text",
    );
    check_field(
        json!({"type": "array", "items": {"type": "string"}}),
        json!("a"),
        "must be string[], and is the string \"a\"; send it inside an array",
    );
    check_field(
        json!({"type": "object"}),
        json!("{}"),
        "must be an object, and is the string \"{}\"; send the object itself, not its text",
    );
    check_field(
        json!({"type": "string"}),
        json!(null),
        "must be a string, and is null; send a value, or leave the field out if it is optional",
    );
}

#[test]
fn a_value_of_the_right_type_passes() {
    for (kind, value) in [("integer", json!(5)), ("number", json!(5)), ("number", json!(0.5)), ("null", json!(null))] {
        check_field(json!({"type": kind}), value, "");
    }
    check_field(json!({"type": ["string", "null"]}), json!(null), "");
    check_field(json!({"type": "string", "nullable": true}), json!(null), "");
    check_field(
        json!({"type": ["string", "integer"]}),
        json!(true),
        "must be string | integer, and is true; send it in quotes",
    );
}

#[test]
fn bounds_are_kept() {
    check_field(json!({"enum": ["a", "b"]}), json!("c"), "must be one of \"a\" | \"b\", and is the string \"c\"");
    check_field(json!({"const": 3}), json!(4), "must be 3, and is the number 4");
    check_field(json!({"const": 3}), json!(3.0), "");
    check_field(json!({"maximum": 5}), json!(6), "must be at most 5, and is 6");
    check_field(json!({"exclusiveMinimum": 5}), json!(5), "must be more than 5, and is 5");
    check_field(
        json!({"maximum": u64::MAX - 1}),
        json!(u64::MAX),
        "must be at most 18446744073709551614, and is 18446744073709551615",
    );
    check_field(json!({"minLength": 2}), json!("é"), "must have at least 2 characters, and has 1");
    check_field(json!({"maxLength": 2}), json!("éüß"), "must have at most 2 characters, and has 3");
    check_field(json!({"minItems": 1}), json!([]), "must have at least 1 items, and has 0");
    check_field(json!({"maxItems": 1}), json!([1, 2]), "must have at most 1 items, and has 2");
    check_field(json!(false), json!(1), "no value is allowed here; leave it out");
}

#[test]
fn other_fields_follow_their_schema() {
    let schema = json!({"type": "object", "additionalProperties": {"type": "string"}});
    check_all(
        schema,
        json!({"a": "x", "b/c": 5}),
        &["/b~1c: must be a string, and is the number 5; send it in quotes"],
    );
    let patterns = json!({"type": "object", "additionalProperties": false, "patternProperties": {"^x-": {}}});
    check_all(patterns, json!({"x-a": 1}), &[]);
    check_all(
        json!({"type": "object", "additionalProperties": false}),
        json!({"a": 1}),
        &["/a: there is no field \"a\"; it takes no fields"],
    );
}

#[test]
fn a_choice_of_forms_names_the_nearest() {
    let forms = json!({"anyOf": [{"type": "string"}, {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}]});
    check_field(forms.clone(), json!("x"), "");
    check_field(forms.clone(), json!({"a": 1}), "");
    check_field(forms.clone(), json!(5), "must be string or {\"a\": integer}, and is the number 5");
    let schema = json!({"type": "object", "properties": {"f": forms}});
    check_all(
        schema,
        json!({"f": {"a": "1"}}),
        &["/f/a: must be an integer, and is the string \"1\"; send 1 without quotes"],
    );
    check_field(
        json!({"oneOf": [{"type": "integer"}, {"minimum": 3}]}),
        json!(5),
        "fits several of its 2 forms; send what fits only one",
    );
    check_field(json!({"oneOf": [{"type": "integer"}, {"type": "string"}]}), json!(5), "");
    check_field(json!({"allOf": [{"minimum": 3}, {"maximum": 4}]}), json!(5), "must be at most 4, and is 5");
}

#[test]
fn references_are_followed_and_their_loops_end() {
    let tree = json!({"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}, "$defs": {
        "t": {"type": "object", "properties": {"left": {"$ref": "#/$defs/t"}, "n": {"type": "integer"}}}}});
    check_all(tree.clone(), json!({"t": {"left": {"left": {"n": 1}}}}), &[]);
    check_all(
        tree,
        json!({"t": {"left": {"left": {"n": "1"}}}}),
        &["/t/left/left/n: must be an integer, and is the string \"1\"; send 1 without quotes"],
    );
    check_all(json!({"type": "object", "$ref": "#"}), json!({"a": 1}), &[]);
    let two = json!({"type": "object", "$ref": "#/$defs/a", "$defs": {
        "a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}});
    check_all(two, json!({}), &[]);
    check_all(json!({"type": "object", "properties": {"f": {"$ref": "https://example.com/x"}}}), json!({"f": 1}), &[]);
}

#[test]
fn work_and_depth_are_bounded() {
    let too_much = ["a: x"; 0];
    // Each level doubles the readings of the next.
    let bomb = json!({"type": "object", "properties": {"f": {"$ref": "#/$defs/f"}}, "$defs": {"f": {
        "allOf": [{"type": "array", "items": {"$ref": "#/$defs/f"}}, {"type": "array", "items": {"$ref": "#/$defs/f"}}]}}});
    let deep = (0..60).fold(json!([]), |inner, _| json!([inner]));
    let found = check(&bomb, &json!({"f": deep}));
    assert_eq!(found.len(), 1);
    assert!(found[0].message.contains("too large or too deeply nested"), "{found:?}");
    check_all(json!({"type": "object", "properties": {"f": {}}}), json!({"f": 1}), &too_much);
}

#[test]
fn a_branch_that_leads_back_to_itself_fits_nothing() {
    let node = json!({"anyOf": [{"$ref": "#/$defs/node"}, {"type": "object", "properties": {
        "child": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}]});
    let schema = json!({"type": "object", "properties": {"f": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}});
    check_all(schema.clone(), json!({"f": {"child": {"child": {"n": 4}}}}), &[]);
    check_all(
        schema,
        json!({"f": {"child": {"child": {"n": "4"}}}}),
        &["/f/child/child/n: must be an integer, and is the string \"4\"; send 4 without quotes"],
    );
    // Where there is nothing but the way back, nothing is said of the value.
    let empty = json!({"properties": {"f": {"$ref": "#/$defs/e"}}, "$defs": {"e": {"anyOf": [{"$ref": "#/$defs/e"}]}}});
    check_all(empty, json!({"f": 1}), &[]);
}

#[test]
fn a_flood_of_faults_is_cut() {
    let many: Vec<i32> = (0..1000).collect();
    let found = check(&json!({"properties": {"f": {"items": {"type": "string"}}}}), &json!({"f": many}));
    assert_eq!(found.len(), MOST_FAULTS + 1);
    assert_eq!(found.last().unwrap().message, "there are more faults; correct these first");
}

#[test]
fn fields_that_an_open_schema_does_not_know_are_named() {
    let open = json!({"type": "object", "properties": {"limit": {"type": "integer"}}});
    let note = "the tool declares no field \"limt\"; it was passed on as it is; did you mean \"limit\"?";
    assert_eq!(undeclared(&open, &json!({"limt": 1})), [note]);
    assert_eq!(undeclared(&open, &json!({"limit": 1})), [""; 0]);
    let says_so = json!({"type": "object", "properties": {"limit": {}}, "additionalProperties": true});
    assert_eq!(undeclared(&says_so, &json!({"limt": 1})), [""; 0]);
    assert_eq!(undeclared(&json!({"type": "object"}), &json!({"limt": 1})), [""; 0]);
}

#[test]
fn the_expected_shape_is_one_line() {
    let schema = json!({"type": "object", "required": ["path"], "properties": {
        "path": {"type": "string"}, "n": {"type": "integer", "minimum": 1, "maximum": 9},
        "mode": {"enum": ["a", "b"]}, "tags": {"type": "array", "items": {"type": ["string", "null"]}}}});
    let expect = r#"{"mode"?: "a" | "b", "n"?: integer from 1 to 9, "path": string, "tags"?: (string | null)[]}"#;
    assert_eq!(describe::shape(&schema).as_deref(), Some(expect));
    assert_eq!(describe::shape(&json!({"type": "object"})), None);
}

/// Schemas of the part that is read, over the names `a` and `b`.
fn schemas() -> impl Strategy<Value = Value> {
    let name = prop_oneof![Just("a"), Just("b")];
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({"$ref": "#/$defs/d"})),
        Just(json!({"$ref": "#"})),
        prop::sample::select(vec!["string", "integer", "number", "boolean", "null", "array", "object"])
            .prop_map(|name| json!({"type": name})),
        Just(json!({"type": ["string", "null"]})),
        Just(json!({"enum": ["x", 1, null]})),
        Just(json!({"const": "x"})),
        (-2..3_i32, 0..4_i32).prop_map(|(low, high)| json!({"minimum": low, "exclusiveMaximum": high})),
        (0..3_u32, 0..4_u32).prop_map(|(low, high)| json!({"minLength": low, "maxLength": high})),
        (0..2_u32, 0..3_u32).prop_map(|(low, high)| json!({"minItems": low, "maxItems": high})),
    ];
    leaf.prop_recursive(3, 24, 3, move |inner| {
        let list = prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            (
                prop::collection::btree_map(name.clone(), inner.clone(), 0..3),
                prop::collection::vec(name.clone(), 0..2),
                prop::option::of(inner.clone())
            )
                .prop_map(|(properties, required, others)| {
                    let mut schema = json!({"properties": properties, "required": required});
                    if let Some(others) = others {
                        schema["additionalProperties"] = others;
                    }
                    schema
                }),
            inner.prop_map(|items| json!({"items": items})),
            list.clone().prop_map(|all| json!({"prefixItems": all, "items": false})),
            list.clone().prop_map(|all| json!({"anyOf": all})),
            list.clone().prop_map(|all| json!({"oneOf": all})),
            list.prop_map(|all| json!({"allOf": all})),
        ]
    })
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3..4_i32).prop_map(Value::from),
        Just(json!(0.5)),
        "[xé]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Against a validator that others wrote. (It lets `1.0` pass for an integer, which no value here is.)
    #[test]
    fn another_validator_agrees(body in schemas(), inner in schemas(), value in values()) {
        let mut schema = json!({"allOf": [body]});
        schema["$defs"] = json!({"d": inner});
        prop_assume!(!has_bare_loop(&schema));
        let Ok(other) = jsonschema::validator_for(&schema) else { return Ok(()) };
        let faults = check(&schema, &value);
        prop_assert_eq!(faults.is_empty(), other.is_valid(&value), "{:?}", faults);
    }

    #[test]
    fn no_input_makes_it_panic_or_loop(schema in values(), value in values(), body in schemas()) {
        check(&schema, &value);
        check(&body, &value);
        describe::shape(&schema);
        describe::shape(&body);
    }
}

/// Whether a reference leads back to itself without going into a value: there the specification leaves the outcome open.
fn has_bare_loop(schema: &Value) -> bool {
    fn reaches(root: &Value, schema: &Value, seen: &mut Vec<String>) -> bool {
        if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
            if seen.iter().any(|s| s == pointer) {
                return true;
            }
            seen.push(pointer.to_owned());
            let found = root.pointer(&pointer[1..]).is_some_and(|target| reaches(root, target, seen));
            seen.pop();
            return found;
        }
        let branches = ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array()).flatten();
        branches.into_iter().any(|branch| reaches(root, branch, seen))
    }
    fn anywhere(root: &Value, schema: &Value) -> bool {
        reaches(root, schema, &mut Vec::new())
            || match schema {
                Value::Object(all) => all.values().any(|inner| anywhere(root, inner)),
                Value::Array(all) => all.iter().any(|inner| anywhere(root, inner)),
                _ => false,
            }
    }
    anywhere(schema, schema)
}
