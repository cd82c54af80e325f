//! What `-f` names: files, folders, standard input.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::offline::Logs;
use crate::cluster::wire::Dump;

/// Names that a saved log goes by; a file that is named itself may have any.
const LOGS: [&str; 2] = ["log", "txt"];

/// Everything that was read, and what could not be.
#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) dump: Dump,
    pub(super) logs: Logs,
    /// One line each.
    pub(super) problems: Vec<String>,
}

impl Input {
    /// Reads one argument of `-f`.
    pub(super) fn read(&mut self, path: &Path) {
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            match std::io::stdin().lock().read_to_end(&mut bytes) {
                Ok(_) => self.expect_objects("standard input: no Kubernetes objects in it", |input| {
                    input.text("standard input", &bytes);
                }),
                Err(e) => self.problems.push(format!("standard input: {e}")),
            }
        } else if path.is_dir() {
            let none = format!("{}: no Kubernetes objects in any *.yaml, *.yml or *.json file", path.display());
            self.expect_objects(&none, |input| {
                for file in input.files_of(path, &["yaml", "yml", "json"]) {
                    input.file(&file);
                }
            });
        } else {
            let none = format!("{}: no Kubernetes objects in it", path.display());
            self.expect_objects(&none, |input| input.file(path));
        }
    }

    /// Reads one argument of `--logs`, once the pods are known.
    pub(super) fn read_logs(&mut self, path: &Path) {
        let is_folder = path.is_dir();
        let files = if is_folder { self.files_of(path, &LOGS) } else { vec![path.to_owned()] };
        let (mut found, mut strange) = (0, 0);
        for file in files {
            match std::fs::read(&file) {
                Ok(bytes) => {
                    let text = String::from_utf8_lossy(&bytes);
                    // What leads to the folder tells nothing of whose its files are.
                    let name = file.strip_prefix(path).ok().filter(|_| is_folder).unwrap_or(&file);
                    if self.logs.read(&name.display().to_string(), &text, &self.dump.pods, !is_folder) {
                        found += 1;
                    } else {
                        strange += 1;
                    }
                }
                Err(e) => self.problems.push(format!("{}: {}", file.display(), plain(&e))),
            }
        }
        // In a folder there are logs of pods that nobody asks about.
        if found == 0 && (strange > 0 || is_folder) {
            self.problems.push(format!(
                "{}: no log in it is known to be of a container in the input. Name the file POD.CONTAINER.log, or write it with \
                 `kubectl logs --previous --prefix`",
                path.display()
            ));
        }
    }

    /// Reads, and says `none` where that brought neither an object nor a problem: the wrong file was named.
    fn expect_objects(&mut self, none: &str, read: impl FnOnce(&mut Self)) {
        let before = (self.dump.objects, self.problems.len());
        read(self);
        if (self.dump.objects, self.problems.len()) == before {
            self.problems.push(none.to_owned());
        }
    }

    fn file(&mut self, path: &Path) {
        match std::fs::read(path) {
            Ok(bytes) => self.text(&path.display().to_string(), &bytes),
            Err(e) => self.problems.push(format!("{}: {}", path.display(), plain(&e))),
        }
    }

    fn text(&mut self, name: &str, bytes: &[u8]) {
        // A stray byte in one message is no reason to lose the dump.
        self.dump.read(&String::from_utf8_lossy(bytes));
        for problem in self.dump.problems.drain(..) {
            let message = crate::diagnosis::text::line(&problem.message, 300);
            self.problems.push(format!("{name}: document {}, line {}: {message}", problem.document, problem.line));
        }
    }

    /// The files below a folder whose names end so, in a fixed order. Whatever else lies there is passed over, and links to
    /// folders are not followed.
    fn files_of(&mut self, folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
        let mut out = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = match std::fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(e) => {
                    self.problems.push(format!("{}: {}", folder.display(), plain(&e)));
                    continue;
                }
            };
            for entry in entries.flatten() {
                let path = entry.path();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
                if is_folder {
                    folders.push(path);
                } else if extension.as_deref().is_some_and(|e| endings.contains(&e)) && !path.is_dir() {
                    out.push(path);
                }
            }
        }
        out.sort();
        out
    }
}

/// The words of an I/O error without the number.
fn plain(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => e.to_string(),
    }
}
