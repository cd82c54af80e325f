//! The life of each watch: how long ago the API server last said anything, and what went wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use tokio::time::Instant;

use crate::world::Source;

#[derive(Debug, Default)]
pub(super) struct Watches {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// By source and name; the time of the last sign of life.
    alive: BTreeMap<(Source, &'static str), Instant>,
    errors: BTreeMap<(Source, &'static str), u64>,
    lists: BTreeMap<Source, u64>,
}

/// One watch's way to tell of itself.
#[derive(Debug, Clone)]
pub struct WatchHandle {
    watches: Arc<Watches>,
    source: Source,
    name: &'static str,
}

impl Watches {
    /// A watch counts as silent from its start, not from its first answer.
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
    /// The API server has answered, or sent something.
    pub fn alive(&self) {
        self.watches.lock().alive.insert((self.source, self.name), Instant::now());
    }

    /// The watch failed and will be tried again; `category` is a word of a closed set.
    pub fn failed(&self, category: &'static str) {
        *self.watches.lock().errors.entry((self.source, category)).or_default() += 1;
    }

    /// A list is complete.
    pub fn listed(&self) {
        *self.watches.lock().lists.entry(self.source).or_default() += 1;
    }
}

impl Collector for Watches {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let known = self.lock();
        let mut metric = encoder.encode_descriptor(
            "watch_staleness",
            "Time since the API server last answered a watch",
            Some(&Unit::Seconds),
            MetricType::Gauge,
        )?;
        for ((source, name), at) in &known.alive {
            let labels = [("source", source.as_str()), ("watch", *name)];
            ConstGauge::new(at.elapsed().as_secs_f64()).encode(metric.encode_family(&labels)?)?;
        }
        let mut metric = encoder.encode_descriptor(
            "watch_errors",
            "Failures of a watch or of its list, by kind",
            None,
            MetricType::Counter,
        )?;
        for ((source, category), count) in &known.errors {
            let labels = [("source", source.as_str()), ("kind", *category)];
            ConstCounter::new(*count).encode(metric.encode_family(&labels)?)?;
        }
        let mut metric = encoder.encode_descriptor(
            "lists",
            "Complete lists: the first ones, and those after an expired version",
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

    use crate::metrics::Metrics;
    use crate::world::Source;

    #[tokio::test(start_paused = true)]
    async fn staleness_grows_until_the_next_sign_of_life() {
        let metrics = Metrics::new([]);
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
