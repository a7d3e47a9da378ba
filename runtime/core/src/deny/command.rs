//! Commands: what a rule says of them, and whether that covers one.
//!
//! A rule is compared with words, never with text: `/usr/bin/git  -C x 'push'` is `git push`. It is a prefix of words, with
//! or without `:*` at its end, because a word more is not another command. Which commands a text runs is told elsewhere
//! ([`super::reader`]).

use super::{git, glob};

/// What a command line runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commands {
    /// These commands and no other, whatever they are given to read; also those that another one runs: for `sudo ls` both
    /// `sudo ls` and `ls`.
    Simple(Vec<SimpleCommand>),
    /// Nobody can tell.
    Opaque {
        /// Why, as a clause.
        why: String,
    },
}

/// One command as its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The name of the command and its arguments, without quotes.
    pub words: Vec<Word>,
}

/// One word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// It is this.
    Known(String),
    /// It is made when the command runs, and may become any words or none.
    Unknown,
}

/// A command's name without the folder it lies in.
pub(super) fn base_name(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// What a rule says of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPattern {
    /// The command's name, in lower case.
    head: String,
    /// The words after it, up to the first flag.
    lead: Vec<String>,
    /// The flags, wherever they stand.
    flags: Vec<String>,
    /// The words after the first flag, wherever they stand.
    loose: Vec<String>,
}

impl CommandPattern {
    /// Reads the parameter of a rule.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_suffix(":*").unwrap_or(text);
        if text.contains(":*") {
            return Err("`:*` stands at its end only".to_owned());
        }
        if let Some(c) = text.chars().find(|c| "|&;<>()`$\\'\"\n{}[]?!#~".contains(*c)) {
            return Err(format!(
                "it holds {c:?}; a rule is about one plain command, such as `git push:*`, and a chain is denied for each of its \
                 commands"
            ));
        }
        let mut words = text.split_whitespace().map(str::to_lowercase);
        let Some(head) = words.next() else { return Err("it names no command".to_owned()) };
        if head.contains('=') || head.starts_with('-') {
            return Err(format!("{head:?} is no command; write it without assignments and flags before its name"));
        }
        let mut pattern = CommandPattern {
            head: base_name(&head).to_owned(),
            lead: Vec::new(),
            flags: Vec::new(),
            loose: Vec::new(),
        };
        if pattern.head.is_empty() {
            return Err("it names a folder, and no command".to_owned());
        }
        if pattern.head == "*" {
            pattern.lead.push("*".to_owned());
        }
        for word in words {
            match word {
                flag if is_flag(&flag) => pattern.flags.push(flag),
                word if pattern.flags.is_empty() => pattern.lead.push(word),
                word => pattern.loose.push(word),
            }
        }
        while pattern.lead.last().is_some_and(|word| word == "*") {
            pattern.lead.pop();
        }
        Ok(pattern)
    }

    /// The command as it is told to a model.
    pub fn shown(&self) -> String {
        let words = [&self.lead, &self.flags, &self.loose].into_iter().flatten();
        std::iter::once(&self.head).chain(words).map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Whether the command is what the rule denies, or may become it.
    pub fn covers(&self, command: &SimpleCommand) -> bool {
        let Some((head, rest)) = command.words.split_first() else { return false };
        match head {
            Word::Unknown => return true,
            Word::Known(name) if !glob(&self.head, &base_name(name).to_lowercase()) => return false,
            Word::Known(name) => {
                let alias = !self.lead.is_empty() && base_name(name).eq_ignore_ascii_case("git");
                if alias && git::may_be_alias(rest) {
                    return true;
                }
            }
        }
        self.leads(rest)
            && self.flags.iter().all(|flag| may_hold_flag(flag, rest))
            && self.loose.iter().all(|text| rest.iter().any(|word| may_end_in(text, word)))
    }

    /// Whether the words begin with those of the rule, flags and the values of flags set aside.
    fn leads(&self, words: &[Word]) -> bool {
        let goal = self.lead.len();
        // For each number of words of the rule that have been met: whether one can be here, and whether right after a flag.
        let mut here = vec![[false; 2]; goal + 1];
        here[0][0] = true;
        self.skip_stars(&mut here);
        for word in words {
            if here[goal] != [false; 2] {
                return true;
            }
            let mut next = vec![[false; 2]; goal + 1];
            for met in 0..goal {
                let [plain, after_flag] = here[met];
                if !plain && !after_flag {
                    continue;
                }
                match word {
                    Word::Unknown => next[met..].iter_mut().for_each(|state| *state = [true; 2]),
                    Word::Known(text) => {
                        let text = text.to_lowercase();
                        next[met + 1][0] |= glob(&self.lead[met], &text);
                        next[met][1] |= is_flag(&text);
                        next[met][0] |= after_flag || self.lead[met] == "*";
                    }
                }
            }
            here = next;
            self.skip_stars(&mut here);
        }
        here[goal] != [false; 2]
    }

    /// A star on its own stands for any number of words, and for none.
    fn skip_stars(&self, here: &mut [[bool; 2]]) {
        for met in 0..self.lead.len() {
            if self.lead[met] == "*" && here[met] != [false; 2] {
                here[met + 1][0] = true;
            }
        }
    }
}

fn is_flag(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') || word.starts_with('+') && word.len() > 1
}

/// Whether the words may hold the flag of a rule in some spelling: in a cluster, one letter here and one there, abbreviated,
/// with its value, short for long or long for short.
fn may_hold_flag(flag: &str, words: &[Word]) -> bool {
    let name = |text: &str| text.trim_start_matches(['-', '+']).split('=').next().unwrap_or_default().to_owned();
    let wanted = name(flag);
    let given = |word: &Word| match word {
        Word::Unknown => None,
        Word::Known(word) => Some(word.to_lowercase()).filter(|word| is_flag(word)),
    };
    let letter = |c: char| {
        let may_be = |word: &String| if word.starts_with("--") { name(word).starts_with(c) } else { word.contains(c) };
        words.iter().filter_map(given).any(|word| may_be(&word))
    };
    let whole = |word: String| {
        let given = name(&word);
        glob(&wanted, &given) || !given.is_empty() && word.starts_with("--") && wanted.starts_with(&given)
    };
    words.contains(&Word::Unknown)
        || words.iter().filter_map(given).any(whole)
        || if flag.starts_with("--") { wanted.chars().next().is_some_and(letter) } else { wanted.chars().all(letter) }
}

fn may_end_in(text: &str, word: &Word) -> bool {
    match word {
        Word::Unknown => true,
        Word::Known(word) => glob(&format!("*{text}"), &word.to_lowercase()),
    }
}
