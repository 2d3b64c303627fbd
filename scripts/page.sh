#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Build the workbench's page: page.sh FOLDER writes FOLDER/page.c, from which `saltus serve` gets it. Needs node and npm;
# the packages that workbench/package-lock.json names are fetched once.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/build/workbench}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$root/workbench"
if ! cmp -s package-lock.json node_modules/.lock-used; then
  echo "page: fetching the packages it is made of"
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
  cp package-lock.json node_modules/.lock-used
fi
npx --no-install tsc --noEmit
node build.mjs "$out"
