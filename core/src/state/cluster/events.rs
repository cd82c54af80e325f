//! Events of pods: the newest per reason and container, at most six per pod, for one hour.
//!
//! Events are only merged: an expired or unlisted Event is kept. An Event may arrive before its pod. Events of pods
//! that never appear expire as well.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::facts::{EventFacts, ObjectKey, PodFacts, Timestamp, seconds_between};
use crate::message::text;
use crate::state::cleanup::CleanupSchedule;

/// Most Events per pod.
const MOST: usize = 6;
/// How long an Event is kept, in seconds.
pub const KEPT: i64 = 3600;
/// Most unknown pods whose Events are kept once all pods are listed.
const UNKNOWN_PODS: usize = 1000;

#[derive(Debug, Default)]
pub(in crate::state) struct Events {
    by_pod: HashMap<Arc<str>, Kept>,
    /// Pods that were unknown when their first Event arrived, oldest first.
    unknown_pods: VecDeque<Arc<str>>,
    cleanup: CleanupSchedule,
}

#[derive(Debug, Default)]
struct Kept {
    events: Vec<EventFacts>,
    is_unknown: bool,
}

impl Events {
    pub(in crate::state) fn kept(&self) -> usize {
        self.by_pod.len() + self.unknown_pods.len()
    }

    /// Adds an Event. Returns whether it is new.
    pub(in crate::state) fn put(
        &mut self,
        uid: &Arc<str>,
        mut event: EventFacts,
        is_unknown: bool,
        now: Timestamp,
    ) -> bool {
        if is_old(&event, now) {
            return false;
        }
        if self.cleanup.is_due(now) {
            self.forget_old(now);
        }
        text::shorten_event(&mut event.message);
        if is_unknown && !self.by_pod.contains_key(uid) {
            self.by_pod.insert(uid.clone(), Kept { events: Vec::new(), is_unknown });
            self.unknown_pods.push_back(uid.clone());
        }
        let kept = &mut self.by_pod.entry(uid.clone()).or_default().events;
        kept.retain(|e| !is_old(e, now));
        let is_news = match kept.iter().position(|e| is_same_kind(e, &event)) {
            Some(i) if age(&kept[i]) >= age(&event) => false,
            Some(i) => {
                kept[i] = event;
                true
            }
            None => {
                // Most pods have one or two Events, so the default capacity of four would waste most of the memory.
                kept.reserve_exact(1);
                kept.push(event);
                true
            }
        };
        kept.sort_by(|a, b| age(a).cmp(&age(b)));
        if kept.len() > MOST {
            // Events that explain a failure are kept longer than others.
            let noise = kept.iter().position(|e| !is_explanatory(e)).unwrap_or(0);
            kept.remove(noise);
        }
        is_news
    }

    /// Assigns the Events of a static pod to its mirror pod. A manifest may set the UID itself, so several nodes may
    /// have mirrors with the same static UID.
    pub(in crate::state) fn adopt(&mut self, static_uid: &str, mirror: &PodFacts, now: Timestamp) {
        let Some(kept) = self.by_pod.get_mut(static_uid) else { return };
        let (mine, others) = std::mem::take(&mut kept.events).into_iter().partition(|e| is_of(e, &mirror.key));
        kept.events = others;
        if kept.events.is_empty() {
            self.by_pod.remove(static_uid);
        }
        let mine: Vec<EventFacts> = mine;
        for event in mine {
            self.put(&mirror.uid, event, false, now);
        }
    }

    pub(in crate::state) fn of(&self, uid: &str) -> &[EventFacts] {
        self.by_pod.get(uid).map_or(&[], |kept| kept.events.as_slice())
    }

    /// Whether a container of the pod was killed. Its termination must then be diagnosed, whatever its exit code.
    pub(in crate::state) fn any_kill_of(&self, uid: &str) -> bool {
        self.of(uid).iter().any(is_kill)
    }

