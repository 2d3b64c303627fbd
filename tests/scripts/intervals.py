#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""95 % intervals of fits hold the true values in 95 of 100 noisy repetitions: an engine's stiffness and damping, a ball's
restitution and drag from the moments it is heard, a thermostat.

SALTUS_FITS makes it 400 repetitions, and the bounds as narrow as that allows (`make sensitivities`)."""
import csv
import io
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

FITS = int(os.environ.get("SALTUS_FITS", "10"))

ENGINE = ("const m = 500, k = 1e5, damping = 0.1, F = 1000, T = 2, omega = 30;\n"
          "y'' = (F*sin(phi) - k*y)/m - 2*damping*sqrt(k/m)*y'; y(t0) = 0; y'(t0) = 0;\nphi' = w; phi(t0) = 0;\n"
          "w(t0) = 0;\nspeed: w' = omega/T;\nstate running [time >= T] { speed: w' = 0; } from init;\nexperiment { end = 4; }\n")
BALL = ("const k = 0.8, c = 0.1;\ny' = v; y(t0) = 10;\nv' = -9.81 - c*v*abs(v); v(t0) = 0;\n"
        "state hit [y <= 0] && [v < 0] { set v = -k*v; } from init, hit;\nexperiment { end = 7; }\n")
ROOM = ("const power = 5, loss = 0.2, on = 18, off = 21;\nT' = power*u - loss*(T - 5); T(t0) = 15;\nu(t0) = 1;\n"
        "automaton H { state rest [T >= off] { set u = 0; } from init, heat; state heat [T <= on] { set u = 1; } from rest; }\n"
        "experiment { end = 12; }\n")


class Intervals(cli_case.CliCase):
    def rows(self, text):
        return list(csv.DictReader(io.StringIO(text)))

    def samples(self, model, every, column):
        table = self.rows(self.good("run", model, "--every", str(every), "--out", column, "--rtol", "1e-10", "-o", "-", "-q").out)
        seen, out = set(), []
        for row in table:
            if row["time"] not in seen:
                seen.add(row["time"])
                out.append((float(row["time"]), float(row[column])))
        return out

    def entries(self, model, state, number):
        measures = [part for i in range(number) for part in ("-m", f"time({state}, {i + 1})")]
        row = self.rows(self.good("sweep", model, "--vary", "seed=0", *measures, "--rtol", "1e-10",
                                  "-o", "-", "-q").out)[0]
        return [float(row[f"time({state}, {i + 1})"]) for i in range(number)]

    def cover(self, name, text, truth, starts, lines):
        """How often each true value lies in its interval."""
        inside = dict.fromkeys(truth, 0)
        self.write("fit.lisma", text)
        settings = [part for n, v in starts.items() for part in ("--set", f"{n}={v!r}")]
        for i in range(FITS):
            rng = random.Random(f"{name} {i}")
            self.write("data.csv", lines(rng))
            result = self.good("fit", "fit.lisma", "--data", "data.csv", "--params", ",".join(truth), *settings, "-o", "-", "-q")
            for row in self.rows(result.out):
                lower, upper = (float(row[c]) for c in ("lower", "upper"))
                inside[row["parameter"]] += lower <= truth[row["parameter"]] <= upper
        return inside

    def judge(self, counts):
        total = len(counts)*FITS
        found = sum(counts.values())
        # a quarter of a thousandth below is what chance allows
        spread = 3.5*(total*0.95*0.05)**0.5
        self.assertGreaterEqual(found, 0.95*total - spread, counts)
        for name, count in counts.items():
            if FITS >= 400:
                self.assertLessEqual(abs(count/FITS - 0.95), 0.03, (name, counts))

    def test_engine(self):
        self.write("true.lisma", ENGINE)
        points = self.samples("true.lisma", 0.05, "y")

        def lines(rng):
            return "time,y\n" + "".join(f"{t!r},{y + rng.gauss(0, 5e-4)!r}\n" for t, y in points)
        self.judge(self.cover("engine", ENGINE, {"k": 1e5, "damping": 0.1}, {"k": 1.05e5, "damping": 0.12}, lines))

    def test_ball(self):
        self.write("true.lisma", BALL)
        times = self.entries("true.lisma", "hit", 6)

        def lines(rng):
            return "time(hit)\n" + "".join(f"{t + rng.gauss(0, 2e-3)!r}\n" for t in times)
        self.judge(self.cover("ball", BALL, {"k": 0.8, "c": 0.1}, {"k": 0.75, "c": 0.08}, lines))

    def test_thermostat(self):
        self.write("true.lisma", ROOM)
        points = self.samples("true.lisma", 0.25, "T")

        def lines(rng):
            return "time,T\n" + "".join(f"{t!r},{y + rng.gauss(0, 0.1)!r}\n" for t, y in points)
        self.judge(self.cover("room", ROOM, {"power": 5.0, "loss": 0.2, "off": 21.0}, {"power": 5.2, "loss": 0.21}, lines))


if __name__ == "__main__":
    cli_case.main()
