#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Units: conversion against tables of their own, inference through equations in both directions, parts, ports and
loops, temperatures on scales that begin at different points, and where units are shown."""
import os
import random
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import mat_file  # noqa: E402
import saltus_run  # noqa: E402

# value * factor is in base units; the letter tells the dimension
LENGTH = {"m": 1, "mm": 1e-3, "km": 1e3, "um": 1e-6, "cm": 1e-2}
TIME = {"s": 1, "ms": 1e-3, "min": 60, "h": 3600, "d": 86400}
MASS = {"kg": 1, "g": 1e-3, "t": 1e3, "mg": 1e-6}
PRESSURE = {"Pa": 1, "bar": 1e5, "kPa": 1e3, "N/m^2": 1, "kg/(m*s2)": 1, "mbar": 100}
ENERGY = {"J": 1, "Wh": 3600, "kWh": 3.6e6, "N*m": 1, "kg*m^2/s^2": 1, "W s": 1, "V.A.s": 1}
ANGLE = {"rad": 1, "deg": 0.017453292519943295, "%": 0.01, "1": 1}
FAMILIES = [LENGTH, TIME, MASS, PRESSURE, ENERGY, ANGLE]


class Units(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def command(self, text, *options):
        path = os.path.join(self.folder, "model.lisma")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return saltus_run.command(*[path if o == "MODEL" else o for o in options])

    def last(self, text, names):
        """Last row of a run over one second, and the row of units."""
        status, out, errors = self.command(text, "run", "MODEL", "-q", "-o", "-", "--samples", "1", "--until", "1",
                                           "--units", "--out", names)
        self.assertEqual(status, 0, errors)
        lines = out.strip().split("\n")
        return [float(cell) for cell in lines[-1].split(",")[1:]], lines[1].split(",")

    def test_conversion(self):
        draw = random.Random(1)
        for _ in range(12):
            texts, names, wanted = [], [], []
            for k in range(6):
                top, bottom = draw.choice(FAMILIES), draw.choice(FAMILIES)
                a, b, c, d = draw.choice(list(top)), draw.choice(list(bottom)), draw.choice(list(top)), draw.choice(list(bottom))
                value = draw.choice([1, 2.5, -7, 1e6])
                texts.append('x%d(t0) = %r "(%s)/(%s)^2";' % (k, value, a, b))
                names.append("x%d in (%s)/(%s)^2" % (k, c, d))
                wanted.append(value * top[a] / top[c] / (bottom[b] / bottom[d]) ** 2)
            got, units = self.last("\n".join(texts), ",".join(names))
            for value, right in zip(got, wanted):
                self.assertLessEqual(abs(value - right), 1e-13 * abs(right), texts)
            self.assertEqual(units, ["s"] + [name.split(" in ")[1] for name in names])

    def test_through_functions(self):
        declared = ('function kin(m, v) = m*v^2/2; function twice(a) { b = a + a; return b; } const m = 2 "kg", v = 3 "m/s", L = 4 "m^2";'
                    "const n = 2; ")
        right = ('E = kin(m, v) + 1 "J";', 'a = twice(m) + 1 "kg"; b = twice(v) + 1 "m/s";', 'a = L^(1/2) + 1 "m";', 'a = L^-1 + 1 "1/m^2";',
                 'a = root(L, 2) + 1 "m";', 'a = pow(L, 2) + 1 "m^4";', 'a = v^n;', 'x(t0) = 0 "m"; x\' = v; w = der(x) + 1 "m/s";',
                 'x(t0) = 0 "m"; at 2 "s" { set x = 1 "m"; } y = delay(x, 0.5 "s") + 1 "m";', "a = atan2(v, v) + sin(quotient(m, m));")
        for text in right:
            status, _, errors = self.command(declared + text, "check", "MODEL")
            self.assertEqual((status, "E0315" in errors), (0, False), text + errors)
        wrong = ('E = kin(m, v) + 1 "N";', 'a = twice(m) + v;', 'function f(x) = x + 1 "s"; a = f(m);', 'a = L^(1/2) + L;', "a = L^v;",
                 "a = pow(L, v);", "a = atan2(m, v);", "a = quotient(m, v);", "a = atan(v);", "a = log(v, 2);", "a = sec(v);", "a = asinh(v);",
                 'x(t0) = 0 "m"; x\' = v; w = der(x) + 1 "m";', 'x(t0) = 0 "m"; at 2 "min" { set x = 1 "m"; }', 'x(t0) = 0 "m"; y = delay(x, 2 "m");',
                 'x(t0) = 0 "m"; at 1 each 1 "m" repeat * { set x = 1 "m"; }', 'x(t0) = 0 "m"; after 2 "h" [x > 1 "m"] { set x = 0 "m"; }',
                 'x(t0) = 0 "m"; x { unit = "s"; }')
        for text in wrong:
            status, _, errors = self.command(declared + text, "check", "MODEL")
            self.assertEqual((status, errors.count("error[E0315]")), (1, 1), text + errors)
        for unit in ("m^999", "m^-1e9", "s1000", "m//s", "", "(" * 100 + "m" + ")" * 100):
            self.assertIn("E0316", self.command('x(t0) = 1 "%s";' % unit, "check", "MODEL")[2], unit)
        # where it stands: the call, and the instance of the part
        errors = self.command('function f(x) = x + 1 "s"; part P { y = f(u); } P a; a.u = 1 "m";', "check", "MODEL")[2]
        self.assertIn("the function is called here", errors)
        self.assertIn("in the part 'P' that is made here", errors)

    def test_temperatures(self):
        model = 'T(t0) = 20 "degC"; F(t0) = 50 "degF"; K(t0) = 300 "K"; d = T - 5 "degC"; up = T + 5 "K"; m = (T + d)/2;'
        got, units = self.last(model, "T in K,T in degF,F in degC,F in K,K in degC,up in K,d,T,K,up,m")
        for value, right in zip(got, [293.15, 68, 10, 283.15, 26.85, 298.15, 15, 20, 300, 25, 17.5]):
            self.assertAlmostEqual(value, right, 11)
        # a mean may be a point or a difference: nothing is told
        self.assertEqual(units[7:], ["K", "degC", "K", "degC", ""])
        for text in ('state a [T > 300 "K"] {} from init;', 'x(t0) = 300 "K"; x = T;', 'z = if(T > 10 "degF", 1, 0);',
                     'x = min(T, 10 "K");'):
            status, _, errors = self.command('T(t0) = 20 "degC"; T\' = 1;' + text, "check", "MODEL")
            self.assertEqual((status, errors.count("E0315")), (1, 1), text + errors)
            self.assertIn("degC", errors)

    def test_inference(self):
        cases = [
            ("x(t0) = 1 \"m\"; x' = v; v' = a; a = 1;", "v,a,x'", ["m/s", "m/s^2", "m/s"]),
            ('const R = 2 "Ohm"; U = 3 "V"; U = R*i; P = U*i;', "i,P", ["A", "W"]),
            ('F = 3 "N"; s = 2 "m"; E = F*s; Q = E/4; k*s = F; n = F/F;', "E,Q,k,n", ["J", "J", "kg/s^2", "1"]),
            ('A = 4 "m^2"; r = sqrt(A); h = max(r, 2); d = abs(-h); w = delay(r, 1, 0);', "r,h,d,w", ["m"] * 4),
            ('a { unit = "kg"; } a = 5; a = b; b = 2*c + d; d = 1;', "b,c,d", ["kg", "kg", "kg"]),
            ('const N = 3000; for i = 1:N { T[i](t0) = 1 "m"; T[i]\' = w[i]; w[i](t0) = 0; }', "T7,w2999", ["m", "m/s"]),
            ('part P(k = 2 "1/s") { x\' = -k*x; x(t0) = 1; } P a, b[3](k = i*1 "1/s"); a.x { unit = "m"; } y = b[2].x;'
             ' y { unit = "kg"; }', "a.x,a.x',b[2].x,b[3].x", ["m", "m/s", "kg", "kg"]),
            ("part R(R = 2) { port p { across v; through i; } port n { across v; through i; }"
             " p.v - n.v = R*p.i; p.i + n.i = 0; } part G { port p { across v; through i; } p.v = 0; }"
             ' part B { port p { across v; through i; } port n { across v; through i; } p.v - n.v = 5 "V";'
             ' p.i + n.i = 0; } B b; R r(R = 2 "Ohm"); G g; connect(b.p, r.p); connect(b.n, r.n, g.p);',
             "r.p.v,r.p.i,b.n.i,g.p.v", ["V", "A", "A", "V"]),
        ]
        for model, names, wanted in cases:
            _, units = self.last(model, names)
            self.assertEqual(units[1:], wanted, model)

    def test_mismatch(self):
        cases = [
            'x { unit = "m"; } y { unit = "s"; } x = 1; y = x;',
            'a = 1 "m" + 1 "s";', 'a = 1 "kW" + 1 "W";', 'a = 2 "m"; b = sin(a);',
            "part S { port p { across v; through i; } p.v { unit = \"V\"; } p.v = 1; } part T { port p { across v;"
            ' through i; } p.v { unit = "m"; } p.i = 0; } S s; T t; connect(s.p, t.p);',
            'x(t0) = 1 "m"; x\' = 2 "m";', 'x(t0) = 1 "m"; at 1 { set x = 2 "kg"; }',
            # indices and built-in numbers are factors; a function of a part reads the index of its array
            'for i = 1:3 { x[i]\' = -i*(2 "s")*x[i]; x[i](t0) = 1 "m"; }',
            'part P(k = 1) { x\' = k; x(t0) = 1 "m"; } P p[3](k = i*2 "kg");',
            'part P(k = 1) { function f(x) = k*x; y = f(3 "s") + 1 "kg"; } P p[3](k = i*2);',
            'y = sum(i = 1:3, i*2 "s") + 1 "kg";', 'y = prod(i = 1:3, i)*2 "s" + 1 "kg";', 'y = e*3 "s" + 1 "kg";', 'y = true*3 "s" + 1 "kg";',
            'y = pi; y { unit = "m"; } z = pi*2 "s" + 1 "kg";', 'y = TIME*2 + 1 "kg";',
        ]
        for model in cases:
            status, _, errors = self.command(model, "check", "MODEL")
            self.assertEqual((status, errors.count("E0315")), (1, 1), model + errors)
        # ... but fit any unit as a value, and a declaration hides them wherever it stands
        for model in ('for i = 1:3 { x[i](t0) = i; x[i] { unit = "m"; } x[i]\' = i*2 + v; } z = x[1] + 1 "m"; v = e;',
                      'y = e*3 "s"; e = 2 "m"; z = y + 1 "m*s";', 'F = 2 "kg"*g; z = F + 1 "N";', 'i = 1 "m"; for i = 1:2 { x[i] = i*1 "s"; } z = i + 1 "m";'):
            status, _, errors = self.command(model, "check", "MODEL")
            self.assertEqual((status, "E0315" in errors), (0, False), model + errors)
        for unit in ("furlong", "", "m^", "m//s", "(m", "m)", "kdegC", "m^1e400", "(" * 100):
            status, _, errors = self.command('x(t0) = 1 "%s";' % unit, "check", "MODEL")
            self.assertEqual((status, errors.count("E0316")), (1, 1), unit + errors)
        status, _, errors = self.command("x' = y; y = 2*x; x(t0) = 1;", "check", "MODEL")
        self.assertEqual((status, errors), (0, ""))

    def test_two_spellings_of_one_name(self):
        loop = "for i = 1:%d { x[i]' = %s; } "
        wrong = (loop % (2, '2 "kg/s"') + 'x1(t0) = 1 "m"; x2(t0) = 1;', loop % (100000, '2 "kg/s"') + 'x5000(t0) = 1 "m";',
                 'const k1 = 1 "m", k2 = 2; for i = 1:2 { y[i] = 3 "s" + k[i]; }', 'for i = 1:2 { x[i]a(t0) = 1 "m"; } y = x1a + 1 "s";',
                 'for i = 1:2 { x[i,1](t0) = 1 "m"; } y = `x[2,1]` + 1 "s";',
                 # what one of them is used with tells nothing of its own
                 'x1 { unit = "m"; } for i = 1:3 { x[i] = i; } y = x3 + 1 "s";', 'x[1](t0) = 1 "m"; for i = 1:3 { x[i]\' = 0; } y = x[3] + 1 "s";',
                 # a message that names what no other statement does
                 'function f(u) = u + 1 "s"; x1(t0) = 1 "m"; x2(t0) = 1; for i = 1:2 { x[i]\' = 0; y[i] = f(x[i]); }',
                 # x11 is made of both
                 'for i = 1:12 { x[i](t0) = 1 "m"; } for i = 1:2 { x1[i](t0) = 1 "s"; }')
        for model in wrong:
            status, _, errors = self.command(model, "check", "MODEL")
            self.assertEqual((status, errors.count("error[E0315]")), (1, 1), model + errors)
        # beyond the range of the loop it is another name; quantities of several kinds may be numbered
        right = ('const T0 = 3 "s"; for i = 1:2 { T[i]\' = 1 "K/s"; T[i](t0) = 0; } z = T0 + 1 "s";',
                 'x1(t0) = 1 "m"; x2(t0) = 1 "s"; for i = 1:2 { x[i]\' = 0; }', 'x[1](t0) = 1 "m"; x[2](t0) = 1 "s"; for i = 1:2 { x[i]\' = 0; }',
                 'x[1] = 1 "m"; x[2] = 1 "s";', loop % (2, '2 "m/s"') + 'x1(t0) = 1 "m"; z = x2 + 3 "m";')
        for model in right:
            status, _, errors = self.command(model, "check", "MODEL")
            self.assertEqual((status, "E0315" in errors), (0, False), model + errors)
        self.assertEqual(self.last('x1(t0) = 1 "m"; ' + loop % (3, "v[i]") + "for i = 1:3 { v[i] = 1; }", "x3,v2")[1], ["s", "m", "m/s"])
        self.assertEqual(self.last('x1(t0) = 1 "m"; x2(t0) = 1 "kg"; for i = 1:2 { x[i]\' = 0; }', "x1,x2")[1], ["s", "m", "kg"])

    def test_local_names_in_any_order(self):
        for text, status in (('const c = 1 "kg"; function f(x) { a = c + x; c = 2*x; return a; } y = f(3 "m") + 1 "m";', 0),
                             ('function f(x) { a = c + x; c = 2 "kg"; return a; } y = f(3 "m");', 1),
                             ('const k = 1 "kg"; function f(x) { a = sum(k = 1:2, b*k); b = k*x; return a; } y = f(3 "m") + 1 "kg*m";', 0)):
            found, _, errors = self.command(text, "check", "MODEL")
            self.assertEqual((found, errors.count("error[E0315]")), (status, status), text + errors)

    def test_any_order_of_statements(self):
        models = (["T' = P/(m*c);", 'const P = 2 "kW", c = 4.186 "kJ/(kg*K)", m = 1.5 "kg";', 'T(t0) = 20 "degC";',
                   'd = T - 5 "degC";', 'up = T + 5 "K";', "mean = (T + up)/2;"],
                  ["E' = P;", 'E(t0) = 0 "J";', "P = U*i;", 'U = 3 "V";', "R*i = U;", 'R = 2 "Ohm";', "Q = E + W;", "W = 1;"],
                  ["y = max(x, z);", "x = if(time > 1, u, v);", "u = 1;", 'v = 2 "V";', "z = w;", "w = 1;"],
                  ["part P(k = 2 \"1/s\") { x' = -k*x; x(t0) = 1; }", "P a, b[3](k = i);", 'a.x { unit = "m"; }', "y = b[2].x;",
                   'y { unit = "kg"; }'])
        draw = random.Random(7)
        for statements in models:
            found = set()
            for _ in range(6):
                status, out, errors = self.command("\n".join(statements), "run", "MODEL", "-q", "-o", "-", "--samples", "1",
                                                   "--until", "1", "--units")
                self.assertEqual(status, 0, errors)
                names, units = [line.split(",") for line in out.split("\n")[:2]]
                found.add(tuple(sorted(zip(names, units))))
                draw.shuffle(statements)
            self.assertEqual(len(found), 1, (statements, found))

    def test_parameters_have_the_unit_of_their_default(self):
        part = 'part P(k = 1 "kg") { y = k; } '
        _, units = self.last(part + 'P a(k = 3), b[2](k = 3), c[2](k = i*3);', "a.y,b[1].y,c[2].y")
        self.assertEqual(units[1:], ["kg"] * 3)
        status, _, errors = self.command(part + 'part Q(m = 1 "g") { P p[2](k = i*m); } Q q;', "check", "MODEL")
        self.assertEqual((status, errors.count("error[E0315]")), (1, 1), errors)
        for text in ("P a(k = 3 \"m\");", 'P a[2](k = i*3 "m");', "P a(k = 3); z = a.y + 1 \"m\";", "P a[2](k = i); z = a[2].y + 1 \"m\";"):
            status, _, errors = self.command(part + text, "check", "MODEL")
            self.assertEqual((status, errors.count("error[E0315]")), (1, 1), text + errors)

    def test_comparisons_tell_units(self):
        moving = "x' = 1; x(t0) = 0; "
        wrong = ('state s [x > 1 "m"] {} from init; state r [x > 2 "s"] {} from s;', "state s [time > x] {} from init; z = x + 1 \"m\";",
                 'y = max(x, 2 "m"); z = x + 1 "s";', 'y = if(time > 1, x, 2 "m"); z = x + 1 "s";', 'y = clamp(x, 0 "m", 1); state s [x > 1 "s"] {} from init;')
        for text in wrong:
            status, _, errors = self.command(moving + text, "check", "MODEL")
            self.assertEqual((status, errors.count("error[E0315]")), (1, 1), text + errors)
        # a name inside a function is its argument, not the variable of that name
        right = ('function f(x) = if(x > 2 "m", 1, 2); y = f(q); q = 1; z = x + 1 "s";', "y = sum(i = 1:3, max(i, 2)); i = 1; z = i + 1 \"s\";")
        for text in right:
            status, _, errors = self.command(moving + text, "check", "MODEL")
            self.assertEqual((status, "E0315" in errors), (0, False), text + errors)

    def test_a_wrong_sum_tells_nothing(self):
        motor = """part Motor(R = 0.8 "Ohm", L = 6 "mH", k = 1.1 "V*s", J = 0.05 "kg*m^2", n = 12) {
          L*i' = u - R*i - k*wm;  i(t0) = 0 "A";  wm = n*w;  torque = n*k*i; }
        Motor head;  head.u = 200 "V";  const Jdrum = 1.8 "kg*m^2";
        (Jdrum + head.n^2*head.J)*wh' = head.torque;  wh(t0) = 0 "rad/s";  head.w = wh;"""
        room = """part Room(C = 2 "MJ/K", U = 30 "W/K", T0 = 18 "degC") { C*T' = heat - U*(T - outside);  T(t0) = T0; }
        Room r[3](C = 2 + i/5, T0 = 16 + i);  for i = 1:3 { r[i].outside = 5 "degC";  r[i].heat = 100 "W"; }
        state hot [r[2].T > 30 "degC"] {} from init;  mean = sum(i = 1:3, r[i].T)/3;"""
        for text in (motor, room):
            status, _, errors = self.command(text, "check", "MODEL")
            self.assertEqual((status, errors.count("error[E0315]")), (1, 1), text + errors)

    def test_asking_for_the_impossible(self):
        for name, word in (("x in s", "which is no s"), ("x in parsec", "is no unit"), ("y in m", "no unit"),
                           ("nothing in m", "has no `nothing in m`")):
            status, out, errors = self.command('x(t0) = 1 "m"; y\' = 1;', "run", "MODEL", "-q", "-o", "-", "--out", name)
            self.assertIn(status, (1, 2))
            self.assertEqual(out, "")
            self.assertIn(word, errors)

    def test_where_they_are_shown(self):
        csv, svg, mat = (os.path.join(self.folder, name) for name in ("a.csv", "a.svg", "a.mat"))
        model = 'x(t0) = 1 "km"; x\' = v; v(t0) = 1; y\' = 1; automaton a { state s [y > 0.5] {} from init; }'
        status, _, errors = self.command(model, "run", "MODEL", "-q", "-o", csv, "--units", "--plot", svg,
                                         "--until", "1", "--out", "x,x in m,v,y,a.state")
        self.assertEqual(status, 0, errors)
        with open(csv, encoding="utf-8") as file:
            self.assertEqual(file.readlines()[:2], ["time,x,x in m,v,y,a.state\n", "s,km,m,km/s,,\n"])
        with open(svg, encoding="utf-8") as file:
            picture = file.read()
        for label in (">x [km]<", ">x in m<", ">y<", ">time [s]<"):
            self.assertIn(label, picture)
        # the picture of a file is that of the run
        status, out, errors = saltus_run.command("plot", csv)
        self.assertEqual(status, 0, errors)
        self.assertIn("x [km]", out)
        self.assertIn("time [s]", out)
        status, _, errors = self.command(model, "run", "MODEL", "-q", "-o", mat, "--until", "1", "--out", "x,y")
        self.assertEqual(status, 0, errors)
        table = mat_file.read(mat)
        self.assertEqual([u[0][0] for u in table["units"]], ["s", "km", ""])
        # a model without units shows none
        status, _, errors = self.command("y' = 1;", "run", "MODEL", "-q", "-o", mat, "--plot", svg, "--until", "1")
        self.assertEqual(status, 0, errors)
        self.assertNotIn("units", mat_file.read(mat))
        with open(svg, encoding="utf-8") as file:
            self.assertIn(">time<", file.read())

    def test_rows_are_counted_without_the_headers(self):
        path = os.path.join(self.folder, "a.csv")
        status, _, errors = self.command('x(t0) = 1 "m";', "run", "MODEL", "-o", path, "--units", "--samples", "4")
        self.assertEqual(status, 0, errors)
        self.assertRegex(errors, "rows +5 in")


if __name__ == "__main__":
    unittest.main()
