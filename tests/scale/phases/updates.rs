//! Statuses of healthy pods change, and a few pods fail.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::{Stream, StreamExt, TryStreamExt};
use tokio::time::MissedTickBehavior;

use super::{QUIET, add_times, whole};
use crate::lab::{Figures, Lab};
use crate::recorded::{Look, Place};
use crate::subject::Running;

/// Updates per second.
pub(crate) const RATES: [u64; 4] = [0, 100, 500, 1000];
/// Number of pods that fail at each rate, their rate per second, and the timeout of a diagnosis. Each pod is the first of its
/// workload and needs five or more requests; two cores serve some 250 per second, so this is no overload. (`mass` measures
/// overload.)
const PROBES: usize = 400;
pub(crate) const PROBES_A_SECOND: u64 = 10;
const REPORTED_WITHIN: Duration = Duration::from_secs(60);
/// Time of updates without failures, to measure the cost of an update.
const ALONE: Duration = Duration::from_secs(6);
const TICK: Duration = Duration::from_millis(10);
/// Pause between two failures at rest, and between two probes of the API server.
const PAUSE: Duration = Duration::from_millis(50);

/// Measures the latency from a pod's status to its diagnosis at each rate, and the cost of an update.
pub(crate) async fn latency(lab: &Lab, running: &Running) -> Result<Figures> {
    let mut figures = Figures::new();
    for rate in RATES {
        lab.sights.settled(QUIET).await;
        let probes = lab.take_healthy(PROBES.min(lab.options.pods / 10))?;
        let done = AtomicBool::new(false);
        if rate == 0 {
            let failing = async {
                let times = one_by_one(lab, probes).await;
                done.store(true, Ordering::Relaxed);
                times
            };
            let (times, response_times) = futures::try_join!(failing, response_times(lab, &done))?;
            add_times(&mut figures, "0 ", times);
            add_times(&mut figures, "0 answer ", response_times);
            continue;
        }
        let updated = AtomicU64::new(0);
        let updating = update(lab, rate, &done, &updated);
        let measuring = async {
            let result = measure(lab, running, rate, probes, &updated, &mut figures).await;
            done.store(true, Ordering::Relaxed);
            result
        };
        let (updating, response_times, measuring) = futures::join!(updating, response_times(lab, &done), measuring);
        updating?;
        measuring?;
        add_times(&mut figures, &format!("{rate} answer "), response_times?);
    }
    Ok(figures)
}

async fn measure(
    lab: &Lab,
    running: &Running,
    rate: u64,
    probes: Vec<Place>,
    updated: &AtomicU64,
    figures: &mut Figures,
) -> Result<()> {
    // The first second is not counted, because caches fill.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (cpu, count, began) = (running.cpu()?, updated.load(Ordering::Relaxed), Instant::now());
    tokio::time::sleep(ALONE).await;
    let updates = whole(updated.load(Ordering::Relaxed) - count);
    let cpu = running.cpu()? - cpu;
    figures.insert(format!("{rate} cpu_us"), cpu * 1e6 / updates);
    figures.insert(format!("{rate} reached"), updates / began.elapsed().as_secs_f64());
    let times = in_step(lab, probes).await?;
    add_times(figures, &format!("{rate} "), times);
    Ok(())
}

/// Updates statuses of healthy pods at this rate per second.
pub(crate) async fn update(lab: &Lab, rate: u64, done: &AtomicBool, updated: &AtomicU64) -> Result<()> {
    let places = lab.bystanders();
    ensure!(!places.is_empty(), "no pod is healthy");
    let mut places = places.iter().cycle();
    let mut tick = tokio::time::interval(TICK);
    let batch = usize::try_from(rate)? / 100;
    while !done.load(Ordering::Relaxed) {
        tick.tick().await;
        let puts: Vec<_> = places.by_ref().take(batch).map(|place| lab.fleet.looking(*place, Look::Healthy)).collect();
        let count = puts.len() as u64;
        lab.etcd.put(puts).await?;
        updated.fetch_add(count, Ordering::Relaxed);
    }
    Ok(())
}

/// Response times of another client's small request meanwhile. They show pauses of the API server, which are part of all
/// measured times.
async fn response_times(lab: &Lab, done: &AtomicBool) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let began = Instant::now();
        lab.get("/api/v1/namespaces", "default").await?;
        times.push(began.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    Ok(times)
}

/// Makes each pod fail after the one before it is diagnosed.
async fn one_by_one(lab: &Lab, probes: Vec<Place>) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    for place in probes {
        times.push(fail(lab, place, REPORTED_WITHIN).await?);
        tokio::time::sleep(PAUSE).await;
    }
    Ok(times)
}

/// Makes pods fail at a fixed rate.
async fn in_step(lab: &Lab, probes: Vec<Place>) -> Result<Vec<Duration>> {
    let most = probes.len();
    let failures = in_pace(probes, PROBES_A_SECOND).map(|place| fail(lab, place, REPORTED_WITHIN));
    failures.buffer_unordered(most).try_collect().await
}

/// Yields the items at this rate per second.
pub(crate) fn in_pace<T>(items: Vec<T>, a_second: u64) -> impl Stream<Item = T> {
    every(Duration::from_secs(1) / u32::try_from(a_second).unwrap_or(u32::MAX), items)
}

/// Yields one item per period.
pub(crate) fn every<T>(period: Duration, items: impl IntoIterator<Item = T>) -> impl Stream<Item = T> {
    let mut tick = tokio::time::interval(period);
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    futures::stream::unfold((tick, items.into_iter()), |(mut tick, mut items)| async move {
        tick.tick().await;
        items.next().map(|item| (item, (tick, items)))
    })
}

/// Makes a pod fail, and returns the time until its diagnosis arrived.
pub(crate) async fn fail(lab: &Lab, place: Place, within: Duration) -> Result<Duration> {
    let key = place.key();
    let put = lab.fleet.looking(place, Look::Killed);
    let began = Instant::now();
    lab.etcd.put([put]).await?;
    let first = tokio::time::timeout(within, lab.sights.first(&key)).await;
    let first = first.with_context(|| format!("{key} was not diagnosed within {} s", within.as_secs()))?;
    Ok(first.saturating_duration_since(began))
}
