//! What a conversation becomes in a request.

use super::*;

fn options(catalog: &str) -> RequestOptions<'_> {
    RequestOptions { model: "m", catalog, max_tokens: None }
}

#[track_caller]
fn check(conversation: &Conversation, options: &RequestOptions<'_>, expect: &Value) {
    let body = encode_request(conversation, options);
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), *expect);
}

fn conversation() -> Conversation {
    let call = |id: &str, arguments: &str| RawCall {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        arguments: arguments.to_owned(),
    };
    Conversation {
        system: "be brief".to_owned(),
        items: vec![
            Item::User { text: "ü\n\"".to_owned() },
            Item::Assistant {
                text: String::new(),
                calls: vec![call("c1", "{ \"path\" :\"a\" }"), call("c2", "{\"path\":")],
            },
            Item::ToolResult { call_id: "c1".to_owned(), content: "A".to_owned(), is_error: false },
            Item::ToolResult { call_id: "c2".to_owned(), content: String::new(), is_error: true },
            Item::Assistant { text: "done".to_owned(), calls: vec![] },
            Item::Assistant { text: String::new(), calls: vec![] },
        ],
    }
}

#[test]
fn every_item_has_its_form() {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "read_file", "arguments": arguments}});
    check(
        &conversation(),
        &options(""),
        &json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true},
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "ü\n\""},
                {"role": "assistant", "content": null, "tool_calls": [call("c1", "{ \"path\" :\"a\" }"), call("c2", "{\"path\":")]},
                {"role": "tool", "tool_call_id": "c1", "content": "A"},
                {"role": "tool", "tool_call_id": "c2", "content": ""},
                {"role": "assistant", "content": "done"},
                {"role": "assistant", "content": ""},
            ]
        }),
    );
}

#[test]
fn tools_and_limit() {
    let schema = RawValue::from_string("{ \"type\":\"object\" , \"b\":1.0, \"a\":[] }".to_owned()).unwrap();
    let tools = [ToolDeclaration { name: "x", description: "does \"x\"", schema: &schema, strict: false }];
    let catalog = encode_catalog(&tools);
    assert_eq!(
        catalog,
        r#"[{"type":"function","function":{"name":"x","description":"does \"x\"","parameters":{ "type":"object" , "b":1.0, "a":[] }}}]"#
    );
    check(
        &Conversation::default(),
        &RequestOptions { model: "m", catalog: &catalog, max_tokens: Some(7) },
        &json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 7,
            "tools": [{"type": "function", "function": {"name": "x", "description": "does \"x\"", "parameters": {"type": "object", "b": 1.0, "a": []}}}],
            "messages": [],
        }),
    );
}

#[test]
fn no_tools_no_field() {
    assert_eq!(encode_catalog(&[]), "");
}

#[test]
fn every_request_begins_with_the_one_before() {
    let whole = conversation();
    let mut before: Vec<u8> = Vec::new();
    for length in 0..=whole.items.len() {
        let shorter = Conversation { system: whole.system.clone(), items: whole.items[..length].to_vec() };
        let body = encode_request(&shorter, &options("[{}]"));
        assert!(body.starts_with(&before));
        before = body.strip_suffix(b"]}").unwrap().to_vec();
    }
}
