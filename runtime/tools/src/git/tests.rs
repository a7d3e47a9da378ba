mod hostile;

use super::*;
use crate::testing::{World, call, commit, inherited, plain, repository};
use serde_json::json;
use std::{fs, path::Path, process::Command};

fn run(world: &World, tool: &str, input: Value) -> Result<ToolOutput, ToolError> {
    let tools = tools(&Arc::new(Git::new(world.boundary(), &inherited())));
    let tool = tools.iter().find(|found| found.name() == tool).expect("there is such a tool");
    tool.validate_input(&input).map_err(|fault| ToolError::InvalidInput(fault.message))?;
    call(tool.as_ref(), input)
}

#[track_caller]
fn check(world: &World, tool: &str, input: Value, expect: &str) {
    assert_eq!(run(world, tool, input).map(|output| output.content), Ok(expect.to_owned()));
}

#[track_caller]
fn check_refused(world: &World, tool: &str, input: Value, expect: &str) {
    let error = run(world, tool, input).expect_err("a refusal").to_string();
    assert!(error.contains(expect), "{error}");
}

#[test]
fn status_names_the_branch_and_every_change() {
    let world = repository();
    check(&world, "git_status", json!({}), "## main\n[No changes.]");
    let world = world.with("a.txt", "one\n2\n").with("new/x\ny", "").with("new/z", "");
    check(&world, "git_status", json!({}), "## main\n M a.txt\n?? new/");
    check(&world, "git_status", json!({ "all_untracked": true }), "## main\n M a.txt\n?? \"new/x\\ny\"\n?? new/z");
    check(&world, "git_status", json!({ "path": "new/z" }), "## main\n?? new/z");
    check(&world, "git_status", json!({ "path": "./d/../a.txt" }), "## main\n M a.txt");
    fs::write(world.path(".git/MERGE_HEAD"), "").expect("a file");
    check(&world, "git_status", json!({ "path": "d" }), "## main\n[No changes.]\n[A merge is under way.]");
}

#[test]
fn a_repository_is_found_from_below_and_never_above_the_workspace() {
    let world = World::new().with("sub/inner/a", "1").with("b", "");
    plain(&world.path("sub"), &["init", "-q", "-b", "main"]);
    check(&world, "git_status", json!({ "path": "sub/inner" }), "## No commits yet on main\n?? inner/");
    check(&world, "git_status", json!({ "path": "sub/gone/x" }), "## No commits yet on main\n[No changes.]");
    check_refused(&world, "git_status", json!({ "path": "b" }), "there is no git repository here");
    let above = World::new().with("x", "");
    plain(above.path("").parent().expect("a folder"), &["init", "-q"]);
    check_refused(&above, "git_status", json!({}), "there is no git repository here");
}

#[test]
fn a_diff_is_of_the_files_the_index_or_revisions() {
    let world = repository();
    check(
        &world,
        "git_diff",
        json!({}),
        "[No difference between the files and the index. What is staged is shown by staged: true, and untracked files by git_status.]",
    );
    let world = world.with("a.txt", "one\n2\n");
    let change = "@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
    let shown = |input| run(&world, "git_diff", input).expect("an answer").content;
    assert!(shown(json!({})).ends_with(change));
    assert!(shown(json!({ "from": "HEAD", "path": "a.txt" })).ends_with(change));
    assert_eq!(shown(json!({ "stat": true })), " a.txt | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n");
    assert_eq!(shown(json!({ "staged": true })), "[Nothing is staged.]");
    assert_eq!(shown(json!({ "path": "d" })).lines().count(), 1);
    commit(&world, "second");
    assert!(shown(json!({ "from": "HEAD~1", "to": "HEAD" })).ends_with(change));
    assert!(shown(json!({ "from": "HEAD", "to": "HEAD~1", "context": 0 })).ends_with("@@ -2 +2 @@ one\n-2\n+two\n"));
    check_refused(&world, "git_diff", json!({ "to": "HEAD" }), "goes with `from`");
    check_refused(&world, "git_diff", json!({ "from": "nope" }), "there is no revision \"nope\"");
}

#[test]
fn a_log_is_narrowed_down_and_paged() {
    let world = repository();
    plain(&world.path(""), &["tag", "v1"]);
    let world = world.with("a.txt", "x");
    commit(&world, "second [fix]");
    let shown = |input| run(&world, "git_log", input).expect("an answer").content;
    let subjects = |input| -> Vec<String> {
        shown(input)
            .lines()
            .map(|line| line.split_once(" 2023-11-14 Ann: ").map_or(line, |(_, rest)| rest).to_owned())
            .collect()
    };
    assert_eq!(subjects(json!({})), ["second [fix] (HEAD -> main)", "first (tag: v1)"]);
    assert_eq!(subjects(json!({ "path": "d" })), ["first (tag: v1)"]);
    assert_eq!(subjects(json!({ "rev": "v1..HEAD" })), ["second [fix] (HEAD -> main)"]);
    assert_eq!(subjects(json!({ "message": "[FIX]" })), ["second [fix] (HEAD -> main)"]);
    assert_eq!(subjects(json!({ "author": "nobody" })), ["[No commit is like that.]"]);
    assert_eq!(
        subjects(json!({ "max_count": 1 })),
        ["second [fix] (HEAD -> main)", "[There are older ones: pass skip: 1 to see them.]"]
    );
    check_refused(&world, "git_log", json!({ "rev": "nope" }), "bad revision 'nope'");
}

