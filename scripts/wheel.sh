#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Make a wheel of the Python package from a build, install it into a folder of its own, and run the package's tests
# with it. Nothing is fetched. Usage: wheel.sh BUILD
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
python=/usr/bin/python3
[ -x "$python" ] || python=python3
out="$root/build/wheel"
rm -rf "$out"
mkdir -p "$out"
SALTUS_BUILD="$build" "$python" -m pip wheel --quiet --no-index --no-build-isolation --no-deps -w "$out" "$root/python"
wheel=$(ls "$out"/saltus-*.whl)
"$python" -m pip install --quiet --no-index --no-deps --target "$out/installed" "$wheel"
export SALTUS="$build/saltus" SALTUS_SOURCE="$root" PYTHONPATH="$out/installed" MPLBACKEND=Agg PYTHONDONTWRITEBYTECODE=1
cd "$out"
for test in runs sim threads docs; do
  "$python" "$root/python/tests/run.py" "test_$test" >"$out/$test.log" 2>&1 || {
    tail -40 "$out/$test.log"
    exit 1
  }
done
echo "wheel: ${wheel#"$root"/}, $(stat -c %s "$wheel") bytes, tested"
