#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`saltus run`: the tables and event records it writes are what the contract says."""
import csv
import io
import json
import math
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402
import mat_file  # noqa: E402

FIELDS = ["t", "n", "iter", "kind", "class", "automaton", "from", "to", "atom", "type", "line",
          "bracket", "slope", "certified", "changed", "impulses"]


def table(text):
    rows = list(csv.reader(io.StringIO(text)))
    return rows[0], rows[1:]


class Rows(cli_case.CliCase):
    def rows(self, *arguments):
        return table(self.good("run", "ball.lisma", "-q", "-o", "-", *arguments).out)

    def test_header_longer_than_any_buffer(self):
        """The file is opened after the columns are known, and a header of thousands has to wait."""
        self.write("wide.lisma", "for i = 1:12000 { some_long_name_[i]' = 0; }\n")
        self.good("run", "wide.lisma", "-q", "--until", "1", "--samples", "1")
        names, rows = table(self.read("wide.csv"))
        self.assertEqual(len(names), 12001)
        self.assertEqual((names[0], names[-1]), ("time", "some_long_name_12000"))
        self.assertEqual([len(row) for row in rows], [12001, 12001])

    def test_default_file_has_500_samples_and_events(self):
        self.good("run", "ball.lisma")
        text = self.read("ball.csv")
        self.assertNotIn("\r", text)
        self.assertTrue(text.endswith("\n"))
        names, rows = table(text)
        self.assertEqual(names, ["time", "y", "v", "bounces"])
        times = [float(row[0]) for row in rows]
        self.assertEqual(times, sorted(times))
        self.assertEqual((times[0], times[-1]), (0.0, 8.0))
        grid = [8.0 * k / 500 for k in range(501)]
        for t in grid:
            self.assertIn(t, times)
        doubled = {t for t in times if times.count(t) == 2}
        self.assertEqual(len(rows), len(set(grid) | doubled) + len(doubled))
        self.assertTrue(doubled)

    def test_numbers_are_the_shortest_that_read_back(self):
        _, rows = self.rows()
        for row in rows:
            for cell in row:
                self.assertRegex(cell, r"^-?\d+(\.\d*[1-9])?(e-?\d+)?$")
                digits = re.sub(r"e.*|\D", "", cell).strip("0")
                shortest = re.sub(r"e.*|\D", "", repr(float(cell))).strip("0")
                self.assertEqual(digits, shortest, cell)

    def test_events_have_rows_before_and_after(self):
        names, rows = self.rows("--every", "100")
        v, n = names.index("v"), names.index("bounces")
        self.assertEqual([rows[0][0], rows[-1][0]], ["0", "8"])
        inner = rows[1:-1]
        self.assertEqual(len(inner) % 2, 0)
        for before, after in zip(inner[::2], inner[1::2]):
            self.assertEqual(before[0], after[0])
            self.assertLess(float(before[v]), 0.0)
            self.assertGreaterEqual(float(after[v]), 0.0)
            self.assertEqual(int(after[n]), int(before[n]) + 1)

    def test_every_is_computed_not_accumulated(self):
        _, rows = self.rows("--every", "0.1")
        times = {float(row[0]) for row in rows}
        for k in range(80):
            self.assertIn(0.1 * k, times)

    def test_every_counts_from_the_start(self):
        _, rows = self.rows("--from", "1", "--until", "1.5", "--every", "0.2")
        times = [float(row[0]) for row in rows]
        for t in (1.0, 1.0 + 1 * 0.2, 1.0 + 2 * 0.2, 1.5):
            self.assertEqual(times.count(t), 1)

    def test_times_with_units(self):
        plain = self.rows("--from", "0.5", "--until", "60", "--every", "2.5", "--hmax", "1.5")
        self.assertEqual(self.rows("--from", "500ms", "--until", "1min", "--every", "2500 ms", "--hmax", "1.5s"), plain)

    def test_the_grid_has_no_influence(self):
        def instants(*arguments):
            _, rows = self.rows(*arguments)
            return [row for i, row in enumerate(rows)
                    if i and row[0] == rows[i - 1][0] or i + 1 < len(rows) and row[0] == rows[i + 1][0]]
        self.assertEqual(instants("--every", "100"), instants("--every", "0.013"))
        self.assertEqual(instants("--every", "100"), instants("--all-steps"))

    def test_grid_point_on_an_event_adds_none(self):
        self.write("clock.lisma", "n(t0) = 0;\nat 0.5 each 0.5 repeat * { set n = n + 1; }\n")
        out = self.good("run", "clock.lisma", "-q", "-o", "-", "--until", "1", "--every", "0.25").out
        self.assertEqual(out, "time,n\n0,0\n0.25,0\n0.5,0\n0.5,1\n0.75,1\n1,1\n1,2\n")

    def test_first_row_is_after_the_initial_instant(self):
        self.write("init.lisma", "x(t0) = 1;\nstate a [x >= 1] { set x = 5; } from init;\n")
        out = self.good("run", "init.lisma", "-q", "-o", "-", "--until", "1", "--every", "1").out
        self.assertEqual(out, "time,x\n0,5\n1,5\n")

    def test_samples_and_all_steps(self):
        _, rows = self.rows("--samples", "4", "--until", "0.5")
        self.assertEqual([row[0] for row in rows], ["0", "0.125", "0.25", "0.375", "0.5"])
        _, rows = self.rows("--all-steps", "--until", "0.5", "--hmax", "0.1")
        self.assertGreaterEqual(len(rows), 6)

    def test_zero_length_run(self):
        _, rows = self.rows("--until", "0")
        self.assertEqual([row[0] for row in rows], ["0"])

    def test_out_chooses_columns(self):
        out = self.good("run", "ball.lisma", "-q", "-o", "-", "--every", "100",
                        "--out", "main.state, v' ,k,time,y").out
        names, rows = table(out)
        self.assertEqual(names, ["time", "main.state", "v'", "k", "y"])
        self.assertEqual(rows[0][1:4], ["init", "-9.80665", "0.8"])
        self.assertEqual(rows[-1][1:3], ["rest", "0"])

    def test_names_with_commas(self):
        self.write("odd.lisma", "`a, \"b\"`' = 1;\n")
        out = self.good("run", "odd.lisma", "-q", "-o", "-", "--until", "0", "--samples", "1",
                        "--out", "`a, \"b\"`,`a, \"b\"`'").out
        self.assertEqual(out, 'time,"a, ""b""","a, ""b""\'"\n0,0,1\n')

    def test_undetermined_is_an_empty_cell(self):
        self.write("gone.lisma", "x' = 1; y = 2*x;\n"
                   "state b [time >= 1] { delete e; z = 3*x; } from init;\ne: w = x + 1;\n")
        out = self.good("run", "gone.lisma", "-q", "-o", "-", "--until", "2", "--every", "10",
                        "--out", "w,z").out
        _, rows = table(out)
        self.assertEqual([[cell != "" for cell in row] for row in rows],
                         [[True, True, False]] * 2 + [[True, False, True]] * 2)

    def test_set_and_until(self):
        out = self.good("run", "ball.lisma", "-q", "-o", "-", "--set", "h=5", "--set", "k=.5",
                        "--until", "1", "--samples", "1", "--out", "y,h,k").out
        self.assertEqual(table(out)[1][0], ["0", "5", "5", "0.5"])

    def test_stop_is_success(self):
        self.write("stop.lisma", "x' = 1;\nstate s [x >= 2] { stop \"far enough\"; } from init;\n")
        result = self.good("run", "stop.lisma", "-o", "-", "--every", "1.5")
        self.assertAlmostEqual(float(table(result.out)[1][-1][0]), 2.0)
        self.assertIn("far enough", result.err)


