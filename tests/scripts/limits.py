#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile files through the command line: each is answered within seconds, with the exit status of
the contract and a message that names place, cause and, where there is one, the way out."""
import os
import resource
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402
import suite  # noqa: E402

MEGA = 1000000


SECONDS = 180 if suite.SANITIZED else 60
BYTES = 4 << 30


def limit_memory():
    # sanitizers reserve terabytes of addresses
    if not suite.SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


class Limits(cli_case.CliCase):
    def saltus(self, *arguments, **options):
        """Within seconds, and within an ordinary amount of memory."""
        try:
            return super().saltus(*arguments, timeout=SECONDS, preexec_fn=limit_memory, **options)
        except subprocess.TimeoutExpired:
            self.fail(f"no answer within {SECONDS} seconds: {arguments}")

    def refused(self, name, text, says=(), command="check", status=1, place=True):
        """`text` as a file must be refused soon, at a place in it, and not at great length."""
        with self.subTest(name):
            self.write("hostile.lisma", text)
            result = self.fails(status, command, "hostile.lisma", says=says)
            self.assertIn("error", result.err)
            if place:
                self.assertRegex(result.err, r"hostile\.lisma:\d+:\d+: error\[E\d{4}\]: ")
            self.assertLess(len(result.err), 200000)
            self.assertLess(max(map(len, result.err.splitlines())), 2000)
            self.assertEqual(result.out, "")

    def accepted(self, name, text):
        with self.subTest(name):
            self.write("hostile.lisma", text)
            self.good("check", "hostile.lisma")


class Files(Limits):
    def test_nothing(self):
        self.refused("empty", b"", says=["empty", "hint"], place=False)
        for command in ("run", "explain"):
            self.refused("empty", b"", says="empty", command=command, place=False)

    def test_not_a_text(self):
        with open(cli_case.PROGRAM, "rb") as f:
            self.refused("a program", f.read(MEGA))
        self.refused("all bytes", bytes(range(256)) * 1000, says="UTF-8")
        self.refused("picture", b"\x89PNG\r\n\x1a\n" + bytes(5000))
        self.refused("zip", b"PK\x03\x04" + bytes(range(256)) * 10)
        self.refused("utf-16", "x' = 1;\n".encode("utf-16"), says="UTF-8")
        self.refused("latin-1", "höhe' = 1;\n".encode("latin-1"), says=["UTF-8", "hint"])
        self.refused("NUL", b"x' = 1;\0y' = 2;\n", says=["NUL", "hint"])
        self.refused("only NUL", bytes(MEGA), says="NUL")

    def test_a_hundred_megabytes(self):
        self.refused("blanks", b" " * (100 * MEGA), says="E0704")
        self.refused("statements", b"x' = 1;\n" * (100 * MEGA // 8), says="E0704")
        self.refused("one line", b"x' = " + b"1+" * (50 * MEGA), says="E0704")
        self.refused("comment", b"/*" + b"*" * (100 * MEGA), says="E0704")

    def test_endless_files(self):
        if os.path.exists("/dev/zero"):
            os.symlink("/dev/zero", self.path("zero.lisma"))
            self.fails(1, "check", "zero.lisma", says="zero.lisma")
            self.refused("data", 'data a = "/dev/zero", 1; x = table(a, time);\n', says="E0211")

    def test_what_is_no_file(self):
        self.fails(1, "check", "no-such-file.lisma", says="no-such-file.lisma")
        os.mkdir(self.path("folder.lisma"))
        self.fails(1, "check", "folder.lisma", says="folder.lisma")
        os.symlink("loop.lisma", self.path("loop.lisma"))
        self.fails(1, "check", "loop.lisma", says="loop.lisma")
        self.fails(1, "check", "x" * 5000 + ".lisma", says="lisma")
        self.fails(1, "check", "ball.lisma/inside.lisma", says="inside.lisma")

    @unittest.skipIf(os.geteuid() == 0, "root reads everything")
    def test_unreadable(self):
        os.chmod(self.path("ball.lisma"), 0)
        self.fails(1, "check", "ball.lisma", says=["ball.lisma", "right"])

    def test_data_files(self):
        os.mkdir(self.path("folder"))
        self.write("binary.csv", bytes(range(256)) * 100)
        self.write("empty.csv", "")
        self.write("words.csv", "time,x\nlater,more\n")
        for name in ("missing.csv", "folder", "binary.csv", "empty.csv", "words.csv",
                     "hostile.lisma"):
            self.refused(name, f'data a = "{name}", 2; x = table(a, time);\n', says=name[:6])


class Sizes(Limits):
    def test_nesting(self):
        for count in (10000, MEGA):
            deep = str(count)
            self.refused("parentheses " + deep, "x' = " + "(" * count + "1" + ")" * count + ";\n",
                         says="E0701")
            self.refused("open " + deep, "x' = " + "(" * count)
            self.refused("brackets " + deep, "state s " + "[" * count)
            self.refused("signs " + deep, "x' = " + "-" * count + "1;\n", says="E0701")
            self.refused("braces " + deep, "if (x > 0) {" * count, says="E0702")
            self.refused("closing " + deep, "}" * count)
            self.refused("powers " + deep, "x' = " + "2^" * count + "2;\n", says="E0701")

    def test_numbers(self):
        self.refused("large", "x' = 1e999;\n", says=["E0105", "1.8e308"])
        self.refused("long", "x' = " + "9" * MEGA + ";\n", says="E0105")
        self.refused("exponent", "x' = 1e" + "9" * MEGA + ";\n", says="E0105")
        self.refused("infinite constant", "const a = 1e308 * 10; x' = a;\n", says="E0309")
        self.refused("division", "const a = 1 / 0; x' = a;\n", says="E0309")
        self.accepted("long but small", "x' = 0." + "0" * 1000 + "1;\n")
        self.accepted("digits", "x' = 0." + "3" * MEGA + ";\n")

    def test_names(self):
        self.refused("long", "a" * MEGA + "' = 1;\n", says="E0703")
        self.refused("quoted", "`" + "a" * MEGA + "`' = 1;\n", says="E0703")
        self.refused("not closed", "`" + "a" * MEGA)
        self.refused("derivatives", "x" + "'" * MEGA + " = 1;\n", says="E0306")
        self.refused("order", "der(x, 1000000000) = 1;\n", says="E0306")

    def test_indices(self):
        for index in ("99999999999999999999", "2 ^ 1000", "1 / 0", "0 / 0", "0.5", "-1"):
            self.refused(index, f"x[{index}]' = 1;\n", says="E0208")
        self.refused("variable", "x[y]' = 1; y' = 1;\n")

    def test_loops(self):
        self.refused("1e9", "for i = 1:1000000000 { x[i]' = 1; }\n", says=["E0720", "hint"])
        self.refused("nested", "for i = 1:100000 { for j = 1:100000 { x[i,j]' = 1; } }\n",
                     says="E0720")
        self.refused("bound", "for i = 1:1e300 { x[i]' = 1; }\n", says="E0209")
        self.refused("empty body", "for i = 1:1000000000 { }\n", says="E0720")
        self.refused("sum", "x = sum(i = 1:1000000000, i);\n", says="E0721")
        self.refused("sum of sums", "x = sum(i = 1:100000, j = 1:100000, i * j);\n", says="E0721")
        self.refused("product", "x = prod(i = 1:30000, prod(j = 1:30000, y[i] + j));\n")

    def test_blow_up(self):
        doubling = "".join(f"macro m{i} = m{i - 1} + m{i - 1};\n" for i in range(1, 64))
        self.accepted("doubling", "macro m0 = x;\n" + doubling + "x' = m63;\n")
        chain = "".join(f"macro m{i} = m{i - 1} + 1;\n" for i in range(1, 100000))
        self.refused("chain", "macro m0 = x;\n" + chain + "x' = m99999;\n", says="E0722")
        chain = "".join(f"const c{i} = c{i - 1} + 1;\n" for i in range(1, 20000))
        self.accepted("constants", "const c0 = 1;\n" + chain + "x' = c19999;\n")

    def test_sums_are_weighed_before_they_are_made(self):
        for sum_ in ("sum(i = 1:100000, j = 1:100000, i*j)", "sum(i = 1:100000, sum(j = 1:100000, i*j))",
                     "prod(i = 1:1000, j = 1:1000, k = 1:1000, time)", "1 + 2*sum(i = 1:30000, j = i:30000, i)",
                     "max(sum(i = 1:1000000000, i), 1)"):
            self.write("m.lisma", f"x = {sum_};\n")
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            self.fails(1, "check", "m.lisma", says=["E0721", "4000000 terms"])
            spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
            self.assertLess(spent, 1.0 if not suite.SANITIZED else 10.0, sum_)

    def test_a_loop_with_one_equation_too_many(self):
        """What contradicts is found in about the time that reading takes."""
        def spent(count):
            self.write("m.lisma", "".join(f"x{i} + x{(i + 1) % count} = {i};\n" for i in range(count)) + "x0 = 1;\n")
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            self.fails(1, "check", "m.lisma", says="E0520")
            return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

        self.assertLess(spent(20000), 5.0 if not suite.SANITIZED else 60.0)

    def test_many_mistakes(self):
        self.refused("syntax", "x' = ;\n" * 100000)
        self.refused("names", "".join(f"x{i}' = y{i};\n" for i in range(20000)), says="E0203")

    def test_many_things(self):
        self.accepted("equations", "".join(f"x{i}' = {i};\n" for i in range(50000)))
        self.accepted("states", "x' = 1;\n" + "".join(
            f"state s{i} [x > {i}] {{}} from {f's{i - 1}' if i else 'init'};\n"
            for i in range(5000)))
        self.accepted("branches", "x' = 1;\nif (x > 0) { y = 1; }" + "".join(
            f" else if (x < {-i}) {{ y = {i}; }}" for i in range(3000)) + " else { y = 0; }\n")
        self.accepted("terms", "x' = " + "time + " * 100000 + "1;\n")

    def test_words_on_the_command_line(self):
        long = "k" * 100000
        self.fails(1, "run", "ball.lisma", "--set", f"{long}=1", says="hint")
        self.fails(1, "run", "ball.lisma", "--out", long, says="the model has no")
        self.fails(1, "run", "ball.lisma", "--out", ",".join(["y"] * 3000 + ["nothing"]),
                   says="nothing")


class Runs(Limits):
    """Models that are right as texts and go wrong in time."""

    def fails_soon(self, name, text, *options, says=()):
        with self.subTest(name):
            self.write("hostile.lisma", text)
            result = self.fails(3, "run", "hostile.lisma", "-q", *options, says=says)
            self.assertRegex(result.err, r"error\[E08\d\d\]: ")
            self.assertRegex(result.err, "hostile.csv|no rows were written")

    def test_no_number(self):
        self.fails_soon("division", "x' = 0 / 0;\n", says=["'x'", "hint"])
        self.fails_soon("logarithm", "x' = ln(x - 1); x(t0) = 0;\n", says="'x'")
        self.fails_soon("overflow", "x' = 1000 * x; x(t0) = 1;\n", says="E0802")
        self.fails_soon("pole", "x' = x * x; x(t0) = 1;\n", says=["t = ", "hint"])

    def test_no_end_of_an_instant(self):
        self.fails_soon("loop", "x' = 1; state a [x > 0] {} from init, b; state b [x > 0] {} from a;",
                        says=["E0803", "a -> b", "hint"])
        self.fails_soon("tiny period", "n(t0) = 0; at 0 each 1e-300 repeat * { set n = n + 1; }\n"
                        "experiment { end = 10; }\n",
                        says="hint")
        self.fails_soon("period below the clock",
                        "n(t0) = 0; at 1 each 1e-18 repeat * { set n = n + 1; }\n", says="too short")

    def test_endless_grids(self):
        self.write("hostile.lisma", "x' = 1;\n")
        result = self.saltus("run", "hostile.lisma", "--every", "1e-300")
        self.assertIn(result.status, (2, 3))
        self.assertIn("error", result.err)


if __name__ == "__main__":
    cli_case.main()
