//! Parts that the operator lacks at present, for /readyz and a gauge.

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
    /// Whether nothing can be diagnosed without it. Otherwise some diagnoses are missing or less detailed.
    pub vital: bool,
    until: Option<Instant>,
}

impl Lack {
    pub fn new(why: impl Into<String>, vital: bool) -> Self {
        Self { why: why.into(), vital, until: None }
    }

    /// Expires after `time` if it is not reported again.
    #[must_use]
    pub fn lasting(self, time: Duration) -> Self {
        Self { until: Some(Instant::now() + time), ..self }
    }

    fn is_present(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }
}

/// All parts that have ever been missing. `None`: available again.
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

    /// Makes a missing part not vital.
    pub fn tolerate(&self, part: &'static str) {
        if let Some(Some(lack)) = self.lock().get_mut(part) {
            lack.vital = false;
        }
    }

    /// The parts that are missing now.
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
            "1 while this part of the operator does not work, such as a watch without permission",
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
    async fn a_part_is_missing_until_it_is_ready_or_its_report_expires() {
        let metrics = Metrics::new();
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
