use super::*;
use crate::testing::{World, call, context};
use serde_json::json;
use slot_runtime::contract::Tool;
use std::{
    fs,
    os::unix::fs::{OpenOptionsExt, symlink},
    path::Path,
    process::Command,
};

/// The `git` and environment of this process, without what belongs to whoever runs the tests.
fn plain(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs([
            ("GIT_AUTHOR_NAME", "Ann"),
            ("GIT_AUTHOR_EMAIL", "ann@example"),
            ("GIT_AUTHOR_DATE", "1700000000 +0100"),
        ])
        .envs([
            ("GIT_COMMITTER_NAME", "Ann"),
            ("GIT_COMMITTER_EMAIL", "ann@example"),
            ("GIT_COMMITTER_DATE", "1700000000 +0100"),
        ])
        .output()
        .expect("git is needed for these tests");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn commit(world: &World, message: &str) {
    plain(&world.path(""), &["add", "-A"]);
    plain(&world.path(""), &["commit", "-q", "--allow-empty", "-m", message]);
}

/// A repository with one commit of `a.txt` and `d/b.txt`.
fn repository() -> World {
    let world = World::new().with("a.txt", "one\ntwo\n").with("d/b.txt", "b\n");
    plain(&world.path(""), &["init", "-q", "-b", "main"]);
    commit(&world, "first");
    world
}

fn inherited() -> Vec<(OsString, OsString)> {
    vec![("PATH".into(), env::var_os("PATH").unwrap_or_default()), ("MY_TOKEN".into(), "secret".into())]
}

fn run(world: &World, tool: &str, input: Value) -> Result<ToolOutput, ToolError> {
    let tools = tools(Git::new(world.boundary(), &inherited()));
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
fn options_are_no_revisions_and_pathspecs_no_patterns() {
    let world = repository();
    for (tool, field) in [("git_show", "rev"), ("git_log", "rev"), ("git_diff", "from"), ("git_blame", "rev")] {
        let target = world.path("written");
        let mut input = json!({ field: format!("--output={}", target.display()) });
        if tool == "git_blame" {
            input["path"] = json!("a.txt");
        }
        check_refused(&world, tool, input, "does not begin with `-`");
        assert!(!target.exists());
    }
    let world = world.with("--output=x", "1");
    check(&world, "git_status", json!({ "path": "--output=x" }), "## main\n?? --output=x");
    check(&world, "git_status", json!({ "path": ":(exclude)a.txt" }), "## main\n[No changes.]");
    check(&world, "git_status", json!({ "path": "*" }), "## main\n[No changes.]");
}

#[test]
fn paths_outside_are_the_boundarys_to_refuse() {
    let world = repository();
    let outside = world.path("").parent().expect("a folder").join("outside");
    fs::create_dir(&outside).expect("a folder");
    symlink(&outside, world.path("link")).expect("a link");
    for path in ["../outside", "link", "link/x", "/etc/passwd", "gone/../../outside"] {
        for tool in ["git_status", "git_diff", "git_log", "git_blame"] {
            let error = run(&world, tool, json!({ "path": path })).expect_err(path).to_string();
            assert!(error.contains("path escapes workspace") || error.contains("not found"), "{path}: {error}");
        }
    }
}

/// Everything in a configuration that names a program; each of them leaves `canary` behind.
fn arm(world: &World) -> PathBuf {
    let canary = world.path("").parent().expect("a folder").join("canary");
    let script = world.path("").parent().expect("a folder").join("evil.sh");
    fs::OpenOptions::new().create(true).write(true).truncate(true).mode(0o755).open(&script).expect("a file");
    fs::write(&script, format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", canary.display())).expect("a file");
    // The far end of a transport, which git would wait for.
    let far = script.with_file_name("far.sh");
    fs::OpenOptions::new().create(true).write(true).truncate(true).mode(0o755).open(&far).expect("a file");
    fs::write(&far, format!("#!/bin/sh\necho \"$0 $*\" >> {}\n", canary.display())).expect("a file");
    let (evil, far) = (script.display(), far.display());
    let config = format!(
        "[core]\n\trepositoryformatversion = 1\n\tfsmonitor = {evil}\n\tpager = {evil}\n\thooksPath = .git/hooks\n\tsshCommand = {evil}\n\
         \teditor = {evil}\n\talternateRefsCommand = {evil}\n\taskPass = {evil}\n\
         [extensions]\n\tpartialClone = o\n\
         [pager]\n\tstatus = {evil}\n\tlog = {evil}\n\tdiff = {evil}\n\tshow = {evil}\n\tblame = {evil}\n\
         [diff]\n\texternal = {evil}\n\
         [diff \"evil\"]\n\ttextconv = {evil}\n\tcommand = {evil}\n\tcachetextconv = true\n\
         [filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n\trequired = true\n\
         [alias]\n\tstatus = !{evil}\n\tls-files = !{evil}\n\
         [log]\n\tshowSignature = true\n[gpg]\n\tprogram = {evil}\n\
         [protocol \"ext\"]\n\tallow = always\n[protocol]\n\tallow = always\n\
         [remote \"o\"]\n\turl = ext::{far} %S\n\tpromisor = true\n\tfetch = +refs/heads/*:refs/remotes/o/*\n\tuploadpack = {far}\n\
         [submodule]\n\trecurse = true\n[credential]\n\thelper = !{evil}\n[interactive]\n\tdiffFilter = {evil}\n"
    );
    fs::write(world.path(".git/config"), config).expect("a file");
    fs::create_dir_all(world.path(".git/hooks")).expect("a folder");
    for hook in ["post-index-change", "fsmonitor-watchman", "reference-transaction", "pre-commit", "post-checkout"] {
        let path = world.path(".git/hooks").join(hook);
        fs::copy(&script, path).expect("a hook");
    }
    fs::write(world.path(".gitattributes"), "* diff=evil filter=evil\n").expect("a file");
    canary
}

#[test]
fn a_hostile_configuration_runs_nothing() {
    let world = repository();
    let blob = plain(&world.path(""), &["rev-parse", "HEAD:d/b.txt"]).trim().to_owned();
    let hash = plain(&world.path(""), &["rev-parse", "HEAD"]).trim().to_owned();
    let canary = arm(&world);
    let world = world.with("a.txt", "changed\n");
    // The traps are real: git itself steps into them.
    for arguments in [&["status"][..], &["diff"], &["--no-pager", "log", "-p", "--ext-diff"]] {
        plain(&world.path(""), arguments);
        assert!(fs::remove_file(&canary).is_ok(), "{arguments:?} ran nothing");
    }
    // A missing object is fetched by git, with what the configuration names.
    fs::remove_file(world.path(&format!(".git/objects/{}/{}", &blob[..2], &blob[2..]))).expect("an object");
    plain(&world.path(""), &["cat-file", "-p", &blob]);
    assert!(fs::remove_file(&canary).is_ok(), "nothing was fetched");
    for (tool, input) in [
        ("git_status", json!({})),
        ("git_status", json!({ "all_untracked": true })),
        ("git_diff", json!({})),
        ("git_diff", json!({ "staged": true })),
        ("git_diff", json!({ "from": "HEAD" })),
        ("git_diff", json!({ "stat": true })),
        ("git_log", json!({})),
        ("git_log", json!({ "path": "a.txt" })),
        ("git_show", json!({ "rev": "HEAD" })),
        ("git_show", json!({ "rev": hash })),
        ("git_show", json!({ "rev": "HEAD:a.txt" })),
        ("git_blame", json!({ "path": "a.txt" })),
        ("git_blame", json!({ "path": "a.txt", "rev": "HEAD" })),
    ] {
        let answer = run(&world, tool, input.clone());
        assert!(!canary.exists(), "{tool} {input} ran {:?}", fs::read_to_string(&canary));
        // The missing object is met by what shows everything, and is an error then.
        assert!(
            answer.is_ok() || input == json!({ "rev": "HEAD" }) || input == json!({ "rev": hash }),
            "{tool} {input}: {answer:?}"
        );
    }
    check_refused(&world, "git_show", json!({ "rev": "HEAD:d/b.txt" }), "is missing");
    assert!(!canary.exists());
}

#[test]
fn the_repository_is_not_written() {
    let world = repository().with("a.txt", "x");
    let read = |world: &World| {
        let mut names: Vec<_> = fs::read_dir(world.path(".git"))
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        let index = fs::metadata(world.path(".git/index")).and_then(|found| found.modified()).expect("a time");
        (names, index, fs::read(world.path(".git/index")).expect("a file"))
    };
    // What makes git want to write the index: its entry is older than the file, which is the same again.
    fs::write(world.path("a.txt"), "one\ntwo\n").expect("a file");
    let before = read(&world);
    for tool in ["git_status", "git_diff"] {
        run(&world, tool, json!({})).expect("an answer");
    }
    assert_eq!(read(&world), before);
}

#[test]
fn a_work_tree_that_the_configuration_names_is_not_gone_to() {
    let world = repository();
    let outside = world.path("").parent().expect("a folder").join("outside");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("a.txt"), "SECRET\n").expect("a file");
    plain(&world.path(""), &["config", "core.worktree", outside.to_str().expect("text")]);
    check(&world, "git_status", json!({}), "## main\n[No changes.]");
    assert!(!run(&world, "git_diff", json!({})).expect("an answer").content.contains("SECRET"));
}

#[test]
fn an_index_that_names_a_file_outside_is_refused() {
    let world = World::new().with("aa/outside/secret", "x\n");
    plain(&world.path(""), &["init", "-q"]);
    let outside = world.path("").parent().expect("a folder").join("outside");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("secret"), "SECRET\n").expect("a file");
    plain(&world.path(""), &["-c", "index.skipHash=true", "add", "."]);
    let mut index = fs::read(world.path(".git/index")).expect("a file");
    let at = index.windows(17).position(|bytes| bytes == b"aa/outside/secret").expect("the name");
    index[at..at + 2].copy_from_slice(b"..");
    fs::write(world.path(".git/index"), index).expect("a file");
    assert!(plain(&world.path(""), &["diff"]).contains("+SECRET"), "the trap is not one");
    for (tool, input) in [("git_status", json!({})), ("git_diff", json!({})), ("git_diff", json!({ "path": "aa" }))] {
        check_refused(&world, tool, input, "which does not lie below its folder");
    }
}

#[test]
fn a_file_behind_a_link_is_not_blamed() {
    let world = repository();
    let outside = world.path("").parent().expect("a folder").join("outside");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("b.txt"), "SECRET\n").expect("a file");
    fs::remove_dir_all(world.path("d")).expect("a folder");
    symlink(&outside, world.path("d")).expect("a link");
    check_refused(&world, "git_blame", json!({ "path": "d/b.txt" }), "path escapes workspace");
    assert!(!run(&world, "git_diff", json!({})).expect("an answer").content.contains("SECRET"));
}

