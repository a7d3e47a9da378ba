//! How well a path fits words that somebody remembers of it.
//!
//! Every word must be there: as the name, at its start, within it, in the path, or scattered with small gaps. A score is a
//! whole number, so that an order by score and path is the same on every machine.

/// How far apart the letters of a scattered word may lie: so many times its length.
const WIDEST: usize = 3;

/// Words in the form in which they are compared.
pub struct Words(Vec<Vec<char>>);

impl Words {
    /// The words of a query.
    pub fn of(query: &str) -> Words {
        Words(query.split_whitespace().map(folded).collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How well a path fits, up to 1000; `None` if it lacks a word.
    pub fn score(&self, path: &str) -> Option<u32> {
        let path = folded(path);
        let name = path.iter().rposition(|c| *c == '/').map_or(0, |at| at + 1);
        let mut sum = 0;
        for word in &self.0 {
            sum += score(word, &path, &path[name..])?;
        }
        Some(sum / u32::try_from(self.0.len()).ok().filter(|words| *words > 0)?)
    }
}

fn folded(text: &str) -> Vec<char> {
    text.chars().flat_map(char::to_lowercase).collect()
}

fn score(word: &[char], path: &[char], name: &[char]) -> Option<u32> {
    // A longer name around the same word fits less.
    let share = |text: &[char], most: usize| u32::try_from(most * word.len() / text.len().max(1)).unwrap_or(0);
    let stem = name.iter().rposition(|c| *c == '.').map_or(name, |dot| &name[..dot]);
    if name == word {
        return Some(1000);
    }
    if path == word {
        return Some(980);
    }
    if stem == word {
        return Some(960);
    }
    if name.starts_with(word) {
        return Some(880 + share(name, 40));
    }
    match place(name, word) {
        Some(at) if starts_word(name, at) => return Some(800 + share(name, 40)),
        Some(_) => return Some(740 + share(name, 40)),
        None => {}
    }
    match place(path, word) {
        Some(at) if starts_word(path, at) => return Some(680 + share(path, 40)),
        Some(_) => return Some(620 + share(path, 40)),
        None => {}
    }
    scattered(word, name).map(|dense| 400 + dense).or_else(|| scattered(word, path).map(|dense| 200 + dense))
}

fn place(text: &[char], word: &[char]) -> Option<usize> {
    (word.len() <= text.len()).then(|| text.windows(word.len()).position(|window| window == word)).flatten()
}

fn starts_word(text: &[char], at: usize) -> bool {
    at == 0 || !text[at - 1].is_alphanumeric()
}

/// How close together, up to 200, the letters of `word` lie in `text` in their order; `None` if they do not, or lie too
/// wide apart.
fn scattered(word: &[char], text: &[char]) -> Option<u32> {
    let mut letters = word.iter();
    let mut wanted = letters.next()?;
    let mut end = None;
    for (at, c) in text.iter().enumerate() {
        if c == wanted {
            match letters.next() {
                Some(next) => wanted = next,
                None => {
                    end = Some(at);
                    break;
                }
            }
        }
    }
    let end = end?;
    // Back from there, the letters are met as late as they can be.
    let mut start = end;
    let mut letters = word.iter().rev().peekable();
    for at in (0..=end).rev() {
        if letters.peek().is_some_and(|letter| **letter == text[at]) {
            letters.next();
            start = at;
        }
        if letters.peek().is_none() {
            break;
        }
    }
    let span = end + 1 - start;
    (span <= WIDEST * word.len()).then(|| u32::try_from(200 * word.len() / span).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths from the best to the worst; what does not fit is not among them.
    #[track_caller]
    fn check(query: &str, expect: &[&str], misfits: &[&str]) {
        let words = Words::of(query);
        let mut scored: Vec<(u32, &str)> =
            expect.iter().rev().filter_map(|path| Some((words.score(path)?, *path))).collect();
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        assert_eq!(scored.iter().map(|(_, path)| *path).collect::<Vec<_>>(), expect, "{scored:?}");
        for path in misfits {
            assert_eq!(words.score(path), None, "{path}");
        }
    }

    #[test]
    fn nearer_to_the_name_is_better() {
        check(
            "user",
            &[
                "src/user",
                "src/user.rs",
                "src/users.rs",
                "src/user_service.rs",
                "src/super_user.rs",
                "src/superuser.rs",
                "user/x.rs",
                "src/superuser/x.rs",
                "src/u_s_e_r.rs",
                "us/er/x",
            ],
            &["src/other.rs", "u/aaaaaaaaaaaa/s/bbbbbbbbbbbb/e/r"],
        );
    }

    #[test]
    fn every_word_must_be_there_in_any_order() {
        check("model user", &["models/user.rs", "user/the_model.rs"], &["user.rs", "model.rs"]);
    }

    #[test]
    fn case_makes_no_difference() {
        check("README", &["docs/ReadMe.txt", "readme_old.md"], &[]);
        check("STRASSE ä", &["Ä_strasse"], &[]);
    }

    #[test]
    fn a_part_of_a_path_is_found() {
        check("src/lib", &["src/lib", "src/lib.rs", "a/src/lib.rs"], &["lib/src.rs", "src_lib"]);
    }

    #[test]
    fn odd_texts_do_no_harm() {
        for (query, path) in [("a", ""), ("a", "/"), ("/", "a/b"), ("\u{130}", "i\u{307}"), ("ab", "ba"), ("aaa", "aa")]
        {
            let _ = Words::of(query).score(path);
        }
        assert!(Words::of("  ").is_empty());
    }
}
