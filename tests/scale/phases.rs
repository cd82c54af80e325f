//! The phases of a measurement.

mod mass;
mod steady;
mod updates;

use std::time::Duration;

use anyhow::Result;

pub(crate) use mass::{flap, mass};
pub(crate) use steady::{relist, rest, restart};
pub(crate) use updates::{PROBES_A_SECOND, every, fail, in_pace, latency, update};

use super::lab::{Figures, Lab};
use super::requests::Requests;
use super::subject::{Running, Subject};

/// Time without a write after which a subject has finished. `SETTLED` is longer than the delayed writes of the operator
/// (30 s).
pub(crate) const QUIET: Duration = Duration::from_secs(8);
pub(crate) const SETTLED: Duration = Duration::from_secs(40);
/// Timeout without any write while writes are expected.
pub(crate) const STALL_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Phase {
    /// From the start of the process until all is written
    Cold,
    /// A minute without changes
    Rest,
    /// From the change of a status to its diagnosis, at rest and while other statuses change
    Latency,
    /// The API server restarts without its watch history
    Relist,
    /// The process restarts while all diagnoses exist
    Restart,
    /// Thousands of pods fail within ten seconds, and recover later
    Mass,
    /// Thousands of pods fail and recover within a few seconds
    Flap,
}

impl Phase {
    pub(crate) const ALL: [Self; 7] =
        [Self::Cold, Self::Rest, Self::Latency, Self::Relist, Self::Restart, Self::Mass, Self::Flap];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Rest => "rest",
            Self::Latency => "latency",
            Self::Relist => "relist",
            Self::Restart => "restart",
            Self::Mass => "mass",
            Self::Flap => "flap",
        }
    }
}

/// Measures a cold start, until all is written.
pub(crate) async fn cold(lab: &Lab, subject: Subject) -> Result<(Running, Figures)> {
    let expected = lab.failing();
    let before = Requests::now(&lab.client).await?;
    let mut running = Running::start(&lab.options, subject, false)?;
    let listed = running.listed().await?;
    lab.sights.until("diagnoses", STALL_TIMEOUT, |sights| sights.count().0 >= expected).await?;
    let last = lab.sights.last_first().map_or(Duration::ZERO, |last| last - running.began);
    lab.sights.settled(QUIET).await;
    let settled = running.began.elapsed().saturating_sub(QUIET);
    let requests = Requests::now(&lab.client).await?.since(&before);
    let (peak, now) = running.memory()?;
    let mut figures = Figures::from([
        ("listed_s".to_owned(), listed.as_secs_f64()),
        ("last_s".to_owned(), last.as_secs_f64()),
        ("settled_s".to_owned(), settled.as_secs_f64()),
        ("peak_mib".to_owned(), peak),
        ("now_mib".to_owned(), now),
        ("cpu_s".to_owned(), running.cpu()?),
        ("diagnoses".to_owned(), count(lab.sights.count().0)),
        ("other_diagnoses".to_owned(), count(lab.sights.count().1)),
    ]);
    add_requests(&mut figures, &requests);
    Ok((running, figures))
}

pub(crate) fn add_requests(figures: &mut Figures, requests: &Requests) {
    figures.insert("writes".to_owned(), whole(requests.writes()));
    figures.extend(requests.by_verb().map(|(name, count)| (format!("requests {name}"), whole(count))));
}

pub(crate) fn count(n: usize) -> f64 {
    whole(n as u64)
}

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn whole(n: u64) -> f64 {
    n as f64
}

/// Adds p50, p99 and the maximum of some times, in milliseconds.
pub(crate) fn add_times(figures: &mut Figures, name: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| times.get((times.len() * share / 100).min(times.len().saturating_sub(1)));
    for (suffix, time) in [("p50", at(50)), ("p99", at(99)), ("max", times.last())] {
        if let Some(time) = time {
            figures.insert(format!("{name}{suffix}_ms"), time.as_secs_f64() * 1000.0);
        }
    }
    figures.insert(format!("{name}samples"), count(times.len()));
}
