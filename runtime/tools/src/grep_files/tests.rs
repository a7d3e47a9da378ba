//! What the model reads, byte for byte.

use super::*;
use crate::testing::{World, call as run};
use rustix::fs::{CWD, Mode, mkfifoat};
use std::os::unix::fs::symlink;

fn grep(world: &World, input: Value) -> Result<String, ToolError> {
    run(&GrepFiles::new(world.boundary()), input).map(|output| output.content)
}

#[track_caller]
fn check(world: &World, input: Value, expect: &str) {
    assert_eq!(grep(world, input).expect("an answer"), expect);
}

#[track_caller]
fn check_refused(input: Value, expect: &str) {
    let error = grep(&World::new().with("f", "x"), input).expect_err("a refusal").to_string();
    assert!(error.contains(expect), "{error}");
}

fn world() -> World {
    World::new().with("b.rs", "one\ntwo\n").with("a/x.rs", "two\nthree\n").with("a.txt", "two")
}

#[test]
fn lines_are_shown_below_their_files_in_order() {
    check(
        &world(),
        json!({ "pattern": "tw." }),
        "3 matching lines in 3 files (3 searched).\na/x.rs\n     1│ two\na.txt\n     1│ two\nb.rs\n     2│ two",
    );
    check(
        &world(),
        json!({ "pattern": "two", "path": "a", "context_lines": 1 }),
        "1 matching line in 1 file (1 searched).\na/x.rs\n     1│ two\n     2- three",
    );
    check(
        &world(),
        json!({ "pattern": "two", "path": "b.rs" }),
        "1 matching line in 1 file (1 searched).\nb.rs\n     2│ two",
    );
    check(&world(), json!({ "pattern": "TWO" }), "No line matches in 3 searched files.");
    check(
        &world(),
        json!({ "pattern": "TWO", "case_insensitive": true, "include": "*.rs", "exclude": "a/*" }),
        "1 matching line in 1 file (1 searched).\nb.rs\n     2│ two",
    );
    check(
        &world(),
        json!({ "pattern": "t", "mode": "files" }),
        "4 matching lines in 3 files (3 searched).\na/x.rs: 2\na.txt: 1\nb.rs: 1",
    );
}

#[test]
fn a_filter_that_lets_nothing_through_is_told() {
    let answer = grep(&world(), json!({ "pattern": "two", "include": "*.go" })).expect("an answer");
    assert!(answer.contains("[NO FILE] No file there passes include"), "{answer}");
}

#[test]
fn everything_is_counted_before_anything_is_left_out() {
    let world = (0..120).fold(World::new(), |world, n| world.with(&format!("{n:03}"), "x\nx\nx\n"));
    let answer = grep(&world, json!({ "pattern": "x" })).expect("an answer");
    assert!(answer.starts_with("360 matching lines in 120 files (120 searched).\n000\n     1│ x\n"), "{answer}");
    assert_eq!(answer.matches('│').count(), 100);
    assert!(
        answer.ends_with(
            "033\n     1│ x\n[TRUNCATED] The first 100 of 360 matching lines are shown. To see all of them, call grep_files \
             with max_results=360 pattern=\"x\"."
        ),
        "{answer}"
    );
    // The cap at the end of a file is a cap all the same.
    let answer = grep(&world, json!({ "pattern": "x", "max_results": 99 })).expect("an answer");
    assert!(answer.contains("The first 99 of 360 matching lines"), "{answer}");
    let answer = grep(&world, json!({ "pattern": "x", "max_results": 360 })).expect("an answer");
    assert!(answer.matches('│').count() == 360 && !answer.contains("[TRUNCATED]"), "{answer}");
    let answer = grep(&world, json!({ "pattern": "x", "mode": "files", "max_results": 2 })).expect("an answer");
    assert!(answer.contains("\n000: 3\n001: 3\n[TRUNCATED] The first 2 of 120 files are shown."), "{answer}");
}

