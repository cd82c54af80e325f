//! The engine: takes changes in, decides, and has others write. It never awaits a write itself.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::Instant;

use crate::api::{DiagnosisKind, DiagnosisState};
use crate::cluster::lease::Leadership;
use crate::cluster::lookup::LookupError;
use crate::cluster::publish::{Current, PublishError, Published};
use crate::cluster::restore::Restored;
use crate::facts::{Looked, ObjectKey, Timestamp, Want, after};
use crate::metrics::{ActiveKey, Metrics};
use crate::outbox::{Lane, Outbox, Subject};
use crate::plan::{Announcement, DiagnosisKey, Intent, ObjectWrite, OuterWrite};
use crate::world::{Change, Source, Touched, World};

mod budget;
mod role;
mod slots;

use budget::Budget;
use role::Role;
use slots::Slots;

/// What the engine asks of the cluster.
pub trait Cluster: Clone + Send + Sync + 'static {
    fn publish(&self, intent: &Intent) -> impl Future<Output = Result<Published, PublishError>> + Send;
    fn current(&self, key: &DiagnosisKey) -> impl Future<Output = Result<Option<Current>, PublishError>> + Send;
    fn look(&self, want: &Want) -> impl Future<Output = Result<Looked, LookupError>> + Send;
    /// Reads all our objects, however long it takes.
    fn restore(&self, pages: mpsc::Sender<Restored>) -> impl Future<Output = ()> + Send;
}

/// How the engine behaves.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Writes under way at once.
    pub writes: usize,
    /// Requests a second that write; `None`: as many as the API server answers.
    pub write_rate: Option<u32>,
    /// How long the first list of Events may delay the first write.
    pub wait_for_events: Duration,
    /// How long writes under way may take to end after a stop.
    pub drain: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { writes: 16, write_rate: None, wait_for_events: Duration::from_secs(30), drain: Duration::from_secs(10) }
    }
}

/// Changes taken in at one go before the next write is started.
const BATCH: usize = 512;
/// What the API server will never take (too large, invalid, against a policy) is tried again after so many seconds, lest it
/// be lost when an administrator has changed that; whatever is new of it is tried at once.
const REFUSED_PAUSE: i64 = 900;
/// What no role grants is tried again after so many seconds.
const NOT_GRANTED_PAUSE: i64 = 300;
/// Gauges are counted anew so often at most.
const COUNT_EVERY: Duration = Duration::from_secs(2);

pub struct Engine<C> {
    world: World,
    outbox: Outbox,
    cluster: C,
    metrics: Metrics,
    leadership: Leadership,
    role: Role,
    pace: Pace,
    changes: mpsc::Receiver<Change>,
    tasks: JoinSet<Done>,
    /// What each task is for, so that one that dies does not leave its subject in flight for ever.
    purposes: HashMap<Id, Purpose>,
    slots: Slots,
    /// To be looked up, in their order.
    wanted: VecDeque<Want>,
    budget: Budget,
    clock: Clock,
    /// When the change came that a subject waits for.
    observed: HashMap<Subject, Instant>,
    started: Instant,
    counted: Option<Instant>,
    /// Everything was listed once, and that was logged.
    in_sync: bool,
}

/// The time of day.
type Clock = Box<dyn Fn() -> Timestamp + Send>;

/// What a task that runs beside the engine is for.
#[derive(Debug)]
enum Purpose {
    Write { subject: Subject, lane: Lane, key: Option<DiagnosisKey> },
    Reread { subject: Subject },
    Look { want: Want },
    Tell,
    TakeOver,
}

/// The end of something that ran beside the engine.
enum Done {
    Wrote { subject: Subject, lane: Lane, intent: Box<Intent>, result: Result<Published, PublishError> },
    Reread { subject: Subject, key: DiagnosisKey, result: Result<Option<Current>, PublishError> },
    Looked { want: Want, result: Result<Looked, LookupError> },
    Told { key: DiagnosisKey, transition: u32, lost: bool },
    ReadBack { term: u64 },
}

impl<C> std::fmt::Debug for Engine<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("pods", &self.world.pods_watched()).finish_non_exhaustive()
    }
}

impl<C: Cluster> Engine<C> {
    /// One that leads for good, unless it is [`Self::elected`].
    pub fn new(world: World, cluster: C, metrics: Metrics, pace: Pace, changes: mpsc::Receiver<Change>) -> Self {
        let mut world = world;
        world.await_answers();
        Self {
            world,
            outbox: Outbox::default(),
            cluster,
            metrics,
            leadership: Leadership::always(),
            role: Role::Leading { term: 0 },
            pace,
            changes,
            tasks: JoinSet::new(),
            purposes: HashMap::new(),
            slots: Slots::new(pace.writes),
            wanted: VecDeque::new(),
            budget: Budget::new(pace.write_rate, monotonic()),
            clock: Box::new(precise_clock),
            observed: HashMap::new(),
            started: monotonic(),
            counted: None,
            in_sync: false,
        }
    }

