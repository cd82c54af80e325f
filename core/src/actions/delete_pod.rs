//! Deletes a pod.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Operation, Remedy, remedy};
use crate::facts::PodFacts;
use crate::language::phrase;

pub(super) const ACTION: Action = Action {
    name: "delete-pod",
    doc: "Deletes the pod. With a text of the cause, it is offered if a controller creates the pod again. Without a \
          text, it is for pods that have ended: a bare pod must be applied again. If a controller has created many \
          such pods, the command deletes all failed pods of the workload.",
    params: &[],
    has_text: true,
    undo: Undo::Impossible,
    needed_names: None,
    build,
};

/// Labels whose values differ between the pod templates of one workload.
const TEMPLATE_LABELS: [&str; 3] = ["pod-template-hash", "controller-revision-hash", "pod-template-generation"];

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let case = ask.subject.pod()?;
    let pod = case.pod;
    let prefix = format!("kubectl -n {}", pod.key.namespace);
    let one = format!("{prefix} delete pod {}", shell_word(&pod.key.name));
    if !ask.text.is_empty() {
        pod.owner.as_ref().filter(|_| !pod.is_mirror())?;
        return Some(remedy::command_for(ask.remedy(), Operation::ChangePod, one));
    }
    let (text, operation, command) = if pod.owner.is_none() {
        (
            phrase!(
                case,
                "Delete the pod and apply it again: no controller replaces a bare pod.",
                "Pod を削除して apply し直す: 単独の Pod は置き換えられない。"
            ),
            Operation::ChangePod,
            one,
        )
    } else if let Some(labels) = labels(pod).filter(|_| case.surroundings.siblings.are_thrown_out_again_and_again()) {
        let all = format!("{prefix} delete pods --field-selector=status.phase=Failed -l {}", shell_word(&labels));
        (
            phrase!(
                case,
                "Delete all failed pods of the workload: the cluster keeps them until there are 12,500.",
                "ワークロードの失敗した Pod をすべて削除する: クラスタは 12,500 個になるまで残す。"
            ),
            Operation::Other,
            all,
        )
    } else {
        (
            phrase!(
                case,
                "Delete this pod: it no longer runs, and its controller has replaced it if needed.",
                "この Pod を削除する: 必要ならコントローラが新しい Pod を作り、残っているのは記録だけ。"
            ),
            Operation::ChangePod,
            one,
        )
    };
    Some(remedy::command_for(remedy::mitigate(text), operation, command))
}

/// Returns a label selector for the pods of the same workload.
fn labels(pod: &PodFacts) -> Option<String> {
    let own = pod.labels.iter().filter(|(key, _)| !TEMPLATE_LABELS.contains(key));
    let own: Vec<_> = own.map(|(key, value)| format!("{key}={value}")).collect();
    (!own.is_empty()).then(|| own.join(","))
}

#[cfg(test)]
mod tests {
    use crate::case::Health;
    use crate::rules::diagnose;
    use crate::testing::Scenario;

    #[test]
    fn offers_to_delete_all_failed_pods_and_scale_down_if_all_are_rejected() {
        let mut scenario = Scenario::from_yaml(
            "kind: Pod
metadata: {name: web-5d9-x, namespace: shop, uid: u1, labels: {app: web, pod-template-hash: 5d9},
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d9, uid: r1, controller: true}]}
spec: {nodeName: n1, containers: [{name: web, image: web:1, resources: {requests: {cpu: '50'}}}]}
status: {phase: Failed, reason: OutOfcpu, message: 'Pod was rejected: Node didn''t have enough resource: cpu, requested: 50000, used: 0, capacity: 2000'}
",
        );
        let commands = |scenario: &Scenario| -> Vec<String> {
            let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
            found.remedies.into_iter().filter_map(|remedy| remedy.command).collect()
        };
        let (one, rest, all) = (
            "kubectl -n shop delete pod web-5d9-x",
            "kubectl -n shop scale deployment/web --replicas=0",
            "kubectl -n shop delete pods --field-selector=status.phase=Failed -l app=web",
        );
        assert!(commands(&scenario).iter().any(|command| command == one), "{:?}", commands(&scenario));
        scenario.surroundings[0].siblings.thrown_out_lately = 12;
        let offered = commands(&scenario);
        assert!([rest, all].iter().all(|expected| offered.iter().any(|command| command == expected)), "{offered:?}");
        assert!(!offered.iter().any(|command| command == one), "{offered:?}");
        scenario.surroundings[0].siblings.ready = 1;
        assert!(!commands(&scenario).iter().any(|command| command == rest), "one serves");
    }
}
