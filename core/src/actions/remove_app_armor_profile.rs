//! Removes the AppArmor profiles that a node must have loaded.

use serde_json::json;

use super::{Action, Ask, Undo, set_seccomp_profile};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "remove-app-armor-profile",
    doc: "Removes appArmorProfile wherever the template has one of type Localhost, in the pod and in its containers. The \
          default profile of the container runtime then holds, on nodes that have AppArmor. If the template has none, it \
          opens it in an editor.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let context = json!({"appArmorProfile": null});
    set_seccomp_profile::with_contexts(
        ask,
        &context,
        |pod| pod.has_local_app_armor,
        |container| container.has_local_app_armor,
    )
}

#[cfg(test)]
mod tests {
    use crate::case::Health;
    use crate::rules::diagnose;
    use crate::testing::Scenario;

    #[test]
    fn the_profile_is_removed_from_the_container_that_has_it() {
        let scenario = Scenario::from_yaml(
            r"kind: DaemonSet
apiVersion: apps/v1
metadata: {name: agent, namespace: shop, uid: d1}
---
kind: Pod
apiVersion: v1
metadata: {name: agent-x, namespace: shop, uid: u1, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: d1, controller: true}]}
spec: {nodeName: n1, containers: [{name: agent, image: 'a:1', securityContext: {appArmorProfile: {type: Localhost, localhostProfile: k8s-deny-write}}}, {name: other, image: 'a:1'}]}
status:
  phase: Failed
  reason: AppArmor
  message: 'Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host'
  startTime: '2026-11-21T09:00:00Z'
",
        )
        .at("2026-11-21T10:00:00Z");
        let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
        let patch = r#"kubectl -n shop patch daemonset agent -p '{"spec":{"template":{"spec":{"containers":[{"name":"agent","securityContext":{"appArmorProfile":null}}]}}}}'"#;
        assert!(found.remedies.iter().any(|remedy| remedy.command.as_deref() == Some(patch)), "{:#?}", found.remedies);
    }
}
