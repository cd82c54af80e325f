//! Diagnoses of nodes, and the resources that pods take on them.

use shindan_core::api::{DiagnosisState, Severity};
use shindan_core::facts::{Condition, NodeFacts, PodFacts, Taint};
use shindan_core::reconcile::DiagnosisKey;
use shindan_core::state::Change;

use super::operator::{
    HEALTHY, Operator, at, crashed, dump, end_pod, healthy, node, oom, pod, pod_of, rollout, running_again,
};

#[test]
fn an_incident_and_its_recovery_are_reported_once() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.node(&node("n1", "False", "container runtime is down", "09:00:00"));
    operator.advance(60);
    operator.node(&node("n1", "False", "container runtime is down", "09:00:00"));
    assert_eq!(operator.emitted(), ["Diagnosed NodeRuntimeDown"]);
    operator.node(&node("n1", "True", "", "09:01:00"));
    assert_eq!(operator.emitted(), ["Diagnosed NodeRuntimeDown", "Recovered Recovered"]);
    operator.advance(7200);
    operator.node(&node("n1", "False", "container runtime is down", "11:00:00"));
    assert_eq!(operator.emitted().len(), 3, "another incident");
}

#[test]
fn events_that_cannot_be_posted_at_once_are_not_lost() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.server_mut().no_events = true;
    operator.node(&node("n1", "False", "container runtime is down", "09:00:00"));
    operator.advance(60);
    operator.server_mut().no_events = false;
    operator.advance(300);
    assert_eq!(operator.emitted(), ["Diagnosed NodeRuntimeDown"]);
    operator.server_mut().no_events = true;
    operator.node(&node("n1", "True", "", "09:06:00"));
    operator.advance(60);
    operator.server_mut().no_events = false;
    operator.advance(300);
    assert_eq!(operator.emitted(), ["Diagnosed NodeRuntimeDown", "Recovered Recovered"]);
}

#[test]
fn the_object_is_there_though_its_event_cannot_be_posted() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.server_mut().no_events = true;
    operator.node(&node("n1", "False", "container runtime is down", "09:00:00"));
    assert_eq!(operator.node_status("n1").head.cause, "NodeRuntimeDown");
    operator.node(&node("n1", "True", "", "09:00:10"));
    assert_eq!(operator.node_status("n1").head.state, DiagnosisState::Recovered);
    operator.server_mut().no_events = false;
    operator.advance(600);
    assert_eq!(operator.emitted(), ["Diagnosed NodeRuntimeDown", "Recovered Recovered"]);
}

#[test]
fn what_pods_take_is_counted_until_they_are_over_whatever_comes_first() {
    let mut operator = Operator::idle();
    let requested = |operator: &Operator| operator.engine.world.cluster.nodes()["n1"].requested.pods.unwrap_or(0);
    operator.pod(&healthy("a", "u1"));
    operator.pod(&oom("b", "u2"));
    operator.node(&node("n1", "True", "", "01:00:00"));
    assert_eq!(requested(&operator), 2, "pods before their node");
    let mut over = end_pod(&oom("b", "u2"), "Succeeded", "09:00:00");
    over.deletion = None;
    operator.pod(&over);
    assert_eq!(requested(&operator), 1);
    operator.deleted(&over);
    assert_eq!(requested(&operator), 1);
    operator.take(Change::NodeDeleted("n1".into()));
    operator.node(&node("n1", "True", "", "01:00:00"));
    assert_eq!(requested(&operator), 1, "the node came back with its pod");
    operator.take(Change::NodeDeleted("n1".into()));
    operator.deleted(&healthy("a", "u1"));
    operator.node(&node("n1", "True", "", "01:00:00"));
    assert_eq!(requested(&operator), 0);
    assert!(operator.now >= at("09:00:00"));
}

