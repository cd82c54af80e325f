//! What is left of pods that have ended, and of those that a controller goes on to make though none of them stays.

use crate::api::Remedy;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::target::{self, shell_word};
use crate::diagnosis::{Case, remedy};

/// Labels that tell one template of a workload from another.
const OF_TEMPLATES: [&str; 3] = ["pod-template-hash", "controller-revision-hash", "pod-template-generation"];

/// What is left of the pod, and of others that ended like it.
pub(super) fn records(case: &Case<'_>) -> Remedy {
    let (pod, prefix) = (case.pod, format!("kubectl -n {}", case.pod.key.namespace));
    let one = format!("{prefix} delete pod {}", pod.key.name);
    if pod.owner.is_none() {
        let text = phrase!(case, "A bare pod is not made again: delete it and apply it anew.");
        return remedy::command(remedy::mitigate(text), one);
    }
    let own = pod.labels.iter().filter(|(key, _)| !OF_TEMPLATES.contains(key));
    let own: Vec<_> = own.map(|(key, value)| format!("{key}={value}")).collect();
    if is_loop(case) && !own.is_empty() {
        let text = phrase!(
            case,
            "Those that have ended are only records: delete them all, or they stay until there are 12,500."
        );
        let all =
            format!("{prefix} delete pods --field-selector=status.phase=Failed -l {}", shell_word(&own.join(",")));
        return remedy::command(remedy::mitigate(text), all);
    }
    let text = phrase!(
        case,
        "Its controller makes a new pod where one is wanted; this one is only a record and can be deleted."
    );
    remedy::command(remedy::mitigate(text), one)
}

/// Where a controller makes pod after pod and each is thrown out: let it rest.
pub(super) fn rest(case: &Case<'_>) -> Option<Remedy> {
    let target = target::of(case);
    let command = target.scale_command(0).filter(|_| is_loop(case) && case.surroundings.siblings.ready == 0)?;
    let text = say!(
        case,
        "{target} makes pod after pod, and each is thrown out: let it rest until that is mended.",
        target = target.display()
    );
    Some(remedy::command(remedy::mitigate(text), command))
}

fn is_loop(case: &Case<'_>) -> bool {
    case.surroundings.siblings.are_thrown_out_again_and_again()
}

#[cfg(test)]
mod tests {
    use crate::diagnosis::testing::Scenario;
    use crate::diagnosis::{Health, diagnose};

    #[test]
    fn a_controller_that_goes_on_making_what_is_refused_is_to_rest() {
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
        let told = commands(&scenario);
        assert!([rest, all].iter().all(|wanted| told.iter().any(|command| command == wanted)), "{told:?}");
        assert!(!told.iter().any(|command| command == one), "{told:?}");
        scenario.surroundings[0].siblings.ready = 1;
        assert!(!commands(&scenario).iter().any(|command| command == rest), "one serves");
    }
}
