//! PersistentVolumeClaims and StorageClasses.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::lenient::{Name, Obj, Text};
use super::meta;
use crate::facts::route::{NetworkKind, VolumeClaimFacts};
use crate::facts::{ClaimClass, ClaimFacts, ClassFacts, EventFacts, parse_bytes};

/// Reasons of Events about binding and provisioning. The other Events of a claim are noise.
const RELEVANT_REASONS: [&str; 8] = [
    "ProvisioningFailed",
    "ProvisioningSucceeded",
    "FailedBinding",
    "ExternalProvisioning",
    "Provisioning",
    "WaitForFirstConsumer",
    "WaitForPodScheduled",
    "VolumeMismatch",
];
/// Maximum number of Events kept of a claim.
const EVENTS: usize = 8;

#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = k8s_openapi::api::core::v1::PersistentVolumeClaim)]
#[serde(default)]
pub struct PersistentVolumeClaim {
    #[serde(deserialize_with = "meta::slim")]
    pub metadata: ObjectMeta,
    spec: Obj<Spec>,
    status: Obj<Status>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    /// The empty name differs from no name.
    storage_class_name: Option<Name>,
    volume_name: Name,
    resources: Obj<Resources>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Resources {
    requests: Obj<Requests>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Requests {
    storage: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Status {
    phase: Text,
}

#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = k8s_openapi::api::storage::v1::StorageClass)]
#[serde(default, rename_all = "camelCase")]
pub struct StorageClass {
    #[serde(deserialize_with = "meta::slim")]
    pub metadata: ObjectMeta,
    provisioner: Text,
    volume_binding_mode: Text,
}

impl PersistentVolumeClaim {
    pub fn is_bound(&self) -> bool {
        self.status.0.as_ref().is_some_and(|status| &*status.phase == "Bound")
    }

    pub fn namespace(&self) -> &str {
        meta::namespace(&self.metadata)
    }

    fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    fn class(&self) -> ClaimClass {
        let of_old = self.metadata.annotations.as_ref().and_then(|all| all.get(meta::CLASS)).map(String::as_str);
        let named = self.spec.0.as_ref().and_then(|spec| spec.storage_class_name.as_deref());
        match of_old.or(named) {
            None => ClaimClass::Unset,
            Some("") => ClaimClass::Without,
            Some(name) => ClaimClass::Named(Arc::from(name)),
        }
    }

    fn size(&self) -> Option<i64> {
        let spec = self.spec.0.as_ref()?;
        parse_bytes(&spec.resources.0.as_ref()?.requests.0.as_ref()?.storage)
    }

    /// The claim as far as it matters whether a pod uses it.
    pub fn stored(&self) -> VolumeClaimFacts {
        let class = match self.class() {
            ClaimClass::Named(name) => name.to_string(),
            ClaimClass::Unset | ClaimClass::Without | ClaimClass::Unknown => String::new(),
        };
        let spec = self.spec.0.as_ref().and_then(|spec| spec.resources.0.as_ref());
        let size = spec.and_then(|of| of.requests.0.as_ref()).map(|of| of.storage.0.clone()).unwrap_or_default();
        let identity = super::route::identity(&self.metadata, NetworkKind::PersistentVolumeClaim);
        VolumeClaimFacts { identity, is_bound: self.is_bound(), size, class }
    }

    fn facts(&self, events: &[EventFacts]) -> ClaimFacts {
        let uid = self.metadata.uid.as_deref().unwrap_or_default();
        // A deleted claim with the same name can have left Events.
        let own = |e: &&EventFacts| {
            &*e.regarding.name == self.name()
                && (uid.is_empty() || e.regarding.uid.is_empty() || *e.regarding.uid == *uid)
        };
        let volume = self.spec.0.as_ref().map(|spec| &*spec.volume_name).filter(|name| !name.is_empty());
        ClaimFacts {
            name: Arc::from(self.name()),
            class: self.class(),
            volume: volume.map(Arc::from),
            size: self.size(),
            events: newest(events.iter().filter(own)),
        }
    }
}

impl StorageClass {
    pub fn facts(&self) -> ClassFacts {
        let annotations = self.metadata.annotations.as_ref();
        let is_set = |key: &str| annotations.and_then(|all| all.get(key)).is_some_and(|value| value == "true");
        ClassFacts {
            name: Arc::from(self.metadata.name.as_deref().unwrap_or_default()),
            provisioner: Arc::from(&*self.provisioner),
            is_default: meta::DEFAULT_CLASS.into_iter().any(is_set),
            waits_for_pod: &*self.volume_binding_mode == "WaitForFirstConsumer",
        }
    }
}

fn newest<'e>(events: impl Iterator<Item = &'e EventFacts>) -> Vec<EventFacts> {
    let mut kept: Vec<_> = events.cloned().collect();
    kept.sort_by_key(|e| e.last);
    kept.drain(..kept.len().saturating_sub(EVENTS));
    kept
}

/// The unbound claims of one namespace. If no claims are given (a dump of pods and Events), they are derived from their
/// Events.
pub fn unbound_claims(namespace: &str, claims: &[PersistentVolumeClaim], events: &[EventFacts]) -> Vec<ClaimFacts> {
    let explains = |e: &&EventFacts| {
        &*e.regarding.kind == "PersistentVolumeClaim"
            && &*e.regarding.namespace == namespace
            && RELEVANT_REASONS.contains(&&*e.reason)
    };
    let events: Vec<EventFacts> = events.iter().filter(explains).cloned().collect();
    let mut own = claims.iter().filter(|claim| claim.namespace() == namespace).peekable();
    if own.peek().is_some() {
        return own.filter(|claim| !claim.is_bound()).map(|claim| claim.facts(&events)).collect();
    }
    let names: BTreeSet<&Arc<str>> = events.iter().map(|e| &e.regarding.name).collect();
    let from_events = names.into_iter().map(|name| ClaimFacts {
        name: name.clone(),
        class: ClaimClass::Unknown,
        volume: None,
        size: None,
        events: newest(events.iter().filter(|e| e.regarding.name == *name)),
    });
    from_events.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Event, Interner};

    fn event(json: &str) -> EventFacts {
        serde_json::from_str::<Event>(json).unwrap().into_facts(&mut Interner::default())
    }

    fn claims(json: &str) -> Vec<PersistentVolumeClaim> {
        serde_json::from_str(json).unwrap()
    }

    const FAILED: &str = r#"{"involvedObject": {"kind": "PersistentVolumeClaim", "namespace": "n", "name": "data", "uid": "old"},
        "reason": "ProvisioningFailed", "message": "no", "lastTimestamp": "2026-11-21T09:00:00Z"}"#;

