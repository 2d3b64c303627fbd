#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files: what is read stays as it is, whatever is named is opened safely, and what is written is
whole or not there."""
import glob
import gzip
import json
import os
import pty
import resource
import shutil
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402
import mat_file  # noqa: E402
import suite  # noqa: E402
from cli_case import PROGRAM, SOURCE  # noqa: E402

DECAY = "x' = -x; x(t0) = 1;\n"
PROFILE = "data p = \"profile.csv\";\nx = table(p, time);\nexperiment { end = 2; }\n"


def limit_files(size):
    def apply():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return apply


class Inputs(cli_case.CliCase):
    """No output destroys what the run reads, by any name."""

    def setUp(self):
        super().setUp()
        self.write("m.lisma", PROFILE)
        self.write("profile.csv", "t,v\n0,0\n1,2\n2,1\n")

    def names_of(self, name, ending):
        """The file itself, another path, a link, a second name."""
        os.symlink(name, self.path("soft" + ending))
        os.link(self.path(name), self.path("hard" + ending))
        os.makedirs(self.path("sub"), exist_ok=True)
        return [name, "./" + name, "sub/../" + name, "soft" + ending, "hard" + ending, self.path(name)]

    def test_data(self):
        before = self.read("profile.csv")
        for name in self.names_of("profile.csv", ".csv"):
            self.fails(2, "run", "m.lisma", "-q", "-o", name, says=["would overwrite", name])
            self.assertEqual(self.read("profile.csv"), before)

    def test_every_output(self):
        for ending, option in ((".jsonl", "--events"), (".svg", "--plot"), (".html", "--report"),
                               (".state", "--checkpoint")):
            os.link(self.path("profile.csv"), self.path("d" + ending))
            before = self.read("profile.csv")
            self.fails(2, "run", "m.lisma", "-q", option, "d" + ending, says="would overwrite")
            self.assertEqual(self.read("profile.csv"), before)
        os.link(self.path("m.lisma"), self.path("g.svg"))
        self.fails(2, "explain", "m.lisma", "--graph", "g.svg", says="would overwrite")
        os.link(self.path("profile.csv"), self.path("p.svg"))
        self.fails(2, "plot", "profile.csv", "-o", "p.svg", says="would overwrite")

    def test_every_command(self):
        self.write("part.lisma", "const c = 1;\n")
        self.write("drawn.csv", "k\n0.9\n1\n1.1\n")
        self.good("run", "ball.lisma", "-q", "--until", "1", "-o", "-", "--events", "e.jsonl")
        self.write("d.csv", "time,x\n0,1\n1,0.4\n2,0.1\n")
        self.write("k.lisma", "include \"part.lisma\";\nconst k = 1;\ndata p = \"profile.csv\";\n"
                   "x' = -k*x; x(t0) = c;\ny = table(p, time);\nexperiment { end = 2; }\n")
        self.good("run", "k.lisma", "-q", "-o", "r.csv")
        drawn = ["--vary", "k~empirical(drawn.csv, k)"]
        sweep = ["sweep", "k.lisma", "-q", "-m", "end(x)"]
        fit = ["fit", "k.lisma", "-q", "--data", "d.csv", "--params", "k"]
        cases = [(["plot", "r.csv", "--events", "e.jsonl"], "-o", ".svg", ["r.csv", "e.jsonl"]),
                 (["explain", "k.lisma", "--run"], "-o", ".csv", ["part.lisma"]),
                 (["measure", "k.lisma", "-m", "end(x)"], "-o", ".csv", ["part.lisma"]),
                 (["sens", "k.lisma", "-m", "end(x)", "--params", "k"], "--plot", ".svg", ["k.lisma"]),
                 (["sens", "k.lisma", "-m", "end(x)", "--sobol", "8", *drawn], "-o", ".csv", ["drawn.csv"]),
                 (["steady", "k.lisma"], "-o", ".csv", ["part.lisma"]),
                 (["linearize", "k.lisma"], "-o", ".csv", ["part.lisma"])]
        for option, ending in (("-o", ".csv"), ("--plot", ".svg")):
            cases.append(([*sweep, *drawn, "--sample", "random", "3"], option, ending, ["drawn.csv", "part.lisma"]))
            cases.append(([*sweep, "--vary", "k=1,2"], option, ending, ["profile.csv"]))
            cases.append((fit, option, ending, ["d.csv", "k.lisma", "profile.csv"]))
        for command, option, ending, files in cases:
            for file in files:
                before = self.read(file)
                for link in (os.symlink, os.link):
                    link(self.path(file), self.path("out" + ending))
                    self.fails(2, *command, option, "out" + ending, says="would overwrite")
                    self.assertEqual(self.read(file), before, command)
                    os.unlink(self.path("out" + ending))

    def test_standard_input_is_a_file(self):
        """What `<` names is read like any other file: its content is still needed."""
        self.write("k.lisma", "const k = 1;\nx' = -k*x; x(t0) = 1;\nexperiment { end = 1; }\n")
        self.good("run", "k.lisma", "-q", "-o", "r.csv")
        commands = [("k.lisma", ".csv", ["run", "-", "-q", "-o"]), ("k.lisma", ".mat", ["run", "-", "-q", "-o"]),
                    ("k.lisma", ".jsonl", ["run", "/dev/stdin", "-q", "-o", "/dev/null", "--events"]),
                    ("k.lisma", "", ["run", "-", "-q", "-o", "/dev/null", "--checkpoint"]),
                    ("k.lisma", ".html", ["run", "-", "-q", "-o", "/dev/null", "--report"]),
                    ("k.lisma", ".csv", ["sweep", "-", "-q", "--vary", "k=1,2", "-m", "end(x)", "-o"]),
                    ("k.lisma", ".csv", ["measure", "-", "-m", "end(x)", "-o"]),
                    ("k.lisma", ".csv", ["linearize", "-", "-o"]), ("r.csv", ".svg", ["plot", "-", "-o"])]
        for source, ending, command in commands:
            name = shutil.copy(self.path(source), self.path("same" + ending))
            os.link(name, self.path("other" + ending))
            for output in ("same", "other"):
                with open(name, "rb") as stdin:
                    done = subprocess.run([PROGRAM, *command, output + ending], cwd=self.folder, stdin=stdin, timeout=60,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
                self.assertEqual(done.returncode, 2, f"{command}: {done.stderr}")
                self.assertIn(b"would overwrite", done.stderr)
                self.assertEqual(self.read("same" + ending), self.read(source), command)
            os.remove(name)
            os.remove(self.path("other" + ending))

    def test_the_default_file(self):
        os.rename(self.path("profile.csv"), self.path("m.csv"))
        self.write("m.lisma", PROFILE.replace("profile.csv", "m.csv"))
        before = self.read("m.csv")
        self.fails(2, "run", "m.lisma", "-q")
        self.assertEqual(self.read("m.csv"), before)

    def test_tables_and_checkpoints(self):
        shutil.copy(os.path.join(SOURCE, "models", "rules", "hoop.rules.md"), self.path("hoop.rules.md"))
        self.good("convert", "hoop.rules.md", "hoop")
        for execution in ([], ["--cyclic", "0.001"]):
            before = self.read("hoop/rules.csv")
            self.fails(2, "run", "hoop", "-q", "-o", "hoop/rules.csv", *execution, says="would overwrite")
            self.assertEqual(self.read("hoop/rules.csv"), before)
        self.fails(2, "convert", "hoop", "hoop")
        self.good("run", "ball.lisma", "-q", "--until", "1", "-o", "r.csv", "--checkpoint", "c")
        os.link(self.path("c"), self.path("c.jsonl"))
        with open(self.path("c"), "rb") as file:
            before = file.read()
        go_on = ["run", "ball.lisma", "-q", "--until", "2", "--resume", "c", "-o", "r.csv"]
        self.fails(2, *go_on, "--events", "c.jsonl", says="would overwrite")
        with open(self.path("c"), "rb") as file:
            self.assertEqual(file.read(), before)
        self.good(*go_on, "--checkpoint", "c")

    def test_outputs_of_one_command(self):
        """Two outputs that lead to one file are refused, by whatever names, before anything is written."""
        os.makedirs(self.path("a"))
        self.write("a/ball.lisma", cli_case.BALL)
        os.symlink("later.csv", self.path("link.csv"))
        os.symlink("link.csv", self.path("again.csv"))
        for outputs in (["--checkpoint", "ball.csv"], ["-o", "later.csv", "--events", "again.csv"],
                        ["-o", "link.csv", "--checkpoint", "sub/../later.csv"], ["-o", "later.csv", "--checkpoint", "link.csv"]):
            os.makedirs(self.path("sub"), exist_ok=True)
            self.fails(2, "run", "ball.lisma", "-q", *outputs)
            self.assertFalse(os.path.exists(self.path("later.csv")), outputs)
            self.assertFalse(os.path.exists(self.path("ball.csv")), outputs)
        # two models of one name: the rows of the first one stay
        self.fails(2, "run", "ball.lisma", "a/ball.lisma", "-q", "--set", "h=3", says="read or written here")
        self.assertTrue(self.read("ball.csv").splitlines()[1].startswith("0,3,"))
        # what stands on standard output is in a file too
        with open(self.path("r.csv"), "wb") as rows:
            self.fails(2, "run", "ball.lisma", "-q", "-o", "r.csv", "--events", "-", stdout=rows, says="standard output")
        with open(self.path("r.csv"), "ab") as rows:
            self.good("run", "ball.lisma", "m.lisma", "-q", "-o", "-", stdout=rows)
        self.assertEqual(self.read("r.csv").count("time,"), 2)
        os.symlink("s.csv", self.path("s.svg"))
        self.fails(2, "sweep", "ball.lisma", "-q", "--vary", "h=1,2", "-m", "end(y)", "-o", "s.csv", "--plot", "s.svg")
        self.assertTrue(self.read("s.csv").startswith("member,"))

    def test_other_files_are_not_taken_for_inputs(self):
        self.write("copy.csv", self.read("profile.csv"))
        self.good("run", "m.lisma", "-q", "-o", "copy.csv")


class Streams(cli_case.CliCase):
    """A model is read once, wherever it comes from."""

    def run_with(self, text, *arguments):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, input=text.encode(), timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def test_standard_input(self):
        self.write("m.lisma", DECAY)
        want = self.good("run", "m.lisma", "-q", "-o", "-").out
        for name in ("-", "/dev/stdin", "/dev/fd/0"):
            self.assertEqual(self.run_with(DECAY, "run", name, "-q", "-o", "-"), (0, want, ""), name)
        self.assertEqual(self.run_with(DECAY, "check", "-")[:2], (0, "stdin: no problems found\n"))
        self.assertEqual(self.run_with(DECAY, "explain", "-")[0], 0)
        status, _, errors = self.run_with("x' = ;\n", "check", "-")
        self.assertEqual(status, 1)
        self.assertIn("stdin:1:", errors)
        status, _, errors = self.run_with("", "check", "-")
        self.assertIn("empty", errors)
        for name, says in (("/dev/null", b"no file that a model"), ("/dev/zero", b"no file that a model"),
                           (self.folder, b"is a folder")):
            stdin = os.open(name, os.O_RDONLY)
            done = subprocess.run([PROGRAM, "check", "-"], stdin=stdin, stderr=subprocess.PIPE, timeout=20, check=False)
            os.close(stdin)
            self.assertEqual(done.returncode, 1, name)
            self.assertIn(b"standard input", done.stderr)
            self.assertIn(says, done.stderr)

    def test_a_pipe_with_a_name(self):
        self.write("m.lisma", DECAY)
        want = self.good("run", "m.lisma", "-q", "-o", "-").out
        os.mkfifo(self.path("pipe.lisma"))

        def feed():
            time.sleep(0.3)  # the program is there first, and waits
            with open(self.path("pipe.lisma"), "w", encoding="utf-8") as pipe:
                pipe.write(DECAY)

        feeder = threading.Thread(target=feed)
        feeder.start()
        result = self.good("run", "pipe.lisma", "-q", "-o", "-", timeout=30)
        feeder.join()
        self.assertEqual(result.out, want)

    def test_a_report_shows_what_was_read(self):
        status, _, errors = self.run_with(DECAY, "run", "-", "-q", "--report", "r.html")
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("x' = -x", self.read("r.html").replace("&#39;", "'"))


class Safety(cli_case.CliCase):
    """A name in a model opens regular files of a reasonable size and nothing else."""

    def setUp(self):
        super().setUp()
        os.mkfifo(self.path("pipe"))

    def strange(self):
        # the last but one says it is regular, and waits for messages of the kernel
        return [self.path("pipe"), "/dev/zero", "/dev/tty", "/dev/stdin", "/dev/null", "/proc/kmsg", self.folder]

    def test_data(self):
        for name in self.strange():
            self.write("m.lisma", f'data p = "{name}";\nx = table(p, time);\n')
            for command in (["check", "m.lisma"], ["run", "m.lisma", "-q", "-o", "-"]):
                result = self.saltus(*command, timeout=20)
                self.assertEqual(result.status, 1, f"{name}: {result.err}")
                self.assertIn("E0211", result.err)
        self.assertIn("no regular file", result.err)

    def test_a_sparse_giant(self):
        with open(self.path("big.csv"), "wb") as file:
            file.truncate(1 << 40)
        self.write("m.lisma", 'data p = "big.csv";\nx = table(p, time);\n')
        self.fails(1, "check", "m.lisma", says=["E0211", "too large"], timeout=20)
        os.rename(self.path("big.csv"), self.path("big.lisma"))
        self.fails(1, "check", "big.lisma", says="larger than", timeout=20)
        self.fails(2, "run", "ball.lisma", "-q", "-o", "-", "--resume", "big.lisma", says="larger than")

    def test_tables(self):
        shutil.copy(os.path.join(SOURCE, "models", "rules", "hoop.rules.md"), self.path("hoop.rules.md"))
        self.good("convert", "hoop.rules.md", "hoop")
        os.remove(self.path("hoop/states.csv"))
        os.mkfifo(self.path("hoop/states.csv"))
        self.fails(1, "check", "hoop", says=["states.csv", "no regular file"], timeout=20)

    def test_checkpoints_and_results(self):
        for name in ("pipe", "/dev/zero"):
            self.fails(2, "run", "ball.lisma", "-q", "-o", "-", "--resume", name, says="regular", timeout=20)
        self.fails(1, "plot", "/dev/zero", says="regular", timeout=20)

    def test_an_editor(self):
        """A table named in a text must not take the protocol's bytes, nor wait."""
        for name in self.strange():
            text = f'data p = "{name}";\nx = table(p, time);\n'
            messages = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
                        {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {
                            "textDocument": {"uri": "file://" + self.path("m.lisma"), "text": text}}},
                        {"jsonrpc": "2.0", "id": 2, "method": "shutdown"},
                        {"jsonrpc": "2.0", "method": "exit"}]
            wire = b""
            for message in messages:
                body = json.dumps(message).encode()
                wire += f"Content-Length: {len(body)}\r\n\r\n".encode() + body
            done = subprocess.run([PROGRAM, "lsp"], input=wire, stdout=subprocess.PIPE, timeout=20, check=False)
            self.assertEqual(done.returncode, 0, name)
            self.assertIn(b"E0211", done.stdout)


