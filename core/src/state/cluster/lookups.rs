//! Results of the lookups that diagnoses requested, kept for as long as a failing pod requests them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::case::{immediate_workload, top_workload};
use crate::facts::{
    ClaimsFacts, Labels, LogKey, Lookup, LookupResult, Names, Overrides, PodFacts, ReachedFacts, ServiceFacts,
    Siblings, Surroundings, Timestamp, WorkloadFacts, WorkloadKey, after,
};
use crate::outbox::Subject;
use crate::state::compressed::{Compressed, Compressor};

/// Lookups of a failing pod are refreshed after this many seconds.
const REFRESH: i64 = 300;
/// Endpoints follow a pod's readiness with a delay, in seconds. An earlier result would stay wrong until the next
/// refresh.
pub(in crate::state) const SETTLE: i64 = 2;
/// The shortest interval between two reads of the same lookup, in seconds, however many pods request it. It doubles
/// after each failure, up to [`REFRESH`].
const SPACING: i64 = 10;

#[derive(Debug, Default)]
pub(in crate::state) struct Lookups {
    results: HashMap<Lookup, CachedResult>,
    /// The lookups that each subject requests.
    by_requester: HashMap<Subject, Vec<Lookup>>,
    compressor: Compressor,
    /// Results of the lookups of names, which stay: only a dump and the plugin have them.
    names: Names,
}

#[derive(Debug, Default)]
struct CachedResult {
    result: Option<Kept>,
    at: Option<Timestamp>,
    fetched_at: Option<Timestamp>,
    failures: u32,
    requested_by: HashSet<Subject>,
}

#[derive(Debug)]
enum Kept {
    /// Compressed: a workload with its templates is large, and there may be one for every few pods.
    Workload(Option<Compressed<WorkloadFacts>>),
    Other(LookupResult),
}

/// Whether a lookup must be performed now or checked again later.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::state) enum Next {
    Now,
    At(Timestamp),
}

impl Lookups {
    pub(in crate::state) fn kept(&self) -> usize {
        self.results.len() + self.by_requester.len()
    }

    /// When to perform a lookup whose result must not be older than `fresh_from`. `Now` is returned once; the lookup
    /// then counts as in flight.
    pub(in crate::state) fn next(&mut self, lookup: &Lookup, fresh_from: Timestamp, now: Timestamp) -> Next {
        let cached = self.results.entry(lookup.clone()).or_default();
        let due = match cached.at {
            Some(at) if at >= fresh_from => after(at, REFRESH),
            _ => fresh_from,
        };
        let pause = (SPACING << cached.failures.min(5)).min(REFRESH);
        let due = cached.fetched_at.map_or(due, |last| due.max(after(last, pause)));
        if now < due {
            return Next::At(due);
        }
        cached.fetched_at = Some(now);
        Next::Now
    }

    /// Invalidates a result. It is read again once its source has had time to settle.
    pub(in crate::state) fn outdated(&mut self, lookup: &Lookup, now: Timestamp) {
        if let Some(cached) = self.results.get_mut(lookup) {
            let due = after(now, SETTLE);
            // The first change sets the time. Otherwise a source that changes all the time would never be read.
            let known = cached.fetched_at.filter(|_| cached.at.is_none()).map(|at| after(at, SPACING));
            if known.is_none_or(|known| due < known) {
                cached.fetched_at = Some(after(due, -SPACING));
            }
            cached.at = None;
        }
    }

    /// Drops a lookup that has no requester.
    pub(in crate::state) fn withdraw(&mut self, lookup: &Lookup) {
        self.results.remove(lookup);
    }

