//! Objects of which only the names matter, and the keys in them. Values are dropped as they are read.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::lenient::Dict;
use super::meta;
use crate::facts::{NamedKind, NamesOf};

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NamedObject {
    #[serde(deserialize_with = "meta::slim")]
    metadata: ObjectMeta,
    data: Dict,
    binary_data: Dict,
    string_data: Dict,
}

impl NamedObject {
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// The place of its name, and that of its keys.
    pub(super) fn places(&self, kind: NamedKind) -> (NamesOf, NamesOf) {
        let namespace = meta::namespace(&self.metadata);
        (NamesOf::objects(kind, namespace), NamesOf::keys(kind, namespace, self.name()))
    }

    /// The keys of a ConfigMap or Secret.
    pub fn into_keys(self) -> impl Iterator<Item = Arc<str>> {
        let all = [self.data, self.binary_data, self.string_data];
        all.into_iter().flat_map(|data| data.0.into_keys()).map(Arc::from)
    }
}
