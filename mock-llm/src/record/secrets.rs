//! What of an exchange must not be on a tape: the keys of the request, and the fields of a response that are about an
//! account and not about the answer.

/// Request fields whose values are secrets.
const SECRET: [&str; 7] =
    ["authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "x-auth-token", "cookie"];
/// Response fields that a client acts on. What is not named here is left out: cookies, accounts, servers.
const KEPT: [&str; 13] = [
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "keep-alive",
    "location",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "transfer-encoding",
    "x-request-id",
    "x-should-retry",
];
/// A shorter value is no key; looking for it would black out words.
const SHORTEST: usize = 8;

/// The secrets of one request.
#[derive(Clone, Debug, Default)]
pub(super) struct Secrets(Vec<Vec<u8>>);

impl Secrets {
    /// The secrets in a request head: whole values, and their words, so that the key of `Bearer KEY` is one.
    pub(super) fn of(head: &[u8]) -> Secrets {
        let mut all: Vec<Vec<u8>> = Vec::new();
        for (_, value) in fields(head).filter(|(name, _)| SECRET.iter().any(|secret| name.eq_ignore_ascii_case(secret)))
        {
            let words = value.split(|byte| matches!(byte, b' ' | b';' | b'='));
            all.extend(words.chain([value]).filter(|word| word.len() >= SHORTEST).map(<[u8]>::to_vec));
        }
        // The longest first, so that none is left half covered.
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Secrets(all)
    }

    /// Covers every secret with as many asterisks, so that all lengths still hold.
    pub(super) fn cover(&self, bytes: &mut [u8]) {
        for secret in &self.0 {
            let found: Vec<usize> = memchr::memmem::find_iter(bytes, secret).collect();
            found.into_iter().for_each(|at| bytes[at..at + secret.len()].fill(b'*'));
        }
    }
}

/// The fields of a head, without its first line: names and trimmed values.
pub(super) fn fields(head: &[u8]) -> impl Iterator<Item = (&str, &[u8])> {
    head.split(|byte| *byte == b'\n').skip(1).filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        Some((std::str::from_utf8(&line[..colon]).ok()?.trim(), line[colon + 1..].trim_ascii()))
    })
}

/// A response head, or several after another, with only what a client acts on.
pub(super) fn kept(head: &[u8]) -> Vec<u8> {
    let keep = |line: &&[u8]| {
        let Some(colon) = memchr::memchr(b':', line) else { return true };
        let name = &line[..colon];
        line.starts_with(b"HTTP/") || KEPT.iter().any(|kept| name.eq_ignore_ascii_case(kept.as_bytes()))
    };
    head.split_inclusive(|byte| *byte == b'\n').filter(keep).flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(head: &str, text: &str, expect: &str) {
        let mut bytes = text.as_bytes().to_vec();
        Secrets::of(head.as_bytes()).cover(&mut bytes);
        assert_eq!(String::from_utf8(bytes).unwrap(), expect);
    }

    #[test]
    fn keys_are_covered_wherever_they_come_back() {
        let head =
            "POST / HTTP/1.1\r\nAuthorization: Bearer sk-12345678\r\nX-Api-Key:abcdefgh\r\nhost: sk-12345678\r\n\r\n";
        check(head, "no sk-12345678, no abcdefgh, sk-12345678", "no ***********, no ********, ***********");
        check(head, "Bearer sk-12345678", "******************");
        check("GET / HTTP/1.1\r\ncookie: a=0123456789; b=x\r\n\r\n", "x 0123456789", "x **********");
    }

    #[test]
    fn short_values_are_no_keys() {
        check("GET / HTTP/1.1\r\nauthorization: none\r\n\r\n", "none", "none");
    }

    #[test]
    fn a_head_keeps_what_a_client_acts_on() {
        let head = "HTTP/1.1 200 OK: fine\r\nSet-Cookie: a=b\r\nContent-Type: x\r\nopenai-organization: me\r\n\r\n";
        assert_eq!(kept(head.as_bytes()), b"HTTP/1.1 200 OK: fine\r\nContent-Type: x\r\n\r\n");
    }
}
