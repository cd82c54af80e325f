//! Lists custom resources for a snapshot.

use std::sync::Arc;

use serde_json::value::RawValue;
use shindan_core::facts::{CustomKind, FieldPaths};
use shindan_core::rules::catalog;
use shindan_core::wire::{CustomResource, Dump, Problem, keeping};

use super::{Failure, Lacking, Lister, Snapshot, Type};
use crate::cluster::discovery::ResourceType;

/// The types of custom resources to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct CustomTypes<'a> {
    pub requested: &'a [ResourceType],
    /// Types whose objects may be controlled by requested ones. Without them, the diagnosis is less exact.
    pub parts: &'a [ResourceType],
}

impl Lister<'_> {
    /// Lists the custom resources. A type that was removed has no objects.
    pub(super) async fn custom(&self, namespace: Option<&str>, snapshot: &mut Snapshot) -> Result<(), Failure> {
        for of in self.custom.requested {
            let without = "its objects are not diagnosed";
            self.custom_type(of, namespace, without, snapshot).await?;
        }
        let is_new = |of: &&ResourceType| !self.custom.requested.contains(of);
        let known = snapshot.lacking.len();
        for of in self.custom.parts.iter().filter(is_new) {
            self.custom_type(of, namespace, "", snapshot).await?;
        }
        // One line for all of them.
        let mut refused = snapshot.lacking.split_off(known.min(snapshot.lacking.len())).into_iter();
        if let Some(first) = refused.next() {
            let names: Vec<_> = std::iter::once(first.what).chain(refused.map(|lacking| lacking.what)).collect();
            let without = "causes in the objects that a custom resource controls are missing";
            snapshot.lacking.push(Lacking { what: names.join(", ").into(), without, refusal: first.refusal });
        }
        Ok(())
    }

    async fn custom_type(
        &self,
        of: &ResourceType,
        namespace: Option<&str>,
        without: &'static str,
        snapshot: &mut Snapshot,
    ) -> Result<(), Failure> {
        let resource = of.api_resource();
        let paths = fields_of(of);
        let add = |dump: &mut Dump, items: &[Box<RawValue>]| {
            for (n, item) in items.iter().enumerate() {
                dump.objects += 1;
                // The entries of a list can lack their kind.
                match keeping(&paths, || serde_json::from_str::<CustomResource>(item.get())) {
                    Ok(object) => dump.resources.extend(object.of(&resource).into_facts(&mut dump.strings)),
                    Err(e) => dump.problems.push(Problem { document: n + 1, line: 1, message: e.to_string() }),
                }
            }
        };
        let listed = Type { api_version: &resource.api_version, kind: &resource.kind, plural: &of.plural };
        match self.list_at(listed, &of.path(namespace), None, &mut snapshot.dump, add).await {
            Err(refusal) if refusal.is_forbidden() => {
                snapshot.lacking.push(Lacking { what: of.full_name().into(), without, refusal });
                Ok(())
            }
            Err(failure) if failure.is_not_found() => Ok(()),
            // Some types of aggregated API servers can only be listed with parameters.
            Err(failure) if failure.category() == "invalid" => Ok(()),
            listed => listed,
        }
    }
}

/// The fields of the objects of a type that rules read.
fn fields_of(of: &ResourceType) -> Arc<FieldPaths> {
    let kind = CustomKind::parse(&of.full_name());
    let paths = kind.ok().and_then(|kind| catalog::current().fields().of(&kind).cloned());
    Arc::new(paths.unwrap_or_default())
}
