//! The number of writes, which is the same on any machine.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::lab::Lab;
use super::phases::STALL_TIMEOUT;
use super::recorded::Look;
use super::requests::Requests;
use super::subject::{Running, Subject, sum};

/// All is written after this time without a write: the diagnosis of a workload waits for 5 s.
const DONE: Duration = Duration::from_secs(8);
/// Time at rest in which nothing may be written.
const REST: Duration = Duration::from_secs(10);
/// Pods that fail while the operator runs.
const LATER: usize = 20;

pub(crate) async fn check(lab: &Lab) -> Result<()> {
    let nothing = Counts { requests: Requests::now(&lab.client).await?, pods: 0, others: 0, aggregated: 0 };
    let mut running = Running::start(&lab.options, Subject::Operator, false)?;
    running.listed().await?;
    each_failing_pod_is_diagnosed(lab).await?;
    lab.sights.settled(DONE).await;
    let first = Counts::now(lab, &running).await?;
    first.has_one_event_each_since(&nothing)?;
    nothing_is_written(lab, "at rest", REST).await?;

    let later = lab.take_healthy(LATER)?;
    lab.etcd.put(later.iter().map(|place| lab.fleet.looking(*place, Look::Killed))).await?;
    let expected = lab.failing() + LATER;
    lab.sights
        .until("the diagnoses of pods that fail later", STALL_TIMEOUT, |sights| sights.count().0 >= expected)
        .await?;
    lab.sights.settled(DONE).await;
    Counts::now(lab, &running).await?.has_one_event_each_since(&first)?;

    running.kill().await?;
    let mut running = Running::start(&lab.options, Subject::Operator, true)?;
    running.listed().await?;
    nothing_is_written(lab, "after a restart", REST).await?;
    running.kill().await
}

pub(super) async fn each_failing_pod_is_diagnosed(lab: &Lab) -> Result<()> {
    let expected = lab.failing();
    lab.sights.until("the first diagnoses", STALL_TIMEOUT, |sights| sights.count().0 >= expected).await?;
    let mut causes: BTreeMap<&str, usize> = BTreeMap::new();
    for place in lab.fleet.failing() {
        let (key, cause) = (place.key(), place.cause().unwrap_or_default());
        let sight = lab.sights.of(&key);
        let reported = sight.as_ref().and_then(|sight| sight.labels.get("cause")).map_or("nothing", |cause| cause);
        ensure!(reported == cause, "{key} fails with {cause}; its diagnosis has {reported}");
        *causes.entry(cause).or_default() += 1;
    }
    ensure!(lab.sights.count().0 == expected, "there are diagnoses of healthy pods");
    println!("each failing pod is diagnosed, and no other: {causes:?}");
    Ok(())
}

/// Diagnoses, Events and requests of the operator so far.
struct Counts {
    requests: Requests,
    /// Diagnoses of pods.
    pods: u64,
    /// Diagnoses of nodes and workloads.
    others: u64,
    /// Events that were aggregated into the Event of their workload.
    aggregated: u64,
}

impl Counts {
    async fn now(lab: &Lab, running: &Running) -> Result<Self> {
        let (pods, others) = lab.sights.count();
        let aggregated = sum(&running.metrics().await?, "shindan_events_folded_total", "");
        Ok(Self { requests: Requests::now(&lab.client).await?, pods: pods as u64, others: others as u64, aggregated })
    }

    /// Checks for one apply and one Event for each diagnosis, and at most one more apply with the impact. On a busy machine a
    /// lookup may take longer than the impact waits for it (10 s); then it comes with a third, of a few pods.
    fn has_one_event_each_since(&self, before: &Self) -> Result<()> {
        let requests = self.requests.since(&before.requests);
        let (pods, others, aggregated) =
            (self.pods - before.pods, self.others - before.others, self.aggregated - before.aggregated);
        let reported: Vec<_> = requests.by_verb().collect();
        println!(
            "{pods} diagnoses of pods, {others} of workloads and nodes, {aggregated} Events aggregated: {reported:?}"
        );
        let of_pods = requests.of("APPLY", "poddiagnoses");
        let of_others = requests.of("APPLY", "workloaddiagnoses") + requests.of("APPLY", "nodediagnoses");
        let events = requests.of("POST", "events");
        ensure!((pods..=2 * pods + pods / 10).contains(&of_pods), "{of_pods} applies for {pods} diagnoses of pods");
        ensure!((others..=2 * others).contains(&of_others), "{of_others} applies for {others} diagnoses of others");
        ensure!(
            (pods..=pods + others).contains(&(events + aggregated)),
            "{events} Events, and {aggregated} aggregated"
        );
        ensure!(requests.writes() == of_pods + of_others + events, "something else was written");
        Ok(())
    }
}

async fn nothing_is_written(lab: &Lab, when: &str, wait: Duration) -> Result<()> {
    let before = Requests::now(&lab.client).await?;
    tokio::time::sleep(wait).await;
    let requests = Requests::now(&lab.client).await?.since(&before);
    ensure!(requests.writes() == 0, "{when} something is written: {:?}", requests.by_verb().collect::<Vec<_>>());
    println!("{when} nothing is written for {} s", wait.as_secs());
    Ok(())
}
