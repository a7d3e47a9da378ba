#![allow(clippy::unwrap_used)]
use super::*;
use crate::fuzzing;
use proptest::prelude::*;
use serde_json::json;

#[track_caller]
fn check(schema: Value, expect: Value) -> Vec<Change> {
    let cleaned = clean(&schema).unwrap();
    assert_eq!(cleaned.schema, expect);
    fuzzing::schema_clean(schema.to_string().as_bytes());
    cleaned.changes
}

#[track_caller]
fn kept(schema: Value) {
    assert_eq!(check(schema.clone(), schema), []);
}

#[track_caller]
fn strict_is(schema: Value, expect: Value) {
    assert_eq!(strict(&schema).unwrap(), expect);
    fuzzing::schema_clean(schema.to_string().as_bytes());
}

#[track_caller]
fn not_strict(schema: Value, at: &str, keyword: &str) {
    let fault = SchemaFault::NotStrict { at: at.to_owned(), keyword: keyword.to_owned() };
    assert_eq!(strict(&schema).unwrap_err(), fault);
}

#[test]
fn a_union_with_null_becomes_a_list_of_types() {
    for key in ["anyOf", "oneOf"] {
        let changes = check(
            json!({"description": "d", key: [{"type": "string", "minLength": 2, "title": "t"}, {"type": "null"}]}),
            json!({"description": "d", "type": ["string", "null"], "minLength": 2, "title": "t"}),
        );
        assert_eq!(changes, [Change { at: String::new(), kind: ChangeKind::NullFolded }]);
    }
    check(json!({"anyOf": [{"const": null}, {"type": "integer"}]}), json!({"type": ["integer", "null"]}));
    check(json!({"anyOf": [{"enum": [null]}, {"type": ["integer", "null"]}]}), json!({"type": ["integer", "null"]}));
}

#[test]
fn null_is_added_to_what_lists_values() {
    check(
        json!({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}),
        json!({"type": ["string", "null"], "enum": ["a", null]}),
    );
    check(
        json!({"anyOf": [{"type": "string", "const": "a"}, {"type": "null"}]}),
        json!({"type": ["string", "null"], "enum": ["a", null]}),
    );
}

#[test]
fn a_list_of_types_is_put_in_order() {
    check(json!({"type": ["null", "string"]}), json!({"type": ["string", "null"]}));
    check(json!({"type": ["string", "string"]}), json!({"type": "string"}));
    kept(json!({"type": ["string", "null"]}));
    kept(json!({"type": []}));
    kept(json!({"type": [1, "null"]}));
}

