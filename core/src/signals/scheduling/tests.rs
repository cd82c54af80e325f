use std::fmt::Write as _;

use super::{SOURCE, Source, claim};
use crate::api::Confidence;
use crate::case::{Case, Finding, Remedy, Verdict};
use crate::rules::{Rule, catalog};
use crate::testing::Scenario;

/// The verdicts of both signals, with their rules.
fn ask(case: &Case<'_>) -> Vec<(Rule, Verdict)> {
    let of = |source: &Source| catalog::current().verdicts(source, case, |_, _| true);
    [&SOURCE, &claim::SOURCE].into_iter().flat_map(of).map(|(_, rule, verdict)| (rule, verdict)).collect()
}

/// The matching rule, its finding and its remedies.
fn diagnosed(scenario: &Scenario) -> Option<(&'static str, Finding, Vec<Remedy>)> {
    let case = scenario.case();
    let found: Vec<_> = ask(&case)
        .into_iter()
        .filter_map(|(rule, verdict)| match verdict {
            Verdict::Yes(finding) => Some((rule.cause, catalog::remedies(&case, rule.cause, &finding), *finding)),
            Verdict::No | Verdict::NotBefore(_) => None,
        })
        .collect();
    assert!(found.len() <= 1, "one cause at most, but {:?}", found.iter().map(|f| f.0).collect::<Vec<_>>());
    found.into_iter().next().map(|(cause, remedies, finding)| (cause, finding, remedies))
}

fn cause(scenario: &Scenario) -> Option<&'static str> {
    diagnosed(scenario).map(|(cause, ..)| cause)
}

fn summary(scenario: &Scenario) -> String {
    diagnosed(scenario).map(|(cause, finding, _)| format!("{cause}: {}", finding.summary.text())).unwrap_or_default()
}

const OWNER: &str = "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d9, controller: true, uid: r}], \
                     labels: {pod-template-hash: 5d9}";

/// A pod of Deployment `web` that has been waiting since 09:00, observed at 09:10.
fn waiting(spec: &str, message: &str, nodes: &[String]) -> Scenario {
    let mut yaml = format!(
        r#"
kind: Pod
metadata: {{name: web-5d9-x, namespace: demo, uid: u1, creationTimestamp: "2026-11-21T09:00:00Z", {OWNER}}}
spec: {{schedulerName: default-scheduler, {spec}}}
status:
  phase: Pending
  conditions: [{{type: PodScheduled, status: "False", reason: Unschedulable, lastTransitionTime: "2026-11-21T09:00:00Z", message: '{}'}}]
"#,
        message.replace('\'', "''")
    );
    for node in nodes {
        let _ = write!(yaml, "---\n{node}\n");
    }
    Scenario::from_yaml(&yaml).at("2026-11-21T09:10:00Z")
}

fn node(name: &str, cpu: &str, extra_spec: &str, labels: &str) -> String {
    format!(
        r#"{{kind: Node, metadata: {{name: {name}, labels: {{kubernetes.io/hostname: {name}, {labels}}}}}, spec: {{{extra_spec}}}, status: {{allocatable: {{cpu: "{cpu}", memory: 4Gi, pods: "110"}}}}}}"#
    )
}

fn plain(name: &str, cpu: &str) -> String {
    node(name, cpu, "", "")
}

/// A pod that uses CPU on a node. The scenario's first pod is the waiting one.
fn taken(on: &str, cpu: &str) -> String {
    format!(
        "{{kind: Pod, metadata: {{name: old-{on}, uid: o-{on}}}, spec: {{nodeName: {on}, containers: [{{name: c, image: i, resources: {{requests: {{cpu: {cpu}}}}}}}]}}, status: {{phase: Running}}}}"
    )
}

fn asks(cpu: &str) -> String {
    format!("containers: [{{name: web, image: web, resources: {{requests: {{cpu: \"{cpu}\"}}}}}}]")
}

const CPU_1: &str = "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
const CONTROL_PLANE: &str = "taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]";

#[test]
fn request_larger_than_any_node_reports_the_largest_request_that_fits() {
    let scenario = waiting(&asks("64"), CPU_1, &[plain("node1", "2"), taken("node1", "100m")]);
    let (cause, finding, remedies) = diagnosed(&scenario).unwrap();
    assert_eq!(cause, "InsufficientCpu");
    assert_eq!(
        finding.summary.text(),
        "requests 64 CPU; node node1 comes closest with 1.9 of 2 free (62.1 short); no node has more than 2; a request of 1900m fits now"
    );
    assert_eq!(finding.confidence, Confidence::Certain);
    assert_eq!(
        remedies[0].patch.as_deref(),
        Some(
            "spec:\n  template:\n    spec:\n      containers:\n      - name: web\n        resources:\n          requests:\n            cpu: 1710m\n"
        )
    );
    let sources: Vec<_> = finding.evidence.iter().map(|e| (e.source.as_str(), e.value.as_str())).collect();
    assert_eq!(
        sources[1..],
        [
            ("spec.containers[web].resources.requests.cpu", "64"),
            ("node/node1.status.allocatable.cpu", "1.9 free of 2, 62.1 short"),
        ]
    );
}

