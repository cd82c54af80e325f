//! What the rules say of recorded cases, and that no rule, fixture or explanation is missing.
//!
//! `tests/causes/<Cause>/<case>.yaml` must be diagnosed as that cause; `not-<case>.yaml` looks like it and must not be.
//! `tests/healthy/*.yaml` must not be diagnosed at all. Beside each case, `<case>.expected.yaml` holds the gist of its
//! diagnoses; `UPDATE=1 cargo test --test causes` writes it anew. Leading comments that are read:
//!
//! - `# judged-at: TIME`, else `# recorded-at: TIME`: the clock; else the newest time in the text.
//! - `# also: Cause, Cause`: other pods of the case have these causes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use shindan::api::{Confidence, DiagnosisState, Severity};
use shindan::cli::offline;
use shindan::cluster::wire::Dump;
use shindan::diagnosis::{Thresholds, rules};
use shindan::facts::Timestamp;
use shindan::plan::ObjectWrite;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Entries of a folder by name.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|n| n.to_str()).unwrap_or_default()
}

/// The cases of a folder.
fn cases(folder: &Path) -> Vec<PathBuf> {
    #[allow(clippy::case_sensitive_file_extension_comparisons, reason = "the recorder writes .yaml")]
    let is_case = |p: &PathBuf| name_of(p).ends_with(".yaml") && !name_of(p).ends_with(".expected.yaml");
    entries(folder).into_iter().filter(is_case).collect()
}

fn is_near_miss(case: &Path) -> bool {
    name_of(case).starts_with("not-")
}

/// What a leading comment says.
fn directive<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let comments = text.lines().take_while(|line| line.starts_with('#'));
    comments
        .filter_map(|line| line.trim_start_matches('#').trim().strip_prefix(name)?.strip_prefix(':'))
        .map(str::trim)
        .next()
}

/// Diagnoses a case. A case that is to be recognised and is not yet (a threshold runs) is looked at again when the
/// operator would, for an hour at most.
fn diagnose(case: &Path, patient_for: Option<&str>) -> Result<(String, Vec<ObjectWrite>), String> {
    const HOUR: i64 = 3600;
    let text = fs::read_to_string(case).map_err(|e| format!("{}: {e}", case.display()))?;
    let read = || {
        let mut dump = Dump::default();
        dump.read(&text);
        dump
    };
    let dump = read();
    if !dump.problems.is_empty() || dump.pods.is_empty() {
        return Err(format!("{}: no pods can be read from it: {:?}", case.display(), dump.problems));
    }
    let recorded: Timestamp = match directive(&text, "judged-at").or_else(|| directive(&text, "recorded-at")) {
        Some(at) => at.parse().map_err(|e| format!("{}: its clock: {e}", case.display()))?,
        None => dump.newest.ok_or_else(|| format!("{}: it states no time", case.display()))?,
    };
    let mut report = offline::diagnose(dump, recorded, Thresholds::default());
    let mut now = recorded;
    if let Some(cause) = patient_for {
        while !report.objects.iter().any(|w| w.status.cause == cause) {
            match report.wake.filter(|wake| *wake > now && wake.as_second() - recorded.as_second() <= HOUR) {
                Some(wake) => now = wake,
                None => break,
            }
            report = offline::diagnose(read(), now, Thresholds::default());
        }
    }
    Ok((text, report.objects))
}

/// The gist of a diagnosis: what a person would be sorry to see change unnoticed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Gist<'a> {
    pod: &'a str,
    cause: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<&'a str>,
    severity: Severity,
    confidence: Confidence,
    pod_status: &'a str,
    summary: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_findings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_remedy: Option<&'a str>,
}

fn gist(found: &[ObjectWrite]) -> String {
    let gists: Vec<Gist<'_>> = found
        .iter()
        .map(|write| {
            let status = &write.status;
            let others = status.other_findings.iter().map(|other| match &other.container {
                Some(container) => format!("{} ({container})", other.cause),
                None => other.cause.clone(),
            });
            Gist {
                pod: &write.key.name,
                cause: &status.cause,
                container: status.container.as_deref(),
                severity: status.severity,
                confidence: status.confidence,
                pod_status: &status.pod_status,
                summary: &status.summary,
                other_findings: others.collect(),
                first_remedy: status.remedies.first().map(|r| r.text.as_str()),
            }
        })
        .collect();
    serde_saphyr::to_string(&gists).unwrap()
}

