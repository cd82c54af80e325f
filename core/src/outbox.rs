//! Work queue of subjects to diagnose and write, in three lanes. In a lane, kinds of failure and workloads take turns.
//!
//! It contains subjects and no payloads: the newest state is read when a subject is taken out. A subject that changes
//! often while it is queued is written once, and memory is bounded by the number of subjects. The caller passes the
//! time in.

mod turns;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::facts::{ObjectKey, Timestamp, WorkloadKey, after};
use crate::reconcile::{Bearer, DiagnosisKey};
pub use turns::Stream;
use turns::{Place, Turns};

/// A unit of work. Several tables have an entry for each failing pod, so the large and rare variants are boxed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A pod by UID.
    Pod(Arc<str>),
    /// A pod diagnosis whose pod is gone, or that must be removed or repaired.
    Object(Box<ObjectKey>),
    Node(Arc<str>),
    Workload(WorkloadKey),
    /// The Services of a namespace: whether each of them selects a pod.
    Services(Arc<str>),
    /// The diagnosis annotation of a pod or workload.
    Annotation(Bearer),
    UnknownObject(Box<UnknownObject>),
}

/// An orphaned object at this version.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnknownObject {
    pub key: DiagnosisKey,
    pub resource_version: String,
}

/// Lanes in order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// A healthy pod begins to fail.
    NewFailure,
    /// A subject that is known to fail changes.
    Change,
    /// Timers, relists, repairs.
    Resync,
}

impl Lane {
    pub const ALL: [Self; 3] = [Self::NewFailure, Self::Change, Self::Resync];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NewFailure => "new_failure",
            Self::Change => "change",
            Self::Resync => "resync",
        }
    }
}

#[derive(Debug, Default)]
pub struct Outbox {
    lanes: [Turns; 3],
    /// The lane and place of each queued subject.
    queued: HashMap<Subject, (Lane, Place)>,
    arrivals: u64,
    /// Subjects being processed, each with the lane of changes that arrived meanwhile.
    in_flight: HashMap<Subject, Option<Lane>>,
    timers: BTreeSet<(Timestamp, Subject)>,
    due: HashMap<Subject, Timestamp>,
    failures: HashMap<Subject, u32>,
    /// Subjects whose write failed, each with the best requested lane. They wait for their timer, whatever else
    /// changes.
    held: HashMap<Subject, Lane>,
}

impl Outbox {
    /// Queues a subject, or moves it to a better lane.
    pub fn push(&mut self, subject: Subject, lane: Lane) {
        self.push_in(Stream::default(), subject, lane);
    }

    /// Queues a subject, or moves it to a better lane, where its stream takes turns with others.
    pub fn push_in(&mut self, stream: Stream, subject: Subject, lane: Lane) {
        if let Some(again) = self.in_flight.get_mut(&subject) {
            *again = Some(again.map_or(lane, |l| l.min(lane)));
            return;
        }
        if let Some(held) = self.held.get_mut(&subject) {
            *held = lane.min(*held);
            return;
        }
        match self.queued.get(&subject) {
            Some((known, _)) if *known <= lane => return,
            Some((known, place)) => {
                self.lanes[*known as usize].remove(*place);
            }
            None => {}
        }
        self.arrivals += 1;
        let place = self.lanes[lane as usize].insert(stream, self.arrivals, subject.clone());
        self.queued.insert(subject, (lane, place));
    }

    /// Takes the next subject from the lanes down to `last`, with its lane. It stays in flight until [`Self::done`] or
    /// [`Self::retry`].
    pub fn pop(&mut self, last: Lane, now: Timestamp) -> Option<(Subject, Lane)> {
        self.ring(now);
        let mut lanes = Lane::ALL.into_iter().take_while(|lane| *lane <= last);
        let (subject, lane) = lanes.find_map(|lane| Some((self.lanes[lane as usize].pop_first()?, lane)))?;
        self.queued.remove(&subject);
        self.in_flight.insert(subject.clone(), None);
        Some((subject, lane))
    }

    /// Queues the subjects whose timer has expired.
    fn ring(&mut self, now: Timestamp) {
        while let Some((at, subject)) = self.timers.first().filter(|(at, _)| *at <= now).cloned() {
            self.timers.remove(&(at, subject.clone()));
            self.due.remove(&subject);
            let lane = self.held.remove(&subject).unwrap_or(Lane::Resync);
            self.push(subject, lane);
        }
    }

    /// Ends the processing of a subject. It is queued again if it changed meanwhile.
    pub fn done(&mut self, subject: &Subject) {
        self.failures.remove(subject);
        self.land(subject);
    }

