# Starts each component, and waits until it is ready.

start_component() {
  local credentials
  case $1 in
    dns) # replaces the machine's unreachable resolvers; returns "no such host"
      spawn dns dnsmasq --keep-in-foreground --no-resolv --no-hosts --bind-interfaces --pid-file= --user=root \
        --address=/#/ "${RESOLVERS[@]/#/--listen-address=}"
      ;;
    etcd)
      spawn etcd "$ETCD_BIN/etcd" --data-dir "$RUN/etcd" --unsafe-no-fsync --log-level=warn \
        --listen-client-urls "http://127.0.0.1:$ETCD_PORT" --advertise-client-urls "http://127.0.0.1:$ETCD_PORT"
      ;;
    registry | private-registry | tls-registry) spawn "$1" docker-registry serve "$RUN/$1.yaml" ;;
    refusing-registry)
      spawn "$1" env REALM="127.0.0.1:$REFUSING_REGISTRY_PORT" \
        "$BUSYBOX" nc -ll -p "$REFUSING_REGISTRY_PORT" -e "$BUSYBOX" sh "$HERE/lib/refusing-registry.sh"
      ;;
    deaf) # accepts connections and never responds
      spawn deaf "$BUSYBOX" nc -ll -p "$DEAF_PORT" -e "$BUSYBOX" sh -c 'cat >/dev/null'
      ;;
    containerd) spawn containerd containerd --config "$RUN/containerd.toml" ;;
    apiserver)
      # shellcheck disable=SC2086  # one word per flag
      spawn apiserver "$BIN/kube-apiserver" --etcd-servers="http://127.0.0.1:$ETCD_PORT" \
        --bind-address=0.0.0.0 --secure-port="$API_PORT" --advertise-address="$NODE_IP" --endpoint-reconciler-type=none \
        --tls-cert-file="$PKI/apiserver.crt" --tls-private-key-file="$PKI/apiserver.key" --client-ca-file="$PKI/ca.crt" \
        --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$PKI/service-accounts.pub" \
        --service-account-signing-key-file="$PKI/service-accounts.key" --service-cluster-ip-range="$SERVICE_RANGE" \
        --kubelet-client-certificate="$PKI/apiserver-to-kubelet.crt" --kubelet-client-key="$PKI/apiserver-to-kubelet.key" \
        --kubelet-preferred-address-types=InternalIP --authorization-mode=Node,RBAC \
        --enable-admission-plugins=NodeRestriction --allow-privileged=true \
        --audit-policy-file="$RUN/audit.yaml" --audit-log-path="$RUN/log/audit.log" --audit-log-maxsize=1000 \
        $API_FLAGS
      ;;
    controllers | scheduler)
      credentials="$RUN/$1.kubeconfig"
      set -- "$1" --kubeconfig="$credentials" --authentication-kubeconfig="$credentials" \
        --authorization-kubeconfig="$credentials" --bind-address=127.0.0.1 --leader-elect=false
      if [ "$1" = scheduler ]; then
        spawn "$1" "$BIN/kube-scheduler" "${@:2}"
      else
        spawn "$1" "$BIN/kube-controller-manager" "${@:2}" --use-service-account-credentials=true \
          --service-account-private-key-file="$PKI/service-accounts.key" --root-ca-file="$PKI/ca.crt"
      fi
      ;;
    kubelet)
      # shellcheck disable=SC2086  # one word per flag
      spawn kubelet "$BIN/kubelet" --config="$RUN/kubelet.yaml" --kubeconfig="$RUN/kubelet.kubeconfig" \
        --hostname-override="$NODE" --node-ip="$NODE_IP" --root-dir="$RUN/kubelet" --cert-dir="$RUN/kubelet/pki" \
        $KUBELET_FLAGS
      ;;
  esac
}

await_component() {
  case $1 in
    etcd) within 30 etcd accepts_connections "127.0.0.1:$ETCD_PORT" ;;
    registry) within 20 "the registry" accepts_connections "$REGISTRY" ;;
    containerd) within 30 containerd ctr --address "$RUN/containerd.sock" version ;;
    apiserver) within 90 "the API server" kubectl get --raw /readyz ;;
    kubelet) within 90 "node $NODE to be Ready" node_ready ;;
  esac
}

accepts_connections() { inside bash -c "</dev/tcp/${1/:/\/}"; } # address:port
node_ready() { kubectl wait --for=condition=Ready "node/$NODE" --timeout=1s; }
default_service_account() { kubectl -n default get serviceaccount default; }