#[test]
fn several_plain_types_with_null_become_one_list() {
    check(
        json!({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "integer"}]}),
        json!({"type": ["string", "integer", "null"]}),
    );
    kept(json!({"oneOf": [{"type": "number"}, {"type": "null"}, {"type": "integer"}]}));
    kept(json!({"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}, {"type": "integer"}]}));
}

#[test]
fn a_union_whose_meaning_would_change_is_kept() {
    // Null is refused or admitted by these whatever the type says.
    kept(json!({"anyOf": [{"type": "string", "not": {"const": null}}, {"type": "null"}]}));
    kept(json!({"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}], "$defs": {"a": {"type": "string"}}}));
    kept(json!({"oneOf": [{"type": ["string", "null"]}, {"type": "null"}]}));
    kept(json!({"anyOf": [{"minLength": 1}, {"type": "null"}]}));
    // The union is not all that decides.
    kept(json!({"type": "string", "anyOf": [{"type": "string"}, {"type": "null"}]}));
    kept(json!({"minLength": 1, "anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}]}));
    kept(json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}));
    kept(json!({"anyOf": [{"type": "null"}, {"type": "null"}]}));
}

#[test]
fn one_branch_becomes_the_schema() {
    for key in ["anyOf", "oneOf", "allOf"] {
        check(json!({"title": "a", key: [{"type": "string", "title": "b"}]}), json!({"title": "a", "type": "string"}));
        check(
            json!({"default": 1, key: [{"$ref": "#/$defs/a"}], "$defs": {"a": {}}}),
            json!({"default": 1, "$ref": "#/$defs/a", "$defs": {"a": {}}}),
        );
        kept(json!({"minLength": 1, key: [{"pattern": "a"}]}));
        kept(json!({"type": "string", key: [{"$ref": "#/$defs/a"}], "$defs": {"a": {}}}));
        kept(json!({"type": "string", key: [{"type": "integer"}]}));
        kept(json!({key: [{"$id": "urn:a", "type": "string"}]}));
        kept(json!({key: []}));
        kept(json!({key: [true]}));
    }
}

#[test]
fn inner_unions_are_folded_first() {
    check(
        json!({"anyOf": [{"anyOf": [{"anyOf": [{"type": "string"}, {"type": "null"}]}]}]}),
        json!({"type": ["string", "null"]}),
    );
    check(
        json!({"allOf": [{"anyOf": [{"allOf": [{"type": "object"}]}, {"type": "null"}]}]}),
        json!({"type": ["object", "null"], "properties": {}}),
    );
}

#[test]
fn nothing_moves_where_a_reference_leads_into_a_branch() {
    kept(json!({
        "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "b": {"$ref": "#/properties/a/anyOf/0"}}
    }));
}

#[test]
fn bare_objects_get_properties() {
    let changes = check(
        json!({"type": "object", "properties": {"a/b": {"type": ["object", "null"]}}}),
        json!({"type": "object", "properties": {"a/b": {"type": ["object", "null"], "properties": {}}}}),
    );
    assert_eq!(changes, [Change { at: "/properties/a~1b".to_owned(), kind: ChangeKind::PropertiesAdded }]);
    kept(json!({"type": "object", "additionalProperties": {"type": "string"}}));
    kept(json!({"type": "object", "additionalProperties": true}));
    kept(json!({"properties": {"a": {"type": "string"}}}));
}

#[test]
fn dangling_names_are_pruned() {
    let changes = check(
        json!({"type": "object", "properties": {"a": {}}, "required": ["a", "ghost"]}),
        json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}),
    );
    assert_eq!(changes[0].kind, ChangeKind::RequiredPruned(vec!["ghost".to_owned()]));
    check(json!({"type": "object", "required": ["ghost"]}), json!({"type": "object", "properties": {}}));
    check(json!({"type": "string", "required": []}), json!({"type": "string"}));
    check(
        json!({"anyOf": [{"type": "object", "properties": {"a": {}}, "required": ["b"]}, {"type": "string"}]}),
        json!({"anyOf": [{"type": "object", "properties": {"a": {}}}, {"type": "string"}]}),
    );
}

#[test]
fn names_that_may_be_defined_elsewhere_are_kept() {
    kept(
        json!({"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
    );
    kept(json!({
        "type": "object", "properties": {"a": {}},
        "anyOf": [{"properties": {"b": {}}, "required": ["a", "b"]}, {"properties": {"c": {}}, "required": ["a"]}]
    }));
    kept(json!({"allOf": [{"properties": {"a": {}}}, {"properties": {}, "required": ["a"]}]}));
    kept(json!({"properties": {}, "patternProperties": {"^x": {}}, "required": ["xy"]}));
    kept(json!({"$ref": "#/$defs/a", "properties": {}, "required": ["b"], "$defs": {"a": {"properties": {"b": {}}}}}));
    kept(json!({"required": ["a"]}));
    kept(json!({"required": true}));
}

#[test]
fn nothing_is_pruned_where_that_would_narrow_the_whole() {
    let dangling = json!({"properties": {}, "required": ["ghost"]});
    for key in ["not", "if", "contains"] {
        kept(json!({key: dangling}));
        kept(json!({key: {"properties": {"a": dangling}}}));
        kept(json!({key: {"$ref": "#/$defs/a"}, "$defs": {"a": dangling}}));
    }
    kept(json!({"oneOf": [dangling, {"type": "string"}]}));
}

#[test]
fn data_and_properties_called_like_keywords_are_left_alone() {
    let dirty = json!({"type": "object", "required": ["x"], "anyOf": [{"type": "string"}, {"type": "null"}]});
    kept(
        json!({"default": dirty, "const": dirty, "enum": [dirty], "examples": [dirty], "x-hint": dirty, "unknown": dirty}),
    );
    kept(json!({"type": "object", "properties": {
        "required": {"type": "array", "items": {"type": "string"}},
        "anyOf": {"type": "array"},
        "type": {"type": "string"},
        "properties": {"type": "string"},
    }, "required": ["required", "anyOf"]}));
    check(
        json!({"properties": {"default": {"type": "object"}, "enum": {"type": ["null", "string"]}}}),
        json!({"properties": {"default": {"type": "object", "properties": {}}, "enum": {"type": ["string", "null"]}}}),
    );
}

#[test]
fn every_place_of_a_schema_is_cleaned() {
    let (dirty, cleaned) = (json!({"type": ["null", "string"]}), json!({"type": ["string", "null"]}));
    for key in ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"] {
        check(json!({key: {"a": dirty}}), json!({key: {"a": cleaned}}));
    }
    for key in ["allOf", "anyOf", "oneOf", "items", "prefixItems"] {
        check(json!({key: [dirty, true]}), json!({key: [cleaned, true]}));
    }
    for key in [
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    ] {
        check(json!({key: dirty}), json!({key: cleaned}));
    }
}

#[test]
fn references_are_never_followed() {
    kept(json!({"$ref": "#"}));
    kept(json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}));
    let cleaned = clean(&json!({"items": {"$ref": "http://169.254.169.254/a"}, "not": {"$ref": "file:///etc/passwd"}}));
    assert_eq!(cleaned.unwrap().remote, ["http://169.254.169.254/a", "file:///etc/passwd"]);
}

#[test]
fn only_objects_and_booleans_are_schemas() {
    kept(json!(true));
    for (schema, found) in
        [(json!(null), "null"), (json!([]), "an array"), (json!("a"), "a string"), (json!(1), "a number")]
    {
        assert_eq!(clean(&schema), Err(SchemaFault::NotASchema { found }));
    }
}

#[test]
fn the_limits() {
    let nested = |depth: usize| (0..depth).fold(json!({"type": "string"}), |inner, _| json!({"not": inner}));
    assert!(clean(&nested(MAX_DEPTH - 2)).is_ok());
    assert_eq!(clean(&nested(MAX_DEPTH - 1)), Err(SchemaFault::TooDeep));
    let wide = |values: usize| json!({"enum": vec![Value::Null; values]});
    assert!(clean(&wide(MAX_VALUES - 2)).is_ok());
    assert_eq!(clean(&wide(MAX_VALUES - 1)), Err(SchemaFault::TooLarge));
    assert_eq!(clean(&json!({"title": "a".repeat(MAX_TEXT)})), Err(SchemaFault::TooLarge));
}

#[test]
fn the_deepest_schema_fits_a_small_stack() {
    let deepest = |key: &str| (0..MAX_DEPTH / 2 - 1).fold(json!({"type": "string"}), |inner, _| json!({key: [inner]}));
    let walk = move || {
        for key in ["anyOf", "allOf", "oneOf", "items"] {
            assert!(clean(&deepest(key)).is_ok());
        }
        assert!(strict(&deepest("anyOf")).is_err());
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(walk).unwrap().join().unwrap();
}

#[test]
fn strict_form_closes_every_object() {
    strict_is(
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "t",
            "properties": {
                "b": {"type": "array", "items": {"$ref": "#/$defs/item"}, "default": [], "minItems": 1},
                "a": {"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}], "examples": ["x"]},
            },
            "required": ["b", "ghost"],
            "$defs": {"item": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}}},
        }),
        json!({
            "type": "object", "title": "t", "additionalProperties": false, "required": ["a", "b"],
            "properties": {
                "b": {"type": "array", "items": {"$ref": "#/$defs/item"}, "minItems": 1},
                "a": {"type": ["string", "null"], "enum": ["x", null]},
            },
            "$defs": {"item": {
                "type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}, "required": ["n"],
                "additionalProperties": false,
            }},
        }),
    );
    strict_is(
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false}),
    );
}

