//! The forgery stripper beside a reference that sees the whole text at once.
//!
//! The two share the table of markers and nothing else. The reference asks all its questions of the text let go so far,
//! from its start, at every character: it is quadratic, and plain.

use crate::forge::{Ends, Family, HELD, ROWS, SEAM, Stripped, Stripper, steps};
use std::collections::BTreeSet;

/// The properties hold for a text, a partition and a limit that the input chooses: its first byte tells the limit, the
/// second how many of the following bytes are chunk sizes.
pub fn forged_wrappers(input: &[u8]) {
    let [limit, count, rest @ ..] = input else { return };
    let limit = if *limit == 0 { HELD } else { usize::from(*limit) };
    let (sizes, text) = rest.split_at(usize::from(count % 8).min(rest.len()));
    let sizes: Vec<usize> = sizes.iter().map(|&size| usize::from(size)).collect();
    holds(&String::from_utf8_lossy(text), &sizes, limit);
}

/// The stripper agrees with the reference whole, by characters and in pieces of `sizes`; stripping what it let go
/// changes nothing; every byte is let go or counted; what it holds back is bounded, and so is its work for each byte.
pub fn holds(text: &str, sizes: &[usize], limit: usize) {
    let expected = reference(text, limit);
    for sizes in [&[usize::MAX], &[1], sizes] {
        let found = strip(text, sizes, limit);
        assert_eq!(found, expected, "of {text:?} in pieces of {sizes:?}, holding {limit}");
    }
    let (out, stripped) = expected;
    assert_eq!(strip(&out, sizes, limit), (out.clone(), Stripped::default()), "of {out:?}, which was {text:?}");
    let seams = (out.len() + stripped.bytes).checked_sub(text.len());
    assert!(
        seams.is_some_and(|bytes| bytes % SEAM.len_utf8() == 0 && bytes / SEAM.len_utf8() <= stripped.removed),
        "{seams:?} bytes of seams of {} removals in {text:?}",
        stripped.removed
    );
}

/// The text in pieces of `sizes` bytes, used in turn and rounded up to whole characters.
pub fn chunks<'t>(text: &'t str, sizes: &[usize]) -> Vec<&'t str> {
    let mut sizes = sizes.iter().copied().cycle();
    let mut chunks = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let size = sizes.next().unwrap_or(1).clamp(1, rest.len());
        let (chunk, tail) = rest.split_at(rest.ceil_char_boundary(size));
        chunks.push(chunk);
        rest = tail;
    }
    chunks
}

fn strip(text: &str, sizes: &[usize], limit: usize) -> (String, Stripped) {
    let (mut stripper, mut out) = (Stripper::with_limit(limit), String::new());
    let mut longest = 0;
    steps::take();
    for chunk in chunks(text, sizes) {
        stripper.push(chunk, &mut out);
        longest = longest.max(chunk.len());
        // A marker itself may be longer than a small limit: 256 bytes of a tag, or a name with blanks and another one.
        assert!(stripper.pending() <= 2 * (limit + 640) + longest, "{} bytes are held of {text:?}", stripper.pending());
    }
    let stripped = stripper.finish(&mut out);
    // Cut up, a marker is looked at again with every piece of it, which the length of a marker bounds and this does not.
    let steps = steps::take();
    assert!(longest < text.len() || steps <= steps::MOST_STEPS * (text.len() + 64), "{steps} steps for {text:?}");
    (out, stripped)
}

/// What is left of a whole text, and what was found in it.
fn reference(text: &str, limit: usize) -> (String, Stripped) {
    let (mut out, mut found) = (String::new(), Stripped::default());
    let (mut spared, mut counted) = (BTreeSet::new(), 0);
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let Some(marker) = may_begin(&out, next).then(|| longest(&text[at..])).flatten() else {
            out.push(next);
            at += next.len_utf8();
            continue;
        };
        let window = &text[at..text.floor_char_boundary(at.saturating_add(limit).min(text.len()))];
        let whole = window.len() == text.len() - at && window.len() < limit;
        let len = marker.len;
        let remove = match ROWS[marker.row].ends {
            _ if marker.alone => Some(len),
            Ends::Spares(ending) => {
                spared.insert(ending);
                None
            }
            Ends::Alone => (!spared.remove(ROWS[marker.row].open)).then_some(len),
            Ends::At(endings) | Ends::Within(endings) => match first_ending(window, len, endings) {
                Some(end) => Some(end),
                None => {
                    found.open |= whole;
                    Some(len)
                }
            },
            Ends::Json { bare } => match json_start(&text[at + len..], bare) {
                None => bare.then_some(len),
                Some(_) if at < counted => Some(len),
                Some(start) => match window.get(len + start..).and_then(json_end) {
                    Some(end) => Some(len + start + end),
                    None => {
                        found.open |= whole;
                        counted = at + window.len();
                        Some(len)
                    }
                },
            },
        };
        let Some(remove) = remove else {
            out.push(next);
            at += next.len_utf8();
            continue;
        };
        if could_go_on(&out) || out.ends_with(['`', '~']) {
            out.push(SEAM);
        }
        found.removed += 1;
        found.bytes += remove;
        found.families.insert(marker.family);
        at += remove;
    }
    (out, found)
}

