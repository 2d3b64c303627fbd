# SPDX-License-Identifier: MIT
# The shared libraries export exactly the public interface.
set -eu
bash "$SALTUS_SOURCE/scripts/check_exports.sh" "$SALTUS_BUILD"
