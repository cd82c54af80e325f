//! What waits to be diagnosed and written: subjects, never payloads, in three lanes.
//!
//! The newest state is read when a subject is taken out, so a subject that changes a thousand times while it waits is
//! written once, and memory is bounded by the number of subjects. The clock is passed in.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::facts::{ObjectKey, Timestamp, WorkloadKey, after};
use crate::plan::{Bearer, DiagnosisKey};

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A pod by UID.
    Pod(Arc<str>),
    /// An object of ours whose pod is gone, or that is to be removed or repaired.
    Object(ObjectKey),
    Node(Arc<str>),
    Workload(WorkloadKey),
    /// The Services of a namespace: whether each reaches a pod.
    Services(Arc<str>),
    /// What a pod or a workload carries of its diagnosis.
    Annotation(Bearer),
    /// This version of an object that nobody here has written.
    Stray {
        key: DiagnosisKey,
        resource_version: String,
    },
}

/// Lanes in the order in which they are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// A pod that was well fails.
    NewFailure,
    /// Something that is known to fail changes.
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
    /// Each lane in the order of arrival.
    lanes: [BTreeMap<u64, Subject>; 3],
    /// Where a subject waits: its lane and its place there.
    queued: HashMap<Subject, (Lane, u64)>,
    arrivals: u64,
    /// Taken out and not yet done; what arrives for them meanwhile waits here.
    in_flight: HashMap<Subject, Option<Lane>>,
    timers: BTreeSet<(Timestamp, Subject)>,
    due: HashMap<Subject, Timestamp>,
    failures: HashMap<Subject, u32>,
    /// Refused by the server: they wait for their timer, in the best lane that asked for them, whatever else changes.
    held: HashMap<Subject, Lane>,
}

impl Outbox {
    /// Adds a subject, or moves it to a better lane.
    pub fn push(&mut self, subject: Subject, lane: Lane) {
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
                self.lanes[*known as usize].remove(place);
            }
            None => {}
        }
        self.arrivals += 1;
        self.queued.insert(subject.clone(), (lane, self.arrivals));
        self.lanes[lane as usize].insert(self.arrivals, subject);
    }

    /// The next subject of the lanes down to `last`, in their order, and the lane that it waited in. It stays in flight until
    /// [`Self::done`] or [`Self::retry`].
    pub fn pop(&mut self, last: Lane, now: Timestamp) -> Option<(Subject, Lane)> {
        self.ring(now);
        let mut lanes = Lane::ALL.into_iter().take_while(|lane| *lane <= last);
        let (subject, lane) = lanes.find_map(|lane| Some((self.lanes[lane as usize].pop_first()?.1, lane)))?;
        self.queued.remove(&subject);
        self.in_flight.insert(subject.clone(), None);
        Some((subject, lane))
    }

    /// Moves subjects whose time has come into their lane.
    fn ring(&mut self, now: Timestamp) {
        while let Some((at, subject)) = self.timers.first().filter(|(at, _)| *at <= now).cloned() {
            self.timers.remove(&(at, subject.clone()));
            self.due.remove(&subject);
            let lane = self.held.remove(&subject).unwrap_or(Lane::Resync);
            self.push(subject, lane);
        }
    }

    /// The work on a subject has ended; it waits again if it changed meanwhile.
    pub fn done(&mut self, subject: &Subject) {
        self.failures.remove(subject);
        self.land(subject);
    }

    /// The work on a subject has failed: it comes again after 1 s, doubling to 5 min, or when the server says.
    pub fn retry(&mut self, subject: &Subject, now: Timestamp, server_says: Option<i64>) {
        const LONGEST: i64 = 300;
        let failures = self.failures.entry(subject.clone()).or_insert(0);
        let delay = server_says.unwrap_or(1_i64 << (*failures).min(9)).clamp(1, LONGEST);
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

    /// Looks at a subject at `at`, or earlier if something else asks for it earlier.
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

    /// When the next timer rings.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// How many wait in a lane.
    pub fn depth(&self, lane: Lane) -> usize {
        self.lanes[lane as usize].len()
    }

    /// Entries of all that is kept.
    pub fn kept(&self) -> usize {
        self.queued.len() + self.in_flight.len() + self.due.len() + self.failures.len() + self.held.len()
    }

    /// Whether something waits now in the lanes down to `last`.
    pub fn has_ready(&self, last: Lane) -> bool {
        self.lanes[..=last as usize].iter().any(|lane| !lane.is_empty())
    }

    /// Whether nothing is being worked on.
    pub fn is_settled(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The subjects in flight, for a graceful stop.
    pub fn in_flight(&self) -> HashSet<&Subject> {
        self.in_flight.keys().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn new_failures_come_before_resyncs_however_late_they_arrive() {
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

    #[test]
    fn a_subject_is_promoted_and_comes_once() {
        let mut outbox = Outbox::default();
        outbox.push(pod("a"), Lane::Resync);
        outbox.push(pod("a"), Lane::NewFailure);
        outbox.push(pod("a"), Lane::Change);
        assert_eq!(pop(&mut outbox, at(0)), Some(pod("a")));
        assert_eq!(pop(&mut outbox, at(0)), None);
    }

    #[test]
    fn what_changes_in_flight_comes_again_and_never_twice_at_once() {
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
            // It climbs through the lanes again and again, while the lowest is never served.
            outbox.push(pod("a"), Lane::Resync);
            outbox.push(pod("a"), Lane::Change);
            outbox.push(pod("b"), Lane::Resync);
            assert_eq!((outbox.depth(Lane::Change), outbox.depth(Lane::Resync)), (1, 1), "{i}");
            assert_eq!(pop(&mut outbox, at(0)), Some(pod("a")));
            outbox.done(&pod("a"));
        }
        assert!(outbox.lanes.iter().map(BTreeMap::len).sum::<usize>() == 1);
    }

    #[test]
    fn what_the_server_refused_waits_for_its_time_whatever_else_happens_to_it() {
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
    fn a_timer_rings_once_and_the_earliest_wins() {
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
    fn a_failed_write_comes_again_later_and_later() {
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
