//! The signal `volume`.

use std::cell::OnceCell;

use super::csi::{self, Component};
use super::sandbox::{self, is_being_set_up};
use super::{Matched, PodSignal, Source, deferred, lasting, signal};
use crate::api::Evidence;
use crate::case::{Case, RootKind, evidence, roots};
use crate::facts::{EventFacts, Timestamp, VolumeFault, VolumeSource, seconds_between};
use crate::message::{self, Message, between, quoted_after, text};

signal! {
    /// A volume that cannot be attached, mounted or resized while the pod waits for it, one occurrence a volume; or a fault
    /// of a mounted volume, while the pod is not ready.
    /// Source: the newest Event of each volume: FailedMount, FailedAttachVolume, FailedMapVolume,
    /// FailedMountOnFilesystemMismatch, VolumePermissionChangeInProgress, VolumeResizeFailed, FileSystemResizeFailed,
    /// VolumeConditionAbnormal. Or status.volumeHealth (1.37+), whose reason here is also VolumeConditionAbnormal.
    pub(crate) struct Volume<'a> as "volume" {
        case: &'a Case<'a>,
        report: Report<'a>,
        refused: Option<&'a EventFacts>,
        parsed: OnceCell<Message<'a>>,
    }
    reason: |of| of.kind(), message: of.words();

    /// The volume: its name in the pod, or that of its PersistentVolume, at most 45 characters; empty if the message
    /// names none. Source: message of the Event.
    "name": fn name(&self) -> String { self.volume().map(|name| message::name(name, 45)).unwrap_or_default() }

    /// The volumes that are not mounted yet, separated by blanks; empty if the message lists none.
    /// Source: `unmounted volumes=[...]` in the message of the kubelet's sync.
    "unmounted": fn unmounted(&self) -> &str { self.between("unmounted volumes=[", "]") }

    /// The object that the volume consists of, such as `ConfigMap app-config`, `Secret tls` or `claim data`, separated by
    /// commas, at most 60 characters; empty if it is another kind or not known. Source: spec.volumes[].
    "source": fn source(&self) -> String { source(self.case, self.in_pod()) }

    /// The class of the error: `notFound`, `permission`, `unauthenticated`, `timeout`, `connectionRefused`, `dns`, `tls`,
    /// `exhausted`, `conflict`, `unsupported`, `invalid`, `corrupted` or `unavailable`; empty if it is none of these.
    /// Source: words, gRPC code, HTTP status and errno of the message.
    "class": fn class(&self) -> &'static str { self.parsed().class_name() }

    /// Whether the volume is in another zone than the node. Source: message; EC2 InvalidVolume.ZoneMismatch, Azure, GCE.
    "isInOtherZone": fn is_in_other_zone(&self) -> bool {
        const WORDS: [&str; 5] = [
            "zonemismatch",
            "same availability zone",
            "same zone as",
            "disks must be in the same zone",
            "zone does not match",
        ];
        let lower = self.words().to_ascii_lowercase();
        WORDS.iter().any(|words| lower.contains(words))
    }

    /// Whether the newest try is refused because an earlier operation on the volume has not finished, or to slow retries
    /// down. The message is that of the earlier operation, if its Event is known.
    "isDeferred": fn is_deferred(&self) -> bool { self.refused.is_some() || message::is_deferred(self.words()) }

    /// The error of the message with its operation and object, at most 120 characters, without the volume.
    "error": fn error(&self) -> String {
        match self.report {
            Report::Event(_) => self.shortened(self.parsed()),
            Report::Fault(fault) => {
                let VolumeFault { volume, status, reason, .. } = fault;
                let message = if fault.message.is_empty() { String::new() } else { format!(": {}", fault.message) };
                text::line(&format!("volume {volume} is {status} ({reason}){message}"), 120)
            }
        }
    }

    /// What the mount command printed, at most 120 characters; the error of the message where it ran none.
    /// Source: `Output:` in the message, k8s.io/mount-utils.
    "mountOutput": fn mount_output(&self) -> String {
        match self.words().split_once("Output: ") {
            Some((_, output)) => self.shortened(&Message::parse(output)),
            None => self.error(),
        }
    }

    /// Host of the server in what was to be mounted; empty if it is none. Source: the same message.
    "server": fn server(&self) -> &str {
        let device = device(self.words()).unwrap_or_default();
        device.split_once(":/").map_or("", |(host, _)| host.trim_matches(['[', ']']))
    }

    /// What was to be mounted, such as `10.0.0.5:/exports/app` or `/dev/sdb`; empty if the message does not state it.
    /// Source: `Mounting arguments:` in the message, k8s.io/mount-utils.
    "device": fn device(&self) -> String {
        let device = device(self.words()).unwrap_or_default();
        match device.strip_prefix("/var/lib/kubelet/").and_then(|path| path.rsplit('/').next()) {
            Some(directory) => format!("/var/…/{directory}"),
            None => message::name(device, 60),
        }
    }

    /// The mount helper that the node lacks, such as `mount.nfs`; empty if the message names none.
    /// Source: util-linux mount, in the message.
    "missingHelper": fn missing_helper(&self) -> String { missing_helper(self.words()).unwrap_or_default() }

    /// ConfigMap that does not exist; empty if the message names none. Source: message of the Event.
    "missingConfigMap": fn missing_config_map(&self) -> &str { self.quoted_after(&["configmap ", "configmaps "]) }

    /// Secret that does not exist; empty if the message names none. Source: message of the Event.
    "missingSecret": fn missing_secret(&self) -> &str { self.quoted_after(&["secret ", "secrets "]) }

    /// Namespace of that Secret, which for a CSI driver need not be that of the pod. Source: message of the Event.
    "secretNamespace": fn secret_namespace(&self) -> &str {
        let named = self.between("in the namespace ", " with error");
        if named.is_empty() { &self.case.pod.key.namespace } else { named }
    }

    /// ServiceAccount that does not exist; empty if the message names none. Source: message of the Event.
    "missingServiceAccount": fn missing_service_account(&self) -> &str { self.quoted_after(&["serviceaccounts "]) }

    /// Key that the ConfigMap or Secret of the volume does not have; empty if none is missing.
    /// Source: message of the Event.
    "missingKey": fn missing_key(&self) -> &str {
        self.words().rsplit_once("key: ").and_then(|(_, key)| key.split_whitespace().next()).unwrap_or_default()
    }

    /// ConfigMap of the volume whose key is missing; empty if it is a Secret or not known.
    /// Source: spec.volumes[].configMap, spec.volumes[].projected.sources[].configMap.
    "configMap": fn config_map(&self) -> &str {
        self.only_source(|source| match source {
            VolumeSource::ConfigMap { name, .. } if !self.is_about_secret() => Some(name),
            _ => None,
        })
    }

    /// Secret of the volume whose key is missing; empty if it is a ConfigMap or not known.
    /// Source: spec.volumes[].secret, spec.volumes[].projected.sources[].secret.
    "secret": fn secret(&self) -> &str {
        self.only_source(|source| match source {
            VolumeSource::Secret { name, .. } if self.is_about_secret() => Some(name),
            _ => None,
        })
    }

    /// PersistentVolumeClaim that the kubelet cannot use; empty if the message names none.
    /// Source: `error processing PVC` in the message.
    "unusableClaim": fn unusable_claim(&self) -> &str {
        self.between("error processing PVC ", ":").rsplit('/').next().unwrap_or_default()
    }

    /// PersistentVolumeClaim of the volume; empty if it has none, or only its PersistentVolume is known.
    /// Source: spec.volumes[].persistentVolumeClaim.
    "claim": fn claim(&self) -> String { self.root(RootKind::PersistentVolumeClaim) }

    /// PersistentVolume of the volume; empty if the message does not name it. Source: message of the Event.
    "persistentVolume": fn persistent_volume(&self) -> String { self.root(RootKind::PersistentVolume) }

    /// CSI driver of the volume, such as `ebs.csi.aws.com`; empty if the message neither names it nor has words that only
    /// one driver prints.
    "driver": fn driver(&self) -> &str {
        let message = self.words();
        csi::driver(message).or_else(|| self.component().map(|component| component.driver)).unwrap_or_default()
    }

    /// The part of the CSI driver that failed, such as `EBS CSI controller`; empty if it is not known.
    /// Source: labels of the driver's own manifests.
    "component": fn component_name(&self) -> &'static str { self.component().map_or("", |of| of.of_part(self.is_on_node()).name) }

    /// The namespace into which the driver's own manifests install that part.
    "componentNamespace": fn component_namespace(&self) -> &'static str { self.component().map_or("", |of| of.namespace) }

    /// The label of its pods, such as `app=ebs-csi-controller`.
    "componentLabel": fn component_label(&self) -> &'static str { self.component().map_or("", |of| of.of_part(self.is_on_node()).label) }

    /// Its container that logs the operation, such as `ebs-plugin`.
    "componentContainer": fn component_container(&self) -> &'static str {
        self.component().map_or("", |of| of.of_part(self.is_on_node()).container)
    }

    /// SecretProviderClass that does not exist; empty if the message names none.
    /// Source: `failed to get secretproviderclass` in the message of the Secrets Store CSI driver.
    "missingProviderClass": fn missing_provider_class(&self) -> &str {
        let named = self.between("failed to get secretproviderclass ", ",").rsplit('/').next().unwrap_or_default();
        if self.words().ends_with(" not found") { named } else { "" }
    }

    /// Provider of the Secrets Store CSI driver that does not respond on the node, such as `vault`; empty if the message
    /// names none.
    "secretProvider": fn secret_provider(&self) -> &str { self.quoted_after(&["error connecting to provider ", "provider not found: provider "]) }

    /// Object of the store that a provider of the Secrets Store CSI driver could not get; empty if the message names none.
    "secretObject": fn secret_object(&self) -> &str {
        let text = self.words();
        let after = |mark: &str| text.split_once(mark).map(|(_, rest): (_, &str)| rest);
        let word = after("objectName:").or_else(|| after("Failed to fetch secret from all regions: "));
        let word = word.or_else(|| after("couldn't read secret \""));
        word.map_or("", |rest| rest.split([',', ' ', '"', ':']).next().unwrap_or_default())
    }

    /// Kind of the driver's own objects that hold the state of a volume, such as `volumes.longhorn.io`; empty if the driver
    /// has none. Their name is that of the PersistentVolume.
    "driverObject": fn driver_object(&self) -> &'static str {
        if self.component().is_some_and(|of| of.driver == "driver.longhorn.io") { "volumes.longhorn.io" } else { "" }
    }

    /// Whether the operation runs on the node of the pod: a mount or an expansion of the file system, not an attach.
    "isOnNode": fn is_on_node(&self) -> bool {
        self.kind() != "FailedAttachVolume" && !self.words().starts_with("resize volume ")
    }

    /// Pods that use the volume on another node, separated by commas, at most 70 characters; empty if the message names
    /// none. Source: `used by pod(s)` in the message of the attach controller.
    "usedBy": fn used_by(&self) -> String {
        let pods = self.words().split_once("used by pod(s) ").filter(|_| self.used_elsewhere().is_empty());
        pods.map(|(_, pods)| message::fit(pods.trim().trim_end_matches('.'), 70)).unwrap_or_default()
    }

    /// How many pods of other namespaces use the volume, such as `2 pod(s) in different namespaces`, after the pods of the own
    /// one; empty if the message names none. Source: message of the attach controller.
    "usedElsewhere": fn used_elsewhere(&self) -> &str {
        let users = self.words().split_once("already used by ").map_or("", |(_, users)| users.trim_end_matches('.'));
        if users.contains(" in different namespaces") { users.trim_start_matches("pod(s) ") } else { "" }
    }

    /// Why the path of a hostPath volume is refused, such as `/data is not a directory`, at most 90 characters.
    /// Source: message of the Event, pkg/volume/hostpath.
    "hostPathError": fn host_path_error(&self) -> String {
        self.words().split_once("check failed: ").map(|(_, error)| message::fit(error, 90)).unwrap_or_default()
    }

    /// Path of a hostPath volume that is refused; empty if none is. Source: message of the Event, pkg/volume/hostpath.
    "hostPath": fn host_path(&self) -> &str { self.between("check failed: ", " is not a ") }

    /// The hostPath type with which the kubelet creates what is missing: `DirectoryOrCreate` or `FileOrCreate`; empty if
    /// there is none, as for sockets and devices. Source: message of the Event.
    "hostPathType": fn host_path_type(&self) -> &'static str {
        if self.words().contains("is not a directory") {
            "DirectoryOrCreate"
        } else if self.words().contains("is not a file") {
            "FileOrCreate"
        } else {
            ""
        }
    }

    /// Directory of a local PersistentVolume that is not on the node; empty if none is missing.
    /// Source: message of the Event, pkg/volume/local.
    "missingLocalPath": fn missing_local_path(&self) -> &str { self.between("path \"", "\" does not exist") }

    /// ConfigMap or Secret that the kubelet does not watch for this pod; empty if it does.
    /// Source: `not registered` in the message of the kubelet's object cache.
    "unregisteredObject": fn unregistered_object(&self) -> &str {
        let object = self.words().strip_suffix(" not registered").and_then(|object| object.rsplit('/').next());
        object.unwrap_or_default().trim_matches('"')
    }

    /// Whether the kubelet receives no ConfigMaps or Secrets from the API server.
    /// Source: `failed to sync` in the message of the kubelet's object cache.
    "cacheNotSynced": fn cache_not_synced(&self) -> bool {
        ["failed to sync configmap cache", "failed to sync secret cache"].iter().any(|m| self.words().contains(m))
    }
}

