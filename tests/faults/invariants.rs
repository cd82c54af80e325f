//! Invariants that hold after each fault, once the operator has settled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, ListParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use serde_json::Value;
use shindan_core::api::{DiagnosisState, PodDiagnosis};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::operator::{Launch, Operator};
use crate::pods::{Expected, Space};
use crate::wait::{ensure, eventually};

/// Timeout after a fault: longer than the back-off of a watch (16 s) or of a write that failed a few times.
pub(crate) const SETTLED: Duration = Duration::from_secs(150);
/// Time without a write.
const QUIET: Duration = Duration::from_secs(3);
const REPORTER: &str = "shindan.dev/operator";

/// A transition: the namespace, the pod's UID and its number.
type Transition = (String, String, u32);

#[derive(Default)]
struct Seen {
    all: BTreeSet<Transition>,
    /// Transitions that required an Event.
    owed: BTreeSet<Transition>,
    /// Transitions that may have required an Event: the first write was not seen because the watch was interrupted, or its
    /// response was lost and the failure ended before the retry, which removes the object.
    missed: BTreeSet<Transition>,
}

impl Seen {
    fn note(&mut self, object: PodDiagnosis, is_listed: bool) {
        let Some((transition, owes)) = transition(object) else { return };
        let is_new = self.all.insert(transition.clone());
        if owes {
            self.missed.remove(&transition);
            self.owed.insert(transition);
        } else if is_new && is_listed {
            self.missed.insert(transition);
        }
    }

    fn note_removed(&mut self, object: PodDiagnosis) {
        let Some((transition, true)) = transition(object) else { return };
        self.owed.remove(&transition);
        self.missed.insert(transition);
    }
}

/// Returns the transition of a diagnosis, and whether its Event is still pending.
fn transition(object: PodDiagnosis) -> Option<(Transition, bool)> {
    let status = object.status?;
    let namespace = object.metadata.namespace.unwrap_or_default();
    Some(((namespace, object.spec.pod_uid, status.head.transition), status.head.event_owed))
}

/// Counts the transitions of each pod of a namespace.
fn by_pod(transitions: &BTreeSet<Transition>, space: &Space) -> BTreeMap<String, usize> {
    let mut pods: BTreeMap<String, usize> = BTreeMap::new();
    for (_, uid, _) in transitions.iter().filter(|(namespace, ..)| *namespace == space.name) {
        *pods.entry(uid.clone()).or_default() += 1;
    }
    pods
}

/// Records each version of each diagnosis, independent of the operator.
pub(crate) struct Witness {
    client: Client,
    seen: Arc<Mutex<Seen>>,
    task: AbortHandle,
}

