//! `shindan diagnose` with malicious files: bounded memory and CPU time, a clear error, an exit code.
//!
//! Each case runs in a process with a limit of its memory and of its CPU time, which does not depend on other processes.
//! `state::steps` in the core counts the work for many failing pods.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The input limit of these tests, and the address space of the process in KiB: the program (80 MiB as a debug build), and
/// 32 MiB for the file, its objects and buffers.
const MAX_INPUT: (&str, usize) = ("1Mi", 1 << 20);
const MEMORY: &str = "114688";
/// CPU seconds of the process. A debug build reads 1 MiB in less than a second; with quadratic work, it would take hours.
const CPU: &str = "20";

fn limited(args: &[&str], stdin: Stdio) -> Output {
    let script = format!("ulimit -v {MEMORY} && ulimit -t {CPU} && exec \"$0\" \"$@\"");
    Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_shindan")]).args(args).stdin(stdin).output().unwrap()
}

fn diagnose(path: &Path) -> Output {
    limited(&["diagnose", "--max-input", MAX_INPUT.0, "-f", path.to_str().unwrap(), "-o", "json"], Stdio::null())
}

/// The standard error, checked to be printable.
fn stderr(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    text
}

fn ended_by_itself(output: &Output, what: &str) {
    assert!(matches!(output.status.code(), Some(0 | 1)), "{what}: {:?} {}", output.status, stderr(output));
}

const GOOD: &str = "kind: Node\nmetadata: {name: good}\n";

#[test]
fn a_too_large_file_is_named_and_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.yaml");
    File::create(&path).unwrap().set_len(1 << 30).unwrap();
    let done = limited(&["diagnose", "-f", path.to_str().unwrap()], Stdio::null());
    let error = stderr(&done);
    assert_eq!(done.status.code(), Some(1), "{error}");
    assert!(error.contains("huge.yaml: not read: it is larger than --max-input (512Mi)"), "{error}");
    assert!(error.contains("raise --max-input"), "the error has a remedy: {error}");
}

#[test]
fn an_endless_input_is_stopped() {
    let zero = || Stdio::from(File::open("/dev/zero").unwrap());
    for file in ["-", "/dev/zero"] {
        let done = limited(&["diagnose", "--max-input", MAX_INPUT.0, "-f", file], zero());
        assert_eq!(done.status.code(), Some(1));
        assert!(stderr(&done).contains("larger than --max-input (1Mi)"), "{}", stderr(&done));
    }
}

#[test]
fn an_invalid_size_is_rejected() {
    for size in ["0", "many"] {
        let done = limited(&["diagnose", "--max-input", size, "-f", "-"], Stdio::null());
        assert_eq!(done.status.code(), Some(1));
        assert!(stderr(&done).contains("--max-input"), "{}", stderr(&done));
    }
}

/// A read of a pipe without a writer would block.
#[test]
fn a_pipe_in_a_folder_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("good.yaml"), GOOD).unwrap();
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe.yaml")).status().unwrap().success());
    let done = diagnose(folder.path());
    assert_eq!((done.status.code(), stderr(&done).as_str()), (Some(0), "No failing pods found in 0 pods.\n"));
}

#[test]
fn file_names_do_not_control_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a\u{1b}[2J\nb.yaml");
    std::fs::write(&path, "kind: [oops").unwrap();
    for path in [path.as_path(), &folder.path().join("absent\u{1b}]0;x\u{7}")] {
        let done = diagnose(path);
        assert_eq!(done.status.code(), Some(1));
        assert!(!stderr(&done).is_empty());
    }
}

/// Repeats a piece up to the input limit, between a beginning and an end.
fn filled(begin: &str, piece: &str, end: &str) -> String {
    let room = MAX_INPUT.1 - begin.len() - end.len();
    format!("{begin}{}{end}", piece.repeat(room / piece.len()))
}

