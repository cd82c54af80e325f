# Certificates, kubeconfigs and configuration files, all recreated by each `up`.

certificate() { # name subject extensions
  openssl req -newkey rsa:2048 -nodes -subj "$2" -keyout "$PKI/$1.key" -out "$PKI/$1.csr" 2>/dev/null
  printf '%s\n' "$3" >"$PKI/$1.ext"
  openssl x509 -req -in "$PKI/$1.csr" -CA "$PKI/ca.crt" -CAkey "$PKI/ca.key" -CAcreateserial -days 30 \
    -extfile "$PKI/$1.ext" -out "$PKI/$1.crt" 2>/dev/null
}

kubeconfig_for() { # certificate-name file
  local config=("$BIN/kubectl" config --kubeconfig "$2")
  {
    "${config[@]}" set-cluster shindan --server="https://127.0.0.1:$API_PORT" --certificate-authority="$PKI/ca.crt" --embed-certs
    "${config[@]}" set-credentials "$1" --client-certificate="$PKI/$1.crt" --client-key="$PKI/$1.key" --embed-certs
    "${config[@]}" set-context shindan --cluster=shindan --user="$1"
    "${config[@]}" use-context shindan
  } >/dev/null
  chmod 600 "$2"
}

write_certificates() {
  local client=extendedKeyUsage=clientAuth server=extendedKeyUsage=serverAuth user
  openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=shindan test CA" -keyout "$PKI/ca.key" -out "$PKI/ca.crt" 2>/dev/null
  certificate apiserver /CN=kube-apiserver "$server
subjectAltName=DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:$NODE_IP,IP:$API_SERVICE_IP,IP:$POD_GATEWAY_IP"
  certificate registry /CN=registry "$server
subjectAltName=IP:$NODE_IP"
  certificate apiserver-to-kubelet /O=system:masters/CN=kube-apiserver $client
  certificate admin /O=system:masters/CN=admin $client
  certificate controllers /CN=system:kube-controller-manager $client
  certificate scheduler /CN=system:kube-scheduler $client
  certificate kubelet "/O=system:nodes/CN=system:node:$NODE" $client
  openssl genrsa -out "$PKI/service-accounts.key" 2048 2>/dev/null
  openssl rsa -in "$PKI/service-accounts.key" -pubout -out "$PKI/service-accounts.pub" 2>/dev/null
  kubeconfig_for admin "$ADMIN"
  for user in controllers scheduler kubelet; do kubeconfig_for $user "$RUN/$user.kubeconfig"; done
}

registry_config() { # address extra-of-http
  cat <<YAML
version: 0.1
log: {accesslog: {disabled: true}, level: warn}
storage: {filesystem: {rootdirectory: $RUN/registry}}
http: {addr: "$1"${2:+, $2}}
YAML
}

write_registry_configs() {
  registry_config "$REGISTRY" >"$RUN/registry.yaml"
  registry_config "$NODE_IP:$TLS_REGISTRY_PORT" \
    "tls: {certificate: $PKI/registry.crt, key: $PKI/registry.key}" >"$RUN/tls-registry.yaml"
  # Without a file of users, the registry creates one with a random password.
  registry_config ":$PRIVATE_REGISTRY_PORT" >"$RUN/private-registry.yaml"
  echo "auth: {htpasswd: {realm: private, path: $RUN/private-registry.users}}" >>"$RUN/private-registry.yaml"
}

write_containerd_config() {
  local snapshotter=overlayfs
  # overlayfs cannot be stacked on an overlay, which / is in most containers.
  if [ "$(stat -f -c %T "$RUN")" = overlayfs ]; then snapshotter=native; fi
  cat >"$RUN/containerd.toml" <<TOML
version = 2
root = "$RUN/containerd/root"
state = "$RUN/containerd/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
address = "$RUN/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
path = "$RUN/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "$REGISTRY/pause:1"
restrict_oom_score_adj = true # the machine may lack CAP_SYS_RESOURCE: no sandbox would start
netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "$snapshotter"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
Root = "$RUN/containerd/runc"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "$CNI_BIN"
conf_dir = "$RUN/cni"
TOML
  cat >"$RUN/cni/10-$NETNS.conflist" <<JSON
{"cniVersion": "0.4.0", "name": "$NETNS", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false,
   "ipam": {"type": "host-local", "dataDir": "$RUN/cni-addresses",
            "ranges": [[{"subnet": "$POD_RANGE"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
JSON
}

# The audit log: tests/rights.rs compares the operator's requests with its roles, and tests/e2e/fixes.rs checks what
# `kubectl shindan fix` changes.
write_audit_policy() {
  cat >"$RUN/audit.yaml" <<YAML
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: ["system:serviceaccount:shindan-system:shindan"]}
- {level: Metadata, userGroups: ["system:serviceaccounts:fix-audited"]}
- {level: None}
YAML
}

write_kubelet_config() {
  cat >"$RUN/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: $PKI/ca.crt}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix://$RUN/containerd.sock
podLogsDir: $RUN/pod-logs
cgroupDriver: cgroupfs
cgroupRoot: /$CGROUP
failCgroupV1: false
failSwapOn: false
clusterDomain: cluster.local
clusterDNS: [$DNS_SERVICE_IP]
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
makeIPTablesUtilChains: false
maxPods: 250
# All tests pull at the same time; with the default of 5 per second the kubelet would throttle pulls of healthy pods.
registryPullQPS: 0
nodeStatusUpdateFrequency: 5s
readOnlyPort: 0
YAML
}