#[test]
fn request_that_fits_an_empty_node_suggests_another_node() {
    let message = "0/2 nodes are available: 2 Insufficient cpu.";
    let nodes = [plain("n1", "2"), plain("n2", "4"), taken("n1", "500m"), taken("n2", "3500m")];
    let scenario = waiting(&asks("2"), message, &nodes);
    assert_eq!(
        summary(&scenario),
        "InsufficientCpu: requests 2 CPU; node n1 comes closest with 1.5 of 2 free (0.5 short); it fits an empty node, and a request of 1500m fits now"
    );
    let (.., remedies) = diagnosed(&scenario).unwrap();
    assert!(remedies.iter().any(|r| r.text.starts_with("Add one node of the size of n1")), "{remedies:?}");
}

#[test]
fn small_remainder_of_full_nodes_is_not_suggested() {
    let advice = |used: &str| {
        let scenario = waiting(&asks("1"), CPU_1, &[plain("node1", "2"), taken("node1", used)]);
        diagnosed(&scenario).unwrap().2.into_iter().map(|remedy| remedy.text).collect::<Vec<_>>()
    };
    assert!(advice("1500m")[0].starts_with("Lower the cpu request of web to 450m"));
    for used in ["1900m", "2"] {
        let advice = advice(used);
        assert!(advice[0].starts_with("Add one node of the size of node1"), "{advice:?}");
        assert!(!advice.iter().any(|text| text.starts_with("Lower")), "{advice:?}");
    }
}

#[test]
fn init_containers_count_as_the_scheduler_counts_them() {
    let spec = "initContainers: [{name: setup, image: i, resources: {requests: {cpu: \"3\"}}}], \
                containers: [{name: web, image: web, resources: {requests: {cpu: \"1\"}}}]";
    let scenario = waiting(spec, CPU_1, &[plain("node1", "2")]);
    let (_, finding, remedies) = diagnosed(&scenario).unwrap();
    assert!(
        finding.summary.text().starts_with("requests 3 CPU; node node1 comes closest with 2 of 2 free (1 short)"),
        "{}",
        finding.summary.text()
    );
    assert!(remedies[0].text.contains("of setup to 1800m at most"), "{}", remedies[0].text);
}

#[test]
fn control_plane_taint_is_not_the_cause_if_workers_are_full() {
    let message = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s).";
    let nodes = [node("cp", "8", CONTROL_PLANE, ""), plain("w1", "2")];
    let scenario = waiting(&asks("4"), message, &nodes);
    let (cause, finding, _) = diagnosed(&scenario).unwrap();
    assert_eq!(cause, "InsufficientCpu");
    assert_eq!(finding.consequences[0].cause, "UntoleratedTaint");
    assert_eq!(
        finding.consequences[0].summary,
        "1/2 nodes: node(s) had untolerated taint(s): node-role.kubernetes.io/control-plane:NoSchedule"
    );
    // Without nodes (a dump of pods alone) the message of an older scheduler gives the same result.
    let words = "0/4 nodes are available: 1 Insufficient cpu, 3 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }.";
    assert_eq!(cause_of_words(words), Some("InsufficientCpu"));
}

fn cause_of_words(message: &str) -> Option<&'static str> {
    cause(&waiting(&asks("4"), message, &[]))
}

#[test]
fn taint_is_reported_even_if_the_scheduler_omits_it() {
    let message = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s).";
    let dedicated = "taints: [{key: dedicated, value: db, effect: NoSchedule}]";
    let nodes = [plain("w1", "1"), node("w2", "8", dedicated, ""), node("w3", "8", dedicated, "")];
    let scenario = waiting(&asks("4"), message, &nodes);
    let (cause, finding, remedies) = diagnosed(&scenario).unwrap();
    assert_eq!(cause, "UntoleratedTaint");
    assert_eq!(
        finding.summary.text(),
        "the pod does not tolerate the taint dedicated=db:NoSchedule of w2, w3, and it fits on no other node"
    );
    assert!(
        remedies[0]
            .patch
            .as_deref()
            .unwrap()
            .contains("- effect: NoSchedule\n        key: dedicated\n        operator: Equal\n        value: db")
    );
    assert_eq!(remedies[1].command.as_deref(), Some("kubectl taint node w2 dedicated:NoSchedule-"));
}

#[test]
fn room_behind_a_cordon_or_a_taint_is_reported_with_the_shortage() {
    let message = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.";
    let nodes = |spec: &str| [plain("w1", "1"), plain("w2", "1"), node("w3", "8", spec, "")];
    let actual = |spec: &str| summary(&waiting(&asks("4"), message, &nodes(spec)));
    assert!(
        actual("unschedulable: true").ends_with("node w3 has room but is cordoned"),
        "{}",
        actual("unschedulable: true")
    );
    let tainted = "taints: [{key: dedicated, value: db, effect: NoSchedule}]";
    assert!(actual(tainted).ends_with("node w3 has room but the taint dedicated=db:NoSchedule"));
}

