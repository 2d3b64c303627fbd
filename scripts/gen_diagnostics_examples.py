#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples in docs/diagnostics.md: the text block behind each model is what the compiler says.

gen_diagnostics_examples.py --tool TOOL          rewrite the text blocks
gen_diagnostics_examples.py --tool TOOL --check  compare only

TOOL prints the messages about a model: a built lisma_check_tool or "saltus check". The models are
called model.lisma and find the files wind.csv and broken.csv beside them.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "diagnostics.md")
EXAMPLE = re.compile(r"```lisma\n(.*?)```\n\n```text\n(.*?)```\n", re.S)
FILES = {"wind.csv": "time,speed\n0,1\n1,3\n2,2\n", "broken.csv": "time,speed\n0,1\n1,fast\n"}


def messages(tool, directory, model):
    """What the tool says about a model."""
    path = os.path.join(directory, "model.lisma")
    with open(path, "w", encoding="utf-8") as out:
        out.write(model)
    run = subprocess.run(shlex.split(tool) + [os.path.basename(path)], cwd=directory,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return run.stdout.decode("utf-8")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--tool", required=True, help="prints the messages about a file")
    arguments.add_argument("--check", action="store_true", help="compare, change nothing")
    options = arguments.parse_args()
    with open(PAGE, encoding="utf-8") as page:
        text = page.read()
    wrong = []
    with tempfile.TemporaryDirectory() as directory:
        for name, content in FILES.items():
            with open(os.path.join(directory, name), "w", encoding="utf-8") as out:
                out.write(content)

        def replace(match):
            said = messages(options.tool, directory, match.group(1))
            if said != match.group(2):
                wrong.append(match.group(1))
            return "```lisma\n%s```\n\n```text\n%s```\n" % (match.group(1), said)

        new = EXAMPLE.sub(replace, text)
    if options.check:
        for model in wrong:
            print("this example gives other messages:\n" + model)
        sys.exit(1 if wrong else 0)
    with open(PAGE, "w", encoding="utf-8") as page:
        page.write(new)
    print("%d examples changed" % len(wrong))


main()
