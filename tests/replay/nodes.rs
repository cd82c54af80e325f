//! What is told of nodes, and what pods take on them.

use shindan::facts::EventFacts;
use shindan::plan::Announcement;
use shindan::world::Change;

use super::operator::{Operator, at, dump, end_pod, node, oom, well};

/// One of our own Events on a Node as the API server gives it back.
pub fn as_read_back(event: &Announcement) -> EventFacts {
    dump(&format!(
        "{{kind: Event, metadata: {{name: e, namespace: default}}, involvedObject: {{kind: Node, name: {}}}, reason: {}, message: {:?}, type: {}, eventTime: '{}', reportingComponent: shindan.dev/operator}}",
        event.regarding.key.name,
        event.reason,
        event.note,
        if event.warning { "Warning" } else { "Normal" },
        event.time,
    ))
    .events
    .remove(0)
}

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
fn an_incident_that_was_over_before_it_could_be_told_is_not_told() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    operator.server.no_events = true;
    operator.node(&node("n1", "False", "container runtime is down", "09:00:00"));
    operator.node(&node("n1", "True", "", "09:00:10"));
    operator.advance(60);
    operator.server.no_events = false;
    operator.advance(600);
    assert_eq!(operator.told(), Vec::<String>::new());
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
