//! Rules against tools and calls. The attacks stand here by name; what reaches the engine is in the suite's cases.

use super::*;
use crate::boundary::{BoundaryError, FileBoundary, Workspace, WriteMode};
use crate::contract::{
    BoxFuture, Capability, CapabilitySet, Exposure, Origin, RunContext, Tool, ToolDispatcher, ToolError, ToolOutput,
    ToolSpec,
};
use crate::registry::Registry;
use proptest::prelude::*;
use serde_json::json;

struct Named(String, Origin, CapabilitySet);

impl Tool for Named {
    fn name(&self) -> &str {
        &self.0
    }
    fn description(&self) -> &str {
        "a tool"
    }
    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }
    fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::ok("ran")) })
    }
}

impl ToolSpec for Named {
    fn capabilities(&self) -> CapabilitySet {
        self.2
    }
    fn origin(&self) -> Origin {
        self.1.clone()
    }
    fn exposure(&self) -> Exposure {
        Exposure::Auto
    }
}

fn tool_of(name: &str, origin: Origin) -> Arc<ToolMetadata> {
    let runs = ["exec_shell", "task_shell_start", "run_tests", "write_stdin", "exec_shell_interact"].contains(&name);
    let capability = if runs { Capability::ExecutesCode } else { Capability::ReadOnly };
    let tool = Named(name.to_owned(), origin, CapabilitySet::of(&[capability]));
    Arc::clone(&Registry::new([Arc::new(tool) as Arc<dyn ToolSpec>]).snapshot().tools[name])
}

fn tool(name: &str) -> Arc<ToolMetadata> {
    let kind = OriginKind::Mcp { server: name.split("__").nth(1).unwrap_or_default().to_owned() };
    tool_of(name, if name.starts_with("mcp__") { Origin { kind, ..Origin::extension("x") } } else { Origin::builtin() })
}

fn roots() -> Roots {
    Roots { workspace: Some("/srv/space".into()), home: Some("/home/me".into()) }
}

