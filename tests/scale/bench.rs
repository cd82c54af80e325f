//! Measures the operator and two bare clients on a large cluster. `scale` starts the cluster and runs this.

#![allow(clippy::disallowed_types, reason = "tests write what the operator reads")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for a terminal")]
#![allow(clippy::disallowed_methods, reason = "it measures time")]

mod bare;
mod counts;
mod etcd;
mod lab;
mod opt_in;
mod page;
mod phases;
mod recorded;
mod report;
mod requests;
mod sights;
mod simulate;
mod soak;
mod subject;
mod waterfall;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use jiff::Timestamp;

use etcd::Etcd;
use lab::{Figures, Lab, Options};
use phases::Phase;
use recorded::Fleet;
use report::{Taken, Verdict};
use subject::{Running, Subject};

#[derive(Parser)]
enum Command {
    /// Write all objects of a cluster with this many pods to etcd
    Fill {
        #[arg(long, default_value_t = 100_000)]
        pods: usize,
        /// Address of etcd, without TLS
        #[arg(long, default_value = "http://127.0.0.1:2379")]
        etcd: String,
    },
    /// Measure the operator and the bare clients, and save the figures
    Run {
        #[command(flatten)]
        options: Options,
        /// Measure only these phases, after a cold start
        #[arg(long, value_delimiter = ',')]
        only: Vec<Phase>,
        /// Measure only these; the operator is required, because the others repeat its writes
        #[arg(long, value_enum, value_delimiter = ',', default_values_t = Subject::ALL)]
        subjects: Vec<Subject>,
    },
    /// Check the number of writes, without times
    Counts {
        #[command(flatten)]
        options: Options,
    },
    /// Change statuses, create and delete pods for a long time, and check that the operator releases their memory
    Soak {
        #[command(flatten)]
        options: Options,
        #[arg(long, default_value_t = 20)]
        minutes: u64,
    },
    /// Measure what 100 rules of users and --network cost, beside an operator without them
    OptIn {
        #[command(flatten)]
        options: Options,
    },
    /// Show where the time goes from a pod's status to its diagnosis, at rest and under load
    Waterfall {
        #[command(flatten)]
        options: Options,
        /// Status updates of healthy pods per second
        #[arg(long, default_value_t = 500)]
        rate: u64,
    },
    /// Measure memory and CPU for pods that are read and diagnosed in this process, as by one operator and by one of ten
    Simulate {
        #[arg(long, default_value_t = 500_000)]
        pods: usize,
        #[arg(long, hide = true)]
        share: Option<usize>,
    },
    /// Write docs/benchmarks.md from the saved figures; fails if a bound is missed
    Report {
        /// Folder of the figures
        #[arg(long, default_value = "target/bench")]
        out: PathBuf,
        /// Versions of the programs beside the operator
        #[arg(long)]
        versions: String,
        #[arg(long, default_value = "docs/benchmarks.md")]
        page: PathBuf,
    },
    /// Run the bare client in Rust
    #[command(hide = true)]
    Bare {
        #[arg(long)]
        kubeconfig: PathBuf,
        #[arg(long)]
        bodies: PathBuf,
        /// Skip pods that have a diagnosis already
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
        Command::Run { options, only, subjects } => run(options, &only, &subjects).await,
        Command::Counts { options } => counts::check(&Lab::new(options).await?).await,
        Command::Soak { options, minutes } => soak::soak(&Lab::new(options).await?, minutes).await,
        Command::OptIn { options } => opt_in::compare(&Lab::new(options).await?).await,
        Command::Waterfall { options, rate } => waterfall::measure(&Lab::new(options).await?, rate).await,
        Command::Simulate { pods, share: Some(share) } => simulate::one(pods, share),
        Command::Simulate { pods, share: None } => simulate::compare(pods),
        Command::Report { out, versions, page } => page::write(&out, &versions, &page),
        Command::Bare { kubeconfig, bodies, known } => bare::run(kubeconfig, &bodies, known).await,
    }
}

/// Measured cold starts of each subject.
const COLD_STARTS: usize = 3;