#[test]
fn devices_on_tainted_nodes_are_not_missing() {
    let spec = "containers: [{name: web, image: web, resources: {limits: {nvidia.com/gpu: \"1\"}, requests: {nvidia.com/gpu: \"1\"}}}]";
    let message = "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient nvidia.com/gpu.";
    let gpu = r#"{kind: Node, metadata: {name: g1}, spec: {taints: [{key: nvidia.com/gpu, effect: NoSchedule}]}, status: {allocatable: {cpu: "8", pods: "110", nvidia.com/gpu: "1"}}}"#;
    let scenario = waiting(spec, message, &[plain("w1", "2"), plain("w2", "2"), gpu.to_owned()]);
    assert_eq!(
        summary(&scenario),
        "UntoleratedTaint: the pod does not tolerate the taint nvidia.com/gpu:NoSchedule of g1, and it fits on no other node"
    );
}

#[test]
fn taint_with_several_effects_is_removed_completely() {
    let message = "0/1 nodes are available: 1 node(s) had untolerated taint(s).";
    let both = "taints: [{key: dedicated, effect: NoSchedule}, {key: dedicated, effect: NoExecute}]";
    let (.., remedies) = diagnosed(&waiting(&asks("1"), message, &[node("w1", "2", both, "")])).unwrap();
    assert_eq!(remedies[1].command.as_deref(), Some("kubectl taint node w1 dedicated-"));
}

#[test]
fn next_shortage_is_listed_with_the_taint() {
    let message = "0/1 nodes are available: 1 node(s) had untolerated taint(s).";
    let nodes = [node("w1", "2", "taints: [{key: dedicated, effect: NoSchedule}]", "")];
    let (cause, finding, _) = diagnosed(&waiting(&asks("4"), message, &nodes)).unwrap();
    assert_eq!(cause, "UntoleratedTaint");
    assert_eq!(finding.consequences[0].cause, "InsufficientCpu");
    assert!(finding.consequences[0].summary.starts_with("requests 4 CPU; node w1 comes closest with"));
}

#[test]
fn taint_of_a_node_state_needs_a_repair() {
    let message = "0/1 nodes are available: 1 node(s) had untolerated taint(s).";
    let nodes = [node("w1", "2", "taints: [{key: node.kubernetes.io/disk-pressure, effect: NoSchedule}]", "")];
    let (_, finding, remedies) = diagnosed(&waiting(&asks("1"), message, &nodes)).unwrap();
    assert_eq!(
        finding.summary.text(),
        "w1 cannot take the pod in state DiskPressure (taint node.kubernetes.io/disk-pressure:NoSchedule), and it fits on no other node"
    );
    assert!(remedies[0].text.starts_with("Repair w1"));
}

#[test]
fn taints_of_agents_and_autoscalers_are_not_tolerated() {
    let message = "0/1 nodes are available: 1 node(s) had untolerated taint(s).";
    for (key, first) in [
        ("node.cilium.io/agent-not-ready", "Repair the agent that sets the taint node.cilium.io/agent-not-ready"),
        ("ebs.csi.aws.com/agent-not-ready", "Repair the agent that sets the taint ebs.csi.aws.com/agent-not-ready"),
        ("karpenter.sh/unregistered", "Repair w1: the taint karpenter.sh/unregistered"),
        ("karpenter.sh/disrupted", "Wait for another node, or add one: the taint karpenter.sh/disrupted marks w1"),
        ("ToBeDeletedByClusterAutoscaler", "Wait for another node, or add one"),
    ] {
        let nodes = [node("w1", "2", &format!("taints: [{{key: {key}, effect: NoSchedule}}]"), "")];
        let (cause, _, remedies) = diagnosed(&waiting(&asks("1"), message, &nodes)).unwrap();
        assert_eq!(cause, "UntoleratedTaint");
        assert!(remedies[0].text.starts_with(first), "{key}: {remedies:?}");
        assert!(remedies.iter().all(|r| r.patch.is_none()), "{key}: {remedies:?}");
        let untaints = |command: &String| command.contains(" taint ");
        assert!(!remedies.iter().filter_map(|r| r.command.as_ref()).any(untaints), "{key}: {remedies:?}");
    }
}

#[test]
fn workers_that_are_not_ready_rank_before_reserved_nodes() {
    let message = "0/3 nodes are available: 3 node(s) had untolerated taint(s).";
    let not_ready = "taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}]";
    let dedicated = "taints: [{key: dedicated, value: db, effect: NoSchedule}]";
    let nodes = [node("db1", "8", dedicated, ""), node("w1", "8", not_ready, ""), node("w2", "8", not_ready, "")];
    let (_, finding, remedies) = diagnosed(&waiting(&asks("1"), message, &nodes)).unwrap();
    assert_eq!(
        finding.summary.text(),
        "w1, w2 cannot take the pod in state NotReady (taint node.kubernetes.io/not-ready:NoSchedule), and it fits on no other node (db1: other taints)"
    );
    assert!(remedies[0].text.starts_with("Repair w1"), "{remedies:?}");
}

#[test]
fn contradicting_node_names_are_not_missing_nodes() {
    let affinity = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: \
                    [{matchFields: [{key: metadata.name, operator: In, values: [w1]}, {key: metadata.name, operator: In, values: [w2]}]}]}}}";
    let message = "0/2 nodes are available: pod affinity terms conflict.";
    let nodes = [plain("w1", "64"), plain("w2", "2")];
    let actual = summary(&waiting(&format!("{affinity}, {}", asks("4")), message, &nodes));
    assert!(actual.starts_with("NodeSelectorMismatch: the node affinity contradicts itself"), "{actual}");
}

