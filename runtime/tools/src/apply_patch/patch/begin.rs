//! The form that begins with `*** Begin Patch`: files by name, hunks by what they hold.

use super::{Action, FilePatch, Hunk, Kind, Line, NoPatch, Place, numbered, wrong};

/// What such a patch begins with.
pub(super) const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// Reads a patch of this form.
pub(super) fn parse(patch: &str) -> Result<Vec<FilePatch<'_>>, NoPatch> {
    let mut files: Vec<FilePatch<'_>> = Vec::new();
    let mut last = 1;
    for (number, line) in numbered(patch) {
        last = number;
        let bare = line.trim_end();
        if bare == BEGIN || (bare.is_empty() && files.is_empty()) {
            continue;
        }
        if bare == END {
            return Ok(files);
        }
        let file = |action| FilePatch { action, hunks: Vec::new(), executable: None, line: number };
        if let Some(path) = bare.strip_prefix("*** Add File: ") {
            files.push(file(Action::Create { path: path.to_owned() }));
        } else if let Some(path) = bare.strip_prefix("*** Delete File: ") {
            files.push(file(Action::Delete { path: path.to_owned(), blind: true }));
        } else if let Some(path) = bare.strip_prefix("*** Update File: ") {
            files.push(file(Action::Update { path: path.to_owned(), to: None }));
        } else if let Some(current) = files.last_mut() {
            body(current, number, line)?;
        } else {
            return wrong(number, "expected *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH");
        }
    }
    wrong(last, format!("the patch does not end with {END}, so that a part of it may be missing: send it whole"))
}

/// Takes a line below the name of a file.
fn body<'a>(file: &mut FilePatch<'a>, number: usize, line: &'a str) -> Result<(), NoPatch> {
    let bare = line.trim_end();
    match &mut file.action {
        Action::Delete { .. } if bare.is_empty() => return Ok(()),
        Action::Delete { .. } => return wrong(number, "nothing stands below *** Delete File"),
        Action::Update { to, .. } if bare.starts_with("*** Move to: ") && file.hunks.is_empty() => {
            *to = Some(bare["*** Move to: ".len()..].to_owned());
            return Ok(());
        }
        Action::Create { .. } if !line.starts_with('+') => {
            return wrong(number, "every line of a new file begins with +");
        }
        _ => {}
    }
    if bare == "*** End of File" {
        match file.hunks.last_mut().map(|hunk| &mut hunk.place) {
            Some(Place::Text { at_end, .. }) => *at_end = true,
            _ => return wrong(number, "no hunk stands before *** End of File"),
        }
        return Ok(());
    }
    if let Some(rest) = bare.strip_prefix("@@") {
        let below = rest.trim_end_matches("@@").trim();
        match file.hunks.last_mut() {
            // Several of these in a row lead to one place, from the outside in.
            Some(Hunk { place: Place::Text { below: all, .. }, lines, .. })
                if lines.is_empty() && !below.is_empty() =>
            {
                all.push(below);
            }
            _ => file.hunks.push(hunk(number, (!below.is_empty()).then_some(below))),
        }
        return Ok(());
    }
    let kind = match line.as_bytes().first() {
        Some(b' ') | None => Kind::Keep,
        Some(b'-') => Kind::Remove,
        Some(b'+') => Kind::Add,
        Some(_) => return wrong(number, "a line of a hunk begins with a blank, - or +; a hunk begins with @@"),
    };
    if file.hunks.is_empty() {
        file.hunks.push(hunk(number, None));
    }
    if let Some(hunk) = file.hunks.last_mut() {
        hunk.lines.push(Line { kind, text: line.get(1..).unwrap_or_default(), unfinished: false });
    }
    Ok(())
}

fn hunk(line: usize, below: Option<&str>) -> Hunk<'_> {
    Hunk { place: Place::Text { below: below.into_iter().collect(), at_end: false }, lines: Vec::new(), line }
}
