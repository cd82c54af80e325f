//! The requested objects: `pod/x`, `deploy/web`, `node n1`, or those of a label selector.

use std::collections::BTreeSet;

use crate::cli::found::NodeOrWorkload;
use clap::CommandFactory;
use shindan_core::api::{Root, ServiceImpact};
use shindan_core::case::top_workload;
use shindan_core::facts::route::NetworkKind;
use shindan_core::facts::{ObjectKey, PodFacts, WorkloadKey};

use super::below::Below;
use super::kind::{Kind, fails_by_node};
use crate::cli::Plugin;
use crate::cli::found::{Found, OfNodeOrWorkload, OfPod};
use crate::cluster::discovery::{ResourceType, ResourceTypes};

/// One object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cli) struct Subject {
    pub(super) kind: Kind,
    pub(super) name: String,
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.name)
    }
}

impl Subject {
    /// Parses subjects as kubectl does: `KIND/NAME ...`, or `KIND NAME ...`.
    fn parse_all(
        words: &[String],
        of_word: &mut impl FnMut(&str) -> Result<Kind, String>,
    ) -> Result<Vec<Self>, String> {
        let mut named = |kind: &str, name: &str| {
            let kind = of_word(kind)?;
            if name.is_empty() {
                return Err(format!("which {}? Give its name: {}/NAME", kind.as_str(), kind.as_str().to_lowercase()));
            }
            Ok(Self { kind, name: name.to_owned() })
        };
        match words {
            [kind, names @ ..] if !kind.contains('/') => names
                .iter()
                .map(|name| match name.split_once('/') {
                    Some(_) => Err(format!("use either {kind} and names, or KIND/NAME for each object: {name}")),
                    None => named(kind, name),
                })
                .collect(),
            words => words
                .iter()
                .map(|word| match word.split_once('/') {
                    Some((kind, name)) => named(kind, name),
                    None => Err(format!("{word:?} has no kind: give KIND/NAME")),
                })
                .collect(),
        }
    }

    /// Whether a pod is this object or belongs to it.
    pub(super) fn has(&self, pod: &PodFacts) -> bool {
        match self.kind {
            Kind::Pod => *pod.key.name == *self.name,
            Kind::Node => pod.node_name.as_deref() == Some(&self.name),
            Kind::Workload(_) | Kind::Custom(_) => top_workload(pod, None).is_some_and(|top| self.is_workload(&top)),
            Kind::Route(_) => false,
        }
    }

    /// Whether an object of this type and name is meant.
    pub(in crate::cli) fn is_object(&self, api_version: &str, kind: &str, name: &str) -> bool {
        let is_kind = match &self.kind {
            Kind::Pod | Kind::Node | Kind::Route(_) => self.kind.as_str() == kind,
            Kind::Workload(_) | Kind::Custom(_) => self.kind.is_of(api_version, kind),
        };
        is_kind && self.name == name
    }

    /// Whether it is this workload or custom resource.
    pub(super) fn is_workload(&self, key: &WorkloadKey) -> bool {
        self.kind.is_of(&key.api_version, &key.kind) && *key.name == *self.name
    }

    fn is_of_pod(&self, pod: &OfPod) -> bool {
        match self.kind {
            Kind::Pod => *pod.key.name == *self.name,
            Kind::Node => pod.spec.node_name.as_deref() == Some(&self.name),
            Kind::Workload(_) | Kind::Custom(_) => pod
                .spec
                .workload
                .as_ref()
                .is_some_and(|own| self.kind.is_of(&own.api_version, &own.kind) && own.name == self.name),
            Kind::Route(_) => false,
        }
    }

    /// Whether it has a diagnosis itself.
    pub(super) fn has_diagnosis_in(&self, found: &Found) -> bool {
        let as_pod = || self.kind == Kind::Pod && found.pods.iter().any(|pod| self.is_of_pod(pod));
        as_pod() || found.nodes_and_workloads.iter().any(|of| self.is_about(of))
    }

