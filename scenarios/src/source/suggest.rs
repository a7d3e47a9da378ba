//! Which name was meant.

/// The fix for a name that is not among `known`: the nearest one, or all of them.
pub fn did_you_mean<S: AsRef<str>>(name: &str, known: &[S]) -> String {
    if let Some(near) = nearest(name, known) {
        return format!("did you mean {near:?}?");
    }
    if known.is_empty() {
        return "nothing is expected here".to_owned();
    }
    let mut names: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    names.sort_unstable();
    let rest = names.len().saturating_sub(30);
    names.truncate(30);
    match rest {
        0 => format!("expected one of {}", names.join(", ")),
        _ => format!("expected one of {} and {rest} more", names.join(", ")),
    }
}

/// The one of `known` that lies nearest to `name`, if it lies near at all. Ties go to the alphabet.
pub fn nearest<'a, S: AsRef<str>>(name: &str, known: &'a [S]) -> Option<&'a str> {
    let most = (name.chars().count() / 3).clamp(1, 3);
    known
        .iter()
        .map(|k| (distance(&name.to_lowercase(), &k.as_ref().to_lowercase()), k.as_ref()))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, known)| known)
}

/// Edit distance with transpositions of neighbours, so that `mangel` is one step from `mangle`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(100).collect(), b.chars().take(100).collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, known: &[&str], expect: Option<&str>) {
        assert_eq!(nearest(name, known), expect);
    }

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        check("mangel", &["mangle", "raw"], Some("mangle"));
        check("READ", &["read"], Some("read"));
        check("PAIR-11", &["PAIR-01", "REG-01"], Some("PAIR-01"));
    }

    #[test]
    fn a_name_that_is_far_from_all_is_not_guessed() {
        check("xyz", &["mangle", "raw"], None);
        check("", &["mangle"], None);
        assert_eq!(did_you_mean("xyz", &["raw", "mangle"]), "expected one of mangle, raw");
    }
}
