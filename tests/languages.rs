//! Japanese texts have the fields and values of the English ones. A text without a translation stays English.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use shindan::api::Remedy;
use shindan::cli::offline;
use shindan::cluster::wire::Dump;
use shindan::diagnosis::{Language, Thresholds};
use shindan::facts::Timestamp;

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

/// The pairs of the catalogue, with the file of each.
fn catalogue() -> Vec<(String, String, String)> {
    let mut pairs = Vec::new();
    for file in files(&root().join("src/diagnosis/language/ja"), ".txt") {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).unwrap();
        let mut english: Option<&str> = None;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match (line.split_once(": "), english) {
                (Some(("en", text)), None) => english = Some(text),
                (Some(("ja", text)), Some(of)) => {
                    pairs.push((name.clone(), of.to_owned(), text.to_owned()));
                    english = None;
                }
                _ => panic!("{name}: a line that is no pair's: {line}"),
            }
        }
        assert_eq!(english, None, "{name}: the last pair is half");
    }
    pairs
}

/// The names of the places of a template.
fn places(template: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let brace = &rest[at..];
        if brace.starts_with("{{") || brace.starts_with("}}") {
            rest = &brace[2..];
        } else {
            let Some((name, after)) = brace[1..].split_once('}') else { break };
            found.insert(name);
            rest = after;
        }
    }
    found
}

#[test]
fn a_translation_has_the_fields_of_its_english_text() {
    let mut sources = String::new();
    for ending in [".rs", ".html"] {
        for file in files(&root().join("src"), ending) {
            sources.push_str(&fs::read_to_string(&file).unwrap());
        }
    }
    // As the compiler reads a literal.
    let mut lines = sources.split("\\\n").map(str::trim_start);
    let sources = lines.by_ref().collect::<String>().replace("\\\"", "\"");
    let mut seen = BTreeSet::new();
    let mut wrong = String::new();
    for (file, english, text) in catalogue() {
        if text.trim().is_empty() || text == english {
            writeln!(wrong, "{file}: no translation: {english}").unwrap();
        }
        if places(&english) != places(&text) {
            writeln!(wrong, "{file}: not the same fields: {english}").unwrap();
        }
        if !sources.contains(&english) {
            writeln!(wrong, "{file}: no source has this text any more: {english}").unwrap();
        }
        if !seen.insert(english.clone()) {
            writeln!(wrong, "{file}: twice: {english}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What is told of one subject.
#[derive(Debug)]
struct Words {
    cause: String,
    summary: String,
    others: Vec<String>,
    remedies: Vec<Remedy>,
}

fn words(text: &str, now: Timestamp, language: Language) -> Vec<Words> {
    let mut dump = Dump::default();
    dump.read(text);
    let thresholds = Thresholds::default().for_snapshot().in_language(language);
    let report = offline::diagnose(dump, offline::Logs::default(), now, thresholds);
    let pods = report.objects.into_iter().map(|write| Words {
        cause: write.status.cause,
        summary: write.status.summary,
        others: write.status.other_findings.into_iter().map(|other| other.summary).collect(),
        remedies: write.status.remedies,
    });
    let outers = report.outers.iter().map(|write| write.object.head()).map(|head| Words {
        cause: head.cause.clone(),
        summary: head.summary.clone(),
        others: Vec::new(),
        remedies: head.remedies.clone(),
    });
    pods.chain(outers).collect()
}

fn is_japanese(text: &str) -> bool {
    text.chars().any(|c| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'))
}

/// What a sentence shows of the cluster: words with a digit, a slash or the like in them.
fn values(text: &str) -> impl Iterator<Item = &str> {
    let is_edge = |c: char| !c.is_ascii_alphanumeric();
    let words =
        text.split(|c: char| c.is_whitespace() || "();,\"`'…".contains(c)).map(move |word| word.trim_matches(is_edge));
    words.filter(|word| word.contains(|c: char| c.is_ascii_digit() || "/@=".contains(c)))
}

fn compare(english: &str, japanese: &str, wrong: &mut String) {
    // A text without a translation stays English.
    if english == japanese {
        return;
    }
    // A text that was cut has only what there was room for.
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
        let (english, japanese) = (words(&text, now, Language::English), words(&text, now, Language::Japanese));
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
        let told = words(POD, "2026-11-21T09:59:00Z".parse().unwrap(), language);
        let summary = &told[0].summary;
        assert!(!summary.contains("hunter2") && summary.contains("postgres://app:***@db:5432/{port}"), "{summary}");
    }
}
