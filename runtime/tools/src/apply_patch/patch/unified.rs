//! Unified diffs, as `diff -u` and `git diff` write them and as models do.
//!
//! The counts of a hunk's header say where it ends, so that a removed line that reads like a header is a removed line.
//! Counts that are wrong are forgiven where the lines themselves leave no doubt.

use super::{Action, FilePatch, Hunk, Kind, Line, NoPatch, Place, numbered, wrong};

/// Reads a unified diff.
pub(super) fn parse<'a>(patch: &'a str, only: Option<&str>) -> Result<Vec<FilePatch<'a>>, NoPatch> {
    let lines: Vec<&str> = numbered(patch).map(|(_, line)| line).collect();
    let mut reader = Reader { lines, at: 0 };
    let mut files = Vec::new();
    let mut head = Head::default();
    while let Some(line) = reader.peek(0) {
        if line.starts_with("diff --git ") {
            head.finish(&mut files)?;
            head = Head { line: reader.at + 1, git: true, ..Head::default() };
            head.named_by_git(line.trim_end_matches('\r'));
            reader.at += 1;
        } else if reader.at_header() {
            if head.seen_paths || !head.hunks.is_empty() {
                head.finish(&mut files)?;
                head = Head { line: reader.at + 1, ..Head::default() };
            }
            if head.line == 0 {
                head.line = reader.at + 1;
            }
            head.paths(line, reader.peek(1).unwrap_or_default(), reader.at + 1)?;
            reader.at += 2;
        } else if line.starts_with("@@") {
            if !head.is_named() {
                let Some(path) = only else {
                    return wrong(
                        reader.at + 1,
                        "no file is named before this hunk: put --- a/PATH and +++ b/PATH before it, or pass path",
                    );
                };
                head.old = Some(path.to_owned());
                head.new = Some(path.to_owned());
                head.seen_paths = true;
                head.line = reader.at + 1;
            }
            head.hunks.push(reader.hunk()?);
        } else {
            head.extended(line.trim_end_matches('\r'), reader.at + 1)?;
            reader.at += 1;
        }
    }
    head.finish(&mut files)?;
    Ok(files)
}

/// What is known of a file before its hunks.
#[derive(Default)]
struct Head<'a> {
    /// `None` where there is no file, once paths were seen.
    old: Option<String>,
    new: Option<String>,
    seen_paths: bool,
    git: bool,
    renamed: bool,
    made: bool,
    removed: bool,
    executable: Option<bool>,
    hunks: Vec<Hunk<'a>>,
    line: usize,
}

impl<'a> Head<'a> {
    fn is_named(&self) -> bool {
        self.old.is_some() || self.new.is_some()
    }

    /// The two names of `diff --git a/X b/X`, where they are the same; others are told by `rename from` and `rename to`.
    fn named_by_git(&mut self, line: &str) {
        let rest = line.trim_start_matches("diff --git ");
        let half = rest.len() / 2;
        if rest.as_bytes().get(half) != Some(&b' ') {
            return;
        }
        let name = |text: &str, letter| unquoted(text).and_then(|text| text.strip_prefix(letter).map(str::to_owned));
        if let (Some(a), Some(b)) = (name(&rest[..half], "a/"), name(&rest[half + 1..], "b/"))
            && a == b
        {
            self.old = Some(a.clone());
            self.new = Some(a);
        }
    }

    /// What stands beside hunks. What cannot be done is refused, never passed over.
    fn extended(&mut self, line: &str, number: usize) -> Result<(), NoPatch> {
        if (line.starts_with("Binary files ") && line.ends_with(" differ")) || line == "GIT binary patch" {
            return wrong(
                number,
                "a patch changes text: leave this section of a binary file out, and make or copy the file by command",
            );
        }
        if !self.git {
            return Ok(());
        }
        let name = |text: &str| match unquoted(text) {
            Some(name) => Ok(name),
            None => wrong(number, "this name is quoted in a way that cannot be read"),
        };
        if let Some(path) = line.strip_prefix("rename from ") {
            (self.old, self.renamed) = (Some(name(path)?), true);
        } else if let Some(path) = line.strip_prefix("rename to ") {
            (self.new, self.renamed) = (Some(name(path)?), true);
        } else if let Some(mode) = line.strip_prefix("new file mode ") {
            self.made = true;
            // What cannot be run is what a new file is anyway.
            self.executable = executable(mode, number)?.filter(|executable| *executable);
        } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
            self.removed = true;
            executable(mode, number)?;
        } else if let Some(mode) = line.strip_prefix("old mode ") {
            executable(mode, number)?;
        } else if let Some(mode) = line.strip_prefix("new mode ") {
            self.executable = executable(mode, number)?;
        } else if let Some((_, mode)) = line.strip_prefix("index ").and_then(|rest| rest.split_once(' ')) {
            executable(mode, number)?;
        } else if line.starts_with("copy from ") || line.starts_with("copy to ") {
            return wrong(number, "a patch does not copy: leave this section out, and copy the file by command");
        }
        Ok(())
    }

    /// The two lines of paths.
    fn paths(&mut self, old: &str, new: &str, number: usize) -> Result<(), NoPatch> {
        let path = |line: &str| {
            // A tab begins a time stamp.
            let path = line[4..].split('\t').next().unwrap_or_default().trim_end();
            match unquoted(path) {
                Some(path) => Ok(path),
                None => wrong(number, "this name is quoted in a way that cannot be read"),
            }
        };
        let (old, new) = (path(old)?, path(new)?);
        let none = |path: &str| path == "/dev/null";
        // The letters before the paths go only where both have theirs.
        let both = (none(&old) || old.starts_with("a/")) && (none(&new) || new.starts_with("b/"));
        let clean = |path: String| match none(&path) {
            true => None,
            false if both => Some(path[2..].to_owned()),
            false => Some(path),
        };
        self.seen_paths = true;
        (self.old, self.new) = (clean(old), clean(new));
        Ok(())
    }

    fn finish(self: &mut Head<'a>, files: &mut Vec<FilePatch<'a>>) -> Result<(), NoPatch> {
        let head = std::mem::take(self);
        if !head.git && !head.is_named() {
            return Ok(());
        }
        let made = head.made || (head.seen_paths && head.old.is_none());
        let removed = head.removed || (head.seen_paths && head.new.is_none());
        let action = match (head.old, head.new) {
            (_, Some(path)) if made && !removed => Action::Create { path },
            (Some(path), _) if removed && !made => Action::Delete { path, blind: false },
            (Some(old), Some(new)) if old == new => Action::Update { path: old, to: None },
            (Some(old), Some(new)) if head.renamed || !head.git => Action::Update { path: old, to: Some(new) },
            _ => {
                return wrong(
                    head.line,
                    "it is not clear which file this section is about: name it in --- and +++ lines",
                );
            }
        };
        let file = FilePatch { action, hunks: head.hunks, executable: head.executable, line: head.line };
        if file.changes_something() {
            files.push(file);
        }
        Ok(())
    }
}

