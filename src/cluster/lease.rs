//! Leader election by a Lease: one of several replicas writes.
//!
//! The algorithm is that of client-go. A candidate observes whether the Lease changes, on its local monotonic clock;
//! the times in the Lease are informational, so clock skew is harmless. A holder that cannot renew in time stops before
//! another replica may acquire the Lease. Each update contains the resource version that it replaces, so only one of
//! two concurrent updates succeeds.

#![allow(clippy::disallowed_types, reason = "it writes")]

use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use kube::api::{GetParams, ObjectMeta, PostParams, Resource};
use kube::core::Request;
use tokio::sync::watch;
use tokio::time::Instant;

pub mod holder;
mod leadership;

use leadership::{ElectionState, Term};
pub use leadership::{Leadership, ManualElection};
use shindan_core::facts::Timestamp;

use super::call::{self, Failure};
use crate::http::Health;

/// Name of the Lease.
pub const NAME: &str = "shindan";
/// Name of the election in [`Health`].
const PART: &str = "leader election";
/// Duration in a released Lease: another replica may acquire it at once.
const RELEASED_SECONDS: i32 = 1;

/// Times of the election. Each is shorter than the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// A Lease that is unchanged for this long may be acquired by another replica.
    pub lease: Duration,
    /// A holder that has not renewed for this long stops writing.
    pub renew: Duration,
    /// Pause between two tries.
    pub retry: Duration,
}

impl Default for Timing {
    /// Another replica leads within 15 s in the worst case.
    fn default() -> Self {
        Self { lease: Duration::from_secs(10), renew: Duration::from_secs(6), retry: Duration::from_secs(2) }
    }
}

/// A candidate in the election.
pub struct Elector {
    client: Client,
    /// URL path of the Leases in the namespace.
    leases: Request,
    namespace: String,
    identity: String,
    timing: Timing,
    health: Health,
    state: watch::Sender<ElectionState>,
    terms: u64,
    /// The Lease as last written, while this replica holds it.
    held: Option<Lease>,
    /// The Lease as last read, and when it was first read in this form.
    seen: Option<(Option<LeaseSpec>, Instant)>,
    /// The message last logged, so that it is not repeated on each try.
    logged: String,
}

impl std::fmt::Debug for Elector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Elector")
            .field("namespace", &self.namespace)
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

impl Elector {
    /// A candidate. `instance` names this process in the Lease; a random suffix makes the identity unique.
    pub fn new(client: Client, namespace: &str, instance: &str, timing: Timing, health: Health) -> (Self, Leadership) {
        let (state, receiver) = watch::channel(ElectionState::Unknown);
        // A restarted container has the same name but is another process.
        let identity = format!("{instance}_{}", uuid::Uuid::new_v4());
        let leases = Request::new(Lease::url_path(&(), Some(namespace)));
        let elector = Self {
            client,
            leases,
            namespace: namespace.to_owned(),
            identity,
            timing,
            health,
            state,
            terms: 0,
            held: None,
            seen: None,
            logged: String::new(),
        };
        (elector, Leadership::elected(receiver))
    }

