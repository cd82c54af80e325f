//! Reads the arguments of `-f` and `--logs`: files, folders and standard input.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use shindan_core::facts::{Timestamp, format_bytes, parse_bytes};
use shindan_core::fixture;
use shindan_core::message::text;
use shindan_core::offline::Logs;
use shindan_core::rules::catalog;
use shindan_core::wire::Dump;

/// Extensions of saved logs in a folder. A file that is named itself may have any extension.
const LOGS: [&str; 2] = ["log", "txt"];

/// Maximum bytes of a saved log that are read, from its end.
const LOG_MAX: u64 = 64 << 20;

/// The beginning of a file of `shindan dump`.
const HEAD: &str = "# Written by shindan dump ";

/// A maximum size of a file in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size(pub(super) usize);

impl Size {
    /// Parses a quantity such as `512Mi`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let bytes = parse_bytes(text).and_then(|bytes| usize::try_from(bytes).ok()).filter(|bytes| *bytes > 0);
        bytes.map(Self).ok_or_else(|| "write a number of bytes, such as 512Mi or 2Gi".to_owned())
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&format_bytes(i64::try_from(self.0).unwrap_or(i64::MAX)))
    }
}

/// The content that was read, and the problems.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) dump: Dump,
    pub(super) logs: Logs,
    /// The time at which `shindan dump` wrote a file, from its head. Of several files, the last one.
    pub(super) judged_at: Option<Timestamp>,
    /// One line each.
    pub(super) problems: Vec<String>,
    most: Size,
}

impl Input {
    /// An input that reads files up to `most` bytes and keeps at most twice that amount in memory.
    pub(super) fn of_at_most(most: Size) -> Self {
        let fields = catalog::current().fields().clone();
        let dump = Dump::within(most.0.saturating_mul(2)).keeping(fields);
        Self { dump, logs: Logs::default(), judged_at: None, problems: Vec::new(), most }
    }

    /// Reads one argument of `-f`.
    pub(super) fn read(&mut self, path: &Path) {
        if path == Path::new("-") {
            self.expect_objects("standard input: no Kubernetes objects in it", |input| {
                input.text("standard input", std::io::stdin().lock());
            });
        } else if path.is_dir() {
            let none = format!("{}: no Kubernetes objects in any *.yaml, *.yml or *.json file", shown(path));
            self.expect_objects(&none, |input| {
                for file in input.files_of(path, &["yaml", "yml", "json"]) {
                    input.file(&file);
                }
            });
        } else {
            let none = format!("{}: no Kubernetes objects in it", shown(path));
            self.expect_objects(&none, |input| input.file(path));
        }
    }

    /// Reads a text that was passed instead of a file.
    pub(super) fn read_text(&mut self, text: &str) {
        self.expect_objects("the text has no Kubernetes objects", |input| input.text("text", text.as_bytes()));
    }

    /// Reads one argument of `--logs`. The pods must be read before.
    pub(super) fn read_logs(&mut self, path: &Path) {
        let is_folder = path.is_dir();
        let files = if is_folder { self.files_of(path, &LOGS) } else { vec![path.to_owned()] };
        let (mut found, mut strange) = (0, 0);
        for file in files {
            match end_of(&file) {
                Ok(bytes) => {
                    let text = as_text(bytes);
                    // Only the path below the folder identifies the pod.
                    let name = file.strip_prefix(path).ok().filter(|_| is_folder).unwrap_or(&file);
                    if self.logs.read(&name.display().to_string(), &text, &self.dump.pods, !is_folder) {
                        found += 1;
                    } else {
                        strange += 1;
                    }
                }
                Err(e) => self.problems.push(format!("{}: {}", shown(&file), plain(&e))),
            }
        }
        // A folder may contain logs of pods that are not in the input.
        if found == 0 && (strange > 0 || is_folder) {
            self.problems.push(format!(
                "{}: no log of a container in the input. Name the file POD.CONTAINER.log, or write it with `kubectl \
                 logs --previous --prefix`",
                shown(path)
            ));
        }
    }

