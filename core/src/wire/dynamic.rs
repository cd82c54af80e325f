//! Objects of kinds whose served version is known only when the operator runs.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ApiResource, DynamicResourceScope};
use serde::Deserialize;

/// A wire form with metadata.
pub trait HasMetadata {
    fn metadata(&self) -> &ObjectMeta;
    fn metadata_mut(&mut self) -> &mut ObjectMeta;
}

/// An object whose resource is found by discovery.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct Dynamic<W>(pub W);

impl<W: HasMetadata> kube::Resource for Dynamic<W> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(of: &ApiResource) -> Cow<'_, str> {
        of.kind.as_str().into()
    }

    fn group(of: &ApiResource) -> Cow<'_, str> {
        of.group.as_str().into()
    }

    fn version(of: &ApiResource) -> Cow<'_, str> {
        of.version.as_str().into()
    }

    fn plural(of: &ApiResource) -> Cow<'_, str> {
        of.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.metadata()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.metadata_mut()
    }
}
