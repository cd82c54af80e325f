//! Makes a controller try at once to create its pods.

use super::{Action, Ask};
use crate::api::{Remedy, RemedyKind};
use crate::diagnosis::language::say;
use crate::diagnosis::remedy;

pub(super) const ACTION: Action = Action {
    name: "retry-pod-creation",
    doc: "Restarts the rollout once the cause is removed: a controller whose pods are rejected waits up to 1000 s between two \
          tries (client-go DefaultTypedControllerRateLimiter). Offered for a Deployment, StatefulSet or DaemonSet without a \
          ready pod, where a restart costs nothing. Undo: not needed, the template gets an annotation only.",
    params: &[],
    has_text: true,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let workload = ask.subject.workload()?.workload;
    let target = ask.target.as_ref()?;
    let command = target.restart_command().filter(|_| workload.ready == 0)?;
    let text = say!(
        target,
        "After the fix, {workload} tries again by itself within 17 min; this command makes it try at once.",
        workload = target.display()
    );
    Some(remedy::command(Remedy { text, kind: RemedyKind::Mitigate, ..ask.remedy() }, command))
}
