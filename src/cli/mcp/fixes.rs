//! The answer of `check_fix`: what the API server answers to dry runs of the remedies.

use serde::Serialize;
use shindan_core::api::RemedyKind;
use shindan_core::language::Language;

use super::answer::{self, LABEL, NAME, ONE, clean};
use crate::cli::fix::trial::State;
use crate::cli::fix::{Failing, Offer};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Fixes {
    cause: &'static str,
    dry_run: bool,
    remedies: Vec<Tried>,
    #[serde(skip_serializing_if = "is_zero")]
    left_out: usize,
    next: &'static str,
    untrusted: Of,
}

#[derive(Debug, Serialize)]
struct Of {
    object: String,
    namespace: String,
    summary: String,
}

#[derive(Debug, Serialize)]
struct Tried {
    number: usize,
    kind: RemedyKind,
    result: &'static str,
    untrusted: Words,
}

#[derive(Debug, Serialize)]
struct Words {
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
}

/// From the longest form to the shortest: remedies, and characters of a text and of a command.
const FORMS: [(usize, usize, usize); 4] = [(6, 300, 600), (4, 200, 300), (3, 120, 150), (1, 80, 0)];

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
const fn is_zero(n: &usize) -> bool {
    *n == 0
}

pub(super) fn answer(of: &Failing, offers: &[Offer<'_>]) -> anyhow::Result<String> {
    let form = |(most, text, command): (usize, usize, usize)| Fixes {
        cause: answer::cause(&of.cause),
        dry_run: true,
        remedies: offers
            .iter()
            .take(most)
            .enumerate()
            .map(|(place, offer)| tried(place, offer, text, command))
            .collect(),
        left_out: offers.len().saturating_sub(most),
        next: "Nothing was changed. A person applies a remedy with its command, or with kubectl shindan fix.",
        untrusted: Of {
            object: clean(&of.subject, NAME),
            namespace: clean(&of.namespace, LABEL),
            summary: clean(&of.summary, text),
        },
    };
    answer::first_that_fits(ONE, FORMS.into_iter().map(form))
}

fn tried(place: usize, Offer { remedy, state }: &Offer<'_>, text: usize, command: usize) -> Tried {
    let changes = match state {
        State::Accepted(steps) => steps.iter().map(|step| clean(&step.what(), NAME)).collect(),
        _ => Vec::new(),
    };
    let whole = remedy.command.as_ref().map(|of| clean(of, usize::MAX));
    Tried {
        number: place + 1,
        kind: remedy.kind,
        result: result(state),
        untrusted: Words {
            text: clean(&remedy.text, text),
            // A part of a command would do something else.
            command: whole.filter(|of| of.chars().count() <= command),
            changes,
            answer: state.words(Language::English).map(|words| clean(&words, text)),
        },
    }
}

const fn result(state: &State) -> &'static str {
    match state {
        State::Accepted(_) => "accepted",
        State::Refused(_) => "refused",
        State::NoChange => "changes nothing",
        State::NeedsValues(_) => "needs values: pass them in `values`",
        State::Managed { .. } => "managed: another tool would revert it",
        State::ToRun => "not tried: a person runs it",
        State::ToDo => "not tried: no command that changes anything",
    }
}
