//! Rules about commands: every way to write one, and every program that runs another.

use super::*;

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
}