#[test]
fn cordon_is_the_cause_only_if_it_is_the_only_obstacle() {
    let cordoned = "unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]";
    let message = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.";
    let full = [node("w1", "2", cordoned, ""), plain("w2", "2")];
    // Neither node is large enough, and one is cordoned as well.
    assert_eq!(cause(&waiting(&asks("4"), message, &full)), Some("InsufficientCpu"));
    let message = "0/1 nodes are available: 1 node(s) were unschedulable.";
    let scenario = waiting(&asks("1"), message, &[node("w1", "2", cordoned, "")]);
    assert_eq!(
        summary(&scenario),
        "NodesUnschedulable: the pod fits on w1, but new pods are not scheduled there (cordoned)"
    );
    let (.., remedies) = diagnosed(&scenario).unwrap();
    assert_eq!(remedies[0].command.as_deref(), Some("kubectl uncordon w1"));
}

const SELECTOR_1: &str = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.";

#[test]
fn misspelt_label_is_reported_with_the_correct_one() {
    let spec = format!("nodeSelector: {{disktype: ssd}}, {}", asks("1"));
    let scenario = waiting(&spec, SELECTOR_1, &[node("w1", "2", "", "disk-type: ssd")]);
    let (cause, finding, remedies) = diagnosed(&scenario).unwrap();
    assert_eq!(cause, "NodeSelectorMismatch");
    assert_eq!(
        finding.summary.text(),
        "0/1 nodes meet the nodeSelector disktype=ssd; w1 has disk-type=ssd (misspelt?)"
    );
    assert!(remedies[0].patch.as_deref().unwrap().contains("disk-type: ssd\n        disktype: null"));
    assert_eq!(remedies[1].command.as_deref(), Some("kubectl label node w1 disktype=ssd"));
}

#[test]
fn wrong_or_missing_label_is_reported_for_the_closest_node() {
    let spec = format!("nodeSelector: {{disktype: ssd}}, {}", asks("1"));
    let message = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.";
    let scenario = waiting(&spec, message, &[plain("w1", "2"), node("w2", "2", "", "disktype: hdd")]);
    assert_eq!(
        summary(&scenario),
        "NodeSelectorMismatch: 0/2 nodes meet the nodeSelector disktype=ssd; w2 has disktype=hdd"
    );
    let affinity = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: \
                    [{matchExpressions: [{key: zone, operator: In, values: [a, b]}, {key: gpu, operator: Exists}]}, \
                    {matchExpressions: [{key: zone, operator: In, values: [c]}]}]}}}";
    let scenario = waiting(&format!("{affinity}, {}", asks("1")), SELECTOR_1, &[plain("w1", "2")]);
    assert_eq!(
        summary(&scenario),
        "NodeSelectorMismatch: 0/1 nodes meet the node affinity (closest of 2 alternatives) zone=c; w1 has no label zone"
    );
}

#[test]
fn labels_set_by_a_kubelet_are_not_changed() {
    let spec = format!("nodeSelector: {{kubernetes.io/arch: arm64}}, {}", asks("1"));
    let scenario = waiting(&spec, SELECTOR_1, &[node("w1", "2", "", "kubernetes.io/arch: amd64")]);
    let (_, _, remedies) = diagnosed(&scenario).unwrap();
    assert_eq!(remedies[0].text, "Add a node with kubernetes.io/arch=arm64.");
    assert!(remedies[1].text.contains("correct its nodeSelector: w1 has"), "{remedies:?}");
    assert!(remedies.iter().all(|r| r.command.as_ref().is_none_or(|c| !c.starts_with("kubectl label node"))));
    let spec = format!("nodeSelector: {{kubernetes.io/hostname: worker-9}}, {}", asks("1"));
    assert_eq!(
        summary(&waiting(&spec, SELECTOR_1, &[plain("w1", "2")])),
        "NodeSelectorMismatch: the pod may only run on node worker-9 (label kubernetes.io/hostname), which does not exist"
    );
}

#[test]
fn missing_node_is_awaited_before_its_pods_are_moved() {
    let spec = format!("nodeSelector: {{kubernetes.io/hostname: node2}}, {}", asks("1"));
    let at = |name: &str| {
        let (_, _, remedies) = diagnosed(&waiting(&spec, SELECTOR_1, &[plain(name, "2")])).unwrap();
        remedies
    };
    let remedies = at("node1");
    assert!(remedies[0].text.starts_with("If node node2 should exist, add it to the cluster again"), "{remedies:?}");
    assert!(remedies[1].patch.as_ref().is_some_and(|patch| patch.contains("null")), "{remedies:?}");
    assert!(remedies.iter().all(|remedy| !remedy.text.contains("node1")), "{remedies:?}");
    let remedies = at("Node2");
    assert!(remedies[0].text.starts_with("If Node2 is meant, correct the name"), "{remedies:?}");
}

