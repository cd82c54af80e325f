//! `DiagnosisRule` objects. One that is nested too deep must not fail the list of all.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeSeed;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::dynamic::HasMetadata;
use super::meta;
use super::part::Part;

/// Most levels of lists and maps in the spec of a rule.
pub const RULE_DEPTH: usize = 64;

/// A rule, with one level more than it may have: the check of its spec reports that.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct WireRule {
    #[serde(deserialize_with = "meta::slim")]
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "tree")]
    pub spec: Value,
    #[serde(deserialize_with = "tree")]
    pub status: Value,
}

fn tree<'de, D: Deserializer<'de>>(d: D) -> Result<Value, D::Error> {
    Part(RULE_DEPTH + 1).deserialize(d)
}

impl HasMetadata for WireRule {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
