//! What a message states, independent of the receiver. Texts of diagnoses are masked and cleaned already.

use std::collections::BTreeSet;

use shindan_core::api::{Root, Severity};
use shindan_core::facts::{Timestamp, seconds_between};
use shindan_core::message::text;

use super::incident::{End, IncidentKey};

/// Maximum number of objects that a message lists.
pub const OBJECTS_MAX: usize = 10;
/// Maximum number of incidents that a digest lists.
pub const DIGEST_MAX: usize = 20;

/// Why a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Opened,
    Updated,
    Resolved,
}

impl Change {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Updated => "updated",
            Self::Resolved => "resolved",
        }
    }
}

/// An affected object.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Affected {
    pub namespace: String,
    /// Kind and name.
    pub object: String,
}

impl std::fmt::Display for Affected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.object)
        } else {
            write!(f, "{}/{}", self.namespace, self.object)
        }
    }
}

/// The state of an incident for one receiver.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    pub incident: IncidentKey,
    /// `None`: the failure lies in the object itself.
    pub root: Option<Root>,
    pub severity: Severity,
    /// Cause, category and summary of the first affected object.
    pub cause: String,
    pub category: String,
    pub summary: String,
    /// All causes, so that another order of the objects is no change.
    pub causes: BTreeSet<String>,
    /// Number of affected objects.
    pub affected: usize,
    /// The first [`OBJECTS_MAX`] of them.
    pub objects: Vec<Affected>,
    pub namespaces: Vec<String>,
    /// Number of failing pods.
    pub pods: u32,
    pub since: Option<Timestamp>,
    /// Text and command.
    pub remedy: Option<(String, Option<String>)>,
    /// How often the failure of a workload occurred before, as one line.
    pub recurrence: Option<String>,
    pub end: Option<End>,
}

impl Notice {
    /// A stable identifier of the incident in a cluster, without text from the cluster.
    pub fn id(&self, cluster: Option<&str>) -> String {
        super::format::hash(&[cluster.unwrap_or_default(), &self.incident])
    }

    /// What fails: the root, or the only object.
    pub fn subject(&self) -> String {
        match (&self.root, self.objects.as_slice()) {
            (Some(root), _) => root.to_string(),
            (None, [first, ..]) => first.to_string(),
            (None, []) => self.incident.to_string(),
        }
    }

    /// The first line of the message.
    pub fn title(&self, change: Change, cluster: Option<&str>) -> String {
        let word = match change {
            Change::Opened => self.severity.to_string(),
            Change::Updated => format!("{} (update)", self.severity),
            Change::Resolved => "Resolved".to_owned(),
        };
        format!("{}{word}: {}: {}{}", prefix(cluster), self.cause, self.subject(), self.extent())
    }

    /// The only affected object, if it is not the root itself; the number of several.
    fn extent(&self) -> String {
        let only = match (&self.root, self.objects.as_slice()) {
            (Some(root), [only]) if only.object != format!("{}/{}", root.kind, root.name) => format!(" ({only})"),
            _ => String::new(),
        };
        match (self.affected, self.namespaces.len()) {
            (0 | 1, _) => only,
            (objects, 0 | 1) => format!(" ({objects} objects affected)"),
            (objects, namespaces) => format!(" ({objects} objects affected in {namespaces} namespaces)"),
        }
    }

    /// The other lines: a name and a text each.
    pub fn lines(&self, change: Change) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        let is_over = change == Change::Resolved;
        match self.end.as_ref().filter(|end| is_over && !end.how.is_empty()) {
            Some(end) if self.affected > 1 && !end.object.is_empty() => {
                lines.push(("Now", format!("all have ended; {}: {}", end.object, end.how)));
            }
            Some(end) => lines.push(("Now", end.how.clone())),
            None if is_over => {}
            None => lines.push(("Problem", self.summary.clone())),
        }
        lines.push((if is_over { "Was affected" } else { "Affected" }, listed(&self.objects, self.affected)));
        if self.namespaces.len() > 1 && self.affected > self.objects.len() {
            lines.push(("Namespaces", listed(&self.namespaces, self.namespaces.len())));
        }
        if self.pods > 1 && !is_over {
            lines.push(("Failing pods", self.pods.to_string()));
        }
        let since = self.since.map(|since| since.to_string());
        match (since, self.end.as_ref().and_then(|end| end.at).filter(|_| is_over)) {
            (Some(since), None) => lines.push(("Since", since)),
            (Some(since), Some(at)) => {
                let seconds = self.since.map_or(0, |since| seconds_between(since, at));
                lines.push(("Duration", format!("{} (since {since})", text::duration(seconds))));
            }
            (None, _) => {}
        }
        lines.extend(self.recurrence.clone().map(|text| ("Recurrence", text)));
        if let Some((remedy, command)) = self.remedy.as_ref().filter(|_| !is_over) {
            lines.push(("Remedy", remedy.clone()));
            lines.extend(command.clone().map(|command| ("Command", command)));
        }
        lines
    }
}

/// The first [`OBJECTS_MAX`] of `total` names, and how many more there are.
fn listed<T: ToString>(names: &[T], total: usize) -> String {
    let mut shown: Vec<String> = names.iter().take(OBJECTS_MAX).map(ToString::to_string).collect();
    if total > shown.len() {
        shown.push(format!("and {} more", total - shown.len()));
    }
    shown.join(", ")
}

/// Lines with their names, as text.
pub fn joined(lines: &[(&str, String)]) -> String {
    let line = |(name, line): &(&str, String)| if name.is_empty() { line.clone() } else { format!("{name}: {line}") };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn prefix(cluster: Option<&str>) -> String {
    cluster.map(|name| format!("[{name}] ")).unwrap_or_default()
}

/// The first line of a digest.
pub fn digest_title(incidents: &[(Change, std::sync::Arc<Notice>)], cluster: Option<&str>) -> String {
    let ended = incidents.iter().filter(|(change, _)| *change == Change::Resolved).count();
    format!(
        "{}{} incidents in one message: {} active, {ended} resolved",
        prefix(cluster),
        incidents.len(),
        incidents.len() - ended
    )
}

/// The lines of a digest: the title of each incident, the most severe first.
pub fn digest_lines(incidents: &[(Change, std::sync::Arc<Notice>)]) -> Vec<String> {
    let mut lines: Vec<_> =
        incidents.iter().take(DIGEST_MAX).map(|(change, notice)| notice.title(*change, None)).collect();
    if incidents.len() > DIGEST_MAX {
        lines.push(format!("and {} more: kubectl get diagnoses -A", incidents.len() - DIGEST_MAX));
    }
    lines
}
