//! What patches say, and what they make of files.

use super::*;
use proptest::prelude::*;

#[track_caller]
fn check_fuzz(file: &str, patch: &str, fuzz: usize, expect: Result<&str, Why>) {
    let files = parse(patch, Some("f")).expect("a patch");
    assert_eq!(files.len(), 1);
    let applied = apply(file.as_bytes(), &files[0].hunks, fuzz);
    let applied =
        applied.map(|applied| String::from_utf8(applied.bytes).expect("text stays text")).map_err(|misfit| misfit.why);
    assert_eq!(applied, expect.map(str::to_owned));
}

#[track_caller]
fn check(file: &str, patch: &str, expect: Result<&str, Why>) {
    check_fuzz(file, patch, 3, expect);
}

/// The actions of a patch, as text.
#[track_caller]
fn check_files(patch: &str, expect: Result<&[&str], (usize, &str)>) {
    let files = parse(patch, None);
    let told = |file: &FilePatch<'_>| {
        let hunks = match file.executable {
            None => file.hunks.len().to_string(),
            Some(executable) => format!("{} {}", file.hunks.len(), if executable { "+x" } else { "-x" }),
        };
        match &file.action {
            Action::Create { path } => format!("{}: create {path} {hunks}", file.line),
            Action::Delete { path, .. } => format!("{}: delete {path} {hunks}", file.line),
            Action::Update { path, to: None } => format!("{}: update {path} {hunks}", file.line),
            Action::Update { path, to: Some(to) } => format!("{}: move {path} {to} {hunks}", file.line),
        }
    };
    match (files, expect) {
        (Ok(files), Ok(expect)) => assert_eq!(files.iter().map(told).collect::<Vec<_>>(), expect),
        (Err(problem), Err((line, reason))) => {
            assert_eq!(problem.line, line, "{}", problem.reason);
            assert!(problem.reason.contains(reason), "{}", problem.reason);
        }
        (files, _) => panic!("{files:?}"),
    }
}

#[test]
fn files_are_told_by_their_headers() {
    check_files("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", Ok(&["1: update x 1"]));
    check_files("--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n", Ok(&["1: update x 1"]));
    check_files("--- a/x\t2026-01-01\n+++ b/x\t2026-01-01\n@@ -1 +1 @@\n-a\n+b", Ok(&["1: update x 1"]));
    check_files("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", Ok(&["1: create x 1"]));
    check_files("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n", Ok(&["1: delete x 1"]));
    check_files("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", Ok(&["1: move x y 1"]));
}

#[test]
fn git_says_more_of_a_file() {
    check_files(
        "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        Ok(&["1: update x 1"]),
    );
    check_files("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", Ok(&["1: move x y 0"]));
    check_files("diff --git a/x b/x\nnew file mode 100644\nindex 0..0\n", Ok(&["1: create x 0"]));
    check_files("diff --git a/x b/x\ndeleted file mode 100644\n", Ok(&["1: delete x 0"]));
}

#[test]
fn modes_are_those_of_files() {
    check_files("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", Ok(&["1: update x 0 +x"]));
    check_files("diff --git a/x b/x\nold mode 100755\nnew mode 100644\n", Ok(&["1: update x 0 -x"]));
    check_files("diff --git a/x b/x\nnew file mode 100755\nindex 0..0\n", Ok(&["1: create x 0 +x"]));
    check_files(
        "diff --git a/x b/y\nold mode 100644\nnew mode 100755\nrename from x\nrename to y\n",
        Ok(&["1: move x y 0 +x"]),
    );
}

#[test]
fn names_that_git_quotes_are_read() {
    check_files(
        "diff --git \"a/f\\303\\244\\t.txt\" \"b/f\\303\\244\\t.txt\"\nnew file mode 100644\n",
        Ok(&["1: create fä\t.txt 0"]),
    );
    check_files(
        "--- \"a/\\\"q\\\".txt\"\n+++ \"b/\\\"q\\\".txt\"\n@@ -1 +1 @@\n-a\n+b\n",
        Ok(&["1: update \"q\".txt 1"]),
    );
    check_files("diff --git a/x \"b/\\303\\244\"\nrename from x\nrename to \"\\303\\244\"\n", Ok(&["1: move x ä 0"]));
}

#[test]
fn several_files_need_no_git() {
    let two = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
    check_files(two, Ok(&["1: update x 1", "6: update y 1"]));
    // Also where the counts announce more than there is.
    let wrong = two.replace("@@ -1 +1 @@", "@@ -1,9 +1,9 @@");
    check_files(&wrong, Ok(&["1: update x 1", "6: update y 1"]));
}

