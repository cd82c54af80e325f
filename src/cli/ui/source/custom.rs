//! The custom resources of `--kinds`.

use std::time::Duration;

use kube::Client;
use shindan_core::facts::CustomKind;

use crate::cluster::discovery::{self, ResourceType};

/// The kinds of `--kinds`, and their types as far as they are installed.
#[derive(Debug, Default)]
pub(super) struct CustomKinds {
    /// Kinds that were not found yet. They are searched at each read.
    missing: Vec<CustomKind>,
    found: Vec<ResourceType>,
    /// Why the types could not be read.
    trouble: Option<String>,
}

impl CustomKinds {
    pub(super) fn of(kinds: &[CustomKind]) -> Self {
        Self { missing: kinds.to_vec(), ..Self::default() }
    }

    /// The installed types.
    pub(super) async fn types(&mut self, client: &Client, limit: Duration) -> Vec<ResourceType> {
        if !self.missing.is_empty() {
            match discovery::types(client, limit).await {
                Ok(types) => {
                    self.trouble = None;
                    self.missing.retain(|kind| match types.of_plural(kind.group(), kind.plural()) {
                        Some(of) => {
                            self.found.push(of.clone());
                            false
                        }
                        None => true,
                    });
                }
                Err(failure) => self.trouble = Some(failure.to_string()),
            }
        }
        self.found.clone()
    }

    /// A note for each kind that is not shown.
    pub(super) fn notes(&self) -> Vec<String> {
        if let Some(trouble) = &self.trouble {
            return vec![format!("the custom resources of --kinds are not shown: {trouble}")];
        }
        self.missing.iter().map(|kind| format!("{kind} is not installed")).collect()
    }
}
