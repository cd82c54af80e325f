//! What is fuzzed, and what must hold whatever comes.
//!
//! A target is a module with `run`, which panics where something does not hold, and `seeds`, which a run begins with.
//! `fuzz_targets/` gives each to libFuzzer; tests/fuzz.rs takes the same files, and tries in `cargo test` the seeds and a few
//! mutations of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "what does not hold is told by a panic")]

pub mod diagnose;
pub mod matchers;
pub mod mutate;
pub mod offline;
pub mod planted;
pub mod recorded;
pub mod sound;
pub mod wire;
