//! Shared libraries that the dynamic linker does not find.

use std::sync::LazyLock;

use regex::Regex;

/// Errors of glibc, of dlopen (Python, Node, the JVM), of musl and of .NET.
static LIBRARY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = r#"(?:^|[\s"'`(:])(?<name>[^\s"'`(:/]+\.so(?:\.[0-9]+)*)"#;
    let needed = r"(?: \(needed by (?<by>[^\s)]+))?";
    let version = r"version `(?<version>[A-Z]+_[0-9.]+)' not found(?: \(required by (?<of>[^\s)]+))?";
    let icu = "find a valid (?<icu>ICU) package";
    Regex::new(&format!(
        "{name}: cannot open shared object file|[Ll]oading shared library (?<musl>[^\\s:/]+): No such file or directory{needed}|{version}|{icu}"
    ))
    .ok()
});

/// A library, or a version of the C library, that the image lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Missing<'l> {
    /// `libssl.so.1.1`, or `GLIBC_2.34`.
    pub(crate) name: &'l str,
    /// The program or library that needs it; empty if the line does not name it.
    pub(crate) needed_by: &'l str,
    /// Whether the library exists in an older version.
    pub(crate) is_version: bool,
}

/// The library in the line. A library with a whole path is a file that a setting names, and not one that the linker
/// searches for.
pub(crate) fn missing(line: &str) -> Option<Missing<'_>> {
    if !["shared ", " not found", " ICU "].iter().any(|word| line.contains(word)) {
        return None;
    }
    let found = LIBRARY.as_ref()?.captures(line)?;
    let part = |name: &str| found.name(name).map(|part| part.as_str());
    let is_version = found.name("version").is_some();
    let name = part("name").or_else(|| part("musl")).or_else(|| part("version")).or_else(|| part("icu"))?;
    let needed_by = part("by").or_else(|| part("of")).or_else(|| before_error(line)).unwrap_or_default();
    Some(Missing { name, needed_by: needed_by.trim_end_matches(')'), is_version })
}

/// The program before glibc's error: `/app/server: error while loading shared libraries: ...`.
fn before_error(line: &str) -> Option<&str> {
    let (program, _) = line.split_once(": error while loading shared libraries: ")?;
    (!program.contains(' ')).then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_of_each_linker_is_named() {
        for (line, expected) in [
            (
                "/app/server: error while loading shared libraries: libssl.so.1.1: cannot open shared object file: No such file or directory",
                Some(("libssl.so.1.1", "/app/server")),
            ),
            (
                "Error loading shared library libssl.so.3: No such file or directory (needed by /app/server)",
                Some(("libssl.so.3", "/app/server")),
            ),
            (
                "ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
                Some(("libGL.so.1", "")),
            ),
            (
                "Details: Error loading shared library libssl.so.1.1: No such file or directory (needed by /app/q.so.node)",
                Some(("libssl.so.1.1", "/app/q.so.node")),
            ),
            (
                "./server: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by ./server)",
                Some(("GLIBC_2.34", "./server")),
            ),
            (
                "Process terminated. Couldn't find a valid ICU package installed on the system. Please install libicu (or icu-libs).",
                Some(("ICU", "")),
            ),
            ("/opt/redis/modules/redisearch.so: cannot open shared object file: No such file or directory", None),
            ("sh: serve: not found", None),
        ] {
            assert_eq!(missing(line).map(|found| (found.name, found.needed_by)), expected, "{line}");
        }
    }
}
