//! Events in the shape of core/v1 or of events.k8s.io/v1.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::lenient::{Int, Name, Obj, Text, Time};
use super::{Interner, meta};
use crate::facts::{EventFacts, Regarding};

#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = k8s_openapi::api::core::v1::Event)]
#[serde(default, rename_all = "camelCase")]
#[allow(clippy::struct_field_names, reason = "the API's own names")]
pub struct Event {
    #[serde(deserialize_with = "meta::slim")]
    pub metadata: ObjectMeta,
    reason: Text,
    r#type: Text,
    event_time: Time,
    series: Obj<Series>,

    involved_object: Obj<Reference>,
    message: Text,
    first_timestamp: Time,
    last_timestamp: Time,
    count: Int,
    source: Obj<Source>,
    reporting_component: Text,

    regarding: Obj<Reference>,
    note: Text,
    deprecated_first_timestamp: Time,
    deprecated_last_timestamp: Time,
    deprecated_count: Int,
    deprecated_source: Obj<Source>,
    reporting_controller: Text,
}

impl Event {
    pub fn is_normal(&self) -> bool {
        &*self.r#type == "Normal"
    }

    pub fn reason(&self) -> &str {
        &self.reason
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Series {
    count: Int,
    last_observed_time: Time,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Reference {
    kind: Name,
    namespace: Name,
    name: Name,
    uid: Text,
    field_path: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Source {
    component: Text,
}

impl Event {
    pub fn into_facts(self, strings: &mut Interner) -> EventFacts {
        let object = self.involved_object.0.or(self.regarding.0).unwrap_or_default();
        let series = self.series.or_default();
        let first = [self.first_timestamp, self.deprecated_first_timestamp, self.event_time]
            .into_iter()
            .find_map(Time::real)
            .or_else(|| meta::created(&self.metadata));
        let last = [self.last_timestamp, self.deprecated_last_timestamp, series.last_observed_time]
            .into_iter()
            .filter_map(Time::real)
            .max()
            .or_else(|| self.event_time.real())
            .or(first);
        let count = [self.count, self.deprecated_count, series.count].into_iter().map(Int::as_u32).max();
        let namespace = match (&*object.namespace, &*object.kind) {
            // A Node has no namespace, and a NodeClaim of Karpenter has none. A hand-written Event about a pod refers to its own namespace, or `default`.
            ("", "Node" | "NodeClaim") => "",
            ("", _) => meta::namespace(&self.metadata),
            (namespace, _) => namespace,
        };
        // Users who may create Events in their namespace can reference an object of any other namespace. Legitimate
        // senders use the namespace of the object, and for a Node a system namespace.
        let is_trusted = match self.metadata.namespace.as_deref() {
            // A file can omit the namespace; the API never does.
            None => true,
            Some(home) if namespace.is_empty() || matches!(&*object.kind, "Node" | "NodeClaim") => {
                matches!(home, "default" | "kube-system")
            }
            Some(home) => home == namespace,
        };
        let kind = if is_trusted { &*object.kind } else { "" };
        let reporter = [
            self.reporting_component,
            self.reporting_controller,
            self.source.or_default().component,
            self.deprecated_source.or_default().component,
        ];
        EventFacts {
            regarding: Regarding {
                kind: strings.intern(kind),
                namespace: strings.intern(namespace),
                name: Arc::from(&*object.name),
                uid: Arc::from(&*object.uid),
                container: container_of(&object.field_path).map(|name| strings.intern(name)),
            },
            reason: strings.intern(&self.reason),
            message: self.message.non_empty().or_else(|| self.note.non_empty()).unwrap_or_default().into(),
            warning: &*self.r#type == "Warning",
            first,
            last,
            count: count.unwrap_or(0).max(1),
            reporter: strings.intern(reporter.iter().find(|r| !r.is_empty()).map_or("", |r| r)),
        }
    }
}

/// Parses the container name: `redis` from `spec.containers{redis}`.
fn container_of(field_path: &str) -> Option<&str> {
    let (_, rest) = field_path.split_once('{')?;
    rest.strip_suffix('}').filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts_of(json: &str) -> EventFacts {
        serde_json::from_str::<Event>(json).unwrap().into_facts(&mut Interner::default())
    }

    #[test]
    fn both_event_shapes_result_in_the_same_facts() {
        let core = facts_of(
            r#"{"involvedObject": {"kind": "Pod", "namespace": "n", "name": "p", "uid": "u", "fieldPath": "spec.containers{redis}"},
                "reason": "Unhealthy", "message": "m", "type": "Warning", "count": 4, "eventTime": null,
                "firstTimestamp": "2026-11-21T09:00:00Z", "lastTimestamp": "2026-11-21T09:01:00Z", "source": {"component": "kubelet"}}"#,
        );
        let new = facts_of(
            r#"{"regarding": {"kind": "Pod", "namespace": "n", "name": "p", "uid": "u", "fieldPath": "spec.containers{redis}"},
                "reason": "Unhealthy", "note": "m", "type": "Warning", "deprecatedCount": 4, "eventTime": null,
                "deprecatedFirstTimestamp": "2026-11-21T09:00:00Z", "deprecatedLastTimestamp": "2026-11-21T09:01:00Z",
                "deprecatedSource": {"component": "kubelet"}}"#,
        );
        assert_eq!(core, new);
        assert_eq!(core.regarding.container.as_deref(), Some("redis"));
        assert_eq!((core.count, &*core.reporter, core.warning), (4, "kubelet", true));
    }

    #[test]
    fn event_must_be_in_the_namespace_of_its_object() {
        let about = |home: &str, regarding: &str| {
            let json = format!(r#"{{"metadata": {{"name": "e", "namespace": "{home}"}}, "regarding": {regarding}}}"#);
            facts_of(&json).regarding.kind.to_string()
        };
        let pod = r#"{"kind": "Pod", "namespace": "shop", "name": "p", "uid": "u"}"#;
        assert_eq!(about("shop", pod), "Pod");
        assert_eq!(about("evil", pod), "", "about a pod of others");
        assert_eq!(about("evil", r#"{"kind": "Pod", "name": "p", "uid": "u"}"#), "Pod", "one of its own");
        for node in [r#"{"kind": "Node", "name": "n1"}"#, r#"{"kind": "Node", "name": "n1", "namespace": "evil"}"#] {
            assert_eq!(about("evil", node), "", "{node}");
        }
        assert_eq!(about("default", r#"{"kind": "Node", "name": "n1"}"#), "Node");
        assert_eq!(about("kube-system", r#"{"kind": "Node", "name": "n1"}"#), "Node");
    }

    #[test]
    fn event_series_of_the_scheduler_are_counted() {
        let event = facts_of(
            r#"{"involvedObject": {"kind": "Pod", "name": "p"}, "lastTimestamp": null, "count": 0, "source": {},
                "eventTime": "2026-11-21T09:00:00.123456Z", "reportingComponent": "default-scheduler",
                "series": {"count": 7, "lastObservedTime": "2026-11-21T09:05:00.000000Z"}}"#,
        );
        assert_eq!(event.count, 7);
        assert_eq!(event.first.unwrap().to_string(), "2026-11-21T09:00:00.123456Z");
        assert_eq!(event.last.unwrap().to_string(), "2026-11-21T09:05:00Z");
        assert_eq!(&*event.regarding.namespace, "default");
        assert_eq!(event.regarding.container, None);
    }
}
