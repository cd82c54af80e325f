//! What is asked about: `pod/x`, `deploy/web`, `node n1`, or all that carries some labels.

use std::collections::BTreeSet;

use clap::CommandFactory;

use crate::cli::Plugin;
use crate::cli::found::{Found, OfOuter, OfPod};
use crate::diagnosis::{Category, rules, top_workload};
use crate::facts::{ObjectKey, PodFacts, WorkloadKind};
use crate::plan::Outer;

/// A kind that may be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cli) enum Kind {
    Pod,
    Node,
    Workload(WorkloadKind),
}

impl Kind {
    fn all() -> impl Iterator<Item = Self> {
        [Self::Pod, Self::Node].into_iter().chain(WorkloadKind::ALL.map(Self::Workload))
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::Node => "Node",
            Self::Workload(kind) => kind.as_str(),
        }
    }

    /// The resource that it is to the API.
    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Pod => "pods",
            Self::Node => "nodes",
            Self::Workload(kind) => kind.plural(),
        }
    }

    /// The names by which kubectl knows it: one of them, many, and in short.
    fn names(self) -> [String; 3] {
        let short = match self {
            Self::Pod => "po",
            Self::Node => "no",
            Self::Workload(WorkloadKind::Deployment) => "deploy",
            Self::Workload(WorkloadKind::StatefulSet) => "sts",
            Self::Workload(WorkloadKind::DaemonSet) => "ds",
            Self::Workload(WorkloadKind::Job) => "job",
            Self::Workload(WorkloadKind::CronJob) => "cj",
        };
        [self.as_str().to_ascii_lowercase(), self.plural().to_owned(), short.to_owned()]
    }

    /// Whether this pod's diagnosis is one of those: the pod itself, or what it belongs to or suffers of.
    fn has(self, pod: &OfPod) -> bool {
        match self {
            Self::Pod => true,
            Self::Node => suffers_of_node(pod),
            Self::Workload(kind) => pod.spec.workload.as_ref().is_some_and(|own| own.kind == kind.as_str()),
        }
    }

    /// `deploy`, `deployments.apps`, `Deployment`.
    fn of(text: &str) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        let (word, _) = lower.split_once('.').unwrap_or((&lower, ""));
        Self::all().find(|kind| kind.names().iter().any(|name| name == word)).ok_or_else(|| {
            // Where a flag stands before it, clap takes a command for a kind.
            if Plugin::command().find_subcommand(text).is_some() {
                return format!(
                    "{text} is a command: it stands before all flags, as in `kubectl shindan {text} --help`"
                );
            }
            format!("nothing is diagnosed of the kind {text:?}; known are {}", kinds().collect::<Vec<_>>().join(", "))
        })
    }
}

/// Whether a pod fails because its node does.
fn suffers_of_node(pod: &OfPod) -> bool {
    rules::find(&pod.status.cause).is_some_and(|rule| rule.category == Category::Node)
}

/// The kinds that may be asked about, as one types them.
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
    /// As kubectl takes them: `KIND/NAME ...`, or `KIND NAME ...`.
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
                    Some(_) => Err(format!("give either {kind} and names, or KIND/NAME each time: {name}")),
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

    /// Whether a pod is it, or belongs to it.
    pub(super) fn has(&self, pod: &PodFacts) -> bool {
        match self.kind {
            Kind::Pod => *pod.key.name == *self.name,
            Kind::Node => pod.node_name.as_deref() == Some(&self.name),
            Kind::Workload(kind) => {
                top_workload(pod, None).is_some_and(|top| *top.kind == *kind.as_str() && *top.name == *self.name)
            }
        }
    }

    fn is_of_pod(&self, pod: &OfPod) -> bool {
        match self.kind {
            Kind::Pod => *pod.key.name == *self.name,
            Kind::Node => pod.spec.node_name.as_deref() == Some(&self.name),
            Kind::Workload(kind) => {
                pod.spec.workload.as_ref().is_some_and(|own| own.kind == kind.as_str() && own.name == self.name)
            }
        }
    }

    /// Whether something is told of it itself.
    pub(super) fn is_told_of(&self, found: &Found) -> bool {
        let as_pod = || self.kind == Kind::Pod && found.pods.iter().any(|pod| self.is_of_pod(pod));
        as_pod() || found.outers.iter().any(|of| self.is_of_outer(of))
    }

    fn is_of_outer(&self, of: &OfOuter) -> bool {
        match &of.object {
            Outer::Node(spec, _) => self.kind == Kind::Node && spec.node_name == self.name,
            Outer::Workload(spec, _) => spec.workload.kind == self.kind.as_str() && spec.workload.name == self.name,
        }
    }
}

/// Which of all that was found is asked about.
#[derive(Debug)]
pub(in crate::cli) enum Asked {
    All,
    /// All of this kind.
    Kind(Kind),
    These(Vec<Subject>),
    /// Those pods, and what they belong to.
    Pods(BTreeSet<ObjectKey>),
}