#[test]
fn a_repository_whose_parts_lie_outside_is_refused() {
    let elsewhere = repository();
    let there = elsewhere.path(".git");
    // A file that names another place, and a link to it.
    let world = World::new().with(".git", format!("gitdir: {}\n", there.display()));
    check_refused(&world, "git_log", json!({}), "lies outside of the workspace");
    let world = World::new();
    symlink(&there, world.path(".git")).expect("a link");
    check_refused(&world, "git_log", json!({}), "path escapes workspace");
    // Parts of it.
    for part in ["objects", "refs", "HEAD", "index", "config"] {
        let world = repository();
        let path = world.path(".git").join(part);
        if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.expect("the part");
        symlink(there.join(part), &path).expect("a link");
        check_refused(&world, "git_log", json!({}), "path escapes workspace");
    }
    // What git follows inside of them.
    let world = repository();
    fs::create_dir_all(world.path(".git/objects/00")).expect("a folder");
    symlink(there.join("HEAD"), world.path(".git/objects/00/11")).expect("a link");
    check_refused(&world, "git_log", json!({}), "is a symbolic link inside of the repository's own folder");
    let world = repository();
    symlink(there.join("refs/heads/main"), world.path(".git/refs/heads/side")).expect("a link");
    check_refused(&world, "git_log", json!({}), "is a symbolic link inside of the repository's own folder");
    let world = repository();
    fs::write(world.path(".git/objects/info/alternates"), format!("{}\n", there.join("objects").display()))
        .expect("a file");
    check_refused(&world, "git_log", json!({}), "borrows objects");
    let world = repository();
    fs::write(world.path(".git/commondir"), format!("{}\n", there.display())).expect("a file");
    check_refused(&world, "git_log", json!({}), "lies outside of the workspace");
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
fn a_long_answer_ends_with_what_to_do() {
    let world = repository().with("a.txt", "0123456789\n".repeat(20_000));
    let shown = run(&world, "git_diff", json!({})).expect("an answer").content;
    assert!(shown.len() <= MAX_OUTPUT + 200, "{}", shown.len());
    assert!(shown.ends_with("Pass a path, or stat: true for the names alone.]"), "{}", &shown[shown.len() - 200..]);
}

/// A `git` that is this script.
fn scripted(world: &World, script: &str) -> Git {
    let folder = world.path("").parent().expect("a folder").join("programs");
    fs::create_dir(&folder).expect("a folder");
    let mut program = fs::OpenOptions::new();
    let program = program.create(true).write(true).mode(0o755).open(folder.join("git")).expect("a file");
    std::io::Write::write_all(&mut &program, format!("#!/bin/sh\n{script}\n").as_bytes()).expect("it is written");
    drop(program);
    let path = env::join_paths([folder, "/usr/bin".into(), "/bin".into()]).expect("a path");
    Git::new(
        world.boundary(),
        &[("PATH".into(), path), ("MY_TOKEN".into(), "secret".into()), ("GIT_DIR".into(), "/x".into())],
    )
}

#[test]
fn git_gets_no_environment_but_its_own() {
    let world = repository();
    let told = world.path("").parent().expect("a folder").join("told");
    let git = Arc::new(scripted(&world, &format!("env > {}", told.display())));
    let _ = call(&GitStatus::new(git), json!({}));
    let told = fs::read_to_string(told).expect("it ran");
    let mut names: Vec<&str> = told.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.retain(|name| !matches!(*name, "PWD" | "SHLVL" | "_" | "OLDPWD"));
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "GIT_ALLOW_PROTOCOL",
            "GIT_ASKPASS",
            "GIT_ATTR_NOSYSTEM",
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_NOSYSTEM",
            "GIT_CONFIG_SYSTEM",
            "GIT_DIR",
            "GIT_EDITOR",
            "GIT_LITERAL_PATHSPECS",
            "GIT_NO_LAZY_FETCH",
            "GIT_NO_REPLACE_OBJECTS",
            "GIT_OPTIONAL_LOCKS",
            "GIT_PAGER",
            "GIT_TERMINAL_PROMPT",
            "GIT_WORK_TREE",
            "HOME",
            "LC_ALL",
            "PATH",
            "TZ",
            "XDG_CONFIG_HOME",
        ]
    );
    assert!(!told.contains("GIT_DIR=/x"), "{told}");
}

