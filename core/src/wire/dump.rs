//! Parsing of dumps: YAML or JSON, with multiple documents, nested lists and mixed kinds.
//!
//! An unreadable document becomes a [`Problem`] and affects no other. Only one object of a list is in memory at a time,
//! besides the text and the facts.

mod fields;
mod tree;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use kube::Resource;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{
    ControllerRevision, CronJob, DaemonSet, Deployment, Dynamic, EndpointSlice, Endpoints, Event, Interner, Job,
    NamedObject, Node, PersistentVolumeClaim, Pod, ReplicaSet, ReplicationController, Service, StatefulSet,
    StorageClass, Workload, keeping, object, own_replica_sets, own_revisions, room, route,
};
use crate::facts::route::{Listed, NetworkObject};
use crate::facts::{EventFacts, KindFields, NamedKind, NamesOf, NodeFacts, PodFacts, Timestamp, WorkloadFacts};

pub use fields::fields_read;

/// Maximum depth of nested lists.
const NESTED: usize = 16;
/// Maximum number of reported problems of one text.
const PROBLEMS: usize = 50;

/// Content of one or more texts.
#[derive(Debug, Clone)]
pub struct Dump {
    pub strings: Interner,
    pub pods: Vec<PodFacts>,
    pub nodes: Vec<NodeFacts>,
    pub events: Vec<EventFacts>,
    /// Includes ReplicaSets, which are also in `replica_sets`.
    pub workloads: Vec<WorkloadFacts>,
    /// Custom resources with a status.
    pub resources: Vec<WorkloadFacts>,
    pub replica_sets: Vec<ReplicaSet>,
    pub revisions: Vec<ControllerRevision>,
    pub services: Vec<Service>,
    pub slices: Vec<EndpointSlice>,
    pub endpoints: Vec<Endpoints>,
    pub claims: Vec<PersistentVolumeClaim>,
    pub classes: Vec<StorageClass>,
    /// Ingresses, Gateways and others on the path of a request; autoscalers and disruption budgets.
    pub network: Vec<NetworkObject>,
    /// Names of ConfigMaps, Secrets and other objects that templates refer to, and of their keys.
    pub names: BTreeMap<NamesOf, BTreeSet<Arc<str>>>,
    /// Kinds of the path of a request of which all objects were read, even if there is none. A text does not state this.
    pub listed: Listed,
    /// Number of objects and lists with a kind, including unused kinds.
    pub objects: usize,
    /// The newest time in any object.
    pub newest: Option<Timestamp>,
    /// The resourceVersions of pods, nodes, workloads and custom resources, by UID.
    pub versions: HashMap<Arc<str>, Box<str>>,
    pub problems: Vec<Problem>,
    /// The kinds that rules name, and the fields that are kept of their objects.
    fields: Arc<KindFields>,
    /// Remaining memory budget for objects, in bytes.
    room: usize,
}

/// A document that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Counted from 1.
    pub document: usize,
    /// Line in the whole text, counted from 1.
    pub line: usize,
    pub message: String,
}

/// Fields that determine the kind of an object. `items` marks a list.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Head<I> {
    api_version: super::lenient::Text,
    kind: super::lenient::Text,
    items: Option<I>,
}

impl Default for Dump {
    /// Creates a dump without a memory limit.
    fn default() -> Self {
        Self::within(usize::MAX)
    }
}

impl Dump {
    /// Creates a dump whose objects take about `room` bytes at most. Objects beyond that are a [`Problem`].
    pub fn within(room: usize) -> Self {
        Self {
            strings: Interner::default(),
            pods: Vec::new(),
            nodes: Vec::new(),
            events: Vec::new(),
            workloads: Vec::new(),
            resources: Vec::new(),
            replica_sets: Vec::new(),
            revisions: Vec::new(),
            services: Vec::new(),
            slices: Vec::new(),
            endpoints: Vec::new(),
            claims: Vec::new(),
            classes: Vec::new(),
            network: Vec::new(),
            names: BTreeMap::new(),
            listed: Listed::default(),
            objects: 0,
            newest: None,
            versions: HashMap::new(),
            problems: Vec::new(),
            fields: Arc::default(),
            room,
        }
    }

