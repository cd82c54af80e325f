//! Reads a line that a program logged as JSON or as key=value pairs.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::feature::announces_end;

/// A field of a line of key=value pairs: its name, and its value with or without quotes.
static FIELD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?:^|\s)(msg|message|err|error|level|lvl)=(?:"((?:[^"\\]|\\.)*)"|(\S+))"#).ok());

/// What a structured line states.
#[derive(Debug)]
pub(super) struct Structured {
    /// Message and error.
    pub(super) text: String,
    /// As the line spells it; empty if it has none.
    pub(super) level: String,
}

/// Message, error and level of a line that a program logged as JSON, or as key=value pairs.
pub(super) fn read(line: &str) -> Option<Structured> {
    if let Some(found) = tracing(line) {
        return Some(found);
    }
    let Some(start) = line.find('{').filter(|at| *at == 0 || line[..*at].trim_end().len() <= HEAD) else {
        return logfmt(line);
    };
    let fields: Map<String, Value> = match serde_json::from_str(&line[start..]) {
        Ok(fields) => fields,
        Err(_) => return logfmt(line),
    };
    let text_of = |name: &str| fields.get(name)?.as_str().map(str::trim).filter(|text| !text.is_empty());
    let first = |names: &[&str]| names.iter().find_map(|name| text_of(name));
    let message = first(&["msg", "message", "@message", "log"]);
    let error = first(&["error", "err", "exception", "error.message"]).or_else(|| nested(&fields));
    // etcd and others name the object in a field of its own.
    let object = first(&["dir", "path", "file", "data-dir", "address", "endpoint"]);
    let object = object.filter(|object| !error.is_some_and(|error| error.contains(object)));
    let message = message.map(|message| match object.filter(|object| !message.contains(object)) {
        Some(object) if error.is_some() => format!("{message} {object}"),
        _ => message.to_owned(),
    });
    let stack = first(&["error.stack_trace", "stack_trace", "stacktrace", "exception.stacktrace"]);
    let root = stack.and_then(root_cause).filter(|root| !error.is_some_and(|error| error.contains(root)));
    let error = match (error, root) {
        (Some(error), Some(root)) => Some(format!("{error}: {root}")),
        (error, root) => error.or(root).map(str::to_owned),
    };
    let text = joined(message, error)?;
    let level = first(&["level", "severity", "log.level", "lvl", "s", "levelname", "@l"]).unwrap_or_default();
    Some(Structured { text, level: level.to_owned() })
}

/// The innermost exception of a stack trace of Java.
fn root_cause(stack: &str) -> Option<&str> {
    stack.lines().rev().find_map(|line| line.trim_start().strip_prefix("Caused by: ")).map(str::trim)
}

/// Bytes before the JSON of a line: the container's name, or a time.
const HEAD: usize = 40;

/// Names of an error in a map of details.
const DETAILS: [&str; 6] = ["error", "err", "message", "msg", "reason", "errmsg"];

/// The error in a map of details: `attr` of MongoDB, `error` and `err` of others.
fn nested(fields: &Map<String, Value>) -> Option<&str> {
    let maps = ["attr", "error", "err", "fields"].iter().filter_map(|name| fields.get(*name)?.as_object());
    let mut texts = maps.flat_map(|map| {
        DETAILS.iter().filter_map(|name| match map.get(*name)? {
            Value::String(text) => Some(text.as_str()),
            Value::Object(inner) => inner.get("errmsg").or_else(|| inner.get("message"))?.as_str(),
            _ => None,
        })
    });
    texts.next().map(str::trim).filter(|text| !text.is_empty())
}

/// Message, error and level of a line of key=value pairs (logfmt).
fn logfmt(line: &str) -> Option<Structured> {
    let is_one =
        line.contains("level=") || line.contains("lvl=") || line.starts_with("time=") || line.starts_with("ts=");
    let fields = FIELD.as_ref().filter(|_| is_one)?;
    let (mut message, mut error, mut level) = (None, None, String::new());
    for found in fields.captures_iter(line) {
        let value = found.get(2).or_else(|| found.get(3))?.as_str().replace("\\\"", "\"").replace("\\n", "\n");
        match found.get(1)?.as_str() {
            "msg" | "message" => message = Some(value).filter(|value| !value.is_empty()),
            "err" | "error" => error = Some(value).filter(|value| !value.is_empty()),
            _ => level = value,
        }
    }
    Some(Structured { text: joined(message, error)?, level })
}

/// A line of Rust's tracing with the time since the start, as Linkerd's proxy logs it:
/// `[    30.004s]  WARN ThreadId(02) controller{addr=a:8080}:endpoint{addr=10.0.0.9:8080}: linkerd_reconnect: Failed to connect error=...`.
/// The address of the outermost span is the one that the configuration names.
fn tracing(line: &str) -> Option<Structured> {
    let (time, rest) = line.strip_prefix('[')?.split_once("s] ")?;
    time.trim_start().parse::<f64>().ok()?;
    let (level, rest) = rest.trim_start().split_once(' ')?;
    let (_, rest) = rest.strip_prefix("ThreadId(")?.split_once(") ")?;
    let (spans, message) = rest.split_once("}: ").unwrap_or(("", rest));
    let message = match message.split_once(": ") {
        Some((target, message)) if !target.contains(' ') => message,
        _ => message,
    };
    let message = message.split(" error.sources=").next().unwrap_or(message);
    // The number of an error adds nothing to its words.
    let message = message.split(" (os error ").next().unwrap_or(message).replacen(" error=", ": ", 1);
    let address = spans.split_once("addr=").map_or("", |(_, rest)| rest.split(['}', ' ', ',']).next().unwrap_or(rest));
    let text = if address.is_empty() { message } else { format!("{address}: {message}") };
    Some(Structured { text, level: level.to_owned() })
}

fn joined(message: Option<String>, error: Option<String>) -> Option<String> {
    match (message, error) {
        (Some(message), Some(error)) if message.contains(&error) => Some(message),
        // `terminating` adds nothing to the error.
        (Some(message), Some(error)) if announces_end(&message) => Some(error),
        (Some(message), Some(error)) => Some(format!("{message}: {error}")),
        (one, other) => one.or(other),
    }
}
