//! What a person may have meant by a name that no cause has.

use super::known;
use crate::diagnosis::text;

/// What is said of it, with the names nearest to it.
pub fn unknown(asked: &str) -> String {
    const STATES: [&str; 3] = ["CrashLoopBackOff", "ImagePullBackOff", "ContainersNotReady"];
    let shown = text::line(asked, 80);
    let mut said = format!("unknown cause {shown:?}.");
    if let Some(state) = STATES.iter().find(|state| state.eq_ignore_ascii_case(asked)) {
        said = format!("{state} is a state, never a cause: `kubectl get poddiagnoses` names what lies behind it.");
    }
    let near = nearest(asked, known().map(|rule| rule.cause));
    if !near.is_empty() {
        said = format!("{said} Did you mean {}?", near.join(", "));
    }
    said.push_str(" `shindan causes` lists them all.");
    said
}

/// The names nearest to what was typed: those that hold it, then those that are few changes of a letter away.
pub(crate) fn nearest<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    const MOST: usize = 3;
    let asked = asked.to_ascii_lowercase();
    let mut scored: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let lower = name.to_ascii_lowercase();
            let holds = asked.len() >= 3 && lower.contains(&asked);
            let far = strsim::osa_distance(&asked, &lower);
            (holds || far <= asked.len().max(lower.len()) / 3).then_some((if holds { 0 } else { far }, name))
        })
        .collect();
    scored.sort_unstable();
    scored.into_iter().take(MOST).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_finds_the_name_that_was_meant() {
        let names = ["OOMKilled", "LivenessProbeFailed", "StartupProbeFailed", "ImageTagNotFound"];
        assert_eq!(nearest("OOMKiled", names.into_iter()), ["OOMKilled"]);
        assert_eq!(nearest("probe", names.into_iter()), ["LivenessProbeFailed", "StartupProbeFailed"]);
        assert!(nearest("zzz", names.into_iter()).is_empty());
    }

    #[test]
    fn a_state_is_told_from_a_cause() {
        assert!(unknown("crashloopbackoff").starts_with("CrashLoopBackOff is a state"));
    }
}
