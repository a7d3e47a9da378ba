//! Where a text is code: fenced blocks and inline spans, followed one byte at a time.
//!
//! It owns the question whether a position is code. It never looks ahead, so that the answer for a position depends on
//! nothing that comes later: a fence that is never closed goes on to the end, and an inline span that is never closed goes
//! on to the end of its line.

use super::steps::spend;
use memchr::{memchr, memchr2};

/// The state of a text between two bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Markdown {
    state: State,
    /// Nothing but indentation, quote marks and list marks has come on this line.
    line_start: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Prose,
    /// In a run of backticks or tildes, `count` so far.
    Run {
        mark: u8,
        count: usize,
        /// The run began its line.
        fence: bool,
        /// The span that the run may close, by the length of its own run; 0 for none.
        span: usize,
    },
    Span {
        count: usize,
    },
    /// On the line that opens a fence of backticks. A further backtick makes it an inline span.
    Info {
        count: usize,
    },
    Fence {
        mark: u8,
        count: usize,
        line: Line,
    },
}

/// What has come on a line inside a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Start,
    Run(usize),
    /// A closing run, and white space behind it.
    Closing,
    Other,
}

impl Default for Markdown {
    fn default() -> Self {
        Markdown { state: State::Prose, line_start: true }
    }
}

impl Markdown {
    /// Whether the next byte is code, or part of a run that may make it so.
    pub fn is_code(&self) -> bool {
        self.state != State::Prose
    }

    /// Whether a line has only begun.
    pub fn at_line_start(&self) -> bool {
        self.line_start
    }

    /// Takes bytes of prose that hold no backtick, and no tilde at the start of a line.
    pub fn prose(&mut self, bytes: &[u8]) {
        for &byte in bytes.iter().rev() {
            spend(1);
            match byte {
                b'\n' => {
                    self.line_start = true;
                    return;
                }
                b' ' | b'\t' | b'\r' | b'>' | b'-' | b'*' | b'+' | b'.' | b')' | b'0'..=b'9' => {}
                _ => {
                    self.line_start = false;
                    return;
                }
            }
        }
    }

    /// Begins a run of `mark`, whose bytes [`Markdown::code`] will take.
    pub fn begin_run(&mut self, mark: u8) {
        self.state = State::Run { mark, count: 0, fence: self.line_start, span: 0 };
    }

    /// Takes bytes as long as they are code; answers how many those were.
    pub fn code(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() && self.state != State::Prose {
            let taken = self.step(&bytes[at..]);
            spend(taken + 1);
            at += taken;
        }
        at
    }

    /// Takes the next bytes of a text that is not empty; answers how many, which may be none when only the state changes.
    fn step(&mut self, rest: &[u8]) -> usize {
        match self.state {
            State::Prose => 0,
            State::Run { mark, count, fence, span } => {
                let more = rest.iter().take_while(|&&byte| byte == mark).count();
                let run = State::Run { mark, count: count.saturating_add(more), fence, span };
                self.state = if more < rest.len() { after_run(run) } else { run };
                self.line_start = false;
                more
            }
            State::Span { count } => self.inline(rest, count, State::Prose),
            State::Info { count } => self.inline(rest, count, State::Fence { mark: b'`', count, line: Line::Start }),
            State::Fence { mark, count, line } => self.fenced(rest, mark, count, line),
        }
    }

    /// In an inline span, up to a backtick or over the end of the line.
    fn inline(&mut self, rest: &[u8], count: usize, after_line: State) -> usize {
        let Some(at) = memchr2(b'`', b'\n', rest) else { return rest.len() };
        if rest[at] == b'`' {
            self.state = State::Run { mark: b'`', count: 0, fence: false, span: count };
            return at;
        }
        self.state = after_line;
        self.line_start = true;
        at + 1
    }

    fn fenced(&mut self, rest: &[u8], mark: u8, count: usize, line: Line) -> usize {
        let byte = rest[0];
        let blank = matches!(byte, b' ' | b'\t' | b'\r');
        let next = match line {
            Line::Other => match memchr(b'\n', rest) {
                Some(at) => {
                    self.state = State::Fence { mark, count, line: Line::Start };
                    return at + 1;
                }
                None => return rest.len(),
            },
            Line::Run(run) if byte == mark => Line::Run(run.saturating_add(1)),
            Line::Run(run) if run < count => {
                self.state = State::Fence { mark, count, line: Line::Other };
                return 0;
            }
            Line::Run(_) | Line::Closing if blank => Line::Closing,
            Line::Run(_) | Line::Closing if byte == b'\n' => {
                self.state = State::Prose;
                self.line_start = true;
                return 1;
            }
            Line::Start if byte == mark => Line::Run(1),
            Line::Start if blank || byte == b'>' || byte == b'\n' => Line::Start,
            _ => Line::Other,
        };
        self.state = State::Fence { mark, count, line: next };
        // What is not part of a closing line is read again as the rest of a line of code.
        usize::from(next != Line::Other)
    }
}

/// What a finished run of marks makes of the text behind it.
fn after_run(run: State) -> State {
    match run {
        State::Run { count, span, .. } if span == count && span > 0 => State::Prose,
        State::Run { span, .. } if span > 0 => State::Span { count: span },
        State::Run { mark: b'~', count, fence: true, .. } if count >= 3 => {
            State::Fence { mark: b'~', count, line: Line::Other }
        }
        State::Run { mark: b'~', .. } => State::Prose,
        State::Run { count, fence: true, .. } if count >= 3 => State::Info { count },
        State::Run { count, .. } => State::Span { count },
        other => other,
    }
}