#[test]
fn a_recovered_node_is_no_longer_the_cause_of_its_pods() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.node(&node("n1", "False", "container runtime is down", "09:00:00"));
    operator.pod(&oom("a", "u1"));
    operator.advance(60);
    assert_eq!(operator.status("a").head.cause, "NodeRuntimeDown");
    operator.node(&node("n1", "True", "", "09:02:00"));
    operator.advance(60);
    assert_eq!(operator.status("a").head.cause, "OOMKilled", "the pod never became ready, so the cause is its own");
    assert_eq!(operator.state("a").as_str(), "Active");
}

#[test]
fn a_node_that_runs_out_of_memory_explains_its_pods_whenever_its_event_comes() {
    let ran_out = dump(
        "{kind: Event, metadata: {name: e, namespace: default}, involvedObject: {kind: Node, name: n1, uid: n1}, reason: SystemOOM, message: 'System OOM encountered, victim process: app, pid: 4711', type: Warning, lastTimestamp: '2026-11-21T08:02:19Z', count: 1}",
    )
    .events
    .remove(0);
    let killed = pod("a", "u1", false, &crashed(2, 137, "Error"));
    let mut late = Operator::idle();
    late.node(&node("n1", "True", "", "01:00:00"));
    late.pod(&killed);
    late.advance(10);
    assert_eq!(late.status("a").head.cause, "SigKilledNotOom");
    late.event(&ran_out);
    assert_eq!(late.status("a").head.cause, "OOMKilledByNode", "the pod itself has not changed");
    let mut early = Operator::idle();
    early.event(&ran_out);
    early.node(&node("n1", "True", "", "01:00:00"));
    early.pod(&killed);
    early.advance(10);
    assert_eq!(early.status("a").head.cause, "OOMKilledByNode");
    early.pod(&pod("b", "u2", false, &crashed(9, 137, "Error")));
    early.advance(10);
    assert_eq!(early.status("b").head.cause, "SigKilledNotOom", "a kill at another time is another matter");
}

#[test]
fn a_late_reboot_event_explains_lost_pods_but_not_those_that_recovered() {
    let rebooted = dump(
        "{kind: Event, metadata: {name: e, namespace: default}, involvedObject: {kind: Node, name: n1, uid: n1}, reason: Rebooted, message: 'Node n1 has been rebooted, boot id: 7d1c', type: Warning, lastTimestamp: '2026-11-21T08:02:25Z', count: 1}",
    )
    .events
    .remove(0);
    let lost = pod("a", "u1", false, &crashed(2, 255, "Unknown"));
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.pod(&lost);
    operator.advance(130);
    assert_eq!(operator.status("a").head.cause, "RuntimeLostExit");
    operator.event(&rebooted);
    assert_eq!(operator.status("a").head.cause, "NodeRebooted", "the pod itself has not changed");
    let mut back = Operator::idle();
    back.event(&rebooted);
    back.node(&node("n1", "True", "", "01:00:00"));
    back.pod(&lost);
    back.advance(60);
    back.pod(&pod("a", "u1", true, &running_again(2, 255, "Unknown")));
    back.advance(600);
    assert!(back.server().objects.is_empty(), "it came back in time");
}

/// The control plane has overwritten the kubelet's message.
fn unreachable(since: &str) -> NodeFacts {
    let mut facts = node("n1", "Unknown", "Kubelet stopped posting node status.", since);
    "NodeStatusUnknown".clone_into(&mut facts.conditions[0].reason);
    facts
}

fn down(since: &str) -> NodeFacts {
    node("n1", "False", "container runtime is down", since)
}

fn ready(since: &str) -> NodeFacts {
    node("n1", "True", "", since)
}

