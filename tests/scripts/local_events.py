#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Events that concern few of many automata: same events as in a tight run, few steps, same bits however one asks."""
import json
import math
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

# rooms that share a supply which all of them read
ROOMS = """const N = 800, phi = 0.6180339887498949;
To = 5 + 5 * sin(2 * pi * time / 86400);
s' = (1 - 0.2 * Non / N - s) / 60;  s(t0) = 1;
sp(t0) = 0;
Non(t0) = 0;
for i = 1:N {
  const tau_[i] = 5000 + 5000 * mod(i * phi, 1), d_[i] = 0.6 * mod(3 * i * phi, 1) - 0.3;
  const q_[i] = (27 + 8 * mod(2 * i * phi, 1)) / tau_[i];
  T_[i]' = (To - T_[i]) / tau_[i] + q_[i] * s * u_[i];
  T_[i](t0) = 19.5 + d_[i] + mod(5 * i * phi, 1);
  u_[i](t0) = 0;
  automaton room_[i] {
    state off [T_[i] >= 20.5 + d_[i] + sp] { set u_[i] = 0, Non = Non - 1; } from on;
    state on [T_[i] <= 19.5 + d_[i] + sp] { set u_[i] = 1, Non = Non + 1; } from init, off;
  }
}
at 300 each 300 repeat * { set sp = max(-0.4, min(0.4, 0.5 - Non / N)); }
experiment { end = 330; out = s, Non, T_1, T_150; }
"""

# neurons without coupling: V_i = I_i (1 - exp(-t)), reset at 1
NEURONS = """const N = 40;
for i = 1:N {
  const I_[i] = 1.2 + i / 20;
  V_[i]' = I_[i] - V_[i];  V_[i](t0) = 0;
  spikes_[i](t0) = 0;
  automaton neuron_[i] {
    state fired [V_[i] >= 1] { set V_[i] = 0, spikes_[i] = spikes_[i] + 1; } from init, fired;
  }
}
experiment { end = 8; rtol = 1e-8; atol = 1e-10; }
"""

# machines that wait for a time of their own, ten of which share it
CALENDAR = """const N = 150;
for i = 1:N {
  n_[i](t0) = 0;
  due_[i](t0) = 0.011 * max(i, 11);
  automaton machine_[i] {
    state busy [time >= due_[i]] { set due_[i] = due_[i] + 0.5 + 0.003 * i; } from init, idle;
    state idle [time >= due_[i]] { set n_[i] = n_[i] + 1, due_[i] = due_[i] + 10; } from busy;
  }
}
experiment { end = 2.8; out = n_1, n_40; }
"""

# two of each
PAIRS = """const N = 100;
for i = 1:N {
  T_[i]' = (5 - T_[i])/(20 + floor((i + 1)/2)/N) + h_[i];
  T_[i](t0) = 18 + floor((i + 1)/2)/N;
  h_[i](t0) = 0;
  automaton room_[i] {
    state heat [T_[i] <= 18] { set h_[i] = 2; } from init, rest;
    state rest [T_[i] >= 21] { set h_[i] = 0; } from heat;
  }
}
experiment { end = 10; out = T_1; }
"""

# a chain in which every cell reads its neighbours
CHAIN = """const N = 40;
T_0 = 0;
T_[N+1] = 0;
for i = 1:N {
  T_[i]' = 0.02 * (T_[i-1] - 2 * T_[i] + T_[i+1]) + u_[i] - 0.3 * T_[i];
  T_[i](t0) = 0.5 + 0.4 * sin(7 * i);
  u_[i](t0) = 0;
  automaton cell_[i] {
    state off [T_[i] >= 1 + i / 500] { set u_[i] = 0; } from on;
    state on [T_[i] <= 0.4 - i / 500] { set u_[i] = 0.8; } from init, off;
  }
}
experiment { end = 30; out = T_1, T_20, T_40; }
"""


# rooms with states in their equations, and a time that two automata wait for: steps end there
WITH_TIME = """const N = 20;
for i = 1:N {
  T_[i]' = 0.3*(5 - T_[i]) + if(room_[i].heat, 14, 0);
  T_[i](t0) = 15 + 3*mod(0.618*i, 1);
  automaton room_[i] {
    state heat [T_[i] <= 15] {} from init, rest;
    state rest [T_[i] >= 18.1 + i/N] {} from init, heat;
  }
}
automaton first { state late [time >= 2.9] {} from init; }
automaton second { state late [time >= 2.9] {} from init; }
experiment { end = 3; out = T_1, T_7; }
"""

