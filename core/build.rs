//! Embeds the catalogue of causes. Reads `catalog/<category>/<Cause>.yaml` and writes an array with two JSON texts for each cause:
//! without its texts, and complete and compressed.
//!
//! A file with an error fails the build, and the message has its file and line.

#![allow(unexpected_cfgs, unreachable_pub, reason = "the form of a cause file is compiled here and in the crate")]
#![allow(clippy::disallowed_methods, reason = "a build reads and writes files")]

#[path = "src/rules/catalog/file.rs"]
mod file;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use file::CauseFile;

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=../catalog");
    println!("cargo::rerun-if-changed=src/rules/catalog/file.rs");
    println!("cargo::rustc-check-cfg=cfg(shindan)");
    // Distinguishes the two compilations of file.rs: in the crate and in this build script.
    println!("cargo::rustc-cfg=shindan");
    match embed() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problems) => {
            for problem in problems {
                println!("cargo::error={problem}");
            }
            ExitCode::FAILURE
        }
    }
}

fn embed() -> Result<(), Vec<String>> {
    let mut paths = Vec::new();
    for category in entries(Path::new("../catalog"))?.into_iter().filter(|path| path.is_dir()) {
        paths.extend(entries(&category)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "yaml")));
    }
    let mut causes = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        match read(&path) {
            Ok(cause) => causes.push(cause),
            Err(problem) => problems.push(format!("{}:{problem}", path.display())),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let both = |cause: &CauseFile| {
        let whole = lz4_flex::block::compress_prepend_size(&serde_json::to_vec(cause)?);
        Ok((serde_json::to_string(&cause.clone().without_texts())?, whole))
    };
    let json: Result<Vec<(String, Vec<u8>)>, serde_json::Error> = causes.iter().map(both).collect();
    let json = json.map_err(|e| vec![e.to_string()])?;
    let entry = |(head, whole): &(String, Vec<u8>)| format!("({head:?}, b\"{}\")", whole.escape_ascii());
    let array = format!("&[{}]", json.iter().map(entry).collect::<Vec<_>>().join(","));
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("catalog.rs");
    fs::write(&out, array).map_err(|e| vec![format!("{}: {e}", out.display())])
}

fn read(path: &Path) -> Result<CauseFile, String> {
    let text = fs::read_to_string(path).map_err(|e| format!(" {e}"))?;
    let cause = CauseFile::parse(&text).map_err(|error| error.to_string())?;
    let named = |part: Option<&std::ffi::OsStr>| part.and_then(|part| part.to_str()).unwrap_or_default().to_owned();
    if named(path.file_stem()) != cause.cause {
        return Err(format!("2:1: cause {} must be in a file of its name", cause.cause));
    }
    if named(path.parent().and_then(Path::file_name)) != cause.category.to_lowercase() {
        return Err(format!("3:1: category {} must be in the folder of its name", cause.category));
    }
    Ok(cause)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Vec<String>> {
    let read = fs::read_dir(folder).map_err(|e| vec![format!("{}: {e}", folder.display())])?;
    let mut paths: Vec<PathBuf> = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}