#[test]
fn the_diagnosis_of_a_node_has_its_outage_the_last_kubelet_message_and_the_impact() {
    let mut operator = Operator::idle();
    operator.node(&ready("01:00:00"));
    for n in 1..=2 {
        operator.pod(&pod_of(&format!("web-{n}"), &format!("u{n}"), Some("web"), true, HEALTHY));
    }
    operator.pod(&healthy("alone", "u3"));
    operator.node(&down("09:00:00"));
    operator.advance(40);
    operator.node(&unreachable("09:00:40"));
    operator.advance(60);
    let status = operator.node_status("n1");
    assert_eq!((status.head.cause.as_str(), status.head.state), ("NodeRuntimeDown", DiagnosisState::Active));
    let last = status.last_words.as_ref().expect("the last message of the kubelet");
    assert_eq!(last.message, "container runtime is down");
    let affected: Vec<_> =
        status.affected.iter().map(|a| format!("{}/{} {}", a.namespace, a.workload, a.pods)).collect();
    assert_eq!((status.pods, affected), (3, vec!["demo/Deployment/web 2".to_owned(), "demo/Pod/alone 1".to_owned()]));
    let history: Vec<_> = status.ready_history.iter().map(|change| change.status.as_str()).collect();
    assert_eq!(history, ["True", "False", "Unknown"]);
    let conditions: Vec<_> = status.head.conditions.iter().map(|c| (&*c.kind, &*c.status)).collect();
    assert_eq!(conditions, [("Healthy", "False"), ("Ready", "False"), ("Stalled", "True")]);
    assert_eq!(operator.emitted(), ["Diagnosed NodeRuntimeDown"], "no Events for its pods");

    operator.node(&ready("09:02:00"));
    assert_eq!(operator.node_status("n1").head.state, DiagnosisState::Recovered);
    operator.node_deleted("n1");
    assert_eq!(operator.node_status("n1").head.state, DiagnosisState::Recovered, "it had ended before");
}

#[test]
fn a_flapping_node_is_one_incident_over_a_restart_too_and_keeps_its_history() {
    let mut operator = Operator::idle();
    operator.node(&ready("01:00:00"));
    operator.node(&down("09:00:00"));
    operator.advance(300);
    operator.node(&ready("09:05:00"));
    operator.advance(300);
    operator.node(&down("09:10:00"));
    operator.advance(60);
    let flapping = operator.node_status("n1").flapping.clone().expect("it is flapping");
    assert_eq!((flapping.changes, flapping.window_seconds), (3, 600));
    let emitted = operator.emitted();
    operator.advance(240);
    operator.node(&ready("09:15:00"));

    let mut operator = operator.restarted(300);
    operator.list(&[ready("09:15:00")], &[]);
    operator.advance(60);
    assert_eq!(operator.node_status("n1").head.state, DiagnosisState::Active, "Ready for a moment is no recovery");
    operator.node(&down("09:21:00"));
    operator.advance(60);
    let status = operator.node_status("n1");
    assert_eq!(status.flapping.as_ref().map(|flapping| flapping.changes), Some(5));
    let history: Vec<_> = status.ready_history.iter().map(|change| change.status.as_str()).collect();
    assert_eq!(history, ["True", "False", "True", "False", "True", "False"]);
    assert_eq!(operator.emitted(), emitted, "nothing is reported again");
    operator.node(&ready("09:22:00"));
    operator.advance(1900);
    assert_eq!(operator.node_status("n1").head.state, DiagnosisState::Recovered);
    assert_eq!(operator.emitted().len(), emitted.len() + 1);
}

