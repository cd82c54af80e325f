//! What the operator needs and does not have at present: /readyz names it, and a gauge counts it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::time::Instant;

/// Why a part is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    pub why: String,
    /// Without it nothing is diagnosed; else answers are poorer, or some are not told.
    pub vital: bool,
    until: Option<Instant>,
}

impl Lack {
    pub fn new(why: impl Into<String>, vital: bool) -> Self {
        Self { why: why.into(), vital, until: None }
    }

    /// What is not said again within this time is over.
    #[must_use]
    pub fn lasting(self, time: Duration) -> Self {
        Self { until: Some(Instant::now() + time), ..self }
    }

    fn is_present(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }
}

/// All parts that were ever missing.
#[derive(Debug, Default)]
pub struct Parts(Mutex<BTreeMap<&'static str, Option<Lack>>>);

impl Parts {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Option<Lack>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn missing(&self, part: &'static str, lack: Lack) {
        self.lock().insert(part, Some(lack));
    }

    pub fn ready(&self, part: &'static str) {
        if let Some(lack) = self.lock().get_mut(part) {
            *lack = None;
        }
    }

    /// One can do without it.
    pub fn tolerate(&self, part: &'static str) {
        if let Some(Some(lack)) = self.lock().get_mut(part) {
            lack.vital = false;
        }
    }

    /// What is missing now.
    pub fn lacks(&self) -> Vec<(&'static str, Lack)> {
        let known = self.lock();
        let present = known.iter().filter_map(|(part, lack)| Some((*part, lack.clone()?)));
        present.filter(|(_, lack)| lack.is_present()).collect()
    }
}

impl Collector for Parts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut metric = encoder.encode_descriptor(
            "part_missing",
            "1 while the operator lacks this part of what it needs, such as the right to watch something",
            None,
            MetricType::Gauge,
        )?;
        for (part, lack) in self.lock().iter() {
            let missing = i64::from(lack.as_ref().is_some_and(Lack::is_present));
            ConstGauge::new(missing).encode(metric.encode_family(&[("part", *part)])?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;

    #[tokio::test(start_paused = true)]
    async fn a_part_is_missing_until_it_is_there_or_nobody_complains_any_more() {
        let metrics = Metrics::new([]);
        let parts = metrics.parts();
        parts.missing("pods", Lack::new("forbidden", true));
        parts.missing("posting events", Lack::new("forbidden", false).lasting(Duration::from_secs(60)));
        let counted = |part: &str, count: u8| {
            let text = metrics.encode().unwrap();
            assert!(text.contains(&format!("shindan_part_missing{{part=\"{part}\"}} {count}\n")), "{text}");
        };
        counted("pods", 1);
        counted("posting events", 1);
        tokio::time::advance(Duration::from_secs(61)).await;
        counted("posting events", 0);
        assert_eq!(parts.lacks(), [("pods", Lack::new("forbidden", true))]);
        parts.ready("pods");
        counted("pods", 0);
        assert!(parts.lacks().is_empty());
    }
}
