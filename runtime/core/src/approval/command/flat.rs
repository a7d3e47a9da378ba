//! A second, simpler reading of a command: a flat list of simple commands, and nothing else.
//!
//! The parser of another crate decides what a command is made of; this reading must find the very same words in the very
//! same places, or the command counts as not understood. Whatever shells disagree about is no flat list here.

use super::reason::Reason;

/// A flat list: commands, and the operators between them (one fewer).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flat {
    /// The commands.
    pub commands: Vec<Simple>,
    /// The operators between and behind them: `|`, `&&`, `||`, `;`, `&`.
    pub operators: Vec<&'static str>,
}

/// A simple command, each part as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// Assignments before the program.
    pub assignments: Vec<String>,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Redirections.
    pub redirections: Vec<Redirection>,
}

/// A redirection, each part as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// The descriptor; empty where none is written.
    pub descriptor: String,
    /// The operator.
    pub operator: &'static str,
    /// The target.
    pub target: String,
}

/// Words that begin or end something that is no simple command.
pub const RESERVED: &[&str] = &[
    "!", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select",
    "then", "time", "until", "while", "{", "}",
];

const OPERATORS: &[(&str, Option<&str>)] = &[
    ("&&", Some("&&")),
    ("||", Some("||")),
    ("|&", None),
    (";;", None),
    (";&", None),
    ("|", Some("|")),
    (";", Some(";")),
    ("&", Some("&")),
];

const REDIRECTIONS: &[(&str, bool)] = &[
    ("<<", false),
    ("<(", false),
    (">(", false),
    ("&>", false),
    (">>", true),
    ("<>", true),
    (">|", true),
    ("<&", true),
    (">&", true),
    (">", true),
    ("<", true),
];

/// Reads `text` as a flat list.
///
/// # Errors
/// What it holds besides.
pub fn read(text: &str) -> Result<Flat, Reason> {
    let mut flat = Flat::default();
    let mut current = Simple::default();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        let Some(first) = rest.chars().next() else { break };
        match first {
            '\n' | '\r' => return Err(Reason::SeveralLines),
            '#' => return Err(Reason::Comment),
            '(' | ')' => return Err(Reason::Compound),
            _ => {}
        }
        if let Some((operator, kept)) = REDIRECTIONS.iter().find(|(operator, _)| rest.starts_with(operator)) {
            if !kept {
                return Err(match *operator {
                    "<<" => Reason::HereDocument,
                    // One shell takes it for a redirection, and another for a command in the background before one.
                    "&>" => Reason::Unparsed,
                    _ => Reason::Substitution,
                });
            }
            rest = redirection(&mut current, "", operator, &rest[operator.len()..])?;
        } else if let Some((operator, kept)) = OPERATORS.iter().find(|(operator, _)| rest.starts_with(operator)) {
            flat.operators.push(kept.ok_or(Reason::Compound)?);
            end(&mut flat, &mut current)?;
            rest = &rest[operator.len()..];
        } else {
            rest = word(&mut current, rest)?;
        }
    }
    // A list may end in `;` or `&`.
    if current == Simple::default() && matches!(flat.operators.last(), Some(&";" | &"&")) {
        return Ok(flat);
    }
    end(&mut flat, &mut current)?;
    Ok(flat)
}

fn end(flat: &mut Flat, current: &mut Simple) -> Result<(), Reason> {
    if *current == Simple::default() {
        return Err(Reason::Unparsed);
    }
    flat.commands.push(std::mem::take(current));
    Ok(())
}

/// Takes a word, or the descriptor of a redirection.
fn word<'a>(current: &mut Simple, text: &'a str) -> Result<&'a str, Reason> {
    let (taken, rest) = text.split_at(word_end(text)?);
    if taken.bytes().all(|byte| byte.is_ascii_digit())
        && let Some((operator, kept)) = REDIRECTIONS.iter().find(|(operator, _)| rest.starts_with(operator))
        && rest.starts_with(['<', '>'])
    {
        if !kept {
            return Err(Reason::HereDocument);
        }
        return redirection(current, taken, operator, &rest[operator.len()..]);
    }
    if current.words.is_empty() {
        if RESERVED.contains(&taken) {
            return Err(Reason::Compound);
        }
        if is_assignment(taken) {
            current.assignments.push(taken.to_owned());
            return Ok(rest);
        }
    }
    current.words.push(taken.to_owned());
    Ok(rest)
}

fn redirection<'a>(
    current: &mut Simple,
    descriptor: &str,
    operator: &'static str,
    text: &'a str,
) -> Result<&'a str, Reason> {
    let text = text.trim_start_matches([' ', '\t']);
    let (target, rest) = text.split_at(word_end(text)?);
    if target.is_empty() {
        return Err(Reason::Unparsed);
    }
    current.redirections.push(Redirection { descriptor: descriptor.to_owned(), operator, target: target.to_owned() });
    Ok(rest)
}

