//! Services and their endpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::lenient::{Dict, Flag, Int, List, Name, Obj, Text, Texts};
use super::meta;
use crate::facts::route::{BackendService, Endpoints as EndpointFacts, PortRef, ServicePort, SliceFacts};
use crate::facts::{ObjectKey, ServiceFacts};

/// Label with the Service of an EndpointSlice.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = k8s_openapi::api::core::v1::Service)]
#[serde(default, rename_all = "camelCase")]
pub struct Service {
    api_version: Text,
    #[serde(deserialize_with = "meta::slim")]
    pub metadata: ObjectMeta,
    spec: Obj<Spec>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Spec {
    r#type: Text,
    selector: Dict,
    #[serde(rename = "clusterIP")]
    cluster_ip: Text,
    ports: List<Port>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Port {
    name: Name,
    #[serde(rename = "port")]
    number: Int,
    /// A number, or the name of a port of the pods.
    #[serde(rename = "targetPort")]
    target: Text,
    protocol: Text,
}

impl Port {
    fn target_name(&self) -> Option<Arc<str>> {
        let protocol = if self.protocol.is_empty() { "TCP" } else { &*self.protocol };
        let is_name = self.target.chars().any(|c| c.is_ascii_alphabetic());
        is_name.then(|| format!("{}/{protocol}", &*self.target).into())
    }

    fn facts(&self) -> ServicePort {
        let target = Some(&*self.target).filter(|target| !target.is_empty());
        ServicePort {
            name: self.name.0.clone(),
            number: self.number.or(0),
            protocol: if self.protocol.is_empty() { "TCP".to_owned() } else { self.protocol.0.clone() },
            target: target.map(|target| match target.parse() {
                Ok(number) => PortRef::Number(number),
                Err(_) => PortRef::Name(target.to_owned()),
            }),
        }
    }
}

impl Spec {
    /// Names of the target ports. Empty if a target port is a number, because it always leads to the pods, and for a
    /// headless Service, whose ports do not matter.
    fn target_names(&self) -> BTreeSet<Arc<str>> {
        if &*self.cluster_ip == "None" {
            return BTreeSet::new();
        }
        let names: Option<BTreeSet<_>> = self.ports.0.iter().map(Port::target_name).collect();
        names.unwrap_or_default()
    }
}

#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = k8s_openapi::api::discovery::v1::EndpointSlice)]
#[serde(default)]
pub struct EndpointSlice {
    #[serde(deserialize_with = "meta::slim")]
    pub metadata: ObjectMeta,
    endpoints: List<Endpoint>,
    ports: List<SlicePort>,
}

/// A port of the endpoints in a slice. Only its presence matters.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct SlicePort {}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Endpoint {
    addresses: Texts,
    conditions: Obj<Conditions>,
    target_ref: Obj<Target>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Conditions {
    ready: Flag,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Target {
    name: Name,
}

/// The deprecated Endpoints object, which dumps can contain.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Endpoints {
    #[serde(deserialize_with = "meta::slim")]
    pub metadata: ObjectMeta,
    subsets: List<Subset>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Subset {
    addresses: List<Address>,
    not_ready_addresses: List<Address>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Address {
    ip: Text,
    target_ref: Obj<Target>,
}

impl Service {
    /// The facts without the endpoints, which are separate objects.
    pub fn facts(&self) -> ServiceFacts {
        ServiceFacts {
            name: Arc::from(self.metadata.name.as_deref().unwrap_or_default()),
            created: meta::created(&self.metadata),
            external: self.spec.0.as_ref().is_some_and(|s| &*s.r#type == "ExternalName"),
            selector: self.spec.0.as_ref().map(|s| s.selector.clone().into_labels()).unwrap_or_default(),
            target_ports: self.spec.0.as_ref().map(Spec::target_names).unwrap_or_default(),
            ready_endpoints: 0,
            endpoints_have_ports: None,
        }
    }
}

impl Service {
    /// The Service as the path of a request needs it, without its endpoints. `None`: a Service of another API group, such
    /// as Knative's.
    pub fn backend(&self) -> Option<BackendService> {
        let spec = self.spec.0.as_ref();
        let is_core = self.api_version.is_empty() || &*self.api_version == "v1";
        is_core.then(|| BackendService {
            key: key(&self.metadata),
            uid: meta::uid(&self.metadata),
            created: meta::created(&self.metadata),
            deleting: self.metadata.deletion_timestamp.is_some(),
            manager: meta::manager(&self.metadata),
            overrides: meta::overrides(&self.metadata),
            is_external: spec.is_some_and(|spec| &*spec.r#type == "ExternalName"),
            is_headless: spec.is_some_and(|spec| &*spec.cluster_ip == "None"),
            selector: spec.map(|spec| spec.selector.clone().into_labels()).unwrap_or_default(),
            ports: spec.map(|spec| spec.ports.0.iter().map(Port::facts).collect()).unwrap_or_default(),
            endpoints: None,
        })
    }
}

impl EndpointSlice {
    /// `None`: it belongs to no Service.
    pub fn slice(&self) -> Option<SliceFacts> {
        let service = self.metadata.labels.as_ref()?.get(SERVICE_NAME)?;
        let mut endpoints = EndpointFacts::default();
        for (name, is_ready) in self.endpoints() {
            if is_ready {
                endpoints.ready += 1;
            } else {
                endpoints.unready.push(name.to_owned());
            }
        }
        Some(SliceFacts { key: key(&self.metadata), service: service.as_str().into(), endpoints })
    }

    /// Names of the pods (or else addresses) of its endpoints, and whether they are ready.
    fn endpoints(&self) -> impl Iterator<Item = (&str, bool)> {
        self.endpoints.0.iter().filter_map(|endpoint| {
            let target = endpoint.target_ref.0.as_ref().map(|target| &*target.name).filter(|name| !name.is_empty());
            let name = target.or_else(|| endpoint.addresses.0.first().map(String::as_str))?;
            Some((name, endpoint.conditions.0.is_none_or(|conditions| conditions.ready.0 != Some(false))))
        })
    }
}

impl Endpoints {
    /// The same endpoints as a slice of the Service with its name.
    pub fn slice(&self) -> SliceFacts {
        let key = key(&self.metadata);
        SliceFacts { service: key.name.clone(), endpoints: self.readiness(), key }
    }

    fn readiness(&self) -> EndpointFacts {
        let count = |of: fn(&Subset) -> &List<Address>| self.subsets.0.iter().flat_map(move |subset| &of(subset).0);
        let name = |address: &Address| match &address.target_ref.0 {
            Some(target) if !target.name.is_empty() => target.name.0.clone(),
            _ => address.ip.0.clone(),
        };
        EndpointFacts {
            ready: count(|subset| &subset.addresses).count(),
            unready: count(|subset| &subset.not_ready_addresses).map(name).collect(),
        }
    }
}

fn key(meta: &ObjectMeta) -> ObjectKey {
    ObjectKey::new(meta::namespace(meta), meta.name.as_deref().unwrap_or_default())
}

/// The Services of one namespace with their ready endpoints. An endpoint counts once, even if several slices (one for
/// each IP family) contain it. `Endpoints` count only for a Service without slices.
pub fn services_of(
    namespace: &str,
    services: &[Service],
    slices: &[EndpointSlice],
    endpoints: &[Endpoints],
) -> Vec<ServiceFacts> {
    let mut ready: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut with_ports: BTreeMap<&str, bool> = BTreeMap::new();
    for slice in slices.iter().filter(|s| meta::namespace(&s.metadata) == namespace) {
        let Some(service) = slice.metadata.labels.as_ref().and_then(|all| all.get(SERVICE_NAME)) else { continue };
        let names = ready.entry(service).or_default();
        let known = names.len();
        for endpoint in &slice.endpoints.0 {
            // The API defines that a missing condition means ready.
            if endpoint.conditions.0.is_none_or(|c| c.ready.0 != Some(false)) {
                let target = endpoint.target_ref.0.as_ref().map(|t| &*t.name).filter(|name| !name.is_empty());
                names.extend(target.or_else(|| endpoint.addresses.0.first().map(String::as_str)));
            }
        }
        if names.len() > known {
            *with_ports.entry(service).or_default() |= !slice.ports.0.is_empty();
        }
    }
    for object in endpoints.iter().filter(|e| meta::namespace(&e.metadata) == namespace) {
        let Some(name) = object.metadata.name.as_deref() else { continue };
        ready.entry(name).or_insert_with(|| {
            let addresses = object.subsets.0.iter().flat_map(|s| &s.addresses.0);
            addresses
                .map(|a| a.target_ref.0.as_ref().map(|t| &*t.name).filter(|n| !n.is_empty()).unwrap_or(&a.ip))
                .collect()
        });
    }
    let own = services.iter().filter(|s| meta::namespace(&s.metadata) == namespace);
    own.map(|service| {
        let name = service.metadata.name.as_deref().unwrap_or_default();
        let facts = service.facts();
        let endpoints_have_ports = with_ports.get(name).copied();
        // Endpoints without a port are not reachable. (A headless Service may have no ports.)
        let reach = facts.target_ports.is_empty() || endpoints_have_ports != Some(false);
        let ready = ready.get(name).filter(|_| reach).map_or(0, |names| u32::try_from(names.len()).unwrap_or(u32::MAX));
        ServiceFacts { ready_endpoints: ready, endpoints_have_ports, ..facts }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_endpoints_are_counted_once() {
        let services: Vec<Service> = serde_json::from_str(
            r#"[{"metadata": {"name": "web", "namespace": "n"}, "spec": {"selector": {"app": "web"}}},
                {"metadata": {"name": "old", "namespace": "n"}, "spec": {"selector": null}},
                {"metadata": {"name": "web", "namespace": "other"}}]"#,
        )
        .unwrap();
        let slice = |address: &str| {
            format!(
                r#"{{"metadata": {{"namespace": "n", "labels": {{"kubernetes.io/service-name": "web"}}}}, "endpoints": [
                    {{"addresses": ["{address}"], "conditions": {{}}, "targetRef": {{"name": "a"}}}},
                    {{"addresses": ["x"], "conditions": {{"ready": false}}, "targetRef": {{"name": "b"}}}}]}}"#
            )
        };
        let slices: Vec<EndpointSlice> =
            serde_json::from_str(&format!("[{}, {}]", slice("10.0.0.1"), slice("fd00::1"))).unwrap();
        let endpoints: Vec<Endpoints> = serde_json::from_str(
            r#"[{"metadata": {"name": "old", "namespace": "n"}, "subsets": [{"addresses": [{"ip": "1"}, {"ip": "2"}]}]},
                {"metadata": {"name": "web", "namespace": "n"}, "subsets": [{"addresses": [{"ip": "1"}, {"ip": "2"}]}]}]"#,
        )
        .unwrap();
        let facts = services_of("n", &services, &slices, &endpoints);
        let counts: Vec<_> = facts.iter().map(|s| (&*s.name, s.ready_endpoints)).collect();
        assert_eq!(counts, [("web", 1), ("old", 2)]);
        assert!(facts[0].selects(&[("app", "web")].into_iter().collect()));
    }

    #[test]
    fn target_port_names_are_kept_only_without_numbers() {
        let service = |ports: &str| {
            let text = format!(r#"{{"metadata": {{"name": "web"}}, "spec": {{"ports": [{ports}]}}}}"#);
            let facts = serde_json::from_str::<Service>(&text).unwrap().facts();
            facts.target_ports.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let http = r#"{"port": 80, "targetPort": "http"}"#;
        assert_eq!(service(http), ["http/TCP"]);
        assert_eq!(service(&format!(r#"{http}, {{"targetPort": "dns", "protocol": "UDP"}}"#)), ["dns/UDP", "http/TCP"]);
        let headless =
            r#"{"metadata": {"name": "db"}, "spec": {"clusterIP": "None", "ports": [{"targetPort": "pg"}]}}"#;
        assert!(serde_json::from_str::<Service>(headless).unwrap().facts().target_ports.is_empty());
        for number in
            [r#"{"port": 80}"#, r#"{"port": 80, "targetPort": 8080}"#, r#"{"port": 80, "targetPort": "8080"}"#]
        {
            assert!(service(&format!("{http}, {number}")).is_empty(), "{number}");
        }
    }

    #[test]
    fn endpoints_with_and_without_ports_are_distinguished() {
        let service: Vec<Service> =
            vec![serde_json::from_str(r#"{"metadata": {"name": "web", "namespace": "n"}}"#).unwrap()];
        let have_ports = |slices: &[&str]| {
            let slices: Vec<EndpointSlice> = slices
                .iter()
                .map(|rest| {
                    let labels = r#"{"namespace": "n", "labels": {"kubernetes.io/service-name": "web"}}"#;
                    serde_json::from_str(&format!(r#"{{"metadata": {labels}, {rest}}}"#)).unwrap()
                })
                .collect();
            services_of("n", &service, &slices, &[])[0].endpoints_have_ports
        };
        let (a, b) = (r#""endpoints": [{"addresses": ["10.0.0.1"]}]"#, r#""endpoints": [{"addresses": ["10.0.0.2"]}]"#);
        let with_port = format!(r#"{b}, "ports": [{{"port": 80}}]"#);
        assert_eq!(have_ports(&[]), None);
        assert_eq!(have_ports(&[r#""endpoints": null, "ports": [{"port": 80}]"#]), None);
        assert_eq!(have_ports(&[a]), Some(false));
        assert_eq!(have_ports(&[a, &with_port]), Some(true), "a rollout: the newer pods have it");
    }
}
