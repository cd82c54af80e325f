//! `shindan rules test`: fixtures of causes, and what their heads expect.

use std::path::{Path, PathBuf};

use shindan_core::fixture;
use shindan_core::rules;
use shindan_core::rules::catalog::{self, Catalog};

use super::{Ending, Streams, counted};
use crate::cli::cause_files::{entries, is_yaml, sources};

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The folder of a cause, or a folder of such folders: CAUSE/*.yaml have the cause, and CAUSE/not-*.yaml look like it
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Add these cause files, or those of these folders, to the catalogue. A file with an error is reported and left out
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,
}

/// The number of tested fixtures and the differences.
#[derive(Default)]
struct Tested {
    causes: usize,
    fixtures: usize,
    near_misses: usize,
    errors: Vec<String>,
}

pub(super) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    let (added, errors) = catalog::read(&sources(&args.rules)?);
    let mut tested = Tested { errors: errors.iter().map(ToString::to_string).collect(), ..Tested::default() };
    catalog::install(Catalog::with(added.clone()));
    let mut folders: Vec<PathBuf> = entries(&args.folder)?.into_iter().filter(|path| path.is_dir()).collect();
    let is_of_cause = folders.is_empty() && entries(&args.folder)?.iter().any(|path| is_yaml(path));
    if is_of_cause {
        folders.push(args.folder.clone());
    }
    anyhow::ensure!(!folders.is_empty(), "{} has no fixtures and no folder of a cause", args.folder.display());
    for folder in &folders {
        tested.folder(folder)?;
    }
    let has_folder = |cause: &str| folders.iter().any(|folder| name_of(folder) == cause);
    for file in added.iter().filter(|file| !is_of_cause && !has_folder(&file.cause)) {
        tested.errors.push(format!("{}/{}: no fixture and no near miss", args.folder.display(), file.cause));
    }
    for error in &tested.errors {
        writeln!(streams.out, "{error}")?;
    }
    let Tested { causes, fixtures, near_misses, errors } = tested;
    let parts = [counted(causes, "cause"), counted(fixtures, "fixture"), counted(near_misses, "near miss")];
    writeln!(streams.out, "{}: {}", parts.join(", "), counted(errors.len(), "error"))?;
    Ok(if errors.is_empty() { Ending::Good } else { Ending::Partly })
}

impl Tested {
    fn folder(&mut self, folder: &Path) -> anyhow::Result<()> {
        let (cause, shown) = (name_of(folder), folder.display());
        self.causes += 1;
        if rules::named(cause).is_none_or(|known| known.cause != cause) {
            self.errors
                .push(format!("{shown}: {}\n  --rules FILE adds a cause to the catalogue", rules::unknown(cause)));
            return Ok(());
        }
        let cases = entries(folder)?.into_iter().filter(|path| is_yaml(path));
        let (near, cases): (Vec<PathBuf>, Vec<PathBuf>) = cases.partition(|path| name_of(path).starts_with("not-"));
        if cases.is_empty() {
            self.errors.push(format!("{shown}: no fixture such as {cause}/case.yaml"));
        }
        if near.is_empty() {
            self.errors.push(format!("{shown}: no near miss such as {cause}/not-case.yaml"));
        }
        self.fixtures += cases.len();
        self.near_misses += near.len();
        let all = cases.iter().map(|path| (path, false)).chain(near.iter().map(|path| (path, true)));
        for (path, is_near_miss) in all {
            let wrong = match std::fs::read_to_string(path) {
                Ok(text) => match fixture::diagnose(&text, (!is_near_miss).then_some(cause)) {
                    Ok(report) => {
                        let mut wrong = fixture::check(&text, cause, is_near_miss, &fixture::found(&report));
                        let unnamed = fixture::unnamed(&text, cause, &report);
                        wrong.extend(unnamed.iter().map(|(line, text)| {
                            format!("{line}:1: must-name: the summary does not name {}", text.replace(" | ", " or "))
                        }));
                        wrong
                    }
                    Err(error) => vec![error],
                },
                Err(error) => vec![format!("1:1: {error}")],
            };
            self.errors.extend(wrong.iter().map(|error| format!("{}:{error}", path.display())));
        }
        Ok(())
    }
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
