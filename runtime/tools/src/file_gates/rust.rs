//! Whether a text is Rust, as far as its grammar goes.
//!
//! The parser of the `syn` crate descends into what is nested, and has no limit of its own. So what it is given is bounded
//! before, by its tokens, and it works on a thread whose stack holds whatever that bound lets through.

use super::parse::{Fault, Verdict};
use proc_macro2::{LineColumn, TokenStream, TokenTree};
use std::{
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

/// How deep brackets may be nested. The compiler itself takes 128.
const MOST_NESTED: usize = 128;
/// How many tokens may stand, one after the other and in each bracket around them, without anything that ends a part of
/// the text: each of them can be one step further down.
const MOST_STEPS: usize = 4096;
/// The stack of the thread: what the deepest text within the limits needs in a build without optimisation, and room.
const STACK: usize = 256 << 20;
/// How long a text may take.
const LIMIT: Duration = Duration::from_secs(5);
/// How many texts may be parsed at once, those that took too long included: a thread cannot be stopped.
const MOST_AT_ONCE: usize = 8;

static AT_ONCE: AtomicUsize = AtomicUsize::new(0);

/// Parses a text.
pub(super) fn check(text: &str) -> Verdict {
    let Some(place) = Place::take() else { return Verdict::TooMuch("too many files are being parsed") };
    let (done, ended) = mpsc::sync_channel(1);
    let text = text.to_owned();
    let spawned = thread::Builder::new().name("parse".into()).stack_size(STACK).spawn(move || {
        let _place = place;
        // Whoever waits may have given up.
        let _ = done.send(parse(&text));
    });
    if spawned.is_err() {
        return Verdict::TooMuch("no thread could be started to parse it");
    }
    // A parser that panics sends nothing.
    ended.recv_timeout(LIMIT).unwrap_or(Verdict::TooMuch("it could not be parsed in time"))
}

/// A place among those that parse at once, free again when it is dropped.
struct Place;

impl Place {
    fn take() -> Option<Arc<Place>> {
        let taken =
            AT_ONCE.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| (now < MOST_AT_ONCE).then_some(now + 1));
        taken.ok().map(|_| Arc::new(Place))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        AT_ONCE.fetch_sub(1, Ordering::AcqRel);
    }
}

fn parse(text: &str) -> Verdict {
    let code = after_interpreter_line(text);
    let above = text[..text.len() - code.len()].matches('\n').count();
    let tokens = match TokenStream::from_str(code) {
        Ok(tokens) => tokens,
        Err(error) => {
            let what = "a bracket that is not closed or closes another one, or a text or a sign that is no token";
            return Verdict::Broken(fault(error.span().start(), above, what.to_owned()));
        }
    };
    if !is_shallow(&tokens) {
        return Verdict::TooMuch("it is nested deeper than any compiler would take");
    }
    match syn::parse2::<syn::File>(tokens) {
        Ok(_) => Verdict::Sound,
        Err(error) => {
            let what = error.to_string();
            // At the end of the text there is no token to point to.
            let at = if error.span().byte_range().is_empty() { end_of(code) } else { error.span().start() };
            Verdict::Broken(fault(at, above, what))
        }
    }
}

/// The text without the line that names an interpreter, which only the first line can be.
fn after_interpreter_line(text: &str) -> &str {
    let is_attribute = || text[2..].trim_start().starts_with('[');
    if text.starts_with("#!") && !is_attribute() { text.find('\n').map_or("", |end| &text[end..]) } else { text }
}

fn end_of(code: &str) -> LineColumn {
    let last = code.trim_end().rsplit('\n').next().unwrap_or_default();
    LineColumn { line: code.trim_end().matches('\n').count() + 1, column: last.chars().count() }
}

fn fault(at: LineColumn, above: usize, what: String) -> Fault {
    Fault { line: at.line.max(1) + above, column: at.column + 1, what }
}

