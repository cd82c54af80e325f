//! Leader election: candidates for one Lease, with a failing API server and wrong clocks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Method;
use kube::Client;
use serde_json::{Value, json};
use shindan::cluster::lease::{Elector, Leadership, Timing};
use shindan::http::Health;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::server::{Call, Reply, server, status};

/// Stores the Lease as the API server does: a write with an old resource version is refused.
#[derive(Clone, Default)]
struct Store(Arc<Mutex<(u64, Option<Value>)>>);

impl Store {
    fn reply(&self, call: &Call) -> Reply {
        assert!(call.path.starts_with("/apis/coordination.k8s.io/v1/namespaces/demo/leases"), "{}", call.path);
        let mut store = self.0.lock().unwrap();
        let (version, lease) = &mut *store;
        let sent = call.body.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        let conflict = || status(409, "Conflict", "the object has been modified", json!({"name": "shindan"}));
        match (&call.method, lease.as_ref()) {
            (&Method::GET, Some(lease)) => return Reply::Json(200, lease.clone()),
            (_, None) if call.method != Method::POST => return status(404, "NotFound", "not found", json!({})),
            (&Method::POST, None) => {}
            (&Method::PUT, Some(_)) if sent == Some(version.to_string().as_str()) => {}
            _ => return conflict(),
        }
        *version += 1;
        let mut next = call.body.clone();
        next["metadata"]["resourceVersion"] = json!(version.to_string());
        *lease = Some(next.clone());
        Reply::Json(200, next)
    }

    fn spec(&self, field: &str) -> Value {
        self.0.lock().unwrap().1.as_ref().map_or(Value::Null, |lease| lease["spec"][field].clone())
    }

    fn transitions(&self) -> i64 {
        self.spec("leaseTransitions").as_i64().unwrap()
    }

    /// Changes the Lease as another client would.
    fn edit(&self, change: impl FnOnce(&mut Value)) {
        let mut store = self.0.lock().unwrap();
        let (version, lease) = &mut *store;
        *version += 1;
        if let Some(lease) = lease {
            lease["metadata"]["resourceVersion"] = json!(version.to_string());
            change(&mut lease["spec"]);
        }
    }
}

/// A connection to the API server that can be interrupted.
#[derive(Clone, Default)]
struct Line(Arc<AtomicBool>);

impl Line {
    fn cut(&self, cut: bool) {
        self.0.store(cut, Ordering::Relaxed);
    }

    fn to(&self, store: &Store) -> Client {
        let (line, store) = (self.0.clone(), store.clone());
        server(move |call| if line.load(Ordering::Relaxed) { Reply::NoResponse } else { store.reply(call) }).0
    }
}

