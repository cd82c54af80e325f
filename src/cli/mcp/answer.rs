//! Parts that the answers of the tools have in common.
//!
//! Each answer is one JSON object in one line. Text from the cluster or a file is only in fields named `untrusted`: quotation
//! marks and line breaks in it are escaped, so that it cannot end its field. All other text is Shindan's own.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use shindan_core::api::Head;
use shindan_core::facts::Timestamp;
use shindan_core::language::Language;
use shindan_core::message::text;
use shindan_core::rules::{self, Known};

use super::tokens;
use crate::cli::fix;
use crate::cli::found::{Entry, Found, NodeOrWorkload};
use crate::cli::look::By;
use shindan_core::reconcile::DiagnosisKey;

/// Maximum tokens of a list of failures.
pub(super) const OVERVIEW: usize = 2000;
/// Maximum tokens of any other answer.
pub(super) const ONE: usize = 1000;
/// Longest name of an object in Kubernetes.
pub(super) const NAME: usize = 253;
/// Longest name of a namespace or a container in Kubernetes.
pub(super) const LABEL: usize = 63;

/// The first form of an answer that fits. The last one is the shortest, and taken in any case.
pub(super) fn first_that_fits<T: Serialize>(most: usize, forms: impl IntoIterator<Item = T>) -> anyhow::Result<String> {
    let mut last = String::new();
    for form in forms {
        last = serde_json::to_string(&form)?;
        if tokens::at_most(&last) <= most {
            break;
        }
    }
    Ok(last)
}

/// Cleans, masks and cuts text from the cluster.
pub(super) fn clean(text: &str, most: usize) -> String {
    text::line(text, most)
}

/// A time without fractions of a second.
pub(super) fn moment(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// How the diagnoses were made.
pub(super) const fn reported_by(by: By) -> &'static str {
    match by {
        By::Operator | By::OperatorInstead => "the operator",
        By::Here => "a diagnosis made now with your permissions",
        By::HereInstead => "a diagnosis made now: the operator is installed and has not reported it",
    }
}

/// A cause of the catalogue. `None`: it is one of a rule in the cluster, whose name is text from the cluster.
pub(super) fn known_cause(cause: &str) -> Option<Known> {
    rules::known().find(|known| known.cause == cause)
}

/// Stands for the name of a cause that the catalogue does not have.
pub(super) const OF_A_RULE: &str = "of a rule in the cluster";

pub(super) fn cause(cause: &str) -> &'static str {
    known_cause(cause).map_or(OF_A_RULE, |known| known.cause)
}

/// What a cause means, in one sentence.
pub(super) fn meaning(cause: &str) -> Option<String> {
    known_cause(cause).map(|known| known.explain(Language::English).meaning).filter(|text| !text.is_empty())
}

/// An entry with the names by which agents ask for it.
#[derive(Debug, Clone)]
pub(super) struct Subject<'f> {
    pub(super) head: &'f Head,
    /// `Deployment/web`.
    pub(super) object: String,
    /// Empty for a node.
    pub(super) namespace: &'f str,
    /// The object that was read, with its resourceVersion.
    pub(super) source: String,
}

impl<'f> Subject<'f> {
    pub(super) fn of(entry: &Entry<'f>, found: &Found) -> Self {
        let (head, object, key) = match entry {
            Entry::Pod(pod) => {
                (&pod.status.head, format!("Pod/{}", pod.key.name), DiagnosisKey::of_pod(pod.key.clone()))
            }
            Entry::NodeOrWorkload(of, _) => {
                let object = match &of.object {
                    NodeOrWorkload::Node(spec, _) => format!("Node/{}", spec.node_name),
                    NodeOrWorkload::Workload(spec, _) => fix::argument(&spec.workload),
                };
                (of.object.head(), object, of.key.clone())
            }
        };
        let namespace: &str = match entry {
            Entry::Pod(pod) => &pod.key.namespace,
            Entry::NodeOrWorkload(of, _) => &of.key.object.namespace,
        };
        let object = clean(&object, NAME);
        let source = clean(&found.source(&key, &object), NAME);
        Self { head, object, namespace, source }
    }
}

/// Names and their numbers, the most frequent first.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    most: Vec<(String, usize)>,
    others: usize,
}

impl Counts {
    /// Counts names. Keeps the `most` frequent ones.
    pub(super) fn of<'n>(names: impl Iterator<Item = &'n str>, most: usize) -> Self {
        let mut all = std::collections::BTreeMap::<&str, usize>::new();
        for name in names {
            *all.entry(name).or_default() += 1;
        }
        let mut all: Vec<(String, usize)> = all.into_iter().map(|(name, count)| (clean(name, LABEL), count)).collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let others = all.split_off(all.len().min(most)).iter().map(|(_, count)| count).sum();
        Self { most: all, others }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.most.is_empty()
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, count) in &self.most {
            map.serialize_entry(name, count)?;
        }
        if self.others > 0 {
            map.serialize_entry("(others)", &self.others)?;
        }
        map.end()
    }
}
