//! Incidents: Active diagnoses with the same root, or of the same workload if they have no root.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use shindan_core::api::{DiagnosisKind, DiagnosisState, Root, Severity};
use shindan_core::case::RootKind;
use shindan_core::facts::{Timestamp, WorkloadKey};
use shindan_core::language::Language;
use shindan_core::reconcile::{DiagnosisKey, Object, past_failures};

use super::message::{Affected, Notice, OBJECTS_MAX};

/// Identifies an incident: its root, with the namespace if the root has one.
pub type IncidentKey = Arc<str>;

/// A diagnosis, as far as messages need it.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub diagnosis: DiagnosisKey,
    pub incident: IncidentKey,
    pub root: Option<Root>,
    /// Empty for a node.
    pub namespace: Arc<str>,
    /// Kind and name of the diagnosed object.
    pub object: Box<str>,
    pub state: DiagnosisState,
    pub cause: String,
    pub category: String,
    pub severity: Severity,
    pub summary: String,
    /// Text and command of each remedy, the first one first.
    pub remedies: Vec<(String, Option<String>)>,
    /// How often a workload failed with this cause before.
    pub recurrence: Option<String>,
    pub since: Option<Timestamp>,
    /// The last transition; of an ended diagnosis, its end.
    pub changed: Option<Timestamp>,
    /// Number of failing pods.
    pub pods: u32,
}

impl Member {
    /// The member of an incident that a diagnosis is. Pods of a workload that has a diagnosis of its own are reported with it.
    pub fn of(key: &DiagnosisKey, object: &Object) -> Option<Self> {
        let namespace = key.object.namespace.clone();
        let (root, name, pods) = match object {
            Object::Node(spec, status) => {
                let root = RootKind::Node.named(&spec.node_name);
                (Some(root), format!("Node/{}", spec.node_name), status.pods)
            }
            Object::Workload(spec, status) => {
                let root = status.root.as_ref().map(|reach| reach.root.clone());
                (root, WorkloadKey::of(&spec.workload, &namespace).to_string(), status.pods.failing)
            }
            Object::Pod(spec, status) => {
                let workload = spec.workload.as_ref().map(|of| WorkloadKey::of(of, &namespace));
                if workload.as_ref().is_some_and(|key| key.watched_kind().is_some()) {
                    return None;
                }
                let name = workload.map_or_else(|| format!("Pod/{}", spec.pod_name), |key| key.to_string());
                (status.root.clone(), name, 1)
            }
        };
        let recurrence = match object {
            Object::Workload(_, status) => past_failures::recurrence(status, Language::English),
            Object::Node(..) | Object::Pod(..) => None,
        };
        let head = object.head();
        let incident = match &root {
            Some(root) if is_everywhere(root) => format!("{}/{}", root.kind, root.name),
            Some(root) => format!("{namespace}/{}/{}", root.kind, root.name),
            None => format!("{namespace}/{name}"),
        };
        Some(Self {
            diagnosis: key.clone(),
            incident: incident.into(),
            root,
            namespace,
            object: name.into(),
            state: head.state,
            cause: head.cause.clone(),
            category: head.category.clone(),
            severity: head.severity,
            summary: head.summary.clone(),
            remedies: head.remedies.iter().map(|of| (of.text.clone(), of.command.clone())).collect(),
            recurrence,
            since: head.first_seen,
            changed: head.last_transition,
            pods,
        })
    }

    pub fn is_active(&self) -> bool {
        self.state == DiagnosisState::Active
    }

    /// The diagnosed object with its namespace.
    fn affected(&self) -> Affected {
        Affected { namespace: self.namespace.to_string(), object: self.object.to_string() }
    }
}

