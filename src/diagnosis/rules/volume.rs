//! Volumes that cannot be attached or mounted.
//!
//! Only Events tell, and only while the pod waits for its volumes: an old Event of a pod that came through is nothing.

mod remedies;
mod rows;

use super::sandbox::{self, is_being_set_up};
use super::signature::{self, Seen};
use crate::api::Root;
use crate::diagnosis::language::{Language, Sentence, phrase, say};
use crate::diagnosis::{Case, Category, Family, Finding, Recovery, RootKind, Rule, Verdict, evidence, text};
use crate::facts::{EventFacts, VolumeSource, seconds_between};

/// A mount is tried again after 0.5 s, 1 s, 2 s, ...: what fails only at first is over by then.
const NEXT_TRIES: i64 = 15;
/// The kubelet looks at volumes every minute, and may post an Event of one object once in five.
const ABNORMAL_FOR: i64 = 600;
/// The old pod's volume is detached within a minute in a rollout that works.
const DETACH: i64 = 60;

const EVENTS: [&str; 7] = [
    "FailedMount",
    "FailedAttachVolume",
    "FailedMapVolume",
    "FailedMountOnFilesystemMismatch",
    "VolumePermissionChangeInProgress",
    "VolumeResizeFailed",
    "FileSystemResizeFailed",
];

/// What the kubelet says while its own caches fill, or the API server's, or of a pod that goes away.
const TRANSIENT: [&str; 6] = [
    "not registered",
    "failed to sync configmap cache",
    "failed to sync secret cache",
    "object is being deleted",
    // kubernetes plugin/pkg/admission/noderestriction and plugin/pkg/auth/authorizer/node: the API server hears from itself
    // where a pod is, and the kubelet may ask before that.
    "node requested token bound to a pod scheduled on a different node",
    "no relationship found between node",
];

/// How long such words have to be repeated before they are taken for the reason.
const TOO_LONG: i64 = 120;

const MOUNT: &[&str] = &["FailedMount"];

const RULES: [Rule; rows::ROWS.len()] = signature::rules(rows::ROWS, Category::Volume, Recovery::NeverStarted);

pub(super) const FAMILY: Family = Family::Table { rules: &RULES, ask };

pub(super) fn patient() -> impl Iterator<Item = &'static str> {
    signature::patient(rows::ROWS)
}

fn ask(case: &Case<'_>) -> Vec<(usize, Verdict)> {
    let mut found: Vec<(usize, Verdict)> = Vec::new();
    if case.events.is_empty() {
        return found;
    }
    let set_up = is_being_set_up(case);
    let events = current(case).filter(|_| set_up).chain(abnormal(case).filter(|_| !set_up));
    for event in events {
        let seen = Seen::in_event(event);
        let Some((index, row)) = signature::first(rows::ROWS, case, &seen) else { continue };
        // One volume stands for all that fail alike.
        if found.iter().any(|(known, verdict)| *known == index && matches!(verdict, Verdict::Yes(_))) {
            continue;
        }
        // However often: the first tries follow each other within a second or two.
        found.push(match signature::counts(case, row, signature::first_told(case, event), 1) {
            Ok(()) => {
                let finding = Finding::of_pod(say(case, &seen, row.says))
                    .with(evidence::event(event))
                    .rooted((row.root)(case, &seen));
                (index, Verdict::Yes(Box::new(finding)))
            }
            Err(at) => (index, Verdict::NotBefore(at)),
        });
    }
    found
}

/// What the driver says of a volume in use, of a pod that is not well; it is repeated for as long as it holds.
fn abnormal<'a>(case: &Case<'a>) -> Option<&'a EventFacts> {
    let event = case.events_with("VolumeConditionAbnormal").next_back()?;
    let recent = event.last.is_none_or(|at| case.age(at) < ABNORMAL_FOR);
    (recent && !case.pod.is_over() && !case.pod.is_ready()).then_some(event)
}

/// The newest Event of each volume, newest first, unless the pod has got on to its sandbox since.
fn current<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a EventFacts> {
    let past = sandbox::failure(case).and_then(|e| e.last);
    let mut volumes: Vec<&str> = Vec::new();
    case.events.iter().rev().filter(move |event| {
        if !EVENTS.contains(&&*event.reason)
            || past.is_some_and(|past| event.last.is_some_and(|at| at < past))
            || TRANSIENT.iter().any(|words| event.message.contains(words)) && !goes_on(case, event)
        {
            return false;
        }
        let volume = volume_of(&event.message).unwrap_or_default();
        !volumes.contains(&volume) && {
            volumes.push(volume);
            true
        }
    })
}

/// Whether what passes by itself is said for far longer than that takes.
fn goes_on(case: &Case<'_>, event: &EventFacts) -> bool {
    let told_for = event.first.zip(event.last).map_or(0, |(first, last)| seconds_between(first, last));
    case.pod.deletion.is_none() && told_for >= TOO_LONG
}

