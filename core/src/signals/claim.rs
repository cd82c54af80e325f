//! The signal `claim`.
//!
//! The scheduler reports only that a claim is unbound, and nothing while it waits for a volume that is provisioned for
//! the chosen node. The claim's Events and its StorageClass explain the rest, and are looked up for such pods only.

use super::csi::Component;
use super::scheduling::report::{self, Report};
use super::scheduling::words::{self, Check, names};
use super::{Matched, PodSignal, Source, deferred, signal};
use crate::api::Evidence;
use crate::case::{Case, evidence, target};
use crate::facts::similar::alike;
use crate::facts::{
    ClaimClass, ClaimFacts, ClaimsFacts, ClassFacts, EventFacts, Lookup, Timestamp, VolumeSource, after, format_bytes,
};
use crate::message::{Message, quoted_after, word_after};

/// Reporter of the Events of claims that no provisioner has picked up.
const CONTROLLER: &str = "persistentvolume-controller";

/// Provisioner of classes whose volumes an administrator creates.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

const PROVISIONING_FAILED: &str = "ProvisioningFailed";
const EXTERNAL_PROVISIONING: &str = "ExternalProvisioning";

signal! {
    /// A PersistentVolumeClaim without a volume that keeps the pod from a node, and the Event that explains why it has none.
    /// The reason and the message are those of the claim's Event.
    pub(crate) struct Claim<'a> as "claim" { case: &'a Case<'a>, due: Timestamp, explained: Option<Explained<'a>> }
    // Claims are looked up only after the grace period. Until then the first reason represents all causes.
    reason: |of| of.explained.map_or(PROVISIONING_FAILED, |explained| reason(explained.event)),
    message: of.explained.map_or("", |explained| &explained.event.message);

    /// Name of the claim. Source: PersistentVolumeClaim metadata.name.
    "name": fn name(&self) -> &str { self.explained.map_or("", |explained| &explained.claim.name) }

    /// The StorageClass that the claim names; empty if it names none. Source: spec.storageClassName, else the Event.
    "class": fn class(&self) -> &str { self.explained.and_then(|explained| explained.class()).unwrap_or_default() }

    /// How the claim names its class: `named`, `empty` (storageClassName is ""), `unset`, or `unknown` where only its Events are
    /// known. Source: spec.storageClassName.
    "classState": fn class_state(&self) -> &'static str {
        match self.explained.map_or(&ClaimClass::Unknown, |explained| &explained.claim.class) {
            ClaimClass::Named(_) => "named",
            ClaimClass::Without => "empty",
            ClaimClass::Unset => "unset",
            ClaimClass::Unknown => "unknown",
        }
    }

    /// The StorageClass that does not exist; empty if that is not the failure.
    /// Source: Event ProvisioningFailed, `storageclass.storage.k8s.io "fast" not found`.
    "missingClass": fn missing_class(&self) -> &str {
        self.explained.and_then(|explained| missing_class(explained.event)).unwrap_or_default()
    }

    /// A StorageClass whose name differs from the missing one by a letter or two.
    "similarClass": fn similar_class(&self) -> &str {
        let similar = self.explained.and_then(|e| e.classes?.iter().find(|class| alike(&class.name, self.missing_class())));
        similar.map_or("", |class| &class.name)
    }

    /// Names of the StorageClasses of the cluster: two of them, and how many more.
    "classes": fn classes(&self) -> String {
        names(self.explained.and_then(|e| e.classes).into_iter().flatten().map(|class| &*class.name))
    }

    /// Number of StorageClasses in the cluster; not known if they cannot be listed.
    "classCount": fn class_count(&self) -> Option<i64> {
        self.explained?.classes.map(|all| i64::try_from(all.len()).unwrap_or(i64::MAX))
    }

    /// A StorageClass that the claim should rather name: the default one, or the only one with another provisioner.
    "bestClass": fn best_class(&self) -> &str { self.explained.and_then(|explained| explained.best_class()).unwrap_or_default() }

    /// The volume plugin or provisioner that the cluster does not know; empty if that is not the failure.
    /// Source: Event ProvisioningFailed, `no volume plugin matched name`.
    "unknownPlugin": fn unknown_plugin(&self) -> &str {
        let message = self.explained.map_or("", |explained| &explained.event.message);
        message.split_once("no volume plugin matched name: ").map_or("", |(_, plugin)| plugin)
    }

    /// PersistentVolume that the claim names and that does not fit; empty if that is not the failure.
    /// Source: Event VolumeMismatch, `Cannot bind to requested volume`.
    "requestedVolume": fn requested_volume(&self) -> &str {
        let message = self.explained.map_or("", |explained| &explained.event.message);
        quoted_after(message, "requested volume ").unwrap_or_default()
    }

    /// The error of the Event with its operation and object, at most 120 characters.
    "error": fn error(&self) -> String {
        let message = self.explained.map_or("", |explained| &explained.event.message);
        let mismatch = message.strip_prefix("Cannot bind to requested volume ").and_then(|rest| rest.split_once(": "));
        Message::parse(mismatch.map_or(message, |(_, error)| error)).summary(120, &[])
    }

    /// VolumeSnapshot that the claim is to be restored from and that cannot be used; empty if it is not the failure.
    /// Source: kubernetes-csi/external-provisioner, `error getting handle for DataSource Type VolumeSnapshot by Name`.
    "snapshot": fn snapshot(&self) -> &str {
        let message = self.explained.map_or("", |explained| &*explained.event.message);
        word_after(message, "DataSource Type VolumeSnapshot by Name ").trim_end_matches(':')
    }

    /// The class of the error: `notFound`, `permission`, `unauthenticated`, `timeout`, `connectionRefused`, `dns`, `tls`,
    /// `exhausted`, `conflict`, `unsupported`, `invalid`, `corrupted` or `unavailable`; empty if it is none of these.
    /// Source: words, gRPC code, HTTP status and errno of the Event.
    "errorClass": fn error_class(&self) -> &'static str {
        self.explained.map_or("", |explained| Message::parse(&explained.event.message).class_name())
    }

    /// The controller of the provisioner, such as `EBS CSI controller`; empty if it is not known.
    /// Source: labels of the driver's own manifests.
    "component": fn component_name(&self) -> &'static str { self.component().map_or("", |of| of.of_part(false).name) }

    /// The namespace into which the driver's own manifests install it.
    "componentNamespace": fn component_namespace(&self) -> &'static str { self.component().map_or("", |of| of.namespace) }

    /// The label of its pods, such as `app=ebs-csi-controller`.
    "componentLabel": fn component_label(&self) -> &'static str { self.component().map_or("", |of| of.of_part(false).label) }

    /// Its container that logs the operation, such as `ebs-plugin`.
    "componentContainer": fn component_container(&self) -> &'static str { self.component().map_or("", |of| of.of_part(false).container) }

    /// The provisioner that the claim waits for. Source: Event ExternalProvisioning, else StorageClass provisioner.
    "provisioner": fn provisioner(&self) -> &str {
        self.explained.and_then(|explained| explained.provisioner()).unwrap_or_default()
    }

    /// The provisioner has reported that it began. Source: Event Provisioning of the claim.
    "hasBegun": fn has_begun(&self) -> bool {
        self.explained.is_some_and(|explained| explained.claim.events.iter().any(|e| &*e.reason == "Provisioning"))
    }

    /// Pod of the provisioner that reported the Event; empty if the reporter is no pod.
    /// Source: Event source.component, `DRIVER_POD_UUID`.
    "provisionerPod": fn provisioner_pod(&self) -> &str {
        let reporter = self.explained.and_then(|explained| explained.event.reporter.split('_').nth(1));
        // GKE runs its provisioner on a hidden machine.
        reporter.filter(|pod| !pod.ends_with("-vm")).unwrap_or_default()
    }

    /// The ephemeral volume of the pod that the claim is created from; empty for other claims.
    /// Source: spec.volumes[].ephemeral.
    "ephemeralVolume": fn ephemeral_volume(&self) -> &str {
        let claim = self.name();
        let volume = self.case.pod.volumes.iter().find(
            |v| matches!(&v.source, VolumeSource::Claim { name, ephemeral: true } if **name == *claim),
        );
        volume.map_or("", |volume| &volume.name)
    }

    /// The claim is created from the volumeClaimTemplates of a StatefulSet. Source: the claim's name, `TEMPLATE-POD`.
    "isOfTemplate": fn is_of_template(&self) -> bool {
        let suffix = format!("-{}", self.case.pod.key.name);
        self.name().ends_with(&suffix) && &*target::of(self.case).kind == "StatefulSet"
    }
}

