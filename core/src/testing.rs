//! Test scenarios: cases from YAML, so that the test of a rule shows what a user sees in a cluster.
//!
//! ```ignore
//! let scenario = Scenario::from_yaml(r#"..."#).at("2026-11-21T09:00:00Z");
//! let Verdict::Yes(finding) = check(&scenario.case()) else { panic!("not recognised") };
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::case::{Case, Ledger, Observed, Thresholds};
use crate::facts::{EventFacts, NodeState, PodFacts, Surroundings, Timestamp};
use crate::wire;
use crate::wire::Dump;

/// A ReplicaSet of Deployment shop/web, and the beginning of its pod; a status follows.
pub(crate) const POD_OF_WEB: &str = "---
kind: ReplicaSet
apiVersion: apps/v1
metadata: {name: web-5d8f9c7b6, namespace: shop, uid: r1, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d1, controller: true}]}
---
kind: Pod
apiVersion: v1
metadata: {name: web-5d8f9c7b6-x, namespace: shop, uid: u1, labels: {pod-template-hash: 5d8f9c7b6}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d8f9c7b6, uid: r1, controller: true}]}
spec: {nodeName: n1, containers: [{name: app, image: app:1}]}
";

/// Pods, nodes, Events and workloads of a text, and the time at which they are judged.
///
/// Tests can set all fields before they create a case. As in a dump, the situation counts as present from the start
/// (`observed.at_start`).
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) pods: Vec<PodFacts>,
    pub(crate) nodes: BTreeMap<Arc<str>, Box<NodeState>>,
    /// Events of the pod with the same index.
    pub(crate) events: Vec<Vec<EventFacts>>,
    pub(crate) surroundings: Vec<Surroundings>,
    pub(crate) ledger: Ledger,
    pub(crate) thresholds: Thresholds,
    pub(crate) now: Timestamp,
    /// `None`: first observed at `now`, in a situation that existed at the start.
    pub(crate) observed: Option<Observed>,
}

#[allow(dead_code, reason = "a kit: each family of rules takes what it needs")]
impl Scenario {
    /// Reads pods, nodes, events, workloads, services and endpoints from multiple documents or a `List`. `now` is the
    /// newest time in the text.
    pub(crate) fn from_yaml(text: &str) -> Self {
        let mut dump = Dump::default();
        dump.read(text);
        assert_eq!(dump.problems, [], "the text of the scenario cannot be read");
        assert!(!dump.pods.is_empty(), "a scenario needs a pod");
        let mut nodes: BTreeMap<_, _> = std::mem::take(&mut dump.nodes)
            .into_iter()
            .map(|facts| (facts.name.clone(), Box::new(NodeState::new(facts))))
            .collect();
        for pod in dump.pods.iter().filter(|p| !p.is_over()) {
            if let Some(node) = pod.node_name.as_ref().and_then(|name| nodes.get_mut(name)) {
                node.requested.add(&pod.effective_requests());
            }
        }
        dump.events.sort_by_key(|e| e.last);
        let events = dump.pods.iter().map(|pod| {
            let about = |e: &&EventFacts| {
                let r = &e.regarding;
                &*r.kind == "Pod"
                    && if r.uid.is_empty() {
                        (&r.namespace, &r.name) == (&pod.key.namespace, &pod.key.name)
                    } else {
                        r.uid == pod.uid
                    }
            };
            dump.events.iter().filter(about).cloned().collect()
        });
        let events: Vec<Vec<_>> = events.collect();
        let surroundings = dump.pods.iter().map(|pod| {
            let services = wire::services_of(&pod.key.namespace, &dump.services, &dump.slices, &dump.endpoints)
                .into_iter()
                .filter(|s| s.selects(&pod.labels))
                .collect();
            let named = |kind: &str, name: &str| {
                let mut found = dump
                    .workloads
                    .iter()
                    .find(|w| &*w.key.kind == kind && &*w.key.name == name && w.key.namespace == pod.key.namespace)
                    .cloned()?;
                dump.complete(&mut found);
                Some(found)
            };
            let owner = pod.owner.as_ref().and_then(|o| named(&o.kind, &o.name));
            let top = owner.as_ref().and_then(|w| w.owner.as_ref()).and_then(|o| named(&o.kind, &o.name));
            let job = owner.clone().filter(|w| &*w.key.kind == "Job" && top.is_some());
            Surroundings {
                workload: top.or(owner).map(Some),
                job: job.map(Some),
                services: Some(services),
                ..Surroundings::default()
            }
        });
        let surroundings = surroundings.collect();
        Self {
            now: dump.newest.unwrap_or(Timestamp::UNIX_EPOCH),
            pods: dump.pods,
            nodes,
            events,
            surroundings,
            ledger: Ledger::default(),
            thresholds: Thresholds::default(),
            observed: None,
        }
    }

