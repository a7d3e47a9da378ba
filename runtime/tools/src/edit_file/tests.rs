//! What the model reads, byte for byte, and what is on the disk afterwards.

use super::*;
use crate::testing::{World, call};
use slot_runtime::contract::ToolSpec;
use std::fs;

fn edit(world: &World, input: Value) -> Result<String, String> {
    let tool = EditFile::new(world.boundary());
    tool.validate_input(&input).map_err(|fault| fault.message)?;
    let output = call(&tool, input).map_err(|error| error.to_string())?;
    assert!(!output.is_error);
    Ok(output.content)
}

/// One search on a file `f`: what it holds afterwards and what was said.
#[track_caller]
fn check(file: &str, input: Value, expect: &str, said: &str) {
    let world = World::new().with("f", file);
    let mut input = input;
    input["path"] = json!("f");
    let answer = edit(&world, input).expect("an edit");
    assert_eq!(fs::read_to_string(world.path("f")).expect("text"), expect);
    assert_eq!(answer, said);
}

/// What is refused with these words leaves the file as it was.
#[track_caller]
fn check_refused(file: &str, input: Value, said: &str) {
    let world = World::new().with("f", file);
    let mut input = input;
    input["path"] = json!("f");
    let answer = edit(&world, input).expect_err("a refusal");
    assert_eq!(fs::read_to_string(world.path("f")).expect("text"), file);
    assert_eq!(answer, said);
}

#[test]
fn an_edit_shows_what_it_changed() {
    check(
        "a\nb\nc\n",
        json!({ "search": "b", "replace": "B" }),
        "a\nB\nc\n",
        "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\nReplaced 1 occurrence in f, line 2.",
    );
    check("a b", json!({ "search": "a b", "replace": "" }), "", {
        "@@ -1,1 +0,0 @@\n-a b\n\\ No newline at end of file\nReplaced 1 occurrence in f, line 1."
    });
}

#[test]
fn several_places_are_counted_and_named() {
    let file = "x\ny\nx\n";
    check_refused(
        file,
        json!({ "search": "x", "replace": "z" }),
        "Search string matched 2 locations in f (lines 1, 3); pass replace_all=true to replace every occurrence, or \
         occurrence=N (1..=2) to replace a specific one, or quote more lines in search. Nothing was changed.",
    );
    check(
        file,
        json!({ "search": "x", "replace": "z", "occurrence": 2 }),
        "x\ny\nz\n",
        "@@ -1,3 +1,3 @@\n x\n y\n-x\n+z\nReplaced occurrence 2 of 2 in f, line 3.",
    );
    check(
        file,
        json!({ "search": "x", "replace": "z", "replace_all": true }),
        "z\ny\nz\n",
        "@@ -1,3 +1,3 @@\n-x\n+z\n y\n-x\n+z\nReplaced 2 occurrences in f, lines 1-3.",
    );
    check_refused(
        file,
        json!({ "search": "x", "replace": "z", "occurrence": 4 }),
        "occurrence 4 is out of range: search string matched 2 locations in f (lines 1, 3). Nothing was changed; pass an \
         occurrence of 1..=2.",
    );
}

#[test]
fn a_search_that_is_nowhere_is_answered_with_what_resembles_it() {
    check_refused(
        "fn a() {\n\tlet x = 1;\n\tlet y = 2;\n\treturn;\n}\n",
        json!({ "search": "fn a() {\n\tlet x = 1;\n\tlet y = 99;\n\treturn;\n}", "replace": "fn a() {}" }),
        "Search string not found in f. The closest block begins on line 1; line 3 differs: search has \"\\tlet y = 99;\", \
         the file has \"\\tlet y = 2;\". Nothing was changed. Call read_file with path=\"f\" and copy the present text \
         verbatim into search.",
    );
    check_refused(
        "a\n",
        json!({ "search": "b", "replace": "c" }),
        "Search string not found in f. Nothing was changed. Call read_file with path=\"f\" and copy the present text \
         verbatim into search.",
    );
    check_refused(
        "",
        json!({ "search": "b", "replace": "c" }),
        "Search string not found in f: the file is empty. Write it with write_file.",
    );
    check_refused(
        "a\n\u{fffd}\n",
        json!({ "search": "a\u{fffd}", "replace": "c" }),
        "Search string not found in f. The sign \u{fffd} in search stands for bytes that are not UTF-8; quote text without \
         it. Nothing was changed. Call read_file with path=\"f\" and copy the present text verbatim into search.",
    );
    check_refused(
        &format!("{}a\nb", "\n".repeat(20)),
        json!({ "search": "a\nb\nc", "replace": "c" }),
        "Search string not found in f. The closest block begins on line 21; search goes on with \"c\", where the file ends. \
         Nothing was changed. Call read_file with path=\"f\" start_line=16 and copy the present text verbatim into search.",
    );
}