#[test]
fn the_pods_of_a_flapping_node_recover_as_soon_as_it_is_ready() {
    let mut operator = Operator::idle();
    operator.node(&ready("01:00:00"));
    let pods: Vec<_> =
        (1..=3).map(|n| pod_of(&format!("web-{n}"), &format!("u{n}"), Some("web"), true, HEALTHY)).collect();
    pods.iter().for_each(|pod| operator.pod(pod));
    for (out, back) in [("09:00:00", "09:03:00"), ("09:06:00", "09:09:00")] {
        operator.node(&down(out));
        pods.iter().for_each(|pod| operator.pod(pod));
        operator.advance(180);
        operator.node(&ready(back));
        operator.advance(180);
    }
    let pleg = "PLEG is not healthy: pleg was last seen active 6m38.7s ago; threshold is 3m0s";
    operator.node(&down("09:12:00"));
    operator.advance(60);
    operator.node(&node("n1", "False", pleg, "09:12:00"));
    operator.advance(120);
    assert_eq!(operator.status("web-1").head.cause, "NodePlegUnhealthy");
    assert_eq!(operator.node_status("n1").pods, 3);
    let emitted = operator.emitted();
    operator.node(&ready("09:15:00"));
    operator.advance(20);
    assert_eq!(operator.state("web-1"), DiagnosisState::Active, "Ready for a moment is no recovery");
    operator.advance(20);
    for pod in ["web-1", "web-2", "web-3"] {
        assert_eq!(operator.state(pod), DiagnosisState::Recovered, "{pod}");
    }
    let status = operator.node_status("n1");
    assert_eq!((status.head.state, status.pods), (DiagnosisState::Active, 0), "no pod is affected now");
    let summary = &status.head.summary;
    assert!(summary.contains("Ready at the moment") && summary.contains("had not answered for 6m38s"), "{summary}");
    assert_eq!(operator.emitted(), emitted, "no further Event");
}

#[test]
fn what_keeps_a_pod_down_between_two_outages_is_its_own() {
    let mut operator = Operator::idle();
    operator.node(&ready("01:00:00"));
    for (out, back) in [("09:00:00", "09:01:00"), ("09:02:00", "09:03:00")] {
        operator.node(&down(out));
        operator.pod(&oom("a", "u1"));
        operator.advance(60);
        operator.node(&ready(back));
        operator.advance(60);
    }
    assert!(operator.node_status("n1").flapping.is_some());
    assert_eq!(operator.status("a").head.cause, "OOMKilled");
}

#[test]
fn a_failing_node_that_is_deleted_is_gone_without_an_event() {
    for during_downtime in [false, true] {
        let mut operator = Operator::idle();
        operator.node(&ready("01:00:00"));
        operator.node(&down("09:00:00"));
        operator.advance(60);
        if during_downtime {
            operator = operator.restarted(60);
            operator.list(&[], &[]);
        } else {
            operator.node_deleted("n1");
        }
        operator.advance(60);
        let status = operator.node_status("n1");
        assert_eq!(status.head.state, DiagnosisState::Gone, "during downtime: {during_downtime}");
        assert_eq!(status.head.conditions[0].reason, "NodeDeleted");
        assert_eq!(operator.emitted(), ["Diagnosed NodeRuntimeDown"]);
    }
}

#[test]
fn the_object_of_a_node_is_put_back_as_it_was() {
    let mut operator = Operator::idle();
    operator.node(&ready("01:00:00"));
    operator.node(&down("09:00:00"));
    operator.advance(60);
    let summary = operator.node_status("n1").head.summary.clone();
    for remove in [false, true] {
        let change = operator.server_mut().edit_other(&DiagnosisKey::of_node("n1"), remove);
        operator.take(change);
        operator.advance(10);
        assert_eq!(operator.node_status("n1").head.summary, summary);
    }
    assert_eq!(operator.emitted(), ["Diagnosed NodeRuntimeDown"]);
}

/// `n1` with the taints that the control plane sets while it is not Ready.
fn closed(since: &str) -> NodeFacts {
    let mut facts = down(since);
    facts.taints.push(Taint {
        added: None,
        key: "node.kubernetes.io/not-ready".to_owned(),
        value: String::new(),
        effect: "NoSchedule".to_owned(),
    });
    facts
}

fn waits_for_a_node(name: &str) -> PodFacts {
    let message = "0/1 nodes are available: 1 node(s) had untolerated taint(s).";
    dump(&format!(
        "{{kind: Pod, metadata: {{namespace: demo, name: {name}, uid: u-{name}, creationTimestamp: '2026-11-21T09:00:00Z'}}, spec: {{containers: [{{name: app, image: 'app:1'}}]}}, status: {{phase: Pending, conditions: [{{type: PodScheduled, status: 'False', reason: Unschedulable, message: '{message}', lastTransitionTime: '2026-11-21T09:00:00Z'}}]}}}}"
    ))
    .pods
    .remove(0)
}

