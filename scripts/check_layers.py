#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Data flows in one direction through the tree; this checks the #include lines for it.

A file of a module includes its own module freely, of a module to its left only
"<module>/<module>.h", the public headers as <saltus/...>, and the C library. The command line sees
the public headers and libraries only. The runtime carries no builder: in src/model only files named
build* may use `ir` and `symbolic`.

Usage: check_layers.py [ROOT] | check_layers.py --self-test
"""
import pathlib
import re
import sys
import tempfile

ALLOWED = {
    "base": set(),
    "ir": {"base"},
    "lisma": {"base", "ir"},
    "rules": {"base", "ir", "lisma"},
    "symbolic": {"base", "ir"},
    "model": {"base"},
    "numeric": {"base"},
    "native": {"base", "model", "numeric"},
    "engine": {"base", "model", "numeric"},
    "sensitivity": {"base", "model", "numeric", "engine"},
    "record": {"base"},
    "blocks": {"base", "model", "numeric", "record"},
    "api": {"base", "ir", "lisma", "rules", "symbolic", "model", "native", "numeric", "engine", "sensitivity",
            "record", "blocks"},
    "cdcsis": {"base"},
    "experiment": {"base", "record"},
}
BUILDER_EXTRA = {"ir", "symbolic"}  # for src/model/build*
SECOND_HEADERS = {("api", "model/build.h")}  # the builder has a header of its own, for the API only
# for cli and fmi, which load libraries too, and integrate FMUs of others
SHARED_HEADERS = {"base/library.h", "numeric/numeric.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def check_include(module, path, quote, target, folder):
    """Why this include is wrong, or None."""
    if quote == "<":
        # libraries and public headers; internal headers are never in angle brackets
        first = target.split("/")[0]
        return f"<{target}> is internal; use quotes" if first in ALLOWED else None
    parts = target.split("/")
    if len(parts) == 1:
        return None if (path.parent / target).exists() else f'"{target}" names no module'
    other = parts[0]
    if other == module:
        return None
    allowed = set(ALLOWED[module])
    if module == "model" and path.name.startswith("build"):
        allowed |= BUILDER_EXTRA
    if other not in allowed:
        return f"{module} must not use {other}"
    # base is the ground everybody stands on: its parts may be included singly
    if (module, target) in SECOND_HEADERS:
        return None
    if other != "base" and parts != [other, f"{other}.h"]:
        return f'use "{other}/{other}.h" instead of "{target}"'
    return None


def check_tree(root):
    problems = []
    for folder in sorted(p for p in (root / "src").glob("*") if p.is_dir()):
        module = folder.name
        for path in sorted(folder.rglob("*")):
            if path.suffix not in {".c", ".h", ".inc", ".def"}:
                continue
            where = path.relative_to(root)
            if module not in ALLOWED:
                problems.append(f"{where}:1: module {module} is not in the list of layers")
                continue
            for number, quote, target in includes(path):
                problem = check_include(module, path, quote, target, folder)
                if problem:
                    problems.append(f"{where}:{number}: {problem}")
    problems += check_public_only(root)
    return problems


def check_public_only(root):
    """cli, examples and the Python package: nothing of src/, by any path."""
    problems = []
    for folder in ("cli", "examples", "python", "fmi"):
        for path in sorted((root / folder).rglob("*.[ch]")):
            for number, quote, target in includes(path):
                inside = (path.parent / target).resolve()
                # the command line writes FMUs
                homes = (folder, "fmi") if folder in ("cli", "python") else (folder,)
                own = inside.exists() and any((root / h).resolve() in inside.parents for h in homes)
                own = own or (folder in ("cli", "fmi") and target in SHARED_HEADERS)
                if quote == '"' and not own:
                    problems.append(f"{path.relative_to(root)}:{number}: "
                                    f'"{target}" is not a header of {folder}')
                elif quote == "<" and target.split("/")[0] in ALLOWED:
                    problems.append(f"{path.relative_to(root)}:{number}: <{target}> is internal")
    return problems


def self_test():
    """Each line must be judged as stated."""
    cases = [
        ("src/base/a.c", '#include "ir/ir.h"', False),
        ("src/ir/a.c", '#include "base/text.h"', True),
        ("src/lisma/a.c", '#include "ir/ir.h"', True),
        ("src/lisma/a.c", '#include "ir/pool.h"', False),
        ("src/lisma/a.c", '#include "symbolic/symbolic.h"', False),
        ("src/model/tape.c", '#include "symbolic/symbolic.h"', False),
        ("src/model/build_tape.c", '#include "symbolic/symbolic.h"', True),
        ("src/model/model.h", '#include "ir/ir.h"', False),
        ("src/numeric/a.c", '#include "ir/ir.h"', False),
        ("src/numeric/a.c", "#include <suitesparse/klu.h>", True),
        ("src/engine/a.c", '#include "symbolic/symbolic.h"', False),
        ("src/engine/a.c", '#  include "numeric/numeric.h"', True),
        ("src/record/a.c", '#include "engine/engine.h"', False),
        ("src/api/a.c", '#include "engine/engine.h"', True),
        ("src/api/a.c", "#include <saltus/saltus.h>", True),
        ("src/ir/a.c", "#include <base/base.h>", False),
        ("src/other/a.c", "int x;", False),
        ("cli/main.c", '#include "base/base.h"', False),
        ("cli/main.c", '#include "base/library.h"', True),
        ("examples/main.c", '#include "base/library.h"', False),
        ("cli/main.c", '#include "../src/base/base.h"', False),
        ("cli/main.c", '#include "main.c"', True),
        ("cli/main.c", "#include <saltus/saltus.h>", True),
    ]
    for name, line, good in cases:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True)
            path.write_text(line + "\n", encoding="utf-8")
            problems = check_tree(pathlib.Path(folder))
            assert (not problems) == good, (name, line, problems)


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    here = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here
    problems = check_tree(root)
    print("\n".join(problems) or "layers: ok")
    sys.exit(1 if problems else 0)


main()
