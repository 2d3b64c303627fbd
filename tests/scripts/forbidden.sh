# SPDX-License-Identifier: MIT
# The library has no forbidden calls and no writable data.
set -eu
bash "$SALTUS_SOURCE/scripts/check_forbidden.sh" "$SALTUS_BUILD"
