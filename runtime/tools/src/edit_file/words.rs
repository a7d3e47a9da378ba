//! What the model reads after an edit, and when there was none. Every refusal ends with the next call.

use super::{
    Place,
    diff::unified,
    matching::{Difference, MOST_PLACES, Miss, Near, Places, Plan, Tolerated, line_of, nearest, without_numbers},
};
use serde_json::json;
use std::fmt::Write as _;

/// How much of a line a message repeats, in characters.
const SHOWN_CHARS: usize = 200;

/// The result of an edit that was made.
pub(super) fn done(path: &str, place: &Place, file: &[u8], plan: &Plan<'_>) -> String {
    let (mut text, hidden) = unified(file, plan);
    if hidden > 0 {
        let _ = writeln!(text, "[… {hidden} more places not shown]");
    }
    text.push_str(&headline(path, place, file, plan));
    for note in notes(file, plan) {
        let _ = write!(text, "\n{note}");
    }
    text
}

/// The result of an edit whose new text stands there already.
pub(super) fn unchanged(path: &str, place: &Place, file: &[u8], plan: &Plan<'_>) -> String {
    let new = fields(place).new;
    let line = plan.spans.first().map_or(1, |span| line_of(file, span.range.start));
    format!(
        "{path} was not changed: line {line} reads as {new} says already. Go on with the task, or read the file again if \
         you expected another text there."
    )
}

fn headline(path: &str, place: &Place, file: &[u8], plan: &Plan<'_>) -> String {
    let (first, last) = match (plan.spans.first(), plan.spans.last()) {
        (Some(first), Some(last)) => {
            (line_of(file, first.range.start), line_of(file, last.range.end.saturating_sub(1).max(last.range.start)))
        }
        _ => (1, 1),
    };
    let at = if first == last { format!("line {first}") } else { format!("lines {first}-{last}") };
    let way = match plan.tolerated {
        Tolerated::Nothing => "",
        Tolerated::Indentation => " (fuzzy indentation match)",
        Tolerated::Punctuation => " (fuzzy punctuation match)",
        Tolerated::LineNumbers { .. } => " (fuzzy line-number match)",
    };
    match place {
        Place::Anchors(..) => format!("Replaced {at} of {path} (start/end anchor match)."),
        Place::Hole(..) if plan.spans.iter().all(|span| span.range.is_empty()) => {
            format!("Inserted between prefix and suffix at {at} of {path}; nothing was there.")
        }
        Place::Hole(..) => format!("Replaced what was between prefix and suffix, {at} of {path}."),
        Place::Search(_, super::Choice::Nth(nth)) if plan.found > 1 => {
            format!("Replaced occurrence {nth} of {} in {path}, {at}.", plan.found)
        }
        Place::Search(..) if plan.found > 1 => {
            format!("Replaced {} occurrences in {path}, {at}.", plan.found)
        }
        Place::Search(..) => format!("Replaced 1 occurrence in {path}, {at}{way}."),
    }
}

/// What the model would not expect, one line each.
fn notes(file: &[u8], plan: &Plan<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    match plan.tolerated {
        Tolerated::Nothing => {}
        Tolerated::Indentation => notes.push(
            "[TOLERATED] The indentation of search is not that of the file; replace was written with the indentation you \
             sent. Check it in the diff."
                .to_owned(),
        ),
        Tolerated::Punctuation => notes.push(
            "[TOLERATED] The quotes, dashes or blanks of search are not the characters of the file, which has typographic \
             ones where you sent plain ones, or the other way round; replace was written with the characters you sent."
                .to_owned(),
        ),
        Tolerated::LineNumbers { in_replacement } => {
            let replace = if in_replacement { "search and from replace" } else { "search; replace was written as sent" };
            notes.push(format!(
                "[TOLERATED] Line numbers, which are not part of the file, were taken from {replace}. Leave them out next \
                 time."
            ));
        }
    }
    if plan.spans.iter().any(|span| span.crlf) {
        notes.push("[LINE ENDINGS] These lines end in CRLF; the newlines of replace were written as CRLF.".to_owned());
    }
    if !plan.replacement.is_ascii() && std::str::from_utf8(file).is_err() {
        notes.push(
            "[NOT UTF-8] The file has bytes that are not UTF-8, and replace was written in UTF-8. Check that the file is \
             still read as you mean it."
                .to_owned(),
        );
    }
    notes
}

