//! Splits a log into records and chooses the one that explains the termination.
//!
//! A record is a line with what belongs to it: indented lines, the details that a database prints below it, the line
//! after a colon. The last line of a log often reports only that the program gives up, so each record is scored by what
//! it states ([`Features`]), and a record further up loses points.

use super::MAX_LINES;
use super::feature::{CAUSED_BY, Features, Level, is_frame, is_go_function};
use super::prefix::{bare, bare_message, without_prefix};
use super::special::{dotnet_host, spring_description, zod_error};
use super::structured;

/// Other lines between two errors from which they belong to different failures.
const GAP: usize = 8;

/// Lines further down cost at most this many points: several errors in a row have one reason.
const DISTANCE_MAX: i32 = 4;

/// The text that explains a termination, and how much it explains.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) text: String,
    pub(super) score: i32,
}

/// A line of a log with the lines that belong to it.
#[derive(Debug)]
struct Record {
    text: String,
    /// Place of its first line.
    at: usize,
    level: Option<Level>,
    /// Has no time, level or logger: it may belong to the record above.
    is_plain: bool,
    /// An answer of Vault to a request, whose errors follow.
    is_request: bool,
    /// The errors that it follows from are below it, indented. Source: Rust's anyhow.
    is_chain: bool,
    /// The line of a configuration file that the next one is about. Source: Redis.
    is_quote: bool,
    /// The indented line before, if it announces a list.
    heading: Option<String>,
    features: Features,
}

/// The text that explains why the program ended.
pub(super) fn decisive(log: &str) -> Option<Chosen> {
    let lines: Vec<&str> =
        log.lines().map(|line| unframed(line.trim_end())).filter(|line| !line.trim_start().is_empty()).collect();
    let lines = lines.get(lines.len().saturating_sub(MAX_LINES)..).unwrap_or_default();
    let trimmed: Vec<&str> = lines.iter().map(|line| line.trim_start()).collect();
    if let Some(text) = spring_description(&trimmed).or_else(|| zod_error(&trimmed)).or_else(|| dotnet_host(&trimmed)) {
        return Some(Chosen { score: Features::of(&text, None).score().max(1), text });
    }
    let records = split(without_usage(lines, &trimmed));
    let Some((at, score)) = best(&records) else {
        return Some(Chosen { text: (*trimmed.last()?).to_owned(), score: i32::MIN });
    };
    Some(Chosen { text: with_object(&records, at), score })
}

/// A line without the frame that Terraform and Vault draw around errors of several lines: `  | permission denied`.
fn unframed(line: &str) -> &str {
    let text = line.trim_start();
    ["| ", "\u{2502} "].iter().find_map(|frame| text.strip_prefix(frame)).unwrap_or(line)
}

/// The lines above usage instructions, if these report an error.
fn without_usage<'l, 't>(lines: &'t [&'l str], trimmed: &[&str]) -> &'t [&'l str] {
    let is_usage = |line: &&str| line.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("usage"));
    let Some(usage) = trimmed.iter().rposition(is_usage) else { return lines };
    let is_error =
        usage.checked_sub(1).and_then(|above| trimmed.get(above)).is_some_and(|line| Features::of(line, None).is_error);
    if is_error { &lines[..usage] } else { lines }
}

