//! Conditions that each diagnosis meets for any input: it is bounded, clean and based on evidence, contains no secret, and no
//! command of it executes text from the cluster. tests/hostile.rs checks the same conditions.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use shindan_core::api::Remedy;
use shindan_core::facts::PodFacts;
use shindan_core::reconcile::{Announcement, Object, Write};
use shindan_core::rules;

/// Maximum size of a status in bytes, and of a summary in characters.
const STATUS_MAX: usize = 7 * 1024;
const SUMMARY_MAX: usize = 200;

/// Shell syntax that our commands use outside of quotes. Any other comes from the cluster.
const OWN_SYNTAX: [&str; 11] = [
    "; kubectl ",
    " && kubectl ",
    " | kubectl ",
    " | sed ",
    " | grep ",
    " | sort ",
    " | tail",
    "; du ",
    "$(kubectl -n ",
    " -o jsonpath=)",
    " -o json > ",
];

/// Checks all conditions for a diagnosis.
pub fn is_clean(write: &Write) {
    let head = write.object.head();
    let value = match &write.object {
        Object::Pod(_, status) => {
            assert!(head.evidence.len() <= 12 && head.remedies.len() <= 5);
            read_back(status)
        }
        Object::Node(_, status) => read_back(status),
        Object::Workload(_, status) => read_back(status),
    };
    assert!(rules::known().any(|known| known.cause == head.cause), "{}", head.cause);
    assert!(!head.evidence.is_empty(), "{} without evidence", head.cause);
    check_texts(&value, &head.summary, &head.remedies);
    are_valid(&write.object.labels());
    write.announcement.iter().for_each(announcement_is_clean);
}

/// A status must survive JSON: the operator keeps it as JSON and compares later statuses with it.
fn read_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(status: &T) -> Value {
    let value = serde_json::to_value(status).unwrap();
    assert_eq!(serde_json::from_value::<T>(value.clone()).unwrap(), *status);
    value
}

/// Facts must survive JSON: the operator keeps rarely read facts as JSON.
pub fn is_kept_whole(pod: &PodFacts) {
    let json = serde_json::to_string(pod).unwrap();
    let read: PodFacts = serde_json::from_str(&json).unwrap();
    assert_eq!(PodFacts { key: pod.key.clone(), ..read }, *pod);
}

/// Whether a text contains a secret of the inputs.
pub fn contains_secret(text: &str, is_command: bool) -> bool {
    // Commands name objects, and names are not masked. Names cannot contain capital letters.
    let word = if is_command { "canary7" } else { "canary" };
    text.contains("=hunter2")
        || (text.contains("c2ln") && !text.contains("password_"))
        || text.to_ascii_lowercase().contains(word)
}

fn check_texts(status: &Value, summary: &str, remedies: &[Remedy]) {
    assert!(!summary.is_empty() && summary.chars().count() <= SUMMARY_MAX, "{summary}");
    let size = status.to_string().len();
    assert!(size <= STATUS_MAX, "{size} bytes: {status}");
    let mut found = Vec::new();
    strings(status, &mut found);
    for text in found {
        let is_odd =
            |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        assert!(!text.chars().any(is_odd), "{text:?} in {status}");
        let is_command = remedies.iter().any(|remedy| remedy.command.as_deref() == Some(text));
        assert!(!contains_secret(text, is_command), "a secret: {text:?}");
    }
    for remedy in remedies {
        let command = remedy.command.as_deref().unwrap_or_default();
        assert!(runs_only_our_own(command), "it would execute text from the cluster: {command}");
        let patch = remedy.patch.as_deref().map(serde_saphyr::from_str::<Value>);
        assert!(patch.as_ref().is_none_or(|patch| matches!(patch, Ok(Value::Object(_)))), "{:?}", remedy.patch);
    }
}

/// Whether a shell executes only our commands: all text from the cluster is in single quotes, or has no characters with a
/// meaning in a shell.
fn runs_only_our_own(command: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_./:@=,+%".contains(c);
    // A quote within quotes.
    let command = command.replace(r"'\''", "");
    let outside: String = without_placeholders(&command.split('\'').step_by(2).collect::<String>());
    let rest = OWN_SYNTAX.iter().fold(outside, |rest, own| rest.replace(own, " "));
    command.matches('\'').count().is_multiple_of(2) && rest.chars().all(is_plain)
}

/// A command without its placeholders, such as `<NEW-TAG>`. A shell rejects a command with placeholders because the `>` of one
/// redirects to nothing: the command, or a part of its pipe, ends with it.
fn without_placeholders(command: &str) -> String {
    let is_rejected = command.ends_with('>') || command.contains("> | ") || command.contains("> && ");
    let mut parts = command.split('<');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('>') {
            Some((name, after))
                if !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '-') && is_rejected =>
            {
                out.push_str(after);
            }
            _ => out.extend(["<", part]),
        }
    }
    out
}

/// Checks that the API server accepts the labels.
fn are_valid(labels: &BTreeMap<String, String>) {
    const MOST: usize = 63;
    for (name, label) in labels {
        let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        assert!(label.len() <= MOST && label.chars().all(is_valid), "{name}={label}");
        let ends = [label.chars().next(), label.chars().last()];
        assert!(ends.iter().flatten().all(char::is_ascii_alphanumeric), "{name}={label}");
    }
}

fn announcement_is_clean(event: &Announcement) {
    assert!(event.note.len() <= 1024 && !event.note.chars().any(char::is_control), "{:?}", event.note);
    assert!(!contains_secret(&event.note, false), "a secret: {:?}", event.note);
}

/// All strings of a value.
fn strings<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(all) => all.iter().for_each(|v| strings(v, found)),
        Value::Object(all) => all.values().for_each(|v| strings(v, found)),
        _ => {}
    }
}
