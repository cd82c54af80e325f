//! The task that sends: it takes the news of the engine, and has at most one request in progress for each receiver.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use shindan_core::reconcile::DiagnosisKey;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;

use super::config::{Receiver, Settings};
use super::handle::{Handle, Inbox, Mark, News};
use super::incident::{self, IncidentKey, Incidents, Member};
use super::queue::{Limits, Queue, Reported};
use super::route;
use super::send::{Outcome, Post, deliver};
use crate::metrics::Metrics;

/// How often a message is tried that the receiver answers with success and an error.
const ODD_ANSWERS_MAX: u32 = 5;
/// Pause before a mark is tried again that the engine could not take.
const MARKS_PAUSE: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_secs(3600);

/// What the receivers know of the incidents of a diagnosis: the text of a mark.
type Marked = BTreeMap<IncidentKey, BTreeMap<String, Reported>>;

/// State of the task.
#[derive(Debug)]
pub struct Notifier<P> {
    settings: Settings,
    handle: Handle,
    post: P,
    metrics: Metrics,
    marks: mpsc::Sender<Mark>,
    leads: bool,
    incidents: Incidents,
    /// By receiver, as the following three.
    queues: Vec<Queue>,
    odd_answers: Vec<u32>,
    /// The failure that was logged last.
    logged: Vec<Option<String>>,
    sending: HashMap<Id, (usize, usize)>,
    sends: JoinSet<Outcome>,
    /// The diagnosis that has the mark of an incident.
    bearers: HashMap<IncidentKey, DiagnosisKey>,
    /// Diagnoses whose mark is to be written.
    unmarked: BTreeSet<DiagnosisKey>,
}

impl<P: Post> Notifier<P> {
    /// A task that sends through `post`, and hands marks to the engine through `marks`.
    pub fn new(settings: Settings, handle: Handle, post: P, metrics: Metrics, marks: mpsc::Sender<Mark>) -> Self {
        let receivers = settings.receivers.len();
        let mut notifier = Self {
            settings,
            handle,
            post,
            metrics,
            marks,
            leads: false,
            incidents: Incidents::default(),
            queues: Vec::new(),
            odd_answers: vec![0; receivers],
            logged: vec![None; receivers],
            sending: HashMap::new(),
            sends: JoinSet::new(),
            bearers: HashMap::new(),
            unmarked: BTreeSet::new(),
        };
        notifier.reset();
        notifier
    }

    /// Runs until it is aborted.
    pub async fn run(mut self) {
        loop {
            self.absorb(Instant::now());
            self.send(Instant::now());
            self.write_marks();
            let wake = self.next_wake(Instant::now());
            tokio::select! {
                () = self.handle.changed() => {}
                Some(joined) = self.sends.join_next_with_id() => self.finished(joined, Instant::now()),
                () = tokio::time::sleep_until(wake) => {}
            }
        }
    }

    /// Forgets everything, and cancels requests in progress.
    fn reset(&mut self) {
        self.sends.abort_all();
        self.sending.clear();
        self.incidents = Incidents::default();
        self.bearers.clear();
        self.unmarked.clear();
        let Settings { group_wait, update_interval, .. } = self.settings;
        let limits = |receiver: &Receiver| Limits {
            group_wait,
            update_interval,
            per_minute: receiver.messages_per_minute,
            style: receiver.kind.style(),
        };
        self.queues = self.settings.receivers.iter().map(|receiver| Queue::new(limits(receiver))).collect();
    }

    fn absorb(&mut self, now: Instant) {
        let Inbox { reset, leads, marked, news } = self.handle.take();
        if reset {
            self.reset();
        }
        self.leads = leads.unwrap_or(self.leads);
        for (member, text) in marked {
            self.restore(&member, &text, now);
        }
        let mut changed = BTreeSet::new();
        for (key, news) in news {
            match news {
                News::Written(member) => {
                    let receivers = route::receivers(&self.settings.routes, &member);
                    changed.extend(self.incidents.apply(*member, receivers));
                }
                News::Removed => changed.extend(self.incidents.remove(&key)),
            }
        }
        for key in changed {
            self.changed(&key, now);
        }
        for (queue, receiver) in self.queues.iter().zip(&self.settings.receivers) {
            self.metrics.set_pending_notifications(receiver.name, queue.pending());
        }
    }

    /// Hands the new state of an incident to the queues.
    fn changed(&mut self, key: &IncidentKey, now: Instant) {
        for (at, queue) in self.queues.iter_mut().enumerate() {
            let Some(notice) = self.incidents.notice(key, at) else {
                queue.ended(key, &self.incidents.end_of(key), now);
                continue;
            };
            if queue.active(key, notice, now) {
                self.metrics.dropped_notifications(self.settings.receivers[at].name, 1);
            }
        }
        if let Some(bearer) = self.bearers.get(key)
            && self.incidents.any_member(key, Some(bearer)).is_some_and(|member| member != bearer)
        {
            self.remember(key);
        }
        self.incidents.forget_ended(key);
    }

