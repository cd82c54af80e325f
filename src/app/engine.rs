//! The engine: takes in changes, decides what to write, and starts the writes. It never awaits a write itself.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::time::Duration;

use shindan_core::api::{DiagnosisKind, DiagnosisState};
use shindan_core::facts::{Lookup, LookupResult, ObjectKey, Timestamp, after};
use shindan_core::outbox::{Lane, Outbox, Subject};
use shindan_core::reconcile::{Announcement, DiagnosisKey, Intent, Write};
use shindan_core::state::{Change, Source, Touched, World};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::Instant;

use crate::cluster::lease::Leadership;
use crate::cluster::lookup::LookupError;
use crate::cluster::publish::{Current, PublishError, Published};
use crate::cluster::restore::Restored;
use crate::metrics::{ActiveKey, Metrics};
use crate::notify::{self, Mark};
use crate::telemetry::STEPS;

mod budget;
mod role;
mod slots;

use budget::Budget;
use role::Role;
use slots::Slots;

/// Requests that the engine makes to the cluster.
pub trait Cluster: Clone + Send + Sync + 'static {
    fn publish(&self, intent: &Intent) -> impl Future<Output = Result<Published, PublishError>> + Send;
    fn current(&self, key: &DiagnosisKey) -> impl Future<Output = Result<Option<Current>, PublishError>> + Send;
    fn look(&self, lookup: &Lookup) -> impl Future<Output = Result<LookupResult, LookupError>> + Send;
    /// Sets or removes the annotation that notes which receivers know of an incident. `None`: the object does not exist.
    fn mark(
        &self,
        key: &DiagnosisKey,
        text: Option<&str>,
    ) -> impl Future<Output = Result<Option<Current>, PublishError>> + Send;
    /// Reads all our own objects, however long it takes.
    fn restore(&self, pages: mpsc::Sender<Restored>) -> impl Future<Output = ()> + Send;
}

/// Limits on the speed of the engine.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Maximum number of concurrent writes.
    pub writes: usize,
    /// Maximum write requests per second. `None`: no limit but that of the API server.
    pub write_rate: Option<u32>,
    /// How long the first list of Events may delay the first write.
    pub wait_for_events: Duration,
    /// How long writes in progress may take to complete after a stop.
    pub drain: Duration,
    /// Minimum time between two updates of the gauges.
    pub gauges: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            writes: 16,
            write_rate: None,
            wait_for_events: Duration::from_secs(30),
            drain: Duration::from_secs(10),
            gauges: Duration::from_secs(2),
        }
    }
}

/// Maximum changes applied before the next write is started.
const BATCH: usize = 512;
/// Seconds until the retry of a write that the API server rejected permanently (too large, invalid, denied by a
/// policy). An administrator may have fixed the reason by then. A new change of the subject is written without this
/// delay.
const REFUSED_PAUSE: i64 = 900;
/// Seconds until the retry of a write that RBAC does not allow.
const NOT_GRANTED_PAUSE: i64 = 300;
pub struct Engine<C> {
    pub world: World,
    outbox: Outbox,
    cluster: C,
    metrics: Metrics,
    leadership: Leadership,
    role: Role,
    pace: Pace,
    changes: mpsc::Receiver<Change>,
    tasks: JoinSet<Done>,
    /// Purpose of each task, so that a task that panics does not leave its subject in flight forever.
    purposes: HashMap<Id, Purpose>,
    slots: Slots,
    /// Lookups that have not started, in order.
    pending_lookups: VecDeque<Lookup>,
    budget: Budget,
    clock: Clock,
    /// When the first change arrived that is not yet written, by subject.
    observed: HashMap<Subject, Instant>,
    started: Instant,
    counted: Option<Instant>,
    /// Whether all sources have been listed once, and this was logged.
    in_sync: bool,
    notifications: Option<Notifications>,
}

/// The link to the task that sends notifications.
#[derive(Debug)]
struct Notifications {
    handle: notify::Handle,
    marks: mpsc::Receiver<Mark>,
}

/// Source of the wall-clock time.
type Clock = Box<dyn Fn() -> Timestamp + Send>;

