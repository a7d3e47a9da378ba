//! Globs over paths, as a model writes them.

use crate::input::fault;
use globset::{GlobBuilder, GlobMatcher};
use slot_runtime::contract::ValidationFault;

/// The longest glob, in bytes.
const GLOB_BYTES: usize = 1000;

/// A glob over the paths below the place where a search begins. One without a slash is over names in any folder; `*` and
/// `?` stop at a slash, and `**` does not.
///
/// # Errors
///
/// What is wrong with it, and what would be right.
pub fn glob(field: &str, text: &str) -> Result<GlobMatcher, ValidationFault> {
    let wrong = |what: &str| fault(field, format!("{field} {what}"));
    let plain = text.trim_start_matches("./");
    if plain.is_empty() {
        return Err(wrong("is empty; pass a glob such as **/*.rs, or * for every file"));
    }
    if plain.len() > GLOB_BYTES {
        return Err(wrong(&format!("is {} bytes long; the limit is {GLOB_BYTES}. Pass a shorter glob", plain.len())));
    }
    if plain.starts_with('/') {
        return Err(wrong("begins with a slash; a glob is over paths below the field path. Leave the slash out"));
    }
    if plain.split('/').any(|part| part == "..") {
        return Err(wrong(
            "holds `..`; a glob never leads up. Name the folder in the field path, and match what lies below it",
        ));
    }
    let anywhere = if plain.contains('/') { plain.to_owned() } else { format!("**/{plain}") };
    let built = GlobBuilder::new(&anywhere).literal_separator(true).backslash_escape(true).build();
    built.map(|glob| glob.compile_matcher()).map_err(|error| {
        wrong(&format!(
            "{text:?} is no glob: {}. Put a backslash before each of [ ] {{ }} * ? that stands for itself",
            error.kind()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, matches: &[&str], others: &[&str]) {
        let glob = glob("pattern", text).expect("a glob");
        for path in matches {
            assert!(glob.is_match(path), "{text} matches {path}");
        }
        for path in others {
            assert!(!glob.is_match(path), "{text} does not match {path}");
        }
    }

    #[track_caller]
    fn check_refused(text: &str, expect: &str) {
        let fault = glob("pattern", text).map(drop).expect_err("no glob");
        assert!(fault.message.contains(expect), "{}", fault.message);
    }

    #[test]
    fn one_without_a_slash_is_over_names() {
        check("*.rs", &["a.rs", "src/b.rs", ".rs"], &["a.rs/b", "a.rss"]);
        check("a?.{rs,toml}", &["ab.rs", "x/ac.toml"], &["a.rs", "abc.rs"]);
        check("[!a]*", &["b", "x/c"], &["a", "x/ab"]);
    }

    #[test]
    fn one_with_a_slash_is_over_the_whole_path() {
        check("src/*.rs", &["src/a.rs"], &["a.rs", "src/b/a.rs", "x/src/a.rs"]);
        check("./src/**/*.rs", &["src/a.rs", "src/b/c/a.rs"], &["lib/a.rs"]);
        check("**/x/*", &["x/a", "a/x/b"], &["x/a/b"]);
    }

    #[test]
    fn what_leads_elsewhere_or_is_none_is_refused() {
        check_refused("", "is empty");
        check_refused("../*", "never leads up");
        check_refused("a/../../b", "never leads up");
        check_refused("/etc/*", "begins with a slash");
        check_refused("a[", "Put a backslash");
        check_refused("{a", "Put a backslash");
        check_refused(&"a".repeat(1001), "1001 bytes");
        check_refused(&"{a,".repeat(300), "Put a backslash");
    }
}
