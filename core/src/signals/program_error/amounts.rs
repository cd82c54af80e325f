//! Numbers that decide: limits, sizes and versions in a log line.

use std::sync::LazyLock;

use regex::Regex;

static LIMIT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\[([0-9]+)\][^\[]{0,10}too low|(?i:limit) \(([0-9]+)\)").ok());
static NEEDED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i:(?:at least|increase to|to)) \[([0-9]+)\]").ok());
static BYTES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i:(?:failed to map|segment .{0,80}to|tried to allocate|failed to allocate|cannot allocate)) ([0-9]{4,15})(?: bytes|-byte)")
        .ok()
});
static VERSIONS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"initialized by \S+ version ([0-9.]+[0-9]).{0,60}this version ([0-9.]+[0-9])|[Cc]annot (?:up|down)grade from '?([0-9.]+[0-9])'? to '?([0-9.]+[0-9])")
        .ok()
});

/// The first group of a pattern that the line has.
pub(super) fn first<'l>(pattern: &LazyLock<Option<Regex>>, line: &'l str) -> Option<&'l str> {
    let found = pattern.as_ref()?.captures(line)?;
    found.iter().skip(1).flatten().next().map(|part| part.as_str())
}

/// The limit that the line states.
pub(super) fn stated_limit(line: &str) -> &str {
    first(&LIMIT, line).unwrap_or_default()
}

/// The value that the line demands.
pub(super) fn needed_value(line: &str) -> &str {
    first(&NEEDED, line).unwrap_or_default()
}

/// The number of bytes that a program asked for.
pub(super) fn bytes(line: &str) -> Option<i64> {
    first(&BYTES, line)?.parse().ok()
}

/// The version that wrote the data of a database, and that of the server.
pub(super) fn versions(line: &str) -> [&str; 2] {
    let Some(found) = VERSIONS.as_ref().and_then(|pattern| pattern.captures(line)) else { return [""; 2] };
    let mut parts = found.iter().skip(1).flatten().map(|part| part.as_str());
    [parts.next().unwrap_or_default(), parts.next().unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_known_forms_are_read() {
        let elasticsearch =
            "max virtual memory areas vm.max_map_count [65530] is too low, increase to at least [262144]";
        assert_eq!((stated_limit(elasticsearch), needed_value(elasticsearch)), ("65530", "262144"));
        assert_eq!(stated_limit("The configured user limit (128) on the number of inotify instances"), "128");
        assert_eq!(stated_limit("memory limit reached"), "");
        assert_eq!(
            bytes("could not resize shared memory segment \"/PostgreSQL.1\" to 83886080 bytes: No space"),
            Some(83_886_080)
        );
        assert_eq!(
            bytes("# Native memory allocation (mmap) failed to map 1073741824 bytes for committing"),
            Some(1 << 30)
        );
        assert_eq!(bytes("read 4096 bytes"), None);
        let postgres = "The data directory was initialized by PostgreSQL version 15, which is not compatible with this version 17.2 (Debian).";
        assert_eq!(versions(postgres), ["15", "17.2"]);
        assert_eq!(versions("no version"), ["", ""]);
    }
}
