//! Prometheus metrics of the operator.
//!
//! The values of every label form a closed set: causes are those of the catalogue with the active rules, or `other`, namespaces are the 200
//! with the most active diagnoses, and pod names are never a label.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

mod active;
mod format;
mod parts;
mod watches;

use active::Active;
pub use format::Format;
pub use parts::{Lack, Parts};
use shindan_core::api::{DiagnosisKind, Severity};
use shindan_core::state::Source;
pub use watches::WatchHandle;
use watches::Watches;

/// Label for values outside the closed set.
const OTHER: &str = "other";

/// The version and the commit of this program. A build that does not set the variable is of an unknown commit.
const BUILD: Two = [
    ("version", env!("CARGO_PKG_VERSION")),
    (
        "revision",
        match option_env!("SHINDAN_REVISION") {
            Some(revision) => revision,
            None => "unknown",
        },
    ),
];

type One = [(&'static str, &'static str); 1];
type Two = [(&'static str, &'static str); 2];

/// The labels of an active diagnosis.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActiveKey {
    pub kind: DiagnosisKind,
    /// Empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    pub cause: String,
    pub severity: Severity,
}

/// All metrics. Cheap to clone.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    active: Arc<Active>,
    watches: Arc<Watches>,
    parts: Arc<Parts>,
    build: Family<Two, Gauge>,
    leading: Gauge,
    pods: Gauge,
    nodes: Gauge,
    unrecorded: Gauge,
    kept: Family<One, Gauge>,
    tasks: Gauge,
    outbox: Family<One, Gauge>,
    writes: Family<Two, Counter>,
    write_time: Family<One, Histogram, fn() -> Histogram>,
    lookups: Family<Two, Counter>,
    lookup_time: Family<One, Histogram, fn() -> Histogram>,
    events: Family<One, Counter>,
    events_lost: Counter,
    events_aggregated: Counter,
    latency: Histogram,
    notifications: Family<One, Counter>,
    notification_failures: Family<Two, Counter>,
    notifications_dropped: Family<One, Counter>,
    notifications_pending: Family<One, Gauge>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// A histogram of durations from 1 ms to 33 s, with buckets that double.