pub(crate) const SOURCE: Source = Source {
    definition: &Claim::DEFINITION,
    read: |case| read(case).map(|claim| Box::new(claim) as Box<dyn PodSignal<'_>>).into_iter().collect(),
};

fn read<'a>(case: &'a Case<'a>) -> Option<Claim<'a>> {
    let due = Wait::of(case)?.due;
    if case.now < due {
        return Some(Claim { case, due, explained: None });
    }
    Some(Claim { case, due, explained: Some(explained(case)?) })
}

impl<'a> PodSignal<'a> for Claim<'a> {
    fn due(&self, _cause: &Matched) -> Result<(), Timestamp> {
        if self.case.now < self.due { Err(self.due) } else { Ok(()) }
    }

    fn evidence(&self, _cause: &Matched) -> Vec<Evidence> {
        let explained = self.explained.iter().flat_map(Explained::evidence);
        explained.chain(self.case.pod.condition("PodScheduled").map(evidence::condition)).collect()
    }
}

impl Claim<'_> {
    fn component(&self) -> Option<&'static Component> {
        let explained = self.explained?;
        // A provisioner reports as `DRIVER_POD_UUID`.
        let reporter = explained.event.reporter.split('_').next().filter(|driver| driver.contains('.'));
        Component::of(explained.provisioner().or(reporter), &explained.event.message)
    }
}