# rooms with a flag in their equations, and states that replace their equations
FLAGGED = ROOMS.replace("N = 800", "N = 150").replace("at 300 each 300", "at 60 each 60")
REPLACED = (FLAGGED.replace(" + q_[i] * s * u_[i];", ";").replace("u_[i](t0) = 0;", "")
            .replace("set u_[i] = 0, ", "set ")
            .replace("{ set u_[i] = 1, ",
                     "{ T_[i]' = (To - T_[i]) / tau_[i] + q_[i] * s; set "))


# what an automaton may ask for and do, as part of N equal ones
KINDS = {
    "a relation that becomes false inside a step": ("y_[i]' = -0.5 * y_[i]; y_[i](t0) = 1;", """
    state up [x_[i] >= 0.8] && [y_[i] >= 0.25] { set n_[i] = n_[i] + 1, x_[i] = 0; } from init, up;"""),
    "a counter": ("", """
    state up [x_[i] >= 0.5] { set n_[i] = n_[i] + 1, x_[i] = 0; } from init, up;
    state done [n_[i] >= 3 + mod(i, 2)] { set x_[i] = -1; } from up;"""),
    "several states in one instant": ("", """
    state one [x_[i] >= 0.6] { set n_[i] = n_[i] + 1; } from init, three;
    state two [n_[i] >= 1] { set n_[i] = n_[i] + 1; } from one;
    state three [n_[i] >= 2] { set x_[i] = -n_[i] / 10; } from two;"""),
    "a reset onto the next boundary": ("", """
    state up [x_[i] >= 0.7] { set x_[i] = 0.2, n_[i] = n_[i] + 1; } from init, down;
    state down [x_[i] >= 0.2] {} from up;"""),
    "nothing but states": ("z_[i]' = on_[i]; z_[i](t0) = 0; on_[i](t0) = 0;", """
    state up [x_[i] >= 0.4] { set on_[i] = 1; } from init, down;
    state down [z_[i] >= 0.3] { set on_[i] = 0, z_[i] = 0, x_[i] = 0; } from up;"""),
}

# cells of all kinds, side by side in one model: c is the cell, q a number of its own
SWINGS = "x_c' = v_c; x_c(t0) = 1 + q; v_c(t0) = 0; v_c' = -9*(1 + q)*x_c "
DECAYS = "x_c' = -x_c + 2*%s; x_c(t0) = q;"
COUNTS = """ n_c(t0) = 0; automaton a_c {
  state above [x_c > 0.7] { set n_c = n_c + 1; } from init, below;
  state below [x_c < 0.5] {} from above;
}"""
CELLS = {
    "floor of time": DECAYS % "floor((1.1 + q)*time)" + COUNTS,
    "mod of time": DECAYS % "mod((1.1 + q)*time, 1)" + COUNTS,
    "round of time": DECAYS % "mod(round((1.1 + q)*time), 2)" + COUNTS,
    "pulses": DECAYS % "if(mod(time, 1.3) > 0.7 + q/4, 1, 0)" + COUNTS,
    "floor of a state": SWINGS + "+ floor(2*x_c);" + COUNTS,
    "max": SWINGS + "- 8*max(0, x_c);" + COUNTS,
    "speeds that turn": SWINGS + "- 0.1*v_c*abs(v_c);" + COUNTS,
    "times noted": """c_c(t0) = 0; x_c' = time - c_c - 0.3*x_c; x_c(t0) = 0; automaton a_c {
  state late [x_c >= 0.2 + q/9] { set c_c = time + 0.4; } from init, soon;
  state soon [x_c <= 0.02] { set c_c = time - 0.3; } from late;
}""",
    "a limit that moves": """x_c' = 1 + q + 0.1*u_c; x_c(t0) = 0; u_c(t0) = 1;
automaton a_c { state up [x_c >= u_c] { set u_c = 3; } from init, up; }
automaton b_c { state back [x_c >= 3.5] { set u_c = 1, x_c = q/9; } from init, back; }""",
    "impacts": """x_c' = v_c; v_c' = -9.81; x_c(t0) = 1 + q; v_c(t0) = 0;
automaton a_c { state hit [x_c <= 0] && [v_c < 0] { set v_c = -0.9*v_c; } from init, hit; }""",
    "a chain of states": DECAYS % "u_c" + """ u_c(t0) = 1; n_c(t0) = 0;
automaton a_c {
  state high [x_c >= 1.1] { set u_c = 0; } from init, low;
  state low [x_c <= 0.4 + q/9] { set u_c = 1; } from high;
}
automaton b_c { state counts [a_c.high] { set n_c = n_c + 1; } from init, waits; state waits [a_c.low] {} from counts; }""",
    "kicks": """x_c' = 1.5 + q - x_c; y_c' = 1.3 - y_c; x_c(t0) = 0; y_c(t0) = q;
automaton a_c { state fired [x_c >= 1] { set x_c = 0, y_c = y_c + 0.1; } from init, fired; }
automaton b_c { state fired [y_c >= 1] { set y_c = 0, x_c = x_c + 0.2; } from init, fired; }""",
}

