//! An error message as a chain of clauses: what wraps the error, its context, and the error itself.

use std::borrow::Cow;

use super::code::{self, Codes, Grpc};
use super::object::{self, Object};
use super::wrapper::{self, Rank};
use super::{cloud, lines, phrases, serialized, split, text};

/// Clauses that are kept of one message: the first ones and the last ones.
const CLAUSES: usize = 64;
const FIRST_CLAUSES: usize = 16;

/// Quotes in quotes that are opened.
const DEPTH: u8 = 4;

/// An error message of any component, split into its clauses:
/// `failed to X for Y: rpc error: code = Z desc = W: permission denied`.
///
/// Secrets are masked; control characters, warnings, hints, stack frames, request IDs and serialized objects are left
/// out. Reading takes linear time.
#[derive(Debug)]
pub struct Message<'t> {
    text: Cow<'t, str>,
    clauses: Vec<Clause>,
    /// Errors beside the first one, as they stand in the text.
    others: Vec<Clause>,
    codes: Codes,
}

/// A clause: a range of the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clause {
    start: usize,
    end: usize,
    pub(super) rank: Rank,
}

impl<'t> Message<'t> {
    pub fn parse(text: &'t str) -> Self {
        let (text, http) = prepared(text);
        let mut reader = Reader { text: &text, clauses: Vec::new(), others: Vec::new(), codes: Codes::default() };
        reader.read();
        let Reader { clauses, others, codes, .. } = reader;
        Self { clauses, others, codes: Codes { http: codes.http.or(http), ..codes }, text }
    }

    pub(super) fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    pub(super) fn words(&self, clause: Clause) -> &str {
        self.text.get(clause.start..clause.end).unwrap_or_default()
    }

    /// The error itself: the last clause with information; empty for an empty message.
    pub fn leaf(&self) -> &str {
        self.leaf_place().map_or("", |place| self.words(self.clauses[place]))
    }

    pub(super) fn leaf_place(&self) -> Option<usize> {
        let is_informative = |place: &usize| {
            let before = place.checked_sub(1).map_or("", |before| self.words(self.clauses[before]));
            let clause = self.clauses[*place];
            clause.rank > Rank::Frame && !wrapper::is_suffix(self.words(clause), before)
        };
        let last = (0..self.clauses.len()).rev().find(is_informative);
        last.or_else(|| self.clauses.iter().rposition(|clause| clause.start < clause.end))
    }

    /// The clauses around the error, the outermost first.
    pub fn wrappers(&self) -> impl Iterator<Item = &str> {
        self.clauses[..self.leaf_place().unwrap_or_default()].iter().map(|clause| self.words(*clause))
    }

    /// The operation that failed, such as `set bridge addr`: that of the innermost clause which names one.
    pub fn operation(&self) -> Option<&str> {
        self.outward().find_map(object::operation)
    }

    /// The object that the innermost clause names which names one.
    pub fn object(&self) -> Option<Object<'_>> {
        self.outward().find_map(object::first)
    }

    pub fn codes(&self) -> Codes {
        Codes { errno: code::errno(self.leaf()), ..self.codes }
    }

    /// The clauses from the leaf outward.
    pub(super) fn outward(&self) -> impl Iterator<Item = &str> {
        let end = self.leaf_place().map_or(0, |place| place + 1);
        self.clauses[..end].iter().rev().map(|clause| self.words(*clause))
    }

    /// Errors that the message joins to the first one.
    pub(super) fn others(&self) -> impl Iterator<Item = &str> {
        self.others.iter().map(|other| self.words(*other))
    }
}

/// The text without what is no part of an error, and the HTTP status of a request in it.
fn prepared(text: &str) -> (Cow<'_, str>, Option<u16>) {
    let text = changed(text::lines(text), unescaped);
    let text = changed(text, phrases::without_log_fields);
    let text = changed(text, phrases::without_properties);
    let text = changed(text, serialized::without_objects);
    let text = changed(text, phrases::without_roots);
    let text = changed(text, phrases::short_mounts);
    let text = changed(text, phrases::without_attempts);
    let text = changed(text, phrases::without_fallback);
    let text = changed(text, phrases::short_refusals);
    let mut status = None;
    let text = changed(text, |text| {
        let (text, found) = cloud::without_requests(text);
        status = found;
        text
    });
    let text = changed(text, |text| match text.split_once(" with error(") {
        Some((before, rest)) if rest.ends_with(')') => format!("{before}: {}", &rest[..rest.len() - 1]).into(),
        _ => text.into(),
    });
    let text = changed(text, |text| {
        if text.contains(", stdout: , stderr: ") {
            text.replace(", stdout: , stderr: ", "\n").into()
        } else {
            text.into()
        }
    });
    // How the kubelet prints the verdict of another controller.
    let text = changed(text, |text| {
        if text.contains(" reason=\"") && text.contains("\" message=\"") {
            text.replace(" reason=\"", " ").replace("\" message=\"", ": ").trim_end_matches('"').to_owned().into()
        } else {
            text.into()
        }
    });
    (text, status)
}

/// Applies a change that returns the whole text where it changes nothing.
fn changed(text: Cow<'_, str>, change: impl FnOnce(&str) -> Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Owned(text) => {
            if let Cow::Owned(changed) = change(&text) {
                return changed.into();
            }
            text.into()
        }
        Cow::Borrowed(text) => match change(text) {
            Cow::Owned(changed) => changed.into(),
            Cow::Borrowed(_) => text.into(),
        },
    }
}

