#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`saltus gallery` and `saltus docs`: what they list is there, can be copied, and runs."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402


class Shelf(cli_case.CliCase):
    def test_lists_every_model_with_a_title(self):
        lines = self.good("gallery").out.splitlines()
        names = [line.split()[0] for line in lines]
        models = os.path.join(cli_case.SOURCE, "models")
        for folder, _, files in os.walk(models):
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), models)
                if path.endswith(".lisma") and not path.startswith("parts"):
                    self.assertIn(path[:-len(".lisma")], names)
        for line in lines:
            self.assertRegex(line, r"^\S+ {2,}\S", "a model without a title")

    def test_every_model_says_what_it_is(self):
        models = os.path.join(cli_case.SOURCE, "models")
        for line in self.good("gallery").out.splitlines():
            name = line.split()[0]
            path = os.path.join(models, name + ".lisma")
            if not os.path.exists(path):
                continue  # rule tables, whose numbers their own tests have
            with open(path, encoding="utf-8") as f:
                text = f.read()
            head = re.split(r"\n//[ \t]*\n", text)[0]
            self.assertGreaterEqual(len(re.findall(r"[.!?](?=\s|$)", head)), 2, f"{name}: two sentences")
            self.assertIn("// Source: ", text, name)
            self.assertRegex(text, r"// expect |E0\d\d\d", f"{name}: numbers it must give")

    def test_words_select(self):
        out = self.good("gallery", "BALL", "rest").out
        self.assertRegex(out, r"(?m)^ball ")
        self.assertNotRegex(out, r"(?m)^buck ")

    def test_copy_brings_what_the_model_names(self):
        for model, files in (("drive_cycle", ["drive_cycle.csv", "drive_cycle.lisma"]),
                             ("doubler", ["doubler.lisma", "parts/electrical.lisma"]),
                             ("dae/pendulum", ["pendulum.lisma"])):
            self.assertEqual(sorted(self.good("gallery", "--copy", model).out.split()), files)
            self.good("check", os.path.basename(model) + ".lisma")

    def test_copy_overwrites_nothing(self):
        self.good("gallery", "--copy", "buck")
        again = self.saltus("gallery", "--copy", "buck")
        self.assertEqual(again.status, 2)
        self.assertIn("stays as it is", again.err)

    def test_pages(self):
        pages = [line.split()[0] for line in self.good("docs").out.splitlines()]
        self.assertIn("language", pages)
        self.assertTrue(self.good("docs", "language").out.startswith("# The language"))
        found = self.good("docs", "--find", "E0203", "unknown").out
        self.assertRegex(found, r"(?m)^diagnostics\.md:\d+: ")
        found = re.findall(r"(?m)^\S+:\d+: (#+ )?", self.good("docs", "--find", "friction").out)
        self.assertTrue(found[0], "headings come first")
        self.assertEqual([bool(mark) for mark in found], sorted(map(bool, found), reverse=True))
        # words in one argument are words; the README is a page too
        self.assertEqual(self.good("docs", "--find", "E0203 unknown").out, self.good("docs", "--find", "E0203", "unknown").out)
        self.assertIn("../README.md:", self.good("docs", "--find", "uninstall").out)
        # no line has all of them: sections that have
        found = self.good("docs", "--find", "how do I plot the time axis in minutes")
        self.assertRegex(found.out, r"(?m)^howdoi\.md:\d+: ### 60\.")
        self.assertRegex(found.err, "sections with some of them")
        self.assertEqual(self.good("docs", "uninstall").out, self.good("docs", "--find", "uninstall").out, "a word that is no page")
        self.assertEqual(self.saltus("docs", "--find", "xyzzy plugh time").status, 1, "less than half is nothing")
        path = self.good("docs", "--path", "events").out.strip()
        self.assertTrue(os.path.isfile(path))

    def test_what_a_message_means(self):
        told = self.good("docs", "E0203").out
        self.assertTrue(told.startswith("## E0203 "))
        self.assertEqual(told.count("\n## "), 0, "one section and no more")
        self.assertEqual(self.good("help", "e0203").out, told)
        self.assertEqual(self.good("docs", "W0802").out.split()[1], "W0802")
        self.fails(1, "docs", "E9999", says=["no message E9999", "diagnostics"])

    def test_mistakes(self):
        self.fails(1, "docs", "xyzzy", says=["nothing about that"])
        self.fails(1, "docs", "how", "do", says=["nothing about that"])
        for words in (["gallery", "--copy", "nothing"], ["docs", "--open", "nothing"], ["gallery", "xyzzy"],
                      ["docs", "--find", "xyzzy-nowhere"]):
            self.assertEqual(self.saltus(*words).status, 1, words)
        for words in (["gallery", "--copy"], ["docs", "--find"], ["docs", "--copy", "events"]):
            self.assertEqual(self.saltus(*words).status, 2, words)

    def test_elsewhere(self):
        """A data folder that is named, and one that is missing."""
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ, SALTUS_DATA=folder)
            for name in ("models", "docs"):
                os.mkdir(os.path.join(folder, name))
            with open(os.path.join(folder, "models", "mine.lisma"), "w", encoding="utf-8") as f:
                f.write("// One thing. And another.\nx' = 1;\n")
            program = os.environ["SALTUS"]
            listed = subprocess.run([program, "gallery"], env=environment, capture_output=True, text=True, check=True)
            self.assertEqual(listed.stdout, "mine  One thing\n")
            shutil.rmtree(os.path.join(folder, "models"))
            missing = subprocess.run([program, "gallery"], env=environment, capture_output=True, text=True, check=False)
            self.assertEqual(missing.returncode, 1)
            self.assertTrue(re.search("SALTUS_DATA", missing.stderr))


if __name__ == "__main__":
    cli_case.main()
