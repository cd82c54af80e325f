//! Writes docs/benchmarks.md.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use super::report::{Taken, Verdict, diagnosed_a_second, first_line, machine, table};

const SIZES: [usize; 2] = [20_000, 100_000];
/// Number of failing pods that one core must diagnose per second.
const DIAGNOSED: f64 = 50_000.0;

pub(crate) fn write(out: &Path, versions: &str, page: &Path) -> Result<()> {
    let mut text = String::from(HEAD);
    let sizes: Vec<Vec<Taken>> = SIZES.iter().map(|pods| Taken::read_all(&out.join(pods.to_string()))).collect();
    let mut dates: Vec<String> =
        sizes.iter().flatten().map(|taken| format!("{} on {}", taken.commit, taken.date)).collect();
    dates.sort();
    dates.dedup();
    writeln!(text, "| | |\n|---|---|")?;
    writeln!(text, "| machine | {}; the API server and etcd run on it too |", machine())?;
    writeln!(text, "| versions | {}; {versions} |", first_line("rustc", &["--version"]))?;
    writeln!(text, "| measured | {} |", dates.join("; "))?;
    writeln!(text, "| command | `make bench` |")?;
    let mut all_met = true;
    for taken in &sizes {
        writeln!(text)?;
        all_met &= table(taken, &mut text)? == Verdict::Met;
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
    ensure!(all_met, "a bound is missed, or was not measured");
    Ok(())
}

const HEAD: &str = "# Benchmarks

`make bench` writes this page; commit it with the change that it was run for. [tests/scale](../tests/scale/README.md) describes the
cluster, the phases, and how to measure a single row. [Scale](scale.md) has the consequences for larger clusters, and
[ADR 27](adr/0027-new-failures-first-on-one-thread.md) the alternatives that were tried.

The operator is the release binary as a separate process. Two bare clients show what the API server and a client library cost
without a diagnosis, each in a process of its own:

- The *bare client* is written in Rust, with the operator's library. It decodes only the few fields of a pod that it reads, and
  keeps no pod.
- The *Go client* is what most operators are built on: client-go with a typed decode of whole pods from JSON, and a store of all
  pods.

Both list and watch all pods as the operator does, and make the same two writes for each failing pod: one apply and one Event, of
the same size and concurrency. They have no other watches. The three run alone, one after the other, in one run, against the same
API server. The columns *to bare* and *to Go* divide the operator's figure by theirs.

The bounds are:

| what | bound |
|---|---|
| peak memory | 32 MiB with 20,000 pods, 64 MiB with 100,000; after a 410, 40 and 72 MiB; in a mass failure, twice that at rest |
| cold start | 1.25 times the bare client's |
| writes | 2 for each diagnosis, none at rest |
| latency at rest and under 500 updates/s, p50 and p99 | the Go client's |
| latency under 1,000 updates/s, p99 | 1.5 times the Go client's |
| CPU for an update | 1.1 times the bare client's |
| mass failure | the bare client's time until the last diagnosis; 2 s for another failure meanwhile |
| diagnoses of one core | 50,000 failing pods per second in each category |

";
