//! Pods that get no new template by themselves: `updateStrategy: OnDelete` of a StatefulSet or DaemonSet, those of a StatefulSet
//! that are not Ready, and those of a Deployment that is paused.

use super::target::shell_word;
use super::{Case, remedy, undo};
use crate::api::Remedy;
use crate::diagnosis::language::say;
use crate::facts::{OwnFacts, WorkloadFacts};

/// With what is to be done besides the correction of the template; once that is done, it is all that is left.
pub(super) fn with_steps(case: &Case<'_>, mut remedies: Vec<Remedy>) -> Vec<Remedy> {
    let Some(workload) = case.surroundings.known_workload() else { return remedies };
    if workload.paused {
        return with_resumption(case, workload, remedies);
    }
    let (kind, name, pod) = (&workload.key.kind, &workload.key.name, &case.pod.key.name);
    let hash = case.pod.labels.get("controller-revision-hash");
    let is_outdated = hash.is_some_and(|hash| workload.is_newest(hash) == Some(false));
    let (place, text) = match (workload.is_updated_on_delete(), is_outdated) {
        (true, true) => {
            let text = say!(
                case,
                "{pod} still has an older template of {kind} {name}, whose updateStrategy is OnDelete: if the newest is right, delete the pod, and it is made anew from that.",
                pod,
                kind,
                name
            );
            (0, text)
        }
        (true, false) => {
            let text = say!(
                case,
                "If you correct the template, then delete {pod}: the updateStrategy of {kind} {name} is OnDelete, and no pod gets a new template by itself.",
                pod,
                kind,
                name
            );
            (remedies.len().min(1), text)
        }
        (false, true) if waits_for(workload, pod) && !case.pod.is_ready() => {
            let text = say!(
                case,
                "{pod} still has an older template of {kind} {name}, which does not replace a pod that is not Ready: if the newest is right, delete the pod, and it is made anew from that.",
                pod,
                kind,
                name
            );
            (0, text)
        }
        _ => return remedies,
    };
    let command = format!("kubectl -n {} delete pod {}", case.pod.key.namespace, shell_word(pod));
    remedies.insert(place, remedy::command(remedy::fix(text), command));
    remedies
}

/// With what lets a corrected template take effect.
fn with_resumption(case: &Case<'_>, workload: &WorkloadFacts, mut remedies: Vec<Remedy>) -> Vec<Remedy> {
    let text = say!(
        case,
        "{kind} {name} is paused: what is changed in its template reaches no pod until its rollout goes on.",
        kind = workload.key.kind,
        name = workload.key.name
    );
    remedies.insert(remedies.len().min(1), remedy::command(remedy::fix(text), undo::resume(workload)));
    remedies
}

/// Whether an update is meant for this pod, and waits until it is Ready: a StatefulSet takes its pods in order.
fn waits_for(workload: &WorkloadFacts, pod: &str) -> bool {
    let OwnFacts::StatefulSet(set) = &workload.own else { return false };
    set.ordered && workload.ordinal(pod).is_some_and(|ordinal| ordinal >= set.partition)
}

#[cfg(test)]
mod tests {
    use crate::diagnosis::testing::Scenario;
    use crate::diagnosis::{Health, diagnose};

    /// The status of a pod that fails.
    const LOOPS: &str = "status:
  phase: Running
  containerStatuses:
  - name: app
    restartCount: 4
    state: {waiting: {reason: CrashLoopBackOff}}
    lastState: {terminated: {exitCode: 1, reason: Error, startedAt: '2026-11-21T09:00:00Z', finishedAt: '2026-11-21T09:00:01Z'}}
";

    /// The commands for pod 0, of revision `a` of a StatefulSet, the first two.
    fn commands(strategy: &str, update_revision: &str) -> Vec<String> {
        commands_of(&format!("updateStrategy: {{type: {strategy}}}"), update_revision)
    }

    fn commands_of(spec: &str, update_revision: &str) -> Vec<String> {
        let scenario = Scenario::from_yaml(&format!(
            "kind: StatefulSet
apiVersion: apps/v1
metadata: {{name: db, namespace: shop, uid: s1}}
spec: {{replicas: 1, {spec}}}
status: {{replicas: 1, currentRevision: db-a, updateRevision: {update_revision}}}
---
kind: Pod
apiVersion: v1
metadata:
  {{name: db-0, namespace: shop, uid: u1, labels: {{controller-revision-hash: db-a}}, ownerReferences: [{{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: s1, controller: true}}]}}
spec: {{nodeName: n1, containers: [{{name: app, image: app:1}}]}}
{LOOPS}"
        ));
        let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
        found.remedies.into_iter().take(2).map(|remedy| remedy.command.unwrap_or_default()).collect()
    }

    #[test]
    fn a_deployment_that_is_paused_must_go_on_for_a_corrected_template_to_take_effect() {
        let told = |spec: &str| {
            let scenario = Scenario::from_yaml(&format!(
                "kind: Deployment
apiVersion: apps/v1
metadata: {{name: web, namespace: shop, uid: d1, generation: 1}}
spec: {{replicas: 1{spec}}}
status: {{replicas: 1}}
---
kind: ReplicaSet
apiVersion: apps/v1
metadata: {{name: web-5d8f9c7b6, namespace: shop, uid: r1, ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: web, uid: d1, controller: true}}]}}
---
kind: Pod
apiVersion: v1
metadata: {{name: web-5d8f9c7b6-x, namespace: shop, uid: u1, labels: {{pod-template-hash: 5d8f9c7b6}}, ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d8f9c7b6, uid: r1, controller: true}}]}}
spec: {{nodeName: n1, containers: [{{name: app, image: app:1}}]}}
{LOOPS}"
            ));
            let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
            let resumes = |command: &String| command == "kubectl -n shop rollout resume deployment/web";
            found.remedies.iter().position(|remedy| remedy.command.as_ref().is_some_and(resumes))
        };
        assert_eq!(told(", paused: true"), Some(1));
        assert_eq!(told(""), None);
    }

    const DELETE: &str = "kubectl -n shop delete pod db-0";

    #[test]
    fn a_pod_with_an_older_template_is_to_be_deleted_first() {
        assert_eq!(commands("OnDelete", "db-b")[0], DELETE);
    }

    #[test]
    fn a_pod_with_the_newest_template_is_to_be_deleted_once_that_is_corrected() {
        let commands = commands("OnDelete", "db-a");
        assert!(commands[0] != DELETE && commands[1] == DELETE, "{commands:?}");
    }

    #[test]
    fn a_pod_that_a_rolling_update_waits_for_is_to_be_deleted() {
        assert_eq!(commands("RollingUpdate", "db-b")[0], DELETE);
        let beyond = "updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}";
        for spec in [beyond, "podManagementPolicy: Parallel"] {
            assert!(!commands_of(spec, "db-b").contains(&DELETE.to_owned()), "{spec}");
        }
        assert!(!commands("RollingUpdate", "db-a").contains(&DELETE.to_owned()), "the newest template");
    }
}
