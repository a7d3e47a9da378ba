//! Sets cache markers aside: they move to the newest message at each request and change no prompt.

/// The members that carry a marker.
const MARKERS: [&str; 2] = ["\"cache_control\"", "\"prompt_cache_breakpoint\""];

/// `json` without the members that mark it for a cache. Everything else keeps its bytes; text without a marker is
/// returned as it is.
pub fn without_markers(json: &str) -> String {
    strip(json).unwrap_or_else(|| json.to_owned())
}

/// Like [`without_markers`]; `None` where there is no marker.
pub fn strip(json: &str) -> Option<String> {
    marker(json)?;
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((at, key_end)) = marker(rest) {
        let after = value_end(rest, key_end);
        let (before, tail) = (rest[..at].trim_end(), rest[after..].trim_start());
        // The member goes together with one of the commas around it.
        match (before.strip_suffix(','), tail.strip_prefix(',')) {
            (_, Some(tail)) => {
                out.push_str(&rest[..at]);
                rest = tail.trim_start();
            }
            (Some(before), None) => {
                out.push_str(before);
                rest = tail;
            }
            (None, None) => {
                out.push_str(before);
                rest = tail;
            }
        }
    }
    out.push_str(rest);
    Some(out)
}

/// Where the next key of a marker begins and ends: outside strings, followed by a colon.
fn marker(json: &str) -> Option<(usize, usize)> {
    let bytes = json.as_bytes();
    // Almost no text holds the word at all; looking for it is cheaper than walking strings.
    MARKERS.iter().find(|marker| memchr::memmem::find(bytes, marker.as_bytes()).is_some())?;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte != b'"' {
            at += 1;
            continue;
        }
        let end = string_end(bytes, at);
        let known = MARKERS.iter().any(|marker| &bytes[at..end] == marker.as_bytes());
        if known && json[end..].trim_start().starts_with(':') {
            return Some((at, end));
        }
        at = end;
    }
    None
}

/// The offset after the closing quote of the string that opens at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'\\' => end += 2,
            b'"' => return end + 1,
            _ => end += 1,
        }
    }
    bytes.len()
}

/// The offset after the value that follows the key ending at `key_end`.
fn value_end(json: &str, key_end: usize) -> usize {
    let bytes = json.as_bytes();
    let (mut at, mut depth) = (key_end, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(json: &str, expect: &str) {
        assert_eq!(without_markers(json), expect);
    }

    #[test]
    fn a_marker_goes_with_one_comma() {
        check(r#"{"a":1,"cache_control":{"type":"ephemeral"}}"#, r#"{"a":1}"#);
        check(r#"{"cache_control":{"type":"ephemeral"},"a":1}"#, r#"{"a":1}"#);
        check(r#"{"a":1,"cache_control":{"x":[1,"}"]},"b":2}"#, r#"{"a":1,"b":2}"#);
        check(r#"{"cache_control":null}"#, r#"{}"#);
        check(r#"{"a":1,"prompt_cache_breakpoint":{"mode":"explicit"}}"#, r#"{"a":1}"#);
    }

    #[test]
    fn nested_markers_go_all() {
        check(r#"[{"t":"a","cache_control":{}},{"t":"b","cache_control":{}}]"#, r#"[{"t":"a"},{"t":"b"}]"#);
    }

    #[test]
    fn the_word_in_a_text_is_no_marker() {
        let text = r#"{"a":"\"cache_control\":{}","b":"cache_control"}"#;
        check(text, text);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_text_makes_it_panic(text in "(\"cache_control\"|[{},:\"\\\\ü \\[\\]])*") {
            let _ = without_markers(&text);
        }
    }
}