/// Purpose of a task that runs concurrently with the engine.
#[derive(Debug)]
enum Purpose {
    Write { subject: Subject, lane: Lane, key: Option<DiagnosisKey> },
    Reread { subject: Subject },
    Look { lookup: Lookup },
    PostEvent,
    Mark { key: DiagnosisKey },
    BecomeLeader,
}

/// Result of a task that ran concurrently with the engine.
enum Done {
    Wrote { subject: Subject, lane: Lane, intent: Box<Intent>, result: Result<Published, PublishError> },
    Reread { subject: Subject, key: DiagnosisKey, result: Result<Option<Current>, PublishError> },
    LookupResult { lookup: Lookup, result: Result<LookupResult, LookupError> },
    PostedEvent { key: DiagnosisKey, transition: u32, lost: bool },
    Marked { key: DiagnosisKey, current: Option<Current> },
    ObjectsRead { term: u64 },
}

impl<C> std::fmt::Debug for Engine<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("pods", &self.world.cluster.pods_watched()).finish_non_exhaustive()
    }
}

impl<C: Cluster> Engine<C> {
    /// An engine that always leads, unless [`Self::elected`] is called.
    pub fn new(world: World, cluster: C, metrics: Metrics, pace: Pace, changes: mpsc::Receiver<Change>) -> Self {
        let mut world = world;
        world.settings.await_answers();
        Self {
            world,
            outbox: Outbox::default(),
            cluster,
            metrics,
            leadership: Leadership::always(),
            role: Role::Leader { term: 0 },
            pace,
            changes,
            tasks: JoinSet::new(),
            purposes: HashMap::new(),
            slots: Slots::new(pace.writes),
            pending_lookups: VecDeque::new(),
            budget: Budget::new(pace.write_rate, monotonic()),
            clock: Box::new(precise_clock),
            observed: HashMap::new(),
            started: monotonic(),
            counted: None,
            in_sync: false,
            notifications: None,
        }
    }

    /// Hands acknowledged diagnoses to `handle`, and writes its marks. Called after [`Self::elected`].
    #[must_use]
    pub fn notifying(mut self, handle: notify::Handle, marks: mpsc::Receiver<Mark>) -> Self {
        if self.leads() {
            handle.leads(true);
        } else {
            handle.reset();
        }
        self.notifications = Some(Notifications { handle, marks });
        self
    }

    fn notify(&self, news: impl FnOnce(&notify::Handle)) {
        if let Some(notifications) = &self.notifications {
            news(&notifications.handle);
        }
    }

    /// The next mark to write. Pending forever if nothing is notified.
    async fn next_mark(notifications: &mut Option<Notifications>) -> Mark {
        if let Some(notifications) = notifications
            && let Some(mark) = notifications.marks.recv().await
        {
            return mark;
        }
        std::future::pending().await
    }

    /// Writes a mark. If it fails repeatedly, a restart of the operator may repeat the message.
    fn mark(&mut self, Mark { key, text }: Mark) {
        const PAUSES: [u64; 3] = [0, 2, 10];
        if !self.leads() {
            return;
        }
        let now = self.now();
        self.world.marking(&key, now);
        let cluster = self.cluster.clone();
        self.spawn(Purpose::Mark { key: key.clone() }, async move {
            for pause in PAUSES {
                tokio::time::sleep(Duration::from_secs(pause)).await;
                match cluster.mark(&key, text.as_deref()).await {
                    Ok(current) => return Done::Marked { key, current },
                    Err(error) => tracing::debug!(object = %key, %error, "could not note what was sent"),
                }
            }
            Done::Marked { key, current: None }
        });
    }

    /// Reads the time of day from `clock`, for tests.
    #[must_use]
    pub fn with_clock(self, clock: impl Fn() -> Timestamp + Send + 'static) -> Self {
        Self { clock: Box::new(clock), ..self }
    }

    fn spawn(&mut self, purpose: Purpose, task: impl Future<Output = Done> + Send + 'static) -> AbortHandle {
        let task = self.tasks.spawn(task);
        self.purposes.insert(task.id(), purpose);
        task
    }

