//! Active diagnoses by namespace, cause and severity. The counts are replaced as a whole and encoded at each scrape.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use shindan_core::api::Severity;
use shindan_core::rules::catalog;

use super::{ActiveKey, OTHER};

/// Maximum number of namespaces with their own label.
const NAMESPACES: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Active {
    counts: Mutex<BTreeMap<Labels, u64>>,
}

/// Kind, namespace, cause and severity.
type Labels = (&'static str, Arc<str>, &'static str, Severity);

impl Active {
    pub(super) fn set(&self, counts: BTreeMap<ActiveKey, u64>) {
        let named = largest_namespaces(&counts);
        let other: Arc<str> = OTHER.into();
        let catalog = catalog::current();
        let mut grouped = BTreeMap::new();
        for (key, count) in counts {
            let namespace = if named.contains(&key.namespace) { key.namespace } else { other.clone() };
            let cause = catalog.name(&key.cause).unwrap_or(OTHER);
            let kind = key.kind.as_str().trim_end_matches("Diagnosis");
            *grouped.entry((kind, namespace, cause, key.severity)).or_default() += count;
        }
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner) = grouped;
    }

    pub(super) fn by_cause(&self) -> BTreeMap<&'static str, u32> {
        let mut causes = BTreeMap::new();
        for ((_, _, cause, _), count) in &*self.counts.lock().unwrap_or_else(PoisonError::into_inner) {
            let sum: &mut u32 = causes.entry(*cause).or_default();
            *sum = sum.saturating_add(u32::try_from(*count).unwrap_or(u32::MAX));
        }
        causes
    }
}

fn largest_namespaces(counts: &BTreeMap<ActiveKey, u64>) -> BTreeSet<Arc<str>> {
    let mut sums: HashMap<&Arc<str>, u64> = HashMap::new();
    for (key, count) in counts {
        *sums.entry(&key.namespace).or_default() += count;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    // Equal counts are sorted by name, so that the set of labels is stable.
    sums.sort_unstable_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
    sums.into_iter().take(NAMESPACES).map(|(namespace, _)| namespace.clone()).collect()
}

impl Collector for Active {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut metric = encoder.encode_descriptor(
            "diagnoses_active",
            "Pods, workloads and nodes that fail now, by namespace, cause and severity",
            None,
            MetricType::Gauge,
        )?;
        for ((kind, namespace, cause, severity), count) in &counts {
            let severity = severity.to_string();
            let labels = [("kind", *kind), ("namespace", &**namespace), ("cause", *cause), ("severity", &severity)];
            ConstGauge::new(*count).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
