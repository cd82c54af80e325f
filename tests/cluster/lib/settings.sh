# Variables that can be set by the caller, and values derived from them.

# The minor version of the cluster; tools/ pins the patch version.
KUBERNETES=${SHINDAN_KUBERNETES:-1.37}
readonly ETCD_VERSION=v3.6.16
# Prometheus 3.13.5: as a module it is v0.313.5.
readonly PROMTOOL_VERSION=v0.313.5
readonly HELM_VERSION=v4.3.1
readonly AMTOOL_VERSION=v0.34.2
readonly ACTIONLINT_VERSION=v1.7.12
readonly OLM_VALIDATE_VERSION=v0.37.0
readonly OTELCOL_VERSION=v0.111.0
readonly EVENT_EXPORTER_VERSION=v1.6.1
readonly KREW_VERSION=v0.5.0
readonly KUBE_ROUTER_VERSION=v2.1.0
# Go modules with the definitions of custom resources that the end-to-end tests create, and their folder in each.
readonly CRD_MODULES=(
  "github.com/argoproj/argo-cd/v3 v3.5.7 manifests/crds"
  "github.com/argoproj/argo-rollouts v1.10.1 manifests/crds"
  "github.com/cert-manager/cert-manager v1.21.2 deploy/crds"
  "github.com/external-secrets/external-secrets v1.3.2 config/crds/bases"
  "github.com/fluxcd/helm-controller v1.4.0 config/crd/bases"
  "github.com/fluxcd/kustomize-controller v1.9.6 config/crd/bases"
  "github.com/fluxcd/source-controller v1.8.5 config/crd/bases"
  "github.com/kedacore/keda/v2 v2.21.0 config/crd/bases"
  "sigs.k8s.io/cluster-api v1.14.2 core/config/crd/bases"
  "sigs.k8s.io/gateway-api v1.6.3 config/crd/standard"
)

TOOLS=$(cd "$(dirname "${BASH_SOURCE[0]}")/../tools" && pwd)

# 1.37 -> v1.37.2
pinned_kubernetes() {
  sed -n 's|^[^=]*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' "$TOOLS/kubernetes-$1/go.mod"
}

CACHE=${SHINDAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/shindan}
RUN=${SHINDAN_RUN:-/var/lib/shindan-cluster}
NETNS=${SHINDAN_NETNS:-shindan}
CGROUP=${SHINDAN_CGROUP:-shindan}
NODE=${SHINDAN_NODE:-node1}
# Further flags of the API server and of the kubelet at their next start, separated by spaces.
API_FLAGS=${SHINDAN_API_FLAGS:-}
KUBELET_FLAGS=${SHINDAN_KUBELET_FLAGS:-}

API_PORT=${SHINDAN_API_PORT:-6443}
ETCD_PORT=${SHINDAN_ETCD_PORT:-2379}
REGISTRY_PORT=${SHINDAN_REGISTRY_PORT:-5000}
PRIVATE_REGISTRY_PORT=${SHINDAN_PRIVATE_REGISTRY_PORT:-5001}
TLS_REGISTRY_PORT=${SHINDAN_TLS_REGISTRY_PORT:-5002}
REFUSING_REGISTRY_PORT=${SHINDAN_REFUSING_REGISTRY_PORT:-5004}
DEAF_PORT=${SHINDAN_DEAF_PORT:-5003}

# Addresses exist only inside the network namespace.
readonly NODE_IP=10.99.0.1 GATEWAY_IP=10.99.0.254 BLACK_HOLE_IP=10.99.0.66
readonly POD_RANGE=10.88.0.0/16 POD_GATEWAY_IP=10.88.0.1
readonly SERVICE_RANGE=10.96.0.0/16 API_SERVICE_IP=10.96.0.1 DNS_SERVICE_IP=10.96.0.10

REGISTRY=127.0.0.1:$REGISTRY_PORT
KUBERNETES_VERSION=$(pinned_kubernetes "$KUBERNETES")
BIN=$CACHE/kubernetes-$KUBERNETES_VERSION
ETCD_BIN=$CACHE/etcd-$ETCD_VERSION
PROMTOOL_BIN=$CACHE/tools/promtool-$PROMTOOL_VERSION
HELM_BIN=$CACHE/tools/helm-$HELM_VERSION
AMTOOL_BIN=$CACHE/tools/amtool-$AMTOOL_VERSION
ACTIONLINT_BIN=$CACHE/tools/actionlint-$ACTIONLINT_VERSION
OLM_VALIDATE_BIN=$CACHE/tools/olm-validate-$OLM_VALIDATE_VERSION
OTELCOL_BIN=$CACHE/tools/otelcol-$OTELCOL_VERSION
EVENT_EXPORTER_BIN=$CACHE/tools/event-exporter-$EVENT_EXPORTER_VERSION
KREW_BIN=$CACHE/tools/krew-$KREW_VERSION
KUBE_ROUTER_BIN=$CACHE/tools/kube-router-$KUBE_ROUTER_VERSION
CRDS=$CACHE/crds-$(sha256sum <<<"${CRD_MODULES[*]}" | cut -c1-12)
PKI=$RUN/pki
ADMIN=$RUN/admin.kubeconfig

# In the order of start; `down` uses the reverse order.
readonly COMPONENTS=(dns etcd registry private-registry tls-registry refusing-registry deaf containerd apiserver controllers scheduler kubelet)

# The tested API servers, oldest first: lines of a version, as pinned in tools/, and its program.
apiservers() {
  local module minor version
  for module in "$TOOLS"/kubernetes-*; do
    minor=${module##*-}
    version=$(pinned_kubernetes "$minor")
    # That of a whole Kubernetes, if it is built.
    if [ "$minor" = "$KUBERNETES" ] || [ -e "$CACHE/kubernetes-$version" ]; then
      echo "$version $CACHE/kubernetes-$version/kube-apiserver"
    else
      echo "$version $CACHE/kube-apiserver-$version/kube-apiserver"
    fi
  done | sort -V
}
