//! Rules about paths: every way to write one, every tool that takes one, and links.

use super::*;
use crate::boundary::{BoundaryError, FileBoundary, Workspace, WriteMode};

#[test]
fn a_path_is_denied_however_it_is_written() {
    for path in [
        "secrets/key",
        "./secrets/key",
        "secrets//key",
        "a/../secrets/key",
        "/srv/space/secrets/key",
        "../space/secrets/key",
        "secrets/a/b/c",
        "SECRETS/key",
        "secrets",
        "secrets/",
    ] {
        call("Read(secrets/**)", "read_file", json!({"path": path}), true);
        call("Read(./secrets)", "read_file", json!({"path": path}), true);
        call("Read(/secrets/**)", "read_file", json!({"path": path}), true);
    }
    for path in ["secrets2/key", "a/secrets/key", "secret/key", "/secrets2/x"] {
        call("Read(secrets/**)", "read_file", json!({"path": path}), false);
    }
}

#[test]
fn names_and_roots_are_meant_as_in_ignore_files() {
    call("Read(.env)", "read_file", json!({"path": "a/b/.env"}), true);
    call("Read(.env)", "read_file", json!({"path": "/elsewhere/.env"}), true);
    call("Read(.env)", "read_file", json!({"path": "a/.envrc"}), false);
    call("Read(*.pem)", "read_file", json!({"path": "x/y.PEM"}), true);
    call("Read(a/**/z)", "read_file", json!({"path": "a/b/c/z/q"}), true);
    call("Read(a/**/z)", "read_file", json!({"path": "a/z"}), true);
    call("Read(a/?)", "read_file", json!({"path": "a/b"}), true);
    call("Read(a/?)", "read_file", json!({"path": "a/bc"}), false);
    call("Read(//etc/passwd)", "read_file", json!({"path": "/etc/../etc/passwd"}), true);
    call("Read(//etc/passwd)", "read_file", json!({"path": "etc/passwd"}), false);
    call("Read(~/.ssh/**)", "read_file", json!({"path": "/home/me/.ssh/id"}), true);
    call("Read(~/.ssh/**)", "read_file", json!({"path": "../../home/me/.ssh/id"}), true);
    call("Read(/etc/**)", "read_file", json!({"path": "/etc/passwd"}), true);
}

#[test]
fn every_tool_that_takes_a_path_is_judged_by_it() {
    call("Read(secrets/**)", "list_dir", json!({"path": "secrets"}), true);
    call("Read(secrets/**)", "list_dir", json!({}), false);
    call("Read(.)", "list_dir", json!({}), true);
    call("Read(secrets/**)", "grep_files", json!({"pattern": "x", "paths": ["a", "secrets/b"]}), true);
    call("Read(secrets/**)", "git_show", json!({"rev": "HEAD:secrets/key"}), true);
    call("Edit(src/**)", "write_file", json!({"path": "src/a", "content": "x"}), true);
    call("Write(src/**)", "edit_file", json!({"path": "src/a"}), true);
    call("Edit(src/**)", "read_file", json!({"path": "src/a"}), false);
    call("Edit(src/**)", "write_file", json!({"path": "a", "content": "src/a"}), false);
    call("read_file(src/**)", "read_file", json!({"path": "src/a"}), true);
    call("LSP(path:src/**)", "symbols", json!({"path": "src/a"}), true);
}

#[test]
fn a_patch_is_judged_by_every_file_it_names() {
    for patch in [
        "--- a/ok\n+++ b/ok\n@@\n--- a/src/x\n+++ b/src/x\n",
        "*** Begin Patch\n*** Update File: src/x\n*** End Patch",
        "*** Begin Patch\n*** Update File: ok\n*** Move to: src/x\n",
        "*** Add File:src/x\n",
        "diff --git a/src/x b/src/x\nrename from ok\nrename to src/x\n",
        "--- src/x\t2020-01-01\n",
        "+++ \"b/src/x\"\n",
    ] {
        call("Edit(src/**)", "apply_patch", json!({"patch": patch}), true);
    }
    call("Edit(src/**)", "apply_patch", json!({"patch": "@@ -1 +1 @@\n-a\n+b\n", "path": "src/x"}), true);
    call("Edit(src/**)", "apply_patch", json!({"patch": "--- a/ok\n+++ b/ok\n@@ -1 +1 @@\n-src/x\n+b\n"}), false);
}

#[test]
fn a_link_does_not_lead_around_a_path_rule() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("secrets")).unwrap();
    std::fs::write(folder.path().join("secrets/key"), "k").unwrap();
    std::os::unix::fs::symlink("secrets/key", folder.path().join("open")).unwrap();
    std::os::unix::fs::symlink("secrets", folder.path().join("door")).unwrap();
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    let roots = Roots { workspace: Some(folder.path().to_owned()), home: None };
    let rules = DenyRules::parse(["Read(secrets/**)", "Edit(secrets/**)"], roots).unwrap();
    let files = Guarded::new(workspace, Arc::new(LiveRules::new(rules)));
    for path in ["open", "door/key", "secrets/key"] {
        assert!(matches!(files.open_file(path), Err(BoundaryError::DeniedByRule { .. })), "{path}");
        assert!(files.metadata(path).is_err());
        assert!(files.write_atomic(path, b"x", WriteMode::Overwrite).is_err(), "{path}");
    }
    for path in ["door/new", "door/a/b"] {
        assert!(files.write_atomic(path, b"x", WriteMode::Overwrite).is_err(), "{path}");
        assert!(files.create_dirs(path).is_err(), "{path}");
    }
    assert!(files.list_dir("door", 10).is_err() && files.open_dir("door").is_err());
    assert_eq!(std::fs::read_to_string(folder.path().join("secrets/key")).unwrap(), "k");
    assert!(files.write_atomic("fine", b"x", WriteMode::Overwrite).is_ok() && files.open_file("fine").is_ok());
}
