//! Sections of the overview: workloads by severity, then objects of other kinds.

use shindan_core::facts::route::NetworkKind;
use shindan_core::language::{Language, phrase};

use super::link::Subject;

/// A section of the overview, in the order of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    /// Workloads, nodes and pods, in a group for each severity.
    Workloads,
    /// Objects of the path of a request, autoscalers and disruption budgets.
    Networking,
    /// Custom resources.
    OtherKinds,
    Ended,
}

impl Section {
    /// The section of an active diagnosis.
    pub(super) fn of(subject: &Subject) -> Self {
        match subject {
            Subject::Workload { group, .. } if !group.is_empty() => Self::OtherKinds,
            Subject::Workload { kind, .. } if NetworkKind::diagnosed().any(|of| of.as_str() == kind) => {
                Self::Networking
            }
            _ => Self::Workloads,
        }
    }

    /// `None`: the severity is the title.
    pub(super) fn title(self, language: Language) -> Option<&'static str> {
        match self {
            Self::Workloads => None,
            Self::Networking => Some(phrase!(language, "Networking", "ネットワーク")),
            Self::OtherKinds => Some(phrase!(language, "Other kinds", "その他の種類")),
            Self::Ended => Some(phrase!(language, "Ended", "終了")),
        }
    }

    /// CSS class. `None`: that of the severity.
    pub(super) fn class(self) -> Option<&'static str> {
        match self {
            Self::Workloads => None,
            Self::Networking | Self::OtherKinds => Some("kinds"),
            Self::Ended => Some("ended"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(group: &str, kind: &str) -> Section {
        let (namespace, name) = ("shop".to_owned(), "web".to_owned());
        Section::of(&Subject::Workload { namespace, group: group.to_owned(), kind: kind.to_owned(), name })
    }

    #[test]
    fn an_object_is_in_the_section_of_its_kind() {
        for (group, kind, expected) in [
            ("", "Deployment", Section::Workloads),
            ("", "CronJob", Section::Workloads),
            ("", "Ingress", Section::Networking),
            ("", "Gateway", Section::Networking),
            ("", "HTTPRoute", Section::Networking),
            ("", "GRPCRoute", Section::Networking),
            ("", "Service", Section::Networking),
            ("", "HorizontalPodAutoscaler", Section::Networking),
            ("", "PodDisruptionBudget", Section::Networking),
            ("serving.knative.dev", "Service", Section::OtherKinds),
            ("networking.istio.io", "Gateway", Section::OtherKinds),
            ("cert-manager.io", "Certificate", Section::OtherKinds),
        ] {
            assert_eq!(section(group, kind), expected, "{kind} {group}");
        }
        assert_eq!(Section::of(&Subject::Node { name: "n1".to_owned() }), Section::Workloads);
    }
}
