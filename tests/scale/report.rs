//! The table of figures with the bare clients and the bounds.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::lab::Figures;
use super::phases::Phase;

/// The figures of one phase for the subjects of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Taken {
    pub(crate) pods: usize,
    pub(crate) phase: String,
    pub(crate) commit: String,
    pub(crate) date: String,
    pub(crate) operator: Figures,
    pub(crate) bare: Option<Figures>,
    pub(crate) go: Option<Figures>,
}

impl Taken {
    #[allow(clippy::disallowed_methods, reason = "the date of a measurement")]
    pub(crate) fn new(
        pods: usize,
        phase: Phase,
        operator: Figures,
        bare: Option<Figures>,
        go: Option<Figures>,
    ) -> Self {
        let date = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
        Self {
            pods,
            phase: phase.as_str().to_owned(),
            commit: first_line("git", &["describe", "--always", "--dirty"]),
            date,
            operator,
            bare,
            go,
        }
    }

    pub(crate) fn save(&self, folder: &Path) -> Result<()> {
        Ok(fs::write(folder.join(format!("{}.json", self.phase)), serde_json::to_vec_pretty(self)?)?)
    }

    pub(crate) fn read_all(folder: &Path) -> Vec<Self> {
        let read = |phase: &Phase| fs::read(folder.join(format!("{}.json", phase.as_str()))).ok();
        Phase::ALL.iter().filter_map(|phase| serde_json::from_slice(&read(phase)?).ok()).collect()
    }
}

/// The bound of a figure.
#[derive(Debug, Clone, Copy)]
enum Bound {
    AtMost(f64),
    /// Multiple of the figure of the bare client in Rust.
    TimesBare(f64),
    /// Multiple of the Go client's figure.
    TimesGo(f64),
    /// Multiple of the operator's memory at rest, or after a cold start if rest was not measured.
    TimesRest(f64),
}

/// What a bound can refer to.
struct References {
    bare: Option<f64>,
    go: Option<f64>,
    rest: Option<f64>,
}

impl Bound {
    fn verdict(self, is: f64, references: &References) -> Verdict {
        let most = match self {
            Self::AtMost(most) => Some(most),
            Self::TimesBare(times) => references.bare.map(|bare| times * bare),
            Self::TimesGo(times) => references.go.map(|go| times * go),
            Self::TimesRest(times) => references.rest.map(|rest| times * rest),
        };
        match most {
            Some(most) if is <= most => Verdict::Met,
            Some(_) => Verdict::Missed,
            None => Verdict::NotMeasured,
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "{}", number(*most)),
            Self::TimesBare(times) => write!(f, "{times} x bare"),
            Self::TimesGo(times) => write!(f, "{times} x Go"),
            Self::TimesRest(times) => write!(f, "{times} x at rest"),
        }
    }
}

/// From the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Met,
    /// The subject that the bound refers to was not measured.
    NotMeasured,
    Missed,
}

impl Verdict {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMeasured => "not measured",
            Self::Missed => "**missed**",
        }
    }
}

struct Row {
    phase: Phase,
    figure: &'static str,
    title: &'static str,
    bound: Option<Bound>,
}

const fn row(phase: Phase, figure: &'static str, title: &'static str) -> Row {
    Row { phase, figure, title, bound: None }
}

const fn bound(phase: Phase, figure: &'static str, title: &'static str, bound: Bound) -> Row {
    Row { phase, figure, title, bound: Some(bound) }
}

