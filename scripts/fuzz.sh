#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Fuzz every target for some seconds each, and say how many runs each of them made. What is found is kept in
# BUILD/found; moved to tests/fuzz/corpus it is replayed by the tests. Usage: fuzz.sh BUILD SECONDS [TARGET...]
set -u
build=${1:-build/fuzz}
seconds=${2:-600}
shift 2 2>/dev/null || shift $#
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck disable=SC2046  # a list of words
[ $# -gt 0 ] || set -- $(for program in "$build"/tests/fuzz_*; do basename "$program" | sed 's/^fuzz_//'; done)
failed=""
for name in "$@"; do
  found="$build/found/$name"
  mkdir -p "$found"
  echo "== $name, $seconds s"
  log="$build/found/$name.log"
  if "$build/tests/fuzz_$name" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$found/" "$found" "$root/tests/fuzz/corpus/$name" >"$log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "   clean, ${runs:-0} runs"
  else
    failed="$failed $name"
    grep -E 'ERROR|SUMMARY|Test unit written' "$log" | sed 's/^/   /'
  fi
done
[ -z "$failed" ] && exit 0
echo "fuzz: found something in:$failed"
exit 1
