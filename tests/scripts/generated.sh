# SPDX-License-Identifier: MIT
# Generated files in the tree are what their generators write.
set -eu
python3 "$SALTUS_SOURCE/scripts/gen_number_table.py" --check
