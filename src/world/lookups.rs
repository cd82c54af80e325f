//! Answers to what diagnoses wanted to know, kept for as long as a failing pod asks.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::packed::{Packed, Packer};
use crate::diagnosis::{immediate_workload, top_workload};
use crate::facts::{
    ClaimsFacts, Labels, LogKey, Looked, PodFacts, ReachedFacts, ServiceFacts, Siblings, Surroundings, Timestamp, Want,
    Wishes, WorkloadFacts, WorkloadKey, after,
};
use crate::outbox::Subject;

/// While a pod fails, what lies around it is read again after so many seconds.
const REFRESH: i64 = 300;
/// Endpoints follow a pod's readiness after a moment; an answer from before that would be wrong for five minutes.
pub(super) const SETTLE: i64 = 2;
/// The same question is asked at most once in so many seconds, however many pods ask. After a failure the pause doubles,
/// up to [`REFRESH`].
const SPACING: i64 = 10;

#[derive(Debug, Default)]
pub(super) struct Lookups {
    answers: HashMap<Want, Answer>,
    /// What each asks for.
    by_asker: HashMap<Subject, Vec<Want>>,
    packer: Packer,
}

#[derive(Debug, Default)]
struct Answer {
    looked: Option<Kept>,
    at: Option<Timestamp>,
    fetched_at: Option<Timestamp>,
    failures: u32,
    asked_by: HashSet<Subject>,
}

#[derive(Debug)]
enum Kept {
    /// With its templates it is large, and there may be one for each few pods.
    Workload(Option<Packed<WorkloadFacts>>),
    Other(Looked),
}

/// Whether a want is to be fetched now, or looked at again later.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Now,
    At(Timestamp),
}

impl Lookups {
    pub(super) fn kept(&self) -> usize {
        self.answers.len() + self.by_asker.len()
    }

    /// When to fetch an answer that is not older than `fresh_from`. `Now` is said once: the fetch is then under way.
    pub(super) fn next(&mut self, want: &Want, fresh_from: Timestamp, now: Timestamp) -> Next {
        let answer = self.answers.entry(want.clone()).or_default();
        let due = match answer.at {
            Some(at) if at >= fresh_from => after(at, REFRESH),
            _ => fresh_from,
        };
        let pause = (SPACING << answer.failures.min(5)).min(REFRESH);
        let due = answer.fetched_at.map_or(due, |last| due.max(after(last, pause)));
        if now < due {
            return Next::At(due);
        }
        answer.fetched_at = Some(now);
        Next::Now
    }

    /// An answer has become wrong: it is fetched anew once its source has had time to follow.
    pub(super) fn outdated(&mut self, want: &Want, now: Timestamp) {
        if let Some(answer) = self.answers.get_mut(want) {
            let due = after(now, SETTLE);
            // What changes all the time would never be fetched: the first change sets the time.
            let known = answer.fetched_at.filter(|_| answer.at.is_none()).map(|at| after(at, SPACING));
            if known.is_none_or(|known| due < known) {
                answer.fetched_at = Some(after(due, -SPACING));
            }
            answer.at = None;
        }
    }

    /// A question that nobody asked for good is of no interest any more.
    pub(super) fn withdraw(&mut self, want: &Want) {
        self.answers.remove(want);
    }

    /// Somebody asks for these and for nothing else any more.
    pub(super) fn asked(&mut self, asker: &Subject, wants: &[Want]) {
        if wants.is_empty() {
            self.forget(asker);
            return;
        }
        if self.by_asker.get(asker).is_some_and(|known| known == wants) {
            return;
        }
        let mut shared = Vec::with_capacity(wants.len());
        for want in wants {
            // Thousands may ask the same.
            shared.push(self.answers.get_key_value(want).map_or(want, |(known, _)| known).clone());
            self.answers.entry(want.clone()).or_default().asked_by.insert(asker.clone());
        }
        let before = self.by_asker.insert(asker.clone(), shared).unwrap_or_default();
        self.unask(asker, before.iter().filter(|want| !wants.contains(want)));
    }

    /// It is gone, or well: what only it asked for is forgotten.
    pub(super) fn forget(&mut self, asker: &Subject) {
        let before = self.by_asker.remove(asker).unwrap_or_default();
        self.unask(asker, before.iter());
    }

