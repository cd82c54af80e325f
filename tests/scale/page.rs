//! Writes docs/benchmarks.md.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use super::report::{Taken, diagnosed_a_second, first_line, machine, table};

const SIZES: [usize; 2] = [20_000, 100_000];
/// Number of failing pods that one core must diagnose per second.
const DIAGNOSED: f64 = 50_000.0;

pub(crate) fn write(out: &Path, page: &Path) -> Result<()> {
    let mut text = String::from(HEAD);
    let sizes: Vec<Vec<Taken>> = SIZES.iter().map(|pods| Taken::read_all(&out.join(pods.to_string()))).collect();
    let mut dates: Vec<String> =
        sizes.iter().flatten().map(|taken| format!("{} on {}", taken.commit, taken.date)).collect();
    dates.sort();
    dates.dedup();
    writeln!(text, "| | |\n|---|---|")?;
    writeln!(text, "| machine | {}; the API server and etcd run on it too |", machine())?;
    writeln!(
        text,
        "| versions | {}; Kubernetes {}, etcd {} |",
        first_line("rustc", &["--version"]),
        version("KUBERNETES_VERSION")?,
        version("ETCD_VERSION")?
    )?;
    writeln!(text, "| measured | {} |", dates.join("; "))?;
    writeln!(text, "| command | `make bench` |")?;
    let mut all_met = true;
    for taken in &sizes {
        writeln!(text)?;
        all_met &= table(taken, &mut text)?;
    }
    let families = diagnosed_a_second(&out.with_file_name("criterion"))?;
    if !families.is_empty() {
        writeln!(
            text,
            "\n## `diagnose` on one core\n\n| category | failing pods per second | bound | |\n|---|---:|---:|---|"
        )?;
        for (family, pods) in families {
            let met = pods >= DIAGNOSED;
            all_met &= met;
            let verdict = if met { "met" } else { "**missed**" };
            writeln!(text, "| {family} | {pods:.0} | {DIAGNOSED:.0} | {verdict} |")?;
        }
    }
    fs::write(page, text)?;
    println!("wrote {}", page.display());
    ensure!(all_met, "a bound is missed");
    Ok(())
}

fn version(name: &str) -> Result<String> {
    let settings = fs::read_to_string("tests/cluster/lib/settings.sh")?;
    let line = settings.lines().find_map(|line| line.strip_prefix("readonly ")?.strip_prefix(name)?.strip_prefix('='));
    Ok(line.unwrap_or_default().to_owned())
}

const HEAD: &str = "# Benchmarks

`make bench` writes this page; commit it with the change that it was run for. [tests/scale](../tests/scale/README.md) describes the
cluster, the phases, and how to measure a single row. [Scale](scale.md) has the consequences for larger clusters, and
[ADR 27](adr/0027-new-failures-first-on-one-thread.md) the alternatives that were tried.

The operator is the release binary as a separate process. The bare client is another process. It lists and watches pods as the
operator does, and makes the same two writes for each failing pod (one apply and one Event, of the same size and concurrency).
It makes no diagnosis and has no other watches. Both run alone, one after the other, in one run, against the same API server.

The bounds: memory of 32 MiB with 20,000 pods and 64 MiB with 100,000, a cold start of 1.25 times the bare client's, at most 2
writes for each diagnosis, none at rest, latency not above the bare client's, CPU per update of 1.1 times the bare client's, and
50,000 diagnoses per second and core in each category.

";
