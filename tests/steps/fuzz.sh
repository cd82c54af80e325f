# shellcheck shell=bash
# libFuzzer on the targets of fuzz/. Sourced after steps.sh and supply.sh.

readonly FUZZ_VERSION=0.13.2
FUZZED=$ROOT/target/fuzz

# libFuzzer is compiled from C++.
find_cxx() {
  if ! command -v c++ >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends g++
  fi
  need c++ "libFuzzer is compiled with it; install the package g++"
}

# Without a sanitizer, which needs a nightly compiler: our code has no `unsafe`, and panics, overflows, time and memory are
# still checked.
fuzz() { # seconds-for-each-target
  local target
  find_cxx
  cargo_tool cargo-fuzz $FUZZ_VERSION
  cargo fuzz build --sanitizer none --no-trace-compares --target-dir "$FUZZED"
  FUZZ_CORPUS=$FUZZED/seeds cargo test --locked --test fuzz the_seeds
  for target in $(cargo fuzz list); do fuzz_target "$target" "$1"; done
}

# The next run starts with the inputs that a run has found (target/fuzz/corpus).
fuzz_target() { # target seconds
  local log=$FUZZED/$1.log found=$FUZZED/found/$1 corpus=$FUZZED/corpus/$1 result code=0
  mkdir -p "$found" "$corpus"
  "$FUZZED/$HOST/release/$1" -max_total_time="$2" -max_len=32768 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$found/" "$corpus" "$FUZZED/seeds/$1" >"$log" 2>&1 || code=$?
  if [ $code != 0 ]; then
    tail -n 40 "$log" >&2
    echo "$1 failed; its output is in $log. Run the input again: FUZZ_INPUT=$found/NAME cargo test --test fuzz $1" >&2
    return 1
  fi
  result=$(sed -n 's/.* DONE *\(cov: .*\) corp: \([0-9]*\).*/\1 inputs kept: \2/p' "$log" | tail -1)
  printf 'found: %s: %s executions in %d s, %s\n' "$1" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$2" "$result"
}
