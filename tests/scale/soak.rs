//! Statuses change and Deployments come and go for a long time; in the end nothing of it is left in the operator.

mod samples;
mod visit;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures::{StreamExt, TryStreamExt};

use super::counts::each_failing_pod_is_diagnosed;
use super::lab::Lab;
use super::phases::{PATIENCE, SETTLED, every, update, whole};
use super::recorded::{Fleet, Visit};
use super::sights::Sights;
use super::subject::{Running, Subject};
use samples::{Sample, Samples};

/// Statuses that change, a second.
const RATE: u64 = 500;
/// A Deployment comes so often, and as many may be there at once: each stays for about a minute.
const EACH: Duration = Duration::from_secs(3);
const AT_ONCE: usize = 60;
const LOOK: Duration = Duration::from_secs(5);
/// What the operator waits for, and how long it remembers what has ended, is as short as may be, so that all of it comes and
/// goes within the soak.
const FLAGS: [&str; 7] = [
    "--retention=60s",
    "--recovered-never-started=5s",
    "--recovered-restarting=5s",
    "--unschedulable=5s",
    "--never-ready=5s",
    "--readiness-lost=5s",
    "--creating=5s",
];
/// For how long after the last visit something of it may be kept, beside what is named in [`leeway`].
const FORGOTTEN_WITHIN: Duration = Duration::from_secs(420);
/// For how long it is remembered who told of what.
const FOLDED_FOR: Duration = Duration::from_secs(12 * 60);
/// For how long the pods may be noted whose Events came before them.
const EVENTS_SWEPT_IN: Duration = Duration::from_secs(2 * 60);
/// Memory may be as much larger at the end of a soak of so many minutes; a shorter one says nothing of it.
const GROWTH_KIB: f64 = 2048.0;
const TELLING_MINUTES: u64 = 5;

pub(crate) async fn soak(lab: &Lab, minutes: u64) -> Result<()> {
    for prefix in Fleet::left_by_visitors() {
        lab.etcd.remove(&prefix).await?;
    }
    lab.etcd.put(lab.fleet.hosts()).await?;
    let mut running = Running::start_with(&lab.options, Subject::Operator, false, &FLAGS)?;
    running.listed().await?;
    each_failing_pod_is_diagnosed(lab).await?;
    lab.sights.settled(SETTLED).await;
    let (before, outer) = (Sample::now(&running, Instant::now()).await?, lab.sights.count().1);

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

    let gone = |sights: &Sights| sights.count() == (lab.failing(), outer);
    let left = lab.sights.until("diagnoses of visitors to go", PATIENCE * 2, gone).await;
    let after = forgotten(&running, &before, visits, began).await?;
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
        minutes < TELLING_MINUTES || samples.growth()? < GROWTH_KIB,
        "memory grows by more than {GROWTH_KIB} KiB within a soak"
    );
    running.kill().await
}

/// Lets visitors come for so long, and tells how many there were.
async fn come_and_go(lab: &Lab, length: Duration) -> Result<u64> {
    let began = Instant::now();
    let numbers = (0..).take_while(|_| began.elapsed() < length);
    let visits = every(EACH, numbers).map(|number| visit::stay(lab, Visit::new(number)));
    visits.buffer_unordered(AT_ONCE).try_fold(0, |visits, ()| async move { Ok(visits + 1) }).await
}

/// While visitors come: those that are left when none comes any more go one after the other.
async fn samples(running: &Running, length: Duration, began: Instant) -> Result<Samples> {
    let mut samples = Samples::default();
    while began.elapsed() < length {
        samples.0.push(Sample::now(running, began).await?);
        tokio::time::sleep(LOOK).await;
    }
    Ok(samples)
}

/// What is there when it is as before, or when that was waited for in vain.
struct After {
    sample: Sample,
    more: Vec<String>,
}

async fn forgotten(running: &Running, before: &Sample, visits: u64, began: Instant) -> Result<After> {
    let deadline = Instant::now() + FORGOTTEN_WITHIN;
    loop {
        let sample = Sample::now(running, began).await?;
        let more = more(before, &sample, visits);
        if more.is_empty() || Instant::now() > deadline {
            return Ok(After { sample, more });
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What is more than before.
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

/// How much of a number of visits may be kept for a while.
fn leeway(what: &str, visits: u64) -> u64 {
    match what {
        // Who told of a workload's cause, and who of its root, is remembered for ten minutes, and looked for each minute.
        "folds" => 2 * visits.min(FOLDED_FOR.as_secs() / EACH.as_secs()),
        // Whose Events came before them is swept each minute, when another Event comes.
        "events" => 10 * visits.min(EVENTS_SWEPT_IN.as_secs() / EACH.as_secs()),
        // A watch that begins anew before the connection of another is free takes one of its own. From then on there is a spare
        // one, which they use in turns; more of them are closed when they have been idle.
        "tasks" | "files" => 2,
        _ => 0,
    }
}
