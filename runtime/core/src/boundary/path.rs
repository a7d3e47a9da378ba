//! From the text of a path to its parts. Purely about text: nothing here knows which parts exist.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::Path,
};

/// The longest text that is taken for a path, in bytes.
pub(super) const MAX_PATH_BYTES: usize = 4096;
/// The most names in a path, and the deepest folder that is reached.
pub(super) const MAX_COMPONENTS: usize = 255;
/// The longest single name, in bytes; every file system in use agrees.
const MAX_NAME_BYTES: usize = 255;

/// One part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// `.`, or what a trailing slash stands for: whatever is here must be a folder.
    Here,
    /// `..`
    Up,
    /// A name.
    Name(OsString),
}

/// A path taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathText {
    /// Whether it began with a slash.
    pub absolute: bool,
    /// Its parts in order.
    pub parts: Vec<Part>,
}

/// Takes a path apart, or says why it cannot be one, in words that follow the quoted path.
pub(super) fn parse(text: &[u8]) -> Result<PathText, String> {
    if text.is_empty() {
        return Err("is empty; pass a path relative to the workspace folder, which itself is `.`.".to_owned());
    }
    if text.contains(&0) {
        return Err("contains a NUL byte; no file name can, so remove it.".to_owned());
    }
    if text.len() > MAX_PATH_BYTES {
        return Err(format!("is {} bytes long; the limit is {MAX_PATH_BYTES}. Use a shorter path.", text.len()));
    }
    let mut parts = Vec::new();
    for piece in text.split(|byte| *byte == b'/') {
        match piece {
            b"" => {}
            b"." => parts.push(Part::Here),
            b".." => parts.push(Part::Up),
            name if name.len() > MAX_NAME_BYTES => {
                return Err(format!(
                    "has a name of {} bytes; the limit for one name is {MAX_NAME_BYTES}. Use a shorter name.",
                    name.len()
                ));
            }
            name => parts.push(Part::Name(OsStr::from_bytes(name).to_owned())),
        }
    }
    if text.ends_with(b"/") {
        parts.push(Part::Here);
    }
    if parts.len() > MAX_COMPONENTS {
        return Err(format!("has {} parts; the limit is {MAX_COMPONENTS}. Use a shorter path.", parts.len()));
    }
    Ok(PathText { absolute: text.starts_with(b"/"), parts })
}

/// Whether a relative path names what lies at `names` by these very names, without a link and without going up.
pub(super) fn is_plainly(text: &str, names: &[OsString]) -> bool {
    parse(text.as_bytes()).is_ok_and(|path| {
        let written = path.parts.into_iter().filter(|part| *part != Part::Here);
        !path.absolute && written.eq(names.iter().cloned().map(Part::Name))
    })
}

/// What is said of a path by which no folder is removed.
pub(super) const NOT_PLAIN: &str = "leads elsewhere; a folder is removed under its own name alone.";

/// Whether a shell would read a first name as another place: nothing expands it here, and a folder that is made under such
/// a name is never the one that was meant.
pub(super) fn is_shell_word(name: &OsStr) -> bool {
    matches!(name.as_bytes().first(), Some(b'~' | b'$'))
}

/// The names of an absolute path of a root. Such a path has been resolved by the system or was given by the host.
pub(super) fn names_of(path: &Path) -> Vec<OsString> {
    path.components()
        .filter_map(|part| match part {
            std::path::Component::Normal(name) => Some(name.to_owned()),
            _ => None,
        })
        .collect()
}

/// What is left of an absolute path under a root whose names are `root`; `None` if it does not lie there. Compares
/// whole names, so `/w/app-secrets` is not under `/w/app`.
pub(super) fn strip_root<'a>(parts: &'a [Part], root: &[OsString]) -> Option<&'a [Part]> {
    let mut rest = parts;
    let mut expected = root.iter();
    let mut next = expected.next();
    while let Some(name) = next {
        match rest.split_first()? {
            (Part::Here, after) => rest = after,
            (Part::Name(found), after) if found == name => {
                rest = after;
                next = expected.next();
            }
            _ => return None,
        }
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, absolute: bool, expect: &str) {
        let parsed = parse(text.as_bytes()).expect("a path");
        assert_eq!(parsed.absolute, absolute, "{text}");
        assert_eq!(shown(&parsed.parts), expect, "{text}");
    }

    fn shown(parts: &[Part]) -> String {
        let shown: Vec<String> = parts
            .iter()
            .map(|part| match part {
                Part::Here => "<here>".to_owned(),
                Part::Up => "<up>".to_owned(),
                Part::Name(name) => name.to_string_lossy().into_owned(),
            })
            .collect();
        shown.join(" ")
    }

    #[track_caller]
    fn check_refused(text: &str, expect: &str) {
        let reason = parse(text.as_bytes()).expect_err("a refusal");
        assert!(reason.contains(expect), "{reason}");
    }

    #[test]
    fn parts_keep_their_order_and_repeated_slashes_vanish() {
        check("a//b/./../c", false, "a b <here> <up> c");
        check("//a", true, "a");
    }

    #[test]
    fn names_that_only_look_special_are_names() {
        check("~/$HOME/..foo/bar../%2e%2e/a\\..\\b", false, "~ $HOME ..foo bar.. %2e%2e a\\..\\b");
    }

    #[test]
    fn a_trailing_slash_demands_a_folder() {
        check("a/", false, "a <here>");
        check("/", true, "<here>");
    }

    #[test]
    fn what_cannot_be_a_path_is_refused() {
        check_refused("", "is empty");
        check_refused("a\0b", "NUL");
        check_refused(&"a/".repeat(3000), "bytes long");
        check_refused(&"a/".repeat(300), "has 301 parts");
        check_refused(&"a".repeat(256), "256 bytes");
    }

    #[track_caller]
    fn check_strip(path: &str, root: &str, expect: Option<&str>) {
        let parsed = parse(path.as_bytes()).expect("a path");
        let rest = strip_root(&parsed.parts, &names_of(Path::new(root)));
        assert_eq!(rest.map(shown).as_deref(), expect, "{path} under {root}");
    }

    #[test]
    fn a_root_is_compared_name_by_name() {
        check_strip("/w/app/src", "/w/app", Some("src"));
        check_strip("/w/./app", "/w/app", Some(""));
        check_strip("/w/app-secrets/key", "/w/app", None);
        check_strip("/w", "/w/app", None);
        check_strip("/w/../etc", "/w", Some("<up> etc"));
        check_strip("/x/../w/a", "/w", None);
        check_strip("/etc", "/", Some("etc"));
    }
}