/// A marker at the start of a text.
struct Marker {
    row: usize,
    family: Family,
    len: usize,
    alone: bool,
}

/// The marks that may come before a fence on its line.
fn after_line_marks(line: &str) -> &str {
    line.trim_start_matches(|c: char| " \t\r>-*+.)".contains(c) || c.is_ascii_digit())
}

/// Whether `next` may begin a marker behind `before`.
fn may_begin(before: &str, next: char) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let place = if next == '@' { after_line_marks(line).is_empty() } else { next == '<' || next == '[' };
    place && !is_code(before)
}

fn run(text: &str, mark: char) -> usize {
    text.chars().take_while(|&c| c == mark).count()
}

/// Whether what follows `before` is code.
fn is_code(before: &str) -> bool {
    let mut lines: Vec<&str> = before.split('\n').collect();
    let last = lines.pop().unwrap_or_default();
    let mut fence: Option<(char, usize)> = None;
    for line in lines {
        match fence {
            Some((mark, count)) => {
                let rest = line.trim_start_matches([' ', '\t', '\r', '>']);
                let closing = run(rest, mark);
                if closing >= count && rest[closing..].trim_matches([' ', '\t', '\r']).is_empty() {
                    fence = None;
                }
            }
            None => {
                let rest = after_line_marks(line);
                let (ticks, tildes) = (run(rest, '`'), run(rest, '~'));
                if ticks >= 3 && !rest[ticks..].contains('`') {
                    fence = Some(('`', ticks));
                } else if tildes >= 3 {
                    fence = Some(('~', tildes));
                }
            }
        }
    }
    if fence.is_some() || run(after_line_marks(last), '~') >= 3 {
        return true;
    }
    let mut span = 0;
    let mut rest = last;
    while let Some(at) = rest.find('`') {
        let ticks = run(&rest[at..], '`');
        span = match span {
            0 => ticks,
            open if open == ticks => 0,
            open => open,
        };
        rest = &rest[at + ticks..];
    }
    span > 0
}

fn longest(text: &str) -> Option<Marker> {
    let mut best: Option<Marker> = None;
    for (row, entry) in ROWS.iter().enumerate() {
        let endings: &[&str] = if let Ends::At(endings) = entry.ends { endings } else { &[] };
        let opens = std::iter::once((entry.open, false)).chain(endings.iter().map(|&ending| (ending, true)));
        for (pattern, ending) in opens {
            let Some((len, closed)) = spelled(pattern, text) else { continue };
            if best.as_ref().is_none_or(|best| len > best.len) {
                best = Some(Marker { row, family: entry.family, len, alone: ending || closed });
            }
        }
    }
    best
}

/// The bytes of a whole marker, and whether it is a tag that closes itself.
fn spelled(pattern: &str, text: &str) -> Option<(usize, bool)> {
    let Some(head) = pattern.strip_suffix("*>") else {
        return eat(pattern, text).map(|rest| (text.len() - rest.len(), false));
    };
    let rest = eat(head, text)?;
    let len = text.len() - rest.len();
    let next = rest.bytes().next()?;
    if head.ends_with(|c: char| c.is_ascii_alphanumeric()) && !b">/ \t\n\r\x0c".contains(&next) {
        return None;
    }
    match rest.bytes().take(256).position(|byte| b"><\n".contains(&byte)) {
        Some(end) if rest.as_bytes()[end] == b'>' => Some((len + end + 1, rest[..end].ends_with('/'))),
        _ => Some((len, false)),
    }
}

