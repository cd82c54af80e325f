//! The resource types that the API server serves, by the names that kubectl accepts.

mod document;
#[cfg(test)]
pub(crate) mod tests;

use std::time::Duration;

use futures::stream::{self, StreamExt, TryStreamExt};
use kube::Client;
use kube::api::ApiResource;
use serde::de::DeserializeOwned;
use shindan_core::facts::is_custom_group;

use self::document::{Resources, Root};
use super::Failure;
use super::call;

/// The aggregated document, which needs one request, with the older forms as alternatives.
const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
/// Concurrent requests to an API server without the aggregated document.
const CONCURRENT: usize = 8;
/// Maximum number of types of one family: a Crossplane provider can install hundreds.
const FAMILY_MAX: usize = 40;

/// A type whose objects can be listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceType {
    /// Empty for the core group.
    pub group: String,
    pub kind: String,
    pub plural: String,
    pub is_namespaced: bool,
    singular: String,
    short_names: Vec<String>,
    /// The served versions, the preferred one first.
    versions: Vec<String>,
}

impl ResourceType {
    /// `cert-manager.io/v1`, or `v1`.
    pub fn api_version(&self) -> String {
        let version = self.versions.first().map_or("v1", |version| version);
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }

    /// `certificates.cert-manager.io`.
    pub fn full_name(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Whether it is no type of Kubernetes, so that its objects are diagnosed by their status.
    pub fn is_custom(&self) -> bool {
        is_custom_group(&self.group)
    }

    /// The URL path of its objects.
    pub fn path(&self, namespace: Option<&str>) -> String {
        let api = if self.group.is_empty() { "api" } else { "apis" };
        let (version, plural) = (self.api_version(), &self.plural);
        match namespace.filter(|_| self.is_namespaced) {
            Some(namespace) => format!("/{api}/{version}/namespaces/{namespace}/{plural}"),
            None => format!("/{api}/{version}/{plural}"),
        }
    }

    pub(super) fn api_resource(&self) -> ApiResource {
        ApiResource {
            group: self.group.clone(),
            version: self.versions.first().cloned().unwrap_or_default(),
            api_version: self.api_version(),
            kind: self.kind.clone(),
            plural: self.plural.clone(),
        }
    }

    /// The precedence of a name among the names of all types, as for kubectl: a resource name precedes a short name.
    fn rank(&self, word: &str) -> Option<u8> {
        if word == self.plural || word == self.singular {
            return Some(0);
        }
        if self.short_names.iter().any(|short| short == word) {
            return Some(1);
        }
        (word == self.kind.to_ascii_lowercase()).then_some(2)
    }

    /// Whether the type is of this group: `cert-manager.io`, `v1.cert-manager.io`.
    fn is_of(&self, group: &str) -> bool {
        let is_version = |version: &str| self.versions.iter().any(|served| served == version);
        let is_of_version = |(version, group): (&str, &str)| is_version(version) && group == self.group;
        group == self.group || group.split_once('.').is_some_and(is_of_version)
    }
}

/// The types of the API server, in its order, by which kubectl chooses among types of the same name.
#[derive(Debug, Default)]
pub struct ResourceTypes {
    all: Vec<ResourceType>,
}

impl ResourceTypes {
    /// The types that a word of the command line names, the one that kubectl chooses first: `certificate`, `certificates`,
    /// `cert`, `certificate.cert-manager.io`, `certificates.v1.cert-manager.io`.
    pub fn named(&self, word: &str) -> Vec<&ResourceType> {
        let word = word.to_ascii_lowercase();
        let (name, group) = word.split_once('.').map_or((&*word, None), |(name, group)| (name, Some(group)));
        let ranked = |is_group: &dyn Fn(&ResourceType) -> bool| {
            let of_group = self.all.iter().filter(|of| is_group(of));
            let all: Vec<_> = of_group.filter_map(|of| Some((of.rank(name)?, of))).collect();
            let best = all.iter().map(|(rank, _)| *rank).min();
            all.into_iter().filter(|(rank, _)| Some(*rank) == best).map(|(_, of)| of).collect::<Vec<_>>()
        };
        let Some(group) = group else { return ranked(&|_| true) };
        let exact = ranked(&|of| of.is_of(group));
        // kubectl also accepts the beginning of a group.
        if exact.is_empty() && !group.is_empty() { ranked(&|of| of.group.starts_with(group)) } else { exact }
    }