    /// The pod of these Events appeared, healthy or not.
    pub(in crate::state) fn pod_appeared(&mut self, uid: &str, key: &ObjectKey, is_healthy: bool) {
        let Some(kept) = self.by_pod.get_mut(uid) else { return };
        if std::mem::take(&mut kept.is_unknown) {
            // When the Events arrived, the pod of this UID was unknown. A mirror pod arrives before its Events.
            kept.events.retain(|event| is_of(event, key));
        }
        if is_healthy {
            kept.events.retain(matters_for_healthy_pod);
        }
        if kept.events.is_empty() {
            self.by_pod.remove(uid);
        }
    }

    pub(in crate::state) fn forget(&mut self, uid: &str) {
        self.by_pod.remove(uid);
    }

    /// Drops Events of unknown pods beyond the limit, oldest first. These pods are gone or appear soon.
    pub(in crate::state) fn limit_unknown_pods(&mut self) {
        while self.unknown_pods.len() > UNKNOWN_PODS {
            let Some(uid) = self.unknown_pods.pop_front() else { return };
            if self.by_pod.get(&uid).is_some_and(|kept| kept.is_unknown) {
                self.by_pod.remove(&uid);
            }
        }
    }

    pub(in crate::state) fn forget_old(&mut self, now: Timestamp) {
        self.by_pod.retain(|_, kept| {
            kept.events.retain(|e| !is_old(e, now));
            !kept.events.is_empty()
        });
        self.unknown_pods.retain(|uid| self.by_pod.get(uid).is_some_and(|kept| kept.is_unknown));
    }
}

/// Whether an Event matters for a pod that looks healthy: a kill, or the probe failure that caused it. The kill of a
/// pod that is not restarted does not name its probe.
pub(in crate::state) fn matters_for_healthy_pod(event: &EventFacts) -> bool {
    let may_ask_for_a_kill = || ["Liveness", "Startup"].iter().any(|probe| event.message.starts_with(probe));
    is_kill(event) || &*event.reason == "Unhealthy" && may_ask_for_a_kill()
}

/// Whether the Event names this pod. The UID alone proves nothing: any client that has seen it can write it.
pub(in crate::state) fn is_of(event: &EventFacts, pod: &ObjectKey) -> bool {
    event.regarding.namespace == pod.namespace && event.regarding.name == pod.name
}

fn is_kill(event: &EventFacts) -> bool {
    &*event.reason == "Killing"
}

/// Sort key that orders Events by age. Ties are broken by all other fields, so that the order of arrival does not
/// matter.
fn age(event: &EventFacts) -> impl Ord + '_ {
    (event.last, event.count, event.first, &event.reason, &event.regarding.container, &event.message)
}

fn is_explanatory(event: &EventFacts) -> bool {
    matches!(&*event.reason, "Killing" | "Unhealthy" | "Failed" | "FailedMount" | "FailedCreatePodSandBox")
}

/// Whether two Events describe the same problem. Probe failures of a container share a reason; the first word of the
/// message distinguishes them.
fn is_same_kind(a: &EventFacts, b: &EventFacts) -> bool {
    let first_word = |e: &EventFacts| match &*e.reason {
        "Unhealthy" => e.message.split(' ').next().map(str::to_owned),
        "Failed" => Some(e.message.starts_with("Error:").to_string()),
        // A refusal because an earlier operation has not finished does not replace the error of that one.
        "FailedMount" | "FailedAttachVolume" => {
            let is_deferred = crate::message::is_deferred(&e.message);
            e.message.split('"').nth(1).map(|volume| format!("{volume} {is_deferred}"))
        }
        // The scheduler and Karpenter use the same reason.
        "FailedScheduling" => Some(e.reporter.to_string()),
        _ => None,
    };
    a.reason == b.reason && a.regarding.container == b.regarding.container && first_word(a) == first_word(b)
}

fn is_old(event: &EventFacts, now: Timestamp) -> bool {
    event.last.or(event.first).is_some_and(|last| seconds_between(last, now) > KEPT)
}
