//! Japanese texts have the fields and values of the English ones. A text without a translation stays English.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use shindan_core::api::Remedy;
use shindan_core::case::Thresholds;
use shindan_core::facts::Timestamp;
use shindan_core::language::Language;
use shindan_core::offline;
use shindan_core::reconcile::Write;
use shindan_core::wire::Dump;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files(&entry, ending));
        } else if entry.to_string_lossy().ends_with(ending) {
            found.push(entry);
        }
    }
    found.sort();
    found
}

/// The texts of one diagnosis.
#[derive(Debug)]
struct Texts {
    cause: String,
    summary: String,
    others: Vec<String>,
    remedies: Vec<Remedy>,
}

fn texts(text: &str, now: Timestamp, language: Language) -> Vec<Texts> {
    let mut dump = Dump::default();
    dump.read(text);
    let thresholds = Thresholds::default().for_snapshot().in_language(language);
    let report = offline::diagnose(dump, offline::Logs::default(), now, thresholds);
    let texts = |write: &Write| Texts {
        cause: write.object.head().cause.clone(),
        summary: write.object.head().summary.clone(),
        others: write.object.pod_status().iter().flat_map(|s| &s.other_findings).map(|o| o.summary.clone()).collect(),
        remedies: write.object.head().remedies.clone(),
    };
    report.pods.iter().chain(&report.nodes_and_workloads).map(texts).collect()
}

