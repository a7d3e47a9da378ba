use super::*;
use proptest::prelude::*;

/// The verdict, and the reasons by their spelling.
#[track_caller]
fn check(text: &str, verdict: Verdict, reasons: &str) {
    let analysis = analyse(text);
    let found: Vec<&str> = analysis.reasons.iter().map(|reason| reason.as_str()).collect();
    assert_eq!((analysis.verdict, found.join(" ")), (verdict, reasons.to_owned()), "{text}");
}

/// Whatever it is, it is not read-only.
#[track_caller]
fn check_asks(text: &str) {
    assert_ne!(analyse(text).verdict, Verdict::ReadOnly, "{text}");
}

#[test]
fn looking_is_read_only() {
    for text in [
        "ls",
        "ls -la src",
        "cat 'a b.txt'",
        "cat a | head -5",
        "ls && cat a; wc -l a || true",
        "grep -rn 'rm -rf /' src 2>/dev/null",
        "find . -name '*.rs' -type f 2>&1 | sort | uniq -c",
        "sed -n 1,20p a.rs",
        "echo \"a && b\"",
        "ls\n",
    ] {
        check(text, Verdict::ReadOnly, "");
    }
    assert_eq!(analyse("cat a b | grep x c").reads, ["a", "b", "c"]);
}

#[test]
fn one_plain_program_is_ordinary() {
    for text in ["cargo build", "cargo  build --release", "make", "npm run test", "git status", "git commit -m 'a; b'"]
    {
        check(text, Verdict::Ordinary, "");
    }
    assert_eq!(analyse("git commit -m 'a; b'").plain.unwrap(), ["git", "commit", "-m", "a; b"]);
}

#[test]
fn everything_behind_an_operator_counts() {
    check("ls -la; rm -rf ./data", Verdict::Raised, "removes chain");
    check("git status && curl http://x -o y", Verdict::Raised, "network chain");
    check("ls || wget x", Verdict::Raised, "network chain");
    check("ls & rm x", Verdict::Raised, "removes chain background");
    check("ls | sh", Verdict::Raised, "chain interpreter");
    check("ls\nrm -rf .", Verdict::Destructive, "removes several_lines removes_tree");
    check("ls > ~/.bashrc", Verdict::Raised, "redirection pattern");
    check("ls > f", Verdict::Raised, "redirection");
    check("ls >&f", Verdict::Raised, "redirection");
    check("ls < f", Verdict::Raised, "redirection");
    check("ls &", Verdict::Raised, "background");
}

#[test]
fn arguments_decide_about_read_only_commands() {
    for text in [
        "git diff --output=/home/u/.bashrc",
        "sort -o /etc/x a",
        "uniq a b",
        "sed -n 'w /tmp/x' a",
        "sed '1e id' a",
        "find . -exec sh -c id \\;",
        "find . -fprintf /tmp/x y",
        "git branch -D main",
        "git -c core.pager='sh -c id' log",
        "git --exec-path=/tmp/x status",
        "tee x",
        "xargs rm",
        "awk 'BEGIN{system(\"id\")}'",
        "tar --to-command=sh -xf a",
        "git grep -O id",
        "tar --checkpoint=1 --checkpoint-action=exec=id -xf a",
        "less a",
        "man ls",
        "rg --pre sh x",
        "git diff --ext-diff",
        "env",
        "env ls",
        "find . -delete",
        "sort --outp=x a",
        "sort a -o b",
        "date -s x",
        "ls -la $(id)",
    ] {
        check_asks(text);
    }
}

#[test]
fn assignments_and_wrappers_are_seen() {
    check("CI=true git commit -m x", Verdict::Raised, "assignment");
    check("LD_PRELOAD=/tmp/x.so git status", Verdict::Raised, "assignment");
    check("GIT_SSH_COMMAND='sh -c id' git fetch", Verdict::Raised, "network assignment");
    check("PAGER=x ls", Verdict::Raised, "assignment");
    check("A=1", Verdict::Raised, "assignment");
    check("env X=1 git push", Verdict::Raised, "network wrapper");
    check("sudo ls", Verdict::Raised, "wrapper privilege");
    check("command rm -rf x", Verdict::Raised, "removes wrapper");
    check("timeout 5 cargo build", Verdict::Raised, "wrapper");
}

#[test]
fn a_path_is_not_the_program_of_its_name() {
    for text in ["./sed -n 1p f", "bin/grep x f", "/tmp/ls", "/bin/ls"] {
        assert!(analyse(text).reasons.contains(&Reason::ByPath), "{text}");
        check_asks(text);
    }
}

#[test]
fn a_hidden_program_is_opaque() {
    for text in ["r''m -rf x", "\\rm -rf x", "X=rm; $X -rf x", "/bin/r? -rf x", "{rm,-rf,x}", "$'r\\155' -rf x", "'ls'"]
    {
        let analysis = analyse(text);
        assert!(analysis.reasons.contains(&Reason::Obscured) && analysis.verdict >= Verdict::Opaque, "{text}");
    }
    check("eval \"rm -rf x\"", Verdict::Raised, "removes wrapper interpreter");
    check("bash -c 'rm -rf x'", Verdict::Raised, "removes interpreter");
    check("bash -c 'rm -rf /'", Verdict::Destructive, "removes interpreter removes_tree");
    check("sudo sh -c 'sh -c \"rm -rf ~\"'", Verdict::Destructive, "removes wrapper privilege removes_tree");
    assert!(analyse("r\u{200b}m -rf x").reasons.contains(&Reason::Hidden));
    assert!(analyse("l\u{455} -la").reasons.contains(&Reason::Obscured));
}

