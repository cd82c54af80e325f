//! State of each watch: time since the last response of the API server, and failures.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use shindan_core::state::Source;
use tokio::time::Instant;

#[derive(Debug, Default)]
pub(super) struct Watches {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Time of the last sign of life, by source and name.
    alive: BTreeMap<(Source, &'static str), Instant>,
    errors: BTreeMap<(Source, &'static str), u64>,
    lists: BTreeMap<Source, u64>,
}

/// Handle with which a watch reports its state.
#[derive(Debug, Clone)]
pub struct WatchHandle {
    watches: Arc<Watches>,
    source: Source,
    name: &'static str,
}

impl Watches {
    /// The handle of a watch. The time since the last sign of life counts from now, before the first response.
    pub(super) fn handle(this: &Arc<Self>, source: Source, name: &'static str) -> WatchHandle {
        let handle = WatchHandle { watches: this.clone(), source, name };
        handle.alive();
        handle
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchHandle {
    /// Records a response or an item.
    pub fn alive(&self) {
        self.watches.lock().alive.insert((self.source, self.name), Instant::now());
    }

    /// Records a failure that will be retried. `category` is a label of a closed set.
    pub fn failed(&self, category: &'static str) {
        *self.watches.lock().errors.entry((self.source, category)).or_default() += 1;
    }

    /// Records a complete list.
    pub fn listed(&self) {
        *self.watches.lock().lists.entry(self.source).or_default() += 1;
    }
}

impl Collector for Watches {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let known = self.lock();
        let mut metric = encoder.encode_descriptor(
            "watch_staleness",
            "Time since the last response of the API server to a watch",
            Some(&Unit::Seconds),
            MetricType::Gauge,
        )?;
        for ((source, name), at) in &known.alive {
            let labels = [("source", source.as_str()), ("watch", *name)];
            ConstGauge::new(at.elapsed().as_secs_f64()).encode(metric.encode_family(&labels)?)?;
        }
        let mut metric = encoder.encode_descriptor(
            "watch_errors",
            "Failed watches and lists, by kind of the error",
            None,
            MetricType::Counter,
        )?;
        for ((source, category), count) in &known.errors {
            let labels = [("source", source.as_str()), ("kind", *category)];
            ConstCounter::new(*count).encode(metric.encode_family(&labels)?)?;
        }
        let mut metric = encoder.encode_descriptor(
            "lists",
            "Complete lists: at the start, and after an expired resource version",
            None,
            MetricType::Counter,
        )?;
        for (source, count) in &known.lists {
            ConstCounter::new(*count).encode(metric.encode_family(&[("source", source.as_str())])?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shindan_core::state::Source;

    use crate::metrics::Metrics;

    #[tokio::test(start_paused = true)]
    async fn staleness_grows_until_the_next_sign_of_life() {
        let metrics = Metrics::new();
        let watch = metrics.watch(Source::Pods, "pods");
        tokio::time::advance(Duration::from_secs(7)).await;
        let line = r#"shindan_watch_staleness_seconds{source="pods",watch="pods"}"#;
        assert!(metrics.encode().unwrap().contains(&format!("\n{line} 7.0\n")));
        watch.alive();
        assert!(metrics.encode().unwrap().contains(&format!("\n{line} 0.0\n")));
        watch.failed("forbidden");
        let text = metrics.encode().unwrap();
        assert!(text.contains(r#"shindan_watch_errors_total{source="pods",kind="forbidden"} 1"#), "{text}");
    }
}
