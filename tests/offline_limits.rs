//! `shindan diagnose` on files that nobody means well with: bounded memory, a clear word, an exit code.
//!
//! Each runs in a process that may not have more memory than it is promised to need.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What a file may have here, and the address space of the process in KiB: the program itself (a debug build), the file,
/// twice as much of objects, and what is on its way from one to the other.
const MAX_INPUT: (&str, usize) = ("1Mi", 1 << 20);
const MEMORY: &str = "98304";

fn limited(args: &[&str], stdin: Stdio) -> Output {
    let script = format!("ulimit -v {MEMORY} && exec \"$0\" \"$@\"");
    Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_shindan")]).args(args).stdin(stdin).output().unwrap()
}

fn diagnose(path: &Path) -> Output {
    limited(&["diagnose", "--max-input", MAX_INPUT.0, "-f", path.to_str().unwrap(), "-o", "json"], Stdio::null())
}

/// What was said on standard error, all of it printable.
fn said(output: &Output) -> String {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(!said.chars().any(|c| c.is_control() && c != '\n'), "{said:?}");
    said
}

fn ended_by_itself(output: &Output, what: &str) {
    assert!(matches!(output.status.code(), Some(0 | 1)), "{what}: {:?} {}", output.status, said(output));
}

const GOOD: &str = "kind: Node\nmetadata: {name: good}\n";

#[test]
fn a_file_that_is_too_large_is_named_and_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.yaml");
    File::create(&path).unwrap().set_len(1 << 30).unwrap();
    let done = limited(&["diagnose", "-f", path.to_str().unwrap()], Stdio::null());
    let said = said(&done);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("huge.yaml: not read, for it is larger than --max-input (512Mi)"), "{said}");
    assert!(said.contains("raise --max-input"), "what to do: {said}");
}

#[test]
fn an_input_without_end_is_left() {
    let zero = || Stdio::from(File::open("/dev/zero").unwrap());
    for file in ["-", "/dev/zero"] {
        let done = limited(&["diagnose", "--max-input", MAX_INPUT.0, "-f", file], zero());
        assert_eq!(done.status.code(), Some(1));
        assert!(said(&done).contains("larger than --max-input (1Mi)"), "{}", said(&done));
    }
}

#[test]
fn a_size_must_be_one() {
    for size in ["0", "many"] {
        let done = limited(&["diagnose", "--max-input", size, "-f", "-"], Stdio::null());
        assert_eq!(done.status.code(), Some(1));
        assert!(said(&done).contains("--max-input"), "{}", said(&done));
    }
}

/// A pipe that nobody writes to would be waited for without end.
#[test]
fn a_pipe_in_a_folder_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("good.yaml"), GOOD).unwrap();
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe.yaml")).status().unwrap().success());
    let done = diagnose(folder.path());
    assert_eq!((done.status.code(), said(&done).as_str()), (Some(0), "No failing pods found in 0 pods.\n"));
}

#[test]
fn what_a_file_is_called_commands_no_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a\u{1b}[2J\nb.yaml");
    std::fs::write(&path, "kind: [oops").unwrap();
    for path in [path.as_path(), &folder.path().join("absent\u{1b}]0;x\u{7}")] {
        let done = diagnose(path);
        assert_eq!(done.status.code(), Some(1));
        assert!(!said(&done).is_empty());
    }
}

/// As many of a piece as fit, between a beginning and an end.
fn filled(begin: &str, piece: &str, end: &str) -> String {
    let room = MAX_INPUT.1 - begin.len() - end.len();
    format!("{begin}{}{end}", piece.repeat(room / piece.len()))
}

/// Each is as large as a file may be, or small and meant to grow.
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
        ("aliases of a long word", many_of_a_long_one),
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
        ("YAML items that tell no kind", filled("items:\n", "- {}\n", "")),
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
fn whatever_a_file_holds_memory_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in bombs() {
        assert!(bytes.len() <= MAX_INPUT.1, "{name}: {}", bytes.len());
        let path = folder.path().join("bomb.yaml");
        std::fs::write(&path, bytes).unwrap();
        let done = diagnose(&path);
        ended_by_itself(&done, name);
        let said = said(&done);
        assert!(said.len() < 64 << 10, "{name}: {} bytes of complaints", said.len());
        assert!(!said.is_empty(), "{name}: nothing is told");
    }
}

#[test]
fn a_limit_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let repeats = bombs().remove(1).1;
    for (bytes, words) in [
        (
            filled("[", "{\"kind\":\"Pod\"},", "{}]").into_bytes(),
            "need more memory than twice --max-input (1Mi). Dump fewer",
        ),
        (repeats, "its aliases (*name) repeat more than it holds itself: write the objects out"),
        (
            "[".repeat(40).into_bytes().into_iter().chain("]".repeat(40).into_bytes()).collect(),
            "lists within lists, more than 16 deep",
        ),
    ] {
        let path = folder.path().join("bomb.yaml");
        std::fs::write(&path, bytes).unwrap();
        let done = diagnose(&path);
        assert_eq!(done.status.code(), Some(1), "{words}");
        assert!(said(&done).contains(words), "{}", said(&done));
    }
}

/// What is said twice in one object is an error of that object alone; what no number can hold is none.
#[test]
fn one_odd_object_loses_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.yaml");
    let odd = "kind: Pod\nkind: Pod\nmetadata: {name: twice}\n";
    let numbers = "kind: Pod\nmetadata: {name: big}\nspec: {priority: 99999999999999999999999999}\n";
    std::fs::write(&path, format!("{odd}---\n{numbers}---\n{GOOD}")).unwrap();
    let done = diagnose(&path);
    assert_eq!(done.status.code(), Some(1));
    assert!(said(&done).contains("document 1, line 2: a key stands twice in one map"), "{}", said(&done));
    assert!(said(&done).contains("No failing pods found in 1 pod."), "{}", said(&done));
}