#[test]
fn a_commit_and_an_old_file_are_shown() {
    let world = repository().with("a.txt", "one\n").with("bin", "\0");
    commit(&world, "second\n\nwith a body");
    let shown = |input| run(&world, "git_show", input).expect("an answer").content;
    let whole = shown(json!({ "rev": "HEAD", "path": "a.txt" }));
    let (head, rest) =
        whole.split_once("\nAuthor: Ann <ann@example>\nDate: 2023-11-14 23:13:20 +0100\n").expect("a head");
    assert!(
        head.starts_with("commit ") && rest.starts_with("Refs: (HEAD -> main)\n\nsecond\n\nwith a body\n"),
        "{whole}"
    );
    assert!(rest.ends_with("@@ -1,2 +1 @@\n one\n-two\n"), "{whole}");
    assert_eq!(shown(json!({ "rev": "HEAD~1:a.txt" })), "one\ntwo\n");
    assert_eq!(shown(json!({ "rev": "HEAD:bin" })), "[HEAD:bin is no text.]");
    assert!(shown(json!({ "rev": "HEAD", "stat": true })).contains(" 2 files changed"));
    check_refused(&world, "git_show", json!({ "rev": "HEAD:nope" }), "there is no revision \"HEAD:nope\"");
}

#[test]
fn each_line_has_its_commit() {
    let world = repository();
    let hash = plain(&world.path(""), &["rev-parse", "HEAD"])[..10].to_owned();
    let world = world.with("a.txt", "one\nthree\n");
    let both = format!("{hash} 2023-11-14 Ann 1| one\n---------- not committed 2| three");
    check(&world, "git_blame", json!({ "path": "a.txt" }), &both);
    check(
        &world,
        "git_blame",
        json!({ "path": "a.txt", "rev": "HEAD", "start_line": 2 }),
        &format!("{hash} 2023-11-14 Ann 2| two"),
    );
    check_refused(&world, "git_blame", json!({ "path": "a.txt", "start_line": 9 }), "has only 2 lines");
    check_refused(&world, "git_blame", json!({ "path": "d" }), "is a folder");
    check_refused(&world, "git_blame", json!({ "path": "a.txt", "end_line": 5000 }), "are not 1 to 1000 lines");
}

#[test]
fn a_repository_without_commits_is_told() {
    let world = World::new().with("a", "x");
    plain(&world.path(""), &["init", "-q", "-b", "main"]);
    check(&world, "git_status", json!({}), "## No commits yet on main\n?? a");
    check_refused(&world, "git_log", json!({}), "no commits yet");
    check_refused(&world, "git_show", json!({ "rev": "HEAD" }), "no commits yet");
    check_refused(&world, "git_blame", json!({ "path": "a" }), "no commits yet");
    check(&world, "git_diff", json!({ "staged": true }), "[Nothing is staged.]");
}

#[test]
fn a_linked_set_of_files_inside_the_workspace_works() {
    let world = World::new().with("main/a.txt", "one\n");
    plain(&world.path("main"), &["init", "-q", "-b", "main"]);
    plain(&world.path("main"), &["add", "."]);
    plain(&world.path("main"), &["commit", "-q", "-m", "first"]);
    plain(&world.path("main"), &["worktree", "add", "-q", "-b", "side", "../linked"]);
    let world = world.with("linked/a.txt", "two\n");
    check(&world, "git_status", json!({ "path": "linked" }), "## side\n M a.txt");
    check(&world, "git_status", json!({ "path": "main" }), "## main\n[No changes.]");
    assert!(
        run(&world, "git_log", json!({ "path": "linked/a.txt" }))
            .expect("an answer")
            .content
            .contains("(HEAD -> side, main)")
    );
}

#[test]
fn packed_repositories_are_read() {
    let world = repository();
    plain(&world.path(""), &["gc", "-q"]);
    check(&world, "git_status", json!({}), "## main\n[No changes.]");
    assert!(run(&world, "git_log", json!({})).expect("an answer").content.ends_with("first (HEAD -> main)"));
}

#[test]
fn other_forms_of_repositories_are_read() {
    for form in ["--object-format=sha256", "--ref-format=reftable"] {
        let world = World::new().with("a.txt", "one\n");
        plain(&world.path(""), &["init", "-q", "-b", "main", form]);
        // An older git does not know the form.
        if !world.path(".git").exists() {
            continue;
        }
        commit(&world, "first");
        let world = world.with("a.txt", "two\n");
        check(&world, "git_status", json!({}), "## main\n M a.txt");
        let log = run(&world, "git_log", json!({})).expect("an answer").content;
        assert!(log.ends_with("Ann: first (HEAD -> main)"), "{form}: {log}");
        let blame = run(&world, "git_blame", json!({ "path": "a.txt" })).expect("an answer").content;
        assert_eq!(blame, "---------- not committed 1| two", "{form}");
    }
}

#[test]
fn a_long_answer_ends_with_what_to_do() {
    let world = repository().with("a.txt", "0123456789\n".repeat(20_000));
    let shown = run(&world, "git_diff", json!({})).expect("an answer").content;
    assert!(shown.len() <= MAX_OUTPUT + 200, "{}", shown.len());
    assert!(shown.ends_with("Pass a path, or stat: true for the names alone.]"), "{}", &shown[shown.len() - 200..]);
}