impl Asked {
    /// As kubectl takes it: nothing, a kind, or objects.
    pub(super) fn parse(words: &[String]) -> Result<Self, String> {
        match words {
            [] => Ok(Self::All),
            [kind] if !kind.contains('/') => Kind::of(kind).map(Self::Kind),
            words => Subject::parse_all(words).map(Self::These),
        }
    }

    /// The objects that are named.
    pub(super) fn subjects(&self) -> &[Subject] {
        if let Self::These(subjects) = self { subjects } else { &[] }
    }

    /// Whether it is nodes that are asked about, and nothing else: their pods are in all namespaces.
    pub(super) fn is_of_nodes(&self) -> bool {
        match self {
            Self::These(subjects) => subjects.iter().all(|subject| subject.kind == Kind::Node),
            Self::Kind(kind) => *kind == Kind::Node,
            Self::All | Self::Pods(_) => false,
        }
    }

    /// Whether what is asked about fails. Of a node that is itself, or pods that suffer from it: others only run there.
    pub(super) fn fails(&self, found: &Found) -> bool {
        if !self.is_of_nodes() {
            return found.fails();
        }
        found.outers.iter().any(OfOuter::fails) || found.pods.iter().any(|pod| pod.fails() && suffers_of_node(pod))
    }

    /// Nodes that are asked about and have no diagnosis of their own.
    pub(super) fn well_nodes<'a>(&'a self, found: &'a Found) -> impl Iterator<Item = &'a str> {
        let subjects = self.subjects();
        let is_well = |subject: &&Subject| !found.outers.iter().any(|of| subject.is_of_outer(of));
        subjects.iter().filter(|subject| subject.kind == Kind::Node).filter(is_well).map(|subject| &*subject.name)
    }

    /// Keeps what is asked about.
    pub(super) fn keep(&self, found: &mut Found) {
        match self {
            Self::All => {}
            Self::Kind(kind) => {
                found.pods.retain(|pod| kind.has(pod));
                found.outers.retain(|of| match &of.object {
                    Outer::Node(..) => *kind == Kind::Node,
                    Outer::Workload(spec, _) => spec.workload.kind == kind.as_str(),
                });
            }
            Self::These(subjects) => {
                found.pods.retain(|pod| subjects.iter().any(|subject| subject.is_of_pod(pod)));
                found.outers.retain(|of| subjects.iter().any(|subject| subject.is_of_outer(of)));
            }
            Self::Pods(keys) => {
                found.pods.retain(|pod| keys.contains(&pod.key));
                let own = |of: &OfOuter| match &of.object {
                    Outer::Node(..) => false,
                    Outer::Workload(spec, _) => found.pods.iter().any(|pod| {
                        pod.key.namespace == of.key.object.namespace
                            && pod.spec.workload.as_ref() == Some(&spec.workload)
                    }),
                };
                let kept: Vec<bool> = found.outers.iter().map(own).collect();
                let mut kept = kept.into_iter();
                found.outers.retain(|_| kept.next().unwrap_or(false));
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
    fn subjects_are_named_as_kubectl_names_them() {
        for (words, meant) in [
            (&["pod/x"][..], &["Pod x"][..]),
            (&["deploy/web", "sts/db"], &["Deployment web", "StatefulSet db"]),
            (&["deployments.apps/web"], &["Deployment web"]),
            (&["no", "n1", "n2"], &["Node n1", "Node n2"]),
            (&["PODS", "x"], &["Pod x"]),
            (&["cj/nightly"], &["CronJob nightly"]),
            (&[], &[]),
        ] {
            assert_eq!(parsed(words).unwrap(), meant, "{words:?}");
        }
    }

    #[test]
    fn a_kind_alone_means_all_of_it() {
        for (word, kind) in
            [("nodes", Kind::Node), ("po", Kind::Pod), ("Deployments.apps", Kind::Workload(WorkloadKind::Deployment))]
        {
            let asked = Asked::parse(&[word.to_owned()]).unwrap();
            assert!(matches!(asked, Asked::Kind(of) if of == kind), "{word}: {asked:?}");
        }
    }

    #[test]
    fn what_cannot_be_asked_about_is_said() {
        for (words, said) in [
            (&["pod/"][..], "which Pod?"),
            (&["explain", "OOMKilled"], "explain is a command: it stands before all flags"),
            (&["secret/x"], "nothing is diagnosed of the kind \"secret\"; known are pod, node,"),
            (&["pod/x", "y"], "\"y\" has no kind"),
            (&["pod", "x", "pod/y"], "give either pod and names"),
        ] {
            let error = parsed(words).unwrap_err();
            assert!(error.contains(said), "{words:?}: {error}");
        }
    }
}
