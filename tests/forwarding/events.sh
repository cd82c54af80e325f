# shellcheck shell=bash
# Shared by the tests of forwarders on a real API server: sourced with `set -euo pipefail`.

namespace=forwarding-$$
made=$(mktemp -d)
pid=''
touch "$made/log" "$made/out"
finished() {
  [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
  kubectl delete namespace "$namespace" --wait=false >/dev/null 2>&1 || true
  rm -rf "$made"
}
trap finished EXIT

post() { # name controller type reason note: an Event as the operator posts its own
  kubectl create -f - <<Y >/dev/null
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: $1, namespace: $namespace}
eventTime: $(date -u +%Y-%m-%dT%H:%M:%S.000000Z)
reportingController: $2
reportingInstance: test-1
action: Diagnosed
reason: $4
type: $3
note: "$5"
regarding: {apiVersion: v1, kind: Pod, name: web, namespace: $namespace}
Y
}

started() { # command...: the forwarder, until the end of this test
  kubectl create namespace "$namespace" >/dev/null
  "$@" >"$made/log" 2>&1 &
  pid=$!
}

# A forwarder does not report when its watch is open: the first Event is posted again until it is exported.
first_seen_as() { # text
  local try
  for try in $(seq 60); do
    post "first-$try" shindan.dev/operator Warning OOMKilled "hog is killed for memory at its limit of 15Mi"
    if printed "$1"; then return; fi
    sleep 0.5
  done
  expect "$1"
}

printed() { grep -qF -- "$1" "$made/log" "$made/out"; }

expect() { # text: within a minute
  local deadline=$((SECONDS + 60))
  until printed "$1"; do
    kill -0 "$pid" 2>/dev/null && [ $SECONDS -lt $deadline ] || { echo "the forwarder does not print: $1" >&2; cat "$made/log" "$made/out" >&2; exit 1; }
    sleep 0.2
  done
}

expect_no() { # text...: by now
  local text
  for text; do
    if printed "$text"; then
      echo "the forwarder prints what it should drop: $text" >&2
      exit 1
    fi
  done
}