/// Whether the parser can descend only so far. Walks without descending itself.
fn is_shallow(tokens: &TokenStream) -> bool {
    let mut open = vec![(tokens.clone().into_iter(), 0_usize)];
    let mut steps = 0_usize;
    while let Some((inside, since)) = open.last_mut() {
        let Some(token) = inside.next() else {
            steps -= *since;
            open.pop();
            continue;
        };
        let ends = match &token {
            TokenTree::Punct(sign) => matches!(sign.as_char(), ';' | ','),
            TokenTree::Group(group) => group.delimiter() == proc_macro2::Delimiter::Brace,
            TokenTree::Ident(_) | TokenTree::Literal(_) => false,
        };
        if ends && !matches!(token, TokenTree::Group(_)) {
            steps -= std::mem::take(since);
        } else {
            *since += 1;
            steps += 1;
        }
        if let TokenTree::Group(group) = token {
            open.push((group.stream().into_iter(), 0));
        }
        if steps > MOST_STEPS || open.len() > MOST_NESTED {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_broken(text: &str, line: usize, column: usize, what: &str) {
        let Verdict::Broken(fault) = check(text) else { panic!("{text:?} is broken") };
        assert_eq!((fault.line, fault.column), (line, column), "{}", fault.what);
        assert!(fault.what.contains(what), "{}", fault.what);
    }

    #[track_caller]
    fn check_sound(text: &str) {
        assert!(matches!(check(text), Verdict::Sound), "{:?}", check(text));
    }

    #[test]
    fn what_is_rust_is_sound() {
        for text in [
            "",
            "\u{feff}fn main() {}\n".trim_start_matches('\u{feff}'),
            "#!/usr/bin/env run\nfn main() {}",
            "#![allow(dead_code)]\nfn f<'a>(x: &'a str) -> impl Fn() + 'a { move || drop(x) }",
            "let_else!{ whatever [ goes ] ( here ) }",
            "async fn f() { let Some(x) = g().await else { return }; if let A = b && c {} }",
            "fn f() { let s = r#\"}{\"#; /* } /* } */ */ let c = '{'; }",
            "const S: &core::ffi::CStr = c\"text\";",
        ] {
            check_sound(text);
        }
    }

    #[test]
    fn what_is_not_is_told_by_its_place() {
        check_broken("fn main() {\n    let x = ;\n}\n", 2, 13, "expected");
        check_broken("fn main() {\n    let x = 1\n    let y = 2;\n}\n", 3, 5, "expected `;`");
        check_broken("#!/bin/x\nfn f( {}\n", 2, 5, "bracket");
        check_broken("struct S {\n    a: u8\n    b: u8,\n}", 3, 5, "expected `,`");
        check_broken("fn", 1, 3, "unexpected end of input");
        check_broken("fn é() {} 中", 1, 12, "expected");
        check_broken("中() fn", 1, 2, "expected");
    }

    #[test]
    fn hostile_texts_are_neither_parsed_nor_fatal() {
        let many = 200_000;
        let nested = [
            format!("const X: u8 = {}1{};", "(".repeat(many), ")".repeat(many)),
            format!("fn f() {{ {} }}", "{".repeat(many) + &"}".repeat(many)),
            format!("const X: bool = {}true;", "!".repeat(many)),
            format!("fn f() {{ {} }}", "|| ".repeat(many)),
            format!("type T = {}u8;", "&".repeat(many)),
            format!("type T = {}u8{};", "Vec<".repeat(many), ">".repeat(many)),
            format!("fn f() {{ {} }}", "a.b".repeat(many)),
            format!("const X: u32 = 1{};", "+1".repeat(many)),
            format!("fn f() {{ {} {{}} }}", "if a {} else ".repeat(many)),
            format!("fn f() {{ {} }}", "return ".repeat(many)),
        ];
        for text in nested {
            assert!(!matches!(check(&text), Verdict::Sound), "{}", &text[..40]);
        }
        assert!(matches!(check(&"(".repeat(many)), Verdict::Broken(_)));
        assert!(matches!(check(&"/*".repeat(many)), Verdict::Broken(_)));
    }

    #[test]
    fn the_deepest_text_within_the_limits_has_room() {
        let most = MOST_STEPS - 16;
        for text in [
            format!("const X: bool = {}true;", "!".repeat(most)),
            format!("fn f() {{ {}1 }}", "|| ".repeat(most / 2)),
            format!("type T = {}u8{};", "V<".repeat(most / 3), ">".repeat(most / 3)),
            format!("const X: u32 = 1{};", "+1".repeat(most / 2)),
            format!("const X: u8 = {}1{};", "(".repeat(MOST_NESTED - 2), ")".repeat(MOST_NESTED - 2)),
            format!("fn f() {{ x{} }}", ".y()".repeat(most / 4)),
            format!("fn f() {{ {}1 }}", "return ".repeat(most)),
        ] {
            assert!(matches!(check(&text), Verdict::Sound), "{} {:?}", &text[..40], check(&text));
        }
    }
}
