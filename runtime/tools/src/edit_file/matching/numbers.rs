//! Line-number prefixes, as tools that read files put them before each line.
//!
//! Taking data for such a prefix would destroy it, so nothing is stripped on looks alone: every line that is not empty
//! must carry a number, each number must be that of its line counted from the first, and whoever calls must find the
//! stripped text on the line that the first number names.

/// What stands between a number and its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// `│`, with or without a blank.
    Bar,
    /// A tab.
    Tab,
    /// A colon.
    Colon,
}

/// Text without its prefixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stripped {
    /// The lines that are left.
    pub(super) text: String,
    /// The number of the first line, from 1.
    pub(super) first: u64,
    /// What all the numbers were followed by.
    pub(super) separator: Separator,
}

/// `text` without its line numbers, if every line that is not empty has its own.
pub(super) fn strip(text: &str) -> Option<Stripped> {
    let mut stripped = Stripped { text: String::with_capacity(text.len()), first: 0, separator: Separator::Bar };
    for (index, line) in (0_u64..).zip(text.split_inclusive('\n')) {
        if line.trim_end_matches(['\n', '\r']).is_empty() {
            stripped.text.push_str(line);
            continue;
        }
        let (number, separator, rest) = prefix(line)?;
        if stripped.first == 0 {
            // An empty line before the first number counts too.
            stripped.first = number.checked_sub(index).filter(|first| *first > 0)?;
            stripped.separator = separator;
        }
        if number.checked_sub(index) != Some(stripped.first) || separator != stripped.separator {
            return None;
        }
        stripped.text.push_str(rest);
    }
    (stripped.first > 0).then_some(stripped)
}

/// Blanks, digits, blanks and a separator; what they say, and the rest of the line.
fn prefix(line: &str) -> Option<(u64, Separator, &str)> {
    let digits = line.trim_start_matches(' ');
    let after = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = digits[..digits.len() - after.len()].parse().ok()?;
    let rest = after.trim_start_matches(' ');
    if let Some(rest) = rest.strip_prefix('│') {
        Some((number, Separator::Bar, rest.strip_prefix(' ').unwrap_or(rest)))
    } else if let Some(rest) = rest.strip_prefix('\t') {
        Some((number, Separator::Tab, rest))
    } else {
        Some((number, Separator::Colon, rest.strip_prefix(':')?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<(&str, u64)>) {
        let found = strip(text);
        assert_eq!(found.as_ref().map(|stripped| (stripped.text.as_str(), stripped.first)), expect);
    }

    #[test]
    fn the_forms_that_tools_print_are_known() {
        check("     2│ let timeout = 30;", Some(("let timeout = 30;", 2)));
        check("     2\tlet timeout = 30;", Some(("let timeout = 30;", 2)));
        check("2:let timeout = 30;", Some(("let timeout = 30;", 2)));
        check("     9│ a\n    10│ \tb\n", Some(("a\n\tb\n", 9)));
        check("     9│ a\r\n    10│b", Some(("a\r\nb", 9)));
    }

    #[test]
    fn empty_lines_may_go_without_but_count() {
        check("2│ a\n\n4│ b", Some(("a\n\nb", 2)));
        check("\n4│ b", Some(("\nb", 3)));
        check("2│ a\n3│\n4│ b", Some(("a\n\nb", 2)));
        check("2│ a\n\n3│ b", None);
        check("\n1│ b", None);
    }

    #[test]
    fn what_is_no_transcription_is_left_alone() {
        for text in [
            "",
            "\n",
            "a",
            "5\tfirst\n3\tsecond",
            "5\tfirst\n5\tsecond",
            "5\tfirst\n7\tsecond",
            "1│ a\nb",
            "1│ a\n2\tb",
            "0│ a",
            "-1│ a",
            "99999999999999999999│ a",
            "1a│ b",
            "12",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn a_time_of_day_looks_like_a_prefix_which_is_why_looks_are_not_enough() {
        check("12:30:00", Some(("30:00", 12)));
    }
}
