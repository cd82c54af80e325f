//! Probes that Istio's injector has redirected to its agent. The original probe is in an environment variable of the
//! proxy (istio pkg/kube/inject/app_probe.go).

use std::collections::HashMap;

use super::lenient::AppProbers;
use super::probe::Probe;
use crate::facts::{Container, ProbeHandler};

/// The variable. Its value is JSON: the path that the kubelet requests, and the original probe.
const VARIABLE: &str = "ISTIO_KUBE_APP_PROBERS";

/// The original probes by their replaced paths, if this is the variable.
pub(super) fn originals(variable: &str, value: &AppProbers) -> Option<HashMap<String, Probe>> {
    let value = value.0.as_deref().filter(|_| variable == VARIABLE)?;
    serde_json::from_str(value).ok()
}

/// Restores the original probes of the containers.
pub(super) fn restore(containers: &mut [Container], originals: &HashMap<String, Probe>) {
    if originals.is_empty() {
        return;
    }
    for container in containers {
        for probe in [&mut container.liveness, &mut container.readiness, &mut container.startup].into_iter().flatten() {
            let ProbeHandler::Http { path, .. } = &probe.handler else { continue };
            if let Some(original) = originals.get(path.as_str()) {
                probe.handler = original.clone().handler();
                probe.by_istio = true;
            }
        }
    }
}
