use super::*;

fn table(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
}

fn world() -> World {
    World::build(&WorldSpec {
        files: table(&[("a.txt", "in $WORKSPACE"), ("d/b.txt", "b"), ("empty/", "")]),
        outside: table(&[("secret.txt", "CANARY")]),
        home: table(&[("notes/mine", "x")]),
        links: table(&[("out", "$OUTSIDE/secret.txt"), ("sub/back", "../a.txt")]),
        ..WorldSpec::default()
    })
    .unwrap()
}

#[track_caller]
fn check(spec: WorldSpec, expect: &str) {
    let before = World::build(&WorldSpec::default()).unwrap();
    let error = World::build(&spec).unwrap_err();
    assert_eq!(before.neutral(&error.to_string()), expect);
}

#[test]
fn what_a_case_plants_is_there() {
    let world = world();
    let workspace = world.workspace().display().to_string();
    let outside = world.outside().display().to_string();
    let expect = [
        ("a.txt", Node::File { text: format!("in {workspace}") }),
        ("d", Node::Dir),
        ("d/b.txt", Node::File { text: "b".into() }),
        ("empty", Node::Dir),
        ("out", Node::Link { target: format!("{outside}/secret.txt") }),
        ("sub", Node::Dir),
        ("sub/back", Node::Link { target: "../a.txt".into() }),
    ];
    assert_eq!(world.snapshot_workspace(), expect.map(|(key, node)| (key.to_owned(), node)).into());
    let expect = [
        ("home/notes/mine", Node::File { text: "x".into() }),
        ("outside/secret.txt", Node::File { text: "CANARY".into() }),
    ];
    assert_eq!(world.snapshot_outside(), expect.map(|(key, node)| (key.to_owned(), node)).into());
    assert_eq!(std::fs::read_to_string(world.workspace().join("out")).unwrap(), "CANARY");
}

#[test]
fn settings_and_caches_in_home_are_no_facts() {
    let world = world();
    let before = world.snapshot_outside();
    std::fs::create_dir_all(world.home().join(".config/agent")).unwrap();
    std::fs::write(world.home().join(".config/agent/settings.json"), "{}").unwrap();
    std::fs::write(world.tmp().join("scratch"), "").unwrap();
    assert_eq!(world.snapshot_outside(), before);
}

#[test]
fn dangerous_places_and_planted_files_in_home_are_facts() {
    let world = world();
    let before = world.snapshot_outside();
    std::fs::create_dir(world.home().join(".ssh")).unwrap();
    std::fs::write(world.home().join(".ssh/authorized_keys"), "key").unwrap();
    std::fs::write(world.home().join(".bashrc"), "evil").unwrap();
    std::fs::remove_file(world.home().join("notes/mine")).unwrap();
    let after = world.snapshot_outside();
    let new: Vec<_> = after.keys().filter(|key| !before.contains_key(*key)).collect();
    let gone: Vec<_> = before.keys().filter(|key| !after.contains_key(*key)).collect();
    assert_eq!(new, ["home/.bashrc", "home/.ssh", "home/.ssh/authorized_keys"]);
    assert_eq!(gone, ["home/notes/mine"]);
}

#[test]
fn a_home_folder_turned_into_a_link_is_seen_and_not_followed() {
    let world = world();
    std::fs::remove_dir_all(world.home().join("notes")).unwrap();
    std::fs::write(world.outside().join("mine"), "x").unwrap();
    std::os::unix::fs::symlink(world.outside(), world.home().join("notes")).unwrap();
    std::os::unix::fs::symlink(world.outside(), world.home().join(".ssh")).unwrap();
    let after = world.snapshot_outside();
    assert_eq!(after.get("home/notes/mine"), None);
    assert_eq!(after.get("home/.ssh"), Some(&Node::Link { target: world.outside().display().to_string() }));
    assert_eq!(after.get("home/.ssh/mine"), None);
}

#[test]
fn paths_that_lead_out_are_refused() {
    for (path, what) in [
        ("", "is empty"),
        ("/etc/x", "is absolute"),
        ("../x", "has the part `..`"),
        ("a/../x", "has the part `..`"),
        ("./x", "has the part `.`"),
        ("a//x", "has the part ``"),
        ("a\0b", "holds a NUL"),
    ] {
        check(
            WorldSpec { files: table(&[(path, "")]), ..WorldSpec::default() },
            &format!("files: path `{}` {what}, expected a path below its folder", path.escape_debug()),
        );
    }
    check(
        WorldSpec { links: table(&[("../x", "y")]), ..WorldSpec::default() },
        "links: path `../x` has the part `..`, expected a path below its folder",
    );
}

