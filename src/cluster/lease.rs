//! Leader election by a Lease: of several replicas one writes.
//!
//! The algorithm is that of client-go. What counts is whether the Lease changes, by the local monotonic clock; the times in
//! it are for people, so clocks that differ by an hour do no harm. A holder that could not renew in time stops by itself,
//! before another may take over; and each change of the Lease names the version that it replaces, so of two that try
//! one succeeds.

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

#[cfg(test)]
pub(crate) use leadership::ByHand;
pub use leadership::Leadership;
use leadership::{Standing, Term};

use super::call::{self, Failure};
use crate::facts::Timestamp;
use crate::http::Health;

/// The name of the Lease.
pub const NAME: &str = "shindan";
/// The name of the election in [`Health`].
const PART: &str = "leader election";
/// What a Lease that was given back says of its length: whoever sees it may take it at once.
const RELEASED_SECONDS: i32 = 1;

/// How long each thing may take; each is shorter than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Who sees a Lease unchanged for so long may take it.
    pub lease: Duration,
    /// A holder that has not renewed for so long writes no more.
    pub renew: Duration,
    /// Between two tries.
    pub retry: Duration,
}

impl Default for Timing {
    /// So that another replica has taken over within 15 s, in the worst case.
    fn default() -> Self {
        Self { lease: Duration::from_secs(10), renew: Duration::from_secs(6), retry: Duration::from_secs(2) }
    }
}

/// One candidate.
pub struct Elector {
    client: Client,
    /// The path of Leases in the namespace.
    leases: Request,
    namespace: String,
    identity: String,
    timing: Timing,
    health: Health,
    standing: watch::Sender<Standing>,
    terms: u64,
    /// The Lease as we wrote it last, while we hold it.
    held: Option<Lease>,
    /// The Lease as it was seen last, and since when it is so.
    seen: Option<(Option<LeaseSpec>, Instant)>,
    /// What was last said of it, so that it is not said every two seconds.
    said: String,
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
    /// `instance` names this process for people; what tells it apart is added.
    pub fn new(client: Client, namespace: &str, instance: &str, timing: Timing, health: Health) -> (Self, Leadership) {
        let (standing, receiver) = watch::channel(Standing::Unknown);
        // A container that is started again has the name of the one before it, and is another process.
        let identity = format!("{instance}_{}", uuid::Uuid::new_v4());
        let leases = Request::new(Lease::url_path(&(), Some(namespace)));
        let elector = Self {
            client,
            leases,
            namespace: namespace.to_owned(),
            identity,
            timing,
            health,
            standing,
            terms: 0,
            held: None,
            seen: None,
            said: String::new(),
        };
        (elector, Leadership::elected(receiver))
    }