    /// Whether it has a failure, or one names it: as its root, or as a Service that has no ready endpoint because of it.
    pub(super) fn fails_in(&self, found: &Found) -> bool {
        let is_own = |pod: &OfPod| self.is_of_pod(pod);
        found.pods.iter().any(|pod| pod.fails() && (is_own(pod) || self.is_behind_pod(pod)))
            || found.nodes_and_workloads.iter().any(|of| of.fails() && (self.is_about(of) || self.is_behind(of)))
    }

    /// Whether the failure of a pod names this object.
    fn is_behind_pod(&self, pod: &OfPod) -> bool {
        let services = pod.status.impact.iter().flat_map(|impact| &impact.services);
        self.is_root(pod.status.root.as_ref()) || self.is_without_endpoints(services)
    }

    /// Whether the failure of a workload or of an object on the path of a request names this object.
    fn is_behind(&self, of: &OfNodeOrWorkload) -> bool {
        let NodeOrWorkload::Workload(_, status) = &of.object else { return false };
        let services = status.serving.iter().flat_map(|serving| &serving.services);
        self.is_root(status.root.as_ref().map(|reach| &reach.root)) || self.is_without_endpoints(services)
    }

    fn is_root(&self, root: Option<&Root>) -> bool {
        let is_it = |root: &Root| root.kind == self.kind.as_str() && root.name == self.name;
        matches!(self.kind, Kind::Route(_)) && root.is_some_and(is_it)
    }

    fn is_without_endpoints<'s>(&self, mut services: impl Iterator<Item = &'s ServiceImpact>) -> bool {
        let is_it = |of: &ServiceImpact| of.name == self.name && of.ready_endpoints == 0;
        self.kind == Kind::Route(NetworkKind::Service) && services.any(is_it)
    }

    pub(super) fn is_about(&self, of: &OfNodeOrWorkload) -> bool {
        match &of.object {
            NodeOrWorkload::Node(spec, _) => self.kind == Kind::Node && spec.node_name == self.name,
            NodeOrWorkload::Workload(spec, _) => {
                self.kind.is_of(&spec.workload.api_version, &spec.workload.kind) && spec.workload.name == self.name
            }
        }
    }
}

/// Which of the diagnoses are requested.
#[derive(Debug)]
pub(in crate::cli) enum Asked {
    All,
    /// Objects of the path of a request, autoscalers, disruption budgets and custom resources.
    OwnStatus,
    /// All of this kind.
    Kind(Kind),
    These(Vec<Subject>),
    /// These pods, and their workloads and nodes.
    Pods(BTreeSet<ObjectKey>),
}

impl Asked {
    /// Parses words that need no discovery. `None`: they do.
    pub(in crate::cli) fn without_discovery(words: &[String]) -> Result<Option<Self>, String> {
        let kind = |word: &String| word.split('/').next().unwrap_or_default().to_owned();
        let all = if words.first().is_none_or(|word| word.contains('/')) { words } else { &words[..1] };
        for word in all.iter().map(kind) {
            // After a flag, clap parses a subcommand as a kind.
            if !words[0].contains('/') && Plugin::command().find_subcommand(&word).is_some() {
                return Err(format!(
                    "{word} is a command: write it before all flags, as in `kubectl shindan {word} --help`"
                ));
            }
            if Kind::without_discovery(&word).is_none() {
                return Ok(None);
            }
        }
        Self::parse(words, &ResourceTypes::default()).map(|(asked, _)| Some(asked))
    }

    /// Parses words as kubectl does: nothing, a kind, or objects. Also returns a note for each kind whose name is ambiguous.
    pub(in crate::cli) fn parse(words: &[String], types: &ResourceTypes) -> Result<(Self, Vec<String>), String> {
        let mut notes = Vec::new();
        let mut of_word = |word: &str| {
            let (kind, note) = Kind::of(word, types)?;
            notes.extend(note.filter(|note| !notes.contains(note)));
            Ok(kind)
        };
        let asked = match words {
            [] => Self::All,
            [kind] if !kind.contains('/') => Self::Kind(of_word(kind)?),
            words => Self::These(Subject::parse_all(words, &mut of_word)?),
        };
        Ok((asked, notes))
    }

