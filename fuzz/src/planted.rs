//! Secrets in texts from programs. A mutation could cut a secret, and a part of a secret cannot be recognised. So inputs have
//! marks, which are replaced by secrets after the mutation.

use serde_json::Value;

use super::sound;

/// Marks (control characters) and their secrets. One is split so that secret scanners do not report it as a leak.
const SECRETS: [(char, &str); 5] = [
    ('\u{1}', " password=canary77 "),
    ('\u{2}', " dial postgres://app:canary77@db:5432/x "),
    ('\u{3}', " Authorization: Bearer canary77canary77 "),
    ('\u{4}', concat!(" denied for AK", "IAIOSFODNN7CANARY01 ")),
    ('\u{5}', " --token canary77 "),
];

/// Fields with texts from programs.
const PROGRAM_FIELDS: [&str; 5] = ["message", "note", "args", "command", "path"];

/// Replaces the marks of a text.
pub fn in_text(text: &str) -> String {
    SECRETS.iter().fold(text.to_owned(), |text, (mark, secret)| text.replace(*mark, secret))
}

/// Replaces the marks in the program fields of a value.
pub fn in_value(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(in_value),
        Value::Object(all) => {
            for (name, value) in all {
                if PROGRAM_FIELDS.contains(&name.as_str()) {
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

/// Whether the input has text of a secret already, in a place where it cannot be recognised as one.
pub fn is_spoilt(value: &Value) -> bool {
    match value {
        Value::String(text) => sound::contains_secret(text, false),
        Value::Array(all) => all.iter().any(is_spoilt),
        Value::Object(all) => all.iter().any(|(key, value)| sound::contains_secret(key, false) || is_spoilt(value)),
        _ => false,
    }
}
