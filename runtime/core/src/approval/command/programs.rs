//! What is known of programs: those that run others, those that talk to other hosts, and what cannot be taken back.
//!
//! Everything here only raises: a program that is missing from a table is an ordinary one, which asks as well.

mod tables;

use super::reason::Reason;
use std::collections::BTreeSet;
use tables::{
    BEFORE_SUBCOMMAND, FETCHES, FORCES, INTERPRETERS, NETWORK, NETWORK_SUBCOMMANDS, OTHERS, OTHERS_BEGIN, PLAIN_STATE,
    PRIVILEGE, REMOVES, SHELL_STATE, TAKES_PROGRAMS, WRAPPERS,
};

/// The last part of a program's path, and without a version: `python3.12` is `python`.
pub fn base_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    if INTERPRETERS.contains(&stem) { stem } else { name }
}

/// Whether the program takes other programs' text and runs it.
pub fn takes_programs(argv: &[&str]) -> bool {
    heads(argv).any(|at| TAKES_PROGRAMS.contains(&base_name(argv[at])))
}

/// Whether the program brings something from another host.
pub fn fetches(argv: &[&str]) -> bool {
    heads(argv).any(|at| FETCHES.contains(&base_name(argv[at])))
}

/// Where in the words a program may stand: the first one, and behind something that runs others any.
pub fn heads(argv: &[&str]) -> impl Iterator<Item = usize> + use<> {
    let all = argv.first().is_some_and(|program| runs_others(base_name(program), argv));
    0..if all { argv.len() } else { argv.len().min(1) }
}

fn runs_others(program: &str, argv: &[&str]) -> bool {
    let by_option = ["-exec", "-execdir", "-ok", "-okdir"];
    PRIVILEGE.contains(&program)
        || WRAPPERS.contains(&program)
        || matches!(program, "eval" | "busybox")
        || (program == "find" && argv.iter().any(|word| by_option.contains(word)))
}

/// Whether a program of this name, which has no path, may run others, or decide which ones others are.
pub fn may_run_others(program: &str) -> bool {
    let stem = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let tables = [PRIVILEGE, WRAPPERS, INTERPRETERS, SHELL_STATE, OTHERS];
    let listed = |name: &str| tables.iter().any(|table| table.contains(&name)) && !PLAIN_STATE.contains(&name);
    // What is GNU's has a `g` before its name where another program has that name.
    let gnu = program.strip_prefix('g').is_some_and(listed);
    listed(program) || listed(stem) || gnu || OTHERS_BEGIN.iter().any(|beginning| program.starts_with(beginning))
}

/// What is to be seen about one simple command. `argv` holds words as the program gets them, or as they are written where
/// that is not known.
pub fn reasons(argv: &[&str]) -> BTreeSet<Reason> {
    let mut reasons = BTreeSet::new();
    let Some(program) = argv.first().map(|program| base_name(program)) else { return reasons };
    let mut when = |holds: bool, reason| {
        if holds {
            reasons.insert(reason);
        }
    };
    when(PRIVILEGE.contains(&program), Reason::Privilege);
    when(runs_others(program, argv), Reason::Wrapper);
    when(INTERPRETERS.contains(&program), Reason::Interpreter);
    when(SHELL_STATE.contains(&program), Reason::ShellState);
    when(matches!(program, "alias" | "function"), Reason::Function);
    for at in heads(argv) {
        let (argv, program) = (&argv[at..], base_name(argv[at]));
        when(REMOVES.contains(&program), Reason::Removes);
        when(program == "find" && argv.contains(&"-delete"), Reason::Removes);
        when(network(program, argv), Reason::Network);
        when(forces(program, argv), Reason::Forces);
        when(removes_tree(program, argv), Reason::RemovesTree);
        when(overwrites(program, argv), Reason::Overwrites);
        when(stops_system(program, argv), Reason::StopsSystem);
    }
    reasons
}

/// The texts among the words that the program runs as a command line of its own.
pub fn inner_scripts<'a>(argv: &[&'a str]) -> Vec<&'a str> {
    let takes = takes_programs(argv) || heads(argv).any(|at| base_name(argv[at]) == "watch");
    if takes {
        argv[1..].iter().copied().filter(|word| word.contains([' ', ';', '|', '&'])).collect()
    } else {
        Vec::new()
    }
}

