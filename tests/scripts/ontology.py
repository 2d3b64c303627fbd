#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples of the ontology of transitions: abstractions are limits, figures are those of real runs."""
import glob
import os
import subprocess
import sys
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402
import svg_same  # noqa: E402

MODELS = os.path.join(cli_case.SOURCE, "models", "ontology")
SCRIPT = os.path.join(cli_case.SOURCE, "scripts", "figures.py")
FIGURES = os.path.join(cli_case.SOURCE, "docs", "figures")


class Abstractions(cli_case.CliCase):
    def heights(self, model, *options):
        out = self.good("run", os.path.join(MODELS, model), "-q", "--every", "0.1", "--out", "y", "-o", "-",
                        *options).out
        return {float(t): float(y) for t, y in (line.split(",") for line in out.splitlines()[1:])}

    def distance(self, detailed, abstract):
        common = [t for t in abstract if t in detailed]
        self.assertGreater(len(common), 15)
        return max(abs(detailed[t] - abstract[t]) for t in common)

    def test_rubber_and_steel(self):
        for abstract, detail in ((["--set", "restitution=0.9"], []),
                                 (["--set", "restitution=0"], ["--set", "zeta=1"])):
            exact = self.heights("ball_impact.lisma", *abstract)
            errors = [self.distance(self.heights("ball_detailed.lisma", "--set", f"k={k}", *detail), exact)
                      for k in ("1e4", "1e6", "1e8")]
            # the contact lasts as long as 1/sqrt(k): each time a tenth of it is left
            for soft, stiff in zip(errors, errors[1:]):
                self.assertTrue(5 < soft / stiff, errors)
            self.assertLess(errors[-1], 3e-3)

    def test_clutch(self):
        ends = []
        for k in ("2e3", "2e5", "2e7"):
            out = self.good("run", os.path.join(MODELS, "clutch_spring.lisma"), "-q", "--set", f"k={k}",
                            "--until", "1", "--out", "w", "-o", "-").out
            ends.append(float(out.splitlines()[-1].split(",")[1]))
        out = self.good("run", os.path.join(MODELS, "clutch.lisma"), "-q", "--until", "1", "--out", "w",
                        "-o", "-").out
        exact = float(out.splitlines()[-1].split(",")[1])
        errors = [abs(end - exact) for end in ends]
        self.assertTrue(errors[0] > 5 * errors[1] > 25 * errors[2], errors)
        self.assertLess(errors[2], 5e-3)


class Figures(cli_case.CliCase):
    def test_they_are_up_to_date(self):
        subprocess.run([sys.executable, SCRIPT, "--saltus", cli_case.PROGRAM, "--out", self.folder], check=True,
                       stdout=subprocess.DEVNULL)
        wanted = sorted(os.path.basename(p) for p in glob.glob(os.path.join(FIGURES, "*.svg")))
        drawn = sorted(os.path.basename(p) for p in glob.glob(self.path("*.svg")))
        self.assertEqual(drawn, wanted)
        self.assertGreater(len(drawn), 10)
        for name in drawn:
            xml.parse(self.path(name))
            self.assertIsNone(svg_same.difference(os.path.join(FIGURES, name), self.path(name)),
                              f"{name} is not what the runs give now: scripts/figures.py draws it anew")

    def test_every_figure_is_shown(self):
        with open(os.path.join(cli_case.SOURCE, "docs", "transitions.md"), encoding="utf-8") as f:
            page = f.read()
        for path in glob.glob(os.path.join(FIGURES, "*.svg")):
            self.assertIn(f"figures/{os.path.basename(path)}", page)


if __name__ == "__main__":
    cli_case.main()
