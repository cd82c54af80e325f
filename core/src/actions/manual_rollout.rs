//! Manual rollout steps, for pods that do not get a new template automatically: a StatefulSet or DaemonSet with
//! `updateStrategy: OnDelete`, pods of a StatefulSet that are not Ready, and pods of a paused Deployment. A command that
//! changes the template then also deletes the pod.

use super::undo;
use crate::case::target::shell_word;
use crate::case::{Case, Operation, Remedy, remedy};
use crate::facts::{OwnFacts, WorkloadFacts};
use crate::language::translate;

/// Adds the steps that are needed after the template is corrected. If it is already corrected, only these steps remain.
pub(crate) fn with_steps(case: &Case<'_>, mut remedies: Vec<Remedy>) -> Vec<Remedy> {
    let Some(workload) = case.surroundings.known_workload() else { return remedies };
    if case.pod.deletion.is_some() {
        return remedies;
    }
    if workload.paused {
        return with_resumption(case, workload, remedies);
    }
    let (kind, name, pod) = (&workload.key.kind, &workload.key.name, &case.pod.key.name);
    let hash = case.pod.labels.get("controller-revision-hash");
    let is_outdated = hash.is_some_and(|hash| workload.is_newest(hash) == Some(false));
    let delete = format!("kubectl -n {} delete pod {}", case.pod.key.namespace, shell_word(pod));
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
        (true, false) => {
            let why = translate!(
                case,
                "The updateStrategy of {kind} {name} is OnDelete, and no pod gets a new template by itself: the command deletes {pod} too.",
                "{kind} {name} の updateStrategy は OnDelete で、Pod は自動では新しいテンプレートにならない: コマンドは {pod} も削除する。",
                kind,
                name,
                pod
            );
            remedies = with_deletion(remedies, &delete, &why);
            if remedies.iter().any(|remedy| remedy.operation == Operation::ReplacePod) {
                return remedies;
            }
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
        (false, false) if waits_for(workload, pod) && !case.pod.is_ready() => {
            let why = translate!(
                case,
                "{kind} {name} does not replace a pod that is not Ready: the command deletes {pod} too.",
                "{kind} {name} は Ready でない Pod を置き換えない: コマンドは {pod} も削除する。",
                kind,
                name,
                pod
            );
            return with_deletion(remedies, &delete, &why);
        }
        _ => return remedies,
    };
    remedies.insert(place, remedy::command_for(remedy::fix(text), Operation::ChangePod, delete));
    remedies
}

/// Lets each command that changes the template also delete the pod.
fn with_deletion(remedies: Vec<Remedy>, delete: &str, why: &str) -> Vec<Remedy> {
    let with = |remedy: Remedy| match &remedy.command {
        Some(change) if remedy.operation == Operation::ChangeTemplate => Remedy {
            text: format!("{} {why}", remedy.text),
            command: Some(format!("{change} && {delete}")),
            operation: Operation::ReplacePod,
            ..remedy
        },
        _ => remedy,
    };
    remedies.into_iter().map(with).collect()
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
        let scenario = Scenario::from_yaml(&scenario(spec, update_revision));
        let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
        found.remedies.into_iter().take(2).map(|remedy| remedy.command.unwrap_or_default()).collect()
    }

    /// Pod 0 of revision `a` of a StatefulSet, in a crash loop.
    fn scenario(spec: &str, update_revision: &str) -> String {
        format!(
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
        )
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
    fn pod_that_is_being_deleted_is_not_deleted_again() {
        let scenario = Scenario::from_yaml(&scenario("updateStrategy: {type: OnDelete}", "db-b").replace(
            "uid: u1, labels",
            "uid: u1, deletionTimestamp: '2026-11-21T08:00:00Z', finalizers: [example.com/backup], labels",
        ));
        let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
        assert!(found.remedies.iter().all(|remedy| remedy.command.as_deref() != Some(DELETE)), "{:?}", found.remedies);
    }

    #[test]
    fn pod_with_the_newest_template_is_deleted_after_the_correction() {
        let commands = commands("OnDelete", "db-a");
        assert!(commands[0] != DELETE && commands[1] == DELETE, "{commands:?}");
    }

    #[test]
    fn a_command_that_changes_the_template_also_deletes_the_pod() {
        let limit = |strategy: &str| {
            let scenario = Scenario::from_yaml(
                &scenario(&format!("updateStrategy: {{type: {strategy}}}"), "db-a")
                    .replace("image: app:1", "image: app:1, resources: {limits: {memory: 24Mi}}")
                    .replace("exitCode: 1, reason: Error", "exitCode: 137, reason: OOMKilled"),
            );
            let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
            found.remedies[0].command.clone().unwrap()
        };
        for strategy in ["RollingUpdate", "OnDelete"] {
            let command = limit(strategy);
            assert!(
                command.contains(" patch statefulset db ") && command.ends_with(&format!(" && {DELETE}")),
                "{command}"
            );
        }
    }

    #[test]
    fn a_command_that_sets_an_image_also_deletes_the_pod() {
        const PULLS: &str = "status:
  phase: Pending
  containerStatuses:
  - {name: app, image: 'app:1', state: {waiting: {reason: ErrImagePull, message: 'failed to resolve reference \"docker.io/library/app:1\": docker.io/library/app:1: not found'}}}
";
        let scenario =
            Scenario::from_yaml(&scenario("updateStrategy: {type: RollingUpdate}", "db-a").replace(LOOPS, PULLS));
        let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
        let expected = format!("kubectl -n shop set image statefulset/db app=<IMAGE> && {DELETE}");
        assert_eq!(found.remedies[0].command.as_deref(), Some(&*expected), "{}", found.cause);
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
