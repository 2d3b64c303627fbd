#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instants: what a round assigns is what the next one reads, in the order of the text; chains of any finite length
end, repetitions are told."""
import json
import os
import random
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402


class Instants(cli_case.CliCase):
    def last_row(self, text, *options, until="2"):
        """Values at the end of a run by name, and what was said."""
        self.write("m.lisma", text)
        result = self.good("run", "m.lisma", "-q", "-o", "-", "--until", until, *options)
        lines = result.out.splitlines()
        names = [n.strip('"') for n in lines[0].split(",")]
        return dict(zip(names, (float(v) if v else None for v in lines[-1].split(",")))), result.err

    def failure(self, text, code, until="2"):
        self.write("m.lisma", text)
        result = self.saltus("run", "m.lisma", "-q", "-o", "-", "--until", until)
        self.assertNotEqual(result.status, 0)
        self.assertIn(code, result.err)
        return result.err

    def test_times_that_are_known_and_others(self):
        """Without states nothing but time moves: a deadline far away is no reason to step over sin(time) > 0.5."""
        wave = "automaton q { state a [%s > 0.5] { set n = n + 1; } from init, b; state b [%s < 0.5] {} from a; }\n"
        for deadline in ("1e300", "1e9", "50", "3"):
            for g in ("sin(time)", "time - 3*floor(time/3) - 1"):
                row, _ = self.last_row(f"d(t0) = {deadline}; n(t0) = 0; m(t0) = 0;\n" + wave % (g, g)
                                       + "automaton p { state e [time >= d] { set m = m + 1; } from init; }\n", until="7")
                self.assertEqual((row["n"], row["m"]), (2, deadline == "3"), (deadline, g))

    # ---- composition ------------------------------------------------------------------------

    def test_assignments_of_a_chain_compose(self):
        lights = "automaton light { state green [time < -1] {} from init; }\n"
        road = "automaton road { state go light.green { set q = %s; } from init; }\n"
        for own, then, value in (("1", "q + 5", 6), ("2", "q*q + 1", 5), ("3", "10 - q", 7)):
            for order in (lights + road % then, road % then + lights):
                row, _ = self.last_row(f"q(t0) = 0;\n{order}at 1 {{ goto light.green; set q = {own}; }}\n")
                self.assertEqual(row["q"], value)

    def test_chains_of_states(self):
        for count in (2, 17, 120, 3000):
            text = "q(t0) = 0; s(t0) = 0;\n"
            text += "automaton c_0 { state on [time >= 1] { set q = 1; } from init; }\n"
            text += "".join(f"automaton c_{i} {{ state on c_{i - 1}.on {{ set q = q + 1, s = s + q; }} from init; }}\n"
                            for i in range(1, count))
            row, err = self.last_row(text)
            self.assertEqual(row["q"], count)
            self.assertEqual(row["s"], count * (count - 1) // 2)
            self.assertEqual(err, "")

    def test_many_wait_for_one(self):
        for count in (2, 16, 18, 2000):
            for guard in ("z.on", "[time >= 1]", "[flag > 0]"):
                text = "q(t0) = 0; flag(t0) = 0;\nautomaton z { state on [time >= 1] { set flag = 1; } from init; }\n"
                text += "".join(f"automaton c_{i} {{ state on {guard} {{ set q = q + 1; }} from init; }}\n"
                                for i in range(count))
                row, err = self.last_row(text)
                self.assertEqual(row["q"], count, (count, guard))
                self.assertEqual(err, "", (count, guard))

    def test_random_chains(self):
        """Guards on states in random trees: each automaton applies v -> a*v + b once its parent is on."""
        for seed in range(12):
            rng = random.Random(seed)
            count = rng.choice([3, 8, 20])
            names = rng.sample([f"m_{i}" for i in range(100)], count)
            parent = [None] + [rng.randrange(i) for i in range(1, count)]
            steps = [(rng.choice([1, 2, -1]), rng.randrange(5)) for _ in names]
            text = "v(t0) = 1;\n"
            for i in range(count):
                guard = "[time >= 1]" if parent[i] is None else f"{names[parent[i]]}.on"
                a, b = steps[i]
                text += f"automaton {names[i]} {{ state on {guard} {{ set v = {a}*v + {b}; }} from init; }}\n"
            # round by round: of those that may fire the first in the text does
            value, on, ready = 1, set(), {0}
            while ready:
                i = min(ready)
                value = steps[i][0] * value + steps[i][1]
                on.add(i)
                ready = {k for k in range(count) if k not in on and (parent[k] is None or parent[k] in on)}
            row, _ = self.last_row(text)
            self.assertEqual(row["v"], value, text)

    # ---- order of the text ------------------------------------------------------------------

    def test_order_is_that_of_the_text(self):
        for names in (("a", "b"), ("b", "a"), ("x_9", "x_10"), ("x_10", "x_9")):
            text = "u(t0) = 3; w(t0) = 0;\n"
            text += f"automaton {names[0]} {{ state on [time >= 1] {{ set u = w + 1; }} from init; }}\n"
            text += f"automaton {names[1]} {{ state on [time >= 1] {{ set w = u; }} from init; }}\n"
            row, err = self.last_row(text)
            self.assertEqual((row["u"], row["w"]), (1, 1))
            self.assertEqual(err.count("W0805"), 1)

    def test_order_matters_where_one_takes_what_another_needs(self):
        text = "left(t0) = 1; who(t0) = 0;\n"
        for i, name in enumerate(("second", "first")):
            text += f"automaton {name} {{ state got [left > 0 && time >= 1] {{ set left = left - 1, who = {i + 1}; }} from init; }}\n"
        row, err = self.last_row(text)
        self.assertEqual((row["left"], row["who"]), (0, 1))
        self.assertIn("W0805", err)

    def test_loops_come_as_written_out(self):
        bodies = ("automaton p_{i} {{ state on [time >= 1] {{ set v = 2*v + {i}; }} from init; }}\n"
                  "automaton a_{i} {{ state on [time >= 1] {{ set v = v - 1; }} from init; }}\n")
        flat = "v(t0) = 0;\n" + "".join(bodies.format(i=i) for i in range(1, 6))
        loop = "v(t0) = 0;\nfor i = 1:5 {\n" + bodies.replace("_{i}", "_[i]").replace("{i};", "i;").replace(
            "{{", "{").replace("}}", "}") + "}\n"
        self.assertEqual(self.last_row(flat)[0]["v"], self.last_row(loop)[0]["v"])

    def test_random_numbers_do_not_go_by_names(self):
        text = "NAME(t0) = 0; OTHER(t0) = 0; k(t0) = 0;\nat 1 { set NAME = random(); set OTHER = random(); }\n" \
               "at 1 { set k = NAME + random(); }\n" \
               "automaton FIRST { state on [time >= 1.5] { set NAME = NAME + random(); } from init; }\n" \
               "automaton SECOND { state on [time >= 1.5] { set OTHER = OTHER + random(); } from init; }\n"
        rows = set()
        for name, other in (("a", "b"), ("b", "a"), ("z", "m")):
            for first, second in (("p", "q"), ("q", "p")):
                model = re.sub(r"NAME|OTHER|FIRST|SECOND", lambda m: {"NAME": name, "OTHER": other, "FIRST": first,
                                                                      "SECOND": second}[m.group()], text)
                row, _ = self.last_row(model, "--out", f"{name},{other},k")
                rows.add((row[name], row[other], row["k"]))
        self.assertEqual(len(rows), 1)

    # ---- chains and cycles ------------------------------------------------------------------

    def test_finite_chains_end(self):
        for count in (1, 100, 111, 5000):
            text = "x' = 1; x(t0) = 0; n(t0) = 0;\n"
            text += "".join(f"state {a} [x >= 1 && n < {count}] {{ set n = n + 1; }} from init, {b};\n"
                            for a, b in (("p", "q"), ("q", "p")))
            self.assertEqual(self.last_row(text)[0]["n"], count)

    def test_cycles_are_told_with_their_members(self):
        for count in (2, 3, 7, 40):
            text = "x' = 1; x(t0) = 0; p(t0) = 0;\n"
            for i in range(count):
                before = f"init, s_{count - 1}" if i == 0 else f"s_{i - 1}"
                text += f"state s_{i} [x >= 1 && p == {i}] {{ set p = {(i + 1) % count}; }} from {before};\n"
            err = self.failure(text, "E0804")
            self.assertIn("repeat", err)
            if count < 10:
                for i in range(count):
                    self.assertIn(f"s_{i} -> s_{(i + 1) % count}", err)

    def test_cycles_through_states_of_others(self):
        text = "automaton a { state on [time >= 1] {} from init; state off b.on {} from on; state on b.off {} from off; }\n"
        text += "automaton b { state on a.on {} from init, off; state off a.off {} from on; }\n"
        self.failure(text, "E080")


    # ---- stop -------------------------------------------------------------------------------

    def test_a_stop_keeps_the_equations_it_was_entered_from(self):
        models = {
            "y' = -1;  y(t0) = 1;\nstate fast [y <= 0.5] { y' = -3; } from init;\n"
            "state landed [y <= 0] { stop \"floor\"; } from fast;\n": {"y": 0},
            # a pendulum whose thread breaks: with the thread again the values would be wrong
            "x' = vx; y' = vy; vx' = -x*T; vy' = -y*T - 9.81;\ncst: x*x + y*y = 25;\n"
            "x(t0) = 4; y(t0) = -3; vx(t0) = 0; vy(t0) ~ 0;\nstate broken [time >= 0.5] { cst: T = 0; } from init;\n"
            "state landed [y <= -6] { stop \"floor\"; } from broken;\n": {"y": -6, "T": 0},
            # what is computed in the state stays what it was there
            "x' = 1; x(t0) = 0; z = 1;\nstate a [x >= 0.5] { z = 5 + x; } from init;\n"
            "state b [x >= 1] { stop \"end\"; } from a;\n": {"z": 6},
        }
        for text, wanted in models.items():
            row, _ = self.last_row(text, until="10")
            for name, value in wanted.items():
                self.assertAlmostEqual(row[name], value, 6, text)

    # ---- time events ------------------------------------------------------------------------

    def test_times_before_the_start_are_past(self):
        for start, period, wanted in (("-5", "0.1", 31), ("-1e300", "1e299", 1), ("-1e15", "1", 4), ("-3.5", "1", 3),
                                      ("-1e308", "1e308", 1)):
            row, _ = self.last_row(f"n(t0) = 0;\nat {start} each {period} repeat * {{ set n = n + 1; }}\n", until="3")
            self.assertEqual(row["n"], wanted, (start, period))

    def test_periods_that_the_time_cannot_resolve(self):
        for start, period in (("-1e300", "1"), ("-1e18", "1"), ("1", "1e-17"), ("-1e17", "5"), ("-1e300", "1e-300")):
            self.failure(f"n(t0) = 0;\nat {start} each {period} repeat * {{ set n = n + 1; }}\n", "E0808")

    # ---- as many as one likes ---------------------------------------------------------------

    def test_number_does_not_matter(self):
        """N copies switch like one, whatever the relation reads."""
        relations = ("sin(time + 0.3) > 0.5", "time > 1.3", "cos(time*time) < 0.2", "sin(x_[i]) > 0.5",
                     "x_[i] + 0.1*sin(3*time) > 1", "x_[i]*sin(time) > 0.7", "sin(w + time) > 0.1")
        for relation in relations:
            values = set()
            for count in (1, 2, 16, 17, 18, 60):
                text = f"w' = 0.7; w(t0) = 0;\nfor i = 1:{count} {{ x_[i]' = 1; x_[i](t0) = 0; a_[i](t0) = 0;\n" \
                       f"  a_[i]' = if({relation}, 1, -0.1); }}\n"
                row, _ = self.last_row(text, until="12")
                for i in (1, count):
                    values.add(row[f"a_{i}"])
            self.assertLess(max(values) - min(values), 1e-7, relation)

    # ---- records ----------------------------------------------------------------------------

    def test_computed_values_that_jump_are_recorded(self):
        text = "gear(t0) = 1; v' = 1; v(t0) = 10; rpm = 300*v/gear; smooth = 2*v;\n" \
               "state two [v >= 11] { set gear = 2; } from init;\nat 2 { set gear = 4; }\n"
        self.write("m.lisma", text)
        self.good("run", "m.lisma", "-q", "-o", "m.csv", "--events", "m.jsonl", "--until", "3")
        records = [json.loads(line) for line in self.read("m.jsonl").splitlines()]
        changed = [r["changed"] for r in records if r["kind"] != "initial"]
        self.assertEqual([sorted(c) for c in changed], [["gear", "rpm"], ["gear", "rpm"]])
        self.assertEqual(changed[1]["rpm"], [1800, 900])


if __name__ == "__main__":
    unittest.main()