    fn unask<'a>(&mut self, asker: &Subject, wants: impl Iterator<Item = &'a Want>) {
        for want in wants {
            let Some(answer) = self.answers.get_mut(want) else { continue };
            answer.asked_by.remove(asker);
            if answer.asked_by.is_empty() {
                self.answers.remove(want);
            }
        }
    }

    /// Whether somebody still waits for this answer.
    pub(super) fn is_asked(&self, want: &Want) -> bool {
        self.answers.contains_key(want)
    }

    /// Those that wait for this answer.
    pub(super) fn answered(&mut self, want: Want, looked: Looked, now: Timestamp) -> Vec<Subject> {
        let kept = match looked {
            Looked::Workload(found) => Kept::Workload(found.map(|facts| self.packer.pack(&facts.key.kind, &facts))),
            looked => Kept::Other(looked),
        };
        let answer = self.answers.entry(want).or_default();
        answer.looked = Some(kept);
        answer.at = Some(now);
        answer.failures = 0;
        answer.asked_by.iter().cloned().collect()
    }

    /// There was no answer: those that wait for it ask again, later and later.
    pub(super) fn failed(&mut self, want: &Want) -> Vec<Subject> {
        let Some(answer) = self.answers.get_mut(want) else { return Vec::new() };
        answer.failures = answer.failures.saturating_add(1);
        answer.asked_by.iter().cloned().collect()
    }

    /// What is known around a pod, of Services only what was read at `fresh_from` or later, of claims what was read since the
    /// pod has been in its present situation.
    pub(super) fn around(
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
            // What is not looked up is filled in by whoever asks.
            queue: None,
            wishes: Wishes::default(),
            is_given_up: false,
        }
    }

    fn log(&self, key: LogKey) -> Option<Arc<str>> {
        match self.looked(&Want::Log(Box::new(key)))? {
            Looked::Log(log) => Some(log.clone()),
            _ => None,
        }
    }

    fn looked(&self, want: &Want) -> Option<&Looked> {
        match self.answers.get(want)?.looked.as_ref()? {
            Kept::Other(looked) => Some(looked),
            Kept::Workload(_) => None,
        }
    }

    fn looked_since(&self, want: &Want, since: Timestamp) -> Option<&Looked> {
        self.answers.get(want).filter(|answer| answer.is_of(since)).and_then(|_| self.looked(want))
    }

    /// `None`: it was not looked up.
    fn packed_workload(&self, key: &WorkloadKey) -> Option<&Option<Packed<WorkloadFacts>>> {
        match self.answers.get(&Want::Workload(key.clone()))?.looked.as_ref()? {
            Kept::Workload(found) => Some(found),
            Kept::Other(_) => None,
        }
    }

    /// A workload as it was looked up.
    pub(super) fn known_workload(&self, key: &WorkloadKey) -> Option<WorkloadFacts> {
        let facts = self.packed_workload(key)?.as_ref()?.open()?;
        Some(WorkloadFacts { key: key.clone(), ..facts })
    }

    /// Whether a workload was looked up and is there.
    pub(super) fn is_there(&self, key: &WorkloadKey) -> bool {
        self.packed_workload(key).is_some_and(Option::is_some)
    }

    /// Whether a workload was looked up and is not there.
    pub(super) fn is_not_there(&self, key: &WorkloadKey) -> bool {
        self.packed_workload(key).is_some_and(Option::is_none)
    }

    /// Services and the labels of pods, as they were looked up.
    pub(super) fn reached(&self, want: &Want) -> Option<&ReachedFacts> {
        match self.looked(want)? {
            Looked::Reached(reached) => Some(reached),
            _ => None,
        }
    }

    /// The Services of a namespace that select pods with these labels, as they were read at `fresh_from` or later.
    pub(super) fn services_for(
        &self,
        namespace: &Arc<str>,
        labels: &Labels,
        fresh_from: Timestamp,
    ) -> Option<Vec<ServiceFacts>> {
        let want = Want::Services(namespace.clone());
        let Looked::Services(all) = self.looked_since(&want, fresh_from)? else { return None };
        Some(all.iter().filter(|service| service.selects(labels)).cloned().collect())
    }

    #[allow(clippy::option_option, reason = "not looked up, not there, there: as in `Surroundings`")]
    fn workload(&self, key: &WorkloadKey) -> Option<Option<WorkloadFacts>> {
        self.packed_workload(key).map(|_| self.known_workload(key))
    }

    /// Another pod of the namespace may have asked before this one failed, or in the same second: what Services had then
    /// says nothing of what this failure leaves them, and the worst severity is for good.
    fn services(&self, pod: &PodFacts, fresh_from: Timestamp) -> Option<Vec<ServiceFacts>> {
        self.services_for(&pod.key.namespace, &pod.labels, fresh_from)
    }

    /// A claim that another pod's question did not find yet is not one that has its volume.
    fn claims(&self, pod: &PodFacts, since: Timestamp) -> Option<ClaimsFacts> {
        let want = Want::Claims(pod.key.namespace.clone());
        let Looked::Claims(all) = self.looked_since(&want, since)? else { return None };
        let own = all.unbound.iter().filter(|claim| pod.claims().any(|name| *name == *claim.name));
        Some(ClaimsFacts { unbound: own.cloned().collect(), classes: all.classes.clone() })
    }

    /// Until when it is worth waiting for an answer that is not older than `since`. `None`: it is there, or cannot be had.
    pub(super) fn awaited(&self, want: &Want, since: Timestamp, patience: i64, now: Timestamp) -> Option<Timestamp> {
        let answer = self.answers.get(want);
        if answer.is_some_and(|answer| answer.is_of(since) || answer.failures > 0) {
            return None;
        }
        let asked_at = answer.and_then(|answer| answer.fetched_at).filter(|at| *at >= since).unwrap_or(now);
        Some(after(asked_at, patience)).filter(|until| now < *until)
    }
}