/// Where the word that `text` begins with ends. A word that holds a parenthesis is none of a flat list.
fn word_end(text: &str) -> Result<usize, Reason> {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None | Some('"'), '`') => return Err(Reason::Substitution),
            // What stands in `$(` and `${` has a grammar of its own, with quotes of its own.
            (None | Some('"'), '$') if text[at..].starts_with("$(") => return Err(Reason::Substitution),
            (None | Some('"'), '$') if text[at..].starts_with("${") && !is_plain_variable(&text[at + 2..]) => {
                return Err(Reason::Expansion);
            }
            (Some(_), _) => {}
            (None, '(' | ')') => return Err(Reason::Compound),
            (None, ' ' | '\t' | '\n' | '\r' | '|' | '&' | ';' | '<' | '>') => return Ok(at),
            (None, _) => {}
        }
    }
    if quote.is_some() || escaped { Err(Reason::Unparsed) } else { Ok(text.len()) }
}

/// A flat list without what stands in single quotes.
pub fn without_quoted(text: &str) -> String {
    let (mut bare, mut quote, mut escaped) = (String::with_capacity(text.len()), None, false);
    for c in text.chars() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (Some('\''), _) => continue,
            _ => {}
        }
        bare.push(c);
    }
    bare
}

/// Whether a name and nothing else stands before the closing brace.
fn is_plain_variable(text: &str) -> bool {
    let name = text.split('}').next().unwrap_or_default();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    is_name && name.len() < text.len()
}

/// Whether a word before the program sets a variable.
pub fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or(name);
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands as `ASSIGNMENTS words < redirections`, with the operators between them.
    #[track_caller]
    fn check(text: &str, expect: Result<&str, Reason>) {
        let read = read(text).map(|flat| {
            let mut shown = Vec::new();
            let mut operators = flat.operators.iter();
            for command in &flat.commands {
                let parts = command.assignments.iter().map(|a| format!("={a}"));
                let parts = parts.chain(command.words.iter().map(|word| format!("({word})")));
                let redirections = command.redirections.iter();
                let parts = parts.chain(redirections.map(|r| format!("{}{}{}", r.descriptor, r.operator, r.target)));
                shown.extend(parts);
                shown.extend(operators.next().map(|operator| (*operator).to_owned()));
            }
            shown.join(" ")
        });
        assert_eq!(read.as_deref().map_err(|reason| *reason), expect, "{text}");
    }

    #[test]
    fn flat_lists_are_read() {
        check("ls -la", Ok("(ls) (-la)"));
        check("  ls\t'a b' \"c;d\" e\\ f", Ok("(ls) ('a b') (\"c;d\") (e\\ f)"));
        check("a|b&&c||d;e&", Ok("(a) | (b) && (c) || (d) ; (e) &"));
        check("A=1 B='2 3' x C=4", Ok("=A=1 =B='2 3' (x) (C=4)"));
        check("x >a 2>&1 </dev/null >>b", Ok("(x) >a 2>&1 </dev/null >>b"));
        check("echo 2 >a", Ok("(echo) (2) >a"));
        check("echo a2>b", Ok("(echo) (a2) >b"));
        check("echo \"a && b\"", Ok("(echo) (\"a && b\")"));
        check("> f", Ok(">f"));
    }

    #[test]
    fn what_is_quoted_is_left_out() {
        assert_eq!(without_quoted("a 'b c' \"d'e\" \\'f 'g'"), "a '' \"d'e\" \\'f ''");
    }

    #[test]
    fn everything_else_is_no_flat_list() {
        check("ls\nrm x", Err(Reason::SeveralLines));
        check("ls # x", Err(Reason::Comment));
        check("(ls)", Err(Reason::Compound));
        check("if true", Err(Reason::Compound));
        check("! ls", Err(Reason::Compound));
        check("f() { ls", Err(Reason::Compound));
        check("cat <<E", Err(Reason::HereDocument));
        check("cat <<< x", Err(Reason::HereDocument));
        check("cat <(ls)", Err(Reason::Substitution));
        check("ls \"$(id)\"", Err(Reason::Substitution));
        check("ls `id`", Err(Reason::Substitution));
        check("cat${IFS}x", Ok("(cat${IFS}x)"));
        check("cat ${IFS:0:1}x", Err(Reason::Expansion));
        check("ls &> f", Err(Reason::Unparsed));
        check("a |& b", Err(Reason::Compound));
        check("ls ;; x", Err(Reason::Compound));
        check("| ls", Err(Reason::Unparsed));
        check("ls |", Err(Reason::Unparsed));
        check("ls && ; x", Err(Reason::Unparsed));
        check("ls >", Err(Reason::Unparsed));
        check("ls 'x", Err(Reason::Unparsed));
    }
}
