//! Reads workloads as they are now.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::try_join_all;
use kube::Client;
use kube::api::{GetParams, ListParams};
use kube::core::Request;
use serde_json::value::RawValue;
use shindan_core::facts::{ObjectKey, WorkloadFacts, WorkloadKind};
use shindan_core::wire::Dump;

use super::super::PAGE;
use super::super::call::{self, Failure, Listed, Pages};
use super::RELATED_KINDS;

/// Maximum number of workloads that are read one by one. If there are more, all of their kind are listed.
const ONE_BY_ONE: usize = 10;

/// These workloads of a kind, in one namespace or in all. Those that do not exist are left out.
pub async fn workloads(
    client: &Client,
    kind: WorkloadKind,
    keys: &BTreeSet<ObjectKey>,
    namespace: Option<&str>,
    limit: Duration,
) -> Result<Vec<WorkloadFacts>, Failure> {
    let name = kind.as_str();
    let Some(of) = RELATED_KINDS.iter().find(|known| (known.name)() == name) else { return Ok(Vec::new()) };
    let mut dump = Dump::default();
    if keys.len() <= ONE_BY_ONE {
        let reads = keys.iter().map(|key| one(client, of.path(Some(&key.namespace)), &key.name, limit));
        let found: Vec<Box<RawValue>> = try_join_all(reads).await?.into_iter().flatten().collect();
        dump.read_items(name, &found);
        return Ok(dump.workloads);
    }
    let path = of.path(namespace);
    let mut pages = Pages::<Box<RawValue>>::new(client, &path, ListParams::default().limit(PAGE), limit);
    while let Some(page) = pages.next().await? {
        let Listed::Page(items) = page else { continue };
        dump.read_items(name, &items);
        let key = |facts: &WorkloadFacts| ObjectKey::new(facts.key.namespace.clone(), facts.key.name.clone());
        dump.workloads.retain(|facts| keys.contains(&key(facts)));
    }
    Ok(dump.workloads)
}

/// An object as the API server sends it. `None`: it does not exist.
async fn one(client: &Client, path: String, name: &str, limit: Duration) -> Result<Option<Box<RawValue>>, Failure> {
    let request = Request::new(path).get(name, &GetParams::default());
    let request = request.map_err(|e| Failure::Unreadable(e.to_string()))?;
    call::found(call::json(client, request, limit).await)
}
