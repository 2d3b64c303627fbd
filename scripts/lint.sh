#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Everything that can be said about the sources without running them. Tools that are not installed
# are named and skipped. The path-sensitive analyzer and cppcheck take several times as long as all the rest
# and run with LINT=full only.
# Usage: lint.sh BUILD (with compile_commands.json)
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build/debug}
failed=0
checks='-clang-analyzer-*'
[ "${LINT:-}" = full ] && checks=''
mapfile -t sources < <(find include src cli fmi python tests bench examples -name '*.[ch]' 2>/dev/null | sort)
mapfile -t compiled < <(find src cli fmi python/src -name '*.c' -not -path 'fmi/portable/*' 2>/dev/null | sort)

# step NAME TOOL COMMAND...: run it if the tool is there
step() {
  local name=$1 tool=$2
  shift 2
  if ! command -v "$tool" >/dev/null; then
    echo "lint: $name skipped, $tool is not installed"
    return
  fi
  echo "lint: $name"
  "$@" || failed=1
}

tidy_all() {
  printf '%s\n' "${compiled[@]}" |
    xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet --checks="$checks" --extra-arg=-Wno-ignored-optimization-argument 2> >(grep -v 'warnings generated\|treated as error$' >&2)
}

# What clang-format would write depends on its version: it is told, and a fault with LINT=full.
formatting() {
  local other
  other=$(clang-format --dry-run -Werror "${sources[@]}" 2>&1 | grep -o '^[^ :]*\.[ch]:' | sort -u | tr -d ':\n' | sed 's/\.\([ch]\)/.\1 /g')
  [ -z "$other" ] && return
  echo "lint: make format would change $other"
  [ "${LINT:-}" != full ]
}

step layers python3 python3 scripts/check_layers.py
step "forbidden calls" bash bash scripts/check_forbidden.sh
step "generated files" python3 python3 scripts/gen_number_table.py --check
step formatting clang-format formatting
step "static analysis" clang-tidy tidy_all
[ "${LINT:-}" = full ] && step cppcheck cppcheck cppcheck --quiet --std=c11 --enable=warning,portability --inline-suppr \
  --error-exitcode=1 -I include -I src src cli fmi
step "shell scripts" shellcheck shellcheck -S warning scripts/*.sh
exit "$failed"
