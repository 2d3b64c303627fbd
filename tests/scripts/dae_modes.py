#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Modes with equations of their own: what is held, what is explained, what is refused."""
import json
import math
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402
import saltus_run  # noqa: E402


class ModeCase(cli_case.CliCase):
    def run_text(self, text, *options):
        """(rows as dictionaries, event records, messages) of a run that succeeds."""
        self.write("m.lisma", text)
        result = self.good("run", "m.lisma", "-o", "m.csv", "--events", "m.jsonl", *options)
        table = saltus_run.read_table(self.read("m.csv"))
        rows = [dict(zip(table[0], row)) for row in table[1:]]
        records = [json.loads(line) for line in self.read("m.jsonl").splitlines()]
        return rows, records, result.err

    def fail_text(self, text, *options):
        self.write("m.lisma", text)
        result = self.saltus("run", "m.lisma", "-o", "m.csv", *options)
        self.assertNotEqual(result.status, 0)
        return result.err


class Guesses(ModeCase):
    def test_speeds_that_are_zero_beside_a_guess(self):
        """What rounding leaves of a speed of zero is no size of it: a damped pendulum starts from any guess below."""
        for force in (0, 3):
            for damping in (0, 0.1, 0.5):
                for guess in (-1.99, -1.9, -1.7, -1, -3):
                    rows, _, _ = self.run_text(f"const F = {force}, c = {damping}, l = 2;\nx'' = -f*x - c*x' + F;\n"
                                               "y'' = -f*y - 9.81 - c*y';\nx^2 + y^2 = l^2;\n"
                                               f"x(t0) = 0.3; x'(t0) = 0; y(t0) ~= {guess};\nexperiment {{ end = 0.01; }}\n")
                    self.assertAlmostEqual(rows[0]["y"], -math.sqrt(4 - 0.09), delta=1e-12)


