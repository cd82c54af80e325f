//! What only the claim tells: why the volume that a pod waits for does not come.
//!
//! The scheduler says no more than `unbound`, or nothing at all while it waits for a volume that is made for the node of its
//! choice. The claim's Events and its StorageClass say the rest; they are looked up for pods that wait so.

use std::borrow::Cow;

use super::explain::alike;
use super::words::{self, names};
use super::{due, error_due, not_scheduled, silent, waits};
use crate::api::{Evidence, Remedy, Root};
use crate::diagnosis::language::{Language, phrase, say};
use crate::diagnosis::message as signature;
use crate::diagnosis::target::{self, shell_word};
use crate::diagnosis::{Case, Finding, RootKind, Verdict, evidence, remedy};
use crate::facts::{
    ClaimClass, ClaimFacts, ClaimsFacts, ClassFacts, Condition, EventFacts, Timestamp, Volume, VolumeSource, Want,
    after,
};

/// Posts the Events of claims that no provisioner has taken up.
const CONTROLLER: &str = "persistentvolume-controller";

/// What a class has whose volumes are made by hand.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// Why a claim has no volume; what is surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trouble {
    ProvisioningFailed,
    NoClassNoPv,
    WaitingProvisioner,
}

impl Trouble {
    pub(super) const ALL: [Self; 3] = [Self::ProvisioningFailed, Self::NoClassNoPv, Self::WaitingProvisioner];

    pub(super) const fn cause(self) -> &'static str {
        match self {
            Self::ProvisioningFailed => "PvcProvisioningFailed",
            Self::NoClassNoPv => "PvcNoClassNoPv",
            Self::WaitingProvisioner => "PvcWaitingProvisioner",
        }
    }
}

/// A claim of the pod that says what is wrong with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'a> {
    trouble: Trouble,
    claim: &'a ClaimFacts,
    event: &'a EventFacts,
    classes: Option<&'a [ClassFacts]>,
}

/// What the pod's claims tell, where they were looked up.
pub(super) fn told<'a>(case: &Case<'a>) -> Option<Told<'a>> {
    let wait = Wait::of(case).filter(|wait| case.now >= wait.due)?;
    let claims = case.surroundings.claims.as_ref()?;
    let all = claims.unbound.iter().filter(|claim| !wait.is_for_chosen_node || waits_for_pod(claims, claim));
    // Of equal ones the first.
    all.filter_map(|claim| told_by(claims, claim)).min_by_key(|told| told.trouble)
}

/// Whether its volume is made only once the scheduler has chosen a node.
fn waits_for_pod(claims: &ClaimsFacts, claim: &ClaimFacts) -> bool {
    let class = claims.classes.iter().flat_map(|all| &**all).find(|c| claim.class == ClaimClass::Named(c.name.clone()));
    class.is_some_and(|class| class.waits_for_pod)
        || claim.events.iter().any(|e| matches!(&*e.reason, "WaitForFirstConsumer" | "WaitForPodScheduled"))
}

fn told_by<'a>(claims: &'a ClaimsFacts, claim: &'a ClaimFacts) -> Option<Told<'a>> {
    let classes = claims.classes.as_deref();
    let newest = |of: &dyn Fn(&EventFacts) -> bool| claim.events.iter().rev().find(|e| of(e));
    let of_controller = newest(&|e| &*e.reporter == CONTROLLER);
    let failed = newest(&|e| &*e.reason == "ProvisioningFailed").filter(|event| {
        // The controller has come further since. (A provisioner that fails is followed by Events that it is waited for.)
        let is_past = &*event.reporter == CONTROLLER && of_controller.is_some_and(|e| e.reason != event.reason);
        let has_come = missing_class(event).is_some_and(|name| classes.is_some_and(|all| has(all, name)));
        !is_past && !has_come
    });
    let (trouble, event) = match (failed, of_controller) {
        (Some(failed), _) => (Trouble::ProvisioningFailed, failed),
        (None, Some(e)) if &*e.reason == "FailedBinding" && e.message.contains("no storage class is set") => {
            (Trouble::NoClassNoPv, e)
        }
        (None, Some(e)) if &*e.reason == "ExternalProvisioning" => (Trouble::WaitingProvisioner, e),
        _ => return None,
    };
    // Where only Events are known, they may be those of a claim that has its volume.
    if newest(&|e| &*e.reason == "ProvisioningSucceeded").is_some_and(|done| done.last >= event.last) {
        return None;
    }
    Some(Told { trouble, claim, event, classes })
}