/// All rows of the report, in order.
fn rows(pods: usize) -> Vec<Row> {
    use Bound::{AtMost, TimesBare, TimesGo, TimesRest};
    use Phase::{Cold, Flap, Latency, Mass, Relist, Rest, Restart};
    let (memory, relist_memory) = if pods <= 20_000 { (32.0, 40.0) } else { (64.0, 72.0) };
    vec![
        bound(Cold, "peak_mib", "cold start: peak memory, MiB", AtMost(memory)),
        row(Cold, "now_mib", "memory after it, MiB"),
        row(Cold, "listed_s", "until all is listed, s"),
        bound(Cold, "last_s", "until the last failing pod has its diagnosis, s", TimesBare(1.25)),
        row(Cold, "settled_s", "until all is written, with diagnoses of workloads, s"),
        row(Cold, "cpu_s", "CPU, s"),
        row(Cold, "diagnoses", "diagnoses of pods"),
        row(Cold, "other_diagnoses", "diagnoses of workloads and nodes"),
        bound(Cold, "writes_each", "writes for each diagnosis", AtMost(2.0)),
        row(Cold, "reads_each", "lookups for each diagnosis"),
        bound(Rest, "writes", "writes in a minute of rest", AtMost(0.0)),
        row(Rest, "cpu_ms", "CPU in a minute of rest, ms"),
        row(Rest, "now_mib", "memory then, MiB"),
        bound(Latency, "0 p50_ms", "status to diagnosis at rest, p50, ms", TimesGo(1.0)),
        bound(Latency, "0 p99_ms", "p99, ms", TimesGo(1.0)),
        row(Latency, "0 max_ms", "max, ms"),
        row(Latency, "0 answer max_ms", "the longest wait of another client for a GET meanwhile, ms"),
        row(Latency, "100 p50_ms", "under 100 updates/s, p50, ms"),
        row(Latency, "100 p99_ms", "p99, ms"),
        row(Latency, "100 max_ms", "max, ms"),
        row(Latency, "100 answer max_ms", "the longest wait of another client for a GET meanwhile, ms"),
        bound(Latency, "500 p50_ms", "under 500 updates/s, p50, ms", TimesGo(1.0)),
        bound(Latency, "500 p99_ms", "p99, ms", TimesGo(1.0)),
        row(Latency, "500 max_ms", "max, ms"),
        row(Latency, "500 answer max_ms", "the longest wait of another client for a GET meanwhile, ms"),
        row(Latency, "1000 p50_ms", "under 1,000 updates/s, p50, ms"),
        bound(Latency, "1000 p99_ms", "p99, ms", TimesGo(1.5)),
        row(Latency, "1000 max_ms", "max, ms"),
        row(Latency, "1000 answer max_ms", "the longest wait of another client for a GET meanwhile, ms"),
        row(Latency, "100 cpu_us", "CPU for each update at 100/s, us"),
        bound(Latency, "500 cpu_us", "CPU for each update at 500/s, us", TimesBare(1.1)),
        row(Latency, "1000 cpu_us", "CPU for each update at 1,000/s, us"),
        row(Relist, "listed_s", "relist after 410: until all is listed again, s"),
        bound(Relist, "peak_mib", "peak memory, MiB", AtMost(relist_memory)),
        row(Relist, "cpu_s", "CPU, s"),
        bound(Relist, "writes", "writes", AtMost(0.0)),
        row(Restart, "diagnoses", "restart: existing diagnoses"),
        row(Restart, "listed_s", "until all is listed, s"),
        row(Restart, "peak_mib", "peak memory, MiB"),
        row(Restart, "cpu_s", "CPU, s"),
        bound(Restart, "writes", "writes", AtMost(0.0)),
        row(Mass, "pods", "mass failure: pods that fail within 10 s"),
        bound(Mass, "last_s", "until the last of them has its diagnosis, s", TimesBare(1.0)),
        row(Mass, "wait p50_ms", "wait of one, p50, ms"),
        row(Mass, "wait max_ms", "the longest, ms"),
        bound(Mass, "other wait max_ms", "the longest of another failure meanwhile, ms", AtMost(2000.0)),
        row(Mass, "backlog", "largest backlog"),
        bound(Mass, "peak_mib", "peak memory, MiB", TimesRest(2.0)),
        row(Mass, "cpu_s", "CPU, s"),
        row(Mass, "writes", "writes"),
        row(Mass, "recovered_s", "recovery: until all recoveries are written, s"),
        row(Flap, "pods", "flap: pods that fail for 5 s"),
        row(Flap, "settled_s", "until all diagnoses are written, s"),
        row(Flap, "backlog", "largest backlog"),
        row(Flap, "peak_mib", "peak memory, MiB"),
        row(Flap, "writes", "writes"),
    ]
}