/// A claim, and the Event that explains why it has no volume.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Explained<'a> {
    claim: &'a ClaimFacts,
    event: &'a EventFacts,
    classes: Option<&'a [ClassFacts]>,
}

/// The claim that prevents the pod from being scheduled, if its Events explain why and the grace period is over.
pub(super) fn explained<'a>(case: &Case<'a>) -> Option<Explained<'a>> {
    let wait = Wait::of(case).filter(|wait| case.now >= wait.due)?;
    let claims = case.surroundings.claims.as_ref()?;
    let all = claims.unbound.iter().filter(|claim| !wait.is_for_chosen_node || waits_for_pod(claims, claim));
    // Prefer the most certain reason; among equals the first claim.
    let rank = |found: &Explained<'_>| match reason(found.event) {
        PROVISIONING_FAILED => 0,
        EXTERNAL_PROVISIONING => 2,
        _ => 1,
    };
    all.filter_map(|claim| explained_by(claims, claim)).min_by_key(rank)
}

/// Whether the volume is provisioned only after the scheduler has chosen a node.
fn waits_for_pod(claims: &ClaimsFacts, claim: &ClaimFacts) -> bool {
    let class = claims.classes.iter().flat_map(|all| &**all).find(|c| claim.class == ClaimClass::Named(c.name.clone()));
    class.is_some_and(|class| class.waits_for_pod)
        || claim.events.iter().any(|e| matches!(&*e.reason, "WaitForFirstConsumer" | "WaitForPodScheduled"))
}

fn explained_by<'a>(claims: &'a ClaimsFacts, claim: &'a ClaimFacts) -> Option<Explained<'a>> {
    let classes = claims.classes.as_deref();
    let newest = |of: &dyn Fn(&EventFacts) -> bool| claim.events.iter().rev().find(|e| of(e));
    let of_controller = newest(&|e| &*e.reporter == CONTROLLER);
    let failed = newest(&|e| reason(e) == PROVISIONING_FAILED).filter(|event| {
        // The controller has made progress since. A provisioner's failure is followed by waiting Events and does not
        // count.
        let is_past = &*event.reporter == CONTROLLER && of_controller.is_some_and(|e| e.reason != event.reason);
        let has_come = missing_class(event).is_some_and(|name| classes.is_some_and(|all| has(all, name)));
        !is_past && !has_come
    });
    let is_decisive = |e: &&EventFacts| match &*e.reason {
        "FailedBinding" => e.message.contains("no storage class is set"),
        reason => reason == EXTERNAL_PROVISIONING || reason == "VolumeMismatch",
    };
    let failed = failed.map(|event| deferred::earlier(claim.events.iter(), event).unwrap_or(event));
    let event = failed.or_else(|| of_controller.filter(is_decisive))?;
    // If only Events are known, the claim may have been bound in the meantime.
    if newest(&|e| &*e.reason == "ProvisioningSucceeded").is_some_and(|done| done.last >= event.last) {
        return None;
    }
    Some(Explained { claim, event, classes })
}