fn has(classes: &[ClassFacts], name: &str) -> bool {
    classes.iter().any(|class| *class.name == *name)
}

/// The class that an Event says does not exist: `storageclass.storage.k8s.io "fast" not found`.
fn missing_class(event: &EventFacts) -> Option<&str> {
    event.message.strip_prefix("storageclass.storage.k8s.io ").and_then(words::quoted)
}

/// A pod that waits for a volume, as far as the scheduler says.
struct Wait {
    /// From when on it takes too long.
    due: Timestamp,
    /// The scheduler has chosen a node and waits for a volume that is made for it. Until that is there, or given up after
    /// ten minutes, it says nothing.
    is_for_chosen_node: bool,
}

impl Wait {
    fn of(case: &Case<'_>) -> Option<Self> {
        let pod = case.pod;
        if !waits(case) || pod.claims().next().is_none() {
            return None;
        }
        if let Some(condition) = not_scheduled(case, "SchedulerError").filter(|c| c.message.contains("VolumeBinding")) {
            return Some(Self { due: error_due(case, &condition), is_for_chosen_node: false });
        }
        if pod.nominated_node.is_some() || silent(case) {
            let due = after(case.held_since(pod.created), case.thresholds.creating);
            return Some(Self { due, is_for_chosen_node: true });
        }
        let unbound =
            |c: &Condition| words::reasons(&c.message).iter().any(|r| r.kind == Some(words::Kind::PvcUnbound));
        let condition = not_scheduled(case, "Unschedulable").filter(|c| unbound(c))?;
        Some(Self { due: due(case, &condition), is_for_chosen_node: false })
    }
}

/// What to look up for a pod that waits for a volume.
pub(in crate::diagnosis) fn wants(case: &Case<'_>) -> Option<Want> {
    let due = Wait::of(case).map(|wait| wait.due).or_else(|| unfit_since(case))?;
    (case.now >= due).then(|| Want::Claims(case.pod.key.namespace.clone()))
}

/// Where no volume fits a claim, the claim tells of which class it should be.
fn unfit_since(case: &Case<'_>) -> Option<Timestamp> {
    let condition = not_scheduled(case, "Unschedulable")?;
    let is_unfit =
        |r: &words::Reason<'_>| matches!(r.kind, Some(words::Kind::NoMatchingPv | words::Kind::StorageCapacity));
    words::reasons(&condition.message).iter().any(is_unfit).then(|| due(case, &condition))
}

/// The pod's claims that have no volume, each with its class; all of its claims where that is not known.
pub(super) fn with_classes(case: &Case<'_>) -> String {
    let known = case.surroundings.claims.as_ref().filter(|claims| !claims.unbound.is_empty());
    let Some(claims) = known else { return names(case.language(), case.pod.claims()) };
    let each = claims.unbound.iter().map(|claim| {
        let ClaimClass::Named(name) = &claim.class else { return claim.name.to_string() };
        let class = claims.classes.iter().flat_map(|all| &**all).find(|class| class.name == *name);
        let by_hand = class.is_some_and(|class| &*class.provisioner == NO_PROVISIONER);
        let kind = if by_hand { phrase!(case, ", which makes none by itself") } else { "" };
        format!("{} (StorageClass {name}{kind})", claim.name)
    });
    let each: Vec<_> = each.collect();
    names(case.language(), each.iter().map(String::as_str))
}

/// What the pod's claims answer, and for which cause.
pub(super) fn answer(case: &Case<'_>) -> Option<(&'static str, Verdict)> {
    let wait = Wait::of(case)?;
    if case.now < wait.due {
        return Some((Trouble::ProvisioningFailed.cause(), Verdict::NotBefore(wait.due)));
    }
    let told = told(case)?;
    let condition = case.pod.condition("PodScheduled").map(evidence::condition);
    let finding = Finding::of_pod(told.summary(case.language())).with_all(told.evidence()).with_all(condition);
    Some((told.trouble.cause(), Verdict::Yes(Box::new(finding.rooted(Some(told.root()))))))
}