pub(crate) const SOURCE: Source = Source { definition: &Volume::DEFINITION, read };

/// A fault of a mounted volume that its CSI driver reports.
const ABNORMAL: &str = "VolumeConditionAbnormal";

const EVENTS: [&str; 7] = [
    "FailedMount",
    "FailedAttachVolume",
    "FailedMapVolume",
    "FailedMountOnFilesystemMismatch",
    "VolumePermissionChangeInProgress",
    "VolumeResizeFailed",
    "FileSystemResizeFailed",
];

/// Messages that occur while caches of the kubelet or the API server fill, or for a pod that is being deleted.
const TRANSIENT: [&str; 6] = [
    "not registered",
    "failed to sync configmap cache",
    "failed to sync secret cache",
    "object is being deleted",
    // kubernetes plugin/pkg/admission/noderestriction and plugin/pkg/auth/authorizer/node: the kubelet may send its
    // request before the API server's watch shows the node of the pod.
    "node requested token bound to a pod scheduled on a different node",
    "no relationship found between node",
];

/// Seconds after which such a message no longer counts as transient.
const TRANSIENT_FOR: i64 = 120;

/// Seconds for which an Event VolumeConditionAbnormal remains valid. The kubelet checks volumes every minute, and may
/// emit an Event for an object once in 5 minutes.
const ABNORMAL_FOR: i64 = 600;