    #[test]
    fn only_unbound_claims_are_kept_with_their_own_events() {
        let all = claims(
            r#"[{"metadata": {"name": "data", "namespace": "n", "uid": "new"}, "status": {"phase": "Pending"}},
                {"metadata": {"name": "bound", "namespace": "n"}, "status": {"phase": "Bound"}},
                {"metadata": {"name": "data", "namespace": "other"}, "status": {"phase": "Pending"}}]"#,
        );
        let found = unbound_claims("n", &all, &[event(FAILED)]);
        assert_eq!(found.len(), 1);
        assert_eq!(&*found[0].name, "data");
        assert!(found[0].events.is_empty(), "the Event is of a claim that was deleted");
        assert_eq!(
            unbound_claims("n", &[], &[event(FAILED)])[0].events.len(),
            1,
            "without a claim, the Event is the source"
        );
        assert!(unbound_claims("other", &[], &[event(FAILED)]).is_empty());
    }

    #[test]
    fn missing_class_differs_from_the_empty_class() {
        let all = claims(
            r#"[{"metadata": {"name": "a"}, "spec": {"storageClassName": null}}, {"metadata": {"name": "b"}, "spec": {"storageClassName": ""}},
                {"metadata": {"name": "c"}, "spec": {"storageClassName": "fast", "volumeName": "pv1"}}, {"metadata": {"name": "d"}, "spec": 4},
                {"metadata": {"name": "e", "annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}}]"#,
        );
        let found = unbound_claims("default", &all, &[]);
        let classes: Vec<_> = found.iter().map(|c| c.class.clone()).collect();
        assert_eq!(
            classes,
            [
                ClaimClass::Unset,
                ClaimClass::Without,
                ClaimClass::Named("fast".into()),
                ClaimClass::Unset,
                ClaimClass::Named("old".into())
            ]
        );
        assert_eq!(found[2].volume.as_deref(), Some("pv1"));
        let class: StorageClass = serde_json::from_str(
            r#"{"metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}, "provisioner": "x", "volumeBindingMode": "Immediate"}"#,
        )
        .unwrap();
        let facts = ClassFacts { name: "fast".into(), provisioner: "x".into(), is_default: true, waits_for_pod: false };
        assert_eq!(class.facts(), facts);
    }
}
