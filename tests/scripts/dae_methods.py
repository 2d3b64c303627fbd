#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every method of `saltus methods` on modes with constraints: the fragile pendulum (T13), the pendulum in
coordinates (T14), and a voltage forced upon a capacitor (T15).

Whatever the method's error along the motion, the constraints hold to 1e-10 on every row.
"""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

MODELS = os.path.join(saltus_run.SOURCE, "models", "dae")
# name: (options, tolerance of values): fixed steps and loose orders are less accurate
METHODS = {"euler": (["--step", "0.0002"], 2e-2), "rk4": (["--step", "0.002"], 1e-6)}


def methods():
    """All but `auto`, which is one of them."""
    lines = saltus_run.command("methods")[1].splitlines()[1:]
    return [line.split()[0] for line in lines if line.split()[0] != "auto"]


class Checks:
    def __init__(self, method):
        self.method = method
        self.failures = 0

    def near(self, what, value, wanted, tolerance):
        if value is not None and abs(value - wanted) <= tolerance:
            return
        self.failures += 1
        print(f"{self.method}: {what} is {value}, not {wanted} +- {tolerance}")

    def run(self, model, folder, *options):
        rows = os.path.join(folder, "rows.csv")
        events = os.path.join(folder, "events.jsonl")
        status, _, errors = saltus_run.command("run", os.path.join(MODELS, model), "-q", "-o", rows,
                                               "--events", events, "--method", self.method, *options)
        if status != 0:
            self.failures += 1
            print(f"{self.method}: {model}: {errors}")
            return None, None
        with open(rows, encoding="utf-8") as file:
            table = saltus_run.read_table(file.read())
        with open(events, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        return [dict(zip(table[0], row)) for row in table[1:]], records


def check(method, folder):
    options, tolerance = METHODS.get(method, ([], 2e-5))
    c = Checks(method)
    rows, records = c.run("fragile_pendulum.lisma", folder, *options)
    if rows:
        c.near("T13 consistent v_y", rows[0]["v_y"], -20.0 / 3.0, 1e-10)
        c.near("T13 time of the break", records[-1]["t"], 1.50374032, tolerance)
        c.near("T13 v_y after it", records[-1]["changed"]["v_y"][1], -3.2564619, 4 * tolerance)
        swinging = [row for row in rows if row["T"] is not None]
        c.near("T13 drift", max(abs((r["x"] ** 2 + r["y"] ** 2) ** 0.5 - 5) for r in swinging), 0, 1e-10)
        flying = [row for row in rows if row["time"] > records[-1]["t"]]
        if not flying or any(row["T"] is not None for row in flying):
            c.failures += 1
            print(f"{method}: T13: T is shown where nothing determines it")
    rows, _ = c.run("pendulum.lisma", folder, "--until", "5", "--out", "x,y,T,drift", *options)
    if rows:
        c.near("T14 x at 5", rows[-1]["x"], 3.83560872, tolerance)
        c.near("T14 y at 5", rows[-1]["y"], -3.20750771, tolerance)
        c.near("T14 drift", max(abs(row["drift"]) for row in rows), 0, 1e-10)
    rows, _ = c.run("capacitor.lisma", folder, *options)
    if rows:
        c.near("T15 i at 1", rows[-1]["i"], 1.08060461, 1e-8)
    return c.failures


def main():
    names = methods()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            failures += check(name, folder)
    print(f"{len(names)} methods, {failures} problems")
    return 1 if failures or len(names) < 6 else 0


if __name__ == "__main__":
    sys.exit(main())
