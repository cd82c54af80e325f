//! The signal `route`.

use super::signal;
use crate::case::{BrokenHop, WorkloadCase};
use crate::message::{self, text};

signal! {
    /// The first broken hop on the path of a request through an Ingress, a Gateway, an HTTPRoute or GRPCRoute, or a
    /// Service. The hops are followed in the order of the request: class, Gateway, listener, TLS Secret, grant, Service,
    /// port, selector, targetPort, endpoints.
    /// Source: these objects, EndpointSlices and pods.
    pub(crate) struct Route<'a> as "route" { case: &'a WorkloadCase<'a>, broken: &'a BrokenHop }
    reason: |of| of.broken.reason.as_str(), message: of.broken.message.as_str();

    /// The object whose path is broken, kind and name: `Ingress web`. Source: kind, metadata.name.
    "object": fn object(&self) -> String {
        let key = &self.case.workload.key;
        format!("{} {}", key.kind, key.name)
    }

    /// Its kind, such as `Ingress`. Source: kind.
    "kind": fn kind(&self) -> &str { &self.case.workload.key.kind }

    /// The first broken hop: `class`, `gateway`, `listener`, `tls`, `grant`, `service`, `port`, `selector`, `targetPort`
    /// or `endpoints`.
    "hop": fn hop(&self) -> &'static str { self.broken.hop.as_str() }

    /// The host of the path; empty for all hosts. Source: spec.rules[].host, spec.hostnames.
    "host": fn host(&self) -> &str { &self.broken.host }

    /// The path; empty for the default backend and for a rule without a path. Source: spec.rules[].http.paths[].path,
    /// spec.rules[].matches[].
    "path": fn path(&self) -> &str { &self.broken.path }

    /// Host and path as a request has them: `shop.example.com/api`; `each request` if both are empty.
    "request": fn request(&self) -> String {
        let whole = format!("{}{}", self.broken.host, self.broken.path);
        text::line(if whole.is_empty() { "each request" } else { &whole }, 80)
    }

    /// The class. Source: spec.ingressClassName, spec.gatewayClassName.
    "class": fn class(&self) -> &str { &self.broken.class }

    /// The object with the parameters of a GatewayClass that is not accepted, such as `EnvoyProxy infra/proxy`; empty if it has
    /// none. Source: spec.parametersRef of the GatewayClass.
    "parameters": fn parameters(&self) -> String {
        let of = &self.broken.parameters;
        let place = if of.namespace.is_empty() { "" } else { "/" };
        if of.name.is_empty() { String::new() } else { format!("{} {}{place}{}", of.kind, of.namespace, of.name) }
    }

    /// Its namespace; empty for a cluster-scoped object. Source: spec.parametersRef.namespace of the GatewayClass.
    "parametersNamespace": fn parameters_namespace(&self) -> &str { &self.broken.parameters.namespace }

    /// As an argument of kubectl: `envoyproxy.gateway.envoyproxy.io/proxy`. Source: spec.parametersRef of the GatewayClass.
    "parametersArgument": fn parameters_argument(&self) -> String {
        let of = &self.broken.parameters;
        let dot = if of.group.is_empty() { "" } else { "." };
        format!("{}{dot}{}/{}", of.kind.to_ascii_lowercase(), of.group, of.name)
    }

    /// The Gateway of the route, as `NAMESPACE/NAME` if it is in another namespace. Source: spec.parentRefs[].
    "gateway": fn gateway(&self) -> &str { &self.broken.gateway }

    /// The listener of the Gateway. Source: spec.listeners[].name, spec.parentRefs[].sectionName.
    "listener": fn listener(&self) -> &str { &self.broken.listener }

    /// The TLS Secret. Source: spec.tls[].secretName, spec.listeners[].tls.certificateRefs[].
    "secret": fn secret(&self) -> &str { &self.broken.secret }

    /// The Service. Source: the backend of the path.
    "service": fn service(&self) -> &str { &self.broken.service }

    /// The Service, as `NAMESPACE/NAME` if it is in another namespace. Source: the backend of the path.
    "serviceDisplay": fn service_display(&self) -> String {
        let of = self.broken;
        if of.is_elsewhere && !of.service.is_empty() { format!("{}/{}", of.namespace, of.service) } else { of.service.clone() }
    }

    /// The Service if it is in the namespace of the object, for the root; else empty.
    "ownService": fn own_service(&self) -> &str { if self.broken.is_elsewhere { "" } else { &self.broken.service } }

    /// The namespace of the Service or Secret. Source: the backend of the path.
    "namespace": fn namespace(&self) -> &str { &self.broken.namespace }

    /// Whether the Service or Secret is in another namespace than the object.
    "isElsewhere": fn is_elsewhere(&self) -> bool { self.broken.is_elsewhere }

    /// JSON pointer to the backend in the object, for a patch.
    "at": fn at(&self) -> &str { &self.broken.at }

    /// The port of the Service that the path leads to, a number or a name. Source: the backend of the path.
    "port": fn port(&self) -> &str { &self.broken.port }

    /// The ports that exist, separated by commas: those of the Service (`80 (http), 443`); for the hop `targetPort`, those
    /// of the pods. Source: spec.ports[], spec.containers[].ports[].
    "ports": fn ports(&self) -> String { text::line(&self.broken.ports.join(", "), 80) }

    /// The port that the Service leads to, a number or a name. Source: spec.ports[].targetPort.
    "targetPort": fn target_port(&self) -> &str { &self.broken.target_port }

    /// The number of the port of the Service, even if the path has its name. Source: spec.ports[].port.
    "servicePort": fn service_port(&self) -> String { self.broken.service_port.to_string() }

    /// Position of this port in the Service, counted from 0. Source: spec.ports[].
    "portIndex": fn port_index(&self) -> String { self.broken.port_index.to_string() }

    /// The existing class, Gateway, Service or port that was most likely meant; empty if none or more than one is near.
    "near": fn near(&self) -> &str { &self.broken.near }

    /// The classes that exist, separated by commas.
    "existing": fn existing(&self) -> String { text::line(&self.broken.existing.join(", "), 80) }

    /// The label that the Service selects and no pod has, `key=value`. Source: spec.selector.
    "selectedLabel": fn selected_label(&self) -> String { label(self.broken.selected_label.as_ref()) }

    /// Its key.
    "labelKey": fn label_key(&self) -> &str { self.broken.selected_label.as_ref().map_or("", |(key, _)| key) }

    /// The label that pods with all other labels of the selector have instead, `key=value`; empty if there are none.
    /// Source: metadata.labels of pods and templates.
    "podLabel": fn pod_label(&self) -> String { label(self.broken.pod_label.as_ref()) }

    /// Its value.
    "podLabelValue": fn pod_label_value(&self) -> &str { self.broken.pod_label.as_ref().map_or("", |(_, value)| value) }

    /// The workload of these pods, such as `Deployment web`.
    "workload": fn workload(&self) -> &str { &self.broken.workload }

    /// Reason of the condition or Event. Source: status.conditions[].reason, Events about the object.
    "reason": fn reason_text(&self) -> &str { &self.broken.reason }

    /// Message of the condition or Event. Source: status.conditions[].message, Events about the object.
    "message": fn message_text(&self) -> String { message::fit_error(&self.broken.message, 120) }

    /// A pod behind the Service that is not ready. Source: EndpointSlices, status.conditions of pods.
    "pod": fn pod(&self) -> &str { &self.broken.pod }

    /// The cause of this pod; empty if it has no diagnosis.
    "podCause": fn pod_cause(&self) -> &str { &self.broken.pod_cause }

    /// The summary of the diagnosis of this pod.
    "podSummary": fn pod_summary(&self) -> String { text::line(&self.broken.pod_summary, 120) }

    /// Number of endpoints that are not ready; 0 if the Service has none. Source: EndpointSlices.
    "unready": fn unready(&self) -> i64 { self.broken.unready.try_into().unwrap_or(i64::MAX) }

    /// Whether the object shows the failure itself: no controller has given it an address, or a controller reports the
    /// failure in a condition or Event.
    "isConfirmed": fn is_confirmed(&self) -> bool { self.broken.is_confirmed }

    /// Number of other paths of the object that are broken.
    "otherPaths": fn other_paths(&self) -> i64 { self.broken.others.try_into().unwrap_or(i64::MAX) }
}

fn label(label: Option<&(String, String)>) -> String {
    label.map(|(key, value)| text::line(&format!("{key}={value}"), 80)).unwrap_or_default()
}
