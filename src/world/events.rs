//! Events by pod: the newest of each (reason, container), six a pod, for an hour.
//!
//! They only merge. An Event's end of life, or its absence from a list, takes nothing away.

use std::collections::HashMap;
use std::sync::Arc;

use crate::facts::{EventFacts, Timestamp, seconds_between};

/// Kept for each pod, and for how long in seconds.
const MOST: usize = 6;
const KEPT: i64 = 3600;
/// The most bytes of a message.
const MESSAGE_MAX: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Events {
    by_pod: HashMap<Arc<str>, Vec<EventFacts>>,
    swept: Option<Timestamp>,
}

impl Events {
    /// Whether the Event tells something new.
    pub(super) fn put(&mut self, uid: &Arc<str>, mut event: EventFacts, now: Timestamp) -> bool {
        if is_old(&event, now) {
            return false;
        }
        if event.message.len() > MESSAGE_MAX {
            event.message = crate::diagnosis::text::cut_bytes(&event.message, MESSAGE_MAX).into();
        }
        self.sweep(now);
        let kept = self.by_pod.entry(uid.clone()).or_default();
        kept.retain(|e| !is_old(e, now));
        let is_news = match kept.iter().position(|e| is_same_kind(e, &event)) {
            Some(i) if kept[i].last > event.last || kept[i] == event => false,
            Some(i) => {
                kept[i] = event;
                true
            }
            None => {
                kept.push(event);
                true
            }
        };
        kept.sort_by_key(|e| e.last);
        if kept.len() > MOST {
            // What explains a kill outlives the noise around it.
            let noise = kept.iter().position(|e| !is_telling(e)).unwrap_or(0);
            kept.remove(noise);
        }
        is_news
    }

    pub(super) fn of(&self, uid: &str) -> &[EventFacts] {
        self.by_pod.get(uid).map_or(&[], Vec::as_slice)
    }

    pub(super) fn any_for(&self, uid: &str) -> bool {
        self.of(uid).iter().any(matters_to_the_well)
    }

    pub(super) fn forget(&mut self, uid: &str) {
        self.by_pod.remove(uid);
    }

    /// Pods that nobody saw leave Events behind: now and then the old ones go.
    fn sweep(&mut self, now: Timestamp) {
        const EVERY: i64 = 300;
        if self.swept.is_none_or(|at| seconds_between(at, now) >= EVERY) {
            self.forget_old(now);
            self.swept = Some(now);
        }
    }

    pub(super) fn forget_old(&mut self, now: Timestamp) {
        self.by_pod.retain(|_, events| {
            events.retain(|e| !is_old(e, now));
            !events.is_empty()
        });
    }
}

/// Whether an Event can say something of a pod that looks well: only a kill can.
pub(super) fn matters_to_the_well(event: &EventFacts) -> bool {
    &*event.reason == "Killing"
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
    event.last.is_some_and(|last| seconds_between(last, now) > KEPT)
}
