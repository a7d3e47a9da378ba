//! Programs that run others, as far as it can be told which: their options, and where the other command stands.
//!
//! Each entry lists the options that were looked at. With any other, or with an argument that is only known when the
//! command runs, nobody can tell, and the answer is why. Programs that are known to run others and have no entry are opaque
//! whatever they are given.

use super::command::Word;
use super::reader::is_harmless_assignment;
use crate::approval::command::{is_option, looks_of_find, may_run_others};

/// Where `find` and `xargs` put what they found.
pub(super) const PLACE: &str = "{}";

/// What a program runs besides itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// This command, without a shell between.
    Command(Vec<Word>),
    /// What a shell makes of this text.
    Script(String),
}

/// A program that runs the command behind its own arguments.
struct Wrapper {
    name: &'static str,
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options with a value, within the same word or as the next.
    values: &'static [&'static str],
    /// How many words of its own stand before the command.
    operands: usize,
    /// Whether variables may be set before the command.
    assigns: bool,
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper { name: "command", flags: &["-p", "-v", "-V"], ..PLAIN },
    Wrapper { name: "doas", flags: &["-n"], values: &["-u"], ..PLAIN },
    Wrapper {
        name: "env",
        flags: &["-", "-i", "--ignore-environment"],
        values: &["-u", "--unset"],
        assigns: true,
        ..PLAIN
    },
    Wrapper { name: "exec", ..PLAIN },
    Wrapper { name: "ionice", flags: &["-t"], values: &["-c", "-n"], ..PLAIN },
    Wrapper { name: "nice", values: &["-n", "--adjustment"], ..PLAIN },
    Wrapper { name: "nohup", ..PLAIN },
    Wrapper { name: "setsid", flags: &["-c", "-f", "-w", "--ctty", "--fork", "--wait"], ..PLAIN },
    Wrapper { name: "stdbuf", values: &["-e", "-i", "-o", "--error", "--input", "--output"], ..PLAIN },
    Wrapper {
        name: "sudo",
        flags: &["-E", "-H", "-n", "-S", "--non-interactive", "--preserve-env", "--set-home", "--stdin"],
        values: &["-g", "-u", "--group", "--user"],
        assigns: true,
        ..PLAIN
    },
    Wrapper {
        name: "timeout",
        flags: &["-v", "--foreground", "--preserve-status", "--verbose"],
        values: &["-k", "-s", "--kill-after", "--signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "xargs",
        flags: &["-0", "-r", "-t", "--no-run-if-empty", "--null", "--verbose"],
        values: &["-I", "-L", "-P", "-n", "--max-args", "--max-procs"],
        ..PLAIN
    },
];

const PLAIN: Wrapper = Wrapper { name: "", flags: &[], values: &[], operands: 0, assigns: false };

/// Shells whose grammar is the one that is read here.
const SHELLS: &[&str] = &["ash", "bash", "dash", "sh"];

