//! Folders of test runs, kept after a failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

/// Removed on drop, or by the next run if the test failed.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static CLEANED: Once = Once::new();
        let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults");
        fs::create_dir_all(&all).unwrap();
        CLEANED.call_once(|| remove_old(&all));
        let folder = all.join(format!("{}-{name}", std::process::id()));
        fs::create_dir(&folder).expect("each name is used once");
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

/// Removes the folders of finished runs.
fn remove_old(all: &Path) {
    for entry in fs::read_dir(all).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let run = name.split('-').next().unwrap_or_default();
        if !Path::new("/proc").join(run).exists() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("logs are in {}", self.0.display());
        } else {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