fn seconds() -> Histogram {
    Histogram::new(prometheus_client::metrics::histogram::exponential_buckets(0.001, 2.0, 16))
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    pub fn new() -> Self {
        let active = Arc::new(Active::default());
        let watches = Arc::new(Watches::default());
        let parts = Arc::new(Parts::default());
        let mut inner = Inner {
            registry: Registry::with_prefix("shindan"),
            active: active.clone(),
            watches: watches.clone(),
            parts: parts.clone(),
            build: Family::default(),
            leading: Gauge::default(),
            pods: Gauge::default(),
            nodes: Gauge::default(),
            unrecorded: Gauge::default(),
            kept: Family::default(),
            tasks: Gauge::default(),
            outbox: Family::default(),
            writes: Family::default(),
            write_time: Family::new_with_constructor(seconds),
            lookups: Family::default(),
            lookup_time: Family::new_with_constructor(seconds),
            events: Family::default(),
            events_lost: Counter::default(),
            events_aggregated: Counter::default(),
            latency: seconds(),
            notifications: Family::default(),
            notification_failures: Family::default(),
            notifications_dropped: Family::default(),
            notifications_pending: Family::default(),
        };
        inner.build.get_or_create(&BUILD).set(1);
        inner.register();
        inner.registry.register_collector(Box::new(active));
        inner.registry.register_collector(Box::new(watches));
        inner.registry.register_collector(Box::new(parts));
        Self(Arc::new(inner))
    }

    /// Encodes all metrics in a format.
    pub fn encode_as(&self, format: Format) -> Result<String, fmt::Error> {
        let text = self.encode()?;
        Ok(match format {
            Format::OpenMetrics => text,
            Format::Text => format::to_text(&text),
        })
    }

    /// Encodes all metrics in the `OpenMetrics` text format.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            self.0.tasks.set(whole(runtime.metrics().num_alive_tasks()));
        }
        let mut out = String::new();
        encode(&mut out, &self.0.registry)?;
        Ok(out)
    }

    /// Sets whether this replica is the leader.
    pub fn set_leading(&self, leads: bool) {
        self.0.leading.set(i64::from(leads));
    }

    /// Sets the numbers of known Pods and Nodes.
    pub fn set_watched(&self, pods: usize, nodes: usize) {
        self.0.pods.set(whole(pods));
        self.0.nodes.set(whole(nodes));
    }

    /// Replaces the counts of active diagnoses.
    pub fn set_active(&self, counts: BTreeMap<ActiveKey, u64>) {
        self.0.active.set(counts);
    }

    /// The number of Active diagnoses of each cause.
    pub fn active_by_cause(&self) -> BTreeMap<&'static str, u32> {
        self.0.active.by_cause()
    }

    /// Sets the number of active diagnoses without an object because of the limit per namespace.
    pub fn set_unrecorded(&self, diagnoses: usize) {
        self.0.unrecorded.set(whole(diagnoses));
    }

    /// Sets the number of entries in an in-memory collection.
    pub fn set_kept(&self, what: &'static str, entries: usize) {
        self.0.kept.get_or_create(&[("what", what)]).set(whole(entries));
    }

    /// Sets the number of queued writes of a lane.
    pub fn set_outbox(&self, lane: &'static str, depth: usize) {
        self.0.outbox.get_or_create(&[("lane", lane)]).set(whole(depth));
    }

    /// Records the time from an observed change to the acknowledged write.
    pub fn wrote_after(&self, elapsed: Duration) {
        self.0.latency.observe(elapsed.as_secs_f64());
    }

    /// Counts Events that could not be posted.
    pub fn lost_events(&self, events: u64) {
        self.0.events_lost.inc_by(events);
    }

    /// Counts an Event of a pod that was aggregated into the Event of its workload.
    pub fn aggregated_event(&self) {
        self.0.events_aggregated.inc();
    }

    /// The handle with which the watch `name` of a source reports its state.
    pub fn watch(&self, source: Source, name: &'static str) -> WatchHandle {
        Watches::handle(&self.0.watches, source, name)
    }

    /// The parts that are missing at present.
    pub fn parts(&self) -> Arc<Parts> {
        self.0.parts.clone()
    }

    /// Records a write. `code` is the HTTP status or the category of the failure.
    pub(crate) fn wrote(&self, verb: &'static str, code: &'static str, elapsed: Duration) {
        self.0.writes.get_or_create(&[("verb", verb), ("code", code)]).inc();
        self.0.write_time.get_or_create(&[("verb", verb)]).observe(elapsed.as_secs_f64());
    }

    pub(crate) fn record_lookup(&self, kind: &'static str, result: &'static str, elapsed: Duration) {
        self.0.lookups.get_or_create(&[("kind", kind), ("result", result)]).inc();
        self.0.lookup_time.get_or_create(&[("kind", kind)]).observe(elapsed.as_secs_f64());
    }

    pub(crate) fn posted_event(&self, result: &'static str) {
        self.0.events.get_or_create(&[("result", result)]).inc();
    }

    /// Counts a message that a receiver accepted. Names of receivers come from the file of `--notify`.
    pub(crate) fn sent_notification(&self, receiver: &'static str) {
        self.0.notifications.get_or_create(&[("receiver", receiver)]).inc();
    }

    pub(crate) fn failed_notification(&self, receiver: &'static str, reason: &'static str) {
        self.0.notification_failures.get_or_create(&[("receiver", receiver), ("reason", reason)]).inc();
    }

    /// Counts incidents that are not reported to a receiver.
    pub(crate) fn dropped_notifications(&self, receiver: &'static str, incidents: u64) {
        self.0.notifications_dropped.get_or_create(&[("receiver", receiver)]).inc_by(incidents);
    }

    /// Sets the number of incidents whose present state a receiver does not know.
    pub(crate) fn set_pending_notifications(&self, receiver: &'static str, incidents: usize) {
        self.0.notifications_pending.get_or_create(&[("receiver", receiver)]).set(whole(incidents));
    }
}

impl Inner {
    fn register(&mut self) {
        let r = &mut self.registry;
        r.register("build_info", "1, with the version and the commit of this program", self.build.clone());
        r.register(
            "leader",
            "1 if this replica is the leader, which writes; 0 if it is a standby",
            self.leading.clone(),
        );
        r.register("pods_watched", "Pods in memory", self.pods.clone());
        r.register("nodes_watched", "Nodes in memory", self.nodes.clone());
        r.register(
            "diagnoses_without_object",
            "Active diagnoses without a PodDiagnosis object because their namespace has the maximum number of objects",
            self.unrecorded.clone(),
        );
        r.register("kept_entries", "Entries in memory, by their type", self.kept.clone());
        r.register("tasks_alive", "Tasks of the async runtime that have not ended", self.tasks.clone());
        r.register("outbox_depth", "Pods that wait for their diagnosis to be written, by lane", self.outbox.clone());
        r.register("writes", "Write requests, by verb and response code", self.writes.clone());
        r.register_with_unit("write_duration", "Duration of write requests", Unit::Seconds, self.write_time.clone());
        r.register("lookups", "Reads of objects that are not watched, by kind and result", self.lookups.clone());
        r.register_with_unit("lookup_duration", "Duration of lookups", Unit::Seconds, self.lookup_time.clone());
        r.register("events_posted", "Kubernetes Events posted, by result", self.events.clone());
        let help = "Events of pods that were aggregated into the Event of their workload, or with other bare pods";
        r.register("events_folded", help, self.events_aggregated.clone());
        r.register("events_lost", "Kubernetes Events that could not be posted", self.events_lost.clone());
        r.register_with_unit(
            "diagnosis_latency",
            "Time from the observed change to the written object",
            Unit::Seconds,
            self.latency.clone(),
        );
        self.register_notifications();
    }

