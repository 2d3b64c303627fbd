#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Run the benchmarks of a build tree and print a table of what has to be reached and what is.
#
# Every program in BUILD/bench is run; a line of its output that is a JSON object is a row (or a
# point of a curve), anything else is shown as it is. Rows say what they need by themselves (see
# bench/bench.h); budgets of rows that do not are in BUDGETS below. With valgrind installed the
# programs that mark their sides are run once more under callgrind to count instructions, which no
# other load of the machine can disturb. The results go to bench/results: results.json, table.md
# (the table with machine and commit), size.svg (cost over size), spelling.md and spelling.svg (one
# model in several texts).
#
# Usage: bench.py BUILD [--only NAME,...] [--no-count] [--no-peers] [--out FOLDER] [--update] [--smoke]
import argparse
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
COUNT_TIMEOUT = 300
RUN_TIMEOUT = 600

# ratio (and error) allowed for rows whose programs do not say it
BUDGETS = {
    "vdp": {"budget": 2.0, "error_budget": 2e-6},
    "brusselator_500": {"budget": 2.0, "error_budget": 1e-5},
    "brusselator_100000": {"budget": 2.0, "error_budget": 1e-5},
    "cells_1000000": {"limit_s": 3.0},
}


def number(row, key):
    value = row.get(key)
    return value if isinstance(value, (int, float)) and math.isfinite(value) else None


def say_seconds(seconds):
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def say_time(row, key):
    """Time of all, and of each unit where there are several."""
    seconds = number(row, key)
    units = number(row, "units")
    if seconds is None:
        return ""
    if not units or units <= 1 or not row.get("unit"):
        return say_seconds(seconds)
    return f"{say_seconds(seconds)} ({say_seconds(seconds / units)}/{row['unit']})"


def say_number(value, form="{:.2f}"):
    return "" if value is None else form.format(value)


def verdict(row):
    """'reached', what is missed, or '' for rows without a budget."""
    missed = []
    asked = False
    ratio, budget = number(row, "ratio"), number(row, "budget")
    native, native_budget = number(row, "native_ratio"), number(row, "native_budget")
    if native_budget is not None and native is not None:
        if native > native_budget:
            missed.append(f"machine code {native / native_budget:.2f}x over")
    elif ratio is not None and native is not None:
        ratio = min(ratio, native)  # either way of running may reach it
    if budget is not None:
        asked = True
        if ratio is None or ratio > budget:
            missed.append("no ratio" if ratio is None else f"{ratio / budget:.2f}x over")
    limit, seconds = number(row, "limit_s"), number(row, "saltus_s")
    if limit is not None:
        asked = True
        if seconds is None or seconds > limit:
            missed.append("no time" if seconds is None else f"{seconds / limit:.2f}x over")
    error, allowed = number(row, "error"), number(row, "error_budget")
    if allowed is not None:
        asked = True
        if error is None or error > allowed:
            missed.append(f"error {say_number(error, '{:.1e}') or 'unknown'}")
    if not asked:
        return ""
    return ", ".join(missed) if missed else "reached"


def allowed(row):
    parts = []
    if number(row, "budget") is not None:
        parts.append(f"<= {row['budget']:g}x")
    if number(row, "native_budget") is not None:
        parts.append(f"machine code <= {row['native_budget']:g}x")
    if number(row, "limit_s") is not None:
        parts.append(f"<= {say_seconds(row['limit_s'])}")
    if number(row, "error_budget") is not None:
        parts.append(f"error {row['error_budget']:g}")
    return ", ".join(parts)


COLUMNS = [
    ("problem", lambda r: r.get("what") or r["name"]),
    ("opponent", lambda r: say_time(r, "opponent_s")),
    ("Saltus", lambda r: say_time(r, "saltus_s")),
    ("ratio", lambda r: say_number(number(r, "ratio"))),
    ("machine code", lambda r: say_number(number(r, "native_ratio"))),
    ("instructions", lambda r: say_number(number(r, "instruction_ratio"))),
    ("error of both", lambda r: " / ".join(
        say_number(number(r, k), "{:.1e}") or "-" for k in ("opponent_error", "error"))
        if number(r, "error") is not None else ""),
    ("allowed", allowed),
    ("", verdict),
    ("note", lambda r: r.get("note", "")),
]


