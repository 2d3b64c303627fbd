#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Equations as machine code: the same bits, and nothing that goes wrong is worse than the tape."""
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

COMPILER = next((p for p in map(shutil.which, ("cc", "gcc", "clang")) if p), None)
# enough work to be looked up in the cache in well under a second
OSCILLATOR = """x' = v;  x(t0) = 1;
v' = -x; v(t0) = 0;
"""


def needs_compiler(function):
    return unittest.skipUnless(COMPILER, "there is no C compiler")(function)


class Native(cli_case.CliCase):
    def setUp(self):
        super().setUp()
        self.write("swing.lisma", OSCILLATOR)
        self.cache = self.path("cache/saltus")

    def environment(self, **extra):
        extra.setdefault("XDG_CACHE_HOME", self.path("cache"))
        return super().environment(**extra)

    def entries(self):
        found = sorted(os.listdir(self.cache)) if os.path.isdir(self.cache) else []
        return [os.path.join(self.cache, name) for name in found]

    def rows(self, model, *options, **environment):
        """Rows, events and messages of a run."""
        result = self.good("run", model, *options, "-o", "rows.csv", "--events", "rows.jsonl",
                           env=self.environment(**environment))
        return self.read("rows.csv") + self.read("rows.jsonl"), result.err

    def script(self, name, text):
        path = self.path(name)
        self.write(name, "#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return path

    def same_on_tape(self, model, note, *options, **environment):
        """With `--native on` the run is that of the tape, and the summary says why, once."""
        plain, _ = self.rows(model, "--native", "off")
        rows, messages = self.rows(model, "--native", "on", *options, **environment)
        self.assertEqual(rows, plain)
        self.assertEqual(messages.count("  native "), 1, messages)
        self.assertIn(note, messages)
        self.assertIn("interpreted", messages)

    # ---- the code ---------------------------------------------------------------------------

    @needs_compiler
    def test_jacobians_are_compiled_for_stiff_methods(self):
        # cells driven by time, and a current that is the root of an equation in each of three branches
        self.write("cells.lisma", """
const N = 40, k = 300;
x[0] = 0; x[N+1] = sin(3 * time);
for i = 1:N {
  x[i]' = k * (x[i-1] - 2 * x[i] + x[i+1]) - x[i]^3 * y[i] + cos(time + 0.1 * i);  x[i](t0) = 0;
  y[i]' = x[i] * x[i] - y[i];  y[i](t0) = 1;
}
experiment { end = 1; }
""")
        self.write("diodes.lisma", """
for n = 1:3 {
  v[n]' = (i[n] - v[n] / 1e5) / 1e-6;  v[n](t0) = 0;
  i[n] = 1e-12 * (exp((sin(314 * time + n) - v[n] - 100 * i[n]) / 0.025) - 1);  i[n](t0) ~ 0;
}
experiment { end = 0.02; atol = 1e-12; }
""")
        for model in ("cells.lisma", "diodes.lisma"):
            for method in ("rodas", "rodas5"):
                plain, _ = self.rows(model, "--native", "off", "--method", method)
                compiled, messages = self.rows(model, "--native", "on", "--method", method)
                self.assertEqual(compiled, plain)
                self.assertRegex(messages, r"machine code, (2 units compiled, 0|0 units compiled, 2) ")

    @needs_compiler
    def test_cold_and_warm(self):
        plain, messages = self.rows("ball.lisma", "--native", "off")
        self.assertNotIn("native", messages)
        cold, messages = self.rows("ball.lisma", "--native", "on")
        self.assertRegex(messages, r"native +\d+ programs as machine code, [1-9]\d* units? compiled")
        warm, messages = self.rows("ball.lisma", "--native", "on")
        self.assertRegex(messages, r"machine code, 0 units compiled, [1-9]\d* from the cache")
        self.assertEqual(cold, plain)
        self.assertEqual(warm, plain)
        self.assertEqual(stat.S_IMODE(os.stat(self.cache).st_mode), 0o700)
        for entry in self.entries():
            self.assertRegex(os.path.basename(entry), r"^[0-9a-f]{64}\.so$")
            self.assertEqual(stat.S_IMODE(os.stat(entry).st_mode), 0o600)

    @needs_compiler
    def test_short_runs_start_no_compiler(self):
        self.good("run", "ball.lisma", "--native", "auto", "-o", "rows.csv")
        self.assertEqual(self.entries(), [])

    @needs_compiler
    def test_swapped_in_while_running(self):
        """In the background, at some step: whenever that is, the rows are those of the tape."""
        until = 20000
        while True:
            options = ("--until", str(until), "--samples", "50")
            plain, _ = self.rows("swing.lisma", "--native", "off", *options)
            rows, messages = self.rows("swing.lisma", *options)
            self.assertEqual(rows, plain)
            if "1 unit compiled" in messages:
                break
            self.assertLess(until, 10000000, "the compiler never finishes")
            until *= 4
        # now from the cache, much earlier
        rows, messages = self.rows("swing.lisma", *options)
        self.assertEqual(rows, plain)
        self.assertIn("1 from the cache", messages)

    @needs_compiler
    def test_other_compilers(self):
        plain, _ = self.rows("ball.lisma", "--native", "off")
        for compiler in filter(None, map(shutil.which, ("gcc", "clang"))):
            rows, messages = self.rows("ball.lisma", "--native", "on", SALTUS_CC=compiler)
            self.assertEqual(rows, plain, compiler)
            self.assertIn("as machine code", messages)

    @needs_compiler
    def test_no_text_of_the_model(self):
        """The compiler sees numbers and indices, whatever the names of the model are."""
        bad = '"); system("touch owned"); //'
        self.write("evil.lisma", f"""
`{bad}`' = -`{bad}` + `*/ int main`; `{bad}`(t0) = 1;
`*/ int main` = sin(time) * `\\\\n#include`;
const `\\\\n#include` = 2;
state `}} abort();` [`{bad}` > 0.9] {{ set `{bad}` = 0; }} from init;
""")
        spy = self.script("spy", f'for last; do :; done\ncp "$last" "{self.folder}/seen.c"\n'
                                 f'exec {COMPILER} "$@"\n')
        if self.saltus("check", "evil.lisma").status != 0:
            self.skipTest("the language refuses these names")
        plain, _ = self.rows("evil.lisma", "--native", "off")
        rows, messages = self.rows("evil.lisma", "--native", "on", SALTUS_CC=spy)
        self.assertEqual(rows, plain)
        self.assertIn("as machine code", messages)
        text = self.read("seen.c")
        for part in ("system", "owned", "include", "main", "abort", "evil"):
            self.assertNotIn(part, text)
        body = text[text.index("static void p0"):]
        self.assertRegex(body, r"\A[\w\s(){}\[\]*&,;.=+\-<>\"]*\Z")
        self.assertFalse(os.path.exists(self.path("owned")))

    @needs_compiler
    def test_long_programs(self):
        """Shapes become loops: few lines for many equations, and the same bits."""
        spy = self.script("spy", f'for last; do :; done\ncp "$last" "{self.folder}/seen.c"\n'
                                 f'exec {COMPILER} "$@"\n')
        random = __import__("random").Random(7)
        flat = ["x_1' = -x_1;"] + [
            f"x_{i}' = sin(x_{random.randrange(1, 401)}) * {random.random():.6f} - "
            f"x_{random.randrange(1, 401)} * x_{i} + {random.choice(('a', 'b'))};"
            for i in range(2, 401)]
        models = {
            "chain": "const N = 400, k = 2;\n"
                     "for i = 1:N { x_[i]' = v_[i]; x_[i](t0) = sin(i); v_[i](t0) = 0; }\n"
                     "v_1' = k*(x_2 - 2*x_1) - 0.1*v_1;\n"
                     "for i = 2:N-1 { v_[i]' = k*(x_[i-1] - 2*x_[i] + x_[i+1]) - 0.1*v_[i]; }\n"
                     "v_[N]' = k*(x_[N-1] - 2*x_[N] + cos(time)) - 0.1*v_[N];\n",
            "backwards": "const N = 300;\nfor i = 1:N { x_[i](t0) = i/N; "
                         "x_[i]' = x_[N+1-i] - x_[i]^3 + time; }\n",
            "sum": "const N = 300;\ns = sum(i = 1:N, x_[i]*x_[i]);\n"
                   "for i = 1:N { x_[i](t0) = 1/i; x_[i]' = -x_[i]*s/N; }\n",
            "plate": "const N = 20, h = 0.1;\n"
                     "for i = 0:N+1 { for j = 0:N+1 { T[i, j](t0) = i*j/400; } }\n"
                     "for i = 1:N { for j = 1:N { T[i, j]' = (T[i-1, j] + T[i+1, j] + T[i, j-1] "
                     "+ T[i, j+1] - 4*T[i, j])/h; } }\n"
                     "for i = 0:N+1 { T[i, 0]' = 0; T[i, N+1]' = 0; }\n"
                     "for j = 1:N { T[0, j]' = 0; T[N+1, j]' = 1; }\n",
            "flat": "const a = 0.5, b = -0.25;\nfor i = 1:400 { x_[i](t0) = 1/i; }\n" +
                    "\n".join(flat) + "\n",
            "guards": "const N = 400;\nfor i = 1:N { x_[i](t0) = 0; x_[i]' = 1 + i/N; }\n"
                      "n(t0) = 0;\nstate hit " +
                      " || ".join(f"[x_{i} >= {0.3 + 1.7 * i / 400:.4f}]" for i in range(1, 401)) +
                      " { set n = n + 1; } from init;\n",
        }
        compiled = 0
        for name, text in models.items():
            self.write("long.lisma", text)
            checked = self.saltus("check", "long.lisma")
            self.assertEqual(checked.status, 0, f"{name}: {checked.err}")
            options = ("--until", "0.9", "--samples", "9")
            plain, _ = self.rows("long.lisma", "--native", "off", *options)
            rows, messages = self.rows("long.lisma", "--native", "on", *options, SALTUS_CC=spy)
            self.assertEqual(rows, plain, name)
            self.assertIn("as machine code", messages, name)
            text = self.read("seen.c")
            compiled += "const Instr* const q" in text
            if name in ("chain", "backwards", "plate"):
                self.assertLess(text.count("\n"), 1500, name)
        self.assertGreater(compiled, 4)

    # ---- what can go wrong ------------------------------------------------------------------

    def test_no_compiler(self):
        self.same_on_tape("ball.lisma", "no C compiler was found", PATH="/nowhere")
        self.same_on_tape("ball.lisma", "no C compiler was found", SALTUS_CC="/nowhere/cc")
        self.assertEqual(self.entries(), [])

    def test_failing_compiler(self):
        failing = self.script("failing", "exit 1\n")
        self.same_on_tape("ball.lisma", "the C compiler failed", SALTUS_CC=failing)
        killed = self.script("killed", "kill -9 $$\n")
        self.same_on_tape("ball.lisma", "the C compiler failed", SALTUS_CC=killed)
        silent = self.script("silent", "exit 0\n")
        self.same_on_tape("ball.lisma", "the C compiler failed", SALTUS_CC=silent)
        self.assertEqual(self.entries(), [])

    def test_compiler_that_writes_nonsense(self):
        nonsense = self.script("nonsense", 'while [ "$1" != -o ]; do shift; done\necho x > "$2"\n')
        self.same_on_tape("ball.lisma", "cannot be loaded", SALTUS_CC=nonsense)
        self.assertEqual(self.entries(), [])

    def test_no_program_at_all(self):
        self.write("text", "int main;\n")
        os.chmod(self.path("text"), 0o755)
        self.same_on_tape("ball.lisma", "interpreted", SALTUS_CC=self.path("text"))

    def test_compiler_that_hangs(self):
        """A run ends when it is done; the compiler goes with it and leaves nothing."""
        mark = self.path("pid")
        slow = self.script("slow", f'echo $$ > "{mark}"\nexec sleep 1000\n')
        until = 100000
        while not os.path.exists(mark):
            self.assertLess(until, 100000000, "the compiler is never started")
            self.good("run", "swing.lisma", "-q", "-o", "rows.csv", "--until", str(until),
                      "--samples", "10", env=self.environment(SALTUS_CC=slow))
            until *= 4
        pid = int(self.read("pid") or 0)
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)
        self.assertEqual(self.entries(), [])

    def test_interrupted_while_compiling(self):
        mark = self.path("pid")
        slow = self.script("slow", f'echo $$ > "{mark}"\nexec sleep 1000\n')
        run = self.popen("run", "swing.lisma", "-q", "-o", "rows.csv", "--until", "1e9",
                         env=self.environment(SALTUS_CC=slow), stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not os.path.exists(mark) and time.monotonic() < end:
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(60), 130)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(self.read("pid")), 0)
        self.assertEqual(self.entries(), [])

    @needs_compiler
    def test_damaged_entries(self):
        plain, _ = self.rows("ball.lisma", "--native", "on")
        entries = self.entries()
        self.assertTrue(entries)

        def flip(data, at):
            return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]

        damages = {"a bit of the code": lambda d: flip(d, len(d) // 2),
                   "the header": lambda d: flip(d, 5),
                   "the footer": lambda d: flip(d, len(d) - 1),
                   "cut": lambda d: d[:len(d) // 2],
                   "longer": lambda d: d + b"x",
                   "empty": lambda d: b""}
        for name, damage in damages.items():
            with open(entries[0], "rb") as f:
                data = f.read()
            with open(entries[0], "wb") as f:
                f.write(damage(data))
            rows, messages = self.rows("ball.lisma", "--native", "on")
            self.assertEqual(rows, plain, name)
            self.assertIn("1 unit compiled", messages, name)

    @needs_compiler
    def test_entry_under_a_wrong_name(self):
        """Content counts: an entry for other equations is not taken."""
        self.rows("ball.lisma", "--native", "on")
        self.rows("swing.lisma", "--native", "on")
        entries = self.entries()
        self.assertGreater(len(entries), 2)
        contents = []
        for entry in entries:
            with open(entry, "rb") as f:
                contents.append(f.read())
        for entry, content in zip(entries, contents[1:] + contents[:1]):
            with open(entry, "wb") as f:
                f.write(content)
        plain, _ = self.rows("ball.lisma", "--native", "off")
        rows, messages = self.rows("ball.lisma", "--native", "on")
        self.assertEqual(rows, plain)
        self.assertIn("0 from the cache", messages)

    @needs_compiler
    def test_many_at_once(self):
        plain, _ = self.rows("ball.lisma", "--native", "off")
        runs = [self.popen("run", "ball.lisma", "-q", "--native", "on", "-o", f"{i}.csv",
                           "--events", f"{i}.jsonl") for i in range(4)]
        for i, run in enumerate(runs):
            self.assertEqual(run.wait(120), 0)
            self.assertEqual(self.read(f"{i}.csv") + self.read(f"{i}.jsonl"), plain)
        self.assertTrue(self.entries())
        for entry in self.entries():
            self.assertTrue(entry.endswith(".so"), entry)

    def test_folder_that_cannot_be_used(self):
        compiler = self.script("failing", "exit 1\n")
        self.write("file", "")
        note = "the cache folder cannot be opened"
        self.same_on_tape("ball.lisma", note, SALTUS_CC=compiler, XDG_CACHE_HOME=self.path("file"))
        os.mkdir(self.path("real"))
        os.mkdir(self.path("linked"))
        os.symlink(self.path("real"), self.path("linked/saltus"))
        self.same_on_tape("ball.lisma", note, SALTUS_CC=compiler,
                          XDG_CACHE_HOME=self.path("linked"))
        os.makedirs(self.path("open/saltus"))
        os.chmod(self.path("open/saltus"), 0o777)
        self.same_on_tape("ball.lisma", "others may write to the cache folder", SALTUS_CC=compiler,
                          XDG_CACHE_HOME=self.path("open"))
        self.same_on_tape("ball.lisma", "there is no cache folder", SALTUS_CC=compiler,
                          XDG_CACHE_HOME="", HOME="")

    @unittest.skipUnless(os.geteuid() == 0, "needs to be root")
    def test_folder_of_someone_else(self):
        os.makedirs(self.path("other/saltus"))
        os.chown(self.path("other/saltus"), 12345, 12345)
        compiler = self.script("failing", "exit 1\n")
        self.same_on_tape("ball.lisma", "belongs to someone else", SALTUS_CC=compiler,
                          XDG_CACHE_HOME=self.path("other"))
        self.fails(2, "cache", says="belongs to someone else",
                   env=self.environment(XDG_CACHE_HOME=self.path("other")))

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_folder_that_cannot_be_written(self):
        os.makedirs(self.path("closed"))
        os.chmod(self.path("closed"), 0o500)
        self.same_on_tape("ball.lisma", "cache folder", XDG_CACHE_HOME=self.path("closed"))

    def test_full_disk(self):
        """Nothing is left, and the run goes on."""
        compiler = self.script("full", 'while [ "$1" != -o ]; do shift; done\n: > "$2"\n')
        self.same_on_tape("ball.lisma", "cannot be written", SALTUS_CC=compiler)
        self.assertEqual(self.entries(), [])

    # ---- saltus cache -----------------------------------------------------------------------

    @needs_compiler
    def test_cache_command(self):
        self.assertEqual(self.good("cache", "path").out, self.cache + "\n")
        self.assertIn("entries   0, 0 bytes", self.good("cache").out)
        self.assertFalse(os.path.exists(self.cache), "a look makes no folder")
        self.rows("ball.lisma", "--native", "on")
        count = len(self.entries())
        shown = self.good("cache", "show").out
        self.assertIn(f"entries   {count}, ", shown)
        self.assertIn("limit     64.0 MiB", shown)
        self.assertIn(COMPILER, shown)
        self.write("cache/saltus/notes.txt", "mine")
        self.assertIn(f"{count} entries removed", self.good("cache", "clear").out)
        self.assertEqual(self.entries(), [os.path.join(self.cache, "notes.txt")])

    @needs_compiler
    def test_limit(self):
        self.rows("ball.lisma", "--native", "on")
        sizes = [os.path.getsize(e) for e in self.entries()]
        self.assertGreater(len(sizes), 1)
        limit = max(sizes)
        self.good("cache", "limit", str(limit))
        self.assertEqual(self.good("cache", "limit").out, f"{limit}\n")
        self.rows("ball.lisma", "--native", "on")
        self.rows("swing.lisma", "--native", "on")
        kept = [e for e in self.entries() if e.endswith(".so")]
        self.assertLessEqual(sum(map(os.path.getsize, kept)), limit)
        self.assertTrue(kept)
        # what was used last stays
        _, messages = self.rows("swing.lisma", "--native", "on")
        self.assertIn("0 units compiled, 1 from the cache", messages)
        self.good("cache", "limit", "0")
        _, messages = self.rows("swing.lisma", "--native", "on")
        self.assertIn("1 unit compiled", messages)
        self.assertEqual([e for e in self.entries() if e.endswith(".so")], [])
        self.good("cache", "limit", "2M")
        self.assertIn("limit     2.0 MiB", self.good("cache").out)

    def test_abandoned_work_goes(self):
        os.makedirs(self.cache, mode=0o700)
        for name, age in (("tmp-1-2-3-0.c", 7200), ("tmp-4-5-6-0.o", 10)):
            self.write(f"cache/saltus/{name}", "x")
            then = time.time() - age
            os.utime(os.path.join(self.cache, name), (then, then))
        self.good("cache")
        self.assertEqual(self.entries(), [os.path.join(self.cache, "tmp-4-5-6-0.o")])

    def test_cache_usage(self):
        self.fails(2, "cache", "clean", says="clear")
        self.fails(2, "cache", "clear", "now", says="too much")
        self.fails(2, "cache", "limit", "much", says="number of bytes")
        self.fails(2, "cache", "limit", "-1", says="")
        self.fails(2, "run", "ball.lisma", "--native", "maybe", says="--native")
        self.fails(2, "cache", says="HOME", env=self.environment(XDG_CACHE_HOME="", HOME=""))


if __name__ == "__main__":
    cli_case.main()
