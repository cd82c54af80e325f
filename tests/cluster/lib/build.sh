# Builds the pinned binaries from their Go modules into the cache.

build_tool() { # folder-of-the-module destination ldflags [-tags tags] package...
  local module=$1 destination=$2 flags=$3 began=$SECONDS temporary
  shift 3
  if [ -d "$destination" ]; then return; fi
  command -v go >/dev/null || die "go is missing: it builds $(basename "$destination")"
  mkdir -p "$(dirname "$destination")"
  temporary=$(mktemp -d "$CACHE/.build-XXXXXX")
  log "building $(basename "$destination") (minutes when nothing is cached yet)"
  if ! (cd "$HERE/tools/$module" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$flags" -o "$temporary/" "$@"); then
    rm -rf "$temporary"
    die "the build of $module failed"
  fi
  chmod 755 "$temporary"
  # A concurrent build may have finished first.
  mv -T "$temporary" "$destination" 2>/dev/null || rm -rf "$temporary"
  log "built $(basename "$destination") in $((SECONDS - began)) s"
}

kubernetes_flags() { # version; the linker flags of its own build
  local package flags="-s -w"
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=$1 -X $package.gitMajor=1 -X $package.gitMinor=$(cut -d. -f2 <<<"$1")"
  done
  echo "$flags"
}

build() {
  build_tool etcd "$ETCD_BIN" "-s -w" go.etcd.io/etcd/server/v3
  # `go build` names a main package after its folder; etcd's is its module's root.
  if [ ! -e "$ETCD_BIN/etcd" ]; then mv "$ETCD_BIN/server" "$ETCD_BIN/etcd"; fi
  build_tool "kubernetes-$KUBERNETES" "$BIN" "$(kubernetes_flags "$KUBERNETES_VERSION")" \
    k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kubelet,kubectl}
}

# Without service discovery of clouds, which halves the compilation.
build_promtool() {
  build_tool promtool "$PROMTOOL_BIN" "-s -w" -tags remove_all_sd github.com/prometheus/prometheus/cmd/promtool
}

build_helm() {
  build_tool helm "$HELM_BIN" "-s -w -X helm.sh/helm/v4/internal/version.version=$HELM_VERSION" helm.sh/helm/v4/cmd/helm
}

build_amtool() {
  build_tool amtool "$AMTOOL_BIN" "-s -w" github.com/prometheus/alertmanager/cmd/amtool
}

build_actionlint() { build_tool actionlint "$ACTIONLINT_BIN" "-s -w" github.com/rhysd/actionlint/cmd/actionlint; }

build_olm_validate() { build_tool olm-validate "$OLM_VALIDATE_BIN" "-s -w" .; }

build_otelcol() { build_tool otelcol "$OTELCOL_BIN" "-s -w" .; }

build_event_exporter() {
  build_tool event-exporter "$EVENT_EXPORTER_BIN" "-s -w" github.com/resmoio/kubernetes-event-exporter
}

build_krew() { build_tool krew "$KREW_BIN" "-s -w" sigs.k8s.io/krew/cmd/krew; }

build_kube_router() {
  build_tool kube-router "$KUBE_ROUTER_BIN" "-s -w" github.com/cloudnativelabs/kube-router/v2/cmd/kube-router
}

# The definitions of custom resources, as files of one folder. Nothing is built: a module contains them.
fetch_crds() {
  local began=$SECONDS temporary line module version folder content
  if [ -d "$CRDS" ]; then return; fi
  command -v go >/dev/null || die "go is missing: it fetches the definitions of custom resources"
  mkdir -p "$CACHE"
  temporary=$(mktemp -d "$CACHE/.crds-XXXXXX")
  for line in "${CRD_MODULES[@]}"; do
    read -r module version folder <<<"$line"
    log "fetching $module $version"
    # Outside a module of Go, so that none is changed.
    if ! content=$(cd "$temporary" && go mod download -json "$module@$version"); then
      rm -rf "$temporary"
      die "$module@$version: $content"
    fi
    content=$(sed -n 's/^\t"Dir": "\(.*\)",\?$/\1/p' <<<"$content")
    install -m 644 -D -t "$temporary" "$content/$folder"/*.yaml
  done
  rm -f "$temporary/kustomization.yaml"
  chmod 755 "$temporary"
  mv -T "$temporary" "$CRDS" 2>/dev/null || rm -rf "$temporary"
  log "fetched the definitions of custom resources in $((SECONDS - began)) s"
}

# Only the API server of other versions is needed.
build_apiservers() {
  local version program
  while read -r version program; do
    if [ "$version" = "$KUBERNETES_VERSION" ]; then continue; fi
    build_tool "kubernetes-$(cut -d. -f1,2 <<<"${version#v}")" "$(dirname "$program")" "$(kubernetes_flags "$version")" \
      k8s.io/kubernetes/cmd/kube-apiserver
  done < <(apiservers)
}