/// The remedy of an incident: the one that most of its diagnoses have and state early, because that is the one for their
/// root. One that is for a single object, such as a rollback, names it.
fn remedy(members: &[&Member]) -> Option<(String, Option<String>)> {
    if let [only] = members {
        return only.remedies.first().cloned();
    }
    let longest = members.iter().map(|member| member.remedies.len()).max()?;
    let mut offers: Vec<Offer<'_>> = Vec::new();
    for member in members {
        for (place, (text, command)) in member.remedies.iter().enumerate() {
            let (weight, command) = (longest - place, command.as_deref());
            match offers.iter_mut().find(|of| of.text == text) {
                Some(of) => {
                    of.weight += weight;
                    of.is_shared |= of.command == command;
                    of.differs |= of.command != command;
                }
                None => offers.push(Offer { text, command, of: member, weight, is_shared: false, differs: false }),
            }
        }
    }
    // The first one of several with the same weight.
    let best = offers.iter().rev().max_by_key(|of| if of.differs { of.weight / 2 } else { of.weight })?;
    let is_of_all = best.is_shared && !best.differs;
    let text = if is_of_all { best.text.to_owned() } else { format!("{}: {}", best.of.affected(), best.text) };
    Some((text, best.command.map(ToOwned::to_owned)))
}

/// A remedy of some diagnoses of an incident.
struct Offer<'m> {
    text: &'m str,
    /// That of `of`, the first diagnosis with this text.
    command: Option<&'m str>,
    of: &'m Member,
    /// Larger the more diagnoses have it, and the earlier they state it.
    weight: usize,
    /// Whether another diagnosis has the same command, or another one.
    is_shared: bool,
    differs: bool,
}

/// Whether the root is one object for all namespaces. An image is not: each owner of a manifest that names it must act.
fn is_everywhere(root: &Root) -> bool {
    let kind = RootKind::named_so(&root.kind).filter(|kind| *kind != RootKind::Image);
    kind.is_some_and(RootKind::is_of_the_cluster)
}

/// How the last diagnosis of an incident ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct End {
    pub at: Option<Timestamp>,
    /// The summary after the recovery, or that the object was deleted.
    pub how: String,
    /// The object that `how` describes, unless it names the object itself.
    pub object: String,
}

impl End {
    pub fn of(member: &Member) -> Self {
        let (how, object) = match member.state {
            DiagnosisState::Recovered => (member.summary.clone(), member.affected().to_string()),
            DiagnosisState::Gone => (format!("{} was deleted", member.object), String::new()),
            DiagnosisState::Active => {
                (format!("{} is no longer selected by a route: {}", member.object, member.severity), String::new())
            }
        };
        Self { at: member.changed, how, object }
    }
}

#[derive(Debug)]
struct Routed {
    member: Member,
    /// Bits of the receivers.
    receivers: u64,
}

#[derive(Debug, Default)]
struct Incident {
    members: BTreeMap<DiagnosisKey, Routed>,
    end: End,
}

/// All incidents, and which diagnosis belongs to which.
#[derive(Debug, Default)]
pub struct Incidents {
    by_key: HashMap<IncidentKey, Incident>,
    of: HashMap<DiagnosisKey, IncidentKey>,
}

impl Incidents {
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Takes in a diagnosis that goes to these receivers. Returns the incidents that it changes.
    pub fn apply(&mut self, member: Member, receivers: u64) -> Vec<IncidentKey> {
        let key = member.incident.clone();
        if !member.is_active() || receivers == 0 {
            return self.end(&member.diagnosis, End::of(&member)).into_iter().collect();
        }
        // A diagnosis with another root leaves its former incident.
        let former = self.of.get(&member.diagnosis).filter(|former| **former != key).cloned();
        let left = former.and_then(|_| self.end(&member.diagnosis, End { at: member.changed, ..End::default() }));
        self.of.insert(member.diagnosis.clone(), key.clone());
        let incident = self.by_key.entry(key.clone()).or_default();
        incident.members.insert(member.diagnosis.clone(), Routed { member, receivers });
        left.into_iter().chain([key]).collect()
    }

    /// Removes a diagnosis that no longer exists. Returns its incident.
    pub fn remove(&mut self, diagnosis: &DiagnosisKey) -> Option<IncidentKey> {
        self.end(diagnosis, End { how: "its namespace was deleted".to_owned(), ..End::default() })
    }