class Undetermined(ModeCase):
    SUM = ("x' = 1; x(t0) = 0;\ny + z = x;\ne: z = 2*x;\n"
           "state b [time >= 1] { delete e; } from init;\nstate c [time >= 2] {} from b;\n"
           "experiment { end = 3; every = 0.5; }\n")

    def test_the_equations_that_are_left_hold(self):
        rows, records, messages = self.run_text(self.SUM)
        inside = [row for row in rows if 1 < row["time"] < 2]
        self.assertTrue(inside)
        for row in inside:
            self.assertIsNone(row["z"])
            self.assertAlmostEqual(row["y"], row["time"] - 2.0, delta=1e-12)
        self.assertAlmostEqual(rows[-1]["z"], 6.0, delta=1e-12)
        self.assertEqual([r["undetermined"] for r in records if "undetermined" in r], [["z"]])
        self.assertIn("undetermined z in mode b", messages)
        self.assertEqual(messages.count("W0825"), 1)

    def test_each_of_many_modes_is_told_of(self):
        states = "".join("state s_%d [time >= %d] { z + y = %d*x; delete e; } from %s;\n" %
                         (k, k, k, "s_%d" % (k - 1) if k > 1 else "init") for k in range(1, 71))
        _, _, messages = self.run_text("x' = 1; x(t0) = 0;\nz = 2*x + u;\ne: u + y = x;\ny = 1;\n" +
                                       states.replace("z + y = ", "z = u + ") +
                                       "experiment { end = 72; every = 10; }\n")
        self.assertEqual(messages.count("W0825"), 70)

    def test_motions_go_on_rather_than_stop(self):
        rows, _, _ = self.run_text(
            "x' = v; x(t0) = 0;\ne: v' = -1; v(t0) = 3;\n"
            "state b [time >= 1] { delete e; } from init;\nstate c [time >= 2] {} from b;\n"
            "experiment { end = 3; every = 0.5; }\n")
        at = {row["time"]: row for row in rows}
        self.assertAlmostEqual(at[1.5]["x"], 3.5, delta=1e-9)
        self.assertIsNone(at[1.5]["v"])
        self.assertAlmostEqual(at[3]["v"], 1.0, delta=1e-9)
        self.assertAlmostEqual(at[3]["x"], 6.0, delta=1e-9)

    def test_a_multiplier_without_its_constraint_is_held(self):
        rows, _, messages = self.run_text(
            "const l = 5;\nx'' = -s*x; x(t0) = 4; x'(t0) = 0;\ny'' = -s*y - g; y(t0) = -3;\n"
            "cst: x*x + y*y = l*l;\nstate b [time >= 1] { delete cst; } from init;\n"
            "experiment { end = 2; every = 0.5; out = x, y, s; }\n")
        self.assertIn("nothing determines 's' in mode main=b", messages)
        self.assertEqual([row["s"] is None for row in rows], [row["time"] > 1 for row in rows[:3]] +
                         [True] * (len(rows) - 3))

    def test_explain_names_them(self):
        self.write("m.lisma", self.SUM)
        text = self.good("explain", "m.lisma").out
        part = text[text.index("mode main=b"):text.index("mode main=c")]
        self.assertIn("undetermined  z\n", part)
        self.assertIn("depends on undetermined values  y\n", part)

    def test_explain_as_data_and_in_words(self):
        self.write("m.lisma", self.SUM)
        modes = json.loads(self.good("explain", "--json", "m.lisma").out)["modes"]
        self.assertEqual([mode["undetermined"] for mode in modes], [[], ["z"], []])
        self.assertEqual(modes[1]["depends_on_undetermined"], ["y"])
        self.assertIn("nothing determines z from here on", self.good("explain", "m.lisma", "--run").out)

    def test_aliases_and_large_blocks(self):
        self.write("m.lisma",
                   "const p = 2;\nx' = a; x(t0) = 0;\na = b;\nb = -c;\nc = p;\nd = a + c;\n"
                   "for i = 1:99 { z_[i] = 0.5*z_[i+1] + x; }\nz_100 = 0.25*z_1;\n"
                   "for i = 1:1999 { y_[i] = 0.5*y_[i+1] + x; }\ny_2000 = 0.25*y_1;\n")
        text = self.good("explain", "m.lisma").out
        self.assertIn("aliases       3 quantities that are another one, its negative, or a constant\n", text)
        self.assertIn("eliminated sparse: a block of 2000 equations, 4000 entries, ", text)
        self.assertIn("eliminated sparse where torn values do not fit: a block of 100 equations, ", text)
        mode, = json.loads(self.good("explain", "--json", "m.lisma").out)["modes"]
        self.assertEqual(mode["aliases"], 3)

    def test_structure_as_data(self):
        path = os.path.join(cli_case.SOURCE, "models", "dae", "fragile_pendulum.lisma")
        init, swing, fall = json.loads(self.good("explain", "--json", path).out)["modes"]
        self.assertEqual((init["states"], swing["states"], fall["states"]), (2, 2, 4))
        self.assertEqual(swing["implicit"]["index"], 3)
        self.assertEqual({e["text"]: e["differentiated"] for e in swing["equations"]},
                         {"x' = v_x": 1, "y' = v_y": 1, "x*x + y*y = l*l": 2, "m*v_x' = -T*x/l": 0,
                          "m*v_y' = -T*y/l - m*9.80665": 0})
        self.assertEqual(swing["integrated"], ["v_x", "v_y", "x", "x'", "y", "y'"])
        block = swing["order"][0]
        self.assertEqual((block["how"], sorted(block["unknowns"])),
                         ("linear", ["T", "v_x'", "v_y'", "x''", "y''"]))
        self.assertEqual(block["torn"], ["T"])
        self.assertEqual([inner["unknown"] for inner in block["inner"]], ["v_x'", "v_y'", "x''", "y''"])
        self.assertEqual(block["inner"][0]["value"], "-T*x/l/m")
        self.assertEqual(fall["undetermined"], ["T"])

    def test_an_equation_that_no_state_has_is_missed(self):
        self.assertIn("E0521", self.fail_text("x' + y' = 1; x(t0) = 0;\n"
                                              "state b [x > 1] { delete e; } from init;\ne: z = x;\n"))

    def test_too_many_stay_an_error(self):
        self.assertIn("E0520", self.fail_text(
            "x' = 1; y = x;\nstate b [x > 1] { y + x = 2; x - y = 1; } from init;\n"
            "experiment { end = 2; }\n"))


