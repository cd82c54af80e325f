//! Measures the operator on a large cluster, side by side with a bare client. `scale` starts the cluster and runs this.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for a terminal")]
#![allow(clippy::disallowed_methods, reason = "it measures time")]

mod bare;
mod counts;
mod etcd;
mod lab;
mod page;
mod phases;
mod recorded;
mod report;
mod requests;
mod sights;
mod soak;
mod subject;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use jiff::Timestamp;

use etcd::Etcd;
use lab::{Figures, Lab, Options};
use phases::Phase;
use recorded::Fleet;
use report::Taken;
use subject::{Running, Subject};

#[derive(Parser)]
enum Command {
    /// Put all objects of a cluster of so many pods into etcd
    Fill {
        #[arg(long, default_value_t = 100_000)]
        pods: usize,
        /// etcd, without TLS
        #[arg(long, default_value = "http://127.0.0.1:2379")]
        etcd: String,
    },
    /// Measure both, and keep the figures
    Run {
        #[command(flatten)]
        options: Options,
        /// Only these; a cold start comes before any
        #[arg(long, value_delimiter = ',')]
        only: Vec<Phase>,
        /// Leave out the bare client
        #[arg(long)]
        alone: bool,
    },
    /// Check what is written and how often, but no times
    Counts {
        #[command(flatten)]
        options: Options,
    },
    /// Change statuses and let pods come and go, for long, and check that nothing of it stays in the operator
    Soak {
        #[command(flatten)]
        options: Options,
        #[arg(long, default_value_t = 20)]
        minutes: u64,
    },
    /// Write docs/benchmarks.md from the figures that are kept; fails where a bound is missed
    Report {
        /// Where the figures are
        #[arg(long, default_value = "target/bench")]
        out: PathBuf,
        #[arg(long, default_value = "docs/benchmarks.md")]
        page: PathBuf,
    },
    /// Be the bare client
    #[command(hide = true)]
    Bare {
        #[arg(long)]
        kubeconfig: PathBuf,
        #[arg(long)]
        bodies: PathBuf,
        /// Pods that have a diagnosis get none
        #[arg(long)]
        known: bool,
    },
}

#[tokio::main]
async fn main() -> Result<()> {
    match Command::parse() {
        Command::Fill { pods, etcd } => {
            let fleet = Fleet::new(pods, Timestamp::now())?;
            let (objects, bytes) = Etcd::new(&etcd)?.fill(fleet.objects()).await?;
            println!("{objects} objects, {} MB of JSON", bytes / 1_000_000);
            Ok(())
        }
        Command::Run { options, only, alone } => run(options, &only, alone).await,
        Command::Counts { options } => counts::check(&Lab::new(options).await?).await,
        Command::Soak { options, minutes } => soak::soak(&Lab::new(options).await?, minutes).await,
        Command::Report { out, page } => page::write(&out, &page),
        Command::Bare { kubeconfig, bodies, known } => bare::run(kubeconfig, &bodies, known).await,
    }
}

/// Cold starts that are measured of each.
const COLD_STARTS: usize = 3;

async fn run(options: Options, only: &[Phase], alone: bool) -> Result<()> {
    let wanted: Vec<Phase> = Phase::ALL.into_iter().filter(|phase| only.is_empty() || only.contains(phase)).collect();
    let subjects = if alone { vec![Subject::Operator] } else { Subject::BOTH.to_vec() };
    let lab = Lab::new(options).await?;
    let mut figures = if wanted.contains(&Phase::Cold) { cold_starts(&lab, &subjects).await? } else { Vec::new() };
    figures.resize_with(subjects.len(), Vec::new);
    for (subject, figures) in subjects.into_iter().zip(&mut figures) {
        if wanted.iter().any(|phase| *phase != Phase::Cold) {
            figures.extend(measure(&lab, subject, &wanted).await?);
            lab.put_back().await?;
        }
    }
    let mut figures = figures.into_iter();
    let (operator, mut bare) = (figures.next().unwrap_or_default(), figures.next().unwrap_or_default());
    let folder = lab.options.folder()?;
    let mut taken = Vec::new();
    for (phase, operator) in operator {
        let bare = bare.iter_mut().find(|(of, _)| *of == phase).map(|(_, figures)| std::mem::take(figures));
        let phase = Taken::new(lab.options.pods, phase, operator, bare);
        phase.save(&folder)?;
        taken.push(phase);
    }
    let mut table = String::new();
    let met = report::table(&taken, &mut table)?;
    println!("{table}");
    anyhow::ensure!(met, "a bound is missed");
    Ok(())
}

/// The cold starts of each, in turns, because the API server is not always equally quick; of each the one in the middle.
/// A first start of the operator, which is not counted, fills the API server's caches.
async fn cold_starts(lab: &Lab, subjects: &[Subject]) -> Result<Vec<Vec<(Phase, Figures)>>> {
    start_cold(lab, Subject::Operator).await?.0.kill().await?;
    lab.put_back().await?;
    let mut starts = vec![Vec::new(); subjects.len()];
    for _ in 0..COLD_STARTS {
        for (subject, starts) in subjects.iter().zip(&mut starts) {
            let (running, figures) = start_cold(lab, *subject).await?;
            tell(*subject, Phase::Cold, &figures);
            starts.push(figures);
            running.kill().await?;
            lab.put_back().await?;
        }
    }
    let middle = |mut starts: Vec<Figures>| {
        starts.sort_by(|a, b| a["last_s"].total_cmp(&b["last_s"]));
        vec![(Phase::Cold, starts.swap_remove(COLD_STARTS / 2))]
    };
    Ok(starts.into_iter().map(middle).collect())
}

async fn start_cold(lab: &Lab, subject: Subject) -> Result<(Running, Figures)> {
    let (running, figures) = phases::cold(lab, subject).await?;
    if subject == Subject::Operator {
        lab.keep_bodies().await?;
    }
    Ok((running, figures))
}

/// All other phases of one subject, on the cluster as it was filled.
async fn measure(lab: &Lab, subject: Subject, wanted: &[Phase]) -> Result<Vec<(Phase, Figures)>> {
    let mut all = Vec::new();
    let (mut running, _) = start_cold(lab, subject).await?;
    for phase in wanted {
        let figures = match phase {
            Phase::Cold => continue,
            // It waits for what the operator alone may do by itself.
            Phase::Rest if subject == Subject::Bare => continue,
            Phase::Rest => phases::rest(lab, &running).await?,
            Phase::Latency => phases::latency(lab, &running).await?,
            Phase::Relist => phases::relist(lab, &mut running).await?,
            Phase::Restart => {
                let (again, figures) = phases::restart(lab, running).await?;
                running = again;
                figures
            }
            Phase::Mass => phases::mass(lab, &running).await?,
            Phase::Flap => phases::flap(lab, &running).await?,
        };
        tell(subject, *phase, &figures);
        all.push((*phase, figures));
    }
    running.kill().await?;
    Ok(all)
}

fn tell(subject: Subject, phase: Phase, figures: &Figures) {
    let told = figures.iter().map(|(name, figure)| format!("{name} {figure:.2}"));
    println!("{} {}: {}", subject.as_str(), phase.as_str(), told.collect::<Vec<_>>().join(", "));
}