# motion that is not that of the equations alone, driven by f
HELD = {
    "a relay": "x_h' = f - sign(x_h); x_h(t0) = 0.2;",
    "a relay with a flag": """x_h' = f - w_h; x_h(t0) = 0.2; w_h(t0) = 0; automaton r_h {
  state plus [x_h > 0] { set w_h = 1; } from init, minus;
  state minus [x_h < 0] { set w_h = -1; } from init, plus;
}""",
    "a block": "x_h' = v_h; x_h(t0) = 0; v_h(t0) = 0; v_h' = 2*f - 4*x_h - 1.5*sign(v_h);",
    "two blocks": """x_h' = v_h; x_h(t0) = 0; v_h(t0) = 0; v_h' = 2*f - 4*(x_h - z_h) - 1.5*sign(v_h);
z_h' = w_h; z_h(t0) = 0; w_h(t0) = 0; w_h' = 4*(x_h - z_h) - 0.5*sign(w_h);""",
    "a limit point": "x_h' = v_h; x_h(t0) = 0.3; v_h(t0) = 0; v_h' = f/2 - 3*sign(x_h) - 1.5*sign(v_h);",
    "a ball": """x_h' = v_h; x_h(t0) = 0.05; v_h(t0) = 0; v_h' = 7*f - 6;
automaton r_h { state hit [x_h <= 0] && [v_h < 0] { set v_h = -0.3*v_h; } from init, hit; }""",
    "a ball on a plate": """x_h' = v_h; x_h(t0) = 0.05; v_h(t0) = 0; v_h' = 7*f - 6; y_h' = u_h; u_h' = -4*y_h; y_h(t0) = 0.02; u_h(t0) = 0;
automaton r_h { state hit [x_h <= y_h] && [v_h < u_h] { set v_h = u_h - 0.3*(v_h - u_h); } from init, hit; }""",
}
# what a cell has to do with it: nothing, it counts, it follows, it drives, it kicks
DRIVE = "1.4*sin(2*time)"
WATCHES = "y_w' = 1 + x_h - y_w; y_w(t0) = 0; "
TIES = {
    "apart": (DRIVE, ""),
    "counts": (DRIVE, "k_w(t0) = 0; automaton a_w { state in [x_h > 0.01] { set k_w = k_w + 1; } from init, out;"
               " state out [x_h < 0.002] {} from in; }"),
    "follows": (DRIVE, WATCHES + "automaton a_w { state in [y_w > 0.9] { set y_w = 0; } from init, in; }"),
    "drives": (DRIVE + " + 0.3*y_w", "y_w' = 1.1 - 2*u_w; y_w(t0) = 0; u_w(t0) = 0; automaton a_w {"
               " state in [y_w > 0.5] { set u_w = 1; } from init, out; state out [y_w < 0] { set u_w = 0; } from in; }"),
    "switches": (DRIVE + " + 0.3*u_w", "y_w' = 1.1 - 2*u_w; y_w(t0) = 0; u_w(t0) = 0; automaton a_w {"
                 " state in [y_w > 0.5] { set u_w = 1; } from init, out; state out [y_w < 0] { set u_w = 0; } from in; }"),
    "kicks": (DRIVE, "y_w' = 1; y_w(t0) = 0; automaton a_w {"
              " state in [y_w > 0.7] { set y_w = 0, x_h = x_h + 0.1; } from init, in; }"),
}


