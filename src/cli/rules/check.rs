//! `shindan rules check`: the errors of cause files.

use std::io::Write;
use std::path::PathBuf;

use shindan_core::rules::catalog;

use super::{Ending, counted};
use crate::cli::cause_files::sources;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Cause files and rules, or folders of them. A cause file with the name of one of the catalogue replaces it
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<Ending> {
    let sources = sources(&args.files)?;
    let errors = catalog::read(&sources).errors;
    for error in &errors {
        writeln!(out, "{error}")?;
    }
    writeln!(out, "{}, {}", counted(sources.len(), "file"), counted(errors.len(), "error"))?;
    Ok(if errors.is_empty() { Ending::Good } else { Ending::Partly })
}