class Large(ModeCase):
    """What is found in small modes is found in large ones."""

    FIXED = ("for i = 1:%d { x_[i]' = -x_[i] + u_[i]; u_[i] = 3*x_[i]; %s }\n"
             "y = 2*x_17 + x_18; y(t0) = %d;\nexperiment { end = 0; }\n")

    def test_contradictory_initial_values(self):
        for count in (50, 3000):
            given = "x_[i](t0) = 1;"
            rows, _, _ = self.run_text(self.FIXED % (count, given, 3), "--out", "y")
            self.assertEqual(rows[0]["y"], 3.0)
            message = self.fail_text(self.FIXED % (count, given, 4))
            for part in ("E0820", "`y = 2*x_17 + x_18` (line 2) is off by 1", "x_17 = 1 (line 1)",
                         "y = 4 (line 2)"):
                self.assertIn(part, message)

    def test_a_computed_value_determines_states(self):
        rows, _, _ = self.run_text(self.FIXED % (3000, "", 4), "--out", "x_17,x_18,x_19,u_17")
        # each has an equal share in 2*x_17 + x_18 = 4, whatever the units of the two
        self.assertAlmostEqual(rows[0]["x_17"], 1.0, delta=1e-12)
        self.assertAlmostEqual(rows[0]["x_18"], 2.0, delta=1e-12)
        self.assertAlmostEqual(rows[0]["u_17"], 3.0, delta=1e-12)
        self.assertEqual(rows[0]["x_19"], 0.0)

    def test_a_network_of_two_thousand_nodes(self):
        """A ladder of resistors: potentials and currents by hand from the continued fraction."""
        count = 2000
        text = "x' = -i_1; x(t0) = 1;\n"
        for k in range(1, count + 1):
            left = "u_%d" % (k - 1) if k > 1 else "x"
            right = " + i_%d" % (k + 1) if k < count else ""
            text += "%s - u_%d = 2*i_%d;\ni_%d = 3*u_%d%s;\n" % (left, k, k, k, k, right)
        rows, _, _ = self.run_text(text + "experiment { end = 1; every = 0.5; }\n", "--out", "x,i_1,u_1,u_50")
        conductance = 3.0
        for _ in range(count - 1):
            conductance = 3.0 + 1.0 / (2.0 + 1.0 / conductance)
        total = 1.0 / (2.0 + 1.0 / conductance)
        for row in rows:
            self.assertAlmostEqual(row["i_1"], total * row["x"], delta=1e-12)
            self.assertAlmostEqual(row["u_1"], row["i_1"] / conductance, delta=1e-12)
        self.assertAlmostEqual(rows[-1]["x"], 2.718281828459045 ** -total, delta=1e-6)

    def chain(self, count):
        text = "const w = 9.81;\n"
        for i in range(1, count + 1):
            x, y = ("x_%d" % (i - 1), "y_%d" % (i - 1)) if i > 1 else ("0", "0")
            right = " + f_%d*(%%s_%d - %%s_%d)" % (i + 1, i + 1, i) if i < count else ""
            text += ("x_%d'' = -f_%d*(x_%d - %s)%s; x_%d(t0) = %d; x_%d'(t0) = 0;\n" %
                     (i, i, i, x, right % ("x", "x") if right else "", i, i, i))
            text += ("y_%d'' = -f_%d*(y_%d - %s)%s - w; y_%d(t0) = 0; y_%d'(t0) = 0;\n" %
                     (i, i, i, y, right % ("y", "y") if right else "", i, i))
            text += "(x_%d - %s)^2 + (y_%d - %s)^2 = 1;\n" % (i, x, i, y)
        return text + "energy = 0"  + "".join(
            " + (x_%d'^2 + y_%d'^2)/2 + w*y_%d" % (i, i, i) for i in range(1, count + 1)) + ";\n"

    def test_a_chain_of_pendulums_keeps_its_rods_and_its_energy(self):
        count = 40
        rows, _, _ = self.run_text(self.chain(count) + "experiment { end = 0.3; every = 0.1; }\n", "--out",
                                   ",".join("x_%d,y_%d,x_%d',y_%d'" % (i, i, i, i)
                                            for i in range(1, count + 1)))
        for row in rows:
            energy = 0.0
            at = (0.0, 0.0)
            for i in range(1, count + 1):
                here = (row["x_%d" % i], row["y_%d" % i])
                self.assertAlmostEqual((here[0] - at[0])**2 + (here[1] - at[1])**2, 1.0, delta=1e-10)
                energy += (row["x_%d'" % i]**2 + row["y_%d'" % i]**2) / 2 + 9.81 * here[1]
                at = here
            self.assertAlmostEqual(energy, 0.0, delta=1e-3)