/// Programs that run another one only where one of these stands among their arguments: options, also cut short, and words.
const BY_OPTION: &[(&str, &[&str])] = &[
    ("ack", &["--pager"]),
    ("ag", &["--pager"]),
    ("apt", &["-o", "-c", "--option", "--config-file"]),
    ("apt-get", &["-o", "-c", "--option", "--config-file"]),
    ("bat", &["--pager"]),
    ("bundle", &["exec"]),
    ("cargo", &["--config"]),
    ("gcc", &["-wrapper"]),
    ("go", &["-exec", "-toolexec", "-vettool"]),
    ("nc", &["-c", "-e", "--exec", "--lua-exec", "--sh-exec"]),
    ("ncat", &["-c", "-e", "--exec", "--lua-exec", "--sh-exec"]),
    ("netcat", &["-c", "-e", "--exec", "--lua-exec", "--sh-exec"]),
    ("nmap", &["--script", "--interactive"]),
    ("npm", &["exec", "explore", "x"]),
    ("pipenv", &["run"]),
    ("pnpm", &["dlx", "exec"]),
    ("poetry", &["run"]),
    // Of these two the name of a variable may hold a subscript, which a shell computes.
    ("printf", &["-v"]),
    ("test", &["-v", "-R"]),
    ("[", &["-v", "-R"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("sort", &["--compress-program"]),
    ("split", &["--filter"]),
    ("wget", &["--use-askpass"]),
    ("yarn", &["dlx", "exec"]),
    ("zip", &["-T", "--unzip-command"]),
];

/// What a program runs besides itself; `Err` where that cannot be told. The name has no path and is in lower case.
pub(super) fn runs(name: &str, arguments: &[Word]) -> Result<Vec<Runs>, String> {
    let opaque = |what: &str| Err(format!("`{name}` runs others, and {what}"));
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
        return match behind(wrapper, arguments) {
            Some(command) => Ok(command.map(Runs::Command).into_iter().collect()),
            None => opaque("what stands before the other command is not known here"),
        };
    }
    if SHELLS.contains(&name) {
        return match script(arguments) {
            Some(text) => Ok(vec![Runs::Script(text)]),
            None => opaque("it is not given as text behind `-c`"),
        };
    }
    match name {
        "eval" => match known(arguments) {
            Some(words) => Ok(vec![Runs::Script(words.join(" "))]),
            None => opaque("what it is given is only known when it runs"),
        },
        "find" => match found(arguments) {
            Some(commands) => Ok(commands.into_iter().map(Runs::Command).collect()),
            None => opaque("one of its arguments may run or remove something"),
        },
        _ if may_run_others(name) => opaque("which is in what it is given"),
        _ if runs_by_option(name, arguments) => opaque("one of its arguments may name which"),
        _ => Ok(Vec::new()),
    }
}

fn known(words: &[Word]) -> Option<Vec<&str>> {
    let texts = words.iter().map(|word| match word {
        Word::Known(text) => Some(text.as_str()),
        Word::Unknown => None,
    });
    texts.collect()
}

/// The command behind a wrapper's own arguments, or that there is none; `None` where that cannot be told.
fn behind(wrapper: &Wrapper, arguments: &[Word]) -> Option<Option<Vec<Word>>> {
    let (mut at, mut operands, mut place) = (0, wrapper.operands, None);
    let mut only_operands = false;
    while let Some(word) = arguments.get(at) {
        let Word::Known(text) = word else { return None };
        at += 1;
        if !only_operands && text.starts_with('-') {
            if text == "--" {
                only_operands = true;
            } else if !wrapper.flags.contains(&text.as_str()) {
                let (option, value) = option_of(wrapper, text)?;
                let value = match value {
                    Some(value) => value,
                    None => {
                        let Some(Word::Known(value)) = arguments.get(at) else { return None };
                        at += 1;
                        value
                    }
                };
                if option == "-I" {
                    place = Some(value);
                }
            }
        } else if wrapper.assigns && text.contains('=') {
            if !is_harmless_assignment(text) {
                return None;
            }
        } else if operands > 0 {
            operands -= 1;
        } else {
            at -= 1;
            break;
        }
    }
    let mut command = arguments[at..].to_vec();
    if command.is_empty() {
        return Some(None);
    }
    match place {
        Some(place) => fill(&mut command, place),
        None if wrapper.name == "xargs" => command.push(Word::Unknown),
        None => {}
    }
    Some(Some(command))
}

/// The option with a value that the word is, and the value if it is in the word.
fn option_of<'a>(wrapper: &Wrapper, word: &'a str) -> Option<(&'static str, Option<&'a str>)> {
    wrapper.values.iter().find_map(|option| match word.strip_prefix(option)? {
        "" => Some((*option, None)),
        rest if option.starts_with("--") => rest.strip_prefix('=').map(|value| (*option, Some(value))),
        value => Some((*option, Some(value))),
    })
}

/// What stands where something is put that is only known later.
fn fill(command: &mut [Word], place: &str) {
    let holds = |word: &&mut Word| matches!(word, Word::Known(text) if text.contains(place));
    command.iter_mut().filter(holds).for_each(|word| *word = Word::Unknown);
}

/// The text that a shell is given to run.
fn script(arguments: &[Word]) -> Option<String> {
    let [Word::Known(flags), Word::Known(text), ..] = arguments else { return None };
    let letters = flags.strip_prefix('-')?.strip_suffix('c')?;
    letters.chars().all(|c| "elux".contains(c)).then(|| text.clone())
}

/// The commands that `find` runs for what it finds.
fn found(arguments: &[Word]) -> Option<Vec<Vec<Word>>> {
    let words = known(arguments)?;
    let (mut at, mut commands) = (0, Vec::new());
    while let Some(word) = words.get(at) {
        at += 1;
        if ["-exec", "-execdir", "-ok", "-okdir"].contains(word) {
            let rest = &words[at..];
            let ends = |n: &usize| rest[*n] == ";" || rest[*n] == "+" && *n > 0 && rest[*n - 1] == PLACE;
            let end = (0..rest.len()).find(ends)?;
            let mut command = arguments[at..at + end].to_vec();
            fill(&mut command, PLACE);
            commands.push(command);
            at += end + 1;
        } else if word.starts_with('-') {
            at += usize::from(looks_of_find(word)?);
        }
    }
    Some(commands)
}

/// Whether an argument of the program may name another that it runs.
fn runs_by_option(name: &str, arguments: &[Word]) -> bool {
    let Some((_, options)) = BY_OPTION.iter().find(|(program, _)| *program == name) else { return false };
    let names = |text: &str, option: &str| {
        let short = option.strip_prefix('-').filter(|letter| letter.len() == 1);
        match short {
            Some(letter) => text.starts_with('-') && !text.starts_with("--") && text.contains(letter),
            None if !option.starts_with('-') => text == option,
            // Some take their options with one dash or two.
            None => {
                text.starts_with(option)
                    || is_option(text, option)
                    || text.strip_prefix('-').is_some_and(|text| text.starts_with(option))
            }
        }
    };
    arguments.iter().any(|word| match word {
        Word::Known(text) => options.iter().any(|option| names(text, option)),
        Word::Unknown => true,
    })
}
