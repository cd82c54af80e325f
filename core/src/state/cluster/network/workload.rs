//! Workloads as Services and claims need them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Affected, NetworkState};
use crate::facts::route::{BackendService, NetworkKind};
use crate::facts::{Labelled, Labels, WorkloadKey};

impl NetworkState {
    pub(super) fn of_services(&self, namespace: &Arc<str>, is_meant: impl Fn(&BackendService) -> bool) -> Affected {
        let services = self.network.services_in(namespace).filter(|service| is_meant(service));
        services.flat_map(|service| self.with_users(NetworkKind::Service, service.key.clone())).collect()
    }

    /// Registers the labels of a workload's pods, and the claims of its template; `None`: it has none, or was deleted.
    pub(in crate::state) fn workload(
        &mut self,
        key: &WorkloadKey,
        labelled: Option<&Labelled>,
        claims: Option<&BTreeSet<String>>,
    ) -> Affected {
        if !self.is_on {
            return Affected::new();
        }
        let mut affected = self.template_claims(key, claims.cloned().unwrap_or_default());
        let of_namespace = self.network.workloads.entry(key.namespace.clone()).or_default();
        let before = match labelled {
            Some(labelled) => of_namespace.insert(key.clone(), labelled.clone()),
            None => of_namespace.remove(key),
        };
        if of_namespace.is_empty() {
            self.network.workloads.remove(&key.namespace);
        }
        if before.as_ref() == labelled {
            return affected;
        }
        let labels: Vec<Labels> = before.iter().chain(labelled).map(|of| of.labels.clone()).collect();
        let network = &self.network;
        affected.extend(self.of_services(&key.namespace, |service| {
            labels.iter().any(|labels| service.selects(labels)) || network.pods_of(service).next().is_none()
        }));
        affected
    }

    fn template_claims(&mut self, key: &WorkloadKey, claims: BTreeSet<String>) -> Affected {
        let all = &mut self.network.template_claims;
        if claims.is_empty() && !all.contains_key(&key.namespace) {
            return Affected::new();
        }
        let of_namespace = all.entry(key.namespace.clone()).or_default();
        let before = of_namespace.remove(key).unwrap_or_default();
        let changed: Vec<String> = before.symmetric_difference(&claims).cloned().collect();
        if !claims.is_empty() {
            of_namespace.insert(key.clone(), claims);
        }
        if of_namespace.is_empty() {
            all.remove(&key.namespace);
        }
        self.of_claims(&key.namespace, changed.iter().map(String::as_str))
    }
}
