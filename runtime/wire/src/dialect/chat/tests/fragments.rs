//! Which call a fragment belongs to; the names that begin with S are those of reported field cases.

use super::*;

#[test]
fn one_call_in_pieces() {
    check_calls(
        &[
            r#"{"index":0,"id":"c1","type":"function","function":{"name":"x","arguments":""}}"#,
            r#"{"index":0,"function":{"arguments":"{\"a\""}}"#,
            r#"{"index":0,"function":{"arguments":":1}"}}"#,
        ],
        &[r#"call c1 x {"a":1}"#],
    );
}

#[test]
fn s014_new_name_and_id_on_a_busy_index() {
    check_calls(
        &[
            r#"{"index":0,"id":"c1","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}"#,
            r#"{"index":0,"id":"c2","function":{"name":"read_file","arguments":"{\"path\":\"b"}}"#,
            r#"{"index":0,"function":{"arguments":"\"}"}}"#,
        ],
        &[r#"call c1 read_file {"path":"a"}"#, r#"call c2 read_file {"path":"b"}"#],
    );
}

#[test]
fn s015_missing_and_null_index() {
    check_calls(
        &[
            r#"{"id":"c1","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}"#,
            r#"{"index":null,"id":"c2","function":{"name":"read_file","arguments":"{\"path\":\"b"}}"#,
            r#"{"function":{"arguments":"\"}"}}"#,
        ],
        &[r#"call c1 read_file {"path":"a"}"#, r#"call c2 read_file {"path":"b"}"#],
    );
}

#[test]
fn s016_tail_on_the_next_index() {
    check_calls(
        &[
            r#"{"index":0,"id":"c1","function":{"name":"read_file","arguments":"{\"path\":"}}"#,
            r#"{"index":0,"id":"c2","function":{"name":"grep_files","arguments":"{\"pat"}}"#,
            r#"{"index":1,"function":{"arguments":"tern\":\"x\"}"}}"#,
            r#"{"index":0,"function":{"arguments":"\"a\"}"}}"#,
        ],
        &[r#"call c1 read_file {"path":"a"}"#, r#"call c2 grep_files {"pattern":"x"}"#],
    );
}

#[test]
fn s017_interleaved_indices() {
    check_calls(
        &[
            r#"{"index":0,"id":"c1","function":{"name":"read_file","arguments":"{\"pa"}}"#,
            r#"{"index":1,"id":"c2","function":{"name":"read_file","arguments":"{\"path\":\"b"}}"#,
            r#"{"index":0,"function":{"arguments":"th\":\"a\"}"}}"#,
            r#"{"index":1,"function":{"arguments":"\"}"}}"#,
        ],
        &[r#"call c1 read_file {"path":"a"}"#, r#"call c2 read_file {"path":"b"}"#],
    );
}

#[test]
fn s018_s019_empty_and_null_are_absent() {
    check_calls(
        &[
            r#"{"index":0,"id":"c1","function":{"name":"exec_shell","arguments":""}}"#,
            r#"{"index":0,"id":"","function":{"name":"","arguments":"{\"command\":"}}"#,
            r#"{"id":null,"index":0,"type":"function","function":{"name":null,"arguments":"\"ls\"}"}}"#,
            r#"{"index":0,"id":null,"function":{"name":null,"arguments":null}}"#,
        ],
        &[r#"call c1 exec_shell {"command":"ls"}"#],
    );
}

#[test]
fn s021_the_name_in_every_fragment() {
    check_calls(
        &[
            r#"{"index":0,"id":"c1","function":{"name":"read_file","arguments":"{\"pa"}}"#,
            r#"{"index":0,"id":"c1","function":{"name":"read_file","arguments":"th\":\"a\"}"}}"#,
            r#"{"index":0,"id":"c1","function":{"name":"read_file","arguments":""}}"#,
            r#"{"index":0,"id":"c1","function":{"name":"write_file","arguments":"{}"}}"#,
        ],
        &[r#"call c1 read_file {"path":"a"}"#, "rejected c1 write_file {}: a known id came with a different name"],
    );
}

#[test]
fn s024_fresh_ids_without_a_name_continue() {
    check_calls(
        &[
            r#"{"index":0,"id":"a1","function":{"name":"list_dir","arguments":""}}"#,
            r#"{"index":0,"id":"a2","function":{"name":"","arguments":"{\"pa"}}"#,
            r#"{"id":"a3","function":{"arguments":"th\":\".\""}}"#,
            r#"{"id":"a2","function":{"arguments":"}"}}"#,
        ],
        &[r#"call a1 list_dir {"path":"."}"#],
    );
}

#[test]
fn s025_arguments_as_an_object() {
    check_calls(
        &[r#"{"index":0,"id":"c1","function":{"name":"exec_shell","arguments":{"command": "echo ok"}}}"#],
        &[r#"call c1 exec_shell {"command": "echo ok"}"#],
    );
    check_calls(
        &[
            r#"{"index":0,"id":"c1","function":{"name":"x","arguments":{"a":1}}}"#,
            r#"{"index":0,"function":{"arguments":"{}"}}"#,
        ],
        &[r#"call c1 x {"a":1}"#, "rejected {}: arguments came as a JSON value and as something else as well"],
    );
    check_calls(
        &[
            r#"{"index":0,"id":"c1","function":{"name":"x","arguments":"{"}}"#,
            r#"{"index":0,"function":{"arguments":{"a":1}}}"#,
        ],
        &["call c1 x {", r#"rejected {"a":1}: arguments came as a JSON value and as something else as well"#],
    );
}

#[test]
fn s026_the_same_call_again_under_its_id() {
    let head = r#"{"index":0,"id":"c9","function":{"name":"exec","arguments":"{\"cmd\":\"id\"}"}}"#;
    let call = r#"call c9 exec {"cmd":"id"}"#;
    check_calls(&[head, &head.replace("\"index\":0", "\"index\":1")], &[call]);
    check_calls(&[head, head], &[call]);
    check_calls(&[head, &head.replace("\"index\":0,", "")], &[call]);
}

#[test]
fn the_same_call_again_in_pieces() {
    let head = r#"{"index":0,"id":"c9","function":{"name":"exec","arguments":"{\"cmd\":\"id\"}"}}"#;
    let again = r#"{"index":1,"id":"c9","function":{"name":"exec","arguments":""}}"#;
    let first = r#"{"index":1,"function":{"arguments":"{\"cmd\":"}}"#;
    let call = r#"call c9 exec {"cmd":"id"}"#;
    check_calls(&[head, again], &[call]);
    check_calls(&[head, again, first, r#"{"index":1,"function":{"arguments":"\"id\"}"}}"#], &[call]);
    check_calls(&[head, again, first], &[call, r#"rejected {"cmd":: call "c9" was sent again and cut short"#]);
    check_calls(
        &[head, again, first, r#"{"function":{"arguments":"\"ls\""}}"#, r#"{"index":1,"function":{"arguments":"}"}}"#],
        &[call, r#"call c9 exec {"cmd":"ls"}"#],
    );
}

#[test]
fn s027_two_calls_share_an_id() {
    check_calls(
        &[
            r#"{"index":0,"id":"dup","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}"#,
            r#"{"index":1,"id":"dup","function":{"name":"read_file","arguments":"{\"path\":\"b"}}"#,
            r#"{"index":1,"id":"dup","function":{"arguments":"\"}"}}"#,
            r#"{"index":2,"id":"dup","function":{"name":"list_dir","arguments":"{}"}}"#,
        ],
        &[r#"call dup read_file {"path":"a"}"#, r#"call dup read_file {"path":"b"}"#, "call dup list_dir {}"],
    );
}

#[test]
fn other_arguments_under_a_known_id_and_index_are_undecidable() {
    check_calls(
        &[
            r#"{"index":0,"id":"c1","function":{"name":"x","arguments":"{\"a\":1}"}}"#,
            r#"{"index":0,"id":"c1","function":{"name":"x","arguments":"{\"a\":2}"}}"#,
        ],
        &[
            r#"call c1 x {"a":1}"#,
            r#"rejected c1 x {"a":2}: a complete call got different arguments under the same id"#,
        ],
    );
}

#[test]
fn a_known_id_beats_the_index() {
    check_calls(
        &[
            r#"{"index":0,"id":"c1","function":{"name":"x","arguments":"{\"a\":"}}"#,
            r#"{"index":1,"id":"c2","function":{"name":"y","arguments":"{\"b\":"}}"#,
            r#"{"index":1,"id":"c1","function":{"arguments":"1}"}}"#,
            r#"{"index":7,"id":"c2","function":{"name":"y","arguments":"2"}}"#,
            r#"{"index":7,"function":{"arguments":"}"}}"#,
        ],
        &[r#"call c1 x {"a":1}"#, r#"call c2 y {"b":2}"#],
    );
}

#[test]
fn without_ids_the_index_routes() {
    check_calls(
        &[
            r#"{"index":3,"function":{"name":"x","arguments":"{\"a\":"}}"#,
            r#"{"index":9,"function":{"name":"x","arguments":"{\"b\":"}}"#,
            r#"{"index":3,"function":{"name":"x","arguments":"1}"}}"#,
            r#"{"index":9,"function":{"arguments":"2}"}}"#,
        ],
        &[r#"call  x {"a":1}"#, r#"call  x {"b":2}"#],
    );
}

#[test]
fn without_ids_a_head_after_a_complete_call_opens_another() {
    check_calls(
        &[
            r#"{"index":0,"function":{"name":"x","arguments":"{\"a\":1}"}}"#,
            r#"{"index":0,"function":{"name":"x","arguments":"{\"a\":2}"}}"#,
            r#"{"index":0,"function":{"name":"y","arguments":""}}"#,
            r#"{"index":0,"function":{"arguments":"{}"}}"#,
        ],
        &[r#"call  x {"a":1}"#, r#"call  x {"a":2}"#, "call  y {}"],
    );
}

#[test]
fn without_ids_a_twin_of_a_complete_call_is_undecidable() {
    check_calls(
        &[
            r#"{"index":0,"function":{"name":"x","arguments":"{}"}}"#,
            r#"{"index":0,"function":{"name":"x","arguments":"{}"}}"#,
        ],
        &[
            "call  x {}",
            "rejected x {}: the same call came again without an id, so that a re-send and a second call look alike",
        ],
    );
}

#[test]
fn neither_id_nor_index() {
    check_calls(
        &[
            r#"{"function":{"name":"x"}}"#,
            r#"{"function":{"name":"y","arguments":"{"}}"#,
            r#"{"function":{"arguments":"}"}}"#,
            r#"{"function":{"name":"z","arguments":"{"}}"#,
            r#"{"function":{"name":"w","arguments":"}"}}"#,
        ],
        &[
            "call  x ",
            "call  y {}",
            "call  z {",
            "rejected w }: a different name came while a call was open, and no id or index tells them apart",
        ],
    );
}

#[test]
fn a_late_id_is_adopted() {
    check_calls(
        &[
            r#"{"index":0,"function":{"name":"x","arguments":""}}"#,
            r#"{"index":0,"id":"c1","function":{"name":"x","arguments":"{"}}"#,
            r#"{"index":0,"id":"c1","function":{"arguments":"}"}}"#,
        ],
        &["call c1 x {}"],
    );
}

#[test]
fn nothing_to_continue_is_rejected() {
    check_calls(
        &[
            r#"{"index":0,"function":{"arguments":"{}"}}"#,
            r#"{"id":"c1"}"#,
            r#"{"index":0,"function":{"arguments":""}}"#,
            r#"{"index":0,"id":"c1","function":{"name":"x","arguments":"{}"}}"#,
            r#"{"index":4,"function":{"arguments":"{}"}}"#,
        ],
        &[
            "call c1 x {}",
            "rejected {}: arguments came before any call was opened",
            "rejected c1: an id came without a name",
            "rejected {}: no call was opened on this index",
        ],
    );
}

#[test]
fn huge_negative_and_fractional_indices() {
    check_calls(
        &[
            r#"{"index":18446744073709551615,"id":"c1","function":{"name":"x","arguments":"{"}}"#,
            r#"{"index":99999999999999999999999,"function":{"arguments":"\"a\":"}}"#,
            r#"{"index":-1,"function":{"arguments":"1"}}"#,
            r#"{"index":18446744073709551615,"function":{"arguments":"}"}}"#,
            r#"{"index":1.5,"id":"c2","function":{"name":"y","arguments":"{}"}}"#,
        ],
        &[r#"call c1 x {"a":1}"#, "call c2 y {}"],
    );
}

#[test]
fn stray_closers_stay_with_their_call() {
    check_calls(
        &[
            r#"{"index":0,"id":"c1","function":{"name":"x","arguments":"{}"}}"#,
            r#"{"index":0,"function":{"arguments":"}"}}"#,
            r#"{"index":0,"id":"c1","function":{"name":"x","arguments":"]"}}"#,
        ],
        &["call c1 x {}}]"],
    );
}

#[test]
fn brackets_in_strings_do_not_complete_a_call() {
    check_calls(
        &[
            r#"{"index":0,"function":{"name":"x","arguments":"{\"a\":\"}\\\""}}"#,
            r#"{"index":0,"function":{"name":"x","arguments":"{\"}"}}"#,
        ],
        &[r#"call  x {"a":"}\"{"}"#],
    );
}

#[test]
fn a_number_is_an_id() {
    check_calls(
        &[r#"{"id":1,"function":{"name":"x","arguments":"{"}}"#, r#"{"id":1,"function":{"arguments":"}"}}"#],
        &["call 1 x {}"],
    );
}
