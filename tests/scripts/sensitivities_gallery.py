#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Derivatives of models of the gallery, followed along the run, against differences of tight runs: impacts, sliding,
changes of structure, delays, constraints of the states, time events.

The models named in LONG take most of the time and show no kind that the others lack: `make sensitivities`, which sets
SALTUS_SENS_MODELS, has them too."""
import csv
import io
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402
import suite  # noqa: E402

GALLERY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
MODELS = [  # file, parameters, measures
    ("ball_bilateral.lisma", "g", ("end(v)", "end(y)")),
    ("ball_critical.lisma", "g", ("end(v)", "end(y)")),
    ("ball_ordinary.lisma", "g", ("end(v)", "end(y)")),
    ("ball_shortliving.lisma", "g", ("end(v)", "end(y)")),
    ("ball_unilateral.lisma", "g", ("end(v)", "end(y)")),
    ("batch_reactor.lisma", "feed,full", ("end(T)", "end(V)")),
    ("belt.lisma", "belt_speed", ("end(v)", "end(x)")),
    ("buck.lisma", "L,Vin", ("end(i)",)),
    ("cell_cycle.lisma", "k1,k2", ("end(p)", "end(y)")),
    ("dae/closed_space.lisma", "R_I,R_O", ("end(x)", "end(y)")),
    ("dae/slider_crank.lisma", "l", ("end(phi)",)),
    ("dead_zone.lisma", "d,k", ("end(v)",)),
    ("delta_sigma.lisma", "f", ("end(q)",)),
    ("dosing.lisma", "D,ka", ("end(A)", "end(c)")),
    ("drive_cycle.lisma", "tau", ("end(s)", "end(v)")),
    ("lockdown.lisma", "beta0,beta1", ("end(I)", "end(S)")),
    ("metronomes.lisma", "w1,w2", ("end(a)", "end(b)")),
    ("names.lisma", "k,m", ("end(x)",)),
    ("navigation.lisma", "x0,y0", ("end(x)",)),
    ("ontology/ball_detailed.lisma", "gravity,restitution", ("end(v)", "end(y)")),
    ("ontology/ball_impact.lisma", "gravity,restitution", ("end(v)", "end(y)")),
    ("ontology/cam_both.lisma", "A,W", ("end(x)",)),
    ("ontology/cam_sliding.lisma", "A,W", ("end(x)",)),
    ("ontology/clutch.lisma", "gravity,m1", ("end(th)",)),
    ("ontology/clutch_spring.lisma", "gravity,m1", ("end(th)",)),
    ("ontology/collision.lisma", "m1,m2", ("end(x1)", "end(x2)")),
    ("predator_prey.lisma", "x_max", ("end(x)", "end(y)")),
    ("railroad_gate.lisma", "fast,slow", ("end(x)",)),
    ("rimless_wheel.lisma", "l,slope", ("end(th)", "end(w)")),
    ("shower.lisma", "gain,pipe", ("end(mixer)",)),
    ("slip.lisma", "k,m", ("end(x)", "end(y)")),
    ("stick_slip.lisma", "Fs,vb", ("end(v)", "end(x)")),
    ("swing.lisma", "H,f", ("end(delta)",)),
    ("thermostat.lisma", "a,q", ("end(T)",)),
    ("three_rooms.lisma", "c1,u", ("end(T1)", "end(T2)")),
    ("transfer.lisma", "R", ("end(x)", "end(y)")),
    ("vehicle.lisma", "c,pause", ("end(s)", "end(v)")),
    ("walker.lisma", "slope", ("end(th)", "end(w)")),
    ("water_tanks.lisma", "v1,w", ("end(x1)", "end(x2)")),
]
LONG = ("cell_cycle.lisma", "dae/closed_space.lisma", "metronomes.lisma", "ontology/cam_both.lisma",
        "ontology/cam_sliding.lisma")


class Gallery(cli_case.CliCase):
    def sens(self, path, params, measures, *options):
        arguments = [part for m in measures for part in ("-m", m)]
        result = self.good("sens", os.path.join(GALLERY, path), "--params", params, *arguments, "-q", "-o", "-", *options,
                           timeout=900)
        return {(r["measure"], r["parameter"]): r for r in csv.DictReader(io.StringIO(result.out))}

    def test_against_differences(self):
        compared = set()
        models = [m for m in MODELS if m[0] not in LONG or "SALTUS_SENS_MODELS" in os.environ]
        models = suite.share(models)
        for path, params, measures in models:
            exact = self.sens(path, params, measures)
            back = self.sens(path, params, measures, "--adjoint")
            other = self.sens(path, params, measures, "--differences")
            for key, row in exact.items():
                if row["verdict"] != "exists":
                    continue
                a, b, c = (float(table[key]["derivative"]) for table in (exact, other, back))
                self.assertLessEqual(abs(a - c), 1e-9*max(abs(a), abs(c)) + 1e-13, (path, row, back[key]))
                if not other[key]["verdict"].startswith("exists"):
                    continue
                slack = 1e-5*max(abs(a), abs(b)) + 20*float(other[key]["error"] or 0)
                self.assertLessEqual(abs(a - b), slack, (path, row, other[key]))
                if a:
                    compared.add(path)
        self.assertGreaterEqual(len(compared), 0.7*len(models), sorted(compared))


if __name__ == "__main__":
    cli_case.main()