/// What a letter of a pattern may be, and how often.
fn letter(want: char, c: char) -> bool {
    match want {
        '|' => "|｜‖".contains(c),
        '_' => "_▁".contains(c),
        ' ' => c.is_ascii_whitespace(),
        '%' => c.is_ascii_alphanumeric() || "_.-".contains(c),
        _ if want.is_ascii_lowercase() => c.to_ascii_lowercase() == want,
        _ => c == want,
    }
}

fn most(want: char) -> usize {
    match want {
        '|' => 2,
        ' ' => 8,
        '%' => 64,
        _ => 1,
    }
}

/// What is left of `text` behind `pattern`, which may end it early where `text` runs out: then nothing is left and the
/// rest of the pattern is told.
fn walk<'p, 't>(pattern: &'p str, text: &'t str) -> Option<(&'p str, &'t str)> {
    let Some(want) = pattern.chars().next() else { return Some((pattern, text)) };
    if text.is_empty() {
        return Some((pattern, text));
    }
    let fitting = text.chars().take(most(want)).take_while(|&c| letter(want, c)).map(char::len_utf8).sum::<usize>();
    if fitting == 0 { None } else { walk(&pattern[want.len_utf8()..], &text[fitting..]) }
}

fn eat<'t>(pattern: &str, text: &'t str) -> Option<&'t str> {
    walk(pattern, text).filter(|(pattern, _)| pattern.is_empty()).map(|(_, text)| text)
}

fn first_ending(window: &str, from: usize, endings: &[&str]) -> Option<usize> {
    (from..window.len()).filter(|&at| window.is_char_boundary(at)).find_map(|at| {
        let rest = endings.iter().find_map(|ending| eat(ending, &window[at..]))?;
        Some(window.len() - rest.len())
    })
}

fn blanks(text: &str) -> &str {
    let end = text.bytes().take(64).take_while(u8::is_ascii_whitespace).count();
    &text[end..]
}

/// What comes before JSON, taken off.
fn before_json(text: &str, named: bool) -> &str {
    let mut rest = blanks(text);
    for token in ["[CALL_ID]", "[ARGS]"].into_iter().filter(|_| named) {
        rest = blanks(&rest[rest.bytes().take(64).take_while(|&byte| letter('%', byte.into())).count()..]);
        rest = rest.strip_prefix(token).unwrap_or(rest);
    }
    blanks(rest)
}

fn json_start(text: &str, named: bool) -> Option<usize> {
    let rest = before_json(text, named);
    let inside = rest.get(1..).filter(|_| rest.starts_with('{') || (named && rest.starts_with('[')))?;
    let next = if rest.starts_with('{') { ['"', '}'] } else { ['{', ']'] };
    blanks(inside).starts_with(next).then(|| text.len() - rest.len())
}

fn json_end(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(c) = text[at..].chars().next() {
        at += c.len_utf8();
        match c {
            '"' => {
                // To the closing quote, over escaped characters.
                loop {
                    let c = text[at..].chars().next()?;
                    at += c.len_utf8();
                    match c {
                        '"' => break,
                        '\\' => at += text[at..].chars().next()?.len_utf8(),
                        _ => {}
                    }
                }
            }
            '{' | '[' => depth += 1,
            '}' | ']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a marker may have begun in `out` that something behind it would complete.
fn could_go_on(out: &str) -> bool {
    let starts = out.char_indices().filter(|&(at, c)| may_begin(&out[..at], c));
    starts.map(|(at, _)| &out[at..]).any(|tail| {
        ROWS.iter().any(|row| {
            let endings: &[&str] = if let Ends::At(endings) = row.ends { endings } else { &[] };
            // Behind the head of a tag anything may follow; the star that says so is no sign of the text.
            let begun = |pattern: &str| {
                let head = pattern.strip_suffix("*>");
                walk(head.unwrap_or(pattern), tail)
                    .is_some_and(|(more, rest)| rest.is_empty() && (head.is_some() || !more.is_empty()))
            };
            let json = || match row.ends {
                Ends::Json { bare: false } => eat(row.open, tail).is_some_and(|rest| {
                    let rest = before_json(rest, false);
                    // Without a bracket there are no blanks but those before it, of which only so many are passed over.
                    rest.strip_prefix('{').map_or(rest, blanks).is_empty()
                }),
                _ => false,
            };
            begun(row.open) || endings.iter().any(|ending| begun(ending)) || json()
        })
    })
}
