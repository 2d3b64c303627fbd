#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Inputs of somebody who means harm, or has bad luck: one row of a table each.

For every row: the command ends soon, with the status that stands there, by no signal, and says what stands there; what it
shows does nothing to a terminal; every file that was there is as it was, unless the row names it; nothing half made is left."""
import gzip
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import zipfile
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402
import suite  # noqa: E402
from cli_case import PROGRAM  # noqa: E402

SECONDS = 60 if suite.SANITIZED else 20
DECAY = "const k = 1;\nx' = -k*x; x(t0) = 1;\nexperiment { end = 1; }\n"
TABLE = 'data p = "t.csv";\nx = table(p, time);\nexperiment { end = 1; }\n'
WAVE = "x' = y; x(t0) = 1; y' = -x; y(t0) = 0;\nexperiment { end = 1e9; }\n"
RUN = ["run", "m.lisma", "-q", "-o", "r.csv"]
SWEEP = ["sweep", "m.lisma", "-q", "--vary", "k=1:2:200", "-m", "end(x)", "-o", "s.csv"]


def limit(what, size):
    return lambda: resource.setrlimit(what, (size, size))


def fmu(case, description, **others):
    with zipfile.ZipFile(case.path("m.fmu"), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {"modelDescription.xml": description, **others}.items():
            archive.writestr(name, text)


def message(text):
    return b"Content-Length: %d\r\n\r\n" % len(text) + text


# ---- what lies there before -----------------------------------------------------------------------


def links_in_a_circle(case):
    os.symlink("b.csv", case.path("r.csv"))
    os.symlink("r.csv", case.path("b.csv"))


def link_to_the_model(case):
    os.symlink("m.lisma", case.path("r.csv"))


def two_names_of_the_table(case):
    case.write("m.lisma", TABLE)
    case.write("t.csv", "t,v\n0,1\n1,2\n")
    os.link(case.path("t.csv"), case.path("r.csv"))


def folder_there(case):
    os.makedirs(case.path("r.csv"))


def pipe_as_table(case):
    case.write("m.lisma", TABLE)
    os.mkfifo(case.path("t.csv"))


def device_behind_a_link(case):
    case.write("m.lisma", TABLE)
    os.symlink("/dev/zero", case.path("t.csv"))


def kernel_messages(case):
    case.write("m.lisma", TABLE)
    os.symlink("/proc/kmsg", case.path("t.csv"))


def table_of(content):
    def make(case):
        case.write("m.lisma", TABLE)
        case.write("t.csv", content)
    return make


def model_of(content):
    return lambda case: case.write("m.lisma", content)


def parts_in_a_circle(case):
    case.write("m.lisma", 'include "a.lisma";\n')
    case.write("a.lisma", 'include "b.lisma";\n')
    case.write("b.lisma", 'include "a.lisma";\n')


def entities(case):
    nested = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 20}">' for i in range(1, 9))
    fmu(case, f'<!DOCTYPE a [<!ENTITY a0 "a">{nested}]><fmiModelDescription fmiVersion="2.0" modelName="&a8;"/>')


def file_of_others(case):
    fmu(case, '<!DOCTYPE a [<!ENTITY e SYSTEM "/etc/passwd">]><fmiModelDescription fmiVersion="2.0" modelName="&e;"/>')


def paths_that_lead_out(case):
    fmu(case, '<fmiModelDescription fmiVersion="2.0" modelName="a" guid="x"/>', **{"../../evil": "x"})


def cut_archive(case):
    fmu(case, "<fmiModelDescription/>")
    with open(case.path("m.fmu"), "rb") as file:
        content = file.read()
    case.write("m.fmu", content[:len(content) // 2])


def checkpoint(damage):
    def make(case):
        case.good("run", "m.lisma", "-q", "-o", "r.csv", "--until", "0.5", "--checkpoint", "c")
        with open(case.path("c"), "rb") as file:
            content = file.read()
        case.write("c", damage(content))
    return make


def checkpoint_pipe(case):
    checkpoint(lambda content: content)(case)
    os.remove(case.path("c"))
    os.mkfifo(case.path("c"))


def key_is_a_pipe(case):
    os.makedirs(case.path("state/saltus"))
    os.mkfifo(case.path("state/saltus/checkpoint.key"))


def half_a_sweep(damage):
    def make(case):
        case.saltus(*SWEEP, preexec_fn=limit(resource.RLIMIT_FSIZE, 5000))
        lines = case.read("s.csv").splitlines(keepends=True)
        case.write("s.csv", damage(lines))
    return make


def cache_of_pipes(case):
    os.makedirs(case.path("cache/saltus"), mode=0o700)
    case.good("run", "m.lisma", "-q", "--native", "on", "-o", "x.csv", env=case.surroundings())
    for folder, _, files in os.walk(case.path("cache")):
        for name in files:
            os.remove(os.path.join(folder, name))
            os.mkfifo(os.path.join(folder, name))


def cache_of_others(case):
    os.makedirs(case.path("cache"))
    os.chmod(case.path("cache"), 0o777)
    os.makedirs(case.path("cache/saltus"))
    os.chmod(case.path("cache/saltus"), 0o777)


def packed_table(case):
    case.write("m.lisma", TABLE)
    case.write("t.csv", gzip.compress(b"t,v\n0,1\n1,2\n"))


def broken_mat(case):
    case.good("run", "m.lisma", "-q", "-o", "r.mat")
    with open(case.path("r.mat"), "rb") as file:
        content = file.read()
    case.write("r.mat", content[:200])


def endless(case):
    case.write("m.lisma", WAVE)


def endless_instant(case):
    case.write("m.lisma", "x' = 1; x(t0) = 0;\nstate a [x >= 1] {} from init, b;\nstate b [x >= 1] {} from a;\n")


def pipe_to_write(case):
    os.mkfifo(case.path("r.csv"))


# ---- the table ------------------------------------------------------------------------------------
# name; what lies there; arguments; status; what is said; and by name: files that may change, standard input, limits, environment,
# a signal after some rows or after a while

ROWS = [
    # links and places
    ("links in a circle", links_in_a_circle, RUN, 2, "symbolic links", {}),
    ("output is a link to the model", link_to_the_model, RUN, 2, "would overwrite", {}),
    ("output is a second name of the table", two_names_of_the_table, RUN, 2, "would overwrite", {}),
    ("output is a folder", folder_there, RUN, 2, "folder", {}),
    ("output in no folder", None, [*RUN[:-1], "no/where.csv"], 2, "does not exist", {}),
    ("name of three hundred letters", None, [*RUN[:-1], "n" * 300 + ".csv"], 2, "too long", {}),
    ("output by the other name of standard output", None, ["run", "m.lisma", "-q", "-o", "-", "--events", "/dev/stdout"], 2,
     "would overwrite", {"to_file": True}),
    ("checkpoint where the rows go", None, ["run", "m.lisma", "-q", "--checkpoint", "m.csv"], 2, "in use", {}),
    # pipes and devices
    ("table is a pipe", pipe_as_table, RUN, 1, "no regular file", {}),
    ("table is a device behind a link", device_behind_a_link, RUN, 1, "no regular file", {}),
    ("table waits for the kernel", kernel_messages, RUN, 1, "E0211", {}),
    ("model from nothing", None, ["run", "-", "-q", "-o", "r.csv"], 1, "standard input is empty", {"stdin": b""}),
    ("pipe without a reader, Ctrl-C", pipe_to_write, RUN, -signal.SIGINT, "", {"signal": signal.SIGINT}),
    ("packed table", packed_table, RUN, 1, "E0212", {}),
    # texts
    ("model of random bytes", model_of(bytes(range(256)) * 40), ["check", "m.lisma"], 1, "UTF-8", {}),
    ("model in UTF-16", model_of(DECAY.encode("utf-16")), ["check", "m.lisma"], 1, "UTF-8", {}),
    ("parts in a circle", parts_in_a_circle, ["check", "m.lisma"], 1, "E0214", {}),
    ("part outside of the folder", model_of('include "../../etc/passwd";\n'), ["check", "m.lisma"], 1, "not below", {}),
    ("colours in a message", model_of("`a\x1b[31m\x9b2J`' = b\x1b;\n"), ["check", "m.lisma"], 1, "error", {}),
    ("title of a window in a stop", model_of("x' = 1; x(t0) = 0;\nstate s [x >= 1] { stop \"\x1b]0;t\x07\"; } from init;\n"),
     ["explain", "m.lisma", "--run"], 0, "", {}),
    ("sum of ten thousand million terms", model_of("x = sum(i = 1:100000, j = 1:100000, i*j);\n"), ["check", "m.lisma"], 1,
     "E0721", {}),
    ("a hundred thousand brackets", model_of("x' = " + "(" * 100000 + ";\n"), ["check", "m.lisma"], 1, "error", {}),
    ("instant without an end", endless_instant, RUN, 3, "E0803", {"may": ["r.csv"]}),
    ("longer than numbers", None, [*RUN, "--from", "-1.7e308", "--until", "1.7e308"], 2, "too long", {}),
    # tables in the forms of other places
    ("decimal commas beside commas", table_of("t,v\n0,1,5\n1,2,5\n"), RUN, 1, "more cells", {}),
    ("points for thousands", table_of("t;v\n0;1.234,5\n1;2,5\n"), RUN, 1, "not a number", {}),
    ("cut inside of quotes", table_of('t,v\n0,1\n1,"2\n'), RUN, 1, "not a number", {}),
    ("old line ends", table_of("t,v\r0,1\r1,2\r"), RUN, 1, "E0212", {}),
    ("days as times", table_of("t,v\n2024-01-01,1\n2024-01-02,2\n"), RUN, 1, "first column", {}),
    ("numbers without an end", table_of("t,v\n0,1e999\n1,2\n"), RUN, 1, "not a number", {}),
    ("time goes back", table_of("t,v\n1,1\n0,2\n"), RUN, 1, "does not increase", {}),
    # damaged files of our own
    ("checkpoint: one bit", checkpoint(lambda c: c[:300] + bytes([c[300] ^ 4]) + c[301:]), [*RUN, "--resume", "c"], 2, "damaged", {}),
    ("checkpoint: cut", checkpoint(lambda c: c[:-50]), [*RUN, "--resume", "c"], 2, "damaged", {}),
    ("checkpoint: empty", checkpoint(lambda c: b""), [*RUN, "--resume", "c"], 2, "empty", {}),
    ("checkpoint: more behind it", checkpoint(lambda c: c + b"x"), [*RUN, "--resume", "c"], 2, "cannot go on", {}),
    ("checkpoint: a pipe", checkpoint_pipe, [*RUN, "--resume", "c"], 2, "regular", {}),
    ("key of checkpoints is a pipe", key_is_a_pipe, [*RUN, "--checkpoint", "c"], 2, "no key of your own", {"may": ["r.csv"]}),
    ("sweep: a row twice", half_a_sweep(lambda rows: "".join(rows) + rows[-1]), [*SWEEP, "--resume"], 2, "in their order", {}),
    ("sweep: a row is missing", half_a_sweep(lambda rows: "".join(rows[:3] + rows[4:])), [*SWEEP, "--resume"], 2, "in their order",
     {}),
    ("cache of pipes", cache_of_pipes, [*RUN, "--native", "on"], 0, "", {"may": ["r.csv", "cache"]}),
    ("cache that others write to", cache_of_others, ["run", "m.lisma", "-o", "r.csv", "--native", "on"], 0, "others may write",
     {"may": ["r.csv", "cache"]}),
    ("half a MAT file as a table", broken_mat, ["plot", "r.mat", "-o", "r.svg"], 1, "no row of the table", {}),
    # archives
    ("entities of entities", entities, ["run", "m.fmu", "-q"], 1, "entities", {}),
    ("file of others in a description", file_of_others, ["run", "m.fmu", "-q"], 1, "entities", {}),
    ("paths that lead out of an archive", paths_that_lead_out, ["run", "m.fmu", "-q"], 1, "outside", {}),
    ("half an archive", cut_archive, ["run", "m.fmu", "-q"], 1, "m.fmu", {}),
    # the protocol of editors
    ("message of a hundred million million bytes", None, ["lsp"], 1, "protocol",
     {"stdin": b"Content-Length: 99999999999999\r\n\r\n{}"}),
    ("a million brackets from an editor", None, ["lsp"], 1, "went away", {"stdin": message(b"[" * 1000000)}),
    ("deep list of changes", lambda case: case.write("c.json", "[" * 1000000), [*RUN, "--replay", "c.json"], 2, "no change", {}),
    # little room
    ("full disk, rows", None, [*RUN, "--samples", "5000"], 3, "are safe", {"may": ["r.csv"], "room": 8192}),
    ("full disk, MAT", lambda case: case.write("r.mat", "old"), ["run", "m.lisma", "-q", "-o", "r.mat", "--samples", "5000"], 3,
     "nothing was changed", {"room": 8192}),
    ("full disk, picture", None, ["run", "m.lisma", "-q", "-o", "/dev/null", "--plot", "p.svg"], 3, "nothing was changed",
     {"room": 4096}),
    ("four open files", None, [*RUN, "--events", "e.jsonl"], 2, "open files", {"may": ["r.csv"], "files": 4}),
    ("nothing in the environment", None, RUN, 0, "", {"may": ["r.csv"], "bare": True}),
    # signals
    ("Ctrl-C", endless, RUN, 130, "interrupted at t", {"may": ["r.csv"], "signal": signal.SIGINT, "rows": "r.csv"}),
    ("closed terminal", endless, [*RUN, "--checkpoint", "c"], 129, "--resume c",
     {"may": ["r.csv", "c"], "signal": signal.SIGHUP, "rows": "r.csv"}),
    ("time of the processor is over", endless, [*RUN, "--checkpoint", "c"], 128 + signal.SIGXCPU, "--resume c",
     {"may": ["r.csv", "c"], "processor": 1}),
    ("Ctrl-C in a search", endless, ["optimize", "m.lisma", "--minimize", "end(x)", "--params", "x(t0)", "-q"], 130, "",
     {"signal": signal.SIGINT, "soon": True}),
    ("Ctrl-C in a fit", lambda case: (endless(case), case.write("d.csv", "time,x\n0,1\n1e8,0.5\n")),
     ["fit", "m.lisma", "--data", "d.csv", "--params", "x(t0)", "-q"], 130, "interrupted", {"signal": signal.SIGINT, "soon": True}),
]


class Adversary(cli_case.CliCase):
    def setUp(self):
        super().setUp()
        self.write("m.lisma", DECAY)

    def surroundings(self, bare=False):
        own = {"XDG_CACHE_HOME": self.path("cache"), "XDG_STATE_HOME": self.path("state")}
        kept = {name: value for name, value in os.environ.items() if "SAN_OPTIONS" in name}
        return kept if bare else self.environment(**own)

    def contents(self):
        """Of every file; what is no regular one is its kind."""
        found = {}
        for folder, _, files in os.walk(self.folder):
            for name in files:
                path = os.path.join(folder, name)
                regular = os.path.isfile(path) and not os.path.islink(path)
                with open(path if regular else os.devnull, "rb") as file:
                    found[os.path.relpath(path, self.folder)] = (regular, zlib.crc32(file.read()))
        return found

    def limits(self, options):
        def apply():
            if "room" in options:
                limit(resource.RLIMIT_FSIZE, options["room"])()
            if "processor" in options:
                resource.setrlimit(resource.RLIMIT_CPU, (options["processor"], 600))
            if "files" in options:
                limit(resource.RLIMIT_NOFILE, options["files"])()
        return apply

    def start(self, arguments, options):
        stdout = open(self.path("stdout"), "ab") if options.get("to_file") else subprocess.PIPE
        process = subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, env=self.surroundings(options.get("bare", False)),
                                   stdin=subprocess.PIPE, stdout=stdout, stderr=subprocess.PIPE,
                                   preexec_fn=self.limits(options))
        if options.get("to_file"):
            stdout.close()
        return process

    def interrupt(self, process, options):
        begun = time.monotonic()
        rows = self.path(options["rows"]) if "rows" in options else None
        while time.monotonic() - begun < (SECONDS if rows else 0.7):
            if rows and os.path.exists(rows) and os.path.getsize(rows) > 100:
                break
            time.sleep(0.05)
        self.assertIsNone(process.poll(), "it has ended before")
        process.send_signal(options["signal"])

    def carry_out(self, arguments, options):
        process = self.start(arguments, options)
        if "signal" in options:
            self.interrupt(process, options)
        begun = time.monotonic()
        try:
            out, errors = process.communicate(options.get("stdin", b""), timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.fail("it does not end")
        if options.get("soon"):
            self.assertLess(time.monotonic() - begun, 4.0, "it is not asked within its runs")
        return process.returncode, (out or b"").decode("utf-8", "replace"), errors.decode("utf-8", "replace")

    def check(self, setup, arguments, status, says, options):
        if setup:
            setup(self)
        before = self.contents()
        got, out, errors = self.carry_out(arguments, options)
        self.assertEqual(got, status, errors[-500:])
        self.assertIn(says, errors)
        self.assertNotIn("Sanitizer", errors)
        self.assertTrue(errors or status in (0, 130, -signal.SIGINT), "not a word")
        self.assertLess(len(errors), 50000)
        for character in "\x1b\x07\x9b\x08":
            self.assertNotIn(character, out + errors)
        after = self.contents()
        may = options.get("may", [])
        for name, content in before.items():
            if name.split(os.sep)[0] not in may:
                self.assertEqual(after.get(name), content, f"{name} has changed")
        for name in after:
            self.assertNotIn(".saltus-", name, "left behind")
        for name in may:
            if name.endswith(".csv") and os.path.exists(self.path(name)):
                self.assertIn(self.read(name)[-1:], ("", "\n"), "half a row")

    def test_all(self):
        self.assertGreaterEqual(len(ROWS), 40)
        for name, setup, arguments, status, says, options in ROWS:
            if "address" in suite.SANITIZED and ("room" in options or "files" in options):
                continue  # a sanitizer's own files count too
            with self.subTest(name):
                for left in os.listdir(self.folder):
                    path = self.path(left)
                    shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)
                self.write("m.lisma", DECAY)
                self.check(setup, arguments, status, says, options)


if __name__ == "__main__":
    cli_case.main()