#[test]
fn pods_that_wait_for_a_node_that_is_down_emit_no_events() {
    let mut operator = Operator::idle();
    operator.node(&ready("01:00:00"));
    operator.node(&closed("09:00:00"));
    let going = end_pod(&healthy("going", "u1"), "Running", "09:00:30");
    operator.pod(&waits_for_a_node("new"));
    let mut of_web = pod_of("web-1", "u-web", Some("web"), false, "ready: false, restartCount: 0");
    let waits = waits_for_a_node("web-1");
    (of_web.phase, of_web.node_name, of_web.conditions) = (waits.phase, None, waits.conditions);
    of_web.containers = waits.containers;
    operator.workload(&rollout("web", 1, 0));
    operator.pod(&of_web);
    operator.pod(&going);
    operator.advance(600);
    assert_eq!(operator.workload_status("deployment-web").head.cause, "UntoleratedTaint");
    assert!(operator.emitted_for_workloads().is_empty());
    assert_eq!(operator.status("new").head.cause, "UntoleratedTaint");
    assert_eq!(operator.status("new").root.as_ref().map(|root| root.name.as_str()), Some("n1"));
    assert_eq!(operator.status("going").head.cause, "TerminatingNodeUnreachable");
    assert_eq!(operator.emitted(), ["Diagnosed NodeRuntimeDown"]);
    operator.node(&ready("09:11:00"));
    operator.deleted(&going);
    operator.pod(&healthy("new", "u-new"));
    operator.advance(60);
    assert_eq!(operator.state("new"), DiagnosisState::Recovered);
    assert_eq!(
        operator.emitted(),
        ["Diagnosed NodeRuntimeDown", "Recovered Recovered"],
        "no Event for their recovery either"
    );
}

#[test]
fn a_scheduler_message_repeated_after_an_outage_is_reported_once() {
    let mut operator = Operator::idle();
    operator.node(&ready("01:00:00"));
    let mut elsewhere = waits_for_a_node("new");
    elsewhere.node_selector = [("zone", "mars")].into_iter().collect();
    let message_text = |message: &str| {
        let mut pod = elsewhere.clone();
        message.clone_into(&mut pod.conditions[0].message);
        pod
    };
    let no_zone = message_text("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.");
    operator.pod(&no_zone);
    operator.advance(120);
    assert_eq!(operator.status("new").head.cause, "NodeSelectorMismatch");
    operator.node(&closed("09:02:00"));
    operator.pod(&message_text("0/1 nodes are available: 1 node(s) had untolerated taint(s)."));
    operator.advance(120);
    assert_eq!(operator.status("new").head.cause, "UntoleratedTaint");
    operator.node(&ready("09:05:00"));
    operator.pod(&no_zone);
    operator.advance(120);
    assert_eq!(operator.status("new").head.cause, "NodeSelectorMismatch", "no node is tainted any more");
    let of_pod = |emitted: &&String| emitted.ends_with("NodeSelectorMismatch") || emitted.ends_with("UntoleratedTaint");
    assert_eq!(operator.emitted().iter().filter(of_pod).count(), 1, "{:?}", operator.emitted());
}

#[test]
fn a_taint_set_by_a_user_is_reported_while_the_node_is_down() {
    let mut operator = Operator::idle();
    let mut kept_for_others = closed("09:00:00");
    kept_for_others.taints[0].key = "dedicated".to_owned();
    operator.node(&ready("01:00:00"));
    operator.node(&kept_for_others);
    operator.pod(&waits_for_a_node("new"));
    operator.advance(600);
    assert_eq!(operator.emitted(), ["Diagnosed NodeRuntimeDown", "Diagnosed UntoleratedTaint"]);
}

