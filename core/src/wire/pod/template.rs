//! Pod templates of controllers.

use std::fmt::Write as _;

use super::{Container, Interner, Spec, container, volume};
use crate::api::ContainerType;
use crate::facts;
use crate::facts::{
    ContainerTemplate, ProbeHandler, RefKind, Resources, TemplateFacts, VolumeSource, format_bytes, format_cpu,
};
use crate::wire::lenient::{Dict, Obj};

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
pub(in crate::wire) struct Template {
    metadata: Obj<Meta>,
    spec: Obj<Spec>,
}

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
struct Meta {
    labels: Dict,
}

impl Template {
    /// Returns `None` without containers, which only a trimmed manifest lacks.
    pub(in crate::wire) fn into_facts(self, strings: &mut Interner) -> Option<Box<TemplateFacts>> {
        let spec = self.spec.0?;
        let mut out = TemplateFacts {
            labels: self.metadata.or_default().labels.into_labels(),
            service_account: spec.service_account_name.non_empty().unwrap_or_else(|| "default".to_owned()),
            node_selector: spec.node_selector.into_labels(),
            containers: Vec::with_capacity(spec.init_containers.0.len() + spec.containers.0.len()),
            ..TemplateFacts::default()
        };
        for (containers, kind) in [(spec.init_containers, ContainerType::Init), (spec.containers, ContainerType::App)] {
            for container in containers {
                let read = one(container, kind, &mut out, strings);
                out.containers.push(read);
            }
        }
        for v in spec.volumes {
            note(volume(v, "").source, &mut out);
        }
        (!out.containers.is_empty()).then(|| Box::new(out))
    }
}

fn one(spec: Container, kind: ContainerType, out: &mut TemplateFacts, strings: &mut Interner) -> ContainerTemplate {
    let env = spec.env.0.iter().map(|v| v.name.0.clone()).collect();
    let read = container(spec, None, kind, &super::PodSecurityContext::default(), strings);
    for reference in read.env_refs {
        let names = match reference.kind {
            RefKind::ConfigMap => &mut out.config_maps,
            RefKind::Secret => &mut out.secrets,
        };
        names.insert(reference.name);
    }
    let named = read.ports.iter().filter(|port| !port.name.is_empty());
    out.named_ports.extend(named.map(|port| strings.intern(&format!("{}/{}", port.name, port.protocol))));
    ContainerTemplate {
        name: read.name,
        init: kind == ContainerType::Init,
        image: read.image,
        command: read.command,
        args: read.args,
        ports: read.ports.iter().map(port_text).collect(),
        liveness: read.liveness.as_deref().map(probe),
        readiness: read.readiness.as_deref().map(probe),
        startup: read.startup.as_deref().map(probe),
        requests: amounts(&read.requests),
        limits: amounts(&read.limits),
        env,
    }
}

/// `80/TCP`, or `80/TCP hostPort 8080`.
fn port_text(port: &facts::Port) -> String {
    let host = port.host_port.map(|number| format!(" hostPort {number}")).unwrap_or_default();
    format!("{}/{}{host}", port.number, port.protocol)
}

/// Adds the objects that a volume references.
fn note(source: VolumeSource, out: &mut TemplateFacts) {
    match source {
        VolumeSource::ConfigMap { name, .. } => {
            out.config_maps.insert(name);
        }
        VolumeSource::Secret { name, .. } => {
            out.secrets.insert(name);
        }
        VolumeSource::Claim { name, ephemeral: false } => {
            out.claims.insert(name);
        }
        VolumeSource::Projected { sources } => sources.into_iter().for_each(|source| note(source, out)),
        _ => {}
    }
}

fn probe(probe: &facts::Probe) -> String {
    let asks = match &probe.handler {
        ProbeHandler::Http { path, port, scheme } => format!("{} :{port}{path}", scheme.to_ascii_lowercase()),
        ProbeHandler::Tcp { port } => format!("tcp :{port}"),
        ProbeHandler::Grpc { port, service } => format!("grpc :{port} {service}").trim_end().to_owned(),
        ProbeHandler::Exec { command } => format!("exec {}", command.join(" ")),
        ProbeHandler::None => "none".to_owned(),
    };
    let (delay, timeout, period) = (probe.initial_delay, probe.timeout, probe.period);
    let failures = probe.failure_threshold;
    let mut out = format!("{asks}, delay {delay} s, timeout {timeout} s, period {period} s, {failures} failures");
    if probe.success_threshold > 1 {
        let _ = write!(out, ", {} successes", probe.success_threshold);
    }
    if let Some(grace) = probe.termination_grace {
        let _ = write!(out, ", grace {grace} s");
    }
    out
}

fn amounts(resources: &Resources) -> String {
    let named = [
        resources.cpu.map(|cpu| format!("cpu {}", format_cpu(cpu))),
        resources.memory.map(|bytes| format!("memory {}", format_bytes(bytes))),
        resources.ephemeral_storage.map(|bytes| format!("ephemeral-storage {}", format_bytes(bytes))),
    ];
    let extended = resources.extended.iter().map(|(name, amount)| format!("{name} {amount}"));
    named.into_iter().flatten().chain(extended).collect::<Vec<_>>().join(", ")
}