    fn end(&mut self, diagnosis: &DiagnosisKey, end: End) -> Option<IncidentKey> {
        let key = self.of.remove(diagnosis)?;
        if let Some(incident) = self.by_key.get_mut(&key) {
            incident.members.remove(diagnosis);
            incident.end = end;
        }
        Some(key)
    }

    /// The present state of an incident for a receiver: only the diagnoses that are routed to it. `None`: it has ended.
    pub fn notice(&self, key: &IncidentKey, receiver: usize) -> Option<Notice> {
        let is_routed = |routed: &&Routed| routed.receivers & (1 << receiver) != 0;
        let mut members: Vec<&Member> =
            self.by_key.get(key)?.members.values().filter(is_routed).map(|routed| &routed.member).collect();
        members.sort_by_key(|member| (member.diagnosis.kind != DiagnosisKind::Node, member.severity, member.since));
        let first = members.first()?;
        let objects: BTreeSet<_> = members.iter().map(|member| (&member.namespace, &member.object)).collect();
        let namespaces: BTreeSet<_> =
            objects.iter().map(|(namespace, _)| namespace.to_string()).filter(|name| !name.is_empty()).collect();
        let causes: BTreeSet<_> = members.iter().map(|member| member.cause.clone()).collect();
        let mut seen = BTreeSet::new();
        let listed = members.iter().filter(|member| seen.insert((&member.namespace, &member.object)));
        let is_one = objects.len() == 1;
        let whose = if is_one { String::new() } else { format!("{}: ", first.affected()) };
        Some(Notice {
            incident: key.clone(),
            root: first.root.clone(),
            severity: members.iter().map(|member| member.severity).min().unwrap_or(first.severity),
            cause: first.cause.clone(),
            category: first.category.clone(),
            summary: format!("{whose}{}", first.summary),
            causes,
            affected: objects.len(),
            objects: listed.take(OBJECTS_MAX).map(|member| member.affected()).collect(),
            namespaces: namespaces.into_iter().collect(),
            pods: members.iter().map(|member| member.pods).sum(),
            since: members.iter().filter_map(|member| member.since).min(),
            remedy: remedy(&members),
            recurrence: first.recurrence.clone().filter(|_| is_one),
            end: None,
        })
    }

    /// How an incident without members ended.
    pub fn end_of(&self, key: &IncidentKey) -> End {
        self.by_key.get(key).map(|incident| incident.end.clone()).unwrap_or_default()
    }

    /// Forgets an incident without members.
    pub fn forget_ended(&mut self, key: &IncidentKey) {
        if self.by_key.get(key).is_some_and(|incident| incident.members.is_empty()) {
            self.by_key.remove(key);
        }
    }

    /// A diagnosis of the incident, preferably `last`.
    pub fn any_member<'a>(&'a self, key: &IncidentKey, last: Option<&'a DiagnosisKey>) -> Option<&'a DiagnosisKey> {
        let members = &self.by_key.get(key)?.members;
        last.filter(|last| members.contains_key(last)).or_else(|| members.keys().next())
    }
}

/// The notice of one diagnosis, whose incident was reported by an earlier process.
pub fn restored(key: &IncidentKey, member: &Member) -> Notice {
    let affected = member.affected();
    Notice {
        incident: key.clone(),
        root: member.root.clone(),
        severity: member.severity,
        cause: member.cause.clone(),
        category: member.category.clone(),
        summary: member.summary.clone(),
        causes: BTreeSet::from([member.cause.clone()]),
        affected: 1,
        namespaces: Some(affected.namespace.clone()).filter(|name| !name.is_empty()).into_iter().collect(),
        objects: vec![affected],
        pods: member.pods,
        since: member.since,
        remedy: member.remedies.first().cloned(),
        recurrence: member.recurrence.clone(),
        end: (!member.is_active()).then(|| End::of(member)),
    }
}

#[cfg(test)]
pub(crate) mod tests;
