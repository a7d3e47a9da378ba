use super::*;
use crate::contract::{
    BoxFuture, Capability, CapabilitySet, RunContext, Tool, ToolDispatcher, ToolError, ToolOutput, ToolSpec,
};
use crate::registry::Registry;
use proptest::prelude::*;
use serde_json::{Value, json};
use slot_wire::names::NameMatch;
use std::sync::Arc;

struct Named {
    name: &'static str,
    aliases: &'static [&'static str],
    exposure: Exposure,
}

impl Tool for Named {
    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> &str {
        "named"
    }
    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }
    fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::ok("")) })
    }
}

impl ToolSpec for Named {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }
    fn exposure(&self) -> Exposure {
        self.exposure
    }
    fn aliases(&self) -> &[&str] {
        self.aliases
    }
}

/// `name`, `name|alias`, and a `-` in front of a hidden or a `~` in front of a deferred one.
fn snapshot(tools: &[&'static str]) -> Arc<MetadataSnapshot> {
    let tools = tools.iter().map(|text| {
        let (text, exposure) = match text.split_at(1) {
            ("-", rest) => (rest, Exposure::Hidden),
            ("~", rest) => (rest, Exposure::Deferred),
            _ => (*text, Exposure::Auto),
        };
        let (name, alias) = text.split_once('|').unwrap_or((text, ""));
        let aliases: &'static [&'static str] = if alias.is_empty() { &[] } else { Vec::leak(vec![alias]) };
        Arc::new(Named { name, aliases, exposure }) as Arc<dyn ToolSpec>
    });
    Registry::new(tools).snapshot()
}

const TOOLS: &[&str] = &["read_file", "write_file", "exec_shell", "http_get", "git-log", "-secret_plan", "~late_tool"];

/// `Ok("tool how")`, or `Err` of a part of the answer.
#[track_caller]
fn check_in(tools: &[&'static str], requested: &str, expect: Result<&str, &str>) {
    let found = NameLadder.resolve(requested, &snapshot(tools));
    match (found, expect) {
        (Ok(found), Ok(expect)) => assert_eq!(format!("{} {}", found.tool, found.how.as_str()), expect),
        (Err(refusal), Err(expect)) => {
            assert!(refusal.reason.contains(expect), "{:?} does not hold {expect:?}", refusal.reason);
            let rest = refusal.reason.replace(&quoted(requested), "");
            assert!(!rest.contains("secret_plan"), "{:?} names a hidden tool", refusal.reason);
        }
        (found, expect) => panic!("{requested:?}: {found:?} is not {expect:?}"),
    }
}

#[track_caller]
fn check(requested: &str, expect: Result<&str, &str>) {
    check_in(TOOLS, requested, expect);
}

#[test]
fn two_letters_are_no_beginning() {
    check("re", Err("there is no tool \"re\" here; nothing was run. The tools are: exec_shell, git-log"));
    check("_tool", Err("there is no tool"));
    check("tool", Err("there is no tool"));
}

#[test]
fn several_tools_of_one_beginning_are_named_and_none_runs() {
    let tools = ["read_file", "read_folder", "read_only"];
    check_in(&tools, "read_f", Err("Did you mean: read_file, read_folder? Call the one you mean by its full name"));
    check_in(&["Mark", "mark"], "MARK", Err("Did you mean: Mark, mark?"));
}

#[test]
fn similarity_suggests_and_never_runs() {
    check("raed_file", Err("there is no tool \"raed_file\" here; nothing was run. Did you mean: read_file?"));
    check("reed_flie_x", Err("The tools are: "));
    check_in(
        &["mcp_ghidra_decompile_function", "mcp_ghidra_list_functions"],
        "mcp_ghidra_disassemble_function",
        Err("there is no tool"),
    );
    // A tool that the written name begins with is no reading of it.
    check("read_file_now", Err("there is no tool \"read_file_now\" here; nothing was run. The tools are"));
}

#[test]
fn a_withheld_tool_hands_its_name_to_no_other() {
    let gone = Err("is not available in this session; nothing was run. The tools are: ");
    check("secret_plan", gone);
    check("SecretPlan", gone);
    check("secret", gone);
    check_in(&["-exec_shell", "exec_wait"], "exec_shell_tool", gone);
    // Not even where the other is all that is left.
    check_in(&["-exec_shell", "exec_wait"], "exec", Err("Did you mean: exec_wait?"));
    check_in(
        &["-secret_plan", "-secret_plan2"],
        "secre",
        Err("is not available in this session; nothing was run. There are no"),
    );
    check_in(&["-secret_plan", "other"], "secret_plam", Err("The tools are: other"));
}

#[test]
fn aliases_are_names_and_yield_to_a_tools_own() {
    check_in(&["read_file|cat", "list_dir|ls_all"], "cat", Ok("read_file exact"));
    check_in(&["read_file|cat", "list_dir|ls_all"], "LsAll", Ok("list_dir camel"));
    check_in(&["read_file|cat", "cat"], "cat", Ok("cat exact"));
    check_in(&["-read_file|cat", "dog"], "cat", Err("is not available"));
    check_in(&["read_file|open", "open_door"], "ope", Err("Did you mean: open_door, read_file?"));
}

#[test]
fn an_illegal_name_is_answered_and_never_folded() {
    // The first two letters are Cyrillic.
    check("\u{435}\u{445}ec_shell", Err("is no tool name"));
    check(r#"read_file{"path": "a"}"#, Err("arguments are sent beside it"));
    check("", Err("is no tool name"));
    check("read_file\n", Err("is no tool name"));
    check("functions.read_file", Err("is no tool name"));
}

#[test]
fn a_huge_name_is_answered_shortly() {
    let refusal = NameLadder.resolve(&"a".repeat(1_000_000), &snapshot(TOOLS)).unwrap_err();
    assert!(refusal.reason.contains("(1000000 bytes)") && refusal.reason.len() < 500, "{}", refusal.reason.len());
}

#[test]
fn a_long_catalog_is_cut_and_counted() {
    let names: Vec<&'static str> = (0..70).map(|n| &*String::leak(format!("tool_number_{n:02}"))).collect();
    check_in(&names, "zzz", Err("tool_number_59 and 10 more"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_legal_name_of_a_tool_is_itself(index in 0_usize..5) {
        let name = TOOLS[index];
        let found = NameLadder.resolve(name, &snapshot(TOOLS)).unwrap();
        prop_assert_eq!((found.tool.as_str(), found.how), (name, NameMatch::Exact));
    }

    #[test]
    fn whatever_is_written_a_hidden_tool_is_neither_found_nor_named(name in "[ -~]{0,12}|(?i)secret[-_ ]?plan(_tool)?|\\PC{0,70}") {
        match NameLadder.resolve(&name, &snapshot(TOOLS)) {
            Ok(found) => prop_assert_ne!(found.tool, "secret_plan"),
            // The name as it was written may stand in the answer; nothing else of it does.
            Err(refusal) => prop_assert!(!refusal.reason.replace(&quoted(&name), "").contains("secret")),
        }
    }

    #[test]
    fn the_answer_does_not_depend_on_the_order_of_registration(name in "[a-z_]{1,10}", turn in 0_usize..7) {
        let mut tools = TOOLS.to_vec();
        tools.rotate_left(turn);
        prop_assert_eq!(NameLadder.resolve(&name, &snapshot(TOOLS)), NameLadder.resolve(&name, &snapshot(&tools)));
    }
}