/// The reason of the Event that matches causes. A Warning with a reason of a provisioner's own is a failure too.
fn reason(event: &EventFacts) -> &str {
    let is_known = matches!(&*event.reason, "FailedBinding" | "VolumeMismatch" | EXTERNAL_PROVISIONING);
    if event.warning && !is_known { PROVISIONING_FAILED } else { &event.reason }
}

fn has(classes: &[ClassFacts], name: &str) -> bool {
    classes.iter().any(|class| *class.name == *name)
}

/// The missing class that an Event names: `storageclass.storage.k8s.io "fast" not found`.
fn missing_class(event: &EventFacts) -> Option<&str> {
    event.message.strip_prefix("storageclass.storage.k8s.io ").and_then(words::quoted)
}

/// A pod that the scheduler reports as waiting for a volume.
struct Wait {
    /// When the wait exceeds the grace period.
    due: Timestamp,
    /// The scheduler has chosen a node and waits for a volume to be provisioned for it. It reports nothing until the
    /// volume exists, for up to 10 minutes.
    is_for_chosen_node: bool,
}

impl Wait {
    fn of(case: &Case<'_>) -> Option<Self> {
        let pod = case.pod;
        if !report::waits(case) || pod.claims().next().is_none() {
            return None;
        }
        let error = Report::of(case, report::SCHEDULER_ERROR).filter(|error| error.message.contains("VolumeBinding"));
        if let Some(error) = error {
            return Some(Self { due: error.error_due(case), is_for_chosen_node: false });
        }
        if pod.nominated_node.is_some() || report::is_silent(case) {
            let due = after(case.held_since(pod.created), case.thresholds.creating);
            return Some(Self { due, is_for_chosen_node: true });
        }
        let unbound = Report::of(case, report::UNSCHEDULABLE).filter(|report| report.has(&[Check::PvcUnbound]))?;
        Some(Self { due: unbound.due(case), is_for_chosen_node: false })
    }
}

/// Returns the lookup of claims for a pod that waits for a volume for too long.
pub(crate) fn needed(case: &Case<'_>) -> Option<Lookup> {
    let due = Wait::of(case).map(|wait| wait.due).or_else(|| unfit_since(case))?;
    (case.now >= due).then(|| Lookup::Claims(case.pod.key.namespace.clone()))
}

/// Since when the scheduler has found no volume that fits a claim. The claim's class explains this best.
fn unfit_since(case: &Case<'_>) -> Option<Timestamp> {
    let report = Report::of(case, report::UNSCHEDULABLE)?;
    report.has(&[Check::NoMatchingPv, Check::StorageCapacity]).then(|| report.due(case))
}

/// The pod's claims without a volume, each with its size and its class. Falls back to all claims of the pod.
pub(super) fn with_classes(case: &Case<'_>) -> String {
    let known = case.surroundings.claims.as_ref().filter(|claims| !claims.unbound.is_empty());
    let Some(claims) = known else { return names(case.pod.claims()) };
    let each = claims.unbound.iter().map(|claim| {
        let size = claim.size.map(|size| format!("{} ", format_bytes(size))).unwrap_or_default();
        let ClaimClass::Named(name) = &claim.class else { return claim.name.to_string() };
        let class = claims.classes.iter().flat_map(|all| &**all).find(|class| class.name == *name);
        let manual_rollout = class.is_some_and(|class| &*class.provisioner == NO_PROVISIONER);
        let provisioner = if manual_rollout { format!(", {NO_PROVISIONER}") } else { String::new() };
        format!("{} ({size}of StorageClass {name}{provisioner})", claim.name)
    });
    let each: Vec<_> = each.collect();
    names(each.iter().map(String::as_str))
}