#[test]
fn two_missing_labels_are_both_reported() {
    let spec = format!("nodeSelector: {{disk: ssd, pool: db}}, {}", asks("1"));
    assert_eq!(
        summary(&waiting(&spec, SELECTOR_1, &[node("w1", "2", "", "pool: web")])),
        "NodeSelectorMismatch: 0/1 nodes meet the nodeSelector disk=ssd, pool=db; w1 has pool=web; w1 has no label disk"
    );
}

#[test]
fn unselected_nodes_are_not_the_cause_if_others_are_selected() {
    let spec = format!("nodeSelector: {{disktype: ssd}}, {}", asks("4"));
    let message = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector.";
    let nodes = [plain("w1", "8"), plain("w2", "8"), node("w3", "2", "", "disktype: ssd")];
    let scenario = waiting(&spec, message, &nodes);
    assert!(summary(&scenario).starts_with("InsufficientCpu: requests 4 CPU; node w3 comes closest with 2 of 2 free"));
    assert_eq!(cause(&waiting(&spec, message, &[])), Some("InsufficientCpu"));
}

#[test]
fn daemon_set_pod_is_compared_with_its_own_node_only() {
    let affinity = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: \
                    [{matchFields: [{key: metadata.name, operator: In, values: [w2]}]}]}}}";
    let message = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity].";
    let nodes = [plain("w1", "64"), plain("w2", "2")];
    let scenario = waiting(&format!("{affinity}, {}", asks("4")), message, &nodes);
    assert!(summary(&scenario).starts_with("InsufficientCpu: requests 4 CPU; its node w2 has 2 of 2 free (2 short)"));
}

#[test]
fn device_that_no_node_has_differs_from_an_allocated_one() {
    let spec = "containers: [{name: web, image: web, resources: {limits: {nvidia.com/gpu: \"2\"}, requests: {nvidia.com/gpu: \"2\"}}}]";
    let message = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.";
    let scenario = waiting(spec, message, &[plain("w1", "2")]);
    assert_eq!(
        summary(&scenario),
        "InsufficientExtendedResource: requests 2 nvidia.com/gpu, and no node that it may use offers any"
    );
    let gpu =
        r#"{kind: Node, metadata: {name: g1}, status: {allocatable: {cpu: "8", pods: "110", nvidia.com/gpu: "1"}}}"#;
    let (_, finding, remedies) = diagnosed(&waiting(spec, message, &[gpu.to_owned()])).unwrap();
    assert_eq!(
        finding.summary.text(),
        "requests 2 nvidia.com/gpu; node g1 comes closest with 1 of 1 free (1 short); no node has more than 1; a request of 1 fits now"
    );
    assert!(remedies[0].patch.as_deref().unwrap().contains("limits:"), "device requests equal their limits");
}

#[test]
fn checks_not_visible_on_nodes_come_from_the_message() {
    for (message, expected) in [
        ("1 node(s) didn't have free ports for the requested pod ports", "HostPortConflict"),
        ("persistentvolumeclaim \"data\" not found", "PvcNotFound"),
        ("pod has unbound immediate PersistentVolumeClaims", "PvcUnboundImmediate"),
        ("1 node(s) didn't match PersistentVolume's node affinity", "PvNodeAffinityConflict"),
        ("1 node(s) had volume node affinity conflict", "PvNodeAffinityConflict"),
        ("1 node(s) had no available volume zone", "VolumeZoneConflict"),
        ("1 node(s) didn't find available persistent volumes to bind", "NoMatchingPv"),
        ("1 node(s) exceed max volume count", "MaxVolumeCount"),
        ("1 node(s) didn't match pod affinity rules", "PodAffinityUnsatisfied"),
        ("1 node(s) didn't match pod anti-affinity rules", "PodAntiAffinityConflict"),
        ("1 node(s) didn't satisfy existing pods anti-affinity rules", "ExistingAntiAffinityConflict"),
        ("1 node(s) did not have enough free storage", "StorageCapacityShort"),
        ("1 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", "BoundPvMissing"),
        ("node(s) didn't satisfy plugin(s) [NodeAffinity VolumeBinding] simultaneously", "PreFilterNodesDisjoint"),
        ("1 node(s) didn't match pod topology spread constraints", "TopologySpreadUnsatisfied"),
        (
            "1 node(s) didn't match pod topology spread constraints (missing required label)",
            "TopologySpreadUnsatisfied",
        ),
        ("1 Too many pods", "TooManyPods"),
        ("1 Insufficient ephemeral-storage", "InsufficientEphemeralStorage"),
    ] {
        let message = format!(
            "0/1 nodes are available: {message}. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
        );
        for nodes in [vec![], vec![plain("w1", "2")]] {
            assert_eq!(cause(&waiting(&asks("1"), &message, &nodes)), Some(expected), "{message}");
        }
    }
    assert_eq!(cause_of_words("no nodes available to schedule pods"), Some("NoNodes"));
    assert_eq!(
        cause_of_words("0/1 nodes are available: 1 node(s) were out of luck."),
        Some("SchedulingPluginRejected")
    );
}

