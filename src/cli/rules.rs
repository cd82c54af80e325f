//! `shindan rules`: list, check, test and explain the causes of the catalogue.

mod check;
mod list;
mod test;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use shindan_core::rules::catalog::SourceFile;

use super::{Ending, Streams, explain};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the causes of the catalogue, with the signal that each reads
    List(list::Args),
    /// Report every error of cause files: FILE:LINE:COLUMN, and a suggestion. Exits with 1 if there are errors
    Check(check::Args),
    /// Diagnose fixtures and compare the results with the causes that their heads expect. Exits with 1 if they differ
    Test(test::Args),
    /// Explain a cause: what it means, how it differs from similar causes, and what to do
    Explain(explain::Args),
}

pub(super) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    match &args.command {
        Command::List(args) => list::run(args, streams.out),
        Command::Check(args) => check::run(args, streams.out),
        Command::Test(args) => test::run(args, streams),
        Command::Explain(args) => explain::run(args, streams.out),
    }
}

/// Cause files, and those in folders at any depth.
fn sources(paths: &[PathBuf]) -> anyhow::Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            collect(path, &mut files)?;
        } else {
            files.push(path.clone());
        }
    }
    let source = |path: PathBuf| {
        let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        Ok(SourceFile { path: path.display().to_string(), text })
    };
    files.into_iter().map(source).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for path in entries(folder)? {
        if path.is_dir() {
            collect(&path, files)?;
        } else if is_yaml(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// Entries of a folder, sorted by name.
fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let read = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut paths: Vec<PathBuf> = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "yaml" || end == "yml")
}

/// `1 error`, `2 errors`, `no errors`.
fn counted(number: usize, what: &str) -> String {
    match number {
        0 => format!("no {}", plural(what)),
        1 => format!("1 {what}"),
        number => format!("{number} {}", plural(what)),
    }
}

fn plural(what: &str) -> String {
    if what.ends_with("ss") { format!("{what}es") } else { format!("{what}s") }
}
