# SPDX-License-Identifier: MIT
"""Builds lisma_parse_tool for the scripts that test the parser."""
import glob
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCES = ["src/base/*.c", "src/lisma/ast.c", "src/lisma/ast_print.c", "src/lisma/lexer*.c",
           "src/lisma/parser*.c", "tests/tools/lisma_parse_tool.c"]


def build(directory):
    """Compile the tool into a directory with $CC and $CFLAGS; returns its path."""
    files = [f for pattern in SOURCES for f in sorted(glob.glob(os.path.join(ROOT, pattern)))]
    tool = os.path.join(directory, "lisma_parse_tool")
    command = os.environ.get("CC", "cc").split() + os.environ.get("CFLAGS", "-O1 -g").split()
    command += ["-std=c17", "-I" + os.path.join(ROOT, "include"), "-I" + os.path.join(ROOT, "src")]
    subprocess.run(command + files + ["-o", tool, "-lm"], check=True)
    return tool