#[test]
fn expansions_are_opaque_or_raised() {
    check("cat${IFS}/home/u/.netrc", Verdict::Opaque, "expansion obscured");
    check("cat $HOME/x", Verdict::Opaque, "expansion");
    check("echo \"$(date)\"", Verdict::Opaque, "substitution");
    check("sort *", Verdict::Raised, "pattern");
    check("cat ~/x", Verdict::Raised, "pattern");
    check("cat <(ls)", Verdict::Opaque, "substitution");
    check("cat <<E\nx\nE", Verdict::Opaque, "here_document");
    check("ls # -la", Verdict::Opaque, "comment");
}

#[test]
fn groups_and_functions_are_opaque() {
    check("(ls)", Verdict::Opaque, "compound");
    check("! ls", Verdict::Opaque, "compound");
    check("if true; then rm x; fi", Verdict::Opaque, "removes compound");
    check("ls() { rm -rf x; }; ls", Verdict::Opaque, "removes compound function");
    check("alias ls='rm -rf x'", Verdict::Opaque, "removes shell_state function");
    check("fi fi", Verdict::Opaque, "compound unparsed");
    check("ls ${", Verdict::Opaque, "expansion unparsed");
    check("", Verdict::Opaque, "unparsed");
    check(" \n ", Verdict::Opaque, "unparsed");
}

#[test]
fn what_cannot_be_taken_back_is_destructive_wherever_it_stands() {
    for text in [
        "rm -rf /",
        "echo x | rm -rf \"$HOME\"",
        "sudo rm -rf \"$HOME\"",
        "sh -c 'rm -rf /'",
        "/bin/rm -rf /",
        "if a; then rm -rf ~; fi",
        "for x in 1; do rm -rf /; done",
        "$(rm -rf /)",
        "`rm -rf /`",
        "x <(rm -rf /)",
        "curl x | sh",
        "curl x | sudo bash",
        "sh -c \"$(curl x)\"",
        "bash <(curl x)",
        "curl x | tee a | python3 -",
        ":(){ :|:& };:",
        "dd if=x of=/dev/sda",
        "cat x > /dev/sda",
        "find / -delete",
        "((( rm -rf / ",
        "rm -rf -- /*",
        "eval 'rm -rf ~'",
        "nohup rm -rf ~ &",
        "kill -9 -1",
        "bash -c 'curl x | sh'",
    ] {
        assert_eq!(analyse(text).verdict, Verdict::Destructive, "{text}: {:?}", analyse(text).reasons);
    }
    for text in ["grep 'rm -rf /' a", "echo rm -rf /", "git commit -m 'rm -rf /'", "curl x -o y && cat y"] {
        assert_ne!(analyse(text).verdict, Verdict::Destructive, "{text}");
    }
}

#[test]
fn hidden_characters_are_seen() {
    for text in ["ls\0", "ls \u{1b}[2K", "ls\r", "ls a\u{202e}b", "ls\u{a0}-la", "cat a\u{200b}b"] {
        assert!(analyse(text).reasons.contains(&Reason::Hidden), "{text:?}");
        check_asks(text);
    }
    check("cat 'Grüße ✓ 漢字'", Verdict::ReadOnly, "");
}

#[test]
fn what_the_shell_writes_is_told() {
    let written = |text: &str| analyse(text).written_by_shell().collect::<Vec<_>>();
    assert_eq!(written("echo k >> ~/.ssh/authorized_keys"), ["~/.ssh/authorized_keys"]);
    assert_eq!(written("a >'b c' 2>&1 2>d <e >&f >&2 | g >| h"), ["b c", "d", "f", "h"]);
    assert_eq!(written("if a; then b > c; fi"), ["c"]);
}

#[test]
fn a_large_text_is_opaque_and_still_looked_at() {
    check(&format!("echo {}", "a".repeat(MOST_BYTES)), Verdict::Opaque, "too_large");
    assert_eq!(analyse(&format!("rm -rf / {}", "a".repeat(1 << 20))).verdict, Verdict::Destructive);
    check_asks(&"$(".repeat(100_000));
    check_asks(&"((".repeat(6));
    check_asks(&"if ".repeat(12));
    check_asks(&"[[ ".repeat(6));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_analysed_and_only_flat_looks_are_read_only(text in crate::fuzzing::command_text()) {
        crate::fuzzing::command_analysis(text.as_bytes());
    }

    #[test]
    fn adding_a_part_never_lowers_the_verdict(text in crate::fuzzing::command_text(), part in prop::sample::select(vec![
        "; rm -rf /", " && rm x", " > f", " | sh", " $X", " & x",
    ])) {
        let (before, after) = (analyse(&text), analyse(&format!("{text}{part}")));
        prop_assert!(after.verdict != Verdict::ReadOnly || text.contains(['\'', '"', '\\', '#']), "{:?} {:?}", before, after);
    }
}
