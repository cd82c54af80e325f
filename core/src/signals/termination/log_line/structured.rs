//! Reads a line that a program logged as JSON or as key=value pairs.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::feature::announces_end;
use crate::message;

/// A field of a line of key=value pairs: its name, and its value with or without quotes.
static FIELD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?:^|\s)(msg|message|err|error|level|lvl|path|file|dir)=(?:"((?:[^"\\]|\\.)*)"|(\S+))"#).ok()
});

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
    if let Some(found) = tracing(line).or_else(|| klog(line)).or_else(|| columns(line)) {
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
    let message = message.map(|message| with_object(message, object, error));
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

/// A message with the object of its error, if neither names it.
fn with_object(message: &str, object: Option<&str>, error: Option<&str>) -> String {
    match object.filter(|object| !message.contains(object)) {
        Some(object) if error.is_some_and(|error| !error.contains(object)) => format!("{message} {object}"),
        _ => message.to_owned(),
    }
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
            Value::Object(inner) => ["errmsg", "message", "msg"].iter().find_map(|name| inner.get(*name)?.as_str()),
            _ => None,
        })
    });
    texts.next().map(str::trim).filter(|text| !text.is_empty())
}

/// A line of klog with a quoted message and pairs:
/// `E1121 09:00:00.000001 1 start.go:87] "Cannot start" err="open /a: no such file" logger="x"`.
fn klog(line: &str) -> Option<Structured> {
    let level = line.get(..1).filter(|_| message::is_klog(line))?;
    let (_, rest) = line.split_once("] \"")?;
    let (message, pairs) = rest.split_once("\" ")?;
    let pairs = pairs_of(pairs).filter(|pairs| pairs.error.is_some())?;
    let message = pairs.with_object(&message.replace("\\\"", "\""));
    Some(Structured { text: joined(Some(message), pairs.error)?, level: level.to_owned() })
}

/// A line of zap's console, whose columns are apart by tabs: time, level, logger, message, a map of fields. Source:
/// uber-go/zap zapcore/console_encoder.go.
fn columns(line: &str) -> Option<Structured> {
    let (head, fields) = line.split_once("\t{")?;
    let mut columns = head.split('\t');
    let level = columns.nth(1)?;
    let message = columns.next_back()?.to_owned();
    let fields: Map<String, Value> = serde_json::from_str(&format!("{{{fields}")).ok()?;
    let error = fields.get("error").and_then(Value::as_str).map(str::to_owned);
    Some(Structured { text: joined(Some(message), error)?, level: level.to_owned() })
}

/// The pairs of a line.
#[derive(Debug, Default)]
struct Pairs {
    message: Option<String>,
    error: Option<String>,
    level: String,
    /// A file or folder.
    object: Option<String>,
}

impl Pairs {
    fn with_object(&self, message: &str) -> String {
        with_object(message, self.object.as_deref(), self.error.as_deref())
    }
}

/// Message, error and level of a line of key=value pairs (logfmt), or of zerolog's console, where time, level and message
/// come before the pairs: `2026-11-21T09:00:00Z ERR cannot start error="open /a: no such file"`.
fn logfmt(line: &str) -> Option<Structured> {
    let is_one =
        line.contains("level=") || line.contains("lvl=") || line.starts_with("time=") || line.starts_with("ts=");
    if is_one {
        let pairs = pairs_of(line)?;
        let message = pairs.message.as_deref().map(|message| pairs.with_object(message));
        return Some(Structured { text: joined(message, pairs.error)?, level: pairs.level });
    }
    let (head, _) = line.split_once(" error=")?;
    let mut words = head.splitn(3, ' ');
    let (_, level, message) = (words.next()?, words.next()?, words.next()?);
    let is_level = matches!(level, "ERR" | "FTL" | "PNC" | "WRN");
    let pairs = pairs_of(line).filter(|_| is_level)?;
    Some(Structured { text: joined(Some(pairs.with_object(message)), pairs.error)?, level: level.to_owned() })
}

fn pairs_of(line: &str) -> Option<Pairs> {
    let fields = FIELD.as_ref()?;
    let mut pairs = Pairs::default();
    for found in fields.captures_iter(line) {
        let value = found.get(2).or_else(|| found.get(3))?.as_str().replace("\\\"", "\"").replace("\\n", "\n");
        let known = Some(&value).filter(|value| !matches!(value.as_str(), "" | "<")).cloned();
        match found.get(1)?.as_str() {
            "msg" | "message" => pairs.message = known,
            "err" | "error" => pairs.error = known,
            "path" | "file" | "dir" => pairs.object = known,
            _ => pairs.level = value,
        }
    }
    Some(pairs)
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
