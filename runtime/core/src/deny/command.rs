//! Commands: what a rule says of them, what a command line is known to run, and whether the one covers the other.
//!
//! A rule is compared with words, never with text: `/usr/bin/git  -C x 'push'` is `git push`. It is a prefix of words, with
//! or without `:*` at its end, because a word more is not another command.

use super::{git, glob};

/// What a command line runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commands {
    /// These commands and no other, whatever they are given to read.
    Simple(Vec<SimpleCommand>),
    /// Nobody can tell.
    Opaque {
        /// What in it, in words that go on from "it holds".
        what: String,
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

/// Tells what a command line runs.
///
/// The list holds every command that may run, also those that another one runs: for `sudo ls` both `sudo ls` and `ls`.
/// Whoever cannot promise that answers [`Commands::Opaque`].
pub trait CommandReader: Send + Sync {
    /// What `text` runs when a shell takes it.
    fn read(&self, text: &str) -> Commands;
}

/// Knows a single command in plain words, and calls everything else opaque: chains, pipes, redirections, substitutions,
/// several lines, assignments, and commands that run others.
pub struct PlainCommands;

/// The longest command line that is read, in bytes.
const LONGEST: usize = 64 << 10;

/// Commands that run what they are given, and words of the shell that begin something else than a command.
const RUNNERS: &[&str] = &[
    "!",
    "(",
    "[[",
    "alias",
    "ash",
    "at",
    "awk",
    "bash",
    "batch",
    "builtin",
    "bun",
    "busybox",
    "case",
    "chroot",
    "chrt",
    "cmd",
    "command",
    "coproc",
    "crontab",
    "csh",
    "dash",
    "deno",
    "docker",
    "doas",
    "ed",
    "elvish",
    "emacs",
    "enable",
    "env",
    "eval",
    "ex",
    "exec",
    "expect",
    "fakeroot",
    "fd",
    "find",
    "firejail",
    "fish",
    "flock",
    "for",
    "function",
    "gawk",
    "gdb",
    "hash",
    "if",
    "ionice",
    "ksh",
    "less",
    "ltrace",
    "lua",
    "make",
    "man",
    "mawk",
    "mksh",
    "more",
    "nawk",
    "nice",
    "node",
    "nohup",
    "npx",
    "nsenter",
    "nu",
    "parallel",
    "perl",
    "php",
    "pkexec",
    "podman",
    "powershell",
    "proxychains",
    "pwsh",
    "rlwrap",
    "rsync",
    "ruby",
    "run0",
    "runuser",
    "scp",
    "screen",
    "script",
    "sed",
    "select",
    "setarch",
    "setpriv",
    "setsid",
    "sh",
    "socat",
    "source",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "tar",
    "taskset",
    "tcsh",
    "tclsh",
    "time",
    "timeout",
    "tmux",
    "toybox",
    "trap",
    "unshare",
    "until",
    "uv",
    "uvx",
    "valgrind",
    "vi",
    "view",
    "vim",
    "nvim",
    "watch",
    "while",
    "xargs",
    "xonsh",
    "zsh",
    "{",
    "}",
    ".",
    "do",
    "then",
    "else",
    "done",
    "fi",
    "esac",
    "in",
];

/// Beginnings of names that come with version numbers.
const RUNNER_BEGINNINGS: &[&str] = &["python", "pypy", "perl5", "ruby2", "ruby3", "lua5", "php8", "php7", "nodejs"];

impl CommandReader for PlainCommands {
    fn read(&self, text: &str) -> Commands {
        let opaque = |what: &str| Commands::Opaque { what: what.to_owned() };
        if text.len() > LONGEST {
            return opaque("more text than is read");
        }
        let words = match words(text.trim_matches([' ', '\t', '\n'])) {
            Ok(words) => words,
            Err(what) => return opaque(what),
        };
        match words.first() {
            None => return Commands::Simple(Vec::new()),
            Some(Word::Known(name)) if name.is_empty() => return opaque("a command without a name"),
            Some(Word::Known(name)) if name.contains('=') => return opaque("an assignment before the command"),
            Some(Word::Known(name)) if runs_others(base_name(name)) => return opaque("a command that runs others"),
            Some(Word::Known(name)) if base_name(name).eq_ignore_ascii_case("git") && git::runs_others(&words[1..]) => {
                return opaque("a git command that runs others");
            }
            Some(_) => {}
        }
        Commands::Simple(vec![SimpleCommand { words }])
    }
}

fn runs_others(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    RUNNERS.contains(&name.as_str()) || RUNNER_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// A command's name without the folder it lies in.
pub(super) fn base_name(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// The words of a plain command, or what makes it none.
fn words(text: &str) -> Result<Vec<Word>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<(String, bool)> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let (known, unknown) = match c {
            ' ' | '\t' => {
                words.extend(word.take().map(finished));
                continue;
            }
            '#' if word.is_none() => return Err("a comment"),
            '\'' => (single_quoted(&mut chars)?, false),
            '"' => double_quoted(&mut chars)?,
            '\\' => match chars.next() {
                Some('\n') | None => return Err("a line that goes on"),
                Some(c) => (c.to_string(), false),
            },
            '$' => {
                variable(&mut chars)?;
                (String::new(), true)
            }
            '*' | '?' | '[' | ']' | '{' | '~' | '^' => (String::new(), true),
            '}' if word.is_some() => (String::new(), true),
            c => (plain(c)?.to_string(), false),
        };
        let word = word.get_or_insert_default();
        word.0.push_str(&known);
        word.1 |= unknown;
    }
    words.extend(word.map(finished));
    Ok(words)
}

fn finished((text, unknown): (String, bool)) -> Word {
    if unknown { Word::Unknown } else { Word::Known(text) }
}

fn plain(c: char) -> Result<char, &'static str> {
    match c {
        '|' | '&' | ';' => Err("a chain, a pipe or a job in the background"),
        '<' | '>' => Err("a redirection"),
        '`' => Err("a substitution"),
        '(' | ')' | '}' | '!' => Err("a group or a condition"),
        '\n' | '\r' => Err("several lines"),
        c if c.is_control() => Err("a control character"),
        // Blank to a person and a letter to a shell, or the other way round.
        c if c.is_whitespace() => Err("a blank that is no space"),
        c => Ok(c),
    }
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn single_quoted(chars: &mut Chars<'_>) -> Result<String, &'static str> {
    let mut text = String::new();
    for c in chars.by_ref() {
        match c {
            '\'' => return Ok(text),
            '\0' => return Err("a control character"),
            c => text.push(c),
        }
    }
    Err("a quote that is not closed")
}

fn double_quoted(chars: &mut Chars<'_>) -> Result<(String, bool), &'static str> {
    let (mut text, mut unknown) = (String::new(), false);
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok((text, unknown)),
            '`' => return Err("a substitution"),
            '$' => {
                variable(chars)?;
                unknown = true;
            }
            '\\' => match chars.next() {
                Some(c @ ('"' | '\\' | '$' | '`')) => text.push(c),
                Some('\n') | None => return Err("a line that goes on"),
                Some(c) => text.extend(['\\', c]),
            },
            '\0' => return Err("a control character"),
            c => text.push(c),
        }
    }
    Err("a quote that is not closed")
}

/// Passes over a plain variable after its `$`.
fn variable(chars: &mut Chars<'_>) -> Result<(), &'static str> {
    let braced = chars.next_if_eq(&'{').is_some();
    let mut any = false;
    while chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_').is_some() {
        any = true;
    }
    let closed = !braced || chars.next_if_eq(&'}').is_some();
    if any && closed { Ok(()) } else { Err("a substitution") }
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
