# shellcheck shell=bash
# Steps with a name and a time; the first one that fails ends all. Sourced with `set -euo pipefail`.

ROOT=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
CLUSTER=$ROOT/tests/cluster/cluster
STEP='' STEP_BEGAN=0 STEP_TIMES=()
cd "$ROOT"

step() { # name command...
  STEP=$1
  STEP_BEGAN=$SECONDS
  shift
  printf '\n=== %s\n' "$STEP"
  "$@"
  printf '=== %s: %d s\n' "$STEP" $((SECONDS - STEP_BEGAN))
  STEP_TIMES+=("$(printf '%6d s  %s' $((SECONDS - STEP_BEGAN)) "$STEP")")
  STEP=''
}

finished() { # the exit trap; CLEAN_UP may name a function
  local code=$?
  trap - EXIT
  set +e
  if [ -n "${CLEAN_UP:-}" ]; then "$CLEAN_UP" "$code"; fi
  printf '\n'
  if [ ${#STEP_TIMES[@]} -gt 0 ]; then printf '%s\n' "${STEP_TIMES[@]}"; fi
  if [ -n "$STEP" ]; then
    printf '%6d s  %s\n' $((SECONDS - STEP_BEGAN)) "$STEP: FAILED"
    [ $code != 0 ] || code=1
  fi
  printf '%6d s  in all\n' $SECONDS
  exit $code
}
trap finished EXIT

need() { # command what-for
  command -v "$1" >/dev/null || {
    echo "$1 is missing: $2" >&2
    return 1
  }
}

# kubectl as the machine has it, else as tests/cluster builds it.
find_kubectl() {
  # shellcheck source=/dev/null
  PATH=$PATH:$(. "$ROOT/tests/cluster/lib/settings.sh" && echo "$BIN")
  if ! command -v kubectl >/dev/null; then
    echo "there is no kubectl here: building it with the rest of Kubernetes, once"
    "$CLUSTER" build
  fi
}

# Lua 5.1 as the machine has it, else from its packages.
find_lua() {
  if ! command -v lua5.1 >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends lua5.1
  fi
  need lua5.1 "it runs the health check of docs/gitops.md; install the package lua5.1"
}

HOST=$(rustc -vV | sed -n 's/^host: //p')
BINARY=$ROOT/target/$HOST/release/shindan

static_binary() { deploy/image/binary; }