def cells(rows):
    return [[title for title, _ in COLUMNS]] + [[str(fn(r)) for _, fn in COLUMNS] for r in rows]


def text_table(rows):
    lines = cells(rows)
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def markdown_table(rows):
    lines = cells(rows)
    out = ["| " + " | ".join(lines[0]) + " |", "|" + "---|" * len(COLUMNS)]
    out += ["| " + " | ".join(line) + " |" for line in lines[1:]]
    return "\n".join(out)


def command_output(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=SOURCE, timeout=20)
        return done.stdout.strip() if done.returncode == 0 else ""
    except OSError:
        return ""


def cpu_name():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def machine(build):
    compiler = ""
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        if line.startswith("CMAKE_C_COMPILER:"):
            compiler = command_output(line.split("=", 1)[1], "--version").split("\n")[0]
    commit = command_output("git", "rev-parse", "--short", "HEAD")
    if command_output("git", "status", "--porcelain", "--", "src", "include", "bench/*.c"):
        commit += " with changes"
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "compiler": compiler,
        "commit": commit,
        "load": os.getloadavg()[0],
    }


def parse(output, rows, curves, quiet):
    for line in output.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            if "curve" in row or "spelling" in row:
                curves.append(row)
            else:
                rows.append({**BUDGETS.get(row.get("name"), {}),
                             **{k: v for k, v in row.items() if v is not None}})
        elif not quiet:
            print("    " + line)


def run(program, smoke, rows, curves, quiet):
    environment = dict(os.environ)
    if smoke:
        environment["SALTUS_BENCH_SMOKE"] = "1"
    done = subprocess.run([str(program)], cwd=SOURCE, env=environment, text=True,
                          stdout=subprocess.PIPE, timeout=RUN_TIMEOUT)
    parse(done.stdout, rows, curves, quiet)
    return done.returncode == 0


def marks_sides(program):
    source = SOURCE / "bench" / (program.name + ".c")
    if not source.exists():
        return False
    text = source.read_text()
    return "bench_compare" in text or "CALLGRIND_DUMP_STATS_AT" in text


def run_native(program, rows):
    """The same with equations as machine code; only the ratio is kept."""
    source = SOURCE / "bench" / (program.name + ".c")
    if not source.exists() or "#define BENCH_NATIVE" not in source.read_text():
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "SALTUS_BENCH_NATIVE": folder}
        try:
            done = subprocess.run([str(program)], cwd=SOURCE, env=environment, text=True,
                                  stdout=subprocess.PIPE, timeout=RUN_TIMEOUT, check=True)
        except (subprocess.SubprocessError, OSError) as problem:
            print(f"    no machine code: {problem}")
            return
    again, ignored = [], []
    parse(done.stdout, again, ignored, True)
    by_name = {row["name"]: row for row in again}
    for row in rows:
        other = by_name.get(row["name"])
        if other and number(other, "ratio") is not None:
            row["native_ratio"] = other["ratio"]
            row["native_s"] = other["saltus_s"]