fn say(case: &Case<'_>, seen: &Seen<'_>, says: &'static str) -> String {
    let mut sentence = Sentence::of(case, says);
    let mut fill = |place: &str, with: &dyn Fn() -> String| sentence.fill(place, with);
    let said = seen.text;
    let unnamed = || "(unnamed)".to_owned();
    fill("node", &|| case.pod.node_name.as_deref().unwrap_or("unknown").to_owned());
    fill("namespace", &|| case.pod.key.namespace.to_string());
    fill("volume", &|| volume_of(said).map_or_else(unnamed, |v| signature::middle_cut(v, 45)));
    fill("object", &|| object(said).map_or_else(unnamed, str::to_owned));
    fill("key", &|| key(said).map_or_else(unnamed, str::to_owned));
    fill("source", &|| {
        source_of(case, said).map_or_else(|| phrase!(case, "its source").to_owned(), |source| source.to_string())
    });
    fill("claim", &|| claim(said).map_or_else(unnamed, str::to_owned));
    fill("driver", &|| driver(said).map_or_else(unnamed, str::to_owned));
    fill("holder", &|| holder(case.language(), said));
    fill("host_path", &|| {
        said.split_once("check failed: ").map_or_else(unnamed, |(_, rest)| signature::middle_cut(rest.trim(), 90))
    });
    fill("helper", &|| helper(said).map(|helper| format!(" ({helper})")).unwrap_or_default());
    fill("unmounted", &|| {
        signature::between(said, "unmounted volumes=[", "]").unwrap_or(phrase!(case, "of the pod")).to_owned()
    });
    fill("output", &|| {
        let output = said.rsplit("Output: ").next().filter(|o| o.len() < said.len()).unwrap_or(said);
        signature::innermost(output, 90)
    });
    // The volume is named already: `MountVolume.SetUp failed for volume "data" : object ... not registered`.
    let why = said.split_once("Volume.").and_then(|(_, rest)| rest.split_once("\" : ")).map_or(said, |(_, why)| why);
    fill("short", &|| signature::innermost(why, 90));
    text::line(&sentence.told(), text::SUMMARY_MAX)
}

/// The volume that an Event is about: by its name in the pod, or the PersistentVolume's.
fn volume_of(said: &str) -> Option<&str> {
    signature::quoted_after(said, "for volume ")
        .or_else(|| signature::between(said, "ownership for ", " is taking"))
        .or_else(|| signature::between(said, "volume ", " has volumeMode"))
        .or_else(|| said.strip_prefix("Volume ")?.split_once(": ").map(|(volume, _)| volume))
}

/// The ConfigMap or Secret that was not found.
fn object(said: &str) -> Option<&str> {
    ["secret ", "configmap ", "secrets ", "configmaps "].iter().find_map(|mark| signature::quoted_after(said, mark))
}

fn key(said: &str) -> Option<&str> {
    said.rsplit("key: ").next().filter(|k| k.len() < said.len()).and_then(|k| k.split_whitespace().next())
}

/// The ConfigMap or Secret behind the volume of a message.
fn source_of(case: &Case<'_>, said: &str) -> Option<Root> {
    let name = volume_of(said)?;
    let volume = case.pod.volumes.iter().find(|v| v.name == name)?;
    let secret = said.contains("secret key");
    let of = |source: &VolumeSource| match source {
        VolumeSource::Secret { name, .. } if secret => Some(RootKind::Secret.named(name)),
        VolumeSource::ConfigMap { name, .. } if !secret => Some(RootKind::ConfigMap.named(name)),
        _ => None,
    };
    match &volume.source {
        VolumeSource::Projected { sources } => {
            let mut of_kind = sources.iter().filter_map(of);
            // With two of them the message does not tell which.
            of_kind.next().filter(|_| of_kind.next().is_none())
        }
        source => of(source),
    }
}

/// `namespace/name` of a claim.
fn claim(said: &str) -> Option<&str> {
    signature::between(said, "error processing PVC ", ":").map(|c| c.rsplit('/').next().unwrap_or(c))
}

/// The mount helper that is missing: mount names it, or the type of the file system.
fn helper(said: &str) -> Option<String> {
    let kind = signature::between(said, "unknown filesystem type '", "'").map(|kind| format!("mount.{kind}"));
    signature::between(said, "need a ", " helper").map(str::to_owned).or(kind)
}

fn driver(said: &str) -> Option<&str> {
    signature::between(said, "driver name ", " not found")
        .or_else(|| signature::between(said, "external-attacher of ", " CSI driver"))
}

fn holder(language: Language, said: &str) -> String {
    match said.split_once("used by pod(s) ") {
        Some((_, pods)) => {
            say!(
                language,
                "pod {pod} still uses it",
                pod = signature::middle_cut(pods.trim().trim_end_matches('.'), 70)
            )
        }
        None => phrase!(language, "another node still has it").to_owned(),
    }
}
