//! `slotspec show`: the exact bytes of a case's script, as the mock would send them.
//!
//! Every write stands under a mark of its own, so that it can be seen where the stream is cut. Bytes that are not seen,
//! line ends among them, are escaped; a line ends after its escaped line end or at a cut. Reading the text back through
//! the escapes gives the bytes again.

use super::Sources;
use crate::case::Library;
use clap::Args;
use mock_llm::dialect::Dialect;
use mock_llm::escape::escape;
use mock_llm::preview::{Preview, preview};
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// What `show` is told.
#[derive(Args)]
pub struct ShowArgs {
    /// A case such as pair/two-calls, a twin such as pair/two-calls@one-fails, or the path of a case file.
    #[arg(value_name = "CASE[@TWIN]")]
    id: String,
    /// The dialect: chat, anthropic or responses; the first of the case's own when absent.
    #[arg(long)]
    dialect: Option<String>,
    /// Only this turn, from 0.
    #[arg(long, value_name = "N")]
    turn: Option<usize>,
    #[command(flatten)]
    sources: Sources,
}

/// Shows the bytes. The error is bad input.
pub fn show(args: &ShowArgs) -> Result<ExitCode, String> {
    let given = args.dialect.as_deref().map(dialect).transpose()?;
    let file = Path::new(&args.id);
    let library = if args.id.ends_with(".toml") {
        Library::load_case(args.sources.rules.as_deref(), file)
    } else {
        args.sources.load()
    };
    let library = library.map_err(|error| error.to_string())?;
    let only = library.cases.first().filter(|_| args.id.ends_with(".toml"));
    let Some(case) = only.map(|set| &set.base).or_else(|| library.case(&args.id)) else {
        let known: Vec<&str> = library.all().map(|case| case.id.as_str()).collect();
        let fix = match crate::source::nearest(&args.id, &known) {
            Some(near) => format!("did you mean {near:?}?"),
            None => "see slotspec list cases".to_owned(),
        };
        return Err(format!("there is no case {:?}; {fix}", args.id));
    };
    let dialect = match given {
        Some(given) if !case.speaks(given.name()) => {
            let own = case.dialects.join(", ");
            return Err(format!("{} can only be said in {own}; give one of them as --dialect", case.id));
        }
        Some(given) => given,
        None => dialect(case.dialects.first().map_or("chat", String::as_str))?,
    };
    let turns = case.script.turns.len();
    if let Some(turn) = args.turn.filter(|turn| *turn >= turns) {
        return Err(format!("{} has no turn {turn}; its turns are 0 to {}", case.id, turns.saturating_sub(1)));
    }
    let previews = preview(&case.script, dialect).map_err(|error| error.to_string())?;
    let mut out = String::new();
    for shown in previews.iter().filter(|shown| args.turn.is_none_or(|turn| turn == shown.turn)) {
        response(shown, &mut out);
    }
    super::print(&out)
}

fn dialect(name: &str) -> Result<Dialect, String> {
    let known: Vec<&str> = Dialect::ALL.into_iter().map(Dialect::name).collect();
    Dialect::ALL
        .into_iter()
        .find(|dialect| dialect.name() == name)
        .ok_or_else(|| format!("there is no dialect {name:?}; {}", crate::source::did_you_mean(name, &known)))
}

/// One response under a title, write by write.
fn response(shown: &Preview, out: &mut String) {
    if !out.is_empty() {
        out.push('\n');
    }
    // Writing to a string cannot fail.
    let _ = match shown.attempt {
        Some(attempt) => writeln!(out, "turn {}, failing attempt {attempt}", shown.turn),
        None => writeln!(out, "turn {}", shown.turn),
    };
    for missing in &shown.missing {
        let _ = writeln!(out, "!! {missing}");
    }
    let mut offset = 0;
    for index in 0..=shown.writes.len() {
        if let Some((at, how)) = &shown.stop
            && *at == index
        {
            let _ = writeln!(out, "-- {how}");
        }
        if let Some(write) = shown.writes.get(index) {
            let _ = writeln!(out, "-- write {index}: {} bytes from {offset}", write.len());
            offset += write.len();
            lines(write, out);
        }
    }
    if shown.closes && shown.stop.is_none() {
        out.push_str("-- the connection closes\n");
    }
}