/// Where the error of a volume is from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Report<'a> {
    Event(&'a EventFacts),
    Fault(&'a VolumeFault),
}

fn read<'a>(case: &'a Case<'a>) -> Vec<Box<dyn PodSignal<'a> + 'a>> {
    if case.events.is_empty() && case.pod.volume_faults.is_empty() {
        return Vec::new();
    }
    let is_being_set_up = is_being_set_up(case);
    let events: Vec<&EventFacts> =
        if is_being_set_up { current(case).collect() } else { abnormal(case).into_iter().collect() };
    let volume = |event: &'a EventFacts| {
        let earlier = deferred::earlier(
            case.events.iter().filter(|other| volume_of(&other.message) == volume_of(&event.message)),
            event,
        );
        let report = Report::Event(earlier.unwrap_or(event));
        Volume { case, report, refused: earlier.map(|_| event), parsed: OnceCell::new() }
    };
    let faults = case.pod.volume_faults.iter().filter(|_| !is_being_set_up && is_affected(case));
    let of_fault = |fault| Volume { case, report: Report::Fault(fault), refused: None, parsed: OnceCell::new() };
    let all = events.into_iter().map(volume).chain(faults.map(of_fault));
    all.map(|volume| Box::new(volume) as Box<dyn PodSignal<'a> + 'a>).collect()
}