impl<'a> Explained<'a> {
    fn class(&self) -> Option<&'a str> {
        match &self.claim.class {
            ClaimClass::Named(name) => Some(name),
            _ => words::quoted(self.event.message.split_once("StorageClass ")?.1),
        }
    }

    fn provisioner(&self) -> Option<&'a str> {
        let message = &*self.event.message;
        let class = self.class().and_then(|name| self.classes?.iter().find(|class| *class.name == *name));
        let reported = (&*self.event.reason == EXTERNAL_PROVISIONING)
            .then(|| message.split('\'').nth(1).or_else(|| words::quoted(message)))
            .flatten();
        reported.or(class.map(|class| &*class.provisioner))
    }

    fn best_class(&self) -> Option<&'a str> {
        let own = self.provisioner();
        let of_use = |class: &&ClassFacts| &*class.provisioner != NO_PROVISIONER && own != Some(&*class.provisioner);
        let others = || self.classes.into_iter().flatten().filter(of_use);
        let only = others().next().filter(|_| others().count() == 1);
        others().find(|class| class.is_default).or(only).map(|class| &*class.name)
    }

    fn evidence(&self) -> Vec<Evidence> {
        let path = format!("persistentvolumeclaim/{}", self.claim.name);
        let event = self.event;
        let reported = evidence::field_at(format!("{path}.events[{}]", event.reason), &event.message, event.last);
        let class = match &self.claim.class {
            ClaimClass::Named(name) => Some(&**name),
            ClaimClass::Without => Some("\"\""),
            ClaimClass::Unset => Some("(absent)"),
            ClaimClass::Unknown => None,
        };
        let class = class.map(|class| evidence::field(format!("{path}.spec.storageClassName"), class));
        let offered = self.classes.map(|all| {
            let all: Vec<_> = all.iter().map(|c| format!("{} ({})", c.name, c.provisioner)).collect();
            evidence::field("storageclasses", if all.is_empty() { "(none)".to_owned() } else { all.join(", ") })
        });
        [Some(reported), class, offered].into_iter().flatten().collect()
    }
}

/// The newest Event of each claim without a volume.
pub(super) fn newest_events(case: &Case<'_>) -> Vec<Evidence> {
    let unbound = case.surroundings.claims.iter().flat_map(|claims| &claims.unbound);
    let newest = unbound.filter_map(|claim| Some((claim, claim.events.last()?)));
    newest
        .map(|(claim, e)| {
            evidence::field_at(format!("persistentvolumeclaim/{}.events[{}]", claim.name, e.reason), &e.message, e.last)
        })
        .collect()
}

/// The pod's only claim without a volume.
fn unbound<'a>(case: &Case<'a>) -> Option<&'a ClaimFacts> {
    match case.surroundings.claims.as_ref()?.unbound.as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// The name of the pod's only claim without a volume.
pub(super) fn only_unbound<'a>(case: &Case<'a>) -> Option<&'a str> {
    unbound(case).map(|claim| &*claim.name)
}

/// The StorageClass of the pod's only claim without a volume.
pub(super) fn only_class<'a>(case: &Case<'a>) -> Option<&'a str> {
    match &unbound(case)?.class {
        ClaimClass::Named(name) => Some(name),
        _ => None,
    }
}

