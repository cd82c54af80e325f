//! Manual rollout steps, for pods that do not get a new template automatically: a StatefulSet or DaemonSet with
//! `updateStrategy: OnDelete`, pods of a StatefulSet that are not Ready, and pods of a paused Deployment.

use super::undo;
use crate::case::target::shell_word;
use crate::case::{Case, Operation, Remedy, remedy};
use crate::facts::{OwnFacts, WorkloadFacts};
use crate::language::translate;

/// Adds the steps that are needed after the template is corrected. If it is already corrected, only these steps remain.
pub(crate) fn with_steps(case: &Case<'_>, mut remedies: Vec<Remedy>) -> Vec<Remedy> {
    let Some(workload) = case.surroundings.known_workload() else { return remedies };
    if workload.paused {
        return with_resumption(case, workload, remedies);
    }
    let (kind, name, pod) = (&workload.key.kind, &workload.key.name, &case.pod.key.name);
    let hash = case.pod.labels.get("controller-revision-hash");
    let is_outdated = hash.is_some_and(|hash| workload.is_newest(hash) == Some(false));
    let (place, text) = match (workload.is_updated_on_delete(), is_outdated) {
        (true, true) => {
            let text = translate!(
                case,
                "{pod} still has an older template of {kind} {name}, whose updateStrategy is OnDelete: if the newest template is right, delete the pod, and it is recreated from that template.",
                "{pod} は {kind} {name} の古いテンプレートのまま (updateStrategy が OnDelete): 最新のテンプレートが正しければ Pod を削除する。最新のもので作り直される。",
                pod,
                kind,
                name
            );
            (0, text)
        }
        (true, false) => {
            let text = translate!(
                case,
                "If you correct the template, then delete {pod}: the updateStrategy of {kind} {name} is OnDelete, and no pod gets a new template by itself.",
                "テンプレートを修正したら {pod} を削除する: {kind} {name} の updateStrategy は OnDelete で、Pod は自動では新しいテンプレートにならない。",
                pod,
                kind,
                name
            );
            (remedies.len().min(1), text)
        }
        (false, true) if waits_for(workload, pod) && !case.pod.is_ready() => {
            let text = translate!(
                case,
                "{pod} still has an older template of {kind} {name}, which does not replace a pod that is not Ready: if the newest template is right, delete the pod, and it is recreated from that template.",
                "{pod} は {kind} {name} の古いテンプレートのまま (Ready でない Pod は置き換えられない): 最新のテンプレートが正しければ Pod を削除する。最新のもので作り直される。",
                pod,
                kind,
                name
            );
            (0, text)
        }
        _ => return remedies,
    };
    let command = format!("kubectl -n {} delete pod {}", case.pod.key.namespace, shell_word(pod));
    remedies.insert(place, remedy::command_for(remedy::fix(text), Operation::ChangePod, command));
    remedies
}

/// Adds the command that resumes a paused rollout.
fn with_resumption(case: &Case<'_>, workload: &WorkloadFacts, mut remedies: Vec<Remedy>) -> Vec<Remedy> {
    let text = translate!(
        case,
        "{kind} {name} is paused: changes of its template take effect when its rollout is resumed.",
        "{kind} {name} は一時停止中: ロールアウトが再開されるまで、テンプレートの変更はどの Pod にも届かない。",
        kind = workload.key.kind,
        name = workload.key.name
    );
    remedies.insert(remedies.len().min(1), remedy::command(remedy::fix(text), undo::resume(workload)));
    remedies
}

/// Whether a rolling update waits until this pod is Ready. A StatefulSet updates its pods in order.
fn waits_for(workload: &WorkloadFacts, pod: &str) -> bool {
    let OwnFacts::StatefulSet(set) = &workload.own else { return false };
    set.ordered && workload.ordinal(pod).is_some_and(|ordinal| ordinal >= set.partition)
}

#[cfg(test)]
mod tests {
    use crate::case::Health;
    use crate::rules::diagnose;
    use crate::testing::{POD_OF_WEB, Scenario};

    /// Status of a pod in a crash loop.
    const LOOPS: &str = "status:
  phase: Running
  containerStatuses:
  - name: app
    restartCount: 4
    state: {waiting: {reason: CrashLoopBackOff}}
    lastState: {terminated: {exitCode: 1, reason: Error, startedAt: '2026-11-21T09:00:00Z', finishedAt: '2026-11-21T09:00:01Z'}}
";

    /// The first two commands for pod 0 of revision `a` of a StatefulSet.
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
    fn paused_deployment_is_resumed_to_apply_a_corrected_template() {
        let position_of_resume = |spec: &str| {
            let scenario = Scenario::from_yaml(&format!(
                "kind: Deployment
apiVersion: apps/v1
metadata: {{name: web, namespace: shop, uid: d1, generation: 1}}
spec: {{replicas: 1{spec}}}
status: {{replicas: 1}}
{POD_OF_WEB}{LOOPS}"
            ));
            let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
            let resumes = |command: &String| command == "kubectl -n shop rollout resume deployment/web";
            found.remedies.iter().position(|remedy| remedy.command.as_ref().is_some_and(resumes))
        };
        assert_eq!(position_of_resume(", paused: true"), Some(1));
        assert_eq!(position_of_resume(""), None);
    }

    const DELETE: &str = "kubectl -n shop delete pod db-0";

    #[test]
    fn pod_with_an_outdated_template_is_deleted_first() {
        assert_eq!(commands("OnDelete", "db-b")[0], DELETE);
    }

    #[test]
    fn pod_with_the_newest_template_is_deleted_after_the_correction() {
        let commands = commands("OnDelete", "db-a");
        assert!(commands[0] != DELETE && commands[1] == DELETE, "{commands:?}");
    }

    #[test]
    fn pod_that_blocks_a_rolling_update_is_deleted() {
        assert_eq!(commands("RollingUpdate", "db-b")[0], DELETE);
        let beyond = "updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}";
        for spec in [beyond, "podManagementPolicy: Parallel"] {
            assert!(!commands_of(spec, "db-b").contains(&DELETE.to_owned()), "{spec}");
        }
        assert!(!commands("RollingUpdate", "db-a").contains(&DELETE.to_owned()), "the newest template");
    }
}
