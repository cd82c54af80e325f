//! The fuzz targets and the conditions that must hold for every input.
//!
//! A target is a module with `run`, which panics if a condition does not hold, and `seeds`, the initial corpus.
//! `fuzz_targets/` passes each to libFuzzer; tests/fuzz.rs includes the same files and runs the seeds and a few mutations of
//! them in `cargo test`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed condition is reported by a panic")]

pub mod diagnose;
pub mod matchers;
pub mod messages;
pub mod mutate;
pub mod offline;
pub mod planted;
pub mod recorded;
pub mod sound;
pub mod wire;