    fn spawn(&mut self, purpose: Purpose, task: impl Future<Output = Done> + Send + 'static) -> AbortHandle {
        let task = self.tasks.spawn(task);
        self.purposes.insert(task.id(), purpose);
        task
    }

    /// In whole seconds, as all times in objects are.
    fn now(&self) -> Timestamp {
        Timestamp::from_second((self.clock)().as_second()).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Puts subjects into the outbox before the first change arrives: what was read back at start.
    pub fn enqueue(&mut self, touched: Touched) {
        if self.follows() {
            // All is looked at when it takes over.
            return;
        }
        for (subject, lane) in touched {
            self.outbox.push(subject, lane);
        }
    }

    /// Works until `stop` resolves or the watches end, then lets writes under way finish.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> World {
        tokio::pin!(stop);
        loop {
            self.take_role();
            self.start_writes();
            self.start_lookups();
            self.count();
            let wake = self.next_wake();
            tokio::select! {
                () = &mut stop => break,
                change = self.changes.recv() => match change {
                    Some(change) => self.absorb(change),
                    None => break,
                },
                Some(joined) = self.tasks.join_next_with_id() => self.joined(joined),
                page = Self::page(&mut self.role) => self.restore(page),
                () = self.leadership.changed() => {}
                () = tokio::time::sleep_until(wake) => {}
            }
        }
        self.drain().await;
        self.world
    }

    /// Takes in a change and whatever else has arrived.
    fn absorb(&mut self, first: Change) {
        let now = self.now();
        let mut next = Some(first);
        for _ in 0..BATCH {
            let Some(change) = next else { return };
            let touched = self.world.apply(change, now);
            self.touched(touched);
            next = self.changes.try_recv().ok();
        }
        if let Some(change) = next {
            let touched = self.world.apply(change, now);
            self.touched(touched);
        }
    }

    fn touched(&mut self, touched: Touched) {
        if !self.follows() {
            for (subject, _) in touched.iter().filter(|(_, lane)| *lane != Lane::Resync) {
                self.observed.entry(subject.clone()).or_insert_with(monotonic);
            }
        }
        self.enqueue(touched);
    }

    /// Nothing is written before everything is known that a diagnosis may hang on.
    fn may_write(&self) -> bool {
        let events = self.world.is_listed(Source::Events) || self.started.elapsed() >= self.pace.wait_for_events;
        let needed = [Source::Objects(DiagnosisKind::Pod), Source::Nodes, Source::Pods];
        self.leads() && needed.iter().all(|source| self.world.is_listed(*source)) && events
    }

    fn start_writes(&mut self) {
        if !self.may_write() {
            return;
        }
        if !std::mem::replace(&mut self.in_sync, true) {
            let (pods, nodes) = (self.world.pods_watched(), self.world.nodes().len());
            tracing::info!(pods, nodes, "in sync; diagnosing");
        }
        let now = self.now();
        // Deciding is quick, but not free: after a batch the changes get their turn.
        for _ in 0..BATCH {
            let open = self.slots.open(monotonic()).filter(|_| self.budget.next(monotonic()).is_none());
            let Some(last) = open else { return };
            let Some((subject, lane)) = self.outbox.pop(last, now) else { return };
            self.start(subject, lane, now);
        }
    }

    fn start(&mut self, subject: Subject, lane: Lane, now: Timestamp) {
        let decision = self.world.decide(&subject, now);
        self.enqueue(decision.touched);
        if decision.folded {
            self.metrics.folded_event();
        }
        self.wanted.extend(decision.wants);
        if let Some(at) = decision.plan.wake {
            self.outbox.wake_at(subject.clone(), at);
        }
        let Some(intent) = decision.plan.intent else {
            self.observed.remove(&subject);
            self.outbox.done(&subject);
            return;
        };
        let cluster = self.cluster.clone();
        self.slots.take(lane, monotonic());
        self.budget.spend(requests_of(&intent));
        let purpose = Purpose::Write { subject: subject.clone(), lane, key: object_of(&intent) };
        self.spawn(purpose, async move {
            let result = cluster.publish(&intent).await;
            Done::Wrote { subject, lane, intent: Box::new(intent), result }
        });
    }