class Energy(ModeCase):
    BALL = ("v' = -9.81; v(t0) = 0;\ny' = v; y(t0) = 19.62;\nenergy = v*v/2 + 9.81*y;\n"
            "state bounce [y <= 0] { v(t0) = -e*v; } from init, bounce;\n"
            "experiment { end = 3; }\n")

    def test_losses_are_told_in_records_and_summary(self):
        _, records, messages = self.run_text("const e = 0.5;\n" + self.BALL)
        before, after = records[-1]["energy"]
        self.assertAlmostEqual(after / before, 0.25, delta=1e-9)
        self.assertNotIn("W0826", messages)
        self.assertIn("energy       192.472 at the start, 48.118", messages)

    def test_gains_are_warned_of(self):
        _, _, messages = self.run_text("const e = 2;\n" + self.BALL)
        self.assertIn("W0826", messages)
        self.assertIn("577.417 created", messages)

    def test_a_plastic_closure_loses_what_its_jump_says(self):
        _, records, _ = self.run_text(
            "C1 * v1' = -i; v1(t0) = 3;\nC2 * v2' = i; v2(t0) = 0;\nsw: i = 0;\n"
            "const C1 = 1, C2 = 2;\nenergy = C1*v1*v1/2 + C2*v2*v2/2;\n"
            "state closed [time >= 1] { sw: v1 = v2; } from init;\nexperiment { end = 2; }\n")
        before, after = records[-1]["energy"]
        # half the sum of C (jump)^2: (1 * 2^2 + 2 * 1^2) / 2
        self.assertAlmostEqual(before - after, 3.0, delta=1e-12)


class Start(ModeCase):
    def test_values_that_contradict_explicit_equations(self):
        message = self.fail_text("x' = -x;\ny = 2*x;\nx(t0) = 1;\ny(t0) = 3;\n")
        self.assertIn("E0820", message)
        self.assertIn("`y = 2*x` (line 2) is off by 1, with x = 1 (line 3), y = 3 (line 4)", message)

    def test_what_is_computed_may_determine_a_state(self):
        rows, _, _ = self.run_text("x' = -x;\ny = 2*x;\ny(t0) = 3;\nz'' = -z' - z; z(t0) = 1;\n"
                                   "experiment { end = 1; every = 1; out = x, y, z, z'; }\n")
        self.assertAlmostEqual(rows[0]["x"], 1.5, delta=1e-12)
        # what has nothing to do with it stays where it was
        self.assertEqual((rows[0]["z"], rows[0]["z'"]), (1.0, 0.0))

    def test_a_slope_may_determine_a_state(self):
        rows, _, _ = self.run_text("x' = x*x*x + x;\nx'(t0) = 2;\nx(t0) ~ 0.5;\n"
                                   "experiment { end = 0.1; every = 0.1; out = x, x'; }\n")
        self.assertAlmostEqual(rows[0]["x"], 1.0, delta=1e-12)

    def test_far_guesses(self):
        # a full step of Newton's method from 0 goes far beyond, and the damped one stops short
        for text, name, wanted in (
                ("w*exp(w) + atan(50*w) = 20 + x;", "w", 2.1854338189519),
                ("w*w*w - 2*w + 2 = x - 1;", "w", -1.7692923542386314),
                ("exp(w) + w*exp(5) = 10 - x; w(t0) ~ 40;", "w", 0.0535330438)):
            rows, _, _ = self.run_text(f"x' = -x; x(t0) = 1;\n{text}\nexperiment {{ end = 0.1; every = 1; }}\n")
            self.assertAlmostEqual(rows[0][name], wanted, delta=1e-6, msg=text)

    def test_the_branch_in_force_counts(self):
        rows, _, _ = self.run_text("x(t0) = 0;\nif (time < 0.5) { x' = 10; } else { x = -5; }\n"
                                   "experiment { end = 1; every = 0.25; }\n")
        self.assertEqual((rows[0]["x"], rows[-1]["x"]), (0.0, -5.0))
        self.assertIn("E0820", self.fail_text(
            "x(t0) = 0;\nif (time < 0.5) { x = -5; } else { x' = 10; }\n"))