/// The first word that is no option and no option's value.
fn subcommand<'a>(argv: &[&'a str]) -> Option<&'a str> {
    let mut words = argv[1..].iter();
    while let Some(word) = words.next() {
        if BEFORE_SUBCOMMAND.contains(word) {
            words.next();
        } else if !word.starts_with('-') && !word.starts_with('+') {
            return Some(word);
        }
    }
    None
}

/// The words of a command, and the same with the program's name without its path and its subcommand right behind it.
pub fn spellings(argv: &[&str], into: &mut BTreeSet<Vec<String>>) {
    let Some((program, rest)) = argv.split_first() else { return };
    let owned = |program: &str, rest: &[&str]| {
        std::iter::once(program).chain(rest.iter().copied()).map(str::to_owned).collect::<Vec<String>>()
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    into.insert(owned(program, rest));
    into.insert(owned(name, rest));
    if let Some(at) = subcommand(argv).and_then(|verb| argv.iter().position(|word| *word == verb)).filter(|at| *at > 1)
    {
        into.insert(owned(name, &argv[at..]));
    }
}

fn network(program: &str, argv: &[&str]) -> bool {
    if NETWORK.contains(&program) {
        return true;
    }
    let found = NETWORK_SUBCOMMANDS.iter().find(|(name, _)| *name == program);
    found.is_some_and(|(_, verbs)| match subcommand(argv) {
        Some(verb) => verbs.contains(&verb),
        // These two install what the folder names when nothing else is said.
        None => program == "yarn",
    })
}

fn forces(program: &str, argv: &[&str]) -> bool {
    let subcommand = subcommand(argv);
    let by_option = |word: &str, marks: &[&str]| {
        marks.iter().any(|mark| match mark.len() {
            1 => word.starts_with('-') && !word.starts_with("--") && word.contains(mark),
            _ => is_option(word, mark) || word == *mark,
        })
    };
    let table = FORCES.iter().any(|(name, verb, marks)| {
        *name == program
            && subcommand == Some(verb)
            && (marks.is_empty() || argv[1..].iter().any(|word| by_option(word, marks)))
    });
    let refspec = |word: &&str| word.starts_with('+') || word.starts_with(':');
    table || (program == "git" && subcommand == Some("push") && argv[1..].iter().any(refspec))
}

/// Whether `word` is the long option `option`, with a value or without, also where its name is cut short.
pub fn is_option(word: &str, option: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    name.len() > 2 && name.starts_with("--") && option.starts_with(name)
}

fn removes_tree(program: &str, argv: &[&str]) -> bool {
    let recursive = |long: &str| {
        argv[1..].iter().any(|word| {
            (word.starts_with('-') && !word.starts_with("--") && word.contains(['r', 'R'])) || is_option(word, long)
        })
    };
    let whole = || argv[1..].iter().filter(|word| !word.starts_with('-')).any(|word| is_foreign_tree(word));
    match program {
        "rm" | "srm" => {
            (recursive("--recursive") && whole()) || argv.iter().any(|w| is_option(w, "--no-preserve-root"))
        }
        "chmod" | "chown" | "chgrp" | "setfacl" => recursive("--recursive") && whole(),
        "find" => argv.contains(&"-delete") && argv.get(1).is_some_and(|place| is_foreign_tree(place)),
        _ => false,
    }
}

/// The root, a home, a folder that the system needs, everything here, or whatever a variable says.
fn is_foreign_tree(word: &str) -> bool {
    let word = word.trim_matches(['"', '\'']);
    let path = word.trim_end_matches(['/', '*', '.']);
    let depth = path.split('/').filter(|part| !part.is_empty()).count();
    word.starts_with(['$', '~', '`'])
        || path.is_empty()
        || path.split('/').any(|part| part == "..")
        || (path.starts_with('/') && (depth <= 1 || (depth == 2 && !path.starts_with("/tmp/"))))
}

fn overwrites(program: &str, argv: &[&str]) -> bool {
    match program {
        "dd" => argv[1..].iter().any(|word| word.strip_prefix("of=").is_some_and(is_device)),
        "tee" | "cp" | "mv" | "shred" => argv[1..].iter().any(|word| is_device(word)),
        "blkdiscard" | "fdisk" | "parted" | "sfdisk" | "wipefs" => true,
        _ => program.starts_with("mkfs") || program == "mkswap",
    }
}

/// Whether a path is a device to which writing does something.
pub fn is_device(path: &str) -> bool {
    let harmless = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full"];
    path.starts_with("/dev/") && !harmless.contains(&path) && !path.starts_with("/dev/fd/")
}

fn stops_system(program: &str, argv: &[&str]) -> bool {
    match program {
        "halt" | "poweroff" | "reboot" | "shutdown" => true,
        "init" | "telinit" => argv[1..].iter().any(|word| ["0", "6"].contains(word)),
        "systemctl" => argv[1..].iter().any(|w| ["halt", "poweroff", "reboot", "kexec", "emergency"].contains(w)),
        "kill" => argv[1..].len() > 1 && argv.last() == Some(&"-1") || argv[1..] == ["-1"],
        "crontab" => argv.contains(&"-r"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, expect: &[Reason]) {
        let argv: Vec<&str> = words.split(' ').collect();
        assert_eq!(reasons(&argv), expect.iter().copied().collect(), "{words}");
    }

    #[test]
    fn the_network_is_told_by_subcommand() {
        for words in ["curl x", "git push", "git -C x fetch", "cargo install x", "npm install", "go mod download"] {
            check(words, &[Reason::Network]);
        }
        for words in ["git commit -m fetch", "cargo build", "npm run install", "go build", "npm test", "git log push"] {
            check(words, &[]);
        }
    }

    #[test]
    fn what_removes_is_told_from_what_removes_everything() {
        check("rm a", &[Reason::Removes]);
        check("rm -rf ./data", &[Reason::Removes]);
        check("rm -rf /tmp/x", &[Reason::Removes]);
        for words in [
            "rm -rf /",
            "rm -fr /*",
            "rm -r --force ~",
            "rm --recurs $HOME",
            "rm -rf .",
            "rm -rf *",
            "rm -rf ./*",
            "rm -R /etc",
            "rm -rf ../..",
            "rm -rf /usr/lib",
            "/bin/rm -rf /",
            "rm -rf -- /",
            "rm -rf \"$SCRATCH\"",
        ] {
            check(words, &[Reason::Removes, Reason::RemovesTree]);
        }
    }

    #[test]
    fn a_wrapper_hides_nothing() {
        check("sudo rm -rf /", &[Reason::Privilege, Reason::Wrapper, Reason::Removes, Reason::RemovesTree]);
        check("env A=1 git push -f", &[Reason::Wrapper, Reason::Network, Reason::Forces]);
        check("xargs rm", &[Reason::Wrapper, Reason::Removes]);
        check("find . -exec rm {} ;", &[Reason::Wrapper, Reason::Removes]);
        check("timeout 5 curl x", &[Reason::Wrapper, Reason::Network]);
        check("echo rm -rf /", &[]);
    }

    #[test]
    fn interpreters_are_known_with_their_versions() {
        for words in ["python a.py", "python3.12 a.py", "/usr/bin/perl -e 1", "awk 1", "sh x", "lua5.4 x", "sed p"] {
            check(words, &[Reason::Interpreter]);
        }
        check("pythonic", &[]);
    }

    #[test]
    fn what_throws_work_away_is_told() {
        for words in ["git reset --hard", "git clean -fd", "git branch -D x", "git commit --amend", "git stash drop"] {
            check(words, &[Reason::Forces]);
        }
        check("git push origin +main", &[Reason::Network, Reason::Forces]);
        check("git push --forc", &[Reason::Network, Reason::Forces]);
        check("git branch", &[]);
        check("git commit -m n", &[]);
    }

    #[test]
    fn devices_and_the_machine_are_told() {
        check("dd if=a of=/dev/sda", &[Reason::Overwrites]);
        check("mkfs.ext4 x", &[Reason::Overwrites]);
        check("dd if=a of=b", &[]);
        check("tee /dev/null", &[]);
        check("shutdown now", &[Reason::StopsSystem]);
        check("kill -9 -1", &[Reason::StopsSystem]);
        check("kill -9 12", &[]);
        check("chmod -R 777 /", &[Reason::RemovesTree]);
    }
}
