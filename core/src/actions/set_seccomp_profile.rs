//! Uses the seccomp profile of the container runtime instead of a file of the node.

use serde_json::{Value, json};

use super::{Action, Ask, Undo, edit_template};
use crate::case::Remedy;
use crate::case::target::list_entry;
use crate::facts::{Container, PodFacts};

pub(super) const ACTION: Action = Action {
    name: "set-seccomp-profile",
    doc: "Sets the seccomp profile to RuntimeDefault wherever the template has one of type Localhost: in the pod and in its \
          containers. If it has none, it opens the template in an editor.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let context = json!({"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": null}});
    with_contexts(ask, &context, |pod| pod.has_local_seccomp, |container| container.has_local_seccomp)
}

/// Sets fields of the securityContext in the pod and in the containers that have a profile, or opens the template in an
/// editor if none has one.
pub(super) fn with_contexts(
    ask: &Ask<'_>,
    context: &Value,
    of_pod: fn(&PodFacts) -> bool,
    of_container: fn(&Container) -> bool,
) -> Option<Remedy> {
    let (pod, target) = (ask.subject.pod()?.pod, ask.target.as_ref()?);
    let mut spec = json!({});
    if of_pod(pod) {
        spec["securityContext"] = context.clone();
    }
    let has_one = |container: &&Container| of_container(container) && !target.is_injected(container);
    for container in pod.containers.iter().filter(has_one) {
        let entry = list_entry(&container.name, json!({"securityContext": context}));
        match &mut spec[container.spec_list()] {
            Value::Array(list) => list.push(entry),
            list => *list = json!([entry]),
        }
    }
    if spec.as_object().is_none_or(serde_json::Map::is_empty) {
        return edit_template::build(ask);
    }
    Some(target.with_pod_patch(ask.remedy(), spec))
}

#[cfg(test)]
mod tests {
    use crate::case::Health;
    use crate::rules::diagnose;
    use crate::testing::Scenario;

    fn command(pod: &str, container: &str) -> String {
        let scenario = Scenario::from_yaml(&format!(
            r#"kind: DaemonSet
apiVersion: apps/v1
metadata: {{name: agent, namespace: shop, uid: d1}}
---
kind: Pod
apiVersion: v1
metadata: {{name: agent-x, namespace: shop, uid: u1, ownerReferences: [{{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: d1, controller: true}}]}}
spec: {{nodeName: n1, securityContext: {{{pod}}}, containers: [{{name: agent, image: 'a:1', securityContext: {{{container}}}}}]}}
status:
  phase: Pending
  startTime: '2026-11-21T09:00:00Z'
  containerStatuses: [{{name: agent, state: {{waiting: {{reason: CreateContainerError, message: 'cannot load seccomp profile "/var/lib/kubelet/seccomp/p.json": open /var/lib/kubelet/seccomp/p.json: no such file or directory'}}}}}}]
"#
        ))
        .at("2026-11-21T10:00:00Z");
        let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
        found.remedies.into_iter().find_map(|remedy| remedy.command).unwrap()
    }

    #[test]
    fn the_profile_is_set_where_the_local_one_is() {
        const LOCAL: &str = "seccompProfile: {type: Localhost, localhostProfile: p.json}";
        const DEFAULT: &str =
            r#""securityContext":{"seccompProfile":{"localhostProfile":null,"type":"RuntimeDefault"}}"#;
        let patch = |fields: &str| {
            format!(r#"kubectl -n shop patch daemonset agent -p '{{"spec":{{"template":{{"spec":{{{fields}}}}}}}}}'"#)
        };
        assert_eq!(command(LOCAL, ""), patch(DEFAULT));
        assert_eq!(command("", LOCAL), patch(&format!(r#""containers":[{{"name":"agent",{DEFAULT}}}]"#)));
        assert_eq!(command("", ""), "kubectl -n shop edit daemonset/agent");
    }
}