/// The figures of each subject by phase.
type All = BTreeMap<(Subject, Phase), Figures>;

async fn run(options: Options, only: &[Phase], subjects: &[Subject]) -> Result<()> {
    let selected: Vec<Phase> = Phase::ALL.into_iter().filter(|phase| only.is_empty() || only.contains(phase)).collect();
    let subjects: Vec<Subject> = Subject::ALL.into_iter().filter(|subject| subjects.contains(subject)).collect();
    anyhow::ensure!(subjects.contains(&Subject::Operator), "--subjects must contain operator");
    if subjects.contains(&Subject::Go) {
        options.go_client()?;
    }
    let lab = Lab::new(options).await?;
    let mut all = if selected.contains(&Phase::Cold) { cold_starts(&lab, &subjects).await? } else { All::new() };
    let mut outcome = Ok(());
    if selected.iter().any(|phase| *phase != Phase::Cold) {
        for subject in subjects {
            // The figures of earlier phases and of other subjects are saved nevertheless.
            if let Err(error) = measure(&lab, subject, &selected, &mut all).await {
                outcome = Err(error.context(format!("the {} was not measured to the end", subject.as_str())));
            }
            lab.put_back().await?;
        }
    }
    let folder = lab.options.folder()?;
    let mut taken = Vec::new();
    for phase in selected {
        let mut of = |subject| all.remove(&(subject, phase));
        let Some(operator) = of(Subject::Operator) else { continue };
        let phase = Taken::new(lab.options.pods, phase, operator, of(Subject::Bare), of(Subject::Go));
        phase.save(&folder)?;
        taken.push(phase);
    }
    let mut table = String::new();
    let worst = report::table(&taken, &mut table)?;
    println!("{table}");
    outcome?;
    anyhow::ensure!(worst != Verdict::Missed, "a bound is missed");
    Ok(())
}

/// Measures cold starts in turns, because the speed of the API server varies, and returns the median of each subject. A first
/// start of the operator, which is not counted, fills the API server's caches.
async fn cold_starts(lab: &Lab, subjects: &[Subject]) -> Result<All> {
    start_cold(lab, Subject::Operator).await?.0.kill().await?;
    lab.put_back().await?;
    let mut starts: BTreeMap<Subject, Vec<Figures>> = BTreeMap::new();
    for _ in 0..COLD_STARTS {
        for subject in subjects {
            let (running, figures) = start_cold(lab, *subject).await?;
            print(*subject, Phase::Cold, &figures);
            starts.entry(*subject).or_default().push(figures);
            running.kill().await?;
            lab.put_back().await?;
        }
    }
    let middle = |mut starts: Vec<Figures>| {
        starts.sort_by(|a, b| a["last_s"].total_cmp(&b["last_s"]));
        starts.swap_remove(COLD_STARTS / 2)
    };
    Ok(starts.into_iter().map(|(subject, starts)| ((subject, Phase::Cold), middle(starts))).collect())
}

async fn start_cold(lab: &Lab, subject: Subject) -> Result<(Running, Figures)> {
    let (running, figures) = phases::cold(lab, subject).await?;
    if subject == Subject::Operator {
        lab.keep_bodies().await?;
    }
    Ok((running, figures))
}

/// Measures all other phases of one subject, on the cluster as it was filled.
async fn measure(lab: &Lab, subject: Subject, selected: &[Phase], all: &mut All) -> Result<()> {
    let (mut running, _) = start_cold(lab, subject).await?;
    for phase in selected {
        let figures = match phase {
            Phase::Cold => continue,
            // Waits for delayed writes of the operator.
            Phase::Rest if subject != Subject::Operator => continue,
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
        print(subject, *phase, &figures);
        all.insert((subject, *phase), figures);
    }
    running.kill().await
}

fn print(subject: Subject, phase: Phase, figures: &Figures) {
    let values = figures.iter().map(|(name, figure)| format!("{name} {figure:.2}"));
    println!("{} {}: {}", subject.as_str(), phase.as_str(), values.collect::<Vec<_>>().join(", "));
}
