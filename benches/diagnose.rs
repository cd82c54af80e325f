//! Measures `diagnose` over the recorded cases, by family of causes: failing pods per second on one core. And the reading of
//! hostile messages of 64 KiB and 1 MiB: bytes per second, which are equal for both if the time is linear.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a measurement fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "it measures time")]

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use shindan_core::case::{Health, Thresholds};
use shindan_core::facts::Timestamp;
use shindan_core::message::Message;
use shindan_core::offline;
use shindan_core::rules::diagnose;
use shindan_core::state::World;
use shindan_core::wire::Dump;

/// Failing pods in the world of their case.
struct Case {
    world: World,
    now: Timestamp,
    uids: Vec<Arc<str>>,
}

impl Case {
    /// Time to diagnose each pod this many times, without the cost of storing its facts.
    fn time(&self, times: u64) -> Duration {
        let time = |uid: &Arc<str>| {
            self.world.with_case(uid, self.now, |case| {
                let began = Instant::now();
                for _ in 0..times {
                    black_box(diagnose(black_box(case)));
                }
                began.elapsed()
            })
        };
        self.uids.iter().filter_map(time).sum()
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for (family, cases) in families() {
        let pods: usize = cases.iter().map(|case| case.uids.len()).sum();
        let mut group = criterion.benchmark_group("diagnose");
        group.throughput(Throughput::Elements(pods as u64));
        group.bench_function(family, |bencher| {
            bencher.iter_custom(|times| cases.iter().map(|case| case.time(times)).sum());
        });
    }
    let mut group = criterion.benchmark_group("message");
    group.sample_size(10);
    for (name, pattern) in HOSTILE {
        for (size, label) in [(1 << 16, "64 KiB"), (1 << 20, "1 MiB")] {
            let text = pattern.repeat(size / pattern.len());
            group.throughput(Throughput::Bytes(text.len() as u64));
            group.bench_function(format!("{name}, {label}"), |bencher| {
                bencher.iter(|| Message::parse(black_box(&text)).summary(200, &[]));
            });
        }
    }
    group.finish();
    criterion.final_summary();
}

/// Patterns that nest or split messages, to be repeated.
const HOSTILE: [(&str, &str); 6] = [
    ("clauses", "failed to a: "),
    ("brackets", "("),
    ("quotes", "x caused \""),
    ("JSON", "{\"a\":"),
    ("paths", "/a"),
    ("codes", "rpc error: code = Unknown desc = "),
];

/// All recorded pods that fail, by the family of the cause.
fn families() -> BTreeMap<String, Vec<Case>> {
    let mut families: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    let causes = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/causes");
    for path in files(&causes).iter().flat_map(|folder| files(folder)) {
        let name = path.file_name().unwrap().to_string_lossy();
        if !name.ends_with(".yaml") || name.starts_with("not-") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for (family, uids) in failing(&text) {
            let (world, now) = world(&text);
            families.entry(family).or_default().push(Case { world, now, uids });
        }
    }
    families
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn world(text: &str) -> (World, Timestamp) {
    let mut dump = Dump::default();
    dump.read(text);
    let recorded = text.lines().find_map(|line| line.strip_prefix("# recorded-at: "));
    // A manifest without a status has no times.
    let now = recorded.map(|at| at.parse().unwrap()).or(dump.newest).unwrap_or(Timestamp::UNIX_EPOCH);
    (offline::world(dump, now, Thresholds::default()), now)
}

/// The pods of a case that fail, by family.
fn failing(text: &str) -> BTreeMap<String, Vec<Arc<str>>> {
    let (world, now) = world(text);
    let mut families: BTreeMap<String, Vec<Arc<str>>> = BTreeMap::new();
    for uid in world.cluster.unhealthy() {
        let category = world.with_case(&uid, now, |case| match diagnose(case).health {
            Health::Failing(diagnosis) => Some(diagnosis.category),
            Health::Healthy => None,
        });
        if let Some(category) = category.flatten() {
            families.entry(category.as_str().to_owned()).or_default().push(uid);
        }
    }
    families
}