class Events(cli_case.CliCase):
    def records(self, model="ball.lisma", *arguments):
        out = self.good("run", model, "-q", "--events", "-", "-o", "rows.csv", *arguments).out
        self.assertTrue(out.endswith("\n"))
        return [json.loads(line) for line in out.splitlines()]

    def test_fields_and_their_order(self):
        for record in self.records():
            keys = list(record)
            self.assertEqual(keys[:len(FIELDS)], FIELDS)
            self.assertEqual(keys[len(FIELDS):],
                             [key for key in ("because", "guard", "caused_by", "residual", "share",
                                             "equivalent", "candidate", "undetermined", "energy",
                                             "text") if key in keys])
            self.assertIn(record["kind"], ["initial", "time", "state", "slide-in", "slide-out",
                                           "zeno", "reinit", "chatter", "limit", "stop"])
            self.assertIn(record["class"], ["mythical", "pinnacle", "interior", "boundary",
                                            "sliding"])
            self.assertIn(record["type"], ["unilateral", "bilateral", "critical", "shortliving",
                                           "noEvent", "time", None])

    def test_one_initial_record_first(self):
        kinds = [record["kind"] for record in self.records()]
        self.assertEqual(kinds[0], "initial")
        self.assertEqual(kinds.count("initial"), 1)

    def test_a_bounce(self):
        record = self.records()[1]
        self.assertAlmostEqual(record["t"], 0.63866, places=4)
        self.assertEqual((record["automaton"], record["from"], record["to"]),
                         ("main", "init", "bounce"))
        self.assertEqual((record["kind"], record["class"], record["type"]),
                         ("state", "pinnacle", "unilateral"))
        self.assertIn("y <= 0", record["atom"])
        self.assertEqual(record["line"], 9)
        before, after = record["changed"]["v"]
        self.assertAlmostEqual(after, -0.8 * before)
        self.assertEqual(record["changed"]["bounces"], [0, 1])
        lo, hi = record["bracket"]
        self.assertLessEqual(lo, hi)

    def test_records_match_the_rows(self):
        records = self.records()
        _, rows = table(self.read("rows.csv"))
        doubled = {a[0] for a, b in zip(rows, rows[1:]) if a[0] == b[0]}
        self.assertEqual(sorted(map(float, doubled)),
                         sorted({record["t"] for record in records[1:]}))

    def test_time_events(self):
        self.write("clock.lisma", "n(t0) = 0;\nat 0.5 each 0.5 repeat 3 { set n = n + 1; }\n")
        records = self.records("clock.lisma")[1:]
        self.assertEqual([record["t"] for record in records], [0.5, 1.0, 1.5])
        for record in records:
            self.assertEqual((record["kind"], record["type"], record["automaton"]),
                             ("time", "time", None))
            self.assertEqual(record["bracket"], [record["t"]] * 2)


