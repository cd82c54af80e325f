//! Slim `metadata`: an `ObjectMeta` with only the fields that are used.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    ManagedFieldsEntry, ObjectMeta, OwnerReference, Time as MetaTime,
};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::Interner;
use super::lenient::{Dict, Flag, Int, List, Name, Nothing, Obj, Text, Texts, Time};
use crate::facts::{
    ARGO_CD_TRACKING, Carried, Condition, DIAGNOSIS, HELM_RELEASE, IGNORE, MACHINE_CONFIG, MACHINE_CONFIG_REASON,
    Manager, NEVER_READY_AFTER, ObjectKey, Overrides, Owner, Timestamp,
};

/// Annotation of mirror pods, which a kubelet creates for its static pods.
pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";
/// Deprecated annotation for the class of a claim. It still takes precedence over `spec.storageClassName`.
pub(super) const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// Annotation of the default StorageClass, and its deprecated name.
pub(super) const DEFAULT_CLASS: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
/// Deprecated annotation for the class of an Ingress.
pub(super) const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";
/// Annotation of the default IngressClass.
pub(super) const DEFAULT_INGRESS_CLASS: &str = "ingressclass.kubernetes.io/is-default-class";
/// Annotations that ask cert-manager for the certificates of an Ingress.
pub(super) const CERTIFICATES: [&str; 3] =
    ["cert-manager.io/issuer", "cert-manager.io/cluster-issuer", "kubernetes.io/tls-acme"];
/// Annotation with the revision of a ReplicaSet, and of a Deployment the newest one.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
/// Annotation with the revisions that a ReplicaSet had before it was rolled back to, oldest first: `2,5`.
pub(super) const FORMER_REVISIONS: &str = "deployment.kubernetes.io/revision-history";

/// `M` are the `managedFields`, which are as large as the rest of the object.
#[derive(Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Meta<M: Default> {
    name: Name,
    namespace: Name,
    uid: Text,
    resource_version: Text,
    creation_timestamp: Time,
    generation: Int,
    deletion_timestamp: Time,
    deletion_grace_period_seconds: Int,
    labels: Dict,
    annotations: Kept,
    finalizers: Texts,
    owner_references: List<OwnerRef>,
    managed_fields: M,
}

/// An entry of `managedFields` of a Node.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Managed {
    manager: Text,
    time: Time,
    fields_v1: Obj<ManagedFields>,
}

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
struct ManagedFields {
    #[serde(rename = "f:spec")]
    spec: Obj<ManagedSpec>,
}

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
struct ManagedSpec {
    #[serde(rename = "f:unschedulable")]
    unschedulable: Obj<Nothing>,
}

impl Managed {
    /// The entry, if its manager cordoned the node.
    fn of_cordon(self) -> Option<ManagedFieldsEntry> {
        let fields = self.fields_v1.or_default().spec.or_default();
        fields.unschedulable.0.map(|_| ManagedFieldsEntry {
            manager: self.manager.non_empty(),
            time: self.time.real().map(MetaTime),
            ..ManagedFieldsEntry::default()
        })
    }
}

#[derive(Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OwnerRef {
    api_version: Text,
    kind: Name,
    name: Name,
    uid: Text,
    controller: Flag,
}

/// The annotations that are read. The others can be as large as the rest of the object.
#[derive(Default)]
struct Kept(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Default)]
        struct Entries(BTreeMap<String, String>);
        impl<'de> Deserialize<'de> for Entries {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                struct V;
                impl<'de> Visitor<'de> for V {
                    type Value = Entries;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a map")
                    }
                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                        let mut out = BTreeMap::new();
                        while let Some(key) = map.next_key::<Key>()? {
                            match key {
                                Key::Kept(key) => {
                                    out.insert(key.to_owned(), map.next_value::<Text>()?.0);
                                }
                                Key::Other => {
                                    map.next_value::<IgnoredAny>()?;
                                }
                            }
                        }
                        Ok(Entries(out))
                    }
                }
                d.deserialize_map(V)
            }
        }
        Ok(Self(Obj::<Entries>::deserialize(d)?.or_default().0))
    }
}

enum Key {
    Kept(&'static str),
    Other,
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Key;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a key")
            }
            fn visit_str<E>(self, key: &str) -> Result<Key, E> {
                let own = [IGNORE, NEVER_READY_AFTER, DIAGNOSIS, HELM_RELEASE, ARGO_CD_TRACKING];
                let read = [
                    MIRROR,
                    REVISION,
                    FORMER_REVISIONS,
                    CLASS,
                    MACHINE_CONFIG,
                    MACHINE_CONFIG_REASON,
                    INGRESS_CLASS,
                    DEFAULT_INGRESS_CLASS,
                ];
                let mut kept = read.into_iter().chain(DEFAULT_CLASS).chain(CERTIFICATES).chain(own);
                Ok(kept.find(|kept| *kept == key).map_or(Key::Other, Key::Kept))
            }
        }
        d.deserialize_str(V)
    }
}

