//! Reading, looking and listing.

use super::*;
use rustix::fs::{CWD, FileType, Mode, mkfifoat, mknodat};
use std::{cell::Cell, io::Read, os::unix::net::UnixListener};

fn read(workspace: &dyn FileBoundary, path: &str) -> Result<(String, PathBuf), BoundaryError> {
    let mut open = workspace.open_file(path)?;
    let mut text = String::new();
    open.file.read_to_string(&mut text).expect("text");
    assert_eq!(open.len, text.len() as u64);
    Ok((text, open.path))
}

/// `expect` is the resolved path with its content, or the kind of refusal.
#[track_caller]
fn check(world: &World, path: &str, expect: Result<(&str, &str), &str>) {
    let path = world.expand(path);
    for workspace in world.both() {
        let found = read(&workspace, &path);
        match (&found, expect) {
            (Ok((text, at)), Ok((expect_at, expect_text))) => {
                assert_eq!((at.as_path(), text.as_str()), (Path::new(expect_at), expect_text), "{path}");
            }
            (Err(error), Err(expect)) => assert_eq!(variant(error), expect, "{path}: {error}"),
            _ => panic!("{path}: {found:?}, expected {expect:?}"),
        }
    }
    if let Ok((text, at)) = read(&world.elsewhere(), &path) {
        assert_eq!(Ok((at.to_str().expect("text"), text.as_str())), expect, "{path}, elsewhere");
    }
    world.assert_untouched();
}

#[test]
fn a_relative_path_is_read() {
    check(&World::new(), "a.txt", Ok(("a.txt", "a")));
    check(&World::new(), "./sub//b.txt", Ok(("sub/b.txt", "b")));
}

#[test]
fn an_absolute_path_under_the_root_is_read() {
    check(&World::new(), "{in}/sub/b.txt", Ok(("sub/b.txt", "b")));
    check(&World::new(), "{in}/./a.txt", Ok(("a.txt", "a")));
}

#[test]
fn a_root_opened_through_a_link_is_known_by_both_names() {
    let world = World::new();
    let alias = world.base.path().join("alias");
    symlink(world.inside(""), &alias).expect("a link");
    let workspace = Workspace::open(&alias).expect("a folder");
    let by_alias = format!("{}/a.txt", alias.display());
    assert_eq!(read(&workspace, &by_alias).expect("it lies inside").0, "a");
    assert_eq!(read(&workspace, &world.expand("{in}/a.txt")).expect("it lies inside").0, "a");
}

#[test]
fn an_absolute_path_outside_is_an_escape() {
    check(&World::new(), "{out}/secret", Err("escape"));
    check(&World::new(), "/etc/passwd", Err("escape"));
    check(&World::new(), "/", Err("escape"));
}

#[test]
fn a_neighbour_whose_name_begins_like_the_root_is_an_escape() {
    let world = World::new();
    let neighbour = world.base.path().join("ws-secrets");
    fs::create_dir(&neighbour).expect("a folder");
    fs::write(neighbour.join("key"), CANARY).expect("a file");
    check(&world, "{in}-secrets/key", Err("escape"));
    check(&world, "../ws-secrets/key", Err("escape"));
}

#[test]
fn up_above_the_root_is_an_escape() {
    check(&World::new(), "../outside/secret", Err("escape"));
    check(&World::new(), "sub/../../outside/secret", Err("escape"));
    check(&World::new(), "{in}/../outside/secret", Err("escape"));
    check(&World::new(), "{in}/./sub/../../../outside/secret", Err("escape"));
    check(&World::new(), "../ws/a.txt", Err("escape"));
    check(&World::new(), "..", Err("escape"));
}

#[test]
fn up_inside_the_root_is_fine() {
    check(&World::new(), "sub/deep/../b.txt", Ok(("sub/b.txt", "b")));
    check(&World::new(), "sub/../a.txt", Ok(("a.txt", "a")));
}

#[test]
fn up_is_never_taken_from_the_text() {
    check(&World::new(), "new/../a.txt", Err("not found"));
    check(&World::new(), "a.txt/../a.txt", Err("not a folder"));
    // The link leads to sub/deep, so that up is sub: the text alone would say a.txt.
    check(&World::new().link("l", "sub/deep"), "l/../b.txt", Ok(("sub/b.txt", "b")));
    check(&World::new().link("l", "sub/deep"), "l/../a.txt", Err("not found"));
}

