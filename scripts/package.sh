#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Make the packages: package.sh FOLDER JOBS writes a .deb and a .tar.gz into FOLDER. The .deb depends on Debian's libraries;
# the tarball carries them and runs from wherever it is unpacked. SALTUS_KINDS chooses: "deb", "tarball", or both.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/build/package}
jobs=${2:-2}
mkdir -p "$out"
out=$(cd "$out" && pwd)
generator=$(command -v ninja >/dev/null 2>&1 && echo Ninja || echo 'Unix Makefiles')

# kind, generator of CPack, prefix, then options of CMake
make_package() {
  kind=$1 maker=$2 prefix=$3
  shift 3
  cmake -S "$root" -B "$out/$kind" -G "$generator" -DCMAKE_BUILD_TYPE=Release -DSALTUS_TESTS=OFF -DSALTUS_EXAMPLES=OFF \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON --log-level=WARNING "$@" >/dev/null
  cmake --build "$out/$kind" -j "$jobs" --target saltus_installed >"$out/log" 2>&1 || { tail -30 "$out/log" >&2; exit 1; }
  (cd "$out/$kind" && cpack -G "$maker" -B "$out" >"$out/log" 2>&1) || { tail -30 "$out/log" >&2; exit 1; }
  rm -rf "$out/_CPack_Packages"
}

for kind in ${SALTUS_KINDS:-deb tarball}; do
  case $kind in
    deb) make_package deb DEB /usr ;;
    tarball) make_package tarball TGZ /opt/saltus -DSALTUS_BUNDLE=ON -DCMAKE_INSTALL_LIBDIR=lib ;;
    *) echo "package: unknown kind '$kind' (known: deb, tarball)" >&2; exit 2 ;;
  esac
done
find "$out" -maxdepth 1 \( -name '*.deb' -o -name '*.tar.gz' \) | sort