impl Answer {
    /// Whether it is there, and not from before `since`.
    fn is_of(&self, since: Timestamp) -> bool {
        self.looked.is_some() && self.at.is_some_and(|at| at >= since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        after(Timestamp::UNIX_EPOCH, seconds)
    }

    fn asker(uid: &str) -> Subject {
        Subject::Pod(uid.into())
    }

    fn want() -> Want {
        Want::Services("demo".into())
    }

    #[test]
    fn what_changes_all_the_time_is_fetched_all_the_same() {
        let mut lookups = Lookups::default();
        assert!(matches!(lookups.next(&want(), at(0), at(0)), Next::Now));
        let fetched = (0..30).filter(|tenth| {
            let now = at(20 + tenth / 5);
            lookups.outdated(&want(), now);
            matches!(lookups.next(&want(), at(20), now), Next::Now)
        });
        assert!((1..=4).contains(&fetched.count()), "in six seconds");
    }

    #[test]
    fn one_question_is_under_way_once_and_read_again_after_five_minutes() {
        let mut lookups = Lookups::default();
        lookups.asked(&asker("a"), &[want()]);
        lookups.asked(&asker("b"), &[want()]);
        assert_eq!(lookups.next(&want(), at(2), at(1)), Next::At(at(2)), "endpoints settle first");
        assert_eq!(lookups.next(&want(), at(2), at(2)), Next::Now);
        assert_eq!(lookups.next(&want(), at(2), at(2)), Next::At(at(12)), "it is under way");
        let mut told = lookups.answered(want(), Looked::Services(Vec::new()), at(3));
        told.sort();
        assert_eq!(told, [asker("a"), asker("b")]);
        assert_eq!(lookups.next(&want(), at(2), at(4)), Next::At(at(303)));
        assert_eq!(lookups.next(&want(), at(100), at(100)), Next::Now, "another pod's failure is newer");
    }

    #[test]
    fn what_cannot_be_read_is_asked_later_and_later() {
        let mut lookups = Lookups::default();
        lookups.asked(&asker("a"), &[want()]);
        let mut now = at(0);
        for pause in [20, 40, 80, 160, 300, 300] {
            assert_eq!(lookups.next(&want(), at(0), now), Next::Now);
            assert_eq!(lookups.failed(&want()), [asker("a")]);
            assert_eq!(lookups.next(&want(), at(0), now), Next::At(after(now, pause)));
            now = after(now, pause);
        }
    }

    #[test]
    fn an_answer_is_waited_for_until_it_is_there_or_cannot_be_had() {
        let mut lookups = Lookups::default();
        let want = Want::Claims("demo".into());
        lookups.asked(&asker("a"), std::slice::from_ref(&want));
        assert_eq!(lookups.awaited(&want, at(0), 10, at(5)), Some(at(15)));
        assert_eq!(lookups.next(&want, at(0), at(5)), Next::Now);
        assert_eq!(lookups.awaited(&want, at(0), 10, at(14)), Some(at(15)), "it is under way");
        assert_eq!(lookups.awaited(&want, at(0), 10, at(15)), None, "for long enough");
        lookups.answered(want.clone(), Looked::Claims(ClaimsFacts::default()), at(7));
        assert_eq!(lookups.awaited(&want, at(0), 10, at(8)), None, "it is there");
        assert_eq!(lookups.awaited(&want, at(20), 10, at(21)), Some(at(31)), "it is from before this pod waited");
        lookups.failed(&want);
        assert_eq!(lookups.awaited(&want, at(20), 10, at(21)), None, "it cannot be had");
    }

    #[test]
    fn a_workload_is_told_as_it_was_looked_up() {
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
            lookups.answered(Want::Workload(facts.key.clone()), Looked::Workload(Some(Box::new(facts.clone()))), at(0));
            assert!(lookups.is_there(&facts.key));
            assert_eq!(lookups.known_workload(&facts.key), Some(facts));
        }
        let absent = key("gone");
        assert!(!lookups.is_there(&absent) && !lookups.is_not_there(&absent), "nobody has looked");
        lookups.answered(Want::Workload(absent.clone()), Looked::Workload(None), at(0));
        assert!(lookups.is_not_there(&absent));
        assert_eq!(lookups.known_workload(&absent), None);
    }

    #[test]
    fn an_answer_that_nobody_asks_for_any_more_is_forgotten() {
        let mut lookups = Lookups::default();
        lookups.asked(&asker("a"), &[want()]);
        lookups.asked(&asker("b"), &[want()]);
        lookups.answered(want(), Looked::Services(Vec::new()), at(0));
        lookups.forget(&asker("a"));
        assert!(lookups.is_asked(&want()));
        lookups.asked(&asker("b"), &[]);
        assert!(!lookups.is_asked(&want()));
        assert!(lookups.answers.is_empty());
        assert!(lookups.failed(&want()).is_empty());
    }
}
