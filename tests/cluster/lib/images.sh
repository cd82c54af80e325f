# Images without a download: busybox under the names that manifests use.

push() { # skopeo-source name
  inside skopeo copy -q --dest-tls-verify=false "$1" "docker://$REGISTRY/$2"
}

variant() { # name:tag umoci-config-arguments...
  local name=$1 tag=${1/:/-}
  shift
  umoci config --image "$RUN/images/layout:base" --tag "$tag" "$@"
  push "oci:$RUN/images/layout:$tag" "$name"
}

base_image() {
  local layout=$RUN/images/layout bundle=$RUN/images/bundle root=$RUN/images/bundle/rootfs applet
  umoci init --layout "$layout"
  umoci new --image "$layout:base"
  umoci unpack --image "$layout:base" "$bundle" >/dev/null 2>&1
  mkdir -p "$root"/{bin,dev,etc,home/app,proc,root,run,sys,tmp,var/www}
  chmod 1777 "$root/tmp"
  chmod 700 "$root/root"
  cp "$BUSYBOX" "$root/bin/busybox"
  for applet in $("$BUSYBOX" --list); do
    if [ "$applet" != busybox ]; then ln -sf busybox "$root/bin/$applet"; fi
  done
  printf '%s\n' root:x:0:0:root:/root:/bin/sh app:x:1000:1000:app:/home/app:/bin/sh >"$root/etc/passwd"
  printf '%s\n' root:x:0: app:x:1000: >"$root/etc/group"
  echo hello >"$root/var/www/index.html"
  umoci repack --image "$layout:base" "$bundle" >/dev/null 2>&1
  umoci config --image "$layout:base" --config.env PATH=/bin
}

images() {
  local version
  mkdir -p "$RUN/images"
  base_image
  variant pause:1 --config.cmd sleep --config.cmd infinity
  variant busybox:1.36 --config.cmd sh
  for version in 1.27 1.28; do
    variant nginx:$version --config.cmd httpd --config.cmd -f --config.cmd -p --config.cmd 80 --config.cmd -h --config.cmd /var/www
  done
  # sleep has no handler for SIGTERM, so as process 1 of a container it would ignore it.
  variant redis:7 --config.cmd sh --config.cmd -c \
    --config.cmd 'echo "this redis listens nowhere"; exec sleep infinity'
  variant app:1 --config.user app --config.cmd sleep --config.cmd infinity
  variant unknown-user:1 --config.user service --config.cmd sleep --config.cmd infinity
  variant no-command:1 --config.workingdir /
  rm -rf "$RUN/images"
}

# The image as users get it, built by deploy/image.
program_image() { # name binary
  local name=$1 binary=$2 work
  [ -f "$binary" ] || die "no such file: $binary"
  if needs_loader "$binary"; then die "$binary is linked dynamically: it cannot run in an empty image"; fi
  work=$(mktemp -d)
  "$HERE/../../deploy/image/image" "$binary" "$work/layout"
  push "oci:$work/layout:shindan" "$name"
  rm -rf "$work"
  echo "$REGISTRY/$name"
}

load_image() { # tar-or-layout name
  local source
  if [ -d "$1" ]; then
    source=oci:$1
  elif tar -tf "$1" manifest.json >/dev/null 2>&1; then
    source=docker-archive:$1
  else
    source=oci-archive:$1
  fi
  push "$source" "$2"
  echo "$REGISTRY/$2"
}
