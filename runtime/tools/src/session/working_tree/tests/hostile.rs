//! Repositories and trees that somebody has prepared, and two sessions at once.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

fn remove() -> Value {
    json!({ "action": "remove" })
}

#[track_caller]
fn write(path: std::path::PathBuf, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    fs::write(path, text).expect("a file");
}

#[test]
fn what_git_cannot_tell_is_not_taken_for_nothing() {
    let world = repository();
    let session = Session::of(&world);
    session.enter("t");
    let tree = in_tree(&world, "t");
    write(tree.join("a.txt"), "work");
    plain(&tree, &["commit", "-q", "-a", "-m", "work"]);
    // A branch that points to nothing, at which git gives up.
    write(world.path(".git/refs/heads/broken"), &format!("{}\n", "1".repeat(40)));
    session.check_stays(remove(), "git failed");
    session.check_stays(json!({ "action": "remove", "discard_changes": true }), "git failed");
    assert!(world.path(".git/refs/heads/worktree-t").exists() && tree.join("a.txt").exists());
}

#[test]
fn changes_that_git_was_told_not_to_look_at_are_not_removed() {
    for hidden in ["--assume-unchanged", "--skip-worktree"] {
        let world = repository();
        let session = Session::of(&world);
        session.enter("t");
        let tree = in_tree(&world, "t");
        plain(&tree, &["update-index", hidden, "a.txt"]);
        write(tree.join("a.txt"), "work");
        session.check_stays(remove(), "a.txt");
        fs::remove_file(tree.join("a.txt")).expect("a file");
        session.exit(remove());
    }
}

#[test]
fn what_an_operation_of_git_holds_is_not_removed() {
    for path in ["rebase-merge/autostash", "refs/worktree/kept", "MERGE_AUTOSTASH", "refs/bisect/bad"] {
        let world = repository();
        let session = Session::of(&world);
        session.enter("t");
        let hash = plain(&world.path(""), &["rev-parse", "HEAD"]);
        write(world.path(".git/worktrees/t").join(path), &hash);
        let name = path.rsplit_once('/').map_or(path, |(folder, _)| folder);
        session.check_stays(remove(), name);
        session.exit(json!({ "action": "remove", "discard_changes": true }));
        check_nothing_left(&world, "t");
    }
}

#[test]
fn a_locked_tree_is_kept_whatever_else_lies_there() {
    let world = repository();
    let session = Session::of(&world);
    session.enter("t");
    for n in 0..1200 {
        write(world.path(&format!(".git/worktrees/t/a{n}")), "");
    }
    plain(&world.path(""), &["worktree", "lock", ".worktrees/t"]);
    session.check_stays(json!({ "action": "remove", "discard_changes": true }), "is locked");
}

#[test]
fn a_tree_that_is_none_any_more_is_not_taken_for_the_repository_around_it() {
    let world = repository();
    let session = Session::of(&world);
    session.enter("t");
    fs::remove_file(in_tree(&world, "t").join(".git")).expect("a file");
    let tools = crate::git::tools(&session.git);
    for tool in &tools {
        let input = match tool.name() {
            "git_show" => json!({ "rev": ":a.txt" }),
            "git_blame" => json!({ "path": "a.txt" }),
            _ => json!({}),
        };
        check_refused(call(tool.as_ref(), input), "no repository of its own any more");
    }
    session.check_stays(remove(), "is no working tree of the repository any more");
    session.exit(json!({ "action": "keep" }));
    session.status("## main\n[No changes.]");
}

#[test]
fn links_of_the_repository_lead_no_part_of_a_tree_elsewhere() {
    for (path, target) in [(".worktrees", "d"), (".git/worktrees", "../d")] {
        let world = repository();
        symlink(target, world.path(path)).expect("a link");
        let session = Session::of(&world);
        check_refused(call(&session.enter, json!({ "name": "t" })), "leads elsewhere");
        let left: Vec<_> =
            fs::read_dir(world.path("d")).expect("a folder").map(|e| e.expect("one").file_name()).collect();
        assert_eq!(left, ["b.txt"], "{path}");
        assert!(fs::symlink_metadata(world.path(".worktrees/t")).is_err(), "{path}");
    }
}

#[test]
fn what_is_no_single_commit_makes_no_tree() {
    let world = repository();
    commit(&world, "second");
    let session = Session::of(&world);
    for from in ["^HEAD", "HEAD~1..HEAD", "HEAD^@", "HEAD^!", "HEAD:a.txt", "HEAD^{tree}", ":/absent", "@{u}", "@{-1}"]
    {
        check_refused(call(&session.enter, json!({ "name": "t", "from": from })), "there is no commit");
        check_nothing_left(&world, "t");
    }
}

/// One session goes through a step of its own, and before it the other one enters a tree of the same name.
#[test]
fn of_two_sessions_that_make_one_tree_none_takes_the_other_ones_away() {
    for step in 0.. {
        let world = repository();
        let first = Arc::new(std::sync::Mutex::new(None));
        let (steps, met) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&first));
        let other = Session::of(&world);
        let gate = Arc::new(move |_: WriteStep| {
            if steps.fetch_add(1, Ordering::SeqCst) == step {
                let entered = call(&other.enter, json!({ "name": "t" })).map(|output| output.content);
                *met.lock().expect("no panic") = Some(entered);
            }
            Ok(())
        });
        let session = Session::over(Arc::new(world.boundary().with_step_gate(gate)));
        let made = call(&session.enter, json!({ "name": "t" })).map(|output| output.content);
        let Some(other) = first.lock().expect("no panic").take() else {
            assert!(step > 5 && made.is_ok());
            return;
        };
        let whole = other.as_ref().is_ok_and(|told| told.contains("was there already"));
        assert!(made.is_ok() == (other.is_err() || whole), "step {step}: {made:?} {other:?}");
        assert_eq!(
            plain(&in_tree(&world, "t"), &["status", "--porcelain=v1", "--branch"]),
            "## worktree-t\n",
            "{step}"
        );
        assert_eq!(plain(&world.path(""), &["worktree", "list"]).lines().count(), 2);
    }
}
