//! Broken arguments by class, each with the value that was meant: what the argument ladder and its peers are judged by.
//!
//! An object has about 300 bytes, as the arguments of an edit have: a path, code with quotes and brackets, numbers, a
//! list. Equal seeds give equal texts. Nothing here repairs anything.

use serde_json::{Map, Value, json};

/// A way in which a model breaks its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Nothing is broken.
    Valid,
    /// A comma before every closer.
    TrailingComma,
    /// The closers at the end are missing.
    Unclosed,
    /// Line breaks and tabs stand raw in the strings.
    RawNewlineTab,
    /// U+0001 stands raw in a string, besides. It means nothing to any tool and is not in the value that was meant.
    RawControl,
    /// The text ends inside its last string, which was the last of it.
    TruncatedString,
    /// A code fence around it all.
    Fenced,
    /// One closer too many.
    ExtraCloser,
    /// The object is encoded twice.
    EncodedTwice,
    /// Apostrophes for quotes.
    SingleQuotes,
    /// Keys without quotes.
    UnquotedKeys,
    /// `True`, `False` and `None`.
    PythonLiterals,
    /// No comma between two fields.
    MissingComma,
    /// A backslash before a letter that makes no escape.
    InvalidEscape,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 14] = [
        Class::Valid,
        Class::TrailingComma,
        Class::Unclosed,
        Class::RawNewlineTab,
        Class::RawControl,
        Class::TruncatedString,
        Class::Fenced,
        Class::ExtraCloser,
        Class::EncodedTwice,
        Class::SingleQuotes,
        Class::UnquotedKeys,
        Class::PythonLiterals,
        Class::MissingComma,
        Class::InvalidEscape,
    ];

    /// Whether the ladder mends it. The others have more than one reading, and are refused.
    pub fn is_mended(self) -> bool {
        use Class::{InvalidEscape, MissingComma, PythonLiterals, SingleQuotes, UnquotedKeys};
        !matches!(self, SingleQuotes | UnquotedKeys | PythonLiterals | MissingComma | InvalidEscape)
    }
}

/// A text that is broken in one way, and what was meant by it.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The text.
    pub text: String,
    /// The value.
    pub meant: Value,
}

/// `count` samples of a class.
pub fn samples(class: Class, count: usize) -> Vec<Sample> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    (0..count).map(|number| sample(class, object(&mut random, number, 5))).collect()
}

/// One sample of about `bytes` bytes: a list of small edits.
pub fn large(class: Class, bytes: usize) -> Sample {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let edits: Vec<Value> = (0..bytes / 300).map(|number| object(&mut random, number, 5)).collect();
    sample(class, json!({ "edits": edits, "note": "all of them\n\tat once" }))
}

/// A text that wears readers down, by its name.
pub fn hostile(size: usize) -> Vec<(&'static str, String)> {
    vec![
        ("open brackets", format!("{{\"a\":{}", "[".repeat(size))),
        ("open objects", "{\"a\":".repeat(size / 5)),
        ("closed nesting", format!("{{\"a\":{}{}}}", "[".repeat(size / 2), "]".repeat(size / 2))),
        ("quotes", format!("{{{}", "\"".repeat(size))),
        ("quotes in a string", format!("{{\"a\":\"{}", "\"".repeat(size))),
        ("unclosed string", format!("{{\"a\":\"{}", "x".repeat(size))),
        ("unclosed items", format!("{{\"a\":[{}", "\"x,".repeat(size / 3))),
        ("backslashes", format!("{{\"a\":\"{}", "\\".repeat(size))),
        ("commas", format!("{{\"a\":[1{}", ",".repeat(size))),
        ("closers", format!("{{}}{}", "]".repeat(size))),
        ("closers of both kinds", format!("{{\"a\":[{}", "]}".repeat(size / 2))),
        ("bare words", format!("{{{}", "word ".repeat(size / 5))),
        ("apostrophes", format!("{{{}", "'".repeat(size))),
        ("raw control characters", format!("{{\"a\":\"{}\"}}", "\u{1}".repeat(size))),
        ("raw line breaks", format!("{{\"a\":\"{}\"}}", "\n".repeat(size))),
        ("escapes of half characters", format!("{{\"a\":\"{}\"}}", "\\ud800".repeat(size / 6))),
        ("digits", format!("{{\"a\":{}}}", "9".repeat(size))),
        ("one key again and again", format!("{{{}}}", vec!["\"k\":1"; size / 6].join(","))),
        ("many keys", {
            let fields: Vec<String> = (0..size / 12).map(|n| format!("\"k{n:06}\":1")).collect();
            format!("{{{}", fields.join(","))
        }),
        ("fences", format!("```json\n{{{}", "```".repeat(size / 3))),
    ]
}

/// An object as a tool gets it.
fn object(random: &mut Random, number: usize, lines: usize) -> Value {
    const CODE: [&str; 6] = [
        "fn main() { call(a, b); }",
        "let list = vec![1, 2, 3];",
        "if x == \"yes\" { return; }",
        "// it's a comment, with a comma",
        "\tpath = C:/dir; ok: true",
        "müßte “so” gehen → {}",
    ];
    let code: Vec<&str> = (0..lines).map(|_| CODE[random.below(CODE.len())]).collect();
    let mut object = Map::new();
    object.insert("path".into(), json!(format!("src/module_{number}/file.rs")));
    object.insert("count".into(), json!(random.below(1_000_000)));
    object.insert("ratio".into(), json!(0.5));
    object.insert("all".into(), json!(random.below(2) == 0));
    object.insert("none".into(), Value::Null);
    object.insert("tags".into(), json!(["a", "b", number]));
    object.insert("range".into(), json!({ "from": 1, "to": random.below(500) }));
    object.insert("text".into(), json!(code.join("\n")));
    Value::Object(object)
}

