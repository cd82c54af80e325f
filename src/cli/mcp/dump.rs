//! Reads a dump like `shindan diagnose -f`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use shindan_core::case::Thresholds;
use shindan_core::facts::{Timestamp, format_bytes};
use shindan_core::language::Language;
use tokio::sync::Mutex;

use super::Args;
use super::arguments::{self, DiagnoseDump};
use super::error::{Unknown, Wrong};
use super::explanation;
use super::overview::{self, Filter, Seen};
use crate::cli::dump::{DumpArgs, Judged, MaxInput};
use crate::cli::found::Found;
use crate::cli::look::{Asked, Below};

/// The content of a dump.
#[derive(Debug)]
enum Content {
    File(PathBuf),
    Text(String),
}

#[derive(Debug)]
pub(super) struct Dumps {
    max_input: MaxInput,
    thresholds: Thresholds,
    /// One dump at a time, because each may take twice as much memory as its size.
    turn: Mutex<()>,
}

/// The diagnoses of a dump.
struct Answer {
    found: Found,
    now: Timestamp,
    notes: Vec<String>,
}

impl Dumps {
    pub(super) fn of(args: &Args) -> Self {
        let thresholds = args.engine.thresholds().in_language(Language::English);
        Self { max_input: args.max_input, thresholds, turn: Mutex::default() }
    }

    pub(super) async fn diagnose(&self, asked: DiagnoseDump) -> anyhow::Result<String> {
        let namespace = arguments::namespace(asked.namespace.as_deref())?;
        let object = asked.object.as_deref().map(arguments::object).transpose()?;
        let content = match (asked.path, asked.text) {
            (Some(path), None) => Content::File(file(&path)?),
            (None, Some(text)) => Content::Text(text),
            _ => return Err(Wrong("pass either path or text".to_owned()).into()),
        };
        let turn = self.turn.lock().await;
        let dump = DumpArgs { logs: Vec::new(), max_input: self.max_input, at: None };
        let thresholds = self.thresholds;
        // In another thread, because it may take seconds.
        let read = tokio::task::spawn_blocking(move || diagnosed(&dump, &content, thresholds, namespace.as_deref()));
        let Answer { mut found, now, notes } = read.await.context("the dump could only be read in part")??;
        drop(turn);
        let reported_by = "a diagnosis of the dump";
        let Some(object) = object else {
            let seen = Seen { found: &found, reported_by, now, notes: &notes };
            return overview::answer(seen, &Filter::default());
        };
        let kind = object.split_once('/').map_or("", |(kind, _)| kind);
        let asked = Asked::without_discovery(std::slice::from_ref(&object)).map_err(Wrong)?;
        let asked = asked.ok_or_else(|| Wrong(format!("object: {kind} is not a kind that a dump is searched for")))?;
        asked.keep(&mut found, &Below::default());
        if found.is_empty() {
            let text = format!("the dump has no failure of {object}");
            return Err(Unknown(text).into());
        }
        explanation::answer(Seen { found: &found, reported_by, now, notes: &notes }, &object, &[])
    }
}

/// The path, if it is that of a regular file: a pipe may never end, and a folder may be the whole disk.
fn file(path: &str) -> Result<PathBuf, Wrong> {
    if path == "-" {
        return Err(Wrong("path: standard input belongs to the protocol; pass the text".to_owned()));
    }
    match std::fs::metadata(path) {
        Ok(about) if about.is_file() => Ok(Path::new(path).to_owned()),
        Ok(_) => Err(Wrong("path: it is not a regular file".to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Wrong("path: no such file".to_owned())),
        Err(error) => Err(Wrong(format!("path: {error}"))),
    }
}

fn diagnosed(
    dump: &DumpArgs,
    content: &Content,
    thresholds: Thresholds,
    namespace: Option<&str>,
) -> anyhow::Result<Answer> {
    let mut input = dump.max_input.input();
    match content {
        Content::File(path) => input.read(path),
        Content::Text(text) => input.read_text(text),
    }
    if input.dump.objects == 0 {
        let length = match content {
            Content::File(path) => std::fs::metadata(path).map_or(0, |about| about.len()),
            Content::Text(text) => u64::try_from(text.len()).unwrap_or(u64::MAX),
        };
        // The problems are not quoted: a file that is no dump may contain anything.
        let size = format_bytes(i64::try_from(length).unwrap_or(i64::MAX));
        return Err(Wrong(format!(
            "nothing to diagnose in {size}: it has no Kubernetes objects that can be read, or is larger than --max-input ({})",
            dump.max_input
        ))
        .into());
    }
    let notes = dump.warnings(&input);
    let Judged { found, now, .. } = dump.judge(input, thresholds, namespace);
    Ok(Answer { found, now, notes })
}
