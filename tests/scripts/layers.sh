# SPDX-License-Identifier: MIT
# Dependencies between the modules go one way, and the check itself can tell.
set -eu
python3 "$SALTUS_SOURCE/scripts/check_layers.py" --self-test
python3 "$SALTUS_SOURCE/scripts/check_layers.py" "$SALTUS_SOURCE"
