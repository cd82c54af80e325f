//! Probes that Istio's injector has put its agent in front of: the original is in an environment variable of its proxy
//! (istio pkg/kube/inject/app_probe.go).

use std::collections::HashMap;

use super::lenient::AppProbers;
use super::probe::Probe;
use crate::facts::{Container, ProbeHandler};

/// The variable; its value is JSON: the path that the kubelet asks for, and the probe that is meant.
const VARIABLE: &str = "ISTIO_KUBE_APP_PROBERS";

/// The probes by the paths that stand for them, if this variable holds them.
pub(super) fn originals(variable: &str, value: &AppProbers) -> Option<HashMap<String, Probe>> {
    let value = value.0.as_deref().filter(|_| variable == VARIABLE)?;
    serde_json::from_str(value).ok()
}

/// Puts the probes back that the containers' authors wrote.
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