    /// Queues a failed subject again after 1 s, doubling up to 5 minutes, or after the delay that the server requested.
    pub fn retry(&mut self, subject: &Subject, now: Timestamp, retry_after: Option<i64>) {
        const LONGEST: i64 = 300;
        let failures = self.failures.entry(subject.clone()).or_insert(0);
        let delay = retry_after.unwrap_or(1_i64 << (*failures).min(9)).clamp(1, LONGEST);
        *failures += 1;
        let waiting = self.in_flight.remove(subject).flatten();
        if let Some(earlier) = self.due.remove(subject) {
            self.timers.remove(&(earlier, subject.clone()));
        }
        self.wake_at(subject.clone(), after(now, delay));
        self.held.insert(subject.clone(), waiting.unwrap_or(Lane::Change));
    }

    fn land(&mut self, subject: &Subject) {
        if let Some(Some(lane)) = self.in_flight.remove(subject) {
            self.push(subject.clone(), lane);
        }
    }

    /// Queues a subject at `at`, or earlier if an earlier timer exists.
    pub fn wake_at(&mut self, subject: Subject, at: Timestamp) {
        if self.held.contains_key(&subject) {
            return;
        }
        match self.due.get(&subject) {
            Some(known) if *known <= at => {}
            known => {
                if let Some(known) = known {
                    self.timers.remove(&(*known, subject.clone()));
                }
                self.due.insert(subject.clone(), at);
                self.timers.insert((at, subject));
            }
        }
    }

    /// When the next timer expires.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Number of subjects queued in a lane.
    pub fn depth(&self, lane: Lane) -> usize {
        self.lanes[lane as usize].len()
    }

    /// Number of entries in all collections.
    pub fn kept(&self) -> usize {
        self.queued.len() + self.in_flight.len() + self.due.len() + self.failures.len() + self.held.len()
    }

    /// Whether a subject is queued in the lanes down to `last`.
    pub fn has_ready(&self, last: Lane) -> bool {
        self.lanes[..=last as usize].iter().any(|lane| !lane.is_empty())
    }

