# shellcheck shell=bash disable=SC2034,SC2164
# What the scripts of a release share. Sourced with `set -euo pipefail`.

# Names of files follow the version, and times the last commit, so that two runs make the same files.
umask 022
export LC_ALL=C TZ=UTC
SCRIPT=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
field() { sed -n "s/^$1 = \"\(.*\)\"/\1/p" Cargo.toml | head -1; }
VERSION=$(field version)
REPOSITORY=$(field repository)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
DIST=${SHINDAN_DIST:-target/dist}
IMAGE=ghcr.io/shindan-dev/shindan
CHARTS=ghcr.io/shindan-dev/charts
PLATFORMS=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64)

die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

need() { # command what-for
  command -v "$1" >/dev/null || die "$1 is missing: $2"
}

usage() { # prints the comment at the top of the script, and ends it
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$SCRIPT" >&2
  exit 2
}

# The file of a platform's binary: shindan-windows-amd64.exe.
binary_of() { # platform
  local name=shindan-${1//\//-}
  case $1 in windows/*) name+=.exe ;; esac
  echo "$DIST/bin/$name"
}

triple_of() { # platform
  case $1 in
    linux/amd64) echo x86_64-unknown-linux-gnu ;;
    linux/arm64) echo aarch64-unknown-linux-gnu ;;
    darwin/amd64) echo x86_64-apple-darwin ;;
    darwin/arm64) echo aarch64-apple-darwin ;;
    windows/amd64) echo x86_64-pc-windows-gnu ;;
    *) die "there is no release for the platform $1, only for ${PLATFORMS[*]}" ;;
  esac
}

# The binaries of these platforms; fails if one is not built.
built() { # platform...
  local platform file
  for platform; do
    file=$(binary_of "$platform")
    [ -f "$file" ] || die "$file is missing; build it with: deploy/release/binaries $platform"
    echo "$file"
  done
}