    /// Sets the lookups that a subject requests, replacing its earlier ones.
    pub(in crate::state) fn set_requests(&mut self, requester: &Subject, needed_lookups: &[Lookup]) {
        if needed_lookups.is_empty() {
            self.forget(requester);
            return;
        }
        if self.by_requester.get(requester).is_some_and(|known| known == needed_lookups) {
            return;
        }
        let mut shared = Vec::with_capacity(needed_lookups.len());
        for lookup in needed_lookups {
            // Shares the key, because thousands of subjects may request the same lookup.
            shared.push(self.results.get_key_value(lookup).map_or(lookup, |(known, _)| known).clone());
            self.results.entry(lookup.clone()).or_default().requested_by.insert(requester.clone());
        }
        let before = self.by_requester.insert(requester.clone(), shared).unwrap_or_default();
        self.drop_requests(requester, before.iter().filter(|lookup| !needed_lookups.contains(lookup)));
    }

    /// Drops the requests of a subject, and the results that no other subject requests.
    pub(in crate::state) fn forget(&mut self, requester: &Subject) {
        let before = self.by_requester.remove(requester).unwrap_or_default();
        self.drop_requests(requester, before.iter());
    }

    fn drop_requests<'a>(&mut self, requester: &Subject, needed_lookups: impl Iterator<Item = &'a Lookup>) {
        for lookup in needed_lookups {
            let Some(cached) = self.results.get_mut(lookup) else { continue };
            cached.requested_by.remove(requester);
            if cached.requested_by.is_empty() {
                self.results.remove(lookup);
            }
        }
    }

    /// Whether any subject requests this lookup.
    pub(in crate::state) fn is_requested(&self, lookup: &Lookup) -> bool {
        self.results.contains_key(lookup)
    }

    /// Stores a result. Returns the subjects that requested it.
    ///
    /// An empty log is read again soon, as after a failure: the container may have been restarted before the request, and the
    /// log of the next run has the same line. It does not replace a log that was read before.
    pub(in crate::state) fn store(&mut self, lookup: Lookup, result: LookupResult, now: Timestamp) -> Vec<Subject> {
        if matches!(&result, LookupResult::Log(log) if log.is_empty()) {
            self.results.entry(lookup.clone()).or_default().result.get_or_insert(Kept::Other(result));
            return self.failed(&lookup);
        }
        let kept = match result {
            LookupResult::Workload(found) => {
                Kept::Workload(found.map(|facts| self.compressor.compress(&facts.key.kind, &facts)))
            }
            LookupResult::Names(names) => {
                if let Lookup::Names(of) = lookup {
                    self.names.add(of, names);
                }
                return Vec::new();
            }
            result => Kept::Other(result),
        };
        let cached = self.results.entry(lookup).or_default();
        cached.result = Some(kept);
        cached.at = Some(now);
        cached.failures = 0;
        cached.requested_by.iter().cloned().collect()
    }

    /// Registers a failed lookup. Its requesters retry with increasing delays.
    pub(in crate::state) fn failed(&mut self, lookup: &Lookup) -> Vec<Subject> {
        let Some(cached) = self.results.get_mut(lookup) else { return Vec::new() };
        cached.failures = cached.failures.saturating_add(1);
        cached.requested_by.iter().cloned().collect()
    }

    /// The known surroundings of a pod. Services must have been read at `fresh_from` or later, and claims since the pod
    /// entered its present situation.
    pub(in crate::state) fn around(
        &self,
        pod: &PodFacts,
        fresh_from: Timestamp,
        situation_since: Timestamp,
        siblings: Siblings,
    ) -> Surroundings {
        let job = immediate_workload(pod).filter(|own| &*own.kind == "Job").and_then(|own| self.workload(&own));
        let top = top_workload(pod, job.as_ref().and_then(Option::as_ref));
        let logs = pod.containers.iter().filter_map(|c| {
            let log = self.log(LogKey::of(pod, c)?)?;
            Some((c.name.clone(), log))
        });
        Surroundings {
            siblings,
            workload: top.and_then(|top| self.workload(&top)),
            job,
            services: self.services(pod, fresh_from),
            claims: self.claims(pod, situation_since),
            logs: logs.collect(),
            names: self.names.clone(),
            // The caller fills in the fields that are not looked up.
            queue: None,
            network_agent: None,
            overrides: Overrides::default(),
            is_given_up: false,
            scale_up_failures: Vec::new(),
        }
    }

    pub(in crate::state) fn names(&self) -> &Names {
        &self.names
    }

    fn log(&self, key: LogKey) -> Option<Arc<str>> {
        match self.result(&Lookup::Log(Box::new(key)))? {
            LookupResult::Log(log) => Some(log.clone()),
            _ => None,
        }
    }

    fn result(&self, lookup: &Lookup) -> Option<&LookupResult> {
        match self.results.get(lookup)?.result.as_ref()? {
            Kept::Other(result) => Some(result),
            Kept::Workload(_) => None,
        }
    }

    fn result_since(&self, lookup: &Lookup, since: Timestamp) -> Option<&LookupResult> {
        self.results.get(lookup).filter(|cached| cached.is_of(since)).and_then(|_| self.result(lookup))
    }

    /// The result of a workload lookup. `None` if it was not looked up.
    fn compressed_workload(&self, key: &WorkloadKey) -> Option<&Option<Compressed<WorkloadFacts>>> {
        match self.results.get(&Lookup::Workload(key.clone()))?.result.as_ref()? {
            Kept::Workload(found) => Some(found),
            Kept::Other(_) => None,
        }
    }

    /// The workload as it was looked up.
    pub(in crate::state) fn known_workload(&self, key: &WorkloadKey) -> Option<WorkloadFacts> {
        let facts = self.compressed_workload(key)?.as_ref()?.decompress()?;
        Some(WorkloadFacts { key: key.clone(), ..facts })
    }

    /// Whether a lookup found the workload.
    pub(in crate::state) fn is_there(&self, key: &WorkloadKey) -> bool {
        self.compressed_workload(key).is_some_and(Option::is_some)
    }

    /// Whether a lookup found that the workload does not exist.
    pub(in crate::state) fn is_not_there(&self, key: &WorkloadKey) -> bool {
        self.compressed_workload(key).is_some_and(Option::is_none)
    }

    /// The looked-up Services and pod labels.
    pub(in crate::state) fn reached(&self, lookup: &Lookup) -> Option<&ReachedFacts> {
        match self.result(lookup)? {
            LookupResult::Reached(reached) => Some(reached),
            _ => None,
        }
    }

    /// The Services of a namespace that select pods with these labels, as of `fresh_from` or later.
    pub(in crate::state) fn services_for(
        &self,
        namespace: &Arc<str>,
        labels: &Labels,
        fresh_from: Timestamp,
    ) -> Option<Vec<ServiceFacts>> {
        let lookup = Lookup::Services(namespace.clone());
        let LookupResult::Services(all) = self.result_since(&lookup, fresh_from)? else { return None };
        Some(all.iter().filter(|service| service.selects(labels)).cloned().collect())
    }

    #[allow(clippy::option_option, reason = "not looked up, not there, there: as in `Surroundings`")]
    fn workload(&self, key: &WorkloadKey) -> Option<Option<WorkloadFacts>> {
        self.compressed_workload(key).map(|_| self.known_workload(key))
    }

    /// The Services of the pod, as of `fresh_from` or later. An earlier result does not include the effect of this
    /// failure, and the highest severity is never lowered.
    fn services(&self, pod: &PodFacts, fresh_from: Timestamp) -> Option<Vec<ServiceFacts>> {
        self.services_for(&pod.key.namespace, &pod.labels, fresh_from)
    }

    /// The unbound claims of the pod. In an earlier result a claim may be missing because it was not created yet.
    fn claims(&self, pod: &PodFacts, since: Timestamp) -> Option<ClaimsFacts> {
        let lookup = Lookup::Claims(pod.key.namespace.clone());
        let LookupResult::Claims(all) = self.result_since(&lookup, since)? else { return None };
        let own = all.unbound.iter().filter(|claim| pod.claims().any(|name| *name == *claim.name));
        Some(ClaimsFacts { unbound: own.cloned().collect(), classes: all.classes.clone() })
    }

    /// Until when to wait for a result that is not older than `since`. `None` if it is available or the lookup failed.
    pub(in crate::state) fn awaited(
        &self,
        lookup: &Lookup,
        since: Timestamp,
        timeout: i64,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let cached = self.results.get(lookup);
        if cached.is_some_and(|cached| cached.is_of(since) || cached.failures > 0) {
            return None;
        }
        let requested_at = cached.and_then(|cached| cached.fetched_at).filter(|at| *at >= since).unwrap_or(now);
        Some(after(requested_at, timeout)).filter(|until| now < *until)
    }
}

