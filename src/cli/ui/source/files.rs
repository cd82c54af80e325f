//! Reads files like `shindan diagnose`, and reads them again after a change.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use shindan_core::case::Thresholds;
use shindan_core::language::phrase;
use shindan_core::message::text;

use super::{Answer, Args};
use crate::cli::dump::{DumpArgs, Judged};

/// Maximum number of files below a folder that are checked for changes. Changes of further files are not detected.
const MOST: usize = 10_000;

#[derive(Debug)]
pub(in crate::cli::ui) struct Files {
    paths: Vec<PathBuf>,
    dump: DumpArgs,
    thresholds: Thresholds,
    namespace: Option<String>,
    /// The stamps of the files when they were last read.
    stamps: Vec<Stamp>,
}

/// Attributes by which a change of a file is detected.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    length: u64,
    changed: Option<SystemTime>,
}

impl Files {
    pub(super) fn of(args: &Args) -> Self {
        Self {
            paths: args.files.clone(),
            dump: args.dump.clone(),
            thresholds: args.thresholds(),
            namespace: args.namespace.clone(),
            stamps: Vec::new(),
        }
    }

    /// Reads the files in another thread, because it may take seconds in which pages must be served.
    pub(super) async fn look(&mut self) -> anyhow::Result<Answer> {
        // The stamps are taken before the files are read, so that a file changed during the read is read again.
        self.stamps = self.stamps_now();
        let (files, dump, thresholds) = (self.paths.clone(), self.dump.clone(), self.thresholds);
        let namespace = self.namespace.clone();
        let read = move || {
            let input = dump.read(&files)?;
            let notes = dump.warnings(&input);
            let Judged { found, now, .. } = dump.judge(input, thresholds, namespace.as_deref());
            Ok(Answer {
                found, when: now, by: phrase!(thresholds, "diagnosed from a dump", "ダンプから診断"), notes
            })
        };
        tokio::task::spawn_blocking(read).await.context("the files could only be read in part")?
    }

    pub(super) fn have_changed(&self) -> bool {
        // Standard input can be read only once.
        let is_input = |path: &PathBuf| path.as_path() == Path::new("-");
        !self.paths.iter().any(is_input) && self.stamps_now() != self.stamps
    }

    fn stamps_now(&self) -> Vec<Stamp> {
        let mut stamps = Vec::new();
        for path in self.paths.iter().chain(&self.dump.logs) {
            stamp(path, &mut stamps);
        }
        stamps
    }

    pub(super) fn place(&self) -> String {
        const NAMED: usize = 3;
        let named = self.paths.iter().take(NAMED).map(|path| match path.to_str() {
            Some("-") => phrase!(self.thresholds, "standard input", "標準入力").to_owned(),
            _ => text::line(&path.display().to_string(), 120),
        });
        let mut place = named.collect::<Vec<_>>().join(", ");
        if self.paths.len() > NAMED {
            place.push_str(", …");
        }
        place
    }
}

/// Links to folders are not followed, as in the read itself.
fn stamp(path: &Path, stamps: &mut Vec<Stamp>) {
    let mut paths = vec![path.to_owned()];
    while let Some(path) = paths.pop().filter(|_| stamps.len() < MOST) {
        let Ok(about) = std::fs::metadata(&path) else { continue };
        if about.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            let mut below: Vec<PathBuf> = entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink() || entry.path().is_file()))
                .map(|entry| entry.path())
                .collect();
            below.sort();
            paths.append(&mut below);
        } else {
            stamps.push(Stamp { path, length: about.len(), changed: about.modified().ok() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_below_a_folder_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let stamps = || {
            let mut stamps = Vec::new();
            stamp(folder.path(), &mut stamps);
            stamps
        };
        let file = folder.path().join("a/pods.yaml");
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(&file, "kind: Pod").unwrap();
        let first = stamps();
        assert_eq!((first.len(), stamps() == first), (1, true));
        std::fs::write(&file, "kind: Pod\n").unwrap();
        assert_ne!(stamps(), first, "it has grown");
        let grown = stamps();
        std::fs::write(folder.path().join("a/b.yaml"), "").unwrap();
        assert_ne!(stamps(), grown, "there is one more");
        std::fs::remove_dir_all(folder.path().join("a")).unwrap();
        assert!(stamps().is_empty());
    }
}
