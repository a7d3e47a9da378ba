//! One word of a shell command, and what it means before anything is expanded.

use super::reason::Reason;

/// A word as it stands in a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As it is written.
    pub raw: String,
    /// What the program gets, where that follows from the word alone.
    pub text: Option<String>,
    /// Why it does not follow, or what else is special about the word.
    pub special: Option<Reason>,
}

/// Where in a word the reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
}

impl Word {
    /// Reads a word as `sh` and `bash` alike would. What the two disagree about, or what depends on variables, files or
    /// other commands, is special.
    pub fn read(raw: &str) -> Word {
        let (mut text, mut special, mut quote) = (String::new(), None, Quote::None);
        let mut chars = raw.chars().peekable();
        let mut before = None;
        while let Some(c) = chars.next() {
            match (quote, c) {
                (Quote::None, '\'') => quote = Quote::Single,
                (Quote::None, '"') => quote = Quote::Double,
                (Quote::Single, '\'') | (Quote::Double, '"') => quote = Quote::None,
                (Quote::Single, _) => text.push(c),
                (Quote::None, '\\') => match chars.next() {
                    Some('\n') | None => raise(&mut special, Reason::SeveralLines),
                    Some(next) => text.push(next),
                },
                (Quote::Double, '\\') => match chars.peek() {
                    Some('$' | '`' | '"' | '\\') => text.extend(chars.next()),
                    Some('\n') | None => raise(&mut special, Reason::SeveralLines),
                    // Kept by both shells, but some of their own commands read such a pair once more.
                    Some(_) => text.push('\\'),
                },
                (Quote::None | Quote::Double, '$') => match chars.peek() {
                    Some('(') => raise(&mut special, Reason::Substitution),
                    _ => raise(&mut special, Reason::Expansion),
                },
                (Quote::None | Quote::Double, '`') => raise(&mut special, Reason::Substitution),
                (Quote::None, '*' | '?' | '[' | '{' | '}') => raise(&mut special, Reason::Pattern),
                (Quote::None, '~') if matches!(before, None | Some(':' | '=')) => raise(&mut special, Reason::Pattern),
                (Quote::None | Quote::Double, _) => text.push(c),
            }
            before = Some(c);
        }
        if quote != Quote::None {
            raise(&mut special, Reason::Unparsed);
        }
        Word { raw: raw.to_owned(), text: special.is_none().then_some(text), special }
    }

    /// The text where it is known, else the word as it is written.
    pub fn shown(&self) -> &str {
        self.text.as_deref().unwrap_or(&self.raw)
    }

    /// Whether it is written without any quoting, in letters that no other letter can be taken for.
    pub fn is_bare(&self) -> bool {
        self.text.as_ref() == Some(&self.raw)
            && self.raw.chars().all(|c| c.is_ascii_alphanumeric() || "_-+./:,@%".contains(c))
    }
}

/// Keeps the reason that weighs most.
fn raise(special: &mut Option<Reason>, reason: Reason) {
    *special = (*special).max(Some(reason));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &str, expect: Result<&str, Reason>) {
        let word = Word::read(raw);
        assert_eq!(word.text.as_deref().ok_or(word.special), expect.map_err(Some), "{raw}");
    }

    #[test]
    fn quotes_are_taken_off() {
        check("plain", Ok("plain"));
        check("'a b'\"c d\"e", Ok("a bc de"));
        check("r''m", Ok("rm"));
        check("\\rm", Ok("rm"));
        check("\"a\\\"b\\\\c\\d\"", Ok("a\"b\\c\\d"));
        check("'$HOME `id` *'", Ok("$HOME `id` *"));
        check("\"a * ~ {b}\"", Ok("a * ~ {b}"));
        check("''", Ok(""));
    }

    #[test]
    fn what_depends_on_something_else_is_not_text() {
        check("$HOME", Err(Reason::Expansion));
        check("\"$HOME\"", Err(Reason::Expansion));
        check("${IFS:0:1}", Err(Reason::Expansion));
        check("$'r\\155'", Err(Reason::Expansion));
        check("\"$(id)\"", Err(Reason::Substitution));
        check("a`id`", Err(Reason::Substitution));
        check("*.rs", Err(Reason::Pattern));
        check("{rm,-rf,x}", Err(Reason::Pattern));
        check("~", Err(Reason::Pattern));
        check("a=~/x", Err(Reason::Pattern));
        check("HEAD~1", Ok("HEAD~1"));
        check("'open", Err(Reason::Unparsed));
        check("a\\", Err(Reason::SeveralLines));
        check("a\\\nb", Err(Reason::SeveralLines));
    }

    #[test]
    fn only_a_word_without_quotes_and_look_alikes_is_bare() {
        for (raw, bare) in [("ls", true), ("r''m", false), ("\\rm", false), ("l\u{455}", false), ("a\u{200b}b", false)]
        {
            assert_eq!(Word::read(raw).is_bare(), bare, "{raw}");
        }
    }
}
