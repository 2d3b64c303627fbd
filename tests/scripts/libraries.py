#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Libraries that few runs need: the program starts without them, works where one of them is broken, and
names its package to whoever needs it."""
import os
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402
from cli_case import PROGRAM  # noqa: E402

# library, words of a command that needs it, and a word of its package
OPTIONAL = [
    ("libhdf5[a-z_]*", ["run", "ball.lisma", "-q", "-o", "r.h5"], "libhdf5"),
    ("libz", ["run", "ball.lisma", "-q", "-o", "r.csv.gz"], "zlib1g"),
    ("libcairo", ["run", "ball.lisma", "-q", "-o", "r.csv", "--plot", "r.png"], "libcairo2"),
    ("libnlopt", ["optimize", "ball.lisma", "--minimize", "end(y)", "--params", "k", "-q"], "libnlopt"),
    ("libzip", ["export", "ball.lisma", "-o", "r.fmu"], "libzip"),
    ("libmicrohttpd", ["serve", "."], "libmicrohttpd"),
]


def names_in_program():
    """Names of shared libraries that the program has in its text."""
    with open(PROGRAM, "rb") as file:
        found = re.findall(rb"\0(lib[\w+-]+\.so\.[0-9.]+)\0", file.read())
    return {name.decode() for name in found}


class Libraries(cli_case.CliCase):
    def test_none_is_linked(self):
        linked = subprocess.run(["ldd", PROGRAM], stdout=subprocess.PIPE, check=True).stdout.decode()
        for name, _, _ in OPTIONAL + [("libexpat", None, None)]:
            self.assertIsNone(re.search(rf"\b{name}\.so", linked), linked)

    def test_broken_ones_are_named(self):
        names = names_in_program()
        for pattern, command, package in OPTIONAL:
            name = next((n for n in names if re.fullmatch(rf"{pattern}\.so\.[0-9.]+", n)), None)
            if not name:
                continue  # built without it: other tests look at what is said then
            folder = f"broken_{name}"
            os.mkdir(self.path(folder))
            self.write(f"{folder}/{name}", "this is no library")
            broken = self.environment(LD_LIBRARY_PATH=self.path(folder))
            if name != "libz.so.1":  # sanitizers and others may need it themselves
                result = self.saltus("run", "ball.lisma", "-q", "-o", "plain.csv", env=broken)
                self.assertEqual(result.status, 0, result.err)
            result = self.saltus(*command, env=broken)
            if "workbench is not built" in result.err:
                continue  # it has no page to serve
            self.assertNotEqual(result.status, 0, command)
            self.assertIn(package, result.err, command)


if __name__ == "__main__":
    unittest.main()
