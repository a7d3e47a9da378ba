//! What a checker printed, as faults with their places. What is no fault with a place is passed over.

/// The most faults that are told.
const MOST_TOLD: usize = 100;
/// The longest text of a fault, in characters.
const LONGEST: usize = 400;

/// How bad a fault is, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Error,
    Warning,
    Note,
}

/// A fault: how bad it is, where it is, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    severity: Severity,
    place: String,
    text: String,
}

/// The faults that a checker found, the worst first, and each once.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report(Vec<Fault>);

impl Report {
    /// Reads what was printed, line by line.
    pub fn of(printed: &str) -> Report {
        let mut faults: Vec<Fault> = Vec::new();
        for fault in printed.lines().filter_map(fault) {
            // A checker that looks at several targets says the same of each.
            if !faults.contains(&fault) && faults.len() < 10 * MOST_TOLD {
                faults.push(fault);
            }
        }
        faults.sort_by_key(|fault| fault.severity);
        Report(faults)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// How many of them are errors.
    pub fn errors(&self) -> usize {
        self.0.iter().filter(|fault| fault.severity == Severity::Error).count()
    }

    /// The faults for the model.
    pub fn told(&self, checker: &str) -> String {
        if self.is_empty() {
            return format!("{checker} found nothing.");
        }
        let mut text = format!("{checker} found faults: {}, of which errors: {}", self.len(), self.errors());
        for Fault { place, text: fault, .. } in self.0.iter().take(MOST_TOLD) {
            text.push_str(&format!("\n{place}: {fault}"));
        }
        if self.len() > MOST_TOLD {
            text.push_str(&format!(
                "\n[{} more are left out. Mend these first, and check again.]",
                self.len() - MOST_TOLD
            ));
        }
        text
    }
}

/// The fault in a line: `PATH:LINE:COLUMN: TEXT`, also without the column, or `PATH(LINE,COLUMN): TEXT`.
fn fault(line: &str) -> Option<Fault> {
    let line = line.trim_end().strip_prefix("vet: ").unwrap_or(line.trim_end());
    let (place, text) = line.split_once(": ")?;
    let numbers = |text: &str, between: char| {
        let mut parts = text.split(between);
        let whole = parts.by_ref().take(2).all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        whole && parts.next().is_none()
    };
    let placed = match place.strip_suffix(')').and_then(|place| place.rsplit_once('(')) {
        Some((path, at)) => !path.is_empty() && numbers(at, ','),
        None => place.split_once(':').is_some_and(|(path, at)| !path.is_empty() && numbers(at, ':')),
    };
    // A path is one name after the other; prose that holds a colon and a number is none.
    if !placed || place.contains(char::is_whitespace) {
        return None;
    }
    let severity = match text {
        text if text.starts_with("warning") => Severity::Warning,
        text if text.starts_with("note") || text.starts_with("help") => Severity::Note,
        _ => Severity::Error,
    };
    Some(Fault { severity, place: place.to_owned(), text: text.chars().take(LONGEST).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: Option<(Severity, &str, &str)>) {
        let found = fault(line);
        let found = found.as_ref().map(|fault| (fault.severity, fault.place.as_str(), fault.text.as_str()));
        assert_eq!(found, expect, "{line}");
    }

    #[test]
    fn faults_of_each_checker_are_read() {
        use Severity::{Error, Note, Warning};
        check("src/a.rs:2:5: error[E0425]: no `x`", Some((Error, "src/a.rs:2:5", "error[E0425]: no `x`")));
        check("src/a.rs:2:5: warning: unused", Some((Warning, "src/a.rs:2:5", "warning: unused")));
        check("./a.go:3:2: undefined: x", Some((Error, "./a.go:3:2", "undefined: x")));
        check("vet: ./a.go:3:2: undefined: x", Some((Error, "./a.go:3:2", "undefined: x")));
        check("a.py:1:8: F401 `os` is unused", Some((Error, "a.py:1:8", "F401 `os` is unused")));
        check("a.py:7: note: see", Some((Note, "a.py:7", "note: see")));
        check("src/a.ts(2,5): error TS2304: no 'x'.", Some((Error, "src/a.ts(2,5)", "error TS2304: no 'x'.")));
    }

    #[test]
    fn other_lines_are_passed_over() {
        for line in [
            "",
            "STDERR:",
            "error: could not compile `x`",
            "    Checking x v0.1.0",
            "# example.com/x",
            "Found 1 error: see above",
            "at 12:30: nothing",
            "see a.rs:1:2: this",
            ":1:2: x",
            "a.rs:1:2:3: x",
            "a.rs:x:2: x",
            "a.rs:: x",
            "(1,2): x",
            "a.ts(1,2,3): x",
        ] {
            check(line, None);
        }
    }

    #[test]
    fn the_worst_come_first_each_once_and_not_too_many() {
        let report = Report::of("a:1:1: warning: w\na:2:1: error: e\na:1:1: warning: w\n");
        assert_eq!(report.told("c"), "c found faults: 2, of which errors: 1\na:2:1: error: e\na:1:1: warning: w");
        assert_eq!(Report::of("x\n").told("c"), "c found nothing.");
        let many: String = (0..150).map(|n| format!("a:{n}:1: error: e\n")).collect();
        let told = Report::of(&many).told("c");
        assert_eq!(told.lines().count(), MOST_TOLD + 2);
        assert!(told.ends_with("[50 more are left out. Mend these first, and check again.]"));
        let long = Report::of(&format!("a:1:1: {}", "é".repeat(5000))).told("c");
        assert!(long.chars().count() < LONGEST + 100);
    }
}
