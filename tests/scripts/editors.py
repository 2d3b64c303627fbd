#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The files for editors have the words of the language, all of them and no others; their patterns find what they are for;
the extension for Visual Studio Code starts the server and speaks with it."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

EDITORS = os.path.join(saltus_run.SOURCE, "editors")

# stands for the editor, and for the client that npm brings: starts what it is given and says hello
EDITOR = """
exports.workspace = { getConfiguration: (name) => ({ get: (key, usual) => name + '.' + key === 'lisma.command' ? process.env.SALTUS_PROGRAM : usual }) };
"""
CLIENT = """
const { spawn } = require('child_process');
exports.TransportKind = { stdio: 0 };
exports.LanguageClient = class {
  constructor(id, name, server, options) { Object.assign(this, { id, server, options }); }
  start() {
    this.child = spawn(this.server.command, this.server.args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { capabilities: {} } });
    this.child.stdin.write('Content-Length: ' + Buffer.byteLength(body) + '\\r\\n\\r\\n' + body);
    return new Promise((done) => this.child.stdout.once('data', (data) => {
      console.log(JSON.stringify({ answer: String(data), selector: this.options.documentSelector, transport: this.server.transport }));
      done();
    }));
  }
  stop() { this.child.stdin.end(); }
};
"""
DRIVE = "const e = require(process.argv[2]); e.activate().then(() => e.deactivate());"


class Editors(unittest.TestCase):
    def test_words(self):
        check = os.path.join(saltus_run.SOURCE, "scripts", "gen_editors.py")
        self.assertEqual(subprocess.run([sys.executable, check, "--check"], check=False).returncode, 0)

    def load(self, name):
        with open(os.path.join(EDITORS, "vscode", name), encoding="utf-8") as file:
            return json.load(file)

    def test_textmate(self):
        patterns = [(p["name"], p["match"]) for p in self.load("syntaxes/lisma.tmLanguage.json")["patterns"] if "match" in p]

        def scope(text):
            for name, match in patterns:
                found = re.match(match, text)
                if found and found.end() == len(text):
                    return name[: -len(".lisma")]
            return None
        for text, wanted in (("part", "keyword.control"), ("every", "keyword.control"), ("implies", "keyword.operator.word"),
                             ("shortliving", "storage.type.event"), ("clamp", "support.function"), ("gamma", "support.function"),
                             ("inf", "constant.language"), ("1.5e-3", "constant.numeric"), (".5", "constant.numeric"),
                             ("// all of it", "comment.line"), ("`Fy, N`", "variable.other.quoted"), ("partial", None), ("x1", None)):
            self.assertEqual(scope(text), wanted, text)

    def test_package(self):
        package = self.load("package.json")
        for name in (package["main"], package["contributes"]["grammars"][0]["path"],
                     package["contributes"]["languages"][0]["configuration"]):
            self.assertTrue(os.path.exists(os.path.join(EDITORS, "vscode", name)), name)
        self.assertIn("vscode-languageclient", package["dependencies"])

    @unittest.skipUnless(shutil.which("node"), "there is no node")
    def test_client(self):
        with tempfile.TemporaryDirectory() as folder:
            modules = os.path.join(folder, "node_modules")
            for name, text in (("vscode/index.js", EDITOR), ("vscode-languageclient/node.js", CLIENT)):
                os.makedirs(os.path.dirname(os.path.join(modules, name)), exist_ok=True)
                with open(os.path.join(modules, name), "w", encoding="utf-8") as out:
                    out.write(text)
            shutil.copytree(os.path.join(EDITORS, "vscode"), os.path.join(folder, "lisma"))
            drive = os.path.join(folder, "drive.js")
            with open(drive, "w", encoding="utf-8") as out:
                out.write(DRIVE)
            done = subprocess.run(["node", drive, os.path.join(folder, "lisma", "extension.js")], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "SALTUS_PROGRAM": saltus_run.PROGRAM}, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads(done.stdout)
        self.assertIn('"renameProvider"', said["answer"])
        self.assertEqual([s.get("language") or s["pattern"] for s in said["selector"]], ["lisma", "**/*.rules.md"])
        self.assertEqual(said["transport"], 0)

    @unittest.skipUnless(shutil.which("nvim") or shutil.which("vim"), "there is no Vim")
    def test_vim(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.lisma")
            out = os.path.join(folder, "groups")
            with open(path, "w", encoding="utf-8") as file:
                file.write("part P(k = 1) { x' = clamp(k, 0, inf); } // note\n")
            script = "call writefile(map([1, 12, 22, 34, 44], 'synIDattr(synID(1, v:val, 1), \"name\")'), '%s') | qa!" % out
            vim = shutil.which("nvim") or shutil.which("vim")
            options = ["--headless", "-n"] if vim.endswith("nvim") else ["-es", "-N"]
            subprocess.run([vim, *options, "-u", "NONE", "--cmd", "set rtp^=" + os.path.join(EDITORS, "vim"), "--cmd", "filetype on",
                            "--cmd", "syntax on", path, "-c", script], timeout=60, check=False,
                           stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env={**os.environ, "HOME": folder})
            with open(out, encoding="utf-8") as file:
                self.assertEqual(file.read().split(), ["lismaKeyword", "lismaNumber", "lismaFunction", "lismaConstant", "lismaComment"])


if __name__ == "__main__":
    unittest.main()
