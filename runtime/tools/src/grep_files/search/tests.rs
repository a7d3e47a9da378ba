use super::*;
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

fn manner() -> Manner {
    Manner { literal: false, any_case: false }
}

fn search(pattern: &str, text: &[u8], keep: usize, context: usize) -> (u64, Vec<String>) {
    let pattern = compile(pattern, manner()).expect("a pattern");
    let mut search = Search::new(&pattern, &|| false);
    let found = search.find(text, keep).expect("a search").expect("no line is too long");
    let rows = rows(text, &found.starts, context, |line| search.place(line));
    let shown = |row: &Row| format!("{}{}{}", row.number, if row.hit { ":" } else { "-" }, row.text);
    (found.count, rows.iter().map(shown).collect())
}

#[track_caller]
fn check(pattern: &str, text: &str, context: usize, expect: &[&str]) {
    assert_eq!(search(pattern, text.as_bytes(), 100, context).1, expect);
}

#[track_caller]
fn check_refused(pattern: &str, expect: &str) {
    let fault = compile(pattern, manner()).map(drop).expect_err("no pattern");
    assert_eq!(fault.pointer, "/pattern");
    assert!(fault.message.contains(expect), "{}", fault.message);
}

#[test]
fn lines_are_found_whatever_ends_them() {
    check("b$", "a\r\nab\r\nb\r\nbc\r\nb", 0, &["2:ab", "3:b", "5:b"]);
    check("^b", "a\nb\nab\nbb", 0, &["2:b", "4:bb"]);
}

#[test]
fn neighbours_are_shown_once() {
    let text = "1\n2\nx3\n4\nx5\n6\n7\n8\nx9\n";
    check("x", text, 1, &["2-2", "3:x3", "4-4", "5:x5", "6-6", "8-8", "9:x9"]);
    check("x", text, 2, &["1-1", "2-2", "3:x3", "4-4", "5:x5", "6-6", "7-7", "8-8", "9:x9"]);
    check("x", "x\nx\n", 3, &["1:x", "2:x"]);
}

#[test]
fn all_are_counted_and_the_first_are_kept() {
    let text = "x\n".repeat(300_000);
    let (count, rows) = search("x", text.as_bytes(), 2, 0);
    assert_eq!((count, rows), (300_000, vec!["1:x".to_owned(), "2:x".to_owned()]));
}

#[test]
fn a_line_longer_than_a_piece_is_one_line() {
    let text = format!("a\n{}x\nb x\n", "y".repeat(2 * PIECE_BYTES));
    let (count, rows) = search("x", text.as_bytes(), 9, 0);
    assert_eq!(count, 2);
    assert!(rows[0].starts_with("2:…yyy") && rows[0].ends_with("yx [line of 131073 bytes]"), "{}", rows[0]);
    assert_eq!(rows[1], "3:b x");
    let pattern = compile("x", manner()).expect("a pattern");
    let text = "x".repeat(MOST_LINE_BYTES + 1);
    for (text, searched) in [(&text[1..], true), (&text[..], false)] {
        let found = Search::new(&pattern, &|| false).find(text.as_bytes(), 9);
        assert_eq!(found.expect("a search").is_some(), searched);
    }
}

#[test]
fn a_long_line_is_cut_around_its_match_and_between_characters() {
    let text = format!("{}x{}", "ü".repeat(500), "ü".repeat(500));
    let (_, rows) = search("x", text.as_bytes(), 9, 0);
    assert!(rows[0].contains("üxü") && rows[0].starts_with("1:…ü") && !rows[0].contains('\u{fffd}'), "{}", rows[0]);
    assert!(rows[0].len() < LINE_BYTES + 60);
}

#[test]
fn what_is_no_text_is_shown_as_such() {
    let (_, rows) = search("x", b"\xffx\x1b[31m\n", 9, 0);
    assert_eq!(rows, ["1:\u{fffd}x\u{fffd}[31m"]);
}

#[test]
fn a_pattern_that_cannot_be_used_is_explained_with_the_next_call() {
    check_refused("foo(", "call grep_files with pattern=\"foo(\" literal=true");
    check_refused("foo(", "it is written \"foo\\\\(\"");
    check_refused("foo(", "unclosed group");
    check_refused("a\nb", "holds a line break");
    check_refused(r"a\nb", "holds a line break");
    check_refused("(?=x)", "uses what this engine has not");
    check_refused(r"(a)\1", "uses what this engine has not");
    check_refused("", "is empty");
    check_refused(&"a".repeat(5000), "5000 bytes");
    check_refused(r"(\w{100}){100}", "too large once it is compiled");
    check_refused(&"(".repeat(200), "is no regular expression");
}

