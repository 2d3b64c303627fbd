#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Install the packages in a fresh root, use them, and remove them: package_test.sh FOLDER [ROOT], as root, after package.sh FOLDER.
# The root is a minimal Debian made by mmdebstrap from the package lists of this machine, unless one is given.
set -eu
out=$(cd "${1:-build/package}" && pwd)
work=$(mktemp -d)
root=${2:-$work/root}
trap 'umount "$root/proc" 2>/dev/null; rm -rf "$work"' EXIT

fresh_root() {
  command -v mmdebstrap >/dev/null || { echo "package test: needs mmdebstrap (scripts/setup.sh package-test)" >&2; exit 1; }
  echo "package test: making a fresh root"
  set --
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    [ -s "$list" ] && set -- "$@" "$list"
  done
  mmdebstrap --quiet --mode=root --variant=minbase --include=gcc,libc6-dev,pkg-config,shared-mime-info bookworm "$root" "$@"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  # the way to the mirror is this machine's
  cp /etc/apt/apt.conf.d/99* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
}

inside() { chroot "$root" env HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -euc "$1"; }
saltus_files() { (cd "$root" && find etc usr opt root -iname '*saltus*' | sort); }

# what a user does first; $1 is where the program is
use='cd /root; PATH=$1:$PATH
  saltus --version
  saltus gallery | grep -q "^ball "
  saltus docs language | head -1
  saltus gallery --copy drive_cycle >/dev/null
  saltus run drive_cycle.lisma -o rows.csv --plot rows.svg --quiet
  test -s rows.csv
  test -s rows.svg
  saltus new first >/dev/null
  saltus run first.lisma --quiet
  rm -f /root/drive_cycle.* /root/first.* /root/rows.*'

[ -d "$root" ] || fresh_root
mount -t proc proc "$root/proc"  # by which the loader knows where a program is
[ -z "$(saltus_files)" ] || { echo "package test: $root is not fresh" >&2; exit 1; }

deb=$(find "$out" -maxdepth 1 -name 'saltus_*.deb' | tail -1)
if [ -n "$deb" ]; then
  cp "$deb" "$root/saltus.deb"
  inside 'apt-get update -qq >/log 2>&1 && apt-get install -y -qq --no-install-recommends /saltus.deb >/log 2>&1 || { cat /log; exit 1; }'
  inside "set -- /usr/bin; $use"
  printf '#include <saltus/saltus.h>\nint main(void) { return slt_method_count() == 0; }\n' >"$root/root/main.c"
  inside 'cd /root && cc main.c $(pkg-config --cflags --libs saltus) -o main && ./main && rm main main.c'
  inside 'grep -q lisma /usr/share/mime/globs2 && test -f /usr/share/icons/hicolor/scalable/apps/saltus.svg'
  inside 'apt-get purge -y -qq saltus >/log 2>&1 && apt-get autoremove -y -qq >/log 2>&1'
  rm -f "$root/saltus.deb" "$root/log"
  [ -z "$(saltus_files)" ] || { echo "package test: left behind: $(saltus_files)" >&2; exit 1; }
  ! inside 'grep -q lisma /usr/share/mime/globs2'
  echo "package test: the .deb installs, runs, and is removed without a trace"
fi

# the libraries of others went with the .deb: the tarball has to bring them
tarball=$(find "$out" -maxdepth 1 -name 'saltus-*.tar.gz' | tail -1)
if [ -n "$tarball" ]; then
  mkdir -p "$root/opt/any where"
  tar xzf "$tarball" -C "$root/opt/any where" --strip-components=1
  inside "set -- '/opt/any where/bin'; $use"
  rm -rf "$root/opt/any where"
  echo "package test: the tarball runs without its libraries installed, from a folder with a blank in its name"
fi
