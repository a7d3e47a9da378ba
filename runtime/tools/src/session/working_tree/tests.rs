mod hostile;

use super::*;
use crate::{
    session::{EnterWorktree, ExitWorktree},
    testing::{World, call, commit, inherited, plain, repository},
};
use serde_json::{Value, json};
use slot_runtime::{
    boundary::{Workspace, WriteStep},
    contract::ToolOutput,
    place::Placed,
};
use std::{fs, os::unix::fs::symlink};

/// A session in a world.
struct Session {
    enter: EnterWorktree,
    exit: ExitWorktree,
    place: Place,
    files: Placed,
    git: Arc<Git>,
}

impl Session {
    fn of(world: &World) -> Session {
        Session::over(world.boundary())
    }

    fn over(workspace: Arc<Workspace>) -> Session {
        let place = Place::default();
        let git = Arc::new(Git::new(Arc::clone(&workspace) as _, &inherited()).at(place.clone()));
        let trees = Arc::new(WorkingTrees::new(Arc::clone(&git), Arc::clone(&workspace) as _, place.clone()));
        Session {
            enter: EnterWorktree::new(Arc::clone(&trees)),
            exit: ExitWorktree::new(trees),
            files: Placed::new(workspace, place.clone()),
            place,
            git,
        }
    }

    #[track_caller]
    fn enter(&self, name: &str) -> String {
        call(&self.enter, json!({ "name": name })).expect("it is entered").content
    }

    #[track_caller]
    fn exit(&self, input: Value) -> String {
        call(&self.exit, input).expect("it is left").content
    }

    #[track_caller]
    fn check_stays(&self, input: Value, expect: &str) {
        check_refused(call(&self.exit, input), expect);
        assert!(self.place.away().is_some(), "a tree that was not removed is not left either");
    }

    #[track_caller]
    fn status(&self, expect: &str) {
        let tools = crate::git::tools(&self.git);
        let status = tools.iter().find(|tool| tool.name() == "git_status").expect("it is one of them");
        assert_eq!(call(status.as_ref(), json!({})).expect("an answer").content, expect);
    }
}

#[track_caller]
fn check_refused(outcome: Result<ToolOutput, ToolError>, expect: &str) {
    let error = outcome.expect_err("a refusal").to_string();
    assert!(error.contains(expect), "{error}");
}

/// Nothing of a tree is there, and the repository is as it was.
#[track_caller]
fn check_nothing_left(world: &World, name: &str) {
    assert!(!world.path(&base(name)).exists(), "its files are left");
    assert!(!world.path(&own(name)).exists(), "its entry is left");
    assert!(!world.path(".git").join(branch(name)).exists(), "its branch is left");
    assert_eq!(plain(&world.path(""), &["worktree", "list"]).lines().count(), 1);
    // What nobody points to any more is no fault.
    let faults = plain(&world.path(""), &["fsck", "--no-dangling"]);
    assert_eq!(faults, "");
}

fn in_tree(world: &World, name: &str) -> std::path::PathBuf {
    world.path(&base(name))
}