    /// Takes over what an earlier process has sent.
    fn restore(&mut self, member: &Member, text: &str, now: Instant) {
        // An unreadable mark was not written by us. It is replaced with the next one.
        let marked: Marked = serde_json::from_str(text).unwrap_or_default();
        let mut is_known = false;
        for (key, receivers) in marked {
            for (name, reported) in receivers {
                let Some(at) = self.settings.receivers.iter().position(|receiver| receiver.name == name) else {
                    continue;
                };
                is_known = true;
                self.queues[at].restore(&key, reported, incident::restored(&key, member), now);
                self.bearers.insert(key.clone(), member.diagnosis.clone());
            }
        }
        if !is_known {
            self.unmarked.insert(member.diagnosis.clone());
        }
    }

    fn send(&mut self, now: Instant) {
        if !self.leads {
            return;
        }
        for (at, queue) in self.queues.iter_mut().enumerate() {
            let Some(delivery) = queue.take(now) else { continue };
            let (post, receiver) = (self.post.clone(), self.settings.receivers[at].clone());
            let incidents = delivery.incidents();
            let task = self.sends.spawn(deliver(post, at, receiver, self.settings.cluster.clone(), delivery));
            self.sending.insert(task.id(), (at, incidents));
        }
    }

    fn finished(&mut self, joined: Result<(Id, Outcome), JoinError>, now: Instant) {
        let (id, outcome) = match joined {
            Ok(done) => done,
            Err(error) => {
                let detail = "the task panicked; this is a bug, please report it".to_owned();
                (error.id(), Outcome::Rejected { detail })
            }
        };
        let Some((at, incidents)) = self.sending.remove(&id) else { return };
        let name = self.settings.receivers[at].name;
        let outcome = match outcome {
            // A message that the receiver cannot take must not hold up the others.
            Outcome::Odd { detail } if self.odd_answers[at] + 1 >= ODD_ANSWERS_MAX => Outcome::Rejected { detail },
            Outcome::Odd { detail } => {
                self.odd_answers[at] += 1;
                Outcome::Retry { reason: "answer", detail, after: None }
            }
            other => other,
        };
        let changed = match outcome {
            Outcome::Retry { reason, detail, after } => {
                self.metrics.failed_notification(name, reason);
                let pause = self.queues[at].failed(now, after, jitter());
                if self.logged[at].as_deref() != Some(reason) {
                    tracing::warn!(receiver = name, reason, detail, ?pause, "a notification failed; retrying");
                    self.logged[at] = Some(reason.to_owned());
                }
                Vec::new()
            }
            Outcome::Sent => {
                self.metrics.sent_notification(name);
                self.odd_answers[at] = 0;
                if self.logged[at].take().is_some() {
                    tracing::info!(receiver = name, "notifications arrive again");
                }
                self.queues[at].sent(now)
            }
            Outcome::Rejected { detail } | Outcome::Odd { detail } => {
                self.metrics.failed_notification(name, "rejected");
                self.metrics.dropped_notifications(name, u64::try_from(incidents).unwrap_or(u64::MAX));
                self.odd_answers[at] = 0;
                if self.logged[at].as_deref() != Some(&detail) {
                    tracing::error!(receiver = name, detail, "the receiver rejects notifications; they are dropped");
                    self.logged[at] = Some(detail);
                }
                self.queues[at].rejected(now)
            }
        };
        changed.iter().for_each(|key| self.remember(key));
    }

    /// Chooses the diagnosis that has the mark of an incident, and lets it be written.
    fn remember(&mut self, key: &IncidentKey) {
        let is_reported = self.queues.iter().any(|queue| queue.reported(key).is_some());
        let former = self.bearers.remove(key);
        let bearer =
            self.incidents.any_member(key, former.as_ref()).or(former.as_ref()).filter(|_| is_reported).cloned();
        self.unmarked.extend(former);
        if let Some(bearer) = bearer {
            self.unmarked.insert(bearer.clone());
            self.bearers.insert(key.clone(), bearer);
        }
    }

    /// Hands marks to the engine, which writes them.
    fn write_marks(&mut self) {
        while let Some(key) = self.unmarked.first() {
            let marked: Marked = self
                .bearers
                .iter()
                .filter(|(_, of)| *of == key)
                .map(|(incident, _)| {
                    let reported = |(queue, receiver): (&Queue, &Receiver)| {
                        Some((receiver.name.to_owned(), queue.reported(incident)?.clone()))
                    };
                    let all = self.queues.iter().zip(&self.settings.receivers).filter_map(reported).collect();
                    (incident.clone(), all)
                })
                .collect();
            let text = if marked.is_empty() { None } else { serde_json::to_string(&marked).ok() };
            if self.marks.try_send(Mark { key: key.clone(), text }).is_err() {
                return;
            }
            self.unmarked.pop_first();
        }
    }

    fn next_wake(&self, now: Instant) -> Instant {
        let due = self.queues.iter().filter_map(Queue::next).filter(|_| self.leads);
        let marks = (!self.unmarked.is_empty()).then(|| now + MARKS_PAUSE);
        due.chain(marks).min().unwrap_or(now + IDLE)
    }
}

/// A number from 0 to 1, so that replicas and receivers do not retry together.
fn jitter() -> f64 {
    f64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 255.0
}