    /// Takes part in the election until `stop` resolves, then releases the Lease if this replica holds it.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        tracing::info!(identity = self.identity, namespace = self.namespace, lease = NAME, "waiting for the Lease");
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                () = self.run_once() => {}
            }
        }
        self.release().await;
    }

    /// One try, and the pause after it.
    async fn run_once(&mut self) {
        let began = Instant::now();
        match self.try_to_acquire(began).await {
            Ok(true) => self.lead(began),
            Ok(false) => self.follow("another replica leads"),
            Err(failure) => self.report_failure(&failure),
        }
        tokio::time::sleep_until(self.next_try(began)).await;
        if self.term().is_some_and(|term| term.until <= Instant::now()) {
            self.follow("the Lease could not be renewed in time");
        }
    }

    fn term(&self) -> Option<Term> {
        match *self.state.borrow() {
            ElectionState::Leading(term) => Some(term),
            ElectionState::Unknown | ElectionState::Standby => None,
        }
    }

    /// When to try again. Earlier than the regular interval if a term or the observed Lease expires before.
    fn next_try(&self, began: Instant) -> Instant {
        let regular = began + self.timing.retry;
        match (self.term(), &self.seen) {
            (Some(term), _) => regular.min(term.until),
            (None, Some((spec, since))) => {
                regular.min(*since + self.duration_of(spec.as_ref())).max(began + SHORTEST_PAUSE)
            }
            (None, None) => regular,
        }
    }

    /// How long this Lease must stay unchanged before another replica may acquire it.
    fn duration_of(&self, spec: Option<&LeaseSpec>) -> Duration {
        let duration = spec.and_then(|spec| spec.lease_duration_seconds).and_then(|s| u64::try_from(s).ok());
        // Two versions of the operator may have different durations: the longer one counts.
        duration.map_or(self.timing.lease, |seconds| self.timing.lease.max(Duration::from_secs(seconds)))
    }

    /// Time limit of one request: half of the remaining term, so that a second try is possible after a dead connection.
    fn request_timeout(&self) -> Duration {
        let left = self.term().map_or(self.timing.renew, |term| term.until.saturating_duration_since(Instant::now()));
        (left / 2).max(SHORTEST_PAUSE)
    }

    async fn try_to_acquire(&mut self, now: Instant) -> Result<bool, Failure> {
        if self.term().is_some()
            && let Some(held) = self.held.clone()
        {
            match self.put(self.with_self_as_holder(held)).await {
                Ok(lease) => return Ok(self.holds(lease)),
                // Another client changed the Lease. Its holder is read below.
                Err(failure) if is_refused(&failure) => self.held = None,
                Err(failure) => return Err(failure),
            }
        }
        let Some(lease) = self.get().await? else {
            return match self.create().await {
                Ok(lease) => Ok(self.holds(lease)),
                Err(failure) if is_refused(&failure) => Ok(false),
                Err(failure) => Err(failure),
            };
        };
        if !self.may_acquire(&lease, now) {
            return Ok(false);
        }
        match self.put(self.with_self_as_holder(lease)).await {
            Ok(lease) => Ok(self.holds(lease)),
            Err(failure) if is_refused(&failure) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Whether the Lease has no other holder, or its holder has not renewed in time.
    fn may_acquire(&mut self, lease: &Lease, now: Instant) -> bool {
        if self.seen.as_ref().is_none_or(|(spec, _)| *spec != lease.spec) {
            self.seen = Some((lease.spec.clone(), Instant::now()));
        }
        let spec = lease.spec.as_ref();
        let holder = spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default();
        let since = self.seen.as_ref().map_or(now, |(_, since)| *since);
        holder.is_empty() || holder == self.identity || since + self.duration_of(spec) <= now
    }

    fn holds(&mut self, lease: Lease) -> bool {
        self.seen = None;
        self.held = Some(lease);
        true
    }

    /// The Lease with this replica as its holder.
    fn with_self_as_holder(&self, mut lease: Lease) -> Lease {
        let now = wall_clock();
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() != Some(self.identity.as_str()) {
            spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0).saturating_add(1));
            spec.acquire_time = Some(now.clone());
            spec.holder_identity = Some(self.identity.clone());
        }
        spec.renew_time = Some(now);
        spec.lease_duration_seconds = Some(i32::try_from(self.timing.lease.as_secs()).unwrap_or(i32::MAX));
        lease
    }

    async fn get(&self) -> Result<Option<Lease>, Failure> {
        call::found(self.send(self.leases.get(NAME, &GetParams::default())).await)
    }

    async fn create(&self) -> Result<Lease, Failure> {
        let metadata = ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() };
        let mut lease = self.with_self_as_holder(Lease { metadata, spec: None });
        // The first holder is no transition.
        lease.spec.get_or_insert_default().lease_transitions = Some(0);
        let body = serde_json::to_vec(&lease).map_err(|e| Failure::Unreadable(e.to_string()))?;
        self.send(self.leases.create(&PostParams::default(), body)).await
    }

    async fn put(&self, lease: Lease) -> Result<Lease, Failure> {
        let body = serde_json::to_vec(&lease).map_err(|e| Failure::Unreadable(e.to_string()))?;
        self.send(self.leases.replace(NAME, &PostParams::default(), body)).await
    }

    async fn send(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Lease, Failure> {
        let request = request.map_err(|e| Failure::Unreadable(e.to_string()))?;
        call::json(&self.client, request, self.request_timeout()).await
    }

    /// Starts or renews the term. It is counted from when the request was sent, because other replicas see the update
    /// later.
    fn lead(&mut self, sent: Instant) {
        let until = sent + self.timing.renew;
        let number = self.term().map(|term| term.number);
        if number.is_none() {
            self.terms += 1;
            tracing::info!(identity = self.identity, "leading");
        }
        self.clear_trouble();
        self.state.send_replace(ElectionState::Leading(Term { number: number.unwrap_or(self.terms), until }));
    }

    fn follow(&mut self, why: &str) {
        if self.term().is_some() {
            tracing::warn!(identity = self.identity, "no longer the leader: {why}");
        }
        self.held = None;
        self.clear_trouble();
        self.state.send_if_modified(|state| {
            let changed = *state != ElectionState::Standby;
            *state = ElectionState::Standby;
            changed
        });
    }

    fn clear_trouble(&mut self) {
        self.logged.clear();
        self.health.ready(PART);
    }

    fn report_failure(&mut self, failure: &Failure) {
        let text = match failure.category() {
            "forbidden" => format!(
                "not allowed to use the Lease {NAME} in the namespace {}; is the Role of deploy/ applied there? ({failure})",
                self.namespace
            ),
            "not_found" => format!("there is no namespace {} for the Lease {NAME} ({failure})", self.namespace),
            _ => format!("cannot use the Lease {NAME} in the namespace {}: {failure}", self.namespace),
        };
        self.health.missing(PART, text.clone());
        if self.logged != text {
            tracing::warn!(kind = failure.category(), "{text}; trying again");
            self.logged = text;
        }
        // A candidate that cannot read the Lease is ready as a standby.
        self.state.send_if_modified(|state| {
            let was_unknown = *state == ElectionState::Unknown;
            if was_unknown {
                *state = ElectionState::Standby;
            }
            was_unknown
        });
    }

    /// Releases the Lease, so that another replica need not wait for it to expire.
    async fn release(mut self) {
        let Some(held) = self.held.take().filter(|_| self.term().is_some()) else { return };
        let mut lease = self.with_self_as_holder(held);
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(RELEASED_SECONDS);
        self.state.send_replace(ElectionState::Standby);
        match self.put(lease).await {
            Ok(_) => tracing::info!(identity = self.identity, "released the Lease"),
            Err(failure) => tracing::warn!("could not release the Lease; it will expire: {failure}"),
        }
    }
}

/// Minimum pause between two tries.
const SHORTEST_PAUSE: Duration = Duration::from_millis(250);

/// Whether the Lease changed, was created or was deleted concurrently.
fn is_refused(failure: &Failure) -> bool {
    matches!(failure.category(), "conflict" | "not_found")
}

/// Time shown in the Lease. The election does not depend on it.
#[allow(clippy::disallowed_methods, reason = "a time for people")]
fn wall_clock() -> MicroTime {
    MicroTime(Timestamp::now())
}
