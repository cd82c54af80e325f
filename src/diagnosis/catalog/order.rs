//! The order in which the causes of a signal are asked: what the files declare, then the more specific first.

use super::Cause;
use super::file::Precedence;
use super::words::Vocabulary;

/// The causes in order. A cycle of `before` is added to `problems`, and broken where it was met.
pub(super) fn sorted(mut causes: Vec<Cause>, vocabulary: &Vocabulary, problems: &mut Vec<String>) -> Vec<Cause> {
    causes.sort_by_cached_key(|cause| key(cause, vocabulary));
    let place = |name: &str| causes.iter().position(|cause| cause.name() == name);
    let mut earlier: Vec<Vec<usize>> = vec![Vec::new(); causes.len()];
    let is_first = |cause: &Cause| cause.file.before.iter().any(|later| later == "*");
    for (at, cause) in causes.iter().enumerate() {
        if is_first(cause) {
            let others = earlier.iter_mut().zip(&causes).filter(|(_, other)| !is_first(other));
            others.for_each(|(list, _)| list.push(at));
        }
        for later in cause.file.before.iter().filter(|later| *later != "*") {
            match place(later) {
                Some(later) if later != at => {
                    if let Some(list) = earlier.get_mut(later) {
                        list.push(at);
                    }
                }
                _ => problems
                    .push(format!("{}: before names {later}, which is no other cause of its signal", cause.name())),
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
            problems.push(format!("before: {} stand before each other", names.join(", ")));
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

/// Specific causes before general ones; a reason or a condition before words alone; much text before little; then the name.
fn key(cause: &Cause, vocabulary: &Vocabulary) -> (u8, bool, bool, std::cmp::Reverse<usize>, &'static str) {
    let general = match cause.file.precedence {
        Precedence::Specific => 0,
        Precedence::Umbrella => 1,
        Precedence::Symptom => 2,
        Precedence::LastResort => 3,
    };
    let conditions = &cause.conditions;
    let patterns = conditions.iter().flat_map(|condition| &condition.any);
    let shortest = patterns.map(|pattern| vocabulary.weight(pattern)).min().unwrap_or(0);
    let has_reasons = !conditions.is_empty() && conditions.iter().all(|condition| !condition.reasons.is_empty());
    let has_when = !conditions.is_empty() && conditions.iter().all(|condition| condition.when.is_some());
    (general, !has_reasons, !has_when, std::cmp::Reverse(shortest), cause.name())
}