#[test]
fn line_numbers_of_other_lines_are_named_as_the_reason() {
    check_refused(
        "a\nb\n",
        json!({ "search": "     7│ a\n     8│ b", "replace": "c" }),
        "Search string not found in f. The closest block begins on line 1, and has the same lines. The lines of search begin with line \
         numbers, which are not part of the file and not those of these lines; leave them out. Nothing was changed. Call read_file with path=\"f\" and copy the present text verbatim into search.",
    );
    check_refused(
        "a \nb\n",
        json!({ "search": "a\nb", "replace": "c" }),
        "Search string not found in f. The closest block begins on line 1; line 1 differs: search has \"a\", the file has \"a \". \
         Nothing was changed. Call read_file with path=\"f\" and copy the present text verbatim into search.",
    );
}

#[test]
fn the_result_names_the_target_of_a_link() {
    let world = World::new().with("real.txt", "a");
    std::os::unix::fs::symlink("real.txt", world.path("link.txt")).expect("a link");
    let answer = edit(&world, json!({ "path": "link.txt", "search": "a", "replace": "b" })).expect("an edit");
    assert!(answer.ends_with("Replaced 1 occurrence in real.txt, line 1."), "{answer}");
}

#[test]
fn what_was_tolerated_is_told() {
    check(
        "\tf(\n\t\tx);\n",
        json!({ "search": "f(\n    x);", "replace": "g(\n    x);" }),
        "\tg(\n    x);\n",
        "@@ -1,2 +1,2 @@\n-\tf(\n-\t\tx);\n+\tg(\n+    x);\nReplaced 1 occurrence in f, lines 1-2 (fuzzy indentation \
         match).\n[TOLERATED] The indentation of search is not that of the file; replace was written with the indentation \
         you sent. Check it in the diff.",
    );
    check(
        "“a”\n",
        json!({ "search": "\"a\"", "replace": "\"b\"" }),
        "\"b\"\n",
        "@@ -1,1 +1,1 @@\n-“a”\n+\"b\"\nReplaced 1 occurrence in f, line 1 (fuzzy punctuation match).\n[TOLERATED] The \
         quotes, dashes or blanks of search are not the characters of the file, which has typographic ones where you sent \
         plain ones, or the other way round; replace was written with the characters you sent.",
    );
    let numbers = |taken: &str| {
        format!(
            "@@ -1,1 +1,1 @@\n-a\n+b\nReplaced 1 occurrence in f, line 1 (fuzzy line-number match).\n[TOLERATED] Line \
             numbers, which are not part of the file, were taken from {taken}. Leave them out next time."
        )
    };
    let sent = numbers("search; replace was written as sent");
    check("a\n", json!({ "search": "     1│ a", "replace": "b" }), "b\n", &sent);
    let both = numbers("search and from replace");
    check("a\n", json!({ "search": "     1│ a", "replace": "     1│ b" }), "b\n", &both);
    check(
        "a\r\nb\r\n",
        json!({ "search": "a\nb", "replace": "c\nd" }),
        "c\r\nd\r\n",
        "@@ -1,2 +1,2 @@\n-a\n-b\n+c\n+d\nReplaced 1 occurrence in f, lines 1-2.\n[LINE ENDINGS] These lines end in CRLF; \
         the newlines of replace were written as CRLF.",
    );
}

#[test]
fn what_is_tolerated_must_be_in_one_place() {
    check_refused(
        "\ta\n  a\n",
        json!({ "search": "    a\n", "replace": "b\n" }),
        "Search string not found in f as sent; with indentation set aside it matched 2 locations (lines 1, 2), and which \
         one is meant is not guessed. Nothing was changed. Call read_file with path=\"f\" and copy the text verbatim into \
         search.",
    );
}