impl Witness {
    pub(crate) fn of(client: Client) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let task = tokio::spawn(watch(client.clone(), seen.clone())).abort_handle();
        Self { client, seen, task }
    }

    /// Waits until every failing pod has one diagnosis, no other pod has an Active one, no write is pending, and each
    /// transition that required an Event has exactly one.
    pub(crate) async fn agrees(&self, spaces: &[&Space], operator: &Operator) {
        let mut written = (Instant::now(), -1.0);
        eventually(SETTLED, "diagnoses and Events match the pods", async || {
            assert!(operator.is_running(), "the operator has exited");
            for space in spaces {
                diagnoses_match(space, &diagnoses(space).await?)?;
                self.events_match(space).await?;
            }
            let now = operator.metric("shindan_writes_total").await? + operator.metric("shindan_outbox_depth").await?;
            if (now - written.1).abs() > 0.0 {
                written = (Instant::now(), now);
            }
            ensure(written.0.elapsed() >= QUIET, || "something is still being written".to_owned())
        })
        .await;
    }

    /// Checks that the Events of the pods of a namespace are the required ones.
    async fn events_match(&self, space: &Space) -> Result<(), String> {
        let events = Api::<Event>::namespaced(self.client.clone(), &space.name);
        let events = events.list(&ListParams::default()).await.map_err(|e| e.to_string())?.items;
        let mut emitted: BTreeMap<String, usize> = BTreeMap::new();
        for event in events.into_iter().filter(|event| event.reporting_controller.as_deref() == Some(REPORTER)) {
            let regarding = event.regarding.unwrap_or_default();
            *emitted.entry(regarding.uid.unwrap_or_default()).or_default() += 1;
        }
        let (owed, missed) = {
            let seen = self.seen.lock().unwrap();
            (by_pod(&seen.owed, space), by_pod(&seen.missed, space))
        };
        let all: BTreeSet<_> = emitted.keys().chain(owed.keys()).collect();
        let count = |of: &BTreeMap<String, usize>, uid: &String| of.get(uid).copied().unwrap_or(0);
        let differs = |uid: &&&String| {
            let (emitted, owed) = (count(&emitted, uid), count(&owed, uid));
            emitted < owed || emitted > owed + count(&missed, uid)
        };
        let lines: Vec<_> = all
            .iter()
            .filter(differs)
            .map(|uid| format!("{uid}: {} owed, {} emitted", count(&owed, uid), count(&emitted, uid)))
            .collect();
        ensure(lines.is_empty(), || format!("Events in {}: {lines:?}", space.name))
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn watch(client: Client, seen: Arc<Mutex<Seen>>) {
    let all = watcher(Api::<PodDiagnosis>::all(client), watcher::Config::default());
    let mut all = std::pin::pin!(all.default_backoff());
    loop {
        match all.try_next().await {
            Ok(Some(watcher::Event::Apply(object))) => seen.lock().unwrap().note(object, false),
            Ok(Some(watcher::Event::InitApply(object))) => seen.lock().unwrap().note(object, true),
            Ok(Some(watcher::Event::Delete(object))) => seen.lock().unwrap().note_removed(object),
            Ok(None) => return,
            // The API server is not always available in these tests.
            Ok(Some(_)) | Err(_) => {}
        }
    }
}

pub(crate) async fn diagnoses(space: &Space) -> Result<Vec<PodDiagnosis>, String> {
    let objects = Api::<PodDiagnosis>::namespaced(space.client.clone(), &space.name);
    Ok(objects.list(&ListParams::default()).await.map_err(|e| e.to_string())?.items)
}

/// Checks that these diagnoses match the expected state of the pods of a namespace.
fn diagnoses_match(space: &Space, found: &[PodDiagnosis]) -> Result<(), String> {
    let expected = space.expected();
    let by_name: BTreeMap<_, _> = found.iter().map(|object| (object.name_any(), object)).collect();
    for name in by_name.keys() {
        ensure(expected.contains_key(name), || format!("{name}: a diagnosis of a pod that never existed"))?;
    }
    for (name, expected) in &expected {
        let about = by_name.get(name).and_then(|object| Some((object, object.status.as_ref()?)));
        let is = about.map(|(object, status)| {
            format!("{} {} {:?} of {}", status.head.state, status.head.cause, status.container, object.spec.pod_uid)
        });
        let is_so = match (expected, about) {
            (Expected::Failing { uid, failure }, Some((object, status))) => {
                status.head.state == DiagnosisState::Active
                    && object.spec.pod_uid == *uid
                    && status.head.cause == failure.cause
                    && status.container.as_deref() == Some(failure.container)
            }
            (Expected::Failing { .. }, None) => false,
            // The diagnosis may be of an earlier pod of this name.
            (Expected::Healthy | Expected::Deleted, about) => {
                about.is_none_or(|(_, status)| status.head.state != DiagnosisState::Active)
            }
        };
        ensure(is_so, || format!("{name} should be {expected:?}, and its diagnosis is {is:?}"))?;
    }
    Ok(())
}

/// Stops the operator, deletes its diagnoses in these namespaces, and checks that a new operator writes the same ones.
pub(crate) async fn new_operator_agrees(operator: Operator, launch: &Launch, spaces: &[&Space]) {
    operator.stop().await;
    let mut before = Vec::new();
    for space in spaces {
        before.push(active(&diagnoses(space).await.unwrap()));
        let objects = Api::<PodDiagnosis>::namespaced(space.client.clone(), &space.name);
        objects.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    }
    let fresh = launch.ready().await;
    eventually(SETTLED, "a new operator writes the same diagnoses", async || {
        for (space, before) in spaces.iter().zip(&before) {
            let now = active(&diagnoses(space).await?);
            let names = |of: &BTreeMap<String, Value>| of.keys().cloned().collect::<Vec<_>>();
            ensure(names(before) == names(&now), || format!("{:?} became {:?}", names(before), names(&now)))?;
            let other = before.iter().find(|(name, object)| now[*name] != **object);
            if let Some((name, object)) = other {
                return Err(format!("{name} was\n{object:#}\nand becomes\n{:#}", now[name]));
            }
        }
        Ok(())
    })
    .await;
    fresh.stop().await;
}

/// The Active diagnosis of each pod, without fields that depend on the history of an operator: times and counts of
/// transitions, emitted Events, runs that the kubelet no longer lists, and values derived from them (the back-off, whether
/// each run ended like the last).
fn active(found: &[PodDiagnosis]) -> BTreeMap<String, Value> {
    let active = found.iter().filter(|o| o.status.as_ref().is_some_and(|s| s.head.state == DiagnosisState::Active));
    let comparable = active.map(|object| {
        let mut value = serde_json::to_value(object).unwrap();
        let labels = value["metadata"]["labels"].take();
        let mut status = value["status"].take();
        let fields = status.as_object_mut().unwrap();
        for field in ["firstSeen", "lastTransition", "transition", "eventOwed", "announced", "repeats"] {
            fields.remove(field);
        }
        if let Some(restarts) = status["restarts"].as_object_mut() {
            for field in ["history", "unseen", "backOff", "nextRestartTime"] {
                restarts.remove(field);
            }
        }
        of_the_last_run(&mut status);
        for condition in status["conditions"].as_array_mut().into_iter().flatten() {
            condition["lastTransitionTime"].take();
        }
        (object.name_any(), serde_json::json!({"labels": labels, "spec": value["spec"], "status": status}))
    });
    comparable.collect()
}

/// Reduces `2 s after each start; 2 restarts, back-off 20s` to the text for one known run.
fn of_the_last_run(value: &mut Value) {
    match value {
        Value::String(text) => {
            text.truncate(text.find(", back-off ").unwrap_or(text.len()));
            *text = text.replace("after each start", "after its last start");
        }
        Value::Array(items) => items.iter_mut().for_each(of_the_last_run),
        Value::Object(fields) => fields.values_mut().for_each(of_the_last_run),
        _ => {}
    }
}
