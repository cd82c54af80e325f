//! Statuses of pods that are well change, and now and then one fails.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::{Stream, StreamExt, TryStreamExt};
use tokio::time::MissedTickBehavior;

use super::{QUIET, add_times, whole};
use crate::lab::{Figures, Lab};
use crate::recorded::{Look, Place};
use crate::subject::Running;

/// Updates a second.
pub(crate) const RATES: [u64; 4] = [0, 100, 500, 1000];
/// Pods that fail at each rate, how many of them a second, and how long one may take to be told. Each is the first of its
/// workload, so it takes five requests or more, and two cores serve some 250 a second: this leaves them room. (What comes
/// of more than they can serve, `mass` tells.)
const PROBES: usize = 400;
const PROBES_A_SECOND: u64 = 10;
const TOLD_WITHIN: Duration = Duration::from_secs(20);
/// For how long updates alone are made, to tell what one costs.
const ALONE: Duration = Duration::from_secs(6);
const TICK: Duration = Duration::from_millis(10);
/// Between two failures at rest, and between two questions of ours.
const PAUSE: Duration = Duration::from_millis(50);

/// From a pod's status to its diagnosis, at each rate, and what an update costs.
pub(crate) async fn latency(lab: &Lab, running: &Running) -> Result<Figures> {
    let mut figures = Figures::new();
    for rate in RATES {
        lab.sights.settled(QUIET).await;
        let probes = lab.take_well(PROBES.min(lab.options.pods / 10))?;
        let done = AtomicBool::new(false);
        if rate == 0 {
            let failing = async {
                let times = one_by_one(lab, probes).await;
                done.store(true, Ordering::Relaxed);
                times
            };
            let (times, answers) = futures::try_join!(failing, answers(lab, &done))?;
            add_times(&mut figures, "0 ", times);
            add_times(&mut figures, "0 answer ", answers);
            continue;
        }
        let updated = AtomicU64::new(0);
        let updating = update(lab, rate, &done, &updated);
        let measuring = async {
            let result = measure(lab, running, rate, probes, &updated, &mut figures).await;
            done.store(true, Ordering::Relaxed);
            result
        };
        let (updating, answers, measuring) = futures::join!(updating, answers(lab, &done), measuring);
        updating?;
        measuring?;
        add_times(&mut figures, &format!("{rate} answer "), answers?);
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
    // The first second is not counted: caches fill.
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

/// Updates statuses of pods that stay well, so many a second.
pub(crate) async fn update(lab: &Lab, rate: u64, done: &AtomicBool, updated: &AtomicU64) -> Result<()> {
    let places = lab.bystanders();
    ensure!(!places.is_empty(), "no pod is well");
    let mut places = places.iter().cycle();
    let mut tick = tokio::time::interval(TICK);
    let batch = usize::try_from(rate)? / 100;
    while !done.load(Ordering::Relaxed) {
        tick.tick().await;
        let puts: Vec<_> = places.by_ref().take(batch).map(|place| lab.fleet.looking(*place, Look::Well)).collect();
        let count = puts.len() as u64;
        lab.etcd.put(puts).await?;
        updated.fetch_add(count, Ordering::Relaxed);
    }
    Ok(())
}

/// How long somebody else waits for a small answer meanwhile. A pause of the API server is in all that is measured, and here it
/// is told apart.
async fn answers(lab: &Lab, done: &AtomicBool) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let began = Instant::now();
        lab.get("/api/v1/namespaces", "default").await?;
        times.push(began.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    Ok(times)
}

/// Each pod fails when the one before it is told.
async fn one_by_one(lab: &Lab, probes: Vec<Place>) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    for place in probes {
        times.push(fail(lab, place, TOLD_WITHIN).await?);
        tokio::time::sleep(PAUSE).await;
    }
    Ok(times)
}

/// Pods fail at their own pace, told or not.
async fn in_step(lab: &Lab, probes: Vec<Place>) -> Result<Vec<Duration>> {
    let most = probes.len();
    let failures = in_pace(probes, PROBES_A_SECOND).map(|place| fail(lab, place, TOLD_WITHIN));
    failures.buffer_unordered(most).try_collect().await
}

/// The items, so many a second.
pub(super) fn in_pace<T>(items: Vec<T>, a_second: u64) -> impl Stream<Item = T> {
    every(Duration::from_secs(1) / u32::try_from(a_second).unwrap_or(u32::MAX), items)
}

/// The items, one in so much time.
pub(crate) fn every<T>(period: Duration, items: impl IntoIterator<Item = T>) -> impl Stream<Item = T> {
    let mut tick = tokio::time::interval(period);
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    futures::stream::unfold((tick, items.into_iter()), |(mut tick, mut items)| async move {
        tick.tick().await;
        items.next().map(|item| (item, (tick, items)))
    })
}

/// Lets a pod fail, and tells how long after that its diagnosis came into sight.
pub(super) async fn fail(lab: &Lab, place: Place, within: Duration) -> Result<Duration> {
    let key = place.key();
    let put = lab.fleet.looking(place, Look::Killed);
    let began = Instant::now();
    lab.etcd.put([put]).await?;
    let first = tokio::time::timeout(within, lab.sights.first(&key)).await;
    let first = first.with_context(|| format!("{key} was not told within {} s", within.as_secs()))?;
    Ok(first.saturating_duration_since(began))
}
