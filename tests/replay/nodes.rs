//! What is told of nodes, and what pods take on them.

use shindan::api::DiagnosisState;
use shindan::world::Change;

use super::operator::{Operator, at, crashed, dump, end_pod, node, oom, pod, running_again, well};

#[test]
fn an_incident_is_told_once_and_so_is_its_end() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.node(&node("n1", "False", "container runtime is down", "09:00:00"));
    operator.advance(60);
    operator.node(&node("n1", "False", "container runtime is down", "09:00:00"));
    assert_eq!(operator.told(), ["Diagnosed NodeRuntimeDown"]);
    operator.node(&node("n1", "True", "", "09:01:00"));
    assert_eq!(operator.told(), ["Diagnosed NodeRuntimeDown", "Recovered Recovered"]);
    operator.advance(7200);
    operator.node(&node("n1", "False", "container runtime is down", "11:00:00"));
    assert_eq!(operator.told().len(), 3, "another incident");
}

#[test]
fn neither_is_lost_where_it_cannot_be_posted_at_once() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.server.no_events = true;
    operator.node(&node("n1", "False", "container runtime is down", "09:00:00"));
    operator.advance(60);
    operator.server.no_events = false;
    operator.advance(300);
    assert_eq!(operator.told(), ["Diagnosed NodeRuntimeDown"]);
    operator.server.no_events = true;
    operator.node(&node("n1", "True", "", "09:06:00"));
    operator.advance(60);
    operator.server.no_events = false;
    operator.advance(300);
    assert_eq!(operator.told(), ["Diagnosed NodeRuntimeDown", "Recovered Recovered"]);
}

#[test]
fn the_object_is_there_though_its_event_cannot_be_posted() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.server.no_events = true;
    operator.node(&node("n1", "False", "container runtime is down", "09:00:00"));
    assert_eq!(operator.node_status("n1").head.cause, "NodeRuntimeDown");
    operator.node(&node("n1", "True", "", "09:00:10"));
    assert_eq!(operator.node_status("n1").head.state, DiagnosisState::Recovered);
    operator.server.no_events = false;
    operator.advance(600);
    assert_eq!(operator.told(), ["Diagnosed NodeRuntimeDown", "Recovered Recovered"]);
}

#[test]
fn what_pods_take_is_counted_until_they_are_over_whatever_comes_first() {
    let mut operator = Operator::idle();
    let requested = |operator: &Operator| operator.world.nodes()["n1"].requested.pods.unwrap_or(0);
    operator.pod(&well("a", "u1"));
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
    operator.deleted(&well("a", "u1"));
    operator.node(&node("n1", "True", "", "01:00:00"));
    assert_eq!(requested(&operator), 0);
    assert!(operator.now >= at("09:00:00"));
}

#[test]
fn a_node_that_is_well_again_explains_nothing_any_more() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.node(&node("n1", "False", "container runtime is down", "09:00:00"));
    operator.pod(&oom("a", "u1"));
    operator.advance(60);
    assert_eq!(operator.status("a").cause, "NodeRuntimeDown");
    operator.node(&node("n1", "True", "", "09:02:00"));
    operator.advance(60);
    assert_eq!(operator.status("a").cause, "OOMKilled", "the pod never got well, so what keeps it down is its own");
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
    assert_eq!(late.status("a").cause, "OOMReportedAsError");
    late.event(&ran_out);
    assert_eq!(late.status("a").cause, "OOMKilledByNode", "the pod itself has not changed");
    let mut early = Operator::idle();
    early.event(&ran_out);
    early.node(&node("n1", "True", "", "01:00:00"));
    early.pod(&killed);
    early.advance(10);
    assert_eq!(early.status("a").cause, "OOMKilledByNode");
    early.pod(&pod("b", "u2", false, &crashed(9, 137, "Error")));
    early.advance(10);
    assert_eq!(early.status("b").cause, "OOMReportedAsError", "a kill at another time is another matter");
}

#[test]
fn a_reboot_that_is_told_late_explains_what_was_lost_and_nothing_that_came_back() {
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
    assert_eq!(operator.status("a").cause, "RuntimeLostExit");
    operator.event(&rebooted);
    assert_eq!(operator.status("a").cause, "NodeRebooted", "the pod itself has not changed");
    let mut back = Operator::idle();
    back.event(&rebooted);
    back.node(&node("n1", "True", "", "01:00:00"));
    back.pod(&lost);
    back.advance(60);
    back.pod(&pod("a", "u1", true, &running_again(2, 255, "Unknown")));
    back.advance(600);
    assert!(back.server.objects.is_empty(), "it came back in time");
}
