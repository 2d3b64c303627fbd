#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# all.sh BUILD JOBS: every law over the whole gallery and over 2000 generated models each, the comparisons with
# references at full length, and the figures of the source. Goes on after failures and fails in the end.
set -u
cd "$(dirname "$0")/../.."
export SALTUS_SOURCE=$PWD SALTUS_BUILD=$PWD/$1 SALTUS=$PWD/$1/saltus
known=tests/laws/known/laws.txt
failed=0
run() { "$@" || failed=1; }

run tests/laws/laws.py gallery --jobs "$2" --known $known
run tests/laws/laws.py --generated 2000 --sample 4 --jobs "$2" --known $known
run env SALTUS_CASES=5000 "$1"/tests/property_contact_rows_test
run env SALTUS_CASES=5000 "$1"/tests/property_relay_systems_test
run env SALTUS_CASES=1000 "$1"/tests/property_diode_networks_test
run tests/laws/figures.py --complexity
exit $failed