#[test]
fn nothing_is_reported_within_the_grace_period_or_while_a_node_is_added() {
    let scenario = waiting(&asks("64"), CPU_1, &[plain("node1", "2")]);
    let early = scenario.at("2026-11-21T09:00:59Z");
    assert_eq!(cause(&early), None);
    let case = early.case();
    let next = "2026-11-21T09:01:00Z".parse().unwrap();
    let answers: Vec<_> = ask(&case).into_iter().filter(|(_, verdict)| *verdict != Verdict::No).collect();
    let [(rule, Verdict::NotBefore(at))] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!((rule.cause, *at), ("InsufficientCpu", next));
    let event = r#"{kind: Event, involvedObject: {kind: Pod, name: web-5d9-x, namespace: demo, uid: u1}, reason: TriggeredScaleUp, type: Normal, lastTimestamp: "2026-11-21T09:00:20Z"}"#;
    let scenario = waiting(&asks("64"), CPU_1, &[plain("node1", "2"), event.to_owned()]);
    assert_eq!(cause(&scenario.at("2026-11-21T09:09:59Z")), None);
    let scenario = waiting(&asks("64"), CPU_1, &[plain("node1", "2"), event.to_owned()]);
    assert_eq!(cause(&scenario.at("2026-11-21T09:10:00Z")), Some("InsufficientCpu"));
}

#[test]
fn scheduling_gates_are_not_a_failure_and_silence_requires_no_report() {
    let silent = |spec: &str, rest: &str| {
        Scenario::from_yaml(&format!(
            "kind: Pod\nmetadata: {{name: p, namespace: demo, uid: u, creationTimestamp: \"2026-11-21T09:00:00Z\"}}\nspec: {{schedulerName: mine, {spec} containers: [{{name: c, image: i}}]}}\nstatus: {{phase: Pending{rest}}}\n"
        ))
        .at("2026-11-21T09:02:00Z")
    };
    assert_eq!(
        summary(&silent("", "")),
        "NoSchedulerForPod: no scheduler named mine has processed the pod yet; most likely it does not run"
    );
    assert_eq!(cause(&silent("schedulingGates: [{name: wait}],", "")), None);
    let gated = ", conditions: [{type: PodScheduled, status: \"False\", reason: SchedulingGated}]";
    assert_eq!(cause(&silent("", gated)), None);
    assert_eq!(cause(&silent("nodeName: gone,", "")), None, "bound without a scheduler");
    let failed = ", conditions: [{type: PodScheduled, status: \"False\", reason: SchedulerError, message: 'running PreBind plugin \"VolumeBinding\": binding volumes: timed out'}]";
    assert_eq!(cause(&silent("", failed)), Some("SchedulerError"));
}

/// The root cause in its text form.
fn root(scenario: &Scenario) -> Option<String> {
    diagnosed(scenario)?.1.root.map(|root| root.to_string())
}

#[test]
fn full_cluster_is_a_root_cause_unless_the_request_or_selector_is_too_strict() {
    let asks = |cpu: &str, more: &str| {
        format!("{more} containers: [{{name: c, image: i, resources: {{requests: {{cpu: '{cpu}'}}}}}}]")
    };
    let taken = "---\n{kind: Pod, metadata: {name: other, namespace: demo, uid: u2}, spec: {nodeName: n1, containers: \
                 [{name: c, image: i, resources: {requests: {cpu: '3'}}}]}, status: {phase: Running}}";
    let nodes = [format!("{}\n{taken}", node("n1", "4", "", "disk: ssd"))];
    let of = |spec: &str, nodes: &[String]| root(&waiting(spec, "0/1 nodes are available: 1 Insufficient cpu.", nodes));
    assert_eq!(of(&asks("2", ""), &nodes).as_deref(), Some("Capacity cpu"));
    assert_eq!(of(&asks("8", ""), &nodes), None, "no node is that large");
    let both = [nodes[0].clone(), node("n2", "4", "", "disk: hdd")];
    let message = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector.";
    assert_eq!(root(&waiting(&asks("2", "nodeSelector: {disk: ssd},"), message, &both)), None, "n2 has room");
}

#[test]
fn taint_on_all_nodes_is_a_root_cause_unless_only_on_selected_nodes() {
    let tainted =
        |name: &str| node(name, "4", "taints: [{key: dedicated, value: db, effect: NoSchedule}]", "disk: ssd");
    let message = "0/2 nodes are available: 2 node(s) had untolerated taint(s).";
    let all = [tainted("n1"), tainted("n2")];
    assert_eq!(root(&waiting("containers: []", message, &all)).as_deref(), Some("Taint dedicated"));
    let some = [tainted("n1"), node("n2", "4", "", "disk: hdd")];
    let message = "0/2 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) didn't match Pod's node \
                   affinity/selector.";
    assert_eq!(root(&waiting("nodeSelector: {disk: ssd}, containers: []", message, &some)), None);
}

#[test]
fn label_is_a_root_cause_only_if_no_node_has_it() {
    let message = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.";
    let nodes = [node("n1", "4", "", "disk: ssd"), node("n2", "4", "", "zone: a")];
    let of = |spec: &str| root(&waiting(&format!("{spec}, containers: []"), message, &nodes));
    assert_eq!(of("nodeSelector: {disk: nvme}").as_deref(), Some("NodeLabel disk=nvme"));
    assert_eq!(of("nodeSelector: {disk: ssd, zone: a}"), None, "each has one of them");
}

