//! URLs of the pages. Names are in the query, because a dump may contain names like `..` and `a/b`.

use std::borrow::Cow;

use crate::cli::found::NodeOrWorkload;
use shindan_core::api::WorkloadRef;
use shindan_core::facts::{is_custom_group, kind_with_group};

use crate::cli::found::{OfNodeOrWorkload, OfPod};
use crate::cli::ui::view::Seen;

/// The object of a diagnosis page, as in its URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::cli::ui) enum Subject {
    Pod {
        namespace: String,
        name: String,
    },
    /// The group is that of a custom resource, because kinds of different groups share names.
    Workload {
        namespace: String,
        group: String,
        kind: String,
        name: String,
    },
    Node {
        name: String,
    },
}

impl Subject {
    /// Parses the path and the query of a URL.
    pub(in crate::cli::ui) fn parse(path: &str, query: &str) -> Option<Self> {
        let of = |asked: &str| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            pairs.find(|(name, _)| name == asked).map(|(_, value)| value.into_owned()).unwrap_or_default()
        };
        match path {
            "/pod" => Some(Self::Pod { namespace: of("namespace"), name: of("name") }),
            "/workload" => Some(Self::Workload {
                namespace: of("namespace"),
                group: of("group"),
                kind: of("kind"),
                name: of("name"),
            }),
            "/node" => Some(Self::Node { name: of("name") }),
            _ => None,
        }
    }

    pub(super) fn href(&self) -> String {
        let (path, pairs) = match self {
            Self::Pod { namespace, name } => ("/pod", vec![("namespace", namespace), ("name", name)]),
            Self::Workload { namespace, group, kind, name } => {
                let group = Some(("group", group)).filter(|(_, group)| !group.is_empty());
                let pairs = [("namespace", namespace), ("kind", kind), ("name", name)];
                ("/workload", group.into_iter().chain(pairs).collect())
            }
            Self::Node { name } => ("/node", vec![("name", name)]),
        };
        format!("{path}?{}", form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish())
    }

    pub(super) fn of_pod(pod: &OfPod) -> Self {
        Self::Pod { namespace: pod.key.namespace.to_string(), name: pod.key.name.to_string() }
    }

    pub(super) fn of_node_or_workload(of: &OfNodeOrWorkload) -> Self {
        match &of.object {
            NodeOrWorkload::Node(spec, _) => Self::Node { name: spec.node_name.clone() },
            NodeOrWorkload::Workload(spec, _) => Self::of_workload(&spec.workload, &of.key.object.namespace),
        }
    }

    pub(super) fn of_workload(workload: &WorkloadRef, namespace: &str) -> Self {
        let group = workload.api_version.split_once('/').map_or("", |(group, _)| group);
        Self::Workload {
            namespace: namespace.to_owned(),
            group: if is_custom_group(group) { group.to_owned() } else { String::new() },
            kind: workload.kind.clone(),
            name: workload.name.clone(),
        }
    }

    /// `Deployment`, `Pod`, `Node`; with the group if Kubernetes has another kind of this name.
    pub(in crate::cli::ui) fn kind(&self) -> Cow<'_, str> {
        match self {
            Self::Pod { .. } => "Pod".into(),
            Self::Workload { group, kind, .. } => kind_with_group(&format!("{group}/"), kind),
            Self::Node { .. } => "Node".into(),
        }
    }

    /// As an argument of kubectl: `Deployment/web`, `certificate.cert-manager.io/web`.
    pub(in crate::cli::ui) fn argument(&self) -> String {
        match self {
            Self::Workload { group, kind, name, .. } if !group.is_empty() => {
                format!("{}.{group}/{name}", kind.to_ascii_lowercase())
            }
            subject => format!("{}/{}", subject.kind(), subject.name()),
        }
    }

    pub(in crate::cli::ui) fn name(&self) -> &str {
        let (Self::Pod { name, .. } | Self::Workload { name, .. } | Self::Node { name }) = self;
        name
    }

    pub(in crate::cli::ui) fn namespace(&self) -> &str {
        match self {
            Self::Pod { namespace, .. } | Self::Workload { namespace, .. } => namespace,
            Self::Node { .. } => "",
        }
    }
}

impl<'s> Seen<'s> {
    pub(super) fn node_or_workload(&self, subject: &Subject) -> Option<&'s OfNodeOrWorkload> {
        self.found.nodes_and_workloads.iter().find(|of| Subject::of_node_or_workload(of) == *subject)
    }

    pub(super) fn pod(&self, subject: &Subject) -> Option<&'s OfPod> {
        let Subject::Pod { namespace, name } = subject else { return None };
        self.found.pods.iter().find(|pod| *pod.key.name == **name && *pod.key.namespace == **namespace)
    }

    /// The URL of the page of a subject. `None`: it has no diagnosis.
    pub(super) fn href(&self, subject: &Subject) -> Option<String> {
        let is_there = match subject {
            Subject::Pod { .. } => self.pod(subject).is_some(),
            _ => self.node_or_workload(subject).is_some(),
        };
        is_there.then(|| subject.href())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_survives_a_round_trip_through_its_url() {
        for name in ["web", "..", "a/b?c#d&e=f", "<script>", "%2e", "診断", ""] {
            let name = name.to_owned();
            for subject in [
                Subject::Pod { namespace: name.clone(), name: name.clone() },
                Subject::Workload {
                    namespace: "x".to_owned(),
                    group: name.clone(),
                    kind: name.clone(),
                    name: name.clone(),
                },
                Subject::Node { name },
            ] {
                let href = subject.href();
                assert!(href.is_ascii() && !href.contains(['<', '"', '#']), "{href}");
                let (path, query) = href.split_once('?').unwrap();
                assert_eq!(Subject::parse(path, query), Some(subject));
            }
        }
        assert_eq!(Subject::parse("/secret", "name=x"), None);
    }
}
