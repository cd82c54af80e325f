//! The line of the source code at which a program failed.

use std::sync::LazyLock;

use regex::Regex;

/// `panicked at src/main.rs:12:44:`, or `panicked at 'message', src/main.rs:12:44` before Rust 1.73; and a frame of a
/// goroutine's stack: `/src/main.go:8 +0x1d`.
static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"panicked at (?:'.*', )?(?<rust>[^\s']+\.rs:[0-9]+)|^(?<go>\S+\.go:[0-9]+)(?: \+0x[0-9a-f]+)?$").ok()
});

/// `main.go:8`, with the folder of the file: the first frame that is not of Go's own library.
pub(super) fn of_panic<'a>(lines: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let pattern = PLACE.as_ref()?;
    let place = |line: &'a str| {
        let found = pattern.captures(line)?;
        found.name("rust").or_else(|| found.name("go")).map(|place| place.as_str())
    };
    let is_own = |place: &&str| !place.contains("/go/src/runtime/") && !place.contains("/go/src/testing/");
    lines.filter_map(place).find(is_own).map(short)
}

/// The text of the source line in the last frame of a Python traceback that is not of a library:
/// `socket.create_connection((host, 6379))`.
pub(super) fn of_traceback<'a>(lines: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const LIBRARIES: [&str; 4] = ["/lib/python", "/site-packages/", "/dist-packages/", "\"<frozen "];
    let lines: Vec<&str> = lines.collect();
    let frame = |pair: &[&'a str]| match *pair {
        [place, source] if place.starts_with("File \"") && !source.starts_with("File \"") => Some((place, source)),
        _ => None,
    };
    let own = |(place, _): &(&str, &str)| !LIBRARIES.iter().any(|library| place.contains(library));
    lines.windows(2).rev().filter_map(frame).find(own).map(|(_, source)| source)
}

/// The last two parts of a path.
fn short(path: &str) -> &str {
    path.rmatch_indices('/').nth(1).map_or(path, |(at, _)| path.get(at + 1..).unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::{of_panic, of_traceback};

    #[test]
    fn place_of_a_panic_is_the_first_line_of_the_programs_own_code() {
        let place = |log: &'static str| of_panic(log.lines().map(str::trim));
        let go = "panic: assignment to entry in nil map\n\ngoroutine 1 [running]:\npanic({0x4a, 0x4b})\n\t/usr/local/go/src/runtime/panic.go:884 +0x213\nmain.load(...)\n\t/app/config/load.go:31\nmain.main()\n\t/app/main.go:9 +0x1d";
        assert_eq!(place(go), Some("config/load.go:31"));
        assert_eq!(
            place("thread 'main' panicked at src/main.rs:12:44:\ncalled `Result::unwrap()`"),
            Some("src/main.rs:12")
        );
        assert_eq!(place("thread 'main' panicked at 'index out of bounds', lib.rs:7:5"), Some("lib.rs:7"));
        assert_eq!(place("panic: no stack follows"), None);
    }

    #[test]
    fn source_line_of_a_traceback_is_the_last_of_the_programs_own_code() {
        let source = |log: &'static str| of_traceback(log.lines().map(str::trim));
        let python = "Traceback (most recent call last):\n  File \"/app/worker.py\", line 8, in <module>\n    s = socket.create_connection((host, 6379))\n  File \"/usr/lib/python3.11/socket.py\", line 836, in create_connection\n    sock.connect(sa)\nConnectionRefusedError: [Errno 111] Connection refused";
        assert_eq!(source(python), Some("s = socket.create_connection((host, 6379))"));
        assert_eq!(source("ConnectionRefusedError: [Errno 111] Connection refused"), None);
    }
}
