# shellcheck shell=bash
# What needs no cluster and no root. Sourced after steps.sh.

alerts() { find_promtool && find_amtool && tests/alerts/check && tests/forwarding/routes; }
dashboard() { find_npm && tests/dashboard/check; }
chart() {
  find_helm && cargo test --locked --features helm,page --test chart &&
    cargo test --locked --features helm,page --test docs of_helm
}
page() { find_chromium && cargo test --locked --features helm,page --test page; }
gating() { find_lua && tests/gitops/check; }
documentation() { RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --quiet; }

need cargo "install Rust, see https://rustup.rs"
step "lints" cargo clippy --locked --all-targets --all-features -- -D warnings
find_kubectl
step "unit and fixture tests" cargo test --locked
# Once each, so that what is measured seldom can be measured at all.
step "benches" cargo test --locked --bench diagnose
step "documentation" documentation
step "gating" gating
step "alerts" alerts
step "dashboard" dashboard
step "chart" chart
step "page" page