fn rules(rule: &str) -> DenyRules {
    DenyRules::parse([rule], roots()).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn hides(rule: &str, expect: &[&str], not: &[&str]) {
    let rules = rules(rule);
    for name in expect {
        assert!(rules.hides(&tool(name)).is_some(), "{rule} hides {name}");
        assert!(rules.judge(&tool(name), &json!({})).is_err(), "{rule} denies {name}");
    }
    for name in not {
        assert_eq!(rules.hides(&tool(name)), None, "{rule} leaves {name}");
    }
}

#[track_caller]
fn call(rule: &str, name: &str, input: Value, denied: bool) {
    let found = rules(rule).judge(&tool(name), &input);
    assert_eq!(found.is_err(), denied, "{rule} on {name} {input}: {found:?}");
}

#[track_caller]
fn shell(rule: &str, command: &str, denied: bool) {
    call(rule, "exec_shell", json!({"command": command}), denied);
}

#[track_caller]
fn unreadable(rule: &str, part: &str) {
    let error = DenyRules::parse(["Read", rule], roots()).map(|rules| rules.rules().len()).unwrap_err().to_string();
    assert!(error.contains(part), "{error}");
}

#[test]
fn a_known_name_hides_every_tool_that_can_do_it() {
    hides("Bash", &["exec_shell", "task_shell_start", "write_stdin", "run_tests", "monitor"], &["read_file"]);
    hides("Bash(*)", &["exec_shell", "exec_shell_wait"], &["list_dir"]);
    hides(" bash ", &["exec_shell"], &[]);
    hides("Read", &["read_file", "grep_files", "list_dir"], &["write_file", "git_diff"]);
    hides("Edit", &["edit_file", "write_file", "apply_patch", "fim_edit"], &["read_file"]);
    hides("WebFetch", &["fetch_url"], &["web_search"]);
    hides("Agent(*)", &["agent_open", "agent_wait"], &["send_message"]);
    hides("Task", &["agent_open"], &[]);
}

#[test]
fn a_tools_own_name_is_known_in_any_spelling() {
    for rule in ["write_file", "WriteFile", "Write-File", "WRITE_FILE", "write file"] {
        if rule.contains(' ') {
            unreadable(rule, "holds no ' '");
        } else {
            hides(rule, &["write_file"], &["edit_file"]);
        }
    }
    hides("*", &["read_file", "mcp__x__y"], &[]);
    hides("git_*", &["git_diff", "git_log"], &["read_file"]);
}

#[test]
fn a_built_in_tool_that_runs_code_is_a_shell_tool_without_being_listed() {
    let spec = Named("run_it".into(), Origin::builtin(), CapabilitySet::of(&[Capability::ExecutesCode]));
    let snapshot = Registry::new([Arc::new(spec) as Arc<dyn ToolSpec>]).snapshot();
    assert!(rules("Bash").hides(&snapshot.tools["run_it"]).is_some());
}

#[test]
fn servers_are_denied_whole_and_in_part() {
    for rule in ["mcp__x", "mcp__x__*", "MCP__X", "mcp__x__"] {
        hides(rule, &["mcp__x__drop_db", "mcp__x__read"], &["mcp__xy__read", "mcp__y__x", "read_file"]);
    }
    hides("mcp__*", &["mcp__x__drop_db", "mcp__y__z", "list_mcp_resources"], &["read_file"]);
    hides("mcp__x__drop_db", &["mcp__x__drop_db"], &["mcp__x__drop", "mcp__x__read"]);
    hides("mcp__x__get_*", &["mcp__x__get_issue"], &["mcp__x__set_issue"]);
    call("mcp__x", "read_mcp_resource", json!({"server": "X", "uri": "a"}), true);
    call("mcp__x", "read_mcp_resource", json!({"server": "y", "uri": "a"}), false);
    assert_eq!(rules("mcp__my-server").denies_server("My Server"), Some("mcp__my-server"));
}

#[test]
fn a_server_is_known_by_its_origin_whatever_its_tools_are_called() {
    let kind = OriginKind::Mcp { server: "x".into() };
    let renamed = tool_of("harmless", Origin { kind, ..Origin::extension("x") });
    assert!(rules("mcp__x").hides(&renamed).is_some());
}

#[test]
fn sub_agents_are_denied_by_type_as_call_and_as_tool() {
    call("Agent(code-reviewer)", "agent_open", json!({"agent_type": "code-reviewer", "prompt": "x"}), true);
    call("Agent(code-reviewer)", "agent_open", json!({"agent_type": "Code_Reviewer"}), true);
    call("Agent(code-reviewer)", "agent_open", json!({"agent_type": "tester"}), false);
    call("Agent(code-reviewer)", "agent_open", json!({"prompt": "x"}), true);
    let kind = |t: &str| Origin { kind: OriginKind::SubAgent { agent_type: t.into() }, ..Origin::extension("x") };
    assert!(rules("Agent(code-reviewer)").hides(&tool_of("helper", kind("code-reviewer"))).is_some());
    assert!(rules("Agent(code-reviewer)").hides(&tool_of("helper", kind("tester"))).is_none());
    assert!(rules("Agent").hides(&tool_of("helper", kind("tester"))).is_some());
}

#[test]
fn what_cannot_be_read_is_no_rule_and_nothing_starts() {
    unreadable("", "names no tool");
    unreadable("Bash(git push:*", "not closed");
    unreadable("Bash()", "parameter is empty");
    unreadable("Bash(git push && rm:*)", "holds '&'");
    unreadable("Bash(git:*push)", "at its end only");
    unreadable("Bash(FOO=1 git:*)", "is no command");
    unreadable("Bash(\"git push\")", "holds '\"'");
    unreadable("mcp__", "names no server");
    unreadable("mcp", "names no server");
    unreadable("mcp__x__y(z)", "no parameter is understood");
    unreadable("WebSearch(domain:x.org)", "no parameter is understood");
    unreadable("note(x)", "no parameter is understood");
    unreadable("WebFetch(example.com)", "is written `domain:HOST`");
    unreadable("WebFetch(domain:https://x.org)", "is no host");
    unreadable("WebFetch(domain:bücher.example)", "is no host");
    unreadable("Read(!secrets)", "takes something out");
    unreadable("Read(a/../b)", "holds the part `..`");
    unreadable("Read([ab])", "only wild cards");
    unreadable("Read(a\nb)", "control character");
    unreadable("Ba sh", "holds no ' '");
    unreadable(&"x".repeat(5000), "longer than");
    assert!(DenyRules::parse(["Read(~/x)"], Roots::default()).is_err(), "without a home folder nothing is known of it");
    let many = std::iter::repeat_n("Read", MOST_RULES + 1);
    assert!(DenyRules::parse(many, roots()).unwrap_err().reason.contains("one more"));
}

#[test]
fn a_command_is_denied_however_it_is_written() {
    for command in [
        "git push",
        "git push origin main",
        "  git   push  ",
        "git\tpush",
        "git push\n",
        "/usr/bin/git push",
        "./git push",
        "GIT push",
        "git -C x push",
        "git --git-dir=x push",
        "git --git-dir x push",
        "git --no-pager push",
        "git -c a.b=c push",
        "'git' push",
        "g'i't \"pu\"sh",
        "g\\it pus\\h",
        "git push --dry-run",
        "git -C x -c y=z push -f",
    ] {
        shell("Bash(git push:*)", command, true);
        shell("Bash(git push)", command, true);
    }
}

#[test]
fn a_denied_command_does_not_hide_in_another() {
    for command in [
        "ls && git push",
        "ls; git push",
        "ls | git push",
        "ls & git push",
        "ls || git push",
        "ls\ngit push",
        "ls\r\ngit push",
        "$(git push)",
        "ls `git push`",
        "ls \"$(git push)\"",
        "ls \"`git push`\"",
        "(git push)",
        "{ git push; }",
        "! git push",
        "if true; then git push; fi",
        "A=1 git push",
        "env A=1 git push",
        "sudo git push",
        "/usr/bin/env git push",
        "sh -c 'git push'",
        "bash x.sh",
        "eval git push",
        "eval \"git push\"",
        "xargs git push",
        "timeout 5 git push",
        "nohup git push",
        "command git push",
        "find . -exec git push ;",
        "python3.12 -c 'import os'",
        "awk 'BEGIN{system(\"git push\")}'",
        "sed '1e git push' x",
        "ssh host git push",
        "$GIT push",
        "${GIT} push",
        "git $X",
        "git \"$X\"",
        "git p*",
        "git {push,x}",
        "g?t push",
        "~/bin/git push",
        "git p",
        "git -c alias.p=push p",
        "git config alias.p push",
        "git submodule foreach git push",
        "git rebase -x 'git push' main",
        "cat <<E\ngit push\nE",
        "$'git' push",
        "ls # git push",
        "git\u{a0}push",
        "ls \0",
        "echo \"unclosed",
        "time git push",
        "function f",
        "source x",
        ". x",
    ] {
        shell("Bash(git push:*)", command, true);
    }
    shell("Bash(git push:*)", &format!("ls {}", "x ".repeat(40_000)), true);
}

#[test]
fn what_a_rule_does_not_say_goes_on() {
    for command in [
        "git status",
        "git log --oneline -5",
        "git commit -m 'fix git push'",
        "git add push",
        "git pull",
        "echo git push",
        "cargo test",
        "grep 'git push' README.md",
        "ls *.rs",
        "ls $HOME",
        "gitk push",
        "",
    ] {
        shell("Bash(git push:*)", command, false);
    }
    shell("Bash(rm:*)", "git rm x", false);
    shell("Bash(rm:*)", "git push -u origin main", false);
    shell("Bash(rm:*)", "git commit -c HEAD", false);
    call("Bash(git push:*)", "exec_shell_wait", json!({"id": "git push"}), false);
}

#[test]
fn flags_are_the_same_in_every_spelling() {
    for command in
        ["rm -rf x", "rm -fr x", "rm -r -f x", "rm x -rf", "rm -Rf x", "rm --recursive --force x", "rm -r --fo x"]
    {
        shell("Bash(rm -rf:*)", command, true);
    }
    shell("Bash(rm -rf:*)", "rm x", false);
    shell("Bash(rm -rf:*)", "rm -f x", false);
    for command in
        ["git push --force", "git push -f", "git push origin main --force", "git push --forc", "git push --force=x"]
    {
        shell("Bash(git push --force)", command, true);
    }
    shell("Bash(git push --force)", "git push --tags", false);
    shell("Bash(curl -X POST:*)", "curl -XPOST http://x", true);
    shell("Bash(curl -X POST:*)", "curl http://x -X POST", true);
    shell("Bash(curl -X POST:*)", "curl http://x", false);
    shell("Bash(terraform apply -auto-approve)", "terraform apply --auto-approve", true);
}

#[test]
fn stars_stand_for_words() {
    shell("Bash(git * main)", "git push origin main", true);
    shell("Bash(git * main)", "git push origin dev", false);
    shell("Bash(npm run *:*)", "npm run deploy", true);
    shell("Bash(* deploy)", "yarn x deploy", true);
    shell("Bash(git*)", "git status", true);
    shell("Bash(./deploy.sh:*)", "scripts/deploy.sh now", true);
}

#[test]
fn other_shell_tools_are_judged_as_well() {
    call("Bash(git push:*)", "task_shell_start", json!({"command": "git push"}), true);
    call("Bash(git push:*)", "write_stdin", json!({"text": "ls\n"}), true);
    call("Bash(git push:*)", "run_tests", json!({"filter": "push"}), false);
    call("Bash(git push:*)", "run_tests", json!({"args": ["x; git push"]}), true);
    call("exec_shell(git push:*)", "exec_shell", json!({"command": "git push"}), true);
    call("exec_shell(git push:*)", "task_shell_start", json!({"command": "git push"}), false);
}

/// What runs the denied command, or may run it, whatever stands around it.
#[test]
fn no_program_lends_its_name_to_a_denied_command() {
    for command in [
        "sudo -u root -- /bin/rm x",
        "sudo -n env -i nice -n 5 nohup timeout -k 5 10 rm x",
        "sudo -uroot rm x",
        "stdbuf -oL rm x",
        "env -u A rm x",
        "env -S 'rm x'",
        "env -iS'rm x'",
        "env PATH=/tmp/bin ls",
        "CI=`rm x` ls",
        "LD_PRELOAD=x.so ls",
        "exec rm x",
        "command rm x",
        "\\rm x",
        "r\\m x",
        "r''m x",
        "$'rm' x",
        "$'r\\x6d' x",
        "ls | xargs rm",
        "ls | xargs -0 -n1 rm",
        "ls | xargs -I{} rm {}",
        "ls | xargs -I % sh -c 'rm %'",
        "echo rm x | xargs -I{} {}",
        "echo x | xargs env",
        "echo x | xargs sh -c",
        "echo rm x | xargs -a",
        "find . -name x -exec rm {} +",
        "find . -exec echo {} + -exec rm {} \\;",
        "find . -exec ls \\; -exec rm {} \\;",
        "find . -exec sh -c 'rm {}' \\;",
        "find . -ok rm {} \\;",
        "find . -exec {} \\;",
        "find . -delete",
        "find . -fprint x",
        "find $X",
        "find . -exec rm",
        "sh -c 'rm x'",
        "bash -lc 'ls && rm x'",
        "bash -c \"sh -c 'rm x'\"",
        "sh -c 'eval rm x'",
        "sh -c '\"$@\"' _ rm x",
        "sh -c '$0 x' rm",
        "bash -c \"$X\"",
        "bash -o posix -c 'rm x'",
        "bash -ic ls",
        "zsh -c ls",
        "sh x.sh",
        "sh < x.sh",
        "echo rm x | sh",
        "eval 'rm x'",
        "eval r''m x",
        "eval 'eval \"rm x\"'",
        "eval \"$X\"",
        "busybox rm x",
        "toybox rm x",
        "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
        "python3.13t -c 1",
        "perl5.36.0 -e 1",
        "gfind . -exec rm x \\;",
        "genv rm x",
        "sort --compress-program=./x a",
        "sort --comp ./x a",
        "rg --pre ./x a",
        "go test -exec ./x",
        "go test --exec=./x",
        "nc -le ./x",
        "test -v 'a[$(rm x)]'",
        "[ -v 'a[$(rm x)]' ]",
        "printf -v 'a[$(rm x)]' y",
        "alias ls=rm; ls x",
        "hash -p /bin/rm ls; ls x",
        "trap 'rm x' EXIT",
        "export PATH=/tmp/bin && ls",
        "read X < y; $X x",
        "ls; rm x",
        "ls & rm x",
        "ls 2>/dev/null || rm x",
        "> y rm x",
        "ls >&y",
        "ls >| y",
        "ls > `rm x`",
        "ls > $(rm x)",
        "ls <<< x",
        "ls <(rm x)",
        "ls |& cat",
        "ls &> y",
        "'A=1' rm x",
        "'' x",
        "sudo ! rm x",
        "coproc rm x",
        "echo x | git -C y ls-remote $X",
        "ls | xargs git rebase",
        "ls\u{1680}x",
        "ls\u{85}rm x",
        "ls \\\n | cat",
        "ls \\",
    ] {
        shell("Bash(rm:*)", command, true);
    }
    shell("Bash(rm:*)", &format!("{}ls", "sudo ".repeat(40)), true);
    shell("Bash(rm:*)", &format!("{}ls", "eval ".repeat(40)), true);
}

/// What is understood whole, and runs nothing that is denied.
#[test]
fn a_text_that_is_understood_goes_on() {
    for command in [
        "ls && cat a | head -n 5; wc -l a || true",
        "cd src && cargo test > out.txt 2>&1",
        "ls | sort -u >> all",
        "CI=1 RUST_LOG=debug cargo test",
        "env CI=1 cargo test",
        "timeout 60 cargo test",
        "sudo -n ls",
        "nohup ls &",
        "git ls-files | xargs grep -n rm",
        "git ls-files | xargs -I{} cp {} out",
        "find . -name '*.rs' -exec grep -l rm {} +",
        "find src -type f",
        "bash -c 'ls && pwd'",
        "sh -ec 'echo rm'",
        "eval 'ls -l'",
        "[ -f a ] && ls ${HOME}/x",
        "test -d a || ls $HOME",
        "echo 'rm x' > notes",
        "command -v ls",
        "curl -d '{\"a\":{\"b\":[{\"c\":[1]},{\"d\":[2]},{\"e\":[{}]},{\"f\":[{}]}]}}' localhost",
        "git commit -m \"remove rm\" && git push origin main",
    ] {
        shell("Bash(rm:*)", command, false);
    }
    shell("Bash(sudo:*)", "sudo ls", true);
    shell("Bash(xargs:*)", "ls | xargs ls", true);
    shell("Bash(sh:*)", "sh -c ls", true);
    shell("Bash(git push:*)", "echo push | xargs git", true);
    shell("Bash(git push:*)", "ls | xargs git add", false);
}

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
fn a_host_is_denied_however_it_is_written() {
    let url = |url: &str, denied: bool| call("WebFetch(domain:evil.example)", "fetch_url", json!({"url": url}), denied);
    for text in [
        "https://evil.example",
        "https://EVIL.example./x",
        "http://evil.example:8080/?q",
        "https://a.b.evil.example/",
        "HTTPS://evil.example#x",
        // What readers of URLs may disagree on is denied as well.
        "https://good.example@evil.example/",
        "https://evil.example\\@good.example/",
        "https://ev\til.example/",
        "https:evil.example",
        "https:///evil.example",
        "//evil.example",
        "evil.example",
        "https://%65vil.example/",
        "https://ｅvil.example/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://[::1]/",
        "ftp://good.example/",
        "https://good.example:x/",
    ] {
        url(text, true);
    }
    for text in [
        "https://good.example/evil.example",
        "https://notevil.example/",
        "http://127.0.0.1/",
        "https://evil.example.org/",
    ] {
        url(text, false);
    }
    assert_eq!(
        rules("WebFetch(domain:*.evil.example)").denies_host("a.evil.example"),
        Some("WebFetch(domain:*.evil.example)")
    );
    assert_eq!(rules("WebFetch").denies_host("any.example"), Some("WebFetch"));
    assert_eq!(rules("Read").denies_host("any.example"), None);
}

#[test]
fn a_rule_without_a_tool_is_told() {
    let rules = DenyRules::parse(["Read", "Raed", "mcp__gone"], roots()).unwrap();
    let tools = [tool("read_file"), tool("list_dir")];
    assert_eq!(rules.idle(tools.iter().map(AsRef::as_ref)), ["Raed", "mcp__gone"]);
}

#[test]
fn rules_that_are_replaced_hold_at_once() {
    let live = LiveRules::new(rules("Read"));
    assert!(live.judge(&tool("read_file"), &json!({"path": "a"})).is_err());
    live.replace(rules("Edit"));
    assert!(live.judge(&tool("read_file"), &json!({"path": "a"})).is_ok());
    assert!(live.hides(&tool("edit_file")).is_some());
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Quotes, blanks, folders and flags around its words do not free a denied command.
    #[test]
    fn spelling_frees_no_command(
        folder in "(|/|/usr/bin/|\\./)", flags in proptest::collection::vec("--?[a-z]{1,6}", 0..3),
        cut in 0..4_usize, blanks in "[ \t]{1,3}", rest in proptest::collection::vec("[a-z./-]{1,8}", 0..3),
    ) {
        let quoted = |word: &str| format!("{}'{}'", &word[..cut.min(word.len())], &word[cut.min(word.len())..]);
        let mut words = vec![format!("{folder}{}", quoted("git"))];
        words.extend(flags);
        words.push(quoted("push"));
        words.extend(rest);
        let command = words.join(&blanks);
        let judged = rules("Bash(git push:*)").judge(&tool("exec_shell"), &json!({"command": command}));
        prop_assert!(judged.is_err());
    }

    /// No text of a rule and no text of a call makes the rules panic, and a rule that is read denies what it says.
    #[test]
    fn any_text_is_a_rule_or_a_fault(rule in "\\PC{0,30}", input in "\\PC{0,40}") {
        if let Ok(rules) = DenyRules::parse([rule], roots()) {
            for name in ["exec_shell", "read_file", "fetch_url", "apply_patch"] {
                let _ = rules.judge(&tool(name), &json!({"command": input, "path": input, "url": input, "patch": input}));
            }
        }
    }
}
