//! The body of `patch_apply`: patches that are made from two texts lead from one to the other, where they are put and where
//! the text has moved; any other text is a patch that is spliced in as a naive reading says, or none.

use crate::apply_patch::patch::{Action, Applied, Hunk, Kind, MOST_FUZZ, Place, Why, apply, parse};
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::OnceLock,
};

/// The most lines of a text; the naive difference costs their product.
const MOST_LINES: usize = 120;
/// One in so many inputs is put to other programs as well, each of which costs a process.
const ONE_IN: usize = 16;

/// What a difference says of a last line without an end.
const NO_END: &str = "\\ No newline at end of file";

/// The input is a byte for the context and one for the drift, then two texts with a NUL between them.
pub fn patch_apply(input: &[u8]) {
    let Some(case) = Case::of(input) else { return };
    case.check();
    let sum = input.iter().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte)));
    if sum.is_multiple_of(ONE_IN) {
        case.check_programs(programs());
    }
}

/// Two texts, and how a difference between them is told.
pub struct Case<'a> {
    old: &'a str,
    new: &'a str,
    context: usize,
    drift: usize,
}

impl<'a> Case<'a> {
    /// The case in an input, if it holds one.
    pub fn of(input: &'a [u8]) -> Option<Case<'a>> {
        let (&[context, drift], rest) = input.split_first_chunk()?;
        let (old, new) = std::str::from_utf8(rest).ok()?.split_once('\0')?;
        let few = |text: &str| text.lines().count() <= MOST_LINES;
        let case = Case { old, new, context: usize::from(context % 5), drift: usize::from(drift) % (MOST_FUZZ + 10) };
        (few(old) && few(new)).then_some(case)
    }

    /// The properties that need nothing but this crate.
    pub fn check(&self) {
        check_any(self.old, self.new);
        if !self.is_comparable() {
            return;
        }
        let Some(patch) = unified(self.old, self.new, self.context) else { return };
        let files = parse(&patch, None).expect("a difference is a patch");
        let [file] = files.as_slice() else { panic!("one file became {}:\n{patch}", files.len()) };
        assert_eq!(file.action, Action::Update { path: "f".to_owned(), to: None });
        let in_place = apply(self.old.as_bytes(), &file.hunks, 0).expect("a difference fits where it was made");
        assert_eq!(String::from_utf8_lossy(&in_place.bytes), self.new, "{patch}");
        assert!(in_place.drifts.iter().all(|drift| *drift == 0));
        let above: String = (0..self.drift).map(|line| format!("line {line} above{}\n", self.end())).collect();
        let moved = [&above, self.old].concat();
        match apply(moved.as_bytes(), &file.hunks, MOST_FUZZ) {
            Ok(applied) => check_moved(&applied, &moved, &file.hunks, self.end()),
            Err(misfit) => {
                let alone = matches!(misfit.why, Why::Absent { .. } | Why::PastEnd(_)) && self.drift <= MOST_FUZZ;
                // What has lines of its own is found, unless it was bound to the line it names by another hunk.
                let first = misfit.hunk == 1 && file.hunks[0].old().next().is_some();
                assert!(!(alone && first), "{:?} in\n{moved}\n{patch}", misfit.why);
            }
        }
    }

    /// Whether a difference tells all: its lines end alike in both texts, and what adds lines to CRLF says so.
    fn is_comparable(&self) -> bool {
        let lines = || self.old.split_inclusive('\n').chain(self.new.split_inclusive('\n'));
        let bare = |line: &str| !line.trim_end_matches("\r\n").trim_end_matches('\n').contains('\r');
        let same =
            |crlf: bool| lines().all(|line| bare(line) && (line.ends_with("\r\n") == crlf || !line.ends_with('\n')));
        // A last line without an end is one of either kind.
        same(false) || (same(true) && self.old.ends_with('\n') && self.new.ends_with('\n'))
    }

    fn end(&self) -> &'static str {
        if self.old.contains("\r\n") { "\r" } else { "" }
    }

