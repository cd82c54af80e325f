//! Managers: tools and controllers that reconcile an object, so that direct changes of it are reverted.

use serde::{Deserialize, Serialize};

/// The tool or controller that manages an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Manager {
    /// A Helm release. The name is set if the object contains it.
    Helm { release: Option<String> },
    /// An Argo CD application.
    ArgoCd { application: String },
    /// A Flux Kustomization.
    FluxKustomization { name: String },
    /// A Flux HelmRelease.
    FluxHelmRelease { name: String },
    /// The object that owns it.
    Owner { kind: String, name: String },
}

/// Annotation with the name of a Helm release.
pub const HELM_RELEASE: &str = "meta.helm.sh/release-name";
/// Annotation by which Argo CD tracks an object: `APPLICATION:GROUP/KIND:NAMESPACE/NAME`.
pub const ARGO_CD_TRACKING: &str = "argocd.argoproj.io/tracking-id";

impl Manager {
    /// The manager that labels and annotations name. Tools that revert changes come before Helm, because they install
    /// charts too.
    pub fn of<'a>(
        label: impl Fn(&str) -> Option<&'a str>,
        annotation: impl Fn(&str) -> Option<&'a str>,
    ) -> Option<Self> {
        let tracked = annotation(ARGO_CD_TRACKING).and_then(|id| id.split(':').next());
        if let Some(application) =
            tracked.or_else(|| label("argocd.argoproj.io/instance")).filter(|name| !name.is_empty())
        {
            return Some(Self::ArgoCd { application: application.to_owned() });
        }
        if let Some(name) = label("helm.toolkit.fluxcd.io/name") {
            return Some(Self::FluxHelmRelease { name: name.to_owned() });
        }
        if let Some(name) = label("kustomize.toolkit.fluxcd.io/name") {
            return Some(Self::FluxKustomization { name: name.to_owned() });
        }
        let release = annotation(HELM_RELEASE);
        let is_helm = release.is_some() || label("app.kubernetes.io/managed-by") == Some("Helm");
        is_helm.then(|| Self::Helm { release: release.map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(labels: &[(&str, &'static str)], annotations: &[(&str, &'static str)]) -> Option<Manager> {
        let find = |pairs: &[(&str, &'static str)], key: &str| {
            pairs.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
        };
        Manager::of(|key| find(labels, key), |key| find(annotations, key))
    }

    #[test]
    fn manager_is_read_from_labels_and_annotations() {
        let helm = [("app.kubernetes.io/managed-by", "Helm")];
        assert_eq!(of(&[], &[]), None);
        assert_eq!(of(&[("app.kubernetes.io/managed-by", "kustomize")], &[]), None);
        assert_eq!(of(&helm, &[]), Some(Manager::Helm { release: None }));
        assert_eq!(of(&helm, &[(HELM_RELEASE, "shop")]), Some(Manager::Helm { release: Some("shop".to_owned()) }));
        let tracked = [(ARGO_CD_TRACKING, "shop:apps/Deployment:prod/web"), (HELM_RELEASE, "x")];
        assert_eq!(of(&helm, &tracked), Some(Manager::ArgoCd { application: "shop".to_owned() }));
        let flux = [("kustomize.toolkit.fluxcd.io/name", "apps")];
        assert_eq!(of(&flux, &[]), Some(Manager::FluxKustomization { name: "apps".to_owned() }));
    }
}