/// The overrides of the owner.
pub(super) fn overrides(meta: &ObjectMeta) -> Option<Box<Overrides>> {
    let annotations = meta.annotations.as_ref()?;
    Overrides::of(|name| annotations.get(name).map(String::as_str))
}

/// The tool that manages the object.
pub(super) fn manager(meta: &ObjectMeta) -> Option<Box<Manager>> {
    fn get<'a>(pairs: Option<&'a BTreeMap<String, String>>, key: &str) -> Option<&'a str> {
        pairs?.get(key).map(String::as_str)
    }
    Manager::of(|key| get(meta.labels.as_ref(), key), |key| get(meta.annotations.as_ref(), key)).map(Box::new)
}

/// The diagnosis annotation of the operator.
pub(super) fn carried(meta: &ObjectMeta) -> Option<Carried> {
    meta.annotations.as_ref()?.get(DIAGNOSIS).map(|text| Carried::of(text))
}

/// For `#[serde(deserialize_with)]` on `metadata`.
pub(super) fn slim<'de, D: Deserializer<'de>>(d: D) -> Result<ObjectMeta, D::Error> {
    Ok(Obj::<Meta<IgnoredAny>>::deserialize(d)?.or_default().into_object_meta().0)
}

/// Like [`slim`], with the entry of `managedFields` for `spec.unschedulable`.
pub(super) fn slim_with_cordon<'de, D: Deserializer<'de>>(d: D) -> Result<ObjectMeta, D::Error> {
    let (meta, managed) = Obj::<Meta<List<Managed>>>::deserialize(d)?.or_default().into_object_meta();
    let cordons: Vec<_> = managed.into_iter().filter_map(Managed::of_cordon).collect();
    Ok(ObjectMeta { managed_fields: Some(cordons).filter(|l| !l.is_empty()), ..meta })
}

impl<M: Default> Meta<M> {
    fn into_object_meta(self) -> (ObjectMeta, M) {
        let owners = self.owner_references.into_iter().map(|o| OwnerReference {
            api_version: o.api_version.0,
            kind: o.kind.0,
            name: o.name.0,
            uid: o.uid.0,
            controller: o.controller.0,
            block_owner_deletion: None,
        });
        let owners: Vec<_> = owners.collect();
        let managed = self.managed_fields;
        let meta = ObjectMeta {
            name: self.name.non_empty(),
            namespace: self.namespace.non_empty(),
            uid: self.uid.non_empty(),
            resource_version: self.resource_version.non_empty(),
            creation_timestamp: self.creation_timestamp.real().map(MetaTime),
            generation: self.generation.0,
            deletion_timestamp: self.deletion_timestamp.real().map(MetaTime),
            deletion_grace_period_seconds: self.deletion_grace_period_seconds.0,
            labels: Some(self.labels.0).filter(|m| !m.is_empty()),
            annotations: Some(self.annotations.0).filter(|m| !m.is_empty()),
            finalizers: Some(self.finalizers.0).filter(|l| !l.is_empty()),
            owner_references: Some(owners).filter(|l| !l.is_empty()),
            ..ObjectMeta::default()
        };
        (meta, managed)
    }
}

/// Namespace and name of a namespaced object. Without a namespace it is `default`.
pub(super) fn key(meta: &ObjectMeta, strings: &mut Interner) -> ObjectKey {
    ObjectKey { namespace: strings.intern(namespace(meta)), name: Arc::from(meta.name.as_deref().unwrap_or_default()) }
}

pub(super) fn namespace(meta: &ObjectMeta) -> &str {
    meta.namespace.as_deref().unwrap_or("default")
}

/// The UID, or one derived from the key for a manifest that was never in a cluster.
pub(super) fn uid(meta: &ObjectMeta) -> Arc<str> {
    match &meta.uid {
        Some(uid) => Arc::from(uid.as_str()),
        None => Arc::from(format!("{}/{}", namespace(meta), meta.name.as_deref().unwrap_or_default())),
    }
}

pub(super) fn created(meta: &ObjectMeta) -> Option<Timestamp> {
    meta.creation_timestamp.as_ref().map(|t| t.0)
}

/// The controller among the owner references.
pub(super) fn controller(meta: &ObjectMeta, strings: &mut Interner) -> Option<Owner> {
    let owner = meta.owner_references.iter().flatten().find(|o| o.controller == Some(true))?;
    Some(Owner {
        api_version: strings.intern(&owner.api_version),
        kind: strings.intern(&owner.kind),
        name: strings.intern(&owner.name),
        uid: strings.intern(&owner.uid),
    })
}

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WireCondition {
    r#type: Text,
    status: Text,
    reason: Text,
    message: Text,
    last_transition_time: Time,
    observed_generation: Int,
}

impl WireCondition {
    /// The generation that it is about, if its kind has that.
    pub(super) fn observed_generation(&self) -> Option<i64> {
        self.observed_generation.0
    }
}

impl From<WireCondition> for Condition {
    fn from(c: WireCondition) -> Self {
        Self {
            kind: c.r#type.0,
            status: c.status.0,
            reason: c.reason.0,
            message: c.message.0,
            last_transition: c.last_transition_time.real(),
        }
    }
}
