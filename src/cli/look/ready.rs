//! The current numbers of ready pods. The operator does not write a diagnosis again only because they have changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use shindan_core::api::DiagnosisState;
use shindan_core::facts::{ObjectKey, WorkloadFacts, WorkloadKind};

use crate::cli::found::{Found, NodeOrWorkload};
use crate::cluster::snapshot;

/// The counts of workloads, by UID.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct ReadyPods(HashMap<Arc<str>, Counts>);

#[derive(Debug, Clone)]
struct Counts {
    ready: u32,
    desired: u32,
    display: String,
}

impl Counts {
    fn of(facts: &WorkloadFacts) -> Self {
        let count = |n: i64| u32::try_from(n).unwrap_or(0);
        let (ready, desired) = (count(facts.ready), count(facts.desired));
        // Pods of a Job need not be ready: the number of succeeded ones counts.
        let shown = if &*facts.key.kind == "Job" { count(facts.succeeded) } else { ready };
        Self { ready, desired, display: format!("{shown}/{desired}") }
    }
}

impl ReadyPods {
    /// Reads the workloads in `found`, all of which are in `namespace` if it is given. What cannot be read has no counts.
    pub(in crate::cli) async fn read(found: &Found, client: &Client, namespace: Option<&str>, limit: Duration) -> Self {
        let mut keys: BTreeMap<WorkloadKind, BTreeSet<ObjectKey>> = BTreeMap::new();
        for of in &found.nodes_and_workloads {
            let NodeOrWorkload::Workload(spec, status) = &of.object else { continue };
            // Without a display, the kind has no such number.
            if status.head.state == DiagnosisState::Gone || status.pods.display.is_empty() {
                continue;
            }
            let workload = &spec.workload;
            let is_of =
                |kind: &WorkloadKind| kind.as_str() == workload.kind && kind.api_version() == workload.api_version;
            if let Some(kind) = WorkloadKind::ALL.into_iter().find(is_of) {
                let key = ObjectKey::new(of.key.object.namespace.clone(), workload.name.as_str());
                keys.entry(kind).or_default().insert(key);
            }
        }
        let mut counts = HashMap::new();
        for (kind, keys) in keys {
            if let Ok(live) = snapshot::workloads(client, kind, &keys, namespace, limit).await {
                counts.extend(live.iter().map(|facts| (facts.uid.clone(), Counts::of(facts))));
            }
        }
        Self(counts)
    }

    /// Replaces the counts of the diagnoses.
    pub(in crate::cli) fn apply(&self, found: &mut Found) {
        for of in &mut found.nodes_and_workloads {
            let NodeOrWorkload::Workload(spec, status) = &mut of.object else { continue };
            let Some(live) = self.0.get(spec.workload_uid.as_str()) else { continue };
            let Counts { ready, desired, display } = live.clone();
            (status.pods.ready, status.pods.desired, status.pods.display) = (ready, desired, display);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use shindan_core::case::Thresholds;
    use shindan_core::facts::Timestamp;
    use shindan_core::offline::{self, Logs};
    use shindan_core::wire::Dump;

    use super::super::testing;
    use super::*;

    /// A Deployment whose rollout has exceeded its deadline.
    fn deployment(name: &str, uid: &str, ready: u32) -> Value {
        let at = "2026-11-21T08:00:00Z";
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"namespace": "shop", "name": name, "uid": uid, "creationTimestamp": at, "generation": 1},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": name}}},
            "status": {"observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "readyReplicas": ready,
                "conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded",
                    "message": "m", "lastTransitionTime": at, "lastUpdateTime": at}]}})
    }

    fn diagnosed(deployments: &[Value]) -> Found {
        let mut dump = Dump::default();
        dump.read(&json!({"kind": "List", "apiVersion": "v1", "items": deployments}).to_string());
        let now: Timestamp = "2026-11-21T09:00:00Z".parse().unwrap();
        let report = offline::diagnose(dump, Logs::default(), now, Thresholds::default());
        Found::of_writes(report.pods, report.nodes_and_workloads)
    }

    fn displays(found: &Found) -> Vec<String> {
        let display = |object: &NodeOrWorkload| match object {
            NodeOrWorkload::Workload(_, status) => status.pods.display.clone(),
            NodeOrWorkload::Node(..) => String::new(),
        };
        found.nodes_and_workloads.iter().map(|of| display(&of.object)).collect()
    }

    #[tokio::test]
    async fn the_count_is_that_of_the_live_object() {
        for others in [0, 20] {
            let names: Vec<String> = (0..others).map(|n| format!("other-{n}")).collect();
            let all = |ready| {
                let others = names.iter().map(|name| deployment(name, name, 0));
                others.chain([deployment("web", "w", ready)]).collect::<Vec<_>>()
            };
            let mut found = diagnosed(&all(0));
            assert_eq!(displays(&found), vec!["0/3"; others + 1]);
            let clients = testing::cluster(all(2), &[]);
            let limit = Duration::from_secs(5);
            ReadyPods::read(&found, &clients.write, Some("shop"), limit).await.apply(&mut found);
            let mut shown = displays(&found);
            shown.sort();
            assert_eq!(shown.last().map(String::as_str), Some("2/3"));
            assert_eq!(shown.iter().filter(|of| *of == "0/3").count(), others);
        }
    }

    #[tokio::test]
    async fn what_cannot_be_read_keeps_its_count() {
        let limit = Duration::from_secs(5);
        for clients in [
            testing::cluster(vec![deployment("web", "w", 2)], &["deployments"]),
            testing::cluster(Vec::new(), &[]),
            testing::cluster(vec![deployment("web", "created-again", 2)], &[]),
        ] {
            let mut found = diagnosed(&[deployment("web", "w", 0)]);
            ReadyPods::read(&found, &clients.write, Some("shop"), limit).await.apply(&mut found);
            assert_eq!(displays(&found), ["0/3"]);
        }
    }
}
