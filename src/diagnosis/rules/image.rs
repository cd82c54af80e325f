//! Images that cannot be had: what the kubelet, the runtime or the registry said, told apart by its words.
//!
//! Order matters. A failed transport comes before what a registry answers, since runtimes wrap it in the words of the step
//! that it broke (`failed to fetch anonymous token: ... no such host` is DNS); and among transports DNS comes first,
//! because a lookup can be refused or time out too.

mod remedies;
mod roots;
mod rows;

use std::cell::OnceCell;

use super::signature::{self, Row, Seen};
use crate::api::{Confidence, ContainerType};
use crate::diagnosis::language::{Language, Sentence, phrase};
use crate::diagnosis::{Case, Category, Family, Finding, Recovery, Rule, Specificity, Verdict, evidence, text};
use crate::facts::{Container, VolumeSource};

/// A pull error counts once it fails again, since the next try often succeeds; or once it lasts this long, as the Event of
/// the second try (10 to 20 s after the first) may be lost. Until then it is only noted.
const SECOND_TRY: i64 = 30;

/// The waiting reasons of the kubelet's image manager.
const REASONS: [&str; 7] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
];

const RULES: [Rule; rows::ROWS.len()] = signature::rules(rows::ROWS, Category::Image, Recovery::NeverStarted);

pub(super) const FAMILY: Family = Family::Table { rules: &RULES, ask };

pub(super) fn patient() -> impl Iterator<Item = &'static str> {
    signature::patient(rows::ROWS)
}

/// Whether a pull that fails so takes long each time, and others on that node wait for it.
pub fn holds_up_pulls(cause: &str) -> bool {
    matches!(cause, "RegistryTimeout" | "ImagePullStalled")
}

fn ask(case: &Case<'_>) -> Vec<(usize, Verdict)> {
    signature::ask_containers(case, |container| {
        let seen = see(case, container)?;
        let (index, row) = signature::first(rows::ROWS, case, &seen)?;
        let finding = finding(case, container, &seen, row);
        let finding = match has_failed_twice(case, container, &seen, row) {
            Ok(()) => finding,
            Err(at) => finding.noted().until(at),
        };
        Some((index, Verdict::Yes(Box::new(finding))))
    })
}

/// What was said of a container's image, while the container waits for it.
fn see<'a>(case: &Case<'a>, container: &'a Container) -> Option<Seen<'a>> {
    let (reason, message) = container.waiting()?;
    let known = REASONS.contains(&reason);
    // The kubelet writes the error of an unreadable pull secret where the reason belongs.
    if !known && (reason.is_empty() || reason != message || !reason.contains(' ')) {
        return None;
    }
    let lost = reason == "ImagePullBackOff" && !message.contains(": ") || known && message.is_empty();
    let event = if lost { last_failed_pull(case, container) } else { None };
    let text = event.map_or(message, |e| &*e.message);
    let path = event.is_none().then_some("state.waiting.message");
    Some(Seen { reason, text, lower: OnceCell::new(), event, container: Some(container), path })
}

/// The last `Failed` Event that tells of a pull of this container's image.
fn last_failed_pull<'a>(case: &Case<'a>, container: &'a Container) -> Option<&'a crate::facts::EventFacts> {
    case.container_events(container, "Failed")
        .rev()
        .find(|e| e.message.contains("Failed to pull image") && e.message.contains(&*container.image))
}

fn has_failed_twice(
    case: &Case<'_>,
    container: &Container,
    seen: &Seen<'_>,
    row: &Row,
) -> Result<(), crate::facts::Timestamp> {
    let patience = row.patience;
    if patience == 0 {
        return Ok(());
    }
    // A second try proves nothing where it is only a matter of turns.
    let takes_turns = patience > SECOND_TRY;
    // In back-off when we came: it failed at least 10 s ago, and nobody knows how often.
    let is_chosen = case.thresholds.chosen(row.cause).is_some();
    if seen.reason == "ImagePullBackOff" && case.observed.at_start && !takes_turns && !is_chosen {
        return Ok(());
    }
    // What the kubelet or its runtime says of itself counts from the node's last outage on: what is left of that passes.
    let is_of_node = row.specificity == Specificity::Umbrella;
    let back = case.node.filter(|_| is_of_node).and_then(crate::facts::NodeState::ready_since);
    let failed = |e: &&crate::facts::EventFacts| e.message.contains("Failed to pull image");
    let told = case.container_events(container, "Failed").filter(failed);
    let told = told.filter(|event| back.is_none_or(|back| event.last.is_none_or(|last| last >= back)));
    let (mut tries, mut since) = (0, case.held_since(case.pod.start_time));
    since = back.map_or(since, |back| since.max(back));
    for event in told {
        tries += event.count.max(1);
        since = since.min(signature::first_told(case, event));
    }
    signature::counts(case, row, since, if takes_turns { 0 } else { tries })
}

