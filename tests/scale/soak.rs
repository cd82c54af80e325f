//! Soak test: statuses change and Deployments are created and deleted for a long time; the operator must release their memory.

mod samples;
mod visit;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures::{StreamExt, TryStreamExt};

use super::counts::each_failing_pod_is_diagnosed;
use super::lab::Lab;
use super::phases::{SETTLED, STALL_TIMEOUT, every, update, whole};
use super::recorded::{Fleet, Visit};
use super::sights::Sights;
use super::subject::{Running, Subject};
use samples::{Sample, Samples};

/// Status changes per second.
const RATE: u64 = 500;
/// Interval of new Deployments, and their maximum number: each exists for about a minute.
const EACH: Duration = Duration::from_secs(3);
const AT_ONCE: usize = 60;
const LOOK: Duration = Duration::from_secs(5);
/// Short delays and retention, so that all diagnoses are written and deleted within the soak.
const FLAGS: [&str; 7] = [
    "--retention=60s",
    "--recovered-never-started=5s",
    "--recovered-restarting=5s",
    "--unschedulable=5s",
    "--never-ready=5s",
    "--readiness-lost=5s",
    "--creating=5s",
];
/// Time after the last visit until its entries must be released, except those of [`leeway`].
const RELEASED_WITHIN: Duration = Duration::from_secs(420);
/// Lifetime of the entries of Event aggregation.
const AGGREGATED_FOR: Duration = Duration::from_secs(12 * 60);
/// Lifetime of the Events of unknown pods.
const EVENTS_KEPT_FOR: Duration = Duration::from_secs(2 * 60);
/// Maximum growth of memory in a soak of at least `MIN_MINUTES`; a shorter one is not conclusive.
const GROWTH_KIB: f64 = 2048.0;
const MIN_MINUTES: u64 = 5;

pub(crate) async fn soak(lab: &Lab, minutes: u64) -> Result<()> {
    for prefix in Fleet::left_by_visitors() {
        lab.etcd.remove(&prefix).await?;
    }
    lab.etcd.put(lab.fleet.hosts()).await?;
    let mut running = Running::start_with(&lab.options, Subject::Operator, false, &FLAGS)?;
    running.listed().await?;
    each_failing_pod_is_diagnosed(lab).await?;
    lab.sights.settled(SETTLED).await;
    let (before, others) = (Sample::now(&running, Instant::now()).await?, lab.sights.count().1);

    let length = Duration::from_secs(minutes * 60);
    let done = AtomicBool::new(false);
    let updated = AtomicU64::new(0);
    let began = Instant::now();
    let churn = async {
        let visits = come_and_go(lab, length).await;
        done.store(true, Ordering::Relaxed);
        visits
    };
    let ((), visits, samples) =
        futures::try_join!(update(lab, RATE, &done, &updated), churn, samples(&running, length, began))?;
    let rate = whole(updated.load(Ordering::Relaxed)) / began.elapsed().as_secs_f64();

    let is_empty = |sights: &Sights| sights.count() == (lab.failing(), others);
    let left = lab.sights.until("diagnoses of visitors to go", STALL_TIMEOUT * 2, is_empty).await;
    let after = released(&running, &before, visits, began).await?;
    println!("{}", samples.table(&before, &after.sample)?);
    println!(
        "measured: {visits} Deployments came and went in {minutes} min, while {rate:.0} statuses a second changed"
    );
    println!("measured: RSS {:+.1} KiB/min after the first quarter (least squares)", samples.slope());
    println!("measured: RSS {:+.0} KiB from the second quarter to the last (medians)", samples.growth()?);
    left?;
    each_failing_pod_is_diagnosed(lab).await?;
    ensure!(after.more.is_empty(), "more is kept than before: {:?}", after.more);
    ensure!(
        minutes < MIN_MINUTES || samples.growth()? < GROWTH_KIB,
        "memory grows by more than {GROWTH_KIB} KiB within a soak"
    );
    running.kill().await
}

/// Creates visitors for this time, and returns their number.
async fn come_and_go(lab: &Lab, length: Duration) -> Result<u64> {
    let began = Instant::now();
    let numbers = (0..).take_while(|_| began.elapsed() < length);
    let visits = every(EACH, numbers).map(|number| visit::stay(lab, Visit::new(number)));
    visits.buffer_unordered(AT_ONCE).try_fold(0, |visits, ()| async move { Ok(visits + 1) }).await
}

/// Takes samples while visitors are created.
async fn samples(running: &Running, length: Duration, began: Instant) -> Result<Samples> {
    let mut samples = Samples::default();
    while began.elapsed() < length {
        samples.0.push(Sample::now(running, began).await?);
        tokio::time::sleep(LOOK).await;
    }
    Ok(samples)
}

/// The state after the soak: the last sample, and the entries that were not released.
struct After {
    sample: Sample,
    more: Vec<String>,
}

async fn released(running: &Running, before: &Sample, visits: u64, began: Instant) -> Result<After> {
    let deadline = Instant::now() + RELEASED_WITHIN;
    loop {
        let sample = Sample::now(running, began).await?;
        let more = more(before, &sample, visits);
        if more.is_empty() || Instant::now() > deadline {
            return Ok(After { sample, more });
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Returns the counts that have grown.
fn more(before: &Sample, after: &Sample, visits: u64) -> Vec<String> {
    let entries = after.kept.iter().map(|(what, now)| {
        let was = before.kept.get(what).copied().unwrap_or(0);
        (what.as_str(), was + leeway(what, visits), *now)
    });
    let others = [("tasks", before.tasks, after.tasks), ("files", before.files as u64, after.files as u64)]
        .map(|(what, was, now)| (what, was + leeway(what, visits), now));
    let more = entries.chain(others).filter(|(_, most, now)| now > most);
    more.map(|(what, most, now)| format!("{what}: {now}, not {most}")).collect()
}

/// Number of entries that may remain after this many visits.
fn leeway(what: &str, visits: u64) -> u64 {
    match what {
        // The reporters of a workload's cause and root are remembered for ten minutes, and expired each minute.
        "event_aggregation" => 2 * visits.min(AGGREGATED_FOR.as_secs() / EACH.as_secs()),
        // Events of unknown pods are expired each minute, when another Event arrives.
        "events" => 10 * visits.min(EVENTS_KEPT_FOR.as_secs() / EACH.as_secs()),
        // A watch that restarts while no connection is free opens one. This spare connection is then shared; further ones are
        // closed when idle.
        "tasks" | "files" => 2,
        _ => 0,
    }
}
