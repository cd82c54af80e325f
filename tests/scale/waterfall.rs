//! Where the time goes from the status of a pod to its diagnosis: the operator logs each step, and this joins the lines.

use std::collections::HashMap;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use shindan::telemetry::STEPS;

use super::lab::Lab;
use super::phases::{PROBES_A_SECOND, QUIET, STALL_TIMEOUT, fail, in_pace, update};
use super::recorded::Place;
use super::subject::Running;

/// Steps in their order, each with what happens until it is reached. The harness adds the first and the last.
const WAY: [(&str, &str); 9] = [
    ("put", ""),
    ("read", "etcd, API server, and the wait until the bytes are read"),
    ("decoded", "decoding, and the wait for the channel"),
    ("applied", "wait for the engine, and the update of its state"),
    ("decide", "wait in the queue"),
    ("decided", "diagnosis and composition"),
    ("sent", "wait for the task of the write, and its body"),
    ("answered", "the write: connection, API server, etcd"),
    ("seen", "the watch of the harness (it may see the object before the answer)"),
];
const FAILURES: usize = 200;

/// A line of the operator's log.
#[derive(Deserialize)]
struct Line {
    timestamp: Timestamp,
    target: String,
    #[serde(default)]
    step: String,
    #[serde(default)]
    watch: String,
    #[serde(default)]
    uid: String,
    /// A pod as `namespace/name`.
    #[serde(default)]
    pod: String,
    /// A diagnosis as `PodDiagnosis namespace/name`.
    #[serde(default)]
    object: String,
}

/// A failure, and when it began and was seen.
struct Probe {
    pod: String,
    began: Timestamp,
    seen: Timestamp,
}

/// Prints the time of each step at rest and under this many status updates per second.
pub(crate) async fn measure(lab: &Lab, rate: u64) -> Result<()> {
    let log = lab.options.folder()?.join("operator.log");
    fs::write(&log, "")?;
    let filter = ("RUST_LOG", format!("info,kube_runtime=off,kube_client=off,{STEPS}=trace"));
    let mut running = Running::start_logging(&lab.options, &["--log-format", "json"], filter)?;
    running.listed().await?;
    let expected = lab.failing();
    lab.sights.until("diagnoses", STALL_TIMEOUT, |sights| sights.count().0 >= expected).await?;
    for rate in [0, rate] {
        lab.sights.settled(QUIET).await;
        let (done, updated) = (AtomicBool::new(false), AtomicU64::new(0));
        let failing = async {
            let probes = in_pace(lab.take_healthy(FAILURES)?, PROBES_A_SECOND).map(|place| probe(lab, place));
            let probes: Vec<Probe> = probes.buffer_unordered(FAILURES).try_collect().await?;
            done.store(true, Ordering::Relaxed);
            anyhow::Ok(probes)
        };
        let updating = async { if rate == 0 { Ok(()) } else { update(lab, rate, &done, &updated).await } };
        let (probes, ()) = futures::try_join!(failing, updating)?;
        println!("{} pods, {rate} updates per second, ms:", lab.options.pods);
        print(&joined(&fs::read_to_string(&log)?, &probes)?);
    }
    running.kill().await?;
    lab.put_back().await
}

#[allow(clippy::disallowed_methods, reason = "it measures time")]
async fn probe(lab: &Lab, place: Place) -> Result<Probe> {
    let began = Timestamp::now();
    let latency = fail(lab, place, STALL_TIMEOUT).await?;
    Ok(Probe { pod: place.key(), began, seen: began + SignedDuration::try_from(latency)? })
}

/// For each probe, the times of all steps.
fn joined(log: &str, probes: &[Probe]) -> Result<Vec<[Timestamp; WAY.len()]>> {
    let mut reached: HashMap<(String, String), Vec<Timestamp>> = HashMap::new();
    let mut uids: HashMap<String, String> = HashMap::new();
    let mut read = Timestamp::UNIX_EPOCH;
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
    for line in lines.filter(|line| line.target == STEPS) {
        let of = if line.uid.is_empty() { line.object.replace("PodDiagnosis ", "") } else { line.uid };
        match &*line.step {
            "read" if line.watch == "pods" => read = line.timestamp,
            "read" => {}
            "decoded" => {
                reached.entry(("read".to_owned(), of.clone())).or_default().push(read);
                uids.insert(line.pod, of.clone());
                reached.entry((line.step, of)).or_default().push(line.timestamp);
            }
            _ => reached.entry((line.step, of)).or_default().push(line.timestamp),
        }
    }
    let mut all = Vec::new();
    for probe in probes {
        let uid = uids.get(&probe.pod).with_context(|| format!("{} was not read", probe.pod))?;
        let mut times = [probe.seen; WAY.len()];
        times[0] = probe.began;
        for (at, (step, _)) in WAY.iter().enumerate().take(WAY.len() - 1).skip(1) {
            let of = if matches!(*step, "sent" | "answered") { &probe.pod } else { uid };
            let known = reached.get(&((*step).to_owned(), of.clone()));
            let first = known.and_then(|times| times.iter().find(|time| **time >= probe.began));
            times[at] = *first.with_context(|| format!("{} has no step {step}", probe.pod))?;
        }
        all.push(times);
    }
    ensure!(!all.is_empty(), "no pod failed");
    Ok(all)
}

fn print(all: &[[Timestamp; WAY.len()]]) {
    println!("| step | mean | p50 | p99 | until then |\n|---|---:|---:|---:|---|");
    for (at, (step, what)) in WAY.iter().enumerate().skip(1) {
        let from = if *step == "seen" { "sent" } else { WAY[at - 1].0 };
        let from = WAY.iter().position(|(step, _)| *step == from).unwrap_or_default();
        row(step, all.iter().map(|times| times[at].duration_since(times[from])), what);
    }
    row("all", all.iter().map(|times| times[WAY.len() - 1].duration_since(times[0])), "from the put to the sight");
    println!();
}

fn row(step: &str, times: impl Iterator<Item = SignedDuration>, what: &str) {
    let mut ms: Vec<f64> = times.map(|time| time.as_secs_f64() * 1e3).collect();
    ms.sort_by(f64::total_cmp);
    let count = u32::try_from(ms.len()).map_or(f64::NAN, f64::from);
    let at = |percent: usize| ms[(ms.len() - 1) * percent / 100];
    println!("| {step} | {:.2} | {:.2} | {:.2} | {what} |", ms.iter().sum::<f64>() / count, at(50), at(99));
}