def count_instructions(program, rows):
    """One run under callgrind; each side of each row is a dump of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "SALTUS_BENCH_COUNT": "1"}
        command = ["valgrind", "--tool=callgrind", "--collect-atstart=no", "-q",
                   f"--callgrind-out-file={folder}/out", str(program)]
        try:
            subprocess.run(command, cwd=SOURCE, env=environment, timeout=COUNT_TIMEOUT,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        except (subprocess.SubprocessError, OSError) as problem:
            print(f"    instructions not counted: {problem}")
            return
        counts = {}
        for dump in Path(folder).iterdir():
            side = total = None
            with open(dump) as lines:
                for line in lines:
                    if line.startswith("desc: Trigger: Client Request: "):
                        side = line.split(": ", 3)[3].strip()
                    elif line.startswith(("totals:", "summary:")):
                        total = int(line.split()[1])
            if side and total:
                counts[side] = total
    for row in rows:
        opponent = counts.get("opponent " + row["name"])
        saltus = counts.get("saltus " + row["name"])
        if opponent and saltus:
            # per step where the two do not take the same number of them
            share = row.get("saltus_share", 1.0)
            row["instruction_ratio"] = share * saltus / opponent


# ---- the picture of cost over size --------------------------------------------------------------


def svg_curves(points):
    """Log-log: time to the first step, time of a step, memory, each over N."""
    series = [("text to first step, s", "ready_s", "#0b62a4"), ("one step, s", "step_s", "#c0392b"),
              ("memory, GB", "bytes", "#2e8b57")]
    width, height, left, right, top, bottom = 760, 440, 70, 200, 30, 50
    values = [(p["n"], p[key] / (1e9 if key == "bytes" else 1.0)) for p in points
              for _, key, _ in series if p.get(key)]
    if not values:
        return ""
    x_low, x_high = (f(math.log10(n) for n, _ in values) for f in (min, max))
    y_low = math.floor(min(math.log10(v) for _, v in values))
    y_high = math.ceil(max(math.log10(v) for _, v in values))
    x_span, y_span = max(x_high - x_low, 1.0), max(y_high - y_low, 1.0)

    def at(n, value):
        x = left + (math.log10(n) - x_low) / x_span * (width - left - right)
        y = height - bottom - (math.log10(value) - y_low) / y_span * (height - top - bottom)
        return x, y

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="13">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="18">cost over size: chain of N cells with one guard each</text>']
    for exponent in range(int(round(x_low)), int(round(x_high)) + 1):
        x, _ = at(10.0 ** exponent, 10.0 ** y_low)
        out.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{height - bottom}" '
                   'stroke="#ddd"/>')
        out.append(f'<text x="{x:.1f}" y="{height - bottom + 18}" text-anchor="middle">'
                   f'1e{exponent}</text>')
    for exponent in range(y_low, y_high + 1):
        _, y = at(10.0 ** x_low, 10.0 ** exponent)
        out.append(f'<line x1="{left}" y1="{y:.1f}" x2="{width - right}" y2="{y:.1f}" '
                   'stroke="#ddd"/>')
        out.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">1e{exponent}</text>')
    out.append(f'<text x="{(left + width - right) / 2}" y="{height - 10}" text-anchor="middle">'
               'N</text>')
    for label, key, colour in series:
        scale = 1e9 if key == "bytes" else 1.0
        line = [at(p["n"], p[key] / scale) for p in points if p.get(key)]
        if not line:
            continue
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in line]
        x, y = line[-1]
        out.append(f'<text x="{x + 8:.1f}" y="{y + 4:.1f}" fill="{colour}">{label}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


# ---- one model in several texts -----------------------------------------------------------------

COSTS = [("text to first step", "ready_s"), ("memory", "bytes"), ("step", "step_s"),
         ("event", "event_s")]
SPELLING_BUDGET = 2.0


def spelling_groups(points):
    groups = {}
    for point in points:
        if "spelling" in point:
            groups.setdefault((point["spelling"], point["n"]), []).append(point)
    return groups


def has_no_events(points):
    return all(number(p, "events") == 0 for p in points)


def spread(points, key):
    """Slowest to fastest text; None where one was not reached, NaN where nothing is to be measured."""
    if key == "event_s" and has_no_events(points):
        return math.nan
    values = [number(p, key) for p in points]
    if None in values or not min(values) > 0:
        return None
    return max(values) / min(values)


def say_cost(point, key):
    value = number(point, key)
    if value is None:
        return "" if key == "event_s" and number(point, "events") == 0 else "not reached"
    return f"{value * 1e-6:.3g} MB" if key == "bytes" else say_seconds(value)


def say_spread(value):
    if value is None:
        return "**not reached**"
    if math.isnan(value):
        return "no events"
    return f"{value:.2f}" if value <= SPELLING_BUDGET else f"**{value:.2f}**"


def spelling_tables(points):
    """A summary of slowest/fastest, then every text."""
    groups = spelling_groups(points)
    out = ["| model | N | " + " | ".join(title for title, _ in COSTS) + " |",
           "|---|---|" + "---|" * len(COSTS)]
    for (name, n), members in groups.items():
        out.append(f"| {name}: {members[0]['what']} | {n} | "
                   + " | ".join(say_spread(spread(members, key)) for _, key in COSTS) + " |")
    for (name, n), members in groups.items():
        out += ["", f"## {name}, N = {n}", "",
                "| text | " + " | ".join(title for title, _ in COSTS) + " | events | steps |",
                "|---|" + "---|" * (len(COSTS) + 2)]
        for point in members:
            counts = [say_number(number(point, key), "{:.0f}") for key in ("events", "steps")]
            out.append(f"| {point['text']} | "
                       + " | ".join(say_cost(point, key) for _, key in COSTS)
                       + f" | {counts[0]} | {counts[1]} |")
    return "\n".join(out)


def svg_spellings(points):
    """Bars of slowest/fastest, logarithmic, one group for each model and size."""
    groups = spelling_groups(points)
    colours = ["#0b62a4", "#2e8b57", "#c0392b", "#8e5ea2"]
    left, top, bar, gap, width = 150, 60, 9, 10, 760
    rows = [(f"{name}, N = {n}", [spread(members, key) for _, key in COSTS])
            for (name, n), members in groups.items()]
    if not rows:
        return ""
    known = [v for _, values in rows for v in values if v and not math.isnan(v)]
    decades = max(1.0, math.ceil(math.log10(max(known, default=10.0))))
    height = top + len(rows) * (len(COSTS) * bar + gap) + 30

    def across(value):
        return left + math.log10(value) / decades * (width - left - 90)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="18">slowest to fastest text of one model</text>']
    for i, (title, _) in enumerate(COSTS):
        x = left + 150 * i
        out.append(f'<rect x="{x}" y="28" width="10" height="10" fill="{colours[i]}"/>'
                   f'<text x="{x + 15}" y="37">{title}</text>')
    for value in [1.0, SPELLING_BUDGET] + [10.0 ** k for k in range(1, int(decades) + 1)]:
        x = across(value)
        out.append(f'<line x1="{x:.1f}" y1="{top - 8}" x2="{x:.1f}" y2="{height - 25}" '
                   f'stroke="{"#888" if value == SPELLING_BUDGET else "#ddd"}"/>'
                   f'<text x="{x:.1f}" y="{height - 10}" text-anchor="middle">{value:g}</text>')
    y = top
    for title, values in rows:
        out.append(f'<text x="{left - 8}" y="{y + 2.5 * bar:.1f}" text-anchor="end">{title}</text>')
        for colour, value in zip(colours, values):
            if value is not None and math.isnan(value):
                y += bar
                continue
            end = across(value) if value else width - 90
            out.append(f'<rect x="{left}" y="{y}" width="{max(end - left, 1):.1f}" '
                       f'height="{bar - 1}" fill="{colour}"/>')
            if not value:
                out.append(f'<text x="{end + 4}" y="{y + bar - 1}">not reached</text>')
            y += bar
        y += gap
    out.append("</svg>")
    return "\n".join(out) + "\n"


# ---- results ------------------------------------------------------------------------------------


def say_machine(facts):
    return (f"{facts['cpu']}, {facts['cores']} cores; {facts['compiler']}; {facts['system']}; "
            f"commit {facts['commit']}; load {facts['load']:.1f}")


def say_origin(rows, facts):
    """Where the rows were measured: one machine, or which of them elsewhere."""
    others = {}
    for row in rows:
        if row.get("measured", say_machine(facts)) != say_machine(facts):
            others.setdefault(row["measured"], []).append(row["name"])
    return "\n\n".join([say_machine(facts)] + [
        f"Not measured in this run but with {where}: {', '.join(names)}"
        for where, names in others.items()])


def write_results(folder, rows, curves, facts):
    folder.mkdir(parents=True, exist_ok=True)
    data = {"machine": facts, "rows": rows, "curves": curves}
    (folder / "results.json").write_text(json.dumps(data, indent=1) + "\n")
    head = say_machine(facts)
    (folder / "table.md").write_text(
        "# Benchmarks\n\nWritten by `make bench`; see [README.md](README.md) for what the rows "
        f"mean and what is missing.\n\n{say_origin(rows, facts)}\n\n{markdown_table(rows)}\n")
    picture = svg_curves([c for c in curves if c.get("curve") == "cells"])
    if picture:
        (folder / "size.svg").write_text(picture)
    if spelling_groups(curves):
        (folder / "spelling.md").write_text(
            "# One model in several texts\n\nWritten by `make bench`. Slowest to fastest text; at most "
            f"{SPELLING_BUDGET:g} is the aim, what is above it stands in bold.\n\n{head}\n\n"
            f"{spelling_tables(curves)}\n")
        (folder / "spelling.svg").write_text(svg_spellings(curves))


def merged(folder, rows, curves):
    """What is in the results already, with the new rows in their places."""
    old = json.loads((folder / "results.json").read_text())
    for row in old["rows"]:
        row.setdefault("measured", say_machine(old["machine"]))
    new = {row["name"]: row for row in rows}
    kept = [new.pop(row["name"], row) for row in old["rows"]]
    kinds = {"spelling" in curve for curve in curves}
    curves = [c for c in old["curves"] if ("spelling" in c) not in kinds] + curves
    return kept + list(new.values()), curves


def main():
    parser = argparse.ArgumentParser(description="run the benchmarks")
    parser.add_argument("build", type=Path)
    parser.add_argument("--only", default="", help="names of programs, separated by commas")
    parser.add_argument("--no-count", action="store_true", help="do not count instructions")
    parser.add_argument("--no-peers", action="store_true", help="leave other simulators out")
    parser.add_argument("--out", type=Path, default=SOURCE / "bench" / "results")
    parser.add_argument("--update", action="store_true",
                        help="with --only: put the rows into the results that are there")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does it run at all?")
    options = parser.parse_args()
    build = options.build.resolve()
    only = set(filter(None, options.only.split(",")))
    rows, curves, failed = [], [], []
    programs = sorted(p for p in (build / "bench").iterdir()
                      if p.is_file() and os.access(p, os.X_OK))
    for program in programs:
        if only and program.name not in only:
            continue
        print(f"== {program.name}", flush=True)
        mine = []
        try:
            good = run(program, options.smoke, mine, curves, options.smoke)
        except (subprocess.SubprocessError, ValueError) as problem:
            print(f"    {problem}")
            good = False
        if not good:
            failed.append(program.name)
        if os.access("/usr/bin/cc", os.X_OK) and not options.smoke:
            run_native(program, mine)
        if shutil.which("valgrind") and not (options.no_count or options.smoke):
            if marks_sides(program):
                count_instructions(program, mine)
        rows += mine
    peers = SOURCE / "bench" / "peers.py"
    if peers.exists() and not (options.no_peers or options.smoke or only):
        print("== peers", flush=True)
        done = subprocess.run([sys.executable, str(peers)], stdout=subprocess.PIPE, text=True)
        parse(done.stdout, rows, curves, False)
    print()
    print(text_table(rows))
    if spelling_groups(curves):
        print("\n" + spelling_tables(curves))
    if options.update:
        rows, curves = merged(options.out, rows, curves)
    if options.update or options.smoke or not only:
        write_results(options.out, rows, curves, machine(build))
        print(f"\nwritten to {options.out}")
    if failed:
        print("failed: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
