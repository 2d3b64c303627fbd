#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Build with other compilers, another C library and for another machine, warnings as errors, and run the gallery and the reference
# cases with each: portability.sh FOLDER JOBS [clang|musl|aarch64]... SuiteSparse is built into a prefix where Debian has none.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${1:-$root/build/portability}"
out=$(cd "${1:-$root/build/portability}" && pwd)
jobs=${2:-2}
[ $# -gt 2 ] && shift 2 || set -- clang musl aarch64
generator=$(command -v ninja >/dev/null 2>&1 && echo Ninja || echo 'Unix Makefiles')

# name, then options of CMake
build() {
  name=$1
  shift
  echo "portability: $name"
  cmake -S "$root" -B "$out/$name" -G "$generator" -DCMAKE_BUILD_TYPE=Release -DSALTUS_TESTS=OFF -DSALTUS_WERROR=ON \
    --log-level=WARNING "$@" >/dev/null
  cmake --build "$out/$name" -j "$jobs" --target saltus_cli saltus_shared example_control example_mixed_world example_sweep \
    >"$out/$name.log" 2>&1 || { tail -30 "$out/$name.log" >&2; exit 1; }
}

# name, and what starts its programs
try() {
  printf '#!/bin/sh\nexec %s "%s/saltus" "$@"\n' "$2" "$out/$1" >"$out/$1/started"
  chmod +x "$out/$1/started"
  for program in control mixed_world sweep; do
    # shellcheck disable=SC2086  # a command with its options
    (cd "$out/$1" && $2 "examples/$program" >"$out/$1/$program.txt")
    [ ! -f "$root/examples/expected/$program.txt" ] || cmp "$out/$1/$program.txt" "$root/examples/expected/$program.txt"
  done
  for script in models cases; do
    SALTUS="$out/$1/started" SALTUS_SOURCE="$root" SALTUS_BUILD="$out/$1" XDG_CACHE_HOME="$out/$1/cache" \
      python3 "$root/tests/scripts/$script.py" >"$out/$1/$script.txt" 2>&1 || { tail -30 "$out/$1/$script.txt"; exit 1; }
    tail -1 "$out/$1/$script.txt"
  done
  same_bits "$1"
}

# name: every row and event of the gallery is the same to the last bit as with the first target of this call
same_bits() {
  rm -f "$out/$1/bits.txt"
  for model in "$root"/models/*.lisma "$root"/models/*/*.lisma "$root"/models/*/*.rules.md; do
    case $model in */parts/*) continue ;; esac
    rm -f "$out/$1/rows.csv" "$out/$1/events.jsonl"
    status=0
    "$out/$1/started" run "$model" --quiet --native off -o "$out/$1/rows.csv" --events "$out/$1/events.jsonl" >/dev/null 2>&1 || status=$?
    echo "$(basename "$model") $status $(cat "$out/$1/rows.csv" "$out/$1/events.jsonl" 2>/dev/null | sha256sum)" >>"$out/$1/bits.txt"
  done
  [ -n "${first:-}" ] || first=$1
  cmp "$out/$first/bits.txt" "$out/$1/bits.txt"
  echo "$(wc -l <"$out/$1/bits.txt") runs of $1 with the bits of $first"
}

# name, system, machine, compiler, archiver: with SuiteSparse in a prefix and nothing else
build_in_prefix() {
  "$root/scripts/suitesparse.sh" "$out/$1-prefix" "$4" "$5"
  build "$1" -DCMAKE_SYSTEM_NAME="$2" -DCMAKE_SYSTEM_PROCESSOR="$3" -DCMAKE_C_COMPILER="$4" \
    -DCMAKE_PREFIX_PATH="$out/$1-prefix" -DCMAKE_FIND_ROOT_PATH="$out/$1-prefix" -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY \
    -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
}

for target in "$@"; do
  case $target in
    clang)
      build clang -DCMAKE_C_COMPILER=clang
      try clang ""
      SALTUS="$out/clang/saltus" SALTUS_SOURCE="$root" SALTUS_BUILD="$out/clang" SALTUS_BUILDS=all \
        python3 "$root/tests/scripts/determinism.py"
      ;;
    musl) build_in_prefix musl Linux "$(uname -m)" musl-gcc ar; try musl "" ;;
    aarch64)
      build_in_prefix aarch64 Linux aarch64 aarch64-linux-gnu-gcc aarch64-linux-gnu-ar
      try aarch64 "qemu-aarch64 -L /usr/aarch64-linux-gnu"
      ;;
    *) echo "portability: unknown target '$target' (known: clang, musl, aarch64)" >&2; exit 2 ;;
  esac
done
