#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is wrong is said, with place, cause and way out, and with the exit status of the contract."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402


class Usage(cli_case.CliCase):
    def test_no_command(self):
        result = self.fails(2, says="usage: saltus COMMAND")
        self.assertEqual(result.out, "")

    def test_unknown_commands(self):
        self.fails(2, "rnu", "ball.lisma", says=["`rnu`", "saltus run"])
        self.fails(2, "ball.lisma", says="saltus run ball.lisma")
        self.fails(2, "frobnicate", says="saltus help")
        self.fails(2, "--frobnicate", says="saltus help")

    def test_unknown_options(self):
        for command in ("run", "check", "explain", "plot"):
            self.fails(2, command, "ball.lisma", "--frobnicate", says=["--frobnicate", command])
        self.fails(2, "run", "ball.lisma", "--untill", "3", says="--until")
        self.fails(2, "run", "ball.lisma", "--quite", says="--quiet")
        self.fails(2, "run", "ball.lisma", "-x", says="-x")

    def test_cyclic_is_for_tables(self):
        self.fails(2, "run", "ball.lisma", "--cyclic", "0.1", says="holds equations")
        self.fails(2, "convert", "ball.lisma", "ball.rules.md", says="holds equations")

    def test_a_report_is_a_page(self):
        self.fails(2, "run", "ball.lisma", "--report", "r.pdf", says="ending in .html")
        self.fails(2, "run", "ball.lisma", "--report", "no/such/r.html", says="no/such/r.html")
        self.fails(2, "run", "ball.lisma", "--events", "r.csv", "-o", "./r.csv", says="the same file")

    def test_options_without_anything_to_say(self):
        """What an option is about must be there: one that changes nothing is a mistake."""
        self.write("m.lisma", "const k = 1; x' = -k*x; x(t0) = 1; experiment { end = 1; }\n")
        self.write("fixed.lisma", "x' = -1; x(t0) = 1; experiment { end = 1; method = rk4; step = 0.1; }\n")
        self.write("d.csv", "time,x\n0,1\n1,0.4\n")
        sweep = ["sweep", "m.lisma", "-q", "--vary", "k=1:2:3", "--map"]
        sobol = ["sens", "m.lisma", "-q", "-m", "end(x)", "--vary", "k~uniform(1, 2)", "--sobol", "8"]
        sens = ["sens", "m.lisma", "-q", "-m", "end(x)", "--params", "k"]
        run = ["run", "m.lisma", "-q", "-o", "r.csv"]
        for command, idle in ((sweep, ["-m", "max(x)"]), (sweep, ["--trajectories", "t"]), (sweep, ["--resume"]),
                              (sobol, ["--params", "k"]), (sobol, ["--reach", "0.1"]), (sobol, ["--adjoint"]),
                              (sobol, ["--differences"]), (sens, ["--every", "1"]), (sens, ["--jobs", "2"]),
                              (sens, ["--seed", "1"]), (sens, ["--vary", "k=1,2"]),
                              (["sens", "m.lisma", "-q", "--params", "k", "--out", "x"], ["--reach", "0.1"]),
                              (run, ["--step", "0.1"]), (run, ["--method", "dp54", "--step", "0.1"]),
                              (run, ["--method", "rk4", "--step", "0.1", "--hmax", "1"]),
                              (["run", "fixed.lisma", "-q", "-o", "r.csv"], ["--h0", "0.1"]),
                              (["run", "m.lisma", "-q", "-o", "r.jsonl"], ["--units"]),
                              (["compare", "d.csv", "d.csv"], ["--until", "1"]),
                              (["compare", "d.csv", "d.csv"], ["--set", "k=2"]),
                              (["compare", "m.lisma", "--data", "d.csv", "--tol", "1"], ["-m", "end(x)"]),
                              (["fit", "m.lisma", "--data", "d.csv", "--params", "k"], ["--until", "1"]),
                              (["steady", "m.lisma"], ["--until", "1"]), (["explain", "m.lisma", "--json"], ["--graph", "g.svg"])):
            name = next(word for word in reversed(idle) if word.startswith("-"))
            long = {"-m": "-m" if command[0] == "compare" else "--measure", "--set": "--set"}.get(name, name)
            self.good(*command)
            self.fails(2, *command, *idle, says=long)
        self.good("run", "fixed.lisma", "-q", "-o", "r.csv", "--step", "0.2")
        self.good("run", "fixed.lisma", "-q", "-o", "r.csv", "--method", "auto", "--hmax", "0.2")

    def test_available_choices_are_taken(self):
        self.good("run", "ball.lisma", "-q", "--native", "auto", "--sliding", "on",
                  "--detection", "certified", "--seed", "18446744073709551615")

    def test_missing_values(self):
        self.fails(2, "run", "ball.lisma", "--until", says=["--until", "needs a value"])
        self.fails(2, "run", "ball.lisma", "--until", "--quiet", says="needs a value")
        self.fails(2, "run", "ball.lisma", "--quiet=1", says="takes no value")
        self.fails(2, "run", "ball.lisma", "-o", "", says="-o")

    def test_numbers_are_strict(self):
        for text in ("ten", "", "1,5", "1e", "0x10", "nan", "inf", "1e999", "1 ", " 1", "--1"):
            self.fails(2, "run", "ball.lisma", f"--until={text}", says="--until")
        self.fails(2, "run", "ball.lisma", "--until", "1,5", says="point")
        for option in ("--rtol", "--h0", "--hmin", "--hmax", "--step", "--every", "--event-eps"):
            for text in ("0", "-1", "x") if option in ("--rtol", "--event-eps") else ("0", "-1", "x", "0min", "-1h", "3kg"):
                self.fails(2, "run", "ball.lisma", f"{option}={text}", says=option)
        self.fails(2, "run", "ball.lisma", "--atol", "-1", says="--atol")
        self.fails(2, "run", "ball.lisma", "--gamma", "1", says="--gamma")
        if "(SUNDIALS)" not in self.good("methods").out:
            self.fails(2, "run", "ball.lisma", "--method", "bdf",
                       says=["SUNDIALS, which is not built in", "libsundials-dev"])
        for text in ("0", "-3", "1.5", "many", "99999999999999999999"):
            self.fails(2, "run", "ball.lisma", "--samples", text, says="--samples")
        self.fails(2, "run", "ball.lisma", "--seed", "18446744073709551616", says="--seed")

    def test_choices(self):
        self.fails(2, "run", "ball.lisma", "--method", "dp45", says=["dp45", "dp54"])
        self.fails(2, "run", "ball.lisma", "--detection", "zzz", says=["certified", "combined"])
        self.write("method.lisma", "x' = 1; experiment { method = dp45; }")
        self.fails(1, "run", "method.lisma", says=["experiment", "dp45", "dp54"])
        self.good("run", "method.lisma", "--method", "dp54")

    def test_contradictions(self):
        self.fails(2, "run", says="needs a model")
        self.fails(1, "run", "ball.lisma", "other.lisma", says="other.lisma")
        self.fails(2, "run", "ball.lisma", "--every", "1", "--samples", "3", says="only one")
        self.fails(2, "run", "ball.lisma", "--plot-x", "y", says="--plot")
        self.fails(2, "run", "ball.lisma", "--until", "-1", says=["-1", "--until"])
        self.fails(2, "run", "ball.lisma", "--hmin", "1", "--hmax", "0.1", says="--hmin")
        self.fails(2, "run", "ball.lisma", "--plot", "picture.bmp", says=".svg")
        for outputs in (["-o", "-", "--events", "-"], ["-o", "-", "--plot", "-"],
                        ["--events", "-", "--plot", "-"]):
            self.fails(2, "run", "ball.lisma", *outputs, says="only one")

    def test_outputs_do_not_destroy(self):
        model = self.read("ball.lisma")
        self.fails(2, "run", "ball.lisma", "-o", "./ball.lisma", says="cannot be written as .lisma")
        os.link(self.path("ball.lisma"), self.path("link.jsonl"))
        self.fails(2, "run", "ball.lisma", "--events", "link.jsonl", says="would overwrite")
        self.assertEqual(self.read("ball.lisma"), model)
        self.fails(2, "run", "ball.lisma", "-o", "a", "--events", "a", says="same file")
        self.fails(2, "run", "ball.lisma", "-o", "a", "--events", "./a", says="same file")
        self.fails(2, "run", "ball.lisma", "--events", "ball.csv", says="ball.csv")
        # what is not kept may be named twice
        self.good("run", "ball.lisma", "-o", "/dev/null", "--events", "/dev/null")

    def test_outputs_that_cannot_be_written(self):
        self.fails(2, "run", "ball.lisma", "-o", "no/such/folder.csv", says="no/such/folder.csv")
        self.fails(2, "run", "ball.lisma", "-o", ".", says="folder")

    def test_unknown_names(self):
        self.fails(1, "run", "ball.lisma", "--set", "kk=1", says=["kk", "did you mean"])
        self.fails(1, "run", "ball.lisma", "--set", "nothing=1", says="nothing")
        self.fails(1, "run", "ball.lisma", "--set", "y=1", says="its initial value is set by y(t0)=...")
        self.write("cells.lisma", "for i = 1:3 { k[i]' = 1; k[i](t0) = i; }  part P { x' = 1; x(t0) = 0; }  P p[2];")
        for name in ("k2", "k[2]", "p[2].x"):
            self.fails(1, "check", "cells.lisma", "--set", name + "=1", says=f"is set by {name}(t0)=...")
        os.remove(os.path.join(self.folder, "cells.lisma"))
        self.fails(2, "run", "ball.lisma", "--set", "k", says="NAME=VALUE")
        self.fails(2, "run", "ball.lisma", "--set", "k=fast", says="fast")
        self.fails(1, "run", "ball.lisma", "--out", "bouncs", says=["bouncs", "bounces"])
        self.fails(1, "run", "ball.lisma", "--plot", "-", "--plot-x", "bouncs", says="bounces")
        self.fails(2, "run", "ball.lisma", "--out", "y,,v", says="--out")
        self.fails(2, "run", "ball.lisma", "--out", "`y", says="--out")
        self.assertEqual(os.listdir(self.folder), ["ball.lisma"])


