//! The bodies of the fuzz targets, so that a stable test replays the committed corpus through the very same code.
//!
//! It owns the properties and naive ways to compute the same. Each function panics where its property does not hold, and
//! is built for tests and for the `fuzzing` feature only.

#![allow(clippy::expect_used, reason = "a property that does not hold is a panic here")]

mod deny;
mod numbers;
pub(crate) mod pages;
mod patch;

pub use deny::deny_rules;
pub use numbers::line_number_strip;
pub use pages::page_read;
pub use patch::patch_apply;

use crate::edit_file::matching::{Choice, Plan, Target, find, splice};

/// Where the parts of an input end, since a file may hold any byte that is text but this one.
const SEPARATOR: u8 = 0;

/// An edit changes its places and nothing else, and cuts no character. The input is a file, a search and a replacement,
/// with NUL bytes between them; its first byte chooses among the places.
pub fn edit_match(input: &[u8]) {
    let Some((&choice, rest)) = input.split_first() else { return };
    let mut parts = rest.splitn(3, |byte| *byte == SEPARATOR).map(std::str::from_utf8);
    let (Some(Ok(file)), Some(Ok(search)), Some(Ok(new))) = (parts.next(), parts.next(), parts.next()) else { return };
    let choice = match choice % 3 {
        0 => Choice::Only,
        1 => Choice::Nth(u64::from(choice) / 3 + 1),
        _ => Choice::All,
    };
    check_edit(file, search, new, choice);
    if let Some((start, end)) = search.split_once('|')
        && let Ok(plan) = find(file.as_bytes(), Target::Anchors(start, end), new)
    {
        check_plan(file, new, &plan);
        let range = &file[plan.spans[0].range.clone()];
        let lines = |text: &str| text.replace("\r\n", "\n");
        // Half of a line's end is a text like any other, and is there as sent.
        assert!(range.starts_with(start) || lines(range).starts_with(&lines(start)));
        assert!(range.ends_with(end) || lines(range).ends_with(&lines(end)));
    }
}

/// The property of [`edit_match`] for a search.
pub fn check_edit(file: &str, search: &str, new: &str, choice: Choice) {
    let found = find(file.as_bytes(), Target::Search(search, choice), new);
    // What is there as sent and has no line ends is counted in the simplest way there is.
    if !search.is_empty() && !search.contains(['\n', '\r']) {
        let count = file.matches(search).count();
        match choice {
            // Places that overlap are places too.
            Choice::Only if count > 0 => {
                let places = file.char_indices().filter(|(at, _)| file[*at..].starts_with(search)).count();
                assert_eq!(found.is_ok(), places == 1);
            }
            Choice::All if count > 0 => {
                let plan = found.as_ref().expect("it is there");
                assert_eq!(plan.spans.len(), count);
                let (crlf, plain) = (new.replace('\n', "\r\n"), plan.spans.iter().all(|span| !span.crlf));
                let new = if plain { new } else { crlf.as_str() };
                if plain || plan.spans.iter().all(|span| span.crlf) {
                    assert_eq!(splice(file.as_bytes(), plan), file.replace(search, new).into_bytes());
                }
            }
            _ => {}
        }
    }
    if let Ok(plan) = found {
        check_plan(file, new, &plan);
    }
}

fn check_plan(file: &str, new: &str, plan: &Plan<'_>) {
    let spliced = splice(file.as_bytes(), plan);
    assert_eq!(spliced.len(), plan.len_after(file.len()));
    let spliced = std::str::from_utf8(&spliced).expect("no character was cut");
    assert!(!plan.spans.is_empty() && plan.spans.len() as u64 <= plan.found);
    let (mut done, mut rest) = (0, spliced);
    for span in &plan.spans {
        assert!(done <= span.range.start && span.range.start < span.range.end, "in order, and of something");
        let kept = &file[done..span.range.start];
        rest = rest.strip_prefix(kept).expect("what is before a place stays");
        let written =
            if span.crlf { plan.replacement.replace('\n', "\r\n") } else { plan.replacement.clone().into_owned() };
        assert!(!span.crlf || !new.contains('\r'), "text with its own line ends is written as it is");
        rest = rest.strip_prefix(written.as_str()).expect("the replacement lands as it is");
        done = span.range.end;
        // A place never ends within a line end, unless the search did.
        assert!(file.is_char_boundary(done));
    }
    assert_eq!(rest, &file[done..], "what is behind the last place stays");
}

/// Runs every committed input of a target through its body; answers how many there were.
#[cfg(test)]
fn replay(target: &str, body: impl Fn(&[u8])) -> usize {
    let mut count = 0;
    for folder in ["corpus", "regressions"] {
        let folder = format!("{}/../../fuzz/{folder}/{target}", env!("CARGO_MANIFEST_DIR"));
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(bytes) = std::fs::read(entry.path()) else { continue };
            body(&bytes);
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_inputs_hold() {
        assert!(replay("edit_match", edit_match) >= 8);
        assert!(replay("patch_apply", patch_apply) >= 8);
        assert!(replay("line_number_strip", line_number_strip) >= 6);
        assert!(replay("page_read", page_read) >= 6);
    }
}
