//! Makes a controller retry the creation of its pods at once.

use super::{Action, Ask, Undo};
use crate::api::RemedyKind;
use crate::case::{Remedy, remedy};
use crate::language::translate;

pub(super) const ACTION: Action = Action {
    name: "retry-pod-creation",
    doc: "Restarts the rollout once the cause is removed: a controller whose pods are rejected waits up to 1000 s \
          between two tries (client-go DefaultTypedControllerRateLimiter). Offered for a Deployment, StatefulSet or \
          DaemonSet without a ready pod, which a restart could interrupt.",
    params: &[],
    has_text: true,
    undo: Undo::NotNeeded,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let workload = ask.subject.workload()?.workload;
    let target = ask.target.as_ref()?;
    let command = target.restart_command().filter(|_| workload.ready == 0)?;
    let text = translate!(
        target,
        "After the fix, {workload} tries again by itself within 17 min; this command makes it try at once.",
        "修正後、{workload} は 17 min 以内に自ら再試行する。このコマンドですぐに再試行させる。",
        workload = target.display()
    );
    Some(remedy::command(Remedy { text, kind: RemedyKind::Mitigate, ..ask.remedy() }, command))
}
