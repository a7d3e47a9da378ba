use super::*;

const GOOD: &str = "\
name = 'x'
title = 'X'
install = 'get x'
program = 'xprog'
version = ['--version']
args = ['run', '{mode}', '--url={base_url}', '{prompt}']
dialects = ['chat']
[modes]
unattended = { args = ['--yes', '{model}'] }
deny = {}
";

/// The good adapter with one text replaced.
#[track_caller]
fn check(from: &str, to: &str, expect: &[&str]) {
    assert!(GOOD.contains(from), "{from:?} is not in the good adapter");
    let found = match Adapter::parse("x.toml", &GOOD.replace(from, to)) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(found, expect);
}

#[test]
fn the_good_one_is_good() {
    check("name", "name", &[]);
}

#[test]
fn heads_are_checked() {
    check("'x'", "'X y'", &["x.toml:1:8: \"X y\" is no name in name; use lower-case letters, digits and hyphens"]);
    check(
        "'xprog'",
        "'/bin/x'",
        &[
            "x.toml:4:11: \"/bin/x\" is no program name in program; write the name that is looked for on the PATH; a path \
           is given with --bin",
        ],
    );
    check(
        "['chat']",
        "[]",
        &["x.toml:7:12: the agent speaks no dialect in dialects; name one of chat, anthropic, responses"],
    );
    check("'chat'", "'chta'", &["x.toml:7:13: unknown dialect \"chta\" in dialects[0]; did you mean \"chat\"?"]);
    check(
        "dialects",
        "limit_ms = 0\ndialects",
        &["x.toml:7:12: the limit is out of range in limit_ms; use 1 to 600000 milliseconds"],
    );
}

#[test]
fn unknown_and_missing_fields_are_named() {
    check(
        "title",
        "titel",
        &["x.toml:1:1: missing field \"title\"", "x.toml:2:1: unknown field \"titel\"; did you mean \"title\"?"],
    );
    check(
        "deny = {}",
        "ask = {}",
        &["x.toml:10:1: unknown field \"ask\" in modes; expected one of auto, deny, unattended"],
    );
}

#[test]
fn modes_need_their_place() {
    let twice = "x.toml:6:8: `{mode}` stands 2 times in args; add it once, as an argument of its own";
    check("'run'", "'{mode}'", &[twice]);
    let never = "x.toml:6:8: `{mode}` stands 0 times in args; add it once, as an argument of its own";
    check(" '{mode}',", "", &[never]);
    check(
        "unattended = { args = ['--yes', '{model}'] }\ndeny = {}\n",
        "",
        &["x.toml:8:1: the agent offers no mode in modes; add at least `unattended = {}`"],
    );
}

#[test]
fn the_prompt_must_reach_the_agent() {
    check(", '{prompt}'", "", &["x.toml:6:8: the agent is never told its task in args; add an argument with {prompt}"]);
}

#[test]
fn a_mistyped_placeholder_is_found_and_json_is_left_alone() {
    check(
        "{base_url}",
        "{base_ulr}",
        &["x.toml:6:8: unknown placeholder {base_ulr} in args; did you mean \"base_url\"?"],
    );
    check(
        "'{model}'",
        "'--{mode}'",
        &["x.toml:9:23: unknown placeholder {mode} in modes.unattended.args; did you mean \"model\"?"],
    );
    check("[modes]", "[files]\n'{home}/a.json' = '{\"a\": {}, \"b\": {\"url\":\"{base_url}\"}}'\n[modes]", &[]);
}

#[test]
fn files_belong_into_the_home_folder() {
    let fix = "the path does not lie in the home folder in files";
    for path in ["{workspace}/a", "/etc/a", "{home}/../a", "{home}/", "{home}/a/"] {
        check(
            "[modes]",
            &format!("[files]\n'{path}' = ''\n[modes]"),
            &[&format!("x.toml:9:{}: {fix}.\"{path}\"; write \"{{home}}/PATH\"", path.len() + 6)],
        );
    }
    check(
        "[modes]",
        "[files]\n'{home}/.ssh/config' = ''\n[modes]",
        &[
            "x.toml:9:24: the file is one that no agent may touch in files.\"{home}/.ssh/config\"; choose another settings file",
        ],
    );
}

#[test]
fn state_lies_in_the_home_folder_and_not_where_no_agent_may_touch() {
    check("dialects", "state = ['.x/', '.x.json']\ndialects", &[]);
    let fix = "write it relative to the home folder, a folder with `/` at its end";
    let told = format!("x.toml:7:10: the place does not lie in the home folder in state[0]; {fix}");
    check("dialects", "state = ['../x']\ndialects", &[&told]);
    check(
        "dialects",
        "state = ['.ssh/']\ndialects",
        &["x.toml:7:10: the place is one that no agent may touch in state[0]; remove it"],
    );
    let adapter = Adapter::parse("x.toml", &GOOD.replace("[modes]", "[files]\n'{home}/.x/a/b' = ''\n[modes]")).unwrap();
    assert_eq!(adapter.own_state(), [".x/"]);
}

#[test]
fn the_run_keeps_its_own_variables() {
    check("[modes]", "[env]\nHOME = 'x'\n[modes]", &["x.toml:9:8: HOME belongs to the run in env.HOME; remove it"]);
    check(
        "[modes]",
        "[env]\n'A=B' = 'x'\n[modes]",
        &["x.toml:9:9: \"A=B\" is no variable name in env.A=B; use letters, digits and underscores"],
    );
}