    /// The kinds of the requested objects.
    fn kinds(&self) -> Vec<&Kind> {
        match self {
            Self::These(subjects) => subjects.iter().map(|subject| &subject.kind).collect(),
            Self::Kind(kind) => vec![kind],
            Self::All | Self::OwnStatus | Self::Pods(_) => Vec::new(),
        }
    }

    /// The types of the requested custom resources, and those whose objects they may control.
    pub(super) fn custom_types(&self) -> (Vec<ResourceType>, Vec<ResourceType>) {
        let (mut requested, mut parts) = (BTreeSet::new(), BTreeSet::new());
        for kind in self.kinds() {
            let Kind::Custom(kind) = kind else { continue };
            requested.insert(kind.of.clone());
            parts.extend(kind.parts.iter().cloned());
        }
        (requested.into_iter().collect(), parts.into_iter().collect())
    }

    /// Whether a custom resource is requested.
    pub(super) fn includes_custom(&self) -> bool {
        self.kinds().into_iter().any(|kind| matches!(kind, Kind::Custom(_)))
    }

    /// Whether all requested objects have no namespace. Their pods are in all namespaces.
    pub(in crate::cli) fn is_cluster_scoped(&self) -> bool {
        let kinds = self.kinds();
        !kinds.is_empty() && kinds.into_iter().all(Kind::is_cluster_scoped)
    }

    /// Whether the diagnosis is that of a requested object without a namespace.
    pub(super) fn names_cluster_scoped(&self, of: &OfNodeOrWorkload) -> bool {
        self.subjects().iter().any(|subject| subject.kind.is_cluster_scoped() && subject.is_about(of))
    }

    /// The objects that are named.
    pub(in crate::cli) fn subjects(&self) -> &[Subject] {
        if let Self::These(subjects) = self { subjects } else { &[] }
    }

    /// Whether an object of a request's path, an autoscaler or a disruption budget is requested. The operator does not diagnose
    /// them.
    pub(in crate::cli) fn is_of_routes(&self) -> bool {
        match self {
            Self::OwnStatus => true,
            asked => asked.kinds().into_iter().any(|kind| matches!(kind, Kind::Route(_))),
        }
    }

    /// Whether only such objects are requested.
    pub(in crate::cli) fn is_only_of_routes(&self) -> bool {
        let kinds = self.kinds();
        !kinds.is_empty() && kinds.into_iter().all(|kind| matches!(kind, Kind::Route(_)))
    }

    /// Whether only nodes are requested.
    pub(in crate::cli) fn is_of_nodes(&self) -> bool {
        let kinds = self.kinds();
        !kinds.is_empty() && kinds.into_iter().all(|kind| *kind == Kind::Node)
    }

    /// Whether the tree only counts ended pods. Many pods end on a node in a day, and beside a failing pod of a workload the
    /// ended ones add nothing, unless they were asked for.
    pub(super) fn collapses_ended(&self, found: &Found, with_ended: bool) -> bool {
        let names_pods = self.kinds().contains(&&Kind::Pod);
        let is_of_workloads = matches!(self, Self::These(_)) && !names_pods;
        self.is_of_nodes() || is_of_workloads && !with_ended && found.pods.iter().any(OfPod::fails)
    }

    /// Whether the requested objects can be diagnosed without access to pods.
    pub(super) fn is_without_pods(&self) -> bool {
        let kinds = self.kinds();
        !kinds.is_empty() && kinds.into_iter().all(|kind| matches!(kind, Kind::Node | Kind::Custom(_)))
    }

    /// Whether a requested object fails. A node fails by itself or by pods that fail because of it, not by other pods
    /// on it.
    pub(super) fn fails(&self, found: &Found) -> bool {
        if !self.is_of_nodes() {
            return found.fails();
        }
        found.nodes_and_workloads.iter().any(OfNodeOrWorkload::fails)
            || found.pods.iter().any(|pod| pod.fails() && fails_by_node(pod))
    }

    /// Requested nodes that have no diagnosis themselves.
    pub(super) fn healthy_nodes<'a>(&'a self, found: &'a Found) -> impl Iterator<Item = &'a str> {
        let subjects = self.subjects();
        let is_healthy = |subject: &&Subject| !found.nodes_and_workloads.iter().any(|of| subject.is_about(of));
        subjects.iter().filter(|subject| subject.kind == Kind::Node).filter(is_healthy).map(|subject| &*subject.name)
    }

