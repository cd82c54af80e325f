//! Measures `shindan diagnose` on dumps of failing bare pods of one namespace: pods per second, which are equal for all
//! sizes if the work is linear. `core/src/state/steps.rs` counts this work.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a measurement fails by panicking")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput};
use serde_json::{Value, json};
use shindan_core::case::Thresholds;
use shindan_core::facts::Timestamp;
use shindan_core::offline::{self, Logs, View};
use shindan_core::wire::Dump;

const SIZES: [usize; 3] = [5_000, 10_000, 20_000];

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let now = "2026-07-01T10:00:00Z".parse::<Timestamp>().unwrap();
    let mut group = criterion.benchmark_group("dump of failing bare pods");
    group.sample_size(10);
    for pods in SIZES {
        let text = json!({"kind": "List", "items": (0..pods).map(pod).collect::<Vec<_>>()}).to_string();
        let read = || {
            let mut dump = Dump::default();
            dump.read(&text);
            dump
        };
        group.throughput(Throughput::Elements(pods as u64));
        group.bench_function(pods.to_string(), |bencher| {
            let diagnose = |dump| offline::diagnose(dump, Logs::default(), now, View::from(Thresholds::default()));
            bencher.iter_batched(read, |dump| black_box(diagnose(dump)), BatchSize::PerIteration);
        });
    }
    group.finish();
    criterion.final_summary();
}

/// The n-th pod, whose container exits with code 1.
fn pod(n: usize) -> Value {
    let end = json!({
        "exitCode": 1, "reason": "Error", "startedAt": "2026-07-01T09:50:00Z", "finishedAt": "2026-07-01T09:51:00Z",
    });
    json!({
        "kind": "Pod",
        "metadata": {
            "name": format!("p-{n}"), "namespace": "shop", "uid": format!("00000000-0000-4000-8000-{n:012x}"),
            "creationTimestamp": "2026-07-01T09:00:00Z",
        },
        "spec": {"nodeName": format!("node-{}", n % 200), "containers": [{"name": "app", "image": "busybox:1.36"}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-07-01T09:00:00Z"}],
            "containerStatuses": [{
                "name": "app", "image": "busybox:1.36", "imageID": "", "ready": false, "restartCount": 5,
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}},
                "lastState": {"terminated": end},
            }],
        },
    })
}