impl<'a> PodSignal<'a> for Volume<'a> {
    /// Repetition does not count: the first tries follow each other within 1 or 2 seconds.
    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        // The drivers of a new node register one after another.
        let is_unregistered = self.words().contains("not found in the list of registered CSI drivers");
        if let Some(joined) = lasting::joining_until(self.case).filter(|_| is_unregistered) {
            return Err(joined);
        }
        let since = match self.report {
            Report::Event(event) => lasting::first_seen(self.case, event),
            Report::Fault(fault) => self.case.held_since(fault.since.or(self.case.pod.start_time)),
        };
        lasting::counts(self.case, cause, since, 1)
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        match self.report {
            Report::Event(event) => std::iter::once(event).chain(self.refused).map(evidence::event).collect(),
            Report::Fault(fault) => {
                let path = format!("status.volumeHealth[{}]", fault.volume);
                let value = format!("{} {} {}", fault.status, fault.reason, fault.message);
                vec![evidence::field_at(path, value, fault.since)]
            }
        }
    }
}

impl<'a> Volume<'a> {
    fn kind(&self) -> &'a str {
        match self.report {
            Report::Event(event) => &event.reason,
            Report::Fault(_) => ABNORMAL,
        }
    }

    fn words(&self) -> &'a str {
        match self.report {
            Report::Event(event) => &event.message,
            Report::Fault(fault) => &fault.message,
        }
    }

    /// The volume: by its name in the pod, or that of its PersistentVolume.
    fn volume(&self) -> Option<&'a str> {
        match self.report {
            Report::Event(event) => volume_of(&event.message),
            Report::Fault(fault) => Some(&fault.volume),
        }
    }

    fn parsed(&self) -> &Message<'a> {
        self.parsed.get_or_init(|| Message::parse(self.words()))
    }

    /// The volume of the pod that the message is about.
    fn in_pod(&self) -> Option<&str> {
        let only = || Some(self.unmounted()).filter(|all| !all.is_empty() && !all.contains(' '));
        self.volume().or_else(only)
    }

    fn component(&self) -> Option<&'static Component> {
        Component::of(csi::driver(self.words()), self.words())
    }

    fn shortened(&self, error: &Message<'_>) -> String {
        error.summary(120, &[self.volume().unwrap_or_default()])
    }

    fn between(&self, start: &str, end: &str) -> &str {
        between(self.words(), start, end).unwrap_or_default()
    }

    fn quoted_after(&self, marks: &[&str]) -> &str {
        marks.iter().find_map(|mark| quoted_after(self.words(), mark)).unwrap_or_default()
    }

    fn is_about_secret(&self) -> bool {
        self.words().contains("secret key")
    }

    /// The object behind the volume; empty if a projected volume has several candidates.
    fn only_source(&self, of: impl Fn(&'a VolumeSource) -> Option<&'a String>) -> &'a str {
        let source = self.volume().and_then(|name| self.case.pod.volume_source(name));
        let only = match source {
            Some(VolumeSource::Projected { sources }) => {
                let mut names = sources.iter().filter_map(of);
                names.next().filter(|_| names.next().is_none())
            }
            source => source.and_then(of),
        };
        only.map_or("", String::as_str)
    }

    fn root(&self, kind: RootKind) -> String {
        let root = self.volume().and_then(|name| roots::volume(self.case, name));
        root.filter(|root| root.kind == kind.as_str()).map(|root| root.name).unwrap_or_default()
    }
}

