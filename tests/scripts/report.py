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

    def test_charts(self):
        """Those that are asked for, else those of the model, else by unit and size; over a quantity where it is a phase."""
        self.write("two.lisma", "a' = -a; a(t0) = 1; b' = -b; b(t0) = 1000; c = a + 0.1;\n"
                                "experiment { end = 3; panel = a, c; phase = a, b; }\n")
        self.assertEqual(self.report("two.lisma")[1]["panels"], [{"names": ["a", "c"], "x": None}, {"names": ["b"], "x": "a"}])
        self.assertEqual(self.report("two.lisma", "--panel", "b", "--panel", "c")[1]["panels"],
                         [{"names": ["b"], "x": None}, {"names": ["c"], "x": None}])
        self.assertEqual(self.report("two.lisma", "--out", "a,b,c")[1]["panels"],
                         [{"names": ["a", "c"], "x": None}, {"names": ["b"], "x": None}])

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

    def test_warnings_and_failures(self):
        self.write("blow.lisma", "x' = x*x; x(t0) = 1; experiment { end = 2; }\n")
        self.saltus("run", "blow.lisma", "-q", "--report", "page.html")
        self.assertIn("The run did not finish", self.read("page.html"))

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
        for model, options in (("ball.lisma", ()), ("many.lisma", ("--samples", "1000000"))):
            _, data = self.report(model, *options)
            rows = str(len(numbers(data["time"])))
            with tempfile.TemporaryDirectory() as home:
                done = subprocess.run(["node", os.path.join(WORKBENCH, "test", "report.mjs"), self.path("page.html"),
                                       rows], capture_output=True, text=True, timeout=200,
                                      env={**os.environ, "HOME": home}, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    cli_case.main()