    fn start_lookups(&mut self) {
        while self.slots.may_look(monotonic()) {
            let Some(want) = self.wanted.pop_front() else { return };
            let cluster = self.cluster.clone();
            self.slots.looks();
            self.spawn(Purpose::Look { want: want.clone() }, async move {
                let result = cluster.look(&want).await;
                Done::Looked { want, result }
            });
        }
    }

    fn joined(&mut self, joined: Result<(Id, Done), JoinError>) {
        match joined {
            Ok((id, done)) => {
                self.purposes.remove(&id);
                self.finish(done);
            }
            Err(error) => self.died(&error),
        }
    }

    /// A task has panicked: a bug, of which only its own subject feels something.
    fn died(&mut self, error: &JoinError) {
        let Some(purpose) = self.purposes.remove(&error.id()) else { return };
        if error.is_cancelled() {
            // By whoever started it.
            return;
        }
        tracing::error!(?purpose, %error, "a task has died; this is a bug, please report it");
        let now = self.now();
        match purpose {
            Purpose::Write { subject, lane, key } => {
                self.slots.give_back(lane);
                self.not_written(key.as_ref());
                self.outbox.retry(&subject, now, None);
            }
            Purpose::Reread { subject } => self.outbox.retry(&subject, now, None),
            Purpose::Look { want } => {
                self.slots.looked();
                let touched = self.world.not_looked_up(&want);
                self.enqueue(touched);
            }
            Purpose::Tell => self.metrics.lost_events(1),
            // As if it had lost the election: it tries again.
            Purpose::TakeOver => self.step_down(),
        }
    }

    fn finish(&mut self, done: Done) {
        match done {
            Done::Wrote { subject, lane, intent, result } => {
                self.slots.give_back(lane);
                match result {
                    Ok(published) => self.written(&subject, *intent, &published),
                    Err(error) => self.refused(&subject, &intent, error),
                }
            }
            Done::Reread { subject, key, result } => {
                if let Ok(current) = result {
                    let touched = self.world.conflicted(&key, current.map(|c| (c.uid, c.resource_version)));
                    self.enqueue(touched);
                }
                self.outbox.retry(&subject, self.now(), None);
            }
            Done::Looked { want, result } => {
                self.slots.looked();
                let touched = match result {
                    Ok(looked) => self.world.apply(Change::Looked { want, looked }, self.now()),
                    // Its diagnosis stands without until then.
                    Err(error) => {
                        tracing::debug!(?want, %error, "could not look up what surrounds a pod; asking again later");
                        self.world.not_looked_up(&want)
                    }
                };
                self.enqueue(touched);
            }
            Done::Told { lost: true, .. } => self.metrics.lost_events(1),
            Done::Told { key, transition, lost: false } => self.world.announced(&key, transition),
            Done::ReadBack { term } => self.read_back(term),
        }
    }

    fn written(&mut self, subject: &Subject, intent: Intent, published: &Published) {
        if let Some(since) = self.observed.remove(subject) {
            self.metrics.wrote_after(since.elapsed());
        }
        match intent {
            Intent::Apply(mut write) => {
                let owed = write.announcement.take();
                self.log(&write);
                let now = self.now();
                let key = DiagnosisKey::of_pod(write.key.clone());
                let touched =
                    self.world.acknowledged(&write, published.uid.clone(), published.resource_version.clone(), now);
                self.enqueue(touched);
                self.announced_with(published, key, write.status.transition, owed);
            }
            Intent::ApplyOuter(mut write) => {
                let owed = write.announcement.take();
                self.log_outer(&write);
                let now = self.now();
                let (key, transition) = (write.key.clone(), write.object.head().transition);
                let touched = self.world.outer_acknowledged(
                    &write,
                    published.uid.clone(),
                    published.resource_version.clone(),
                    now,
                );
                self.enqueue(touched);
                self.announced_with(published, key, transition, owed);
            }
            Intent::Delete { key, .. } => {
                if matches!(subject, Subject::Stray { .. }) {
                    tracing::warn!(object = %key, "removed a diagnosis that this operator has not written");
                }
                let touched = self.world.removed(&key);
                self.enqueue(touched);
            }
            Intent::Announce(announcement) => self.told(subject, &announcement.key),
            Intent::Annotate(annotation) => {
                let now = self.now();
                let touched = self.world.annotated(subject, &annotation, now);
                self.enqueue(touched);
            }
        }
        self.outbox.done(subject);
    }

    /// The Event of a write is there, or is still to be posted.
    fn announced_with(
        &mut self,
        published: &Published,
        key: DiagnosisKey,
        transition: u32,
        owed: Option<Announcement>,
    ) {
        match owed {
            Some(announcement) if !published.announced => self.announce_later(key, transition, announcement),
            _ => self.world.announced(&key, transition),
        }
    }

