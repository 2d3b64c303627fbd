#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The picture of automata: every state and guard is there, nothing covers a state, counts are those of the run."""
import collections
import glob
import json
import os
import re
import shutil
import sys
import unittest
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
PARALLEL = """x' = 1; x(t0) = 0;
n(t0) = 0;
automaton a {
  state two [x >= 1] && [n < 5] && [x < 100] && [n > -1] { set n = n + 1; } from init;
  state one [x >= 2] {} from two;
  state two2 [x >= 50] {} from one;
}
automaton b { state on [x >= 1.5] {} from init; state off [x >= 1.5] {} from on; }
y = if(x > 0.5, 1, 0);
at 0.25 each 1 repeat 2 { goto a.init; }
experiment { end = 3; }
"""


class Graph(cli_case.CliCase):
    def draw(self, *arguments):
        """By our own layout."""
        self.good("explain", *arguments, "--graph", "g.svg", env=self.environment(SALTUS_DOT=""))
        return xml.fromstring(self.read("g.svg"))

    def test_after(self):
        """Each transition of an `after` says its own part of it; the line names it."""
        self.write("m.lisma", "x' = 1;  x(t0) = 0;  n(t0) = 0;\nafter 0.5 [x > 1] { set n = 1; }\nexperiment { end = 3; }\n")
        texts = self.texts(self.draw("m.lisma", "--run"))
        for text in ("after:2", "x > 1", "after 0.5", "not x > 1"):
            self.assertIn(text, texts)

    def test_contact(self):
        """What a contact waits for is a relation, not the bare gap or force; a state without a guard is entered at once."""
        self.write("m.lisma", "y' = v; y(t0) = 1; v' = -9.81 + N; v(t0) = 0;\n"
                   "contact floor { gap = y; velocity = v; force = N; restitution = 0.8; }\nexperiment { end = 1; }\n")
        texts = self.texts(self.draw("m.lisma", "--run"))
        for text in ("velocity < 0 and gap ≤ 0", "force < 0", "at once"):
            self.assertIn(text, texts)
        for text in ("y", "N", "restitution*velocity ≤ rest"):
            self.assertNotIn(text, texts)
        self.assertIn("floor: free -> hit, because velocity < 0 and gap <= 0 now",
                      self.good("explain", "m.lisma", "--run", "-q").out)

    def test_graphviz(self):
        self.good("explain", "ball.lisma", "--run", "--graph", "g.dot")
        dot = self.read("g.dot")
        for text in ("y &lt;= 0", "&amp;&amp;", "unilateral"):
            self.assertNotIn(text, dot)
        for text in ("bounce", "pinnacle: values jump", "y ≤ 0 and v &lt; 0", "<I>sets v, bounces</I>"):
            self.assertIn(text, dot)
        if not shutil.which("dot"):
            self.skipTest("no dot")
        self.good("explain", "ball.lisma", "--graph", "g.svg")
        svg = xml.fromstring(self.read("g.svg"))
        texts = self.texts(svg)
        self.assertIn("bounce", texts)
        # no label covers another: dot has a place for each
        boxes = []
        for t in svg.iter(f"{SVG}text"):
            x, y, n = float(t.get("x")), float(t.get("y")), 5.2 * len("".join(t.itertext()))
            left = x - {"middle": n / 2, "end": n}.get(t.get("text-anchor"), 0)
            boxes.append((left, y, n))
        for i, (x, y, n) in enumerate(boxes):
            for x2, y2, n2 in boxes[:i]:
                self.assertFalse(abs(y - y2) < 6 and x < x2 + n2 and x2 < x + n, (x, y))
        self.good("explain", "ball.lisma", "--graph", "g.png")
        # modes of rule tables, which no guard leads into
        rules = os.path.join(os.environ["SALTUS_SOURCE"], "models/rules/hoop.rules.md")
        self.assertNotIn("rror", self.good("explain", rules, "--run", "-q", "--graph", "rules.png").err)
        self.fails(2, "explain", "ball.lisma", "--graph", "h.png", says=["Graphviz"],
                   env=self.environment(SALTUS_DOT="nothing-of-this-name"))

    def test_what_all_arrows_into_a_state_say_stands_in_the_state(self):
        self.good("explain", os.path.join(cli_case.SOURCE, "models", "pong.lisma"), "--run", "--graph", "g.dot")
        dot = self.read("g.dot").replace("<BR/>", " ")
        self.assertEqual(dot.count("<I>sets vy</I>"), 1)
        self.assertIn("(y ≤ 0 and vy &lt; 0) or (y ≥ 1 and vy &gt; 0)", dot)
        # a state with one arrow leaves the guard to it
        self.good("explain", "ball.lisma", "--run", "--graph", "g.dot")
        self.assertIn("[label=\"rest\"", self.read("g.dot"))

    @unittest.skipUnless(shutil.which("dot"), "no dot")
    def test_no_line_runs_through_a_text(self):
        """Texts are nodes, which have a ground of their own and are drawn behind all lines."""
        for model in ("pong", "three_rooms", "ball"):
            path = os.path.join(cli_case.SOURCE, "models", f"{model}.lisma")
            self.good("explain", path, "--run", "--graph", "g.svg")
            groups = [g for g in xml.fromstring(self.read("g.svg")).iter(f"{SVG}g")]
            kinds = [g.get("class") for g in groups if g.get("class") in ("edge", "node")]
            self.assertEqual(kinds, sorted(kinds), model)  # edges before nodes
            self.assertGreater(kinds.count("edge"), 3)
            for group in groups:
                if group.get("class") == "edge":
                    self.assertEqual(self.texts(group), [], model)
                if group.get("class") == "node" and self.texts(group):
                    shapes = [e.get("fill") for e in group if e.tag in (f"{SVG}polygon", f"{SVG}path")]
                    self.assertTrue(shapes and shapes[0] not in (None, "none", "transparent"), (model, self.texts(group)))

    def test_automata_of_a_loop_are_one(self):
        self.write("l.lisma", "for i = 1:12 { x[i]' = 1; x[i](t0) = i/100;\n"
                              "automaton room[i] { state on [x[i] >= 0.5] {} from init; } }\n"
                              "automaton other { state on [x[3] >= 0.7] {} from init; }\n"
                              "experiment { end = 1; }\n")
        texts = self.texts(self.draw("l.lisma", "--run"))
        self.assertIn("room1 … room12 (12 alike)", texts)
        self.assertIn("12× interior", texts)
        self.assertEqual(texts.count("on"), 2)

    def test_guards_in_words(self):
        self.write("w.lisma", "x[1]' = 1; x[1](t0) = 0; y = x[1]; `a b` = y;\n"
                              "state p [x[1] >= 1] && [y != 3] {} from init;\n"
                              "state q unilateral[`a b` <= 7] || y > 9 {} from p;\n"
                              "experiment { end = 2; }\n")
        self.good("explain", "w.lisma", "--graph", "w.dot")
        dot = self.read("w.dot").replace("<BR/>", " ")
        self.assertIn("x[1] ≥ 1 and y ≠ 3", dot)
        self.assertIn("a b ≤ 7 or y &gt; 9", dot)

    def test_rule_tables_in_words(self):
        model = os.path.join(cli_case.SOURCE, "models", "rules", "plant.rules.md")
        self.good("explain", model, "--graph", "r.dot")
        dot = self.read("r.dot").replace("<BR/>", " ")
        self.assertIn("T1 alarms (rule 53)", dot)
        self.assertIn("none of T1 level &gt; 1.6, T1 temperature &gt; 85", dot)
        self.assertIn("label=<T1 low, not T1 hot>", dot)
        self.assertNotIn("@", dot)
        self.assertNotIn("`", dot)
        self.assertNotIn("@53", dot)
        self.assertNotIn("| 53 |", dot)

    @staticmethod
    def texts(svg):
        return ["".join(t.itertext()) for t in svg.iter(f"{SVG}text")]

    def check_boxes(self, svg, name):
        """States lie in the picture and apart from each other; labels lie in the picture."""
        width, height = float(svg.get("width")), float(svg.get("height"))
        for group in svg.iter(f"{SVG}g"):
            dx, dy = map(float, re.findall(r"[-\d.]+", group.get("transform")))
            boxes = [tuple(float(r.get(k)) for k in ("x", "y", "width", "height"))
                     for r in group.iter(f"{SVG}rect")]
            for i, (x, y, w, h) in enumerate(boxes):
                self.assertTrue(0 <= x + dx and x + w + dx <= width, name)
                self.assertTrue(0 <= y + dy and y + h + dy <= height, name)
                for x2, y2, w2, h2 in boxes[:i]:
                    self.assertFalse(abs(x + w / 2 - x2 - w2 / 2) < (w + w2) / 2 and
                                     abs(y + h / 2 - y2 - h2 / 2) < (h + h2) / 2, name)
            for t in group.iter(f"{SVG}text"):
                self.assertTrue(0 <= float(t.get("x")) + dx <= width, name)
                self.assertTrue(0 <= float(t.get("y")) + dy <= height, name)

    def test_structure(self):
        svg = self.draw("ball.lisma")
        texts = self.texts(svg)
        for state in ("init", "bounce", "rest"):
            self.assertIn(state, texts)
        self.assertIn("y ≤ 0 and v < 0", " ".join(texts))
        self.assertNotIn("pinnacle", " ".join(texts))
        self.check_boxes(svg, "ball")

    def test_counts_are_those_of_the_run(self):
        svg = self.draw("ball.lisma", "--run")
        self.good("run", "ball.lisma", "-q", "--events", "e.jsonl", "-o", "b.csv")
        counts = collections.Counter(
            (r["from"], r["to"], r["class"])
            for r in map(json.loads, self.read("e.jsonl").splitlines()) if r["kind"] == "state")
        told = collections.Counter(t for t in self.texts(svg) if "\u00d7 " in t)
        self.assertEqual(told, collections.Counter(f"{n}\u00d7 {c}" for (_, _, c), n in counts.items()))

    def test_mythical_states_are_dashed(self):
        self.write("m.lisma", "x' = 1; x(t0) = 0;\nsw: F = 0;\n"
                              "state hit [x >= 0.5] { sw: F = -1; } from init;\n"
                              "state out [F < 0] { sw: F = 0; } from hit;\n"
                              "experiment { end = 1; }\n")
        svg = self.draw("m.lisma", "--run")
        dashed = [r for r in svg.iter(f"{SVG}rect") if r.get("stroke-dasharray")]
        self.assertEqual(len(dashed), 1)
        self.assertIn("1\u00d7 mythical", self.texts(svg))

    def test_parallel_automata(self):
        self.write("m.lisma", PARALLEL)
        svg = self.draw("m.lisma", "--run")
        texts = self.texts(svg)
        self.assertEqual(len(list(svg.iter(f"{SVG}g"))), 3)  # a, b, and the condition
        self.assertIn("a", texts)
        self.assertIn("sets n", texts)
        self.assertIn("at, line 10", texts)
        self.assertTrue(any(t.startswith("x > 0.5 (line 9): turned 1 time") for t in texts), texts)
        self.check_boxes(svg, "parallel")

    def test_conditions_are_an_automaton(self):
        """Its states are the conditions that hold together, its arrows the instants that change them."""
        svg = self.draw(cli_case.SOURCE + "/models/rules/hoop.rules.md", "--run")
        boxes = {r.get("data-state"): r for r in svg.iter(f"{SVG}rect") if r.get("data-automaton") == "conditions that hold"}
        self.assertEqual(set(boxes), {"none", "h < R \u2227 braking", "h < R \u2227 speed-up"})
        self.good("run", cli_case.SOURCE + "/models/rules/hoop.rules.md", "-q", "--events", "e.jsonl", "-o", "h.csv")
        turns = collections.Counter()
        before, now = frozenset(), set()
        for event in map(json.loads, self.read("e.jsonl").splitlines() + ['{"n": 0, "to": null}']):
            if event["n"] == 0:  # another instant
                turns[before, frozenset(now)] += before != now
                before = frozenset(now)
            if event["to"]:
                (now.add if event["to"] == "true" else now.discard)(event["automaton"])
        counts = sorted(sum(map(int, re.findall(r"(\d+)\u00d7 ", t))) for t in self.texts(svg) if re.match(r"\d+\u00d7 ", t))
        self.assertEqual(counts, sorted(n for n in turns.values() if n))
        self.check_boxes(svg, "hoop")
        # more modes than a picture can show are left to the list of switches
        self.write("many.lisma", "".join(f"y{i} = if(sin({i + 1}*time) > 0, 1, 0);\n" for i in range(6)) + "experiment { end = 10; }\n")
        svg = self.draw("many.lisma", "--run")
        self.assertFalse([r for r in svg.iter(f"{SVG}rect") if r.get("data-automaton")])

    def test_gallery(self):
        drawn = 0
        for path in sorted(glob.glob(os.path.join(cli_case.SOURCE, "models", "*.lisma"))):
            result = self.saltus("explain", path, "--graph", "g.svg", env=self.environment(SALTUS_DOT=""))
            if result.status == 1 and "no automata" in result.err:
                continue
            self.assertEqual(result.status, 0, path + result.err)
            self.check_boxes(xml.fromstring(self.read("g.svg")), path)
            drawn += 1
        self.assertGreater(drawn, 20)

    def test_usage(self):
        self.fails(2, "explain", "ball.lisma", "--graph", "g.gif", says=".svg")
        self.fails(2, "explain", "ball.lisma", "--run", "--graph", "g.gif", says=".svg")
        self.write("m.lisma", "x' = 1; x(t0) = 0;\n")
        self.fails(1, "explain", "m.lisma", "--graph", "g.svg", says="no automata")
        self.assertFalse(os.path.exists(self.path("g.svg")))


if __name__ == "__main__":
    cli_case.main()