fn split(lines: &[&str]) -> Vec<Record> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let least = lines.iter().map(|line| indent(line)).min().unwrap_or_default();
    let mut records: Vec<Record> = Vec::new();
    // Whether the line before is a frame of a stack, below which indented lines are frames too.
    let mut in_stack = false;
    // Whether the stack of Python begins above, and the place where the message of its exception ends.
    let (mut in_traceback, mut message_end) = (false, 0);
    for (at, raw) in lines.iter().enumerate() {
        let line = raw.trim_start();
        let is_in_stack = is_frame(line) || lines.get(at + 1).is_some_and(|next| is_go_function(line, next));
        let message = without_prefix(line);
        if is_in_stack || is_blank(message) {
            in_stack = is_in_stack;
            continue;
        }
        let is_indented = indent(raw) > least;
        let level = Level::of_line(line);
        let is_plain = is_plain(line, message, level);
        if let Some(above) = records.last_mut() {
            if let Some(detail) = detail(message) {
                above.append(detail);
                continue;
            }
            if is_answer_of_vault(line) {
                above.is_request = true;
                continue;
            }
            if let Some(error) = line.strip_prefix("* ").filter(|_| above.is_request) {
                above.append(error);
                continue;
            }
            if line == "Caused by:" {
                above.is_chain = true;
                continue;
            }
            if above.is_chain && is_indented {
                above.append(without_number(line));
                continue;
            }
            let belongs = at < message_end || is_plain && (is_indented || above.goes_on(line, at));
            if belongs && !line.starts_with(CAUSED_BY) {
                if !in_stack || !is_indented {
                    above.extend(line);
                }
                continue;
            }
        }
        in_stack = false;
        let record = Record::new(line, at, message, level, is_plain);
        if line.starts_with(TRACEBACK) {
            in_traceback = true;
        } else if record.features.exception && is_plain {
            let below = lines.get(at + 1..).unwrap_or_default();
            let length = message_length(below, std::mem::take(&mut in_traceback));
            message_end = at + 1 + length;
        }
        records.push(record);
    }
    records
}

/// Start of a stack of Python, whose exception stands below it.
const TRACEBACK: &str = "Traceback (most recent call last)";

/// How many lines below the first one of an exception belong to its message: all up to its stack, or, in Python, up to the
/// next line of a log.
fn message_length(below: &[&str], is_of_python: bool) -> usize {
    /// Lines that the message of an exception may have.
    const MOST: usize = 12;
    let is_part = |line: &&&str| {
        let plain = line.trim_start();
        let has_prefix = without_prefix(plain).len() != plain.len() || Level::of_line(plain).is_some();
        !has_prefix && !plain.starts_with(['{', '[']) && !plain.starts_with(TRACEBACK)
    };
    let length = below.iter().take(MOST).take_while(|line| is_part(line) && !is_frame(line.trim_start())).count();
    let has_stack = below.get(length).is_some_and(|line| is_frame(line.trim_start()));
    if is_of_python || has_stack { length } else { 0 }
}

/// An item of a numbered list without its number: `1: No such file or directory`.
fn without_number(line: &str) -> &str {
    match line.split_once(": ") {
        Some((number, rest)) if number.len() < 3 && number.bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => line,
    }
}

/// Whether a line is only the name of a field, above what is wrong with it: `database.url`. Source: Pydantic.
fn is_field(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_lowercase())
        && line.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'))
}

/// Whether a message has no words: a rule, or a time and level alone.
fn is_blank(message: &str) -> bool {
    let mut words = message.split_whitespace().filter(|word| !word.starts_with(['[', '<']));
    !words.any(|word| word.contains(char::is_alphanumeric))
}

/// The text of a message that only explains the line above. Source: PostgreSQL's DETAIL, also of initdb; Terraform.
fn detail(message: &str) -> Option<&str> {
    let bare = bare_message(message);
    ["DETAIL: ", "initdb: detail: ", "detail: ", "Error message: "]
        .iter()
        .find_map(|label| bare.strip_prefix(label))
        .map(str::trim)
}

/// Whether a line is a part of the answer of Vault besides its errors. Source: hashicorp/vault api/response.go Error.
fn is_answer_of_vault(line: &str) -> bool {
    line.starts_with("URL: ") || line.starts_with("Code: ") && line.contains(". Errors:")
}

/// Whether a line has no time, level or logger.
fn is_plain(line: &str, message: &str, level: Option<Level>) -> bool {
    message.len() == line.len()
        && level.is_none()
        && !line.starts_with(|c: char| c.is_ascii_digit())
        && !line.starts_with('{')
}

impl Record {
    fn new(line: &str, at: usize, message: &str, level: Option<Level>, is_plain: bool) -> Self {
        let Some(found) = structured::read(line) else {
            let text = line.trim_start_matches(">>> ");
            let features = if text.len() == line.len() {
                Features::with_bare(text, bare_message(message), level)
            } else {
                Features::of(text, level)
            };
            let is_quote = text.len() < line.len();
            return Self { is_quote, ..Self::with(text.to_owned(), at, level, is_plain, features) };
        };
        let level = Level::of_name(&found.level);
        // The message of a line may itself be a log.
        let text = if found.text.trim().contains('\n') {
            decisive(&found.text).map_or(found.text, |chosen| chosen.text)
        } else {
            found.text
        };
        let features = Features::of(&text, level);
        Self::with(text, at, level, false, features)
    }

