#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Values from outside: constants and initial values by the names of the model, however they are
written; formulas; times with units."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

MODEL = """
for i = 1:3 { const k[i] = i; x[i]' = -k[i]; x[i](t0) = i; }
y' = 1;
s'' = 0;  s(t0) = 0;  s'(t0) = 1;
part Tank(A = 1) { h' = A; h(t0) = 5; }
Tank one, row[3](A = i);
"""
CASES = [
    # options, column, value at the end
    (["--set", "k[2]=1/4"], "x2", 2 - 3 / 4),
    (["--set", "k2=2*(1+1)"], "x2", 2 - 12),
    (["--set", "k[1]=2^3-1"], "x1", 1 - 21),
    (["--set", "x[3](t0)=-7"], "x3", -7 - 9),
    (["--set", "y(t0)=4"], "y", 7),
    (["--set", "y(0)=4"], "y", 7),
    (["--set", "s'(t0)=2"], "s", 6),
    (["--set", "one.A=2"], "one.h", 11),
    (["--set", "one.h(t0)=1e1"], "one.h", 13),
    (["--set", "row[2].h(t0)=0"], "row[2].h", 6),
    (["--until", "0.05min"], "y", 3),
    (["--until", "3000ms"], "y", 3),
    (["--until", "3s"], "y", 3),
]
WRONG = [(["--set", "k[9]=1"], 1), (["--set", "z(t0)=1"], 1), (["--set", "k[1]=1/0"], 2),
         (["--set", "k[1]=(2"], 2), (["--set", "k[1]="], 2), (["--until", "3 parsec"], 2),
         (["--until", "min"], 2), (["--set", "k[1]=" + "(" * 500], 2)]


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.lisma")
        with open(path, "w", encoding="utf-8") as out:
            out.write(MODEL)
        for options, column, wanted in CASES:
            until = [] if "--until" in options else ["--until", "3"]
            status, out, errors = saltus_run.command("run", path, "-q", "-o", "-", "--samples", "1",
                                                     "--out", column, *until, *options)
            got = float(out.split("\n")[-2].split(",")[1]) if status == 0 else None
            if got is None or abs(got - wanted) > 1e-6:
                failures += 1
                print("%s: %s is %s, not %s\n%s" % (options, column, got, wanted, errors))
        for options, wanted in WRONG:
            status, out, errors = saltus_run.command("run", path, "-q", "-o", "-", *options)
            if status != wanted or not errors.strip():
                failures += 1
                print("%s: exit status %d, not %d\n%s" % (options, status, wanted, errors))
    print("%d cases, %d failures" % (len(CASES) + len(WRONG), failures))
    return 1 if failures else 0


sys.exit(main())
