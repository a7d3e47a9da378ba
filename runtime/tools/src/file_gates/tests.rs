use super::*;
use crate::{base, builtins_for, session::SessionHost, testing::World};
use slot_runtime::{
    contract::ToolDispatcher,
    dispatch::observe::{Observed, Observer},
    freshness::SHELL_PROBE_TOOLS,
    registry::Registry,
};
use std::{collections::BTreeSet, fs, time::SystemTime};

/// A session: its tools behind all gates, and what observes them.
struct Session {
    world: World,
    tools: Vec<Arc<dyn ToolSpec>>,
    probe: Probe,
}

impl Session {
    fn of(world: World) -> Session {
        Session::with(world, |_| ())
    }

    fn with(world: World, change: impl FnOnce(&mut FileGates)) -> Session {
        let known = Freshness::default();
        let mut gates = FileGates { freshness: Some(known.clone()), ..FileGates::default() };
        change(&mut gates);
        let host = SessionHost { gates, ..SessionHost::default() };
        let tools = builtins_for(world.boundary(), std::env::vars_os().collect(), Vec::new(), &host);
        let probe = Probe::new(known, world.boundary(), Place::default());
        Session { world, tools, probe }
    }

    /// What the model reads. Nobody takes notice of a call that is not `observed`.
    fn run(&self, name: &str, input: Value, observed: Option<bool>) -> Result<String, String> {
        let tool = self.tools.iter().find(|tool| tool.name() == name).expect("there is such a tool");
        let mut output = crate::testing::call(tool.as_ref(), input.clone()).map_err(|error| error.to_string())?;
        if let Some(reaches_model) = observed {
            let snapshot = Registry::new(self.tools.clone()).snapshot();
            let call = Observed { tool: &snapshot.tools[name], input: &input, facts: &output.metadata, reaches_model };
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            if let Some(note) = runtime.block_on(self.probe.observe(call)) {
                output.content.push_str(&note);
            }
        }
        Ok(output.content)
    }

    #[track_caller]
    fn works(&self, name: &str, input: Value) -> String {
        self.run(name, input, Some(true)).expect("it works")
    }

    #[track_caller]
    fn refused(&self, name: &str, input: Value, expect: &str) {
        let error = self.run(name, input, Some(true)).expect_err("a refusal");
        assert!(error.contains(expect), "{error}");
    }

    #[track_caller]
    fn read(&self, path: &str) {
        self.works("read_file", json!({ "path": path }));
    }

    #[track_caller]
    fn holds(&self, path: &str, expect: &str) {
        assert_eq!(fs::read_to_string(self.world.path(path)).expect("it is there"), expect);
    }

    fn put(&self, path: &str, content: &str) {
        fs::write(self.world.path(path), content).expect("a file");
    }
}

fn edit(path: &str, search: &str, replace: &str) -> Value {
    json!({ "path": path, "search": search, "replace": replace })
}

fn patch(path: &str, old: &str, new: &str) -> String {
    format!("*** Update File: {path}\n@@\n-{old}\n+{new}\n")
}

fn patches(sections: &[String]) -> Value {
    json!({ "patch": format!("*** Begin Patch\n{}*** End Patch\n", sections.concat()) })
}

/// One call of each tool that changes a file that is there, `path`, from `old` to `new`.
fn writers(path: &str, old: &str, new: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("edit_file", edit(path, old, new)),
        ("fim_edit", json!({ "path": path, "prefix": &old[..1], "suffix": "\n", "middle": &new[1..] })),
        ("write_file", json!({ "path": path, "content": format!("{new}\n") })),
        ("apply_patch", patches(&[patch(path, old, new)])),
    ]
}

#[test]
fn what_was_never_read_is_not_changed() {
    for (name, input) in writers("a.txt", "one", "other") {
        let session = Session::of(World::new().with("a.txt", "one\n"));
        session.refused(name, input.clone(), "a.txt has not been read in this session");
        session.refused(name, input.clone(), "read_file with {\"path\":\"a.txt\"} first");
        session.holds("a.txt", "one\n");
        session.read("a.txt");
        session.works(name, input);
        session.holds("a.txt", "other\n");
    }
}

#[test]
fn what_changed_since_is_not_changed() {
    for (name, input) in writers("a.txt", "one", "other") {
        let session = Session::of(World::new().with("a.txt", "one\n"));
        session.read("a.txt");
        session.put("a.txt", "one, and more\none\n");
        session.refused(name, input.clone(), "a.txt has changed on disk since it was last read");
        session.holds("a.txt", "one, and more\none\n");
    }
}

#[test]
fn a_change_of_the_same_size_and_time_is_found() {
    let session = Session::of(World::new().with("a.txt", "one\n"));
    session.read("a.txt");
    let time = fs::metadata(session.world.path("a.txt")).expect("it is there").modified().expect("a time");
    session.put("a.txt", "six\n");
    let file = fs::File::options().write(true).open(session.world.path("a.txt")).expect("it is there");
    file.set_modified(time).expect("its owner may");
    session.refused("write_file", json!({ "path": "a.txt", "content": "two\n" }), "has changed on disk");
    session.holds("a.txt", "six\n");
}

