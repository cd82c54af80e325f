//! The fuzz targets without a fuzzer: their seeds, and a fixed set of mutations. `make test-long` runs libFuzzer on them for a
//! configurable time (CONTRIBUTING.md).
//!
//! - `FUZZ_INPUT=FILE cargo test --test fuzz TARGET` runs one input, such as the one that libFuzzer saves for a failure.
//! - `FUZZ_CORPUS=FOLDER cargo test --test fuzz seeds` writes all seeds to `FOLDER/TARGET`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "it names the input that failed")]
#![allow(unreachable_pub, reason = "the fuzz targets are crates of their own")]

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

#[path = "../fuzz/src/diagnose.rs"]
mod diagnose;
#[path = "../fuzz/src/matchers.rs"]
mod matchers;
#[path = "../fuzz/src/messages.rs"]
mod messages;
#[allow(dead_code, reason = "libFuzzer has a buffer of its own")]
#[path = "../fuzz/src/mutate.rs"]
mod mutate;
#[path = "../fuzz/src/offline.rs"]
mod offline;
#[path = "../fuzz/src/planted.rs"]
mod planted;
#[path = "../fuzz/src/recorded.rs"]
mod recorded;
#[path = "../fuzz/src/sound.rs"]
mod sound;
#[path = "../fuzz/src/wire.rs"]
mod wire;

/// Number of mutations of each seed.
const MUTATIONS: u64 = 4;

struct Target {
    name: &'static str,
    run: fn(&[u8]),
    /// Number of cases per seed.
    seeds: fn(usize) -> Vec<Vec<u8>>,
    /// Only one of this many cases is used here.
    every: usize,
}

const TARGETS: [Target; 5] = [
    Target { name: "wire", run: wire::run, seeds: wire::seeds, every: 60 },
    Target { name: "matchers", run: matchers::run, seeds: matchers::seeds, every: 20 },
    Target { name: "messages", run: messages::run, seeds: messages::seeds, every: 20 },
    Target { name: "offline", run: offline::run, seeds: offline::seeds, every: 30 },
    Target { name: "diagnose", run: diagnose::run, seeds: diagnose::seeds, every: 15 },
];

fn tried(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    if let Some(file) = std::env::var_os("FUZZ_INPUT") {
        (target.run)(&fs::read(file).unwrap());
        return;
    }
    let seeds = (target.seeds)(target.every);
    assert!(seeds.len() > 20, "{name}: {} seeds", seeds.len());
    for (number, seed) in (0_u64..).zip(seeds) {
        stands(target, &seed);
        for mutation in 0..MUTATIONS {
            let mut random = mutate::Random::new(MUTATIONS * number + mutation);
            stands(target, &mutate::changed(&seed, &mut random));
        }
    }
}

/// Runs one input; saves it if it fails.
fn stands(target: &Target, input: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.run)(input))) {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}", target.name));
        fs::write(&kept, input).unwrap();
        eprintln!("the input: FUZZ_INPUT={} cargo test --test fuzz {}", kept.display(), target.name);
        resume_unwind(panic);
    }
}

#[test]
fn wire_types_accept_any_input() {
    tried("wire");
}

#[test]
fn matchers_accept_any_input() {
    tried("matchers");
}

#[test]
fn long_messages_are_accepted() {
    tried("messages");
}

#[test]
fn offline_files_accept_any_input() {
    tried("offline");
}

#[test]
fn diagnose_accepts_any_input() {
    tried("diagnose");
}

#[test]
fn the_seeds_are_written_to_the_requested_folder() {
    let Some(folder) = std::env::var_os("FUZZ_CORPUS") else { return };
    for target in &TARGETS {
        let folder = Path::new(&folder).join(target.name);
        fs::create_dir_all(&folder).unwrap();
        for (number, seed) in (target.seeds)(1).iter().enumerate() {
            fs::write(folder.join(format!("seed-{number}")), seed).unwrap();
        }
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn each_target_is_tested_here() {
    let manifest = read("fuzz/Cargo.toml");
    let targets = manifest.split("[[bin]]\nname = \"").skip(1).map(|bin| bin.split('"').next().unwrap());
    assert_eq!(targets.collect::<Vec<_>>(), TARGETS.map(|target| target.name));
}

/// Names and versions of a lock file.
fn locked(path: &str) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in read(path).split("[[package]]").skip(1) {
        let value = |key: &str| {
            let begin = format!("{key} = \"");
            package.lines().find_map(|line| line.strip_prefix(&begin)?.strip_suffix('"')).unwrap().to_owned()
        };
        found.entry(value("name")).or_default().push(value("version"));
    }
    found
}

/// The fuzz targets must use the released versions of the libraries.
#[test]
fn fuzz_targets_use_the_released_versions() {
    let (ours, theirs) = (locked("Cargo.lock"), locked("fuzz/Cargo.lock"));
    for (name, versions) in theirs {
        let Some(known) = ours.get(&name) else { continue };
        assert!(
            versions.iter().all(|version| known.contains(version)),
            "fuzz/Cargo.lock has {name} {versions:?}, Cargo.lock {known:?}: `cp Cargo.lock fuzz/` and \
             `cargo metadata --manifest-path fuzz/Cargo.toml`"
        );
    }
}
