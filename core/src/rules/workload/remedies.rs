//! Remedies for workloads.

use std::fmt::Display;

use crate::actions::undo;
use crate::case::{FailingPod, Operation, Remedy, WorkloadCase, remedy, target};
use crate::language::{Language, phrase, translate};

/// `kubectl -n NAMESPACE`.
fn kubectl(case: &WorkloadCase<'_>) -> String {
    format!("kubectl -n {}", case.workload.key.namespace)
}

/// Rolls back to a revision whose pods have been ready.
pub(super) fn undo(case: &WorkloadCase<'_>, revision: i64, serves: bool) -> Remedy {
    let text = way_back(case.language(), revision, serves);
    rollback(case, text, undo::command(case.workload, revision))
}

fn rollback(case: &WorkloadCase<'_>, text: String, command: String) -> Remedy {
    let remedy = target::of_workload(case).with_source(remedy::mitigate(text));
    remedy::command_for(remedy, Operation::Rollback, command)
}

fn way_back(language: Language, revision: impl Display, serves: bool) -> String {
    let back = if serves {
        translate!(
            language,
            "Go back to revision {revision}, which still serves",
            "まだ稼働しているリビジョン {revision} に戻す",
            revision
        )
    } else {
        translate!(language, "Go back to revision {revision}", "リビジョン {revision} に戻す", revision)
    };
    translate!(
        language,
        "{back}; correct the template before the next rollout.",
        "{back}。次のロールアウトの前にテンプレートを修正する。",
        back
    )
}

/// Lists the revisions. Offered where none is known to have been ready.
pub(super) fn revisions(case: &WorkloadCase<'_>) -> Option<Remedy> {
    let history = target::of_workload(case).history_command()?;
    let text = phrase!(
        case,
        "If an earlier revision worked, go back to it (rollout undo --to-revision=N). It is not known whether one was ready.",
        "以前のリビジョンが正常だったなら、それに戻す (rollout undo --to-revision=N)。Ready だったものがあるかは不明。"
    );
    Some(remedy::command_for(remedy::mitigate(text), Operation::Rollback, history))
}

/// Rolls back an update of a StatefulSet and deletes the failing pod that it waits for.
pub(super) fn undo_and_replace(case: &WorkloadCase<'_>, revision: &str, pod: &FailingPod) -> Remedy {
    let pod = &pod.name;
    let text = translate!(
        case,
        "Go back to revision {revision}, then delete {pod}: the StatefulSet does not replace a pod that is not Ready by itself.",
        "リビジョン {revision} に戻し、その後 {pod} を削除する: StatefulSet は壊れた Pod を自ら置き換えない。",
        revision,
        pod
    );
    let undo = undo::command_by_name(case.workload, revision);
    let command = format!("{undo} && {} delete pod {pod}", kubectl(case));
    rollback(case, text, command)
}

/// Rolls back by name. No pod needs to be deleted, because pods are updated in parallel.
pub(super) fn undo_by_name(case: &WorkloadCase<'_>, revision: &str) -> Remedy {
    let text = way_back(case.language(), revision, true);
    rollback(case, text, undo::command_by_name(case.workload, revision))
}

/// Deletes a pod that keeps its old template because it is not Ready.
pub(super) fn replace(case: &WorkloadCase<'_>, pod: &FailingPod) -> Remedy {
    let text = translate!(
        case,
        "If you correct the template, then delete {pod}: while it is not Ready, the StatefulSet does not give it the new one.",
        "テンプレートを修正したら {pod} を削除する: Ready でない間、StatefulSet は新しいテンプレートを適用しない。",
        pod = pod.name
    );
    let command = format!("{} delete pod {}", kubectl(case), pod.name);
    remedy::command_for(remedy::fix(text), Operation::ChangePod, command)
}
