//! What a StatefulSet or DaemonSet has otherwise than before, and the way back: their templates are ControllerRevisions.

use super::case::{FailingPod, WorkloadCase};
use super::remedies;
use super::tell::Verdict;
use super::template;
use crate::api::TemplateChange;
use crate::diagnosis::Category;
use crate::facts::RevisionFacts;

/// What the second of these revisions, by their names, has otherwise than the first.
pub(super) fn changes(case: &WorkloadCase<'_>, before: &str, after: &str) -> Vec<TemplateChange> {
    let find = |name: &str| case.workload.revisions.iter().find(|revision| *revision.name == *name);
    find(before).zip(find(after)).map(|(before, after)| between(before, after)).unwrap_or_default()
}

fn between(before: &RevisionFacts, after: &RevisionFacts) -> Vec<TemplateChange> {
    template::between(before.template.as_deref(), after.template.as_deref())
}

/// The same for a DaemonSet, whose status names no revisions: back to the newest of the older ones that nothing is known
/// against. While it rolls, that still serves on the other nodes.
pub(super) fn go_back(case: &WorkloadCase<'_>, old_ready: u32, verdict: &mut Verdict<'_>) {
    let Some((newest, older)) = case.workload.revisions.split_first() else { return };
    if !verdict.why.blames_newest(case) {
        return;
    }
    let of_itself = |pod: &&FailingPod| pod.category != Category::Node;
    let fails = |revision: &RevisionFacts| {
        let present = case.failing.iter().filter(of_itself).filter_map(|pod| pod.template.as_deref());
        present.chain(case.failed.iter().map(String::as_str)).any(|hash| revision.is_called(hash))
    };
    let Some(back) = older.iter().find(|revision| !fails(revision)) else { return };
    verdict.changes = between(back, newest);
    if verdict.changes.is_empty() && old_ready == 0 {
        return;
    }
    let serves = old_ready > 0;
    let undo = remedies::undo_to(case, back.revision, serves, serves);
    // Of one that has the newest template everywhere nobody knows whether it was good there for long.
    let place = if serves { &mut verdict.remedies } else { &mut verdict.after };
    place.push(undo);
}
