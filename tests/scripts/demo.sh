#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The demonstration runs, tells of its events, draws, and leaves the files it names.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
output=$("$SALTUS_SOURCE/scripts/demo.sh" "$SALTUS" "$folder/results" 2>&1)

expect() {
  if ! grep -qF -- "$1" <<<"$output"; then
    echo "the demonstration does not say: $1"
    echo "$output"
    exit 1
  fi
}
expect "ball: done at t = 14, mode rest"
expect "at 1.42809"
expect "so the ball enters \`bounce\`"
expect "so the ball enters \`rest\`"
expect "27 events, each proved"
expect "$folder/results"
for file in ball.csv ball.jsonl ball.svg; do
  [ -s "$folder/results/$file" ] || { echo "there is no $file"; exit 1; }
done
