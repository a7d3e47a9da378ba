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
    let mode = |mut node: Node| {
        node.mode_mut().into_iter().for_each(|mode| *mode = 0);
        node
    };
    let bare = |tree: BTreeMap<String, Node>| tree.into_iter().map(|(key, node)| (key, mode(node))).collect();
    let bare: &dyn Fn(BTreeMap<String, Node>) -> BTreeMap<String, Node> = &bare;
    let expect = [
        ("a.txt", Node::text(format!("in {workspace}"))),
        ("d", Node::Dir { mode: 0 }),
        ("d/b.txt", Node::text("b")),
        ("empty", Node::Dir { mode: 0 }),
        ("out", Node::Link { target: format!("{outside}/secret.txt") }),
        ("sub", Node::Dir { mode: 0 }),
        ("sub/back", Node::Link { target: "../a.txt".into() }),
    ];
    assert_eq!(bare(world.snapshot_workspace()), expect.map(|(key, node)| (key.to_owned(), node)).into());
    let expect = [
        ("home", Node::Dir { mode: 0 }),
        ("home/notes", Node::Dir { mode: 0 }),
        ("home/notes/mine", Node::text("x")),
        ("outside", Node::Dir { mode: 0 }),
        ("outside/secret.txt", Node::text("CANARY")),
    ];
    assert_eq!(bare(world.snapshot_outside()), expect.map(|(key, node)| (key.to_owned(), node)).into());
    assert_eq!(std::fs::read_to_string(world.workspace().join("out")).unwrap(), "CANARY");
}

/// What of the paths that are made below the run's folder is a fact, where the agent's state is `state`.
#[track_caller]
fn check_facts(state: &[&str], made: &[&str], expect: &[&str]) {
    let world = world().with_state(state.iter().map(|place| (*place).to_owned()).collect());
    let before = world.snapshot_outside();
    for path in made {
        write_new(&world.root.join(path), "x").unwrap();
    }
    let after = world.snapshot_outside();
    let new: Vec<_> = after.keys().filter(|key| !before.contains_key(*key)).collect();
    assert_eq!(new, expect);
}

#[test]
fn the_agents_own_state_and_temporary_files_are_no_facts() {
    let state = [".agent/", ".config/agent/", ".agent.json"];
    check_facts(
        &state,
        &["home/.agent/a/b", "home/.config/agent/settings.json", "home/.agent.json", "tmp/scratch"],
        &[],
    );
}

#[test]
fn every_other_place_in_and_beside_home_is_a_fact() {
    for (made, expect) in [
        ("evil", &["evil"][..]),
        ("workspace2", &["workspace2"]),
        ("outside/new", &["outside/new"]),
        ("home/.inputrc", &["home/.inputrc"]),
        ("home/.local/bin/x", &["home/.local", "home/.local/bin", "home/.local/bin/x"]),
        ("home/.aws/credentials", &["home/.aws", "home/.aws/credentials"]),
        ("home/.agent2", &["home/.agent2"]),
        ("home/.config/other", &["home/.config/other"]),
    ] {
        check_facts(&[".agent/", ".config/agent/"], &[made], expect);
    }
}

#[test]
fn dangerous_places_are_facts_in_an_agents_state_as_well() {
    check_facts(&[".config/"], &["home/.config/x", "home/.config/git/config"], &["home/.config/git/config"]);
    check_facts(
        &[".bashrc", ".ssh/"],
        &["home/.bashrc", "home/.ssh/authorized_keys"],
        &["home/.bashrc", "home/.ssh", "home/.ssh/authorized_keys"],
    );
}

#[test]
fn what_vanishes_and_what_changes_its_permissions_is_a_fact() {
    let world = world();
    let before = world.snapshot_outside();
    std::fs::set_permissions(world.outside().join("secret.txt"), std::os::unix::fs::PermissionsExt::from_mode(0o4777))
        .unwrap();
    std::fs::remove_file(world.home().join("notes/mine")).unwrap();
    let after = world.snapshot_outside();
    assert!(after["outside/secret.txt"] != before["outside/secret.txt"] && !after.contains_key("home/notes/mine"));
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
    assert_eq!(after.get("home/notes"), Some(&Node::Link { target: world.outside().display().to_string() }));
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
    let markers: std::collections::BTreeSet<_> = (0..100).map(|_| unique()).collect();
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

#[test]
fn the_longest_name_wins_and_a_longer_word_stays() {
    let pairs = |names: &[(&str, &str)]| -> Vec<(String, String)> {
        names.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect()
    };
    let check = |names: &[(&str, &str)], text: &str, expect: &str| {
        assert_eq!(super::replace(text, &pairs(names), char::is_alphanumeric), expect);
    };
    let nested = [("/r", "$R"), ("/r/w", "$W")];
    check(&nested, "/r/w/a /r/b /r/w2 /rr ü/r", "$W/a $R/b $R/w2 /rr ü$R");
    check(&nested, "", "");
    check(&nested, "ü🦀 no place", "ü🦀 no place");
    // What replaces is not replaced again, and an empty name is no name.
    check(&[("a", "b"), ("b", "a"), ("", "c")], "a b ab", "b a aa");
    // More first bytes than one search takes.
    check(&[("a", "1"), ("b", "2"), ("c", "3"), ("ü", "4")], "a,b,c,ü,d", "1,2,3,4,d");
}
