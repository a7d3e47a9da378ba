//! What agents call their tools and arguments, as data.
//!
//! Names are compared in lower case without `_` and `-`, so that `read_file`, `readFile` and `ReadFile` are one entry.

use crate::script::Op;

/// Tool names in order of preference.
pub(super) fn tools(op: Op) -> &'static [&'static str] {
    match op {
        Op::Read => &["readfile", "read", "viewfile", "view", "readtextfile", "fileread", "openfile", "cat"],
        Op::Write => &["writefile", "write", "createfile", "create", "filewrite", "savefile", "puttextfile"],
        Op::Edit => &[
            "editfile",
            "edit",
            "strreplace",
            "strreplacefile",
            "stringreplace",
            "replaceinfile",
            "searchreplace",
            "replace",
            "fileedit",
        ],
        Op::List => &["listdir", "listdirectory", "ls", "list", "listfiles", "listfolder"],
        Op::Shell => &[
            "execshell",
            "bash",
            "shell",
            "execcommand",
            "runshellcommand",
            "shellcommand",
            "executebash",
            "executecommand",
            "runcommand",
            "runterminalcmd",
            "terminal",
            "exec",
        ],
        Op::Fetch => &["fetchurl", "webfetch", "fetch", "httpget", "fetchwebcontent", "readurl"],
    }
}

/// Argument names of one field of an operation, in order of preference.
pub(super) fn arguments(field: &str) -> &'static [&'static str] {
    match field {
        "path" => &[
            "path",
            "filepath",
            "absolutepath",
            "file",
            "filename",
            "targetfile",
            "dirpath",
            "directory",
            "dir",
            "targetdirectory",
            "folder",
        ],
        "content" => &["content", "contents", "text", "filetext", "data", "body"],
        "old" => &["oldstring", "oldstr", "oldtext", "old", "search", "searchstring", "find"],
        "new" => &["newstring", "newstr", "newtext", "new", "replace", "replacement", "replacestring"],
        "command" => &["command", "cmd", "script", "commandline"],
        "url" => &["url", "uri", "link"],
        _ => &[],
    }
}

/// The form in which names are compared.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}