    /// What other programs make of the same patch; answers how many were asked.
    pub fn check_programs(&self, programs: &[Program]) -> usize {
        let patch = unified(self.old, self.new, self.context).filter(|_| self.is_comparable());
        // An empty file is none to some of them.
        let Some(patch) = patch.filter(|_| !self.old.is_empty() && !self.new.is_empty()) else { return 0 };
        // Without context, git takes a last line that has no end for an equal one before it, which has: it removes that.
        let misread = self.context == 0 && patch.contains(NO_END);
        let asked = programs.iter().filter(|program| !misread || **program != Program::Git);
        asked
            .map(|program| {
                let made = program.apply(self.old, &patch);
                assert_eq!(made.as_deref(), Some(self.new), "{program:?} of\n{patch}");
            })
            .count()
    }
}

/// A program that applies patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// GNU patch.
    Patch,
    /// git.
    Git,
}

/// Those of them that are there.
pub fn programs() -> &'static [Program] {
    static FOUND: OnceLock<Vec<Program>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let there = |program: &Program| program.apply("a\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n").is_some();
        [Program::Patch, Program::Git].into_iter().filter(there).collect()
    })
}

impl Program {
    /// The file after the patch; `None` where the program refuses, or is not there.
    fn apply(self, file: &str, patch: &str) -> Option<String> {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("f"), file).expect("a file");
        fs::write(at("p"), patch).expect("a file");
        let mut command = match self {
            Program::Patch => {
                let mut command = Command::new("patch");
                command.args(["--batch", "--silent", "--binary", "--fuzz=0", "-p1", "-i", "p"]);
                command
            }
            Program::Git => {
                let mut command = Command::new("git");
                command.args(["apply", "--unidiff-zero", "--whitespace=nowarn", "-p1", "p"]);
                command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
                command.env("GIT_CEILING_DIRECTORIES", folder.path().parent().unwrap_or(Path::new("/")));
                command
            }
        };
        command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let done = command.status().ok()?;
        done.success().then(|| fs::read_to_string(at("f")).ok()).flatten()
    }
}

/// Any text, taken for a patch.
fn check_any(file: &str, patch: &str) {
    let Ok(files) = parse(patch, Some("f")) else { return };
    for section in files {
        if let Ok(applied) = apply(file.as_bytes(), &section.hunks, MOST_FUZZ) {
            // Line ends that are mixed are told apart in the unit tests.
            if !file.contains('\r') && !patch.contains('\r') {
                check_moved(&applied, file, &section.hunks, "");
            }
        }
    }
}

