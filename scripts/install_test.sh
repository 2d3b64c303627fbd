#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What README says, done in a fresh root: make demo, make install, every command of the page, a project by find_package, make
# uninstall. Usage: install_test.sh [ROOT], as root. The root is a minimal Debian with make and nothing else, unless one is given.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
root=${1:-$work/root}
trap 'umount "$root/proc" 2>/dev/null; rm -rf "$work"' EXIT

fresh_root() {
  command -v mmdebstrap >/dev/null || { echo "install test: needs mmdebstrap (scripts/setup.sh package-test)" >&2; exit 1; }
  echo "install test: making a fresh root"
  set --
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    [ -s "$list" ] && set -- "$@" "$list"
  done
  mmdebstrap --quiet --mode=root --variant=minbase --include=make,ca-certificates bookworm "$root" "$@"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  # the way to the mirror is this machine's
  cp /etc/apt/apt.conf.d/99* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
}

inside() {
  chroot "$root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive TERM=dumb sh -euc "$1" || { echo "install test: failed: $1" >&2; exit 1; }
}
saltus_files() { (cd "$root" && find etc usr opt -iname '*saltus*' | sort; inside 'ldconfig -p | grep -i saltus || true'); }

[ -d "$root" ] || fresh_root
mount -t proc proc "$root/proc"
git clone -q "$source" "$root/root/saltus"
inside 'apt-get update -qq'
inside 'cd /root/saltus && make demo >/root/log 2>&1 || { cat /root/log; exit 1; }'
inside 'cd /root/saltus && make install >/root/log 2>&1 || { cat /root/log; exit 1; }'
echo "install test: built and installed"

# files and commands of the page; the one that is there to fail does
python3 - "$root/root/saltus" <<'PYTHON'
import os
import re
import sys

folder = sys.argv[1]
with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
    text = file.read()
for name, content in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", text, re.S):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(content)
with open(os.path.join(folder, "commands"), "w", encoding="utf-8") as file:
    for before, block in re.findall(r"(<!-- status: 1 -->\n)?```console\n(.*?)```", text, re.S):
        commands = re.findall(r"^\$ (.*)$", block, re.M)
        if before:
            commands[-1] = "! " + commands[-1]
        file.write("".join(command + "\n" for command in commands))
PYTHON
inside 'cd /root/saltus && sh -eu commands >/root/log 2>&1 || { cat /root/log; exit 1; }'
inside 'tail -1 /root/log | grep -q " s  off"'  # what ./kettle prints
inside 'cd /root && saltus new first >/dev/null && saltus run first.lisma -q --plot first.png && test -s first.png'
inside 'mkdir -p /root/user && cd /root/user && cp ../saltus/kettle.c ../saltus/kettle.lisma . && printf "%s\n" \
  "cmake_minimum_required(VERSION 3.21)" "project(user C)" "find_package(Saltus REQUIRED)" "add_executable(kettle kettle.c)" \
  "target_link_libraries(kettle PRIVATE Saltus::saltus)" >CMakeLists.txt && cmake -B b . >/root/log && cmake --build b >/root/log &&
  b/kettle | grep -q " s  off"'
echo "install test: README's commands, a picture as PNG and find_package work"

inside 'cd /root/saltus && make uninstall >/root/log 2>&1'
[ -z "$(saltus_files)" ] || { echo "install test: left behind: $(saltus_files)" >&2; exit 1; }
echo "install test: removed without a trace"