class Formats(cli_case.CliCase):
    COLUMNS = ["--out", "y,v,main.state"]

    def setUp(self):
        super().setUp()
        self.good("run", "ball.lisma", "-q", "-o", "want.csv", *self.COLUMNS)
        lines = self.read("want.csv").splitlines()
        self.want = [line.split(",") for line in lines]

    def test_unknown_endings(self):
        for name in ("x.parquet", "x.json", "x.csv.bz2", "x.xlsx", "x.CSV", "ball.lisma", "x.tar.gz"):
            result = self.fails(2, "run", "ball.lisma", "-q", "-o", name, says=["cannot be written as"])
            for known in (".csv", ".csv.gz", ".jsonl", ".mat", ".h5"):
                self.assertIn(known, result.err)
        self.assertFalse(glob.glob(self.path("x.*")))
        self.good("run", "ball.lisma", "-q", "-o", "without_ending", *self.COLUMNS)
        self.assertEqual(self.read("without_ending"), self.read("want.csv"))

    def test_records_pictures_and_archives(self):
        """The ending of every output says what it is, or it is an error."""
        self.write("k.lisma", "const k = 1; x' = -k*x; x(t0) = 1;\nexperiment { end = 1; }\n")
        self.write("d.csv", "time,x\n0,1\n1,0.4\n")
        run = ["run", "k.lisma", "-q", "-o", "r.csv"]
        for command, option, endings in (
                (run, "--events", (".json", ".csv.gz", ".jsonl.gz", ".parquet", ".mat", ".JSONL", ".")),
                (run, "--plot", (".bmp", ".gif")), (run, "--report", (".htm", ".pdf")),
                (["fit", "k.lisma", "--data", "d.csv", "--params", "k"], "--plot", (".bmp", ".csv")),
                (["linearize", "k.lisma", "--inputs", "k", "--outputs", "x", "--response", "0.1:1:3"], "--plot", (".bmp",)),
                (["export", "k.lisma"], "-o", (".zip", ".mat", ".FMU"))):
            for ending in endings:
                self.fails(2, *command, option, "out" + ending, says="out" + ending)
                self.assertFalse(os.path.exists(self.path("out" + ending)), (command, ending))
        self.good(*run, "--events", "without_ending")
        self.good(*run, "--events", "e.jsonl")
        self.assertEqual(self.read("without_ending"), self.read("e.jsonl"))

    def test_tables_that_are_csv(self):
        self.write("k.lisma", "const k = 1; x' = -k*x; x(t0) = 1;\nexperiment { end = 1; }\n")
        self.write("d.csv", "time,x\n0,1\n1,0.4\n")
        for command in (["measure", "k.lisma", "-m", "end(x)"], ["sens", "k.lisma", "-m", "end(x)", "--params", "k"],
                        ["fit", "k.lisma", "--data", "d.csv", "--params", "k"], ["steady", "k.lisma"], ["linearize", "k.lisma"],
                        ["optimize", "k.lisma", "--minimize", "end(x)", "--params", "k"],
                        ["sweep", "k.lisma", "--map", "--vary", "k=1:2:3"]):
            self.fails(2, *command, "-o", "r.parquet", says="r.parquet")
            self.assertFalse(os.path.exists(self.path("r.parquet")), command)

    def test_csv_gz(self):
        result = self.saltus("run", "ball.lisma", "-q", "-o", "r.csv.gz", *self.COLUMNS)
        if "files cannot be written here" in result.err:
            self.assertEqual(result.status, 2)
            self.assertIn("zlib1g-dev", result.err)
            return
        self.assertEqual(result.status, 0, result.err)
        with gzip.open(self.path("r.csv.gz"), "rt", encoding="utf-8", newline="") as file:
            self.assertEqual(file.read(), self.read("want.csv"))
        self.fails(2, "run", "ball.lisma", "-q", "-o", "r.csv.gz", "--checkpoint", "c", says=".csv.gz")

    def test_json_lines(self):
        self.good("run", "ball.lisma", "-q", "-o", "r.jsonl", *self.COLUMNS)
        rows = [json.loads(line) for line in self.read("r.jsonl").splitlines()]
        self.assertEqual(list(rows[0]), self.want[0])
        for row, want in zip(rows, self.want[1:], strict=True):
            self.assertEqual([row["time"], row["y"], row["v"], row["main.state"]],
                             [*(float(cell) for cell in want[:3]), want[3]])

    def test_mat(self):
        self.good("run", "ball.lisma", "-q", "-o", "r.mat", *self.COLUMNS)
        found = mat_file.read(self.path("r.mat"))
        self.assertEqual([name[0] for name, in found["names"]], self.want[0])
        self.assertEqual([v for v, in found["y"]], [float(row[1]) for row in self.want[1:]])
        self.assertEqual(found["main_state"], [row[3] for row in self.want[1:]])

    def test_hdf5(self):
        result = self.saltus("run", "ball.lisma", "-q", "-o", "r.h5", *self.COLUMNS)
        if "files cannot be written here" in result.err:
            self.assertEqual(result.status, 2)
            self.assertIn("libhdf5-dev", result.err)
            self.assertFalse(os.path.exists(self.path("r.h5")))
            return
        self.assertEqual(result.status, 0, result.err)
        columns = self.read_h5("r.h5")
        self.assertEqual([c["name"] for c in columns], self.want[0])
        for k, column in enumerate(columns):
            numbers = k < len(columns) - 1
            wanted = [float(row[k]) if numbers else row[k] for row in self.want[1:]]
            self.assertEqual(column["values"], wanted, column["name"])
        # names that are paths, or taken, and units; nothing at all; a value that is not determined
        self.write("m.lisma", "`a/b` = time; `.` = 1; `длина, м`(t0) = 2 \"m\"; `1` = 4;\nz = if(time > 0.5, ln(-1), 1);\n"
                              "experiment { end = 1; }\n")
        self.saltus("run", "m.lisma", "-q", "-o", "n.h5", "--samples", "2")
        columns = self.read_h5("n.h5")
        self.assertEqual([c["name"] for c in columns], ["time", "a/b", ".", "длина, м", "1", "z"])
        self.assertEqual([c["unit"] for c in columns], ["s", "s", None, "m", None, None])
        self.assertEqual(columns[1]["values"], columns[0]["values"])
        self.assertIsNone(columns[5]["values"][-1])

    def read_h5(self, name):
        tool = suite.tool("h5_tool")
        result = subprocess.run([tool, self.path(name)], stdout=subprocess.PIPE, check=True)
        return json.loads(result.stdout)

    def test_names_that_are_no_identifiers(self):
        self.write("m.lisma", "`длина, м` = time; `a\"b` = 2; `中` = 1;\nexperiment { end = 1; }\n")
        for ending in (".mat", ".jsonl", ".csv"):
            self.good("run", "m.lisma", "-q", "-o", "n" + ending)
        names = ["time", "длина, м", 'a"b', "中"]
        self.assertEqual([name[0] for name, in mat_file.read(self.path("n.mat"))["names"]], names)
        self.assertEqual(list(json.loads(self.read("n.jsonl").splitlines()[0])), names)
        self.assertIn("xu4e2d", mat_file.read(self.path("n.mat")))