#[test]
fn text_as_it_is_needs_no_escapes() {
    let mut pattern = compile("a.b(", Manner { literal: true, any_case: true }).expect("text");
    for at_once in [pattern.at_once, 0] {
        pattern.at_once = at_once;
        let found = Search::new(&pattern, &|| false).find(b"A.B(\naxb(\n", 9);
        let found = found.expect("a search").expect("no line is too long");
        assert_eq!((found.count, found.starts), (1, vec![0]));
    }
}

/// What is searched without a question is bounded by what the pattern can make of it, and all else asks every few bytes.
#[test]
fn a_search_nobody_waits_for_ends_within_one_piece() {
    let line = "xy ".repeat(MOST_LINE_BYTES / 3);
    let text = format!("{line}\n{}", "xy\n".repeat(MOST_LINE_BYTES / 3));
    for (pattern, at_once) in [("z", WORK >> 11), (r"(\w{4}[^a]){4}!", WORK >> 20)] {
        let pattern = compile(pattern, manner()).expect("a pattern");
        assert_eq!(pattern.at_once, at_once);
        let asked = AtomicUsize::new(0);
        let asked_until = |last: usize| {
            asked.store(0, Ordering::Relaxed);
            let stop = || asked.fetch_add(1, Ordering::Relaxed) + 1 >= last;
            Search::new(&pattern, &stop).find(text.as_bytes(), 9).expect("a search").expect("no line is too long");
            asked.load(Ordering::Relaxed)
        };
        for last in [1, 2, 20] {
            assert!(asked_until(last) <= last + 1, "it went on");
        }
        let pieces = text.len() / PIECE_BYTES.min(at_once) / 2;
        assert!(asked_until(usize::MAX) >= pieces, "it seldom asked");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whether a line is too long for the fast engine changes nothing in what is found, unless it is said.
    #[test]
    fn long_lines_are_found_as_others_are(
        lines in prop::collection::vec("[xab\u{e9} \r]{0,6}", 0..20),
        pattern in prop::sample::select(vec![
            "x", "^a", "b$", "a[^x]b", "a.b", "^$", "x*", r"\bab", r"b\B", r"\w+ b", "\u{e9}", "(a|b){2,3}x", r"\s$",
        ]),
        any_case in any::<bool>(),
    ) {
        let text = lines.join("\n");
        let mut pattern = compile(pattern, Manner { literal: false, any_case }).expect("a pattern");
        let fast = Search::new(&pattern, &|| false).find(text.as_bytes(), 1000).expect("a search");
        pattern.at_once = 0;
        if let Some(long) = Search::new(&pattern, &|| false).find(text.as_bytes(), 1000).expect("a search") {
            prop_assert_eq!(long.starts, fast.expect("no line is too long").starts);
        } else {
            prop_assert!(!text.is_ascii());
        }
    }

    /// The lines found are those that a naive search finds, with their numbers.
    #[test]
    fn agrees_with_a_naive_search(lines in prop::collection::vec("[xab\u{e9}]{0,4}", 0..40), context in 0..3_usize) {
        let text = lines.join("\n");
        let expect: Vec<u64> = (1..).zip(text.lines()).filter(|(_, line)| line.contains('x')).map(|(n, _)| n).collect();
        let pattern = compile("x", manner()).expect("a pattern");
        let found = Search::new(&pattern, &|| false).find(text.as_bytes(), 1000);
        let found = found.expect("a search").expect("no line is too long");
        prop_assert_eq!(found.count, expect.len() as u64);
        let rows = rows(text.as_bytes(), &found.starts, context, |_| None);
        let hits: Vec<u64> = rows.iter().filter(|row| row.hit).map(|row| row.number).collect();
        prop_assert_eq!(hits, expect);
        let all: Vec<&str> = text.lines().collect();
        for row in &rows {
            prop_assert_eq!(&row.text, all[usize::try_from(row.number).expect("small") - 1]);
        }
        prop_assert!(rows.windows(2).all(|pair| pair[0].number < pair[1].number));
    }
}
