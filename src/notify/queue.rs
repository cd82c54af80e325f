//! What one receiver must be sent, and when. Pure: the caller passes the time and the results.
//!
//! The queue keeps one entry per incident with its newest state, so a receiver that is down for hours costs no more than the
//! incidents of that time, and gets the last state of each once it is back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shindan_core::api::Severity;
use tokio::time::Instant;

use super::incident::{End, IncidentKey};
use super::message::{Change, Notice};

/// Maximum number of incidents that a receiver has at a time.
pub const INCIDENTS_MAX: usize = 1000;
/// An incident has ended once it has no diagnosis for this long: the next pod may fail right away.
const RESOLVE_WAIT: Duration = Duration::from_secs(30);
const MINUTE: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The longest `Retry-After` that is honoured.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);
/// How often Alertmanager gets a running alert again. It ends alerts that are not repeated within `resolve_timeout`, 5 minutes
/// by default.
const REFRESH: Duration = Duration::from_secs(60);
/// Maximum number of alerts in a request to Alertmanager.
const BATCH_MAX: usize = 200;

/// How a receiver takes several incidents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Each in a message. A digest lists incidents.
    Chat,
    /// Each in an alert that must be resolved. A digest is an alert of its own.
    Pager,
    /// All in one request, and again while they last.
    Batch,
}

/// Times and limits.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub group_wait: Duration,
    pub update_interval: Duration,
    pub per_minute: usize,
    pub style: Style,
}

/// What the receiver knows of an incident. It outlives the process in an annotation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reported {
    pub severity: Severity,
    pub cause: String,
    pub affected: usize,
    /// Whether only a digest named it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_digest: bool,
}

impl Reported {
    fn of(notice: &Notice, by_digest: bool) -> Self {
        Self { severity: notice.severity, cause: notice.cause.clone(), affected: notice.affected, by_digest }
    }

    /// Whether the receiver needs a new message. A further pod or a better state of some is not enough.
    fn is_outdated_by(&self, notice: &Notice) -> bool {
        self.severity != notice.severity
            || !notice.causes.contains(&self.cause)
            || (notice.affected >= self.affected.saturating_mul(2) && notice.affected - self.affected >= 2)
    }
}

#[derive(Debug)]
struct Entry {
    reported: Option<Reported>,
    reported_at: Instant,
    /// The receiver rejected it. It is not reported again by this process.
    rejected: bool,
    notice: Arc<Notice>,
    /// The notice with the most affected objects since the beginning, for the message about the end.
    largest: Arc<Notice>,
    ended: bool,
    /// When the present state is to be sent, if the receiver does not know it.
    due: Instant,
    /// Whether a message about it failed, so that its end is worth a message.
    owed: bool,
}

impl Entry {
    fn change(&self) -> Change {
        match (self.ended, &self.reported) {
            (true, _) => Change::Resolved,
            // A digest had only its title, and opened no alert of its own.
            (false, reported) if reported.as_ref().is_none_or(|reported| reported.by_digest) => Change::Opened,
            (false, _) => Change::Updated,
        }
    }
}

/// What is sent next.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivery {
    One(Change, Arc<Notice>),
    Digest(Vec<(Change, Arc<Notice>)>),
    /// All incidents of the digests of a [`Style::Pager`] have ended.
    DigestOver,
    Batch(Vec<(Change, Arc<Notice>)>),
}

impl Delivery {
    /// Number of messages that the receiver gets.
    pub fn incidents(&self) -> usize {
        match self {
            Self::One(..) | Self::DigestOver => 1,
            Self::Digest(all) | Self::Batch(all) => all.len(),
        }
    }
}

/// An incident in a request in progress. `reported` is `None` for its end.
#[derive(Debug)]
struct InFlight {
    key: IncidentKey,
    reported: Option<Reported>,
}

/// The queue of one receiver.
#[derive(Debug)]
pub struct Queue {
    limits: Limits,
    entries: BTreeMap<IncidentKey, Entry>,
    /// Times of the messages within the last minute.
    recent: VecDeque<Instant>,
    /// No request starts before, because the last one failed.
    not_before: Option<Instant>,
    failures: u32,
    in_flight: Option<Vec<InFlight>>,
    /// Incidents that did not fit in.
    beyond: BTreeSet<IncidentKey>,
}