class Whole(cli_case.CliCase):
    """What is written as a whole is there or not; what was there stays until then."""

    def products(self):
        return [["-o", "f.mat"], ["--plot", "f.svg", "-o", "/dev/null"], ["--report", "f.html", "-o", "/dev/null"]]

    @unittest.skipIf("address" in suite.SANITIZED, "a sanitizer's own files count too")
    def test_a_full_disk(self):
        for outputs in self.products():
            name = next(part for part in outputs if part.startswith("f."))
            self.write(name, "old")
            result = self.saltus("run", "ball.lisma", "-q", *outputs, preexec_fn=limit_files(4096))
            self.assertEqual(result.status, 3, f"{outputs}: {result.err}")
            self.assertIn("cannot write", result.err)
            self.assertIn("nothing was changed there", result.err)
            self.assertNotIn("rows are safe", result.err)
            self.assertEqual(self.read(name), "old")
            self.assertEqual(glob.glob(self.path(".saltus*")), [])

    @unittest.skipIf("address" in suite.SANITIZED, "a sanitizer's own files count too")
    def test_every_output_of_every_command(self):
        """Without room a command has failed in its run (status 3): its usage was right, and trying again may help."""
        self.write("k.lisma", "const k = 1; x' = -k*x; x(t0) = 1;\nexperiment { end = 1; }\n")
        self.write("d.csv", "time,x\n0,1\n1,0.4\n")
        shutil.copy(os.path.join(SOURCE, "models", "rules", "hoop.rules.md"), self.path("hoop.rules.md"))
        self.good("run", "k.lisma", "-q", "-o", "r.csv", "--checkpoint", "c")
        os.makedirs(self.path("members"))
        run, sweep = ["run", "k.lisma", "-q"], ["sweep", "k.lisma", "-q", "--vary", "k=1,2", "-m", "end(x)"]
        fit = ["fit", "k.lisma", "-q", "--data", "d.csv", "--params", "k"]
        optimize = ["optimize", "k.lisma", "-q", "--minimize", "end(x)", "--params", "k", "--bounds", "k=0.5:2"]
        commands = [[*run, "-o", "f" + ending] for ending in (".csv", ".csv.gz", ".jsonl", ".mat", ".h5")]
        commands += [[*run, "-o", "/dev/null", option, name] for option, name in
                     (("--events", "f.jsonl"), ("--plot", "f.svg"), ("--plot", "f.png"), ("--plot", "f.pdf"),
                      ("--report", "f.html"), ("--checkpoint", "f"))]
        commands += [[*sweep, "-o", "f" + ending] for ending in (".csv", ".csv.gz", ".jsonl", ".mat", ".h5")]
        commands += [[*sweep, "-o", "/dev/null", "--plot", "f.svg"], [*sweep, "-o", "/dev/null", "--trajectories", "members"]]
        commands += [[*command, option, "f" + ending] for command in (fit, optimize) for option, ending in
                     (("-o", ".csv"), ("--report", ".html"))]
        commands += [["measure", "k.lisma", "-m", "end(x)", "-o", "f.csv"], ["export", "k.lisma", "-o", "f.fmu"],
                     ["sens", "k.lisma", "-q", "-m", "end(x)", "--params", "k", "-o", "f.csv"],
                     ["steady", "k.lisma", "-o", "f.csv"], ["linearize", "k.lisma", "-o", "f.csv"],
                     ["plot", "r.csv", "-o", "f.svg"], ["explain", "k.lisma", "--run", "-o", "f.csv"],
                     ["explain", "ball.lisma", "--graph", "f.dot"], ["convert", "hoop.rules.md", "f"],
                     ["convert", "hoop.rules.md", "f.lisma"], ["new", "f"], ["fmt", "ugly.lisma"]]
        self.write("ugly.lisma", "x'=-x  ;x(t0)=1;\n")
        for command in commands:
            result = self.saltus(*command, preexec_fn=limit_files(0))
            if "cannot be written here" in result.err:
                continue  # a library that this build lacks
            self.assertEqual(result.status, 3, f"{command}: {result.out} {result.err}")
            self.assertIn("File too large", result.err, command)
            self.assertEqual(self.read("ugly.lisma"), "x'=-x  ;x(t0)=1;\n")
            left = [name for name in glob.glob(self.path("f*")) + glob.glob(self.path(".saltus*")) if os.path.isfile(name)]
            self.assertEqual([os.path.getsize(name) for name in left], [0] * len(left), command)

    @unittest.skipIf("address" in suite.SANITIZED, "a sanitizer's own files count too")
    def test_rows_are_counted_as_rows(self):
        self.write("m.lisma", "x' = 1; x(t0) = 0;\n")
        result = self.saltus("run", "m.lisma", "-q", "-o", "r.csv", "--samples", "100000",
                             preexec_fn=limit_files(200000))
        self.assertEqual(result.status, 3)
        self.assertEqual(self.said(result), self.read("r.csv").count("\n") - 1)
        result = self.saltus("run", "m.lisma", "-q", "-o", "r.csv", "--samples", "100000", "--units",
                             preexec_fn=limit_files(200000))
        self.assertEqual(self.said(result), self.read("r.csv").count("\n") - 2)
        result = self.saltus("sweep", "ball.lisma", "-q", "--vary", "h=1:2:500", "-m", "end(y)", "-o", "r.csv",
                             "--until", "0.1", preexec_fn=limit_files(4096))
        self.assertEqual(self.said(result), self.read("r.csv").count("\n") - 1)

    def said(self, result):
        self.assertEqual(result.status, 3, result.err)
        self.assertTrue(self.read("r.csv").endswith("\n"))
        return int(result.err.split("hint: ")[1].split()[0])

    def test_links_and_permissions(self):
        self.write("real.mat", "old")
        os.chmod(self.path("real.mat"), 0o640)
        os.symlink("real.mat", self.path("link.mat"))
        self.good("run", "ball.lisma", "-q", "-o", "link.mat")
        self.assertTrue(os.path.islink(self.path("link.mat")))
        self.assertIn("y", mat_file.read(self.path("real.mat")))
        self.assertEqual(os.stat(self.path("real.mat")).st_mode & 0o777, 0o640)

    def test_many_at_once(self):
        """Runs that write one file do not share the new one they write it to."""
        runs = [self.popen("run", "ball.lisma", "-q", "-o", f"r{i}.csv", "--checkpoint", "c",
                           "--checkpoint-every", "0.001", "--samples", "20000") for i in range(4)]
        for run in runs:
            self.assertEqual(run.wait(timeout=120), 0)
        self.assertEqual(glob.glob(self.path(".saltus*")) + glob.glob(self.path("*.new")), [])
        with open(self.path("c"), "rb") as file:
            self.assertGreater(len(file.read()), 1000)
        done = self.saltus("run", "ball.lisma", "-q", "-o", "r0.csv", "--resume", "c", "--samples", "20000")
        self.assertEqual(done.status, 0, done.err)


