#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Build the page with the engine inside: web.sh FOLDER writes FOLDER/workbench.html, one file that works from disk and
# without a network. The engine is compiled to WebAssembly by Debian's emscripten; SuiteSparse, which has no package for it,
# from Debian's source package.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/build/workbench}
work=$root/build/web
mkdir -p "$out" "$work"
out=$(cd "$out" && pwd)
jobs=$(nproc 2>/dev/null || echo 2)
# emscripten looks for Debian's node modules there
export NODE_PATH="${NODE_PATH:-/usr/share/nodejs}"

# the sources that the machine's own package lists name
fetch_suitesparse() {
  echo "web: fetching the sources of SuiteSparse"
  rm -rf "$work/apt" "$work/suitesparse"
  mkdir -p "$work/apt/parts" "$work/apt/lists" "$work/suitesparse"
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -f "$list" ] && sed -n 's/^deb /deb-src /p' "$list" >>"$work/apt/parts/from.list"
  done
  for list in /etc/apt/sources.list.d/*.sources; do
    [ -f "$list" ] && sed 's/^Types:.*/Types: deb-src/' "$list" >"$work/apt/parts/$(basename "$list")"
  done
  set -- -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/apt/parts" -o "Dir::State::lists=$work/apt/lists"
  (cd "$work/apt" && apt-get "$@" -qq update && apt-get "$@" -qq source --download-only suitesparse) >"$work/apt/log" 2>&1 || {
    cat "$work/apt/log" >&2
    echo "web: the sources of SuiteSparse cannot be fetched" >&2
    return 1
  }
  tar xf "$work"/apt/suitesparse_*.orig.tar.* -C "$work/suitesparse" --wildcards \
    '*KLU/*' '*AMD/*' '*BTF/*' '*SuiteSparse_config/*'
  rm -rf "$work/apt"
}

build_suitesparse() {
  from=$(dirname "$(find "$work/suitesparse" -type d -name KLU | head -1)")
  mkdir -p "$work/objects" "$work/include"
  cp "$from"/*/Include/*.h "$from"/SuiteSparse_config/*.h "$work/include"
  # int versions only
  find "$from/KLU/Source" "$from/AMD/Source" "$from/COLAMD/Source" "$from/BTF/Source" \
    "$from/SuiteSparse_config/SuiteSparse_config.c" -name '*.c' |
    xargs -P "$jobs" -I FILE sh -c 'emcc -O2 -ffp-contract=off -w -DNTIMER -I"$1/include" -c "FILE" -o "$1/objects/$(basename FILE .c).o"' _ "$work"
  emar rcs "$work/libsuitesparse.a" "$work"/objects/*.o
}

[ -d "$work/suitesparse" ] || fetch_suitesparse
[ -f "$work/libsuitesparse.a" ] || build_suitesparse
set --
for name in klu btf amd colamd suitesparseconfig; do set -- "$@" "-DSuiteSparse_${name}_LIBRARY=$work/libsuitesparse.a"; done
emcmake cmake -S "$root" -B "$work/build" -G "$(command -v ninja >/dev/null && echo Ninja || echo 'Unix Makefiles')" \
  -DCMAKE_BUILD_TYPE=Release -DSALTUS_TESTS=OFF -DSALTUS_EXAMPLES=OFF \
  -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON \
  "-DSALTUS_ONLY_MODULES=base;ir;lisma;rules;symbolic;model;native;numeric;engine;record;api" -DSuiteSparse_INCLUDE_DIR="$work/include" "$@" \
  --log-level=WARNING >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
cmake --build "$work/build" -j "$jobs" --target saltus_web >"$work/log" 2>&1 || { tail -40 "$work/log" >&2; exit 1; }
"$root/scripts/page.sh" "$out"
cat "$work/build/saltus_web.js" "$root/workbench/engine/worker.js" >"$work/worker.js"
cd "$root/workbench"
node build.mjs "$out" "$work/build/saltus_web.wasm" "$work/worker.js"
echo "web: $out/workbench.html"
