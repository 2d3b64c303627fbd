#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The short commands, help, manual page and completions."""
import os
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

COMMANDS = ["run", "check", "explain", "sweep", "sens", "compare", "fit", "optimize", "plot", "new", "methods", "help"]


class Help(cli_case.CliCase):
    def options(self, command):
        return set(re.findall(r"--[a-z][a-z0-9-]*", self.good("help", command).out))

    def test_version(self):
        self.assertRegex(self.good("--version").out, r"^saltus \d+\.\d+\.\d+\n$")

    def test_every_command_is_explained(self):
        general = self.good("--help").out
        self.assertEqual(general, self.good("help").out)
        for command in COMMANDS:
            self.assertIn(command, general)
            self.assertEqual(self.good("help", command).out, self.good(command, "--help").out)
        self.fails(2, "help", "frobnicate", says="frobnicate")

    def test_lines_fit_the_terminal(self):
        for command in COMMANDS:
            for line in self.good("help", command).out.splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_every_option_of_the_help_is_known(self):
        for option in self.options("run") - {"--watch"}:  # which does not end
            result = self.saltus("run", "ball.lisma", option)
            self.assertNotIn("has no option", result.err)

    def documents(self):
        names = ["docs/saltus.1", "completions/saltus.bash", "completions/_saltus",
                 "completions/saltus.fish"]
        return [os.path.join(cli_case.SOURCE, name) for name in names]

    def test_manual_and_completions_know_every_option(self):
        for path in self.documents():
            with open(path, encoding="utf-8") as f:
                text = f.read().replace("\\-", "-")
            for command in COMMANDS:
                self.assertIn(command, text, path)
            for option in self.options("run"):
                # fish writes options without their dashes
                self.assertTrue(option in text or f"-l {option[2:]}" in text, f"{path}: {option}")

    def test_shells_accept_the_completions(self):
        bash = os.path.join(cli_case.SOURCE, "completions", "saltus.bash")
        script = (f'. "{bash}"; COMP_WORDS=(saltus run ball.lisma --unt); COMP_CWORD=3; '
                  '_saltus; echo "${COMPREPLY[@]}"; COMP_WORDS=(saltus r); COMP_CWORD=1; '
                  '_saltus; echo "${COMPREPLY[@]}"; COMP_WORDS=(saltus run b); COMP_CWORD=2; '
                  '_saltus; echo "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, stdout=subprocess.PIPE,
                              check=True)
        self.assertEqual(done.stdout.decode().split(), ["--until", "run", "ball.lisma"])


class New(cli_case.CliCase):
    def test_new_model_runs(self):
        result = self.good("new", "first")
        self.assertIn("saltus run first.lisma", result.out)
        checked = self.good("check", "first.lisma")
        self.assertEqual(checked.err, "")
        self.assertIn("no problems found", checked.out)
        self.good("run", "first.lisma", "-q")
        self.assertTrue(self.read("first.csv").splitlines()[-1].endswith(",0,0"))

    def test_nothing_is_overwritten(self):
        before = self.read("ball.lisma")
        self.fails(2, "new", "ball", says="ball.lisma")
        self.fails(2, "new", "ball.lisma", says="ball.lisma")
        self.assertEqual(self.read("ball.lisma"), before)
        self.fails(2, "new", says="name")
        self.fails(2, "new", "a", "b", says="`b`")
        self.fails(2, "new", "no/such/folder", says="no/such/folder.lisma")


class Questions(cli_case.CliCase):
    def test_methods(self):
        out = self.good("methods").out
        for name in ("auto", "rk4", "dp54", "merson"):
            self.assertRegex(out, rf"(?m)^{name} ")
        self.fails(2, "methods", "x")

    def test_explain(self):
        self.assertIn("bounce", self.good("explain", "ball.lisma").out)
        import json
        json.loads(self.good("explain", "ball.lisma", "--json").out)
        self.write("many.lisma", "for i = 1:50 { x_[i]' = -i * x_[i] + if(x_[i] < 3, 1, 0); }\ny' = 1;\n")
        out = self.good("explain", "many.lisma").out
        self.assertRegex(out, r"51 equations of 2 shapes, 50 relations of 1 shapes; about \d+ bytes for each")
        self.assertNotIn("shapes;", self.good("explain", "ball.lisma").out)
        self.assertTrue(self.good("explain", "ball.lisma", "--ir").out)
        self.fails(2, "explain", "ball.lisma", "--ir", "--json")
        self.fails(2, "explain", says="model")


class Plot(cli_case.CliCase):
    def setUp(self):
        super().setUp()
        self.good("run", "ball.lisma", "-q", "--out", "y,v,main.state")

    def test_terminal(self):
        out = self.good("plot", "ball.csv").out
        self.assertIn("bounce", out)
        self.assertNotIn("\033", out)
        for line in out.splitlines():
            self.assertLessEqual(len(line), 80)
        wide = self.good("plot", "ball.csv", "y", env=self.environment(COLUMNS="120")).out
        self.assertGreater(max(map(len, wide.splitlines())), 80)

    def test_svg_is_well_formed(self):
        self.good("plot", "ball.csv", "y,v", "-o", "p.svg")
        root = xml.etree.ElementTree.parse(self.path("p.svg")).getroot()
        self.assertTrue(root.tag.endswith("svg"))
        text = self.read("p.svg")
        self.assertNotIn("<script", text)
        self.assertEqual(re.findall(r"(?:href|src|url)\W", text), [])
        self.good("plot", "ball.csv", "v", "--plot-x", "y", "--plot", "phase.svg")

    def test_png(self):
        environment = self.environment(ASAN_OPTIONS="detect_leaks=0")  # fonts stay loaded
        result = self.saltus("plot", "ball.csv", "-o", "p.png", env=environment)
        if result.status == 2 and "cairo" in result.err:
            self.skipTest("built without cairo")
        self.assertEqual(result.status, 0, result.err)
        with open(self.path("p.png"), "rb") as f:
            self.assertEqual(f.read(8), b"\x89PNG\r\n\x1a\n")

    def test_wrong_tables(self):
        self.fails(1, "plot", "none.csv", says="none.csv")
        self.fails(1, "plot", "ball.csv", "vv", says=["vv", "did you mean v?"])
        self.fails(2, "plot", "ball.lisma", says="saltus run ball.lisma")
        self.fails(2, "plot", says="table")
        self.fails(2, "plot", "ball.csv", "y", "v", says="commas")
        self.fails(2, "plot", "ball.csv", "-o", "p.gif", says=".svg")
        self.write("bad.csv", "time,x\n0,1\n1\n")
        self.fails(1, "plot", "bad.csv", says="bad.csv:3:")
        self.write("header.csv", "time,x\n")
        self.fails(1, "plot", "header.csv", says="nothing to draw")
        self.write("words.csv", "a,b\nx,y\n")
        self.fails(1, "plot", "words.csv", says="nothing to draw")
        self.write("binary.csv", bytes(range(256)))
        self.fails(1, "plot", "binary.csv", says="binary.csv:")

    def test_a_picture_that_fails_costs_no_file(self):
        self.write("p.svg", "precious")
        self.fails(1, "plot", "ball.csv", "vv", "-o", "p.svg")
        self.assertEqual(self.read("p.svg"), "precious")


if __name__ == "__main__":
    cli_case.main()
