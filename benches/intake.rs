//! Measures what a status update of a healthy pod costs: to decode it as the watch delivers it, and to apply it to a state of
//! 20,000 pods. Updates per second on one core.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a measurement fails by panicking")]

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use serde_json::Value;
use shindan_core::case::Thresholds;
use shindan_core::facts::Timestamp;
use shindan_core::offline;
use shindan_core::state::Change;
use shindan_core::wire::{Dump, Interner, Pod};

const DEPLOYMENT: &str = include_str!("../tests/healthy/deployment.yaml");
const PODS: usize = 20_000;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let template = template();
    let updates: Vec<String> = (0..PODS).map(|number| update(&template, number)).collect();
    let mut strings = Interner::default();
    let now = "2026-07-01T00:00:00Z".parse::<Timestamp>().unwrap();
    let mut world = offline::world(Dump::default(), now, Thresholds::default());
    let mut apply = |change: Change| world.apply(change, now);
    for text in &updates {
        apply(Change::Pod(Box::new(decode(text).into_facts(&mut strings))));
    }
    let mut group = criterion.benchmark_group("intake");
    group.throughput(Throughput::Elements(1));
    let mut texts = updates.iter().cycle();
    group.bench_function("decode", |bencher| bencher.iter(|| decode(black_box(texts.next().unwrap()))));
    group.bench_function("decode and apply", |bencher| {
        bencher.iter(|| {
            let pod = decode(black_box(texts.next().unwrap()));
            apply(Change::Pod(Box::new(pod.into_facts(&mut strings))))
        });
    });
    group.finish();
    criterion.final_summary();
}

fn decode(text: &str) -> Pod {
    serde_json::from_str(text).unwrap()
}

/// The first pod of the recorded Deployment.
fn template() -> Value {
    let objects: Vec<Value> = serde_saphyr::from_multiple(DEPLOYMENT).unwrap();

    objects.into_iter().find_map(first_pod).unwrap()
}

fn first_pod(value: Value) -> Option<Value> {
    if value["kind"] == "Pod" {
        return Some(value);
    }
    value["items"].as_array()?.iter().find(|item| item["kind"] == "Pod").cloned()
}

fn update(template: &Value, number: usize) -> String {
    let mut pod = template.clone();
    pod["metadata"]["name"] = format!("web-{number}").into();
    pod["metadata"]["uid"] = format!("00000000-0000-4000-8000-{number:012x}").into();
    pod.to_string()
}
