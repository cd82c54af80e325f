# shellcheck shell=bash
# Dependencies of the binary and its image, and reproducible builds. Sourced after steps.sh.

readonly DENY_VERSION=0.20.2
MADE=$ROOT/target/supply

cargo_tool() { # name version; built once, into the cache
  local root
  # shellcheck source=/dev/null
  root=$(. tests/cluster/lib/settings.sh && echo "$CACHE/tools/$1-$2")
  if [ ! -x "$root/bin/$1" ]; then cargo install --locked "$1" --version "$2" --root "$root"; fi
  PATH=$root/bin:$PATH
}

# What deny.toml states, read without its tool, which takes a quarter of an hour to compile.
dependencies_in_short() {
  local denied crate license targets=() tree=(cargo tree --locked --workspace --all-features --prefix none)
  listed() { sed -n "/^$1 = \[/,/\]$/p" deny.toml | grep -o "$2\"[^\"]*\"" | sed 's/.*"\(.*\)"/\1/'; }
  mapfile -t targets < <(listed targets '' | sed 's/^/--target=/')
  denied=$(listed deny 'crate = ')
  if "${tree[@]}" "${targets[@]}" -f '{p}' | cut -d' ' -f1 | sort -u | grep -Fx "$denied"; then
    echo "deny.toml forbids these crates" >&2
    return 1
  fi
  excepted() { sed -n "s/^exceptions = .*crate = \"$1\", allow = \[\"\([^\"]*\)\"\].*/\1/p" deny.toml; }
  while IFS='|' read -r crate license; do
    if ! is_allowed "$license" "$(listed allow '' && excepted "${crate%% *}")"; then
      echo "deny.toml does not allow the licence \"$license\" of $crate" >&2
      return 1
    fi
  done < <("${tree[@]}" "${targets[@]}" -e normal -f '{p}|{l}' | sed 's/ (\*)$//; /|./!d' | sort -u)
  if grep '^source = ' Cargo.lock | grep -v '"registry+https://github.com/rust-lang/crates.io-index"'; then
    echo "these sources are not the registry" >&2
    return 1
  fi
  echo "found: crates, licences and sources as in deny.toml"
}

# Whether licences of a list satisfy an expression such as "(MIT OR Apache-2.0) AND ISC".
is_allowed() { # expression allowed-licences
  local word sum=''
  for word in $(sed 's/[()]/ & /g; s#/# OR #g; s/ WITH /+WITH+/g' <<<"$1"); do
    case $word in
      AND) sum+='&&' ;;
      OR) sum+='||' ;;
      '(' | ')') sum+=$word ;;
      *) if grep -qFx "${word//+/ }" <<<"$2"; then sum+=1; else sum+=0; fi ;;
    esac
  done
  ((sum))
}

# Advisories need a database from the network. Without it they are skipped, and the result reports that.
dependencies() {
  local result="bans, licenses, sources and advisories: ok"
  cargo_tool cargo-deny $DENY_VERSION
  cargo deny check bans licenses sources
  if timeout 120 cargo deny fetch db >/dev/null 2>&1; then
    cargo deny check advisories
  else
    result="bans, licenses and sources: ok; advisories NOT checked: their database cannot be fetched here"
  fi
  echo "found: $result"
}

bill_of_materials() { deploy/image/sbom "$MADE/shindan.cdx.json"; }

# shellcheck source=/dev/null
plugin_by_krew() {
  local krew
  find_kubectl
  "$CLUSTER" build --krew
  krew=$(. tests/cluster/lib/settings.sh && echo "$KREW_BIN")/krew
  tests/krew/check "$krew" "$BINARY"
}

image_of() { # binary folder
  rm -rf "$2"
  mkdir -p "$(dirname "$2")"
  deploy/image/image "$1" "$2"
}

# Builds the image of one binary twice: from different folders, with another umask and file time.
same_image() {
  local first second copy=$MADE/elsewhere/copy
  first=$(image_of "$BINARY" "$MADE/image")
  mkdir -p "$(dirname "$copy")"
  install -m 700 "$BINARY" "$copy"
  second=$(umask 077 && image_of "$copy" "$MADE/elsewhere/image")
  rm -r "$MADE/elsewhere"
  if [ "$first" != "$second" ]; then
    echo "one binary, two images: $first and $second" >&2
    return 1
  fi
  # A path of this machine in the binary would prevent reproducible builds.
  if grep -qaF -e "$ROOT/" -e "${CARGO_HOME:-$HOME/.cargo}/" "$BINARY"; then
    echo "the binary names folders of this machine" >&2
    return 1
  fi
  echo "the image is $first, twice"
}

# Builds the sources twice, in folders with names of different length, each with its own cargo home.
same_build() {
  local work=$MADE/build place sources digests=() version
  rm -rf "$work"
  mkdir -p "$work/a" "$work/another-place/below"
  for place in "$work/a" "$work/another-place/below"; do
    sources=$place/src
    mkdir -p "$sources" "$place/home"
    git ls-files -z | tar --create --null --files-from=- | tar --extract --directory "$sources"
    ln -s "${CARGO_HOME:-$HOME/.cargo}/registry" "$place/home/registry"
    (unset CARGO_TARGET_DIR && CARGO_HOME=$place/home "$sources/deploy/image/binary" --offline)
    digests+=("$(SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) image_of "$sources/target/$HOST/release/shindan" "$place/image")")
  done
  if [ "${digests[0]}" != "${digests[1]}" ]; then
    echo "two builds, two images: ${digests[*]}" >&2
    return 1
  fi
  version=$(rustc --version)
  echo "found: twice the same image, ${digests[0]}, with $version"
  rm -rf "$work"
}