/// The text without the backslashes before quotes, and with escaped line breaks as line breaks: runtimes quote errors
/// in errors.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return text.into();
    }
    // In a path such as `C:\new`, the backslash is a separator.
    let has_windows_path = text.contains(":\\");
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let after = rest[at..].trim_start_matches('\\');
        match after.chars().next() {
            Some('"') => {}
            Some('n') if !has_windows_path => {
                out.push('\n');
                rest = &after[1..];
                continue;
            }
            Some('t') if !has_windows_path => {
                out.push(' ');
                rest = &after[1..];
                continue;
            }
            _ => out.push_str(&rest[at..rest.len() - after.len()]),
        }
        rest = after;
    }
    out.push_str(rest);
    out.into()
}

/// Bytes from which brackets before a clause are its context, as of a log, and not part of the sentence.
const CONTEXT: usize = 40;

/// The clause without long brackets before it: `[shop/web 3f1b7c9a network default] failed to get pod annotation`.
fn without_context(clause: &str) -> &str {
    let mut rest = clause.strip_prefix('\'').filter(|rest| rest.starts_with('[')).unwrap_or(clause);
    while rest.starts_with('[')
        && let Some((_, after)) = rest.split_once("] ").filter(|(context, _)| context.len() > CONTEXT)
    {
        rest = after;
    }
    if rest.len() < clause.len() - CONTEXT.min(clause.len()) { rest } else { clause }
}

/// Collects the clauses of a text.
struct Reader<'t> {
    text: &'t str,
    clauses: Vec<Clause>,
    others: Vec<Clause>,
    codes: Codes,
}

impl<'t> Reader<'t> {
    fn read(&mut self) {
        if !self.text.contains('\n') {
            return self.line(lines::bare(self.text), DEPTH);
        }
        let lines = lines::of_errors(self.text);
        let Some((first, rest)) = lines.split_first() else {
            return self.line(self.text.trim().lines().next().unwrap_or_default(), DEPTH);
        };
        self.line(first, DEPTH);
        if first.ends_with(" occurred:") {
            let Some((first, rest)) = rest.split_first() else { return };
            self.line(first, DEPTH);
            for other in rest.iter().take(2) {
                let start = self.place(other);
                self.others.push(Clause { start, end: start + other.len(), rank: Rank::Context });
            }
            return;
        }
        // Of the lines below, such as the output of a command, the last one with the words of an error decides.
        let Some(best) = rest.iter().max_by_key(|line| lines::weight(line)) else { return };
        let is_context = self.clauses.last().is_some_and(|last| last.rank == Rank::Context);
        let weight = lines::weight(best);
        // What follows a request is its response, whatever its words are.
        let is_request = lines::REQUESTS.iter().any(|request| first.contains(request));
        if weight < 0 || is_context && weight == 0 && !is_request {
            return;
        }
        self.line(best, DEPTH);
    }

    fn place(&self, part: &str) -> usize {
        (part.as_ptr().addr()).saturating_sub(self.text.as_ptr().addr())
    }

    /// Reads a line, or the content of a quote.
    fn line(&mut self, line: &'t str, depth: u8) {
        for part in split::parts(line) {
            let rest = &line[part.start..];
            if part.is_next_error && self.clauses.last().is_some_and(|last| last.rank >= Rank::Context) {
                if lines::weight(rest) >= 0 && self.others.len() < 2 {
                    let start = self.place(rest);
                    self.others.push(Clause { start, end: start + rest.len(), rank: Rank::Context });
                }
                return;
            }
            self.clause(&line[part.start..part.end], depth);
        }
    }

    /// Reads a clause: its code is noted, and a quote or list of clauses is opened.
    fn clause(&mut self, clause: &'t str, depth: u8) {
        let mut clause = without_context(clause.trim());
        if let Some(rest) = clause.strip_prefix("code = ") {
            let (code, rest) = rest.split_once(" desc = ").unwrap_or((rest, ""));
            // The innermost code is the one of the component that failed.
            self.codes.grpc = Grpc::parse(code.trim()).or(self.codes.grpc);
            clause = rest;
        }
        clause = clause.strip_prefix("desc = ").unwrap_or(clause);
        if let Some((_, message)) = clause.split_once(" message:").filter(|(head, _)| head.contains("reason:")) {
            clause = message;
        }
        if let Some((before, inner)) = clause.split_once(" caused \"") {
            self.push(before);
            clause = inner.strip_suffix('"').unwrap_or(inner);
            return if depth == 0 { self.push(clause) } else { self.line(clause, depth - 1) };
        }
        // What a command printed: `exit status 1   "ovs-vsctl: no row"`.
        if let Some((exit, quote)) = clause.split_once(" \"").filter(|(exit, _)| exit.starts_with("exit status ")) {
            self.push(exit);
            let printed = quote.trim_end_matches('"');
            return if depth == 0 { self.push(printed) } else { self.line(printed, depth - 1) };
        }
        let inner = split::unwrapped(clause, b"\"'`[").and_then(|(start, end)| clause.get(start..end));
        if let Some(inner) =
            inner.filter(|inner| depth > 0 && (inner.contains(": ") || clause.starts_with('"') && inner.contains(' ')))
        {
            return self.line(inner, depth - 1);
        }
        self.push(clause);
    }

    fn push(&mut self, clause: &'t str) {
        let clause = wrapper::without_advice(clause.trim());
        if clause.is_empty() {
            return;
        }
        self.codes.http = code::http(clause).or(self.codes.http);
        // A reference to a page is advice, unless the message has nothing else.
        let is_page = clause.starts_with("http") && !clause.contains(' ');
        if (is_page || lines::is_noise(clause)) && !self.clauses.is_empty() {
            return;
        }
        if self.clauses.len() >= CLAUSES {
            self.clauses.remove(FIRST_CLAUSES);
        }
        let start = self.place(clause);
        self.clauses.push(Clause { start, end: start + clause.len(), rank: wrapper::rank(clause) });
    }
}