    fn with(text: String, at: usize, level: Option<Level>, is_plain: bool, features: Features) -> Self {
        Self { text, at, level, is_plain, is_request: false, is_chain: false, is_quote: false, heading: None, features }
    }

    /// Whether the next line belongs to this one.
    fn goes_on(&self, next: &str, at: usize) -> bool {
        let is_heading = self.text.ends_with(':') && self.features.is_error;
        // The message of an exception may have several lines.
        is_heading
            || self.text.starts_with(CAUSED_BY) && self.at + 1 == at
            || next.starts_with("Is the server running on host ")
    }

    /// Adds a line that belongs to this one, if it names more.
    fn extend(&mut self, line: &str) {
        let line = line.trim_start_matches(['-', '*', '>', ' ']);
        let features = Features::of(line, None);
        let is_vague = !self.features.condition && !self.features.object && !self.text.ends_with(':');
        if let Some(heading) = self.heading.take().filter(|_| is_vague) {
            self.text = format!("{heading} {line}");
            self.features = Features::of(&self.text, self.level);
            return;
        }
        if line.ends_with(':') {
            self.heading = Some(line.to_owned());
        } else if is_field(line) {
            self.heading = Some(format!("{line}:"));
        }
        let adds_reason = !self.features.condition && features.is_error && (features.condition || features.exception);
        // Advice: `class X has no main method, please define it as:`
        let is_complete = self.features.condition && self.features.object && !features.is_error;
        if self.text.ends_with(':') && !is_complete
            || line.starts_with("Is the server running on host ")
            || self.text.ends_with(" and accepting")
        {
            self.text = format!("{} {line}", self.text);
        } else if adds_reason {
            self.append(line);
            return;
        } else {
            return;
        }
        self.features = Features::of(&self.text, self.level);
    }

    fn append(&mut self, detail: &str) {
        self.text = format!("{}: {detail}", self.text.trim_end_matches(['.', ':']));
        self.features = Features::of(&self.text, self.level);
    }
}

/// The place of the record that explains most, and its score.
fn best(records: &[Record]) -> Option<(usize, i32)> {
    let mut best: Option<(usize, i32)> = None;
    let (mut distance, mut last_error) = (0, None);
    for (place, record) in records.iter().enumerate().rev() {
        if record.features.is_error && record.features.score() > 0 {
            let gap = last_error.map_or(0, |last: usize| last.saturating_sub(record.at));
            distance += if gap > GAP { DISTANCE_MAX } else { i32::from(last_error.is_some()) };
            last_error = Some(record.at);
        }
        let score = record.features.score() - distance.min(DISTANCE_MAX);
        if best.is_none_or(|(_, most)| score > most) {
            best = Some((place, score));
        }
    }
    best
}

/// The text of a record. If it names no object, and the line above it does, that line is added: the enclosing exception, the
/// quoted line of a configuration file.
fn with_object(records: &[Record], at: usize) -> String {
    let Some(record) = records.get(at) else { return String::new() };
    let names_object = record.features.object || !record.features.condition;
    let above = at.checked_sub(1).and_then(|above| records.get(above)).filter(|above| above.is_quote || !names_object);
    let encloses = |above: &&Record| {
        let is_chain =
            record.text.starts_with(CAUSED_BY) || record.is_plain && (above.is_plain || record.features.exception);
        let is_informative = above.features.is_error && above.features.score() > 0;
        above.is_quote || above.features.object && is_chain && is_informative
    };
    match above.filter(encloses) {
        Some(above) => {
            let own = record.text.strip_prefix(CAUSED_BY).unwrap_or(&record.text);
            format!("{}: {}", bare(&above.text).trim_end_matches(['.', ':']), bare(own))
        }
        None => record.text.clone(),
    }
}