impl Told<'_> {
    fn class(&self) -> Option<&str> {
        match &self.claim.class {
            ClaimClass::Named(name) => Some(name),
            _ => words::quoted(self.event.message.split_once("StorageClass ")?.1),
        }
    }

    /// The class, where that is missing or its provisioner does not do its work; else the claim.
    fn root(&self) -> Root {
        let class = match self.trouble {
            Trouble::ProvisioningFailed if self.event.message.ends_with(NO_PROVISIONER) => None,
            Trouble::ProvisioningFailed => missing_class(self.event).or(self.class()),
            Trouble::WaitingProvisioner => self.class(),
            Trouble::NoClassNoPv => None,
        };
        match class {
            Some(class) => RootKind::StorageClass.named(class),
            None => RootKind::PersistentVolumeClaim.named(&self.claim.name),
        }
    }

    fn of_class(&self) -> String {
        self.class().map(|class| format!(" (StorageClass {class})")).unwrap_or_default()
    }

    fn provisioner(&self) -> Option<&str> {
        let message = &self.event.message;
        let class = self.class().and_then(|name| self.classes?.iter().find(|class| *class.name == *name));
        let said = (self.trouble == Trouble::WaitingProvisioner)
            .then(|| message.split('\'').nth(1).or_else(|| words::quoted(message)))
            .flatten();
        said.or(class.map(|class| &*class.provisioner))
    }

    /// A class that the missing one was most likely meant to be.
    fn meant(&self, missing: &str) -> Option<&str> {
        self.classes?.iter().map(|class| &*class.name).find(|name| alike(name, missing))
    }

    fn summary(&self, language: Language) -> String {
        let claim = &self.claim.name;
        match self.trouble {
            Trouble::ProvisioningFailed => self.failed(language),
            Trouble::NoClassNoPv => match self.claim.class {
                ClaimClass::Without => say!(
                    language,
                    "its claim {claim} asks for a volume without StorageClass (storageClassName: \"\"), and no such PersistentVolume is free and fits",
                    claim
                ),
                ClaimClass::Unset if self.classes == Some(&[]) => say!(
                    language,
                    "its claim {claim} names no StorageClass, the cluster has none at all, and no PersistentVolume fits it",
                    claim
                ),
                ClaimClass::Unset => say!(
                    language,
                    "its claim {claim} names no StorageClass, the cluster has no default one, and no PersistentVolume fits it",
                    claim
                ),
                _ => say!(language, "its claim {claim} has no StorageClass, and no PersistentVolume fits it", claim),
            },
            Trouble::WaitingProvisioner => {
                let provisioner = self.provisioner().unwrap_or(phrase!(language, "of its class"));
                // The provisioner itself says when it has taken the claim up.
                let begun = self.claim.events.iter().any(|e| &*e.reason == "Provisioning");
                let state = if begun {
                    phrase!(language, "has begun and not finished")
                } else {
                    phrase!(language, "has not answered: does it run?")
                };
                say!(
                    language,
                    "its claim {claim} waits for provisioner {provisioner}{of_class}, which {state}",
                    claim,
                    provisioner,
                    of_class = self.of_class(),
                    state
                )
            }
        }
    }

    fn failed(&self, language: Language) -> String {
        let claim = &self.claim.name;
        let said = &*self.event.message;
        if let Some(missing) = missing_class(self.event) {
            let there_is = match (self.meant(missing), self.classes) {
                (Some(meant), _) => say!(language, "; there is {meant} (misspelt?)", meant),
                (None, Some([])) => phrase!(language, "; the cluster has none at all").to_owned(),
                (None, Some(all)) => say!(
                    language,
                    "; there is {classes}",
                    classes = names(language, all.iter().map(|class| &*class.name))
                ),
                (None, None) => String::new(),
            };
            return say!(
                language,
                "its claim {claim} asks for StorageClass {missing}, which does not exist{there_is}",
                claim,
                missing,
                there_is
            );
        }
        match said.split_once("no volume plugin matched name: ") {
            Some((_, NO_PROVISIONER)) => say!(
                language,
                "no PersistentVolume fits its claim {claim}{of_class}, and that class makes none by itself",
                claim,
                of_class = self.of_class()
            ),
            Some((_, plugin)) => {
                say!(
                    language,
                    "its claim {claim}{of_class} needs provisioner {plugin}, which this cluster does not know",
                    claim,
                    of_class = self.of_class(),
                    plugin
                )
            }
            None => {
                say!(
                    language,
                    "no volume can be made for its claim {claim}{of_class}: {said}",
                    claim,
                    of_class = self.of_class(),
                    said = signature::innermost(said, 100)
                )
            }
        }
    }

    fn evidence(&self) -> Vec<Evidence> {
        let path = format!("persistentvolumeclaim/{}", self.claim.name);
        let event = self.event;
        let said = evidence::field_at(format!("{path}.events[{}]", event.reason), &event.message, event.last);
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
        [Some(said), class, offered].into_iter().flatten().collect()
    }
}