    /// Stands for election until `stop` is done, then gives the Lease back if it is held.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        tracing::info!(identity = self.identity, namespace = self.namespace, lease = NAME, "standing for election");
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                () = self.turn() => {}
            }
        }
        self.release().await;
    }

    /// One try, and the pause after it.
    async fn turn(&mut self) {
        let began = Instant::now();
        match self.try_to_hold(began).await {
            Ok(true) => self.lead(began),
            Ok(false) => self.follow("another replica leads"),
            Err(failure) => self.trouble(&failure),
        }
        tokio::time::sleep_until(self.next_try(began)).await;
        if self.term().is_some_and(|term| term.until <= Instant::now()) {
            self.follow("the Lease could not be renewed in time");
        }
    }

    fn term(&self) -> Option<Term> {
        match *self.standing.borrow() {
            Standing::Leading(term) => Some(term),
            Standing::Unknown | Standing::Following => None,
        }
    }

    /// When to try again: in time for what may end before the next regular try.
    fn next_try(&self, began: Instant) -> Instant {
        let regular = began + self.timing.retry;
        match (self.term(), &self.seen) {
            (Some(term), _) => regular.min(term.until),
            (None, Some((spec, since))) => regular.min(*since + self.length(spec.as_ref())).max(began + SHORTEST_PAUSE),
            (None, None) => regular,
        }
    }

    /// How long this Lease must stay unchanged before another may take it.
    fn length(&self, spec: Option<&LeaseSpec>) -> Duration {
        let told = spec.and_then(|spec| spec.lease_duration_seconds).and_then(|s| u64::try_from(s).ok());
        // Of two versions of the operator that differ the longer one counts.
        told.map_or(self.timing.lease, |told| self.timing.lease.max(Duration::from_secs(told)))
    }

    /// How long one request may take: two fit into what is left of a term, as the first may be stuck in a dead connection.
    fn limit(&self) -> Duration {
        let left = self.term().map_or(self.timing.renew, |term| term.until.saturating_duration_since(Instant::now()));
        (left / 2).max(SHORTEST_PAUSE)
    }

    async fn try_to_hold(&mut self, now: Instant) -> Result<bool, Failure> {
        if self.term().is_some()
            && let Some(held) = self.held.clone()
        {
            match self.put(self.signed(held)).await {
                Ok(lease) => return Ok(self.holds(lease)),
                // Somebody touched it: who holds it is read below.
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
        if !self.may_take(&lease, now) {
            return Ok(false);
        }
        match self.put(self.signed(lease)).await {
            Ok(lease) => Ok(self.holds(lease)),
            Err(failure) if is_refused(&failure) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Whether nobody else holds it, or for too long without a sign of life.
    fn may_take(&mut self, lease: &Lease, now: Instant) -> bool {
        if self.seen.as_ref().is_none_or(|(spec, _)| *spec != lease.spec) {
            self.seen = Some((lease.spec.clone(), Instant::now()));
        }
        let spec = lease.spec.as_ref();
        let holder = spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default();
        let since = self.seen.as_ref().map_or(now, |(_, since)| *since);
        holder.is_empty() || holder == self.identity || since + self.length(spec) <= now
    }

    fn holds(&mut self, lease: Lease) -> bool {
        self.seen = None;
        self.held = Some(lease);
        true
    }

    /// The Lease with our name on it.
    fn signed(&self, mut lease: Lease) -> Lease {
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
        match self.send(self.leases.get(NAME, &GetParams::default())).await {
            Ok(lease) => Ok(Some(lease)),
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    async fn create(&self) -> Result<Lease, Failure> {
        let metadata = ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() };
        let mut lease = self.signed(Lease { metadata, spec: None });
        // It is the first: nobody had it before.
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
        call::json(&self.client, request, self.limit()).await
    }

    /// From when the request was sent: whoever watches saw it later than that.
    fn lead(&mut self, sent: Instant) {
        let until = sent + self.timing.renew;
        let number = self.term().map(|term| term.number);
        if number.is_none() {
            self.terms += 1;
            tracing::info!(identity = self.identity, "leading");
        }
        self.well();
        self.standing.send_replace(Standing::Leading(Term { number: number.unwrap_or(self.terms), until }));
    }

    fn follow(&mut self, why: &str) {
        if self.term().is_some() {
            tracing::warn!(identity = self.identity, "leading no more: {why}");
        }
        self.held = None;
        self.well();
        self.standing.send_if_modified(|standing| {
            let changed = *standing != Standing::Following;
            *standing = Standing::Following;
            changed
        });
    }

    fn well(&mut self) {
        self.said.clear();
        self.health.ready(PART);
    }

    fn trouble(&mut self, failure: &Failure) {
        let text = match failure.category() {
            "forbidden" => format!(
                "not allowed to use the Lease {NAME} in the namespace {}; is deploy/'s Role applied there? ({failure})",
                self.namespace
            ),
            "not_found" => format!("there is no namespace {} for the Lease {NAME} ({failure})", self.namespace),
            _ => format!("cannot use the Lease {NAME} in the namespace {}: {failure}", self.namespace),
        };
        self.health.missing(PART, text.clone());
        if self.said != text {
            tracing::warn!(kind = failure.category(), "{text}; trying again");
            self.said = text;
        }
        // Who neither leads nor knows who does is ready to follow.
        self.standing.send_if_modified(|standing| {
            let was_unknown = *standing == Standing::Unknown;
            if was_unknown {
                *standing = Standing::Following;
            }
            was_unknown
        });
    }

    /// So that another one need not wait.
    async fn release(mut self) {
        let Some(held) = self.held.take().filter(|_| self.term().is_some()) else { return };
        let mut lease = self.signed(held);
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(RELEASED_SECONDS);
        self.standing.send_replace(Standing::Following);
        match self.put(lease).await {
            Ok(_) => tracing::info!(identity = self.identity, "gave the Lease back"),
            Err(failure) => tracing::warn!("could not give the Lease back; it runs out by itself: {failure}"),
        }
    }
}

/// Between two tries at least.
const SHORTEST_PAUSE: Duration = Duration::from_millis(250);

/// It is not at our version, or there already, or not there any more.
fn is_refused(failure: &Failure) -> bool {
    matches!(failure.category(), "conflict" | "not_found")
}

/// What people read in the Lease; nobody decides by it.
#[allow(clippy::disallowed_methods, reason = "a time for people")]
fn wall_clock() -> MicroTime {
    MicroTime(Timestamp::now())
}