class Switched(ModeCase):
    """Two-line models with other equations in each branch (Modelica specification 2411 and its like)."""

    def values(self, text, *times):
        rows, _, _ = self.run_text(text + "experiment { end = 2; every = 0.25; rtol = 1e-9; }\n")
        after = {}
        for row in rows:
            after[row["time"]] = row  # the last one at a time: after the event
        return [after[t] for t in times]

    def test_a_value_then_a_motion(self):
        a, b = self.values("if (time < 1) { x = sin(time); } else { x' = 1; }\n", 0.5, 2)
        self.assertAlmostEqual(a["x"], 0.479425538604203, delta=1e-12)
        self.assertAlmostEqual(b["x"], 0.8414709848078965 + 1, delta=1e-9)

    def test_unknowns_change_sides(self):
        a, b = self.values("x' = u; x(t0) = 0;\nif (x < 0.5) { u = 1; } else { x = 0.5; }\n", 0.25, 2)
        self.assertEqual(a["u"], 1.0)
        self.assertAlmostEqual(b["x"], 0.5, delta=1e-12)
        self.assertAlmostEqual(b["u"], 0.0, delta=1e-9)

    def test_an_order_more(self):
        a, b = self.values("x(t0) = 1; x'(t0) = 0;\nif (time < 1) { x'' = -x; } else { x' = -x; }\n", 1, 2)
        self.assertAlmostEqual(a["x"], 0.5403023058681398, delta=1e-8)
        self.assertAlmostEqual(b["x"], 0.5403023058681398 / 2.718281828459045, delta=1e-8)

    def test_another_number_of_equations(self):
        a, b = self.values("x' = 1; x(t0) = 0; y = 2*x;\n"
                           "state more [x >= 1] { y = z - x; z*z*z + z = 10; } from init;\n", 0.5, 2)
        self.assertAlmostEqual(a["y"], 1.0, delta=1e-12)
        self.assertIsNone(a["z"])
        self.assertAlmostEqual(b["y"], 0.0, delta=1e-9)
        self.assertAlmostEqual(b["z"], 2.0, delta=1e-12)


