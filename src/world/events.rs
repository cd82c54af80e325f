//! Events by pod: the newest of each (reason, container), six a pod, for an hour.
//!
//! They only merge. An Event's end of life, or its absence from a list, takes nothing away. An Event may come before its
//! pod; those of pods that never come are few, and are forgotten after their hour as well.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::sweeps::Sweeps;
use crate::facts::{EventFacts, ObjectKey, PodFacts, Timestamp, seconds_between};

/// Kept for each pod.
const MOST: usize = 6;
/// For how long an Event is remembered, in seconds.
pub const KEPT: i64 = 3600;
/// The most bytes of a message.
const MESSAGE_MAX: usize = 1024;
/// Pods that are not known (yet) whose Events are kept, once all pods have been listed.
const STRANGERS: usize = 1000;

#[derive(Debug, Default)]
pub(super) struct Events {
    by_pod: HashMap<Arc<str>, Kept>,
    /// Pods that were not known when their first Event came, oldest first.
    strangers: VecDeque<Arc<str>>,
    sweeps: Sweeps,
}

#[derive(Debug, Default)]
struct Kept {
    events: Vec<EventFacts>,
    is_stranger: bool,
}

impl Events {
    pub(super) fn kept(&self) -> usize {
        self.by_pod.len() + self.strangers.len()
    }

    /// Whether the Event tells something new.
    pub(super) fn put(&mut self, uid: &Arc<str>, mut event: EventFacts, is_stranger: bool, now: Timestamp) -> bool {
        if is_old(&event, now) {
            return false;
        }
        if self.sweeps.is_due(now) {
            self.forget_old(now);
        }
        if event.message.len() > MESSAGE_MAX {
            event.message = crate::diagnosis::text::beginning(&event.message, MESSAGE_MAX).into();
        }
        if is_stranger && !self.by_pod.contains_key(uid) {
            self.by_pod.insert(uid.clone(), Kept { events: Vec::new(), is_stranger });
            self.strangers.push_back(uid.clone());
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
                // Most pods have one or two: room for four would be most of what is kept.
                kept.reserve_exact(1);
                kept.push(event);
                true
            }
        };
        kept.sort_by(|a, b| age(a).cmp(&age(b)));
        if kept.len() > MOST {
            // What explains a kill outlives the noise around it.
            let noise = kept.iter().position(|e| !is_telling(e)).unwrap_or(0);
            kept.remove(noise);
        }
        is_news
    }

    /// The mirror of a static pod has come: what was told of that one is about it. (A manifest may set the UID itself; then
    /// there is one on each node.)
    pub(super) fn adopt(&mut self, static_uid: &str, mirror: &PodFacts, now: Timestamp) {
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

    pub(super) fn of(&self, uid: &str) -> &[EventFacts] {
        self.by_pod.get(uid).map_or(&[], |kept| kept.events.as_slice())
    }

    /// Whether something of it was killed: then its end is of interest, whatever it looks like.
    pub(super) fn any_kill_of(&self, uid: &str) -> bool {
        self.of(uid).iter().any(is_kill)
    }

    /// The pod of these Events has come, and is well or not.
    pub(super) fn met(&mut self, uid: &str, key: &ObjectKey, is_well: bool) {
        let Some(kept) = self.by_pod.get_mut(uid) else { return };
        if std::mem::take(&mut kept.is_stranger) {
            // Whose UID it is was not known when they came. The mirror of a static pod comes before its Events.
            kept.events.retain(|event| is_of(event, key));
        }
        if is_well {
            kept.events.retain(matters_to_the_well);
        }
        if kept.events.is_empty() {
            self.by_pod.remove(uid);
        }
    }

    pub(super) fn forget(&mut self, uid: &str) {
        self.by_pod.remove(uid);
    }

    /// All pods are known: Events of others are of pods that are gone, or that will come in a moment.
    pub(super) fn limit_strangers(&mut self) {
        while self.strangers.len() > STRANGERS {
            let Some(uid) = self.strangers.pop_front() else { return };
            if self.by_pod.get(&uid).is_some_and(|kept| kept.is_stranger) {
                self.by_pod.remove(&uid);
            }
        }
    }

    pub(super) fn forget_old(&mut self, now: Timestamp) {
        self.by_pod.retain(|_, kept| {
            kept.events.retain(|e| !is_old(e, now));
            !kept.events.is_empty()
        });
        self.strangers.retain(|uid| self.by_pod.get(uid).is_some_and(|kept| kept.is_stranger));
    }
}

/// Whether an Event can say something of a pod that looks well: a kill, and the failure of the probe that asked for it.
/// (The kill of a pod that is not restarted does not name its probe.)
pub(super) fn matters_to_the_well(event: &EventFacts) -> bool {
    let may_ask_for_a_kill = || ["Liveness", "Startup"].iter().any(|probe| event.message.starts_with(probe));
    is_kill(event) || &*event.reason == "Unhealthy" && may_ask_for_a_kill()
}

/// Whether the Event names this pod: its UID alone can be written by anyone who has seen it.
pub(super) fn is_of(event: &EventFacts, pod: &ObjectKey) -> bool {
    event.regarding.namespace == pod.namespace && event.regarding.name == pod.name
}

fn is_kill(event: &EventFacts) -> bool {
    &*event.reason == "Killing"
}

/// Which of two Events is the newer one. All that they hold decides where their times do not, so that the order in which
/// they came does not matter.
fn age(event: &EventFacts) -> impl Ord + '_ {
    (event.last, event.count, event.first, &event.reason, &event.regarding.container, &event.message)
}

fn is_telling(event: &EventFacts) -> bool {
    matches!(&*event.reason, "Killing" | "Unhealthy" | "Failed" | "FailedMount" | "FailedCreatePodSandBox")
}

/// Probes of one container fail for three reasons of their own: their Events are told apart by their first word.
fn is_same_kind(a: &EventFacts, b: &EventFacts) -> bool {
    let first_word = |e: &EventFacts| match &*e.reason {
        "Unhealthy" => e.message.split(' ').next().map(str::to_owned),
        "Failed" => Some(e.message.starts_with("Error:").to_string()),
        "FailedMount" | "FailedAttachVolume" => e.message.split('"').nth(1).map(str::to_owned),
        _ => None,
    };
    a.reason == b.reason && a.regarding.container == b.regarding.container && first_word(a) == first_word(b)
}

fn is_old(event: &EventFacts, now: Timestamp) -> bool {
    event.last.or(event.first).is_some_and(|last| seconds_between(last, now) > KEPT)
}
