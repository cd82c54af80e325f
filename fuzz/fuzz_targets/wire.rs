//! Fuzzes the parsing of API objects.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use shindan_fuzz::{mutate, wire};

fuzz_target!(|data: &[u8]| wire::run(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::in_place(data, size, max_size, seed).unwrap_or_else(|| fuzzer_mutate(data, size, max_size))
});