    /// Keeps also the fields of custom resources that rules read.
    #[must_use]
    pub fn keeping(self, fields: Arc<KindFields>) -> Self {
        Self { fields, ..self }
    }

    /// Whether the memory limit was exceeded.
    pub fn is_full(&self) -> bool {
        self.room == 0
    }

    /// Adds all objects of a text.
    pub fn read(&mut self, text: &str) {
        self.within_room(|dump| dump.read_all(text));
    }

    /// Adds the objects of a list, which have no kind of their own.
    pub fn read_items(&mut self, kind: &str, items: &[Box<RawValue>]) {
        self.within_room(|dump| {
            for (n, item) in items.iter().enumerate() {
                if let Err(e) = dump.json_value(item, kind, 0) {
                    dump.problems.push(Problem { document: n + 1, line: 1, message: e.to_string() });
                }
            }
        });
    }

    fn within_room(&mut self, read: impl FnOnce(&mut Self)) {
        let mut left = self.room;
        room::within(&mut left, || read(self));
        self.room = left;
    }

    fn read_all(&mut self, text: &str) {
        let text = text.trim_start_matches('\u{feff}');
        self.newest = self.newest.max(newest_time(text));
        let start = text.trim_start();
        let json =
            start.starts_with('[') || start.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('"'));
        // Flow YAML looks like JSON at first, so text that fails as JSON from its first byte is also tried as YAML.
        if json && self.read_json(text, true) {
            return;
        }
        self.read_yaml(text);
    }

    /// Reads concatenated JSON values. Returns `false` if nothing could be read and the text may be YAML.
    fn read_json(&mut self, text: &str, may_be_yaml: bool) -> bool {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        let mut document = 0;
        loop {
            let before = values.byte_offset();
            match values.next() {
                _ if self.has_enough() => return true,
                None => return true,
                Some(Ok(raw)) => {
                    document += 1;
                    if let Err(e) = self.json_value(raw, "", 0) {
                        self.problems.push(Problem { document, line: line_of(text, before), message: e.to_string() });
                    }
                }
                Some(Err(e)) => {
                    if may_be_yaml && document == 0 && !e.is_eof() && is_yaml(text) {
                        return false;
                    }
                    self.problems.push(Problem { document: document + 1, line: e.line(), message: e.to_string() });
                    return true;
                }
            }
        }
    }

    /// Whether to stop reading, because the memory limit is reached or there are too many problems.
    fn has_enough(&self) -> bool {
        room::left() == 0 || self.problems.len() >= PROBLEMS
    }

    fn json_value(&mut self, raw: &RawValue, inherited: &str, depth: usize) -> serde_json::Result<()> {
        if depth > NESTED {
            return Err(serde_json::Error::custom(format_args!("lists within lists, more than {NESTED} deep")));
        }
        let mut d = serde_json::Deserializer::from_str(raw.get());
        if raw.get().starts_with('[') {
            return RawItems { dump: self, inherited, depth }.deserialize(&mut d);
        }
        if !raw.get().starts_with('{') {
            return Ok(());
        }
        let head: Head<IgnoredAny> = serde_json::from_str(raw.get())?;
        let kind = if head.kind.is_empty() { inherited } else { &*head.kind };
        if head.items.is_some() && is_list(kind) {
            self.objects += usize::from(!head.kind.is_empty());
            let inherited = head.kind.strip_suffix("List").unwrap_or_default();
            return RawList(RawItems { dump: self, inherited, depth }).deserialize(&mut d);
        }
        self.object(&head.api_version, kind, &mut d)
    }

    fn read_yaml(&mut self, text: &str) {
        for (number, (line, document)) in documents(text).enumerate() {
            if self.has_enough() {
                return;
            }
            if let Err(e) = tree::read(self, document) {
                let at = e.location().map_or(0, |l| usize::try_from(l.line()).unwrap_or(1).saturating_sub(1));
                self.problems.push(Problem { document: number + 1, line: line + at, message: tree::words(&e) });
            }
        }
    }

    fn value(&mut self, value: Value, inherited: &str) -> serde_json::Result<()> {
        match value {
            Value::Array(items) => items.into_iter().try_for_each(|item| self.value(item, inherited)),
            Value::Object(mut map) => {
                let kind = map.get("kind").and_then(Value::as_str).unwrap_or(inherited).to_owned();
                if is_list(&kind)
                    && let Some(items @ Value::Array(_)) = map.get_mut("items").map(Value::take)
                {
                    self.objects += usize::from(!kind.is_empty());
                    return self.value(items, kind.strip_suffix("List").unwrap_or_default());
                }
                // Through its text: the readers of all kinds exist once in the program, for JSON text.
                let json = serde_json::to_string(&map)?;
                let api_version = map.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
                self.object(api_version, &kind, &mut serde_json::Deserializer::from_str(&json))
            }
            _ => Ok(()),
        }
    }

    /// Adds the current and previous templates of a workload, which are separate objects.
    pub fn complete(&self, workload: &mut WorkloadFacts) {
        match &*workload.key.kind {
            "Deployment" => workload.replica_sets = own_replica_sets(workload, &self.replica_sets),
            "StatefulSet" | "DaemonSet" => workload.revisions = own_revisions(workload, &self.revisions),
            _ => {}
        }
    }

    fn object<'de, D: Deserializer<'de>>(&mut self, api_version: &str, kind: &str, d: D) -> Result<(), D::Error> {
        room::spend(room::OBJECT)?;
        match kind {
            _ if object::is_custom(api_version) => {
                let fields = self.fields.clone();
                let named = fields.iter().find(|(named, _)| object::is_named_by(named, api_version, kind));
                let paths = named.map(|(_, paths)| Arc::new(paths.clone())).unwrap_or_default();
                let read: object::CustomResource = keeping(&paths, || Deserialize::deserialize(d))?;
                let read = Dynamic(read.named_by(named.map(|(kind, _)| kind)));
                let facts = self.facts(read, |Dynamic(read), strings| read.into_facts(strings));
                self.resources.extend(facts);
            }
            "Pod" => {
                let facts = self.facts(Pod::deserialize(d)?, |pod, strings| Some(pod.into_facts(strings)));
                self.pods.extend(facts);
            }
            "Node" => {
                let facts = self.facts(Node::deserialize(d)?, |node, strings| Some(node.into_facts(strings)));
                self.nodes.extend(facts);
            }
            "Event" => self.events.push(Event::deserialize(d)?.into_facts(&mut self.strings)),
            "Service" => self.services.push(Service::deserialize(d)?),
            "EndpointSlice" => self.slices.push(EndpointSlice::deserialize(d)?),
            "Endpoints" => self.endpoints.push(Endpoints::deserialize(d)?),
            "PersistentVolumeClaim" => self.claims.push(PersistentVolumeClaim::deserialize(d)?),
            "ConfigMap" | "Secret" | "ServiceAccount" | "PriorityClass" | "RuntimeClass" | "PersistentVolume" => {
                self.named(kind, d)?;
            }
            "StorageClass" => self.classes.push(StorageClass::deserialize(d)?),
            "ReplicaSet" => {
                let set = ReplicaSet::deserialize(d)?;
                let facts = self.facts(set.clone(), |set, strings| Some(set.into_facts(strings)));
                self.workloads.extend(facts);
                self.replica_sets.push(set);
            }
            "ControllerRevision" => self.revisions.push(ControllerRevision::deserialize(d)?),
            "Deployment" => self.workload::<Deployment, D>(d)?,
            "StatefulSet" => self.workload::<StatefulSet, D>(d)?,
            "DaemonSet" => self.workload::<DaemonSet, D>(d)?,
            "Job" => self.workload::<Job, D>(d)?,
            "CronJob" => self.workload::<CronJob, D>(d)?,
            "ReplicationController" => self.workload::<ReplicationController, D>(d)?,
            _ => self.network.extend(route::read(kind, d)?),
        }
        self.objects += usize::from(!kind.is_empty());
        Ok(())
    }

    fn named<'de, D: Deserializer<'de>>(&mut self, kind: &str, d: D) -> Result<(), D::Error> {
        let object = NamedObject::deserialize(d)?;
        let Some(kind) = NamedKind::named_so(kind) else { return Ok(()) };
        let (objects, keys) = object.places(kind);
        self.names.entry(objects).or_default().insert(object.name().into());
        self.names.entry(keys).or_default().extend(object.into_keys());
        Ok(())
    }

    fn workload<'de, W, D>(&mut self, d: D) -> Result<(), D::Error>
    where
        W: Workload + Resource<DynamicType = ()> + Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let facts = self.facts(W::deserialize(d)?, |workload, strings| Some(workload.into_facts(strings)));
        self.workloads.extend(facts);
        Ok(())
    }

    /// Converts an object to facts, and keeps its resourceVersion, which facts do not have.
    fn facts<O: Resource, F: HasUid>(
        &mut self,
        mut object: O,
        convert: impl FnOnce(O, &mut Interner) -> Option<F>,
    ) -> Option<F> {
        // A file may contain any text.
        const LONGEST: usize = 64;
        let is_valid = |version: &String| {
            (1..=LONGEST).contains(&version.len()) && version.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        let version = object.meta_mut().resource_version.take();
        let facts = convert(object, &mut self.strings)?;
        if let Some(version) = version.filter(is_valid) {
            self.versions.insert(facts.uid().clone(), version.into());
        }
        Some(facts)
    }
}

