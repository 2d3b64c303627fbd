#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What is installed can be used: the program, a C program by pkg-config, a project by find_package; and
# it can be removed again without a trace.
set -euo pipefail
if grep -qE '^SALTUS_SANITIZE:[^=]*=.+' "$SALTUS_BUILD/CMakeCache.txt"; then
  echo "programs outside know nothing of sanitizers"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root="$folder/root"
mkdir "$folder/build" "$folder/user"

# the tree as it is, for another prefix

cmake --install "$SALTUS_BUILD" --prefix "$root" >"$folder/log"
mv "$SALTUS_BUILD/install_manifest.txt" "$folder/build/"
"$root/bin/saltus" --version

# an installed tree can be moved: program, manual, gallery, files for pkg-config and CMake
mv "$root" "$folder/moved tree"
ln -s "$folder/moved tree" "$root"
"$folder/moved tree/bin/saltus" gallery | grep '^ball ' >/dev/null
"$folder/moved tree/bin/saltus" docs language | grep '^# The language' >/dev/null
test "$("$folder/moved tree/bin/saltus" docs --path)" = "$folder/moved tree/share/saltus/docs"
PKG_CONFIG_PATH=$(dirname "$(find "$folder/moved tree" -name saltus.pc)") pkg-config --cflags saltus | grep -q 'moved'
rm "$root"
mv "$folder/moved tree" "$root"

cat >"$folder/user/main.c" <<'C'
#include <saltus/saltus.h>
#include <stdio.h>
int main(void) {
  puts(slt_version());
  return slt_method_count() > 0 ? 0 : 1;
}
C
cat >"$folder/user/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.21)
project(user C)
find_package(Saltus 0.1 REQUIRED)
foreach(name saltus saltus_rt)
  add_executable(with_${name} main.c)
  target_link_libraries(with_${name} PRIVATE Saltus::${name})
endforeach()
CMAKE
cmake -S "$folder/user" -B "$folder/user/build" -DCMAKE_PREFIX_PATH="$root" >"$folder/log"
cmake --build "$folder/user/build" >"$folder/log"
"$folder/user/build/with_saltus" | grep -q '^[0-9]'
"$folder/user/build/with_saltus_rt" | grep -q '^[0-9]'

# under a DESTDIR where nothing is, nothing is removed, and the list stays for another try
if DESTDIR="$folder/nowhere" cmake -DBUILD="$folder/build" -P "$SALTUS_SOURCE/cmake/uninstall.cmake" >"$folder/log" 2>&1; then
  echo "nothing was there to be removed, and no word of it"
  exit 1
fi
grep -q 'the list stays' "$folder/log"
test -f "$folder/build/install_manifest.txt"
if [ -n "$(find "$root" -name '.*')" ]; then
  echo "hidden files are installed"
  exit 1
fi

cmake -DBUILD="$folder/build" -P "$SALTUS_SOURCE/cmake/uninstall.cmake" >"$folder/log" 2>&1
left=$(find "$root" -type f -o -type l -o -iname saltus)
if [ -n "$left" ]; then
  echo "left behind: $left"
  exit 1
fi
