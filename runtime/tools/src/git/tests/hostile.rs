//! Repositories, paths and programs that mean harm, or fail.

use super::*;
use crate::testing::context;
use slot_runtime::contract::Tool;
use std::os::unix::fs::{OpenOptionsExt, symlink};

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

/// Puts a script there that can be run. Another process writes it: while this one has it open for writing, whatever
/// another test starts holds it open too, and the system runs no file that is being written.
fn program(path: &Path, script: &str) {
    let text = path.with_extension("text");
    fs::write(&text, format!("#!/bin/sh\n{script}\n")).expect("a file");
    let made = Command::new("install").args(["-m", "755"]).arg(text).arg(path).status().expect("install is needed");
    assert!(made.success());
}

/// Everything in a configuration that names a program; each of them leaves `canary` behind.
fn arm(world: &World) -> PathBuf {
    let canary = world.path("").parent().expect("a folder").join("canary");
    let script = world.path("").parent().expect("a folder").join("evil.sh");
    program(&script, &format!("echo \"$0 $*\" >> {}\ncat", canary.display()));
    // The far end of a transport, which git would wait for.
    let far = script.with_file_name("far.sh");
    program(&far, &format!("echo \"$0 $*\" >> {}", canary.display()));
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
        program(&world.path(".git/hooks").join(hook), &format!("echo \"$0 $*\" >> {}", canary.display()));
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
fn settings_that_grow_without_bound_are_refused() {
    let world = repository();
    let settings = format!("[branch \"{}\"]\n{}", "x".repeat(100_000), "\tmerge = a\n".repeat(10_000));
    fs::write(world.path(".git/config"), settings).expect("a file");
    check_refused(&world, "git_status", json!({}), "cannot be read");
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
fn a_pipe_in_place_of_a_file_is_not_waited_for_longer_than_the_call() {
    let world = repository();
    let pipe = Command::new("mkfifo").arg(world.path(".git/HEAD.pipe")).status().expect("mkfifo is needed");
    assert!(pipe.success());
    fs::rename(world.path(".git/HEAD.pipe"), world.path(".git/HEAD")).expect("a pipe");
    check_refused(&world, "git_status", json!({}), "not a file");
}

/// A `git` that is this script.
fn scripted(world: &World, script: &str) -> Git {
    let folder = world.path("").parent().expect("a folder").join("programs");
    fs::create_dir(&folder).expect("a folder");
    program(&folder.join("git"), script);
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
    fs::OpenOptions::new().create_new(true).write(true).mode(0o755).open(world.path("git")).expect("a file");
    let git = Arc::new(Git::new(world.boundary(), &[("PATH".into(), ".:".into())]));
    let error = call(&GitStatus::new(git), json!({})).expect_err("there is none");
    assert!(matches!(&error, ToolError::Unavailable(text) if text.contains("git is not installed")), "{error}");
}
