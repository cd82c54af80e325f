# shellcheck shell=bash
# Steps with a name and a time; the first failing step ends all. Sourced with `set -euo pipefail`.

ROOT=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
CLUSTER=$ROOT/tests/cluster/cluster
STEP='' STEP_BEGAN=0
# Output file of the step of a track (side_by_side), until it ends.
KEPT=''
TRACKS=()
# The time of each step, in the order of completion, also of steps in tracks.
STEPS=$(mktemp -d)
STEP_TIMES=$STEPS/times
touch "$STEP_TIMES"
cd "$ROOT"

step() { # name command...
  STEP=$1
  STEP_BEGAN=$SECONDS
  shift
  if [ -n "$KEPT" ]; then
    printf '... %s\n' "$STEP"
    ("$@") >"$KEPT" 2>&1
  else
    printf '\n=== %s\n' "$STEP"
    "$@"
  fi
  ended "$(printf '%d s' $((SECONDS - STEP_BEGAN)))" ""
}

ended() { # result, and its text in the table
  {
    flock 9
    if [ -n "$KEPT" ]; then
      printf '\n=== %s\n' "$STEP"
      cat "$KEPT"
    fi
    printf '=== %s: %s\n' "$STEP" "$1"
    printf '%6d s  %s\n' $((SECONDS - STEP_BEGAN)) "$STEP$2" >>"$STEP_TIMES"
  } 9>"$STEPS/turn"
  touch "$STEPS/$STEP.ended"
  STEP=''
}

# Runs functions of steps as tracks: tracks run in parallel, the steps of each in sequence. The output of a step is printed
# when it ends. The first failing step ends all.
side_by_side() { # function...
  local track process code
  set -m # each track is a process group of its own, to be ended with all that it has started
  for track; do
    (
      set +m
      TRACKS=()
      KEPT=$STEPS/$track.output
      trap track_finished EXIT
      trap 'exit 143' TERM
      "$track"
    ) </dev/null &
    TRACKS+=($!)
  done
  set +m
  while [ ${#TRACKS[@]} -gt 0 ]; do
    code=0
    wait -n -p process "${TRACKS[@]}" || code=$?
    mapfile -t TRACKS < <(printf '%s\n' "${TRACKS[@]}" | grep -vx "$process")
    if [ $code != 0 ]; then return $code; fi
  done
}

track_finished() {
  local code=$?
  trap - EXIT
  set +e
  if [ -n "$STEP" ] && [ $code = 143 ]; then
    printf '... %s: not ended, for another step has failed\n' "$STEP"
  elif [ -n "$STEP" ]; then
    ended "FAILED" ": FAILED"
    [ $code != 0 ] || code=1
  fi
  exit $code
}

# In a track: waits for a step of another track.
after() { # name
  until [ -e "$STEPS/$1.ended" ]; do sleep 1; done
}

# In a track: the next steps only compute, so tests that wait in other tracks go first.
yields() { renice -n 10 "$BASHPID" >/dev/null; }

finished() { # the exit trap; CLEAN_UP may name a function
  local code=$? track
  trap - EXIT
  set +e
  for track in "${TRACKS[@]}"; do
    kill -TERM -- "-$track" 2>/dev/null
    wait "$track" 2>/dev/null
  done
  if [ -n "${CLEAN_UP:-}" ]; then "$CLEAN_UP" "$code"; fi
  printf '\n'
  if [ -n "$STEP" ]; then
    printf '%6d s  %s\n' $((SECONDS - STEP_BEGAN)) "$STEP: FAILED" >>"$STEP_TIMES"
    [ $code != 0 ] || code=1
  fi
  cat "$STEP_TIMES"
  printf '%6d s  in all\n' $SECONDS
  rm -rf "$STEPS"
  exit $code
}
trap finished EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

need() { # command what-for
  command -v "$1" >/dev/null || {
    echo "$1 is missing: $2" >&2
    return 1
  }
}

# kubectl of the machine, else the one that tests/cluster builds.
find_kubectl() {
  # shellcheck source=/dev/null
  PATH=$PATH:$(. "$ROOT/tests/cluster/lib/settings.sh" && echo "$BIN")
  if ! command -v kubectl >/dev/null; then
    echo "there is no kubectl here: building it with the rest of Kubernetes, once"
    "$CLUSTER" build
  fi
}

# promtool of the machine, else the one that tests/cluster builds once, in minutes.
find_promtool() {
  # shellcheck source=/dev/null
  PATH=$PATH:$(. "$ROOT/tests/cluster/lib/settings.sh" && echo "$PROMTOOL_BIN")
  if ! command -v promtool >/dev/null; then
    need go "it builds promtool; install Go 1.26 or newer, or promtool"
    "$CLUSTER" build --promtool
  fi
}

# amtool, built by tests/cluster.
find_amtool() {
  # shellcheck source=/dev/null
  PATH=$(. "$ROOT/tests/cluster/lib/settings.sh" && echo "$AMTOOL_BIN"):$PATH
  if [ ! -x "${PATH%%:*}/amtool" ]; then
    need go "it builds amtool; install Go 1.26 or newer"
    "$CLUSTER" build --amtool
  fi
}

# Helm, built by tests/cluster: its messages differ between versions, and tests read them.
find_helm() {
  # shellcheck source=/dev/null
  PATH=$(. "$ROOT/tests/cluster/lib/settings.sh" && echo "$HELM_BIN"):$PATH
  if [ ! -x "${PATH%%:*}/helm" ]; then
    need go "it builds helm; install Go 1.26 or newer"
    "$CLUSTER" build --helm
  fi
}

# actionlint, built by tests/cluster.
find_actionlint() {
  # shellcheck source=/dev/null
  PATH=$(. "$ROOT/tests/cluster/lib/settings.sh" && echo "$ACTIONLINT_BIN"):$PATH
  if [ ! -x "${PATH%%:*}/actionlint" ]; then
    need go "it builds actionlint; install Go 1.26 or newer"
    "$CLUSTER" build --actionlint
  fi
}

# olm-validate, built by tests/cluster.
find_olm_validate() {
  # shellcheck source=/dev/null
  PATH=$(. "$ROOT/tests/cluster/lib/settings.sh" && echo "$OLM_VALIDATE_BIN"):$PATH
  if [ ! -x "${PATH%%:*}/olm-validate" ]; then
    need go "it builds olm-validate; install Go 1.26 or newer"
    "$CLUSTER" build --olm-validate
  fi
}

# Lua 5.1 of the machine, else from its packages.
find_lua() {
  if ! command -v lua5.1 >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends lua5.1
  fi
  need lua5.1 "it runs the health check of docs/gitops.md; install the package lua5.1"
}

# npm of the machine, else from its packages.
find_npm() {
  if ! command -v npm >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends npm
  fi
  need npm "it fetches what the dashboard is checked against; install Node.js with npm"
}

# Chromium of the machine, else from its packages.
find_chromium() {
  if ! command -v chromium >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium
  fi
  need chromium "it shows the page of shindan ui to its tests; install the package chromium"
}

HOST=$(rustc -vV | sed -n 's/^host: //p')
BINARY=$ROOT/target/$HOST/release/shindan

static_binary() { deploy/image/binary; }