#[test]
fn a_removed_comment_is_no_header() {
    let file = "a\n-- x\nb\n";
    check(file, "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n--- x\n+++ y\n b\n", Ok("a\n++ y\nb\n"));
    check(file, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n--- x\n+++ y\n@@ -3 +3 @@\n-b\n+c\n", Ok("a\n++ y\nc\n"));
}

#[test]
fn what_is_no_patch_is_told() {
    check_files("", Err((1, "no hunk")));
    check_files("hello\n", Err((1, "no hunk")));
    check_files("@@ -1 +1 @@\n-a\n+b\n", Err((1, "no file is named")));
    check_files("--- a/x\n+++ b/x\n@@ here @@\n-a\n", Err((3, "@@ -LINE,COUNT")));
    check_files("--- a/x\n+++ b/x\n@@ -1 +1 @@\n", Err((3, "no lines")));
    for (line, reason) in [
        ("old mode 120000", "120000 is a link"),
        ("new mode 040000", "100644 or 100755"),
        ("new file mode 120000", "120000 is a link"),
        ("new file mode 160000", "and 160000 is none"),
        ("deleted file mode 120000", "120000 is a link"),
        ("index 1..2 120000", "120000 is a link"),
        ("Binary files a/x and b/x differ", "by command"),
        ("GIT binary patch", "by command"),
        ("copy from x", "by command"),
        ("rename from \"x", "cannot be read"),
    ] {
        check_files(&format!("diff --git a/x b/x\n{line}\n"), Err((2, reason)));
    }
    // Without the lines of git too.
    let binary = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nBinary files a/y and b/y differ\n";
    check_files(binary, Err((6, "binary file")));
    check_files("--- \"a/\\400\"\n+++ \"b/\\400\"\n@@ -1 +1 @@\n-a\n+b\n", Err((1, "cannot be read")));
    check_files("*** Begin Patch\n*** Update File: x\n-a\n+b\n", Err((4, "*** End Patch")));
    check_files("*** Begin Patch\nhello\n*** End Patch", Err((2, "*** Add File")));
    check_files("*** Begin Patch\n*** Add File: x\nhello\n*** End Patch", Err((3, "begins with +")));
    check_files("*** Begin Patch\n*** Update File: x\n@@\n*** End Patch", Err((3, "no lines")));
    check_files("*** Begin Patch\n*** Update File: x\n*** End Patch", Err((2, "no hunk")));
}

#[test]
fn the_other_form_names_files_and_no_lines() {
    check_files(
        "*** Begin Patch\n*** Add File: n\n+a\n*** Delete File: d\n*** Update File: u\n*** Move to: v\n@@ fn f\n a\n-b\n+c\n*** End Patch\n",
        Ok(&["2: create n 1", "4: delete d 0", "5: move u v 1"]),
    );
}

#[test]
fn hunks_are_spliced_in() {
    check("a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", Ok("a\nB\nc\n"));
    check("a\nb\nc\nd\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n@@ -4 +5 @@\n-d\n+D\n", Ok("a\nx\nb\nc\nD\n"));
    check("a\n", "@@ -1 +0,0 @@\n-a\n", Ok(""));
    check("", "@@ -0,0 +1,2 @@\n+a\n+b\n", Ok("a\nb\n"));
}

#[test]
fn hunks_without_old_lines_stand_behind_the_line_they_name() {
    check("a\nb\nc\n", "@@ -2,0 +3,2 @@\n+x\n+y\n", Ok("a\nb\nx\ny\nc\n"));
    check("a\n", "@@ -0,0 +1 @@\n+x\n", Ok("x\na\n"));
    check("a\n", "@@ -9,0 +10 @@\n+x\n", Err(Why::PastEnd(1)));
    check("a\nb\nc\n", "@@ -1 +0,0 @@\n-a\n@@ -3,0 +3 @@\n+d\n", Ok("b\nc\nd\n"));
}

#[test]
fn a_hunk_may_have_moved_if_it_fits_in_one_place() {
    check("1\n2\na\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", Ok("1\n2\na\nc\n"));
    check("1\n2\n3\n4\na\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", Err(Why::Absent { line: 1, elsewhere: Some(5) }));
    check_fuzz("1\na\n", "@@ -1 +1 @@\n-a\n+b\n", 0, Err(Why::Absent { line: 1, elsewhere: Some(2) }));
    check("a\nx\na\n", "@@ -2 +2 @@\n-a\n+b\n", Err(Why::Several(vec![1, 3])));
    // The next one moves with it.
    check(
        "1\n2\na\nb\nc\nd\ne\nf\ng\na\n",
        "@@ -1 +1 @@\n-a\n+A\n@@ -8 +8 @@\n-a\n+A\n",
        Ok("1\n2\nA\nb\nc\nd\ne\nf\ng\nA\n"),
    );
}

#[test]
fn a_place_that_could_be_another_is_refused() {
    // S115
    let file = "[a]\nurl = 1\n[b]\nurl = 1\n[c]\nurl = 1\n";
    let patch = "--- a/f\n+++ b/f\n@@ -90,1 +90,1 @@\n-url = 1\n+url = 2\n";
    check(file, patch, Err(Why::Absent { line: 90, elsewhere: None }));
    check_fuzz(file, &patch.replace("90", "3"), 50, Err(Why::Several(vec![2, 4, 6])));
    // Where it is named it is meant.
    check(file, &patch.replace("90", "4"), Ok("[a]\nurl = 1\n[b]\nurl = 2\n[c]\nurl = 1\n"));
}

#[test]
fn hunks_stand_in_order() {
    check("a\nb\n", "@@ -2 +2 @@\n-b\n+c\n@@ -1 +1 @@\n-a\n+d\n", Err(Why::OutOfOrder));
    check("a\nb\n", "@@ -2 +2 @@\n-b\n+c\n@@ -1,0 +1 @@\n+d\n", Err(Why::OutOfOrder));
}

#[test]
fn kept_lines_stay_as_the_file_has_them() {
    check("a  \r\n\tb\r\nc", "@@ -1,3 +1,3 @@\n a\n-\tb\n+\tB\n c  \n", Ok("a  \r\n\tB\r\nc"));
    check(" a\n", "@@ -1 +1 @@\n-a\n+b\n", Err(Why::Absent { line: 1, elsewhere: None }));
}

#[test]
fn line_ends_are_those_of_the_file() {
    check("a\r\nb\r\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n", Ok("a\r\nx\r\nb\r\n"));
    check("a\r\nb\r\n", "@@ -1,2 +1,3 @@\n a\r\n+x\r\n b\r\n", Ok("a\r\nx\r\nb\r\n"));
    check("a\nb\n", "@@ -1,2 +1,3 @@\r\n a\r\n+x\r\n b\r\n", Ok("a\nx\nb\n"));
}

#[test]
fn the_end_of_the_file_stays_unless_the_patch_says_otherwise() {
    let none = "\\ No newline at end of file\n";
    check("a\nb", "@@ -2 +2 @@\n-b\n+c\n", Ok("a\nc"));
    check("a\nb", "@@ -2 +2,2 @@\n b\n+c\n", Ok("a\nb\nc"));
    check("a\nb\n", "@@ -2 +2 @@\n-b\n+c\n", Ok("a\nc\n"));
    check("a\nb", &format!("@@ -2 +2 @@\n-b\n{none}+c\n"), Ok("a\nc\n"));
    check("a\nb\n", &format!("@@ -2 +2 @@\n-b\n+c\n{none}"), Ok("a\nc"));
    check("a\nb", &format!("@@ -2 +2 @@\n-b\n{none}+c\n{none}"), Ok("a\nc"));
    check("a\r\nb", "@@ -2 +2 @@\n-b\n+c\n", Ok("a\r\nc"));
    check("a\nb", "@@ -1,2 +1 @@\n a\n-b\n", Ok("a\n"));
    check("b\nx\n", &format!("@@ -1 +1 @@\n-b\n+c\n{none}"), Err(Why::Absent { line: 1, elsewhere: None }));
}

#[test]
fn a_hunk_by_text_needs_one_place_or_a_line_above() {
    let patch = |hunk: &str| format!("*** Begin Patch\n*** Update File: f\n{hunk}*** End Patch\n");
    let file = "fn a\n x\nfn b\n x\n";
    check(file, &patch("@@\n- x\n+ y\n"), Err(Why::Several(vec![2, 4])));
    check(file, &patch("@@ fn b\n- x\n+ y\n"), Ok("fn a\n x\nfn b\n y\n"));
    check(file, &patch("@@ fn a\n- x\n+ y\n@@\n- x\n+ z\n"), Ok("fn a\n y\nfn b\n z\n"));
    check(file, &patch("@@ fn c\n- x\n+ y\n"), Err(Why::NoHead("fn c".into())));
    check(file, &patch("@@ fn a\n+ w\n"), Ok("fn a\n w\n x\nfn b\n x\n"));
    check(file, &patch("+end\n"), Ok("fn a\n x\nfn b\n x\nend\n"));
    check(file, &patch("@@\n- x\n+ y\n*** End of File\n"), Ok("fn a\n x\nfn b\n y\n"));
    check(file, &patch("@@\n-nothing\n+ y\n"), Err(Why::Absent { line: 1, elsewhere: None }));
}

#[test]
fn a_misfit_shows_both_sides() {
    let files = parse("@@ -4,5 +4,5 @@\n a\n b\n c\n d\n-e\n+f\n", Some("f")).expect("a patch");
    let misfit = apply(b"1\n2\n3\n4\n5\n6\n7\n", &files[0].hunks, 3).expect_err("a misfit");
    assert_eq!((misfit.hunk, misfit.of), (1, 1));
    assert_eq!(misfit.expected, ["a", "b", "c", "d"]);
    let around: Vec<(usize, &str)> = misfit.around.iter().map(|(line, text)| (*line, text.as_str())).collect();
    assert_eq!(around, [(2, "2"), (3, "3"), (4, "4"), (5, "5"), (6, "6")]);
}

#[test]
fn a_header_may_name_any_line() {
    let far = usize::MAX;
    let patch = |hunk: &str| format!("@@ -1 +1 @@\n-a\n+b\n@@ -{far}{hunk}");
    check("1\na\n", &patch(" +1 @@\n-x\n+y\n"), Err(Why::Absent { line: far, elsewhere: None }));
    check("1\na\n", &patch(",0 +1 @@\n+y\n"), Err(Why::PastEnd(2)));
    check(
        "1\na\n",
        &patch(&format!(",{far} +{far},{far} @@\n-x\n+y\n")),
        Err(Why::Absent { line: far, elsewhere: None }),
    );
}

#[test]
fn what_repeats_costs_no_more() {
    // Without the table of falls this would take ten thousand million comparisons.
    let file = "a\n".repeat(200_000) + "b\n";
    let hunk: String = std::iter::repeat_n(" a\n", 100_000).chain(["-b\n"]).collect();
    let patch = format!("*** Begin Patch\n*** Update File: f\n{hunk}*** End Patch\n");
    let files = parse(&patch, None).expect("a patch");
    assert_eq!(apply(file.as_bytes(), &files[0].hunks, 0).map(|a| a.bytes.len()), Ok(400_000));
}

/// A unified diff by brute force, with `context` lines around each change and one hunk for all.
fn diff(old: &[&str], new: &[&str], context: usize) -> Option<String> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (gone, come) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    if gone.is_empty() && come.is_empty() {
        return None;
    }
    let before = &old[head.saturating_sub(context)..head];
    let after = &old[head + gone.len()..(head + gone.len() + context).min(old.len())];
    let (old_len, new_len) = (before.len() + gone.len() + after.len(), before.len() + come.len() + after.len());
    let start = head - before.len() + usize::from(old_len > 0);
    let mut text = format!("--- a/f\n+++ b/f\n@@ -{start},{old_len} +{start},{new_len} @@\n");
    for (mark, lines) in [(' ', before), ('-', gone), ('+', come), (' ', after)] {
        lines.iter().for_each(|line| text.push_str(&format!("{mark}{line}\n")));
    }
    Some(text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_diff_leads_from_one_file_to_the_other(
        old in prop::collection::vec("[ab]|-- x|\\+\\+ y|", 0..8),
        new in prop::collection::vec("[ab]|-- x|\\+\\+ y|", 0..8),
        context in 0..4_usize,
        crlf in any::<bool>(),
    ) {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
        let Some(patch) = diff(&old, &new, context) else { return Ok(()) };
        let text = |lines: &[&str]| lines.iter().map(|line| format!("{line}{}", if crlf { "\r\n" } else { "\n" })).collect::<String>();
        let files = parse(&patch, None).expect("a patch");
        prop_assert_eq!(files.len(), 1);
        let applied = apply(text(&old).as_bytes(), &files[0].hunks, 0).expect("it fits");
        let expected = if old.is_empty() { text(&new).replace('\r', "") } else { text(&new) };
        prop_assert_eq!(String::from_utf8_lossy(&applied.bytes), expected);
    }

    #[test]
    fn any_text_is_a_patch_or_is_not(patch in "[-+ @a\\\\*\n]{0,60}", file in "[a \n]{0,20}") {
        if let Ok(files) = parse(&patch, Some("f")) {
            for file_patch in files {
                let _ = apply(file.as_bytes(), &file_patch.hunks, MOST_FUZZ);
            }
        }
    }
}