class LocalEvents(cli_case.CliCase):
    def run_model(self, text, *options):
        """Records of what fired, the last row, and the summary."""
        self.write("m.lisma", text)
        result = self.good("run", "m.lisma", "-o", "m.csv", "--events", "e.jsonl", "--method",
                           "dp54", *options)
        records = [json.loads(line) for line in self.read("e.jsonl").splitlines()]
        last = [float(x) for x in self.read("m.csv").splitlines()[-1].split(",")]
        steps = int(re.search(r"steps +(\d+)", result.err).group(1))
        return [r for r in records if r["kind"] == "state"], last, steps

    def compare(self, text, error, time_error, fewer):
        """The same transitions as with tight tolerances, at the same times and with the same effect."""
        records, last, steps = self.run_model(text)
        tight, reference, _ = self.run_model(text, "--rtol", "1e-11", "--atol", "1e-13")
        self.assertEqual([(r["automaton"], r["from"], r["to"]) for r in records],
                         [(r["automaton"], r["from"], r["to"]) for r in tight])
        for r, exact in zip(records, tight):
            self.assertAlmostEqual(r["t"], exact["t"], delta=time_error)
            self.assertTrue(r["certified"])
            self.assertEqual(sorted(r["changed"]), sorted(exact["changed"]))
        for value, exact in zip(last, reference):
            self.assertAlmostEqual(value, exact, delta=error)
        # an event does not stop the others
        self.assertLess(steps, fewer * len(records))
        return records

    def written(self, text):
        """{automaton: what it did and when}, and the last row by name."""
        self.write("m.lisma", text + "\nexperiment { end = 4; rtol = 1e-8; }\n")
        self.good("run", "m.lisma", "-o", "m.csv", "--events", "e.jsonl", "--method", "dp54", "--samples", "4")
        moves = {}
        for r in map(json.loads, self.read("e.jsonl").splitlines()):
            if r["kind"] == "state" and "@" not in r["automaton"]:
                moves.setdefault(r["automaton"], []).append((r["to"], r["t"]))
        rows = self.read("m.csv").splitlines()
        return moves, dict(zip(rows[0].split(","), map(float, rows[-1].split(","))))

    def test_a_cell_in_a_crowd_moves_as_alone(self):
        cells = {name: [re.sub(r"\bq\b", repr(0.1 + 0.37 * k), re.sub(r"_c\b", f"_{i}_{k}", cell)) for k in range(3)]
                 for i, (name, cell) in enumerate(CELLS.items())}
        crowd, ends = self.written("\n".join(text for some in cells.values() for text in some))
        for name, some in cells.items():
            for text in some:
                moves, end = self.written(text)
                self.assertTrue(moves, name)
                for automaton, alone in moves.items():
                    self.assertEqual([to for to, _ in crowd[automaton]], [to for to, _ in alone], f"{name}: {text}")
                    for (_, t), (_, exact) in zip(crowd[automaton], alone):
                        self.assertAlmostEqual(t, exact, delta=1e-5, msg=f"{name}: {text}")
                for column, value in end.items():
                    self.assertAlmostEqual(ends[column], value, delta=1e-5, msg=f"{name}: {column}")

    def test_cells_beside_motion_that_is_held(self):
        some = [re.sub(r"\bq\b", "0.3", re.sub(r"_c\b", f"_{i}", cell)) for i, cell in enumerate(CELLS.values())]
        for held, motion in HELD.items():
            for tie, (drive, cell) in TIES.items():
                text = re.sub(r"\bf\b", f"({drive})", motion) + "\n" + cell
                moves, end = self.written(text)
                crowd, ends = self.written("\n".join([text, *some]))
                with self.subTest(f"{held} {tie}"):
                    for automaton, alone in moves.items():
                        self.assertEqual([to for to, _ in crowd[automaton]], [to for to, _ in alone], automaton)
                        for (_, t), (_, exact) in zip(crowd[automaton], alone):
                            self.assertAlmostEqual(t, exact, delta=1e-5, msg=automaton)
                    for column, value in end.items():
                        self.assertAlmostEqual(ends[column], value, delta=1e-5, msg=column)

    def test_rooms_beside_held_motion_do_not_stop_each_other(self):
        for held in ("a relay", "a relay with a flag", "a block", "a ball"):
            motion = re.sub(r"\bf\b", "(0.4*sin(2*time))", HELD[held])
            records, _, steps = self.run_model(NEURONS + motion)
            rooms = [r for r in records if r["automaton"].startswith("neuron")]
            self.assertGreater(len(rooms), 400)
            self.assertLess(steps, len(rooms) / 2, held)

    def test_tens_at_once(self):
        """Ten equal rooms switch in one instant, which does not stop the others either."""
        group = "floor((i - 1)/10)/10"
        text = f"""for i = 1:100 {{
  T_[i]' = -0.1*(T_[i] - 10) + 2*u_[i]*(1 + {group}); T_[i](t0) = 18 + 4*{group}; u_[i](t0) = 0;
  automaton room_[i] {{
    state off [T_[i] >= 22] {{ set u_[i] = 0; }} from init, on;
    state on [T_[i] <= 18] {{ set u_[i] = 1; }} from init, off;
  }}
}}
experiment {{ end = 4; }}
"""
        records, _, steps = self.run_model(text)
        times = {r["t"] for r in records}
        self.assertEqual(len(records), 10 * len(times))
        self.assertLess(steps, len(times) / 2)

    def test_rooms_beside_a_time(self):
        self.compare(WITH_TIME, 2e-4, 1e-4, 1.0)

    def test_rooms_with_a_shared_supply(self):
        records = self.compare(ROOMS, 2e-5, 0.05, 0.6)
        self.assertGreater(len(records), 300)

    def test_a_chain_of_neighbours(self):
        self.compare(CHAIN, 5e-5, 1e-4, 1.1)

    def test_resets_have_their_closed_form(self):
        records, _, steps = self.run_model(NEURONS)
        counts = {}
        for r in records:
            i = int(r["automaton"].split("_")[1])
            counts[i] = counts.get(i, 0) + 1
            current = 1.2 + i / 20
            exact = counts[i] * math.log(current / (current - 1))
            self.assertAlmostEqual(r["t"], exact, delta=1e-6)
            self.assertEqual(r["class"], "pinnacle")
            self.assertEqual(r["changed"][f"V_{i}"][1], 0)
            self.assertEqual(r["changed"][f"spikes_{i}"], [counts[i] - 1, counts[i]])
        for i, count in counts.items():
            current = 1.2 + i / 20
            self.assertEqual(count, int(8 / math.log(current / (current - 1))))
        self.assertLess(steps, len(records) / 2)

    def test_times_wait_like_crossings(self):
        """`time >= due` of many: a step does not end at each, with states beside them and without any."""
        for states in ("x' = -x;  x(t0) = 1;", ""):
            text = CALENDAR + states
            records, _, steps = self.run_model(text)
            plain, _, _ = self.run_model(text, "--detection", "combined")
            self.assertEqual(len(records), 300)
            self.assertLess(steps, len(records) / 3)
            self.assertEqual([(r["automaton"], r["to"], r["changed"]) for r in records],
                             [(r["automaton"], r["to"], r["changed"]) for r in plain])
            for r, other in zip(records, plain):
                # what lies this close together is one time
                self.assertLessEqual(abs(r["t"] - other["t"]), 4 * sys.float_info.epsilon * r["t"])
                self.assertTrue(r["certified"])

    def test_pairs_at_once(self):
        """Rooms that are equal in pairs: two crossings at one time, of which neither concerns the other."""
        records, _, steps = self.run_model(PAIRS)
        self.assertGreater(len(records), 300)
        self.assertLess(steps, len(records) / 6)
        for one, other in zip(records[::2], records[1::2]):
            self.assertEqual((one["t"], one["to"], one["n"] + 1), (other["t"], other["to"], other["n"]))

    def test_rows_do_not_matter(self):
        # rows ask for all values at every event and in between; the events stay the same to the last bit
        events = []
        for options in (("--samples", "1", "--out", "s"), ("--every", "0.37"), ("--all-steps",)):
            self.run_model(ROOMS, *options)
            events.append(self.read("e.jsonl"))
        self.assertEqual(events[0], events[1])
        self.assertEqual(events[0], events[2])

    def test_columns_do_not_matter(self):
        # states and flags are known without computing all others, which a slope asks for
        text = ROOMS.replace("N = 800", "N = 160")
        rows = []
        for columns in ("T_3,u_3,Non", "T_3,u_3,Non,T_3'"):
            self.run_model(text, "--out", columns)
            lines = self.read("m.csv").splitlines()[1:]
            rows.append([line.split(",")[:4] for line in lines])
        self.assertEqual(rows[0], rows[1])
        self.assertEqual({row[2] for row in rows[0]}, {"0", "1"})

    @staticmethod
    def without_z(records):
        """z jumps with the set point, and records tell of it."""
        return re.sub(r',?"z":\[[^]]*\]', "", records)

    def test_many_in_one_instant(self):
        # one tick switches many rooms, which share a counter: each has its round. A function with
        # pieces of its own keeps the engine from carrying rounds out in place; the records stay.
        text = ROOMS.replace("N = 800", "N = 160").replace("at 300 each 300", "at 20 each 20")
        self.run_model(text)
        records = self.read("e.jsonl")
        self.assertGreater(max(json.loads(line)["iter"] for line in records.splitlines()), 10)
        other = text.replace("experiment", "z = max(sp, -5); experiment")
        self.run_model(other)
        self.assertEqual(records, self.without_z(self.read("e.jsonl")))

    def test_many_without_a_counter(self):
        # they do not collide: one round for few of them, or for all
        text = ROOMS.replace("Non = Non - 1;", "v_[i] = 1;").replace("Non = Non + 1;", "v_[i] = 2;")
        text = text.replace("u_[i](t0) = 0;", "u_[i](t0) = 0; v_[i](t0) = 0;")
        text = text.replace("at 300 each 300", "at 20 each 20").replace("- Non / N", "- 0.48 * s")
        for count in (150, 400):
            few = text.replace("N = 800", f"N = {count}")
            self.run_model(few)
            records = self.read("e.jsonl")
            self.run_model(few.replace("experiment", "z = max(sp, -5); experiment"))
            self.assertEqual(records, self.without_z(self.read("e.jsonl")))

    def test_a_shared_supply_by_first_order(self):
        # what an event does to all others is corrected, not integrated anew: few steps, and events
        # where a tight run has them, as far as the tolerance goes
        text = ROOMS.replace("N = 800", "N = 150").replace("at 300 each 300", "at 60 each 60")
        records, last, steps = self.run_model(text)
        tight, reference, _ = self.run_model(text, "--rtol", "1e-11", "--atol", "1e-13")
        self.assertEqual(len(records), len(tight))
        self.assertLess(steps, 60)
        for r, exact in zip(records, tight):
            self.assertEqual(r["automaton"], exact["automaton"])
            self.assertAlmostEqual(r["t"], exact["t"], delta=5e-3)
            self.assertTrue(r["certified"])
        self.assertAlmostEqual(last[1], reference[1], delta=1e-6)

    def test_a_shared_supply_whose_weight_moves(self):
        # what the supply does to a room changes along a step
        text = ROOMS.replace("N = 800", "N = 400").replace("out = s, Non, T_1, T_150;", "")
        text = text.replace("end = 330", "end = 100").replace("* u_[i];", "* u_[i] * exp(-time / 40);")
        records, last, steps = self.run_model(text, "--samples", "1")
        _, reference, _ = self.run_model(text, "--samples", "1", "--rtol", "1e-11", "--atol", "1e-13")
        # 20 times as much with the weights of the beginning of each step
        self.assertLess(max(abs(a - b) for a, b in zip(last, reference)), 5e-6)
        self.assertLess(steps, len(records) / 4)

    def same_motion(self, text, other):
        """Events at the same times and the same last row, to the last bit."""
        records, last, steps = self.run_model(text)
        others, other_last, other_steps = self.run_model(other)
        self.assertEqual([(r["automaton"], r["to"], r["t"]) for r in records],
                         [(r["automaton"], r["to"], r["t"]) for r in others])
        self.assertEqual(last, other_last)
        self.assertEqual(steps, other_steps)
        return records, steps

    def test_states_that_replace_equations(self):
        # one set of equations for all of 3^150 combinations, and events as local as those of flags
        records, steps = self.same_motion(FLAGGED, REPLACED)
        self.assertGreater(len(records), 80)
        self.assertLess(steps, 60)
        # what the states replace may be read by the equations of motion
        text = REPLACED.replace("T_[i]' = (To - T_[i]) / tau_[i];", "P_[i] = 0;\n"
                                "  T_[i]' = (To - T_[i]) / tau_[i] + P_[i];", 1)
        text = text.replace("{ T_[i]' = (To - T_[i]) / tau_[i] + q_[i] * s;", "{ P_[i] = q_[i] * s;")
        self.assertIn("P_[i] = q_[i] * s", text)
        self.same_motion(FLAGGED, text)

    def test_what_replacing_means_stays(self):
        # few rooms have a set of equations for each combination, many have one for all: a guard that
        # reads what the states compute sees the same in both
        text = """const N = 4;
for i = 1:N {
  P_[i] = 1;
  x_[i]' = P_[i] - 0.1 * i * x_[i];  x_[i](t0) = 0;
  automaton a_[i] {
    state low [x_[i] >= 1] { P_[i] = -1; } from init, high;
    state high [P_[i] < 0] && [x_[i] <= 0.25] {} from low;
  }
}
experiment { end = 6; }
"""
        few, _, _ = self.run_model(text)
        many, _, _ = self.run_model(text.replace("N = 4", "N = 40"))
        names = {f"a_{i}" for i in range(1, 5)}
        many = [r for r in many if r["automaton"] in names]
        self.assertEqual([(r["automaton"], r["from"], r["to"]) for r in few],
                         [(r["automaton"], r["from"], r["to"]) for r in many])
        self.assertGreater(len(few), 8)
        for r, other in zip(few, many):
            self.assertAlmostEqual(r["t"], other["t"], delta=1e-5)

    def test_the_same_as_among_few(self):
        for kind, (equations, states) in KINDS.items():
            text = f"""const N = 4;
for i = 1:N {{
  x_[i]' = 1 - 0.02 * i * x_[i];  x_[i](t0) = -0.07 * i;  n_[i](t0) = 0;  {equations}
  automaton a_[i] {{{states}
  }}
}}
experiment {{ end = 6; rtol = 1e-9; }}
"""
            few, _, _ = self.run_model(text)
            many, _, _ = self.run_model(text.replace("N = 4", "N = 40"))
            names = {f"a_{i}" for i in range(1, 5)}
            many = [r for r in many if r["automaton"] in names]
            self.assertGreater(len(few), 4, kind)
            for name in names:
                alone = [r for r in few if r["automaton"] == name]
                among = [r for r in many if r["automaton"] == name]
                self.assertEqual([(r["from"], r["to"], sorted(r["changed"])) for r in alone],
                                 [(r["from"], r["to"], sorted(r["changed"])) for r in among], kind)
                for r, other in zip(alone, among):
                    self.assertAlmostEqual(r["t"], other["t"], delta=1e-7, msg=kind)

    def test_hysteresis_without_resets(self):
        # no reset tells the two sides apart: that the way back leads elsewhere does
        text = """const N = 40;
for i = 1:N {
  x_[i]' = 1 + i / 100;  x_[i](t0) = i / N;
  automaton a_[i] {
    state falls [x_[i] >= 1] { x_[i]' = -1; } from init, rises;
    state rises [x_[i] <= 0] {} from falls;
  }
}
experiment { end = 5; }
"""
        records, _, _ = self.run_model(text)
        times = {}
        for r in records:
            times.setdefault(int(r["automaton"].split("_")[1]), []).append(r["t"])
        for i, found in times.items():
            up, down = 1 / (1 + i / 100), 1.0
            t, exact = (1 - i / 40) * up, []
            while t < 5:
                exact.append(t)
                t += down if len(exact) % 2 else up
            self.assertEqual(len(found), len(exact), i)
            for a, b in zip(found, exact):
                self.assertAlmostEqual(a, b, delta=1e-9)

    def test_rows_around_an_event(self):
        # before and after: the reset is exact, everything else is continuous
        self.write("m.lisma", NEURONS)
        self.good("run", "m.lisma", "-q", "-o", "m.csv", "--samples", "1", "--out", "V_5,V_6,V_5'")
        rows = [[float(x) for x in line.split(",")] for line in self.read("m.csv").splitlines()[1:]]
        resets = 0
        for before, after in zip(rows, rows[1:]):
            if before[0] != after[0]:
                continue
            self.assertTrue(after[1] == 0 or abs(after[1] - before[1]) < 1e-9)
            self.assertTrue(after[2] == 0 or abs(after[2] - before[2]) < 1e-9)
            self.assertAlmostEqual(before[3], 1.45 - before[1], 9)
            self.assertAlmostEqual(after[3], 1.45 - after[1], 9)
            resets += after[1] == 0
        self.assertGreater(resets, 3)


if __name__ == "__main__":
    unittest.main()