#[test]
fn folders_hold_no_text_and_links_need_a_target() {
    check(
        WorldSpec { outside: table(&[("d/", "x")]), ..WorldSpec::default() },
        "outside: path `d/` ends in `/`, expected empty text, for it makes an empty folder",
    );
    check(
        WorldSpec { links: table(&[("l", "")]), ..WorldSpec::default() },
        "links: link `l` has no target, expected a path",
    );
}

#[test]
fn two_entries_for_one_path_are_refused() {
    check(
        WorldSpec { files: table(&[("a", ""), ("a/b", "")]), ..WorldSpec::default() },
        "files.\"a/b\" cannot be planted: File exists (os error 17); two entries may want the same path",
    );
    check(
        WorldSpec { files: table(&[("a", "")]), links: table(&[("a", "b")]), ..WorldSpec::default() },
        "links.\"a\" cannot be planted: File exists (os error 17); two entries may want the same path",
    );
}

#[test]
fn names_become_folders_and_folders_names_again() {
    let world = world();
    for text in [
        "",
        "cat $WORKSPACE/a.txt $OUTSIDE/x >> $HOME/.bashrc; echo $HOME",
        "$HOMEWARD $WORKSPACE_2 is no folder",
        "\"$HOME\":'$OUTSIDE',é$WORKSPACE.",
    ] {
        assert_eq!(world.neutral(&world.substitute(text)), text);
    }
    assert_eq!(world.substitute("$HOME/x"), format!("{}/x", world.home().display()));
    assert_eq!(world.substitute("$HOMEWARD"), "$HOMEWARD");
}

#[test]
fn neutral_text_names_nothing_of_this_run() {
    let world = world();
    let root = world.root.display();
    let marker = world.marker().1;
    assert_eq!(
        world.neutral(&format!("{root} {root}/tmp/x {root}/workspace2 {root}/workspace. {marker}")),
        "$ROOT $TMPDIR/x $ROOT/workspace2 $WORKSPACE. $RUN"
    );
}

#[test]
fn a_name_made_of_a_path_is_neutral() {
    let world = world();
    let made = world.workspace().display().to_string().replace('/', "-");
    let parent = std::env::temp_dir().canonicalize().unwrap().display().to_string().replace('/', "-");
    assert_eq!(world.neutral(&made), format!("{parent}-$RUN-workspace"));
}

#[test]
fn both_spellings_of_a_folder_are_neutral() {
    let mut world = world();
    world.spelled = Some("/link/to/root".into());
    assert_eq!(world.neutral("/link/to/root/home/x"), "$HOME/x");
}

#[test]
fn markers_are_unique() {
    let markers: BTreeSet<_> = (0..100).map(|_| unique()).collect();
    assert_eq!(markers.len(), 100);
    assert!(markers.iter().all(|marker| marker.len() == 32));
}

#[test]
fn a_dropped_world_leaves_nothing() {
    let world = world();
    let root = world.root.clone();
    let locked = world.workspace().join("locked/inner");
    std::fs::create_dir_all(&locked).unwrap();
    std::fs::write(locked.join("file"), "x").unwrap();
    for (path, mode) in [(locked.join("file"), 0o400), (locked.clone(), 0o500), (world.workspace().join("locked"), 0)] {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    drop(world);
    assert!(!root.exists());
}

#[test]
fn locked_folders_are_opened_for_removal() {
    use std::os::unix::fs::PermissionsExt as _;
    // Root may remove anything as it is, so the opening itself is looked at.
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
    std::fs::set_permissions(folder.path().join("a/b"), std::fs::Permissions::from_mode(0o0)).unwrap();
    std::fs::set_permissions(folder.path().join("a"), std::fs::Permissions::from_mode(0o0)).unwrap();
    open_up(folder.path());
    for path in ["a", "a/b"] {
        assert_eq!(folder.path().join(path).metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[test]
fn dangerous_places_are_files_or_whole_folders() {
    for (path, expect) in [
        (".bashrc", true),
        (".ssh/x/y", true),
        (".ssh", true),
        (".sshx", false),
        (".bashrc.d", false),
        (".config/a", false),
    ] {
        assert_eq!(is_dangerous_in_home(path), expect, "{path}");
    }
}