    /// Runs `read`, and reports `none` if it adds neither an object nor a problem: the path is probably wrong.
    fn expect_objects(&mut self, none: &str, read: impl FnOnce(&mut Self)) {
        let before = (self.dump.objects, self.problems.len());
        read(self);
        if (self.dump.objects, self.problems.len()) == before {
            self.problems.push(none.to_owned());
        }
    }

    fn file(&mut self, path: &Path) {
        let opened = File::open(path).and_then(|file| {
            let length = file.metadata()?.len();
            Ok((file, length))
        });
        match opened {
            Ok((_, length)) if usize::try_from(length).is_ok_and(|length| length > self.most.0) => {
                self.problems.push(self.too_large(&shown(path)));
            }
            Ok((file, _)) => self.text(&shown(path), file),
            Err(e) => self.problems.push(format!("{}: {}", shown(path), plain(&e))),
        }
    }

    fn text(&mut self, name: &str, from: impl Read) {
        let mut bytes = Vec::new();
        let most = u64::try_from(self.most.0).unwrap_or(u64::MAX);
        if let Err(e) = from.take(most.saturating_add(1)).read_to_end(&mut bytes) {
            self.problems.push(format!("{name}: {}", plain(&e)));
            return;
        }
        if bytes.len() > self.most.0 {
            self.problems.push(self.too_large(name));
            return;
        }
        if self.dump.is_full() {
            self.problems
                .push(format!("{name}: not read: the files before it have reached the memory limit of --max-input"));
            return;
        }
        let text = as_text(bytes);
        // The heads of fixtures have such a line too.
        if text.starts_with(HEAD) {
            let judged_at = fixture::directives(&text, "judged-at").find_map(|(_, time)| time.parse().ok());
            self.judged_at = self.judged_at.max(judged_at);
        }
        self.dump.read(&text);
        drop(text);
        for problem in self.dump.problems.drain(..) {
            let message = text::line(&problem.message, 300);
            self.problems.push(format!("{name}: document {}, line {}: {message}", problem.document, problem.line));
        }
        if self.dump.is_full() {
            self.problems.push(format!(
                "{name}: read in part: its objects need more than twice the memory of --max-input ({}). Dump fewer namespaces at \
                 a time, or raise --max-input",
                self.most
            ));
        }
    }

    fn too_large(&self, name: &str) -> String {
        format!(
            "{name}: not read: it is larger than --max-input ({}). Dump fewer namespaces at a time, or raise --max-input",
            self.most
        )
    }

    /// The files below a folder with one of the extensions, sorted. Other files are ignored, and links to folders are
    /// not followed.
    fn files_of(&mut self, folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
        let mut out = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = match std::fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(e) => {
                    self.problems.push(format!("{}: {}", shown(&folder), plain(&e)));
                    continue;
                }
            };
            for entry in entries.flatten() {
                let path = entry.path();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
                if is_folder {
                    folders.push(path);
                } else if extension.as_deref().is_some_and(|e| endings.contains(&e)) && path.is_file() {
                    out.push(path);
                }
            }
        }
        out.sort();
        out
    }
}

/// A path as printable text: a file name may contain control characters.
fn shown(path: &Path) -> String {
    const MOST: usize = 300;
    text::line(&path.display().to_string(), MOST)
}

/// The end of a log. What is not a regular file is read completely.
fn end_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    if let Some(before) = file.metadata()?.len().checked_sub(LOG_MAX) {
        file.seek(SeekFrom::Start(before))?;
    }
    let mut bytes = Vec::new();
    file.take(LOG_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Replaces invalid UTF-8 by ASCII of the same length, so that one invalid byte does not make a dump unreadable.
fn as_text(mut bytes: Vec<u8>) -> String {
    let mut from = 0;
    while let Err(e) = std::str::from_utf8(&bytes[from..]) {
        let at = from + e.valid_up_to();
        let end = e.error_len().map_or(bytes.len(), |length| at + length);
        bytes[at..end].fill(b'?');
        from = end;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// The message of an I/O error without the error number.
fn plain(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => e.to_string(),
    }
}
