//! What the model reads, byte for byte.

use super::*;
use crate::testing::{World, call};
use rustix::fs::{CWD, Mode, mkfifoat};
use slot_runtime::contract::ToolSpec;
use std::fs;

fn read(world: &World, input: Value) -> Result<String, ToolError> {
    let tool = ReadFile::new(world.boundary());
    if let Err(fault) = tool.validate_input(&input) {
        return Err(invalid(fault));
    }
    call(&tool, input).map(|output| {
        assert!(!output.is_error);
        output.content
    })
}

#[track_caller]
fn check(world: &World, input: Value, expect: &str) {
    assert_eq!(read(world, input).expect("a page"), expect);
}

#[track_caller]
fn check_refused(world: &World, input: Value, expect: &str) {
    let error = read(world, input).expect_err("a refusal").to_string();
    assert!(error.contains(expect), "{error}");
}

fn lines(range: std::ops::RangeInclusive<u64>) -> String {
    range.map(|n| format!("line {n}\n")).collect()
}

fn numbered(range: std::ops::RangeInclusive<u64>) -> String {
    range.map(|n| format!("{n:>6}│ line {n}\n")).collect()
}

#[test]
fn a_small_file_comes_back_as_it_is() {
    for content in ["a\n", "no newline", "crlf\r\n", "   1│ not a number\n", "</file>\n", &lines(1..=200)] {
        check(&World::new().with("f", content), json!({ "path": "f" }), content);
    }
    let full = format!("{}\n", "x".repeat(PAGE_BYTES - 1));
    check(&World::new().with("f", &full), json!({ "path": "f" }), &full);
}

#[test]
fn a_range_is_numbered_however_small_the_file() {
    let world = World::new().with("f", lines(1..=10));
    check(
        &world,
        json!({ "path": "f", "start_line": 3, "max_lines": 4 }),
        &format!(
            "<file path=\"f\" total_lines=\"10\" shown_lines=\"3-6\" truncated=\"true\" next_start_line=\"7\">\n{}\n\
             [TRUNCATED] Showing lines 3-6 of 10. To continue, call read_file with path=\"f\" start_line=7 max_lines=4\n\
             </file>",
            numbered(3..=6)
        ),
    );
    check(
        &world,
        json!({ "path": "f", "start_line": 9.0 }),
        &format!(
            "<file path=\"f\" total_lines=\"10\" shown_lines=\"9-10\" truncated=\"false\">\n{}</file>",
            numbered(9..=10)
        ),
    );
}

#[test]
fn a_long_file_is_paged_by_default() {
    let world = World::new().with("f", lines(1..=250));
    check(
        &world,
        json!({ "path": "f" }),
        &format!(
            "<file path=\"f\" total_lines=\"250\" shown_lines=\"1-200\" truncated=\"true\" next_start_line=\"201\">\n{}\n\
             [TRUNCATED] Showing lines 1-200 of 250. To continue, call read_file with path=\"f\" start_line=201 \
             max_lines=200\n</file>",
            numbered(1..=200)
        ),
    );
}

#[test]
fn more_than_five_hundred_lines_are_never_shown() {
    let page =
        read(&World::new().with("f", lines(1..=600)), json!({ "path": "f", "max_lines": 5000 })).expect("a page");
    assert!(page.contains("shown_lines=\"1-500\""), "{page}");
    assert!(page.ends_with("start_line=501 max_lines=500\n</file>"), "{page}");
}

#[test]
fn past_the_end_is_an_answer() {
    check(
        &World::new().with("f", "a\nb\nc\n"),
        json!({ "path": "f", "start_line": 99, "max_lines": 5 }),
        "<file path=\"f\" total_lines=\"3\" shown_lines=\"none\" truncated=\"false\">\n\n\
         [NO CONTENT] start_line 99 is beyond the last line, which is 3.\n</file>",
    );
    check(
        &World::new().with("f", ""),
        json!({ "path": "f" }),
        "<file path=\"f\" total_lines=\"0\" shown_lines=\"none\" truncated=\"false\">\n\n\
         [NO CONTENT] The file is empty.\n</file>",
    );
}

#[test]
fn when_the_byte_cap_cuts_the_notice_names_the_line_after_the_last_shown() {
    // Lines of 1024 bytes with their newline: sixteen fill a page.
    let content = format!("{}\n", "x".repeat(1023)).repeat(20);
    let page = read(&World::new().with("f", content), json!({ "path": "f" })).expect("a page");
    assert!(page.contains("shown_lines=\"1-16\" truncated=\"true\" next_start_line=\"17\""), "{page}");
    assert!(
        page.ends_with(
            "[TRUNCATED] Showing lines 1-16 of 20 (a page holds 16 KiB). To continue, call read_file with path=\"f\" \
             start_line=17 max_lines=200\n</file>"
        ),
        "{page}"
    );
}

#[test]
fn a_line_longer_than_a_page_can_be_read_to_its_end() {
    let content = format!("{}END", "x".repeat(40_000));
    let world = World::new().with("f", &content);
    let first = read(&world, json!({ "path": "f" })).expect("a page");
    assert!(first.contains("next_start_line=\"1\" next_start_byte=\"16383\""), "{first}");
    assert!(first.ends_with("start_line=1 start_byte=16383 max_lines=200\n</file>"), "{first}");
    let last = read(&world, json!({ "path": "f", "start_line": 1, "start_byte": 32766 })).expect("a page");
    assert!(last.contains("     1│ xxx") && last.contains("xxxEND\n\n[The last line has no newline"), "{last}");
    check_refused(&world, json!({ "path": "f", "start_line": 1, "start_byte": 50000 }), "has only 40003 bytes");
}