    /// The type of a kind.
    pub fn of_kind(&self, group: &str, kind: &str) -> Option<&ResourceType> {
        self.all.iter().find(|of| of.group == group && of.kind == kind)
    }

    /// The type with this plural and group.
    pub fn of_plural(&self, group: &str, plural: &str) -> Option<&ResourceType> {
        self.all.iter().find(|of| of.group == group && of.plural == plural)
    }

    /// The other custom types of the project: those whose objects may be controlled by objects of this type. For
    /// `cert-manager.io` these include `acme.cert-manager.io`.
    pub fn family(&self, of: &ResourceType) -> Vec<ResourceType> {
        let domain = domain(&of.group);
        let is_below = |group: &str| group == domain || group.strip_suffix(domain).is_some_and(|g| g.ends_with('.'));
        let is_part = |other: &&ResourceType| {
            // A namespaced object cannot control one without a namespace.
            let may_be_controlled = other.is_namespaced || !of.is_namespaced;
            *other != of && other.is_custom() && may_be_controlled && is_below(&other.group)
        };
        let (own, others): (Vec<_>, Vec<_>) =
            self.all.iter().filter(is_part).cloned().partition(|other| other.group == of.group);
        own.into_iter().chain(others).take(FAMILY_MAX).collect()
    }
}

/// The registered domain of a group: `cert-manager.io` of `acme.cert-manager.io`.
fn domain(group: &str) -> &str {
    /// Second-level domains under which countries register names.
    const SHARED: [&str; 7] = ["co", "com", "net", "org", "gov", "edu", "ac"];
    let labels: Vec<&str> = group.rsplitn(4, '.').collect();
    let kept = match &labels[..] {
        [country, shared, ..] if country.len() == 2 && SHARED.contains(shared) => 3,
        _ => 2,
    };
    let length = labels.iter().take(kept.min(labels.len())).map(|label| label.len() + 1).sum::<usize>();
    &group[group.len().saturating_sub(length.saturating_sub(1))..]
}

/// Reads the types that the API server serves. Groups that cannot be read, such as those of an aggregated API server that
/// is down, are left out.
pub async fn types(client: &Client, limit: Duration) -> Result<ResourceTypes, Failure> {
    let mut all = Vec::new();
    for root in ["/api", "/apis"] {
        let groups: Root = get(client, root, limit).await?;
        match groups.aggregated() {
            Some(types) => all.extend(types),
            None => all.extend(separately(client, root, &groups, limit).await?),
        }
    }
    Ok(ResourceTypes { all })
}

/// Reads the document of each group version, from an API server without the aggregated document.
async fn separately(client: &Client, root: &str, groups: &Root, limit: Duration) -> Result<Vec<ResourceType>, Failure> {
    let of_version = |(group, version): (String, String)| async move {
        let path = if group.is_empty() { format!("{root}/{version}") } else { format!("{root}/{group}/{version}") };
        match get::<Resources>(client, &path, limit).await {
            Ok(resources) => Ok(resources.types(&group, &version)),
            Err(Failure::Api { .. }) => Ok(Vec::new()),
            Err(failure) => Err(failure),
        }
    };
    let read: Vec<_> = stream::iter(groups.versions()).map(of_version).buffered(CONCURRENT).try_collect().await?;
    Ok(document::merged(read.into_iter().flatten()))
}

async fn get<T: DeserializeOwned>(client: &Client, path: &str, limit: Duration) -> Result<T, Failure> {
    let request = http::Request::get(path).header(http::header::ACCEPT, ACCEPT).body(Vec::new());
    call::json(client, request.map_err(|e| Failure::Unreadable(e.to_string()))?, limit).await
}
