#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pictures of tables: golden files of SVG and of the terminal, the settings in the experiment of a model, PNG and PDF,
and what wrong settings are answered with. --update rewrites tests/golden/figure."""
import json
import math
import os
import pathlib
import sys
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

GOLDEN = pathlib.Path(cli_case.SOURCE) / "tests" / "golden" / "figure"
UPDATE = "--update" in sys.argv[1:]


def saw(rows=41):
    """A level that falls and is filled up three times, its pump, and a temperature in another unit."""
    lines = ["time,h,T,pump.state", "s,m,degC,"]
    for i in range(rows):
        t = i / 4
        phase = t % 3.25
        state = "on" if phase >= 2.25 else "off"
        if i and phase == 0:
            lines.append(f"{t},0.5,{20 + t:g},on")
        lines.append(f"{t},{2 - 0.46 * phase:.4g},{20 + t:g},{state}")
    return "\n".join(lines) + "\n"


CASES = {
    "plain.svg": [],
    "dark.svg": ["--theme", "dark", "--panel", "h", "--y2", "T", "--marks", "all", "--legend", "right"],
    "cut.svg": ["--panel", "h", "--xrange", "2:6", "--yrange", ":1.5", "--log", "y", "--bands", "off"],
    "intervals.svg": ["--histogram", "pump.state", "--title", "How long the pump runs"],
    "space.svg": ["--phase", "h,T,time", "--view", "-40:30"],
    "plain.txt": ["--size", "72:20"],
    "ascii.txt": ["--size", "60:12", "--ascii", "--panel", "h", "--marks", "pump"],
    "phase.txt": ["--phase", "h,T", "--size", "50:14"],
    "right.txt": ["--panel", "h", "--y2", "T", "--size", "60:12"],
}


class Figures(cli_case.CliCase):
    def setUp(self):
        super().setUp()
        self.write("saw.csv", saw())

    def test_golden(self):
        GOLDEN.mkdir(exist_ok=True)
        for name, settings in CASES.items():
            with self.subTest(name):
                if name.endswith(".svg"):
                    self.good("plot", "saw.csv", *settings, "-o", name)
                    found = self.read(name)
                    xml.fromstring(found)
                else:
                    found = self.good("plot", "saw.csv", *settings).out
                if UPDATE:
                    (GOLDEN / name).write_text(found, "utf-8")
                self.assertEqual(found, (GOLDEN / name).read_text("utf-8"))

    def test_files(self):
        for name, head in (("a.png", b"\x89PNG"), ("a.pdf", b"%PDF")):
            # the fonts that cairo has loaded stay loaded: no leak of ours
            self.good("plot", "saw.csv", "--panel", "h", "--xrange", "1:2", "--marks", "all", "-o", name,
                      env=self.environment(ASAN_OPTIONS="detect_leaks=0"))
            with open(os.path.join(self.folder, name), "rb") as f:
                self.assertEqual(f.read(4), head)

    def test_options_are_about_the_panels_of_the_model(self):
        self.write("two.lisma", "a' = -a; a(t0) = 1; b' = -2*b; b(t0) = 1; c = a + b;\n"
                                "experiment { end = 3; panel = a; yrange = 0, 5; panel = b; }\n")
        self.good("run", "two.lisma", "-q", "--plot", "model.svg")
        self.good("run", "two.lisma", "-q", "--plot", "same.svg", "--panel", "a", "--yrange", "0:5", "--panel", "b")
        self.assertEqual(self.read("model.svg"), self.read("same.svg"))
        # a range from outside is that of both panels and has the last word
        self.good("run", "two.lisma", "-q", "--plot", "cut.svg", "--yrange", "0:2")
        self.good("run", "two.lisma", "-q", "--plot", "both.svg", "--panel", "a", "--yrange", "0:2", "--panel", "b", "--yrange", "0:2")
        self.assertEqual(self.read("cut.svg"), self.read("both.svg"))
        # columns that are asked for are drawn, whatever the model shows
        self.good("run", "two.lisma", "-q", "--out", "c", "--plot", "c.svg")
        self.assertIn(">c</text>", self.read("c.svg"))

    def test_the_vertical_axis_fits_what_is_shown(self):
        self.write("late.csv", "time,x\n0,1000\n1,1000\n2,1\n3,2\n4,3\n")
        shown = self.good("plot", "late.csv", "--ascii", "--xrange", "2:4", "--size", "60:12").out
        self.assertNotIn("1000", shown)
        self.assertIn("3 +", shown)

    def test_what_is_not_drawn_is_said(self):
        self.write("fall.csv", "time,x\n0,1\n1,0\n2,10\n")
        note = "no values of 0 and below on a logarithmic axis"
        self.assertIn(note, self.good("plot", "fall.csv", "--log", "y").out)
        self.assertNotIn(note, self.good("plot", "fall.csv").out)
        columns = ",".join(f"a{i}.state" for i in range(9))
        self.write("many.csv", f"time,x,{columns}\n0,1{',on' * 9}\n1,2{',off' * 9}\n")
        self.assertIn("there are more automata", self.good("plot", "many.csv").out)

    def test_a_logarithmic_time_has_rows(self):
        self.write("decay.lisma", "x' = -x; x(t0) = 1; y' = -1000*(y - x); y(t0) = 0; experiment { end = 1e6; }\n")
        def rows(*options):
            self.good("run", "decay.lisma", "-q", "-o", "rows.csv", "--plot", "p.svg", *options)
            times = [float(line.split(",")[0]) for line in self.read("rows.csv").splitlines()[1:]]
            return len(times), sum(0 < t < 1 for t in times)
        self.assertGreater(rows("--log", "x")[1], 20)
        self.assertEqual(rows("--log", "y"), (501, 0))
        self.assertEqual(rows("--log", "x", "--samples", "100"), (101, 0))
        self.assertEqual(rows("--histogram", "x", "--log", "x"), (501, 0))

    def test_points(self):
        self.write("data.csv", "time,h\n0,1\n5,2\n9,1.5\n")
        self.good("plot", "saw.csv", "data.csv", "h", "--bands", "off", "-o", "lines.svg")
        self.good("plot", "saw.csv", "data.csv", "h", "--bands", "off", "--points", "data.csv", "-o", "points.svg")
        lines, points = self.read("lines.svg"), self.read("points.svg")
        self.assertNotEqual(lines, points)
        self.good("plot", "saw.csv", "data.csv", "h", "--bands", "off", "--points", "all", "-o", "all.svg")
        self.good("plot", "saw.csv", "data.csv", "h", "--bands", "off", "--points", "h", "-o", "h.svg")
        self.assertEqual(self.read("all.svg"), self.read("h.svg"))
        self.fails(1, "plot", "saw.csv", "h", "--points", "data.csv", "-o", "none.svg", says="`data.csv`")
        self.fails(1, "plot", "saw.csv", "h", "--points", "h,g*", "-o", "none.svg", says="`g*`")
        dots = self.good("plot", "data.csv", "--ascii", "--points", "all", "--size", "60:12").out
        self.assertEqual(sum(line.count("*") for line in dots.splitlines() if "|" in line or "+" in line), 3)

    def test_units_are_printed(self):
        self.write("flow.csv", "time,q\ns,kg*m^-3/s\n0,1\n1,2\n")
        self.good("plot", "flow.csv", "-o", "flow.svg")
        self.assertIn(">q [kg·m⁻³/s]<", self.read("flow.svg"))
        self.assertIn("q [kg*m^-3/s]", self.good("plot", "flow.csv", "--ascii").out)

    def test_several_tables_say_what_they_show(self):
        self.write("other.csv", saw())
        self.assertIn("h [m]:", self.good("plot", "saw.csv", "other.csv", "h").out)

    def test_automata_are_named_in_full(self):
        self.write("band.csv", "time,x,right_hand.state\n0,0,on\n1,1,on\n2,0,off\n3,1,off\n")
        self.good("plot", "band.csv", "-o", "band.svg")
        self.assertIn(">right_hand</text>", self.read("band.svg"))

    def test_a_model_has_settings(self):
        self.write("fall.lisma", "y'' = -9.81; y(t0) = 2; z = y + 1;\n"
                                 "experiment { end = 0.6; title = \"A <fall>\"; panel = y; yrange = 0, 2;"
                                 " panel = z; legend = none; theme = dark; }\n")
        self.good("run", "fall.lisma", "-q", "--plot", "a.svg")
        self.write("plain.lisma", "y'' = -9.81; y(t0) = 2; z = y + 1;\nexperiment { end = 0.6; }\n")
        self.good("run", "plain.lisma", "-q", "--plot", "b.svg", "--title", "A <fall>", "--panel", "y", "--yrange",
                  "0:2", "--panel", "z", "--legend", "none", "--theme", "dark")
        self.assertEqual(self.read("a.svg"), self.read("b.svg"))
        self.good("run", "fall.lisma", "-q", "--plot", "c.svg", "--panel", "z")
        self.assertEqual(self.read("c.svg").count("rotate(-90"), 1)

    def test_mistakes(self):
        self.write("bad.lisma", "x' = 1; x(t0) = 0; experiment { panel = y; }\n")
        self.fails(1, "check", "bad.lisma", says=["E0606", "'y'"])
        self.write("bad.lisma", "x' = 1; x(t0) = 0; experiment { yrange = 5, 1; }\n")
        self.fails(1, "check", "bad.lisma", says=["E0604", "LO:HI"])
        self.fails(1, "plot", "saw.csv", "--panel", "hh", says=["`hh`", "did you mean h"])
        self.fails(2, "plot", "saw.csv", "--theme", "blue", says=["--theme", "light|dark"])
        self.fails(2, "plot", "saw.csv", "--panle", "h", says=["--panel"])
        self.fails(2, "run", "ball.lisma", "--panel", "y", says=["--panel needs --plot"])
        self.fails(2, "plot", "saw.csv", "--panel", says=["--panel needs a value"])

    def test_events_of_a_file(self):
        self.good("run", "ball.lisma", "-q", "--events", "e.jsonl", "-o", "ball.csv")
        self.good("plot", "ball.csv", "--events", "e.jsonl", "--marks", "state", "-o", "m.svg")
        count = sum('"kind":"state"' in line for line in self.read("e.jsonl").splitlines())
        self.assertIn(f">{count} events<", self.read("m.svg"))
        self.assertNotIn("only events", self.read("m.svg"))
        self.write("no.jsonl", "nothing\n")
        self.fails(1, "plot", "ball.csv", "--events", "no.jsonl", says=["no.jsonl:1"])

    def test_rows_tell_some_events(self):
        """Without records a picture says that it shows the events that changed a column; with them it counts all."""
        self.write("quiet.lisma", "x' = 1; x(t0) = 0; n(t0) = 0;\nevery 1 { set n = n; }\nevery 2 { set n = n + 1; }\n"
                                  "experiment { end = 9.5; }\n")
        self.good("run", "quiet.lisma", "-q", "--events", "e.jsonl", "-o", "quiet.csv")
        times = {json.loads(line)["t"] for line in self.read("e.jsonl").splitlines()[1:]}
        for kind in (("--marks", "all"), ("--histogram", "events")):
            self.assertIn("only events that changed a column", self.good("plot", "quiet.csv", *kind).out)
            self.assertNotIn("only events", self.good("plot", "quiet.csv", *kind, "--events", "e.jsonl").out)
        self.good("plot", "quiet.csv", "--marks", "all", "--events", "e.jsonl", "-o", "m.svg")
        self.assertIn(f">{len(times)} events<", self.read("m.svg"))
        self.write("none.csv", "time,x\n0,0\n1,1\n")
        self.fails(1, "plot", "none.csv", "--histogram", "events", says=["fewer than two events", "--events FILE"])

    def test_what_is_not_there_is_said(self):
        self.fails(2, "plot", "saw.csv", "--log", "z", says=["--log takes x,y,y2", "`z`"])
        self.fails(1, "plot", "saw.csv", "--marks", "nonsense", says=["`nonsense`", "zeno", "pump"])
        self.good("plot", "saw.csv", "--marks", "pump,pump.state,on", "-o", "m.svg")
        self.assertIn("no event is marked by zeno", self.good("plot", "saw.csv", "--marks", "zeno").out)
        # a run knows its automata before it begins, and so does check
        self.write("typo.lisma", "x' = 1; x(t0) = 0; state Late [x > 1] { x' = 2; } from init;\n"
                                 "experiment { end = 2; marks = Lat; }\n")
        for command in (["check"], ["run", "-q"], ["run", "-q", "--plot", "m.svg"]):
            self.fails(1, *command, "typo.lisma", says=["experiment { marks }", "`Lat`", "Late"])
        self.fails(1, "run", "-q", "typo.lisma", "--marks", "time,lat", "--plot", "m.svg", says=["--marks", "`lat`"])
        self.good("run", "-q", "typo.lisma", "--marks", "time,La*", "--plot", "m.svg")
        self.write("log.lisma", "x' = 1; x(t0) = 1;\nexperiment { end = 1; panel = x; log = z; }\n")
        self.fails(1, "check", "log.lisma", says=["E0604", "x,y,y2"])
        self.write("other.csv", "time,T\n0,0\n1,1\n")
        self.assertIn("other.csv has no h", self.good("plot", "saw.csv", "other.csv", "h").out)
        self.assertIn("nothing lies in the range", self.good("plot", "saw.csv", "h", "--xrange", "100:200").out)
        self.assertNotIn("nothing lies", self.good("plot", "saw.csv", "h", "--xrange", "1:2").out)

    def test_overlays_of_a_million_rows(self):
        rows = "\n".join(f"{i / 1000},{math.sin(i * 0.9):.4f}" for i in range(200000))
        self.write("many.csv", "time,x\n" + rows + "\n")
        self.good("plot", "many.csv", "saw.csv", "--x", "time", "--panel", "x,h", "-o", "many.svg")
        self.assertLess(len(self.read("many.svg")), 1500000)


if __name__ == "__main__":
    sys.argv = [a for a in sys.argv if a != "--update"]
    cli_case.main()
