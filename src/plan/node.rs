//! Events on Nodes: one when an incident begins, one when it is over.

use super::{Action, Announcement, Reference};
use crate::api::short_hash;
use crate::diagnosis::{node::NodeIncident, text};
use crate::facts::{NodeFacts, ObjectKey, Timestamp};

const NOTE_MAX: usize = 1024;

/// The Event that tells of an incident. Its name follows from the incident's identity: posted twice, it is there once.
pub fn node_incident(node: &NodeFacts, incident: &NodeIncident, identity: &str, now: Timestamp) -> Announcement {
    let mut note = incident.summary.clone();
    if let Some(remedy) = incident.remedies.first() {
        note.push_str(". ");
        note.push_str(&remedy.text);
    }
    about(node, incident.cause, Action::Diagnosed, &note, identity, now)
}

/// The Event that tells that it is over.
pub fn node_recovered(node: &NodeFacts, cause: &str, identity: &str, now: Timestamp) -> Announcement {
    let note = format!("Well again after {cause}: node {} is Ready and stable", node.name);
    about(node, "Recovered", Action::Recovered, &note, identity, now)
}

fn about(node: &NodeFacts, reason: &str, action: Action, note: &str, identity: &str, now: Timestamp) -> Announcement {
    // Events on cluster-scoped objects live in `default`, where `kubectl describe node` finds them.
    const NAMESPACE: &str = "default";
    let hash = short_hash(&format!("{identity}/{}", action.as_str()));
    Announcement {
        key: ObjectKey::new(NAMESPACE, format!("{}.{hash}", node.name)),
        regarding: Reference {
            api_version: "v1",
            kind: "Node",
            key: ObjectKey::new("", node.name.clone()),
            uid: Some(node.uid.to_string()),
        },
        related: None,
        warning: action != Action::Recovered,
        reason: reason.to_owned(),
        action,
        note: text::cut_bytes(&text::line(note, NOTE_MAX), NOTE_MAX),
        time: now,
    }
}
