//! What is particular to git: names that its own configuration gives to other commands, and flags that run something.

use super::command::Word;

/// Global flags that take the next word as their value.
const VALUED: &[&str] = &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env"];

/// The commands that git has of itself. Configuration cannot give their names to anything else.
const OWN: &[&str] = &[
    "add",
    "am",
    "annotate",
    "apply",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bugreport",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "checkout",
    "checkout-index",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "column",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "count-objects",
    "describe",
    "diagnose",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "difftool",
    "fast-export",
    "fast-import",
    "fetch",
    "fetch-pack",
    "filter-branch",
    "fmt-merge-msg",
    "for-each-ref",
    "for-each-repo",
    "format-patch",
    "fsck",
    "gc",
    "get-tar-commit-id",
    "grep",
    "hash-object",
    "help",
    "hook",
    "index-pack",
    "init",
    "init-db",
    "interpret-trailers",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "mailsplit",
    "maintenance",
    "merge",
    "merge-base",
    "merge-file",
    "merge-index",
    "merge-tree",
    "mergetool",
    "mktag",
    "mktree",
    "multi-pack-index",
    "mv",
    "name-rev",
    "notes",
    "pack-objects",
    "pack-refs",
    "patch-id",
    "prune",
    "prune-packed",
    "pull",
    "push",
    "range-diff",
    "read-tree",
    "rebase",
    "receive-pack",
    "reflog",
    "refs",
    "remote",
    "repack",
    "replace",
    "replay",
    "request-pull",
    "rerere",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "send-pack",
    "shortlog",
    "show",
    "show-branch",
    "show-index",
    "show-ref",
    "sparse-checkout",
    "stage",
    "stash",
    "status",
    "stripspace",
    "submodule",
    "switch",
    "symbolic-ref",
    "tag",
    "unpack-file",
    "unpack-objects",
    "update-index",
    "update-ref",
    "update-server-info",
    "upload-archive",
    "upload-pack",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];

/// Commands of git that run what they are given, or what is configured.
const RUN: &[&str] =
    &["bisect", "difftool", "filter-branch", "for-each-repo", "hook", "maintenance", "mergetool", "submodule"];

/// Long flags that name a program.
const PROGRAMS: &[&str] = &[
    "--config-env",
    "--exec",
    "--exec-path",
    "--upload-pack",
    "--receive-pack",
    "--open-files-in-pager",
    "--extcmd",
    "--config",
];

/// Commands of git of which a flag names a program.
const TAKE_PROGRAMS: &[&str] =
    &["archive", "clone", "fetch", "fetch-pack", "grep", "ls-remote", "pull", "push", "rebase", "send-pack"];

/// Short flags that name a program, with the command they do so for.
const SHORT_PROGRAMS: &[(&str, &str)] =
    &[("clone", "-u"), ("clone", "-c"), ("rebase", "-x"), ("grep", "-O"), ("ls-remote", "-u")];

/// The git command, past the flags before it; `Err` where it cannot be told.
fn own_command(words: &[Word]) -> Result<Option<&str>, ()> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word {
            Word::Unknown => return Err(()),
            Word::Known(word) if VALUED.contains(&word.as_str()) => drop(words.next()),
            Word::Known(word) if word.starts_with('-') => {}
            Word::Known(word) => return Ok(Some(word)),
        }
    }
    Ok(None)
}

/// Whether what stands after `git` may mean another command, because a configuration says so.
pub(super) fn may_be_alias(words: &[Word]) -> bool {
    match own_command(words) {
        Ok(command) => command.is_some_and(|command| !OWN.contains(&command)),
        Err(()) => true,
    }
}

/// Whether what stands after `git` may run something else than git.
pub(super) fn runs_others(words: &[Word]) -> bool {
    let Ok(command) = own_command(words) else { return true };
    let names_program = |word: &Word| match word {
        Word::Unknown => command.is_some_and(|command| TAKE_PROGRAMS.contains(&command)),
        Word::Known(word) => {
            let name = word.split('=').next().unwrap_or_default();
            // Long flags may be cut to any beginning that is unique.
            name.len() > 3 && name.starts_with("--") && PROGRAMS.iter().any(|flag| flag.starts_with(name))
                || SHORT_PROGRAMS.iter().any(|(of, flag)| command == Some(*of) && word.starts_with(flag))
        }
    };
    let configured = |word: &Word| matches!(word, Word::Known(word) if word.starts_with("-c"));
    let before = words.iter().take_while(|word| !matches!(word, Word::Known(word) if Some(word.as_str()) == command));
    // A name that is not git's own is an alias, and an alias may begin with `!`.
    command.is_some_and(|command| !OWN.contains(&command) || RUN.contains(&command))
        || words.iter().any(names_program)
        || before.into_iter().any(configured)
        || configures_alias(words)
}

/// Whether an alias is made now, to be run later.
fn configures_alias(words: &[Word]) -> bool {
    let known = |word: &Word| matches!(word, Word::Known(word) if word.to_lowercase().starts_with("alias."));
    matches!(own_command(words), Ok(Some("config"))) && words.iter().any(|word| *word == Word::Unknown || known(word))
}
