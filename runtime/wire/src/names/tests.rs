use super::*;
use crate::fuzzing;
use proptest::prelude::*;

/// `name`, `name|alias`; a `-` in front of a withheld and a `~` in front of a tool that is not suggested.
fn parse(tools: &[&str]) -> Vec<(String, Vec<String>, bool, bool)> {
    tools
        .iter()
        .map(|text| {
            let plain = text.trim_start_matches(['-', '~']);
            let mut names = plain.split('|').map(str::to_owned);
            let name = names.next().unwrap();
            (name, names.collect(), text.starts_with('-'), !text.starts_with('~'))
        })
        .collect()
}

fn found(tools: &[&str], requested: &str) -> String {
    let tools = parse(tools);
    let tools: Vec<Candidate<'_>> = tools
        .iter()
        .map(|(name, aliases, is_withheld, is_suggested)| Candidate {
            name,
            aliases,
            is_withheld: *is_withheld,
            is_suggested: *is_suggested,
        })
        .collect();
    match resolve(requested, &tools) {
        Meaning::Tool { name, how } => format!("{name} {}", how.as_str()),
        Meaning::Withheld => "withheld".to_owned(),
        Meaning::Several(names) => format!("several: {}", names.join(" ")),
        Meaning::Unknown(near) => format!("unknown: {}", near.join(" ")),
        Meaning::NoName(near) => format!("no name: {}", near.join(" ")),
    }
}

const TOOLS: &[&str] = &["read_file", "write_file", "exec_shell", "http_get", "git-log", "-secret_plan", "late_tool"];

#[track_caller]
fn check_in(tools: &[&str], requested: &str, expect: &str) {
    assert_eq!(found(tools, requested), expect, "{requested:?} among {tools:?}");
}

#[track_caller]
fn check(requested: &str, expect: &str) {
    check_in(TOOLS, requested, expect);
}

#[test]
fn each_rung_mends_its_own_slip() {
    check("read_file", "read_file exact");
    check("Read_File", "read_file case");
    check("read-file", "read_file separator");
    check("Read File", "read_file separator");
    check(" read_file", "read_file separator");
    check("git_log", "git-log separator");
    check("ReadFile", "read_file camel");
    check("readFile", "read_file camel");
    check("HTTPGet", "http_get camel");
    check("read_file_tool", "read_file suffix");
    check("read-file-tool", "read_file suffix");
    check("ReadFileTool", "read_file suffix");
    check("read_fi", "read_file prefix");
    check("Exec", "exec_shell prefix");
}

#[test]
fn a_tool_that_ends_in_tool_keeps_its_name() {
    check("late_tool", "late_tool exact");
    check("LateTool", "late_tool camel");
}

#[test]
fn two_letters_are_no_beginning() {
    check("re", "unknown: ");
    check("_tool", "unknown: ");
    check("tool", "unknown: ");
}

#[test]
fn several_tools_of_one_beginning_are_named_and_none_is_meant() {
    check_in(&["read_folder", "read_file", "read_only"], "read_f", "several: read_file read_folder");
    check_in(&["Mark", "mark"], "MARK", "several: Mark mark");
    check_in(&["Mark", "~mark"], "MARK", "several: Mark");
}

#[test]
fn similarity_suggests_and_never_means() {
    check("raed_file", "unknown: read_file");
    check("reed_flie_x", "unknown: ");
    let ghidra = ["mcp_ghidra_decompile_function", "mcp_ghidra_list_functions"];
    check_in(&ghidra, "mcp_ghidra_disassemble_function", "unknown: ");
    // A tool that the written name begins with is no reading of it.
    check("read_file_now", "unknown: ");
}

#[test]
fn suggestions_are_sorted_and_at_most_three() {
    check_in(&["abcx", "abcd", "zabc", "abxy", "abcde"], "abc_", "unknown: abcd abcx abcde");
    check_in(&["bcd", "acd", "abd", "abc"], "abz", "unknown: abc abd acd");
    check_in(&["~abc", "abd"], "abz", "unknown: abd");
}

#[test]
fn a_withheld_tool_hands_its_name_to_no_other() {
    check("secret_plan", "withheld");
    check("SecretPlan", "withheld");
    check("secret", "withheld");
    check_in(&["-exec_shell", "exec_wait"], "exec_shell_tool", "withheld");
    // Among several, only those that are offered are named, and none of them is meant.
    check_in(&["-exec_shell", "exec_wait"], "exec", "several: exec_wait");
    check_in(&["-secret_plan", "-secret_plan2"], "secre", "withheld");
    check_in(&["-secret_plan", "other"], "secret_plam", "unknown: ");
}

#[test]
fn aliases_are_names_and_yield_to_a_tools_own() {
    check_in(&["read_file|cat", "list_dir|ls_all"], "cat", "read_file exact");
    check_in(&["read_file|cat", "list_dir|ls_all"], "LsAll", "list_dir camel");
    check_in(&["read_file|cat", "cat"], "cat", "cat exact");
    check_in(&["-read_file|cat", "dog"], "cat", "withheld");
    check_in(&["read_file|open", "open_door"], "ope", "several: open_door read_file");
}

#[test]
fn what_is_no_name_is_never_folded_into_one() {
    // The first two letters are Cyrillic.
    check("\u{435}\u{445}ec_shell", "no name: exec_shell");
    check(r#"read_file{"path": "a"}"#, "no name: ");
    check("", "no name: ");
    check("read_file\n", "no name: read_file");
    check("functions.read_file", "no name: ");
    check(&"a".repeat(1_000_000), "no name: ");
}

#[test]
fn what_goes_back_to_a_provider_is_legal() {
    for (name, expect) in [("read_file", "read_file"), ("a b{", "a_b_"), ("", "unnamed"), ("é", "_")] {
        assert_eq!(legal_form(name), expect);
    }
    assert_eq!(legal_form(&"ab".repeat(99)).len(), 64);
}

#[test]
fn committed_corpus_and_regressions_replay() {
    assert!(fuzzing::replay("name_ladder", fuzzing::name_ladder) >= 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_properties_of_the_fuzz_target_hold(
        requested in "[a-cA-C_ -]{0,6}|[ab]{0,3}(_tool|Tool)?|\\PC{0,70}",
        tools in prop::collection::vec("[-~]?[a-cA-C_-]{1,6}([|][a-c]{1,4}){0,2}", 0..8),
    ) {
        fuzzing::name_ladder(format!("{requested}\n{}", tools.join("\n")).as_bytes());
    }
}