/// Whether the expected file is right; with `UPDATE=1` it is made so.
fn compare(case: &Path, found: &[ObjectWrite], wrong: &mut String) {
    let expected = case.with_extension("expected.yaml");
    let now = gist(found);
    let was = fs::read_to_string(&expected).ok();
    if was.as_deref() == Some(&now) {
        return;
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&expected, &now).unwrap();
        return;
    }
    let shown = expected.strip_prefix(root()).unwrap_or(&expected);
    match was {
        None => writeln!(wrong, "{}: is missing; UPDATE=1 writes it", shown.display()).unwrap(),
        Some(was) => {
            writeln!(wrong, "{}: differs; UPDATE=1 accepts what is now said", shown.display()).unwrap();
            for line in was.lines().filter(|line| !now.lines().any(|l| l == *line)) {
                writeln!(wrong, "  - {line}").unwrap();
            }
            for line in now.lines().filter(|line| !was.lines().any(|l| l == *line)) {
                writeln!(wrong, "  + {line}").unwrap();
            }
        }
    }
}

fn describe(found: &[ObjectWrite]) -> String {
    if found.is_empty() {
        return "no diagnosis".to_owned();
    }
    let each = found.iter().map(|w| format!("{} of {}: {}", w.status.cause, w.key.name, w.status.summary));
    each.collect::<Vec<_>>().join("; ")
}

fn folders() -> Vec<PathBuf> {
    entries(&root().join("causes")).into_iter().filter(|p| p.is_dir()).collect()
}

#[test]
fn each_case_is_diagnosed_as_its_folder_says() {
    let mut wrong = String::new();
    for folder in folders() {
        let cause = name_of(&folder);
        for case in cases(&folder) {
            let patient_for = (!is_near_miss(&case)).then_some(cause);
            let (text, found) = match diagnose(&case, patient_for) {
                Ok(done) => done,
                Err(e) => {
                    writeln!(wrong, "{e}").unwrap();
                    continue;
                }
            };
            let active: Vec<&ObjectWrite> = found.iter().filter(|w| w.status.state == DiagnosisState::Active).collect();
            let hits = active.iter().filter(|w| w.status.cause == cause).count();
            let also: BTreeSet<&str> =
                directive(&text, "also").into_iter().flat_map(|list| list.split(',')).map(str::trim).collect();
            let case_name = format!("{cause}/{}", name_of(&case));
            let is_right = if is_near_miss(&case) {
                hits == 0
            } else {
                hits > 0 && active.iter().all(|w| w.status.cause == cause || also.contains(w.status.cause.as_str()))
            };
            if is_right {
                compare(&case, &found, &mut wrong);
            } else if is_near_miss(&case) {
                writeln!(wrong, "{case_name}: is a near miss, yet diagnosed: {}", describe(&found)).unwrap();
            } else {
                writeln!(wrong, "{case_name}: got {}", describe(&found)).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn what_is_well_is_not_diagnosed() {
    let mut wrong = String::new();
    for case in cases(&root().join("healthy")) {
        match diagnose(&case, None) {
            Ok((_, found)) if found.is_empty() => {}
            Ok((_, found)) => writeln!(wrong, "{}: got {}", name_of(&case), describe(&found)).unwrap(),
            Err(e) => writeln!(wrong, "{e}").unwrap(),
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// A rule is complete with an explanation, a case that it recognises and a near miss that it does not.
#[test]
fn each_rule_is_complete() {
    let mut wrong = String::new();
    let mut seen = BTreeSet::new();
    for rule in rules::all() {
        let cause = rule.cause;
        if !seen.insert(cause) {
            writeln!(wrong, "{cause}: is twice in the table").unwrap();
        }
        let is_name = cause.len() <= 63
            && cause.starts_with(|c: char| c.is_ascii_uppercase())
            && cause.bytes().all(|b| b.is_ascii_alphanumeric());
        if !is_name {
            writeln!(wrong, "{cause}: does not match ^[A-Z][A-Za-z0-9]{{0,62}}$").unwrap();
        }
        let explain = &rule.explain;
        for (field, text) in [
            ("meaning", explain.meaning),
            ("told_apart", explain.told_apart),
            ("action", explain.action),
            ("source", explain.source),
        ] {
            if text.trim().is_empty() {
                writeln!(wrong, "{cause}: explain.{field} is empty").unwrap();
            }
        }
        let cases = cases(&root().join("causes").join(cause));
        let near = cases.iter().filter(|case| is_near_miss(case)).count();
        if near == cases.len() {
            writeln!(wrong, "{cause}: no case tests/causes/{cause}/<case>.yaml that it must recognise").unwrap();
        }
        if near == 0 {
            writeln!(wrong, "{cause}: no near miss tests/causes/{cause}/not-<case>.yaml").unwrap();
        }
    }
    for folder in folders() {
        if rules::find(name_of(&folder)).is_none() {
            writeln!(wrong, "tests/causes/{}: the table has no such cause", name_of(&folder)).unwrap();
        }
        for file in entries(&folder) {
            let case = name_of(&file).strip_suffix(".expected.yaml");
            if case.is_some_and(|case| !folder.join(format!("{case}.yaml")).exists()) {
                writeln!(wrong, "{}: expects something of a case that is not there", file.display()).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