#[test]
fn with_several_claims_only_a_named_one_is_reported() {
    let claim = |name: &str| format!("{{name: {name}, persistentVolumeClaim: {{claimName: {name}}}}}");
    let spec = format!("volumes: [{}, {}], containers: []", claim("logs"), claim("data"));
    let unbound = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.";
    assert_eq!(root(&waiting(&spec, unbound, &[])), None);
    let missing = "0/1 nodes are available: persistentvolumeclaim \"data\" not found.";
    assert_eq!(root(&waiting(&spec, missing, &[])).as_deref(), Some("PersistentVolumeClaim data"));
}

#[test]
fn possible_control_plane_taint_ranks_below_the_pod_selector() {
    let selector = "nodeSelector: {disk: ssd}, containers: []";
    for taint in
        ["node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }", "node(s) had untolerated taint(s)"]
    {
        let message =
            format!("0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 {taint}.");
        assert_eq!(cause(&waiting(selector, &message, &[])), Some("NodeSelectorMismatch"), "{taint}");
    }
    let dedicated = "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated \
                     taint {dedicated: db}.";
    assert_eq!(cause(&waiting(selector, dedicated, &[])), Some("UntoleratedTaint"));
    let unnamed = "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated \
                   taint(s).";
    let gpu = "nodeSelector: {accelerator: nvidia}, containers: []";
    assert_eq!(cause(&waiting(gpu, unnamed, &[])), Some("UntoleratedTaint"), "such nodes are tainted mostly");
    let full = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s).";
    assert_eq!(cause(&waiting(selector, full, &[])), Some("UntoleratedTaint"));
}

#[test]
fn control_plane_taint_ranks_below_another_reported_taint() {
    let message = "0/3 nodes are available: 2 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 1 \
                   node(s) had untolerated taint {spray: mortein}.";
    assert_eq!(
        summary(&waiting("containers: []", message, &[])),
        "UntoleratedTaint: the pod does not tolerate the taint spray=mortein of 1/3 nodes, nor the taints of the others"
    );
    let message = message.replace("{spray: mortein}", "{node.kubernetes.io/not-ready: }");
    assert_eq!(
        summary(&waiting("containers: []", &message, &[])),
        "UntoleratedTaint: 1/3 nodes cannot take the pod in state NotReady (taint node.kubernetes.io/not-ready), and it fits on no other node"
    );
}

#[test]
fn node_without_amounts_has_no_capacity() {
    let never_joined =
        "{kind: Node, metadata: {name: n2}, spec: {taints: [{key: gpu, effect: NoSchedule}]}, status: {}}";
    let nodes = [node("n1", "2", "", ""), never_joined.to_owned()];
    let message = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s).";
    let found = diagnosed(&waiting("containers: [{name: web, resources: {requests: {cpu: 100}}}]", message, &nodes));
    let (cause, finding, remedies) = found.unwrap();
    assert_eq!(cause, "InsufficientCpu");
    assert!(!finding.summary.text().contains("n2"), "{}", finding.summary.text());
    assert!(remedies.iter().all(|r| !r.text.contains("n2")), "{remedies:?}");
}

#[test]
fn missing_device_is_reported_only_if_nodes_are_known() {
    let asks = "containers: [{name: web, resources: {limits: {nvidia.com/gpu: 1}}}]";
    let message = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.";
    let first = |nodes: &[String]| diagnosed(&waiting(asks, message, nodes)).unwrap().2.remove(0).text;
    assert!(first(&[]).starts_with("Check which nodes offer it,"));
    assert!(first(&[node("n1", "2", "", "")]).starts_with("No node offers nvidia.com/gpu."));
}

/// A user who may write Events of a pod may write any text.
#[test]
fn resource_name_from_a_message_is_not_executed() {
    let message = "0/1 nodes are available: 1 Insufficient example.com/gpu;id;$(id).";
    let remedies = diagnosed(&waiting("containers: [{name: web}]", message, &[])).unwrap().2;
    assert_eq!(
        remedies[0].command.as_deref(),
        Some(
            "kubectl get nodes -o custom-columns='NODE:.metadata.name,HAS:.status.allocatable.example\\.com/gpu;id;$(id)'"
        )
    );
}

#[test]
fn several_pending_pods_do_not_get_advice_for_a_single_pod() {
    let spec = "containers: [{name: c, resources: {requests: {cpu: 900m}}}]";
    let mut scenario = waiting(spec, CPU_1, &[node("n1", "2", "", "")]);
    let running = "kind: Pod\nmetadata: {name: other, namespace: demo, uid: o}\nspec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 1420m}}}]}\nstatus: {phase: Running}";
    let used = Scenario::from_yaml(running).pods[0].effective_requests();
    scenario.nodes.get_mut("n1").unwrap().requested.add(&used);
    let first = |scenario: &Scenario| diagnosed(scenario).unwrap().2.remove(0);
    assert!(first(&scenario).text.starts_with("Lower the cpu request of c to 520m"), "one pod alone");
    scenario.surroundings[0].siblings = crate::facts::Siblings { total: 5, ready: 1, ..Default::default() };
    let several = first(&scenario);
    assert_eq!(several.command.as_deref(), Some("kubectl -n demo scale deployment/web --replicas=1"));
    assert_eq!(several.patch, None);
}