/// Follows the notices, as a model would, and puts the file together again from what it reads.
fn follow(world: &World, mut input: Value) -> String {
    let mut joined = String::new();
    for _ in 0..1000 {
        let page = read(world, input.clone()).expect("a page");
        let (_, body) = page.split_once(">\n").expect("a header");
        let mut open_line = String::new();
        for row in body.lines().take_while(|row| row.contains('│')) {
            joined.push_str(&open_line);
            joined.push_str(row.split_once("│ ").expect("a number").1);
            open_line = "\n".to_owned();
        }
        let Some((_, call)) = page.split_once("call read_file with ") else {
            if !page.contains("no newline at its end") {
                joined.push('\n');
            }
            return joined;
        };
        let mut next = serde_json::Map::new();
        for pair in call.lines().next().expect("a line").split(' ') {
            let (name, value) = pair.split_once('=').expect("a parameter");
            next.insert(name.to_owned(), serde_json::from_str(value).expect("a JSON value"));
        }
        if !next.contains_key("start_byte") {
            joined.push('\n');
        }
        input = Value::Object(next);
    }
    panic!("the notices never ended");
}

#[test]
fn following_the_notices_word_for_word_reads_the_whole_file() {
    let long = "ü".repeat(30_000);
    for content in [lines(1..=1234), format!("a\n{long}\nb\n{long}"), format!("{}\n", "y".repeat(700)).repeat(100)] {
        let world = World::new().with("some\"dir/f\\x", &content);
        assert!(follow(&world, json!({ "path": "some\"dir/f\\x" })) == content);
        assert!(follow(&world, json!({ "path": "some\"dir/f\\x", "max_lines": 7 })) == content);
    }
}

#[test]
fn a_path_cannot_break_out_of_its_attribute() {
    let page = read(&World::new().with("a\"><b>&\n", ""), json!({ "path": "a\"><b>&\n" })).expect("a page");
    assert!(page.starts_with("<file path=\"a&quot;&gt;&lt;b&gt;&amp;&#10;\" total"), "{page}");
}

#[test]
fn a_byte_order_mark_is_hidden_and_crlf_is_told() {
    let world = World::new().with("f", "\u{feff}import sys\r\n");
    check(&world, json!({ "path": "f" }), "import sys\r\n");
    check(
        &world,
        json!({ "path": "f", "start_line": 1 }),
        "<file path=\"f\" total_lines=\"1\" shown_lines=\"1-1\" truncated=\"false\" byte_order_mark=\"hidden\" \
         line_endings=\"crlf\">\n     1│ import sys\r\n</file>",
    );
}

#[test]
fn what_is_not_utf8_is_shown_with_a_warning() {
    let page = read(&World::new().with("f", b"caf\xe9\n"), json!({ "path": "f" })).expect("a page");
    assert!(page.contains("     1│ caf\u{fffd}\n\n[NOT UTF-8] "), "{page}");
}

#[test]
fn binary_and_wide_files_are_refused_with_a_way_to_look() {
    check_refused(&World::new().with("f", b"\x7fELF\0\0\0"), json!({ "path": "f" }), "f is a binary file (7 bytes)");
    check_refused(&World::new().with("f", b"\xff\xfea\0b\0"), json!({ "path": "f" }), "iconv -f UTF-16LE -t UTF-8");
    check_refused(&World::new().with("f", b"\xfe\xff\0a"), json!({ "path": "f" }), "UTF-16BE");
    // The page decides: a text with a NUL somewhere else can be read around it.
    let world = World::new().with("f", format!("{}\0\n", lines(1..=300)));
    assert!(read(&world, json!({ "path": "f" })).is_ok());
    check_refused(&world, json!({ "path": "f", "start_line": 299 }), "is a binary file");
}

#[test]
fn wrong_numbers_are_refused_before_anybody_is_asked() {
    let world = World::new().with("f", "a");
    for field in ["start_line", "max_lines"] {
        for wrong in [json!(0), json!(-1), json!("1200"), json!(1.5)] {
            check_refused(&world, json!({ "path": "f", field: wrong }), "must be a whole number of at least 1");
        }
    }
    check_refused(&world, json!({ "path": "f", "start_byte": 5 }), "pass start_line with it");
    check_refused(&world, json!({}), "the field \"path\" is missing");
}

#[test]
fn a_refusal_is_the_boundarys_own() {
    let world = World::new().with("d/f", "");
    mkfifoat(CWD, world.path("pipe"), Mode::RUSR | Mode::WUSR).expect("a pipe");
    check_refused(&world, json!({ "path": "../x" }), "path escapes workspace: ../x.");
    check_refused(&world, json!({ "path": "absent" }), "not found: absent.");
    check_refused(&world, json!({ "path": "d" }), "not a file: d is a folder.");
    check_refused(&world, json!({ "path": "pipe" }), "not a file: pipe is a named pipe.");
}

#[test]
fn the_first_page_of_a_huge_file_gives_a_lower_bound() {
    let world = World::new().with("f", lines(1..=300));
    let file = fs::OpenOptions::new().write(true).open(world.path("f")).expect("the file");
    file.set_len(10 << 30).expect("a hole");
    let page = read(&world, json!({ "path": "f" })).expect("a page");
    assert!(page.contains("total_lines=\"201+\" shown_lines=\"1-200\""), "{page}");
    assert!(page.contains("[TRUNCATED] Showing lines 1-200 of at least 201. To continue"), "{page}");
}
