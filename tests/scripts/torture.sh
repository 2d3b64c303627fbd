#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A little of `make torture`: a few trials of every kind.
set -euo pipefail
if grep -qE '^SALTUS_SANITIZE:[^=]*=.+' "$SALTUS_BUILD/CMakeCache.txt"; then
  echo "a sanitizer has an allocator of its own"
  exit 77
fi
exec python3 "$SALTUS_SOURCE/scripts/torture.py" "$SALTUS_BUILD" --seconds 12