    /// Sets the current time (RFC 3339).
    pub(crate) fn at(mut self, time: &str) -> Self {
        self.now = time.parse().unwrap_or_else(|e| panic!("{time}: {e}"));
        self
    }

    /// Advances the current time.
    pub(crate) fn later(mut self, seconds: i64) -> Self {
        self.now = crate::facts::after(self.now, seconds);
        self
    }

    pub(crate) fn ledger(mut self, ledger: Ledger) -> Self {
        self.ledger = ledger;
        self
    }

    /// Sets the observation of an operator that was running when the situation began at `time`.
    pub(crate) fn observed_since(mut self, time: &str) -> Self {
        let time = time.parse().unwrap_or_else(|e| panic!("{time}: {e}"));
        self.observed = Some(Observed { first: time, situation_since: time, at_start: false });
        self
    }

    /// The case of the first pod.
    pub(crate) fn case(&self) -> Case<'_> {
        self.case_at(0)
    }

    /// The case of the pod with this name.
    pub(crate) fn case_of(&self, name: &str) -> Case<'_> {
        match self.pods.iter().position(|p| &*p.key.name == name) {
            Some(index) => self.case_at(index),
            None => panic!("no pod {name} in the scenario"),
        }
    }

    fn case_at(&self, index: usize) -> Case<'_> {
        let pod = &self.pods[index];
        Case {
            pod,
            node: pod.node_name.as_ref().and_then(|name| self.nodes.get(name)).map(Box::as_ref),
            nodes: &self.nodes,
            events: &self.events[index],
            ledger: &self.ledger,
            surroundings: &self.surroundings[index],
            catalogue: crate::rules::catalog::STANDARD,
            thresholds: &self.thresholds,
            status_before: &[],
            observed: self.observed.unwrap_or(Observed { first: self.now, situation_since: self.now, at_start: true }),
            now: self.now,
            lines: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenario_creates_a_case_with_its_surroundings() {
        let scenario = Scenario::from_yaml(
            r#"
kind: Pod
metadata: {name: web-1, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5, controller: true}]}
spec: {nodeName: n1, containers: [{name: web, image: web, resources: {requests: {cpu: 200m}}}]}
status: {phase: Running, startTime: "2026-11-21T09:00:00Z"}
---
kind: Pod
metadata: {name: other, uid: u2}
spec: {nodeName: n1, containers: [{name: c, image: c, resources: {limits: {cpu: 300m}}}]}
---
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "1"}}
---
{kind: Event, involvedObject: {kind: Pod, name: web-1}, reason: BackOff, type: Warning, lastTimestamp: "2026-11-21T09:05:00Z"}
---
{kind: Event, involvedObject: {kind: Pod, name: other, uid: u2}, reason: Killing, lastTimestamp: "2026-11-21T09:04:00Z"}
---
{kind: ReplicaSet, metadata: {name: web-5, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, controller: true}]}}
---
{kind: Deployment, metadata: {name: web}, spec: {replicas: 2}}
---
{kind: Service, metadata: {name: web}, spec: {selector: {app: web}}}
"#,
        );
        assert_eq!(scenario.now.to_string(), "2026-11-21T09:05:00Z");
        let case = scenario.case();
        assert_eq!(case.node.unwrap().free().cpu, Some(500));
        assert_eq!(case.events.iter().map(|e| &*e.reason).collect::<Vec<_>>(), ["BackOff"]);
        let workload = case.surroundings.workload.as_ref().unwrap().as_ref().unwrap();
        assert_eq!((&*workload.key.kind, workload.desired, workload.replica_sets.len()), ("Deployment", 2, 1));
        assert_eq!(case.surroundings.services.as_ref().unwrap().len(), 1);
        assert_eq!(&*scenario.case_of("other").events[0].reason, "Killing");
    }
}
