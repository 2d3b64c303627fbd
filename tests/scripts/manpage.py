#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The man page and the help texts tell of the same commands and options, and the page is in order."""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

PAGE = os.path.join(cli_case.SOURCE, "docs", "saltus.1")


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text))


class ManPage(cli_case.CliCase):
    def setUp(self):
        super().setUp()
        with open(PAGE, encoding="utf-8") as f:
            self.page = f.read()
        self.plain = re.sub(r"\\f[A-Z]", "", self.page.replace("\\-", "-"))
        self.general = self.good("help").out
        self.commands = re.findall(r"^  ([a-z]+) .*", self.general, re.M)

    def test_commands(self):
        self.assertGreater(len(self.commands), 5)
        for command in self.commands:
            self.assertRegex(self.plain, rf"\.B[IR]? \"?{command}\b|\.B saltus {command}\b", command)

    def test_options(self):
        told = set()
        for command in self.commands:
            told |= options(self.good("help", command).out)
        written = options(self.plain)
        self.assertEqual(told - written, set(), "the man page lacks options")
        self.assertEqual(written - told - {"--output"}, set(), "the help lacks options")

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_markup(self):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", PAGE], capture_output=True,
                              text=True, encoding="utf-8", check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    cli_case.main()