trait HasUid {
    fn uid(&self) -> &Arc<str>;
}

macro_rules! has_uid {
    ($($facts:ty),*) => {$(
        impl HasUid for $facts {
            fn uid(&self) -> &Arc<str> {
                &self.uid
            }
        }
    )*};
}

has_uid!(PodFacts, NodeFacts, WorkloadFacts);

fn is_list(kind: &str) -> bool {
    kind.is_empty() || kind.ends_with("List")
}

fn line_of(text: &str, offset: usize) -> usize {
    // The offset is the end of the previous value. The next one begins after the white space.
    let rest = &text.as_bytes()[offset.min(text.len())..];
    let skipped = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
    1 + text.get(..offset + skipped).map_or(0, |read| read.matches('\n').count())
}

fn is_yaml(text: &str) -> bool {
    tree::parses(text)
}

/// Splits a YAML text into documents, each with its first line number. A line that begins with `---` always ends a
/// document.
fn documents(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let begins_one = |line: &str| {
        let rest = line.strip_prefix("---");
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
    };
    let (mut rest, mut line) = (text, 1);
    let all = std::iter::from_fn(move || {
        let (mut end, mut lines) = (0, 0);
        for line in rest.split_inclusive('\n') {
            if end > 0 && begins_one(line) {
                break;
            }
            (end, lines) = (end + line.len(), lines + 1);
        }
        let (document, after) = rest.split_at(end);
        let found = (line, document);
        (rest, line) = (after, line + lines);
        (!document.is_empty()).then_some(found)
    });
    all.filter(|(_, document)| {
        document.lines().any(|line| {
            let line = line.trim();
            !(line.is_empty() || line == "---" || line == "..." || line.starts_with('#'))
        })
    })
}

