# Required commands with their Debian packages.

readonly PREREQUISITES=(
  containerd:containerd ctr:containerd containerd-shim-runc-v2:containerd runc:runc
  docker-registry:docker-registry skopeo:skopeo umoci:umoci
  iptables:iptables ipset:ipset ip:iproute2 nsenter:util-linux setsid:util-linux openssl:openssl dnsmasq:dnsmasq-base
)
readonly BUSYBOX=/bin/busybox CNI_BIN=/usr/lib/cni

needs_loader() { ldd "$1" 2>/dev/null | grep -qE '=>|ld-linux'; } # program; such a one does not run in an empty image

missing_prerequisites() { # prints "what package" lines
  local entry
  for entry in "${PREREQUISITES[@]}"; do
    command -v "${entry%%:*}" >/dev/null || echo "${entry%%:*} ${entry#*:}"
  done
  if [ ! -x "$BUSYBOX" ] || needs_loader "$BUSYBOX"; then echo "$BUSYBOX(static) busybox-static"; fi
  # A library without a command: tests/faults load it to shift an operator's clock.
  compgen -G '/usr/lib/*/faketime/libfaketime.so.1' >/dev/null || echo "libfaketime libfaketime"
  [ -x "$CNI_BIN/bridge" ] || echo "$CNI_BIN/bridge containernetworking-plugins"
}

prerequisites() { # [--install]
  local missing packages
  missing=$(missing_prerequisites)
  if [ -n "$missing" ]; then
    packages=$(cut -d' ' -f2 <<<"$missing" | sort -u | tr '\n' ' ')
    echo "Missing (Debian package):" >&2
    awk '{print "  " $1 " (" $2 ")"}' <<<"$missing" >&2
    if [ "${1:-}" != --install ]; then
      die "run: apt-get update && apt-get install --no-install-recommends $packages"
    fi
    need_root
    apt-get update
    # shellcheck disable=SC2086  # one argument per package
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages
    missing=$(missing_prerequisites)
    [ -z "$missing" ] || die "still missing: $missing"
  fi
  if [ "${1:-}" = --install ]; then echo "All commands are there."; fi
}

need_root() {
  [ "$(id -u)" = 0 ] || die "this needs root: it makes a network namespace, mounts and cgroups"
}