struct Candidate {
    leadership: Leadership,
    line: Line,
    health: Health,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Candidate {
    fn stand(store: &Store, name: &str) -> Self {
        let (line, health) = (Line::default(), Health::default());
        let (elector, leadership) = Elector::new(line.to(store), "demo", name, Timing::default(), health.clone());
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(elector.run(async {
            let _ = stopped.await;
        }));
        Self { leadership, line, health, stop: Some(stop), task }
    }

    fn leads(&self) -> bool {
        self.leadership.term().is_some()
    }

    async fn known(&mut self) {
        self.leadership.known().await;
    }

    /// Waits until it leads, and returns the time.
    async fn awaited(&self) -> Duration {
        let began = Instant::now();
        while !self.leads() {
            assert!(began.elapsed() < Duration::from_secs(60), "it never leads");
            sleep(Duration::from_millis(100)).await;
        }
        began.elapsed()
    }

    async fn stop(mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        self.task.await.unwrap();
    }
}

async fn seconds(n: u64) {
    sleep(Duration::from_secs(n)).await;
}

/// Two candidates, of which the first leads.
async fn two(store: &Store) -> (Candidate, Candidate) {
    let mut first = Candidate::stand(store, "first");
    first.known().await;
    let mut second = Candidate::stand(store, "second");
    second.known().await;
    assert!(first.leads() && !second.leads());
    (first, second)
}

#[tokio::test(start_paused = true)]
async fn one_replica_leads_while_it_renews() {
    let store = Store::default();
    let (first, second) = two(&store).await;
    for _ in 0..300 {
        seconds(1).await;
        assert!(first.leads() && !second.leads());
    }
    assert_eq!(store.transitions(), 0);
    let holder = store.spec("holderIdentity");
    assert!(holder.as_str().unwrap().starts_with("first_"), "{holder}");
}

#[tokio::test(start_paused = true)]
async fn a_stopped_leader_is_replaced_within_fifteen_seconds_and_not_before_its_lease_expires() {
    let store = Store::default();
    let (first, second) = two(&store).await;
    seconds(30).await;
    first.task.abort();
    let took = second.awaited().await;
    // It stopped up to two seconds after it had renewed.
    assert!((Duration::from_secs(8)..Duration::from_secs(13)).contains(&took), "{took:?}");
    assert_eq!(store.transitions(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_disconnected_leader_stops_writing_before_its_lease_expires() {
    let store = Store::default();
    let (first, second) = two(&store).await;
    seconds(30).await;
    first.line.cut(true);
    let began = Instant::now();
    while first.leads() {
        assert!(!second.leads(), "two lead at once");
        sleep(Duration::from_millis(50)).await;
    }
    assert!(began.elapsed() <= Duration::from_secs(6), "{:?}", began.elapsed());
    assert!(!second.leads());
    second.awaited().await;
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert!(!first.health.is_ready(), "its readiness reports that it cannot reach the Lease");
    first.line.cut(false);
    seconds(30).await;
    assert!(!first.leads() && second.leads() && first.health.is_ready());
    assert_eq!(store.transitions(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stopping_leader_releases_the_lease() {
    let store = Store::default();
    let (first, second) = two(&store).await;
    first.stop().await;
    assert_eq!(store.spec("holderIdentity"), json!(""));
    let took = second.awaited().await;
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn clocks_may_differ_by_an_hour() {
    let store = Store::default();
    let (first, second) = two(&store).await;
    // The holder's clock is an hour behind, then an hour ahead; it renews in both cases.
    for hour in ["2026-11-21T08:00", "2036-11-21T10:00"] {
        for tick in 0..30 {
            seconds(1).await;
            store.edit(|spec| spec["renewTime"] = json!(format!("{hour}:{tick:02}.000000Z")));
            assert!(!second.leads());
        }
    }
    assert!(first.leads(), "and finds out that it holds the Lease still");
    first.task.abort();
    store.edit(|spec| spec["renewTime"] = json!("2036-11-21T10:00:00.000000Z"));
    let took = second.awaited().await;
    assert!(took < Duration::from_secs(15), "a time in the future does not delay the standby: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_lost_its_lease_stops_at_its_next_renewal() {
    let store = Store::default();
    let (first, second) = two(&store).await;
    store.edit(|spec| spec["holderIdentity"] = json!("another"));
    seconds(3).await;
    assert!(!first.leads() && !second.leads());
    // The other holder does not renew it.
    seconds(15).await;
    assert!(first.leads() != second.leads());
}

#[tokio::test(start_paused = true)]
async fn a_longer_lease_of_another_version_is_respected() {
    let store = Store::default();
    let (first, second) = two(&store).await;
    first.task.abort();
    store.edit(|spec| spec["leaseDurationSeconds"] = json!(30));
    let took = second.awaited().await;
    assert!(took >= Duration::from_secs(28), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_is_reported() {
    let (client, _) = server(|_| status(403, "Forbidden", "leases.coordination.k8s.io is forbidden", json!({})));
    let health = Health::default();
    let (elector, mut leadership) = Elector::new(client, "demo", "only", Timing::default(), health.clone());
    let task = tokio::spawn(elector.run(std::future::pending()));
    leadership.known().await;
    assert_eq!(leadership.term(), None);
    assert!(!health.is_ready());
    task.abort();
}

/// Under random network faults two candidates never lead at once, and after the faults one leads.
#[tokio::test(start_paused = true)]
async fn two_never_lead_at_once() {
    for seed in 0..20_u64 {
        let store = Store::default();
        let candidates = ["a", "b", "c"].map(|name| Candidate::stand(&store, name));
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for _ in 0..200 {
            // xorshift
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let (which, cut) = (usize::try_from(state % 3).unwrap(), (state >> 8) % 2 == 0);
            candidates[which].line.cut(cut);
            for _ in 0..(state >> 16) % 40 {
                sleep(Duration::from_millis(100)).await;
                let leaders = candidates.iter().filter(|candidate| candidate.leads()).count();
                assert!(leaders <= 1, "seed {seed}: {leaders} lead");
            }
        }
        candidates.iter().for_each(|candidate| candidate.line.cut(false));
        seconds(30).await;
        assert_eq!(candidates.iter().filter(|candidate| candidate.leads()).count(), 1, "seed {seed}");
        for candidate in candidates {
            candidate.task.abort();
        }
    }
}
