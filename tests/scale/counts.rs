//! What is written, and how often: the same on any machine.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::lab::Lab;
use super::phases::PATIENCE;
use super::recorded::Look;
use super::requests::Requests;
use super::subject::{Running, Subject, sum};

/// When nothing was written for so long, all is written: the diagnosis of a workload waits for 5 s.
const DONE: Duration = Duration::from_secs(8);
/// For how long nothing may be written at rest.
const REST: Duration = Duration::from_secs(10);
/// Pods that fail while the operator runs.
const LATER: usize = 20;

pub(crate) async fn check(lab: &Lab) -> Result<()> {
    let nothing = Told { requests: Requests::now(&lab.client).await?, pods: 0, outer: 0, folded: 0 };
    let mut running = Running::start(&lab.options, Subject::Operator, false)?;
    running.listed().await?;
    each_failing_pod_is_diagnosed(lab).await?;
    lab.sights.settled(DONE).await;
    let first = Told::now(lab, &running).await?;
    first.is_told_once_since(&nothing)?;
    nothing_is_written(lab, "at rest", REST).await?;

    let later = lab.take_well(LATER)?;
    lab.etcd.put(later.iter().map(|place| lab.fleet.looking(*place, Look::Killed))).await?;
    let expected = lab.failing() + LATER;
    lab.sights.until("the diagnoses of pods that fail later", PATIENCE, |sights| sights.count().0 >= expected).await?;
    lab.sights.settled(DONE).await;
    Told::now(lab, &running).await?.is_told_once_since(&first)?;

    running.kill().await?;
    let mut running = Running::start(&lab.options, Subject::Operator, true)?;
    running.listed().await?;
    nothing_is_written(lab, "after a restart", REST).await?;
    running.kill().await
}

pub(super) async fn each_failing_pod_is_diagnosed(lab: &Lab) -> Result<()> {
    let expected = lab.failing();
    lab.sights.until("the first diagnoses", PATIENCE, |sights| sights.count().0 >= expected).await?;
    let mut causes: BTreeMap<&str, usize> = BTreeMap::new();
    for place in lab.fleet.failing() {
        let (key, cause) = (place.key(), place.cause().unwrap_or_default());
        let sight = lab.sights.of(&key);
        let told = sight.as_ref().and_then(|sight| sight.labels.get("cause")).map_or("nothing", |cause| cause);
        ensure!(told == cause, "{key} fails of {cause}; its diagnosis says {told}");
        *causes.entry(cause).or_default() += 1;
    }
    ensure!(lab.sights.count().0 == expected, "there are diagnoses of pods that are well");
    println!("each failing pod is diagnosed, and no other: {causes:?}");
    Ok(())
}

/// What the operator has told so far.
struct Told {
    requests: Requests,
    /// Diagnoses of pods, and of nodes and workloads.
    pods: u64,
    outer: u64,
    /// Events that were left out, as their workload's tells the same.
    folded: u64,
}

impl Told {
    async fn now(lab: &Lab, running: &Running) -> Result<Self> {
        let (pods, outer) = lab.sights.count();
        let folded = sum(&running.metrics().await?, "shindan_events_folded_total", "");
        Ok(Self { requests: Requests::now(&lab.client).await?, pods: pods as u64, outer: outer as u64, folded })
    }

    /// One apply and one Event for each diagnosis, and one more apply at most, when it is known who suffers.
    fn is_told_once_since(&self, before: &Self) -> Result<()> {
        let requests = self.requests.since(&before.requests);
        let (pods, outer, folded) = (self.pods - before.pods, self.outer - before.outer, self.folded - before.folded);
        let told: Vec<_> = requests.by_verb().collect();
        println!("{pods} diagnoses of pods, {outer} of workloads and nodes, {folded} Events folded: {told:?}");
        let of_pods = requests.of("APPLY", "poddiagnoses");
        let of_outer = requests.of("APPLY", "workloaddiagnoses") + requests.of("APPLY", "nodediagnoses");
        let events = requests.of("POST", "events");
        ensure!((pods..=2 * pods).contains(&of_pods), "{of_pods} applies for {pods} diagnoses of pods");
        ensure!((outer..=2 * outer).contains(&of_outer), "{of_outer} applies for {outer} diagnoses of others");
        ensure!((pods..=pods + outer).contains(&(events + folded)), "{events} Events, and {folded} folded");
        ensure!(requests.writes() == of_pods + of_outer + events, "something else was written");
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
