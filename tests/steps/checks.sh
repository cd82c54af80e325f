# shellcheck shell=bash
# What needs no cluster and no root. Sourced after steps.sh.

format() { cargo fmt --check && cargo fmt --check --manifest-path fuzz/Cargo.toml; }
gating() { find_lua && tests/gitops/check; }
documentation() { RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --quiet; }
scripts() {
  local file
  for file in tests/steps/* tests/cluster/{cluster,install,record,tools/pin} tests/cluster/lib/*.sh tests/gitops/check tests/scale/scale deploy/image/* demo/demo .ci/run; do
    bash -n "$file"
  done
}

need cargo "install Rust, see https://rustup.rs"
step "format" format
step "scripts" scripts
step "lints" cargo clippy --locked --all-targets --all-features -- -D warnings
find_kubectl
step "unit and fixture tests" cargo test --locked
step "documentation" documentation
step "gating" gating