/// With permissions in some namespaces only, pods of other namespaces are unknown, so no free capacity is reported.
#[test]
fn no_free_capacity_is_reported_if_not_all_pods_are_known() {
    let nodes = [plain("n1", "4"), taken("n1", "3")];
    let mut full = waiting(&asks("2"), CPU_1, &nodes);
    assert!(summary(&full).contains("n1"), "{}", summary(&full));
    for node in full.nodes.values_mut() {
        node.all_pods_known = false;
    }
    let expected =
        "InsufficientCpu: requests 2 CPU; node n1 comes closest with at most 1 of 4 free; it fits an empty node";
    assert_eq!(summary(&full), expected, "what is known to be taken is");
    let mut unseen = waiting(&asks("2"), CPU_1, &[plain("n1", "4")]);
    unseen.nodes.values_mut().for_each(|node| node.all_pods_known = false);
    let expected = "InsufficientCpu: requests 2 CPU, more than is free on 1/1 nodes";
    assert_eq!(summary(&unseen), expected, "no amount is stated");

    let mut too_large = waiting(&asks("64"), CPU_1, &nodes);
    for node in too_large.nodes.values_mut() {
        node.all_pods_known = false;
    }
    assert_eq!(
        summary(&too_large),
        "InsufficientCpu: requests 64 CPU; node n1 comes closest with at most 1 of 4 free; no node has more than 4"
    );
    let actual = diagnosed(&too_large).unwrap().2.remove(0);
    assert_eq!((actual.text.as_str(), actual.patch), ("Lower the cpu requests of Deployment web.", None));
}

#[test]
fn taint_of_a_cordon_being_removed_is_not_tolerated() {
    let message = "0/1 nodes are available: 1 node(s) had untolerated taint(s).";
    let cordon = "taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]";
    let other = "taints: [{key: dedicated, value: db, effect: NoSchedule}]";
    let actual = |spec: &str| cause(&waiting("containers: []", message, &[node("n1", "2", spec, "")]));
    assert_eq!(actual(cordon), None, "it goes in a moment");
    assert_eq!(actual(""), None, "it is gone, and the scheduler has not retried yet");
    assert_eq!(actual(other), Some("UntoleratedTaint"));
}

#[test]
fn counts_are_nodes_and_never_a_sum_of_resources() {
    let message = "0/3 nodes are available: 2 Insufficient nvidia.com/gpu, 3 Insufficient rdma/hca.";
    let scenario = waiting(&asks("1"), message, &[]);
    let found = summary(&scenario);
    assert!(found.starts_with("InsufficientExtendedResource: "), "{found}");
    assert!(found.contains("rdma/hca") && found.contains("3/3"), "{found}");
}

#[test]
fn reason_that_all_nodes_give_comes_first() {
    let message = "0/3 nodes are available: 3 Insufficient memory, 1 Insufficient cpu.";
    assert_eq!(cause_of_words(message), Some("InsufficientMemory"));
    // More nodes fail a check that is not known than any that is.
    let message = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were out of luck.";
    assert_eq!(cause_of_words(message), Some("SchedulingPluginRejected"));
}

/// A pod that no node fits, with this Event of an autoscaler.
fn with_scale_up(reporter: &str, reason: &str, message: &str) -> Scenario {
    let event = format!(
        "{{kind: Event, involvedObject: {{kind: Pod, name: web-5d9-x, namespace: demo, uid: u1}}, reason: {reason}, type: Normal, \
         message: '{}', source: {{component: {reporter}}}, lastTimestamp: '2026-11-21T09:00:20Z'}}",
        message.replace('\'', "''")
    );
    waiting(&asks("64"), CPU_1, &[event])
}

#[test]
fn summary_names_why_no_node_is_added() {
    let scenario = with_scale_up("karpenter", "FailedScheduling", "Failed to schedule pod, no nodepools found");
    assert!(summary(&scenario).ends_with("; Karpenter adds no node: no nodepools found"), "{}", summary(&scenario));
    let message = "pod didn't trigger scale-up: 1 max node group size reached";
    let scenario = with_scale_up("cluster-autoscaler", "NotTriggerScaleUp", message);
    let (_, finding, remedies) = diagnosed(&scenario).unwrap();
    let clause = "; the cluster autoscaler adds no node: 1 max node group size reached";
    assert!(finding.summary.text().ends_with(clause), "{}", finding.summary.text());
    assert!(remedies[0].text.starts_with("Raise the maximum size of the node group"), "{:?}", remedies[0]);
    assert!(finding.evidence.iter().any(|e| e.source == "event/NotTriggerScaleUp"));
}

#[test]
fn node_that_karpenter_creates_extends_the_grace_period() {
    let message = "Pod should schedule on: nodeclaim/default-8xq2p";
    let scenario = with_scale_up("karpenter", "Nominated", message).at("2026-11-21T09:09:59Z");
    assert_eq!(cause(&scenario), None);
    let scenario = scenario.at("2026-11-21T09:10:00Z");
    assert!(summary(&scenario).ends_with("; Karpenter adds nodeclaim/default-8xq2p for it"), "{}", summary(&scenario));
}