#[test]
fn names_that_only_look_special_are_names() {
    let world = World::new();
    for name in ["..foo", "bar..", "...", "~", "$HOME", "%2e%2e", "..\\..\\x", " a", "a."] {
        fs::write(world.inside(name), "plain").expect("a file");
        check(&world, name, Ok((name, "plain")));
    }
    check(&World::new(), "~/.ssh/id_ed25519", Err("not found"));
    check(&World::new(), "${HOME}/.netrc", Err("not found"));
    check(&World::new(), "sub/%2e%2e/%2e%2e/outside/secret", Err("not found"));
}

#[test]
fn what_cannot_be_a_path_is_refused() {
    check(&World::new(), "", Err("invalid"));
    check(&World::new(), "a.txt\0.png", Err("invalid"));
    check(&World::new(), &"a/".repeat(40_000), Err("invalid"));
    check(&World::new(), &"n".repeat(256), Err("invalid"));
}

#[test]
fn a_trailing_slash_needs_a_folder() {
    check(&World::new(), "a.txt/", Err("not a folder"));
    check(&World::new(), "a.txt/.", Err("not a folder"));
    check(&World::new(), "sub/", Err("not a file"));
    check(&World::new(), "a.txt/x", Err("not a folder"));
}

#[test]
fn a_link_that_stays_inside_is_read() {
    check(&World::new().link("l", "sub/b.txt"), "l", Ok(("sub/b.txt", "b")));
    check(&World::new().link("l", "{in}/sub/b.txt"), "l", Ok(("sub/b.txt", "b")));
    check(&World::new().link("l", "sub"), "l/b.txt", Ok(("sub/b.txt", "b")));
    check(&World::new().link("l", "{in}"), "l/l/a.txt", Ok(("a.txt", "a")));
    check(&World::new().link("sub/l", "../a.txt"), "sub/l", Ok(("a.txt", "a")));
    check(&World::new().link("one", "two").link("two", "{in}/three").link("three", "a.txt"), "one", Ok(("a.txt", "a")));
    check(&World::new().link("l", "../ws/a.txt"), "l", Ok(("a.txt", "a")));
}

#[test]
fn a_link_that_leads_out_is_an_escape() {
    check(&World::new().link("l", "{out}/secret"), "l", Err("escape"));
    check(&World::new().link("l", "../outside/secret"), "l", Err("escape"));
    check(&World::new().link("l", "{out}"), "l/secret", Err("escape"));
    check(&World::new().link("l", "/"), "l/etc/passwd", Err("escape"));
    check(&World::new().link("l", ".."), "l/ws/a.txt", Err("escape"));
    check(&World::new().link("one", "two").link("two", "{out}/secret"), "one", Err("escape"));
    check(&World::new().link("l", "../x/../ws/a.txt"), "l", Err("escape"));
}

#[test]
fn a_link_and_then_up_is_an_escape() {
    check(&World::new().link("l", "sub"), "l/../../outside/secret", Err("escape"));
    check(&World::new().link("l", "{out}/dir"), "l/../secret", Err("escape"));
}

#[test]
fn a_dangling_link_is_an_escape_outside_and_not_found_inside() {
    check(&World::new().link("l", "{out}/new"), "l", Err("escape"));
    check(&World::new().link("l", "sub/new"), "l", Err("not found"));
}

#[test]
fn an_escape_names_the_link() {
    let world = World::new().link("sub/l", "{out}");
    let error = world.workspace().open_file("sub/l/secret").expect_err("an escape").to_string();
    assert!(error.starts_with("path escapes workspace: sub/l/secret (the symbolic link sub/l leads out"), "{error}");
    // A link that stays inside is not to blame for the `..` after it.
    let world = World::new().link("l", "sub");
    let error = world.workspace().open_file("l/../../x").expect_err("an escape").to_string();
    assert!(error.starts_with("path escapes workspace: l/../../x. Only"), "{error}");
}

#[test]
fn a_loop_of_links_is_told() {
    check(&World::new().link("l", "l"), "l", Err("loop"));
    check(&World::new().link("one", "two").link("two", "one"), "one/x", Err("loop"));
    check(&World::new().link("l", "sub/../l"), "l", Err("loop"));
}

#[test]
fn forty_links_are_followed_and_one_more_is_not() {
    let mut world = World::new().link("l0", "a.txt");
    for n in 1..=40 {
        world = world.link(&format!("l{n}"), &format!("l{}", n - 1));
    }
    check(&world, "l39", Ok(("a.txt", "a")));
    check(&world, "l40", Err("loop"));
}