#[test]
fn a_cancelled_call_leaves_no_process() {
    let world = repository();
    let told = world.path("").parent().expect("a folder").join("told");
    let git =
        Arc::new(scripted(&world, &format!("sleep 1000 & echo $! $$ > {0}.new; mv {0}.new {0}; wait", told.display())));
    let tool = GitStatus::new(git);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let run = context();
    let cancel = run.cancel.clone();
    let seen = told.clone();
    let watcher = std::thread::spawn(move || {
        while !seen.exists() {
            std::thread::yield_now();
        }
        cancel.cancel();
    });
    let input = json!({});
    assert_eq!(runtime.block_on(tool.run(&input, &run)), Err(ToolError::Cancelled));
    watcher.join().expect("it ends");
    for pid in fs::read_to_string(told).expect("it ran").split_whitespace() {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
    }
}

#[test]
fn no_git_is_told_and_a_relative_folder_is_not_searched() {
    let world = repository();
    fs::OpenOptions::new().create(true).write(true).mode(0o755).open(world.path("git")).expect("a file");
    let git = Arc::new(Git::new(world.boundary(), &[("PATH".into(), ".:".into())]));
    let error = call(&GitStatus::new(git), json!({})).expect_err("there is none");
    assert!(matches!(&error, ToolError::Unavailable(text) if text.contains("git is not installed")), "{error}");
}