class Rank(ModeCase):
    """Four ideal diodes as equations with switched coefficients: when all are off the source floats."""

    BRIDGE = ("const U = 10, w = 314.1592653589793, R = 100, C = 1e-4, Rs = 1;\n"
              "a - b = U*sin(w*time) - Rs*i;\n"
              "i = i1 - i3; 0 - i = i2 - i4;\n"
              "C*v' = i1 + i2 - v/R; v(t0) = 0;\n"
              "on1*(a - v) = (1 - on1)*i1; on2*(b - v) = (1 - on2)*i2;\n"
              "on3*(0 - a) = (1 - on3)*i3; on4*(0 - b) = (1 - on4)*i4;\n"
              "on1(t0) = 0; on2(t0) = 0; on3(t0) = 0; on4(t0) = 0;\n"
              "at 0.001 { set on1 = 1; set on4 = 1; }\nat 0.004 { set on1 = 0; set on4 = 0; }\n"
              "experiment { end = 0.006; every = 0.0005; rtol = 1e-10; }\n")

    def test_a_floating_source_takes_the_smallest_potentials(self):
        for native in ("on", "off"):
            rows, _, messages = self.run_text(self.BRIDGE, "--native", native)
            self.assertIn("W0827", messages)
            for row in rows:
                self.assertAlmostEqual(row["i"], row["i1"] - row["i3"], delta=1e-9)
                if row["on1"] == 0:
                    # only the difference is given, so they lie on both sides of zero
                    self.assertAlmostEqual(row["a"] + row["b"], 0.0, delta=1e-9)
                    self.assertAlmostEqual(row["i"], 0.0, delta=1e-9)

    def test_positions_that_were_only_tried_are_not_told(self):
        # with p = h everywhere, as at first, all flows are 0 and p is open
        for levels in ((3, 1, 1), (5, 2, 1), (6, 4, 1)):
            for unit in (4.0**-10, 1.0, 4.0**10):
                text = "q0 + q1 + q2 = 0;\n"
                for i, level in enumerate(levels):
                    text += f"h{i}' = -q{i}; q{i} = sign(h{i} - p)*sqrt(abs(h{i} - p)); h{i}(t0) = {level*unit!r};\n"
                rows, _, messages = self.run_text(text + f"experiment {{ end = {0.3*unit**0.5!r}; }}\n")
                self.assertNotIn("W0827", messages, text)
                for row in rows:
                    flows = [math.copysign(math.sqrt(abs(row[f"h{i}"] - row["p"])), row[f"h{i}"] - row["p"])
                             for i in range(3)]
                    self.assertAlmostEqual(sum(flows), 0.0, delta=1e-6*unit**0.5)
                    self.assertAlmostEqual(sum(row[f"h{i}"] for i in range(3)), sum(levels)*unit, delta=1e-9*unit)

    def test_equations_that_disagree_are_named(self):
        message = self.fail_text("x' = 1; x(t0) = 0; k(t0) = 1;\ny + z = x;\n2*y + (1 + k)*z = 2*x + 1;\n")
        for part in ("E0822", "`y + z = x` (line 2), off by 0.", "(line 3), off by", "y = ", "with x = 0"):
            self.assertIn(part, message)


class Errors(ModeCase):
    def test_a_solution_that_ends(self):
        message = self.fail_text("x' = -1; x(t0) = 1;\ny*y = x; y(t0) ~ 1;\nexperiment { end = 2; }\n")
        for part in ("E0822", "t = ", "`y*y = x` (line 2), off by", "with x = "):
            self.assertIn(part, message)

    def test_constraints_that_end(self):
        message = self.fail_text("x' = vx; y' = vy;\nvx' = f + k*x; vy' = k*y - 9.81;\n"
                                 "x(t0) = 0.5; y(t0) ~ -0.8;\nx*x + y*y = 1;\nx = 0.5 + time;\n"
                                 "experiment { end = 1; }\n")
        for part in ("E0824", "`x*x + y*y = 1` (line 4) is off by", "with vx = 1, "):
            self.assertIn(part, message)

    def test_the_mode_is_named(self):
        message = self.fail_text("x' = 1; x(t0) = 0; a: y = 1;\n"
                                 "state s [x >= 1] { a: y*y = 0 - x; } from init;\nexperiment { end = 2; }\n")
        self.assertIn("no solution was found in mode main=s of `y*y = 0 - x` (line 2)", message)

    def test_values_before_the_event(self):
        message = self.fail_text("p' = 1; p(t0) = 2; x' = 1; x(t0) = 0; b: f = 0;\n"
                                 "state tied [x >= 1] { p' = f; b: p*p + 1 = 0; } from init;\n"
                                 "experiment { end = 2; }\n")
        self.assertIn("in mode main=tied: `p*p + 1 = 0` (line 2) is off by 10, with p = 3", message)


