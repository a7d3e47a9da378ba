//! Hosts: what a rule says of them, and the host of a URL.

/// What a rule says of a host: this one and every one below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern(String);

impl HostPattern {
    /// Reads the parameter of a rule; `None` where it is about every host.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        let Some(host) = text.strip_prefix("domain:") else {
            return Err("a host is written `domain:HOST`, such as `domain:example.com`".to_owned());
        };
        let host = host.trim();
        if host == "*" {
            return Ok(None);
        }
        let host = host.strip_prefix("*.").unwrap_or(host).trim_end_matches('.').to_ascii_lowercase();
        if !is_name(&host) {
            return Err(format!(
                "{host:?} is no host: write its name alone in ASCII (an international name as xn--…), without scheme, port or \
                 path"
            ));
        }
        Ok(Some(HostPattern(host)))
    }

    /// Whether the host is it, or below it.
    pub fn covers(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        host == self.0 || host.strip_suffix(&self.0).is_some_and(|rest| rest.ends_with('.'))
    }

    /// The host as it is told to a model.
    pub fn shown(&self) -> &str {
        &self.0
    }
}

fn is_name(host: &str) -> bool {
    let label =
        |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    !host.is_empty() && host.len() <= 253 && host.split('.').all(label)
}

/// The host of a URL in its one spelling, or `None` where readers of URLs may disagree on it.
pub fn host_of(url: &str) -> Option<String> {
    if !url.is_ascii() || url.bytes().any(|b| b <= b' ' || b == b'\\' || b == 0x7f) {
        return None;
    }
    let (scheme, rest) = url.split_once("://")?;
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    // Whoever is named before an `@` is not who answers, and nobody honest sends one.
    if authority.contains(['@', '%']) {
        return None;
    }
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.is_empty() || port.bytes().all(|b| b.is_ascii_digit()) => host,
        Some(_) => return None,
        None => authority,
    };
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if !is_name(&host) {
        return None;
    }
    // An address has many spellings: 127.1, 0x7f000001, 2130706433. Only the plain one is read.
    let last = host.rsplit('.').next()?;
    let numeric = last.starts_with("0x") || last.bytes().all(|b| b.is_ascii_digit());
    (!numeric || host.parse::<std::net::Ipv4Addr>().is_ok()).then_some(host)
}
