//! What `-f` names: files, folders, standard input.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::cluster::wire::Dump;

/// Everything that was read, and what could not be.
#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) dump: Dump,
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
                for file in input.files_of(path) {
                    input.file(&file);
                }
            });
        } else {
            let none = format!("{}: no Kubernetes objects in it", path.display());
            self.expect_objects(&none, |input| input.file(path));
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

    /// The YAML and JSON files below a folder, in a fixed order. Logs and whatever else lies there are passed over, and
    /// links to folders are not followed.
    fn files_of(&mut self, folder: &Path) -> Vec<PathBuf> {
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
                } else if matches!(extension.as_deref(), Some("yaml" | "yml" | "json")) && !path.is_dir() {
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