impl Queue {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            entries: BTreeMap::new(),
            recent: VecDeque::new(),
            not_before: None,
            failures: 0,
            in_flight: None,
            beyond: BTreeSet::new(),
        }
    }

    /// Number of incidents.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What the receiver knows of an incident and a later process must know too.
    pub fn reported(&self, key: &IncidentKey) -> Option<&Reported> {
        self.entries.get(key).filter(|entry| !entry.rejected)?.reported.as_ref()
    }

    /// An earlier process reported this incident. It counts as ended until [`Self::active`] is called.
    pub fn restore(&mut self, key: &IncidentKey, reported: Reported, notice: Notice, now: Instant) {
        let notice = Arc::new(Notice { affected: notice.affected.max(reported.affected), ..notice });
        let entry = Entry {
            reported: Some(reported),
            reported_at: now,
            rejected: false,
            largest: notice.clone(),
            notice,
            ended: true,
            due: now + RESOLVE_WAIT,
            owed: false,
        };
        self.entries.insert(key.clone(), entry);
    }

    /// The present state of an active incident. Returns whether it was dropped because there are too many.
    pub fn active(&mut self, key: &IncidentKey, notice: Notice, now: Instant) -> bool {
        let soon = now + self.limits.group_wait;
        let Some(entry) = self.entries.get_mut(key) else {
            if self.entries.len() >= INCIDENTS_MAX {
                return self.beyond.len() >= INCIDENTS_MAX || self.beyond.insert(key.clone());
            }
            self.beyond.remove(key);
            let notice = Arc::new(notice);
            let entry = Entry {
                reported: None,
                reported_at: now,
                rejected: false,
                largest: notice.clone(),
                notice,
                ended: false,
                due: soon,
                owed: false,
            };
            self.entries.insert(key.clone(), entry);
            return false;
        };
        let was_ended = std::mem::replace(&mut entry.ended, false);
        // The incident lasts since its first object failed, also if that one has recovered.
        let since = notice.since.into_iter().chain(entry.notice.since).min();
        let notice = Arc::new(Notice { since, ..notice });
        match &entry.reported {
            None if was_ended => entry.due = soon,
            Some(reported) if reported.is_outdated_by(&notice) => {
                let was_due = !was_ended && reported.is_outdated_by(&entry.notice);
                let rises = notice.severity < reported.severity;
                let due = if rises { soon } else { soon.max(entry.reported_at + self.limits.update_interval) };
                entry.due = if was_due { entry.due.min(due) } else { due };
            }
            None | Some(_) => {}
        }
        if notice.affected >= entry.largest.affected {
            entry.largest = notice.clone();
        }
        entry.notice = notice;
        false
    }

    /// An incident has no diagnosis any more that is routed to this receiver.
    pub fn ended(&mut self, key: &IncidentKey, end: &End, now: Instant) {
        self.beyond.remove(key);
        let is_in_flight = self.in_flight.iter().flatten().any(|sent| sent.key == *key);
        let Some(entry) = self.entries.get_mut(key).filter(|entry| !entry.ended) else { return };
        // A receiver that was down when the incident was due still learns of it.
        entry.owed |= is_in_flight || (self.not_before.is_some() && entry.due <= now);
        let is_unknown = entry.reported.is_none() && !(entry.owed && self.limits.style == Style::Chat);
        if (is_unknown || entry.rejected) && !is_in_flight {
            self.entries.remove(key);
            return;
        }
        entry.notice = Arc::new(Notice {
            end: Some(end.clone()),
            severity: entry.notice.severity,
            since: entry.notice.since,
            ..Notice::clone(&entry.largest)
        });
        entry.ended = true;
        entry.due = now + RESOLVE_WAIT;
    }

    /// Whether all incidents that only a digest named have ended.
    fn is_digest_over(&self) -> bool {
        let is_named = |entry: &&Entry| entry.reported.as_ref().is_some_and(|reported| reported.by_digest);
        self.entries.values().filter(is_named).all(|entry| entry.ended)
    }

    /// When the state of an entry is to be sent. `None`: the receiver knows it.
    fn due_of(&self, entry: &Entry, digest_over: bool) -> Option<Instant> {
        let is_paged_by_digest =
            self.limits.style == Style::Pager && entry.reported.as_ref().is_some_and(|reported| reported.by_digest);
        match &entry.reported {
            Some(_) if entry.ended && is_paged_by_digest => Some(entry.due).filter(|_| digest_over),
            Some(reported) if !entry.ended && !reported.is_outdated_by(&entry.notice) => {
                (self.limits.style == Style::Batch).then(|| entry.reported_at + REFRESH)
            }
            _ => Some(entry.due),
        }
    }

    /// Number of incidents whose present state the receiver does not know.
    pub fn pending(&self) -> usize {
        let is_pending = |entry: &&Entry| match &entry.reported {
            Some(reported) => entry.ended || reported.is_outdated_by(&entry.notice),
            None => true,
        };
        self.entries.values().filter(is_pending).count()
    }

    /// When [`Self::take`] should be called next.
    pub fn next(&self) -> Option<Instant> {
        if self.in_flight.is_some() {
            return None;
        }
        let over = self.is_digest_over();
        let due = self.entries.values().filter_map(|entry| self.due_of(entry, over)).min()?;
        let is_full = self.limits.style != Style::Batch && self.recent.len() >= self.limits.per_minute;
        let room = self.recent.front().filter(|_| is_full).map(|first| *first + MINUTE);
        Some([Some(due), self.not_before, room].into_iter().flatten().max().unwrap_or(due))
    }

    /// The message to send now. Until [`Self::sent`], [`Self::failed`] or [`Self::rejected`], no other starts.
    pub fn take(&mut self, now: Instant) -> Option<Delivery> {
        if self.in_flight.is_some() || self.not_before.is_some_and(|at| now < at) {
            return None;
        }
        while self.recent.front().is_some_and(|at| now >= *at + MINUTE) {
            self.recent.pop_front();
        }
        let room = self.limits.per_minute.saturating_sub(self.recent.len());
        let over = self.is_digest_over();
        let is_due = |entry: &Entry| self.due_of(entry, over).is_some_and(|due| due <= now);
        let mut due: Vec<_> = self.entries.iter().filter(|(_, entry)| is_due(entry)).collect();
        due.sort_by_key(|(_, entry)| (entry.notice.severity, entry.due));
        let (delivery, keys): (Delivery, Vec<IncidentKey>) = match self.limits.style {
            _ if due.is_empty() => return None,
            Style::Batch => {
                due.truncate(BATCH_MAX);
                (Delivery::Batch(listed(&due)), keys_of(&due))
            }
            _ if room == 0 => return None,
            style => {
                let named = |entry: &Entry| entry.reported.as_ref().is_some_and(|reported| reported.by_digest);
                let (over, due): (Vec<_>, Vec<_>) =
                    due.into_iter().partition(|(_, entry)| style == Style::Pager && entry.ended && named(entry));
                if !over.is_empty() {
                    (Delivery::DigestOver, keys_of(&over))
                } else if due.len() > room {
                    // The end of an alert that a pager has is never left to a digest.
                    let (ends, rest): (Vec<_>, Vec<_>) =
                        due.into_iter().partition(|(_, entry)| style == Style::Pager && entry.ended);
                    match (ends.first(), rest.is_empty()) {
                        (Some(first), true) => one(first),
                        _ => (Delivery::Digest(listed(&rest)), keys_of(&rest)),
                    }
                } else {
                    one(due.first()?)
                }
            }
        };
        let by_digest = matches!(delivery, Delivery::Digest(_));
        let reported = |key: &IncidentKey| {
            let entry = self.entries.get(key).filter(|entry| !entry.ended)?;
            Some(Reported::of(&entry.notice, by_digest))
        };
        self.in_flight = Some(keys.iter().map(|key| InFlight { key: key.clone(), reported: reported(key) }).collect());
        if self.limits.style != Style::Batch {
            self.recent.push_back(now);
        }
        Some(delivery)
    }

    /// The message was accepted. Returns the incidents of which the receiver knows another state now.
    pub fn sent(&mut self, now: Instant) -> Vec<IncidentKey> {
        self.failures = 0;
        self.not_before = None;
        self.settle(now, false)
    }

    /// The receiver rejected the message, and would do so again.
    pub fn rejected(&mut self, now: Instant) -> Vec<IncidentKey> {
        self.settle(now, true)
    }

    fn settle(&mut self, now: Instant, rejected: bool) -> Vec<IncidentKey> {
        let sent = self.in_flight.take().unwrap_or_default();
        let mut changed = Vec::new();
        for InFlight { key, reported } in sent {
            let Some(entry) = self.entries.get_mut(&key) else { continue };
            let is_refresh = reported.is_some() && entry.reported == reported;
            if !is_refresh {
                changed.push(key.clone());
            }
            (entry.reported, entry.reported_at, entry.rejected, entry.owed) = (reported, now, rejected, false);
            match (&entry.reported, entry.ended) {
                (None, true) => drop(self.entries.remove(&key)),
                // It began again during the request.
                (None, false) => entry.due = now + self.limits.group_wait,
                (Some(reported), false) if reported.is_outdated_by(&entry.notice) => {
                    let rises = entry.notice.severity < reported.severity;
                    entry.due = now + if rises { self.limits.group_wait } else { self.limits.update_interval };
                }
                (Some(_), _) => {}
            }
        }
        changed
    }

    /// The message failed and is tried again, after `retry_after` or a back-off. `jitter` is from 0 to 1. Returns the pause.
    pub fn failed(&mut self, now: Instant, retry_after: Option<Duration>, jitter: f64) -> Duration {
        for sent in self.in_flight.take().unwrap_or_default() {
            if let Some(entry) = self.entries.get_mut(&sent.key) {
                entry.owed = true;
            }
        }
        // A message that did not arrive does not count toward the limit.
        self.recent.pop_back();
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(6)).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        let pause = pause.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0);
        let pause = retry_after.map_or(pause, |wished| wished.min(RETRY_AFTER_MAX).max(pause));
        self.not_before = Some(now + pause);
        pause
    }
}

type Due<'a> = (&'a IncidentKey, &'a Entry);

fn one((key, entry): &Due<'_>) -> (Delivery, Vec<IncidentKey>) {
    (Delivery::One(entry.change(), entry.notice.clone()), vec![IncidentKey::clone(key)])
}

fn listed(due: &[Due<'_>]) -> Vec<(Change, Arc<Notice>)> {
    due.iter().map(|(_, entry)| (entry.change(), entry.notice.clone())).collect()
}

fn keys_of(due: &[Due<'_>]) -> Vec<IncidentKey> {
    due.iter().map(|(key, _)| IncidentKey::clone(key)).collect()
}

#[cfg(test)]
mod tests;