#[test]
fn a_cordon_is_recorded_without_an_event_and_does_not_hide_a_recovery() {
    let cordoned = |facts: NodeFacts| NodeFacts { unschedulable: true, ..facts };
    let mut operator = Operator::idle();
    operator.node(&cordoned(ready("01:00:00")));
    let status = operator.node_status("n1");
    assert_eq!((status.head.cause.as_str(), status.head.severity), ("NodeCordoned", Severity::Info));
    assert!(operator.emitted().is_empty());
    operator.node(&cordoned(down("09:00:00")));
    operator.advance(60);
    assert_eq!(operator.node_status("n1").head.cause, "NodeRuntimeDown");
    operator.node(&cordoned(ready("09:02:00")));
    operator.advance(10);
    assert_eq!(operator.emitted(), ["Diagnosed NodeRuntimeDown", "Recovered Recovered"]);
    let status = operator.node_status("n1");
    assert_eq!((status.head.cause.as_str(), status.head.severity), ("NodeCordoned", Severity::Info));
    assert_eq!(status.head.state, DiagnosisState::Active);
    operator.node(&ready("09:02:00"));
    assert_eq!(operator.node_status("n1").head.state, DiagnosisState::Recovered);
    assert_eq!(operator.emitted(), ["Diagnosed NodeRuntimeDown", "Recovered Recovered"]);
}

#[test]
fn the_note_on_a_cordoned_node_counts_the_pods_that_remain() {
    let mut operator = Operator::idle();
    let of_web = |n: &str| pod_of(&format!("web-{n}"), &format!("u{n}"), Some("web"), true, HEALTHY);
    operator.pod(&of_web("1"));
    operator.pod(&of_web("2"));
    operator.node(&NodeFacts { unschedulable: true, ..ready("01:00:00") });
    let summary = |operator: &Operator| operator.node_status("n1").head.summary.clone();
    assert!(summary(&operator).contains("remaining pods: 2"), "{}", summary(&operator));
    operator.deleted(&of_web("1"));
    operator.advance(600);
    assert!(summary(&operator).contains("remaining pods: 1"), "{}", summary(&operator));
}

#[test]
fn a_condition_of_an_agent_is_reported_when_its_threshold_has_passed() {
    let mut facts = ready("01:00:00");
    facts.conditions.push(Condition {
        kind: "NetworkingReady".to_owned(),
        status: "False".to_owned(),
        reason: "InterfaceNotUp".to_owned(),
        message: "Interface Name: \"eth1\", MAC: \"02:4a:7f:11:08:01\" is not up".to_owned(),
        last_transition: Some(at("09:00:00")),
    });
    let mut operator = Operator::idle();
    operator.node(&facts);
    assert!(operator.emitted().is_empty());
    operator.advance(60);
    assert_eq!(operator.emitted(), ["Diagnosed NodeNetworkProblem"]);
}

#[test]
fn the_note_on_a_cordoned_node_names_the_client_and_the_time() {
    let mut cordoned = dump(
        r#"{"kind": "Node", "metadata": {"name": "n1", "uid": "n1", "managedFields": [
            {"manager": "kubelet", "operation": "Update", "time": "2026-11-21T08:00:00Z", "fieldsV1": {"f:metadata": {"f:labels": {}}}},
            {"manager": "kubectl", "operation": "Update", "time": "2026-11-21T08:30:00Z", "fieldsV1": {"f:spec": {"f:unschedulable": {}}}}
        ]}, "spec": {"unschedulable": true}, "status": {}}"#,
    )
    .nodes
    .remove(0);
    cordoned.conditions = ready("01:00:00").conditions;
    let mut operator = Operator::idle();
    operator.node(&cordoned);
    let summary = operator.node_status("n1").head.summary;
    assert!(summary.contains("is cordoned by kubectl since 2026-11-21 08:30 UTC"), "{summary}");
}
