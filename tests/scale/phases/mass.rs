//! Thousands of pods fail within ten seconds.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use futures::{StreamExt, TryStreamExt};

use super::updates::{fail, in_pace};
use super::{QUIET, STALL_TIMEOUT, add_requests, add_times, count, whole};
use crate::lab::{Figures, Lab};
use crate::recorded::{Look, Place};
use crate::requests::Requests;
use crate::subject::{Running, Subject};

const PODS: usize = 20_000;
const WITHIN: Duration = Duration::from_secs(10);
/// Statuses per batch.
const BATCH: usize = 20;
/// Other pods that fail meanwhile, with another cause.
const OTHERS: usize = 100;
const OTHERS_A_SECOND: u64 = 4;
/// Time until a pod recovers in a flap.
const RECOVERED_AFTER: Duration = Duration::from_secs(5);

/// A registry goes down, and recovers when all failures are reported.
pub(crate) async fn mass(lab: &Lab, running: &Running) -> Result<Figures> {
    let storm = Storm::new(lab, running).await?;
    let others = lab.take_healthy(OTHERS.min(lab.options.pods / 50))?;
    // The recovery of the other pods takes minutes.
    let before = lab.sights.active() + others.len();
    // Keeps some pods for the flap.
    let pods = lab.take_healthy(PODS.min(lab.options.pods / 4 * 3))?;
    let began = Instant::now();
    let reported = async {
        let failed = turn(lab, &pods, Look::Unpulled).await?;
        let keys: Vec<String> = pods.iter().map(|place| place.key()).collect();
        lab.sights.until("the storm's diagnoses", STALL_TIMEOUT, |sights| sights.has_all(&keys)).await?;
        Ok::<_, anyhow::Error>(failed)
    };
    let others =
        in_pace(others, OTHERS_A_SECOND).map(|place| fail(lab, place, STALL_TIMEOUT * 5)).buffer_unordered(OTHERS);
    let (failed, others) =
        storm.while_counting(async { futures::try_join!(reported, others.try_collect::<Vec<_>>()) }).await?;
    let mut figures = storm.figures(lab, running).await?;
    let sights = pods.iter().filter_map(|place| Some((place, lab.sights.of(&place.key())?.first)));
    let times: Vec<Duration> = sights.map(|(place, first)| first.saturating_duration_since(failed[place])).collect();
    let last = lab.sights.last_first().map_or(Duration::ZERO, |last| last.saturating_duration_since(began));
    figures.insert("pods".to_owned(), count(pods.len()));
    figures.insert("last_s".to_owned(), last.as_secs_f64());
    add_times(&mut figures, "wait ", times);
    add_times(&mut figures, "other wait ", others);
    if running.subject == Subject::Operator {
        let began = Instant::now();
        turn(lab, &pods, Look::Healthy).await?;
        lab.sights.until("recoveries", STALL_TIMEOUT, |sights| sights.active() <= before).await?;
        figures.insert("recovered_s".to_owned(), began.elapsed().as_secs_f64());
    }
    lab.sights.settled(QUIET).await;
    Ok(figures)
}

/// A registry goes down and recovers at once.
pub(crate) async fn flap(lab: &Lab, running: &Running) -> Result<Figures> {
    let storm = Storm::new(lab, running).await?;
    let active = lab.sights.active();
    let pods = lab.take_healthy(PODS)?;
    let began = Instant::now();
    let down = turn(lab, &pods, Look::Unpulled);
    let up = async {
        tokio::time::sleep(RECOVERED_AFTER).await;
        turn(lab, &pods, Look::Healthy).await
    };
    storm.while_counting(async { futures::try_join!(down, up) }).await?;
    if running.subject == Subject::Operator {
        lab.sights
            .until("recoveries", STALL_TIMEOUT, |sights| sights.active() <= active && sights.quiet_for() > QUIET)
            .await?;
    } else {
        lab.sights.settled(QUIET).await;
    }
    let mut figures = storm.figures(lab, running).await?;
    figures.insert("pods".to_owned(), count(pods.len()));
    figures.insert("settled_s".to_owned(), began.elapsed().saturating_sub(QUIET).as_secs_f64());
    Ok(figures)
}

/// Counters from the first failure on.
struct Storm<'a> {
    before: Requests,
    cpu: f64,
    running: &'a Running,
    backlog: AtomicU64,
}

impl<'a> Storm<'a> {
    async fn new(lab: &Lab, running: &'a Running) -> Result<Self> {
        lab.sights.settled(QUIET).await;
        running.forget_peak()?;
        let before = Requests::now(&lab.client).await?;
        Ok(Self { before, cpu: running.cpu()?, running, backlog: AtomicU64::new(0) })
    }

    /// Waits for the storm to end, and records the largest backlog.
    async fn while_counting<T>(&self, storm: impl Future<Output = Result<T>>) -> Result<T> {
        let over = AtomicBool::new(false);
        let counting = async {
            while !over.load(Ordering::Relaxed) {
                if self.running.subject == Subject::Operator {
                    self.backlog.fetch_max(self.running.backlog().await, Ordering::Relaxed);
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        };
        let storm = async {
            let result = storm.await;
            over.store(true, Ordering::Relaxed);
            result
        };
        futures::join!(counting, storm).1
    }

    async fn figures(&self, lab: &Lab, running: &Running) -> Result<Figures> {
        let (peak, now) = running.memory()?;
        let mut figures = Figures::from([
            ("peak_mib".to_owned(), peak),
            ("now_mib".to_owned(), now),
            ("cpu_s".to_owned(), running.cpu()? - self.cpu),
            ("backlog".to_owned(), whole(self.backlog.load(Ordering::Relaxed))),
        ]);
        add_requests(&mut figures, &Requests::now(&lab.client).await?.since(&self.before));
        Ok(figures)
    }
}

/// Changes the state of these pods within ten seconds, and returns the time of each write.
async fn turn(lab: &Lab, pods: &[Place], look: Look) -> Result<BTreeMap<Place, Instant>> {
    let batches: Vec<&[Place]> = pods.chunks(BATCH).collect();
    let a_second = (batches.len() as u64 / WITHIN.as_secs()).max(1);
    let turned = in_pace(batches, a_second).map(|batch| async move {
        let puts: Vec<_> = batch.iter().map(|place| lab.fleet.looking(*place, look)).collect();
        let at = Instant::now();
        lab.etcd.put(puts).await?;
        Ok::<_, anyhow::Error>(batch.iter().map(move |place| (*place, at)))
    });
    let turned: Vec<_> = turned.buffer_unordered(4).try_collect().await?;
    Ok(turned.into_iter().flatten().collect())
}