    fn log_outer(&self, write: &OuterWrite) {
        let head = write.object.head();
        let before = self.world.outer(&write.key).map(|brief| brief.transition);
        if before != Some(head.transition) {
            tracing::info!(
                object = %write.key,
                state = head.state.as_str(),
                cause = head.cause,
                severity = head.severity.as_str(),
                summary = head.summary,
                "the diagnosis changes"
            );
        }
    }

    /// A line for each transition, for those who read the operator's log.
    fn log(&self, write: &ObjectWrite) {
        let status = &write.status;
        let before = self.world.record(&write.key).filter(|r| *r.pod_uid == *write.spec.pod_uid);
        if before.is_some_and(|record| record.transition == status.transition) {
            return;
        }
        tracing::info!(
            object = %write.key,
            state = status.state.as_str(),
            cause = status.cause,
            container = status.container,
            severity = status.severity.as_str(),
            summary = status.summary,
            "the diagnosis changes"
        );
    }

    /// An Event without a write is there, or will never be.
    fn told(&mut self, subject: &Subject, event: &ObjectKey) {
        match subject {
            Subject::Node(name) => self.world.outer_owed_is_there(&DiagnosisKey::of_node(name)),
            Subject::Workload(key) => self.world.outer_owed_is_there(&DiagnosisKey::of_workload(key)),
            Subject::Object(key) => self.world.owed_is_there(key, event),
            Subject::Pod(uid) => self.world.announced_without_object(uid),
            Subject::Services(_) | Subject::Annotation(_) | Subject::Stray { .. } => {}
        }
    }

    /// Posts an Event that its write could not: three times, then it is counted as lost.
    fn announce_later(&mut self, key: DiagnosisKey, transition: u32, announcement: Announcement) {
        const PAUSES: [u64; 3] = [2, 10, 60];
        let cluster = self.cluster.clone();
        self.spawn(Purpose::Tell, async move {
            let intent = Intent::Announce(Box::new(announcement));
            for pause in PAUSES {
                tokio::time::sleep(Duration::from_secs(pause)).await;
                match cluster.publish(&intent).await {
                    // Nobody is left to read it where the namespace goes.
                    Ok(_) | Err(PublishError::NamespaceGone) => return Done::Told { key, transition, lost: false },
                    Err(_) => {}
                }
            }
            Done::Told { key, transition, lost: true }
        });
    }

    fn not_written(&mut self, key: Option<&DiagnosisKey>) {
        let touched = key.map(|key| self.world.not_written(key)).unwrap_or_default();
        self.enqueue(touched);
    }

    fn refused(&mut self, subject: &Subject, intent: &Intent, error: PublishError) {
        let now = self.now();
        let object = object_of(intent);
        self.not_written(object.as_ref());
        match (error, object) {
            // Another version is there by now, of which the watch tells.
            (PublishError::Conflict, _) if matches!(subject, Subject::Stray { .. }) => self.outbox.done(subject),
            (PublishError::Conflict, Some(key)) => {
                let cluster = self.cluster.clone();
                let subject = subject.clone();
                self.spawn(Purpose::Reread { subject: subject.clone() }, async move {
                    let result = cluster.current(&key).await;
                    Done::Reread { subject, key, result }
                });
            }
            (PublishError::NamespaceGone, object) => {
                // Its pods and our objects go with it, and whoever would read an Event.
                if let Some(key) = object {
                    self.world.namespace_gone(&key, now);
                }
                if let Intent::Announce(announcement) = intent {
                    self.told(subject, &announcement.key);
                }
                self.observed.remove(subject);
                self.outbox.done(subject);
            }
            (PublishError::NotGranted(why), _) => {
                if let Intent::Annotate(annotation) = intent
                    && self.world.may_not_annotate(&annotation.object, now)
                {
                    tracing::warn!(kind = %annotation.object.kind, namespace = %annotation.object.key.namespace, why, "may not annotate");
                }
                self.outbox.retry(subject, now, Some(NOT_GRANTED_PAUSE));
            }
            // It steps down in a moment, and forgets all that waits.
            (PublishError::NotLeading, _) => self.outbox.retry(subject, now, None),
            (PublishError::TooManyRequests { retry_after }, _) => {
                self.budget.pause(retry_after, monotonic());
                let seconds = retry_after.map(|d| i64::try_from(d.as_secs()).unwrap_or(i64::MAX));
                self.outbox.retry(subject, now, seconds);
            }
            (error, _) if !error.is_retryable() => {
                tracing::error!(?subject, %error, "the API server refuses this write for good");
                if let Intent::Announce(announcement) = intent {
                    self.metrics.lost_events(1);
                    self.told(subject, &announcement.key);
                } else {
                    self.outbox.wake_at(subject.clone(), after(now, REFUSED_PAUSE));
                }
                self.observed.remove(subject);
                self.outbox.done(subject);
            }
            (error, _) => {
                tracing::warn!(?subject, %error, "could not write; trying again");
                self.outbox.retry(subject, now, None);
            }
        }
    }