/// Writes the figures of one cluster as a table; returns the worst verdict.
pub(crate) fn table(taken: &[Taken], out: &mut String) -> Result<Verdict> {
    let mut worst = Verdict::Met;
    let Some(pods) = taken.first().map(|taken| taken.pods) else { return Ok(worst) };
    let phases: BTreeMap<&str, &Taken> = taken.iter().map(|taken| (&*taken.phase, taken)).collect();
    let rest =
        [Phase::Rest, Phase::Cold].iter().find_map(|phase| figure(&phases.get(phase.as_str())?.operator, "now_mib"));
    writeln!(out, "| {} pods | operator | bare client | Go client | to bare | to Go | bound | |", grouped(pods))?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|---|---|")?;
    for row in rows(pods) {
        let Some(taken) = phases.get(row.phase.as_str()) else { continue };
        let Some(is) = figure(&taken.operator, row.figure) else { continue };
        let of = |figures: &Option<Figures>| figure(figures.as_ref()?, row.figure);
        let references = References { bare: of(&taken.bare), go: of(&taken.go), rest };
        let verdict = row.bound.map(|bound| bound.verdict(is, &references));
        worst = worst.max(verdict.unwrap_or(Verdict::Met));
        let ratio = |other: f64| if other > 0.0 { format!("{:.2}", is / other) } else { String::new() };
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            row.title,
            number(is),
            references.bare.map(number).unwrap_or_default(),
            references.go.map(number).unwrap_or_default(),
            references.bare.map(ratio).unwrap_or_default(),
            references.go.map(ratio).unwrap_or_default(),
            row.bound.map(|bound| bound.to_string()).unwrap_or_default(),
            verdict.map_or("", Verdict::as_str)
        )?;
    }
    Ok(worst)
}

fn figure(figures: &Figures, name: &str) -> Option<f64> {
    let requests = |verbs: &[&str]| -> f64 {
        let of = |key: &str| verbs.iter().any(|verb| key.starts_with(&format!("requests {verb} ")));
        figures.iter().filter(|(key, _)| of(key)).map(|(_, count)| count).sum()
    };
    let diagnoses = || Some(figures.get("diagnoses")? + figures.get("other_diagnoses")?);
    match name {
        "writes_each" => Some(figures.get("writes")? / diagnoses()?),
        "reads_each" => Some(requests(&["GET", "LIST"]) / diagnoses()?),
        _ => figures.get(name).copied(),
    }
}

fn number(n: f64) -> String {
    if n >= 1000.0 || n.fract() == 0.0 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts and times are small")]
        return grouped(n.round() as usize);
    }
    if n >= 100.0 {
        format!("{n:.0}")
    } else if n >= 10.0 {
        format!("{n:.1}")
    } else {
        format!("{n:.2}")
    }
}

fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// Describes the machine of the measurements.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let memory = read("/proc/meminfo")
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    let model = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| Some(line.strip_prefix("model name")?.split_once(": ")?.1.to_owned()));
    format!(
        "{cores} cores ({}), {} GiB, Linux {}",
        model.unwrap_or_default(),
        memory.unwrap_or(0).div_ceil(1 << 20),
        read("/proc/sys/kernel/osrelease").trim()
    )
}

/// The first line of a program's output.
pub(crate) fn first_line(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().ok();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

/// Failing pods diagnosed per second, by family of causes, from `cargo bench`.
pub(crate) fn diagnosed_a_second(criterion: &Path) -> Result<BTreeMap<String, f64>> {
    let mut families = BTreeMap::new();
    let Ok(entries) = fs::read_dir(criterion) else { return Ok(families) };
    for entry in entries {
        let entry = entry?;
        let Ok(text) = fs::read(entry.path().join("new/estimates.json")) else { continue };
        let estimates: serde_json::Value = serde_json::from_slice(&text)?;
        let of = fs::read(entry.path().join("new/benchmark.json")).context("a benchmark without its name")?;
        let of: serde_json::Value = serde_json::from_slice(&of)?;
        let pods = of["throughput"]["Elements"].as_f64().context("a benchmark without its throughput")?;
        let ns = estimates["mean"]["point_estimate"].as_f64().context("no mean")?;
        families.insert(entry.file_name().to_string_lossy().into_owned(), pods * 1e9 / ns);
    }
    Ok(families)
}