/// Inputs at the size limit, and small inputs that expand.
fn bombs() -> Vec<(&'static str, Vec<u8>)> {
    let mut laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for n in 1..12 {
        let again = vec![format!("*a{}", n - 1); 9].join(", ");
        let _ = writeln!(laughs, "a{n}: &a{n} [{again}]");
    }
    let long = "x".repeat(1 << 19);
    let many_of_a_long_one = format!("kind: Pod\na: &a {long}\nb: [{}]\n", vec!["*a"; 2000].join(", "));
    let merged = format!("kind: Pod\na: &a {{{}}}\nb:\n{}", "k: v", "- {<<: *a}\n".repeat(50_000));
    let own: [(&'static str, String); 27] = [
        ("aliases of aliases", laughs),
        ("aliases of a long text", many_of_a_long_one),
        ("merged maps", merged),
        ("deep JSON lists", filled("", "[", "")),
        ("deep JSON lists that end", format!("{}{}", "[".repeat(1 << 19), "]".repeat(1 << 19))),
        ("deep JSON maps", filled("", "{\"a\":", "")),
        ("deep JSON within a Pod", filled("{\"kind\":\"Pod\",\"spec\":", "{\"spec\":", "")),
        ("lists of lists of objects", "{\"kind\":\"List\",\"items\":[".repeat(30_000) + &"]}".repeat(30_000)),
        ("deep YAML lists", filled("kind: Pod\na: ", "[", "")),
        ("deep YAML maps", filled("kind: Pod\na: ", "{a: ", "")),
        ("deep YAML blocks", filled("kind: Pod\na:\n  ", "- ", "x")),
        ("JSON numbers", filled("[", "0,", "0]")),
        ("JSON objects", filled("[", "{},", "{}]")),
        ("small Pods", filled("[", "{\"kind\":\"Pod\"},", "{}]")),
        ("small Events", filled("[", "{\"kind\":\"Event\"},", "{}]")),
        ("empty containers", filled("{\"kind\":\"Pod\",\"spec\":{\"containers\":[", "{},", "{}]}}")),
        ("empty variables", filled("{\"kind\":\"Pod\",\"spec\":{\"containers\":[{\"env\":[", "{},", "{}]}]}}")),
        ("Pods in YAML", filled("", "---\nkind: Pod\n", "")),
        ("documents that are none", filled("", "---\n[\n", "")),
        ("beginnings of documents", filled("", "---\n", "")),
        ("YAML lists", filled("kind: List\nitems:\n", "- []\n", "")),
        ("YAML items without a kind", filled("items:\n", "- {}\n", "")),
        ("YAML numbers in an object", filled("kind: Pod\na: [", "0,", "0]")),
        ("a number with many digits", filled("{\"kind\":\"Pod\",\"spec\":{\"priority\":", "9", "}}")),
        ("a name", filled("kind: Pod\nmetadata: {name: '", "n", "'}")),
        ("line breaks", filled("kind: Pod\nmetadata: {name: \"a", "\n", "\"}")),
        ("times", filled("kind: Pod\na: ", "2026-11-21T09:00:00Z", "\n")),
    ];
    let labels: String = (0..80_000).fold(String::new(), |mut all, n| {
        let _ = write!(all, "\"k{n}\":\"\",");
        all
    });
    let labels = format!("{{\"kind\":\"Pod\",\"metadata\":{{\"labels\":{{{labels}\"k\":\"\"}}}}}}");
    let mut all: Vec<(&'static str, Vec<u8>)> = own.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    all.push(("labels", labels.into_bytes()));
    all.push(("bytes that are no text", vec![0xff; MAX_INPUT.1]));
    all.push((
        "bytes that are no text in a name",
        [b"kind: Pod\nmetadata: {name: '".to_vec(), vec![0xc3; 1 << 19], b"'}".to_vec()].concat(),
    ));
    all
}

#[test]
fn memory_and_cpu_time_are_bounded_for_any_file() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in bombs() {
        assert!(bytes.len() <= MAX_INPUT.1, "{name}: {}", bytes.len());
        let path = folder.path().join("bomb.yaml");
        std::fs::write(&path, bytes).unwrap();
        let done = diagnose(&path);
        ended_by_itself(&done, name);
        let error = stderr(&done);
        assert!(error.len() < 64 << 10, "{name}: {} bytes of errors", error.len());
        assert!(!error.is_empty(), "{name}: no error");
    }
}

#[test]
fn each_limit_is_named_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let repeats = bombs().remove(1).1;
    for (bytes, expected) in [
        (
            filled("[", "{\"kind\":\"Pod\"},", "{}]").into_bytes(),
            "need more than twice the memory of --max-input (1Mi). Dump fewer",
        ),
        (
            repeats,
            "its YAML aliases (*name) expand to more than the document itself: write the objects without aliases",
        ),
        (
            "[".repeat(40).into_bytes().into_iter().chain("]".repeat(40).into_bytes()).collect(),
            "lists within lists, more than 16 deep",
        ),
    ] {
        let path = folder.path().join("bomb.yaml");
        std::fs::write(&path, bytes).unwrap();
        let done = diagnose(&path);
        assert_eq!(done.status.code(), Some(1), "{expected}");
        assert!(stderr(&done).contains(expected), "{}", stderr(&done));
    }
}

/// A duplicate key is an error of its object only; a number out of range is no error.
#[test]
fn a_malformed_object_does_not_affect_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.yaml");
    let odd = "kind: Pod\nkind: Pod\nmetadata: {name: twice}\n";
    let numbers = "kind: Pod\nmetadata: {name: big}\nspec: {priority: 99999999999999999999999999}\n";
    std::fs::write(&path, format!("{odd}---\n{numbers}---\n{GOOD}")).unwrap();
    let done = diagnose(&path);
    assert_eq!(done.status.code(), Some(1));
    assert!(stderr(&done).contains("document 1, line 2: a map has a key twice"), "{}", stderr(&done));
    assert!(stderr(&done).contains("No failing pods found in 1 pod."), "{}", stderr(&done));
}
