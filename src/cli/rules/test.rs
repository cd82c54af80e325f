//! `shindan rules test`: rules with tests; or fixtures of causes, and what their heads expect.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shindan_core::rules::catalog::{self, Catalog, Read, SourceFile};
use shindan_core::{fixture, rules, user_rules};

use super::{Ending, Streams, counted};
use crate::cli::cause_files::{entries, is_yaml, sources};

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A rule with tests, or a folder of them; or the folder of a cause, or a folder of such folders: CAUSE/*.yaml have the
    /// cause, and CAUSE/not-*.yaml look like it
    #[arg(value_name = "FILE|DIR")]
    path: PathBuf,
    /// Add these rules or cause files, or those of these folders, to the catalogue. A file with an error is reported and left
    /// out
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
    let mut added = sources(&args.rules)?;
    let tested: Vec<SourceFile> = sources(std::slice::from_ref(&args.path))?.into_iter().filter(is_rule).collect();
    let paths: BTreeSet<String> = tested.iter().map(|rule| rule.path.clone()).collect();
    added.retain(|file| !paths.contains(&file.path));
    added.extend(tested);
    let read = catalog::read(&added);
    catalog::install(Arc::new(Catalog::with(read.additions.clone())));
    let (counts, mut errors) = match (paths.is_empty(), read.errors.is_empty()) {
        (true, _) => fixtures(&args.path, &read)?,
        (false, true) => rules_of(&paths, &read),
        // The tests of an invalid rule would fail for that alone.
        (false, false) => (counted(paths.len(), "rule"), Vec::new()),
    };
    errors.splice(0..0, read.errors.iter().map(ToString::to_string));
    for error in &errors {
        writeln!(streams.out, "{error}")?;
    }
    writeln!(streams.out, "{counts}: {}", counted(errors.len(), "error"))?;
    Ok(if errors.is_empty() { Ending::Good } else { Ending::Partly })
}

fn is_rule(file: &SourceFile) -> bool {
    file.text.lines().any(|line| line.trim_end() == "kind: DiagnosisRule")
}

/// Runs the tests of rules. Returns the counts and the errors.
fn rules_of(paths: &BTreeSet<String>, read: &Read) -> (String, Vec<String>) {
    let (mut tests, mut errors) = (0, Vec::new());
    for of in read.tests.iter().filter(|of| paths.contains(&of.path)) {
        tests += of.tests.len();
        if of.tests.is_empty() {
            errors.push(format!("{}: the rule has no test", of.path));
        }
        let failures = user_rules::failures(&of.own, &of.tests);
        errors.extend(failures.iter().map(|failure| format!("{}: {failure}", of.path)));
    }
    (format!("{}, {}", counted(paths.len(), "rule"), counted(tests, "test")), errors)
}

/// Tests fixtures in folders. Returns the counts and the errors.
fn fixtures(path: &Path, read: &Read) -> anyhow::Result<(String, Vec<String>)> {
    let mut tested = Tested::default();
    anyhow::ensure!(
        path.is_dir(),
        "{} is no DiagnosisRule and no folder; `shindan rules check` shows what is wrong",
        path.display()
    );
    let mut folders: Vec<PathBuf> = entries(path)?.into_iter().filter(|path| path.is_dir()).collect();
    let is_of_cause = folders.is_empty() && entries(path)?.iter().any(|path| is_yaml(path));
    if is_of_cause {
        folders.push(path.to_owned());
    }
    anyhow::ensure!(!folders.is_empty(), "{} has no rules, no fixtures and no folder of a cause", path.display());
    for folder in &folders {
        tested.folder(folder)?;
    }
    let has_folder = |cause: &str| folders.iter().any(|folder| name_of(folder) == cause);
    for file in read.additions.causes.iter().filter(|file| !is_of_cause && !has_folder(&file.cause)) {
        tested.errors.push(format!("{}/{}: no fixture and no near miss", path.display(), file.cause));
    }
    let Tested { causes, fixtures, near_misses, errors } = tested;
    let parts = [counted(causes, "cause"), counted(fixtures, "fixture"), counted(near_misses, "near miss")];
    Ok((parts.join(", "), errors))
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