/// What the claims of a pod say that is none of the troubles: for the evidence of PvcUnboundImmediate.
pub(super) fn other_evidence(case: &Case<'_>) -> Vec<Evidence> {
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

pub(super) fn only_unbound(case: &Case<'_>) -> Option<Root> {
    unbound(case).map(|claim| RootKind::PersistentVolumeClaim.named(&claim.name))
}

/// The StorageClass of that claim.
pub(super) fn only_class<'a>(case: &Case<'a>) -> Option<&'a str> {
    match &unbound(case)?.class {
        ClaimClass::Named(name) => Some(name),
        _ => None,
    }
}

/// A claim of the pod that asks for one volume by its name: claim and volume.
pub(super) fn asks_by_name<'a>(case: &Case<'a>) -> Option<(&'a str, &'a str)> {
    let claims = case.surroundings.claims.as_ref()?;
    claims.unbound.iter().find_map(|claim| Some((&*claim.name, claim.volume.as_deref()?)))
}

pub(super) fn remedies(case: &Case<'_>) -> Vec<Remedy> {
    let Some(told) = told(case) else { return Vec::new() };
    match told.trouble {
        Trouble::ProvisioningFailed => match missing_class(told.event) {
            Some(missing) => told.class_missing(case, missing),
            None => told.provisioner_failed(case),
        },
        Trouble::NoClassNoPv => told.no_class(case),
        Trouble::WaitingProvisioner => told.waiting(case),
    }
}

const SEE_CLASSES: &str = "kubectl get storageclass";