/// The result is that of a naive splice where the hunks were found, and no other place was as near.
fn check_moved(applied: &Applied, file: &str, hunks: &[Hunk<'_>], end: &str) {
    let lines: Vec<&str> = file.split_inclusive('\n').collect();
    let mut spliced = String::new();
    let (mut done, mut drift) = (0, 0);
    for (hunk, moved) in hunks.iter().zip(&applied.drifts) {
        drift += moved;
        let Place::Line(line) = hunk.place else { return };
        let old: Vec<&str> = hunk.old().map(|line| line.text.trim_ascii_end()).collect();
        let index = if old.is_empty() { line } else { line.saturating_sub(1) };
        let at = index.checked_add_signed(drift).expect("it lies in the file");
        let there = |at: usize| {
            let there = lines.get(at..at + old.len());
            at >= done
                && there.is_some_and(|there| there.iter().map(|line| line.trim_ascii_end()).eq(old.iter().copied()))
        };
        assert!(there(at), "the lines of a hunk are where it was put");
        if *moved != 0 {
            let wanted = at.checked_add_signed(-moved).expect("it is a line");
            let ends_file = hunk.lines.iter().any(|line| line.unfinished);
            let window = wanted.saturating_sub(MOST_FUZZ)..=wanted + MOST_FUZZ;
            assert!(ends_file || window.filter(|at| there(*at)).eq([at]), "it fits in one place alone");
        }
        spliced.extend(lines[done..at].iter().copied());
        done = at;
        for line in &hunk.lines {
            match line.kind {
                Kind::Keep => spliced.push_str(lines[done]),
                Kind::Remove => {}
                Kind::Add => {
                    if !spliced.is_empty() && !spliced.ends_with('\n') {
                        spliced.push_str(end);
                        spliced.push('\n');
                    }
                    spliced.push_str(line.text);
                    spliced.push('\n');
                }
            }
            done += usize::from(line.kind != Kind::Add);
        }
    }
    spliced.extend(lines[done..].iter().copied());
    // Whether the last line ends in a newline is told apart in the unit tests.
    let bytes = String::from_utf8_lossy(&applied.bytes);
    assert_eq!(bytes.trim_end_matches('\n'), spliced.trim_end_matches('\n'));
}

/// A unified difference of two texts as the file `f`, by the table of all common subsequences; `None` where they are alike.
pub fn unified(old: &str, new: &str, context: usize) -> Option<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let script = script(&old, &new);
    let changed: Vec<usize> = (0..script.len()).filter(|at| script[*at].0 != ' ').collect();
    let mut text = String::from("--- a/f\n+++ b/f\n");
    let mut rest = changed.as_slice();
    while let Some(&first) = rest.first() {
        // Changes that share their context, or touch it, are one hunk.
        let count = 1 + rest.windows(2).take_while(|pair| pair[1] - pair[0] <= 2 * context + 1).count();
        let last = rest[count - 1];
        rest = &rest[count..];
        let hunk = &script[first.saturating_sub(context)..(last + context + 1).min(script.len())];
        let before = &script[..first.saturating_sub(context)];
        let lines = |part: &[(char, &str)], mark| part.iter().filter(|(kind, _)| *kind != mark).count();
        let range = |mark| {
            let (start, count) = (lines(before, mark), lines(hunk, mark));
            format!("{},{count}", start + usize::from(count > 0))
        };
        text.push_str(&format!("@@ -{} +{} @@\n", range('+'), range('-')));
        for (kind, line) in hunk {
            text.push(*kind);
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str(&format!("\n{NO_END}\n"));
            }
        }
    }
    (!changed.is_empty()).then_some(text)
}

/// The lines of both, each with what becomes of it: it stays, goes or comes.
fn script<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(char, &'t str)> {
    let mut longest = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i][j] = match old[i] == new[j] {
                true => longest[i + 1][j + 1] + 1,
                false => longest[i + 1][j].max(longest[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut script) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            script.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || longest[i + 1][j] >= longest[i][j + 1]) {
            script.push(('-', old[i]));
            i += 1;
        } else {
            script.push(('+', new[j]));
            j += 1;
        }
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn input(context: u8, drift: u8, old: &str, new: &str) -> Vec<u8> {
        [&[context, drift], old.as_bytes(), b"\0", new.as_bytes()].concat()
    }

    /// Lines among which many are alike, and some that look like the lines of patches.
    fn text() -> impl Strategy<Value = String> {
        let lines = prop::collection::vec("[abc]|-- x|\\+\\+ y|@@ -1 \\+1 @@| a |\\\\ No newline|", 0..14);
        (lines, any::<bool>()).prop_map(|(lines, ended)| {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            if ended { text } else { text.trim_end_matches('\n').to_owned() }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn a_difference_leads_from_one_text_to_the_other(
            (context, drift) in any::<(u8, u8)>(), (old, new) in (text(), text()),
        ) {
            if let Some(case) = Case::of(&input(context, drift, &old, &new)) {
                case.check();
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn other_programs_make_the_same_of_it((context, old, new) in (any::<u8>(), text(), text())) {
            if let Some(case) = Case::of(&input(context, 0, &old, &new)) {
                case.check_programs(programs());
            }
        }
    }

    /// What is not there is said. What a patch makes is then held against the naive splice alone, as in the other tests.
    #[test]
    fn the_programs_are_named() {
        for program in [Program::Patch, Program::Git] {
            if !programs().contains(&program) {
                println!("{program:?} is not installed: its half of the comparison was left out");
            }
        }
        let case = input(3, 0, "a\nb\nc\n", "a\nB\nc\n");
        let asked = Case::of(&case).expect("a case").check_programs(programs());
        assert_eq!(asked, programs().len());
    }

    /// A program that takes everything would agree with everything.
    #[test]
    fn a_broken_difference_would_be_seen() {
        for program in programs() {
            assert_eq!(program.apply("a\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+b\n"), None, "{program:?}");
        }
    }
}
