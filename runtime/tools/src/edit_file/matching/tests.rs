//! What is found, and what an edit leaves alone.

use super::*;
use proptest::prelude::*;

/// What an edit makes of a file, with how it was found.
#[track_caller]
fn check(file: &str, search: &str, replace: &str, expect: Result<(&str, Tolerated), Miss>) {
    check_choice(file, search, Choice::Only, replace, expect);
}

#[track_caller]
fn check_choice(file: &str, search: &str, choice: Choice, replace: &str, expect: Result<(&str, Tolerated), Miss>) {
    let plan = find(file.as_bytes(), Target::Search(search, choice), replace);
    let found = plan.map(|plan| {
        let new = splice(file.as_bytes(), &plan);
        assert_eq!(new.len(), plan.len_after(file.len()));
        (String::from_utf8(new).expect("text stays text"), plan.tolerated)
    });
    assert_eq!(found, expect.map(|(text, tolerated)| (text.to_owned(), tolerated)));
}

#[track_caller]
fn check_anchors(file: &str, start: &str, end: &str, expect: Result<&str, Miss>) {
    let plan = find(file.as_bytes(), Target::Anchors(start, end), "NEW\n");
    let found = plan.map(|plan| String::from_utf8(splice(file.as_bytes(), &plan)).expect("text stays text"));
    assert_eq!(found, expect.map(str::to_owned));
}

fn places(count: u64, lines: &[u64]) -> Places {
    Places { count, lines: lines.to_vec() }
}

const NUMBERS: Tolerated = Tolerated::LineNumbers { in_replacement: false };
const ALL_NUMBERS: Tolerated = Tolerated::LineNumbers { in_replacement: true };

#[test]
fn one_place_is_replaced() {
    check("a b c", "b", "B", Ok(("a B c", Tolerated::Nothing)));
    check("a\nb\n", "a\nb\n", "", Ok(("", Tolerated::Nothing)));
    check("a\nb", "b", "c", Ok(("a\nc", Tolerated::Nothing)));
}

#[test]
fn several_places_need_a_choice() {
    check("hello world hello", "hello", "x", Err(Miss::Several(places(2, &[1, 1]))));
    check("a\nb\na\n", "a", "x", Err(Miss::Several(places(2, &[1, 3]))));
    check_choice("a b a b a", "a", Choice::Nth(2), "x", Ok(("a b x b a", Tolerated::Nothing)));
    check_choice("a b a", "a", Choice::All, "x", Ok(("x b x", Tolerated::Nothing)));
    check_choice("a b a", "a", Choice::Nth(4), "x", Err(Miss::Beyond { asked: 4, places: places(2, &[1, 1]) }));
    check_choice("a", "a", Choice::Nth(2), "x", Err(Miss::Beyond { asked: 2, places: places(1, &[1]) }));
    check_choice("a", "a", Choice::Nth(1), "x", Ok(("x", Tolerated::Nothing)));
}

#[test]
fn places_do_not_overlap() {
    check_choice("aaaaa", "aa", Choice::All, "x", Ok(("xxa", Tolerated::Nothing)));
    check_choice("aaa", "aa", Choice::Nth(1), "x", Ok(("xa", Tolerated::Nothing)));
    check_choice("aaa", "aa", Choice::All, "x", Ok(("xa", Tolerated::Nothing)));
}

