//! Pods.

mod status;
mod template;

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::lenient::{Amounts, AppProbers, Dict, ExitCode, Flag, Int, List, Name, Nothing, Obj, Text, Texts, Time};
use super::meta::{self, WireCondition};
use super::probe::Probe;
use super::{Interner, istio};
use crate::api::ContainerType;
use crate::facts;
use crate::message::text;
pub(super) use template::Template;

use crate::facts::{
    EnvRef, Expression, KeyItem, Operator, Phase, PodFacts, PodTerm, RefKind, Resources, RestartPolicy, SelectorTerm,
    Terminated, TolerationOperator, VolumeSource, parse_bytes,
};

#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = k8s_openapi::api::core::v1::Pod)]
#[serde(default)]
pub struct Pod {
    #[serde(deserialize_with = "meta::slim")]
    pub metadata: ObjectMeta,
    spec: Obj<Spec>,
    status: Obj<Status>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    node_name: Name,
    restart_policy: Text,
    scheduler_name: Text,
    scheduling_gates: List<Gate>,
    resource_claims: List<DeviceClaim>,
    scheduling_group: Obj<SchedulingGroup>,
    workload_ref: Obj<SchedulingGroup>,
    node_selector: Dict,
    affinity: Obj<Affinity>,
    topology_spread_constraints: List<SpreadConstraint>,
    tolerations: List<Toleration>,
    priority: Int,
    host_network: Flag,
    overhead: Amounts,
    resources: Obj<Demands>,
    termination_grace_period_seconds: Int,
    active_deadline_seconds: Int,
    readiness_gates: List<ReadinessGate>,
    service_account_name: Text,
    automount_service_account_token: Flag,
    image_pull_secrets: List<Named>,
    security_context: Obj<PodSecurityContext>,
    volumes: List<Volume>,
    init_containers: List<Container>,
    containers: List<Container>,
    ephemeral_containers: List<Container>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DeviceClaim {
    name: Name,
    resource_claim_name: Name,
    resource_claim_template_name: Name,
}

/// A group of pods that are scheduled together. Both fields name the same in two versions.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SchedulingGroup {
    pod_group_name: Name,
    pod_group: Name,
}

impl SchedulingGroup {
    fn name(&self) -> &str {
        if self.pod_group_name.is_empty() { &self.pod_group } else { &self.pod_group_name }
    }
}

