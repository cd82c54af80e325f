//! Suggestions for names that are no known cause.

use super::known;
use crate::message::text;

/// The error message for an unknown cause, with similar names.
pub fn unknown(asked: &str) -> String {
    const STATES: [&str; 3] = ["CrashLoopBackOff", "ImagePullBackOff", "ContainersNotReady"];
    let shown = text::line(asked, 80);
    let mut text = format!("unknown cause {shown:?}.");
    if let Some(state) = STATES.iter().find(|state| state.eq_ignore_ascii_case(asked)) {
        text = format!("{state} is a state, not a cause: `kubectl get poddiagnoses` shows its cause.");
    }
    let near = nearest(asked, known().map(|rule| rule.cause));
    if !near.is_empty() {
        text = format!("{text} Did you mean {}?", near.join(", "));
    }
    text.push_str(" `shindan causes` lists them all.");
    text
}

/// The most similar names: those that contain the input, then those at a small edit distance.
pub(crate) fn nearest<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    const MOST: usize = 3;
    let asked = asked.to_ascii_lowercase();
    let mut scored: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let lower = name.to_ascii_lowercase();
            let holds = asked.len() >= 3 && lower.len() >= 3 && (lower.contains(&asked) || asked.contains(&lower));
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
    fn misspelled_name_finds_the_cause() {
        let names = ["OOMKilled", "LivenessProbeFailed", "StartupProbeFailed", "ImageTagNotFound"];
        assert_eq!(nearest("OOMKiled", names.into_iter()), ["OOMKilled"]);
        assert_eq!(nearest("probe", names.into_iter()), ["LivenessProbeFailed", "StartupProbeFailed"]);
        assert!(nearest("zzz", names.into_iter()).is_empty());
    }

    #[test]
    fn state_is_distinguished_from_a_cause() {
        assert!(unknown("crashloopbackoff").starts_with("CrashLoopBackOff is a state"));
    }
}
