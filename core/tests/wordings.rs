//! Diagnoses messages with the exact wordings of upstream components.
//!
//! `wordings/<group>.yaml` lists the wordings of a group of components. A human states for each what a diagnosis must
//! contain: the cause, and the words that decide. `wordings/carriers/<carrier>.yaml` is the object that the message
//! reaches a user in, such as an Event `FailedMount` of a pod whose containers wait.
//!
//! `WORDINGS=longhorn cargo test -p shindan-core --test wordings` tests only what contains this word.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests read fixtures")]
#![allow(clippy::struct_field_names, reason = "the keys of the files")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::Deserialize;
use shindan_core::fixture;
use shindan_core::message::{Class, Message};

/// The time of the diagnosis; the times of the carriers are up to an hour before it.
const NOW: &str = "2026-11-21T09:00:00Z";

/// The longest summary, in characters.
const SUMMARY_MAX: usize = 200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wording {
    /// The project that prints it.
    component: String,
    /// As in its source, with its placeholders.
    wording: String,
    /// Why it is not tested: it reaches no object that is read, for example.
    untested: Option<String>,
    /// The carrier.
    #[serde(rename = "as")]
    carrier: Option<String>,
    /// Values of the carrier's placeholders, such as the reason of the Event.
    #[serde(default)]
    with: BTreeMap<String, String>,
    /// The whole message, with its wrappers.
    #[serde(default)]
    text: String,
    /// The accepted causes; `none` if nothing fails.
    #[serde(default)]
    causes: Vec<String>,
    /// The words that the summary must contain.
    #[serde(default)]
    names: Vec<String>,
    /// The class of the error, such as `timeout`.
    class: Option<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wordings")
}

fn groups() -> Vec<(String, Vec<Wording>)> {
    let paths = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let wordings = serde_saphyr::from_str(&fs::read_to_string(&path).unwrap());
        (name, wordings.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    };
    paths.into_iter().map(read).collect()
}

/// Fills in the placeholders of a carrier: `{name}`, or `{name:default}`.
fn fill(carrier: &str, wording: &Wording) -> Result<String, String> {
    let text = &wording.text;
    let mut values = wording.with.clone();
    for (name, message) in [
        ("text", text.clone()),
        ("error", format!("Error: {text}")),
        ("creating", format!("Error creating: {text}")),
        ("pulling", format!("Failed to pull image \"registry.example.com/shop/web:1.9\": {text}")),
    ] {
        values.insert(name.to_owned(), serde_json::to_string(&message).unwrap());
    }
    let mut filled = String::new();
    let mut rest = carrier;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (inside, behind) = after.split_once('}').unwrap_or((after, ""));
        let (name, default) = inside.split_once(':').map_or((inside, None), |(name, value)| (name, Some(value)));
        let is_placeholder = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase()) && !inside.contains(' ');
        if is_placeholder {
            let value = values.get(name).map(String::as_str).or(default);
            filled.push_str(value.ok_or_else(|| format!("the carrier needs a value for {name:?}"))?);
            rest = behind;
        } else {
            filled.push('{');
            rest = after;
        }
    }
    Ok(filled + rest)
}

/// The cause and the summary of the first failure.
fn diagnose(manifest: &str) -> Option<(String, String)> {
    let report = fixture::diagnose(&format!("# judged-at: {NOW}\n{manifest}"), None);
    let report = report.unwrap_or_else(|error| panic!("{error} in\n{manifest}"));
    let head = fixture::failing(&report).next()?.object.head();
    Some((head.cause.clone(), head.summary.clone()))
}

/// The differences between what a wording must give and what it gives.
fn problems(wording: &Wording) -> Vec<String> {
    if let Some(reason) = &wording.untested {
        return if reason.len() > 10 { Vec::new() } else { vec!["`untested` needs a reason".to_owned()] };
    }
    let mut problems = Vec::new();
    let class = Message::parse(&wording.text).class().map_or("none", Class::name);
    if wording.class.as_deref().is_some_and(|expected| expected != class) {
        problems.push(format!("class {class}, expected {}", wording.class.as_deref().unwrap_or_default()));
    }
    let Some(carrier) = &wording.carrier else { return vec!["it needs `as` or `untested`".to_owned()] };
    let path = folder().join("carriers").join(format!("{carrier}.yaml"));
    let Ok(carrier) = fs::read_to_string(&path) else { return vec![format!("no carrier {carrier:?}")] };
    let manifest = match fill(&carrier, wording) {
        Ok(manifest) => manifest,
        Err(error) => return vec![error],
    };
    if wording.causes.is_empty() {
        return vec!["it needs `causes`".to_owned()];
    }
    let Some((cause, summary)) = diagnose(&manifest) else {
        let is_quiet = wording.causes.iter().any(|cause| cause == "none");
        if !is_quiet {
            problems.push("nothing is diagnosed".to_owned());
        }
        return problems;
    };
    if !wording.causes.contains(&cause) {
        problems.push(format!("cause {cause}, expected {}: {summary}", wording.causes.join(" or ")));
    }
    for name in wording.names.iter().filter(|name| !summary.contains(name.as_str())) {
        problems.push(format!("{cause} does not name {name:?}: {summary}"));
    }
    if summary.chars().count() > SUMMARY_MAX {
        problems.push(format!("{} characters: {summary}", summary.chars().count()));
    }
    problems
}

#[test]
fn wordings_of_upstream_components_are_diagnosed() {
    let filter = env::var("WORDINGS").unwrap_or_default();
    let mut failed = Vec::new();
    let mut count = 0;
    for (group, wordings) in groups() {
        for wording in wordings {
            let name = format!("{group}: {}: {}", wording.component, wording.wording);
            if !name.contains(&filter) {
                continue;
            }
            count += 1;
            failed.extend(problems(&wording).into_iter().map(|problem| format!("{name}\n    {problem}")));
        }
    }
    assert!(failed.is_empty(), "{} problems of {count} wordings:\n{}", failed.len(), failed.join("\n"));
}
