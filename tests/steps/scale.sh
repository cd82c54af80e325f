# shellcheck shell=bash
# A large cluster without nodes, of the steps' own. Sourced after steps.sh and cluster.sh.

scale() { SHINDAN_NETNS=shindan-bench SHINDAN_RUN=/var/lib/shindan-bench "$ROOT/tests/scale/scale" "$@"; }

# On a cluster of so many pods, which is taken down whatever comes of it.
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
