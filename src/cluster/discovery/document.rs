//! The discovery documents of the API server: the aggregated one, and those of each group and version.

use serde::Deserialize;

use super::ResourceType;

/// `/api` or `/apis`, in one of its forms.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Root {
    /// The aggregated document (`APIGroupDiscoveryList`).
    items: Option<Vec<Group>>,
    /// `APIGroupList`.
    groups: Vec<GroupVersions>,
    /// `APIVersions`, of the core group.
    versions: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Group {
    metadata: Named,
    /// The preferred version first.
    versions: Vec<Version>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Version {
    version: String,
    resources: Vec<Served>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Served {
    resource: String,
    response_kind: Kind,
    scope: String,
    singular_resource: String,
    short_names: Vec<String>,
    verbs: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Kind {
    kind: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GroupVersions {
    name: String,
    versions: Vec<GroupVersion>,
    preferred_version: GroupVersion,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GroupVersion {
    version: String,
}

/// The document of one group version (`APIResourceList`).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Resources {
    resources: Vec<ListedResource>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ListedResource {
    name: String,
    singular_name: String,
    namespaced: bool,
    kind: String,
    short_names: Vec<String>,
    verbs: Vec<String>,
}

fn can_list(verbs: &[String]) -> bool {
    verbs.iter().any(|verb| verb == "list")
}

impl Root {
    /// The types, if this is the aggregated document.
    pub(super) fn aggregated(&self) -> Option<Vec<ResourceType>> {
        let of_group = |group: &Group| {
            let versions = group.versions.iter();
            let all = versions.flat_map(|version| version.resources.iter().map(move |of| (&version.version, of)));
            let types = all.filter(|(_, of)| can_list(&of.verbs)).map(|(version, of)| ResourceType {
                group: group.metadata.name.clone(),
                kind: of.response_kind.kind.clone(),
                plural: of.resource.clone(),
                is_namespaced: of.scope == "Namespaced",
                singular: of.singular_resource.clone(),
                short_names: of.short_names.clone(),
                versions: vec![version.clone()],
            });
            merged(types)
        };
        Some(self.items.as_ref()?.iter().flat_map(of_group).collect())
    }

    /// Each group with each version, the preferred version first.
    pub(super) fn versions(&self) -> Vec<(String, String)> {
        let core = self.versions.iter().map(|version| (String::new(), version.clone()));
        let of_group = |group: &GroupVersions| {
            let preferred = &group.preferred_version.version;
            let others = group.versions.iter().map(|of| &of.version).filter(|version| *version != preferred);
            let all = Some(preferred).filter(|version| !version.is_empty()).into_iter().chain(others);
            all.map(|version| (group.name.clone(), version.clone())).collect::<Vec<_>>()
        };
        core.chain(self.groups.iter().flat_map(of_group)).collect()
    }
}

impl Resources {
    pub(super) fn types(self, group: &str, version: &str) -> Vec<ResourceType> {
        // A subresource, such as deployments/scale, is no type.
        let types = self.resources.into_iter().filter(|of| can_list(&of.verbs) && !of.name.contains('/'));
        let of_type = types.map(|of| ResourceType {
            group: group.to_owned(),
            kind: of.kind,
            plural: of.name,
            is_namespaced: of.namespaced,
            singular: of.singular_name,
            short_names: of.short_names,
            versions: vec![version.to_owned()],
        });
        of_type.collect()
    }
}

/// Merges the versions of each type. The first one is preferred.
pub(super) fn merged(types: impl Iterator<Item = ResourceType>) -> Vec<ResourceType> {
    let mut all: Vec<ResourceType> = Vec::new();
    for of in types {
        match all.iter_mut().find(|known| known.group == of.group && known.plural == of.plural) {
            Some(known) => known.versions.extend(of.versions),
            None => all.push(of),
        }
    }
    all
}