#[test]
fn a_long_range_is_named_by_its_ends() {
    let body: String = (0..60).map(|n| format!("{n}\n")).collect();
    let file = format!("head\n<\n{body}>\ntail\n");
    let world = World::new().with("f", &file);
    let anchors = json!({ "path": "f", "search_start": "<\n", "search_end": ">\n", "replace": "new\n" });
    let answer = edit(&world, anchors).expect("an edit");
    assert_eq!(fs::read_to_string(world.path("f")).expect("text"), "head\nnew\ntail\n");
    assert!(answer.ends_with("\nReplaced lines 2-63 of f (start/end anchor match)."), "{answer}");
    assert!(answer.contains("-[… 22 lines not shown]\n"), "{answer}");
    check_refused(
        "<\n<\n>",
        json!({ "search_start": "<", "search_end": ">", "replace": "" }),
        "search_start matched 2 locations in f (lines 1, 2). Nothing was changed; add more lines to search_start to make it \
         unique.",
    );
    check_refused(
        ">\n<\n",
        json!({ "search_start": "<", "search_end": ">", "replace": "" }),
        "search_end not found after search_start in f; search_start is on line 2. Nothing was changed. Call read_file with \
         path=\"f\" and copy the last lines of the range verbatim into search_end.",
    );
    check_refused(
        "  <\n",
        json!({ "search_start": "<x", "search_end": ">", "replace": "" }),
        "search_start not found in f; it is matched exactly. Nothing was changed. Call read_file with path=\"f\" and copy \
         its first lines verbatim into search_start.",
    );
}

#[test]
fn an_input_that_means_nothing_is_refused_before_anybody_is_asked() {
    let empty = "search is empty, and an empty text is everywhere: quote the text to replace; to insert, quote the line \
                 beside the place and send it again in replace";
    let neither = "pass search_start and search_end together, or neither (use search to quote all of the present text)";
    let both = "pass either search or search_start and search_end, not both";
    let alone = "search_start names one place by itself: leave occurrence and replace_all out, or pass search";
    let least = "the field \"occurrence\" must be a whole number of at least 1";
    let file = "a := \"foo\"\n";
    check_refused(file, json!({ "search": "", "replace": "x" }), empty);
    check_refused(file, json!({ "search": "", "replace": "x", "replace_all": true }), empty);
    check_refused(
        file,
        json!({ "search": "foo", "replace": "foo" }),
        "search and replace are identical, so nothing would change: send the new text in replace",
    );
    for wrong in [json!(0), json!(-1), json!("two"), json!(1.5)] {
        check_refused(file, json!({ "search": "a", "replace": "x", "occurrence": wrong }), least);
    }
    check_refused(
        file,
        json!({ "search": "a", "replace": "x", "occurrence": 1, "replace_all": true }),
        "pass either replace_all=true or occurrence, not both",
    );
    check_refused(file, json!({ "search_start": "a", "replace": "x" }), neither);
    check_refused(file, json!({ "search": "a", "search_end": "a", "replace": "x" }), neither);
    check_refused(file, json!({ "search": "a", "search_start": "a", "search_end": "a", "replace": "x" }), both);
    check_refused(file, json!({ "search_start": "a", "search_end": "o", "replace": "x", "occurrence": 1 }), alone);
    check_refused(file, json!({ "search_start": "a", "search_end": "o", "replace": "x", "replace_all": true }), alone);
    check_refused(
        file,
        json!({ "search_start": "", "search_end": "o", "replace": "x" }),
        "search_start is empty: quote a whole line of the file in it",
    );
    check_refused(
        file,
        json!({ "replace": "x" }),
        "the field \"search\" is missing: it is the present text that is to be replaced; for a long range pass search_start \
         and search_end in its place",
    );
    check_refused(file, json!({ "search": "a" }), "the field \"replace\" is missing; it is a string");
    check_refused(
        file,
        json!({ "search": "a", "replace": "x", "replace_all": "yes" }),
        "the field \"replace_all\" must be true or false",
    );
}