#[test]
fn of_two_places_that_overlap_none_is_guessed() {
    check("aaa", "aa", "x", Err(Miss::Overlapping(places(2, &[1, 1]))));
    check("}\n}\n}\n", "}\n}\n", "x\n", Err(Miss::Overlapping(places(2, &[1, 2]))));
    check("}\r\n}\r\n}\r\n", "}\n}\n", "x\n", Err(Miss::Overlapping(places(2, &[1, 2]))));
    check(
        "  }\n  }\n  }\n",
        "    }\n    }\n",
        "x",
        Err(Miss::SeveralTolerated(Tolerated::Indentation, places(2, &[1, 2]))),
    );
    check(
        "a }\n  }\n  }\n",
        "}\n    }\n",
        "x",
        Err(Miss::SeveralTolerated(Tolerated::Indentation, places(2, &[1, 2]))),
    );
    check("“a”“a”“a”", "\"a\"\"a\"", "x", Err(Miss::SeveralTolerated(Tolerated::Punctuation, places(2, &[1, 1]))));
    check("abab", "abab", "x", Ok(("x", Tolerated::Nothing)));
    check("a\nb\n", "a\nb\n", "", Ok(("", Tolerated::Nothing)));
}

#[test]
fn only_the_first_places_are_told_and_all_are_counted() {
    let Err(Miss::Several(found)) = find("a\n".repeat(50).as_bytes(), Target::Search("a", Choice::Only), "x") else {
        panic!("there are fifty")
    };
    assert_eq!(found, places(50, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
}

#[test]
fn too_many_places_are_refused() {
    let file = "a".repeat(MOST_PLACES + 1);
    let found = find(file.as_bytes(), Target::Search("a", Choice::All), "b");
    assert_eq!(found, Err(Miss::TooMany(MOST_PLACES as u64 + 1)));
}

#[test]
fn nothing_is_found_where_it_is_not() {
    check("a\n", "b", "x", Err(Miss::Absent));
    check("", "b", "x", Err(Miss::Absent));
    check("a\n", "", "x", Err(Miss::Absent));
    // S107: the first and the last line are there, what is between is not.
    check("fn a() {\n\tlet y = 2;\n}\n", "fn a() {\n\tlet y = 99;\n}", "fn a() {}", Err(Miss::Absent));
}

#[test]
fn line_ends_are_matched_and_kept() {
    check(
        "a = 1\r\nb = 2\r\nc\r\n",
        "a = 1\nb = 2",
        "a = 9\nb = 8",
        Ok(("a = 9\r\nb = 8\r\nc\r\n", Tolerated::Nothing)),
    );
    check("a\r\nb\r\n", "a\n", "x\ny\n", Ok(("x\r\ny\r\nb\r\n", Tolerated::Nothing)));
    check("a\r\nb\r\n", "\nb", "\nc", Ok(("a\r\nc\r\n", Tolerated::Nothing)));
    check("a\r\nb\r\n", "b", "b\nc", Ok(("a\r\nb\r\nc\r\n", Tolerated::Nothing)));
    check("a\r\nb", "b", "b\nc", Ok(("a\r\nb\r\nc", Tolerated::Nothing)));
    check("a\nb\r\nc\r\n", "a", "a\nx", Ok(("a\nx\nb\r\nc\r\n", Tolerated::Nothing)));
}

#[test]
fn lines_that_look_alike_are_counted_whatever_their_ends() {
    check("a\nb\n\na\r\nb\r\n", "a\nb\n", "x\n", Err(Miss::Several(places(2, &[1, 4]))));
}

#[test]
fn text_with_carriage_returns_is_taken_as_it_is() {
    check("a\r\nb\r\n", "a\r\nb\r\n", "a\nb\n", Ok(("a\nb\n", Tolerated::Nothing)));
    check("a\nb\n", "b", "b\r\nc", Ok(("a\nb\r\nc\n", Tolerated::Nothing)));
    check("a\nb\n", "a\r\nb", "c", Ok(("c\n", Tolerated::Nothing)));
    check("a\rb\n", "a\rb", "c", Ok(("c\n", Tolerated::Nothing)));
}

#[test]
fn indentation_is_tolerated() {
    let file = "fn f() {\n\tif x {\n\t\ty();\n\t}\n}\n";
    // What is quoted with indentation is replaced with it, and lands as sent.
    check(
        file,
        "    if x {\n        y();\n    }\n",
        "    z();\n",
        Ok(("fn f() {\n    z();\n}\n", Tolerated::Indentation)),
    );
    // What is quoted from the first letter on leaves what stands before it.
    check(file, "if x {\n    y();\n}", "z();", Ok(("fn f() {\n\tz();\n}\n", Tolerated::Indentation)));
}

#[test]
fn what_stands_before_a_place_on_its_line_stays() {
    check(
        "let keep = 1; foo(\n    bar);\n",
        "foo(\nbar);",
        "foo(baz);",
        Ok(("let keep = 1; foo(baz);\n", Tolerated::Indentation)),
    );
}

#[test]
fn a_place_ends_where_its_last_line_does() {
    check("  a;\n    b;\n  c\n", "a;\nb;\n", "x;\n", Ok(("  x;\n  c\n", Tolerated::Indentation)));
    check("    a;\n        b;\n", "\ta;\n\t", "\tx;\n\t", Ok(("\tx;\n\tb;\n", Tolerated::Indentation)));
}

#[test]
fn quoted_indentation_stands_at_the_start_of_a_line() {
    check(
        "foo(); bar();\n\tbar();\n",
        "    bar();",
        "    x();",
        Ok(("foo(); bar();\n    x();\n", Tolerated::Indentation)),
    );
    check("foo(); bar();\n", "    bar();", "x", Err(Miss::Absent));
    check("xab\n ab\nab\n", "  ab\n  ab\n", "c\n", Ok(("xab\nc\n", Tolerated::Indentation)));
}

#[test]
fn indentation_must_leave_one_place() {
    check("\ta\n  a\n", "    a\n", "x\n", Err(Miss::SeveralTolerated(Tolerated::Indentation, places(2, &[1, 2]))));
    check_choice(
        "\ta\n  a\n",
        "    a\n",
        Choice::All,
        "x\n",
        Err(Miss::SeveralTolerated(Tolerated::Indentation, places(2, &[1, 2]))),
    );
    check_choice("\ta\n", "    a\n", Choice::All, "x\n", Ok(("x\n", Tolerated::Indentation)));
    check_choice("\ta\n", "    a", Choice::Nth(2), "x", Err(Miss::Beyond { asked: 2, places: places(1, &[1]) }));
}

#[test]
fn a_search_of_blanks_alone_is_not_made_nothing() {
    check("a\n\tb\n", "  ", "x", Err(Miss::Absent));
    check("a\n\n", " \n ", "x", Err(Miss::Absent));
}

#[test]
fn indentation_in_a_file_with_crlf_is_tolerated() {
    check("\tf(\r\n\t\tx);\r\ny\r\n", "f(\n  x);\n", "f(\n  z);\n", {
        Ok(("\tf(\r\n  z);\r\ny\r\n", Tolerated::Indentation))
    });
}

#[test]
fn punctuation_is_tolerated_both_ways() {
    let tolerated = Tolerated::Punctuation;
    check("let s = “hello world”;\n", "let s = \"hello world\";", "let s = 'x';", Ok(("let s = 'x';\n", tolerated)));
    check("let s = \"it's\";\n", "let s = “it’s”;", "x", Ok(("x\n", tolerated)));
    check("alpha\u{a0}—\u{a0}beta\n", "alpha - beta", "x", Ok(("x\n", tolerated)));
    check("alpha -- beta\n", "alpha — beta", "x", Ok(("x\n", tolerated)));
    check("a—b\n", "a--b", "x", Ok(("x\n", tolerated)));
    check("1–2\n", "1-2", "x", Ok(("x\n", tolerated)));
    // S110
    check("值=“甲”\n值=“乙”\n", "值=\"乙\"", "值=\"丙\"", Ok(("值=“甲”\n值=\"丙\"\n", tolerated)));
    check("中文”\n", "中文\"", "中", Ok(("中\n", tolerated)));
}

#[test]
fn half_a_dash_is_no_place() {
    check("a—b\n", "b--", "x", Err(Miss::Absent));
    check("x—", "--—", "y", Err(Miss::Absent));
    // Two hyphens and one that is half of a dash.
    check("—-", "---", "x", Ok(("x", Tolerated::Punctuation)));
}

#[test]
fn punctuation_must_leave_one_place() {
    check("“a”\n‘x’\n“a”\n", "\"a\"", "x", Err(Miss::SeveralTolerated(Tolerated::Punctuation, places(2, &[1, 3]))));
}

#[test]
fn line_numbers_are_taken_from_a_transcription() {
    let file = "fn f() {\n\tone();\n\ttwo();\n}\n";
    let uno = "fn f() {\n\tuno();\n\tdos();\n}\n";
    // S108
    check(file, "     2│ \tone();\n     3│ \ttwo();", "     2│ \tuno();\n     3│ \tdos();", Ok((uno, ALL_NUMBERS)));
    check(file, "     2│ \tone();\n     3│ \ttwo();", "\tuno();\n\tdos();", Ok((uno, NUMBERS)));
    check(file, "2\t\tone();\n3\t\ttwo();\n", "\tuno();\n\tdos();\n", Ok((uno, NUMBERS)));
    check(file, "2:\tone();\n3:\ttwo();", "\tuno();\n\tdos();", Ok((uno, NUMBERS)));
    check("a\r\nb\r\n", "1│ a\n2│ b", "1│ c\n2│ d", Ok(("c\r\nd\r\n", ALL_NUMBERS)));
}

#[test]
fn line_numbers_must_be_those_of_the_lines() {
    let file = "aa\nbb\naa\n";
    check(file, "1│ aa", "x", Ok(("x\nbb\naa\n", NUMBERS)));
    check(file, "3│ aa", "x", Ok(("aa\nbb\nx\n", NUMBERS)));
    check(file, "2│ aa", "x", Err(Miss::Absent));
    check(file, "9│ aa", "x", Err(Miss::Absent));
    check(file, "1│ a", "x", Ok(("xa\nbb\naa\n", NUMBERS)));
    check("aaa\n", "1\taa", "x", Ok(("xa\n", NUMBERS)));
    check("first\nsecond\n", "5\tfirst\n3\tsecond", "x", Err(Miss::Absent));
}

#[test]
fn a_time_of_day_is_no_line_number() {
    check("09:30:00\n", "12:30:00", "x", Err(Miss::Absent));
    check("a\n09:30:00\n", "2:30:00", "x", Err(Miss::Absent));
    check("a\n30:00:00\n", "2:30:00", "x", Err(Miss::Absent));
    check("a\n30:00\n", "2:30:00", "x", Ok(("a\nx\n", NUMBERS)));
}

#[test]
fn numbers_of_the_replacement_are_data_unless_the_search_had_them() {
    // S109
    check("2024\t17\n2025\t19\n", "missing", "2024\t20\n2025\t21", Err(Miss::Absent));
    check("a\n", "a", "1│ b", Ok(("1│ b\n", Tolerated::Nothing)));
    check("a\n", "1│ a", "2024\t20", Ok(("2024\t20\n", NUMBERS)));
    check("a\n", "1│ a", "1\tb", Ok(("1\tb\n", NUMBERS)));
    check("a\n", "1│ a", "1│ b\nc", Ok(("1│ b\nc\n", NUMBERS)));
    check("a\n", "1│ a", "7│ b", Ok(("7│ b\n", NUMBERS)));
}

#[test]
fn anchors_name_a_range() {
    check_anchors("1\n<\n2\n>\n3\n>\n", "<\n", ">\n", Ok("1\nNEW\n3\n>\n"));
    check_anchors("<a>", "<", ">", Ok("NEW\n"));
    check_anchors("x\r\n<\r\na\r\n>\r\ny\r\n", "<\n", ">\n", Ok("x\r\nNEW\r\ny\r\n"));
    check_anchors(">\n<\n", "<", ">", Err(Miss::NoEnd(2)));
    check_anchors("<\n<\n>\n", "<", ">", Err(Miss::Starts(places(2, &[1, 2]))));
    check_anchors("a", "<", ">", Err(Miss::NoStart));
    // The second is sought behind the first, also where they are the same.
    check_anchors("==\na\n", "==", "==", Err(Miss::NoEnd(1)));
    // Both exactly: a long range is not guessed at.
    check_anchors("  <\n  >\n", "\t<\n", ">", Err(Miss::NoStart));
}

#[test]
fn bytes_that_are_not_text_stay() {
    let file = b"\xff a \xfe\n\x80b\n";
    let plan = find(file, Target::Search("a", Choice::Only), "x").expect("it is there");
    assert_eq!(splice(file, &plan), b"\xff x \xfe\n\x80b\n");
    let plan =
        find(b"\xff \xe2\x80\x9ca\xe2\x80\x9d\xe2\x80", Target::Search("\"a\"", Choice::Only), "x").expect("there");
    assert_eq!(splice(b"\xff \xe2\x80\x9ca\xe2\x80\x9d\xe2\x80", &plan), b"\xff x\xe2\x80");
}

/// Text of few letters, so that places are frequent, with all that is ever set aside.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("a"),
        Just("b"),
        Just("\n"),
        Just("\r\n"),
        Just("\r"),
        Just(" "),
        Just("\t"),
        Just("\""),
        Just("“"),
        Just("’"),
        Just("'"),
        Just("—"),
        Just("–"),
        Just("-"),
        Just("\u{a0}"),
        Just("值"),
        Just("1│ "),
        Just("2\t"),
        Just("\u{feff}"),
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

/// A search that is in the file, changed a little, more often than not.
fn searched() -> impl Strategy<Value = (String, String)> {
    let slice = (text(), any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..5_usize);
    slice.prop_map(|(file, from, to, change)| {
        let cuts: Vec<usize> = file.char_indices().map(|(at, _)| at).chain([file.len()]).collect();
        let (from, to) = (from.get(&cuts).min(to.get(&cuts)), from.get(&cuts).max(to.get(&cuts)));
        let search = &file[*from..*to];
        let search = match change {
            0 => search.to_owned(),
            1 => search.replace("\r\n", "\n"),
            2 => search.replace(['“', '"'], "”").replace('—', "--"),
            3 => search.lines().map(|line| format!("  {}", line.trim_start())).collect::<Vec<_>>().join("\n"),
            _ => search.lines().zip(1..).map(|(line, number)| format!("{number:>6}│ {line}\n")).collect(),
        };
        (file, search)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn an_edit_keeps_every_byte_outside_of_its_places((file, search) in searched(), new in text(), all in any::<bool>()) {
        crate::fuzzing::check_edit(&file, &search, &new, if all { Choice::All } else { Choice::Only });
    }

    #[test]
    fn what_is_there_once_is_found_as_it_is(before in text(), search in "[a-c]{4,9}", after in text(), new in text()) {
        let file = format!("{before}{search}{after}");
        let places = file.char_indices().filter(|(at, _)| file[*at..].starts_with(&search)).count();
        prop_assume!(places == 1);
        let plan = find(file.as_bytes(), Target::Search(&search, Choice::Only), &new).expect("it is there");
        prop_assert_eq!(plan.tolerated, Tolerated::Nothing);
        prop_assert_eq!(&plan.spans[0].range, &(before.len()..before.len() + search.len()));
        // Only line ends may be written otherwise than sent.
        let written = splice(file.as_bytes(), &plan);
        let written = String::from_utf8(written).expect("text stays text");
        let written = &written[before.len()..written.len() - after.len()];
        prop_assert_eq!(written.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    }
}