class Implied(cli_case.CliCase):
    """Files that nobody has named are written only where nothing of others is; and whether an output can be written is known
    before the work whose result it is."""

    def setUp(self):
        super().setUp()
        self.write("k.lisma", "const k = 1;\nx' = -k*x; x(t0) = 1;\nexperiment { end = 1; }\n")
        self.write("d.csv", "time,x\n0,1\n1,0.4\n")
        self.sweep = ["sweep", "k.lisma", "-q", "--vary", "k=1,2", "-m", "end(x)"]

    def test_files_of_others_stay(self):
        try:
            os.setxattr(self.path("d.csv"), "user.saltus.test", b"1")
        except OSError:
            self.skipTest("the file system keeps no attributes")
        os.makedirs(self.path("members"))
        fit = ["fit", "k.lisma", "-q", "--data", "d.csv", "--params", "k"]
        cases = [(["run", "k.lisma", "-q"], "k.csv"), (self.sweep, "k.sweep.csv"), ([*self.sweep, "-o", "s.csv"], "s.csv.part"),
                 ([*self.sweep, "-o", "s.mat"], "s.mat.part.csv"),
                 ([*self.sweep, "-o", "s.csv", "--trajectories", "members"], "members/member-0.csv")]
        cases += [([*command, "--report", "f.html"], "f.csv") for command in
                  (fit, self.sweep, ["measure", "k.lisma", "-m", "end(x)"], ["steady", "k.lisma"], ["linearize", "k.lisma"],
                   ["sens", "k.lisma", "-q", "-m", "end(x)", "--params", "k"])]
        if self.saltus("export", "k.lisma", "-o", "here.fmu").status == 0:
            cases.append((["export", "k.lisma"], "k.fmu"))
        for command, name in cases:
            self.write(name, "mine\n")
            result = self.saltus(*command)
            self.assertIn(result.status, (2, 3), command)
            self.assertIn("was not written by saltus", result.err, command)
            self.assertEqual(self.read(name), "mine\n")
            os.remove(self.path(name))
            for _ in range(2):  # and once more over what it has written itself
                self.good(*command)
        self.write("f.picture.svg", "mine\n")
        for command in ([*fit, "--report", "f.html"], [*fit, "--report", "f.html", "--nonsense"]):
            self.saltus(*command)
            self.assertEqual(self.read("f.picture.svg"), "mine\n")
        self.assertIn("<svg", self.read("f.html"))

    def test_places_are_looked_at_first(self):
        """Each of these commands would run for hours."""
        self.write("e.lisma", cli_case.ENDLESS)
        self.write("d.csv", "time,x\n0,1\n1e12,0.4\n")
        many = ["--until", "1e12"]
        for command in (["run", "e.lisma", "-q", "-o", "r.csv"], ["sens", "e.lisma", "-q", "-m", "end(x)", "--params", "x(t0)"],
                        ["fit", "e.lisma", "-q", "--data", "d.csv", "--params", "x(t0)"],
                        ["sweep", "e.lisma", "-q", "--vary", "x(t0)=1,2", "-m", "end(x)"]):
            for option, name in (("--plot", "no/p.svg"), ("--report", "no/p.html")):
                end = [] if command[0] == "fit" else many  # the data say it
                self.fails(2, *command, *end, option, name, says=["no/p", "does not exist"], timeout=20)
        self.fails(2, "run", "e.lisma", "-q", "-o", "r.csv", *many, "--checkpoint", "no/c", says="does not exist", timeout=20)
        self.fails(2, "run", "e.lisma", "-q", "-o", "r.csv", *many, "--checkpoint", self.folder, says="folder", timeout=20)