#[test]
fn a_link_of_proc_is_an_escape() {
    check(&World::new(), "/proc/self/root/etc/passwd", Err("escape"));
    check(&World::new().link("l", "/proc/self/root"), "l/etc/passwd", Err("escape"));
    check(&World::new().link("l", "/proc/self/cwd"), "l/Cargo.toml", Err("escape"));
}

#[test]
fn a_link_of_proc_inside_a_root_is_only_its_text() {
    // With all of /proc as the workspace, `self/root` says "/", which is not in it.
    for workspace in
        [Workspace::open(Path::new("/proc")), Workspace::open(Path::new("/proc")).map(Workspace::without_openat2)]
    {
        let workspace = workspace.expect("proc is mounted");
        let error = workspace.open_file("self/root/etc/passwd").expect_err("an escape");
        assert_eq!(variant(&error), "escape", "{error}");
        assert!(workspace.open_file("self/status").is_ok());
    }
}

#[test]
fn what_is_not_a_file_is_refused_without_blocking() {
    let world = World::new();
    mkfifoat(CWD, world.inside("pipe"), Mode::RUSR | Mode::WUSR).expect("a pipe");
    let _socket = UnixListener::bind(world.inside("socket")).expect("a socket");
    // A pipe without a writer would block an ordinary open for ever.
    check(&world, "pipe", Err("not a file"));
    check(&world, "socket", Err("not a file"));
    check(&world, "sub", Err("not a file"));
    check(&world, ".", Err("not a file"));
    // Only the superuser can make a device; elsewhere the devices of the system stand in below.
    if mknodat(CWD, world.inside("null"), FileType::CharacterDevice, Mode::RUSR, rustix::fs::makedev(1, 3)).is_ok() {
        check(&world, "null", Err("not a file"));
    }
    let error = Workspace::open(Path::new("/dev")).expect("a folder").open_file("zero").expect_err("a device");
    assert!(error.to_string().starts_with("not a file: zero is a device. "), "{error}");
}

#[test]
fn a_hard_link_is_a_file_of_its_own() {
    // Documented: no resolution can tell which of two names came first.
    let world = World::new();
    fs::hard_link(world.outside("secret"), world.inside("n.txt")).expect("a hard link");
    check(&world, "n.txt", Ok(("n.txt", CANARY)));
}

#[test]
fn a_trusted_root_is_reached_by_its_path_and_by_links() {
    let world = World::new()
        .link("absolute", "{out}/secret")
        .link("relative", "../outside/dir")
        .link("elsewhere", "/etc/passwd");
    for workspace in world.both() {
        let trusting = workspace.with_trusted_root(&world.outside("")).expect("a folder");
        let secret = PathBuf::from(world.expand("{out}/secret"));
        assert_eq!(read(&trusting, &world.expand("{out}/secret")).expect("trusted"), (CANARY.into(), secret.clone()));
        assert_eq!(read(&trusting, "absolute").expect("trusted").1, secret);
        assert_eq!(read(&trusting, "relative/secret").expect("trusted").0, CANARY);
        assert_eq!(read(&trusting, "a.txt").expect("inside").0, "a");
        for path in ["elsewhere", "../outside/secret", "relative/../../x"] {
            assert!(trusting.open_file(path).expect_err(path).is_escape(), "{path}");
        }
        // The first handle trusts no more than it did.
        assert!(workspace.open_file("absolute").expect_err("an escape").is_escape());
    }
}

#[test]
fn of_nested_roots_the_workspace_keeps_its_own_paths() {
    let world = World::new();
    let workspace = world.workspace().with_trusted_root(world.base.path()).expect("a folder");
    assert_eq!(read(&workspace, &world.expand("{in}/a.txt")).expect("inside").1, Path::new("a.txt"));
    let again = world.workspace().with_trusted_root(&world.inside("")).expect("a folder");
    assert_eq!(read(&again, &world.expand("{in}/a.txt")).expect("inside").1, Path::new("a.txt"));
}

#[test]
fn a_root_must_be_a_folder() {
    let world = World::new();
    assert!(Workspace::open(&world.inside("a.txt")).is_err());
    assert!(Workspace::open(&world.inside("absent")).is_err());
}

