//! The latest unstable period of a node, and whether it is flapping.

use crate::case::Thresholds;
use crate::facts::{NodeState, ReadyTransition, Timestamp, after, seconds_between};

/// How often the Ready condition of a node changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flapping {
    /// Changes between Ready and not Ready in this incident.
    pub transitions: usize,
    /// Seconds from the first to the last change.
    pub window: i64,
}

/// The changes of a node between Ready and not Ready, back to the last stable period.
pub(super) struct Episode<'a> {
    flips: Vec<&'a ReadyTransition>,
}

impl<'a> Episode<'a> {
    /// Reads the transitions of a node, which has `joining` seconds to join.
    pub(super) fn new(node: &'a NodeState, joining: i64, thresholds: &Thresholds, now: Timestamp) -> Self {
        let joined = node.facts.created.map(|at| after(at, joining));
        let mut flips: Vec<&ReadyTransition> = Vec::new();
        for transition in &node.ready_history {
            // False and Unknown both mean not Ready; one outage may show both.
            if flips.last().is_none_or(|last| is_ready(last) != is_ready(transition)) {
                flips.push(transition);
            }
        }
        // Joining ends with the first Ready. Leaving Ready soon after is an ordinary outage.
        let is_joining = |t: &ReadyTransition| joined.is_some_and(|joined| t.at <= joined);
        let settled = flips.iter().position(|t| is_ready(t)).map_or(flips.len(), |first| first + 1);
        let joining = flips.iter().take(settled).take_while(|t| is_joining(t)).count();
        flips.drain(..joining);
        let mut start = flips.len();
        let mut next = now;
        for (index, flip) in flips.iter().enumerate().rev() {
            if is_ready(flip) && seconds_between(flip.at, next) >= thresholds.flapping_stable {
                break;
            }
            start = index;
            next = flip.at;
        }
        Self { flips: flips.split_off(start) }
    }

    pub(super) fn flapping(&self, thresholds: &Thresholds) -> Option<Flapping> {
        let many = thresholds.flapping_transitions.max(2);
        let is_flapping = self.flips.windows(many).any(|window| match window {
            [first, .., last] => seconds_between(first.at, last.at) <= thresholds.flapping_window,
            _ => false,
        });
        let (first, last) = (self.flips.first()?, self.flips.last()?);
        is_flapping.then(|| Flapping { transitions: self.flips.len(), window: seconds_between(first.at, last.at) })
    }

    /// When the node first left Ready.
    pub(super) fn began(&self) -> Option<Timestamp> {
        self.flips.iter().find(|t| !is_ready(t)).or(self.flips.first()).map(|t| t.at)
    }

    /// When the node last left Ready, if it has not recovered.
    pub(super) fn left_ready(&self) -> Option<Timestamp> {
        self.flips.last().filter(|t| !is_ready(t)).map(|t| t.at)
    }

    /// When the node counts as stable, if nothing changes.
    pub(super) fn stable_at(&self, thresholds: &Thresholds) -> Option<Timestamp> {
        self.flips.last().map(|t| after(t.at, thresholds.flapping_stable))
    }
}

pub(super) fn is_ready(transition: &ReadyTransition) -> bool {
    transition.status == "True"
}