    /// Whether no subject is in flight.
    pub fn is_settled(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The subjects in flight, for a graceful shutdown.
    pub fn in_flight(&self) -> HashSet<&Subject> {
        self.in_flight.keys().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A failing pod is a subject in five tables: 8 bytes more are 1 MiB when 15,000 fail.
    #[test]
    fn subject_is_small() {
        assert_eq!(size_of::<Subject>(), 24);
    }

    fn pod(name: &str) -> Subject {
        Subject::Pod(name.into())
    }

    fn pop(outbox: &mut Outbox, now: Timestamp) -> Option<Subject> {
        outbox.pop(Lane::Resync, now).map(|(subject, _)| subject)
    }

    fn at(seconds: i64) -> Timestamp {
        after(Timestamp::UNIX_EPOCH, seconds)
    }

    #[test]
    fn new_failures_precede_earlier_resyncs() {
        let mut outbox = Outbox::default();
        for i in 0..100 {
            outbox.push(pod(&format!("old-{i}")), Lane::Resync);
        }
        outbox.push(pod("new"), Lane::NewFailure);
        assert_eq!(outbox.pop(Lane::NewFailure, at(0)), Some((pod("new"), Lane::NewFailure)));
        assert_eq!(outbox.pop(Lane::Change, at(0)), None);
        assert!(!outbox.has_ready(Lane::Change));
        assert!(outbox.has_ready(Lane::Resync));
    }

    /// A pod of a workload that fails in a way.
    fn fails(outbox: &mut Outbox, name: &str, failure: u64, workload: u64) {
        outbox.push_in(Stream { failure, workload }, pod(name), Lane::NewFailure);
    }

    fn order(outbox: &mut Outbox) -> String {
        let names = std::iter::from_fn(|| match pop(outbox, at(0))? {
            Subject::Pod(name) => Some(name.to_string()),
            _ => None,
        });
        names.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn workloads_take_turns() {
        let mut outbox = Outbox::default();
        for (name, workload) in [("a1", 1), ("a2", 1), ("a3", 1), ("b1", 2), ("c1", 3), ("b2", 2)] {
            fails(&mut outbox, name, 7, workload);
        }
        assert_eq!(order(&mut outbox), "a1 b1 c1 a2 b2 a3");
    }

    #[test]
    fn another_failure_is_next_however_many_fail_in_the_same_way() {
        let mut outbox = Outbox::default();
        for number in 0..1000 {
            fails(&mut outbox, &format!("pull-{number}"), 7, number);
        }
        assert_eq!(pop(&mut outbox, at(0)), Some(pod("pull-0")));
        fails(&mut outbox, "oom", 3, 5);
        fails(&mut outbox, "probe", 9, 5);
        assert_eq!(pop(&mut outbox, at(0)), Some(pod("probe")));
        assert_eq!(pop(&mut outbox, at(0)), Some(pod("oom")));
        assert_eq!(pop(&mut outbox, at(0)), Some(pod("pull-1")));
    }

    #[test]
    fn workload_that_failed_before_waits_no_longer_than_a_new_one() {
        let mut outbox = Outbox::default();
        for name in ["a1", "a2", "a3", "b1", "b2", "b3"] {
            let workload = u64::from(name.starts_with('b'));
            fails(&mut outbox, name, 7, workload);
        }
        for served in ["a1", "b1", "a2", "b2"] {
            assert_eq!(pop(&mut outbox, at(0)), Some(pod(served)));
        }
        fails(&mut outbox, "c1", 7, 2);
        fails(&mut outbox, "c2", 7, 2);
        assert_eq!(order(&mut outbox), "c1 a3 b3 c2");
    }

    #[test]
    fn promoted_subject_is_popped_once() {
        let mut outbox = Outbox::default();
        outbox.push(pod("a"), Lane::Resync);
        outbox.push(pod("a"), Lane::NewFailure);
        outbox.push(pod("a"), Lane::Change);
        assert_eq!(pop(&mut outbox, at(0)), Some(pod("a")));
        assert_eq!(pop(&mut outbox, at(0)), None);
    }

    #[test]
    fn subject_that_changes_in_flight_is_requeued_after_it_is_done() {
        let mut outbox = Outbox::default();
        outbox.push(pod("a"), Lane::Change);
        assert_eq!(pop(&mut outbox, at(0)), Some(pod("a")));
        outbox.push(pod("a"), Lane::Change);
        assert_eq!(pop(&mut outbox, at(0)), None, "it is in flight");
        outbox.done(&pod("a"));
        assert_eq!(pop(&mut outbox, at(0)), Some(pod("a")));
    }

    #[test]
    fn memory_is_bounded_by_the_number_of_subjects() {
        let mut outbox = Outbox::default();
        for i in 0..1000 {
            // Climbs the lanes repeatedly while the lowest lane is never served.
            outbox.push(pod("a"), Lane::Resync);
            outbox.push(pod("a"), Lane::Change);
            outbox.push(pod("b"), Lane::Resync);
            assert_eq!((outbox.depth(Lane::Change), outbox.depth(Lane::Resync)), (1, 1), "{i}");
            assert_eq!(pop(&mut outbox, at(0)), Some(pod("a")));
            outbox.done(&pod("a"));
        }
        assert!(outbox.lanes.iter().map(Turns::len).sum::<usize>() == 1);
    }

    #[test]
    fn refused_subject_waits_for_its_timer() {
        let mut outbox = Outbox::default();
        outbox.push(pod("a"), Lane::Resync);
        pop(&mut outbox, at(0));
        outbox.retry(&pod("a"), at(0), Some(30));
        outbox.push(pod("a"), Lane::NewFailure);
        outbox.wake_at(pod("a"), at(1));
        assert_eq!(pop(&mut outbox, at(29)), None);
        outbox.push(pod("b"), Lane::Change);
        assert_eq!(pop(&mut outbox, at(30)), Some(pod("a")), "in the best lane that asked for it");
    }

    #[test]
    fn timer_expires_once_at_its_earliest_time() {
        let mut outbox = Outbox::default();
        outbox.wake_at(pod("a"), at(60));
        outbox.wake_at(pod("a"), at(30));
        outbox.wake_at(pod("a"), at(90));
        assert_eq!(outbox.next_wake(), Some(at(30)));
        assert_eq!(pop(&mut outbox, at(29)), None);
        assert_eq!(pop(&mut outbox, at(30)), Some(pod("a")));
        outbox.done(&pod("a"));
        assert_eq!(outbox.next_wake(), None);
    }

    #[test]
    fn failed_write_is_retried_with_increasing_delay() {
        let mut outbox = Outbox::default();
        let mut now = at(0);
        for expected in [1, 2, 4, 8] {
            outbox.push(pod("a"), Lane::Change);
            while pop(&mut outbox, now).is_none() {
                now = outbox.next_wake().expect("a timer");
            }
            outbox.retry(&pod("a"), now, None);
            assert_eq!(outbox.next_wake(), Some(after(now, expected)));
        }
        outbox.push(pod("b"), Lane::Change);
        pop(&mut outbox, now);
        outbox.retry(&pod("b"), now, Some(17));
        assert!(outbox.due.get(&pod("b")) == Some(&after(now, 17)));
    }
}
