//! Changes the StorageClass of a claim that has no volume.

use serde_json::json;

use super::{Action, Ask, Undo, replace_claim};
use crate::case::target::{Target, shell_word};
use crate::case::{Case, Remedy, remedy};
use crate::facts::{ClaimClass, ClaimFacts, VolumeSource};
use crate::language::translate;

pub(super) const ACTION: Action = Action {
    name: "set-storage-class",
    doc: "Sets storageClassName of a claim that names none; replaces a claim that names one, as that cannot be \
          changed. Offered for claims without a volume, which hold no data: the command checks that the claim is still \
          Pending. For an ephemeral volume, it changes the template of the pod. For a claim from the \
          volumeClaimTemplates of a StatefulSet, it also replaces the StatefulSet without its pods \
          (--cascade=orphan), so that further claims have the class.",
    params: &["claim", "class"],
    has_text: false,
    undo: Undo::ByHand("Replace the claim with one of the old class."),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (case, class, target) = (ask.subject.pod()?, ask.with("class")?, ask.target.as_ref()?);
    let claims = case.surroundings.claims.as_ref()?;
    let claim = claims.unbound.iter().find(|claim| Some(&*claim.name) == ask.with("claim"))?;
    if claim.class == ClaimClass::Named(class.into()) {
        return None;
    }
    if let Some(volume) = ephemeral_volume(case, &claim.name) {
        let spec = json!({"volumeClaimTemplate": {"spec": {"storageClassName": class}}});
        return Some(target.with_pod_patch(ask.remedy(), json!({"volumes": [{"name": volume, "ephemeral": spec}]})));
    }
    let namespace = &case.pod.key.namespace;
    let command = match &claim.class {
        ClaimClass::Unknown => return Some(ask.remedy()),
        ClaimClass::Named(_) | ClaimClass::Without if is_of_template(case, &target.kind, &claim.name) => {
            let old = match &claim.class {
                ClaimClass::Named(old) => old,
                _ => "",
            };
            // Accept only object names: the message of an Event may hold any text, and these values become part of a script.
            if [class, old].iter().any(|name| !name.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c))) {
                return Some(ask.remedy());
            }
            // The templates may have the class more than once.
            let is_alike = |of: &&ClaimFacts| of.class == claim.class && is_of_template(case, &target.kind, &of.name);
            let alike: Vec<&str> = claims.unbound.iter().filter(is_alike).map(|of| &*of.name).collect();
            let command = replace_claim::with_template(namespace, &target.name, &alike, old, class);
            let steps = translate!(
                target,
                "It comes from the volumeClaimTemplates of {workload}, which cannot be changed either: the command replaces {workload} and keeps its pods, then deletes the claim, which {workload} creates again.",
                "claim は {workload} の volumeClaimTemplates から作られ、それも変更できない: コマンドは Pod を残したまま {workload} を置き換え、claim を削除する。claim は {workload} が作り直す。",
                workload = target.display()
            );
            let text = format!("{} {steps}", ask.text);
            return Some(remedy::command(target.with_source(Remedy { text, ..ask.remedy() }), command));
        }
        ClaimClass::Named(_) | ClaimClass::Without => {
            replace_claim::with_patch(namespace, &claim.name, &json!({"spec": {"storageClassName": class}}))
        }
        ClaimClass::Unset => {
            let body = json!({"spec": {"storageClassName": class}}).to_string();
            format!(
                "kubectl -n {namespace} patch pvc {} --type=merge -p {}",
                shell_word(&claim.name),
                shell_word(&body)
            )
        }
    };
    Some(remedy::command(ask.remedy(), command))
}

/// Whether the claim is created from an ephemeral volume, or from the template of a StatefulSet.
pub(super) fn is_created_from_a_template(case: &Case<'_>, target: &Target, claim: &str) -> bool {
    ephemeral_volume(case, claim).is_some() || is_of_template(case, &target.kind, claim)
}

/// The ephemeral volume that the claim is created from.
fn ephemeral_volume<'a>(case: &Case<'a>, claim: &str) -> Option<&'a str> {
    let is_of =
        |source: &VolumeSource| matches!(source, VolumeSource::Claim { name, ephemeral: true } if *name == *claim);
    case.pod.volumes.iter().find(|volume| is_of(&volume.source)).map(|volume| volume.name.as_str())
}

/// Whether a StatefulSet creates the claim, `TEMPLATE-POD`.
fn is_of_template(case: &Case<'_>, kind: &str, claim: &str) -> bool {
    kind == "StatefulSet" && claim.strip_suffix(&*case.pod.key.name).is_some_and(|rest| rest.ends_with('-'))
}

