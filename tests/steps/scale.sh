# shellcheck shell=bash
# A large cluster without nodes. Sourced after steps.sh and cluster.sh.

scale() { SHINDAN_NETNS=shindan-bench SHINDAN_RUN=/var/lib/shindan-bench "$ROOT/tests/scale/scale" "$@"; }

# Runs a command on a cluster of this many pods, and stops the cluster also after a failure.
on_scale() { # pods command...
  local pods=$1 result=0
  shift
  scale down
  scale up "$pods"
  "$@" || result=$?
  scale down
  return $result
}

scale_and_cluster_down() { # exit-code
  scale down
  take_down "$1"
}
