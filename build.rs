//! Fails the build where a file of `catalog/` names what does not exist or has the wrong type, with its position.
//!
//! `core/build.rs` embeds the files and finds errors of syntax. Fields, actions and causes are known only to the compiled
//! core.

#![allow(clippy::disallowed_methods, reason = "a build reads files")]

use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

use shindan_core::rules::catalog::{self, SourceFile};

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=catalog");
    let mut sources = Vec::new();
    if let Err(error) = collect(Path::new("catalog"), &mut sources) {
        println!("cargo::error=catalog: {error}");
        return ExitCode::FAILURE;
    }
    let errors = catalog::read(&sources).errors;
    for error in &errors {
        // A second line is not part of the message.
        println!("cargo::error={}", error.to_string().replace('\n', ";"));
    }
    if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn collect(folder: &Path, sources: &mut Vec<SourceFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, sources)?;
        } else if path.extension().is_some_and(|ending| ending == "yaml") {
            sources.push(SourceFile { path: path.display().to_string(), text: fs::read_to_string(&path)? });
        }
    }
    Ok(())
}
