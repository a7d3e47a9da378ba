use super::*;
use crate::testing::{World, call};
use std::os::unix::fs::PermissionsExt;

/// A project for ruff, whose checker is this script.
fn world(script: &str) -> (World, Diagnostics) {
    let world = World::new().with("web/ruff.toml", "").with("../bin/ruff", format!("#!/bin/sh\n{script}\n"));
    let program = world.path("../bin/ruff");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let folder = program.parent().expect("a folder").to_str().expect("text");
    let path = vec![("PATH".into(), format!("{folder}:/usr/bin:/bin").into())];
    let tool = Diagnostics::new(world.boundary(), path, Vec::new());
    (world, tool)
}

#[track_caller]
fn check(script: &str, input: Value, expect: Result<&str, &str>) {
    let (_world, tool) = world(script);
    let found = call(&tool, input);
    match (&found, expect) {
        (Ok(output), Ok(text)) => assert!(output.content.contains(text), "{found:?}"),
        (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{found:?}"),
        _ => panic!("{found:?} is not {expect:?}"),
    }
}

fn ruff() -> Value {
    json!({ "checker": "ruff check", "path": "web" })
}

#[test]
fn faults_are_listed_whatever_the_exit_code() {
    let found = "ruff check found faults: 1, of which errors: 1\na.py:1:8: F401 unused";
    check("echo 'a.py:1:8: F401 unused'; exit 1", ruff(), Ok(found));
    check("pwd | grep -q web$ && echo 'a.py:1:8: F401 unused' >&2", ruff(), Ok(found));
    check("exit 0", ruff(), Ok("ruff check found nothing."));
}

#[test]
fn a_checker_that_does_not_check_is_told() {
    check("echo broken configuration; exit 2", ruff(), Ok("ruff check did not get to check:\nbroken configuration"));
    check("exit 127", ruff(), Err("its program was not found"));
}

#[test]
fn the_checker_must_be_the_one_of_the_project() {
    let other = json!({ "checker": "cargo check", "path": "web" });
    check(
        "exit 0",
        other,
        Err("\"web\" has no Cargo.toml; nothing was run. What lies there is a project for \"ruff check\""),
    );
    check("exit 0", json!({ "checker": "tsc" }), Err("Pass the folder of a project as path"));
    check("exit 0", json!({ "checker": "ruff check", "path": "../bin" }), Err("nothing was run"));
}

#[test]
fn no_input_adds_a_word_to_the_command() {
    let (_world, tool) = world("exit 0");
    for input in [
        json!({}),
        json!({ "checker": "cargo check --config x" }),
        json!({ "checker": "rm -rf ." }),
        json!({ "checker": "tsc", "path": "a\0b" }),
    ] {
        assert!(tool.validate_input(&input).is_err(), "{input}");
    }
    assert!(tool.validate_input(&ruff()).is_ok());
}

#[test]
fn a_person_is_told_the_command_that_runs() {
    let (_world, tool) = world("exit 0");
    let assessment = tool.assess_input(&ruff()).expect("one");
    assert_eq!(assessment.level, ApprovalRequirement::Required);
    assert_eq!(assessment.prompt.lines()[0], "command: ruff check --output-format concise .");
    // A checker that is named by a name of the deny rules is found by it.
    for checker in &CHECKERS {
        assert!(checker.command.contains(checker.name));
    }
}
