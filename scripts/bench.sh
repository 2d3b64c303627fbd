#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run every benchmark of a build tree, one after the other. Usage: bench.sh BUILD
set -eu
build=${1:-build/release}
for program in "$build"/bench/*; do
  [ -x "$program" ] && [ -f "$program" ] || continue
  echo "== $(basename "$program")"
  "$program"
done