#[test]
fn what_strict_form_cannot_say_is_refused() {
    let with = |property: Value| json!({"type": "object", "properties": {"a": property}});
    not_strict(json!({"type": "string"}), "", "type");
    not_strict(json!({"type": ["object", "null"]}), "", "type");
    not_strict(json!(true), "", "type");
    not_strict(json!({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}), "", "anyOf");
    not_strict(json!({"type": "object", "properties": {}, "allOf": [{"minProperties": 1}]}), "", "allOf");
    not_strict(with(json!({"type": "object"})), "/properties/a", "properties");
    not_strict(
        with(json!({"type": "object", "additionalProperties": {"type": "string"}})),
        "/properties/a",
        "additionalProperties",
    );
    not_strict(with(json!({"properties": {"b": {"type": "string"}}})), "/properties/a", "type");
    not_strict(with(json!({})), "/properties/a", "type");
    not_strict(with(json!(true)), "/properties/a", "type");
    not_strict(with(json!({"type": "array"})), "/properties/a", "items");
    not_strict(with(json!({"type": "string", "minLength": 1})), "/properties/a", "minLength");
    not_strict(with(json!({"oneOf": [{"type": "string"}, {"type": "integer"}]})), "/properties/a", "oneOf");
    not_strict(with(json!({"$ref": "http://example.com/a"})), "/properties/a", "$ref");
    not_strict(with(json!({"type": "string", "unheard": 1})), "/properties/a", "unheard");
}

#[test]
fn the_committed_corpus() {
    assert!(fuzzing::replay("schema_clean", fuzzing::schema_clean) >= 8);
}

