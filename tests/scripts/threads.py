#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several threads leave no trace: the same rows and events for any number of them, to the last bit."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

# neighbours that read each other, a boundary at each end
CHAIN = """const N = 30000;
u[0] = 0;
u[N+1] = 1;
for i = 1:N {
  u[i]' = 0.2 * (u[i-1] - 2 * u[i] + u[i+1]) + 0.1 * sin(u[i]);
  u[i](t0) = cos(0.001 * i);
}
experiment { end = 12; out = u1, u2, u14999, u15000, u15001, u30000; }
"""

# what two neighbours share is computed once, by one of them
FLUXES = """const N = 25000;
for i = 0:N { q[i] = exp(-(u[i+1] - u[i]) ^ 2) * (u[i+1] - u[i]); }
u[0] = 0;
u[N+1] = 1;
for i = 1:N { u[i]' = q[i] - q[i-1]; u[i](t0) = mod(i * 0.618, 1); }
experiment { end = 5; out = u1, u12499, u12500, u12501, u25000; }
"""

# a sum over all, and events
SHARED = """const N = 21000;
m = sum(i = 1:N, x[i]) / N;
for i = 1:N {
  x[i]' = m - x[i] + 0.001 * i / N;
  x[i](t0) = mod(i * 0.618, 1);
}
n(t0) = 0;
state up [x1 >= 0.6] { set n = n + 1; } from init;
experiment { end = 3; out = m, n, x1, x10500, x21000; }
"""


class Threads(cli_case.CliCase):
    def rows(self, text, *options):
        self.write("m.lisma", text)
        self.good("run", "m.lisma", "-q", "-o", "m.csv", "--events", "e.jsonl", "--samples", "20", *options)
        return self.read("m.csv") + self.read("e.jsonl")

    def test_same_bits(self):
        for text in (CHAIN, FLUXES, SHARED):
            one = self.rows(text, "--native", "off")
            for threads in ("2", "3", "8"):
                self.assertEqual(one, self.rows(text, "--native", "off", "--threads", threads))
            self.assertEqual(one, self.rows(text, "--threads", "2"))

    def test_methods(self):
        for method in ("rk4", "dop853", "bs32"):
            options = ("--method", method, *(("--step", "0.1") if method == "rk4" else ()))
            self.assertEqual(self.rows(CHAIN, *options), self.rows(CHAIN, *options, "--threads", "2"))

    def test_numbers_of_threads(self):
        self.write("m.lisma", "x' = 1; x(t0) = 0;\n")
        for wrong in ("0", "-1", "two", "1.5", "100000"):
            self.fails(2, "run", "m.lisma", "-q", "-o", "m.csv", "--threads", wrong, says=("--threads",))


if __name__ == "__main__":
    cli_case.main()
