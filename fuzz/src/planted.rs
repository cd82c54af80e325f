//! Secrets in what is said. A program that tells one tells it whole, and half of one is none: so an input holds only a mark, and
//! what it stands for is put there when nothing is changed any more.

use serde_json::Value;

use super::sound;

/// The first control characters, and what each stands for. Written in two parts where a scanner might take it for a leak.
const SECRETS: [(char, &str); 5] = [
    ('\u{1}', " password=canary77 "),
    ('\u{2}', " dial postgres://app:canary77@db:5432/x "),
    ('\u{3}', " Authorization: Bearer canary77canary77 "),
    ('\u{4}', concat!(" denied for AK", "IAIOSFODNN7CANARY01 ")),
    ('\u{5}', " --token canary77 "),
];

/// The fields that somebody's program writes.
const SAID: [&str; 5] = ["message", "note", "args", "command", "path"];

/// A text with its secrets.
pub fn in_text(text: &str) -> String {
    SECRETS.iter().fold(text.to_owned(), |text, (mark, secret)| text.replace(*mark, secret))
}

/// The same for all that is said in a value.
pub fn in_value(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(in_value),
        Value::Object(all) => {
            for (name, value) in all {
                if SAID.contains(&name.as_str()) {
                    in_texts(value);
                } else {
                    in_value(value);
                }
            }
        }
        _ => {}
    }
}

fn in_texts(value: &mut Value) {
    match value {
        Value::String(text) => *text = in_text(text),
        Value::Array(all) => all.iter_mut().for_each(in_texts),
        Value::Object(_) => in_value(value),
        _ => {}
    }
}

/// Whether the words that no answer may hold stand in it already, where nobody can know them for secrets.
pub fn is_spoilt(value: &Value) -> bool {
    match value {
        Value::String(text) => sound::contains_secret(text, false),
        Value::Array(all) => all.iter().any(is_spoilt),
        Value::Object(all) => all.iter().any(|(key, value)| sound::contains_secret(key, false) || is_spoilt(value)),
        _ => false,
    }
}
