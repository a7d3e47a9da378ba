//! Patches over several files: what is on the disk afterwards, and what the model reads.

use super::*;
use crate::testing::{World, call};
use slot_runtime::{boundary::WriteStep, contract::ToolSpec};
use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{Arc, Mutex},
};

fn run(world: &World, input: Value) -> Result<String, String> {
    let tool = ApplyPatch::new(world.boundary());
    tool.validate_input(&input).map_err(|fault| fault.message)?;
    call(&tool, input).map(|output| output.content).map_err(|error| error.to_string())
}

/// Every file of the workspace.
fn files(world: &World) -> BTreeMap<String, String> {
    fn walk(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(root, &path, files);
            } else {
                let name = path.strip_prefix(root).expect("below it").to_string_lossy().into_owned();
                files.insert(name, fs::read_to_string(&path).expect("text"));
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&world.path(""), &world.path(""), &mut found);
    found
}

fn world() -> World {
    World::new().with("a.txt", "a\nb\nc\n").with("sub/b.txt", "1\r\n2\r\n").with("gone.txt", "x\n")
}

#[track_caller]
fn check(patch: &str, said: &str, expect: &[(&str, &str)]) {
    let world = world();
    assert_eq!(run(&world, json!({ "patch": patch })), Ok(said.to_owned()));
    let expect: BTreeMap<String, String> = expect.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    assert_eq!(files(&world), expect);
}

#[track_caller]
fn check_refused(patch: &str, said: &str) {
    let world = world();
    let before = files(&world);
    let error = run(&world, json!({ "patch": patch })).expect_err("a refusal");
    assert!(error.contains(said), "{error}");
    assert_eq!(files(&world), before);
}

const ALL: &str = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n--- a/sub/b.txt\n+++ b/sub/b.txt\n@@ -2 +2,2 @@\n \
                   2\n+3\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n--- /dev/null\n+++ b/new/n.txt\n@@ -0,0 +1 @@\n+n\n";

#[test]
fn many_files_are_changed_at_once() {
    check(
        ALL,
        "Patched:\nM a.txt (1 hunk)\nM sub/b.txt (1 hunk)\nD gone.txt\nA new/n.txt",
        &[("a.txt", "a\nB\nc\n"), ("sub/b.txt", "1\r\n2\r\n3\r\n"), ("new/n.txt", "n\n")],
    );
}

#[test]
fn a_file_is_moved_with_its_permissions() {
    let world = world();
    fs::set_permissions(world.path("a.txt"), fs::Permissions::from_mode(0o751)).expect("the test owns it");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: d/z.txt\n@@\n-b\n+B\n*** End Patch";
    assert_eq!(run(&world, json!({ "patch": patch })), Ok("Patched:\nR a.txt -> d/z.txt (1 hunk)".to_owned()));
    assert_eq!(fs::read_to_string(world.path("d/z.txt")).expect("text"), "a\nB\nc\n");
    assert_eq!(fs::metadata(world.path("d/z.txt")).expect("it exists").permissions().mode() & 0o777, 0o751);
    assert!(!world.path("a.txt").exists());
}

#[test]
fn a_mode_is_changed_with_and_without_content() {
    let world = world();
    let patch = "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n\
                 diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n\
                 diff --git a/gone.txt b/moved\nold mode 100644\nnew mode 100755\nrename from gone.txt\nrename to moved\n";
    let said = "Patched:\nM a.txt (can be run now)\nA n (can be run now)\nR gone.txt -> moved (can be run now)";
    assert_eq!(run(&world, json!({ "patch": patch })), Ok(said.to_owned()));
    for name in ["a.txt", "n", "moved"] {
        let mode = fs::metadata(world.path(name)).expect("it exists").permissions().mode();
        assert_eq!(mode & 0o111, (mode & 0o444) >> 2, "{name}");
    }
    assert_eq!(fs::read_to_string(world.path("a.txt")).expect("text"), "a\nb\nc\n");
    let back =
        "diff --git a/a.txt b/a.txt\nold mode 100755\nnew mode 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+A\n";
    let said = "Patched:\nM a.txt (1 hunk) (cannot be run any more)";
    assert_eq!(run(&world, json!({ "patch": back })), Ok(said.to_owned()));
    assert_eq!(fs::metadata(world.path("a.txt")).expect("it exists").permissions().mode() & 0o111, 0);
}

#[test]
fn a_new_file_may_have_two_sections_and_two_spellings() {
    let patch = "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n--- ./n\n+++ ./n\n@@ -1 +1 @@\n-n\n+m\n";
    check(
        patch,
        "Patched:\nA n\nM ./n (1 hunk)",
        &[("a.txt", "a\nb\nc\n"), ("sub/b.txt", "1\r\n2\r\n"), ("gone.txt", "x\n"), ("n", "m\n")],
    );
}

#[test]
fn a_file_may_have_two_sections() {
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+A\n--- ./a.txt\n+++ ./a.txt\n@@ -3 +3 @@\n-c\n+C\n";
    check(
        patch,
        "Patched:\nM a.txt (1 hunk)\nM ./a.txt (1 hunk)",
        &[("a.txt", "A\nb\nC\n"), ("sub/b.txt", "1\r\n2\r\n"), ("gone.txt", "x\n")],
    );
}