/// The bytes of one write, a line each for every line of the stream.
fn lines(write: &[u8], out: &mut String) {
    let mut rest = write;
    while !rest.is_empty() {
        let end = match rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            Some(at) if rest[at..].starts_with(b"\r\n") => at + 2,
            Some(at) => at + 1,
            None => rest.len(),
        };
        out.push_str(&escape(&rest[..end]));
        out.push('\n');
        rest = &rest[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mock_llm::Script;

    /// What is shown of the last response of a script.
    #[track_caller]
    fn check(script: &str, expect: &str) {
        let script = Script::from_toml(script, "s.toml").unwrap_or_else(|error| panic!("{error}"));
        let mut out = String::new();
        if let Some(shown) = preview(&script, Dialect::Chat).unwrap_or_else(|error| panic!("{error}")).last() {
            response(shown, &mut out);
        }
        assert_eq!(out, expect);
    }

    const HEAD: &str = "HTTP/1.1 200 OK\\r\\n\ncontent-type: text/event-stream; charset=utf-8\\r\\n\n\
                        cache-control: no-cache\\r\\n\ntransfer-encoding: chunked\\r\\n\n\\r\\n\n";

    #[test]
    fn cuts_are_marked_and_hidden_bytes_escaped() {
        check(
            r"[[turn]]
            say = 'x'
            fault = { bytes = ['data: aü\r\ndata: \xc3', '\xbc\n\n\t\0'] }",
            &format!(
                "turn 0\n-- write 0: {head} bytes from 0\n{HEAD}-- write 1: 24 bytes from {head}\n\
                 12\\r\\n\ndata: aü\\r\\n\ndata: \\xc3\\r\\n\n\
                 -- write 2: 15 bytes from {second}\n5\\r\\n\n\\xbc\\n\n\\n\n\\t\\0\\r\\n\n0\\r\\n\n\\r\\n\n",
                head = 120,
                second = 120 + 24,
            ),
        );
    }

    #[test]
    fn a_stop_stands_at_its_place() {
        check(
            "[[turn]]\nsay = 'x'\nfault = { then = 'reset', before_head = true }",
            "turn 0\n-- the connection is reset\n",
        );
        check(
            r"[[turn]]
            say = 'x'
            fault = { bytes = ['ab'], then = 'close', at = { after = 'a' } }",
            &format!(
                "turn 0\n-- write 0: 120 bytes from 0\n{HEAD}-- write 1: 6 bytes from 120\n1\\r\\n\na\\r\\n\n\
                 -- the connection closes\n"
            ),
        );
    }

    #[test]
    fn a_failing_attempt_is_named() {
        let script = Script::from_toml("[[turn]]\nsay = 'x'\nattempt = [{ status = 503 }]", "s").unwrap();
        let mut out = String::new();
        response(&preview(&script, Dialect::Anthropic).unwrap()[0], &mut out);
        assert!(out.starts_with("turn 0, failing attempt 0\n-- write 0: "), "{out}");
        assert!(out.contains("\nHTTP/1.1 503 Service Unavailable\\r\\n\n"), "{out}");
    }

    #[test]
    fn an_unknown_dialect_is_told_with_the_known_ones() {
        assert_eq!(
            dialect("gemini").unwrap_err(),
            "there is no dialect \"gemini\"; expected one of anthropic, chat, responses"
        );
        assert_eq!(dialect("chatt").unwrap_err(), "there is no dialect \"chatt\"; did you mean \"chat\"?");
    }
}
