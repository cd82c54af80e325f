//! Pods that keep their template until somebody deletes them: `updateStrategy: OnDelete` of a StatefulSet or DaemonSet.

use super::target::shell_word;
use super::{Case, remedy};
use crate::api::Remedy;
use crate::diagnosis::language::say;

/// With what is to be done besides the correction of the template; once that is done, it is all that is left.
pub(super) fn with_deletion(case: &Case<'_>, mut remedies: Vec<Remedy>) -> Vec<Remedy> {
    let Some(workload) = case.surroundings.known_workload().filter(|workload| workload.is_updated_on_delete()) else {
        return remedies;
    };
    let (kind, name, pod) = (&workload.key.kind, &workload.key.name, &case.pod.key.name);
    let hash = case.pod.labels.get("controller-revision-hash");
    let is_outdated = hash.is_some_and(|hash| workload.is_newest(hash) == Some(false));
    let (place, text) = if is_outdated {
        let text = say!(
            case,
            "{pod} still has an older template of {kind} {name}, whose updateStrategy is OnDelete: if the newest is right, delete the pod, and it is made anew from that.",
            pod,
            kind,
            name
        );
        (0, text)
    } else {
        let text = say!(
            case,
            "If you correct the template, then delete {pod}: the updateStrategy of {kind} {name} is OnDelete, and no pod gets a new template by itself.",
            pod,
            kind,
            name
        );
        (remedies.len().min(1), text)
    };
    let command = format!("kubectl -n {} delete pod {}", case.pod.key.namespace, shell_word(pod));
    remedies.insert(place, remedy::command(remedy::fix(text), command));
    remedies
}

#[cfg(test)]
mod tests {
    use crate::diagnosis::testing::Scenario;
    use crate::diagnosis::{Health, diagnose};

    /// The commands for a pod of revision `a` of a StatefulSet, the first two.
    fn commands(strategy: &str, update_revision: &str) -> Vec<String> {
        let scenario = Scenario::from_yaml(&format!(
            "kind: StatefulSet
apiVersion: apps/v1
metadata: {{name: db, namespace: shop, uid: s1}}
spec: {{replicas: 1, updateStrategy: {{type: {strategy}}}}}
status: {{replicas: 1, currentRevision: db-a, updateRevision: {update_revision}}}
---
kind: Pod
apiVersion: v1
metadata:
  {{name: db-0, namespace: shop, uid: u1, labels: {{controller-revision-hash: db-a}}, ownerReferences: [{{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: s1, controller: true}}]}}
spec: {{nodeName: n1, containers: [{{name: app, image: app:1}}]}}
status:
  phase: Running
  containerStatuses:
  - name: app
    restartCount: 4
    state: {{waiting: {{reason: CrashLoopBackOff}}}}
    lastState: {{terminated: {{exitCode: 1, reason: Error, startedAt: '2026-11-21T09:00:00Z', finishedAt: '2026-11-21T09:00:01Z'}}}}
"
        ));
        let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
        found.remedies.into_iter().take(2).map(|remedy| remedy.command.unwrap_or_default()).collect()
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
    fn what_rolls_by_itself_is_not_to_be_deleted() {
        assert!(!commands("RollingUpdate", "db-b").contains(&DELETE.to_owned()));
    }
}
