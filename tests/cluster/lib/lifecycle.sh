# up, down and status.

network() {
  local address
  ip netns add "$NETNS"
  inside ip link set lo up
  # A bridge without ports, because not every kernel has dummy devices. The kubelet needs a default route.
  inside ip link add uplink0 type bridge
  inside ip address add "$NODE_IP/24" dev uplink0
  inside ip link set uplink0 up
  inside ip route add default via "$GATEWAY_IP"
  # Connections to this address time out, as behind a firewall that drops.
  inside iptables -A OUTPUT -d "$BLACK_HOLE_IP" -j DROP
  for address in "${RESOLVERS[@]}"; do
    case $address in 127.*) ;; *) inside ip address add "$address/32" dev lo ;; esac
  done
}

cgroup_roots() { awk '$3 ~ /^cgroup2?$/ {print $2}' /proc/mounts; } # one of v2, one per controller of v1

make_cgroups() {
  local root
  for root in $(cgroup_roots); do mkdir -p "$root/$CGROUP"; done
}

remove_cgroups() {
  local root
  for root in $(cgroup_roots); do
    if [ -d "$root/$CGROUP" ]; then find "$root/$CGROUP" -depth -type d -exec rmdir {} + 2>/dev/null || true; fi
  done
}

running() {
  local component
  [ -e "$RUN/up" ] || return 1
  for component in "${COMPONENTS[@]}"; do
    if is_stopped "$component"; then return 1; fi
  done
}

up() {
  local component
  need_root
  prerequisites
  build
  if running; then
    log "the cluster is already up"
    return
  fi
  if [ -e "$RUN" ] || [ -e "/var/run/netns/$NETNS" ]; then
    log "removing the remains of an earlier run"
    down
  fi
  mkdir -p "$RUN"/{log,pids,pki,etcd,registry,containerd,cni,kubelet,pod-logs}
  chmod 700 "$RUN"
  for component in /var/lib/kubelet /var/lib/cni; do
    if [ ! -e $component ]; then echo $component >>"$RUN/made-outside"; fi
  done
  network
  make_cgroups
  write_certificates
  write_registry_configs
  write_containerd_config
  write_kubelet_config
  write_audit_policy
  log "network and certificates are created"
  for component in "${COMPONENTS[@]}"; do
    start_component "$component"
    case $component in
      registry)
        await_component registry
        images
        log "images are in the registry"
        ;;
      apiserver)
        await_component etcd
        await_component containerd
        await_component apiserver
        log "the API server is ready"
        ;;
    esac
  done
  await_component kubelet
  log "node $NODE is Ready"
  within 30 "the default service account" default_service_account
  touch "$RUN/up"
  log "kubeconfig: $ADMIN (use it with: $SELF kubectl ..., or: $SELF exec COMMAND)"
}

# While the kubelet runs, it deletes pods with their network.
delete_pods() {
  if is_stopped apiserver || is_stopped kubelet || is_stopped containerd; then return; fi
  kill -CONT "$(pid_of containerd)"
  stop controllers # or they would create new pods
  kubectl delete pods --all --all-namespaces --grace-period=1 --wait=false >/dev/null 2>&1 || true
  quietly_within 30 no_sandboxes || true
}

no_sandboxes() { [ -z "$(ctr --address "$RUN/containerd.sock" --namespace k8s.io tasks list -q)" ]; }

kill_tasks() {
  local task
  if is_stopped containerd; then return; fi
  for task in $(timeout 10 ctr --address "$RUN/containerd.sock" --namespace k8s.io tasks list -q 2>/dev/null); do
    timeout 10 ctr --address "$RUN/containerd.sock" --namespace k8s.io tasks rm --force "$task" >/dev/null 2>&1 || true
  done
}

# Shims keep running after containerd; each has our socket as an argument.
kill_shims() {
  local process
  for process in /proc/[0-9]*; do
    if tr '\0' ' ' 2>/dev/null <"$process/cmdline" | grep -qF -- "-address $RUN/containerd.sock"; then
      kill -KILL "${process#/proc/}" 2>/dev/null || true
    fi
  done
}

kill_cgroup_members() { # containers without a shim
  local root
  for root in $(cgroup_roots); do
    if [ -d "$root/$CGROUP" ]; then
      find "$root/$CGROUP" -name cgroup.procs -exec xargs -r -a {} kill -KILL \; 2>/dev/null || true
    fi
  done
}

down() {
  local i path
  need_root
  if [ -d "$RUN/pids" ]; then
    delete_pods
    stop kubelet
    kill_tasks
    for ((i = ${#COMPONENTS[@]} - 1; i >= 0; i--)); do stop "${COMPONENTS[i]}"; done
    kill_shims
    kill_cgroup_members
  fi
  # Twice, because a propagated mount may cover another.
  for i in 1 2; do
    awk -v below="$RUN/" 'index($2, below) == 1 {print $2}' /proc/mounts | sort -r | xargs -r umount -l 2>/dev/null || true
  done
  if [ -e "/var/run/netns/$NETNS" ]; then ip netns delete "$NETNS"; fi
  remove_cgroups
  find /var/log/containers -maxdepth 1 -type l -lname "$RUN/*" -delete 2>/dev/null || true
  rmdir /var/log/containers /run/containerd/s /run/containerd 2>/dev/null || true
  rm -rf "/var/lib/cni/results/$NETNS-"*
  if [ -f "$RUN/made-outside" ]; then
    while read -r path; do rm -rf "$path"; done <"$RUN/made-outside"
  fi
  if grep -qF " $RUN/" /proc/mounts; then die "mounts are left below $RUN"; fi
  rm -rf "$RUN"
  log "the cluster is down"
}

status() {
  local component pid
  if [ ! -d "$RUN/pids" ]; then
    echo "down"
    return 1
  fi
  for component in "${COMPONENTS[@]}"; do
    if pid=$(pid_of "$component"); then
      printf '%-17s %s, pid %s\n' "$component" "$(process_state "$pid")" "$pid"
    else
      printf '%-17s not running\n' "$component"
    fi
  done
  kubectl get nodes
}

process_state() {
  case $(awk '/^State:/ {print $2}' "/proc/$1/status") in T) echo stopped ;; *) echo running ;; esac
}
