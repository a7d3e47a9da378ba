//! How a text is dealt out over stream deltas: a fixed rule, so that the same turn is always the same frames.

/// Fragment sizes in bytes, taken in turn. Uneven, so that a fragment rarely ends where a token of JSON does.
const SIZES: [usize; 6] = [4, 7, 3, 9, 5, 12];

/// At most about this many fragments a text; a longer text gets proportionally larger fragments, so that a large
/// argument does not become a hundred thousand frames.
const MOST: usize = 256;

/// Cuts `text` into fragments of a few bytes. Joined they are `text`. No fragment ends inside a character or inside
/// an occurrence of one of the `whole` texts, so that an anchored cut can find its anchor in one piece.
pub fn fragments<'a>(text: &'a str, whole: &[&str]) -> Vec<&'a str> {
    let kept = occurrences(text, whole);
    let scale = (text.len() / (MOST * 6)).max(1);
    let (mut start, mut out) = (0, Vec::new());
    for size in SIZES.iter().cycle() {
        if start >= text.len() {
            break;
        }
        let mut end = (start + size * scale).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        // `kept` is sorted and disjoint, so one pass moves the end out of every occurrence.
        if let Some((_, after)) = kept.iter().find(|(from, to)| *from < end && end < *to) {
            end = *after;
        }
        out.push(&text[start..end]);
        start = end;
    }
    out
}

/// Where the `whole` texts lie, as sorted ranges that do not touch each other's insides.
fn occurrences(text: &str, whole: &[&str]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = whole
        .iter()
        .filter(|anchor| anchor.len() > 1)
        .flat_map(|anchor| text.match_indices(anchor).map(|(at, hit)| (at, at + hit.len())))
        .collect();
    found.sort_unstable();
    let mut merged: Vec<(usize, usize)> = Vec::with_capacity(found.len());
    for (from, to) in found {
        match merged.last_mut() {
            Some(last) if from < last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, whole: &[&str], expect: &[&str]) {
        assert_eq!(fragments(text, whole), expect);
    }

    #[test]
    fn an_empty_text_has_no_fragment() {
        check("", &[], &[]);
    }

    #[test]
    fn fragments_have_uneven_sizes() {
        check(r#"{"command":"ls -la"}"#, &[], &[r#"{"co"#, r#"mmand":"#, r#""ls"#, r#" -la"}"#]);
    }

    #[test]
    fn an_anchor_stays_in_one_piece() {
        check(r#"{"command":"ls -la"}"#, &["command", "and\""], &[r#"{"command""#, r#":"ls -l"#, r#"a"}"#]);
    }

    #[test]
    fn a_long_text_does_not_become_a_flood_of_frames() {
        let text = "x".repeat(1 << 20);
        assert!(fragments(&text, &[]).len() < 300);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn joined_fragments_are_the_text(text in "[aü\"\\\\{}]{0,200}", anchor in "[aü]{0,5}") {
            let parts = fragments(&text, &[&anchor]);
            prop_assert_eq!(&parts.concat(), &text);
            prop_assert!(parts.iter().all(|part| !part.is_empty()));
        }
    }
}