fn sample(class: Class, meant: Value) -> Sample {
    let valid = meant.to_string();
    let text = match class {
        Class::Valid => valid,
        Class::TrailingComma => {
            outside(&valid, |at| if matches!(at, '}' | ']') { Some(format!(", {at}")) } else { None })
        }
        Class::Unclosed => valid.trim_end_matches(['}', ']']).to_owned(),
        Class::RawNewlineTab => raw(&valid),
        Class::RawControl => raw(&valid).replacen("src/", "s\u{1}rc/", 1),
        Class::TruncatedString => valid.trim_end_matches(['}', ']']).trim_end_matches('"').to_owned(),
        Class::Fenced => format!("```json\n{valid}\n```"),
        Class::ExtraCloser => valid + "}",
        Class::EncodedTwice => Value::String(valid).to_string(),
        Class::SingleQuotes => quoted(&valid),
        Class::UnquotedKeys => valid.replace("\"path\":", "path:").replace("\"count\":", "count:"),
        Class::PythonLiterals => valid.replace(":true", ":True").replace(":false", ":False").replace(":null", ":None"),
        Class::MissingComma => valid.replacen(",\"none\"", " \"none\"", 1),
        Class::InvalidEscape => valid.replacen("src/", "C:\\dir/", 1),
    };
    let meant = match class {
        Class::InvalidEscape => serde_json::from_str(&valid_again(&text)).unwrap_or(meant),
        _ => meant,
    };
    Sample { text, meant }
}

/// What was most likely meant by a backslash that makes no escape: the backslash.
fn valid_again(text: &str) -> String {
    text.replacen("C:\\dir/", "C:\\\\dir/", 1)
}

/// Replaces characters outside of strings.
fn outside(text: &str, replace: impl Fn(char) -> Option<String>) -> String {
    let (mut out, mut inside, mut escaped) = (String::with_capacity(text.len() * 2), false, false);
    for at in text.chars() {
        match (inside, escaped, at) {
            (true, true, _) => escaped = false,
            (true, false, '\\') => escaped = true,
            (_, false, '"') => inside = !inside,
            _ => {}
        }
        match replace(at).filter(|_| !inside) {
            Some(new) => out.push_str(&new),
            None => out.push(at),
        }
    }
    out
}

/// The escapes of line breaks and tabs, written as themselves.
fn raw(text: &str) -> String {
    let (mut out, mut chars) = (String::with_capacity(text.len()), text.chars());
    while let Some(at) = chars.next() {
        match (at, if at == '\\' { chars.next() } else { None }) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some(other)) => out.extend(['\\', other]),
            (at, _) => out.push(at),
        }
    }
    out
}

/// Apostrophes for the quotes of strings, the apostrophes inside escaped as a model would.
fn quoted(text: &str) -> String {
    let (mut out, mut chars) = (String::with_capacity(text.len()), text.chars());
    while let Some(at) = chars.next() {
        match (at, if at == '\\' { chars.next() } else { None }) {
            ('\\', Some('"')) => out.push('"'),
            ('\\', Some(other)) => out.extend(['\\', other]),
            ('"', _) => out.push('\''),
            ('\'', _) => out.push_str("\\'"),
            (at, _) => out.push(at),
        }
    }
    out
}

/// A generator of numbers that is the same on every machine (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slot_wire::repair::{TurnEnd, read_arguments};

    /// What the rules mend comes out as it was meant, what they do not is refused, and nothing comes out as something
    /// else.
    #[test]
    fn every_class_comes_out_exact_or_is_refused() {
        for class in Class::ALL {
            for Sample { text, meant } in samples(class, 200) {
                let read = read_arguments(&text, TurnEnd::Clean);
                match class.is_mended() {
                    true => assert_eq!(read.map(|read| read.value), Ok(meant), "{class:?}: {text}"),
                    false => assert!(read.is_err(), "{class:?}: {text}"),
                }
            }
        }
    }

    #[test]
    fn every_class_but_the_valid_one_is_broken() {
        for class in Class::ALL {
            let broken =
                samples(class, 20).iter().filter(|s| serde_json::from_str::<Map<_, _>>(&s.text).is_err()).count();
            assert_eq!(broken, if class == Class::Valid { 0 } else { 20 }, "{class:?}");
        }
    }

    #[test]
    fn large_ones_come_out_exact() {
        for class in [Class::Valid, Class::TrailingComma, Class::Unclosed, Class::RawNewlineTab] {
            let Sample { text, meant } = large(class, 900_000);
            assert_eq!(read_arguments(&text, TurnEnd::Clean).map(|read| read.value), Ok(meant), "{class:?}");
        }
    }

    /// A million brackets on a stack of 64 KiB: no reader here goes down with the text.
    #[test]
    fn no_depth_grows_the_stack() {
        let run = || {
            for (name, text) in hostile(1_000_000) {
                let read = read_arguments(&text, TurnEnd::Clean);
                let cut = read_arguments(&text, TurnEnd::Cut);
                assert!(cut.is_err() || read.is_ok(), "{name}");
                drop((read, cut));
            }
        };
        let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(run);
        thread.expect("a thread can be started").join().expect("it ends well");
    }
}
