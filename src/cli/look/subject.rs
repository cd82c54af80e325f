//! The requested objects: `pod/x`, `deploy/web`, `node n1`, or those of a label selector.

use std::collections::BTreeSet;

use crate::cli::found::NodeOrWorkload;
use clap::CommandFactory;
use shindan_core::case::{Category, top_workload};
use shindan_core::facts::{ObjectKey, PodFacts, WorkloadKind};
use shindan_core::rules;

use crate::cli::Plugin;
use crate::cli::found::{Found, OfNodeOrWorkload, OfPod};
use crate::cluster::snapshot::RouteKind;

/// A kind that can be requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cli) enum Kind {
    Pod,
    Node,
    Workload(WorkloadKind),
    /// Diagnosed without pods of its own, and only locally.
    Route(RouteKind),
}

impl Kind {
    fn all() -> impl Iterator<Item = Self> {
        let with_pods = [Self::Pod, Self::Node].into_iter().chain(WorkloadKind::ALL.map(Self::Workload));
        with_pods.chain(RouteKind::ALL.map(Self::Route))
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::Node => "Node",
            Self::Workload(kind) => kind.as_str(),
            Self::Route(kind) => kind.as_str(),
        }
    }

    /// Resource name in the API.
    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Pod => "pods",
            Self::Node => "nodes",
            Self::Workload(kind) => kind.plural(),
            Self::Route(kind) => kind.plural(),
        }
    }

    /// Names that kubectl accepts: singular, plural and short.
    fn names(self) -> [String; 3] {
        let short = match self {
            Self::Pod => "po",
            Self::Node => "no",
            Self::Workload(WorkloadKind::Deployment) => "deploy",
            Self::Workload(WorkloadKind::StatefulSet) => "sts",
            Self::Workload(WorkloadKind::DaemonSet) => "ds",
            Self::Workload(WorkloadKind::Job) => "job",
            Self::Workload(WorkloadKind::CronJob) => "cj",
            Self::Route(kind) => kind.short(),
        };
        [self.as_str().to_ascii_lowercase(), self.plural().to_owned(), short.to_owned()]
    }

    /// Whether the pod's diagnosis belongs to this kind: the pod itself, its workload or its node.
    fn has(self, pod: &OfPod) -> bool {
        match self {
            Self::Pod => true,
            Self::Node => fails_by_node(pod),
            Self::Workload(kind) => pod.spec.workload.as_ref().is_some_and(|own| own.kind == kind.as_str()),
            Self::Route(_) => false,
        }
    }

    /// Parses `deploy`, `deployments.apps` or `Deployment`.
    fn of(text: &str) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        let (word, _) = lower.split_once('.').unwrap_or((&lower, ""));
        Self::all().find(|kind| kind.names().iter().any(|name| name == word)).ok_or_else(|| {
            // After a flag, clap parses a subcommand as a kind.
            if Plugin::command().find_subcommand(text).is_some() {
                return format!(
                    "{text} is a command: write it before all flags, as in `kubectl shindan {text} --help`"
                );
            }
            format!("unknown kind {text:?}; the kinds are {}", kinds().collect::<Vec<_>>().join(", "))
        })
    }
}

/// Whether a pod fails because of its node.
fn fails_by_node(pod: &OfPod) -> bool {
    rules::find(&pod.status.head.cause).is_some_and(|rule| rule.category == Category::Node)
}

/// Names of the kinds that can be requested.
pub(in crate::cli) fn kinds() -> impl Iterator<Item = String> {
    Kind::all().map(|kind| kind.as_str().to_ascii_lowercase())
}

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
    pub(super) fn parse_all(words: &[String]) -> Result<Vec<Self>, String> {
        let named = |kind: &str, name: &str| {
            let kind = Kind::of(kind)?;
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
            Kind::Workload(kind) => {
                top_workload(pod, None).is_some_and(|top| *top.kind == *kind.as_str() && *top.name == *self.name)
            }
            Kind::Route(_) => false,
        }
    }

    fn is_of_pod(&self, pod: &OfPod) -> bool {
        match self.kind {
            Kind::Pod => *pod.key.name == *self.name,
            Kind::Node => pod.spec.node_name.as_deref() == Some(&self.name),
            Kind::Workload(kind) => {
                pod.spec.workload.as_ref().is_some_and(|own| own.kind == kind.as_str() && own.name == self.name)
            }
            Kind::Route(_) => false,
        }
    }

    /// Whether it has a diagnosis itself.
    pub(super) fn has_diagnosis_in(&self, found: &Found) -> bool {
        let as_pod = || self.kind == Kind::Pod && found.pods.iter().any(|pod| self.is_of_pod(pod));
        as_pod() || found.nodes_and_workloads.iter().any(|of| self.is_about(of))
    }

    fn is_about(&self, of: &OfNodeOrWorkload) -> bool {
        match &of.object {
            NodeOrWorkload::Node(spec, _) => self.kind == Kind::Node && spec.node_name == self.name,
            NodeOrWorkload::Workload(spec, _) => {
                spec.workload.kind == self.kind.as_str() && spec.workload.name == self.name
            }
        }
    }
}