class Extrapolation(ModeCase):
    """Guards on solved unknowns, with steps bounded by the slopes of the differentiated equations."""

    def times(self, text, *options):
        _, records, _ = self.run_text(text, *options)
        return [r["t"] for r in records if r["kind"] == "state"]

    def test_a_force_and_a_root(self):
        pendulum = ("x'' = -s*x; x(t0) = 4; x'(t0) = 0;\ny'' = -s*y - 9.81; y(t0) = -3;\n"
                    "x*x + y*y = 25;\nn(t0) = 0;\n"
                    "state strong unilateral(eps = 1e-8)[s >= 3] { set n = n + 1; } from init, strong;\n"
                    "experiment { end = 5; rtol = 1e-9; atol = 1e-11; }\n")
        root = ("x' = 1; x(t0) = 0;\ny*y*y + y = x; y(t0) ~ 0;\nn(t0) = 0;\n"
                "state past unilateral(eps = 1e-8)[y >= 0.5] { set n = n + 1; } from init, past;\n"
                "experiment { end = 2; rtol = 1e-9; }\n")
        for text, first in ((pendulum, None), (root, 0.625)):
            located = self.times(text)
            found = self.times(text, "--detection", "extrapolation")
            self.assertEqual(len(located), len(found))
            self.assertTrue(located)
            for a, b in zip(located, found):
                # on the left side, within eps of the boundary
                self.assertAlmostEqual(a, b, delta=1e-7)
            if first:
                self.assertAlmostEqual(found[0], first, delta=3e-8)
                self.assertLessEqual(found[0], first)


class Entered(ModeCase):
    """Modes are analysed when they are entered: those that no run enters may have any equations."""

    HALF_BRIDGE = ("%(L)s*i' = u - %(R)s*i; i(t0) = 0;\nhi: i1 = 0;\nlo: u = 0;\ni = i1 + i2;\n"
                   "automaton A { state on [%(g)s > 0] { hi: u = %(V)s; } from init;\n"
                   "  state init [%(g)s <= 0] {} from on; }\n"
                   "automaton B { state off [%(g)s > 0] { lo: i2 = 0; } from init;\n"
                   "  state init [%(g)s <= 0] {} from off; }\n")

    def test_switches_that_change_in_one_instant(self):
        for L, R, V in ((0.1, 1.0, 10.0), (1e-9, 1e-3, 1e4), (1e3, 1e6, 1e-6)):
            period = 3.0 * L / R
            text = self.HALF_BRIDGE % {"L": L, "R": R, "V": V, "g": "sin(%r*time)" % (6.0 / period)}
            rows, records, _ = self.run_text(text, "--until", repr(2.0 * period), "--rtol", "1e-8")
            self.assertGreaterEqual(len(records), 4)
            for row in rows:
                self.assertTrue(row["u"] in (0.0, V))
                self.assertLessEqual(-1e-6 * V / R, row["i"])

    def test_states_that_nothing_reaches(self):
        for broken in ("x = 1;", "e: y = 3*x;", "y = x; f: y = 1;"):
            self.write("m.lisma", "x' = 1; x(t0) = 0; y = 2*x;\nn(t0) = 0;\n"
                       "state never [n > 1] { %s } from init;\n" % broken)
            self.good("run", "m.lisma", "-q", "-o", "m.csv", "--until", "1")
            result = self.good("check", "m.lisma")
            self.assertIn("W0520", result.err)

    def test_one_of_each_family_is_checked(self):
        self.write("m.lisma", "for i = 1:300 { x_[i](t0) = i;\n"
                   "  if (x_[i] > 5) { x_[i]' = -1; } else { x_[i]' = 1; } }\n"
                   "for i = 1:200 { y_[i]' = 1; y_[i](t0) = 0;\n"
                   "  automaton a_[i] { state s [y_[i] > 2] { y_[i] = 3; } from init; } }\n")
        result = self.good("check", "m.lisma")
        self.assertEqual(result.err.count("W0520"), 1)
        self.assertIn("most modes were not looked at", result.out)

    def test_too_many_equations_in_a_long_chain(self):
        n = 3000
        self.write("m.lisma", "for i = 1:%d { x_[i] = x_[i+1] + 1; }\nx_1 = 0; x_%d = 1;\n"
                   "for i = 2:%d { x_[i] = 1; }\n" % (n, n + 1, n))
        self.assertIn("%d for %d unknowns" % (2 * n + 1, n + 1),
                      self.saltus("check", "m.lisma").err)