    /// Lets writes under way end. What has not been started is found again after the next start.
    async fn drain(&mut self) {
        let deadline = monotonic() + self.pace.drain;
        while self.slots.writing() > 0 {
            match tokio::time::timeout_at(deadline, self.tasks.join_next_with_id()).await {
                Ok(Some(joined)) => self.joined(joined),
                Ok(None) | Err(_) => break,
            }
        }
        tracing::info!(unfinished = self.slots.writing(), "stopped");
    }

    fn next_wake(&mut self) -> Instant {
        let now = monotonic();
        // While nothing may be started, what is ready or due waits for a write to end and not for the clock.
        let open = self.slots.open(now).filter(|_| self.may_write());
        let sweep = now + COUNT_EVERY;
        if let Some(next) = self.budget.next(now) {
            return next.min(sweep);
        }
        if open.is_some_and(|last| self.outbox.has_ready(last)) {
            return now;
        }
        let timer = self.outbox.next_wake().filter(|_| open.is_some()).map(|at| {
            let wait = at.as_millisecond().saturating_sub((self.clock)().as_millisecond()).max(0);
            now + Duration::from_millis(u64::try_from(wait).unwrap_or(0))
        });
        timer.unwrap_or(sweep).min(sweep)
    }

    fn count(&mut self) {
        if self.counted.is_some_and(|at| at.elapsed() < COUNT_EVERY) {
            return;
        }
        self.counted = Some(monotonic());
        self.metrics.set_watched(self.world.pods_watched(), self.world.nodes().len());
        self.metrics.set_active(if self.leads() { self.active() } else { BTreeMap::new() });
        self.metrics.set_unrecorded(self.world.beyond_caps());
        let own = [
            ("outbox", self.outbox.kept()),
            ("observed", self.observed.len()),
            ("tasks", self.purposes.len()),
            ("wanted", self.wanted.len()),
        ];
        for (what, entries) in self.world.kept().into_iter().chain(own) {
            self.metrics.set_kept(what, entries);
        }
        for lane in Lane::ALL {
            self.metrics.set_outbox(lane.as_str(), self.outbox.depth(lane));
        }
    }

    /// Active diagnoses, counted; of several replicas the one that leads tells.
    fn active(&self) -> BTreeMap<ActiveKey, u64> {
        let mut active: BTreeMap<ActiveKey, u64> = BTreeMap::new();
        for record in self.world.records().filter(|r| r.state == DiagnosisState::Active) {
            let key = ActiveKey {
                kind: DiagnosisKind::Pod,
                namespace: record.key.namespace.clone(),
                cause: record.cause.to_string(),
                severity: record.severity,
            };
            *active.entry(key).or_default() += 1;
        }
        for (key, brief) in self.world.outers_acknowledged().filter(|(_, brief)| brief.state == DiagnosisState::Active)
        {
            let key = ActiveKey {
                kind: key.kind,
                namespace: key.object.namespace.clone(),
                cause: brief.cause.to_string(),
                severity: brief.severity,
            };
            *active.entry(key).or_default() += 1;
        }
        active
    }
}

/// The one place where the operator reads the time of day.
#[allow(clippy::disallowed_methods, reason = "from here on `now` is passed")]
fn precise_clock() -> Timestamp {
    Timestamp::now()
}

/// The object that an intent writes.
fn object_of(intent: &Intent) -> Option<DiagnosisKey> {
    match intent {
        Intent::Apply(write) => Some(DiagnosisKey::of_pod(write.key.clone())),
        Intent::ApplyOuter(write) => Some(write.key.clone()),
        Intent::Delete { key, .. } => Some(key.clone()),
        Intent::Announce(_) | Intent::Annotate(_) => None,
    }
}

/// How many requests an intent takes.
fn requests_of(intent: &Intent) -> u32 {
    let owes = match intent {
        Intent::Apply(write) => write.announcement.is_some(),
        Intent::ApplyOuter(write) => write.announcement.is_some(),
        Intent::Delete { .. } | Intent::Announce(_) | Intent::Annotate(_) => false,
    };
    1 + u32::from(owes)
}

fn monotonic() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests;
