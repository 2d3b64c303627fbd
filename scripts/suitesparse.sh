#!/bin/sh
# SPDX-License-Identifier: MIT
#
# SuiteSparse from Debian's source package, for compilers that Debian has no build for: suitesparse.sh FOLDER CC AR writes
# FOLDER/include and FOLDER/lib/lib{klu,btf,amd,colamd,suitesparseconfig}.a. The sources are kept in build/suitesparse.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
sources=$root/build/suitesparse
mkdir -p "$1"
into=$(cd "$1" && pwd)
export into CC="$2"
archiver=$3
jobs=$(nproc 2>/dev/null || echo 2)

# the sources that the machine's own package lists name
fetch() {
  echo "suitesparse: fetching the sources"
  apt=$(mktemp -d)
  mkdir -p "$apt/parts" "$apt/lists"
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -f "$list" ] && sed -n 's/^deb /deb-src /p' "$list" >>"$apt/parts/from.list"
  done
  for list in /etc/apt/sources.list.d/*.sources; do
    [ -f "$list" ] && sed 's/^Types:.*/Types: deb-src/' "$list" >"$apt/parts/$(basename "$list")"
  done
  set -- -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/parts" -o "Dir::State::lists=$apt/lists"
  (cd "$apt" && apt-get "$@" -qq update && apt-get "$@" -qq source --download-only suitesparse) >"$apt/log" 2>&1 || {
    cat "$apt/log" >&2
    rm -rf "$apt"
    echo "suitesparse: the sources cannot be fetched" >&2
    exit 1
  }
  mkdir -p "$sources.new"
  tar xf "$apt"/suitesparse_*.orig.tar.* -C "$sources.new" --wildcards '*KLU/*' '*AMD/*' '*BTF/*' '*SuiteSparse_config/*'
  mv "$sources.new" "$sources"
  rm -rf "$apt"
}

[ -d "$sources" ] || fetch
[ ! -f "$into/lib/libsuitesparseconfig.a" ] || exit 0
from=$(dirname "$(find "$sources" -type d -name KLU | head -1)")
mkdir -p "$into/objects" "$into/include" "$into/lib"
cp "$from"/*/Include/*.h "$from"/SuiteSparse_config/*.h "$into/include"
# versions for int only
find "$from/KLU/Source" "$from/AMD/Source" "$from/COLAMD/Source" "$from/BTF/Source" \
  "$from/SuiteSparse_config/SuiteSparse_config.c" -name '*.c' -print0 |
  xargs -0 -P "$jobs" -I FILE sh -c '$CC -O2 -fPIC -ffp-contract=off -w -DNTIMER -I"$into/include" -c "FILE" -o "$into/objects/$(basename FILE .c).o"'
"$archiver" rcs "$into/lib/libklu.a" "$into"/objects/*.o
for name in btf amd colamd suitesparseconfig; do cp "$into/lib/libklu.a" "$into/lib/lib$name.a"; done