impl DeviceClaim {
    /// The name of the referenced object.
    fn source(self) -> String {
        [self.resource_claim_name.0, self.resource_claim_template_name.0]
            .into_iter()
            .find(|source| !source.is_empty())
            .unwrap_or(self.name.0)
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: Name,
}

/// Its name has a domain: it is no object's.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Gate {
    name: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ReadinessGate {
    condition_type: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[allow(clippy::struct_field_names, reason = "the API's own names")]
struct Affinity {
    node_affinity: Obj<NodeAffinity>,
    pod_affinity: Obj<PodAffinity>,
    pod_anti_affinity: Obj<PodAffinity>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: List<PodAffinityTerm>,
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    preferred: List<Nothing>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodAffinityTerm {
    label_selector: Obj<LabelSelector>,
    topology_key: Text,
    namespaces: Texts,
    namespace_selector: Obj<Nothing>,
    match_label_keys: Texts,
    mismatch_label_keys: Texts,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LabelSelector {
    match_labels: Dict,
    match_expressions: List<Requirement>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SpreadConstraint {
    topology_key: Text,
    when_unsatisfiable: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: Obj<NodeSelector>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeSelector {
    node_selector_terms: List<Term>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Term {
    match_expressions: List<Requirement>,
    match_fields: List<Requirement>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Requirement {
    key: Text,
    operator: Text,
    values: Texts,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[allow(clippy::struct_field_names, reason = "the API's own names")]
struct Toleration {
    key: Text,
    operator: Text,
    value: Text,
    // One of three values. It becomes part of patches.
    effect: Name,
    toleration_seconds: Int,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Demands {
    requests: Amounts,
    limits: Amounts,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodSecurityContext {
    run_as_user: Int,
    run_as_non_root: Flag,
    sysctls: List<Sysctl>,
    seccomp_profile: Obj<Profile>,
    app_armor_profile: Obj<Profile>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Profile {
    r#type: Text,
}

impl Profile {
    /// Whether the profile is a file of the node.
    fn is_local(&self) -> bool {
        &*self.r#type == "Localhost"
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Sysctl {
    name: Text,
    value: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SecurityContext {
    run_as_user: Int,
    run_as_non_root: Flag,
    seccomp_profile: Obj<Profile>,
    app_armor_profile: Obj<Profile>,
    capabilities: Obj<Capabilities>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Capabilities {
    add: Texts,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Container {
    name: Name,
    image: Text,
    image_pull_policy: Text,
    command: Texts,
    args: Texts,
    working_dir: Text,
    ports: List<Port>,
    resources: Obj<Demands>,
    env: List<EnvVar>,
    env_from: List<EnvFrom>,
    volume_mounts: List<VolumeMount>,
    security_context: Obj<SecurityContext>,
    liveness_probe: Obj<Probe>,
    readiness_probe: Obj<Probe>,
    startup_probe: Obj<Probe>,
    lifecycle: Obj<Lifecycle>,
    restart_policy: Text,
    restart_policy_rules: List<RestartRule>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RestartRule {
    action: Text,
    exit_codes: Obj<ExitCodes>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ExitCodes {
    operator: Text,
    values: Texts,
}

impl From<RestartRule> for facts::RestartRule {
    fn from(rule: RestartRule) -> Self {
        let codes = rule.exit_codes.or_default();
        Self {
            restarts_all: &*rule.action == "RestartAllContainers",
            except: &*codes.operator == "NotIn",
            exit_codes: codes.values.0.iter().filter_map(|code| code.parse().ok()).collect(),
        }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct VolumeMount {
    name: Text,
    mount_path: Text,
    sub_path: Text,
}

impl From<VolumeMount> for facts::Mount {
    fn from(mount: VolumeMount) -> Self {
        Self { volume: mount.name.0, path: mount.mount_path.0, sub_path: mount.sub_path.0 }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[allow(clippy::struct_field_names, reason = "the API's own names")]
struct Port {
    name: Name,
    container_port: Int,
    host_port: Int,
    protocol: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct EnvVar {
    name: Text,
    value: AppProbers,
    value_from: Obj<ValueFrom>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ValueFrom {
    config_map_key_ref: Obj<KeyRef>,
    secret_key_ref: Obj<KeyRef>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct KeyRef {
    name: Name,
    key: Text,
    optional: Flag,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct EnvFrom {
    prefix: Text,
    config_map_ref: Obj<KeyRef>,
    secret_ref: Obj<KeyRef>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Lifecycle {
    post_start: Obj<Probe>,
    pre_stop: Obj<Nothing>,
}

/// A volume: its name, and its source under the name of the kind.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Volume {
    name: Name,
    config_map: Obj<Source>,
    secret: Obj<Source>,
    persistent_volume_claim: Obj<Source>,
    ephemeral: Obj<Nothing>,
    empty_dir: Obj<EmptyDir>,
    host_path: Obj<Source>,
    projected: Obj<Projected>,
    image: Obj<Source>,
    #[serde(flatten)]
    other: OtherKind,
}

/// The name of the first unknown field.
#[derive(Debug, Clone, Default)]
struct OtherKind(Option<String>);

impl<'de> Deserialize<'de> for OtherKind {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> serde::de::Visitor<'de> for V {
            type Value = OtherKind;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<OtherKind, A::Error> {
                let mut kind = None;
                while let Some(Text(key)) = map.next_key()? {
                    map.next_value::<serde::de::IgnoredAny>()?;
                    kind.get_or_insert(key);
                }
                Ok(OtherKind(kind))
            }
        }
        d.deserialize_map(V)
    }
}

/// Secrets use `secretName`, claims `claimName`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Source {
    name: Name,
    secret_name: Name,
    claim_name: Name,
    path: Text,
    reference: Text,
    optional: Flag,
    items: List<Item>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Item {
    key: Text,
    path: Text,
    mode: Int,
}

impl Source {
    fn config_map(self) -> VolumeSource {
        VolumeSource::ConfigMap { name: self.name.0, optional: self.optional.is_true(), items: items(self.items) }
    }

    fn secret(self, name: Name) -> VolumeSource {
        VolumeSource::Secret { name: name.0, optional: self.optional.is_true(), items: items(self.items) }
    }
}

fn items(items: List<Item>) -> Vec<KeyItem> {
    items.map(|item| KeyItem { key: item.key.0, path: item.path.0, mode: item.mode.0 })
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct EmptyDir {
    medium: Text,
    size_limit: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Projected {
    sources: List<ProjectedSource>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ProjectedSource {
    config_map: Obj<Source>,
    secret: Obj<Source>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    phase: Text,
    reason: Text,
    message: Text,
    start_time: Time,
    nominated_node_name: Name,
    conditions: List<WireCondition>,
    init_container_statuses: List<ContainerStatus>,
    container_statuses: List<ContainerStatus>,
    ephemeral_container_statuses: List<ContainerStatus>,
    volume_health: List<status::VolumeHealth>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ContainerStatus {
    name: Name,
    image: Text,
    state: Obj<State>,
    last_state: Obj<State>,
    ready: Flag,
    started: Flag,
    restart_count: Int,
    allocated_resources: Amounts,
    allocated_resources_status: List<status::AllocatedResource>,
    resources: Obj<Demands>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct State {
    waiting: Obj<Reason>,
    running: Obj<Running>,
    terminated: Obj<Ended>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Reason {
    reason: Text,
    message: Text,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Running {
    started_at: Time,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Ended {
    exit_code: ExitCode,
    signal: Int,
    reason: Text,
    message: Text,
    started_at: Time,
    finished_at: Time,
}

impl Pod {
    /// Converts to facts, with the defaults of the API server for missing fields.
    pub fn into_facts(self, strings: &mut Interner) -> PodFacts {
        let mut meta = self.metadata;
        let spec = self.spec.or_default();
        let status = self.status.or_default();
        let security = spec.security_context.or_default();
        let affinity = spec.affinity.or_default();

        let sent = [&spec.init_containers, &spec.containers, &spec.ephemeral_containers];
        let mut containers = Vec::with_capacity(sent.iter().map(|list| list.0.len()).sum());
        let mut originals = HashMap::new();
        let lists = [
            (spec.init_containers, status.init_container_statuses, ContainerType::Init),
            (spec.containers, status.container_statuses, ContainerType::App),
            (spec.ephemeral_containers, status.ephemeral_container_statuses, ContainerType::Ephemeral),
        ];
        for (specs, statuses, kind) in lists {
            let mut statuses = statuses.0;
            for spec in specs {
                let by_istio = spec.env.0.iter().filter_map(|v| istio::originals(&v.name, &v.value));
                originals.extend(by_istio.flatten());
                let at = statuses.iter().position(|s| s.name == spec.name);
                let status = at.map(|at| statuses.remove(at));
                containers.push(container(spec, status, kind, &security, strings));
            }
            for status in statuses {
                let spec = Container { name: status.name.clone(), image: status.image.clone(), ..Container::default() };
                containers.push(container(spec, Some(status), kind, &security, strings));
            }
        }

        istio::restore(&mut containers, &originals);
        let (pod_requests, pod_limits) = spec.resources.or_default().with_defaults();

        PodFacts {
            key: meta::key(&meta, strings),
            uid: meta::uid(&meta),
            created: meta::created(&meta),
            deletion: meta.deletion_timestamp.as_ref().map(|t| t.0),
            released: meta.deletion_grace_period_seconds == Some(0),
            static_uid: meta
                .annotations
                .as_ref()
                .and_then(|all| all.get(meta::MIRROR))
                .map(|uid| Arc::from(uid.as_str())),
            overrides: meta::overrides(&meta),
            carried: meta::carried(&meta),
            owner: meta::controller(&meta, strings),
            finalizers: meta.finalizers.take().unwrap_or_default(),
            labels: strings.labels(meta.labels.take().into_iter().flatten().collect()),

            node_name: interned(&spec.node_name, strings),
            restart_policy: RestartPolicy::parse(&spec.restart_policy).unwrap_or_default(),
            scheduler_name: spec.scheduler_name.non_empty().unwrap_or_else(|| "default-scheduler".to_owned()),
            scheduling_gates: spec.scheduling_gates.map(|gate| gate.name.0),
            resource_claims: spec.resource_claims.map(DeviceClaim::source),
            pod_group: interned(spec.scheduling_group.0.or(spec.workload_ref.0).unwrap_or_default().name(), strings),
            node_selector: strings.labels(spec.node_selector.into_labels()),
            node_affinity: affinity.node_affinity.or_default().required.or_default().node_selector_terms.map(|term| {
                SelectorTerm {
                    expressions: term.match_expressions.map(expression),
                    fields: term.match_fields.map(expression),
                }
            }),
            pod_affinity: affinity.pod_affinity.or_default().into_terms(),
            pod_anti_affinity: affinity.pod_anti_affinity.or_default().into_terms(),
            spread_over: spec
                .topology_spread_constraints
                .into_iter()
                .filter(|constraint| &*constraint.when_unsatisfiable == "DoNotSchedule")
                .map(|constraint| constraint.topology_key.0)
                .collect(),
            tolerations: spec.tolerations.map(toleration),
            priority: spec.priority.as_i32().unwrap_or(0),
            host_network: spec.host_network.is_true(),
            automounts_token: spec.automount_service_account_token.is_true(),
            overhead: spec.overhead.0,
            pod_requests,
            pod_memory_limit: pod_limits.memory,
            termination_grace_seconds: spec.termination_grace_period_seconds.or(30),
            active_deadline_seconds: spec.active_deadline_seconds.0,
            readiness_gates: spec.readiness_gates.map(|g| g.condition_type.0),
            service_account: spec.service_account_name.non_empty().unwrap_or_else(|| "default".to_owned()),
            image_pull_secrets: names(spec.image_pull_secrets),
            has_local_seccomp: security.seccomp_profile.0.is_some_and(|profile| profile.is_local()),
            has_local_app_armor: security.app_armor_profile.0.is_some_and(|profile| profile.is_local()),
            sysctls: security.sysctls.map(|sysctl| (sysctl.name.0, sysctl.value.0)),
            volumes: spec.volumes.map(|v| volume(v, meta.name.as_deref().unwrap_or_default())),

            containers,

            phase: match &*status.phase {
                // A manifest that was never in a cluster counts as Pending.
                "Pending" | "" => Phase::Pending,
                "Running" => Phase::Running,
                "Succeeded" => Phase::Succeeded,
                "Failed" => Phase::Failed,
                _ => Phase::Unknown,
            },
            reason: status.reason.0,
            message: status.message.0,
            start_time: status.start_time.real(),
            nominated_node: interned(&status.nominated_node_name, strings),
            conditions: status.conditions.map(Into::into),
            volume_faults: status::faults(status.volume_health),
        }
    }
}

fn interned(text: &str, strings: &mut Interner) -> Option<Arc<str>> {
    (!text.is_empty()).then(|| strings.intern(text))
}

fn names(list: List<Named>) -> Vec<String> {
    list.map(|n| n.name.0)
}

impl PodAffinity {
    fn into_terms(self) -> Vec<PodTerm> {
        let has_preferred = !self.preferred.0.is_empty();
        self.required.map(|term| PodTerm {
            has_more: has_preferred
                || term.namespace_selector.0.is_some()
                || [&term.namespaces, &term.match_label_keys, &term.mismatch_label_keys]
                    .iter()
                    .any(|of| !of.0.is_empty()),
            selector: term.label_selector.or_default().into_words(),
            topology_key: term.topology_key.0,
        })
    }
}

impl LabelSelector {
    /// Formats the selector in the syntax of `kubectl get -l`.
    fn into_words(self) -> String {
        let labels = self.match_labels.0.into_iter().map(|(key, value)| format!("{key}={value}"));
        let expressions = self.match_expressions.into_iter().map(expression).map(|e| {
            let list = e.values.join(",");
            match e.operator {
                Operator::NotIn => format!("{} notin ({list})", e.key),
                Operator::Exists => e.key,
                Operator::DoesNotExist => format!("!{}", e.key),
                _ => format!("{} in ({list})", e.key),
            }
        });
        labels.chain(expressions).collect::<Vec<_>>().join(",")
    }
}

fn expression(r: Requirement) -> Expression {
    Expression {
        key: r.key.0,
        operator: match &*r.operator {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            "Gt" => Operator::Gt,
            "Lt" => Operator::Lt,
            _ => Operator::Other,
        },
        values: r.values.0,
    }
}

fn toleration(t: Toleration) -> facts::Toleration {
    facts::Toleration {
        key: t.key.0,
        operator: TolerationOperator::parse(&t.operator),
        value: t.value.0,
        effect: t.effect.0,
        seconds: t.toleration_seconds.0,
    }
}

impl Demands {
    /// Requests and limits. A missing request defaults to the limit, as at admission.
    fn with_defaults(self) -> (Resources, Resources) {
        let (mut requests, limits) = (self.requests.0, self.limits.0);
        requests.cpu = requests.cpu.or(limits.cpu);
        requests.memory = requests.memory.or(limits.memory);
        requests.ephemeral_storage = requests.ephemeral_storage.or(limits.ephemeral_storage);
        for (name, amount) in &limits.extended {
            requests.extended.entry(name.clone()).or_insert(*amount);
        }
        (requests, limits)
    }
}

fn container(
    spec: Container,
    status: Option<ContainerStatus>,
    kind: ContainerType,
    pod: &PodSecurityContext,
    strings: &mut Interner,
) -> facts::Container {
    let restart_policy = RestartPolicy::parse(&spec.restart_policy);
    let kind = match (kind, restart_policy) {
        (ContainerType::Init, Some(RestartPolicy::Always)) => ContainerType::Sidecar,
        (kind, _) => kind,
    };
    let (requests, limits) = spec.resources.or_default().with_defaults();
    let own = spec.security_context.or_default();
    let lifecycle = spec.lifecycle.or_default();
    let reported = status.is_some();
    let status = status.unwrap_or_default();
    let (allocated, actual) = (status.allocated_resources.0, status.resources.or_default().requests.0);
    let (cpu, memory) = (allocated.cpu.or(actual.cpu), allocated.memory.or(actual.memory));
    let is_other = |has: Option<i64>, expected: Option<i64>| has.is_some() && has != expected;
    let is_resized = is_other(cpu, requests.cpu) || is_other(memory, requests.memory);
    facts::Container {
        name: strings.intern(&spec.name),
        kind,
        image: strings.intern(&spec.image),
        image_pull_policy: spec.image_pull_policy.non_empty().unwrap_or_else(|| default_pull_policy(&spec.image)),
        command: spec.command.0,
        args: spec.args.0,
        working_dir: spec.working_dir.non_empty(),
        ports: spec.ports.map(port),
        allocated: is_resized.then(|| Box::new(Resources { cpu, memory, ..Resources::default() })),
        requests,
        limits,
        env_refs: env_refs(spec.env, spec.env_from),
        mounts: spec.volume_mounts.map(Into::into),
        run_as_user: own.run_as_user.0.or(pod.run_as_user.0),
        run_as_non_root: own.run_as_non_root.0.or(pod.run_as_non_root.0),
        has_local_seccomp: own.seccomp_profile.0.is_some_and(|profile| profile.is_local()),
        has_local_app_armor: own.app_armor_profile.0.is_some_and(|profile| profile.is_local()),
        added_capabilities: own.capabilities.or_default().add.0,
        liveness: spec.liveness_probe.0.map(|probe| Box::new(probe.into_facts())),
        readiness: spec.readiness_probe.0.map(|probe| Box::new(probe.into_facts())),
        startup: spec.startup_probe.0.map(|probe| Box::new(probe.into_facts())),
        post_start: lifecycle.post_start.0.map(|hook| Box::new(hook.handler())),
        has_pre_stop: lifecycle.pre_stop.0.is_some(),
        restart_policy,
        restart_rules: spec.restart_policy_rules.map(Into::into),
        unhealthy_devices: status::unhealthy(status.allocated_resources_status),
        reported,
        state: state(status.state.or_default()),
        last: status.last_state.or_default().terminated.0.map(ended),
        ready: status.ready.is_true(),
        started: status.started.0,
        restart_count: status.restart_count.as_u32(),
    }
}

/// `Always` for the tag `latest` (or none), `IfNotPresent` otherwise.
fn default_pull_policy(image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or(image);
    let latest = !last.contains('@') && last.split_once(':').is_none_or(|(_, tag)| tag == "latest");
    if latest { "Always" } else { "IfNotPresent" }.to_owned()
}

fn port(p: Port) -> facts::Port {
    facts::Port {
        name: p.name.0,
        number: p.container_port.as_i32().unwrap_or(0),
        host_port: p.host_port.as_i32().filter(|n| *n > 0),
        protocol: p.protocol.non_empty().unwrap_or_else(|| "TCP".to_owned()),
    }
}

fn env_refs(env: List<EnvVar>, env_from: List<EnvFrom>) -> Vec<EnvRef> {
    let one = |variable: Option<&str>, kind, r: KeyRef| EnvRef {
        variable: variable.map(str::to_owned),
        kind,
        name: r.name.0,
        key: r.key.non_empty(),
        optional: r.optional.is_true(),
        prefix: String::new(),
    };
    let mut out = Vec::new();
    for source in env_from {
        let prefix = source.prefix.0;
        let config_map = source.config_map_ref.0.map(|r| one(None, RefKind::ConfigMap, r));
        let secret = source.secret_ref.0.map(|r| one(None, RefKind::Secret, r));
        out.extend(config_map.into_iter().chain(secret).map(|r| EnvRef { prefix: prefix.clone(), ..r }));
    }
    for variable in env {
        let from = variable.value_from.or_default();
        out.extend(from.config_map_key_ref.0.map(|r| one(Some(&variable.name), RefKind::ConfigMap, r)));
        out.extend(from.secret_key_ref.0.map(|r| one(Some(&variable.name), RefKind::Secret, r)));
    }
    out
}

fn volume(v: Volume, pod: &str) -> facts::Volume {
    let name = v.name.0;
    let source = if let Some(s) = v.config_map.0 {
        s.config_map()
    } else if let Some(mut s) = v.secret.0 {
        let name = std::mem::take(&mut s.secret_name);
        s.secret(name)
    } else if let Some(s) = v.persistent_volume_claim.0 {
        VolumeSource::Claim { name: s.claim_name.0, ephemeral: false }
    } else if v.ephemeral.0.is_some() {
        VolumeSource::Claim { name: format!("{pod}-{name}"), ephemeral: true }
    } else if let Some(s) = v.empty_dir.0 {
        VolumeSource::EmptyDir { size_limit: parse_bytes(&s.size_limit), in_memory: &*s.medium == "Memory" }
    } else if let Some(s) = v.host_path.0 {
        VolumeSource::HostPath { path: s.path.0 }
    } else if let Some(p) = v.projected.0 {
        let mut sources = Vec::new();
        for s in p.sources {
            sources.extend(s.config_map.0.map(Source::config_map));
            // A projected Secret uses `name`, unlike a Secret volume.
            sources.extend(s.secret.0.map(|mut s| {
                let name = std::mem::take(&mut s.name);
                s.secret(name)
            }));
        }
        sources.shrink_to_fit();
        VolumeSource::Projected { sources }
    } else if let Some(s) = v.image.0 {
        VolumeSource::Image { reference: s.reference.0 }
    } else {
        VolumeSource::Other { kind: v.other.0.unwrap_or_else(|| "emptyDir".to_owned()) }
    };
    facts::Volume { name, source }
}

fn state(s: State) -> facts::State {
    if let Some(t) = s.terminated.0 {
        facts::State::Terminated(ended(t))
    } else if let Some(r) = s.running.0 {
        facts::State::Running { started_at: r.started_at.real() }
    } else {
        let w = s.waiting.or_default();
        facts::State::Waiting { reason: w.reason.0, message: w.message.0 }
    }
}

/// The termination message of the program. The kubelet replaces it by an error if it could not read it.
fn own_words(message: &str) -> &str {
    if message.starts_with("Error on reading termination ") { "" } else { message }
}

fn ended(e: Ended) -> Terminated {
    Terminated {
        exit_code: e.exit_code.0,
        signal: e.signal.as_i32().filter(|s| *s != 0),
        reason: e.reason.0,
        // Later, a single line is reported, and a line of a key is only recognized next to its other lines.
        message: text::without_keys(own_words(&e.message)).into_owned(),
        started_at: e.started_at.real(),
        finished_at: e.finished_at.real(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts_of(json: &str) -> PodFacts {
        serde_json::from_str::<Pod>(json).unwrap().into_facts(&mut Interner::default())
    }

    #[test]
    fn kubelet_error_is_not_a_termination_message() {
        let message = |words: &str| {
            let end = format!(r#"{{"exitCode": 1, "message": "{words}"}}"#);
            ended(serde_json::from_str(&end).unwrap()).message
        };
        assert_eq!(message("Error on reading termination message from logs: failed to try resolving symlinks"), "");
        assert_eq!(message("Error on reading termination log /x: permission denied"), "");
        assert_eq!(message("no DATABASE_URL"), "no DATABASE_URL");
    }

    #[test]
    fn fields_of_any_shape_are_accepted() {
        for odd in ["null", "1", "-1.5", "true", "\"x\"", "[]", "{}", "[[1],{\"a\":null},\"x\"]", "{\"a\":[{}]}"] {
            for field in ["metadata", "spec", "status"] {
                facts_of(&format!(r#"{{"{field}": {odd}}}"#));
            }
            for field in [
                "nodeName",
                "schedulingGates",
                "schedulingGroup",
                "nodeSelector",
                "affinity",
                "tolerations",
                "priority",
                "hostNetwork",
                "overhead",
                "resources",
                "volumes",
                "containers",
                "initContainers",
                "securityContext",
            ] {
                facts_of(&format!(r#"{{"spec": {{"{field}": {odd}, "restartPolicy": "Never"}}}}"#));
            }
            let of_container =
                ["ports", "env", "envFrom", "livenessProbe", "lifecycle", "command", "resources", "volumes"];
            for field in of_container.into_iter().chain(["restartPolicyRules"]) {
                let pod = facts_of(&format!(
                    r#"{{"spec": {{"containers": [{{"{field}": {odd}, "name": "a"}}], "volumes": [{{"name": "v", "secret": {odd}}}]}}}}"#
                ));
                assert_eq!(&*pod.containers[0].name, "a");
            }
            for field in ["conditions", "containerStatuses", "startTime", "phase", "volumeHealth"] {
                facts_of(&format!(r#"{{"status": {{"{field}": {odd}}}}}"#));
            }
            for field in
                ["labels", "annotations", "ownerReferences", "creationTimestamp", "finalizers", "managedFields"]
            {
                let pod = facts_of(&format!(r#"{{"metadata": {{"{field}": {odd}, "name": "p"}}}}"#));
                assert_eq!(&*pod.key.name, "p");
            }
        }
    }

    #[test]
    fn resized_pod_counts_like_in_the_scheduler() {
        let counted = |requested: &str, condition: &str| {
            let pod = facts_of(&format!(
                r#"{{"spec": {{"containers": [{{"name": "a", "resources": {{"requests": {{"cpu": "{requested}", "ephemeral-storage": "1Gi"}}}}}}]}},
                    "status": {{"conditions": [{condition}], "containerStatuses": [{{"name": "a", "allocatedResources": {{"cpu": "100m"}},
                      "resources": {{"requests": {{"cpu": "70m"}}}}}}]}}}}"#
            ));
            let requests = pod.effective_requests();
            assert_eq!(requests.ephemeral_storage, Some(1 << 30), "what cannot be resized");
            requests.cpu
        };
        assert_eq!(counted("100m", ""), Some(100));
        assert_eq!(counted("500m", ""), Some(500), "it grows");
        assert_eq!(counted("50m", ""), Some(100), "it shrinks, and has not yet");
        let refused = r#"{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}"#;
        assert_eq!(counted("50", refused), Some(100), "it will never grow to that");
    }

    #[test]
    fn spec_and_status_are_joined_by_name_in_spec_order() {
        let pod = facts_of(
            r#"{"metadata": {"name": "p", "uid": "u"}, "spec": {
                "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
                "containers": [{"name": "b", "livenessProbe": {"httpGet": {"port": "web"}, "periodSeconds": null}},
                               {"name": "a", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}],
                "ephemeralContainers": [{"name": "debug"}]},
              "status": {"containerStatuses": [
                {"name": "a", "restartCount": 3, "state": {"terminated": {"exitCode": 137,
                  "startedAt": "1970-01-01T00:00:00Z", "finishedAt": "2026-11-21T09:00:00Z"}}},
                {"name": "b", "state": {"running": {"startedAt": "2026-11-21T09:00:00Z"}}, "ready": true},
                {"name": "gone", "state": {}}]}}"#,
        );
        let seen: Vec<_> = pod.containers.iter().map(|c| (&*c.name, c.kind, c.reported)).collect();
        assert_eq!(
            seen,
            [
                ("i", ContainerType::Init, false),
                ("s", ContainerType::Sidecar, false),
                ("b", ContainerType::App, true),
                ("a", ContainerType::App, true),
                ("gone", ContainerType::App, true),
                ("debug", ContainerType::Ephemeral, false),
            ]
        );
        let probe = pod.containers[2].liveness.as_ref().unwrap();
        assert_eq!((probe.period, probe.timeout, probe.failure_threshold), (10, 1, 3));
        assert_eq!(
            probe.handler,
            facts::ProbeHandler::Http { path: "/".into(), port: "web".into(), scheme: "HTTP".into() }
        );
        let a = &pod.containers[3];
        assert_eq!((a.requests.cpu, a.requests.memory), (Some(1000), Some(1 << 30)));
        let end = a.last_end().unwrap();
        assert_eq!((end.exit_code, end.started_at, end.finished_at.is_some()), (137, None, true));
    }

    #[test]
    fn volumes_have_the_source_of_their_kind() {
        let pod = facts_of(
            r#"{"metadata": {"name": "p"}, "spec": {"volumes": [
                {"name": "a", "secret": {"secretName": "s"}}, {"name": "b", "csi": {"driver": "x"}},
                {"name": "c", "ephemeral": {}}, {"nfs": {}, "name": "d"},
                {"name": "e", "projected": {"sources": [{"secret": {"name": "t", "optional": true}}, {"downwardAPI": {}}]}}]}}"#,
        );
        let sources: Vec<_> = pod.volumes.into_iter().map(|v| v.source).collect();
        assert_eq!(
            sources,
            [
                VolumeSource::Secret { name: "s".into(), optional: false, items: vec![] },
                VolumeSource::Other { kind: "csi".into() },
                VolumeSource::Claim { name: "p-c".into(), ephemeral: true },
                VolumeSource::Other { kind: "nfs".into() },
                VolumeSource::Projected {
                    sources: vec![VolumeSource::Secret { name: "t".into(), optional: true, items: vec![] }]
                },
            ]
        );
    }

    #[test]
    fn only_the_mirror_annotation_is_kept() {
        let pod: Pod = serde_json::from_str(
            r#"{"metadata": {"name": "p", "annotations": {"big": "x", "kubernetes.io/config.mirror": "1"},
                "managedFields": [{"time": "2026-01-01T00:00:00Z"}],
                "ownerReferences": [{"kind": "Node", "name": "n", "controller": true}]}}"#,
        )
        .unwrap();
        assert_eq!(pod.metadata.annotations.as_ref().unwrap().len(), 1);
        let pod = pod.into_facts(&mut Interner::default());
        assert_eq!(pod.static_uid.as_deref(), Some("1"));
        assert_eq!(&*pod.owner.unwrap().kind, "Node");
        assert_eq!(&*pod.key.namespace, "default");
        assert_eq!(&*pod.uid, "default/p");
    }

    #[test]
    fn default_pull_policy_depends_on_the_tag() {
        for (image, policy) in [
            ("redis", "Always"),
            ("redis:latest", "Always"),
            ("registry:5000/redis", "Always"),
            ("redis:7", "IfNotPresent"),
            ("registry:5000/redis:7", "IfNotPresent"),
            ("redis@sha256:0", "IfNotPresent"),
        ] {
            assert_eq!(default_pull_policy(image), policy, "{image}");
        }
    }
}
