//! Template changes of StatefulSets and DaemonSets, and rollbacks. Their templates are stored in ControllerRevisions.

use super::failure::Verdict;
use super::{remedies, template};
use crate::api::TemplateChange;
use crate::case::{Category, FailingPod, WorkloadCase};
use crate::facts::RevisionFacts;

/// The differences between two revisions, given by name.
pub(super) fn changes(case: &WorkloadCase<'_>, before: &str, after: &str) -> Vec<TemplateChange> {
    let find = |name: &str| case.workload.revisions.iter().find(|revision| *revision.name == *name);
    find(before).zip(find(after)).map(|(before, after)| between(before, after)).unwrap_or_default()
}

fn between(before: &RevisionFacts, after: &RevisionFacts) -> Vec<TemplateChange> {
    template::between(before.template.as_deref(), after.template.as_deref())
}

/// Rollback of a DaemonSet, whose status names no revisions: to the newest older revision without a known failure.
/// During a rollout, that revision still serves on the other nodes.
pub(super) fn add_rollback(case: &WorkloadCase<'_>, old_ready: u32, verdict: &mut Verdict<'_>) {
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
    // If the newest template is everywhere, it is unknown whether the previous one was ever ready.
    if serves {
        verdict.remedies.push(remedies::undo(case, back.revision, serves));
    } else {
        verdict.after.extend(remedies::revisions(case));
    }
}