/// A fault of a mounted volume that the CSI driver reports, for a pod that is not ready.
fn abnormal<'a>(case: &Case<'a>) -> Option<&'a EventFacts> {
    let event = case.events_with(ABNORMAL).next_back()?;
    let is_recent = event.last.is_none_or(|at| case.age(at) < ABNORMAL_FOR);
    (is_recent && is_affected(case)).then_some(event)
}

/// Whether a fault of a mounted volume may be why the pod is not ready.
fn is_affected(case: &Case<'_>) -> bool {
    !case.pod.is_over() && !case.pod.is_ready()
}

/// The newest Event of each volume, newest first, unless the kubelet has tried to create the sandbox since.
fn current<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a EventFacts> {
    let sandbox = sandbox::failure(case).and_then(|event| event.last);
    let mut volumes: Vec<&str> = Vec::new();
    case.events.iter().rev().filter(move |event| {
        if !EVENTS.contains(&&*event.reason)
            || sandbox.is_some_and(|sandbox| event.last.is_some_and(|at| at < sandbox))
            || is_transient(case, event)
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

fn is_transient(case: &Case<'_>, event: &EventFacts) -> bool {
    let lasted = event.first.zip(event.last).map_or(0, |(first, last)| seconds_between(first, last));
    let persists = case.pod.deletion.is_none() && lasted >= TRANSIENT_FOR;
    !persists && TRANSIENT.iter().any(|words| event.message.contains(words))
}

/// The volume in a message: by its name in the pod, or that of its PersistentVolume.
fn volume_of(message: &str) -> Option<&str> {
    quoted_after(message, "for volume ")
        .or_else(|| quoted_after(message.strip_prefix("resize volume ").map_or("", |_| message), "resize volume "))
        .or_else(|| between(message, "ownership for ", " is taking"))
        .or_else(|| between(message, "ownership for ", ", processed "))
        .or_else(|| between(message, "volume ", " has volumeMode"))
        .or_else(|| message.strip_prefix("Volume ")?.split_once(": ").map(|(volume, _)| volume))
}

/// Kinds and names of the objects that a volume of the pod consists of.
fn source(case: &Case<'_>, volume: Option<&str>) -> String {
    let Some(source) = volume.and_then(|name| case.pod.volume_source(name)) else { return String::new() };
    let named = |source: &VolumeSource| match source {
        VolumeSource::ConfigMap { name, .. } => Some(format!("ConfigMap {name}")),
        VolumeSource::Secret { name, .. } => Some(format!("Secret {name}")),
        VolumeSource::Claim { name, .. } => Some(format!("claim {name}")),
        _ => None,
    };
    let names: Vec<String> = match source {
        VolumeSource::Projected { sources } => sources.iter().filter_map(named).collect(),
        source => named(source).into_iter().collect(),
    };
    message::name(&names.join(", "), 60)
}

/// The device: the second to last argument of the mount command. The last is the directory.
fn device(message: &str) -> Option<&str> {
    let arguments = message.split_once("Mounting arguments: ")?.1.lines().next()?;
    arguments.split_whitespace().rev().nth(1)
}

/// The mount helper in the output, or the one that the file system type needs.
fn missing_helper(message: &str) -> Option<String> {
    let of_type = |kind: &str| format!("mount.{kind}");
    match between(message, "need a ", " helper") {
        // util-linux prints the placeholder literally.
        Some(helper) if helper.contains("<type>") => {
            Some(between(message, "-t ", " ").map_or_else(|| helper.to_owned(), of_type))
        }
        Some(helper) => Some(helper.to_owned()),
        None => between(message, "unknown filesystem type '", "'").map(of_type),
    }
}
