#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run a gallery model and say where the results are. Usage: demo.sh PROGRAM
set -eu
program=$(realpath "${1:-build/release/saltus}")
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d "${TMPDIR:-/tmp}/saltus-demo.XXXXXX")

cd "$folder"
"$program" run "$root/models/ball.lisma" -o ball.csv --events ball.jsonl --plot ball.svg
echo
echo "Results are in $folder:"
ls -l "$folder" | awk 'NR > 1 { printf "  %-14s %8d bytes\n", $NF, $5 }'