#[test]
fn metadata_follows_links_and_knows_every_kind() {
    let world = World::new().link("l", "sub/b.txt").link("out", "{out}/secret");
    mkfifoat(CWD, world.inside("pipe"), Mode::RUSR | Mode::WUSR).expect("a pipe");
    for workspace in world.both() {
        let file = workspace.metadata("l").expect("a file");
        assert_eq!(
            (file.path.as_path(), file.kind, file.len, file.links),
            (Path::new("sub/b.txt"), EntryKind::File, 1, 1)
        );
        let expected = fs::metadata(world.inside("sub/b.txt")).expect("a file").modified().expect("a time");
        assert_eq!(file.modified, Some(expected));
        assert_eq!(workspace.metadata("sub/").expect("a folder").kind, EntryKind::Directory);
        assert_eq!(workspace.metadata(".").expect("the root").path, Path::new("."));
        assert_eq!(workspace.metadata("pipe").expect("a pipe").kind, EntryKind::Fifo);
        assert_eq!(variant(&workspace.metadata("out").expect_err("an escape")), "escape");
        assert_eq!(variant(&workspace.metadata("absent").expect_err("nothing")), "not found");
    }
}

#[track_caller]
fn check_list(world: &World, path: &str, limit: usize, expect: &[&str], total: usize) {
    for workspace in world.both() {
        let listing = workspace.list_dir(path, limit).expect("a folder");
        let shown: Vec<String> = listing
            .entries
            .iter()
            .map(|entry| {
                let target = entry.link_target.as_ref().map(|t| format!(" -> {}", t.display())).unwrap_or_default();
                format!("{} {:?}{target}", entry.name.to_string_lossy(), entry.kind)
            })
            .collect();
        assert_eq!(shown, expect, "{path}");
        assert_eq!(listing.total, total, "{path}");
    }
}

#[test]
fn a_listing_is_sorted_by_bytes_and_links_are_links() {
    let world = World::new().link("Z", "a.txt").link("out", "/etc");
    check_list(&world, ".", 10, &["Z Symlink -> a.txt", "a.txt File", "out Symlink -> /etc", "sub Directory"], 4);
    check_list(&world.link("l", "sub"), "l", 10, &["b.txt File", "deep Directory"], 2);
}

#[test]
fn a_limited_listing_holds_the_first_names_and_the_exact_total() {
    let world = World::new();
    for n in 0..1000 {
        fs::write(world.inside(&format!("sub/deep/{n:04}")), "").expect("a file");
    }
    check_list(&world, "sub/deep", 3, &["0000 File", "0001 File", "0002 File"], 1000);
    check_list(&world, "sub/deep", 0, &[], 1000);
}

#[test]
fn only_folders_inside_are_listed() {
    let world = World::new().link("out", "{out}");
    for workspace in world.both() {
        for (path, expect) in [("out", "escape"), ("..", "escape"), ("a.txt", "not a folder"), ("absent", "not found")]
        {
            assert_eq!(variant(&workspace.list_dir(path, 10).expect_err(path)), expect, "{path}");
            assert_eq!(variant(&workspace.open_dir(path).expect_err(path)), expect, "{path}");
        }
    }
}

#[test]
fn an_open_folder_gives_a_place_to_start_in() {
    let world = World::new().link("l", "sub");
    for workspace in world.both() {
        let folder = workspace.open_dir("l/deep").expect("a folder");
        assert_eq!(folder.path, Path::new("sub/deep"));
        assert_eq!(folder.absolute, world.inside("sub/deep").canonicalize().expect("a folder"));
        // The folder gets another name, and a link out takes the old one: the handle still means the folder.
        fs::rename(world.inside("sub/deep"), world.inside("moved")).expect("a rename");
        symlink(world.outside(""), world.inside("sub/deep")).expect("a link");
        let started = fs::canonicalize(folder.spawn_path()).expect("the handle is open");
        assert_eq!(started, world.inside("moved").canonicalize().expect("a folder"));
        fs::remove_file(world.inside("sub/deep")).expect("a link");
        fs::rename(world.inside("moved"), world.inside("sub/deep")).expect("a rename");
    }
}

/// Whoever waits no more is heard before the next name, and nothing is asked after that.
#[test]
fn a_folder_that_nobody_waits_for_is_left() {
    let world = World::new();
    (0..400).for_each(|n| fs::write(world.inside(&format!("sub/{n}")), "").expect("a file"));
    for workspace in world.both() {
        let asked = Cell::new(0);
        let stop_at = |last: u32| {
            asked.set(0);
            workspace.list_dir_until("sub", 10, &|| {
                asked.set(asked.get() + 1);
                asked.get() == last
            })
        };
        for last in [1, 7, 400] {
            assert_eq!(variant(&stop_at(last).expect_err("it was stopped")), "io");
            assert_eq!(asked.get(), last);
        }
        assert_eq!(stop_at(u32::MAX).expect("a folder").total, 402);
        assert!(asked.get() >= 402);
    }
}
