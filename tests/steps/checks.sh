# shellcheck shell=bash
# Checks that need no cluster and no root. Sourced after steps.sh.

alerts() { find_promtool && find_amtool && tests/alerts/check && tests/forwarding/routes; }
dashboard() { find_npm && tests/dashboard/check; }
chart() {
  find_helm && cargo test --locked --features helm,page --test chart &&
    cargo test --locked --features helm,page --test docs of_helm
}
bundle() { find_olm_validate && olm-validate deploy/olm; }
release() { find_helm && tests/release/check; }
workflows() { find_actionlint && actionlint -no-color -shellcheck= -pyflakes=; }
page() { find_chromium && cargo test --locked --features helm,page --test page; }
gating() { find_lua && tests/gitops/check; }
documentation() { RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet; }
# The core crate must not depend on a client or a runtime, whatever features other crates enable.
pure_core() {
  local impure
  impure=$(cargo tree --locked -p shindan-core -e normal --prefix none | grep -E '^(kube-client|kube-runtime|tokio|hyper|axum|tracing) ' | sort -u || true)
  if [ -n "$impure" ]; then
    echo "shindan-core depends on: $impure" >&2
    return 1
  fi
}

need cargo "install Rust, see https://rustup.rs"
step "pure core" pure_core
step "lints" cargo clippy --locked --workspace --all-targets --all-features -- -D warnings
find_kubectl
step "unit and fixture tests" cargo test --locked --workspace
# Runs each benchmark once, so that it still compiles and works.
step "benches" cargo test --locked --bench diagnose
step "documentation" documentation
step "gating" gating
step "alerts" alerts
step "dashboard" dashboard
step "chart" chart
step "bundle" bundle
step "release" release
step "workflows" workflows
step "page" page