#[test]
fn ones_own_changes_are_known() {
    let session = Session::of(World::new().with("a.txt", "one\n"));
    session.read("a.txt");
    session.works("edit_file", edit("a.txt", "one", "two"));
    session.works("apply_patch", patches(&[patch("a.txt", "two", "three")]));
    session.works("write_file", json!({ "path": "a.txt", "content": "four\n" }));
    session.works("edit_file", edit("a.txt", "four", "five"));
    session.holds("a.txt", "five\n");
    // A time alone is no change.
    let file = fs::File::options().write(true).open(session.world.path("a.txt")).expect("it is there");
    file.set_modified(SystemTime::UNIX_EPOCH).expect("its owner may");
    session.works("edit_file", edit("a.txt", "five", "six"));
}

#[test]
fn what_is_new_needs_no_read() {
    let session = Session::of(World::new());
    session.works("write_file", json!({ "path": "x/new.txt", "content": "one\n" }));
    session.works("edit_file", edit("x/new.txt", "one", "two"));
    let added = "*** Begin Patch\n*** Add File: added.txt\n+one\n*** End Patch\n";
    session.works("apply_patch", json!({ "patch": added }));
    session.works("edit_file", edit("added.txt", "one", "two"));
}

#[test]
fn a_patch_with_one_file_that_was_not_read_changes_none() {
    let session = Session::of(World::new().with("a.txt", "one\n").with("b.txt", "one\n"));
    session.read("a.txt");
    let both = [patch("a.txt", "one", "two"), patch("b.txt", "one", "two")];
    session.refused("apply_patch", patches(&both), "b.txt has not been read");
    session.refused("apply_patch", patches(&["*** Delete File: b.txt\n".to_owned()]), "b.txt has not been read");
    session.holds("a.txt", "one\n");
    session.holds("b.txt", "one\n");
    session.read("b.txt");
    session.works("apply_patch", patches(&["*** Delete File: b.txt\n".to_owned()]));
    // It is gone, and what comes in its place is unknown.
    session.put("b.txt", "three\n");
    session.refused("edit_file", edit("b.txt", "three", "four"), "b.txt has not been read");
}

#[test]
fn only_a_read_that_reaches_the_model_counts() {
    let session = Session::of(World::new().with("a.txt", "one\n"));
    for observed in [None, Some(false)] {
        session.run("read_file", json!({ "path": "a.txt" }), observed).expect("it is read");
        session.refused("edit_file", edit("a.txt", "one", "two"), "has not been read");
    }
    session.works("exec_shell", json!({ "command": "cat a.txt" }));
    session.works("validate_data", json!({ "path": "a.txt", "format": "csv" }));
    session.refused("edit_file", edit("a.txt", "one", "two"), "has not been read");
    session.works("read_file", json!({ "path": "./a.txt", "start_line": 9 }));
    session.works("edit_file", edit("a.txt", "one", "two"));
}

#[test]
fn a_link_is_known_by_what_it_names() {
    let session = Session::of(World::new().with("a.txt", "one\n"));
    std::os::unix::fs::symlink("a.txt", session.world.path("link")).expect("a link");
    session.read("link");
    session.works("edit_file", edit("a.txt", "one", "two"));
    session.works("edit_file", edit("link", "two", "three"));
}

#[test]
fn what_a_command_changes_is_told_once() {
    let session = Session::of(World::new().with("a.txt", "one\n").with("b.txt", "one\n").with("c.txt", "one\n"));
    session.read("b.txt");
    session.read("a.txt");
    let run = |command: &str| session.works("exec_shell", json!({ "command": command }));
    assert!(!run("true").contains("Files changed"));
    let told = run("echo x >> a.txt; echo x >> b.txt; echo x >> c.txt; exit 3");
    assert!(told.contains("possibly by this command: a.txt, b.txt. Read them again"), "{told}");
    assert!(!run("true").contains("Files changed"));
    assert!(run("echo x >> a.txt").contains("command: a.txt. Read"));
    assert!(run("rm a.txt").contains("command: a.txt. Read"));
    session.read("b.txt");
    assert!(run("echo x >> b.txt").contains("command: b.txt. Read"));
}

#[test]
fn a_command_that_runs_is_not_asked() {
    let session = Session::of(World::new().with("a.txt", "one\n"));
    session.read("a.txt");
    session.put("a.txt", "two\n");
    let snapshot = Registry::new(session.tools.clone()).snapshot();
    let observe = |status: &str| {
        let facts = json!({ "status": status });
        let facts = facts.as_object().expect("an object");
        let input = json!({ "command": "make" });
        let call = Observed { tool: &snapshot.tools["exec_shell"], input: &input, facts, reaches_model: true };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(session.probe.observe(call))
    };
    assert_eq!(observe("Running"), None);
    assert!(observe("Completed").expect("it is told").contains("a.txt"));
}

