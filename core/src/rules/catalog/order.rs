//! Evaluation order of the causes of a signal.
//!
//! The declared order, by decreasing priority:
//!
//! 1. `before`: a cause comes before those that it lists, transitively;
//! 2. `precedence`;
//! 3. more specific conditions: first, all alternatives have reasons; then, all have a `when`; then, more literal text
//!    in the shortest pattern of `any`.
//!
//! Causes that are equal in all of these are sorted by name, which is not a declared order: two of them must not match
//! the same occurrence. `sorted` reports pairs whose conditions show that they can; a test runs all fixtures to find
//! others.

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::Cause;
use super::file::{Match, Precedence};
use super::problem::{Fault, Problem};
use super::words::Vocabulary;

/// Sorts the causes. A cycle of `before` is added to `problems` and broken where it is found.
pub(super) fn sorted(mut causes: Vec<Cause>, vocabulary: &Vocabulary, problems: &mut Vec<Problem>) -> Vec<Cause> {
    causes.sort_by_cached_key(|cause| (rank(cause, vocabulary), cause.name()));
    problems.extend(ambiguous(&causes, vocabulary));
    let place = |name: &str| causes.iter().position(|cause| cause.name() == name);
    let mut earlier: Vec<Vec<usize>> = vec![Vec::new(); causes.len()];
    for (at, cause) in causes.iter().enumerate() {
        if is_first(cause) {
            let others = earlier.iter_mut().zip(&causes).filter(|(_, other)| !is_first(other));
            others.for_each(|(list, _)| list.push(at));
        }
        for (n, later) in cause.file.before.iter().enumerate().filter(|(_, later)| *later != "*") {
            match place(later) {
                Some(later) if later != at => {
                    if let Some(list) = earlier.get_mut(later) {
                        list.push(at);
                    }
                }
                _ => {
                    let others = causes.iter().map(Cause::name).filter(|name| *name != cause.name());
                    let fault = Fault::unknown(&format!("cause of {}", cause.signal.name), later, others);
                    problems.push(Problem { cause: cause.file.cause.clone(), path: format!("before.{n}"), fault });
                }
            }
        }
    }
    let mut order = Vec::with_capacity(causes.len());
    let mut is_placed = vec![false; causes.len()];
    while order.len() < causes.len() {
        let waits =
            |at: usize| earlier.get(at).is_some_and(|list| list.iter().any(|e| is_placed.get(*e) == Some(&false)));
        let open = || (0..causes.len()).filter(|at| is_placed.get(*at) == Some(&false));
        let next = open().find(|at| !waits(*at)).or_else(|| {
            let names: Vec<&str> = open().filter_map(|at| causes.get(at)).map(Cause::name).collect();
            let fault = Fault::new(format!("each of these is before another: {}", names.join(", ")));
            problems.extend(names.first().map(|cause| Problem {
                cause: (*cause).to_owned(),
                path: "before".to_owned(),
                fault,
            }));
            open().next()
        });
        let Some(next) = next else { break };
        if let Some(placed) = is_placed.get_mut(next) {
            *placed = true;
        }
        order.push(next);
    }
    let mut causes: Vec<Option<Cause>> = causes.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| causes.get_mut(at)?.take()).collect()
}

/// Whether a cause comes before all others of its signal.
fn is_first(cause: &Cause) -> bool {
    cause.file.before.iter().any(|later| later == "*")
}

/// Whether the order of two causes is declared and not only by name.
pub(super) fn is_declared(causes: &[impl Borrow<Cause>], one: &Cause, other: &Cause, vocabulary: &Vocabulary) -> bool {
    rank(one, vocabulary) != rank(other, vocabulary) || is_before(causes, one, other) || is_before(causes, other, one)
}

/// Whether `before` puts one cause before another, directly or through other causes.
fn is_before(causes: &[impl Borrow<Cause>], one: &Cause, other: &Cause) -> bool {
    let (mut open, mut seen) = (vec![one], BTreeSet::new());
    while let Some(cause) = open.pop() {
        if is_first(cause) && !is_first(other) {
            return true;
        }
        for later in &cause.file.before {
            if later == other.name() {
                return true;
            }
            if seen.insert(later) {
                open.extend(causes.iter().map(Borrow::borrow).find(|cause| cause.name() == later));
            }
        }
    }
    false
}

/// Pairs of causes that can match the same occurrence without a declared order.
fn ambiguous(causes: &[Cause], vocabulary: &Vocabulary) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (at, one) in causes.iter().enumerate() {
        for other in causes.iter().skip(at + 1).take_while(|other| rank(other, vocabulary) == rank(one, vocabulary)) {
            let (alternatives, others) = (&one.file.alternatives.0, &other.file.alternatives.0);
            let overlap = alternatives.is_empty() && others.is_empty()
                || alternatives.iter().any(|one| others.iter().any(|other| overlaps(one, other)));
            if overlap && !is_declared(causes, one, other, vocabulary) {
                for (cause, beside) in [(one, other), (other, one)] {
                    let hint = Some(format!("add `before: [{}]`, or a more specific condition", beside.name()));
                    let message = format!("{} matches the same, and neither is before the other", beside.name());
                    let fault = Fault { hint, ..Fault::new(message) };
                    problems.push(Problem { cause: cause.file.cause.clone(), path: "match".to_owned(), fault });
                }
            }
        }
    }
    problems
}

/// Whether two alternatives are equal, or have only patterns and share one.
fn overlaps(one: &Match, other: &Match) -> bool {
    let is_plain = |of: &Match| of.when.is_none() && of.message.all.is_empty() && of.message.none.is_empty();
    let share = |one: &[String], other: &[String]| one.iter().any(|text| other.contains(text));
    let reasons = one.reasons.is_empty() || other.reasons.is_empty() || share(&one.reasons, &other.reasons);
    one == other || is_plain(one) && is_plain(other) && reasons && share(&one.message.any, &other.message.any)
}

/// Sort key: specific causes first; reasons or conditions before patterns alone; long patterns before short ones.
fn rank(cause: &Cause, vocabulary: &Vocabulary) -> (u8, bool, bool, Reverse<usize>) {
    let general = match cause.file.precedence {
        Precedence::Specific => 0,
        Precedence::Umbrella => 1,
        Precedence::Symptom => 2,
        Precedence::LastResort => 3,
    };
    let conditions = &cause.conditions;
    let patterns = conditions.iter().flat_map(|condition| &condition.any);
    let shortest = patterns.map(|pattern| vocabulary.weight(pattern)).min().unwrap_or(0);
    let has_reasons = !conditions.is_empty() && cause.file.alternatives.0.iter().all(|of| !of.reasons.is_empty());
    let has_when = !conditions.is_empty() && conditions.iter().all(|condition| condition.when.is_some());
    (general, !has_reasons, !has_when, Reverse(shortest))
}