/// Whether a file of this mode can be run; other modes are not those of files.
fn executable(mode: &str, number: usize) -> Result<Option<bool>, NoPatch> {
    match mode {
        "100644" => Ok(Some(false)),
        "100755" => Ok(Some(true)),
        _ => wrong(
            number,
            format!(
                "a patch changes plain files, of mode 100644 or 100755, and {mode} is none (120000 is a link): leave this \
                 section out, and make it by command"
            ),
        ),
    }
}

/// A name as git writes it: within quotes, where it holds what would not be read well. `None` where that cannot be read.
fn unquoted(text: &str) -> Option<String> {
    let Some(quoted) = text.strip_prefix('"') else { return Some(text.to_owned()) };
    let mut bytes = quoted.strip_suffix('"')?.bytes().peekable();
    let mut name = Vec::new();
    while let Some(byte) = bytes.next() {
        if byte == b'"' {
            return None;
        }
        if byte != b'\\' {
            name.push(byte);
            continue;
        }
        name.push(match bytes.next()? {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            same @ (b'"' | b'\\') => same,
            first @ b'0'..=b'3' => {
                let mut value = first - b'0';
                for _ in 0..2 {
                    value = value * 8 + bytes.next().filter(|digit| (b'0'..=b'7').contains(digit))? - b'0';
                }
                value
            }
            _ => return None,
        });
    }
    String::from_utf8(name).ok()
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    /// The index of the next line.
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self, ahead: usize) -> Option<&'a str> {
        self.lines.get(self.at + ahead).copied()
    }

    /// Whether the paths of a file stand here.
    fn at_header(&self) -> bool {
        let starts = |ahead, with| self.peek(ahead).is_some_and(|line| line.starts_with(with));
        starts(0, "--- ") && starts(1, "+++ ")
    }

    fn hunk(&mut self) -> Result<Hunk<'a>, NoPatch> {
        let line = self.at + 1;
        let header = self.peek(0).unwrap_or_default();
        let Some((start, mut old, mut new)) = ranges(header) else {
            return wrong(line, "a hunk begins with @@ -LINE,COUNT +LINE,COUNT @@; this header is not one");
        };
        self.at += 1;
        let mut lines: Vec<Line<'a>> = Vec::new();
        while let Some(text) = self.peek(0) {
            let body = old > 0 || new > 0;
            let kind = match text.as_bytes().first() {
                Some(b' ') => Kind::Keep,
                Some(b'-') if self.is_removed(old, new) => Kind::Remove,
                Some(b'+') => Kind::Add,
                Some(b'\\') => {
                    if let Some(last) = lines.last_mut() {
                        last.unfinished = true;
                    }
                    self.at += 1;
                    continue;
                }
                // An empty line that lost its blank, within what the counts announce.
                None | Some(b'\r') if body && old > 0 && new > 0 => Kind::Keep,
                _ => break,
            };
            old = old.saturating_sub(usize::from(kind != Kind::Add));
            new = new.saturating_sub(usize::from(kind != Kind::Remove));
            lines.push(Line { kind, text: text.get(1..).unwrap_or_default(), unfinished: false });
            self.at += 1;
        }
        if lines.is_empty() {
            return wrong(line, "this hunk has no lines: those that stay begin with a blank, others with - or +");
        }
        // The header names the first old line; one that has none names the line before.
        Ok(Hunk { place: Place::Line(start), lines, line })
    }

    /// Whether a line with `-` is a removed line, and not the first line of the next file's paths.
    fn is_removed(&self, old: usize, new: usize) -> bool {
        if !self.at_header() {
            return true;
        }
        // As a removed and an added line the two fit what is left exactly, or more is left than they need and no hunk
        // follows them.
        let hunk_follows = self.peek(2).is_some_and(|line| line.starts_with("@@"));
        (old >= 1 && new >= 1) && ((old == 1 && new == 1) || !hunk_follows)
    }
}

/// The first old line and both counts of `@@ -A,B +C,D @@`.
fn ranges(header: &str) -> Option<(usize, usize, usize)> {
    let mut parts = header.strip_prefix("@@ ")?.split(' ');
    let range = |part: &str| {
        let (start, count) = part.split_once(',').unwrap_or((part, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let (start, old): (usize, usize) = range(parts.next()?.strip_prefix('-')?)?;
    let (_, new): (usize, usize) = range(parts.next()?.strip_prefix('+')?)?;
    parts.next()?.starts_with("@@").then_some((start, old, new))
}