#[cfg(test)]
mod tests {
    use crate::case::Health;
    use crate::facts::{ClaimClass, ClaimFacts, ClaimsFacts, ClassFacts, EventFacts};
    use crate::rules::diagnose;
    use crate::testing::Scenario;
    use crate::wire::Dump;

    /// The first command for a pod whose claim names class `fats`, where class `fast` exists.
    fn first(pod: &str, claim: &str) -> (String, String) {
        let event = "{kind: Event, apiVersion: v1, metadata: {name: e, namespace: shop}, type: Warning, reason: ProvisioningFailed, message: 'storageclass.storage.k8s.io \"fats\" not found', source: {component: persistentvolume-controller}, involvedObject: {kind: PersistentVolumeClaim, name: data, namespace: shop}, lastTimestamp: '2026-11-21T09:00:00Z'}";
        let mut dump = Dump::default();
        dump.read(event);
        let events: Vec<EventFacts> = std::mem::take(&mut dump.events);
        let mut scenario = Scenario::from_yaml(&format!(
            "{pod}status:
  phase: Pending
  conditions: [{{type: PodScheduled, status: 'False', reason: Unschedulable, message: '0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.', lastTransitionTime: '2026-11-21T09:00:00Z'}}]
"
        ))
        .at("2026-11-21T10:00:00Z");
        let class =
            ClassFacts { name: "fast".into(), provisioner: "x".into(), is_default: false, waits_for_pod: false };
        let claim = ClaimFacts {
            name: claim.into(),
            class: ClaimClass::Named("fats".into()),
            volume: None,
            size: None,
            events,
        };
        scenario.surroundings[0].claims = Some(ClaimsFacts { unbound: vec![claim], classes: Some([class].into()) });
        let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
        let first = found.remedies.into_iter().next().unwrap();
        (first.text, first.command.unwrap_or_default())
    }

    const SET: &str = "kind: StatefulSet
apiVersion: apps/v1
metadata: {name: db, namespace: shop, uid: s1}
spec: {replicas: 1}
status: {replicas: 1, currentRevision: db-a, updateRevision: db-a}
---
kind: Pod
apiVersion: v1
metadata: {name: db-0, namespace: shop, uid: u1, labels: {controller-revision-hash: db-a}, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: s1, controller: true}]}
";

    const GUARD: &str = "kubectl -n shop get pvc CLAIM -o jsonpath='{.status.phase}' | grep -qx Pending && ";

    #[test]
    fn a_claim_is_replaced_only_while_it_is_pending() {
        let pod = "kind: Pod
apiVersion: v1
metadata: {name: web, namespace: shop, uid: u1}
spec: {containers: [{name: web, image: 'a:1'}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}
";
        let (_, command) = first(pod, "data");
        assert_eq!(
            command,
            r#"kubectl -n shop get pvc data -o json | kubectl patch --local -f - -p '{"spec":{"storageClassName":"fast"}}' -o json > data.json && "#.to_owned()
                + &GUARD.replace("CLAIM", "data")
                + "kubectl -n shop replace --force -f data.json"
        );
    }

    #[test]
    fn the_template_of_a_claim_is_corrected_before_the_claim_is_deleted() {
        let spec = "spec: {containers: [{name: db, image: 'a:1'}], volumes: [{name: data, persistentVolumeClaim: {claimName: data-db-0}}]}\n";
        let (text, command) = first(&format!("{SET}{spec}"), "data-db-0");
        assert!(text.contains("the command replaces StatefulSet db and keeps its pods"), "{text}");
        assert_eq!(
            command,
            "kubectl -n shop get statefulset db -o yaml | sed 's/storageClassName: fats$/storageClassName: fast/' > db.yaml && kubectl -n shop replace --force --cascade=orphan -f db.yaml && ".to_owned()
                + &GUARD.replace("CLAIM", "data-db-0")
                + "kubectl -n shop delete pvc data-db-0 --wait=false"
        );
    }

    #[test]
    fn an_ephemeral_volume_has_its_class_in_the_template_of_the_pod() {
        let spec = "spec: {containers: [{name: db, image: 'a:1'}], volumes: [{name: tmp, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fats}}}}]}\n";
        let (_, command) = first(&format!("{SET}{spec}"), "db-0-tmp");
        assert!(
            command.starts_with(r#"kubectl -n shop patch statefulset db -p '{"spec":{"template":{"spec":{"volumes":[{"ephemeral":{"volumeClaimTemplate":{"spec":{"storageClassName":"fast"}}},"name":"tmp"}]}}}}'"#),
            "{command}"
        );
    }
}