#[test]
fn changes_belong_to_a_dialect_that_is_spoken() {
    check(
        "[modes]",
        "[dialect.anthropic]\nargs = ['{prompt}', '{mode}']\n[modes]",
        &["x.toml:8:1: the dialect is not among `dialects` in dialect.anthropic; add it there, or remove this"],
    );
}

#[test]
fn a_side_matcher_needs_a_condition() {
    check(
        "[modes]",
        "[[side]]\nname = 'title'\n[modes]",
        &[
            "x.toml:8:1: the matcher has no condition and matches nothing in side[0]; add `no_tools`, `path`, `system` or \
         `user`",
        ],
    );
}

fn values<'a>(dialect: &'a str, prompt: &'a str) -> Values<'a> {
    Values { origin: "http://h:1", dialect, prompt, workspace: Path::new("/w"), home: Path::new("/h") }
}

#[test]
fn a_recipe_has_everything_replaced_once() {
    let adapter = Adapter::parse("x.toml", GOOD).unwrap();
    let recipe = adapter.recipe(Mode::Unattended, &values("chat", "say {model}")).unwrap();
    assert_eq!(recipe.args, ["run", "--yes", "mock-model", "--url=http://h:1/v1", "say {model}"]);
    let recipe = adapter.recipe(Mode::Deny, &values("chat", "p")).unwrap();
    assert_eq!(recipe.args, ["run", "--url=http://h:1/v1", "p"]);
}

#[test]
fn what_is_not_offered_has_no_recipe() {
    let adapter = Adapter::parse("x.toml", GOOD).unwrap();
    assert_eq!(adapter.offered(), [Mode::Unattended, Mode::Deny]);
    assert_eq!(adapter.recipe(Mode::Ask, &values("chat", "p")), None);
    assert_eq!(adapter.recipe(Mode::Auto, &values("chat", "p")), None);
    assert_eq!(adapter.recipe(Mode::Deny, &values("responses", "p")), None);
}

#[test]
fn a_dialect_replaces_arguments_and_adds_the_rest() {
    let text = GOOD.replace("['chat']", "['chat', 'anthropic']").replace(
        "[modes]",
        "[env]\nA = '1'\nB = '{origin}'\n[files]\n'{home}/f' = '{home}'\n[dialect.anthropic]\nargs = ['{mode}', '{prompt}']\n\
         env = { A = '{dialect}' }\nfiles = { '{home}/d/g' = '{workspace}' }\n[modes]",
    );
    let adapter = Adapter::parse("x.toml", &text).unwrap();
    let pairs = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let recipe = adapter.recipe(Mode::Deny, &values("anthropic", "p")).unwrap();
    assert_eq!(recipe.args, ["p"]);
    assert_eq!(recipe.env, pairs(&[("A", "anthropic"), ("B", "http://h:1")]));
    assert_eq!(recipe.files, pairs(&[("f", "/h"), ("d/g", "/w")]));
    let recipe = adapter.recipe(Mode::Deny, &values("chat", "p")).unwrap();
    assert_eq!(recipe.env, pairs(&[("A", "1"), ("B", "http://h:1")]));
    assert_eq!(recipe.files, pairs(&[("f", "/h")]));
}

#[test]
fn every_built_in_adapter_is_right_and_named_after_its_file() {
    let names = Adapter::names();
    assert!(names.contains(&"pi".to_owned()) && names.contains(&"slot".to_owned()), "{names:?}");
    for name in names {
        let adapter = Adapter::built_in(&name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(adapter.name, name);
        for dialect in &adapter.dialects {
            for mode in adapter.offered() {
                let recipe = adapter.recipe(mode, &values(dialect, "the task")).unwrap();
                assert!(recipe.args.iter().any(|arg| arg.contains("the task")), "{recipe:?}");
            }
        }
    }
}

#[test]
fn an_unknown_agent_gets_the_nearest_name() {
    let error = Adapter::built_in("slto").unwrap_err().to_string();
    assert_eq!(
        error,
        "no agent is called `slto`; did you mean \"slot\"?; an adapter of your own is given as `--agent ./FILE.toml`, and `--cmd` \
         needs none"
    );
}

#[test]
fn an_adapter_file_is_bounded_and_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let load =
        |path: &Path| Adapter::load(path).unwrap_err().to_string().replace(&folder.path().display().to_string(), "D");
    assert_eq!(load(folder.path()), "cannot read the adapter D: it is no file of at most 262144 bytes");
    let path = folder.path().join("big.toml");
    std::fs::write(&path, "#".repeat(262_145)).unwrap();
    assert_eq!(load(&path), "cannot read the adapter D/big.toml: it is no file of at most 262144 bytes");
    let path = folder.path().join("x.toml");
    assert_eq!(load(&path), "cannot read the adapter D/x.toml: No such file or directory (os error 2)");
    std::fs::write(&path, GOOD.replace("'run'", "7")).unwrap();
    assert_eq!(load(&path), "D/x.toml:6:9: invalid type: integer `7`, expected a string in args[0]");
    std::fs::write(&path, GOOD).unwrap();
    assert_eq!(Adapter::load(&path).unwrap().name, "x");
}