class Starts(ModeCase):
    """Initial values that read what the equations compute."""

    def test_they_follow_in_any_order(self):
        for unit in (1.0, 1e-9, 1e9):
            rows, _, messages = self.run_text(
                "x' = -x; x(t0) = V;\nV = 2*W;\nW = %r + y;\ny' = 0; y(t0) = z;\nz = %r;\n"
                "w' = x; w(t0) = 3*V + x;\nexperiment { end = 0; }\n" % (3.0 * unit, 4.0 * unit))
            self.assertAlmostEqual(rows[0]["x"] / unit, 14.0, delta=1e-12)
            self.assertAlmostEqual(rows[0]["w"] / unit, 56.0, delta=1e-12)
            self.assertNotIn("W0621", messages)

    def test_a_circle_through_equations(self):
        self.assertIn("E0650", self.fail_text("x' = -x; x(t0) = y + 1;\ny = 2*x;\n"))


class Rounding(ModeCase):
    def test_unknowns_below_the_rounding_of_their_terms(self):
        """8 T beside 2500 is rounded to 5e-14 of T: that far the solution is determined, however small T is."""
        for end in (1.0, 1e-4, 1e-7, 1e-10, 1e-13, 1e-15):
            rows, _, messages = self.run_text("x' = 1;  x(t0) = 0;\n3000*ln(2500/(2500 - 8*T)) - x = 0;  T(t0) ~ 0;\n"
                                              "experiment { end = %r; }\n" % end)
            self.assertNotIn("warning", messages)
            for row in rows:
                self.assertAlmostEqual(row["T"], -2500 / 8 * math.expm1(-row["x"] / 3000), delta=1e-12)

    def test_equations_without_solution(self):
        for equation in ("z^2 + 1 = x", "exp(z) + 1e-6 = x - x", "z^2 + 1e-9 = x - x", "sin(z) = x + 1.01"):
            messages = self.fail_text(f"x' = 1;  x(t0) = 0;\n{equation};  z(t0) ~ 0.3;\nexperiment {{ end = 0.5; }}\n")
            self.assertIn("E0822", messages)


class Reinitialisation(ModeCase):
    """Jumps along the directions of the motion onto curved constraints."""

    def test_a_product(self):
        for a, b in ((1.0, 1.0), (1e-6, 1e6), (1e6, 1e-3)):
            rows, _, _ = self.run_text(
                "S1' = -2*%(a)r*J; S2' = %(b)r*J; S1(t0) = 3*%(a)r; S2(t0) = 3*%(b)r;\nf: J = 0;\n"
                "state eq [time >= 1] { f: S1*S2 = %(c)r; } from init;\nexperiment { end = 2; }\n"
                % {"a": a, "b": b, "c": a * b})
            step = (math.sqrt(73) - 3) / 4
            self.assertAlmostEqual(rows[-1]["S1"] / a, 3 - 2 * step, delta=1e-9)
            self.assertAlmostEqual(rows[-1]["S2"] / b, 3 + step, delta=1e-9)

    def test_a_circle_and_a_saturation(self):
        text = ("x' = %s; y' = %s; x(t0) = 3; y(t0) = 1;\nf: J = 0;\n"
                "state tied [time >= 1] { f: %s; } from init;\nexperiment { end = 1.5; }\n")
        rows, _, _ = self.run_text(text % ("-x*J", "-y*J", "x*x + y*y = 1"))
        self.assertAlmostEqual(rows[-1]["x"] ** 2 + rows[-1]["y"] ** 2, 1.0, delta=1e-9)
        rows, _, _ = self.run_text(text % ("J", "2*J", "exp(x) + y = 1"))
        self.assertAlmostEqual(math.exp(rows[-1]["x"]) + rows[-1]["y"], 1.0, delta=1e-9)
        self.assertAlmostEqual(rows[-1]["y"] - 1, 2 * (rows[-1]["x"] - 3), delta=1e-9)

    def test_a_solution_behind_a_minimum(self):
        rows, _, _ = self.run_text("a = sin(b) + 1; b = a*2;\nx' = a; x(t0) = 0;\nexperiment { end = 0; }\n")
        self.assertAlmostEqual(rows[0]["a"], math.sin(rows[0]["b"]) + 1, delta=1e-12)


if __name__ == "__main__":
    unittest.main()