    fn register_notifications(&mut self) {
        let r = &mut self.registry;
        r.register("notifications_sent", "Messages that a receiver accepted", self.notifications.clone());
        let help = "Tries to send a message that failed, by reason";
        r.register("notification_failures", help, self.notification_failures.clone());
        let help = "Incidents that were not reported to a receiver: it rejected the message, or has too many";
        r.register("notifications_dropped", help, self.notifications_dropped.clone());
        let help = "Incidents whose present state a receiver does not know yet";
        r.register("notifications_pending", help, self.notifications_pending.clone());
    }
}

fn whole(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_carry_prefix_and_unit() {
        let metrics = Metrics::new();
        metrics.set_watched(3, 1);
        metrics.wrote("apply", "200", Duration::from_millis(3));
        metrics.wrote_after(Duration::from_millis(5));
        metrics.set_outbox("failure", 2);
        let text = metrics.encode().unwrap();
        for expected in [
            "shindan_pods_watched 3\n",
            "shindan_writes_total{verb=\"apply\",code=\"200\"} 1\n",
            "shindan_write_duration_seconds_count{verb=\"apply\"} 1\n",
            "shindan_diagnosis_latency_seconds_count 1\n",
            "shindan_outbox_depth{lane=\"failure\"} 2\n",
            "# EOF\n",
        ] {
            assert!(text.contains(expected), "no {expected} in\n{text}");
        }
    }

    #[test]
    fn the_build_is_named_from_the_start() {
        let text = Metrics::new().encode_as(Format::Text).unwrap();
        let line = text.lines().find(|line| line.starts_with("shindan_build_info{")).unwrap();
        let (labels, value) = line.rsplit_once(' ').unwrap();
        assert!(labels.contains(concat!("version=\"", env!("CARGO_PKG_VERSION"), "\"")), "{labels}");
        let (_, revision) = labels.split_once("revision=\"").unwrap();
        let revision = revision.strip_suffix("\"}").unwrap();
        assert!(revision == "unknown" || revision.len() == 40, "{labels}");
        assert_eq!(value, "1");
    }

    #[test]
    fn active_labels_come_from_closed_sets() {
        let metrics = Metrics::new();
        let key = |namespace: String, cause: &str| ActiveKey {
            kind: DiagnosisKind::Pod,
            namespace: namespace.into(),
            cause: cause.to_owned(),
            severity: Severity::Warning,
        };
        let mut counts: BTreeMap<_, _> = (0..300).map(|n| (key(format!("ns{n}"), "OOMKilled"), 2)).collect();
        counts.insert(key("big".to_owned(), "NewerCause"), 50);
        metrics.set_active(counts);
        let text = metrics.encode().unwrap();
        let lines: Vec<_> = text.lines().filter(|l| l.starts_with("shindan_diagnoses_active{")).collect();
        assert_eq!(lines.len(), 201, "200 namespaces and other");
        assert!(
            lines.iter().any(|l| l.contains(r#"kind="Pod",namespace="big",cause="other",severity="Warning"} 50"#)),
            "{text}"
        );
        assert!(lines.iter().any(|l| l.contains(r#"namespace="other""#) && l.ends_with(" 202")), "{text}");
    }

    /// Metric names in the pages exist, and docs/metrics.md lists all metrics.
    #[test]
    fn metrics_in_the_docs_and_dashboards_exist() {
        let metrics = Metrics::new();
        metrics.set_outbox("change", 0);
        metrics.set_kept("pods", 0);
        metrics.wrote("apply", "200", Duration::ZERO);
        metrics.record_lookup("Services", "found", Duration::ZERO);
        metrics.posted_event("posted");
        metrics.sent_notification("chat");
        metrics.failed_notification("chat", "timeout");
        metrics.dropped_notifications("chat", 1);
        metrics.set_pending_notifications("chat", 0);
        metrics.watch(Source::Pods, "pods").failed("timeout");
        metrics.watch(Source::Pods, "pods").listed();
        let text = metrics.encode().unwrap();
        let typed = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
        let known: BTreeSet<String> = typed
            .map(|(name, kind)| if kind == "counter" { format!("{name}_total") } else { name.to_owned() })
            .collect();
        let in_table: BTreeSet<String> = include_str!("../docs/metrics.md")
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
            .map(|(name, _)| name.to_owned())
            .collect();
        assert_eq!(in_table, known, "docs/metrics.md has a row for each metric");
        for page in [include_str!("../README.md"), include_str!("../docs/events.md"), include_str!("../docs/api.md")] {
            let words = page.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            for name in words.filter(|word| word.starts_with("shindan_")) {
                assert!(known.contains(name), "a page names {name}");
            }
        }
    }
}