fn is_japanese(text: &str) -> bool {
    text.chars().any(|c| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'))
}

/// The values of a sentence: tokens with a digit, a slash or similar characters.
fn values(text: &str) -> impl Iterator<Item = &str> {
    let is_edge = |c: char| !c.is_ascii_alphanumeric();
    let texts = text
        .split(|c: char| c.is_whitespace() || "();,\"`'…".contains(c))
        .map(move |token| token.trim_matches(is_edge));
    texts.filter(|token| token.contains(|c: char| c.is_ascii_digit() || "/@=".contains(c)))
}

fn compare(english: &str, japanese: &str, wrong: &mut String) {
    // A text without a translation stays English.
    if english == japanese {
        return;
    }
    // A truncated text may lack values.
    let is_whole = !english.contains('…') && !japanese.contains('…');
    let lost: Vec<&str> = values(english).filter(|value| is_whole && !japanese.contains(value)).collect();
    if !is_japanese(japanese) || !lost.is_empty() {
        writeln!(wrong, "  {english}\n  {japanese}\n    lost: {lost:?}").unwrap();
    }
}

#[test]
fn a_japanese_text_of_a_recorded_case_has_the_values_of_the_english_one() {
    let mut wrong = String::new();
    let mut cases = 0;
    for file in files(&root().join("tests/causes"), ".yaml") {
        let text = fs::read_to_string(&file).unwrap();
        let clock = |name: &str| {
            let mut comments = text.lines().take_while(|line| line.starts_with('#'));
            comments.find_map(|line| line.trim_start_matches('#').trim().strip_prefix(name)?.trim().parse().ok())
        };
        let mut dump = Dump::default();
        dump.read(&text);
        let Some(now) = clock("judged-at:").or_else(|| clock("recorded-at:")).or(dump.newest) else { continue };
        let (english, japanese) = (texts(&text, now, Language::English), texts(&text, now, Language::Japanese));
        assert_eq!(english.len(), japanese.len(), "{}", file.display());
        let mut of_case = String::new();
        for (english, japanese) in english.iter().zip(&japanese) {
            cases += 1;
            assert_eq!(english.cause, japanese.cause, "{}", file.display());
            assert_eq!(english.remedies.len(), japanese.remedies.len(), "{}", file.display());
            compare(&english.summary, &japanese.summary, &mut of_case);
            english.others.iter().zip(&japanese.others).for_each(|(en, ja)| compare(en, ja, &mut of_case));
            for (en, ja) in english.remedies.iter().zip(&japanese.remedies) {
                if (&en.command, &en.patch, en.kind) != (&ja.command, &ja.patch, ja.kind) {
                    writeln!(of_case, "  another command: {en:?}\n  {ja:?}").unwrap();
                }
                compare(&en.text, &ja.text, &mut of_case);
            }
            assert!(japanese.summary.chars().count() <= 200, "{}", japanese.summary);
        }
        if !of_case.is_empty() {
            write!(wrong, "{}:\n{of_case}", file.strip_prefix(root()).unwrap().display()).unwrap();
        }
    }
    assert!(cases > 300, "the cases are found: {cases}");
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_secret_is_masked_in_each_language() {
    const POD: &str = r#"
kind: Pod
metadata: {name: web, namespace: shop, uid: u1}
spec: {nodeName: n1, containers: [{name: web, image: "shop/web:1"}]}
status:
  phase: Running
  startTime: "2026-11-21T09:00:00Z"
  containerStatuses:
  - name: web
    restartCount: 9
    state: {waiting: {reason: CrashLoopBackOff}}
    lastState: {terminated: {exitCode: 1, reason: Error, startedAt: "2026-11-21T09:58:00Z", finishedAt: "2026-11-21T09:58:09Z",
      message: "fatal error: cannot open postgres://app:hunter2@db:5432/{port}"}}
"#;
    for language in [Language::English, Language::Japanese] {
        let found = texts(POD, "2026-11-21T09:59:00Z".parse().unwrap(), language);
        let summary = &found[0].summary;
        assert!(!summary.contains("hunter2") && summary.contains("postgres://app:***@db:5432/{port}"), "{summary}");
    }
}

/// The receivers of the calls in a source that look into a text, without the tests at its end.
fn texts_read(source: &str) -> Vec<String> {
    const READS: [&str; 8] = [
        ".contains(",
        ".starts_with(",
        ".ends_with(",
        ".strip_prefix(",
        ".strip_suffix(",
        ".split",
        ".rsplit",
        ".replace(",
    ];
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap();
    let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code: String = code.split_whitespace().collect();
    let is_of_receiver = |c: char| c.is_alphanumeric() || "_.()&*?[]".contains(c);
    let receiver = |at: usize| {
        let length = code[..at].chars().rev().take_while(|c| is_of_receiver(*c)).map(char::len_utf8).sum::<usize>();
        code[at - length..at].to_owned()
    };
    let reads = READS.iter().flat_map(|read| code.match_indices(read)).map(|(at, _)| receiver(at));
    reads.chain(code.matches("Language::of_text").map(str::to_owned)).collect()
}

/// Decisions use typed values: a quoted log line, another language or a new wording must not change them.
#[test]
fn no_decision_reads_a_composed_text() {
    const TESTS: [&str; 2] = ["tests.rs", "rules/advice.rs"];
    const COMPOSED: [&str; 7] = ["summary", "remedy", "remedies", "command", "patch", "evidence", "of_text"];
    const ALLOWED: [(&str, &str, &str); 7] = [
        ("core/src/reconcile/composition.rs", "summary", "the object of an earlier run has only texts"),
        ("core/src/reconcile/composition.rs", "command", "the object of an earlier run has only texts"),
        ("core/src/reconcile/composition.rs", "of_text", "the object of an earlier run has only texts"),
        ("core/src/signals/container_start/message.rs", "command", "of the container's spec"),
        ("core/src/signals/waits_for.rs", "command", "of the container's spec"),
        ("src/cli/reading.rs", "command", "the command itself, which has no language"),
        ("src/cli/tree.rs", "evidence", "its source, which is a field path"),
    ];
    let folders = [
        "core/src/case",
        "core/src/signals",
        "core/src/actions",
        "core/src/rules",
        "core/src/reconcile",
        "core/src/state",
        "src/cli",
    ];
    let sources = folders.iter().flat_map(|folder| files(&root().join(folder), ".rs"));
    let mut found = Vec::new();
    for path in sources.filter(|path| !TESTS.iter().any(|test| path.ends_with(test))) {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let is_allowed = |word: &str| ALLOWED.iter().any(|(file, allowed, _)| (*file, *allowed) == (&*name, word));
        for read in texts_read(&fs::read_to_string(&path).unwrap()) {
            let mut words = read.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            if words.any(|word| COMPOSED.contains(&word) && !is_allowed(word)) {
                found.push(format!("{name}: {read}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
