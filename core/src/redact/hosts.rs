//! Host names, IP addresses and UIDs in texts.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

/// Hosts that many clusters use. Causes and remedies depend on some of them, and they reveal nothing.
const PUBLIC: [&str; 12] = [
    "docker.io",
    "index.docker.io",
    "registry-1.docker.io",
    "auth.docker.io",
    "production.cloudflare.docker.com",
    "registry.k8s.io",
    "k8s.gcr.io",
    "gcr.io",
    "quay.io",
    "ghcr.io",
    "mcr.microsoft.com",
    "public.ecr.aws",
];
/// Endings by which a cause knows the provider of a registry. Only what is before them is replaced.
const PROVIDERS: [&str; 4] = [".amazonaws.com", ".azurecr.io", ".pkg.dev", ".gcr.io"];

/// The hosts in a text: of a URL, of a connection or a lookup, or before a port.
pub(super) fn hosts(text: &str) -> impl Iterator<Item = &str> {
    static HOST: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let label = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
        let name = format!(r"{label}(?:\.{label})*");
        // With fewer dots it is more likely a file and its line.
        let dotted = format!(r"{label}(?:\.{label})+\.[A-Za-z]{{2,}}");
        Regex::new(&format!(
            r"(?:[a-z]://(?:[^/@\s]*@)?|\bdial (?:tcp|udp) |\blookup |\bhost(?:name)?[ =:]+\\?[\x22']?)({name})|\b({dotted}):\d{{2,5}}\b"
        ))
        .ok()
    });
    let found = HOST.iter().flat_map(move |host| host.captures_iter(text));
    let hosts = found.filter_map(|found| found.get(1).or(found.get(2))).map(|host| host.as_str());
    hosts.filter(|host| is_replaced(host))
}

/// Endings of the hosts of Services, which consist of names that are replaced.
const OF_SERVICES: [&str; 2] = [".svc", ".cluster.local"];

/// Whether a host is replaced: it may state whose cluster this is.
pub(super) fn is_replaced(host: &str) -> bool {
    let is_local = host == "localhost" || OF_SERVICES.iter().any(|ending| host.ends_with(ending));
    let is_address = host.parse::<Ipv4Addr>().is_ok();
    // What is no host: a number, or a word of a sentence, such as `lookup failed`.
    let is_name = host.contains(['.', '-']) && host.contains(|c: char| c.is_ascii_alphabetic());
    is_name && !is_local && !is_address && !PUBLIC.contains(&host)
}

/// The replacement of the host with this number.
pub(super) fn replacement(host: &str, number: usize) -> String {
    let provider = PROVIDERS.iter().find(|ending| host.ends_with(**ending));
    match provider.and_then(|_| host.split_once('.')) {
        Some((_, rest)) => format!("host-{number}.{rest}"),
        None if host.contains('.') => format!("host-{number}.example"),
        None => format!("host-{number}"),
    }
}

/// An IP address or a UID in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Number {
    Uid,
    V4,
    V6,
}

/// The UIDs and IP addresses in a text, with their places. Addresses of every machine are not replaced.
pub(super) fn numbers(text: &str) -> Vec<(std::ops::Range<usize>, Number)> {
    static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})",
            r"|((?:[0-9]{1,3}\.){3}[0-9]{1,3})",
            r"|((?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4})",
        ))
        .ok()
    });
    let all = NUMBER.iter().flat_map(|number| number.captures_iter(text));
    let found = all.filter_map(|found| {
        let range = found.get(0)?.range();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == ':' && found.get(3).is_some();
        if text[..range.start].ends_with(is_word) || text[range.end..].starts_with(is_word) {
            return None;
        }
        if found.get(1).is_some() {
            return Some((range, Number::Uid));
        }
        let word = &text[range.clone()];
        if found.get(2).is_some() {
            let is_part =
                text[range.end..].strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
                    || text[..range.start].ends_with('.');
            let address: Ipv4Addr = word.parse().ok()?;
            let is_special = address.is_loopback() || address.is_unspecified() || address.is_link_local();
            return (!is_part && !is_special).then_some((range, Number::V4));
        }
        let address: Ipv6Addr = word.parse().ok()?;
        let is_special = address.is_loopback() || address.is_unspecified() || word.len() < 6;
        (!is_special).then_some((range, Number::V6))
    });
    found.collect()
}

/// The replacement of the UID or address with this number: addresses of the documentation, as many as needed.
pub(super) fn number(kind: &Number, n: usize) -> String {
    match kind {
        Number::Uid => format!("00000000-0000-4000-8000-{n:012x}"),
        Number::V4 if n < 255 => format!("192.0.2.{n}"),
        Number::V4 => {
            let n = u32::try_from(n - 255).unwrap_or(0) % (1 << 17);
            Ipv4Addr::from(u32::from(Ipv4Addr::new(198, 18, 0, 0)) + n).to_string()
        }
        Number::V6 => format!("2001:db8::{n:x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_where_a_client_names_them() {
        for (text, expected) in [
            (
                "Get \"https://reg.acme.com/v2/\": dial tcp: lookup reg.acme.com on 10.0.0.1:53",
                &["reg.acme.com", "reg.acme.com"][..],
            ),
            ("postgres://app:***@db.acme.com:5432/x", &["db.acme.com"]),
            ("dial tcp db-1.acme.com:5432: connect: refused", &["db-1.acme.com"]),
            ("connect to mq.acme.com:5672 failed", &["mq.acme.com"]),
            ("dial tcp 10.0.0.1:80, localhost:80, https://docker.io/v2", &[]),
            ("java.lang.IllegalStateException: main.go:12 at app.py", &[]),
            ("lookup failed; dial tcp: timeout; http://db.shop.svc.cluster.local:80", &[]),
        ] {
            assert_eq!(hosts(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn addresses_and_uids_are_found_and_times_are_not() {
        let found = |text: &str| numbers(text).into_iter().map(|(range, _)| text[range].to_owned()).collect::<Vec<_>>();
        assert_eq!(found("dial tcp 10.4.5.6:80: from 10.4.5.7"), ["10.4.5.6", "10.4.5.7"]);
        assert_eq!(found("http://[fd00::12:a]:80/"), ["fd00::12:a"]);
        let uid = "0e5b1d6a-1b2c-4d3e-8f90-a1b2c3d4e5f6";
        assert_eq!(found(&format!("web_shop({uid})")), [uid]);
        assert_eq!(found("2026-11-21T09:00:05Z 127.0.0.1:80 0.0.0.0 ::1 v1.2.3.4 1.2.3.4.5 std::io a::b"), [""; 0]);
    }

    #[test]
    fn replacements_stay_hosts_of_their_provider() {
        assert_eq!(replacement("1234.dkr.ecr.eu-west-1.amazonaws.com", 2), "host-2.dkr.ecr.eu-west-1.amazonaws.com");
        assert_eq!(replacement("reg.acme.com", 3), "host-3.example");
        assert_eq!(number(&Number::V4, 254), "192.0.2.254");
        assert_eq!(number(&Number::V4, 255), "198.18.0.0");
    }
}
