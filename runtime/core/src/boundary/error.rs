//! Why the boundary refused, in words for the model: what happened, where, and what to do next.
//!
//! No message names a tool: which tools exist, and which of them may be named, is not known here.

use super::EntryKind;
use std::{fmt, io};
use thiserror::Error;

/// How much of a path a message repeats, in characters.
const SHOWN_CHARS: usize = 256;

/// Why the boundary refused.
#[derive(Debug, Error)]
pub enum BoundaryError {
    /// The path leads out of the workspace and of every trusted root.
    #[error(
        "path escapes workspace: {}{}. Only files under the workspace folder can be used: pass a path relative to it, \
         such as src/main.rs. If a file outside is really needed, ask the user to add its folder as a trusted root.",
        Shown(path), Via(via.as_deref())
    )]
    Escape {
        /// The path as it was written.
        path: String,
        /// The symbolic link that led out, as a path from the root it lies under.
        via: Option<String>,
    },
    /// Nothing has this name.
    #[error("not found: {}{}", Shown(path), Missing(missing, path))]
    NotFound {
        /// The path as it was written.
        path: String,
        /// The first part of it that does not exist, links resolved.
        missing: String,
    },
    /// The path names something else than a regular file.
    #[error(
        "not a file: {} is {}. {}", Shown(path), kind.described(), match kind {
            EntryKind::Directory => "List the folder to see the files in it, and pass the path of one of them.",
            _ => "Only regular files can be read or written, since anything else may block for ever or act on being opened.",
        }
    )]
    NotAFile {
        /// The path as it was written.
        path: String,
        /// What it names instead.
        kind: EntryKind,
    },
    /// A folder is needed where something else is.
    #[error(
        "not a folder: {} is {}. Pass the path of a folder, or use the file by its own path, without a slash after it.",
        Shown(at), kind.described()
    )]
    NotADirectory {
        /// The path as it was written.
        path: String,
        /// The part of it that would have to be a folder.
        at: String,
        /// What it is instead.
        kind: EntryKind,
    },
    /// The path may be read and not written, because what lies there is run or believed later.
    #[error(
        "protected path: {} lies in a folder that decides what other programs run (such as .git) or what this runtime \
         allows. Nothing was written. Do this part of the work another way, or ask the user to make the change.",
        Shown(path)
    )]
    Protected {
        /// The path as it was written.
        path: String,
    },
    /// A deny rule of the session covers what the path leads to.
    #[error(
        "denied path: this session denies {} by the rule `{rule}`. Nothing was read or written. Go on without it, or tell the \
         user what you need and why.",
        Shown(path)
    )]
    DeniedByRule {
        /// The path as it was written.
        path: String,
        /// The rule.
        rule: String,
    },
    /// A gate of the session does not let the change be made.
    #[error("{reason}")]
    Refused {
        /// Why, and what to do.
        reason: String,
    },
    /// A file that was to be created exists.
    #[error("already exists: {}. Read it first, then edit it, or choose another name.", Shown(path))]
    Exists {
        /// The path as it was written.
        path: String,
    },
    /// The path runs through more symbolic links than any honest path does.
    #[error(
        "too many symbolic links: {} (the limit is {hops}; most likely the links form a loop). Use the path of the real \
         file, or remove the loop.",
        Shown(path)
    )]
    Loop {
        /// The path as it was written.
        path: String,
        /// The limit that was passed.
        hops: usize,
    },
    /// The text cannot be a path.
    #[error("invalid path: {} {reason}", Quoted(path))]
    Invalid {
        /// The path as it was written.
        path: String,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// Something else kept changing the path while it was being used.
    #[error(
        "the path kept changing while it was being opened: {}. Another process is renaming files there; wait for it to \
         finish, then try again.",
        Shown(path)
    )]
    Unstable {
        /// The path as it was written.
        path: String,
    },
    /// The operating system refused.
    #[error("permission denied: could not {doing} {}. {}", Shown(path), DENIED_ADVICE)]
    Denied {
        /// The path as it was written.
        path: String,
        /// What was being done.
        doing: &'static str,
    },
    /// A replaced file could not be given to the owner of the original.
    #[error(
        "cannot keep the owner of {}: it belongs to another user, and a replacement would belong to this one. The file \
         was not changed; ask the user to change its owner or to make the change.",
        Shown(path)
    )]
    Owner {
        /// The path as it was written.
        path: String,
    },
    /// Changes that were to be made together were made in part, and could not all be taken back.
    #[error(
        "{error} But {} of the changes before it could not be taken back: {}. Read these files before anything else, and \
         tell the user.",
        left.len(), left.join(", ")
    )]
    Torn {
        /// Why the change that failed did so.
        error: Box<BoundaryError>,
        /// The files that are not as they were, and where their old content is.
        left: Vec<String>,
    },
    /// The file system failed.
    #[error("could not {doing} {}: {source}. Nothing was changed; {}", Shown(path), io_advice(source))]
    Io {
        /// The path as it was written.
        path: String,
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

const DENIED_ADVICE: &str =
    "The permissions of the file or its folder forbid it; nothing was changed. Use another path, or ask the user.";

fn io_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space, then try again.",
        io::ErrorKind::ReadOnlyFilesystem => "this place is read-only: choose another one.",
        _ => "try again, and tell the user if it goes on.",
    }
}

