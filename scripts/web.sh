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

"$root/scripts/suitesparse.sh" "$work/suitesparse" emcc emar
set --
for name in klu btf amd colamd suitesparseconfig; do set -- "$@" "-DSuiteSparse_${name}_LIBRARY=$work/suitesparse/lib/libklu.a"; done
emcmake cmake -S "$root" -B "$work/build" -G "$(command -v ninja >/dev/null && echo Ninja || echo 'Unix Makefiles')" \
  -DCMAKE_BUILD_TYPE=Release -DSALTUS_TESTS=OFF -DSALTUS_EXAMPLES=OFF \
  -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON \
  "-DSALTUS_ONLY_MODULES=base;ir;lisma;rules;symbolic;model;native;numeric;engine;sensitivity;record;api;experiment" -DSuiteSparse_INCLUDE_DIR="$work/suitesparse/include" "$@" \
  --log-level=WARNING >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
cmake --build "$work/build" -j "$jobs" --target saltus_web >"$work/log" 2>&1 || { tail -40 "$work/log" >&2; exit 1; }
"$root/scripts/page.sh" "$out"
cat "$work/build/saltus_web.js" "$root/workbench/engine/worker.js" >"$work/worker.js"
cd "$root/workbench"
node build.mjs "$out" "$work/build/saltus_web.wasm" "$work/worker.js"
echo "web: $out/workbench.html"