fn finding(case: &Case<'_>, container: &Container, seen: &Seen<'_>, row: &Row) -> Finding {
    let known = row.specificity == Specificity::Specific || seen.text.contains(": ");
    let mut finding = Finding::of_container(container, say(case, container, seen, row.says))
        .confidence(if known { Confidence::Certain } else { Confidence::Likely })
        .rooted((row.root)(case, seen));
    finding = finding.with(evidence::field(format!("{}.state.waiting.reason", container.status_path()), seen.reason));
    if let Some(path) = &seen.path {
        finding = finding.with(evidence::field(format!("{}.{path}", container.status_path()), seen.text));
    }
    if let Some(event) = seen.event {
        finding = finding.with(evidence::event(event));
    }
    finding = finding.with(evidence::field(format!("{}.image", container.spec_path()), &*container.image));
    if matches!(row.cause, "ImagePullSecretMissing" | "ImageTagNotFound") {
        finding = finding.with_all(case.events_with(SECRET_EVENT).next_back().map(evidence::event));
    }
    finding
}

/// Fills the places of a row's sentence.
fn say(case: &Case<'_>, container: &Container, seen: &Seen<'_>, says: &'static str) -> String {
    let mut sentence = Sentence::of(case, says);
    let mut fill = |place: &str, with: &dyn Fn() -> String| sentence.fill(place, with);
    fill("image", &|| signature::middle_cut(&container.image, 100));
    fill("node", &|| case.pod.node_name.as_deref().unwrap_or("unknown").to_owned());
    fill("host", &|| registry_of(&container.image).to_owned());
    fill("tag", &|| tag_of(case.language(), &container.image).to_owned());
    fill("looked_up", &|| looked_up(seen.text).unwrap_or_else(|| registry_of(&container.image)).to_owned());
    fill("peer", &|| peer(seen.text).unwrap_or_else(|| registry_of(&container.image)).to_owned());
    fill("short", &|| signature::innermost(seen.text, 60));
    fill("words", &|| words(case.language(), seen));
    fill("secret", &|| missing_secret(case).unwrap_or("named").to_owned());
    let lacking =
        |secret| crate::diagnosis::language::say!(case, "; pull secret {secret} of the pod does not exist", secret);
    fill("lacking", &|| missing_secret(case).map(lacking).unwrap_or_default());
    fill("arch", &|| platform(case).map(|p| format!(" ({p})")).unwrap_or_default());
    fill("reference", &|| volume_reference(case, container, seen).unwrap_or_default().to_owned());
    text::line(&sentence.told(), text::SUMMARY_MAX)
}

fn words(language: Language, seen: &Seen<'_>) -> String {
    if seen.text.is_empty() || seen.reason == "ImagePullBackOff" && !seen.text.contains(": ") {
        return phrase!(language, "the kubelet no longer holds the reason").to_owned();
    }
    signature::innermost(seen.text, 90)
}

/// What of an image the registry does not have.
fn tag_of(language: Language, image: &str) -> &'static str {
    let name = image.rsplit('/').next().unwrap_or(image);
    match (image.contains('@'), name.contains(':')) {
        (true, _) => phrase!(language, "such digest"),
        (false, true) => phrase!(language, "such tag"),
        (false, false) => phrase!(language, "tag latest (which is meant where none is given)"),
    }
}

/// The registry that an image's name means: its first part if that looks like a host, else docker.io.
fn registry_of(image: &str) -> &str {
    match image.split_once('/') {
        Some((host, _)) if host.contains(['.', ':']) || host == "localhost" => host,
        _ => "docker.io",
    }
}

/// The host of a failed lookup.
fn looked_up(text: &str) -> Option<&str> {
    let rest = text.rsplit("lookup ").next().filter(|rest| rest.len() < text.len())?;
    rest.split([' ', ':']).next().filter(|host| !host.is_empty())
}

/// The address of a failed connection.
fn peer(text: &str) -> Option<&str> {
    let rest = text.rsplit("dial tcp ").next().filter(|rest| rest.len() < text.len())?;
    rest.split(": ").next().and_then(|p| p.rsplit("->").next()).filter(|p| !p.is_empty() && !p.contains(' '))
}

fn platform(case: &Case<'_>) -> Option<String> {
    let labels = &case.node?.facts.labels;
    Some(format!("{}/{}", labels.get("kubernetes.io/os")?, labels.get("kubernetes.io/arch")?))
}

/// The reference of an image volume that the text is about, if it is not about the container's own image.
fn volume_reference<'a>(case: &Case<'a>, container: &Container, seen: &Seen<'_>) -> Option<&'a str> {
    case.pod.volumes.iter().find_map(|volume| match &volume.source {
        VolumeSource::Image { reference }
            if !reference.is_empty()
                && **reference != *container.image
                && names(seen.text, reference)
                && !names(seen.text, &container.image) =>
        {
            Some(reference.as_str())
        }
        _ => None,
    })
}

/// Whether an error is about this image: in quotes, in a sentence of its own, or with the default tag added.
fn names(text: &str, image: &str) -> bool {
    text.match_indices(image).any(|(at, _)| {
        let after = text.get(at + image.len()..).unwrap_or_default();
        let before = text.get(..at).unwrap_or_default();
        after.starts_with(['"', '\\', ' ', ':']) && (before.is_empty() || before.ends_with(['"', ' ', '/']))
    })
}

const SECRET_EVENT: &str = "FailedToRetrieveImagePullSecret";

/// The pull secret that the kubelet could not get.
fn missing_secret<'a>(case: &Case<'a>) -> Option<&'a str> {
    let event = case.events_with(SECRET_EVENT).next_back()?;
    signature::between(&event.message, "pull secrets (", ")")
}

/// Whether the container of a finding runs before the others, for sentences.
fn is_init(container: &Container) -> bool {
    matches!(container.kind, ContainerType::Init | ContainerType::Sidecar)
}
