//! That each sentence has its Japanese, and that what is told in Japanese tells no less.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use shindan::api::Remedy;
use shindan::cli::offline;
use shindan::cluster::wire::Dump;
use shindan::diagnosis::{Explain, Language, Thresholds, rules};
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

/// The string literals of a source outside of its comments and tests: each with where it begins and what it says.
fn literals(source: &str) -> Vec<(usize, String)> {
    let code = source.find("#[cfg(test)]\nmod tests {").map_or(source, |at| &source[..at]);
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &code[at..];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("r\"") || rest.starts_with("r#\"") {
            let hashes = rest[1..].bytes().take_while(|b| *b == b'#').count();
            let from = hashes + 2;
            let end = rest[from..].find(&format!("\"{}", "#".repeat(hashes))).unwrap();
            found.push((at, rest[from..from + end].to_owned()));
            at += from + end + 1 + hashes;
        } else if let Some(inside) = rest.strip_prefix('"') {
            let (text, length) = unescaped(inside);
            found.push((at, text));
            at += 1 + length;
        } else if let Some(character) = rest.strip_prefix('\'') {
            // A character, unless it is a lifetime.
            let escaped = usize::from(character.starts_with('\\'));
            let inside = rest[1 + escaped..].chars().next().map_or(1, char::len_utf8);
            let end = 1 + escaped + inside;
            at += if rest[end..].starts_with('\'') { end + 1 } else { 1 };
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    found
}

/// What a literal says, up to its closing quote, and how long it is with that.
fn unescaped(inside: &str) -> (String, usize) {
    let mut text = String::new();
    let mut chars = inside.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (text, at + 1),
            '\\' => match chars.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, '\n')) => {
                    let rest = chars.as_str();
                    for _ in rest.chars().take_while(|c| c.is_whitespace()) {
                        chars.next();
                    }
                }
                Some((_, other)) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
    }
    (text, inside.len())
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

/// What people are told: the literals of the macros, of the tables, and what explains each cause. And all literals that there
/// are.
fn told() -> (BTreeSet<String>, BTreeSet<String>) {
    const MARKS: [&str; 10] = [
        "says:",
        "meaning:",
        "told_apart:",
        "action:",
        "remedy: (",
        "TOLD_APART: &str =",
        // Of the page: the terms of its facts.
        ".fact(",
        "Fact::words(",
        "Fact::link(",
        "Fact::since(",
    ];
    let mut told = BTreeSet::new();
    let mut all = BTreeSet::new();
    for file in files(&root().join("src"), ".rs") {
        let source = fs::read_to_string(&file).unwrap();
        let name = file.to_string_lossy();
        if name.ends_with("tests.rs") || name.ends_with("testing.rs") || name.ends_with("language.rs") {
            continue;
        }
        for (at, text) in literals(&source) {
            let before = source[..at].trim_end();
            let is_said = ["say!(", "phrase!("].iter().any(|mark| {
                let Some(open) = source[..at].rfind(mark) else { return false };
                let speaker = &source[open + mark.len()..at];
                speaker.trim_end().ends_with(',')
                    && !speaker.contains(['"', ';', '('])
                    && speaker.matches(',').count() == 1
            });
            if (is_said || MARKS.iter().any(|mark| before.ends_with(mark))) && !text.is_empty() {
                told.insert(text.clone());
            }
            all.insert(text);
        }
    }
    for file in files(&root().join("src"), ".html") {
        let template = fs::read_to_string(&file).unwrap();
        for rest in template.split("frame.language.of(\"").skip(1) {
            let (text, _) = rest.split_once('"').unwrap();
            told.insert(text.to_owned());
            all.insert(text.to_owned());
        }
    }
    for Explain { meaning, told_apart, action, .. } in rules::known().map(|known| known.explain) {
        told.extend([meaning, told_apart, action].into_iter().filter(|text| !text.is_empty()).map(str::to_owned));
    }
    (told, all)
}

#[test]
fn each_sentence_has_its_japanese() {
    let (told, all) = told();
    assert!(told.len() > 1200, "the sentences are found: {}", told.len());
    let mut japanese: BTreeMap<String, String> = BTreeMap::new();
    let mut wrong = String::new();
    for (file, english, text) in catalogue() {
        if text.trim().is_empty() || text == english {
            writeln!(wrong, "{file}: no translation: {english}").unwrap();
        }
        if places(&english) != places(&text) {
            writeln!(wrong, "{file}: not the same places: {english}").unwrap();
        }
        if !all.contains(&english) {
            writeln!(wrong, "{file}: nobody says that any more: {english}").unwrap();
        }
        if japanese.insert(english.clone(), text).is_some() {
            writeln!(wrong, "{file}: for the second time: {english}").unwrap();
        }
    }
    let missing: Vec<&String> = told.iter().filter(|english| !japanese.contains_key(*english)).collect();
    for english in &missing {
        write!(wrong, "\nen: {english}\nja: \n").unwrap();
    }
    assert!(wrong.is_empty(), "{} sentences of src/diagnosis/language/ja are missing:\n{wrong}", missing.len());
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
    // What was cut tells no more than there was room for.
    let is_whole = !english.contains('…') && !japanese.contains('…');
    let lost: Vec<&str> = values(english).filter(|value| is_whole && !japanese.contains(value)).collect();
    if !is_japanese(japanese) || !lost.is_empty() {
        writeln!(wrong, "  {english}\n  {japanese}\n    lost: {lost:?}").unwrap();
    }
}

#[test]
fn each_case_is_told_in_japanese() {
    let mut wrong = String::new();
    let mut cases = 0;
    for file in files(&root().join("tests/causes"), ".yaml") {
        if file.to_string_lossy().ends_with(".expected.yaml") {
            continue;
        }
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
            english.others.iter().zip(&japanese.others).for_each(|(en, ja)| {
                // What the scheduler says itself is told in its own words.
                if en != ja {
                    compare(en, ja, &mut of_case);
                }
            });
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
