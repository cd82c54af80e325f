//! Tests of the engine with a fake cluster that fails on demand and a simulated clock.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use shindan_core::case::Thresholds;
use shindan_core::facts::{
    ClaimsFacts, IGNORE, NEVER_READY_AFTER, Overrides, Owner, PodFacts, ReachedFacts, WorkloadFacts, WorkloadName,
};
use shindan_core::reconcile::Policy;
use shindan_core::state::{Annotate, Caps};
use shindan_core::wire::Dump;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::*;
use crate::cluster::lease::ManualElection;

mod metrics;

/// What the fake cluster does with a publish.
#[derive(Debug, Clone, Copy)]
enum Behaviour {
    Succeed,
    /// The object is written, its Event is not.
    WithoutEvent,
    Conflict,
    NamespaceGone,
    Throttle(u64),
    Invalid,
    NotGranted,
    Panic,
    Never,
    /// Takes this many seconds.
    Slow(u64),
}

#[derive(Debug, Default)]
struct Fake {
    next: Mutex<VecDeque<Behaviour>>,
    /// Intents published, with the second of the call.
    calls: Mutex<Vec<(u64, Intent)>>,
    rereads: Mutex<usize>,
    lookups: Mutex<usize>,
    lookup_panics: bool,
    /// How often our objects were read. Each read takes one second.
    restores: Mutex<usize>,
    done: Mutex<usize>,
}

type Shared = Arc<Fake>;

#[derive(Clone)]
struct FakeCluster {
    fake: Shared,
    started: Instant,
}

impl Cluster for FakeCluster {
    async fn publish(&self, intent: &Intent) -> Result<Published, PublishError> {
        self.fake.calls.lock().unwrap().push((self.started.elapsed().as_secs(), intent.clone()));
        let behaviour = self.fake.next.lock().unwrap().pop_front().unwrap_or(Behaviour::Succeed);
        let announced = match behaviour {
            Behaviour::Succeed => true,
            Behaviour::WithoutEvent if matches!(intent, Intent::Announce(_)) => {
                return Err(PublishError::Unavailable("no Events today".to_owned()));
            }
            Behaviour::WithoutEvent => false,
            Behaviour::Conflict => return Err(PublishError::Conflict),
            Behaviour::NamespaceGone => return Err(PublishError::NamespaceGone),
            Behaviour::Throttle(s) => {
                return Err(PublishError::TooManyRequests { retry_after: Some(Duration::from_secs(s)) });
            }
            Behaviour::NotGranted => return Err(PublishError::NotGranted("cannot patch resource".to_owned())),
            Behaviour::Invalid => return Err(PublishError::Invalid("no".to_owned())),
            Behaviour::Panic => panic!("a bug"),
            Behaviour::Never => std::future::pending().await,
            Behaviour::Slow(s) => {
                tokio::time::sleep(Duration::from_secs(s)).await;
                true
            }
        };
        *self.fake.done.lock().unwrap() += 1;
        Ok(Published { uid: "o".to_owned(), resource_version: "7".to_owned(), announced })
    }

    async fn current(&self, _: &DiagnosisKey) -> Result<Option<Current>, PublishError> {
        *self.fake.rereads.lock().unwrap() += 1;
        Ok(Some(Current { uid: "o".to_owned(), resource_version: "41".to_owned() }))
    }

    async fn look(&self, lookup: &Lookup) -> Result<LookupResult, LookupError> {
        *self.fake.lookups.lock().unwrap() += 1;
        assert!(!self.fake.lookup_panics, "a bug in a lookup");
        Ok(match lookup {
            Lookup::Workload(_) => LookupResult::Workload(None),
            Lookup::Services(_) => LookupResult::Services(Vec::new()),
            Lookup::Reached(_) => LookupResult::Reached(ReachedFacts::default()),
            Lookup::PodsOn(_) => LookupResult::Pods(Vec::new()),
            Lookup::Log(_) => LookupResult::Log("".into()),
            Lookup::Claims(_) => LookupResult::Claims(ClaimsFacts::default()),
            Lookup::Names(_) => LookupResult::Names([].into()),
        })
    }

    async fn mark(&self, _: &DiagnosisKey, _: Option<&str>) -> Result<Option<Current>, PublishError> {
        Ok(None)
    }

