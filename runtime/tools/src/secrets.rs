//! Which variables of an environment are secrets: by how they are named, and by what they hold.
//!
//! A filter and no proof: what is named like nothing and looks like nothing is passed on. When in doubt a variable counts
//! as a secret, for a command that misses one says so, and one that has one says nothing.

use std::ffi::OsStr;

/// Parts of a name, as parted by anything that is no letter or digit, that make it a secret's.
const PARTS: [&str; 19] = [
    "APIKEY",
    "AUTHTOKEN",
    "CRED",
    "CREDS",
    "JWT",
    "KEY",
    "KEYS",
    "PASS",
    "PASSCODE",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PASSWORDS",
    "PAT",
    "PATS",
    "PIN",
    "SECRET",
    "TOKEN",
    "TOKENS",
];
/// What makes a name a secret's wherever it stands in it.
const ANYWHERE: [&str; 6] = ["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY"];
/// What makes a name a secret's at the end of one of its parts.
const ENDINGS: [&str; 2] = ["TOKEN", "PASS"];
/// Words that end like a secret and are none.
const WORDS: [&str; 3] = ["ASKPASS", "BYPASS", "COMPASS"];
/// What makes a name a secret's as its last part, and is something else by itself.
const LAST: [&str; 3] = ["AUTH", "DSN", "PWD"];
/// Names that are secrets' by custom.
const NAMES: [&str; 3] = ["DATABASE_URL", "PGPASSFILE", "NETRC"];
/// How values begin that are keys whatever they are called.
const BEGINNINGS: [&str; 9] = ["-----BEGIN ", "AKIA", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "sk-", "xoxb-"];
/// What stands before a password in connection texts, in lower case.
const SETTINGS: [&str; 4] = ["password=", "pwd=", "accountkey=", "sharedaccesskey="];

/// Whether this variable is one that a command does not get. One that needs it asks for it by a file or by the user.
pub fn is_secret(name: &OsStr, value: &OsStr) -> bool {
    named_like_one(&name.to_string_lossy().to_ascii_uppercase()) || looks_like_one(&value.to_string_lossy())
}

fn named_like_one(name: &str) -> bool {
    let parts: Vec<&str> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        // `API_KEY2` and `API_KEY_2` are further ones of a kind.
        .map(|part| part.trim_end_matches(|c: char| c.is_ascii_digit()))
        .filter(|part| !part.is_empty())
        .collect();
    let ends = |part: &&str| ENDINGS.iter().any(|end| part.ends_with(end)) && !WORDS.iter().any(|w| part.ends_with(w));
    NAMES.contains(&name)
        || ANYWHERE.iter().any(|word| name.contains(word))
        || parts.iter().any(|part| PARTS.contains(part) || ends(part))
        || (parts.len() > 1 && parts.last().is_some_and(|part| LAST.contains(part)))
}

fn looks_like_one(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    BEGINNINGS.iter().any(|beginning| value.starts_with(beginning))
        || SETTINGS.iter().any(|setting| lower.contains(setting))
        || value.match_indices("://").any(|(at, mark)| has_password(&value[at + mark.len()..]))
}

/// Whether what follows the scheme of a URL names a user with a password.
fn has_password(rest: &str) -> bool {
    let end = rest.find(|c: char| matches!(c, '/' | '?' | '#') || c.is_whitespace()).unwrap_or(rest.len());
    let user = rest[..end].rsplit_once('@').map(|(user, _)| user);
    user.and_then(|user| user.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, expect: bool) {
        assert_eq!(is_secret(OsStr::new(name), OsStr::new(value)), expect, "{name}={value}");
    }

    #[test]
    fn names_of_secrets_are_known_by_their_parts() {
        for name in [
            "SLOT_API_KEY",
            "openai_api_key",
            "OPENAI_API_KEY_2",
            "OPENAI_API_KEY2",
            "GITHUB_TOKEN",
            "GITHUB_PAT",
            "AZURE_DEVOPS_EXT_PAT",
            "SMTP_PASS",
            "SSHPASS",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "DB_PASSWORD",
            "MYSQL_PWD",
            "MY_SECRETS",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "PGPASSWD",
            "DATABASE_URL",
            "SENTRY_DSN",
            "NPM_CONFIG__AUTH",
            "npm_config_//registry.example/:_authToken",
        ] {
            check(name, "x", true);
        }
    }

    #[test]
    fn other_names_are_none() {
        for name in [
            "PATH",
            "HOME",
            "PWD",
            "OLDPWD",
            "KEYBOARD",
            "TOKENIZERS_PARALLELISM",
            "SSH_AUTH_SOCK",
            "LANG",
            "XKEYS",
            "MANPATH",
            "NO_PROXY_BYPASS",
            "GIT_ASKPASS",
            "COMPASS_DIR",
            "PATTERN",
        ] {
            check(name, "x", false);
        }
    }

    #[test]
    fn values_that_hold_a_password_are_known_whatever_they_are_called() {
        check("BACKEND", "postgres://me:pw@db.example/app", true);
        check("HTTPS_PROXY", "http://me:p%40w@proxy.example:8080", true);
        check("MIRRORS", "https://a.example https://me:pw@b.example/x", true);
        check("BACKEND", "Server=db;User Id=me;Password=pw", true);
        check("BACKEND", "sk-abcdef", true);
        check("CERT", "-----BEGIN PRIVATE KEY-----", true);
        check("BACKEND", "postgres://me@db.example/app", false);
        check("REMOTE", "ssh://git@example.com:22/x", false);
        check("REMOTE", "https://example.com:8080/a:b@c", false);
        check("REMOTE", "git@example.com:me/x", false);
        check("EMPTY", "", false);
    }
}
