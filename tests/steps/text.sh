# shellcheck shell=bash
# Checks of the text of the sources take seconds, so they run first. Sourced after steps.sh.

# Go is optional here; `make test` requires it.
format() {
  cargo fmt --all --check && cargo fmt --check --manifest-path fuzz/Cargo.toml &&
    { ! command -v gofmt >/dev/null || go_format; }
}

go_format() {
  local unformatted
  unformatted=$(gofmt -l tests/scale/bare-go tests/cluster/tools/olm-validate)
  if [ -n "$unformatted" ]; then
    echo "run gofmt -w: $unformatted" >&2
    return 1
  fi
}

scripts() {
  local file
  for file in tests/steps/* tests/cluster/{cluster,install,record,tools/pin} tests/cluster/lib/*.sh tests/{alerts,dashboard,gitops,krew,release}/check tests/kind/run tests/forwarding/* tests/takeover/run tests/scale/scale deploy/image/* deploy/krew/package deploy/release/* demo/demo .ci/run; do
    bash -n "$file"
  done
}

# An unfinished merge.
merged() { ! grep -rnE --exclude-dir={target,.git,.issue-images} '^(<<<<<<<|>>>>>>>) ' .; }

need cargo "install Rust, see https://rustup.rs"
step "format" format
step "scripts" scripts
step "merged" merged
step "words" tests/steps/words
step "order of modules" tests/steps/rooms