#[test]
fn false_flags_choose_nothing() {
    check(
        "a\n",
        json!({ "search": "a", "replace": "b", "occurrence": 1, "replace_all": false }),
        "b\n",
        "@@ -1,1 +1,1 @@\n-a\n+b\nReplaced 1 occurrence in f, line 1.",
    );
}

#[test]
fn a_place_that_reads_so_already_is_not_written() {
    let world = World::new().with("f", "\"a\"\n");
    let before = fs::metadata(world.path("f")).expect("it exists").modified().expect("a time");
    let answer = edit(&world, json!({ "path": "f", "search": "“a”", "replace": "\"a\"" })).expect("an answer");
    assert_eq!(
        answer,
        "f was not changed: line 1 reads as replace says already. Go on with the task, or read the file again if you \
         expected another text there."
    );
    assert_eq!(fs::metadata(world.path("f")).expect("it exists").modified().expect("a time"), before);
}

#[test]
fn a_byte_order_mark_stays() {
    check(
        "\u{feff}import os\n",
        json!({ "search": "import os", "replace": "import sys" }),
        "\u{feff}import sys\n",
        "@@ -1,1 +1,1 @@\n-\u{feff}import os\n+\u{feff}import sys\nReplaced 1 occurrence in f, line 1.",
    );
}

#[test]
fn a_replacement_is_no_pattern_and_no_prose() {
    for new in ["log(\"$& $$ $` $' $1 ${x} \\1 \\n\");", "re = /^[\"'(]+/", "“curly” — …"] {
        let world = World::new().with("f", "pre\nlog(\"done\");\npost");
        edit(&world, json!({ "path": "f", "search": "log(\"done\");", "replace": new })).expect("an edit");
        assert_eq!(fs::read_to_string(world.path("f")).expect("text"), format!("pre\n{new}\npost"));
    }
}

#[test]
fn text_in_another_encoding_keeps_its_bytes() {
    let world = World::new().with("f", b"caf\xe9 = 1\n");
    let answer = edit(&world, json!({ "path": "f", "search": "= 1", "replace": "= 2 // ü" })).expect("an edit");
    assert_eq!(fs::read(world.path("f")).expect("bytes"), b"caf\xe9 = 2 // \xc3\xbc\n");
    assert!(answer.contains("[NOT UTF-8]"), "{answer}");
    let answer = edit(&world, json!({ "path": "f", "search": "= 2", "replace": "= 3" })).expect("an edit");
    assert!(!answer.contains("[NOT UTF-8]"), "{answer}");
}

#[test]
fn what_is_no_text_is_refused() {
    let world = World::new().with("f", b"a\0b");
    let error = edit(&world, json!({ "path": "f", "search": "a", "replace": "b" })).expect_err("a refusal");
    assert!(error.starts_with("f is not UTF-8 text: it contains NUL bytes"), "{error}");
    assert_eq!(fs::read(world.path("f")).expect("bytes"), b"a\0b");
}

#[test]
fn a_file_that_would_grow_too_large_is_refused() {
    let world = World::new().with("f", "a".repeat(10_000));
    let input = json!({ "path": "f", "search": "a", "replace": "b".repeat(7_000), "replace_all": true });
    let error = edit(&world, input).expect_err("a refusal");
    assert!(error.starts_with("f would have 70000000 bytes"), "{error}");
    assert_eq!(fs::read(world.path("f")).expect("bytes").len(), 10_000);
}

#[test]
fn the_boundary_refuses_in_its_own_words() {
    let world = World::new().with("d/f", "");
    for (path, said) in [("../x", "path escapes workspace: ../x."), ("no", "not found: no"), ("d", "not a file: d is")]
    {
        let error = edit(&world, json!({ "path": path, "search": "a", "replace": "b" })).expect_err("a refusal");
        assert!(error.starts_with(said), "{error}");
    }
}

#[test]
fn an_edit_keeps_the_mode() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new().with("f", "a");
    fs::set_permissions(world.path("f"), fs::Permissions::from_mode(0o751)).expect("the test owns it");
    edit(&world, json!({ "path": "f", "search": "a", "replace": "b" })).expect("an edit");
    assert_eq!(fs::metadata(world.path("f")).expect("it exists").permissions().mode() & 0o777, 0o751);
}