class Models(cli_case.CliCase):
    COMMANDS = ("run", "check", "explain")

    def test_missing(self):
        for command in self.COMMANDS:
            self.fails(1, command, "nothing.lisma", says="nothing.lisma")
        self.fails(1, "run", "ball", says="did you mean ball.lisma?")

    def test_folder(self):
        os.mkdir(self.path("folder.lisma"))
        for command in self.COMMANDS:
            self.fails(1, command, "folder.lisma", says="folder")

    @unittest.skipIf(os.geteuid() == 0, "root reads everything")
    def test_unreadable(self):
        os.chmod(self.path("ball.lisma"), 0)
        for command in self.COMMANDS:
            self.fails(1, command, "ball.lisma", says=["ball.lisma", "right"])

    def test_empty(self):
        self.write("empty.lisma", "")
        for command in self.COMMANDS:
            self.fails(1, command, "empty.lisma", says="empty")

    def test_mistakes_have_places_and_codes(self):
        self.write("wrong.lisma", "y' = v;\nv' = -9.81 *;\n")
        for command in self.COMMANDS:
            result = self.fails(1, command, "wrong.lisma", says=["wrong.lisma:2:", "error[E"])
            self.assertEqual(result.out, "")
        self.assertFalse(os.path.exists(self.path("wrong.csv")))

    def test_hostile_texts(self):
        texts = {
            "binary": bytes(range(256)) * 40,
            "nul": b"x' = 1;\0y' = 2;\n",
            "latin": b"h\xf6he' = 1;\n",
            "deep": b"x' = " + b"(" * 100000 + b"1" + b")" * 100000 + b";\n",
            "braces": b"if (x > 0) {" * 20000,
            "brackets": b"[" * 100000,
            "quotes": b'"' * 9999,
            "comment": b"/* never closed " * 5000,
            "backquote": b"`never closed",
            "minus": b"x' = " + b"-" * 100000 + b"1;\n",
            "one line": b"x' = " + b"1 + " * 200000 + b";\n",
        }
        for name, text in texts.items():
            with self.subTest(name):
                self.write("hostile.lisma", text)
                result = self.fails(1, "check", "hostile.lisma", says=["hostile.lisma:", "error["])
                self.assertLess(len(result.err), 100000)

    def test_the_run_fails(self):
        self.write("pole.lisma", "x' = x*x; x(t0) = 1;\n")
        result = self.fails(3, "run", "pole.lisma", "--until", "2", says=["error[E08", "pole.csv"])
        self.assertIn("t = ", result.err)
        rows = self.read("pole.csv").splitlines()
        self.assertGreater(len(rows), 10)
        self.assertGreater(float(rows[-1].split(",")[0]), 0.9)

    def test_a_grid_without_points(self):
        self.fails(2, "run", "ball.lisma", "--every", "1e-300", says="--every 1e-300 is too small")
        self.write("fine.lisma", "x' = 1; experiment { every = 1e-300; end = 1; }\n")
        self.fails(2, "run", "fine.lisma", says="the experiment's every 1e-300 is too small")

    def test_a_period_that_time_does_not_see(self):
        self.write("ticks.lisma", "n(t0) = 0;\nat 1 each 1e-18 repeat * { set n = n + 1; }\n")
        self.fails(3, "run", "ticks.lisma", says=["ticks.lisma:2:1: error[E0808]", "too short"])

    def test_a_table_without_end(self):
        self.fails(1, "plot", "/dev/zero", says="/dev/zero is no file that a table could be in")

    def test_an_option_against_the_model(self):
        self.fails(2, "run", "ball.lisma", "--method", "rk4", says="step")

    def test_warnings_do_not_fail_a_check(self):
        result = self.good("check", "ball.lisma")
        self.assertIn("ball.lisma: no problems found", result.out)


class Colours(cli_case.CliCase):
    def test_none_without_a_terminal(self):
        self.write("wrong.lisma", "x' = ;\n")
        self.assertNotIn("\033", self.saltus("check", "wrong.lisma").err)

    def test_on_a_terminal_unless_refused(self):
        self.write("wrong.lisma", "x' = ;\n")
        import pty
        for refused in (False, True):
            master, slave = pty.openpty()
            environment = self.environment(TERM="xterm", **({"NO_COLOR": "1"} if refused else {}))
            subprocess.run([cli_case.PROGRAM, "check", "wrong.lisma"], cwd=self.folder, stderr=slave,
                           stdout=subprocess.DEVNULL, env=environment, check=False)
            os.close(slave)
            text = os.read(master, 65536)
            os.close(master)
            self.assertEqual(b"\033[" in text, not refused)


if __name__ == "__main__":
    cli_case.main()
