//! Raises the memory limit of a container, or of a pod.

use serde_json::{Value, json};

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::case::target::list_entry;
use crate::facts::{Container, PodFacts, format_bytes, parse_bytes};

pub(super) const ACTION: Action = Action {
    name: "raise-memory-limit",
    doc: "Doubles the memory limit of the container, at least to `atLeast`, and sets the memory request to the same \
          amount, so that it is reserved on the node. A limit of the pod as a whole (spec.resources) grows with it; if \
          the container has none of its own, that of the pod is doubled. Offered if the container or the pod has a limit.",
    params: &["atLeast"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let target = ask.target.as_ref()?;
    let container = ask.container?;
    let pod = ask.subject.pod().map(|case| case.pod);
    let least = ask.with("atLeast").and_then(parse_bytes).unwrap_or_default();
    let Some(limit) = container.limits.memory else {
        let limit = pod?.pod_memory_limit?;
        let raised = memory(limit.saturating_mul(2).max(least));
        return Some(target.with_pod_patch(ask.remedy(), json!({ "resources": raised })));
    };
    let raised = limit.saturating_mul(2).max(least);
    let fields = json!({ "resources": memory(raised) });
    match pod.and_then(|pod| of_pod(pod, container, raised)).filter(|_| !target.is_injected(container)) {
        Some(resources) => {
            let list = container.spec_list();
            let patch = json!({ "resources": resources, list: [list_entry(&container.name, fields)] });
            Some(target.with_pod_patch(ask.remedy(), patch))
        }
        None => Some(target.with_container_patch(ask.remedy(), Some(container), fields)),
    }
}

fn memory(bytes: i64) -> Value {
    let amount = format_bytes(bytes);
    json!({"requests": {"memory": amount}, "limits": {"memory": amount}})
}

/// Memory of the pod as a whole with the raised container: the API server rejects containers that have more than their pod.
fn of_pod(pod: &PodFacts, container: &Container, raised: i64) -> Option<Value> {
    let grown = |of_pod: i64, of_container: Option<i64>| {
        format_bytes(of_pod.saturating_add(raised.saturating_sub(of_container.unwrap_or_default())))
    };
    let limit = grown(pod.pod_memory_limit?, container.limits.memory);
    let requested = pod.pod_requests.memory.map(|requested| grown(requested, container.requests.memory));
    Some(match requested {
        Some(requested) => json!({"requests": {"memory": requested}, "limits": {"memory": limit}}),
        None => json!({"limits": {"memory": limit}}),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::case::Health;
    use crate::rules::diagnose;
    use crate::testing::Scenario;

    /// The pod spec in the patch of the first remedy of a Deployment's pod with these resources.
    fn patched(pod: &str, container: &str) -> Value {
        let scenario = Scenario::from_yaml(&format!(
            "kind: Pod
apiVersion: v1
metadata: {{name: web, namespace: shop, uid: u1, labels: {{pod-template-hash: a}}, ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: web-a, uid: u2, controller: true}}]}}
spec: {{nodeName: n1, resources: {pod}, containers: [{{name: web, image: 'a:1', resources: {container}}}]}}
status:
  phase: Running
  startTime: '2026-11-21T09:00:00Z'
  containerStatuses:
  - name: web
    restartCount: 4
    state: {{waiting: {{reason: CrashLoopBackOff}}}}
    lastState: {{terminated: {{exitCode: 137, reason: OOMKilled, startedAt: '2026-11-21T09:58:00Z', finishedAt: '2026-11-21T09:59:00Z'}}}}
"
        ))
        .at("2026-11-21T10:00:00Z");
        let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
        assert_eq!(found.cause, "OOMKilled");
        let command = found.remedies.into_iter().next().and_then(|remedy| remedy.command).expect("a patch");
        let body = command.split('\'').nth(1).expect("a quoted patch");
        serde_json::from_str::<Value>(body).unwrap()["spec"]["template"]["spec"].take()
    }

    #[test]
    fn level_that_is_short_is_raised() {
        let of = |amount: &str| json!({"requests": {"memory": amount}, "limits": {"memory": amount}});
        let own = "{limits: {memory: 64Mi}}";
        assert_eq!(patched("{}", own), json!({"containers": [{"name": "web", "resources": of("128Mi")}]}));
        assert_eq!(patched("{limits: {memory: 256Mi}}", "{}"), json!({"resources": of("512Mi")}));
        // The API server rejects a container with more than its pod.
        let both = json!({"resources": of("320Mi"), "containers": [{"name": "web", "resources": of("128Mi")}]});
        assert_eq!(patched("{limits: {memory: 256Mi}}", own), both);
    }
}