/// Which of the diagnoses are requested.
#[derive(Debug)]
pub(in crate::cli) enum Asked {
    All,
    /// All of this kind.
    Kind(Kind),
    These(Vec<Subject>),
    /// These pods, and their workloads and nodes.
    Pods(BTreeSet<ObjectKey>),
}

impl Asked {
    /// Parses words as kubectl does: nothing, a kind, or objects.
    pub(in crate::cli) fn parse(words: &[String]) -> Result<Self, String> {
        match words {
            [] => Ok(Self::All),
            [kind] if !kind.contains('/') => Kind::of(kind).map(Self::Kind),
            words => Subject::parse_all(words).map(Self::These),
        }
    }

    /// The objects that are named.
    pub(in crate::cli) fn subjects(&self) -> &[Subject] {
        if let Self::These(subjects) = self { subjects } else { &[] }
    }

    /// Whether an object of a request's path, an autoscaler or a disruption budget is requested. The operator does not diagnose
    /// them.
    pub(in crate::cli) fn is_of_routes(&self) -> bool {
        match self {
            Self::These(subjects) => subjects.iter().any(|subject| matches!(subject.kind, Kind::Route(_))),
            Self::Kind(kind) => matches!(kind, Kind::Route(_)),
            Self::All | Self::Pods(_) => false,
        }
    }

    /// Whether only nodes are requested. Their pods are in all namespaces.
    pub(in crate::cli) fn is_of_nodes(&self) -> bool {
        match self {
            Self::These(subjects) => subjects.iter().all(|subject| subject.kind == Kind::Node),
            Self::Kind(kind) => *kind == Kind::Node,
            Self::All | Self::Pods(_) => false,
        }
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

    /// Keeps only the requested diagnoses.
    pub(super) fn keep(&self, found: &mut Found) {
        match self {
            Self::All => {}
            Self::Kind(kind) => {
                found.pods.retain(|pod| kind.has(pod));
                found.nodes_and_workloads.retain(|of| match &of.object {
                    NodeOrWorkload::Node(..) => *kind == Kind::Node,
                    NodeOrWorkload::Workload(spec, _) => spec.workload.kind == kind.as_str(),
                });
            }
            Self::These(subjects) => {
                found.pods.retain(|pod| subjects.iter().any(|subject| subject.is_of_pod(pod)));
                found.nodes_and_workloads.retain(|of| subjects.iter().any(|subject| subject.is_about(of)));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Vec<String>, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Ok(Asked::parse(&words)?.subjects().iter().map(ToString::to_string).collect())
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
            (&["ing/shop", "hpa/web"], &["Ingress shop", "HorizontalPodAutoscaler web"]),
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
            let asked = Asked::parse(&[word.to_owned()]).unwrap();
            assert!(matches!(asked, Asked::Kind(of) if of == kind), "{word}: {asked:?}");
        }
    }

    #[test]
    fn invalid_subjects_are_rejected_with_a_reason() {
        for (words, reason) in [
            (&["pod/"][..], "which Pod?"),
            (&["explain", "OOMKilled"], "explain is a command: write it before all flags"),
            (&["secret/x"], "unknown kind \"secret\"; the kinds are pod, node,"),
            (&["pod/x", "y"], "\"y\" has no kind"),
            (&["pod", "x", "pod/y"], "use either pod and names"),
        ] {
            let error = parsed(words).unwrap_err();
            assert!(error.contains(reason), "{words:?}: {error}");
        }
    }
}
