#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The example programs of the CDCSIS dialect give the right numbers.

Expected values are closed forms or computed here independently, event by event.
"""
import math
import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(os.environ["SALTUS_BUILD"]) / "examples" / "cdcsis"


def run(name, folder):
    done = subprocess.run([FOLDER / name], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (name, done.returncode, done.stderr)
    assert done.stderr == "", (name, done.stderr)
    lines = (line.split(" = ") for line in done.stdout.splitlines() if " = " in line)
    return {key: float(value) for key, value in lines}


def near(name, actual, expected, tolerance):
    assert abs(actual - expected) <= tolerance, (name, actual, expected, tolerance)


def check_engine_located(v):
    near("y_at_5_5", v["y_at_5_5"], 0.0002445965789516919, 1e-8)
    near("alfa_at_5_5", v["alfa_at_5_5"], 0.00039376650055669173, 1e-8)
    near("fi_end", v["fi_end"], 600.0, 1e-6)
    near("omega_end", v["omega_end"], 0.0, 1e-9)
    near("y_end", v["y_end"], 4.458963683433322e-05, 1e-8)
    rows = [[float(c) for c in line.split(",")]
            for line in pathlib.Path("cdcsis.csv").read_text(encoding="utf-8").splitlines()[1:]]
    # figure 3: up in 5 s, level for 1 s, down in 5 s
    for t, y, alfa, w in rows:
        near("w", w, min(20.0 * t, 100.0) if t <= 6 else max(0.0, 100.0 - 20.0 * (t - 6)), 1e-9)
    assert pathlib.Path("cdcsis-3.svg").exists(), "third graph"


def check_wheel(v):
    near("t_first_slip", v["t_first_slip"], math.asin(0.8) / 12.0, 1e-11)
    assert v["slips"] >= 5 and abs(v["slips"] - v["sticks"]) <= 1, v
    assert 0.0 < v["stuck_time"] < 3.0, v


def bridge_reference():
    """Superposition of closed forms: each vehicle is a harmonic force for its time on the bridge."""
    w, z, mass, length, load = 12.0, 0.02, 2.0e4, 30.0, 8.0e4
    wd = w * math.sqrt(1 - z * z)
    end, q = 8.0, 0.0
    for i in range(6):
        enter, speed = 0.9 * i, 20.0 + 2.0 * i
        leave = enter + length / speed
        omega = math.pi * speed / length
        amplitude = 2.0 / mass * load
        d = (w * w - omega * omega) ** 2 + (2 * z * w * omega) ** 2
        a, b = amplitude * (w * w - omega * omega) / d, -amplitude * 2 * z * w * omega / d

        def forced(t):
            return (a * math.sin(omega * t) + b * math.cos(omega * t),
                    omega * (a * math.cos(omega * t) - b * math.sin(omega * t)))

        def free(x, v, t):
            e = math.exp(-z * w * t)
            c, s = math.cos(wd * t), math.sin(wd * t)
            k = (v + z * w * x) / wd
            x1 = e * (x * c + k * s)
            return x1, e * (-x * wd * s + k * wd * c) - z * w * x1
        x0, v0 = forced(0.0)
        t_on = min(leave, end) - enter
        hx, hv = free(-x0, -v0, t_on)
        px, pv = forced(t_on)
        x, v = px + hx, pv + hv
        q += free(x, v, end - leave)[0] if end > leave else x
    return q


def check_bridge(v):
    assert v["crossed"] == 6 and v["most"] == 2, v
    near("q_end", v["q_end"], bridge_reference(), 1e-8)
    assert 0.05 < v["greatest"] < 0.1, v


def check_fall(v):
    x, y, vx, vy, t = 0.0, 0.0, 3.0, 0.0, 0.0
    strikes, first = 0, None
    while True:
        to_wall = ((1.0 - x) if vx > 0 else (-1.0 - x)) / vx
        to_bottom = (vy + math.sqrt(vy * vy + 2 * 9.81 * (y + 40.0))) / 9.81
        dt = min(to_wall, to_bottom)
        x, y = x + vx * dt, y + vy * dt - 0.5 * 9.81 * dt * dt
        vy -= 9.81 * dt
        t += dt
        if to_bottom < to_wall:
            break
        vy += 0.2 * 1.6 * abs(vx) * (1.0 if vy < 0 else -1.0)
        vx *= -0.6
        strikes += 1
        first = first or t
    assert v["strikes"] == strikes, (v, strikes)
    near("t_first", v["t_first"], first, 1e-11)
    near("t_bottom", v["t_bottom"], t, 1e-9)
    near("v_bottom", v["v_bottom"], vy, 1e-8)
    near("y_end", v["y_end"], -40.0, 1e-9)


def billiard_reference():
    """Free flight from shock to shock, exactly."""
    pos = [[-0.8, 0.02], [0.5, 0.0], [0.57, 0.045]]
    vel = [[2.0, 0.01], [0.0, 0.0], [0.0, 0.0]]
    r, limits, t = 0.03, (2.54 / 2 - 0.03, 1.27 / 2 - 0.03), 0.0
    barrier = balls = 0
    while True:
        best, what = 10.0 - t, None
        for i in range(3):
            for c in range(2):
                if vel[i][c]:
                    dt = (math.copysign(limits[c], vel[i][c]) - pos[i][c]) / vel[i][c]
                    if dt < best:
                        best, what = dt, (i, c, None)
            for j in range(i + 1, 3):
                d = [pos[j][k] - pos[i][k] for k in range(2)]
                u = [vel[j][k] - vel[i][k] for k in range(2)]
                b = d[0] * u[0] + d[1] * u[1]
                a = u[0] ** 2 + u[1] ** 2
                disc = b * b - a * (d[0] ** 2 + d[1] ** 2 - 4 * r * r)
                if b < 0 and disc > 0:
                    dt = (-b - math.sqrt(disc)) / a
                    if -1e-12 < dt < best:
                        best, what = dt, (i, j, "ball")
        for i in range(3):
            for c in range(2):
                pos[i][c] += vel[i][c] * best
        t += best
        if what is None:
            return barrier, balls, pos
        i, j, kind = what
        if kind is None:
            vel[i][j] = -vel[i][j]
            barrier += 1
            continue
        n = [pos[j][k] - pos[i][k] for k in range(2)]
        size = math.hypot(*n)
        n = [k / size for k in n]
        u = sum((vel[i][k] - vel[j][k]) * n[k] for k in range(2))
        for k in range(2):
            vel[i][k] -= u * n[k]
            vel[j][k] += u * n[k]
        balls += 1


def check_billiard(v):
    barrier, balls, pos = billiard_reference()
    assert balls >= 2, balls
    assert (v["barrier_shocks"], v["ball_shocks"]) == (barrier, balls), (v, barrier, balls)
    near("energy", v["energy"], 0.5 * (2.0 ** 2 + 0.01 ** 2), 1e-13)
    near("x0", v["x0"], pos[0][0], 1e-7)
    near("y0", v["y0"], pos[0][1], 1e-7)


def check_hospital(v):
    for kind in range(3):  # Erlang B, whatever the distribution of the stay
        near("P_block", v[f"P_block_{kind}"], 0.1216610642529515, 0.003)
    near("mean_occupied_loss", v["mean_occupied_loss"], 7.026711485976388, 0.05)
    near("P_wait", v["P_wait"], 0.40918015079644354, 0.01)
    near("mean_wait_days", v["mean_wait_days"], 0.8183603015928871, 0.06)
    # the confidence limits are honest: small, and not far from the truth
    assert 0.0 < v["mean_wait_half"] < 0.1, v
    near("in its limits", v["mean_wait_days"], 0.8183603015928871, 2.0 * v["mean_wait_half"])
    near("in its limits", v["mean_occupied_loss"], 7.026711485976388,
         2.0 * v["mean_occupied_loss_half"])
    for name, value in (("3", 0.5), ("10", 1.5), ("19", 3.0)):
        near("D/D/3", v[f"dd3_wait_patient_{name}"], value, 1e-12)
    near("D/D/3", v["dd3_last_discharge"], 25.5, 1e-12)


def check_influenza(v):
    near("total", v["total"], 1e5, 1e-4)
    assert v["closings"] >= 1 and v["peak"] >= 3000.0 - 1e-6, v
    # the first wave up to the threshold: I(S) in closed form, then the time by quadrature
    n, beta, gamma, s0, i0 = 1e5, 0.5, 0.25, 1e5 - 10.0, 10.0

    def infected(s):
        return i0 + s0 - s + gamma / beta * n * math.log(s / s0)
    lo, hi = 0.5 * n, s0
    for _ in range(200):
        mid = 0.5 * (lo + hi)
        lo, hi = (mid, hi) if infected(mid) > 3000.0 else (lo, mid)
    count = 200000  # t = integral of ds / (-beta s i / n); substitute s = s0 - z^2 for the slow start
    z_end = math.sqrt(s0 - hi)
    h = z_end / count
    total = 0.0
    for k in range(count + 1):
        z = k * h
        s = s0 - z * z
        weight = 1 if k in (0, count) else 4 if k % 2 else 2
        total += weight * 2 * z * n / (beta * s * infected(s))
    near("day_closed", v["day_closed"], total * h / 3.0, 1e-5)


def check_spine(v):
    near("deflection", v["deflection"], v["by_hand"], 1e-13)
    near("slope", v["slope"], v["slope_by_hand"], 1e-12)


def main():
    missing = [name for name in ("engine", "hospital") if not (FOLDER / name).exists()]
    if missing:
        print("the examples are not built")
        sys.exit(77)
    checks = {name[6:]: check for name, check in globals().items() if name.startswith("check_")}
    built = {path.name for path in FOLDER.iterdir() if path.is_file()}
    assert built - {"engine"} == set(checks), (built, set(checks))
    home = os.getcwd()
    for name, check in checks.items():
        with tempfile.TemporaryDirectory() as folder:
            values = run(name, folder)
            os.chdir(folder)
            check(values)
            files = {path.name for path in pathlib.Path(folder).iterdir()}
            if name != "hospital":  # it orders no graphs
                assert {"cdcsis.csv", "cdcsis.html", "cdcsis-1.svg"} <= files, (name, files)
            os.chdir(home)
        print(f"{name}: ok")


main()
