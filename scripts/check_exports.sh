#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What the shared libraries export is what the public headers declare with SLT_API, no more and no
# less; and nothing they use is missing. Usage: check_exports.sh BUILD
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1
failed=0

# names of the functions declared with SLT_API in the headers given
declared() {
  python3 - "$@" <<'PYTHON'
import re, sys
names = set()
for path in sys.argv[1:]:
    text = open(path, encoding="utf-8").read()
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^\s*#(?:[^\n\\]|\\\n|\\.)*", "", text, flags=re.M)
    for declaration in re.findall(r"\bSLT_API\b([^;{]*)", text):
        match = re.search(r"\(?\*?\b([A-Za-z_]\w*)\)?\s*[(\[]|\b(\w+)\s*$", declaration)
        names.add(match.group(1) or match.group(2))
print("\n".join(sorted(names)))
PYTHON
}

# check_library NAME HEADER...
check_library() {
  local library="$build/lib$1.so"
  shift
  local wanted exported
  wanted=$(declared "$@" | LC_ALL=C sort)
  # names of sanitizers, coverage counters and the linker are not ours
  exported=$(nm -D --defined-only --format=just-symbols "$library" |
    grep -vE '^(__.*|mangle_path|_init|_fini|_edata|_end)$' |
    LC_ALL=C sort || true)
  local extra missing
  extra=$(LC_ALL=C comm -13 <(echo "$wanted") <(echo "$exported"))
  missing=$(LC_ALL=C comm -23 <(echo "$wanted") <(echo "$exported"))
  if [ -n "$extra" ]; then
    echo "${library##*/} exports without declaration:" $extra
    failed=1
  fi
  if [ -n "$missing" ] && [ -n "$absent" ]; then
    echo "${library##*/}: declared functions are not checked, these modules are absent:$absent"
  elif [ -n "$missing" ]; then
    echo "${library##*/} lacks declared functions:" $missing
    failed=1
  fi
}

# check_complete NAME: a program links against it, so every symbol it needs is there
check_complete() {
  local flags messages
  flags=$(sed -n 's/^SALTUS_SANITIZE:[^=]*=\(..*\)/-fsanitize=\1/p' "$build/CMakeCache.txt")
  grep -q -- '--coverage' "$build/CMakeCache.txt" && flags="$flags --coverage"
  local compiler
  compiler=$(sed -n 's/^CMAKE_C_COMPILER:[^=]*=//p' "$build/CMakeCache.txt")
  # shellcheck disable=SC2086  # a list of flags
  if ! messages=$(echo 'int main(void) { return 0; }' |
    (cd "$scratch" && "$compiler" $flags -x c - -x none -Wl,--no-as-needed "$build/lib$1.so" -o probe) 2>&1); then
    echo "lib$1.so is incomplete:"
    echo "$messages" | grep -oE "undefined reference to .*" | sort -u
    failed=1
  fi
}

# with modules left out the libraries cannot be complete
absent=""
for module in base ir lisma symbolic model numeric engine record api; do
  listed=$(sed -n 's/^SALTUS_ONLY_MODULES:[^=]*=\(.*\)/;\1;/p' "$build/CMakeCache.txt")
  if [[ "$listed" != ";;" && "$listed" != *";$module;"* ]] || ! compgen -G "$root/src/$module/*.c" >/dev/null; then
    absent="$absent $module"
  fi
done

build=$(cd "$build" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
check_library saltus_rt "$root"/include/saltus/saltus_rt.h
check_library saltus "$root"/include/saltus/*.h
if [ -z "$absent" ]; then
  check_complete saltus_rt
  check_complete saltus
fi
[ "$failed" = 0 ] && echo "exports: as declared"
exit "$failed"
