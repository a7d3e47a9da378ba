//! Progress: one line that is rewritten on a terminal, nothing elsewhere.

use crate::run::Progress;
use std::io::{IsTerminal, Write};

/// How much of an id the line shows, in characters.
const SHOWN: usize = 50;

/// Shows how far a run is.
pub struct ProgressLine {
    terminal: bool,
    bad: usize,
}

impl ProgressLine {
    /// Shows on the standard error, if that is a terminal.
    pub fn new() -> Self {
        ProgressLine { terminal: std::io::stderr().is_terminal(), bad: 0 }
    }

    /// Shows nothing, for a run that speaks to a person in another way.
    pub fn none() -> Self {
        ProgressLine { terminal: false, bad: 0 }
    }

    /// Takes one step.
    pub fn step(&mut self, progress: &Progress<'_>) {
        self.bad += usize::from(progress.last.is_bad());
        if self.terminal {
            let line = line(progress.done, progress.of, self.bad, &progress.last.id);
            // Progress that cannot be shown is no reason to stop.
            let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Default for ProgressLine {
    fn default() -> Self {
        ProgressLine::new()
    }
}

fn line(done: usize, of: usize, bad: usize, id: &str) -> String {
    let id: String = id.chars().take(SHOWN).collect();
    match bad {
        0 => format!("{done}/{of} {id}"),
        bad => format!("{done}/{of}, {bad} not good, {id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_and_how_well() {
        assert_eq!(line(3, 10, 0, "pair/x"), "3/10 pair/x");
        assert_eq!(line(3, 10, 2, &"x".repeat(60)), format!("3/10, 2 not good, {}", "x".repeat(50)));
    }
}
