#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The language as people write it: texts in the form of ISMA 2015, functions, parts, tables, files and numbers that are not
finite, each with a value that was computed elsewhere; mistakes with their codes; and the layout keeps all of it."""
import math
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

STILL = "q' = 0; q(t0) = 0; "  # something to run, for models that only compute
PORT = "part Q { port p { across v; through i; } p.v = 5; } "
CIRCUIT = ("part R { port p { across v; through i; } port n { across v; through i; } p.v - n.v = 2*p.i; p.i + n.i = 0; }"
           "part B { port p { across v; through i; } p.v = 5; } B b; ")
TABLE = "t,v\n0,0\n1,2\n3,-2\n4,0\n"

VALUES = {
    # ---- conditions under names with indices, in both spellings ----
    "b[i] as b1": ("x' = 1; x(t0) = 0; for i = 1:3 { b[i] = x > i; } y = if(b1, 7, 0); z = if(b3 || !b2, 1, 5);", 2.5,
                   {"y": 7, "z": 5}),
    "b1 as b[i]": ("x' = 1; x(t0) = 0; b1 = x > 1; b2 = x > 9; y = sum(i = 1:2, if(b[i], 1, 10));", 2, {"y": 11}),
    "copies of b[i]": ("x' = 1; x(t0) = 0; for i = 1:3 { b_[i] = x > i; c_[i] = b_[i]; } n(t0) = 0;"
                       "state s c_2 { set n = n + x; } from init; d = b_1; y = if(d, 3, 4);", 3, {"n": 2, "y": 3}),
    # ---- conditions as arguments ----
    "conditions as arguments": (
        "const c = max(3 > 2, 0.5), d = sum(i = 1:4, i > 2);"
        "x' = 1; x(t0) = 0; b = x > 2; a = max(x > 1, 0.5); k = c + d; n = sum(i = 1:5, x > i); s = sqrt(b) + 2*min(b, 0.5);"
        "late = delay(x > 1, 1, 0); q(t0) = 0; at 2.5 { set q = max(x > 1, x > 7) + sum(i = 1:5, x > i); }", 2.8,
        {"a": 1, "n": 2, "s": 2, "late": 1, "q": 3, "k": 3}),
    # ---- ISMA 2015 ----
    "bodies in another order": (
        "x' = 0.5; x(t0) = 0; y' = 1; y(t0) = 0; st = 0;"
        "state C1 (TIME > 0) { x' = 0.4; y' = 2; st = 1; } from init;"
        "state C2 (x - 1 >= 0) { x' = -0.5; st = 2; } from C1;"
        "state C1 (x - 0.5 <= 0) { st = 1;  y'=2;  x' = 0.4; } from C2;", 3, {"st": 2, "x": 0.75, "y": 5.5}),
    "resets of the way": (
        "h' = 0.5; h(t0) = 0; n(t0) = 0; m(t0) = 0;"
        "state C1 (TIME > 0) { h' = 0.4; set n = n + 1; } from init;"
        "state C2 (h - 1 >= 0) { h' = -0.5; } from C1;"
        "state C1 (h - 0.5 <= 0) { h' = 0.4; set m = m + 1; } from C2;", 10, {"n": 1, "m": 3, "h": 0.625}),
    "pseudo-state": ("p' = -1; p(t0) = 0.5; n(t0) = 0; if (p < 0) { set p = 0.25, n = n + 1; p' = 0; }", 2.1, {"p": 0.15, "n": 7}),
    "chained states": (
        "x' = 1; x(t0) = 0; n(t0) = 0; state A (x >= 1) { set n = n*10 + 1; } from init;"
        "state B (x >= 1) { set n = n*10 + 2; } from A; state C (n == 12) { set n = n*10 + 3; } from B;", 2, {"n": 123}),
    # ---- what is made of discrete values is discrete ----
    **{"computed from discrete values, " + name: (
        "n(t0) = 0; m(t0) = 0; c(t0) = 0; every 1 { set n = n + 1; } " + given +
        f"state a [{guard}] {{ set m = n, c = c + 1; }} from init, a; " + STILL, 10.5, {"c": 11})
       for name, given, guard in (
           ("itself", "", "n != m"), ("a copy", "y = n;", "y != m"), ("a chain", "z = 2*y; y = n;", "z != 2*m"),
           ("larger", "y = n;", "y > m"), ("by a label", "lbl: y = n; state b [time > 99] { lbl: y = n; } from a;", "y != m"),
           ("by a switch", "y = if(n > 3, n, n);", "y != m"), ("a part", "part P { y = u; } P p; p.u = n;", "p.y != m"))},
    "a computed value that becomes equal": (
        "n(t0) = 0; y = if(n > 3, 1, 0); c(t0) = 0; every 1 { set n = n + 1; } state a [y == 1] { set c = n; } from init;" + STILL,
        10.5, {"c": 4}),
    "conditions of conditions": ("x' = 1; x(t0) = 0; a = x > 0.5; b = !a; c = (x > 0.2) == (x > 0.7); f(t0) = true; w = if(f, 3, 4);",
                                 0.9, {"a": 1, "b": 0, "c": 1, "w": 3}),
    **{"a condition under another name, " + name: (
        "x' = 1; x(t0) = 0; n(t0) = 0; state s " + guard + " { set n = time; } from init; " + text, 3, {"n": 1})
       for name, guard, text in (
           ("a copy", "b", "a = x > 1; b = a;"), ("a chain", "c", "c = b; b = a; a = x > 1;"), ("a macro", "b", "b = m; macro m = x > 1;"),
           ("a choice", "b", "b = if(x > 5, false, x > 1);"), ("a function", "b", "b = f(x); function f(u) { c = u > 1; return c && u < 5; }"),
           ("a loop", "b[2]", "for i = 1:2 { a[i] = x > 3 - i; b[i] = a[i]; }"),
           ("a part", "p.s", "part P { n(t0) = 0; w = u; v = w; state s v { set n = time; } from init; } P p; p.u = x > 1;"),
           ("a discrete one", "[h]", "f(t0) = false; h(t0) = f; at 0.5 { set f = true; } at 1 { set h = f; }"))},
    "there and back in one instant": (
        "x' = 0; x(t0) = 0; m(t0) = 0; c(t0) = 0; every 1 { set x = x + 1; }"
        "state a [x > m] { set m = x, c = c + 1; } from init, b; state b [x <= m] {} from a;", 10.5, {"c": 11}),
    "there and back, again": (
        "x' = 0; x(t0) = 0; m(t0) = 0; c(t0) = 0; every 1 { set x = x + 1; } state a [x > m] { set m = x, c = c + 1; } from init, a;",
        10.5, {"c": 11}),
    "set to what is asked for": (
        "x' = 0; x(t0) = 0; c(t0) = 0; every 1 { set x = x + 1; } state a [x == 5] { set c = c + 1; } from init;", 10.5, {"c": 1}),
    # ---- initial values that read what is solved for ----
    **{"a root at the start, " + name: (
        "r*r = 4; r(t0) ~ -1; x' = 0; x(t0) = r; " + text, 1, wanted)
       for name, text, wanted in (
           ("alone", "", {"x": -2}), ("in a chain", "y' = 0; y(t0) = x; z' = 0; z(t0) = y - 1;", {"z": -3}),
           ("beside a switch", "y = if(x < -1.5, 1, 2); w' = 0; w(t0) = y;", {"x": -2, "w": 1}),
           ("by a delay", "y = delay(x, 0.5); w' = 0; w(t0) = y;", {"x": -2, "w": -2}),
           ("for a guess", "q*q = 9; q(t0) ~ r; w' = 0; w(t0) = q;", {"w": -3}))},
    "noise of numbers is that of constants": (
        "const s = 1, k = 2; n(t0) = noise(1, 2); m(t0) = noise(s, k); d = n - m; w(t0) = 0; at 0.5 { set w = noise(1, 2) - n; } " + STILL,
        1, {"d": 0, "w": 0}),
    "an element of a member of an array": (
        "part A(n = 2) { for i = 1:n { z[i]' = i; z[i](t0) = 0; } } A q[3](n = i + 1);", 1, {"q[2].z[3]": 3, "q[2].z3": 3}),
    # ---- functions ----
    "functions share": ("\n".join(f"function f{i}(x) = f{i-1}(x) + f{i-1}(x);" for i in range(1, 60)) +
                        "function f0(x) = x; y = f59(t);" + STILL, 1, {"y": 2.0 ** 59}),
    "functions with units share": ("\n".join(f"function f{i}(x) = f{i-1}(x) + f{i-1}(x);" for i in range(1, 60)) +
                                   'function f0(x) = x; const L = 1 "m"; y = f59(L*t);' + STILL, 1, {"y": 2.0 ** 59}),
    "functions of a part": (
        "part P(k = 2) { function f(x) = k*x + h; function g2(x) { a = f(x); return a*a; } h' = 1; h(t0) = 0; y = g2(u); }"
        "P r[3](k = i); for i = 1:3 { r[i].u = i; }", 1, {"r[1].y": 4, "r[2].y": 25, "r[3].y": 100}),
    "functions of parts in parts": (
        "part C(k = 1) { function f(x) = k*x; y = f(u); u = 1; }"
        "part R(s = 1) { C c[2](k = s*10 + i); function f(x) = s*x + c[2].y; z = f(1); }"
        "R r[2](s = i); " + STILL, 1, {"r[1].c[1].y": 11, "r[2].c[2].y": 22, "r[1].z": 13, "r[2].z": 24}),
    "a condition of a part": (
        "part P { function near(x) = abs(x - w) < 0.1; w' = 1; w(t0) = 0; state s near(1) { w' = 0; } from init; }"
        "P a[2];", 2, {"a[2].w": 0.9}),
    "a function of the part hides": ("function f(x) = 1000*x; part P { function f(x) = x; y = f(1); } P a; z = f(1) + a.y;" + STILL,
                                     1, {"z": 1001}),
    "round is exact": ("const a = 0.49999999999999994, b = 4503599627370497; x = round(a); y = round(b) - b; z = round(2.5);"
                       "w = round(-2.5);" + STILL, 1, {"x": 0, "y": 0, "z": 3, "w": -3}),
    # ---- parts ----
    "a state that one element enters": (
        "part L { automaton lamp { state on {} state off {} } } part H { L a, b; } H h[2]; at 1 { goto h[2].a.lamp.on; }"
        "q' = if(h[2].a.lamp.on, 1, 0); q(t0) = 0;", 3, {"q": 2}),
    "a state of one automaton of a loop": (
        "for i = 1:3 { automaton lamp_[i] { state on {} } } at 1 { goto lamp_2.on; } q' = if(lamp_2.on, 1, 0); q(t0) = 0;", 3, {"q": 2}),
    "a parameter of an array": ("part T(k = 5) { x' = k; x(t0) = 0; } T a, r[2](k = 7); z = a.k + r.k;", 1, {"z": 12, "r[2].x": 7}),
    "words in parts": (
        'data d = "tab.csv"; part Q { y = table(d, time + 1, hold); x\' = 1; x(t0) = 0; z = delay(x, 1, 0, linear); }'
        "part B { y' = v; v' = -8; y(t0) = 1; v(t0) = 0; state hit [y <= 0] && [v < 0] { set v = -0.5*v; } from init, hit;"
        "state rest zeno { y' = 0; v' = 0; set y = 7, v = 0; } from hit; } Q q[2]; B b[2], c;", 6,
        {"q[2].y": 0, "q[1].z": 5, "b[2].y": 7, "c.y": 7}),
    "constants of a part as bounds": (
        "part R(N = 3) { const n = N + 1; for i = 1:n { T[i]' = i; T[i](t0) = 0; const c[i] = 10*i; }"
        "for i = 1:n { for k = 1:m[i] { y[i,k] = c[i] + k; } const m[i] = i; } s = sum(i = 1:n, T[i]); }"
        "R a, r[2], q[2](N = 2 + i);", 1, {"a.s": 10, "r[2].s": 10, "q[1].s": 10, "q[2].s": 15, "q[2].y[5,5]": 55}),
    "bounds that later loops declare": (
        "const top = c3*2; for i = 1:top { const a[i] = i; } for i = 1:3 { const c[i] = i; }"
        "for k = 1:c2 { for j = 1:a[k] { for m = 1:b[k,j] { z[k,j,m] = sum(q = 1:b[k,j], q); } const b[k,j] = j + 1; } }"
        "x = sum(i = 1:top, a[i]);" + STILL, 1, {"x": 21, "z[2,2,3]": 6}),
    "reading an open port": (
        CIRCUIT + "R r, s[3]; connect(b.p, r.p, s[1].p, s[2].p, s[3].p); meter = r.n.v; y = s[2].n.v; n(t0) = 0;"
        "at 0.5 { set n = r.n.v; } state hot [r.n.v < time + 4.5] {} from init;" + STILL, 1, {"meter": 5, "y": 5, "n": 5, "r.p.i": 0}),
    "equations of an open port": (
        CIRCUIT + "R r, s, u; connect(b.p, r.p, s.p, u.p); r.n.v = 3; s.n.i = 1; m = s.n.v; w = u.n.v; w = 1;" + STILL, 1,
        {"r.p.i": 1, "m": 7, "u.p.i": 2}),
    "elements of a part in both spellings": (
        "part P { for k = 1:2 { z[k]' = k; w_[k] = 10*k; const c[k] = k*7; } v1 = 5; v2 = 6; s = z1 + c[1]; } P p, r[2];"
        "y = p.z2 + p.z[1] + r[2].w_2 + p.c1; u = sum(i = 1:2, p.v[i]); p.z2(t0) = 5; p.z[1](t0) = 3;", 1,
        {"y": 7 + 4 + 20 + 7, "u": 11, "p.s": 11}),
    "flows of an open port": (
        CIRCUIT + "R r, s, u; connect(b.p, r.p, s.p, u.p); amp = r.n.i; w = 1 + s.n.i; s.n.v = 3; macro m = u.n.v; z = m + u.n.i;" + STILL,
        1, {"amp": 0, "w": 0, "s.p.i": 1, "z": 5}),
    "one element of an array of ports": (
        CIRCUIT + "R r[4]; for i = 1:4 { connect(b.p, r[i].p); y[i] = r[i].n.v; } r[2].n.v = 3; r[3].n.i = 0.5;" + STILL, 1,
        {"y1": 5, "r[2].p.i": 1, "r[3].p.i": -0.5, "y4": 5, "r[4].p.i": 0}),
    "what determines a port from outside": (
        CIRCUIT + "R a, c, d, f; connect(b.p, a.p, c.p, d.p, f.p); u(t0) = 3; a.n.v = u; 0 = w - 1; w = c.n.v; x = d.n.v; 0 = z - x;"
        "if (time > 0.5) { f.n.v = 3; } else { f.n.i = 2; }" + STILL, 1, {"a.p.i": 1, "c.p.i": 2, "z": 5, "d.p.i": 0, "f.p.i": 1}),
    "an open port in a row of a thousand": (
        CIRCUIT + "R r[1000]; connect(b.p, r[1].p); for i = 2:1000 { connect(r[i-1].n, r[i].p); } y = r[1000].n.v; a = r[1000].n.i;" + STILL,
        1, {"y": 5, "a": 0}),
    "parts joined by equations": (
        CIRCUIT + "part M { v(t0) = 0; 2*v' = F; } M m; R r; connect(b.p, r.p); m.v = r.n.v; m.F = -r.n.i;", 1,
        {"m.v": 5*(1 - math.exp(-0.25))}),
    # ---- what is not used ----
    "unused functions and parts": (
        'data d = "tab.csv"; const Leaf = 2; function ends(x) = table(d, x, hold) + delay(x, 1, 0, linear);'
        "part Leaf(a, b = 1) { port p { across v; through i; } p.i = a*p.v + open; h' = u; } part Twig { Leaf l[3](a = i); }"
        "x' = Leaf; x(t0) = 0;", 1, {"x": 2}),
    # ---- tables ----
    "ends of a table": (
        'data d = "tab.csv"; x\' = 1; x(t0) = -2; a = table(d, x, hold); b = table(d, x, extrapolate); c = table(d, x, periodic);'
        "ib' = b; ib(t0) = 0; ic' = c; ic(t0) = 0;", 9, {"a": 0, "b": 6, "c": -2, "ib": 5, "ic": -1}),
    "a table that nothing reads beyond its ends": (
        'data d = "tab.csv"; x\' = 1; x(t0) = 0; a = if(x <= 4, table(d, x, error), 7); b = table(d, x, error); i\' = b; i(t0) = 0;'
        "c' = if(x < 4, table(d, x, error), 1); c(t0) = 0; state late [x >= 4] { b = 3; } from init;"
        "state on [table(d, x - 4, error) > 1] like late {} from late; state off [x >= 8] like late {} from on, late; n = if(main.on, 1, 0);", 6,
        {"a": 7, "b": 3, "i": 6, "c": 2, "n": 1}),
    "a run as long as its table": ('data d = "tab.csv"; x\' = 1; x(t0) = 0; y\' = table(d, x, error); y(t0) = 0;', 4, {"x": 4, "y": 0}),
    "a table beside its file": ('include "sub/dd.lisma"; y = table(dd, 0.5); z = table(up, 0.5);' + STILL, 1, {"y": 5, "z": 1}),
    # ---- numbers that are not finite ----
    "the least so far": ("best(t0) = inf; x = sin(t); at 1 each 1 repeat * { set best = min(best, x); }" + STILL, 6.5,
                         {"best": math.sin(5)}),
    "due never": ("due(t0) = inf; x' = 1; x(t0) = 0; n(t0) = 0; state s [x >= due] { set n = n + 1, due = inf; } from init, s;"
                  "at 2 { set due = 3.5; } at 4 { set due = 5; }", 6, {"n": 2, "due": math.inf}),
    "not known yet": ("last(t0) = nan; x' = 1; x(t0) = 0; state s [last > 1] { x' = 0; } from init; at 1 { set last = 2; }", 2,
                      {"x": 1}),
    "a varying delay before its time is computed": (
        "y = delay(x, tau, 3); x' = 1; x(t0) = 0; tau = 1 + time/4; part P { z = delay(w, lag, 3); w' = 2; w(t0) = 0; lag = 1 + time/4; }"
        "P p, r[2];", 4, {"y": 2, "p.z": 4, "r[2].z": 4}),
    # ---- events ----
    "delays of a loop": ("x' = 1; x(t0) = 0; const d = 2; for i = 1:3 { n[i](t0) = 0; after i*0.5 [x > 1] { set n[i] = time; } }"
                         "m(t0) = 0; after d/4*(1 + 1) bilateral[x > 1] { set m = 7; } k(t0) = 0; after 1/i0 [x > 1] { set k = time; } i0(t0) = 4;",
                         4, {"n1": 1.5, "n2": 2, "n3": 2.5, "m": 7, "k": 1.25}),
    "an after before a state": (
        "busy(t0) = true; n(t0) = 0; after 2 [busy] { set busy = false, n = n + 1; }"
        "state go [busy == false] { set busy = true; } from init, go;" + STILL, 7, {"n": 3}),
    "a branch before a state": ("x' = 1; x(t0) = 0; n(t0) = 1; if (x > 1) { set n = n*2; } state q [x > 1] { set n = n + 10; } from init;",
                                2, {"n": 12}),
    "a state before a branch": ("x' = 1; x(t0) = 0; n(t0) = 1; state q [x > 1] { set n = n + 10; } from init; if (x > 1) { set n = n*2; }",
                                2, {"n": 22}),
    "a branch of a part before a state": (
        "x' = 1; x(t0) = 0; n(t0) = 1; part P { k(t0) = 0; if (y > 1) { set k = k + 1; } } P p; p.y = x;"
        "if (x > 1) { set n = n*2; } automaton A { state q [x > 1] { set n = n + 10; } from init; }", 2, {"n": 12, "p.k": 1}),
    "every, so often": ("const P = 0.5; n(t0) = 0; every P repeat 3 { set n = n + 1; } m(t0) = 0; every 2*P { set m = m + 1; }" + STILL,
                        5.1, {"n": 3, "m": 6}),
}

QUIET = {  # no warning of an order that the model has chosen
    "an output of both branches": "part P(h = 1) { x' = 1; x(t0) = 0; if (x > h) { hi = 1; } else { hi = 0; } } P p;",
    "priority of one automaton": "x' = 1; x(t0) = 0; n(t0) = 1; automaton A { state s [x >= 1] { set n = n*10; } from init; }"
                                 "automaton B priority 2 { state s [x >= 1] { set n = n + 1; } from init; }",
    "priority of automata": "x' = 1; x(t0) = 0; n(t0) = 1; automaton A priority 1 { state s [x >= 1] { set n = n*10; } from init; }"
                            "automaton B priority 2 { state s [x >= 1] { set n = n + 1; } from init; }",
}

MISTAKES = [
    ("state bodies", "x' = 1; y = 1; state A [x > 1] { x' = 2; y = 3; } from init; state A [x < 0] { x' = 2; } from init;", "E0404",
     "only the body there has `y = 3;`"),
    ("function from outside", "part P { function f(x) = x; y = f(1); } P a; z = a.f(2);", "E0216", "known inside only"),
    ("functions that multiply", "\n".join(f"function c{i}(x) = c{i-1}(x) && c{i-1}(x+1);" for i in range(1, 60)) +
     "function c0(x) = x > 1; x' = 1; state s c59(x) {} from init;", "E0721", "too long an expression"),
    ("a state that nothing enters", "q' = 0; automaton A { state on {} }", "E0402", "never reached"),
    ("a parameter of one element", "part T(k = 5) { x' = k; x(t0) = 0; } T r[2](k = i); z = r.k;", "E0216", "depends on the index"),
    *[("no such element, " + name, "part P { port p { across v; through i; } p.v = 1; x' = u; x(t0) = 0; } P a[3]; P b; b.u = 1;"
       "for i = 1:3 { a[i].u = 1; } " + text, "E0216", "there is no 'a[4]'")
      for name, text in {
          "read": "y = a[4].x;", "determined": "a[4].u = 1;", "with an equation": "a[4].x' = 1;", "set": "at 1 { set a[4].x = 1; }",
          "begun": "a[4].x(t0) = 1;", "joined": "connect(b.p, a[4].p);", "in a loop": "for i = 2:4 { y[i] = a[i].x; }"}.items()],
    ("a local name twice", "function f(x) { u = 1; u = 2; return u*x; } y = f(1);" + STILL, "E0201", "'u' is declared twice"),
    ("a local name for an argument", "function f(x) { x = 2; return x; } y = f(1);" + STILL, "E0201", "'x' is declared twice"),
    ("a value in another unit than its default", 'part P(k = 1 "m") { y = k; } P r[2](k = i*1 "s");' + STILL, "E0315",
     "the default and this value are in 'm' and in 's'"),
    ("units from the last line to the first", "\n".join(f"y{i} = 2*y{i + 1};" for i in range(500)) + 'y500 = 3 "m"; z = y0 + 2 "s";'
     + STILL, "E0315", "'m' and in 's'"),
    ("units of the energy", 'energy = m*v^2; const m = 2 "kg"; v\' = 0; v(t0) = 1 "m/s"; y = energy + 3 "m";', "E0315", "in 'm'"),
    ("units of a measure", 'v\' = 0; v(t0) = 1 "m/s"; measure top = max(v) - 3 "s";', "E0315", "'m/s' and in 's'"),
    ("a member left open", "part P { x' = u; x(t0) = 0; } P a[3]; for i = 1:2 { a[i].u = 1; }", "E0203", "a[3].u = ...;"),
    *[("beyond a table, " + name, 'data d = "tab.csv"; x\' = 1; x(t0) = 0.5; n(t0) = 0; ' + text, "E0814", "at t = 3.5 this table")
      for name, text in {
          "in a rate": "c' = 1 + table(d, x, error); c(t0) = 0;", "in a value": "y = table(d, x, error);",
          "in a guard": "state s [table(d, x, error) > 9] { set n = 1; } from init;",
          "in a condition": "y = if(table(d, x, error) > 9, 1, 2);", "in a branch": "y = if(x > 4.2, 1, table(d, x, error));",
          "solved together": "y^3 + y = table(d, x, error);", "without events": "y = noEvent(table(d, x, error));",
          "in parts": "part P { y = table(d, u, error); } P p[9]; for i = 1:9 { p[i].u = x*i/9; }"}.items()],
    ("beyond a table at the start", 'data d = "tab.csv"; c\' = table(d, 5 + time, error); c(t0) = 0;', "E0814", "at t = 0 this table"),
    ("beyond a table in a reset", 'data d = "tab.csv"; n(t0) = 0; at 5 { set n = table(d, time, error); }' + STILL, "E0802", "new value of 'n'"),
    ("a part that nothing is made of", "part P(a) { y' = sinn(y) + a; } " + STILL, "E0210", "did you mean 'sin'?"),
    ("a member by another name", "part P { port a { across v; through i; } speed = a.v; a.i = 0; } P p; y = p.zzz; " + STILL, "E0216",
     "it has a (port), speed"),
    ("too many by a constant of the part", "part T(m = 1000) { const n = m; for k = 1:n { const c[k] = k; y[k] = c[k]; } } T r[1000000]; ",
     "E0720", "a model may have 20000000 instances"),
    ("a part and a table of one name", 'part W { y = 1; } W w; data w = "tab.csv"; q\' = w.y;', "E0201", "'w' is declared twice"),
    ("a parameter and a constant", "part W(k = 1) { const k = 2; y = k; } W w; q' = w.y;", "E0201", "'k' is declared twice"),
    ("its units", 'part P { y = 3 "m" + 2 "s"; } ' + STILL, "E0315", "'m' and in 's'"),
    ("its loops", "part P { for i = 1:n { y[i] = 1; } } " + STILL, "E0203", "'P.n'"),
    ("its parts", "part P { Q q; } part Q { P p; } " + STILL, "E0218", "contains itself"),
    ("a function that nothing calls", "function f(x) = x*g2(x - 1); function g2(x) = f(x); " + STILL, "E0219", "calls itself"),
    ("a function of too much", "function f(%s) = a1; y = f(%s);" % (", ".join(f"a{i}" for i in range(40)), ", ".join("1" * 40)) + STILL,
     "E0303", "at most 32"),
    ("functions in functions in functions", "".join(f"function f{i}(x) = f{i-1}(x) + x;" for i in range(1, 150)) + "function f0(x) = x; y = f149(t);" + STILL,
     "E0722", "nested too deeply"),
    ("a local name that nothing reads", "function f(x) { u = missing + x; return x; } y = f(1); " + STILL, "E0203", "'missing'"),
    ("a condition read as an index", "x' = 1; state s unilaterl[x > 1] {} from init;", "E0301", "'unilateral'"),
    ("from, misspelt", "x' = 1; x(t0) = 0; state s [x > 1] {} form init;", "E0215", "did you mean 'from'?"),
    ("a delay below 0", "const d = -1; x' = 1; x(t0) = 0; after d [x > 1] { set n = 1; } n(t0) = 0;", "E0410", "at least 0"),
    ("a derivative of nothing", "last(t0) = nan; x' = last; x(t0) = 0;", "E0802", "derivative of 'x'"),
    ("a port with an index", PORT + "Q q, a; connect(q.p[1], a.p);", "E0216", "'p' is no array"),
    ("a port's variable with an index", PORT + "Q q; x' = q.p[2].v;", "E0216", "'p' is no array"),
    ("an array of ports", "part Q { port p[2] { across v; through i; } p[1].v = 5; } Q q;", "E0216", "a port is no array"),
    ("a part declared as an array", "part Q[2] { x' = 1; x(t0) = 0; } Q q;", "E0216", "a part is no array"),
    ("a parameter with an index", "part P(k = 3) { y = k[2]; } P p;" + STILL, "E0216", "'k' is no array"),
    ("a function of a part with an index", "part P { function f(x) = x; y = f[2](4); } P p;" + STILL, "E0216", "'f' is no array"),
    ("one equation for two open ports", CIRCUIT + "R r, s; connect(b.p, r.p, s.p); r.n.v + s.n.v = 3;" + STILL, "E0521", "r.n.v"),
    ("no such element of a member", "part P { for k = 1:2 { z[k] = k; } } P p; y = p.z9;" + STILL, "E0203", "p.z9"),
    ("an empty port", "part P { port a { } x' = 1; x(t0) = 0; } P p;", "E0101", "at least one quantity"),
    ("a reserved word for a part", "part T { x' = 1; x(t0) = 0; } T for;", "E0108", "backquotes"),
    ("a label of a part deleted", "part T { l: y = 1; x' = y; x(t0) = 0; } T a; state s [time > 1] { delete a.l; } from init;", "E0101", "inside only"),
    ("a label of a part replaced", "part T { l: y = 1; x' = y; x(t0) = 0; } T a; state s [time > 1] { a.l: a.y = 2; } from init;", "E0101", "inside only"),
    ("a mistake of many parts", "part P { port a { across v; through i; } y = a.zz; } P p, s, r[3];" + STILL, "E0216", "is no quantity"),
    ("a measure of an index", "const N = 2; for i = 1:N { x[i]' = 1; x[i](t0) = 0; } measure m = end(x[N]);", "index of `x`", "write x[3]"),
    ("members in messages", "a.x = 3; part P { x' = 1; x(t0) = 0; } P a;", "E0520", "note: `a.x = 3`"),
]

# one condition in many spellings: what is declared, and what stands for `x > 1 && x < 2`
CONDITIONS = {
    "plain": ("", "x > 1 && x < 2"),
    "brackets": ("", "[x > 1] && [x < 2]"),
    "macro": ("macro c = x > 1 && x < 2;", "c"),
    "function": ("function c(u) = u > 1 && u < 2;", "c(x)"),
    "half a function": ("function c(u) = u > 1;", "c(x) && x < 2"),
    "denied": ("function c(u) = u <= 1 || u >= 2;", "!c(x)"),
    "local names": ("function c(u) { low = u > 1; high = u < 2; return low && high; }", "c(x)"),
    "its argument": ("function both(p, q) = p && q;", "both(x > 1, x < 2)"),
    "a function of a function": ("function low(u) = u > 1; function c(u) = low(u) && u < 2; function same(p) = p;", "same(c(x))"),
    "a function in a macro": ("function f(u) = u > 1 && u < 2; macro c = f(x);", "c"),
    "a variable": ("c = x > 1 && x < 2;", "c"),
}
# z counts the time for which it holds
CONDITION_USES = ("z' = if(%s, 1, 0);", "z' = %s;", "z' = 0; if (%s) { z' = 1; }", "b = %s; z' = if(b, 1, 0);",
                  "z' = if(!(%s), 0, 1);", "function pick(c, a, b) = if(c, a, b); z' = pick(%s, 1, 0);")

SETTINGS = [("k=1/3", 1 / 3), (" k = 2 ", 2), ("k=2*pi", 2 * math.pi), ("k=-(1 + 2)^2/4", -2.25), ("k=2^3^2", 512)]
NO_SETTINGS = ["k=", "k=foo", "k=1/0", "k=1e999", "k=(1", "k=1 2", "k=" + "-" * 100000 + "1", "k=" + "(" * 100000]


class Language(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.mkdir(os.path.join(self.folder, "sub"))
        self.write("tab.csv", TABLE)
        self.write("sub/dd.lisma", 'data dd = "dd.csv"; data up = "tab.csv";')
        self.write("sub/dd.csv", "t,v\n0,0\n1,10\n")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def run_model(self, text, *options):
        path = self.write("m.lisma", text)
        return saltus_run.command("run", path, "-q", "--samples", "1", "-o", "-", *options)

    def end_of(self, text, columns, *options):
        status, out, errors = self.run_model(text, "--out", ",".join(columns), *options)
        self.assertEqual(status, 0, text + errors)
        return [float(cell) for cell in out.strip().split("\n")[-1].split(",")[1:]]

    def test_values(self):
        for name, (text, end, wanted) in VALUES.items():
            options = ("--until", str(end), "--rtol", "1e-10")
            found = self.end_of(text, wanted, *options)
            for value, want in zip(found, wanted.values()):
                self.assertTrue(value == want or abs(value - want) <= 1e-6 * (1 + abs(want)), (name, wanted, found))
            # the layout means the same, and is its own layout
            path = self.write("f.lisma", text)
            saltus_run.command("fmt", path)
            with open(path, encoding="utf-8") as file:
                laid_out = file.read()
            self.assertEqual(self.end_of(laid_out, wanted, *options), found, name)
            self.assertEqual(saltus_run.command("fmt", "--check", path)[0], 0, name)

    def test_quiet(self):
        for name, text in QUIET.items():
            status, _, errors = self.run_model(text, "--until", "2")
            self.assertEqual((status, errors), (0, ""), name)

    def test_mistakes(self):
        for name, text, code, words in MISTAKES:
            status, _, errors = self.run_model(text)
            self.assertIn(status, (1, 3), name + errors)
            self.assertIn(code, errors, name)
            self.assertIn(words, errors, name)
            told = [line for line in errors.split("\n") if " error[" in line]
            self.assertEqual(len(told), len(set(told)), errors)

    def test_one_message(self):
        """A slip in one word is told once."""
        for name in ("an empty port", "a reserved word for a part", "a label of a part deleted", "a label of a part replaced",
                     "a mistake of many parts"):
            text = next(mistake[1] for mistake in MISTAKES if mistake[0] == name)
            self.assertEqual(self.run_model(text)[2].count("error["), 1, name)

    def test_spellings_of_conditions(self):
        """However a condition is spelt and wherever it stands, its crossings are located."""
        for name, (declared, condition) in CONDITIONS.items():
            for use in CONDITION_USES:
                text = "x' = 1; x(t0) = 0; z(t0) = 0; " + declared + use % condition
                self.assertAlmostEqual(self.end_of(text, ["z"], "--until", "2.5")[0], 1, places=12, msg=text)

    def test_unlocated_conditions(self):
        """What is inside noEvent is not located, be it written there or in a function or a macro."""
        for condition in ("x > 1", "c", "f(x)"):
            text = "x' = 1; x(t0) = 0; z(t0) = 0; macro c = x > 1; function f(u) = u > 1; z' = if(noEvent(%s), 1, 0);" % condition
            path = self.write("m.lisma", text)
            status, out, errors = saltus_run.command("run", path, "--until", "2.5", "--out", "z", "-o", "-", "--samples", "1")
            self.assertEqual((status, "events       0" in errors), (0, True), errors)
            self.assertAlmostEqual(float(out.split(",")[-1]), 1.5, delta=1e-3)

    def test_hidden_names(self):
        """A part that hides a built-in name is told, once, as a model is; a constant for a constant is meant."""
        for text, names in (("part P { time = 3; y = time; } P p, r[2];", ["time"]), ("part P { macro e = 3; y = e; t = 4; } P p;", ["e"]),
                            ("part P(e = 2) { const g = 3, t0 = 4; y = g + e + t0; } P p;", ["t0"])):
            status, _, errors = self.run_model(text + STILL, "--until", "1")
            self.assertEqual((status, errors.count("W0220")), (0, len(names)), text + errors)
            for name in names:
                self.assertIn("this hides the built-in name '%s'" % name, errors)

    def test_places(self):
        """Files that were found elsewhere are named by where they are, and their data are found beside them."""
        with tempfile.TemporaryDirectory() as other:
            os.mkdir(os.path.join(other, "x"))
            with open(os.path.join(other, "x", "w.lisma"), "w", encoding="utf-8") as out:
                out.write('data w = "w.csv"; part W { y = table(w, time) + open; }')
            with open(os.path.join(other, "x", "w.csv"), "w", encoding="utf-8") as out:
                out.write("t,v\n0,7\n1,7\n")
            text = 'include "x/w.lisma"; W v; q\' = v.y; q(t0) = 0;'
            status, _, errors = self.run_model(text, "--include", other)
            self.assertEqual(status, 1)
            self.assertIn(os.path.join(other, "x", "w.lisma") + ":1:", errors)
            self.assertAlmostEqual(self.end_of(text + "v.open = 1;", ["q"], "--include", other, "--until", "1")[0], 8, places=9)

    def test_conditions_of_parts(self):
        """What happens in a part is told with the names that the model has for it."""
        path = self.write("m.lisma", "part T { x' = 1; x(t0) = 0; state s [x > 1] {} from init; n(t0) = 0; after 1 [x > 2] { set n = 1; } }"
                                     "part Q { T t; } T a, r[2]; Q q;")
        status, out, errors = saltus_run.command("explain", "--run", path, "--until", "4")
        self.assertEqual(status, 0, errors)
        for words in ("because a.x > 1 now", "r[2]: init -> s, because r[i].x > 1 now", "because q.t.x > 1 now", "q.t.after:1: idle -> waiting",
                      "r[1].after:1: waiting -> fired"):
            self.assertIn(words, out)

    def test_states_by_hand(self):
        """A state that is controlled is entered when its variable is set, in the model and in parts."""
        text = ("x' = u; x(t0) = 0; u = 0; automaton mode { state auto [x < 0.5] { u = 1; } from init, manual; state manual { u = -1; } }"
                "control mode.manual; part M { y' = w; y(t0) = 0; w = 1; state slow { w = 0.1; } } M m, r[2]; control m.slow; control r[2].slow;")
        changes = self.write("c.jsonl", "".join('{"t":%s,"name":"%s","value":1}\n' % change for change in
                                                ((1, "mode.manual"), (1, "m.slow"), (1, "r[2].slow"), (2.5, "mode.manual"))))
        found = self.end_of(text, ["x", "m.y", "r[1].y", "r[2].y", "mode.manual"], "--until", "3", "--replay", changes)
        for value, want in zip(found, (1, 1.2, 3, 1.2, 0)):
            self.assertAlmostEqual(value, want, places=9)
        status, _, errors = self.run_model(text + "control mode.manul;")
        self.assertEqual((status, "did you mean 'manual'?" in errors), (1, True), errors)

    def test_settings(self):
        text = "const k = 1; y = k;" + STILL
        for setting, value in SETTINGS:
            self.assertAlmostEqual(self.end_of(text, ["y"], "--set", setting)[0], value, places=12, msg=setting)
        for setting in NO_SETTINGS:
            status, _, errors = self.run_model(text, "--set", setting)
            self.assertEqual(status, 2, setting[:20])
            self.assertIn("is no number", errors)
        _, _, errors = self.run_model("part P(k = 1) { x' = k; x(t0) = 0; } P row[3];", "--set", "row[2].k=3")
        self.assertIn("did you mean 'row.k'?", errors)
        status, _, errors = self.run_model("x' = 1; x(t0) = 0; const k = 1;", "--set", "x=3")
        self.assertEqual(status, 1)
        self.assertIn("is set by x(t0)=", errors)


if __name__ == "__main__":
    unittest.main()
