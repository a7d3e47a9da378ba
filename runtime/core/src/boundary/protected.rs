//! Paths inside a root that tools may read and never write: what is written there is run or believed later, outside of
//! every gate.
//!
//! - `.git`, at any depth: hooks, filters and the configuration that names them are programs that the next `git` runs.
//! - `.slot`: the runtime's own configuration.
//!
//! The names are compared as the most careless file system would compare them, on every system: a workspace is copied,
//! mounted and checked out elsewhere. Judged is the resolved path, so no link leads around it.

use std::ffi::{OsStr, OsString};

/// Names that protect everything at and below them.
const NAMES: [&str; 2] = [".git", ".slot"];
/// The short name that some Windows file systems give to `.git`.
const SHORT_NAMES: [&str; 1] = ["git~1"];

/// Whether nothing may be written at the resolved path made of `names`.
pub(super) fn is_protected<'a>(names: impl IntoIterator<Item = &'a OsString>) -> bool {
    names.into_iter().any(|name| is_protected_name(name))
}

fn is_protected_name(name: &OsStr) -> bool {
    let folded: String =
        name.to_string_lossy().chars().filter(|c| !is_ignored(*c)).flat_map(char::to_lowercase).collect();
    // A stream of the folder, as in `.git::$INDEX_ALLOCATION`, is the folder.
    let folded = folded.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    NAMES.contains(&folded) || SHORT_NAMES.contains(&folded)
}

/// Characters that file systems of Apple leave out when they compare names.
fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expect: bool) {
        let names: Vec<OsString> = path.split('/').map(OsString::from).collect();
        assert_eq!(is_protected(&names), expect, "{path}");
    }

    #[test]
    fn what_git_would_run_is_protected_at_any_depth() {
        for path in [".git", ".git/hooks/pre-commit", ".git/config", "vendor/lib/.git/config", ".slot/config.toml"] {
            check(path, true);
        }
    }

    #[test]
    fn other_spellings_of_a_protected_name_are_protected() {
        for path in [
            ".GIT/config",
            ".Git./x",
            ".git ",
            ".git . ./x",
            "GIT~1/config",
            ".g\u{200c}it/x",
            ".git::$DATA",
            ".Slot/a",
        ] {
            check(path, true);
        }
    }

    #[test]
    fn names_that_only_begin_alike_are_not() {
        for path in
            [".gitignore", ".gitattributes", ".github/workflows/ci.yml", "git/x", "a.git", ".git2", "slot/x", ".gi t"]
        {
            check(path, false);
        }
    }
}