#[test]
fn the_probe_knows_every_tool_of_the_shell_and_no_other() {
    let shell: BTreeSet<&str> =
        base::base().iter().filter(|tool| tool.owner == base::Owner::Shell).map(|tool| tool.name).collect();
    assert_eq!(SHELL_PROBE_TOOLS.iter().copied().collect::<BTreeSet<_>>(), shell);
    assert_eq!(SHELL_PROBE_TOOLS.len(), shell.len());
}

#[test]
fn every_writer_of_files_is_behind_the_gates() {
    let session = Session::of(World::new().with("a.json", "{}\n"));
    let writers: Vec<&str> = base::base()
        .iter()
        .filter(|tool| {
            tool.owner == base::Owner::Files
                && tool.capabilities.contains(&slot_runtime::contract::Capability::WritesFiles)
        })
        .map(|tool| tool.name)
        .filter(|name| session.tools.iter().any(|tool| tool.name() == *name))
        .collect();
    let mut tried: Vec<&str> = super::tests::writers("a.json", "{}", "{").iter().map(|(name, _)| *name).collect();
    tried.sort_unstable();
    let mut writers = writers;
    writers.sort_unstable();
    assert_eq!(tried, writers);
}

#[test]
fn what_parses_stays_so_whoever_writes() {
    for (name, input) in writers("a.json", "{}", "{") {
        let session = Session::of(World::new().with("a.json", "{}\n"));
        session.read("a.json");
        session.refused(name, input.clone(), "a.json was valid JSON before this change and would not be after it");
        session.holds("a.json", "{}\n");
        // What was broken may be.
        session.put("a.json", "{}}\n{}\n");
        session.read("a.json");
        if ["write_file", "apply_patch"].contains(&name) {
            session.works(name, input);
        }
    }
}

/// A patch that moves a file, chains and exchanges included, is no way to break it.
#[test]
fn what_parses_stays_so_wherever_it_is_moved() {
    let moved = |from: &str, to: &str, old: &str, new: &str| {
        format!("*** Update File: {from}\n*** Move to: {to}\n@@\n-{old}\n+{new}\n")
    };
    let delete = |path: &str| format!("*** Delete File: {path}\n");
    let add = |path: &str, content: &str| format!("*** Add File: {path}\n+{content}\n");
    let broken: &[&[String]] = &[
        &[moved("a.json", "m.json", "{}", "{")],
        &[moved("a.json", "d/m.json", "{}", "[]"), patch("d/m.json", "[]", "[")],
        &[moved("a.json", "m.txt", "{}", "{"), moved("m.txt", "m.json", "{", "{{")],
        &[moved("n.txt", "n.json", "{}", "{")],
        &[delete("b.json"), moved("a.json", "b.json", "{}", "{")],
        &[delete("a.json"), add("a.json", "{")],
        &[moved("a.json", "m.json", "{}", "[]"), add("a.json", "{")],
        &[moved("b.json", "m", "[", "[ "), moved("a.json", "b.json", "{}", "{"), moved("m", "a.json", "[", "[]")],
    ];
    let sound: &[&[String]] = &[
        &[moved("a.json", "m.json", "{}", "[]")],
        &[moved("a.json", "m.json", "{}", "{"), patch("m.json", "{", "[]")],
        &[moved("a.json", "a.txt", "{}", "{")],
        &[moved("b.json", "m.json", "[", "{")],
        &[moved("p.txt", "p.json", "prose", "{")],
        &[patch("b.json", "[", "{"), patch("b.json", "{", "[[")],
        &[moved("a.json", "m.json", "{}", "[]"), delete("m.json"), add("m.json", "{")],
    ];
    for (expect, tried) in [(false, broken), (true, sound)] {
        for sections in tried {
            let files = [("a.json", "{}\n"), ("b.json", "[\n"), ("n.txt", "{}\n"), ("p.txt", "prose\n")];
            let world = files.iter().fold(World::new(), |world, (path, content)| world.with(path, content));
            let session = Session::of(world);
            files.iter().for_each(|(path, _)| session.read(path));
            match (session.run("apply_patch", patches(sections), None), expect) {
                (Ok(_), true) => {}
                (Err(error), false) => {
                    assert!(error.contains("was valid JSON before this change"), "{sections:?}: {error}");
                    files.iter().for_each(|(path, content)| session.holds(path, content));
                }
                (got, _) => panic!("{sections:?}: {got:?}"),
            }
        }
    }
}

#[test]
fn gates_can_be_left_out() {
    let session = Session::with(World::new().with("a.json", "{}\n"), |gates| gates.parse = false);
    session.read("a.json");
    session.works("edit_file", edit("a.json", "{}", "{"));
    let session = Session::with(World::new().with("a.json", "{}\n"), |gates| gates.freshness = None);
    session.refused("edit_file", edit("a.json", "{}", "{"), "was valid JSON");
    session.works("edit_file", edit("a.json", "{}", "[]"));
}
