//! Cause files and rules on disk, and `--rules`, which adds them to the catalogue of a command.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use shindan_core::case::Thresholds;
use shindan_core::rules::catalog::{self, Additions, Catalog, SourceFile};

use crate::config::ThresholdArgs;

#[derive(Debug, clap::Args)]
pub(super) struct AddedRules {
    /// Add your own rules or cause files, or those of these folders, to the catalogue; may be repeated. A cause file with the
    /// name of one of the catalogue replaces it
    #[arg(long = "rules", value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
}

impl AddedRules {
    /// Adds the causes. A file with an error is an error of the command, so that no diagnosis lacks a cause unnoticed.
    pub(super) fn load(&self) -> anyhow::Result<()> {
        if self.paths.is_empty() {
            return Ok(());
        }
        let additions = read(&self.paths)?;
        catalog::install(Arc::new(Catalog::with(additions)));
        Ok(())
    }
}

/// Settings of the engine that commands with a diagnosis have in common.
#[derive(Debug, clap::Args)]
pub(super) struct EngineArgs {
    #[command(flatten)]
    thresholds: ThresholdArgs,
    #[command(flatten)]
    rules: AddedRules,
}

impl EngineArgs {
    /// Adds the rules, and checks the thresholds of their causes.
    pub(super) fn load(&self) -> anyhow::Result<()> {
        self.rules.load()?;
        check(&self.thresholds)
    }

    pub(super) fn thresholds(&self) -> Thresholds {
        self.thresholds.thresholds()
    }

    pub(super) fn has_rules(&self) -> bool {
        !self.rules.paths.is_empty()
    }
}

/// Checks that the causes of rules with a threshold exist. Rules are read after the flags.
fn check(thresholds: &ThresholdArgs) -> anyhow::Result<()> {
    let catalog = catalog::current();
    let unknown = thresholds.causes_of_rules().find(|cause| catalog.name(cause).is_none());
    if let Some(cause) = unknown {
        let known: Vec<&str> = catalog.added().iter().map(|file| file.cause.as_str()).collect();
        if known.is_empty() {
            bail!("--thresholds: {cause} is a cause of a rule; add the rule with --rules");
        }
        bail!("--thresholds: no rule of --rules has the cause {cause}; they have {}", known.join(", "));
    }
    Ok(())
}

/// Conditions of added rules that were not evaluated, as they would have taken too long, one line each. Call it after the
/// diagnosis.
pub(super) fn too_expensive() -> Vec<String> {
    let catalog = catalog::current();
    let line = |(cause, object): (&str, &str)| {
        format!(
            "--rules: a condition of {cause} takes more steps than allowed for {object}, so it was not evaluated and \
             {cause} may be missing; make it simpler"
        )
    };
    catalog.over_budget().into_iter().map(line).collect()
}

/// What files or folders add to the catalogue. A file with an error is an error.
pub(super) fn read(paths: &[PathBuf]) -> anyhow::Result<Additions> {
    let sources = sources(paths)?;
    if sources.is_empty() && !paths.is_empty() {
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        bail!("no rules or cause files (*.yaml, *.yml) in {}", paths.join(", "));
    }
    let read = catalog::read(&sources);
    if !read.errors.is_empty() {
        let errors: Vec<String> = read.errors.iter().map(ToString::to_string).collect();
        bail!("--rules: {}", errors.join("\n"));
    }
    Ok(read.additions)
}

/// Cause files, and those in folders at any depth. A folder `tests` has their fixtures.
pub(super) fn sources(paths: &[PathBuf]) -> anyhow::Result<Vec<SourceFile>> {
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
            if !path.ends_with("tests") {
                collect(&path, files)?;
            }
        } else if is_yaml(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// Entries of a folder, sorted by name.
pub(super) fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let read = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut paths: Vec<PathBuf> = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

pub(super) fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "yaml" || end == "yml")
}