#[test]
fn what_moved_is_told() {
    check(
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-c\n+C\n",
        "Patched:\n[TOLERATED] Hunk 1 of a.txt was found 2 lines below the line that it names.\nM a.txt (1 hunk)",
        &[("a.txt", "a\nb\nC\n"), ("sub/b.txt", "1\r\n2\r\n"), ("gone.txt", "x\n")],
    );
}

#[test]
fn one_file_that_does_not_fit_stops_all() {
    // S113
    check_refused(
        "*** Begin Patch\n*** Delete File: gone.txt\n*** Update File: missing.txt\n@@\n-old\n+new\n*** End Patch",
        "not found: missing.txt, which the patch changes or removes. Nothing was changed in any file.",
    );
    check_refused(&ALL.replace("-b\n", "-bb\n"), "Hunk 1 of 1 for a.txt was not applied");
    check_refused(&ALL.replace("b/new/n.txt", "b/../n.txt"), "path escapes workspace");
    check_refused(&ALL.replace("b/new/n.txt", "b/.git/config"), "protected path");
}

#[test]
fn nothing_is_replaced_unasked() {
    // S114
    check_refused("*** Begin Patch\n*** Add File: a.txt\n+new\n*** End Patch", "already exists: a.txt");
    check_refused(
        "*** Begin Patch\n*** Update File: a.txt\n*** Move to: gone.txt\n@@\n-b\n+B\n*** End Patch",
        "already exists: gone.txt",
    );
}

#[test]
fn what_is_removed_is_compared() {
    check_refused("--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "does not name all that it holds");
    check_refused("diff --git a/a.txt b/a.txt\ndeleted file mode 100644\n", "does not name all that it holds");
}

#[test]
fn a_misfit_teaches() {
    let world = world();
    let error = run(&world, json!({ "patch": "@@ -1,2 +1,2 @@\n a\n-x\n+y\n", "path": "a.txt" }));
    assert_eq!(
        error.expect_err("a refusal"),
        "Hunk 1 of 1 for a.txt was not applied: its lines are not at line 1, nor within 3 lines of it. Nothing was changed in \
         any file.\nExpected:\n  a\n  x\nThe file has there:\n     1│ a\n     2│ b\n     3│ c\nRead the file with read_file, \
         copy the lines that stay and go verbatim, and send the whole patch again."
    );
}

#[test]
fn what_is_no_patch_is_refused_before_anybody_is_asked() {
    check_refused("hello", "line 1 of the patch: the patch changes nothing");
    let error = run(&world(), json!({ "patch": ALL, "fuzz": 51 })).expect_err("a refusal");
    assert!(error.contains("50 at most"), "{error}");
}

/// A change, a file that grows, one that goes, one that comes in a new folder, one that moves and one that can be run.
fn everything() -> String {
    let moved =
        "diff --git a/m.txt b/n/m.txt\nold mode 100644\nnew mode 100755\nrename from m.txt\nrename to n/m.txt\n";
    let mode = "diff --git a/r.sh b/r.sh\nold mode 100644\nnew mode 100755\n";
    format!("{ALL}{moved}{mode}")
}

/// Every file with what it holds and who may do what with it.
fn state(world: &World) -> BTreeMap<String, (String, u32)> {
    let mode = |name: &str| fs::metadata(world.path(name)).expect("it exists").permissions().mode();
    files(world).into_iter().map(|(name, text)| (name.clone(), (text, mode(&name)))).collect()
}

#[track_caller]
fn check_failing(kind: io::ErrorKind) {
    let full = || world().with("m.txt", "m\n").with("r.sh", "r\n");
    let run_failing_at = |world: &World, fail_at: usize| {
        let steps = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&steps);
        // Only this step fails, so that whatever takes the others back can work.
        let boundary = world.boundary().with_step_gate(Arc::new(move |step: WriteStep| {
            let mut seen = seen.lock().expect("no panic holds it");
            seen.push(step);
            if seen.len() == fail_at { Err(kind.into()) } else { Ok(()) }
        }));
        let result = call(&ApplyPatch::new(Arc::new(boundary)), json!({ "patch": everything() }));
        let steps = steps.lock().expect("no panic holds it").clone();
        (result, steps)
    };
    let (result, steps) = run_failing_at(&full(), usize::MAX);
    assert!(result.is_ok(), "{result:?}");
    use WriteStep::{KeepOld, KeepOwnerAndMode, MakeFolder, MakeTemporary, Remove, Rename, Sync, WriteContent};
    for step in [MakeFolder, MakeTemporary, WriteContent, KeepOwnerAndMode, Sync, KeepOld, Rename, Remove] {
        assert!(steps.contains(&step), "{step:?} is no step of this patch");
    }
    for fail_at in 1..=steps.len() {
        let world = full();
        let before = state(&world);
        let error = run_failing_at(&world, fail_at).0.expect_err("a step failed");
        assert_eq!(state(&world), before, "failing at {fail_at}, {:?}: {error}", steps[fail_at - 1]);
        assert!(!world.path("new").exists() && !world.path("n").exists(), "a folder is left, failing at {fail_at}");
    }
}

#[test]
fn a_failure_at_any_step_leaves_every_file_as_it_was() {
    check_failing(io::ErrorKind::StorageFull);
    check_failing(io::ErrorKind::PermissionDenied);
    check_failing(io::ErrorKind::ReadOnlyFilesystem);
}