    /// The current time in whole seconds, like all times in our objects.
    fn now(&self) -> Timestamp {
        Timestamp::from_second((self.clock)().as_second()).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Queues subjects. Before [`Self::run`], these are the subjects of the objects restored at the start.
    pub fn enqueue(&mut self, touched: Touched) {
        if self.is_standby() {
            // A standby queues nothing: every subject is evaluated when this replica becomes the leader.
            return;
        }
        for (subject, lane) in touched {
            let stream = self.world.stream(&subject, lane);
            self.outbox.push_in(stream, subject, lane);
        }
    }

    /// Runs until `stop` resolves or the watches end, then lets writes in progress complete.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> World {
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                goes_on = self.turn() => if !goes_on { break },
            }
        }
        self.drain().await;
        self.world
    }

    /// Starts what is due and waits for one event. Returns whether the watches go on. It may be dropped at any time.
    pub async fn turn(&mut self) -> bool {
        self.follow_election();
        self.start_writes();
        self.start_lookups();
        self.count();
        let wake = self.next_wake();
        tokio::select! {
            change = self.changes.recv() => match change {
                Some(change) => self.absorb(change),
                None => return false,
            },
            Some(joined) = self.tasks.join_next_with_id() => self.joined(joined),
            page = Self::page(&mut self.role) => self.restore(page),
            mark = Self::next_mark(&mut self.notifications) => self.mark(mark),
            () = self.leadership.changed() => {}
            () = tokio::time::sleep_until(wake) => {}
        }
        true
    }

    /// Applies a change and others that have arrived, up to [`BATCH`], or up to a new failure that may be written now.
    fn absorb(&mut self, first: Change) {
        let now = self.now();
        let mut next = Some(first);
        for _ in 0..BATCH {
            let Some(change) = next.take().or_else(|| self.changes.try_recv().ok()) else { return };
            let touched = self.world.apply(change, now);
            let mut fails = false;
            for (subject, _) in touched.iter().filter(|(_, lane)| *lane == Lane::NewFailure) {
                fails = true;
                reached("applied", subject);
            }
            self.touched(touched);
            if fails && self.slots.open(monotonic()).is_some() {
                return;
            }
        }
    }

    fn touched(&mut self, touched: Touched) {
        if !self.is_standby() {
            for (subject, _) in touched.iter().filter(|(_, lane)| *lane != Lane::Resync) {
                self.observed.entry(subject.clone()).or_insert_with(monotonic);
            }
        }
        self.enqueue(touched);
    }

    /// Whether writing is allowed: this replica leads, and everything that a diagnosis may depend on is listed.
    fn may_write(&self) -> bool {
        let events =
            self.world.cluster.is_listed(Source::Events) || self.started.elapsed() >= self.pace.wait_for_events;
        let needed = [Source::Objects(DiagnosisKind::Pod), Source::Nodes, Source::Pods];
        self.leads() && needed.iter().all(|source| self.world.cluster.is_listed(*source)) && events
    }

    fn start_writes(&mut self) {
        if !self.may_write() {
            return;
        }
        if !std::mem::replace(&mut self.in_sync, true) {
            let (pods, nodes) = (self.world.cluster.pods_watched(), self.world.cluster.nodes().len());
            tracing::info!(pods, nodes, "in sync; diagnosing");
        }
        let now = self.now();
        // Decisions take time too: after a batch, pending changes are applied first.
        for _ in 0..BATCH {
            let open = self.slots.open(monotonic()).filter(|_| self.budget.next(monotonic()).is_none());
            let Some(last) = open else { return };
            let Some((subject, lane)) = self.outbox.pop(last, now) else { return };
            self.start(subject, lane, now);
        }
    }

    fn start(&mut self, subject: Subject, lane: Lane, now: Timestamp) {
        reached("decide", &subject);
        let decision = self.world.decide(&subject, now);
        reached("decided", &subject);
        self.enqueue(decision.touched);
        if decision.aggregated {
            self.metrics.aggregated_event();
        }
        self.pending_lookups.extend(decision.needed_lookups);
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
        while self.slots.may_look_up(monotonic()) {
            let Some(lookup) = self.pending_lookups.pop_front() else { return };
            let cluster = self.cluster.clone();
            self.slots.take_lookup();
            self.spawn(Purpose::Look { lookup: lookup.clone() }, async move {
                let result = cluster.look(&lookup).await;
                Done::LookupResult { lookup, result }
            });
        }
    }

    fn joined(&mut self, joined: Result<(Id, Done), JoinError>) {
        match joined {
            Ok((id, done)) => {
                self.purposes.remove(&id);
                self.finish(done);
            }
            Err(error) => self.task_panicked(&error),
        }
    }

    /// Handles a task that panicked. This is a bug, and it affects only the subject of the task.
    fn task_panicked(&mut self, error: &JoinError) {
        let Some(purpose) = self.purposes.remove(&error.id()) else { return };
        if error.is_cancelled() {
            // The code that started the task has cancelled it.
            return;
        }
        tracing::error!(?purpose, %error, "a task panicked; this is a bug, please report it");
        let now = self.now();
        match purpose {
            Purpose::Write { subject, lane, key } => {
                self.slots.release(lane);
                self.not_written(key.as_ref());
                self.outbox.retry(&subject, now, None);
            }
            Purpose::Reread { subject } => self.outbox.retry(&subject, now, None),
            Purpose::Look { lookup } => {
                self.slots.release_lookup();
                let touched = self.world.cluster.lookup_failed(&lookup);
                self.enqueue(touched);
            }
            Purpose::PostEvent => self.metrics.lost_events(1),
            Purpose::Mark { key } => self.marked(&key, None),
            // Step down as after a lost election. The next turn tries again.
            Purpose::BecomeLeader => self.step_down(),
        }
    }

    fn finish(&mut self, done: Done) {
        match done {
            Done::Wrote { subject, lane, intent, result } => {
                self.slots.release(lane);
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
            Done::LookupResult { lookup, result } => {
                self.slots.release_lookup();
                let touched = match result {
                    Ok(result) => self.world.apply(Change::LookupResult { lookup, result }, self.now()),
                    // The diagnosis is written without the lookup until then.
                    Err(error) => {
                        tracing::debug!(?lookup, %error, "lookup failed; will retry later");
                        self.world.cluster.lookup_failed(&lookup)
                    }
                };
                self.enqueue(touched);
            }
            Done::PostedEvent { lost: true, .. } => self.metrics.lost_events(1),
            Done::PostedEvent { key, transition, lost: false } => self.world.reported.announced(&key, transition),
            Done::Marked { key, current } => self.marked(&key, current),
            Done::ObjectsRead { term } => self.objects_read(term),
        }
    }

    fn marked(&mut self, key: &DiagnosisKey, current: Option<Current>) {
        let touched = self.world.marked(key, current.map(|current| current.resource_version));
        self.enqueue(touched);
    }

    fn written(&mut self, subject: &Subject, intent: Intent, published: &Published) {
        if let Some(since) = self.observed.remove(subject) {
            self.metrics.wrote_after(since.elapsed());
        }
        match intent {
            Intent::Apply(write) => {
                self.log(&write);
                self.notify(|handle| handle.written(&write.key, &write.object));
                let now = self.now();
                let (uid, resource_version) = (published.uid.clone(), published.resource_version.clone());
                let touched = self.world.acknowledged(&write, uid, resource_version, now);
                self.enqueue(touched);
                let transition = write.object.head().transition;
                self.announced_with(published, write.key, transition, write.announcement);
            }
            Intent::Delete { key, .. } => {
                if matches!(subject, Subject::UnknownObject(_)) {
                    tracing::warn!(object = %key, "removed a diagnosis that this operator has not written");
                }
                self.notify(|handle| handle.removed(&key));
                let touched = self.world.removed(&key);
                self.enqueue(touched);
            }
            Intent::Announce(announcement) => self.event_settled(subject, &announcement.key),
            Intent::Annotate(annotation) => {
                let now = self.now();
                let touched = self.world.reported.annotations.annotated(subject, &annotation, now);
                self.enqueue(touched);
            }
        }
        self.outbox.done(subject);
    }

    /// Records that the Event of a write was posted, or schedules its retry.
    fn announced_with(
        &mut self,
        published: &Published,
        key: DiagnosisKey,
        transition: u32,
        owed: Option<Announcement>,
    ) {
        match owed {
            Some(announcement) if !published.announced => self.announce_later(key, transition, announcement),
            _ => self.world.reported.announced(&key, transition),
        }
    }

    /// Logs each transition of a diagnosis.
    fn log(&self, write: &Write) {
        let head = write.object.head();
        let before =
            self.world.reported.summary_entry(&write.key).filter(|r| *r.subject_uid == *write.object.subject_uid());
        if before.is_some_and(|before| before.transition == head.transition) {
            return;
        }
        tracing::info!(
            object = %write.key,
            state = head.state.as_str(),
            cause = head.cause,
            container = write.object.container(),
            severity = head.severity.as_str(),
            summary = head.summary,
            "the diagnosis changes"
        );
    }

    /// Records that the Event of an intent without a write was posted, or never will be.
    fn event_settled(&mut self, subject: &Subject, event: &ObjectKey) {
        match subject {
            Subject::Node(name) => self.world.reported.owed_is_there(&DiagnosisKey::of_node(name), event),
            Subject::Workload(key) => self.world.reported.owed_is_there(&DiagnosisKey::of_workload(key), event),
            Subject::Object(key) => {
                self.world.reported.owed_is_there(&DiagnosisKey::of_pod(ObjectKey::clone(key)), event);
            }
            Subject::Pod(uid) => self.world.reported.announced_without_object(uid),
            Subject::Services(_) | Subject::Annotation(_) | Subject::UnknownObject(_) => {}
        }
    }

    /// Retries to post an Event that failed after its write. After three tries the Event is counted as lost.
    fn announce_later(&mut self, key: DiagnosisKey, transition: u32, announcement: Announcement) {
        const PAUSES: [u64; 3] = [2, 10, 60];
        let cluster = self.cluster.clone();
        self.spawn(Purpose::PostEvent, async move {
            let intent = Intent::Announce(Box::new(announcement));
            for pause in PAUSES {
                tokio::time::sleep(Duration::from_secs(pause)).await;
                match cluster.publish(&intent).await {
                    // In a namespace that is being deleted the Event has no reader.
                    Ok(_) | Err(PublishError::NamespaceGone) => {
                        return Done::PostedEvent { key, transition, lost: false };
                    }
                    Err(_) => {}
                }
            }
            Done::PostedEvent { key, transition, lost: true }
        });
    }

    fn not_written(&mut self, key: Option<&DiagnosisKey>) {
        let touched = key.map(|key| self.world.reported.not_written(key)).unwrap_or_default();
        self.enqueue(touched);
    }

    fn refused(&mut self, subject: &Subject, intent: &Intent, error: PublishError) {
        let now = self.now();
        let object = object_of(intent);
        self.not_written(object.as_ref());
        match (error, object) {
            // The object has changed since. The watch delivers the new version.
            (PublishError::Conflict, _) if matches!(subject, Subject::UnknownObject(_)) => {
                self.outbox.done(subject);
            }
            (PublishError::Conflict, Some(key)) => {
                let cluster = self.cluster.clone();
                let subject = subject.clone();
                self.spawn(Purpose::Reread { subject: subject.clone() }, async move {
                    let result = cluster.current(&key).await;
                    Done::Reread { subject, key, result }
                });
            }
            (PublishError::NamespaceGone, object) => {
                // The pods, our objects and the Events of the namespace are deleted with it.
                if let Some(key) = object {
                    self.notify(|handle| handle.removed(&key));
                    self.world.namespace_gone(&key, now);
                }
                if let Intent::Announce(announcement) = intent {
                    self.event_settled(subject, &announcement.key);
                }
                self.observed.remove(subject);
                self.outbox.done(subject);
            }
            (PublishError::NotGranted(why), _) => {
                if let Intent::Annotate(annotation) = intent
                    && self.world.reported.annotations.may_not_annotate(&annotation.object, now)
                {
                    tracing::warn!(kind = %annotation.object.kind, namespace = %annotation.object.key.namespace, why, "may not annotate");
                }
                self.outbox.retry(subject, now, Some(NOT_GRANTED_PAUSE));
            }
            // This replica is about to step down, and clears its queue then.
            (PublishError::NotLeading, _) => self.outbox.retry(subject, now, None),
            (PublishError::TooManyRequests { retry_after }, _) => {
                self.budget.pause(retry_after, monotonic());
                let seconds = retry_after.map(|d| i64::try_from(d.as_secs()).unwrap_or(i64::MAX));
                self.outbox.retry(subject, now, seconds);
            }
            (error, _) if !error.is_retryable() => {
                tracing::error!(?subject, %error, "the API server rejects this write permanently");
                if let Intent::Announce(announcement) = intent {
                    self.metrics.lost_events(1);
                    self.event_settled(subject, &announcement.key);
                } else {
                    self.outbox.wake_at(subject.clone(), after(now, REFUSED_PAUSE));
                }
                self.observed.remove(subject);
                self.outbox.done(subject);
            }
            (error, _) => {
                tracing::warn!(?subject, %error, "could not write; retrying");
                self.outbox.retry(subject, now, None);
            }
        }
    }

    /// Waits for writes in progress. Writes that have not started are found again after the next start.
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
        // If no write may start, the end of a write wakes the engine, not the clock.
        let open = self.slots.open(now).filter(|_| self.may_write());
        let gauges_due = now + self.pace.gauges;
        if let Some(next) = self.budget.next(now) {
            return next.min(gauges_due);
        }
        if open.is_some_and(|last| self.outbox.has_ready(last)) {
            return now;
        }
        let timer = self.outbox.next_wake().filter(|_| open.is_some()).map(|at| {
            let wait = at.as_millisecond().saturating_sub((self.clock)().as_millisecond()).max(0);
            now + Duration::from_millis(u64::try_from(wait).unwrap_or(0))
        });
        timer.unwrap_or(gauges_due).min(gauges_due)
    }

    fn count(&mut self) {
        if self.counted.is_some_and(|at| at.elapsed() < self.pace.gauges) {
            return;
        }
        self.counted = Some(monotonic());
        self.metrics.set_watched(self.world.cluster.pods_watched(), self.world.cluster.nodes().len());
        self.metrics.set_active(if self.leads() { self.active() } else { BTreeMap::new() });
        self.metrics.set_unrecorded(self.world.reported.beyond_caps());
        for (what, entries) in self.kept() {
            self.metrics.set_kept(what, entries);
        }
        for lane in Lane::ALL {
            self.metrics.set_outbox(lane.as_str(), self.outbox.depth(lane));
        }
    }

    /// Number of entries of each collection in memory.
    pub fn kept(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let own = [
            ("outbox", self.outbox.kept()),
            ("observed", self.observed.len()),
            ("tasks", self.purposes.len()),
            ("pending_lookups", self.pending_lookups.len()),
        ];
        self.world.kept().into_iter().chain(own)
    }

    /// The numbers of active diagnoses. Only the leader exports them.
    fn active(&self) -> BTreeMap<ActiveKey, u64> {
        let mut active: BTreeMap<ActiveKey, u64> = BTreeMap::new();
        for entry in self.world.reported.summary_entries().filter(|entry| entry.state == DiagnosisState::Active) {
            let key = ActiveKey {
                kind: entry.kind,
                namespace: entry.key.namespace.clone(),
                cause: entry.cause.to_string(),
                severity: entry.severity,
            };
            *active.entry(key).or_default() += 1;
        }
        active
    }
}

/// The only place where the operator reads the wall clock.
#[allow(clippy::disallowed_methods, reason = "from here on `now` is passed")]
pub(super) fn precise_clock() -> Timestamp {
    Timestamp::now()
}

/// Logs a step of the diagnosis of a pod.
fn reached(step: &'static str, subject: &Subject) {
    if let Subject::Pod(uid) = subject {
        tracing::trace!(target: STEPS, step, %uid);
    }
}

/// Key of the object that an intent writes.
fn object_of(intent: &Intent) -> Option<DiagnosisKey> {
    match intent {
        Intent::Apply(write) => Some(write.key.clone()),
        Intent::Delete { key, .. } => Some(key.clone()),
        Intent::Announce(_) | Intent::Annotate(_) => None,
    }
}

/// Number of requests that an intent takes.
fn requests_of(intent: &Intent) -> u32 {
    let owes = match intent {
        Intent::Apply(write) => write.announcement.is_some(),
        Intent::Delete { .. } | Intent::Announce(_) | Intent::Annotate(_) => false,
    };
    1 + u32::from(owes)
}

fn monotonic() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests;
