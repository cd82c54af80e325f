# The pinned binaries, built from their Go modules into the cache.

build_tool() { # folder-of-the-module destination ldflags package...
  local module=$1 destination=$2 flags=$3 began=$SECONDS temporary
  shift 3
  if [ -d "$destination" ]; then return; fi
  command -v go >/dev/null || die "go is missing: it builds $(basename "$destination")"
  mkdir -p "$CACHE"
  temporary=$(mktemp -d "$CACHE/.build-XXXXXX")
  say "building $(basename "$destination") (minutes when nothing is cached yet)"
  if ! (cd "$HERE/tools/$module" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$flags" -o "$temporary/" "$@"); then
    rm -rf "$temporary"
    die "the build of $module failed"
  fi
  chmod 755 "$temporary"
  # Another build may have come first: its result is as good.
  mv -T "$temporary" "$destination" 2>/dev/null || rm -rf "$temporary"
  say "built $(basename "$destination") in $((SECONDS - began)) s"
}

build() {
  local version=${KUBERNETES_VERSION#v} flags
  flags="-s -w"
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=v$version -X $package.gitMajor=1 -X $package.gitMinor=$(cut -d. -f2 <<<"$version")"
  done
  build_tool etcd "$ETCD_BIN" "-s -w" go.etcd.io/etcd/server/v3
  # `go build` names a main package after its folder; etcd's is its module's root.
  if [ ! -e "$ETCD_BIN/etcd" ]; then mv "$ETCD_BIN/server" "$ETCD_BIN/etcd"; fi
  build_tool kubernetes "$BIN" "$flags" \
    k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kubelet,kubectl}
}