class Seals(cli_case.CliCase):
    """A checkpoint is believed only as it was written, by whom it was written."""

    def setUp(self):
        super().setUp()
        self.good("run", "ball.lisma", "-q", "--until", "2", "-o", "r.csv", "--events", "r.jsonl",
                  "--checkpoint", "c")
        self.rows, self.records = self.read("r.csv"), self.read("r.jsonl")
        with open(self.path("c"), "rb") as file:
            self.bytes = file.read()
        self.go_on = ["run", "ball.lisma", "-q", "--until", "3", "-o", "r.csv", "--events", "r.jsonl", "--resume"]

    def test_every_byte_counts(self):
        for at in [*range(0, 700, 23), *range(700, len(self.bytes), max(1, len(self.bytes) // 60)),
                   len(self.bytes) - 1]:
            damaged = bytearray(self.bytes)
            damaged[at] ^= 1 << at % 8
            self.write("d", bytes(damaged))
            self.fails(2, *self.go_on, "d", says="cannot go on from d")
            self.assertEqual(self.read("r.csv"), self.rows, at)
            self.assertEqual(self.read("r.jsonl"), self.records, at)
        self.good(*self.go_on, "c")

    def test_somebody_else(self):
        other = self.environment(XDG_STATE_HOME=self.path("other"))
        self.fails(2, *self.go_on, "c", env=other, says="not written by this user")
        self.assertEqual(os.stat(self.path("other/saltus/checkpoint.key")).st_mode & 0o777, 0o600)
        os.chmod(self.path("other/saltus/checkpoint.key"), 0o644)
        self.fails(2, *self.go_on, "c", env=other, says="no key of your own")

    def test_rows_that_are_others(self):
        """The file must hold what the checkpoint counts: so many lines in so many bytes."""
        lines = self.rows.splitlines(keepends=True)
        self.write("r.csv", lines[0] + "".join(lines[1:]).replace("\n", ";", 3))
        before = self.read("r.csv")
        self.fails(2, *self.go_on, "c", says="does not hold the results")
        self.assertEqual(self.read("r.csv"), before)


class Numbers(cli_case.CliCase):
    """Tables of numbers mean what their author meant, or are refused."""

    def value(self, text, t=1):
        self.write("t.csv", text)
        self.write("m.lisma", f'data p = "t.csv";\nx = table(p, {t});\nexperiment {{ end = 1; }}\n')
        return self.saltus("run", "m.lisma", "-q", "-o", "-")

    def test_locales(self):
        for text in ("t,v\n0,10\n1,15.5\n", "t;v\n0;10\n1;15,5\n", "0;10\n1;15,5\n", "t\tv\n0\t10\n1\t15,5\n",
                     "t;v\n0;10\n1;15.5\n", "\ufefft;v\r\n0;10\r\n1,0;15,5\r\n", '"t";"v"\n0;10\n1;"15,5"\n',
                     "# a comment\nt;v\n0;10\n\n1;1,55e1\n", "0,10\n1,15.5\n"):
            result = self.value(text)
            self.assertEqual(result.status, 0, f"{text!r}: {result.err}")
            self.assertTrue(result.out.endswith(",15.5\n"), f"{text!r}: {result.out[-40:]}")

    def test_refused(self):
        for text, says in (("t;v\n0;10\n1;1.234,5\n", "not a number"), ("t;v\n0;1.5\n1;15,5\n", "mixed"),
                           ("t,v\n0,10\n1,15,5\n", "more cells"), ("t,v,w\n0,10,1\n1,15\n", "fewer cells"),
                           ("0;10\n1,5\n2;3\n", "fewer cells"), ("t;v\n0;10\n1;1,234,5\n", "not a number"),
                           ("t,v\n0,10\n1,\"15\n", "not a number"), ("t,v\n0,10\n1,15\"\n", "not a number"),
                           ("t,v\n0,10\n1;15\n", "fewer cells"), ("t;v\n0;10\n1;15;\n", "more cells"),
                           ("t,v\n0,10\n1e-310,15\n", "too steeply"), ("t,v\n0,-1e308\n1,1e308\n", "too steeply"),
                           ("t,v\n-1e308,1\n1e308,2\n", "too steeply"), ("t,v\n0,1\n1,NA\n", "not a number"),
                           ("t,v\n0,0x10\n1,2\n", "not a number"), ("t,v\n0,1_000\n1,2\n", "not a number"),
                           ("t,v\n0,1 000\n1,2\n", "not a number"), ("t,v\n0,1'000\n1,2\n", "not a number"),
                           ("t,v\n0,1d3\n1,2\n", "not a number"), ("t,v\n0,\u22121\n1,2\n", "not a number"),
                           ("t,v\n0,50%\n1,2\n", "not a number"), ("t,v\n0,1\0\n1,2\n", "NUL byte"),
                           ("t,v\n0,1\n1,2\n\x1a", "fewer cells"), ("t v\n0 1\n1 2\n", "not a number"),
                           ("sep=;\nt;v\n0;1\n1;2\n", "not a number"), ("t,v\n0,1\n0,2\n", "does not increase")):
            result = self.value(text)
            self.assertEqual(result.status, 1, f"{text!r}: {result.out[-80:]}")
            self.assertIn("E0212", result.err)
            self.assertIn(says, result.err, text)

    def test_columns_of_one_name(self):
        self.write("t.csv", 't,v,"v"\n0,1,2\n1,2,3\n')
        self.write("m.lisma", 'data p = "t.csv", v;\nx = table(p, time);\n')
        self.fails(1, "check", "m.lisma", says=["E0212", "2 columns 'v'"])
        self.fails(2, "sweep", "ball.lisma", "-q", "--vary", "h~empirical(t.csv, v)", "--sample", "random", "2", "-m", "end(y)",
                   says="more than one column `v`")
        self.write("u.csv", "time,v,v\n0,1,2\n1,2,3\n")
        self.assertNotIn("differs", self.good("compare", "u.csv", "u.csv").out)
        self.write("w.csv", "time,v,v\n0,1,2\n1,2,4\n")
        result = self.fails(1, "compare", "u.csv", "w.csv")
        self.assertEqual([line.split()[-1] for line in result.out.splitlines()[1:3]], ["same", "differs"])

    def test_what_cannot_be_fitted(self):
        self.write("m.lisma", "const k = 1; x' = -k*x; x(t0) = 1;\n")
        self.write("d.csv", "time,x\n0,1\n1,\n2,nan\n3,0.05\n")
        self.good("fit", "m.lisma", "-q", "--data", "d.csv", "--params", "k")
        self.write("d.csv", "time,x\n0,1\n1,Inf\n")
        self.fails(2, "fit", "m.lisma", "-q", "--data", "d.csv", "--params", "k", says="row 2 of column `x` is `Inf`")

    def test_tables_of_rules(self):
        shutil.copy(os.path.join(SOURCE, "models", "rules", "hoop.rules.md"), self.path("hoop.rules.md"))
        self.good("convert", "hoop.rules.md", "hoop")
        for name in ("states.csv", "constants.csv"):
            good = self.read("hoop/" + name)
            lines = good.splitlines()
            cut = lines[1].rsplit(",", 1)[0]
            self.write("hoop/" + name, "\n".join([lines[0], cut, *lines[2:]]) + "\n")
            self.fails(1, "check", "hoop", says=["E1005", name + ":2"])
            self.write("hoop/" + name, "\n".join([lines[0], lines[1] + ",1", *lines[2:]]) + "\n")
            self.fails(1, "check", "hoop", says=["E1005", name + ":2"])
            self.write("hoop/" + name, good)
        self.good("check", "hoop")


class Terminals(cli_case.CliCase):
    """Names and texts of a model do nothing to the terminal they are shown on."""

    def test_nothing_acts(self):
        for evil in ("\x1b[31m", "\x1b]0;t\x07", "\x9b2J", "\u009b2J", "\u202e", "\u2066", "\x08\x08", "\x7f"):
            name = f"`a{evil}b`"
            self.write("m.lisma", f"{name}' = 1; {name}(t0) = 0;\ny = 1/({name} - 0.5);\n"
                                  f"state `s{evil}` [{name} >= 1] {{ stop \"bye{evil}\"; }} from init;\n")
            commands = [["run", "m.lisma", "-o", "r.csv"], ["explain", "m.lisma"], ["explain", "m.lisma", "--run"],
                        ["check", "m.lisma"], ["plot", "r.csv"], ["run", "m.lisma", "-o", "r.csv", "--plot", "-"],
                        ["run", "m.lisma", "--out", f"nothing{evil}"], ["run", f"no{evil}.lisma"],
                        ["explain", "m.lisma", "--run", "--all"], ["plot", "r.csv", f"q{evil}"]]
            for command in commands:
                result = self.saltus(*command)
                shown = result.out + result.err
                for character in "\x1b\x07\x9b\u202e\u2066\x08\x7f":
                    self.assertNotIn(character, shown, f"{command} {evil!r}")

    def test_names_of_files(self):
        for number, evil in enumerate(("\x1b[31m", "\x1b]0;t\x07", "\u009b2J", "\u202e", "\x7f")):
            self.write(f"f{evil}.lisma", "x'=-x ;x(t0)=1;")
            cache = self.environment(XDG_CACHE_HOME=self.path(f"c{evil}"))
            for command in (["new", f"n{evil}"], ["fmt", "--check", f"f{evil}.lisma"], ["fmt", f"f{evil}.lisma"], ["cache"],
                            ["cache", "path"], ["cache", "clear"], ["compare", f"f{evil}.csv", f"f{evil}.csv"]):
                result = self.saltus(*command, env=cache)
                shown = result.out + result.err
                self.assertTrue(shown, command)
                for character in "\x1b\x07\u009b\u202e\x7f":
                    self.assertNotIn(character, shown, f"{command} {number}")

    def test_rows_on_a_terminal(self):
        """Data are written as they are, unless they are shown."""
        self.write("m.lisma", "`a\x1b[31mé` = time;\nexperiment { end = 1; }\n")
        command = ["run", "m.lisma", "-q", "-o", "-", "--samples", "1"]
        self.assertIn("a\x1b[31mé", self.good(*command).out)
        master, slave = pty.openpty()
        with self.popen(*command, stdout=slave) as process:
            os.close(slave)
            self.assertEqual(process.wait(timeout=60), 0)
        shown = os.read(master, 65536).decode()
        os.close(master)
        self.assertEqual(shown.splitlines(), ["time,a?[31mé", "0,0", "1,1"])

    def test_letters_stay(self):
        self.write("m.lisma", "`длина 中 é` = time;\nstate `конец` [time >= 1] { stop \"готово\"; } from init;\n")
        result = self.good("run", "m.lisma", "-o", "r.csv")
        self.assertIn("mode конец: готово", result.err)
        self.assertIn("длина 中 é", self.good("explain", "m.lisma").out)

    def test_a_time_of_the_model(self):
        self.write("m.lisma", "time' = 2; time(t0) = 5; x = time;\nexperiment { end = 1; }\n")
        for out in ("time,x", "x,time"):
            lines = self.good("run", "m.lisma", "-q", "-o", "-", "--samples", "1", "--out", out).out.splitlines()
            self.assertEqual(lines, ["time," + out, "0,5,5", "1,7,7"])
        self.good("run", "m.lisma", "-q", "--out", "time", "-o", "r.csv", "--checkpoint", "c")
        self.good("run", "m.lisma", "-q", "--out", "time", "-o", "r.csv", "--resume", "c", "--until", "2")

    def test_what_cells_hold(self):
        self.write("m.lisma", "x' = 1; x(t0) = 0;\ny = exp(1000*x);\nexperiment { end = 1; }\n")
        result = self.good("run", "m.lisma", "-q", "-o", "-")
        self.assertIn("W0810", result.err)
        self.assertIn("is infinite", result.err)
        self.assertTrue(result.out.endswith(",Inf\n"), result.out[-30:])


if __name__ == "__main__":
    cli_case.main()