/// A claim of the pod that requests a volume by name, and the name of that volume.
pub(super) fn requested_volume<'a>(case: &Case<'a>) -> Option<(&'a str, &'a str)> {
    let claims = case.surroundings.claims.as_ref()?;
    claims.unbound.iter().find_map(|claim| Some((&*claim.name, claim.volume.as_deref()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Remedy;
    use crate::case::Verdict;
    use crate::rules::catalog;
    use crate::testing::Scenario;

    /// The remedies for a pod that waits for its claim `data`, given the claim's class, Event and all classes.
    fn remedies_for(class: ClaimClass, reason: &str, message: &str, classes: &[(&str, &str, bool)]) -> Vec<Remedy> {
        let mut scenario = Scenario::from_yaml(&format!(
            "kind: Pod\nmetadata: {{name: db, namespace: demo, uid: u, creationTimestamp: '2026-11-21T09:00:00Z'}}\n\
             spec: {{containers: [{{name: db, image: db}}], volumes: [{{name: data, persistentVolumeClaim: {{claimName: data}}}}]}}\n\
             status: {{phase: Pending, conditions: [{{type: PodScheduled, status: 'False', reason: Unschedulable, \
             message: 'pod has unbound immediate PersistentVolumeClaims'}}]}}\n---\n\
             kind: Event\nmetadata: {{name: e, namespace: demo}}\n\
             involvedObject: {{kind: Pod, namespace: demo, name: db, uid: u}}\nreason: {reason}\nmessage: >-\n  {message}\n\
             source: {{component: {CONTROLLER}}}\n"
        ))
        .at("2026-11-21T09:10:00Z");
        let events = std::mem::take(&mut scenario.events[0]);
        let classes = classes.iter().map(|(name, provisioner, is_default)| ClassFacts {
            name: (*name).into(),
            provisioner: (*provisioner).into(),
            is_default: *is_default,
            waits_for_pod: false,
        });
        let claim = ClaimFacts { name: "data".into(), class, volume: None, size: None, events };
        scenario.surroundings[0].claims = Some(ClaimsFacts { unbound: vec![claim], classes: Some(classes.collect()) });
        let case = scenario.case();
        let verdicts = catalog::current().verdicts(&SOURCE, &case, |_, _| true);
        let [(_, rule, Verdict::Yes(finding))] = verdicts.as_slice() else { panic!("{verdicts:?}") };
        catalog::remedies(&case, rule.cause, finding)
    }

    fn commands(remedies: &[Remedy]) -> Vec<&str> {
        remedies.iter().filter_map(|r| r.command.as_deref()).collect()
    }

    #[test]
    fn text_of_an_event_is_never_part_of_a_command() {
        let message = "storageclass.storage.k8s.io \"x/;e id #\" not found";
        let classes = [("fast", "csi.example.com", true)];
        let found = remedies_for(ClaimClass::Unknown, "ProvisioningFailed", message, &classes);
        assert!(commands(&found).iter().all(|c| !c.contains("replace")), "{found:?}");
        let found = remedies_for(ClaimClass::Named("x".into()), "ProvisioningFailed", message, &classes);
        assert!(
            commands(&found).iter().any(|c| c.contains(r#"-p '{"spec":{"storageClassName":"fast"}}'"#)),
            "{found:?}"
        );
    }

    #[test]
    fn suggests_the_default_or_the_only_dynamic_storage_class() {
        let none = "no persistent volumes available for this claim and no storage class is set";
        let given = |classes: &[(&str, &str, bool)]| {
            commands(&remedies_for(ClaimClass::Unset, "FailedBinding", none, classes))[0].to_owned()
        };
        let manual_rollout = ("local", NO_PROVISIONER, false);
        assert!(given(&[manual_rollout, ("a", "x", false), ("b", "x", true)]).contains("{\"storageClassName\":\"b\"}"));
        assert!(given(&[manual_rollout, ("a", "x", false)]).contains("{\"storageClassName\":\"a\"}"));
        assert_eq!(given(&[manual_rollout]), "kubectl get storageclass");
        assert_eq!(
            given(&[("a", "x", false), ("b", "y", false)]),
            "kubectl get storageclass",
            "the choice between two is the user's"
        );
    }

    #[test]
    fn a_class_of_the_unresponsive_provisioner_is_not_suggested() {
        let message = "Waiting for a volume to be created either by the external provisioner 'x' or manually";
        let named = || ClaimClass::Named("a".into());
        let all = [("a", "x", false), ("b", "x", true), ("c", "y", false)];
        let found = remedies_for(named(), "ExternalProvisioning", message, &all);
        assert!(found.iter().any(|r| r.text.starts_with("Replace claim data with one of class c")), "{found:?}");
        let found = remedies_for(named(), "ExternalProvisioning", message, &all[..2]);
        assert!(found.iter().all(|r| !r.text.starts_with("Replace")), "{found:?}");
    }
}
