#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Patterns and expressions in --out, several models, --watch, diff, names, completions of names."""
import csv
import json
import math
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

ROOMS = """const k = 2, Tout = 5;
for i = 1:3 { room_T[i]' = -(room_T[i] - Tout) / (k * i); room_T[i](t0) = 20; }
q = room_T[1] - room_T[2];
experiment { end = 1; }"""


class Comforts(cli_case.CliCase):
    def rows(self, *arguments):
        return list(csv.reader(self.good("run", *arguments, "-q", "-o", "-").out.splitlines()))

    def test_parts_of_the_program(self):
        """`parts/...` is found from anywhere, files beside the model come first, nothing leads out."""
        self.write("circuit.lisma", 'include "parts/electrical.lisma";\nx\' = 1;  x(t0) = 0;\n')
        self.good("check", "circuit.lisma")
        self.write("lost.lisma", 'include "parts/nothing.lisma";\nx\' = 1;  x(t0) = 0;\n')
        self.fails(1, "check", "lost.lisma", says=["E0214"])
        self.write("out.lisma", 'include "parts/../../README.md";\nx\' = 1;  x(t0) = 0;\n')
        self.fails(1, "check", "out.lisma", says=["E0214"])

    def test_patterns(self):
        self.write("rooms.lisma", ROOMS)
        names = self.rows("rooms.lisma")[0]
        rooms = [n for n in names if n.startswith("room")]
        self.assertEqual(len(rooms), 3)
        self.assertEqual(self.rows("rooms.lisma", "--out", "room*")[0], ["time", *rooms])
        self.assertEqual(self.rows("rooms.lisma", "--out", "q,room*")[0], ["time", "q", *rooms])
        self.fails(1, "run", "rooms.lisma", "-q", "--out", "hall*.T", says=["the model has no `hall*.T`"])
        self.assertEqual(self.rows("ball.lisma", "--out", "*.state,y")[0], ["time", "main.state", "y"])
        self.assertEqual(self.rows("rooms.lisma", "--out", "q,q,room*,*")[0], ["time", "q", *rooms])
        self.fails(1, "run", "rooms.lisma", "-q", "--out", "hall", says=["hall"])
        # a pattern inside an expression: a column for each name it means
        self.write("house.lisma", "part Room { T' = -T; T(t0) = 290; }\nRoom room[2];\nexperiment { end = 1; }")
        for pattern in ("room*.T", "room[*].T", "*.T"):
            rows = self.rows("house.lisma", "--out", f"{pattern}*2 - 273.15,room[1].T")
            self.assertEqual(len(rows[0]), 4, rows[0])
            self.assertEqual(float(rows[1][1]), 2 * 290 - 273.15)
        self.assertEqual(self.rows("house.lisma", "--out", "room[*].T'")[0], ["time", "room[1].T'", "room[2].T'"])
        self.fails(1, "run", "house.lisma", "-q", "--out", "*.T - room[*].T", says=["the model has no `*.T - room[*].T`"])
        self.fails(1, "run", "house.lisma", "-q", "--out", "hall[*].T + 1", says=["the model has no `hall[*].T + 1`"])

    def test_table_of_events(self):
        """The records of --events FILE.csv are those of the JSON lines, also behind a checkpoint."""
        self.write("m.lisma", 'x\' = 1;  x(t0) = 0;  `n, m`(t0) = 0;\nstate hit [x >= 1] && [time > 0] { set x = 0, `n, m` = `n, m` + 1; } '
                              'from init, hit;\nat 2.5 { set `n, m` = 7; }\nexperiment { end = 4.5; }\n')
        self.good("run", "m.lisma", "-q", "-o", "a.csv", "--events", "a.jsonl")
        told = self.good("run", "m.lisma", "-o", "b.csv", "--events", "b_events.csv").err
        rows = list(csv.DictReader(self.read("b_events.csv").splitlines()))
        records = [json.loads(line) for line in self.read("a.jsonl").splitlines()]
        self.assertIn(f"records      {len(records)} in", told)
        self.assertEqual([float(row["time"]) for row in rows], [record["t"] for record in records])
        self.assertEqual([row["to"] for row in rows], [record["to"] or "" for record in records])
        self.assertEqual([row["relations"] for row in rows], [" and ".join(record["atom"]) for record in records])
        self.assertRegex(rows[1]["changes"], r"^x: [\d.]+ -> 0; n, m: 0 -> 1$")
        self.good("run", "m.lisma", "-q", "--until", "2", "-o", "c.csv", "--events", "c_events.csv", "--checkpoint", "c.state")
        self.good("run", "m.lisma", "-q", "-o", "c.csv", "--events", "c_events.csv", "--resume", "c.state")
        self.assertEqual(self.read("c_events.csv"), self.read("b_events.csv"))

    def test_energy_is_a_column(self):
        self.write("spring.lisma", "x' = v;  x(t0) = 1;\nv' = -x;  v(t0) = 0;\nenergy = v^2/2 + x^2/2;\n")
        self.assertEqual(self.rows("spring.lisma", "--out", "energy,2*energy", "--samples", "1")[1], ["0", "0.5", "1"])
        self.assertNotIn("energy", self.rows("spring.lisma", "--samples", "1")[0])
        self.assertEqual(self.good("measure", "spring.lisma", "-m", "start(energy)").out.split(), ["start(energy)", "0.5"])

    def test_measures_of_the_model(self):
        """-m may name what the model declares, alone and in formulas; a measure of one's own may have its name."""
        self.write("m.lisma", "x' = 1;  x(t0) = 0;\nmeasure last = end(x);\nmeasure twice = 2*last;\nexperiment { end = 3; }\n")
        self.assertEqual(self.good("measure", "m.lisma", "-m", "twice").out.split(), ["twice", "6"])
        self.assertEqual(self.good("measure", "m.lisma", "-m", "s = (twice + 1)^2", "-m", "last = s + last").out.split(),
                         ["s", "49", "last", "52"])
        self.fails(1, "measure", "m.lisma", "-m", "end(last)", says=["the model has no `last`"])
        self.write("m.lisma", "x' = 1;  x(t0) = 0;\nmeasure a = b + 1;\nmeasure b = a;\n")
        self.fails(2, "measure", "m.lisma", "-m", "a", says=["nested too deeply"])

    def test_expressions(self):
        rows = self.rows("ball.lisma", "--out", "y,v,y*g + v*v/2,2*y")
        self.assertEqual(rows[0], ["time", "y", "v", "y*g + v*v/2", "2*y"])
        for _, y, v, energy, double in rows[1:]:
            self.assertAlmostEqual(float(energy), float(y) * 9.80665 + float(v) ** 2 / 2, places=9)
            self.assertEqual(float(double), 2 * float(y))
        plain = self.rows("ball.lisma", "--out", "y,v")
        self.assertEqual([r[:3] for r in rows], plain, "the run is the same")
        self.fails(1, "run", "ball.lisma", "-q", "--out", "y +", says=["error"])
        self.write("steps.lisma", "x' = 1; x(t0) = 0; macro late = [x > 0.5]; experiment { end = 1; }\n")
        rows = self.rows("steps.lisma", "--out", "x,late,if(late, 7, 3),x > 0.25,not late", "--samples", "2")
        self.assertEqual(rows[0], ["time", "x", "late", "if(late, 7, 3)", "x > 0.25", "not late"])
        jumps = [(round(float(a[0]), 9), a[2:], b[2:]) for a, b in zip(rows[1:], rows[2:]) if a[0] == b[0]]
        self.assertEqual([j[0] for j in jumps], [0.25, 0.5])
        self.assertEqual(jumps[0][1:], (["0", "3", "0", "1"], ["0", "3", "1", "1"]))
        self.assertEqual([r[2] for r in rows[1:]][-1], "1")
        self.fails(1, "run", "ball.lisma", "-q", "--out", "y + nothing", says=["nothing"])

    def test_measure(self):
        self.write("bounce.lisma", "y' = v; y(t0) = 2; v' = -9.81; v(t0) = 0; const e = 0.8;\n"
                   "state hit [y <= 0] && [v < 0] { set v = -e*v; } from init, hit;\n"
                   "measure bounces = count(hit);\nexperiment { end = 3; }")
        self.assertEqual(self.good("measure", "bounce.lisma").out, "bounces  3\n")
        asked = self.good("measure", "bounce.lisma", "-m", "first = time(hit)", "-m", "time(hit, 9)", "-m", "max(y)", "--set", "e=0.9")
        lines = [line.split() for line in asked.out.splitlines()]
        self.assertEqual([line[0] for line in lines], ["first", "time(hit,", "max(y)"])
        self.assertAlmostEqual(float(lines[0][1]), (4 / 9.81) ** 0.5, places=8)
        self.assertEqual(" ".join(lines[1][2:]), "no value")
        self.assertEqual(self.good("measure", "bounce.lisma", "-m", "n = count(hit)", "-m", "time(hit, 9)", "-o", "-").out,
                         'n,"time(hit, 9)"\n3,\n')
        # a run and a sweep of one member give the same number to the last digit
        self.good("measure", "bounce.lisma", "-m", "rms(v)", "-o", "one.csv")
        swept = self.good("sweep", "bounce.lisma", "--vary", "e=0.8", "-m", "rms(v)", "-q", "-o", "-").out.splitlines()[1].split(",")
        self.assertEqual(self.read("one.csv").splitlines()[1], swept[2])
        # between two times
        self.write("wave.lisma", "x = 3 + sin(time); experiment { end = 10; }")
        asked = ("max(x, 5, 10)", "min(x, 5, 10)", "mean(x, 5, 10)", "integral(x, 5, 6)", "max(x, 5, 5.2)", "mean(x, 20, 30)", "mean(x, 8, 99)")
        row = self.good("measure", "wave.lisma", *(part for m in asked for part in ("-m", m)), "-o", "-").out.splitlines()[1].split(",")
        mean = lambda a, b: 3 + (math.cos(a) - math.cos(b)) / (b - a)
        for given, wanted in zip(row, (4, 3 + math.sin(5), mean(5, 10), mean(5, 6), 3 + math.sin(5.2), None, mean(8, 10))):
            self.assertEqual(given, "") if wanted is None else self.assertAlmostEqual(float(given), wanted, places=9)
        self.fails(2, "measure", "wave.lisma", "-m", "mean(x, 5)", says=["a second time"])
        self.fails(2, "measure", "wave.lisma", "-m", "mean(x, 5, 2)", says=["nothing between"])
        self.fails(2, "measure", "ball.lisma", says=["what to measure", "max(x)"])
        self.fails(2, "measure", says=["needs a model"])
        self.fails(2, "measure", "bounce.lisma", "-o", "bounce.lisma", says=["bounce.lisma"])
        self.fails(1, "measure", "bounce.lisma", "-m", "max(z)", says=["z"])
        self.write("grows.lisma", "x' = x*x; x(t0) = 1; measure m = max(x); experiment { end = 2; }")
        self.fails(3, "measure", "grows.lisma", says=["E0801"])

    def test_several(self):
        self.write("rooms.lisma", ROOMS)
        self.good("run", "ball.lisma", "rooms.lisma", "-q")
        self.assertIn("time,y,v", self.read("ball.csv"))
        self.assertIn("time,room", self.read("rooms.csv"))
        self.good("run", "ball.lisma", "rooms.lisma", "-q", "-o", "x_%.csv", "--plot=%.svg")
        self.assertEqual(self.read("x_ball.csv"), self.read("ball.csv"))
        self.assertIn("<title>rooms</title>", self.read("rooms.svg"))
        self.fails(2, "run", "ball.lisma", "rooms.lisma", "-o", "one.csv", says=["one.csv", "%"])
        self.write("bad.lisma", "x' = ;")
        self.fails(1, "run", "bad.lisma", "ball.lisma", "-q", "-o", "y_%.csv")
        self.assertEqual(self.read("y_ball.csv"), self.read("ball.csv"), "the others run")

    def test_watch(self):
        run = self.popen("run", "ball.lisma", "-q", "--watch", "-o", "w.csv", stderr=subprocess.PIPE)
        try:
            self.assertIn(b"waiting", run.stderr.readline())
            first = self.read("w.csv")
            self.write("new.lisma", cli_case.BALL.replace("h = 2", "h = 3"))
            os.replace(self.path("new.lisma"), self.path("ball.lisma"))
            self.assertIn(b"waiting", run.stderr.readline())
            self.assertNotEqual(self.read("w.csv"), first)
            self.assertIn("\n0,3,0", self.read("w.csv"))
            # a file that the model names
            self.write("start.lisma", "const first = 4;\n")
            self.write("new.lisma", 'include "start.lisma"; x\' = 1; x(t0) = first; experiment { end = 1; }')
            os.replace(self.path("new.lisma"), self.path("ball.lisma"))
            self.assertIn(b"waiting", run.stderr.readline())
            self.write("start.lisma", "const first = 55;\n")
            self.assertIn(b"waiting", run.stderr.readline())
            self.assertIn("\n0,55", self.read("w.csv"))
            self.fails(2, "run", "-", "--watch", says=["needs a file"])
        finally:
            run.send_signal(signal.SIGINT)
            run.wait(20)
            run.stderr.close()

    def test_the_remaining_time(self):
        self.write("long.lisma", "x' = -x; x(t0) = 1; experiment { end = 1e9; method = rk4; step = 1e-3; }")
        told = self.saltus("run", "long.lisma", "--samples", "2", "-o", os.devnull, "--timeout", "3")
        self.assertEqual(told.status, 3)
        self.assertRegex(told.err, r"(?m)^0 %, t = .* per second, [\d.]+ (s|min|h) left, 0 events$")

    def test_diff(self):
        same = "// other words\n" + cli_case.BALL.replace("y' = v;  y(t0) = h;\nv' = -g; v(t0) = 0;",
                                                            "v(t0) = 0; v' = -g;\n\n y(t0) = h; y' = v;")
        self.write("same.lisma", same)
        self.assertEqual(self.good("diff", "ball.lisma", "same.lisma").out, "")
        self.write("other.lisma", cli_case.BALL.replace("k = 0.8", "k = 0.7").replace("v' = -g", "v' = -g - v"))
        out = self.saltus("diff", "ball.lisma", "other.lisma")
        self.assertEqual(out.status, 1)
        self.assertIn("  - k = 0.8\n  + k = 0.7\n", out.out)
        self.assertRegex(out.out, r"  \+ v' = .*v")
        self.assertNotIn("bounces", out.out)
        self.fails(2, "diff", "ball.lisma", says=["two models"])
        self.write("drawn.lisma", "x' = 1; x(t0) = 0;\nanimate { circle(x, 0, 1); }\n")
        self.write("larger.lisma", "x' = 1; x(t0) = 0;\nmacro m = 2*x;\nanimate { circle(x, 0, 2); }\n")
        out = self.saltus("diff", "drawn.lisma", "larger.lisma").out
        self.assertNotIn("{drawing", out)
        self.assertIn("animate\n  - 1\n  + 2\n", out)

    def test_names(self):
        self.assertEqual(self.good("names", "ball.lisma", "constants").out.split(), ["h", "k"])
        self.assertEqual(self.good("names", "ball.lisma", "variables").out.split(), ["y", "v", "bounces"])
        self.assertIn("automaton  main", self.good("names", "ball.lisma").out)
        self.fails(2, "names", "ball.lisma", "nouns", says=["nouns"])

    def test_bash_completes_names(self):
        bash = os.path.join(cli_case.SOURCE, "completions", "saltus.bash")
        for words, want in ((["saltus", "run", "ball.lisma", "--set", "k"], "k="),
                            (["saltus", "run", "ball.lisma", "--out", "y,boun"], "y,bounces"),
                            (["saltus", "run", "ball.lisma", "--panel", "v"], "v")):
            script = (f'. "{bash}"; PATH="{os.path.dirname(cli_case.PROGRAM)}:$PATH"; '
                      f'COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _saltus; echo "${{COMPREPLY[@]}}"')
            done = subprocess.run(["bash", "-c", script], cwd=self.folder, stdout=subprocess.PIPE, check=True)
            self.assertEqual(done.stdout.decode().split(), [want])


if __name__ == "__main__":
    cli_case.main()
