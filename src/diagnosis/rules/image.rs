//! Images that cannot be pulled.

use super::signature;
use crate::api::Confidence;
use crate::diagnosis::catalog::{self, Cause};
use crate::diagnosis::signals::image_pull::{self, ImagePull};
use crate::diagnosis::{Case, Family, Finding, Specificity, Verdict, evidence};
use crate::facts::{EventFacts, NodeState, Timestamp};

/// A pull error counts once it fails again, since the next try often succeeds; or once it lasts this long, as the Event of
/// the second try (10 to 20 s after the first) may be lost. Until then it is only noted.
const SECOND_TRY: i64 = 30;

const SIGNAL: &str = ImagePull::DEFINITION.name;

pub(super) const FAMILY: Family = Family::Signal { name: SIGNAL, ask };

pub(super) fn patient() -> impl Iterator<Item = &'static str> {
    catalog::patient(SIGNAL)
}

/// Whether a pull that fails so takes long each time, and others on that node wait for it.
pub fn holds_up_pulls(cause: &str) -> bool {
    matches!(cause, "RegistryTimeout" | "ImagePullStalled")
}

fn ask(case: &Case<'_>) -> Vec<(usize, Verdict)> {
    signature::ask_containers(case, |container| {
        let pull = image_pull::see(case, container)?;
        let (place, cause) = catalog::first(case, Some(container), &pull)?;
        let finding = finding(case, &pull, cause);
        let finding = match has_failed_twice(case, &pull, cause) {
            Ok(()) => finding,
            Err(at) => finding.noted().until(at),
        };
        Some((place, Verdict::Yes(Box::new(finding))))
    })
}

fn has_failed_twice(case: &Case<'_>, pull: &ImagePull<'_>, cause: &Cause) -> Result<(), Timestamp> {
    let patience = cause.threshold();
    if patience == 0 {
        return Ok(());
    }
    // A second try proves nothing where pods only take turns.
    let takes_turns = patience > SECOND_TRY;
    // In back-off when we came: it failed at least 10 s ago, and how often is not known.
    let is_chosen = case.thresholds.chosen(cause.name()).is_some();
    if pull.seen.reason == "ImagePullBackOff" && case.observed.at_start && !takes_turns && !is_chosen {
        return Ok(());
    }
    // An error of the kubelet or its runtime counts from the node's last outage on: what is left of that passes.
    let is_of_node = cause.precedence() == Specificity::Umbrella;
    let back = case.node.filter(|_| is_of_node).and_then(NodeState::ready_since);
    let failed = |e: &&EventFacts| e.message.contains("Failed to pull image");
    let events = case.container_events(pull.container, "Failed").filter(failed);
    let events = events.filter(|event| back.is_none_or(|back| event.last.is_none_or(|last| last >= back)));
    let (mut tries, mut since) = (0, case.held_since(case.pod.start_time));
    since = back.map_or(since, |back| since.max(back));
    for event in events {
        tries += event.count.max(1);
        since = since.min(signature::first_told(case, event));
    }
    signature::lasts(case, cause.name(), patience, since, if takes_turns { 0 } else { tries })
}

fn finding(case: &Case<'_>, pull: &ImagePull<'_>, cause: &'static Cause) -> Finding {
    let (container, seen) = (pull.container, &pull.seen);
    let is_known = cause.precedence() == Specificity::Specific || seen.text.contains(": ");
    let mut finding = cause
        .finding(case, Some(container), pull)
        .confidence(if is_known { Confidence::Certain } else { Confidence::Likely })
        .with(evidence::field(format!("{}.state.waiting.reason", container.status_path()), seen.reason));
    if let Some(path) = &seen.path {
        finding = finding.with(evidence::field(format!("{}.{path}", container.status_path()), seen.text));
    }
    if let Some(event) = seen.event {
        finding = finding.with(evidence::event(event));
    }
    finding = finding.with(evidence::field(format!("{}.image", container.spec_path()), &*container.image));
    if matches!(cause.name(), "ImagePullSecretMissing" | "ImageTagNotFound") {
        finding = finding.with_all(image_pull::secret_event(case).map(evidence::event));
    }
    finding
}