/// Why nothing was changed, and what to call next.
pub(super) fn miss(path: &str, place: &Place, file: &[u8], miss: &Miss) -> String {
    match miss {
        Miss::Absent => absent(path, place, file),
        Miss::Several(places) => {
            let Places { count, .. } = places;
            format!(
                "Search string matched {count} locations in {path} ({}); pass replace_all=true to replace every \
                 occurrence, or occurrence=N (1..={count}) to replace a specific one, or quote more lines in search. \
                 Nothing was changed.",
                lines(places)
            )
        }
        Miss::Overlapping(places) => format!(
            "Search string matched 2 locations in {path} ({}) that overlap; quote more lines in search, so that it fits \
             only one of them, or pass occurrence=1 to replace the first. Nothing was changed.",
            lines(places)
        ),
        Miss::SeveralTolerated(tolerated, places) => {
            let aside = match tolerated {
                Tolerated::Punctuation => "typographic punctuation",
                _ => "indentation",
            };
            let next = read_call(path, places.lines.first().copied().unwrap_or(1));
            format!(
                "Search string not found in {path} as sent; with {aside} set aside it matched {} locations ({}), and which \
                 one is meant is not guessed. Nothing was changed. {next} and copy the text verbatim into search.",
                places.count,
                lines(places)
            )
        }
        Miss::Beyond { asked, places } => {
            let Places { count, .. } = places;
            let locations = if *count == 1 { "location" } else { "locations" };
            format!(
                "occurrence {asked} is out of range: search string matched {count} {locations} in {path} ({}). Nothing was \
                 changed; pass an occurrence of 1..={count}.",
                lines(places)
            )
        }
        Miss::TooMany(count) => format!(
            "Search string matched {count} locations in {path}, and one call replaces up to {MOST_PLACES}. Nothing was \
             changed; quote more text in search."
        ),
        Miss::NoStart => {
            let Fields { start, .. } = fields(place);
            let near = place.start().and_then(|text| nearest(file, text));
            let line = near.as_ref().map_or(1, |near| near.line);
            let told = near.as_ref().map(|near| resemblance(near, start)).unwrap_or_default();
            format!(
                "{start} not found in {path}; it is matched exactly.{told} Nothing was changed. {} and copy its first lines \
                 verbatim into {start}.",
                read_call(path, line)
            )
        }
        Miss::Starts(places) => {
            let Fields { start, .. } = fields(place);
            format!(
                "{start} matched {} locations in {path} ({}). Nothing was changed; add more lines to {start} to make it \
                 unique.",
                places.count,
                lines(places)
            )
        }
        Miss::NoEnd(line) => {
            let Fields { start, end, .. } = fields(place);
            format!(
                "{end} not found after {start} in {path}; {start} is on line {line}. Nothing was changed. {} and copy the \
                 last lines of the range verbatim into {end}.",
                read_call(path, *line)
            )
        }
    }
}

/// What the parts of an edit are called in the call.
struct Fields {
    start: &'static str,
    end: &'static str,
    new: &'static str,
}

fn fields(place: &Place) -> Fields {
    match place {
        Place::Hole(..) => Fields { start: "prefix", end: "suffix", new: "middle" },
        Place::Search(..) | Place::Anchors(..) => Fields { start: "search_start", end: "search_end", new: "replace" },
    }
}

fn absent(path: &str, place: &Place, file: &[u8]) -> String {
    let Place::Search(search, _) = place else { return format!("{} not found in {path}", fields(place).start) };
    if file.is_empty() {
        return format!("Search string not found in {path}: the file is empty. Write it with write_file.");
    }
    let plain = without_numbers(search);
    let numbers = if plain.is_some() {
        " The lines of search begin with line numbers, which are not part of the file and not those of these lines; leave them out."
    } else {
        ""
    };
    let near = nearest(file, plain.as_deref().unwrap_or(search));
    let (line, told) = near.as_ref().map_or((1, String::new()), |near| (near.line, resemblance(near, "search")));
    let lossy = if search.contains('\u{fffd}') {
        " The sign \u{fffd} in search stands for bytes that are not UTF-8; quote text without it."
    } else {
        ""
    };
    format!(
        "Search string not found in {path}.{told}{numbers}{lossy} Nothing was changed. {} and copy the present text verbatim into \
         search.",
        read_call(path, line)
    )
}

fn resemblance(near: &Near<'_>, field: &str) -> String {
    let shown = |line: &[u8]| {
        let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line)).into_owned();
        let short: String = text.chars().take(SHOWN_CHARS).collect();
        if short.len() < text.len() { format!("{short:?}…") } else { format!("{short:?}") }
    };
    let at = format!(" The closest block begins on line {}", near.line);
    match &near.difference {
        None => format!("{at}, and has the same lines."),
        Some(Difference { line, sought, found: Some(found) }) => {
            format!("{at}; line {line} differs: {field} has {}, the file has {}.", shown(sought), shown(found))
        }
        Some(Difference { sought, found: None, .. }) => {
            format!("{at}; {field} goes on with {}, where the file ends.", shown(sought))
        }
    }
}

/// The call that shows the file around `line`.
fn read_call(path: &str, line: u64) -> String {
    let start = line.saturating_sub(5).max(1);
    if start == 1 {
        format!("Call read_file with path={}", json!(path))
    } else {
        format!("Call read_file with path={} start_line={start}", json!(path))
    }
}

fn lines(places: &Places) -> String {
    let told: Vec<String> = places.lines.iter().map(u64::to_string).collect();
    let more = places.count - places.lines.len() as u64;
    let word = if places.count == 1 { "line" } else { "lines" };
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{word} {}{more}", told.join(", "))
}