#[test]
fn a_tree_is_to_every_git_what_git_makes() {
    let world = repository().with("d/run.sh", "#!/bin/sh\n");
    fs::set_permissions(world.path("d/run.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    symlink("../a.txt", world.path("d/link")).expect("a link");
    commit(&world, "second");
    let world = world.with("a.txt", "not committed\n");
    let session = Session::of(&world);
    let told = session.enter("try-1");
    assert!(told.contains("on the new branch worktree-try-1"), "{told}");
    let tree = in_tree(&world, "try-1");
    assert_eq!(fs::read_to_string(tree.join("a.txt")).expect("a file"), "one\ntwo\n");
    assert_eq!(fs::read_link(tree.join("d/link")).expect("a link"), Path::new("../a.txt"));
    assert_eq!(plain(&tree, &["status", "--porcelain=v1", "--branch"]), "## worktree-try-1\n");
    assert_eq!(plain(&tree, &["rev-parse", "HEAD"]), plain(&world.path(""), &["rev-parse", "HEAD"]));
    assert_eq!(plain(&world.path(""), &["worktree", "list"]).lines().count(), 2);
    assert_eq!(plain(&world.path(""), &["status", "--porcelain=v1"]), " M a.txt\n", "the workspace is as it was");
    assert_eq!(plain(&tree, &["fsck"]), "");
    plain(&tree, &["commit", "-q", "--allow-empty", "-m", "in the tree"]);
    assert!(plain(&world.path(""), &["log", "-1", "--format=%s", "worktree-try-1"]).starts_with("in the tree"));
    plain(&world.path(""), &["worktree", "remove", "--force", ".worktrees/try-1"]);
    assert_eq!(plain(&world.path(""), &["worktree", "list"]).lines().count(), 1, "git removes it as its own");
}

#[test]
fn paths_start_in_the_tree_and_reach_nothing_around_it() {
    let world = repository().with("secret.txt", "s");
    symlink("../..", world.path("d/up")).expect("a link");
    commit(&world, "second");
    let session = Session::of(&world);
    session.enter("t");
    session.files.write_atomic("new.txt", b"n", slot_runtime::boundary::WriteMode::Create).expect("it is written");
    assert!(in_tree(&world, "t").join("new.txt").exists() && !world.path("new.txt").exists());
    session.status("## worktree-t\n?? new.txt");
    let inside = in_tree(&world, "t").join("a.txt");
    assert!(session.files.open_file(inside.to_str().expect("text")).is_ok());
    for path in ["../../a.txt", "d/up/../a.txt", "..", "d/up/.worktrees"] {
        let refused = session.files.metadata(path);
        assert!(matches!(refused, Err(BoundaryError::Escape { .. })), "{path}: {refused:?}");
    }
    let outside = world.path("a.txt");
    assert!(session.files.open_file(outside.to_str().expect("text")).is_err());
    assert!(session.files.write_atomic(".git", b"x", slot_runtime::boundary::WriteMode::Overwrite).is_err());
    session.exit(json!({ "action": "keep" }));
    session.status("## main\n[No changes.]");
}

#[test]
fn nothing_that_the_repository_names_is_run() {
    let world = repository().with(".gitattributes", "*.txt filter=evil\n");
    commit(&world, "second");
    let trap = world.path("../sprung");
    let script = format!("#!/bin/sh\necho \"$0\" >> {}\ncat\n", trap.display());
    let world = world.with("evil.sh", &script).with(".git/hooks/post-checkout", &script);
    let world = world.with(".git/hooks/reference-transaction", &script).with(".git/hooks/post-index-change", &script);
    for path in
        ["evil.sh", ".git/hooks/post-checkout", ".git/hooks/reference-transaction", ".git/hooks/post-index-change"]
    {
        fs::set_permissions(world.path(path), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    }
    let evil = world.path("evil.sh");
    for key in ["filter.evil.smudge", "filter.evil.process", "core.fsmonitor"] {
        plain(&world.path(""), &["config", key, evil.to_str().expect("text")]);
    }
    let session = Session::of(&world);
    session.enter("t");
    session.exit(json!({ "action": "remove" }));
    assert!(!trap.exists(), "{}", fs::read_to_string(&trap).unwrap_or_default());
    check_nothing_left(&world, "t");
    // They are traps: git itself springs them.
    plain(&world.path(""), &["worktree", "add", "-q", "../plain"]);
    assert!(trap.exists());
}

#[test]
fn no_link_leads_the_files_of_a_tree_elsewhere() {
    let outside = tempfile::tempdir().expect("a folder");
    for (path, inside) in [(".worktrees", false), (".worktrees", true), (".git/worktrees", false), (".git/refs", false)]
    {
        let world = repository();
        let target = if inside { world.path("d") } else { outside.path().to_owned() };
        if path == ".git/refs" {
            fs::rename(world.path(path), target.join("refs")).expect("a folder");
            symlink(target.join("refs"), world.path(path)).expect("a link");
        } else {
            symlink(&target, world.path(path)).expect("a link");
        }
        let session = Session::of(&world);
        assert!(call(&session.enter, json!({ "name": "t" })).is_err(), "{path}");
        assert!(session.place.away().is_none());
        assert!(!world.path(".worktrees/t").join("a.txt").exists(), "{path}");
        let left: Vec<_> =
            fs::read_dir(outside.path()).expect("a folder").map(|entry| entry.expect("one").file_name()).collect();
        assert!(left.iter().all(|name| name == "refs"), "{left:?}");
    }
}

#[test]
fn a_name_is_one_for_a_folder_and_a_branch() {
    for name in ["a", "try-cache", "v1.2_x", "0"] {
        assert!(check_name(name).is_ok(), "{name}");
    }
    let long = "a".repeat(65);
    for name in ["", ".", "..", "a/b", "-a", ".a", "a..b", "a.lock", "a.", "a-", "A", "a b", "a\nb", "ä", "a~1", &long]
    {
        assert!(check_name(name).is_err(), "{name:?}");
    }
}

#[test]
fn what_is_nowhere_else_is_not_removed() {
    let world = repository();
    let session = Session::of(&world);
    let remove = || json!({ "action": "remove" });
    session.enter("t");
    let tree = in_tree(&world, "t");
    fs::write(tree.join("a.txt"), "changed").expect("a file");
    session.check_stays(remove(), " M a.txt");
    fs::write(tree.join("new.txt"), "new").expect("a file");
    session.check_stays(remove(), "?? new.txt");
    plain(&tree, &["checkout", "-q", "--detach"]);
    plain(&tree, &["add", "-A"]);
    plain(&tree, &["commit", "-q", "-m", "nowhere"]);
    session.check_stays(remove(), "which no branch has");
    let told = session.exit(json!({ "action": "remove", "discard_changes": true }));
    assert!(told.contains("its branch stays"), "the tree was not on it any more: {told}");
    plain(&world.path(""), &["branch", "-D", "worktree-t"]);
    check_nothing_left(&world, "t");
    check_refused(call(&session.exit, remove()), "in no working tree");
}

#[test]
fn a_submodule_with_files_is_not_removed() {
    let world = repository();
    let hash = plain(&world.path(""), &["rev-parse", "HEAD"]);
    let cache = format!("160000,{},sub", hash.trim());
    plain(&world.path(""), &["update-index", "--add", "--cacheinfo", &cache]);
    plain(&world.path(""), &["commit", "-q", "-m", "a submodule"]);
    let session = Session::of(&world);
    session.enter("t");
    fs::write(in_tree(&world, "t").join("sub/x"), "x").expect("its folder is there");
    session.check_stays(json!({ "action": "remove" }), "the submodule sub");
}

#[test]
fn a_branch_goes_with_its_tree_unless_it_has_commits_of_its_own() {
    let world = repository();
    let session = Session::of(&world);
    session.enter("t");
    let told = session.exit(json!({ "action": "remove" }));
    assert!(told.contains("and so is its branch worktree-t"), "{told}");
    check_nothing_left(&world, "t");
    session.enter("t");
    let tree = in_tree(&world, "t");
    fs::write(tree.join("a.txt"), "changed").expect("a file");
    plain(&tree, &["commit", "-q", "-a", "-m", "work"]);
    let told = session.exit(json!({ "action": "remove" }));
    assert!(told.contains("its branch stays"), "{told}");
    assert!(plain(&world.path(""), &["log", "-1", "--format=%s", "worktree-t"]).starts_with("work"));
    check_refused(call(&session.enter, json!({ "name": "t" })), "there is a branch worktree-t already");
}

#[test]
fn a_packed_branch_stays() {
    let world = repository();
    let session = Session::of(&world);
    session.enter("t");
    plain(&world.path(""), &["pack-refs", "--all"]);
    let told = session.exit(json!({ "action": "remove" }));
    assert!(told.contains("its branch stays"), "{told}");
    check_refused(call(&session.enter, json!({ "name": "t" })), "there is a branch");
}

#[test]
fn a_tree_that_was_kept_is_entered_again() {
    let world = repository();
    let session = Session::of(&world);
    session.enter("t");
    check_refused(call(&session.enter, json!({ "name": "u" })), "in the working tree t already");
    fs::write(in_tree(&world, "t").join("new.txt"), "n").expect("a file");
    session.exit(json!({ "action": "keep" }));
    check_refused(call(&session.enter, json!({ "name": "t", "from": "HEAD" })), "is there already");
    assert!(session.enter("t").contains("which was there already"));
    assert!(session.files.open_file("new.txt").is_ok());
}

#[test]
fn a_folder_that_is_no_tree_is_not_entered() {
    let world = repository().with(".worktrees/t/a.txt", "").with(".worktrees/u", "");
    let session = Session::of(&world);
    check_refused(call(&session.enter, json!({ "name": "t" })), "is no working tree of the repository");
    check_refused(call(&session.enter, json!({ "name": "u" })), "is a file");
    let world = world.with(".worktrees/v/.git", "gitdir: ../../.git\n");
    check_refused(call(&session.enter, json!({ "name": "v" })), "is no working tree of the repository");
    let _ = world;
}

#[test]
fn a_commit_is_named_and_none_is_no_tree() {
    let world = repository().with("later.txt", "l");
    commit(&world, "second");
    let session = Session::of(&world);
    check_refused(call(&session.enter, json!({ "name": "t", "from": "absent" })), "no commit");
    call(&session.enter, json!({ "name": "t", "from": "HEAD~1" })).expect("it is made");
    assert!(!in_tree(&world, "t").join("later.txt").exists());
    let world = World::new();
    check_refused(call(&Session::of(&world).enter, json!({ "name": "t" })), "no git repository");
    plain(&world.path(""), &["init", "-q", "-b", "main"]);
    check_refused(call(&Session::of(&world).enter, json!({ "name": "t" })), "no commits");
    assert!(!world.path(".worktrees").exists());
}

#[test]
fn after_a_failure_at_any_step_nothing_is_left() {
    let world = repository();
    for step in 0.. {
        let left = Arc::new(std::sync::atomic::AtomicUsize::new(step));
        let count = Arc::clone(&left);
        let gate = Arc::new(move |_: WriteStep| {
            let before =
                count.fetch_update(std::sync::atomic::Ordering::SeqCst, std::sync::atomic::Ordering::SeqCst, |left| {
                    Some(left.wrapping_sub(1))
                });
            if before == Ok(0) { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        });
        let session = Session::over(Arc::new(world.boundary().with_step_gate(gate)));
        let made = call(&session.enter, json!({ "name": "t" }));
        if made.is_ok() {
            assert!(step > 10, "the steps are those of six files and more");
            return;
        }
        assert!(session.place.away().is_none());
        check_nothing_left(&world, "t");
    }
}

#[test]
fn a_repository_that_is_none_of_the_workspace_itself_has_no_trees() {
    let world = World::new().with("sub/a.txt", "a");
    plain(&world.path("sub"), &["init", "-q", "-b", "main"]);
    plain(&world.path("sub"), &["add", "."]);
    plain(&world.path("sub"), &["commit", "-q", "-m", "first"]);
    check_refused(call(&Session::of(&world).enter, json!({ "name": "t" })), "no git repository");
    plain(&world.path("sub"), &["worktree", "add", "-q", "../linked"]);
    let inner = Workspace::open(&world.path("linked")).expect("it exists");
    check_refused(call(&Session::over(Arc::new(inner)).enter, json!({ "name": "t" })), "outside of the workspace");
}