    /// Keeps only the requested diagnoses, and those of objects that requested custom resources control.
    pub(in crate::cli) fn keep(&self, found: &mut Found, below: &Below) {
        match self {
            Self::All => {}
            Self::OwnStatus => {
                found.pods.clear();
                found.nodes_and_workloads.retain(has_own_status);
            }
            Self::Kind(kind) => {
                found.pods.retain(|pod| kind.has(pod) || below.has_pod(pod));
                found.nodes_and_workloads.retain(|of| match &of.object {
                    NodeOrWorkload::Node(..) => *kind == Kind::Node,
                    NodeOrWorkload::Workload(spec, _) => {
                        kind.is_of(&spec.workload.api_version, &spec.workload.kind) || below.has_workload(of)
                    }
                });
            }
            Self::These(subjects) => {
                // Failures of other objects are shown only for one that has none itself.
                let has_own =
                    |subject: &&Subject| found.nodes_and_workloads.iter().any(|of| of.fails() && subject.is_about(of));
                let explained: Vec<&Subject> = subjects.iter().filter(|subject| !has_own(subject)).collect();
                let is_asked = |pod: &OfPod| {
                    let names = |subject: &&Subject| pod.fails() && subject.is_behind_pod(pod);
                    subjects.iter().any(|subject| subject.is_of_pod(pod)) || explained.iter().any(names)
                };
                let is_asked_object = |of: &OfNodeOrWorkload| {
                    let names = |subject: &&Subject| of.fails() && subject.is_behind(of);
                    subjects.iter().any(|subject| subject.is_about(of)) || explained.iter().any(names)
                };
                found.pods.retain(|pod| is_asked(pod) || below.has_pod(pod));
                found.nodes_and_workloads.retain(|of| is_asked_object(of) || below.has_workload(of));
                // Then what is below or behind them.
                found.nodes_and_workloads.sort_by_key(|of| !subjects.iter().any(|subject| subject.is_about(of)));
            }
            Self::Pods(keys) => {
                found.pods.retain(|pod| keys.contains(&pod.key));
                let own = |of: &OfNodeOrWorkload| match &of.object {
                    NodeOrWorkload::Node(..) => false,
                    NodeOrWorkload::Workload(spec, _) => found.pods.iter().any(|pod| {
                        pod.key.namespace == of.key.object.namespace
                            && pod.spec.workload.as_ref() == Some(&spec.workload)
                    }),
                };
                let kept: Vec<bool> = found.nodes_and_workloads.iter().map(own).collect();
                let mut kept = kept.into_iter();
                found.nodes_and_workloads.retain(|_| kept.next().unwrap_or(false));
            }
        }
    }
}

/// Whether it is the diagnosis of an object of a request's path, an autoscaler, a disruption budget or a custom resource.
fn has_own_status(of: &OfNodeOrWorkload) -> bool {
    let NodeOrWorkload::Workload(spec, _) = &of.object else { return false };
    let key = WorkloadKey::of(&spec.workload, &of.key.object.namespace);
    key.is_custom() || NetworkKind::of(&key).is_some()
}

/// The groups and kinds of the custom resources that have an active diagnosis.
pub(super) fn custom_kinds(found: &Found) -> BTreeSet<(String, String)> {
    let active = found.nodes_and_workloads.iter().filter(|of| of.fails());
    let keys = active.filter_map(|of| match &of.object {
        NodeOrWorkload::Node(..) => None,
        NodeOrWorkload::Workload(spec, _) => Some(WorkloadKey::of(&spec.workload, &of.key.object.namespace)),
    });
    keys.filter(|key| key.is_custom()).map(|key| (key.group().to_owned(), key.kind.to_string())).collect()
}

/// Whether an operator that works would report one of these failures. It need not watch the path of a request or custom
/// resources.
pub(super) fn concerns_operator(found: &Found) -> bool {
    let mut others = found.nodes_and_workloads.iter().filter(|of| !has_own_status(of));
    found.pods.iter().any(OfPod::fails) || others.any(OfNodeOrWorkload::fails)
}

