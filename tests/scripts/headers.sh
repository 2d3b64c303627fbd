# SPDX-License-Identifier: MIT
# Every public header compiles alone and strictly, as C and, where a compiler is there, as C++.
set -eu
cd "$SALTUS_SOURCE/include"
for header in saltus/*.h; do
  echo "#include <$header>" | cc -std=c17 -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror \
    -fsyntax-only -I. -x c -
  if command -v c++ >/dev/null; then
    echo "#include <$header>" | c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I. -x c++ -
  fi
done