impl BoundaryError {
    /// An operating-system error while `doing` something to `path`.
    pub(crate) fn from_io(path: &str, doing: &'static str, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied => BoundaryError::Denied { path, doing },
            io::ErrorKind::InvalidFilename => BoundaryError::Invalid {
                path,
                reason: "is longer than the file system allows; use a shorter name.".to_owned(),
            },
            _ => BoundaryError::Io { path, doing, source },
        }
    }

    /// A file was to be made under the name of a folder.
    pub(super) fn ends_like_a_folder(path: &str) -> Self {
        let reason = "ends like the path of a folder; a file needs a name after the last slash.".to_owned();
        BoundaryError::Invalid { path: path.to_owned(), reason }
    }

    /// Whether the boundary itself refused, rather than the file being absent or unfit.
    pub fn is_escape(&self) -> bool {
        matches!(self, BoundaryError::Escape { .. })
    }
}

/// A path for a message: one line, bounded, with invisible characters made visible.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut chars = self.0.chars();
        for c in chars.by_ref().take(SHOWN_CHARS) {
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { write!(f, "{c}")? }
        }
        if chars.next().is_some() { f.write_str("…") } else { Ok(()) }
    }
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", Shown(self.0))
    }
}

struct Via<'a>(Option<&'a str>);

impl fmt::Display for Via<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(link) => write!(f, " (the symbolic link {} leads out of it)", Shown(link)),
            None => Ok(()),
        }
    }
}

/// The part that is missing, where to look instead, and the one mistake that explains most missing paths.
struct Missing<'a>(&'a str, &'a str);

impl fmt::Display for Missing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (missing, path) = (self.0, self.1);
        let parent = match missing.rfind('/') {
            None => ".",
            Some(0) => "/",
            Some(slash) => &missing[..slash],
        };
        if missing != path.trim_end_matches('/') {
            write!(f, " ({} does not exist)", Shown(missing))?;
        }
        write!(f, ". List the folder {} to see the names that exist.", Shown(parent))?;
        if path.starts_with('~') || path.contains('$') {
            f.write_str(" `~` and variables are not expanded in a path.")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: BoundaryError, expect: &str) {
        assert_eq!(error.to_string(), expect);
    }

    fn not_found(path: &str, missing: &str) -> BoundaryError {
        BoundaryError::NotFound { path: path.into(), missing: missing.into() }
    }

    #[test]
    fn an_escape_names_the_way_out() {
        check(
            BoundaryError::Escape { path: "../x".into(), via: None },
            "path escapes workspace: ../x. Only files under the workspace folder can be used: pass a path relative to \
             it, such as src/main.rs. If a file outside is really needed, ask the user to add its folder as a trusted \
             root.",
        );
    }

    #[test]
    fn an_escape_through_a_link_names_the_link() {
        let text = BoundaryError::Escape { path: "a/b".into(), via: Some("a".into()) }.to_string();
        assert!(text.starts_with("path escapes workspace: a/b (the symbolic link a leads out of it). "), "{text}");
    }

    #[test]
    fn what_is_missing_is_named_with_the_folder_to_look_in() {
        check(
            not_found("src/a/b.rs", "src/a"),
            "not found: src/a/b.rs (src/a does not exist). List the folder src to see the names that exist.",
        );
        check(not_found("b.rs", "b.rs"), "not found: b.rs. List the folder . to see the names that exist.");
    }

    #[test]
    fn a_tilde_gets_its_hint() {
        let text = not_found("~/x", "~").to_string();
        assert!(text.ends_with("`~` and variables are not expanded in a path."), "{text}");
    }

    #[test]
    fn a_path_is_shown_on_one_line_and_bounded() {
        check(
            BoundaryError::Exists { path: "a\nb\u{1b}[0m".into() },
            "already exists: a\\nb\\u{1b}[0m. Read it first, then edit it, or choose another name.",
        );
        let text = BoundaryError::Exists { path: "ü".repeat(5000) }.to_string();
        assert!(text.chars().count() < 400, "{text}");
    }

    #[test]
    fn a_full_disk_is_told_what_to_do() {
        let error = BoundaryError::from_io("a", "write", io::ErrorKind::StorageFull.into());
        assert!(error.to_string().ends_with("Nothing was changed; free some space, then try again."), "{error}");
    }
}
