//! Phases without new failures: rest, a relist, and a restart.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{QUIET, SETTLED, whole};
use crate::lab::{Figures, Lab};
use crate::recorded::Look;
use crate::requests::Requests;
use crate::subject::{Running, Subject};

const MINUTE: Duration = Duration::from_secs(60);
/// Statuses that change while the API server is down, so that the resource versions of all watches expire.
const MEANWHILE: usize = 100;

/// A minute of rest.
pub(crate) async fn rest(lab: &Lab, running: &Running) -> Result<Figures> {
    lab.sights.settled(SETTLED).await;
    let (before, cpu) = (Requests::now(&lab.client).await?, running.cpu()?);
    tokio::time::sleep(MINUTE).await;
    let requests = Requests::now(&lab.client).await?.since(&before);
    let mut figures = Figures::from([
        ("cpu_ms".to_owned(), (running.cpu()? - cpu) * 1000.0),
        ("now_mib".to_owned(), running.memory()?.1),
    ]);
    super::add_requests(&mut figures, &requests);
    Ok(figures)
}

/// The resource version of each watch has expired (410), so it relists.
pub(crate) async fn relist(lab: &Lab, running: &mut Running) -> Result<Figures> {
    // Waits for writes of the previous phase.
    lab.sights.settled(if running.subject == Subject::Operator { SETTLED } else { QUIET }).await;
    let (lists, cpu) = (running.lists().await?, running.cpu()?);
    running.forget_peak()?;
    lab.api_server("stop")?;
    let meanwhile = lab.bystanders().into_iter().take(MEANWHILE).map(|place| lab.fleet.looking(place, Look::Healthy));
    lab.etcd.put(meanwhile).await?;
    lab.api_server("start")?;
    let ready = Instant::now();
    let before = Requests::now(&lab.client).await?;
    running.listed_after(lists).await?;
    let listed = ready.elapsed();
    tokio::time::sleep(QUIET).await;
    let (peak, now) = running.memory()?;
    let requests = Requests::now(&lab.client).await?.since(&before);
    Ok(Figures::from([
        ("listed_s".to_owned(), listed.as_secs_f64()),
        ("peak_mib".to_owned(), peak),
        ("now_mib".to_owned(), now),
        ("cpu_s".to_owned(), running.cpu()? - cpu),
        ("writes".to_owned(), whole(requests.writes())),
    ]))
}

/// A new process finds the diagnoses of the last one.
pub(crate) async fn restart(lab: &Lab, running: Running) -> Result<(Running, Figures)> {
    lab.sights.settled(QUIET).await;
    let subject = running.subject;
    running.kill().await?;
    let before = Requests::now(&lab.client).await?;
    let mut running = Running::start(&lab.options, subject, true)?;
    let listed = running.listed().await?;
    // Delayed writes would be due by then.
    tokio::time::sleep(if subject == Subject::Operator { SETTLED } else { QUIET }).await;
    let requests = Requests::now(&lab.client).await?.since(&before);
    let (peak, now) = running.memory()?;
    let figures = Figures::from([
        ("listed_s".to_owned(), listed.as_secs_f64()),
        ("peak_mib".to_owned(), peak),
        ("now_mib".to_owned(), now),
        ("cpu_s".to_owned(), running.cpu()?),
        ("diagnoses".to_owned(), super::count(lab.sights.count().0)),
        ("writes".to_owned(), whole(requests.writes())),
    ]);
    Ok((running, figures))
}
