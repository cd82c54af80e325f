//! The signal `service`.

use super::signal;
use crate::case::{Apart, Ports, UnmatchedService, WorkloadCase};
use crate::message::text;

signal! {
    /// A Service that is meant for a workload, and whose selector or ports do not match the pods.
    /// Source: Services, EndpointSlices and templates of the namespace.
    pub(crate) struct MismatchedService<'a> as "service" { case: &'a WorkloadCase<'a>, unmatched: &'a UnmatchedService }
    reason: |_of| "", message: "";

    /// Its name. Source: metadata.name.
    "name": fn service(&self) -> &str { &self.unmatched.service }

    /// What does not match: `label` or `ports`.
    "mismatch": fn mismatch(&self) -> &'static str {
        match &self.unmatched.apart {
            Apart::Label { .. } => "label",
            Apart::Ports { .. } => "ports",
        }
    }

    /// Key of the label that does not match. Source: spec.selector.
    "labelKey": fn label_key(&self) -> &str { self.label().map_or("", |(key, ..)| key) }

    /// The label that the Service selects, `key=value`. Source: spec.selector.
    "selectedLabel": fn selected_label(&self) -> String {
        self.label().map(|(key, expected, _)| label(key, expected)).unwrap_or_default()
    }

    /// The label of the pods, `key=value`; empty if they have no such label. Source: labels of the template.
    "podLabel": fn pod_label(&self) -> String {
        self.label().and_then(|(key, _, has)| Some(label(key, has?))).unwrap_or_default()
    }

    /// Its value.
    "podLabelValue": fn pod_label_value(&self) -> &str { self.label().and_then(|(.., has)| has).unwrap_or_default() }

    /// Whether the workload selects its pods by that label, so that its template cannot have another value.
    /// Source: spec.selector.matchLabels of the workload.
    "workloadSelectsByLabel": fn workload_selects_by_label(&self) -> bool {
        self.case.workload.selector.get(self.label_key()).is_some()
    }

    /// Names that its ports lead to, separated by commas. Source: spec.ports[].targetPort.
    "targetPorts": fn target_ports(&self) -> String { self.ports().map(|(expected, _)| listed(expected)).unwrap_or_default() }

    /// Names of the ports of the pods. Source: spec.containers[].ports[].name of the template.
    "podPorts": fn pod_ports(&self) -> String { self.ports().map(|(_, has)| listed(has)).unwrap_or_default() }

    /// Whether its endpoints are ready and have no port. Source: EndpointSlices.
    "endpointsHaveNoPorts": fn endpoints_have_no_ports(&self) -> bool {
        matches!(&self.unmatched.apart, Apart::Ports { proven: true, .. })
    }
}

impl MismatchedService<'_> {
    fn label(&self) -> Option<(&str, &str, Option<&str>)> {
        match &self.unmatched.apart {
            Apart::Label { key, expected, has } => Some((key, expected, has.as_deref())),
            Apart::Ports { .. } => None,
        }
    }

    fn ports(&self) -> Option<(&Ports, &Ports)> {
        match &self.unmatched.apart {
            Apart::Label { .. } => None,
            Apart::Ports { expected, has, .. } => Some((expected, has)),
        }
    }
}

fn label(key: &str, value: &str) -> String {
    text::line(&format!("{key}={value}"), 140)
}

/// Formats ports as manifests have them: TCP is the default protocol.
fn listed(ports: &Ports) -> String {
    let names: Vec<_> = ports.iter().map(|port| port.strip_suffix("/TCP").unwrap_or(port)).collect();
    text::line(&names.join(", "), 140)
}