#[test]
fn an_answer_that_would_be_too_long_is_cut_between_lines() {
    let line = format!("x{}\n", "y".repeat(390));
    let answer = grep(&World::new().with("f", line.repeat(200)), json!({ "pattern": "x", "max_results": 200 }));
    let answer = answer.expect("an answer");
    assert!(answer.len() < ANSWER_BYTES + 600, "{}", answer.len());
    assert!(answer.contains("] The first 81 of 200 matching lines are shown. To see which files they are in, call grep_files with mode=\"files\" pattern=\"x\"; then"), "{answer}");
}

#[test]
fn what_is_not_searched_is_told() {
    let world = World::new()
        .with("a", "x")
        .with("bin", b"x\0\n")
        .with("wide", b"\xff\xfex\0")
        .with("big", vec![b'x'; FILE_BYTES + 1])
        .with("limit", "y\n".repeat(FILE_BYTES / 2))
        .with("long", vec![b'x'; search::MOST_LINE_BYTES + 1]);
    symlink("a", world.path("link")).expect("a link");
    mkfifoat(CWD, world.path("pipe"), Mode::RUSR | Mode::WUSR).expect("a pipe");
    check(
        &world,
        json!({ "pattern": "x" }),
        "1 matching line in 1 file (2 searched).\na\n     1│ x\n\
         [SKIPPED] 1 file: larger than 10 MB, not searched; read them with read_file (big).\n\
         [SKIPPED] 1 file: with a line over 1 MB or too long for this pattern, not searched; read them with read_file (long).\n\
         [SKIPPED] 2 files: binary or UTF-16, not searched (bin, wide).\n\
         [SKIPPED] 1 symbolic link: not followed; pass one as path to look behind it (link).\n\
         [SKIPPED] 1 pipe, socket or device: not opened (pipe).",
    );
}

#[test]
fn nothing_outside_is_searched() {
    let world = World::new().with("a", "CANARY\n").with("../outside/b", "CANARY\n");
    symlink("../outside", world.path("out")).expect("a link");
    symlink("../outside/b", world.path("file")).expect("a link");
    let answer = grep(&world, json!({ "pattern": "CANARY" })).expect("an answer");
    assert!(answer.starts_with("1 matching line in 1 file (1 searched).\na\n"), "{answer}");
    for path in ["out", "file", "..", "../outside", "out/b", "/etc"] {
        let error = grep(&world, json!({ "pattern": "CANARY", "path": path })).expect_err(path);
        assert!(error.to_string().contains("path escapes workspace"), "{error}");
    }
}

#[test]
fn byte_order_marks_and_bytes_that_are_no_text_do_no_harm() {
    let world = World::new().with("a", "\u{feff}fn x\n").with("b", b"caf\xe9 fn x\n");
    check(
        &world,
        json!({ "pattern": "^fn x$|fn x" }),
        "2 matching lines in 2 files (2 searched).\na\n     1│ fn x\nb\n     1│ caf\u{fffd} fn x",
    );
}

#[test]
fn what_cannot_be_searched_for_is_refused_with_the_next_call() {
    check_refused(json!({ "pattern": "foo(" }), "call grep_files with pattern=\"foo(\" literal=true");
    check_refused(json!({ "pattern": "x", "include": "../*" }), "never leads up");
    check_refused(json!({ "pattern": "x", "mode": "all" }), "must be \"lines\" or \"files\"");
    check_refused(json!({ "pattern": "x", "path": "absent" }), "not found: absent");
    check_refused(json!({}), "\"pattern\" is missing");
}

#[test]
fn the_order_is_that_of_the_paths_whatever_the_threads_do() {
    let world = (0..400).fold(World::new(), |world, n| world.with(&format!("{:02}/{n:03}", n % 40), "x\n"));
    let first = grep(&world, json!({ "pattern": "x", "max_results": 150 })).expect("an answer");
    for _ in 0..5 {
        assert_eq!(grep(&world, json!({ "pattern": "x", "max_results": 150 })).expect("an answer"), first);
    }
}

#[test]
fn a_search_nobody_wants_ends() {
    let stop = CancellationToken::new();
    stop.cancel();
    let world = world();
    for path in [".", "b.rs"] {
        let request = Request::of(&json!({ "pattern": "x", "path": path })).expect("a request");
        assert!(matches!(super::grep(&*world.boundary(), &request, &stop), Err(ToolError::Cancelled)));
    }
}