#[cfg(test)]
mod tests {
    use shindan_core::api::DiagnosisState;
    use shindan_core::facts::WorkloadKind;
    use shindan_core::language::Language;

    use super::*;
    use crate::cli::found::testing::failing;

    fn parsed(words: &[&str]) -> Result<Vec<String>, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let asked = Asked::parse(&words, &ResourceTypes::default())?.0;
        Ok(asked.subjects().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn subjects_are_parsed_like_kubectl_arguments() {
        for (words, meant) in [
            (&["pod/x"][..], &["Pod x"][..]),
            (&["deploy/web", "sts/db"], &["Deployment web", "StatefulSet db"]),
            (&["deployments.apps/web"], &["Deployment web"]),
            (&["no", "n1", "n2"], &["Node n1", "Node n2"]),
            (&["PODS", "x"], &["Pod x"]),
            (&["cj/nightly"], &["CronJob nightly"]),
            (&["deploy.v1.apps/web", "pod.v1/x"], &["Deployment web", "Pod x"]),
            (&["ing/shop", "hpa/web"], &["Ingress shop", "HorizontalPodAutoscaler web"]),
            (&["gtw/edge", "gw/edge"], &["Gateway edge", "Gateway edge"]),
            (&["httproutes.gateway.networking.k8s.io/shop"], &["HTTPRoute shop"]),
            (&[], &[]),
        ] {
            assert_eq!(parsed(words).unwrap(), meant, "{words:?}");
        }
    }

    #[test]
    fn a_kind_alone_requests_all_of_its_objects() {
        for (word, kind) in
            [("nodes", Kind::Node), ("po", Kind::Pod), ("Deployments.apps", Kind::Workload(WorkloadKind::Deployment))]
        {
            let asked = Asked::without_discovery(&[word.to_owned()]).unwrap().unwrap();
            assert!(matches!(&asked, Asked::Kind(of) if *of == kind), "{word}: {asked:?}");
        }
    }

    #[test]
    fn ended_pods_are_counted_for_nodes_and_beside_failing_ones() {
        let collapses = |word: &str, found: &Found, with_ended: bool| {
            let asked = Asked::without_discovery(&[word.to_owned()]).unwrap().unwrap();
            asked.collapses_ended(found, with_ended)
        };
        let mut found = failing("web-1", Language::English);
        for (word, with_ended, is_short) in [
            ("deploy/web", false, true),
            ("deploy/web", true, false),
            ("pod/web-1", false, false),
            ("node/n1", false, true),
            ("node/n1", true, true),
        ] {
            assert_eq!(collapses(word, &found, with_ended), is_short, "{word}, --ended: {with_ended}");
        }
        found.pods[0].status.head.state = DiagnosisState::Recovered;
        assert!(!collapses("deploy/web", &found, false), "nothing else would be left of the workload");
    }

    #[test]
    fn invalid_subjects_are_rejected_with_a_reason() {
        for (words, reason) in [
            (&["pod/"][..], "which Pod?"),
            (&["secret/x"], "the server doesn't have a resource type \"secret\"; the kinds are pod, node,"),
            (&["pod/x", "y"], "\"y\" has no kind"),
            (&["pod", "x", "pod/y"], "use either pod and names"),
        ] {
            let error = parsed(words).unwrap_err();
            assert!(error.contains(reason), "{words:?}: {error}");
        }
        let words = ["explain", "OOMKilled"].map(ToOwned::to_owned);
        let error = Asked::without_discovery(&words).unwrap_err();
        assert!(error.starts_with("explain is a command: write it before all flags"), "{error}");
    }

    #[test]
    fn kinds_of_other_groups_need_discovery() {
        for (words, is_known) in [
            (&[][..], true),
            (&["deploy/web", "svc/web"], true),
            (&["pods", "a", "b"], true),
            (&["certificate/web"], false),
            (&["deploy/web", "certificate/web"], false),
            (&["certificates"], false),
            (&["service.serving.knative.dev/web"], false),
            (&["gateways.networking.istio.io"], false),
        ] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(Asked::without_discovery(&words).unwrap().is_some(), is_known, "{words:?}");
        }
    }
}