/// Schemas of the kinds that are cleaned, and of those that must not be.
fn schemas() -> impl Strategy<Value = Value> {
    let types = ["string", "integer", "number", "object", "array", "boolean", "null"];
    let kind = prop::sample::select(types.to_vec());
    let name = || prop::sample::select(vec!["a", "b", "required", "anyOf"]);
    let leaf = prop_oneof![
        kind.clone().prop_map(|kind| json!({"type": kind})),
        prop::collection::vec(kind, 1..4).prop_map(|kinds| json!({"type": kinds})),
        Just(json!({"type": "null", "title": "none"})),
        Just(json!({"const": null})),
        Just(json!({"type": "string", "enum": ["x", "y"]})),
        Just(json!({"type": "string", "const": "x"})),
        Just(json!({"type": "string", "minLength": 2, "default": {"type": "object"}})),
        Just(json!({"enum": [null, 1, {"type": "object"}]})),
        Just(json!({"minimum": 1})),
        Just(json!({"$ref": "#/$defs/d"})),
        Just(json!({"type": "object"})),
        Just(json!(true)),
        Just(json!(false)),
        prop::collection::vec(name(), 0..3).prop_map(|required| {
            let mut required = required;
            required.dedup();
            json!({"required": required})
        }),
    ];
    leaf.prop_recursive(4, 20, 3, move |inner| {
        let list = prop::collection::vec(inner.clone(), 1..4);
        let union = prop::sample::select(vec!["anyOf", "oneOf", "allOf"]);
        let map = prop::collection::btree_map(name(), inner.clone(), 0..3);
        let single =
            prop::sample::select(vec!["not", "items", "contains", "if", "additionalProperties", "propertyNames"]);
        prop_oneof![
            (union.clone(), list.clone()).prop_map(|(key, list)| json!({key: list})),
            (union.clone(), inner.clone()).prop_map(|(key, one)| json!({key: [one, {"type": "null"}]})),
            (union, list, map.clone(), prop::collection::btree_set(name(), 0..3)).prop_map(
                |(key, list, map, required)| {
                    json!({"type": "object", key: list, "properties": map, "required": required})
                }
            ),
            (map, prop::collection::btree_set(name(), 0..3), any::<bool>()).prop_map(|(map, required, closed)| {
                json!({"type": "object", "properties": map, "required": required, "additionalProperties": !closed})
            }),
            (single, inner).prop_map(|(key, one)| json!({"description": "d", key: one})),
        ]
    })
}

fn documents() -> impl Strategy<Value = Value> {
    (schemas(), schemas()).prop_map(|(schema, definition)| match schema {
        // A definition that refers to itself at once would keep a validator busy for ever.
        Value::Object(mut map) if !definition.to_string().contains("$ref") => {
            map.insert("$defs".to_owned(), json!({"d": definition}));
            Value::Object(map)
        }
        _ => json!({"$defs": {"d": {"type": "string"}}, "properties": {"a": schema}}),
    })
}

fn instances() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(0)),
        Just(json!(1)),
        Just(json!(2.5)),
        Just(json!("x")),
        Just(json!("")),
        Just(json!("xyz")),
        Just(json!(true)),
        Just(json!({"type": "object"})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(vec!["a", "b", "required", "anyOf"]), inner, 0..4)
                .prop_map(|map| json!(map)),
        ]
    })
}

fn validator(schema: &Value) -> Option<jsonschema::Validator> {
    jsonschema::draft202012::new(schema).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn cleaning_keeps_the_valid_instances(schema in documents(), instances in prop::collection::vec(instances(), 8)) {
        fuzzing::schema_clean(schema.to_string().as_bytes());
        let cleaned = clean(&schema).unwrap();
        let Some(before) = validator(&schema) else { return Ok(()) };
        let after = validator(&cleaned.schema);
        prop_assert!(after.is_some(), "no schema any more: {}", cleaned.schema);
        let after = after.unwrap();
        let widened = |change: &Change| matches!(&change.kind, ChangeKind::RequiredPruned(names) if !names.is_empty());
        let widened = cleaned.changes.iter().any(widened);
        for instance in &instances {
            let (before, after) = (before.is_valid(instance), after.is_valid(instance));
            prop_assert!(before == after || widened && after, "{instance}: {before}, {after} by {}", cleaned.schema);
        }
        if let Ok(closed) = strict(&schema) {
            let closed = validator(&closed).unwrap();
            for instance in instances.iter().filter(|instance| closed.is_valid(instance)) {
                prop_assert!(after.is_valid(instance), "{instance} by the strict form alone");
            }
        }
    }
}
