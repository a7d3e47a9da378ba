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
    for path in ["rebase-merge/autostash", "refs/worktree/kept", "MERGE_AUTOSTASH", "refs/bisect/bad", "modules/HEAD"] {
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
fn the_head_of_the_workspace_is_not_removed() {
    let world = repository();
    let session = Session::of(&world);
    for elsewhere in [false, true] {
        session.enter("t");
        if elsewhere {
            plain(&world.path(""), &["worktree", "add", "-q", "-f", "../other", "worktree-t"]);
        } else {
            plain(&world.path(""), &["checkout", "-q", "--ignore-other-worktrees", "worktree-t"]);
        }
        let told = session.exit(remove());
        assert!(told.contains("its branch stays"), "{told}");
        plain(&world.path(""), &["checkout", "-q", "main"]);
        plain(&world.path(""), &["worktree", "remove", "../other"]);
        plain(&world.path(""), &["branch", "-q", "-d", "worktree-t"]);
    }
    check_nothing_left(&world, "t");
}

#[test]
fn the_log_of_a_branch_goes_with_it() {
    let world = repository();
    let session = Session::of(&world);
    session.enter("t");
    plain(&in_tree(&world, "t"), &["commit", "-q", "--allow-empty", "-m", "work"]);
    plain(&world.path(""), &["merge", "-q", "worktree-t"]);
    assert!(world.path(".git/logs/refs/heads/worktree-t").exists());
    session.exit(remove());
    assert!(!world.path(".git/logs/refs/heads/worktree-t").exists());
    check_nothing_left(&world, "t");
}

/// Whenever somebody stops waiting, the tree is whole or nothing of it is there.
#[test]
fn a_tree_whose_making_is_cancelled_is_whole_or_not_there() {
    let world = repository();
    for step in 0.. {
        let stop = CancellationToken::new();
        let (cancel, steps) = (stop.clone(), AtomicUsize::new(0));
        let gate = Arc::new(move |_: WriteStep| {
            if steps.fetch_add(1, Ordering::SeqCst) == step {
                cancel.cancel();
            }
            Ok(())
        });
        let place = Place::default();
        let workspace = Arc::new(world.boundary().with_step_gate(gate));
        let git = Arc::new(Git::new(Arc::clone(&workspace) as _, &inherited()).at(place.clone()));
        let trees = WorkingTrees::new(git, workspace, place.clone());
        let made = trees.enter("t", None, &stop);
        assert_eq!(made.is_ok(), place.away().is_some());
        if made.is_ok() {
            let whole = plain(&in_tree(&world, "t"), &["status", "--porcelain=v1", "--branch"]);
            assert_eq!(whole, "## worktree-t\n", "step {step}");
            trees.leave(true, false, &CancellationToken::new()).expect("it is removed");
        }
        check_nothing_left(&world, "t");
        if !stop.is_cancelled() {
            assert!(step > 5);
            return;
        }
    }
}

/// Trees that `git` does not make, written by hand.
#[test]
fn a_commit_with_names_that_lead_out_makes_no_tree() {
    let world = repository();
    let folder = world.path("");
    let blob = plain(&folder, &["rev-parse", "HEAD:a.txt"]).trim().to_owned();
    let inner = plain(&folder, &["rev-parse", "HEAD:d"]).trim().to_owned();
    let link = {
        write(world.path("../target"), "../../..");
        plain(&folder, &["hash-object", "-w", "../target"]).trim().to_owned()
    };
    let entry = |mode: &str, name: &str, hash: &str| {
        let bytes: Vec<u8> = hash
            .as_bytes()
            .chunks(2)
            .map(|two| u8::from_str_radix(std::str::from_utf8(two).expect("text"), 16).expect("a digit"))
            .collect();
        [format!("{mode} {name}\0").as_bytes(), &bytes].concat()
    };
    let trees = [
        entry("100644", "..", &blob),
        entry("40000", "..", &inner),
        entry("100644", "../x", &blob),
        entry("100644", ".git", &blob),
        entry("40000", ".GIT", &inner),
        entry("40000", ".git", &inner),
        [entry("120000", "d", &link), entry("40000", "d", &inner)].concat(),
        [entry("120000", ".git", &link), entry("40000", "d", &inner)].concat(),
    ];
    for bytes in trees {
        fs::write(world.path("../tree"), &bytes).expect("a file");
        let tree = plain(&folder, &["hash-object", "-w", "-t", "tree", "--literally", "../tree"]).trim().to_owned();
        let commit = plain(&folder, &["commit-tree", "-m", "evil", &tree]).trim().to_owned();
        let session = Session::of(&world);
        let made = call(&session.enter, json!({ "name": "t", "from": commit }));
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let around: Vec<_> =
            fs::read_dir(world.path("..")).expect("a folder").map(|e| e.expect("one").file_name()).collect();
        assert_eq!(around.len(), 3, "{shown}: {around:?}");
        if made.is_ok() {
            assert!(fs::symlink_metadata(in_tree(&world, "t").join("d")).expect("it is there").is_dir(), "{shown}");
            session.exit(json!({ "action": "remove", "discard_changes": true }));
        }
        assert!(!in_tree(&world, "t").exists(), "{shown}");
        assert_eq!(plain(&folder, &["status", "--porcelain=v1"]), "", "{shown}");
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
    assert!(session.exit(json!({ "action": "keep" })).contains("stays in .worktrees/t"));
    session.status("## main\n[No changes.]");
}

#[test]
fn a_tree_that_is_gone_is_left_as_such() {
    let world = repository();
    let session = Session::of(&world);
    session.enter("t");
    fs::remove_dir_all(in_tree(&world, "t")).expect("a folder");
    assert!(session.files.open_file("a.txt").is_err());
    assert!(session.files.write_atomic("a.txt", b"x", slot_runtime::boundary::WriteMode::Overwrite).is_err());
    session.check_stays(remove(), "is no working tree of the repository any more");
    assert!(session.exit(json!({ "action": "keep" })).contains("is not there any more"));
    check_refused(call(&session.enter, json!({ "name": "t" })), "branch worktree-t already");
}

/// A rule about the repository's folder lets nobody take half of a tree away.
#[test]
fn what_may_not_be_removed_whole_is_not_removed_in_part() {
    use slot_runtime::deny::{DenyRules, Guarded, LiveRules, Roots};
    let world = repository();
    plain(&world.path(""), &["worktree", "add", "-q", "-b", "worktree-t", ".worktrees/t"]);
    let roots = Roots { workspace: Some(world.path("").canonicalize().expect("a folder")), home: None };
    let rules = DenyRules::parse(["Edit(.git/**)".to_owned()], roots).expect("a rule");
    let workspace = Arc::new(Guarded::new(world.boundary(), Arc::new(LiveRules::new(rules))));
    let place = Place::default();
    let git = Arc::new(Git::new(Arc::clone(&workspace) as _, &inherited()).at(place.clone()));
    let trees = WorkingTrees::new(git, workspace, place);
    let stop = CancellationToken::new();
    trees.enter("t", None, &stop).expect("it is there");
    let refused = trees.leave(true, true, &stop).expect_err("a rule denies it").to_string();
    assert!(refused.contains("Edit(.git/**)"), "{refused}");
    assert_eq!(plain(&in_tree(&world, "t"), &["status", "--porcelain=v1"]), "");
    assert!(trees.enter("u", None, &stop).is_err() && trees.leave(false, false, &stop).is_ok());
    assert!(trees.enter("u", None, &stop).is_err() && !world.path(".worktrees/u").exists());
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
