#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draw the figures of docs/transitions.md from real runs of the gallery.

usage: figures.py [--saltus PROGRAM] [--out FOLDER] [NAME ...]

Without names all figures are drawn; FOLDER is docs/figures unless told otherwise. The numbers of the
figures are those of the paper the page is about: P. J. Mosterman, F. Zhao, G. Biswas, "An Ontology for
Transitions in Physical Dynamic Systems", 1998.
"""
import argparse
import csv
import json
import math
import os
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODELS = os.path.join(ROOT, "models", "ontology")
BLUE, RED, GREEN, PURPLE, ORANGE = "#1f6fb4", "#d1351c", "#23883b", "#8a4fbf", "#e08a00"
GREY, INK = "#8c9196", "#222222"


# ---- runs ----------------------------------------------------------------------------------------

class Runs:
    def __init__(self, program):
        self.program = program

    def run(self, model, *options):
        """Rows as dictionaries of numbers, and event records."""
        with tempfile.TemporaryDirectory() as folder:
            rows, events = os.path.join(folder, "r.csv"), os.path.join(folder, "e.jsonl")
            self.call("run", self.path(model), "-q", "-o", rows,
                      "--events", events, *options)
            with open(rows, encoding="utf-8", newline="") as f:
                table = [{k: float(v) if v else math.nan for k, v in row.items()}
                         for row in csv.DictReader(f)]
            with open(events, encoding="utf-8") as f:
                records = [json.loads(line) for line in f]
        return table, records

    def chatter(self, model, relation, step, *options):
        """Rows of explicit Euler that looks at the relation at the ends of its steps only."""
        with open(self.path(model), encoding="utf-8") as f:
            text = f.read()
        assert relation in text
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "model.lisma")
            with open(copy, "w", encoding="utf-8") as f:
                f.write(text.replace(relation, f"noEvent({relation})"))
            return self.run(copy, "--method", "euler", "--step", step, "--all-steps", *options)[0]

    @staticmethod
    def path(model):
        return model if os.path.isabs(model) else os.path.join(MODELS, model + ".lisma")

    def call(self, *arguments):
        # graphs by the program's own layout: versions of Graphviz differ
        subprocess.run([self.program, *arguments], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env={**os.environ, "SALTUS_DOT": ""})


def column(rows, name):
    return [row[name] for row in rows]


# ---- drawing -------------------------------------------------------------------------------------

def number(x):
    text = f"{x:.1f}"
    return text[:-2] if text.endswith(".0") else text


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Picture:
    def __init__(self, width, height, title):
        self.width, self.height = width, height
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" font-family="Helvetica, Arial, '
            f"'Liberation Sans', 'DejaVu Sans', sans-serif\">",
            f"<title>{escape(title)}</title>",
            '<rect width="100%" height="100%" fill="#ffffff"/>']

    def line(self, points, colour=INK, width=1.6, dash=""):
        if len(points) < 2:
            return
        d = "M" + " L".join(f"{number(x)} {number(y)}" for x, y in points)
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<path d="{d}" fill="none" stroke="{colour}" stroke-width="{width}"'
                          f' stroke-linejoin="round"{extra}/>')

    def area(self, points, colour, opacity=1.0):
        d = "M" + " L".join(f"{number(x)} {number(y)}" for x, y in points) + " Z"
        self.parts.append(f'<path d="{d}" fill="{colour}" fill-opacity="{opacity}"/>')

    def head(self, tip, angle, colour=INK, size=8.0):
        left = (tip[0] - size * math.cos(angle - 0.42), tip[1] - size * math.sin(angle - 0.42))
        right = (tip[0] - size * math.cos(angle + 0.42), tip[1] - size * math.sin(angle + 0.42))
        self.area([tip, left, right], colour)

    def arrow(self, a, b, colour=INK, width=1.6, dash="", heads=1):
        """`heads` 2: double-headed, as the paper marks jumps."""
        angle = math.atan2(b[1] - a[1], b[0] - a[0])
        self.line([a, b], colour, width, dash)
        self.head(b, angle, colour)
        if heads == 2:
            self.head((b[0] - 6 * math.cos(angle), b[1] - 6 * math.sin(angle)), angle, colour)

    def dot(self, p, colour=INK, radius=3.5, hollow=False):
        fill = "#ffffff" if hollow else colour
        self.parts.append(f'<circle cx="{number(p[0])}" cy="{number(p[1])}" r="{radius}" fill="{fill}" '
                          f'stroke="{colour}" stroke-width="1.5"/>')

    def text(self, x, y, text, size=12, colour=INK, anchor="start", style=""):
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}" font-size="{size}" fill="{colour}" '
                          f'text-anchor="{anchor}"{style}>{escape(text)}</text>')

    def box(self, x, y, w, h, colour=INK, fill="#ffffff", dash=""):
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<rect x="{number(x)}" y="{number(y)}" width="{number(w)}" height="{number(h)}" '
                          f'rx="8" fill="{fill}" stroke="{colour}" stroke-width="1.5"{extra}/>')

    def write(self, path):
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(self.parts) + "\n</svg>\n")


def ticks(low, high, most=6):
    span = high - low
    step = 10 ** math.floor(math.log10(span / most))
    for factor in (1, 2, 5, 10):
        if span / (step * factor) <= most:
            step *= factor
            break
    k = math.ceil(low / step - 1e-9)
    while k * step <= high + 1e-9 * span:
        yield k * step
        k += 1


class Axes:
    """A panel with axes; takes data coordinates."""

    def __init__(self, picture, x, y, w, h, xlim, ylim, xlabel="", ylabel="", title=""):
        self.p, self.x, self.y, self.w, self.h = picture, x, y, w, h
        self.xlim, self.ylim = xlim, ylim
        for t in ticks(*xlim):
            px = self.at(t, ylim[0])[0]
            picture.line([(px, y), (px, y + h)], "#e6e8ea", 1)
            picture.text(px, y + h + 15, f"{t:.6g}", 11, "#555555", "middle")
        for t in ticks(*ylim):
            py = self.at(xlim[0], t)[1]
            picture.line([(x, py), (x + w, py)], "#e6e8ea", 1)
            picture.text(x - 6, py + 4, f"{t:.6g}", 11, "#555555", "end")
        picture.line([(x, y), (x, y + h), (x + w, y + h)], "#555555", 1)
        picture.text(x + w, y + h + 30, xlabel, 12, INK, "end")
        picture.text(x, y - 8, ylabel, 12)
        if title:
            picture.text(x + w / 2, y - 24, title, 13, INK, "middle", ' font-weight="bold"')

    def at(self, u, v):
        (x0, x1), (y0, y1) = self.xlim, self.ylim
        return (self.x + (u - x0) / (x1 - x0) * self.w, self.y + self.h - (v - y0) / (y1 - y0) * self.h)

    def inside(self, u, v):
        (x0, x1), (y0, y1) = self.xlim, self.ylim
        return x0 <= u <= x1 and y0 <= v <= y1

    def curve(self, us, vs, colour=BLUE, width=2.0, dash=""):
        """What lies outside is left out; points closer than a third of a pixel are one."""
        points = []
        for u, v in list(zip(us, vs)) + [(math.nan, math.nan)]:
            if math.isfinite(v) and self.inside(u, v):
                q = self.at(u, v)
                if not points or math.hypot(q[0] - points[-1][0], q[1] - points[-1][1]) > 0.34:
                    points.append(q)
                continue
            self.p.line(points, colour, width, dash)
            points = []

    def text(self, u, v, text, dx=0, dy=0, **options):
        q = self.at(u, v)
        self.p.text(q[0] + dx, q[1] + dy, text, **options)

    def direction(self, us, vs, share, colour):
        """An arrow head on a curve, at a share of its points."""
        i = max(1, min(len(us) - 1, int(share * len(us))))
        a, b = self.at(us[i - 1], vs[i - 1]), self.at(us[i], vs[i])
        self.p.head(b, math.atan2(b[1] - a[1], b[0] - a[0]), colour)


def split_jumps(rows):
    """Pieces of continuous motion: a row with the time of the row before begins a new one."""
    pieces = [[rows[0]]]
    for before, row in zip(rows, rows[1:]):
        if row["time"] == before["time"]:
            pieces.append([])
        pieces[-1].append(row)
    return [piece for piece in pieces if piece]


def state_records(records):
    return [r for r in records if r["kind"] == "state"]


# ---- the figures ---------------------------------------------------------------------------------

def clutch_phase(runs, path):
    """Figure 2: the bouncing clutch in phase space, in detail and abstracted."""
    picture = Picture(860, 360, "Bouncing clutch: phase space, with the torsion of the rod and without it")
    for x, title in ((60, "torsion spring"), (480, "collision as a point in time")):
        axes = Axes(picture, x, 60, 340, 240, (0, 3.2), (-11, 11), "angle th", "speed w", title)
        a, b = axes.at(2.943, -11), axes.at(2.943, 11)
        picture.line([a, b], GREY, 1.2, "4 4")
        axes.text(2.943, 0, "contact", dx=-6, dy=4, size=11, colour=GREY, anchor="end")
        if x == 60:
            rows, _ = runs.run("clutch_spring", "--until", "1.2", "--all-steps", "--rtol", "1e-7",
                               "--hmax", "0.002")
            axes.curve(column(rows, "th"), column(rows, "w"))
            axes.direction(column(rows, "th"), column(rows, "w"), 0.25, BLUE)
            axes.direction(column(rows, "th"), column(rows, "w"), 0.8, BLUE)
            continue
        rows, records = runs.run("clutch", "--until", "1.2")
        before, after = split_jumps(rows)
        for piece, share in ((before, 0.5), (after, 0.5)):
            axes.curve(column(piece, "th"), column(piece, "w"))
            axes.direction(column(piece, "th"), column(piece, "w"), share, BLUE)
        jump = state_records(records)[0]["changed"]["w"]
        picture.arrow(axes.at(2.943, jump[0]), axes.at(2.943, jump[1]), RED, 2.0, "", 2)
    picture.write(path)


def planar(runs, path):
    """Figure 3: patches, flows, boundaries and a jump in the plane."""
    rows, events = runs.run("planar", "--samples", "800")
    picture = Picture(820, 380, "A planar hybrid system")
    axes = Axes(picture, 60, 50, 720, 270, (-0.3, 7.7), (-0.8, 1.6), "x", "y")
    patches = [("patch 1: init", (-0.3, -0.8), (2, 1.6), "#d8e8f6"),
               ("patch 2: second", (2.6, 0), (4.4, 1.6), "#fde3c8"),
               ("patch 3: third", (3.0, -0.8), (6, 0), "#dcefd8"),
               ("patch 4: out", (6, -0.8), (7.7, 1.6), "#eadff3")]
    for name, (x0, y0), (x1, y1), colour in patches:
        corners = [axes.at(x0, y0), axes.at(x1, y0), axes.at(x1, y1), axes.at(x0, y1)]
        picture.area(corners, colour, 0.75)
        picture.line(corners + corners[:1], GREY, 1, "4 4")
        low = name.startswith("patch 3")
        axes.text(x0, y0 if low else y1, name, dx=8, dy=-8 if low else 16, size=12)
    axes.text(2, -0.8, "x = 2", dx=4, dy=-6, size=11, colour="#555555")
    axes.text(4.4, 0, "y = 0", dx=4, dy=-5, size=11, colour="#555555")
    pieces = split_jumps(rows)
    for piece in pieces:
        axes.curve(column(piece, "x"), column(piece, "y"))
        axes.direction(column(piece, "x"), column(piece, "y"), 0.6, BLUE)
    jump = state_records(events)[0]["changed"]
    a, b = axes.at(jump["x"][0], jump["y"][0]), axes.at(jump["x"][1], jump["y"][1])
    picture.arrow(a, b, RED, 2.0, "", 2)
    picture.text((a[0] + b[0]) / 2 - 8, (a[1] + b[1]) / 2 - 10, "mapping g", 12, RED, "end")
    end = pieces[2][-1]
    picture.dot(axes.at(end["x"], end["y"]), ORANGE, 4.5)
    axes.text(end["x"], end["y"], "edge: boundary point", dx=8, dy=18, size=12, colour=ORANGE)
    picture.write(path)


def classes(runs, path):
    """Figure 4: a mythical mode, a pinnacle, a sliding mode."""
    picture = Picture(960, 350, "Mythical mode, pinnacle and sliding mode")
    # (a) the freewheel: the candidate is a hollow point that the motion never reaches
    rows, records = runs.run("freewheel", "--samples", "200")
    mythical = records[1]
    t = mythical["t"]
    axes = Axes(picture, 50, 70, 250, 210, (0, 0.4), (-0.4, 5), "time", "wI", "(a) mythical mode")
    axes.curve(column(rows, "time"), column(rows, "wI"))
    before, candidate = mythical["candidate"]["wI"]
    picture.arrow(axes.at(t, before), axes.at(t, candidate), PURPLE, 1.6, "5 4")
    picture.dot(axes.at(t, candidate), PURPLE, 4.5, True)
    axes.text(t, candidate, "Sw1 and Sw2 closed:", dx=10, dy=-22, size=11, colour=PURPLE)
    axes.text(t, candidate, "left before it exists", dx=10, dy=-8, size=11, colour=PURPLE)
    axes.text(0.02, 4.4, "driven", size=11)
    axes.text(0.24, 4.4, "free", size=11)
    picture.line([axes.at(t, -0.4), axes.at(t, 5)], GREY, 1, "3 4")
    # (b) the bouncing clutch
    rows, records = runs.run("clutch", "--until", "1.2", "--samples", "200")
    hit = state_records(records)[0]
    axes = Axes(picture, 370, 70, 250, 210, (0, 1.2), (-12, 12), "time", "w", "(b) pinnacle")
    for piece in split_jumps(rows):
        axes.curve(column(piece, "time"), column(piece, "w"))
    picture.arrow(axes.at(hit["t"], hit["changed"]["w"][0]), axes.at(hit["t"], hit["changed"]["w"][1]),
                  RED, 2.0, "", 2)
    axes.text(hit["t"], 0, "hit: exists at", dx=8, dy=-4, size=11, colour=RED)
    axes.text(hit["t"], 0, "this point only", dx=8, dy=10, size=11, colour=RED)
    # (c) a relay: chattering in steps, and the motion along the surface
    axes = Axes(picture, 690, 70, 250, 210, (-0.1, 1.1), (-0.95, 0.15), "x", "v", "(c) sliding mode")
    picture.line([axes.at(-0.1, 0.1), axes.at(0.95, -0.95)], GREY, 1.2, "4 4")
    rows = runs.chatter("../sliding", "sign(x + v)", "0.05")
    axes.curve(column(rows, "x"), column(rows, "v"), ORANGE, 1.2)
    rows, _ = runs.run("../sliding", "--samples", "300")
    axes.curve(column(rows, "x"), column(rows, "v"), GREEN, 2.2)
    axes.text(-0.06, -0.66, "chattering, step 0.05", size=11, colour=ORANGE)
    axes.text(-0.06, -0.76, "equivalent dynamics", size=11, colour=GREEN)
    axes.text(0.64, -0.9, "x + v = 0", dx=0, dy=4, size=11, colour=GREY)
    picture.write(path)


def freewheel(runs, path):
    """Figure 6: torsional force and speed of the free-wheeling clutch."""
    rows, records = runs.run("freewheel", "--samples", "400")
    picture = Picture(820, 300, "Free-wheeling clutch: torque and speed")
    left = Axes(picture, 60, 50, 320, 190, (0, 0.4), (-0.2, 0.8), "time", "torque tau2 in the one-way clutch")
    right = Axes(picture, 470, 50, 320, 190, (0, 0.4), (0, 4), "time", "speeds wI of the inertia, wA of the shaft")
    for piece in split_jumps(rows):
        left.curve(column(piece, "time"), column(piece, "tau2"))
        right.curve(column(piece, "time"), column(piece, "wA"), ORANGE)
    right.curve(column(rows, "time"), column(rows, "wI"), BLUE, 2.4)
    right.text(0.3, 3.27, "wI", dy=-8, size=12, colour=BLUE)
    right.text(0.3, 0, "wA", dy=-8, size=12, colour=ORANGE)
    pulse = records[1]["impulses"]["tau2"]
    a = left.at(records[1]["t"], 0.0)
    picture.arrow(a, (a[0], a[1] + 30), PURPLE, 1.8, "5 4")
    picture.text(a[0] + 8, a[1] + 26, f"pulse {pulse:.4f}: mythical", 11, PURPLE)
    picture.write(path)


def clutch(runs, path):
    """Figure 8: the elastic collision of the clutch over time."""
    rows, records = runs.run("clutch", "--samples", "500")
    picture = Picture(820, 300, "Elastic collision: speed and angle")
    left = Axes(picture, 60, 50, 320, 190, (0, 2.5), (-12, 12), "time", "speed w")
    right = Axes(picture, 470, 50, 320, 190, (0, 2.5), (0, 3.5), "time", "angle th")
    for piece in split_jumps(rows):
        left.curve(column(piece, "time"), column(piece, "w"))
    right.curve(column(rows, "time"), column(rows, "th"))
    for r in state_records(records):
        if r["to"] != "hit":
            continue
        picture.arrow(left.at(r["t"], r["changed"]["w"][0]), left.at(r["t"], r["changed"]["w"][1]), RED, 1.8,
                      "", 2)
        picture.dot(right.at(r["t"], 2.943), RED, 3.5)
    picture.write(path)


def cam_chattering(runs, path):
    """Figure 10: the cam-follower without and with equivalent dynamics."""
    options = ["--until", "0.009", "--out", "v,cam_speed,F"]
    chatter = runs.chatter("cam_sliding", "v < cam_speed", "2e-4", *options)
    exact, _ = runs.run("cam_sliding", *options)
    picture = Picture(665, 520, "Cam-follower: chattering, and motion along the boundary")
    panels = [("force switched step by step", chatter, ORANGE), ("equivalent dynamics", exact, BLUE)]
    for i, (title, rows, colour) in enumerate(panels):
        x = 60 + 315 * i
        speed = Axes(picture, x, 70, 250, 170, (0, 0.009), (-0.05, 1.1), "", "speeds of rod and cam", title)
        speed.curve(column(exact, "time"), column(exact, "cam_speed"), GREY, 4.0)
        speed.curve(column(rows, "time"), column(rows, "v"), colour, 1.5)
        force = Axes(picture, x, 300, 250, 170, (0, 0.009), (-3, 63), "time", "force of the contact")
        steps = []
        for a, b in zip(rows, rows[1:]):
            steps += [(a["time"], a["F"]), (b["time"], a["F"])] if i < 1 else [(a["time"], a["F"])]
        force.curve([s[0] for s in steps], [s[1] for s in steps], colour, 1.5)
        changes = sum(a["F"] != b["F"] for a, b in zip(rows, rows[1:]))
        note = f"{changes} switchings until 9 ms" if i < 1 else "one instant, at the start"
        picture.text(x + 125, 508, note, 12, INK, "middle")
    picture.write(path)


def cam_both(runs, path):
    """Impacts and sliding in one run."""
    rows, records = runs.run("cam_both", "--samples", "900", "--out", "x,v,gap,difference,contact,cam")
    picture = Picture(860, 470, "Cam-follower: sliding, flight, impacts, sliding")
    top = Axes(picture, 70, 50, 750, 170, (0, 0.036), (-0.5, 11), "", "cam and rod, mm")
    low = Axes(picture, 70, 280, 750, 140, (0, 0.036), (-1.2, 1.0), "time", "v - speed of the cam, m/s")
    top.curve(column(rows, "time"), [1e3 * c for c in column(rows, "cam")], GREY, 3.5)
    top.curve(column(rows, "time"), [1e3 * c for c in column(rows, "x")], BLUE, 1.6)
    pieces = split_jumps(rows)
    for piece in pieces:
        low.curve(column(piece, "time"), column(piece, "difference"))
    for r in records:
        if r["class"] == "pinnacle":
            a, b = (v for v in r["changed"]["v"])
            here = next(row for row in rows if row["time"] == r["t"])
            speed = here["v"] - here["difference"]
            picture.arrow(low.at(r["t"], a - speed), low.at(r["t"], b - speed), RED, 1.6, "", 2)
    slides = [r["t"] for r in records if r["kind"] == "slide-in"]
    leaves = [r["t"] for r in records if r["kind"] == "slide-out"] + [0.036]
    for a, b in zip(slides, leaves):
        picture.line([low.at(a, -1.1), low.at(b, -1.1)], GREEN, 6)
        low.text((a + b) / 2, -1.1, "sliding", dy=-8, size=12, colour=GREEN, anchor="middle")
    low.text(0.0212, -1.1, "flight", dy=-8, size=12, anchor="middle")
    low.text(0.0296, 0.55, "impacts", dx=4, size=12, colour=RED)
    picture.write(path)


def instants(runs, path):
    """Figure 11: how an instant runs through its modes, told by the records of three runs."""
    picture = Picture(940, 500, "Instants with a mythical mode, a pinnacle, and a new continuous mode")

    def chain(y, title, boxes, arrows):
        picture.text(20, y, title, 13, INK, "start", ' font-weight="bold"')
        for i, (name, lines, colour, dash) in enumerate(boxes):
            x = 20 + 318 * i
            picture.box(x, y + 14, 230, 104, colour, "#ffffff" if dash else "#f4f8fc", dash)
            picture.text(x + 115, y + 36, name, 13, colour, "middle", ' font-weight="bold"')
            for k, line in enumerate(lines):
                picture.text(x + 115, y + 58 + 16 * k, line, 11, INK, "middle")
        for i, (label, colour) in enumerate(arrows):
            x = 20 + 318 * i + 230
            picture.arrow((x + 4, y + 66), (x + 84, y + 66), colour, 1.8)
            picture.text(x + 44, y + 58, label, 11, INK, "middle")

    def value(pair, name):
        return f"{name}: {pair[0]:.4g} -> {pair[1]:.4g}"

    _, r = runs.run("freewheel")
    myth, real = r[1], r[2]
    chain(20, f"(a) free-wheeling clutch, t = {myth['t']:.4g}",
          [("Sw1 open, Sw2 closed", ["x' = f(x)", "continuous"], BLUE, ""),
           ("Sw1 closed, Sw2 closed", [value(myth["candidate"]["wI"], "x+: wI"),
                                       f"pulse tau2 = {myth['impulses']['tau2']:.4g}",
                                       "mythical: x is not touched"], PURPLE, "5 4"),
           ("Sw1 closed, Sw2 open", [value(real["changed"]["wA"], "x+: wA"), "x = x+, then x' = f(x)"],
            BLUE, "")],
          [(myth["atom"][0], PURPLE), (real["atom"][0], RED)])
    _, r = runs.run("clutch")
    hit, free = state_records(r)[:2]
    chain(186, f"(b) bouncing clutch, t = {hit['t']:.4g}",
          [("init", ["x' = f(x)", "continuous"], BLUE, ""),
           ("hit", [value(hit["changed"]["w"], "x+: w"), "x = x+", "pinnacle: left by its own values"], RED, ""),
           ("free", ["x+ = x", "x' = f(x)"], BLUE, "")],
          [("th >= contact", RED), (free["atom"][0], BLUE)])
    _, r = runs.run("planar")
    records = state_records(r)
    third = next(e for e in records if e["to"] == "third")
    edge = next(e for e in records if e["to"] == "edge")
    out = next(e for e in records if e["to"] == "out")
    chain(352, f"(c) planar system, t = {third['t']:.4g} and t = {edge['t']:.4g}",
          [("third", ["x+ = x, x = x+, x' = f(x)", f"class {third['class']}", "evolves"], BLUE, ""),
           ("edge", ["x+ = x, x = x+, x' = f(x)", f"class {edge['class']}", "left by its own flow"], ORANGE, ""),
           ("out", ["x' = f(x)", f"class {out['class']}"], BLUE, "")],
          [(edge["atom"][0], ORANGE), (out["atom"][0], BLUE)])
    picture.write(path)


def modes(runs, path):
    """Figure 12: an interior mode and a boundary mode."""
    rows, _ = runs.run("planar", "--samples", "1600", "--out", "x,y", "--event-rows", "all")
    _, records = runs.run("planar")
    times = {r["to"]: r["t"] for r in state_records(records)}
    picture = Picture(860, 330, "Interior mode and boundary mode")
    left = Axes(picture, 60, 60, 340, 200, (2.9, 4.5), (-0.4, 1.4), "x", "y", "(a) interior mode")
    picture.area([left.at(2.9, -0.4), left.at(4.5, -0.4), left.at(4.5, 0), left.at(2.9, 0)], "#dcefd8", 0.8)
    picture.area([left.at(2.9, 0), left.at(4.5, 0), left.at(4.5, 1.4), left.at(2.9, 1.4)], "#fde3c8", 0.8)
    left.text(3.5, 1.2, "patch of second", size=12)
    left.text(3.0, -0.3, "patch of third", size=12)
    for a, b in (("second", "third"), ("third", "edge")):
        piece = [r for r in rows if times[a] < r["time"] <= times[b]]
        left.curve(column(piece, "x"), column(piece, "y"))
        shown = [r for r in piece if left.inside(r["x"], r["y"])]
        left.direction(column(shown, "x"), column(shown, "y"), 0.6, BLUE)
    right = Axes(picture, 480, 60, 340, 200, (5, 6.8), (-0.8, 0.6), "x", "y", "(b) boundary mode")
    picture.area([right.at(5, -0.8), right.at(6, -0.8), right.at(6, 0.6), right.at(5, 0.6)], "#dcefd8", 0.8)
    picture.area([right.at(6, -0.8), right.at(6.8, -0.8), right.at(6.8, 0.6), right.at(6, 0.6)], "#eadff3", 0.9)
    right.text(5.1, 0.45, "patches of third and edge", size=12)
    right.text(6.1, 0.45, "patch of out", size=12)
    for a, b in ((times["third"], times["edge"]), (times["edge"], 8)):
        piece = [r for r in rows if a < r["time"] <= b and right.inside(r["x"], r["y"])]
        right.curve(column(piece, "x"), column(piece, "y"))
        right.direction(column(piece, "x"), column(piece, "y"), 0.5, BLUE)
    here = next(r for r in rows if r["time"] == times["edge"])
    picture.dot(right.at(here["x"], here["y"]), ORANGE, 4.5)
    right.text(here["x"], here["y"], "edge: entered and", dx=8, dy=14, size=11, colour=ORANGE)
    right.text(here["x"], here["y"], "left at this point", dx=8, dy=27, size=11, colour=ORANGE)
    picture.write(path)


def balls(runs, path):
    """Rubber and steel ball: the detailed contact approaches its abstractions."""
    picture = Picture(860, 330, "Rubber and steel ball, detailed and abstracted")
    for x, title, detail, abstract in (
            (60, "rubber: e = 0.9", [], []), (480, "steel: e = 0", ["--set", "zeta=1"], ["--set", "restitution=0"])):
        axes = Axes(picture, x, 60, 340, 210, (0, 1.6), (-0.32, 1.1), "time", "height y", title)
        rows, _ = runs.run("ball_impact", *abstract, "--samples", "300")
        axes.curve(column(rows, "time"), column(rows, "y"), GREY, 5.0)
        for k, colour in (("300", ORANGE), ("3000", GREEN), ("1e6", BLUE)):
            rows, _ = runs.run("ball_detailed", *detail, "--set", f"k={k}", "--samples", "300")
            axes.curve(column(rows, "time"), column(rows, "y"), colour, 1.6)
        for i, (text, colour) in enumerate((("abstraction", GREY), ("k = 300", ORANGE), ("k = 3000", GREEN),
                                            ("k = 1e6", BLUE))):
            picture.text(x + 262, 56 + 14 * i, text, 11, colour)
    picture.write(path)


def freewheel_graph(runs, path):
    """The automata of the freewheel with what was visited."""
    runs.call("explain", os.path.join(MODELS, "freewheel.lisma"), "--run", "--graph", path)


def cam_both_graph(runs, path):
    """The automaton of the worn cam with what was visited."""
    runs.call("explain", os.path.join(MODELS, "cam_both.lisma"), "--run", "--graph", path)


FIGURES = [clutch_phase, planar, classes, freewheel, clutch, cam_chattering, cam_both, instants, modes, balls,
           freewheel_graph, cam_both_graph]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--saltus", default=os.path.join(ROOT, "build", "release", "saltus"))
    parser.add_argument("--out", default=os.path.join(ROOT, "docs", "figures"))
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    known = {figure.__name__: figure for figure in FIGURES}
    for name in arguments.names:
        if name not in known:
            parser.error(f"no figure `{name}`; there are {', '.join(known)}")
    os.makedirs(arguments.out, exist_ok=True)
    runs = Runs(os.path.abspath(arguments.saltus))
    for name in arguments.names or known:
        known[name](runs, os.path.join(arguments.out, name + ".svg"))
        print(name)


if __name__ == "__main__":
    main()
