#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""saltus fmt: the layout it gives, that it stays, that comments stay, and that models mean what they
meant: the gallery gives the same bits, whatever was done to its white space."""
import glob
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402
import suite  # noqa: E402

SOURCE = os.environ.get("SALTUS_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

UGLY = """\
   // a ball
const   e=0.8 ,g = 9.81;// restitution
y'=v ;v' = - g;    y( t0 )=10;  v(t0)  = 0;   /* at rest */


\t
state hit [y<0&&( v<0||!  [v>1] )]{
v(t0) = -e*v;
      // counted
n(t0) = n +1;}   from init , hit;
n(t0)=0;
for i=1:3{x_[i]' = -x_[i]+x_[ i ]*2 - n^2;
x_[i](t0)
= i;
}
at 1  each 2 repeat *{ set n = -n; }
experiment{end=4;
  every = 0.5; out=y ,v;}"""
WANTED = """\
// a ball
const e = 0.8, g = 9.81; // restitution
y' = v; v' = -g;    y(t0) = 10;  v(t0)  = 0;   /* at rest */

state hit [y < 0 && (v < 0 || ![v > 1])] {
  v(t0) = -e*v;
  // counted
  n(t0) = n + 1; } from init, hit;
n(t0) = 0;
for i = 1:3 { x_[i]' = -x_[i]+x_[ i ]*2 - n^2;
  x_[i](t0)
      = i;
}
at 1 each 2 repeat * { set n = -n; }
experiment { end = 4;
  every = 0.5; out = y, v; }
"""


def gallery():
    found = [glob.glob(os.path.join(SOURCE, "models", p)) for p in ("*.lisma", "dae/*.lisma", "stiff/*.lisma", "ontology/*.lisma")]
    return sorted(path for paths in found for path in paths)


def disturb(text, draw):
    """Other white space where it has no meaning: line begins, blank lines, around some operators."""
    lines = []
    for line in text.split("\n"):
        comment = line.find("//")
        code, rest = (line, "") if comment < 0 else (line[:comment], line[comment:])
        if '"' not in code and "`" not in code and "/*" not in code:
            code = re.sub(r" (=|\+|-|\*|/|&&|\|\||<=|>=) ", lambda m: draw.choice([" ", "   "]) + m[1] + draw.choice([" ", "  "]), code)
            code = re.sub(r", ", lambda m: draw.choice([",", " ,  "]), code)
            code = " " * draw.randrange(6) + code.strip(" ") + " " * draw.randrange(3) if code.strip() else code
        lines.append(code + rest)
        if draw.random() < 0.1:
            lines += [" " * draw.randrange(3)] * draw.randrange(3)
    return "\n".join(lines)


def comments(text):
    return re.findall(r"//[^\n]*?(?=[ \t\r]*\n|$)|/\*.*?\*/", text, re.S)


class Format(cli_case.CliCase):
    def test_layout(self):
        self.write("ugly.lisma", UGLY)
        self.fails(1, "fmt", "--check", "ugly.lisma")
        self.assertEqual(self.read("ugly.lisma"), UGLY)
        self.assertEqual(self.good("fmt", "ugly.lisma").out, "ugly.lisma\n")
        self.assertEqual(self.read("ugly.lisma"), WANTED)
        self.assertEqual(self.good("fmt", "ugly.lisma", "--check").out, "")

    def test_streams_and_mistakes(self):
        self.write("bad.lisma", "x' = ;\n")
        self.fails(1, "fmt", "bad.lisma", says="error[E01")
        self.assertEqual(self.read("bad.lisma"), "x' = ;\n")
        self.write("windows.lisma", "\ufeffx' = -x;\r\nx(t0)=1;\r\n")
        self.good("fmt", "windows.lisma")
        self.assertEqual(self.read("windows.lisma"), "x' = -x;\nx(t0) = 1;\n")
        self.fails(2, "fmt", says="saltus fmt MODEL.lisma")
        self.fails(2, "fmt", "missing.lisma", says="missing.lisma")
        self.fails(2, "fmt", "table.rules.md", says="LISMA")

    def test_the_gallery_keeps_its_bits(self):
        draw = random.Random(6)
        for number, path in suite.share(list(enumerate(gallery()))[::3]):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            name = os.path.basename(path)
            self.write("original.lisma", text)
            self.write(name, disturb(text, draw))
            for data in glob.glob(os.path.join(os.path.dirname(path), "*.csv")):
                with open(data, encoding="utf-8") as file:
                    self.write(os.path.basename(data), file.read())
            self.good("fmt", name)
            self.assertEqual(self.good("fmt", "--check", name).out, "", path)
            formatted = self.read(name)
            self.assertEqual(comments(formatted), comments(text), path)
            self.assertEqual(re.sub(r"\s", "", formatted), re.sub(r"\s", "", text), path)
            if number % 2 == 0:
                options = ["-q", "--until", "1", "--samples", "20", "-o"]
                a = self.saltus("run", "original.lisma", *options, "a.csv")
                b = self.saltus("run", name, *options, "b.csv")
                self.assertEqual(a.status, b.status, path)
                if a.status == 0:
                    self.assertEqual(self.read("a.csv"), self.read("b.csv"), path)
            os.remove(self.path(name))
        self.assertGreater(number, 70)


cli_case.main()
