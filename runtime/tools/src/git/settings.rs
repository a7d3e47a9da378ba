//! The settings of a repository that `git` gets to see: known words with known meanings, and nothing else.
//!
//! Whatever a setting could name that is run, read or reached (programs, files, transports, another folder of files) is
//! left out by not being known. Settings without which the objects or refs would be misread are taken over, and a
//! repository that demands one that is not known is refused.

use std::fmt::Write;

/// Settings of `core` that say how files are compared.
const CORE: [&str; 8] =
    ["autocrlf", "checkstat", "eol", "filemode", "ignorecase", "precomposeunicode", "symlinks", "trustctime"];
/// Demands that a reader of one call may pass over.
const HARMLESS: [&str; 6] =
    ["noop", "noop-v1", "partialclone", "preciousobjects", "relativeworktrees", "worktreeconfig"];

/// The configuration of the view, from what `git config --list -z` prints of the repository's own; or the demand that is
/// not known.
pub fn known(list: &[u8]) -> Result<String, String> {
    let mut version = "0".to_owned();
    let mut plain = String::new();
    let mut extensions = String::new();
    let mut named = String::new();
    for entry in list.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let Ok(entry) = std::str::from_utf8(entry) else { continue };
        // A key without a value is a flag that is set.
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        let Some((section, rest)) = key.split_once('.') else { continue };
        match (section, rest.rsplit_once('.')) {
            ("core", None) if rest == "repositoryformatversion" => version = value.to_owned(),
            ("core", None) if CORE.contains(&rest) => line(&mut plain, rest, value),
            ("extensions", None) => extension(&mut extensions, rest, value)?,
            ("branch", Some((name, word @ ("remote" | "merge")))) => {
                section_line(&mut named, "branch", name, word, value)
            }
            ("remote", Some((name, word @ "fetch"))) => section_line(&mut named, "remote", name, word, value),
            _ => {}
        }
    }
    if !matches!(version.as_str(), "0" | "1") {
        return Err(format!("core.repositoryFormatVersion = {}", shown(&version)));
    }
    let extensions = if extensions.is_empty() { extensions } else { format!("[extensions]\n{extensions}") };
    Ok(format!("[core]\n\tbare = false\n\trepositoryformatversion = {version}\n{plain}{extensions}{named}"))
}

fn extension(to: &mut String, word: &str, value: &str) -> Result<(), String> {
    match (word, value) {
        ("objectformat", "sha1" | "sha256") | ("refstorage", "files" | "reftable") => line(to, word, value),
        _ if HARMLESS.contains(&word) => {}
        _ => return Err(format!("extensions.{} = {}", shown(word), shown(value))),
    }
    Ok(())
}

/// One setting. A value that does not fit on a line is none of those that are known.
fn line(to: &mut String, word: &str, value: &str) {
    if !value.contains(char::is_control) {
        // Writing to a string cannot fail.
        let _ = writeln!(to, "\t{word} = {}", quoted(value));
    }
}

fn section_line(to: &mut String, section: &str, name: &str, word: &str, value: &str) {
    if !name.contains(char::is_control) && !value.contains(char::is_control) {
        let _ = writeln!(to, "[{section} {}]\n\t{word} = {}", quoted(name), quoted(value));
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn shown(text: &str) -> String {
    text.chars().take(60).flat_map(char::escape_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entries: &[&str], expect: &str) {
        let known = known(entries.join("\0").as_bytes()).expect("it is known");
        let rest = known.strip_prefix("[core]\n\tbare = false\n\trepositoryformatversion = ").expect("the head");
        assert_eq!(rest, expect);
    }

    #[test]
    fn how_files_are_compared_is_taken_over() {
        check(
            &["core.filemode\nfalse", "core.autocrlf\ninput", "core.ignorecase"],
            "0\n\tfilemode = \"false\"\n\tautocrlf = \"input\"\n\tignorecase = \"true\"\n",
        );
    }

    #[test]
    fn what_names_a_program_a_file_or_a_folder_is_left_out() {
        let hostile = [
            "core.fsmonitor\n/bin/evil",
            "core.worktree\n/",
            "core.pager\nevil",
            "core.hookspath\nx",
            "core.sshcommand\nevil",
            "core.attributesfile\n/etc/x",
            "core.excludesfile\n/etc/x",
            "core.alternaterefscommand\nevil",
            "core.bare\ntrue",
            "diff.external\nevil",
            "diff.x.textconv\nevil",
            "diff.x.command\nevil",
            "filter.x.clean\nevil",
            "filter.x.process\nevil",
            "gpg.program\nevil",
            "log.showsignature\ntrue",
            "alias.status\n!evil",
            "include.path\n/etc/x",
            "includeif.gitdir:/.path\n/etc/x",
            "blame.ignorerevsfile\n/etc/x",
            "mailmap.file\n/etc/x",
            "diff.orderfile\n/etc/x",
            "remote.o.promisor\ntrue",
            "remote.o.url\next::evil",
            "remote.o.uploadpack\nevil",
            "submodule.x.update\n!evil",
            "credential.helper\n!evil",
            "pager.log\nevil",
            "trailer.x.command\nevil",
        ];
        check(&hostile, "0\n");
    }

    #[test]
    fn a_value_cannot_leave_its_line() {
        check(&["core.eol\nlf\n[core]\n\tfsmonitor = evil"], "0\n");
        check(&["branch.a\"]\n[core].merge\nx"], "0\n");
        check(
            &["branch.a\"b\\c.merge\nrefs/heads/x\"y"],
            "0\n[branch \"a\\\"b\\\\c\"]\n\tmerge = \"refs/heads/x\\\"y\"\n",
        );
    }

    #[test]
    fn a_demand_that_is_not_known_is_refused() {
        check(
            &["core.repositoryformatversion\n1", "extensions.objectformat\nsha256"],
            "1\n[extensions]\n\tobjectformat = \"sha256\"\n",
        );
        check(&["core.repositoryformatversion\n1", "extensions.worktreeconfig\ntrue"], "1\n");
        for demand in ["extensions.refstorage\nreftable:///etc", "extensions.new\n1", "core.repositoryformatversion\n2"]
        {
            assert!(known(demand.as_bytes()).is_err(), "{demand}");
        }
    }
}