    async fn restore(&self, _: mpsc::Sender<Restored>) {
        *self.fake.restores.lock().unwrap() += 1;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

struct Running {
    fake: Shared,
    changes: Option<mpsc::Sender<Change>>,
    stop: Option<oneshot::Sender<()>>,
    engine: JoinHandle<World>,
    metrics: Metrics,
}

impl Running {
    fn start(behaviour: &[Behaviour]) -> Self {
        Self::with(Fake { next: Mutex::new(behaviour.iter().copied().collect()), ..Fake::default() })
    }

    fn with(fake: Fake) -> Self {
        Self::with_caps(fake, Caps::default())
    }

    fn with_caps(fake: Fake, caps: Caps) -> Self {
        Self::led_by(fake, World::new(Thresholds::default(), Policy::default(), caps), None)
    }

    fn led_by(fake: Fake, world: World, leadership: Option<Leadership>) -> Self {
        let fake = Arc::new(fake);
        let (sender, receiver) = mpsc::channel(64);
        let metrics = Metrics::new();
        let started = Instant::now();
        let cluster = FakeCluster { fake: fake.clone(), started };
        let mut engine = Engine::new(world, cluster, metrics.clone(), Pace::default(), receiver);
        let morning: Timestamp = "2026-11-21T09:00:00Z".parse().unwrap();
        if let Some(leadership) = leadership {
            engine = engine.elected(leadership, None);
        }
        let engine = engine.with_clock(move || {
            let elapsed = i64::try_from(started.elapsed().as_millis()).unwrap();
            Timestamp::from_millisecond(morning.as_millisecond() + elapsed).unwrap()
        });
        let (stop, stopped) = oneshot::channel();
        let engine = tokio::spawn(engine.run(async {
            let _ = stopped.await;
        }));
        Self { fake, changes: Some(sender), stop: Some(stop), engine, metrics }
    }

    async fn send(&self, change: Change) {
        self.changes.as_ref().unwrap().send(change).await.unwrap();
    }

    async fn pod(&self, pod: PodFacts) {
        self.send(Change::Pod(Box::new(pod))).await;
    }

    async fn list(&self, sources: &[Source]) {
        for source in sources {
            self.send(Change::ListStarted(*source)).await;
            self.send(Change::ListDone(*source)).await;
        }
    }

    /// Completes all lists, empty.
    async fn listed(self) -> Self {
        self.list(&Source::ALL).await;
        self
    }

    /// The seconds at which objects were applied.
    fn applies(&self) -> Vec<u64> {
        let calls = self.fake.calls.lock().unwrap();
        calls.iter().filter(|(_, intent)| matches!(intent, Intent::Apply(_))).map(|(at, _)| *at).collect()
    }

    fn announces(&self) -> Vec<u64> {
        let calls = self.fake.calls.lock().unwrap();
        calls.iter().filter(|(_, intent)| matches!(intent, Intent::Announce(_))).map(|(at, _)| *at).collect()
    }

    /// The objects that were deleted, each with the version in the request.
    fn deletes(&self) -> Vec<String> {
        let calls = self.fake.calls.lock().unwrap();
        let deletes = calls.iter().filter_map(|(_, intent)| match intent {
            Intent::Delete { key, resource_version } => Some(format!("{key} {resource_version}")),
            _ => None,
        });
        deletes.collect()
    }

    async fn stop(mut self) -> (World, Shared) {
        self.stop.take().unwrap().send(()).unwrap();
        (self.engine.await.unwrap(), self.fake)
    }
}

/// A standby, and the handle that makes it the leader.
async fn standby(behaviour: &[Behaviour]) -> (Running, ManualElection) {
    let (election, leadership) = ManualElection::standby();
    let fake = Fake { next: Mutex::new(behaviour.iter().copied().collect()), ..Fake::default() };
    (
        Running::led_by(fake, World::new(Thresholds::default(), Policy::default(), Caps::default()), Some(leadership))
            .listed()
            .await,
        election,
    )
}

async fn seconds(n: u64) {
    tokio::time::sleep(Duration::from_secs(n)).await;
}

fn oom(name: &str) -> PodFacts {
    let mut dump = Dump::default();
    dump.read(&format!(
        "kind: Pod
metadata: {{namespace: demo, name: {name}, uid: uid-{name}}}
spec: {{nodeName: n1, containers: [{{name: app, image: app:1}}]}}
status:
  phase: Running
  conditions: [{{type: Ready, status: 'False'}}]
  containerStatuses: [{{name: app, restartCount: 1, state: {{waiting: {{reason: CrashLoopBackOff}}}}, lastState: {{terminated: {{exitCode: 137, reason: OOMKilled, startedAt: '2026-11-21T08:02:00Z', finishedAt: '2026-11-21T08:02:20Z'}}}}}}]
"
    ));
    dump.pods.remove(0)
}

/// Makes the pod a pod of the StatefulSet `db`.
fn of_db(mut pod: PodFacts) -> PodFacts {
    let (api_version, kind) = ("apps/v1".into(), "StatefulSet".into());
    pod.owner = Some(Owner { api_version, kind, name: "db".into(), uid: "uid-db".into() });
    pod
}

#[tokio::test(start_paused = true)]
async fn a_hanging_publish_does_not_block_changes() {
    let running = Running::start(&[Behaviour::Never; 100]).listed().await;
    let pods: Vec<PodFacts> = (0..500).map(|i| oom(&format!("p{i}"))).collect();
    for i in 0..10_000 {
        // The channel holds 64 changes: it would stay full if the engine awaited a write.
        let pod = pods[i % 500].clone();
        tokio::time::timeout(Duration::from_secs(5), running.pod(pod)).await.expect("the change is taken in");
    }
    seconds(60).await;
    assert_eq!(running.applies().len(), Pace::default().writes, "as many as may be under way");
    let (world, _) = running.stop().await;
    assert_eq!(world.cluster.pods_watched(), 500);
}

#[tokio::test(start_paused = true)]
async fn another_failure_does_not_wait_for_hundreds_that_fail_in_the_same_way() {
    let running = Running::start(&[Behaviour::Slow(10); 200]).listed().await;
    for number in 0..150 {
        running.pod(oom(&format!("storm-{number}"))).await;
    }
    seconds(5).await;
    let mut other = oom("other");
    if let Some(end) = &mut other.containers[0].last {
        (end.exit_code, end.reason) = (3, "Error".to_owned());
    }
    running.pod(other).await;
    seconds(6).await;
    let calls = running.fake.calls.lock().unwrap();
    let after: Vec<_> = calls.iter().skip(Pace::default().writes).map(|(_, intent)| object_of(intent)).collect();
    let place = after.iter().position(|key| key.as_ref().is_some_and(|key| &*key.object.name == "other"));
    assert!(place.is_some_and(|place| place < 2), "after the writes in progress, it was number {place:?}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_before_everything_is_listed() {
    use Source::{Nodes, Objects, Pods};
    for last in [Objects(DiagnosisKind::Pod), Nodes, Pods] {
        let running = Running::start(&[]);
        let others: Vec<Source> = Source::ALL.into_iter().filter(|s| *s != last).collect();
        running.list(&others).await;
        running.pod(oom("a")).await;
        seconds(300).await;
        assert_eq!(running.applies(), Vec::<u64>::new(), "{last:?} are missing");
        running.send(Change::ListDone(last)).await;
        seconds(1).await;
        assert_eq!(running.applies().len(), 1, "{last:?} are there");
    }
    let running = Running::start(&[]);
    running.list(&[Objects(DiagnosisKind::Pod), Nodes, Pods]).await;
    running.pod(oom("a")).await;
    seconds(29).await;
    assert_eq!(running.applies(), Vec::<u64>::new(), "Events are missing");
    seconds(4).await;
    assert_eq!(running.applies().len(), 1, "they are waited for 30 s at most");
}

#[tokio::test(start_paused = true)]
async fn without_nodes_writes_do_not_wait_for_their_lists() {
    let mut world = World::new(Thresholds::default(), Policy::default(), Caps::default());
    world.cluster.do_without_nodes();
    let running = Running::led_by(Fake::default(), world, None);
    let of_nodes = [Source::Nodes, Source::Objects(DiagnosisKind::Node)];
    let others: Vec<Source> = Source::ALL.into_iter().filter(|source| !of_nodes.contains(source)).collect();
    running.list(&others).await;
    running.pod(oom("a")).await;
    seconds(1).await;
    assert_eq!(running.applies().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn after_a_conflict_the_object_is_reread_and_replaced() {
    let running = Running::start(&[Behaviour::Succeed, Behaviour::Conflict]).listed().await;
    running.pod(oom("a")).await;
    seconds(5).await;
    let mut again = oom("a");
    again.containers[0].restart_count = 2;
    running.pod(again).await;
    seconds(5).await;
    assert_eq!(*running.fake.rereads.lock().unwrap(), 1);
    let versions: Vec<Option<String>> = running
        .fake
        .calls
        .lock()
        .unwrap()
        .iter()
        .filter_map(|(_, intent)| match intent {
            Intent::Apply(write) => Some(write.resource_version.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(versions, [None, Some("7".to_owned()), Some("41".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_write_waits_for_retry_after() {
    let running = Running::start(&[Behaviour::Throttle(17)]).listed().await;
    running.pod(oom("a")).await;
    seconds(2).await;
    running.pod(oom("a")).await;
    seconds(60).await;
    assert_eq!(running.applies(), [0, 17]);
}

#[tokio::test(start_paused = true)]
async fn a_terminating_namespace_gets_no_more_writes() {
    let running = Running::start(&[Behaviour::NamespaceGone]).listed().await;
    running.pod(oom("a")).await;
    for _ in 0..20 {
        seconds(1).await;
        running.pod(oom("a")).await;
        running.pod(oom("b")).await;
    }
    assert_eq!(running.applies().len(), 1, "not for each change of its pods");
    running.send(Change::PodDeleted(Box::new(oom("a")))).await;
    running.send(Change::PodDeleted(Box::new(oom("b")))).await;
    seconds(600).await;
    assert_eq!(running.applies().len(), 1);
    let (world, _) = running.stop().await;
    assert_eq!(world.reported.summary_entries().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn objects_deleted_with_their_namespace_are_not_recreated() {
    let running = Running::start(&[Behaviour::Succeed, Behaviour::Succeed, Behaviour::NamespaceGone]).listed().await;
    for pod in ["a", "b", "c"] {
        running.pod(oom(pod)).await;
        seconds(1).await;
    }
    assert_eq!(running.applies().len(), 3);
    for pod in ["a", "b"] {
        running.send(Change::ObjectDeleted(DiagnosisKey::of_pod(oom(pod).key))).await;
    }
    for pod in ["a", "b", "c"] {
        running.send(Change::PodDeleted(Box::new(oom(pod)))).await;
    }
    seconds(5).await;
    assert_eq!(running.applies().len(), 3, "the namespace no longer accepts objects");
    let (world, _) = running.stop().await;
    assert_eq!(world.reported.summary_entries().count(), 0, "nothing waits for a namespace that is gone");
}

/// The watch may deliver our own write before or after the response to it.
#[tokio::test(start_paused = true)]
async fn a_deleted_object_is_recreated_once() {
    for watch_is_first in [true, false] {
        let behaviour = if watch_is_first { Behaviour::Slow(2) } else { Behaviour::Succeed };
        let running = Running::start(&[Behaviour::Succeed, behaviour]).listed().await;
        running.pod(oom("a")).await;
        seconds(1).await;
        let key = DiagnosisKey::of_pod(oom("a").key);
        running.send(Change::ObjectDeleted(key.clone())).await;
        seconds(1).await;
        running.send(Change::Object { key, resource_version: "7".to_owned() }).await;
        seconds(3600).await;
        assert_eq!(running.applies().len(), 2, "the watch is first: {watch_is_first}");
        running.stop().await;
    }
}

/// The pod still exists, so it still fails.
#[tokio::test(start_paused = true)]
async fn an_object_deleted_before_its_write_is_acknowledged_is_recreated() {
    let running = Running::start(&[Behaviour::Slow(5)]).listed().await;
    running.pod(oom("a")).await;
    seconds(1).await;
    let key = DiagnosisKey::of_pod(oom("a").key);
    running.send(Change::Object { key: key.clone(), resource_version: "7".to_owned() }).await;
    running.send(Change::ObjectDeleted(key.clone())).await;
    seconds(10).await;
    running.send(Change::Object { key, resource_version: "7".to_owned() }).await;
    seconds(3600).await;
    assert_eq!(running.applies().len(), 2);
    running.stop().await;
}

/// Any client with write access can create a diagnosis of a healthy pod, and no other code would find it.
#[tokio::test(start_paused = true)]
async fn an_object_that_another_client_creates_is_deleted() {
    let running = Running::start(&[]).listed().await;
    let healthy = DiagnosisKey::of_pod(ObjectKey::new("shop", "healthy"));
    let node = DiagnosisKey::of_node("n1");
    running.pod(oom("a")).await;
    seconds(1).await;
    for key in [&healthy, &node, &DiagnosisKey::of_pod(oom("a").key)] {
        running.send(Change::Object { key: key.clone(), resource_version: "7".to_owned() }).await;
    }
    seconds(3600).await;
    assert_eq!(running.deletes(), [format!("{healthy} 7"), format!("{node} 7")]);
    assert_eq!(running.applies().len(), 1);
    running.stop().await;
}

/// Another client edits the object during the delete. The watch delivers that version as well.
#[tokio::test(start_paused = true)]
async fn the_delete_of_a_foreign_object_is_retried_with_its_latest_version() {
    let running = Running::start(&[Behaviour::Conflict]).listed().await;
    let key = DiagnosisKey::of_pod(ObjectKey::new("shop", "healthy"));
    running.send(Change::Object { key: key.clone(), resource_version: "7".to_owned() }).await;
    seconds(60).await;
    running.send(Change::Object { key: key.clone(), resource_version: "8".to_owned() }).await;
    seconds(3600).await;
    assert_eq!(running.deletes(), [format!("{key} 7"), format!("{key} 8")]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_of_a_newer_operator_version_is_kept() {
    let key = DiagnosisKey::of_pod(ObjectKey::new("shop", "healthy"));
    let mut world = World::new(Thresholds::default(), Policy::default(), Caps::default());
    world.reported.spare([key.clone()]);
    let running = Running::led_by(Fake::default(), world, None).listed().await;
    running.send(Change::Object { key: key.clone(), resource_version: "7".to_owned() }).await;
    seconds(3600).await;
    assert!(running.deletes().is_empty());
    // After its deletion, a new object of that name is no longer protected.
    running.send(Change::ObjectDeleted(key.clone())).await;
    running.send(Change::Object { key: key.clone(), resource_version: "9".to_owned() }).await;
    seconds(60).await;
    assert_eq!(running.deletes(), [format!("{key} 9")]);
    running.stop().await;
}

fn overrides(annotation: &'static str, value: &'static str) -> Option<Box<Overrides>> {
    Overrides::of(|name| (name == annotation).then_some(value))
}

#[tokio::test(start_paused = true)]
async fn ignored_causes_are_not_reported() {
    let mut world = World::new(Thresholds::default(), Policy::default(), Caps::default());
    world.cluster.respect(Overrides::ignoring(["ImageTagNotFound"]));
    let running = Running::led_by(Fake::default(), world, None).listed().await;
    let [mut ignored, mut reported] = ["ignored", "reported"].map(oom);
    ignored.overrides = overrides(IGNORE, "AppError, oomkilled");
    reported.overrides = overrides(IGNORE, "AppError");
    running.pod(ignored).await;
    running.pod(reported).await;
    seconds(3600).await;
    let (world, _) = running.stop().await;
    let names: Vec<_> = world.reported.summary_entries().map(|record| record.key.name.to_string()).collect();
    assert_eq!(names, ["reported"]);
}

/// The failure has not recovered: its object is deleted, and created again once the annotation is removed.
#[tokio::test(start_paused = true)]
async fn ignoring_a_cause_deletes_its_diagnosis() {
    let running = Running::start(&[]).listed().await;
    running.pod(of_db(oom("a"))).await;
    seconds(60).await;
    assert_eq!(running.applies().len(), 1);
    let key = WorkloadName {
        api_version: "apps/v1".into(),
        kind: "StatefulSet".into(),
        namespace: "demo".into(),
        name: "db".into(),
    };
    let mut set = WorkloadFacts { key: key.into(), ..WorkloadFacts::default() };
    set.overrides = overrides(IGNORE, "*");
    running.send(Change::Workload(Box::new(set.clone()))).await;
    seconds(60).await;
    let pod = DiagnosisKey::of_pod(oom("a").key);
    assert_eq!(running.deletes(), [format!("{pod} 7")]);
    assert_eq!(running.announces(), [0; 0], "no Event reports a recovery");
    running.send(Change::ObjectDeleted(pod)).await;
    set.overrides = None;
    running.send(Change::Workload(Box::new(set))).await;
    running.pod(of_db(oom("a"))).await;
    seconds(60).await;
    assert_eq!(running.applies().len(), 2);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_annotation_can_extend_a_threshold() {
    let starts = |name: &str| {
        let mut dump = Dump::default();
        dump.read(&format!(
            "kind: Pod
metadata: {{namespace: demo, name: {name}, uid: uid-{name}}}
spec: {{nodeName: n1, containers: [{{name: app, image: app:1, readinessProbe: {{tcpSocket: {{port: 80}}}}}}]}}
status:
  phase: Running
  conditions: [{{type: Ready, status: 'False'}}]
  containerStatuses: [{{name: app, restartCount: 0, started: true, ready: false, state: {{running: {{startedAt: '2026-11-21T09:00:00Z'}}}}}}]
"
        ));
        dump.pods.remove(0)
    };
    let running = Running::start(&[]).listed().await;
    let mut patient = starts("patient");
    patient.overrides = overrides(NEVER_READY_AFTER, "30m");
    running.pod(patient).await;
    running.pod(starts("usual")).await;
    seconds(900).await;
    assert_eq!(running.applies().len(), 1);
    seconds(1200).await;
    assert_eq!(running.applies().len(), 2);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_record_evicted_during_its_write_leaves_no_state() {
    let fake = Fake { next: Mutex::new([Behaviour::Slow(5); 20].into()), ..Fake::default() };
    let running = Running::with_caps(fake, Caps { ended_per_failure: 1, ..Caps::default() }).listed().await;
    for pod in ["a", "b"] {
        running.pod(of_db(oom(pod))).await;
    }
    seconds(10).await;
    running.send(Change::PodDeleted(Box::new(of_db(oom("a"))))).await;
    seconds(10).await;
    running.send(Change::PodDeleted(Box::new(of_db(oom("b"))))).await;
    seconds(1).await;
    running.send(Change::ObjectDeleted(DiagnosisKey::of_pod(oom("a").key))).await;
    seconds(10).await;
    let (world, _) = running.stop().await;
    let ended: Vec<_> =
        world.reported.summary_entries().map(|record| (&*record.key.name, record.state, record.repeats)).collect();
    assert_eq!(ended, [("b", DiagnosisState::Gone, 1)]);
    let kept = world.kept();
    assert!(
        kept.contains(&("pod_diagnoses", 4)),
        "the object and its namespace, and both in the index of ended ones: {kept:?}"
    );
}

/// In a namespace without objects of ours there are only Events.
#[tokio::test(start_paused = true)]
async fn an_event_in_a_terminating_namespace_is_not_counted_as_lost() {
    let fake = Fake { next: Mutex::new([Behaviour::NamespaceGone].into()), ..Fake::default() };
    let running = Running::with_caps(fake, Caps { per_namespace: 0, ..Caps::default() }).listed().await;
    running.pod(oom("a")).await;
    seconds(120).await;
    assert_eq!(running.announces().len(), 1, "the Event has no reader");
    assert!(running.metrics.encode().unwrap().contains("shindan_events_lost_total 0"));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_event_is_retried_three_times_and_then_counted_as_lost() {
    let running = Running::start(&[Behaviour::WithoutEvent, Behaviour::WithoutEvent]).listed().await;
    running.pod(oom("a")).await;
    seconds(200).await;
    assert_eq!(running.announces(), [2, 12], "the second time it succeeds");
    assert!(!running.metrics.encode().unwrap().contains("lost_total 1"));

    let running = Running::start(&[Behaviour::WithoutEvent; 4]).listed().await;
    running.pod(oom("a")).await;
    seconds(200).await;
    assert_eq!(running.announces(), [2, 12, 72]);
    let metrics = running.metrics.encode().unwrap();
    let lost = metrics.lines().find(|line| line.contains("lost") && !line.starts_with('#')).unwrap();
    assert!(lost.ends_with(" 1"), "{lost}");
    assert_eq!(running.applies().len(), 1, "the object is not written again for it");
}

#[tokio::test(start_paused = true)]
async fn a_panicked_task_frees_its_slot() {
    let running = Running::start(&[Behaviour::Panic; 20]).listed().await;
    running.pod(oom("a")).await;
    running.pod(oom("b")).await;
    seconds(3000).await;
    let (world, fake) = running.stop().await;
    assert_eq!(world.reported.summary_entries().count(), 2, "each of the tasks that died left its slot");
    assert!(fake.calls.lock().unwrap().len() > 20);
}

#[tokio::test(start_paused = true)]
async fn a_panicked_lookup_is_retried_with_backoff() {
    let running = Running::with(Fake { lookup_panics: true, ..Fake::default() }).listed().await;
    running.pod(oom("a")).await;
    seconds(3600).await;
    let lookups = *running.fake.lookups.lock().unwrap();
    assert!((8..=20).contains(&lookups), "{lookups} in an hour");
    assert_eq!(running.applies().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_object_is_retried_on_a_change_and_after_a_long_pause() {
    let running = Running::start(&[Behaviour::Invalid; 100]).listed().await;
    running.pod(oom("a")).await;
    seconds(290).await;
    assert!(
        running.applies().len() <= 3,
        "at once, after a second, and with the lookup result: {:?}",
        running.applies()
    );
    let before = running.applies().len();
    seconds(3600).await;
    // The lookup of the impact is repeated periodically, and its result is a change.
    let later = running.applies().len() - before;
    assert!((3..=30).contains(&later), "{later} in an hour: {:?}", running.applies());
}

#[tokio::test(start_paused = true)]
async fn a_stop_completes_writes_in_progress_and_starts_no_others() {
    let running = Running::start(&[Behaviour::Slow(4); 16]).listed().await;
    for i in 0..40 {
        running.pod(oom(&format!("p{i}"))).await;
    }
    seconds(1).await;
    let (world, fake) = running.stop().await;
    assert_eq!(world.reported.summary_entries().count(), 16);
    assert_eq!((fake.calls.lock().unwrap().len(), *fake.done.lock().unwrap()), (16, 16));
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_a_hanging_write_only_until_the_drain_timeout() {
    let running = Running::start(&[Behaviour::Never]).listed().await;
    running.pod(oom("a")).await;
    seconds(1).await;
    let asked = Instant::now();
    running.stop().await;
    assert_eq!(asked.elapsed().as_secs(), Pace::default().drain.as_secs());
}

#[tokio::test(start_paused = true)]
async fn the_engine_ends_when_its_watches_end() {
    let mut running = Running::start(&[]).listed().await;
    running.pod(oom("a")).await;
    seconds(1).await;
    running.changes = None;
    let world = running.engine.await.unwrap();
    assert_eq!(world.reported.summary_entries().count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_threshold_passes_without_any_change() {
    let running = Running::start(&[]).listed().await;
    let mut dump = Dump::default();
    dump.read(
        "kind: Pod
metadata: {namespace: demo, name: slow, uid: slow, creationTimestamp: '2026-11-21T09:00:00Z'}
spec: {nodeName: n1, containers: [{name: app, image: app:1, readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 10, failureThreshold: 3}}]}
status:
  phase: Running
  conditions: [{type: Ready, status: 'False', reason: ContainersNotReady, lastTransitionTime: '2026-11-21T09:00:00Z'}]
  containerStatuses: [{name: app, restartCount: 0, state: {running: {startedAt: '2026-11-21T09:00:00Z'}}}]
",
    );
    running.pod(dump.pods.remove(0)).await;
    seconds(3600).await;
    let applies = running.applies();
    assert!(applies.first().is_some_and(|at| (300..=340).contains(at)), "{applies:?}");
}

#[tokio::test(start_paused = true)]
async fn a_standby_writes_nothing_and_diagnoses_known_pods_once_it_leads() {
    let (running, election) = standby(&[]).await;
    running.pod(oom("a")).await;
    seconds(60).await;
    assert_eq!(*running.fake.lookups.lock().unwrap(), 0, "nor does it ask anything");
    election.lead(1, 30);
    seconds(20).await;
    assert_eq!(running.applies(), [61], "one second after it was elected, once it had read our objects");
    assert_eq!(*running.fake.restores.lock().unwrap(), 1);
    let metrics = running.metrics.encode().unwrap();
    assert!(metrics.contains("shindan_leader 1"), "{metrics}");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_term_stops_writes_without_a_notification() {
    let (running, election) = standby(&[]).await;
    election.lead(1, 30);
    seconds(5).await;
    running.pod(oom("a")).await;
    seconds(30).await;
    assert_eq!(running.applies().len(), 1);
    running.pod(oom("b")).await;
    seconds(60).await;
    assert_eq!(running.applies().len(), 1);
    assert!(running.metrics.encode().unwrap().contains("shindan_leader 0"));
    election.lead(2, 30);
    seconds(20).await;
    // The objects read are empty in this test: both are written.
    assert_eq!(running.applies().len(), 3);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn becoming_the_leader_waits_for_writes_of_the_previous_term() {
    let (running, election) = standby(&[Behaviour::Slow(40)]).await;
    election.lead(1, 10);
    seconds(5).await;
    running.pod(oom("a")).await;
    seconds(15).await;
    assert_eq!((running.applies().len(), *running.fake.done.lock().unwrap()), (1, 0));
    election.lead(2, 60);
    seconds(20).await;
    assert_eq!(*running.fake.restores.lock().unwrap(), 1, "it may not show what is still on its way");
    seconds(10).await;
    assert_eq!(*running.fake.restores.lock().unwrap(), 2);
    running.stop().await;
}

/// The pause that the server requests applies to all writes, not only to the one it refused.
#[tokio::test(start_paused = true)]
async fn throttling_pauses_all_writes() {
    let running = Running::start(&[Behaviour::Throttle(20)]).listed().await;
    running.pod(oom("a")).await;
    seconds(2).await;
    for i in 0..5 {
        running.pod(oom(&format!("b{i}"))).await;
    }
    seconds(10).await;
    assert_eq!(running.applies(), [0]);
    seconds(20).await;
    let applies = running.applies();
    assert_eq!(applies.len(), 7, "{applies:?}");
    assert!(applies[1..].iter().all(|at| (20..=21).contains(at)), "{applies:?}");
    running.stop().await;
}

fn annotating() -> World {
    let mut world = World::new(Thresholds::default(), Policy::default(), Caps::default());
    world.reported.annotations.annotate(Annotate { pods: true, workloads: true });
    world
}

impl Running {
    /// The seconds at which annotations were written.
    fn annotations(&self) -> Vec<u64> {
        let calls = self.fake.calls.lock().unwrap();
        calls.iter().filter(|(_, intent)| matches!(intent, Intent::Annotate(_))).map(|(at, _)| *at).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn an_annotation_follows_its_diagnosis() {
    let fake = Fake { next: Mutex::new([Behaviour::Slow(5)].into()), ..Fake::default() };
    let running = Running::led_by(fake, annotating(), None).listed().await;
    running.pod(oom("a")).await;
    seconds(4).await;
    assert_eq!((running.applies().len(), running.annotations().len()), (1, 0), "the diagnosis is written first");
    seconds(60).await;
    assert_eq!(running.annotations(), [5]);
    running.stop().await;
}

/// A failed write of a diagnosis is not annotated. A failed annotation delays only itself.
#[tokio::test(start_paused = true)]
async fn a_denied_annotation_is_not_tried_for_each_pod() {
    let next = [Behaviour::Succeed, Behaviour::NotGranted];
    let fake = Fake { next: Mutex::new(next.into()), ..Fake::default() };
    let running = Running::led_by(fake, annotating(), None).listed().await;
    running.pod(oom("a")).await;
    seconds(2).await;
    assert_eq!(running.annotations(), [0]);
    for i in 0..20 {
        running.pod(oom(&format!("b{i}"))).await;
    }
    seconds(200).await;
    assert!(running.applies().len() >= 21, "all are diagnosed");
    assert_eq!(running.annotations(), [0], "and none is tried");
    seconds(200).await;
    assert_eq!(running.annotations().len(), 22, "after five minutes all are");
    running.stop().await;
}
