//! The steps of a remedy: applies them one by one, and undoes them.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use kube::api::DynamicObject;
use shindan_core::case::target::shell_word;
use shindan_core::message::text;

use super::change::{Change, Operation, Replacement};
use super::object::{self, Mode, Objects, Refusal};

/// A change that a dry run has made: the object before and after it.
#[derive(Debug)]
pub(in crate::cli) struct Step {
    pub(super) change: Change,
    pub(super) before: Option<DynamicObject>,
    pub(super) after: Option<DynamicObject>,
}

impl Step {
    /// What it changes: `Deployment web`.
    pub(in crate::cli) fn what(&self) -> String {
        self.change.to_string()
    }

    pub(super) fn changes_nothing(&self) -> bool {
        let both = self.before.as_ref().zip(self.after.as_ref());
        both.is_some_and(|(before, after)| object::shown(before) == object::shown(after))
    }
}

/// A step that was applied.
#[derive(Debug)]
pub(super) struct Applied {
    pub(super) change: Change,
    /// `None` for a deletion.
    pub(super) undo: Option<Undo>,
}

/// A remedy that was not applied completely.
#[derive(Debug)]
pub(super) struct Stopped {
    /// The object of the step that failed.
    pub(super) at: String,
    pub(super) refusal: Refusal,
    /// The steps before it.
    pub(super) applied: Vec<Applied>,
    /// The manifest of the object, if the step may have deleted it.
    pub(super) kept: Option<PathBuf>,
}

/// Applies the steps in order. Stops at the first that is refused, or whose object is no longer the one of the dry run.
pub(super) async fn apply(
    objects: &Objects<'_>,
    steps: &[Step],
    reason: &str,
) -> anyhow::Result<Result<Vec<Applied>, Stopped>> {
    let mut applied: Vec<Applied> = Vec::new();
    for Step { change, before, .. } in steps {
        let now = objects.get(change).await?;
        // An earlier step may have changed the same object.
        let is_ours = applied.iter().any(|done| done.change.is_of_same_object(change));
        let is_same = is_ours || version(now.as_ref()) == version(before.as_ref());
        let kept = match &now {
            Some(now) if is_same && change.is_recreation() => Some(keep(now)?),
            _ => None,
        };
        let result = if is_same {
            let changed = objects.change(change, now.as_ref(), reason, Mode::Apply).await;
            changed.with_context(|| kept.as_deref().map_or_else(|| format!("changing {change}"), note_of_kept))?
        } else {
            Err(Refusal::Changed)
        };
        match result {
            Ok(after) => {
                let undo = Undo::of(change, now.as_ref(), after.as_ref(), kept.as_deref())?;
                applied.push(Applied { change: change.clone(), undo });
            }
            Err(refusal) => return Ok(Err(Stopped { at: change.to_string(), refusal, applied, kept })),
        }
    }
    Ok(Ok(applied))
}

/// Writes the manifest of an object that is about to be deleted to a file that only the user can read.
fn keep(object: &DynamicObject) -> anyhow::Result<PathBuf> {
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let what = "cannot keep the manifest in a file; nothing was changed";
    let mut file = tempfile::Builder::new().prefix(&format!("{name}-")).suffix(".json").tempfile().context(what)?;
    serde_json::to_writer_pretty(&mut file, &object::manifest(object)?).context(what)?;
    Ok(file.keep().context(what)?.1)
}

/// How to restore an object that was deleted and may not exist again.
pub(super) fn note_of_kept(file: &Path) -> String {
    format!("if the object is gone, restore it with: kubectl create -f {}", shell_word(&file.to_string_lossy()))
}

fn version(object: Option<&DynamicObject>) -> Option<(Option<&str>, Option<i64>)> {
    object.map(|object| (object.metadata.uid.as_deref(), object.metadata.generation))
}

/// The command that undoes these steps. `None` if none of them can be undone.
pub(super) fn undo_command(applied: &[Applied]) -> Option<String> {
    let commands: Vec<&str> =
        applied.iter().rev().filter_map(|applied| Some(applied.undo.as_ref()?.command.as_str())).collect();
    (!commands.is_empty()).then(|| commands.join(" && "))
}

/// The change that reverses another one, and the command of kubectl that does it.
#[derive(Debug)]
pub(super) struct Undo {
    pub(super) change: Change,
    pub(super) command: String,
}

impl Undo {
    /// `kept`: the file with the manifest of an object that was deleted. `None` if the change cannot be undone.
    fn of(
        change: &Change,
        before: Option<&DynamicObject>,
        after: Option<&DynamicObject>,
        kept: Option<&Path>,
    ) -> anyhow::Result<Option<Self>> {
        let namespace = change.namespace.as_ref().map(|namespace| format!(" -n {namespace}")).unwrap_or_default();
        let kind = change.kind.kind.to_ascii_lowercase();
        let (operation, command) = match &change.operation {
            Operation::Delete { .. } => return Ok(None),
            Operation::Recreate(_) => {
                let (Some(before), Some(file)) = (before, kept) else { return Ok(None) };
                let file = shell_word(&file.to_string_lossy()).into_owned();
                (
                    Operation::Recreate(Replacement::Of(object::manifest(before)?)),
                    format!("kubectl{namespace} replace --force -f {file}"),
                )
            }
            Operation::Create(_) => {
                (Operation::Delete { grace_seconds: None }, format!("kubectl{namespace} delete {kind} {}", change.name))
            }
            _ => {
                let Some(patch) = before.zip(after).and_then(|(before, after)| object::reversal(before, after)) else {
                    return Ok(None);
                };
                let quoted = shell_word(&patch.to_string()).into_owned();
                (
                    Operation::Merge(patch),
                    format!("kubectl{namespace} patch {kind} {} --type=merge -p {quoted}", change.name),
                )
            }
        };
        Ok(Some(Self { change: Change { operation, ..change.clone() }, command }))
    }

    /// Reverses the change. Tries again if the object changes meanwhile.
    pub(super) async fn apply(&self, objects: &Objects<'_>, attempts: usize) -> anyhow::Result<()> {
        for _ in 0..attempts {
            let now = objects.get(&self.change).await?;
            match objects.change(&self.change, now.as_ref(), "undone", Mode::Apply).await? {
                Ok(_) => return Ok(()),
                Err(Refusal::Changed) => {}
                Err(Refusal::Answer(words)) => {
                    bail!(
                        "the change could not be undone: {}. Undo it with:\n  {}",
                        text::line(&words, 1000),
                        self.command
                    );
                }
            }
        }
        bail!("the change could not be undone, because the object keeps changing. Undo it with:\n  {}", self.command)
    }
}
