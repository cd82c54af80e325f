# shellcheck shell=bash
# The cluster of the tests, separate from that of the demo. Sourced after steps.sh.

export SHINDAN_NETNS=shindan-test SHINDAN_CGROUP=shindan-test SHINDAN_RUN=/var/lib/shindan-test
LOGS=$ROOT/target/cluster-logs

prerequisites() {
  need go "it builds Kubernetes; install Go 1.26 or newer"
  if [ "$(id -u)" != 0 ]; then
    echo "This needs root, for a network namespace, mounts and cgroups; \`make check\` needs none." >&2
    return 1
  fi
  "$CLUSTER" prerequisites --install
}

keep_logs() {
  mkdir -p "$LOGS"
  cp "$SHINDAN_RUN"/log/*.log "$LOGS"/
  "$CLUSTER" kubectl -n shindan-system logs deployment/shindan --tail=-1 >"$LOGS/operator.log" 2>&1
  "$CLUSTER" exec "$ROOT/tests/cluster/record" --everything >"$LOGS/everything.yaml" 2>/dev/null
  "$CLUSTER" kubectl get diagnoses --all-namespaces -o yaml >"$LOGS/diagnoses.yaml" 2>&1
  echo "logs and a dump of the cluster are in $LOGS"
}

CLEAN_UP=take_down
take_down() { # exit-code
  [ -e "$SHINDAN_RUN/pids" ] || return 0
  if [ "$1" != 0 ]; then keep_logs; fi
  if [ -n "${KEEP:-}" ]; then
    echo "the cluster is kept; its variables: SHINDAN_NETNS=$SHINDAN_NETNS SHINDAN_CGROUP=$SHINDAN_CGROUP SHINDAN_RUN=$SHINDAN_RUN"
  else
    "$CLUSTER" down
  fi
}

# The control planes listen on loopback, so neither the cluster nor root is needed. Tests run in parallel.
faults() { # feature, arguments of the tests
  RUST_BACKTRACE=0 cargo test --locked --features "$1" --test faults -- --test-threads=3 "${@:2}"
}

# Compares the requests of the operator with its permissions.
rights() { cargo test --locked --features "$1" --test rights -- --nocapture; } # feature

end_to_end() { # feature, arguments of the tests
  local feature=$1
  shift
  # The cluster's network has no route to registries, so everything is compiled before.
  cargo test --locked --features "$feature" --test e2e --no-run
  "$CLUSTER" build --crds
  RUST_BACKTRACE=0 "$CLUSTER" exec cargo test --locked --offline --features "$feature" --test e2e -- --test-threads=64 "$@"
}
