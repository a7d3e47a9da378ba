//! Why a command is not just run: the reasons, and how heavily each weighs.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How a command is rated; the later, the more of it must be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It can write nothing and run nothing else, with just these arguments.
    ReadOnly,
    /// One program, understood whole, about which nothing is special.
    Ordinary,
    /// Understood, and something about it must be seen.
    Raised,
    /// Not understood whole: what it does is only known when it runs.
    Opaque,
    /// It matches something that cannot be taken back.
    Destructive,
}

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $name:ident, $verdict:ident, $slug:literal, $words:literal;)*) => {
        /// One reason. The order is that of the verdicts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Reason {
            $($(#[doc = $doc])* #[serde(rename = $slug)] $name,)*
        }

        impl Reason {
            /// Every reason, in order.
            pub const ALL: &'static [Reason] = &[$(Reason::$name),*];

            /// How heavily it weighs.
            pub fn verdict(self) -> Verdict {
                match self { $(Reason::$name => Verdict::$verdict,)* }
            }

            /// Its spelling in files and logs.
            pub fn as_str(self) -> &'static str {
                match self { $(Reason::$name => $slug,)* }
            }

            /// What a person is told.
            pub fn words(self) -> &'static str {
                match self { $(Reason::$name => $words,)* }
            }
        }
    };
}

reasons! {
    /// Another host is talked to.
    Network, Raised, "network", "the command may make network requests";
    /// Something is deleted.
    Removes, Raised, "removes", "it removes files";
    /// A guard of the program is switched off, or work is thrown away.
    Forces, Raised, "forces", "it overrides a guard or throws work away";
    /// Output goes to a file, or input comes from one.
    Redirection, Raised, "redirection", "the shell itself opens a file for it";
    /// The environment of the command is changed.
    Assignment, Raised, "assignment", "it sets variables, which can make a program run others";
    /// Several commands.
    Chain, Raised, "chain", "it is several commands in one line";
    /// It goes on after the call.
    Background, Raised, "background", "part of it runs in the background";
    /// Which files are meant depends on what lies there.
    Pattern, Raised, "pattern", "the shell puts other words in place of a pattern";
    /// The program is named by a path.
    ByPath, Raised, "by_path", "the program is named by a path, so it can be any file";
    /// The shell's own state is changed.
    ShellState, Raised, "shell_state", "it changes the shell that it runs in";
    /// A program that runs another.
    Wrapper, Raised, "wrapper", "the program runs another one";
    /// A program that runs what it is given.
    Interpreter, Raised, "interpreter", "the program runs code that it is given";
    /// Another user's rights.
    Privilege, Raised, "privilege", "it asks for the rights of another user";
    /// Something outside of the workspace, or that cannot be found in it.
    Outside, Raised, "outside", "it looks at something that is not found inside the workspace";
    /// A value of a variable.
    Expansion, Opaque, "expansion", "what it means depends on variables";
    /// The output of another command.
    Substitution, Opaque, "substitution", "another command is run to write a part of it";
    /// The program's name is hidden.
    Obscured, Opaque, "obscured", "the name of its program is not written plainly";
    /// Loops, conditions and groups.
    Compound, Opaque, "compound", "it holds loops, conditions or groups";
    /// A function or alias.
    Function, Opaque, "function", "it gives commands another meaning";
    /// Text for a command within the command.
    HereDocument, Opaque, "here_document", "it holds a document for one of its commands";
    /// A comment.
    Comment, Opaque, "comment", "part of it is a comment";
    /// A line break.
    SeveralLines, Opaque, "several_lines", "it has several lines";
    /// Characters that are not seen.
    Hidden, Opaque, "hidden", "it holds characters that are not seen";
    /// No shell grammar, or one that shells disagree about.
    Unparsed, Opaque, "unparsed", "it was not understood";
    /// Longer or deeper than what is read.
    TooLarge, Opaque, "too_large", "it is too long or too deeply nested to be understood";
    /// What another host sends is run.
    RunsFetched, Destructive, "runs_fetched", "it runs what another host sends";
    /// A folder that everything depends on.
    RemovesTree, Destructive, "removes_tree", "it removes, or changes the rights of, a whole tree that it does not own";
    /// A disk.
    Overwrites, Destructive, "overwrites", "it writes to a device or erases a file system";
    /// The machine.
    StopsSystem, Destructive, "stops_system", "it stops the machine, or everything on it";
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_ordered_as_their_verdicts() {
        assert!(Reason::ALL.windows(2).all(|pair| pair[0] < pair[1] && pair[0].verdict() <= pair[1].verdict()));
    }

    #[test]
    fn every_reason_has_a_spelling_of_its_own() {
        let mut slugs: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), Reason::ALL.len());
    }
}
