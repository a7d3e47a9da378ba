//! Lines that are too long for the fast engine, looked at byte by byte.
//!
//! An engine that searches a whole text in one call cannot be stopped in it, and what it costs at the worst grows with the
//! text and with the pattern. So it is given no more than their product allows; a line above that goes this way, and
//! between any few bytes of it whoever waits is asked whether they still do.

use super::search::Manner;
use regex_automata::{
    Input,
    hybrid::dfa::{Cache, DFA},
    nfa::thompson,
    util::syntax,
};

/// How many bytes are looked at between two questions. At the worst each costs a look at the whole pattern.
pub const STEP: usize = 256;
/// The most memory that a pattern may compile to here: what is kept of lines of any length takes a little more.
const COMPILED_BYTES: usize = 2 << 20;
/// The most memory for what is worked out while a line is looked at.
const CACHE_BYTES: usize = 8 << 20;
/// How deep groups may lie in one another: no pattern comes here that was refused before.
const DEPTH: u32 = 250;

/// A pattern for long lines.
pub struct Long {
    dfa: DFA,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// Nobody waits for it any more.
    Stopped,
    /// The pattern asks for the bounds of words, and the line has letters that are no ASCII: this engine cannot tell.
    Unable,
}

impl Long {
    /// The pattern, which the fast engine has taken; nothing if it cannot be used here.
    pub fn new(pattern: &str, manner: Manner) -> Option<Long> {
        let pattern = if manner.literal { regex::escape(pattern) } else { pattern.to_owned() };
        let syntax = syntax::Config::new().utf8(false).multi_line(true).crlf(true).nest_limit(DEPTH);
        let compiled = thompson::Config::new().utf8(false).nfa_size_limit(Some(COMPILED_BYTES));
        let config = DFA::config().unicode_word_boundary(true).cache_capacity(CACHE_BYTES);
        let dfa = DFA::builder()
            .syntax(syntax.case_insensitive(manner.any_case))
            .thompson(compiled)
            .configure(config.skip_cache_capacity_check(true))
            .build(&pattern);
        dfa.ok().map(|dfa| Long { dfa })
    }

    /// What one thread needs to look.
    pub fn cache(&self) -> Cache {
        self.dfa.create_cache()
    }

    /// Where the first match in a line to end does so, if there is one.
    pub fn first_end(&self, cache: &mut Cache, line: &[u8], stop: &dyn Fn() -> bool) -> Result<Option<usize>, Halt> {
        let line = line.strip_suffix(b"\n").map_or(line, |line| line.strip_suffix(b"\r").unwrap_or(line));
        let (mut begin, mut steps) = (0, 0);
        // No match holds a carriage return, at which a line ends for `$` and begins for `^`.
        for part in line.split(|byte| *byte == b'\r') {
            if let Some(end) = self.end_in(cache, part, &mut steps, stop)? {
                return Ok(Some(begin + end));
            }
            begin += part.len() + 1;
        }
        Ok(None)
    }

    fn end_in(
        &self,
        cache: &mut Cache,
        part: &[u8],
        steps: &mut usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<usize>, Halt> {
        let mut ask = || {
            *steps += 1;
            if (*steps).is_multiple_of(STEP) && stop() { Err(Halt::Stopped) } else { Ok(()) }
        };
        ask()?;
        let start = self.dfa.start_state_forward(cache, &Input::new(part));
        let mut state = start.map_err(|_| Halt::Unable)?;
        for (at, byte) in part.iter().enumerate() {
            ask()?;
            state = self.dfa.next_state(cache, state, *byte).map_err(|_| Halt::Unable)?;
            match state {
                // A match is known one byte later.
                found if found.is_match() => return Ok(Some(at)),
                over if over.is_dead() => return Ok(None),
                unable if unable.is_quit() => return Err(Halt::Unable),
                _ => {}
            }
        }
        let last = self.dfa.next_eoi_state(cache, state).map_err(|_| Halt::Unable)?;
        Ok(last.is_match().then_some(part.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const PLAIN: Manner = Manner { literal: false, any_case: false };

    #[track_caller]
    fn check(pattern: &str, line: &str, expect: Result<Option<usize>, Halt>) {
        let long = Long::new(pattern, PLAIN).expect("a pattern");
        assert_eq!(long.first_end(&mut long.cache(), line.as_bytes(), &|| false), expect);
    }

    #[test]
    fn the_first_match_to_end_is_found() {
        check("b+", "aabbb\n", Ok(Some(3)));
        check("^b$", "a\rb\r\n", Ok(Some(3)));
        check("^a", "ba", Ok(None));
        check("a[^x]b", "a\rb", Ok(None));
        check("^$", "a\r\n", Ok(None));
        check("^$", "a\r\rb\n", Ok(Some(2)));
        check(r"\bb", "a b", Ok(Some(3)));
        check(r"\bb", "é b", Err(Halt::Unable));
        check("é", "aé", Ok(Some(3)));
    }

    /// Whoever does not wait is heard within a few bytes, whatever the line is made of.
    #[test]
    fn a_line_is_left_within_one_step() {
        for line in ["x".repeat(STEP * 100), "\r".repeat(STEP * 100), "xy".repeat(STEP * 50)] {
            let long = Long::new(r"(\w{3}[^a]){3}!", PLAIN).expect("a pattern");
            let asked = Cell::new(0);
            let stop = || {
                asked.set(asked.get() + 1);
                asked.get() == 3
            };
            assert_eq!(long.first_end(&mut long.cache(), line.as_bytes(), &stop), Err(Halt::Stopped));
            assert_eq!(asked.replace(3), 3, "nothing is done after that");
            assert_eq!(long.first_end(&mut long.cache(), line.as_bytes(), &stop), Ok(None));
            assert!(asked.get() >= 3 + 100);
        }
    }
}
