#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The report of a run: what its page holds, and in a real browser what it does (workbench/test/report.mjs)."""
import base64
import csv
import filecmp
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

WORKBENCH = os.path.join(cli_case.SOURCE, "workbench")
PACKAGES = os.path.join(WORKBENCH, "node_modules")


def numbers(text):
    data = base64.b64decode(text)
    return struct.unpack(f"<{len(data) // 8}d", data)


# every setting of a picture that a page can show
PICTURE = """h' = 0.5 - h; h(t0) = 2;
T' = if(on > 0.5, 80, 20) - T; T(t0) = 20; on(t0) = 1;
automaton heater {
  state Hot [T < 40] { set on = 1; } from init, Cold;
  state Cold [T > 60] { set on = 0; } from Hot, init;
}
experiment {
  end = 60; title = "Heater & tank"; theme = dark; size = 700, 900; marks = Cold; bands = heater.state; points = h;
  panel = h; y2 = T; xrange = 1, 50; yrange = 0, 3; y2range = "10:"; log = y2; ylabel = "level"; y2label = "warmth"; legend = none;
  panel = T; log = x; xlabel = "seconds";
  phase = h, T; equal = on;
  phase = h, T, on;
  histogram = events;
}
"""


class Report(cli_case.CliCase):
    def report(self, model, *options):
        self.good("run", model, "-q", "-o", "rows.csv", "--events", "e.jsonl", "--event-rows", "all", "--report",
                  "page.html", *options)
        page = self.read("page.html")
        return page, json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))

    def test_the_page_holds_the_run(self):
        page, data = self.report("ball.lisma")
        rows = list(csv.reader(io.StringIO(self.read("rows.csv"))))
        self.assertEqual([c["name"] for c in data["columns"]], rows[0][1:])
        for i, values in enumerate([data["time"]] + [c["values"] for c in data["columns"]]):
            self.assertEqual(numbers(values), tuple(float(r[i]) for r in rows[1:]))
        records = [json.loads(line) for line in self.read("e.jsonl").splitlines()]
        self.assertEqual(data["events"], records)
        self.assertIn("because", data["story"])
        for part in ("Summary", "Events", "Settings", "Structure", "Model", "States and transitions"):
            self.assertIn(f">{part}</h2>", page)
        self.assertEqual(re.findall(r'(?:src|href)="(?!#)', page), [], "nothing is fetched")

    def charts(self, model, *options):
        figure = self.report(model, *options)[1]["figure"]
        return [([line["name"] for line in panel["lines"]], panel["x"]) for panel in figure["panels"]]

    def test_charts(self):
        """Those that are asked for, else those of the model, else by unit and size; over a quantity where it is a phase."""
        self.write("two.lisma", "a' = -a; a(t0) = 1; b' = -b; b(t0) = 1000; c = a + 0.1;\n"
                                "experiment { end = 3; panel = a, c; phase = a, b; }\n")
        self.assertEqual(self.charts("two.lisma"), [(["a", "c"], None), (["b"], "a")])
        self.assertEqual(self.charts("two.lisma", "--panel", "b", "--panel", "c"), [(["b"], None), (["c"], None)])
        self.assertEqual(self.charts("two.lisma", "--out", "a,b,c"), [(["a"], None), (["b"], None), (["c"], None)])
        self.assertEqual(self.charts("two.lisma", "--x", "a", "--panel", "b"), [(["b"], "a")])

    def test_settings_of_the_picture(self):
        """What the experiment or the options say about a picture is in the page, for its charts."""
        self.write("all.lisma", PICTURE)
        figure = self.report("all.lisma")[1]["figure"]
        self.assertEqual(figure["title"], "Heater & tank")
        self.assertTrue(figure["dark"])
        self.assertEqual(figure["size"], [700, 900])
        self.assertEqual(figure["bands"], ["heater.state"])
        times = [r["t"] for r in map(json.loads, self.read("e.jsonl").splitlines()) if r["to"] == "Cold"]
        self.assertEqual(figure["marks"], times)
        self.assertGreater(len(times), 1)
        first, second, plane, space, counted = figure["panels"]
        self.assertEqual(first["lines"], [{"name": "h", "right": False, "points": True},
                                          {"name": "T", "right": True, "points": False}])
        self.assertEqual(first["axes"], [{"label": "time", "log": False, "from": 1, "to": 50},
                                         {"label": "level", "log": False, "from": 0, "to": 3},
                                         {"label": "warmth", "log": True, "from": 10, "to": None}])
        self.assertFalse(first["legend"])
        self.assertEqual(second["axes"][0], {"label": "seconds", "log": True, "from": None, "to": None})
        self.assertEqual((plane["x"], plane["equal"]), ("h", True))
        for panel in (space, counted):
            self.assertIn("<svg", panel["svg"])
        self.assertNotIn("svg", plane)
        # options come behind the model
        figure = self.report("all.lisma", "--marks", "none", "--title", "mine", "--theme", "light")[1]["figure"]
        self.assertEqual((figure["marks"], figure["title"], figure["dark"]), ([], "mine", False))
        # without a word: all events, all automata
        figure = self.report("ball.lisma")[1]["figure"]
        self.assertEqual((figure["marks"], figure["bands"], figure["title"]), (None, None, None))

    def test_names_of_charts_are_checked_before_the_run(self):
        told = self.saltus("run", "ball.lisma", "-q", "--report", "page.html", "--panel", "y,q")
        self.assertNotEqual(told.status, 0)
        self.assertIn("--report: the model has no `q`", told.err)
        self.assertFalse(os.path.exists(self.path("page.html")))

    def test_the_head_names_the_file_without_its_folder(self):
        page, _ = self.report(os.path.join(self.folder, "ball.lisma"))
        self.assertTrue('<p class="lead">ball.lisma, run by saltus' in page)

    def test_no_internal_names(self):
        page, data = self.report("ball.lisma")
        text = re.sub(r"<script.*?</script>|<style.*?</style>|<pre>.*?</pre>|<[^>]*>", "", page, flags=re.S)
        self.assertFalse(re.search(r"\bmain\b|@", text))
        self.assertEqual([a["name"] for a in data["automata"]], ["state"])

    def test_no_internal_names_nor_folders_in_the_structure(self):
        self.write("late.lisma", "x' = 1; x(t0) = 0; n(t0) = 0;\nafter 0.5 [x > 1] { set n = n + 1; }\n"
                                 "experiment { end = 3; }\n")
        page, _ = self.report(os.path.join(self.folder, "late.lisma"))
        text = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.S)
        self.assertNotIn("@", text)
        self.assertNotIn(self.folder, text)
        self.assertIn("`after:2`", text)
        self.write("two.lisma", "x' = floor(time) + floor(2*time); x(t0) = 0;\nexperiment { end = 3; }\n")
        told = self.good("explain", "two.lisma").out
        self.assertNotIn("@", told)
        self.assertRegex(told, r"`floor:1`, `floor:1:\d+`")

    def test_hostile_names(self):
        self.write("bad.lisma", "`</script><b>` ' = 1; `</script><b>`(t0) = 0; // </script><script>alert(1)</script>\n"
                                "experiment { end = 1; }\n")
        page, data = self.report("bad.lisma")
        self.assertEqual(data["columns"][0]["name"], "</script><b>")
        self.assertEqual(page.count("<script"), 2)
        self.assertEqual(page.count("</script>"), 2)

    def test_warnings(self):
        """Those of the compiler and those of the run, without colours and folders."""
        folder = os.path.join(self.folder, "sub")
        os.mkdir(folder)
        self.write("sub/w.lisma", "include \"p.lisma\";\ny' = 1;\nexperiment { end = 1; }\n")
        self.write("sub/p.lisma", "x' = 1; x(t0) = 0;\nstate S [1 > 2] { x' = 2; } from init;\n")
        page, _ = self.report(os.path.join(folder, "w.lisma"))
        self.assertEqual(page.count('class="warning"'), 2, "one of either file")
        told = "".join(re.findall(r'<pre class="warning">(.*?)</pre>', page, re.S))
        self.assertNotIn(self.folder, told)
        self.assertIn("w.lisma:2:1: warning", told)
        self.assertIn(">p.lisma:2:9: warning", f">{told}")
        self.assertNotIn("\x1b", page)

    def test_events_have_no_internal_names(self):
        self.write("all.lisma", PICTURE)
        page, _ = self.report("all.lisma")
        table = re.search(r'<tr><th>time.*?</table>', page, re.S).group(0)
        self.assertIn("if:2: true → false", table)
        self.assertNotIn("@", table)

    def test_warnings_and_failures(self):
        self.write("blow.lisma", "x' = x*x; x(t0) = 1; experiment { end = 2; }\n")
        self.saltus("run", "blow.lisma", "-q", "--report", "page.html")
        self.assertIn("The run did not finish", self.read("page.html"))
        self.assertNotIn(": done at", self.read("page.html"))

    @unittest.skipUnless(os.path.isdir(PACKAGES) and shutil.which("node"), "no node, or packages of workbench/ missing")
    def test_the_script_is_the_one_of_its_sources(self):
        made = os.path.join(self.folder, "made.c")
        subprocess.run(["node", os.path.join(WORKBENCH, "report.mjs"), made], check=True)
        kept = os.path.join(cli_case.SOURCE, "cli", "report_page.c")
        self.assertTrue(filecmp.cmp(made, kept, False), "node workbench/report.mjs makes cli/report_page.c anew")

    @unittest.skipUnless(os.path.isdir(os.path.join(PACKAGES, "playwright-core")) and shutil.which("chromium"),
                         "no browser")
    def test_in_a_browser(self):
        self.write("many.lisma", "x'' = -400*x; x(t0) = 1; y = x*x; experiment { end = 1000; }\n")
        self.write("all.lisma", PICTURE)
        for model, options in (("ball.lisma", ()), ("all.lisma", ()), ("many.lisma", ("--samples", "1000000"))):
            _, data = self.report(model, *options)
            rows = str(len(numbers(data["time"])))
            with tempfile.TemporaryDirectory() as home:
                done = subprocess.run(["node", os.path.join(WORKBENCH, "test", "report.mjs"), self.path("page.html"),
                                       rows], capture_output=True, text=True, timeout=200,
                                      env={**os.environ, "HOME": home}, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    cli_case.main()