impl Told<'_> {
    fn describe(&self, case: &Case<'_>) -> String {
        format!("kubectl -n {} describe pvc {}", case.pod.key.namespace, shell_word(&self.claim.name))
    }

    /// The class of a claim that names one is for good, but a claim without a volume holds no data: it can be replaced.
    fn replaced(&self, case: &Case<'_>, new: &str) -> Remedy {
        let (namespace, claim) = (&case.pod.key.namespace, &self.claim.name);
        let of_pod =
            |v: &&Volume| matches!(&v.source, VolumeSource::Claim { name, ephemeral: true } if **name == **claim);
        if let Some(volume) = case.pod.volumes.iter().find(of_pod) {
            return remedy::fix(say!(
                case,
                "Set storageClassName: {new} in the ephemeral volume {volume} of {target}: the claim is made from it.",
                new,
                volume = volume.name,
                target = target::of(case).display()
            ));
        }
        let fix = remedy::fix(say!(
            case,
            "Replace claim {claim} by one of class {new}: its class cannot be changed, and it holds no data yet.",
            claim,
            new
        ));
        // From the claim itself: an Event may hold any words, and this goes into a script.
        let old = match &self.claim.class {
            ClaimClass::Named(name) => name.replace('.', "\\."),
            ClaimClass::Without => "\"\"".to_owned(),
            ClaimClass::Unset | ClaimClass::Unknown => return fix,
        };
        remedy::command(
            fix,
            format!(
                "kubectl -n {namespace} get pvc {} -o yaml | sed {} | kubectl replace --force -f -",
                shell_word(claim),
                shell_word(&format!("s/storageClassName: {old}$/storageClassName: {new}/"))
            ),
        )
    }

    /// A class that the claim should rather have: the default, or the only one whose provisioner is another.
    fn best_class(&self) -> Option<&str> {
        let own = self.provisioner();
        let of_use = |class: &&ClassFacts| &*class.provisioner != NO_PROVISIONER && own != Some(&*class.provisioner);
        let others = || self.classes.into_iter().flatten().filter(of_use);
        let only = others().next().filter(|_| others().count() == 1);
        others().find(|class| class.is_default).or(only).map(|class| &*class.name)
    }

    fn class_missing(&self, case: &Case<'_>, missing: &str) -> Vec<Remedy> {
        let create = remedy::command(
            remedy::fix(say!(
                case,
                "Create a StorageClass named {missing} (its provisioner then makes the volume), or, where volumes are made by hand, a PersistentVolume of that class with the size and access mode of the claim: none that is there fits.",
                missing
            )),
            SEE_CLASSES,
        );
        let other = self.meant(missing).or_else(|| self.best_class()).map(|new| self.replaced(case, new));
        let mut found = match (other, self.meant(missing)) {
            (Some(other), Some(_)) => vec![other, create],
            (other, _) => [Some(create), other].into_iter().flatten().collect(),
        };
        let target = target::of(case);
        let is_of_template = self.claim.name.ends_with(&format!("-{}", case.pod.key.name));
        if &*target.kind == "StatefulSet" && is_of_template {
            found.push(remedy::fix(say!(case, "Correct storageClassName in the volumeClaimTemplates of {target} as well (delete it with --cascade=orphan and apply it anew: they cannot be changed).", target = target.display())));
        }
        found
    }

    fn provisioner_failed(&self, case: &Case<'_>) -> Vec<Remedy> {
        let class = self.class().map(shell_word);
        if self.event.message.contains("no volume plugin matched name: ") {
            let class = class.unwrap_or(Cow::Borrowed("CLASS"));
            return vec![
                remedy::command(
                    remedy::fix(phrase!(
                        case,
                        "Create a PersistentVolume of that class which has the claim's size and access mode."
                    )),
                    "kubectl get pv",
                ),
                remedy::command(
                    remedy::fix(phrase!(case, "Or use a class whose provisioner runs in this cluster.")),
                    format!("{SEE_CLASSES} {class} -o yaml"),
                ),
            ];
        }
        let mut found = vec![remedy::command(
            remedy::fix(phrase!(
                case,
                "Mend what the provisioner says; it tries again by itself. All its words are in the claim's Events."
            )),
            self.describe(case),
        )];
        if let Some(class) = class {
            found.push(remedy::command(
                remedy::fix(phrase!(
                    case,
                    "Check the parameters of the StorageClass (a class cannot be changed: make another one)."
                )),
                format!("{SEE_CLASSES} {class} -o yaml"),
            ));
        }
        // `DRIVER_POD_UUID` is what the external provisioner calls itself.
        if let Some(pod) = self.event.reporter.split('_').nth(1) {
            found.push(remedy::command(
                remedy::fix(say!(case, "Read the log of the provisioner, pod {pod}.", pod)),
                format!("kubectl get pods -A --field-selector=metadata.name={}", shell_word(pod)),
            ));
        }
        found
    }

    /// What helps where there is no class to give.
    fn first_class(&self, case: &Case<'_>) -> Remedy {
        let text = say!(
            case,
            "Install what makes volumes in this cluster (a CSI driver, a local provisioner), with a StorageClass that is marked as the default: claim {claim} takes it by itself.",
            claim = self.claim.name
        );
        remedy::command(remedy::fix(text), SEE_CLASSES)
    }

    fn no_class(&self, case: &Case<'_>) -> Vec<Remedy> {
        let (namespace, claim) = (&case.pod.key.namespace, shell_word(&self.claim.name));
        let class = self.best_class();
        let create = remedy::command(
            remedy::fix(phrase!(
                case,
                "Or create a PersistentVolume without class which has the claim's size and access mode."
            )),
            "kubectl get pv",
        );
        if matches!(self.claim.class, ClaimClass::Unset) && self.classes == Some(&[]) {
            return vec![self.first_class(case), create];
        }
        let give = match (&self.claim.class, class) {
            (ClaimClass::Without, Some(class)) => self.replaced(case, class),
            (ClaimClass::Without, None) => remedy::command(
                remedy::fix(phrase!(case, "Replace the claim by one that names a StorageClass.")),
                SEE_CLASSES,
            ),
            (_, Some(class)) => {
                let body = serde_json::json!({"spec": {"storageClassName": class}}).to_string();
                remedy::command(
                    remedy::fix(say!(
                        case,
                        "Give claim {claim} the StorageClass {class}.",
                        claim = self.claim.name,
                        class
                    )),
                    format!("kubectl -n {namespace} patch pvc {claim} --type=merge -p {}", shell_word(&body)),
                )
            }
            (_, None) => remedy::command(
                remedy::fix(say!(
                    case,
                    "Give claim {claim} one of the cluster's StorageClasses.",
                    claim = self.claim.name
                )),
                SEE_CLASSES,
            ),
        };
        let default = matches!(self.claim.class, ClaimClass::Unset).then(|| match class {
            Some(class) => remedy::command(
                remedy::fix(say!(case, "Or make {class} the default; every claim without a class then gets it.", class)),
                format!(
                    "kubectl annotate storageclass {} storageclass.kubernetes.io/is-default-class=true",
                    shell_word(class)
                ),
            ),
            None => remedy::fix(
                phrase!(case, "Or mark a StorageClass as the default (annotation storageclass.kubernetes.io/is-default-class); every claim without a class then gets it."),
            ),
        });
        [Some(give), default, Some(create)].into_iter().flatten().collect()
    }

    fn waiting(&self, case: &Case<'_>) -> Vec<Remedy> {
        let provisioner = self.provisioner().unwrap_or(phrase!(case, "of the class"));
        let mut found = vec![
            remedy::command(
                remedy::fix(say!(
                    case,
                    "Install or start the provisioner {provisioner} (its controller, with the csi-provisioner sidecar), and read its log.",
                    provisioner
                )),
                "kubectl get csidrivers; kubectl get pods -A | grep -i csi",
            ),
            remedy::command(
                remedy::fix(phrase!(case, "See in the claim's Events whether it has been taken up.")),
                self.describe(case),
            ),
        ];
        found.extend(self.best_class().map(|other| self.replaced(case, other)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::Scenario;

    /// A pod that waits for its claim `data`, of which this is known.
    fn told(class: ClaimClass, reason: &str, message: &str, classes: &[(&str, &str, bool)]) -> Vec<Remedy> {
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
        let claim = ClaimFacts { name: "data".into(), class, volume: None, events };
        scenario.surroundings[0].claims = Some(ClaimsFacts { unbound: vec![claim], classes: Some(classes.collect()) });
        remedies(&scenario.case())
    }

    fn commands(remedies: &[Remedy]) -> Vec<&str> {
        remedies.iter().filter_map(|r| r.command.as_deref()).collect()
    }

    #[test]
    fn the_words_of_an_event_never_get_into_a_script() {
        let message = "storageclass.storage.k8s.io \"x/;e id #\" not found";
        let classes = [("fast", "csi.example.com", true)];
        let found = told(ClaimClass::Unknown, "ProvisioningFailed", message, &classes);
        assert!(commands(&found).iter().all(|c| !c.contains("sed")), "{found:?}");
        let found = told(ClaimClass::Named("x".into()), "ProvisioningFailed", message, &classes);
        assert!(
            commands(&found).iter().any(|c| c.contains("'s/storageClassName: x$/storageClassName: fast/'")),
            "{found:?}"
        );
    }

    #[test]
    fn the_class_to_take_is_the_default_or_the_only_one_that_makes_volumes() {
        let none = "no persistent volumes available for this claim and no storage class is set";
        let given = |classes: &[(&str, &str, bool)]| {
            commands(&told(ClaimClass::Unset, "FailedBinding", none, classes))[0].to_owned()
        };
        let by_hand = ("local", NO_PROVISIONER, false);
        assert!(given(&[by_hand, ("a", "x", false), ("b", "x", true)]).contains("{\"storageClassName\":\"b\"}"));
        assert!(given(&[by_hand, ("a", "x", false)]).contains("{\"storageClassName\":\"a\"}"));
        assert_eq!(given(&[by_hand]), SEE_CLASSES);
        assert_eq!(given(&[("a", "x", false), ("b", "y", false)]), SEE_CLASSES, "which one is for people to say");
    }

    #[test]
    fn a_class_of_the_provisioner_that_does_not_answer_is_no_way_out() {
        let message = "Waiting for a volume to be created either by the external provisioner 'x' or manually";
        let named = || ClaimClass::Named("a".into());
        let all = [("a", "x", false), ("b", "x", true), ("c", "y", false)];
        let found = told(named(), "ExternalProvisioning", message, &all);
        assert!(found.iter().any(|r| r.text.starts_with("Replace claim data by one of class c")), "{found:?}");
        let found = told(named(), "ExternalProvisioning", message, &all[..2]);
        assert!(found.iter().all(|r| !r.text.starts_with("Replace")), "{found:?}");
    }
}
