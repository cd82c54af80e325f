//! The answer of `explain_failure` and `check_fix` for an object that is not failing.

use serde::Serialize;

use super::answer::{self, NAME, ONE, clean, moment};
use super::overview::Seen;

/// An object that is not failing.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Healthy {
    state: &'static str,
    reported_by: &'static str,
    as_of: String,
    next: &'static str,
    untrusted: Standing,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Standing {
    object: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_ready: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// `unready` is what the object lacks to be healthy.
pub(super) fn answer(seen: Seen<'_>, asked: &str, unready: &[String]) -> anyhow::Result<String> {
    let form = |length: usize| Healthy {
        state: if unready.is_empty() { "not failing" } else { "not failing yet" },
        reported_by: seen.reported_by,
        as_of: moment(seen.now),
        next: "list_failures lists what fails.",
        untrusted: Standing {
            object: clean(asked, NAME),
            not_ready: unready.iter().take(3).map(|text| clean(text, length)).collect(),
            notes: seen.notes.iter().take(3).map(|note| clean(note, length)).collect(),
        },
    };
    answer::first_that_fits(ONE, [400, 200, 80].into_iter().map(form))
}