class Output(cli_case.CliCase):
    def test_summary_says_it_all_and_quiet_nothing(self):
        result = self.good("run", "ball.lisma", "--events", "e.jsonl", "--plot", "b.svg")
        self.assertEqual(result.out, "")
        for text in ("t = 8", "rest", "steps", "events", "pinnacle", "not certified", "evaluations",
                     "wall time", "ball.csv", "e.jsonl", "b.svg"):
            self.assertIn(text, result.err)
        self.assertNotIn("\033", result.err)
        result = self.good("run", "ball.lisma", "--quiet")
        self.assertEqual((result.out, result.err), ("", ""))

    def test_results_and_messages_do_not_mix(self):
        result = self.good("run", "ball.lisma", "-o", "-")
        self.assertTrue(result.out.startswith("time,y,v,bounces\n"))
        self.assertIn("wall time", result.err)
        self.assertFalse(os.path.exists(self.path("ball.csv")))

    def test_the_model_may_lie_elsewhere(self):
        os.mkdir(self.path("deep"))
        os.rename(self.path("ball.lisma"), self.path("deep/heavy.ball.lisma"))
        self.good("run", "deep/heavy.ball.lisma", "-q")
        self.assertTrue(os.path.exists(self.path("heavy.ball.csv")))
        self.assertEqual(os.listdir(self.path("deep")), ["heavy.ball.lisma"])

    def test_own_files_are_overwritten(self):
        self.good("run", "ball.lisma", "-q")
        self.good("run", "ball.lisma", "-q", "--until", "1")
        self.assertTrue(self.read("ball.csv").splitlines()[-1].startswith("1,"))
        self.write("ball.csv", "")
        self.good("run", "ball.lisma", "-q")

    def test_foreign_files_are_not(self):
        for text in ("my notes\n", "time,speed\n0,1\n"):
            self.write("ball.csv", text)
            self.fails(2, "run", "ball.lisma", says=["ball.csv", "-o ball.csv"])
            self.assertEqual(self.read("ball.csv"), text)
        self.good("run", "ball.lisma", "-q", "-o", "ball.csv")
        self.assertTrue(self.read("ball.csv").startswith("time,"))
        self.good("run", "ball.lisma", "-q")

    def test_a_wrong_model_costs_no_results(self):
        self.good("run", "ball.lisma", "-q")
        text = self.read("ball.csv")
        self.write("ball.lisma", "x' = ;\n")
        self.fails(1, "run", "ball.lisma")
        self.assertEqual(self.read("ball.csv"), text)

    def test_pictures(self):
        self.good("run", "ball.lisma", "-q", "--plot", "b.svg")
        self.assertIn("</svg>", self.read("b.svg"))
        result = self.good("run", "ball.lisma", "-q", "--plot", "-")
        self.assertIn("bounce", result.out)
        self.good("run", "ball.lisma", "-q", "--plot", "phase.svg", "--plot-x", "y", "--out", "y,v")
        self.assertIn(">y</text>", self.read("phase.svg"))

    def test_report(self):
        self.write("odd.lisma", """// a < b & "c"
            x' = -1; x(t0) = 1; `a<b>`(t0) = 0;
            state low [x < 0.5] { set `a<b>` = 1; } from init;
            state off [x < 0.25] { stop "enough & <more>"; } from low;
            """)
        self.good("run", "odd.lisma", "-q", "--report", "odd.html")
        page = self.read("odd.html")
        import html.parser

        class Reader(html.parser.HTMLParser):
            def __init__(self):
                super().__init__()
                self.open, self.text, self.links, self.anchors = [], "", set(), set()

            def handle_starttag(self, tag, attributes):
                given = dict(attributes)
                if tag not in ("meta", "br"):
                    self.open.append(tag)
                self.links.add(given.get("href"))
                self.anchors.add("#" + given.get("id", ""))

            def handle_startendtag(self, tag, attributes):
                pass

            def handle_endtag(self, tag):
                assert self.open.pop() == tag, tag

            def handle_data(self, data):
                self.text += data

        reader = Reader()
        reader.feed(page)
        self.assertEqual(reader.open, [])
        for text in ("init → low", "low → off", "x < 0.5", "a<b>: 0 → 1", "enough & <more>",
                     '// a < b & "c"', "wall time"):
            self.assertIn(text, reader.text)
        self.assertLessEqual(reader.links - {None}, reader.anchors)
        self.assertIn("#L3", reader.links)
        self.assertNotIn("http://", page.replace("http://www.w3.org/2000/svg", ""))
        # a run that fails has a report too, with the reason
        self.write("pole.lisma", "x' = x*x; x(t0) = 1;\n")
        self.fails(3, "run", "pole.lisma", "--until", "2", "--report", "pole.html")
        self.assertIn("did not finish", self.read("pole.html"))
        self.assertIn("E08", self.read("pole.html"))

    def test_mat(self):
        self.write("m.lisma", "x' = 1; x(t0) = 0; `длина, м` = 2*x; der_x = 3; y: z = x;\n"
                              "state late [x >= 0.5] { delete y; } from init;\n")
        self.good("run", "m.lisma", "--until", "1", "--samples", "4", "-q", "-o", "m.mat",
                  "--out", "x,x',`длина, м`,z,main.state,der_x")
        self.good("run", "m.lisma", "--until", "1", "--samples", "4", "-q", "-o", "m.csv",
                  "--out", "x,main.state")
        matrices = mat_file.read(self.path("m.mat"))
        rows = self.read("m.csv").splitlines()[1:]
        self.assertEqual(list(matrices),
                         ["time", "x", "der_x", "xu0434u043bu0438u043du0430__u043c", "z",
                          "main_state", "der_x_2", "names"])
        self.assertEqual([v for v, in matrices["x"]], [float(row.split(",")[1]) for row in rows])
        self.assertEqual({v for v, in matrices["der_x"]}, {1.0})
        self.assertTrue(math.isnan(matrices["z"][-1][0]))
        self.assertEqual((matrices["main_state"][0], matrices["main_state"][-1]), ("init", "late"))
        names = [name[0] for name, in matrices["names"]]
        self.assertEqual(names[:4], ["time", "x", "x'", "длина, м"])

    def test_same_bits_every_time(self):
        first = self.good("run", "ball.lisma", "-q", "-o", "-").out
        self.assertEqual(first, self.good("run", "ball.lisma", "-q", "-o", "-").out)

    def test_locale_has_no_influence(self):
        plain = self.good("run", "ball.lisma", "-q", "-o", "-").out
        for name in ("de_DE.UTF-8", "ru_RU.UTF-8", "tr_TR.UTF-8"):
            env = self.environment(LC_ALL=name, LANG=name)
            self.assertEqual(plain, self.good("run", "ball.lisma", "-q", "-o", "-", env=env).out)

    def test_kinks_add_no_rows(self):
        # what is recorded bends there; rounding is no change. What is computed from slopes jumps.
        text = "x' = cos(time); x(t0) = 0; y = abs(x); z = max(x, 0.3); w = if(x > 0.5, 1, 0); experiment { end = 20; every = 10; }"
        self.write("m.lisma", text)
        for out, rows in (("x", 3), ("y", 3), ("z", 3), ("y, z", 3), ("w", 3 + 2*7), ("y, w", 3 + 2*7)):
            self.assertEqual(len(self.good("run", "m.lisma", "-q", "-o", "-", "--out", out).out.splitlines()), 1 + rows, out)
        every = self.good("run", "m.lisma", "-q", "-o", "-", "--event-rows", "all").out.splitlines()
        self.assertGreater(len(every), 40)
        self.write("m.lisma", "x' = cos(time); x(t0) = 0; y = abs(x); z = y'; experiment { end = 20; every = 10; }")
        self.assertEqual(len(self.good("run", "m.lisma", "-q", "-o", "-", "--out", "z").out.splitlines()), 1 + 3 + 2*6)


if __name__ == "__main__":
    cli_case.main()
