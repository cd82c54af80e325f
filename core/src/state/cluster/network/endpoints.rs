//! The endpoints of Services, from their slices.

use super::{Affected, NetworkState};
use crate::facts::ObjectKey;
use crate::facts::route::{Endpoints, NetworkKind};

impl NetworkState {
    /// Forgets a slice, unless it belongs to this Service, whose slice is about to be replaced.
    pub(super) fn forget_slice(&mut self, key: &ObjectKey, except: Option<&ObjectKey>) -> Affected {
        let Some(slice) = self.slices.remove(key) else { return Affected::new() };
        let service = ObjectKey::new(key.namespace.clone(), slice.service);
        if Some(&service) == except {
            return Affected::new();
        }
        if let Some(slices) = self.slices_of.get_mut(&service) {
            slices.remove(key);
            if slices.is_empty() {
                self.slices_of.remove(&service);
            }
        }
        self.endpoints_changed(&service)
    }

    /// The endpoints of a Service. `None`: no slices were listed.
    pub(super) fn endpoints_of(&self, service: &ObjectKey) -> Option<Endpoints> {
        let slices = self.slices_of.get(service).into_iter().flatten().filter_map(|key| self.slices.get(key));
        let mut all = Endpoints::default();
        let mut count = 0;
        for slice in slices {
            count += 1;
            all.ready += slice.endpoints.ready;
            all.unready.extend(slice.endpoints.unready.iter().cloned());
        }
        all.unready.sort_unstable();
        all.unready.dedup();
        let is_known = count > 0 || self.network.listed.has(NetworkKind::EndpointSlice, &service.namespace);
        is_known.then_some(all)
    }

    pub(super) fn endpoints_changed(&mut self, service: &ObjectKey) -> Affected {
        let endpoints = self.endpoints_of(service);
        let Some(known) = self.network.services.get_mut(service) else { return Affected::new() };
        if known.endpoints == endpoints {
            return Affected::new();
        }
        known.endpoints = endpoints;
        self.with_users(NetworkKind::Service, service.clone())
    }
}
