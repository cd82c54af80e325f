//! Samples of the operator's memory, tasks and entries.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::phases::count;
use crate::subject::{Running, sum};

/// Rows of the printed table.
const ROWS: usize = 16;

#[derive(Debug, Clone)]
pub(super) struct Sample {
    /// Minutes since the first one.
    minutes: f64,
    rss_kib: f64,
    peak_kib: f64,
    pub(super) tasks: u64,
    pub(super) files: usize,
    threads: f64,
    pub(super) kept: BTreeMap<String, u64>,
}

impl Sample {
    pub(super) async fn now(running: &Running, since: Instant) -> Result<Self> {
        let metrics = running.metrics().await?;
        let (peak, rss) = running.memory()?;
        let of = |line: &str| {
            let (what, entries) = line.strip_prefix("shindan_kept_entries{what=\"")?.split_once("\"} ")?;
            Some((what.to_owned(), entries.parse().ok()?))
        };
        Ok(Self {
            minutes: since.elapsed().as_secs_f64() / 60.0,
            rss_kib: rss * 1024.0,
            peak_kib: peak * 1024.0,
            tasks: sum(&metrics, "shindan_tasks_alive", ""),
            files: running.files()?,
            threads: running.threads()?,
            kept: metrics.lines().filter_map(of).collect(),
        })
    }

    fn entries(&self) -> u64 {
        self.kept.values().sum()
    }
}

/// All samples, oldest first.
#[derive(Debug, Default)]
pub(super) struct Samples(pub(super) Vec<Sample>);

impl Samples {
    /// Slope of resident memory after the first quarter, in KiB per minute, by least squares.
    pub(super) fn slope(&self) -> f64 {
        let taken: Vec<(f64, f64)> = self.between(1, 4).iter().map(|sample| (sample.minutes, sample.rss_kib)).collect();
        let mean = |of: fn(&(f64, f64)) -> f64| taken.iter().map(of).sum::<f64>() / count(taken.len());
        let (x, y) = (mean(|sample| sample.0), mean(|sample| sample.1));
        let spread: f64 = taken.iter().map(|sample| (sample.0 - x).powi(2)).sum();
        let common: f64 = taken.iter().map(|sample| (sample.0 - x) * (sample.1 - y)).sum();
        common / spread
    }

    /// Growth from the median of the second quarter to that of the last one, in KiB.
    pub(super) fn growth(&self) -> Result<f64> {
        Ok(median(self.between(3, 4))? - median(self.between(1, 2))?)
    }

    fn between(&self, first: usize, last: usize) -> &[Sample] {
        &self.0[self.0.len() * first / 4..self.0.len() * last / 4]
    }

    /// Formats a table of some samples, and one of the entries by collection.
    pub(super) fn table(&self, before: &Sample, after: &Sample) -> Result<String> {
        let mut out = String::from("| minute | RSS, MiB | peak, MiB | tasks | files | threads | entries |\n");
        out.push_str("|---:|---:|---:|---:|---:|---:|---:|\n");
        let step = self.0.len().div_ceil(ROWS).max(1);
        for (sample, minute) in self
            .0
            .iter()
            .step_by(step)
            .map(|sample| (sample, format!("{:.1}", sample.minutes)))
            .chain([(after, "after".to_owned())])
        {
            let (rss, peak) = (sample.rss_kib / 1024.0, sample.peak_kib / 1024.0);
            let Sample { tasks, files, threads, .. } = sample;
            let entries = sample.entries();
            writeln!(out, "| {minute} | {rss:.2} | {peak:.2} | {tasks} | {files} | {threads} | {entries} |")?;
        }
        out.push_str("\n| entries of | before | least | most | after |\n|---|---:|---:|---:|---:|\n");
        for (what, was) in &before.kept {
            let all = || self.0.iter().filter_map(|sample| sample.kept.get(what));
            let (least, most) = (all().min().context("no sample")?, all().max().context("no sample")?);
            writeln!(out, "| `{what}` | {was} | {least} | {most} | {} |", after.kept.get(what).unwrap_or(&0))?;
        }
        Ok(out)
    }
}

fn median(samples: &[Sample]) -> Result<f64> {
    let mut all: Vec<f64> = samples.iter().map(|sample| sample.rss_kib).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().context("too few samples")
}
