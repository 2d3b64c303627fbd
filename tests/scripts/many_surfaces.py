#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Motion along many surfaces at once, which come and go one by one: however it is computed (equations run
once, on both sides, or with the switches in between), wherever it is cut and resumed, in whatever order the
blocks are declared, it is the same motion with the same events."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

BLOCK = "x_[i]' = v_[i];  x_[i](t0) = 0;  v_[i](t0) = 0;\n"
PULL = "(2 + 0.1*i)*sin(2*time) - 4*x_[i]"


def blocks(count, rate, more="", end=6):
    return f"for i = 1:{count} {{ {BLOCK} v_[i]' = {rate}; }}\n{more}experiment {{ end = {end}; }}\n"


MODELS = {
    # friction of a given level: the equations are run once
    "alone": blocks(12, PULL + " - 1.5*sign(v_[i])"),
    # all at once, always
    "together": blocks(8, "3*sin(2*time) - 4*x_[i] - sign(v_[i])"),
    # other derivatives depend on the surface, too
    "wear": blocks(10, PULL + " - 1.5*sign(v_[i]) + 0.1*w_[i]",
                   "for i = 1:10 { w_[i]' = 0.3*sign(v_[i]) - w_[i];  w_[i](t0) = 0; }\n"),
    # what friction holds changes with time: both sides are run
    "normal force": blocks(10, PULL + " - (1.5 + 0.2*cos(time))*sign(v_[i])"),
    # a quantity that depends on more switches than are listed
    "sum": blocks(12, PULL + " + F_[i]",
                  "for i = 1:12 { F_[i] = -1.5*sign(v_[i]); }\ntotal = "
                  + " + ".join(f"F_{i}" for i in range(1, 13)) + ";\n"),
    # events that set values in the midst of it
    "kicks": blocks(12, PULL + " - 1.5*sign(v_[i])",
                    "at 2.3 { set v_3 = 0.4; }\nat 4.1 { set v_5 = -0.2; set x_7 = x_7 + 0.3; }\n"
                    "state hot [x_4 > 0.1] { set v_9 = v_9 + 0.1; } from init;\n"
                    "state init [x_4 < 0] {} from hot;\n"),
    # ... and what friction holds
    "levels": blocks(12, PULL + " - 1.5*k*sign(v_[i])",
                     "k(t0) = 1;\nat 1.3 { set k = 1.2; }\nat 3 { set k = 0.9; }\nat 4.4 { set k = 1; }\n"),
    # neighbours pull at each other
    "chain": "for i = 1:30 { " + BLOCK + " F_[i] = -sign(v_[i]); }\n"
             "v_1' = 100*(0.5*sin(2*time) - 2*x_1 + x_2) + F_1;\n"
             "for i = 2:29 { v_[i]' = 100*(x_[i-1] - 2*x_[i] + x_[i+1]) + F_[i]; }\n"
             "v_30' = 100*(x_29 - x_30) + F_30;\nexperiment { end = 3; }\n",
    # one changes the equations of another
    "bodies": blocks(10, PULL + " - 1.5*sign(v_[i]) + h",
                     "h = -0.1;\nstate fast [v_2 > 0.05] { h = 0.2; } from init;\n"
                     "state init [v_2 < -0.05] {} from fast;\n"),
}


class ManySurfaces(cli_case.CliCase):
    def run_model(self, name, *options, model="m.lisma"):
        self.write(model, MODELS[name])
        self.good("run", model, "-q", "-o", "r.csv", "--events", "r.jsonl", *options)
        with open(self.path("r.csv"), "rb") as file:
            rows = file.read()
        with open(self.path("r.jsonl"), "rb") as file:
            events = file.read()
        return rows, events

    @staticmethod
    def last(rows):
        header, *_, last = rows.decode().strip().split("\n")
        return dict(zip(header.split(","), map(float, last.split(","))))

    @staticmethod
    def slides(events):
        records = [json.loads(line) for line in events.splitlines()]
        return [(r["kind"], r["t"]) for r in records if r["kind"].startswith("slide")]

    def test_flows_and_values_agree(self):
        for name in MODELS:
            with self.subTest(name):
                rows, events = self.run_model(name, "--samples", "3")
                other_rows, other_events = self.run_model(name, "--samples", "3", "--sliding", "utkin")
                here = self.slides(events)
                there = self.slides(other_events)
                self.assertGreater(len(here), 10)
                self.assertEqual([kind for kind, _ in here], [kind for kind, _ in there])
                for (_, t), (_, other) in zip(here, there):
                    self.assertAlmostEqual(t, other, delta=2e-5)
                end = self.last(rows)
                other_end = self.last(other_rows)
                for key, value in end.items():
                    if key[0] in "xv":
                        self.assertAlmostEqual(value, other_end[key], delta=2e-5, msg=f"{name}: {key}")

    def test_the_same_in_two_parts(self):
        for number, name in enumerate(MODELS):
            with self.subTest(name):
                options = ("--every", "0.25")
                whole = self.run_model(name, *options)
                cut = 2.94 - 0.21 * number
                self.run_model(name, *options, "--until", repr(cut), "--checkpoint", "c")
                parts = self.run_model(name, *options, "--resume", "c")
                self.assertEqual(whole[0], parts[0], f"{name} cut at {cut}")
                self.assertEqual(whole[1], parts[1], f"{name} cut at {cut}")
                os.remove(self.path("c"))

    def test_output_asks_for_nothing_new(self):
        # values are asked for in the midst of steps, and at every step
        for name in ("alone", "chain", "kicks"):
            few = self.run_model(name, "--samples", "2")
            many = self.run_model(name, "--all-steps")
            self.assertEqual(few[1], many[1], name)
            self.assertEqual(self.last(few[0]), self.last(many[0]), name)

    def test_order_of_declarations(self):
        lines = [f"x_{i}' = v_{i};  x_{i}(t0) = 0;  v_{i}(t0) = 0;\n"
                 f"v_{i}' = {2 + 0.1 * i}*sin(2*time) - 4*x_{i} - 1.5*sign(v_{i});\n" for i in range(1, 13)]
        out = ("--out", "x_1,v_2,x_7,v_12", "--every", "0.5", "--until", "6")
        rows = []
        for order in (lines, lines[::-1], lines[5:] + lines[:5]):
            self.write("m.lisma", "".join(order))
            self.good("run", "m.lisma", "-q", "-o", "r.csv", *out)
            rows.append(self.read("r.csv"))
        self.assertEqual(rows[0], rows[1])
        self.assertEqual(rows[0], rows[2])

    def test_machine_code(self):
        for name in ("alone", "wear", "chain"):
            tape = self.run_model(name, "--native", "off")
            code = self.run_model(name, "--native", "on")
            self.assertEqual(tape, code, name)


if __name__ == "__main__":
    unittest.main()