/// Reads the elements of a JSON list one at a time.
struct RawItems<'d> {
    dump: &'d mut Dump,
    inherited: &'d str,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for RawItems<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for RawItems<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut wrong = None;
        while let Some(raw) = seq.next_element::<&RawValue>()? {
            if let Err(e) = self.dump.json_value(raw, self.inherited, self.depth + 1) {
                if self.dump.has_enough() {
                    return Err(A::Error::custom(e));
                }
                // Continue with the elements after it.
                wrong.get_or_insert(e);
            }
        }
        wrong.map_or(Ok(()), |e| Err(A::Error::custom(e)))
    }
}

/// The object that contains such a list.
struct RawList<'d>(RawItems<'d>);

impl<'de> DeserializeSeed<'de> for RawList<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RawList<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let RawItems { dump, inherited, depth } = self.0;
        while let Some(super::lenient::Text(key)) = map.next_key()? {
            if key == "items" {
                map.next_value_seed(RawItems { dump: &mut *dump, inherited, depth })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Fields with timestamps. Two more count under the conditions of [`counts`].
const TIME_FIELDS: [&str; 20] = [
    "creationTimestamp",
    "lastTransitionTime",
    "lastHeartbeatTime",
    "lastProbeTime",
    "lastUpdateTime",
    "lastScheduleTime",
    "lastSuccessfulTime",
    "lastObservedTime",
    "lastTimestamp",
    "firstTimestamp",
    "eventTime",
    "deprecatedFirstTimestamp",
    "deprecatedLastTimestamp",
    "startedAt",
    "finishedAt",
    "startTime",
    "completionTime",
    "renewTime",
    "acquireTime",
    "lastRestartTime",
];

/// The newest time in a text, from objects of any kind (a Lease as well as a Pod).
///
/// It scans the text instead of the objects, because most timestamps, such as the heartbeats of a Node, are not in the
/// facts.
fn newest_time(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let mut newest: Option<(&str, Timestamp)> = None;
    let mut from = 0;
    while let Some(found) = bytes.get(from..).and_then(|rest| rest.iter().position(|b| *b == b'T')) {
        let at = from + found;
        from = at + 1;
        // The date is the ten characters before the `T` and begins with the century.
        let Some(start) = at.checked_sub(10) else { continue };
        if bytes[start] != b'2' || bytes[at - 3] != b'-' || bytes[at - 6] != b'-' {
            continue;
        }
        // All timestamps are shorter. Longer ones are invalid and would be scanned again from each `T`.
        let length = bytes[start..].iter().take(64).take_while(|b| b.is_ascii_digit() || b"-:.TZ+".contains(b)).count();
        let (Some(before), Some(time)) = (text.get(..start), text.get(start..start + length)) else { continue };
        // Times in the same zone, which the API uses, compare as text, so most are skipped without parsing.
        if newest.is_some_and(|(newest, _)| time <= newest) || !counts(before, &text[start + length..]) {
            continue;
        }
        if let Ok(parsed) = time.parse() {
            newest = Some((time, parsed));
        }
    }
    newest.map(|(_, time)| time)
}

/// Whether a timestamp with this text before and after it is a real point in time. `time` only counts in
/// `managedFields`, after an `operation`. `deletionTimestamp` is in the future by the grace period, so it only counts
/// if that is 0, which follows it.
fn counts(before: &str, behind: &str) -> bool {
    match key_before(before) {
        "time" => tail(before, 160).contains("operation"),
        "deletionTimestamp" => [tail(before, 80), head(behind, 60)].iter().any(|near| has_no_grace(near)),
        key => TIME_FIELDS.contains(&key),
    }
}

fn has_no_grace(text: &str) -> bool {
    let Some((_, value)) = text.split_once("deletionGracePeriodSeconds") else { return false };
    value.trim_start_matches(['"', ':', ' ']).split(|c: char| !c.is_ascii_digit()).next() == Some("0")
}

/// The last `length` bytes of a text, or fewer to keep characters whole.
fn tail(text: &str, length: usize) -> &str {
    let from = text.len().saturating_sub(length);
    (from..=text.len()).find_map(|at| text.get(at..)).unwrap_or_default()
}

/// The first `length` bytes of a text, or fewer to keep characters whole.
fn head(text: &str, length: usize) -> &str {
    (0..=text.len().min(length)).rev().find_map(|at| text.get(..at)).unwrap_or_default()
}

/// The key of a value that begins here: `..., "startedAt": "` or `  startedAt: "`.
fn key_before(text: &str) -> &str {
    let text = text.strip_suffix(['"', '\'']).unwrap_or(text).trim_end_matches(' ');
    let Some(text) = text.strip_suffix(':') else { return "" };
    let text = text.trim_end_matches(' ');
    let text = text.strip_suffix('"').unwrap_or(text);
    let begin = text.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
    &text[text.len() - begin..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Dump {
        let mut dump = Dump::default();
        dump.read(text);
        dump
    }

    fn names(dump: &Dump) -> Vec<&str> {
        dump.pods.iter().map(|p| &*p.key.name).collect()
    }

    #[test]
    fn all_input_formats_are_read() {
        for text in [
            "kind: Pod\nmetadata: {name: a}\n---\nkind: Pod\nmetadata: {name: b}\n",
            "---\n# note\n---\nkind: List\nitems:\n- kind: Pod\n  metadata: {name: a}\n- {kind: Pod, metadata: {name: b}}\n",
            "kind: PodList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n",
            "- {kind: Pod, metadata: {name: a}}\n- {kind: Pod, metadata: {name: b}}\n",
            r#"{"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}], "kind": "PodList"}"#,
            r#"[{"kind": "Pod", "metadata": {"name": "a"}}, {"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "b"}}]}]"#,
            "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"a\"}}\n{\"kind\": \"Pod\", \"metadata\": {\"name\": \"b\"}}",
            "{kind: PodList, items: [{metadata: {name: a}}, {metadata: {name: b}}]}",
            "{\"kind\": PodList, items: [{metadata: {name: a}}, {metadata: {name: b}}]}",
            "\u{feff}kind: Pod\nmetadata: {name: a}\n---\nkind: Pod\nmetadata: {name: b, managedFields: [{x: 1}]}\n...\n",
        ] {
            let dump = read(text);
            assert_eq!(dump.problems, [], "{text}");
            assert_eq!(names(&dump), ["a", "b"], "{text}");
        }
    }

    #[test]
    fn the_version_of_an_object_is_kept_if_it_is_one() {
        let dump = read(concat!(
            "{kind: Pod, metadata: {name: a, uid: a, resourceVersion: '9057'}}\n---\n",
            "{kind: Deployment, metadata: {name: b, uid: b, resourceVersion: '12'}}\n---\n",
            "{kind: Node, metadata: {name: node1, uid: node1, resourceVersion: '3'}}\n---\n",
            "{apiVersion: a.example/v1, kind: Site, metadata: {name: c, uid: c, resourceVersion: '8'}, status: {}}\n---\n",
            "{kind: Pod, metadata: {name: d, uid: d, resourceVersion: 'ignore all rules'}}\n---\n",
            "{kind: Pod, metadata: {name: e, uid: e}}\n",
        ));
        let mut known: Vec<_> = dump.versions.iter().map(|(uid, version)| (&**uid, &**version)).collect();
        known.sort_unstable();
        assert_eq!(known, [("a", "9057"), ("b", "12"), ("c", "8"), ("node1", "3")]);
    }

    #[test]
    fn truncated_list_is_not_complete() {
        let whole = "apiVersion: v1\nitems:\n- {kind: Pod, metadata: {name: a}}\n- kind: Pod\n  metadata:\n    name: b\nkind: List\n";
        let read = |text: &str| {
            let mut dump = Dump::default();
            dump.read(text);
            (dump.pods.len(), dump.problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>())
        };
        assert_eq!(read(whole), (2, vec![]));
        let (pods, problems) = read(whole.strip_suffix("kind: List\n").unwrap());
        assert_eq!(pods, 2, "what is there counts");
        assert!(problems.len() == 1 && problems[0].contains("the file seems to be cut off"), "{problems:?}");
        assert_eq!(read("items:\n- {kind: Pod, metadata: {name: a}}\n"), (1, vec![]), "a file that no kubectl printed");
    }

    #[test]
    fn invalid_document_does_not_affect_others() {
        let dump = read(
            "kind: Pod\nmetadata: {name: a}\n---\nkind: Pod\nmetadata: [oops\n---\nkind: Pod\nmetadata: {name: c}\n",
        );
        assert_eq!(names(&dump), ["a", "c"]);
        assert_eq!(dump.problems.len(), 1);
        assert_eq!(dump.problems[0].document, 2);
        assert!((4..=6).contains(&dump.problems[0].line), "{:?}", dump.problems);
        let dump = read("{\"kind\": \"Pod\", \"metadata\": {\"name\": \"a\"}}\n{\"kind\": \"Pod\", oops\n");
        assert_eq!(names(&dump), ["a"]);
        assert_eq!((dump.problems[0].document, dump.problems[0].line), (2, 2));
    }

    #[test]
    fn invalid_object_of_a_json_list_does_not_affect_others() {
        let dump = read(
            r#"{"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "a"}}, {"kind": "Pod", "spec": {}, "spec": {}},
                {"kind": "Pod", "spec": {"priority": 1e999}}, {"kind": "Pod", "metadata": {"name": "c"}}]}"#,
        );
        assert_eq!(names(&dump), ["a", "c"]);
        assert_eq!(dump.problems.len(), 1);
        assert!(dump.problems[0].message.contains("duplicate field"), "{:?}", dump.problems);
    }

    #[test]
    fn newest_time_is_found_in_any_object() {
        let dump = read(
            "kind: Pod\nmetadata:\n  name: a\n  creationTimestamp: \"2026-01-01T00:00:00Z\"\n  deletionTimestamp: \"2027-01-01T00:00:00Z\"\n  managedFields:\n  - time: \"2028-01-01T00:00:00Z\"\n---\nkind: Lease\nspec:\n  renewTime: \"2026-01-02T00:00:00.123456Z\"\n",
        );
        assert_eq!(dump.newest.unwrap().to_string(), "2026-01-02T00:00:00.123456Z");
        let dump =
            read(r#"{"kind":"Event","lastTimestamp":"2026-03-01T00:00:00Z","message":"at 2029-01-01T00:00:00Z"}"#);
        assert_eq!(dump.newest.unwrap().to_string(), "2026-03-01T00:00:00Z");
    }

    #[test]
    fn managed_fields_have_times_and_similar_text_does_not() {
        let newest = |text: &str| read(text).newest.map(|at| at.to_string());
        let written = "kind: Pod\nmetadata:\n  name: a\n  managedFields:\n  - manager: kubelet\n    operation: Update\n    \
                       apiVersion: v1\n    time: '2026-01-03T00:00:00Z'\n";
        assert_eq!(newest(written).as_deref(), Some("2026-01-03T00:00:00Z"));
        let written = r#"{"kind":"Pod","metadata":{"managedFields":[{"manager":"k","operation":"Update","apiVersion":"v1","time":"2026-01-03T00:00:00Z"}]}}"#;
        assert_eq!(newest(written).as_deref(), Some("2026-01-03T00:00:00Z"));
        assert_eq!(newest("kind: Backup\nspec: {time: \"2030-01-01T00:00:00Z\"}\n"), None);
        let deleted = |grace: &str| {
            format!(
                "kind: Pod\nmetadata:\n  deletionGracePeriodSeconds: {grace}\n  deletionTimestamp: \"2026-01-04T00:00:00Z\"\n"
            )
        };
        assert_eq!(newest(&deleted("0")).as_deref(), Some("2026-01-04T00:00:00Z"), "the kubelet is done with it");
        assert_eq!(newest(&deleted("30")), None);
    }

    #[test]
    fn text_without_objects_has_no_time() {
        for text in ["", "\n", "# only a note\n", "just words\n", "---\n---\n", "42"] {
            let dump = read(text);
            assert_eq!(dump.objects, 0, "{text}");
            assert_eq!(dump.problems, [], "{text}");
        }
    }
}
