#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Fuzz every target for some seconds each. What is found becomes a file in tests/fuzz/corpus, where
# the tests replay it. Usage: fuzz.sh BUILD SECONDS
set -eu
build=${1:-build/fuzz}
seconds=${2:-600}
root=$(cd "$(dirname "$0")/.." && pwd)
for program in "$build"/tests/fuzz_*; do
  [ -x "$program" ] || continue
  name=$(basename "$program" | sed 's/^fuzz_//')
  mkdir -p "$build/found/$name"
  echo "== $name, $seconds s"
  "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$build/found/$name/" "$build/found/$name" "$root/tests/fuzz/corpus/$name"
done