impl CachedResult {
    /// Whether a result is available that is not older than `since`.
    fn is_of(&self, since: Timestamp) -> bool {
        self.result.is_some() && self.at.is_some_and(|at| at >= since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        after(Timestamp::UNIX_EPOCH, seconds)
    }

    fn requester(uid: &str) -> Subject {
        Subject::Pod(uid.into())
    }

    fn lookup() -> Lookup {
        Lookup::Services("demo".into())
    }

    #[test]
    fn lookup_that_is_invalidated_constantly_is_still_read() {
        let mut lookups = Lookups::default();
        assert!(matches!(lookups.next(&lookup(), at(0), at(0)), Next::Now));
        let fetched = (0..30).filter(|tenth| {
            let now = at(20 + tenth / 5);
            lookups.outdated(&lookup(), now);
            matches!(lookups.next(&lookup(), at(20), now), Next::Now)
        });
        assert!((1..=4).contains(&fetched.count()), "in six seconds");
    }

    #[test]
    fn lookup_is_in_flight_once_and_refreshed_after_five_minutes() {
        let mut lookups = Lookups::default();
        lookups.set_requests(&requester("a"), &[lookup()]);
        lookups.set_requests(&requester("b"), &[lookup()]);
        assert_eq!(lookups.next(&lookup(), at(2), at(1)), Next::At(at(2)), "endpoints settle first");
        assert_eq!(lookups.next(&lookup(), at(2), at(2)), Next::Now);
        assert_eq!(lookups.next(&lookup(), at(2), at(2)), Next::At(at(12)), "it is under way");
        let mut requesters = lookups.store(lookup(), LookupResult::Services(Vec::new()), at(3));
        requesters.sort();
        assert_eq!(requesters, [requester("a"), requester("b")]);
        assert_eq!(lookups.next(&lookup(), at(2), at(4)), Next::At(at(303)));
        assert_eq!(lookups.next(&lookup(), at(100), at(100)), Next::Now, "another pod's failure is newer");
    }

    #[test]
    fn failed_lookup_is_retried_with_increasing_delay() {
        let mut lookups = Lookups::default();
        lookups.set_requests(&requester("a"), &[lookup()]);
        let mut now = at(0);
        for pause in [20, 40, 80, 160, 300, 300] {
            assert_eq!(lookups.next(&lookup(), at(0), now), Next::Now);
            assert_eq!(lookups.failed(&lookup()), [requester("a")]);
            assert_eq!(lookups.next(&lookup(), at(0), now), Next::At(after(now, pause)));
            now = after(now, pause);
        }
    }

    #[test]
    fn empty_log_is_read_again_soon_and_replaces_no_line() {
        let mut lookups = Lookups::default();
        let key = LogKey {
            pod: crate::facts::ObjectKey::new("demo", "web"),
            uid: "a".into(),
            container: "app".into(),
            exit_code: 1,
            run: crate::facts::EndedRun { previous: true, started: None, ended: None },
        };
        let lookup = Lookup::Log(Box::new(key.clone()));
        lookups.set_requests(&requester("a"), std::slice::from_ref(&lookup));
        let mut now = at(0);
        for pause in [20, 40, 80, 160, 300, 300] {
            assert_eq!(lookups.next(&lookup, at(0), now), Next::Now);
            assert_eq!(lookups.store(lookup.clone(), LookupResult::Log("".into()), now), [requester("a")]);
            assert_eq!(lookups.log(key.clone()).as_deref(), Some(""), "nothing waits for it");
            assert_eq!(lookups.awaited(&lookup, at(0), 10, now), None);
            assert_eq!(lookups.next(&lookup, at(0), now), Next::At(after(now, pause)));
            now = after(now, pause);
        }
        lookups.store(lookup.clone(), LookupResult::Log("address in use".into()), now);
        lookups.store(lookup, LookupResult::Log("".into()), after(now, 300));
        assert_eq!(lookups.log(key).as_deref(), Some("address in use"));
    }

    #[test]
    fn lookup_is_awaited_until_it_succeeds_fails_or_times_out() {
        let mut lookups = Lookups::default();
        let lookup = Lookup::Claims("demo".into());
        lookups.set_requests(&requester("a"), std::slice::from_ref(&lookup));
        assert_eq!(lookups.awaited(&lookup, at(0), 10, at(5)), Some(at(15)));
        assert_eq!(lookups.next(&lookup, at(0), at(5)), Next::Now);
        assert_eq!(lookups.awaited(&lookup, at(0), 10, at(14)), Some(at(15)), "it is under way");
        assert_eq!(lookups.awaited(&lookup, at(0), 10, at(15)), None, "for long enough");
        lookups.store(lookup.clone(), LookupResult::Claims(ClaimsFacts::default()), at(7));
        assert_eq!(lookups.awaited(&lookup, at(0), 10, at(8)), None, "it is there");
        assert_eq!(lookups.awaited(&lookup, at(20), 10, at(21)), Some(at(31)), "it is from before this pod waited");
        lookups.failed(&lookup);
        assert_eq!(lookups.awaited(&lookup, at(20), 10, at(21)), None, "it cannot be had");
    }

    #[test]
    fn looked_up_workload_round_trips_compression() {
        use crate::facts::{OwnFacts, ReplicaSetFacts, StatefulSetFacts, TemplateFacts, WorkloadName};

        let mut lookups = Lookups::default();
        let key = |name: &str| -> WorkloadKey {
            let (api_version, kind) = ("apps/v1".into(), "StatefulSet".into());
            WorkloadName { api_version, kind, namespace: "demo".into(), name: name.into() }.into()
        };
        let of = |name: &str, desired| WorkloadFacts {
            key: key(name),
            uid: name.into(),
            created: Some(at(7)),
            desired,
            template: Some(Box::new(TemplateFacts { service_account: "app".to_owned(), ..TemplateFacts::default() })),
            own: OwnFacts::StatefulSet(StatefulSetFacts { ordered: true, ..StatefulSetFacts::default() }),
            replica_sets: vec![ReplicaSetFacts { revision: 3, ..ReplicaSetFacts::default() }],
            ..WorkloadFacts::default()
        };
        for facts in [of("web", 3), of("db", 5)] {
            lookups.store(
                Lookup::Workload(facts.key.clone()),
                LookupResult::Workload(Some(Box::new(facts.clone()))),
                at(0),
            );
            assert!(lookups.is_there(&facts.key));
            assert_eq!(lookups.known_workload(&facts.key), Some(facts));
        }
        let absent = key("gone");
        assert!(!lookups.is_there(&absent) && !lookups.is_not_there(&absent), "no lookup yet");
        lookups.store(Lookup::Workload(absent.clone()), LookupResult::Workload(None), at(0));
        assert!(lookups.is_not_there(&absent));
        assert_eq!(lookups.known_workload(&absent), None);
    }

    #[test]
    fn result_without_requesters_is_dropped() {
        let mut lookups = Lookups::default();
        lookups.set_requests(&requester("a"), &[lookup()]);
        lookups.set_requests(&requester("b"), &[lookup()]);
        lookups.store(lookup(), LookupResult::Services(Vec::new()), at(0));
        lookups.forget(&requester("a"));
        assert!(lookups.is_requested(&lookup()));
        lookups.set_requests(&requester("b"), &[]);
        assert!(!lookups.is_requested(&lookup()));
        assert!(lookups.results.is_empty());
        assert!(lookups.failed(&lookup()).is_empty());
    }
}
