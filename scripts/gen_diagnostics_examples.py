#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples in docs/diagnostics.md: the text block behind each model is what saltus says about it.

gen_diagnostics_examples.py --saltus PROGRAM          rewrite the text blocks
gen_diagnostics_examples.py --saltus PROGRAM --check  compare only

A model alone is given to `saltus check`; a line with a command in backquotes between the model and
the text block is run instead. The models are called model.lisma and find the files wind.csv and
broken.csv beside them. Text blocks without a model, which are those about rule tables, must be found
in the expected files of tests/golden/rules.
"""
import argparse
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "diagnostics.md")
EXAMPLE = re.compile(r"```lisma\n(.*?)```\n\n(?:`(saltus [^`\n]*)`\n\n)?```text\n(.*?)```\n", re.S)
SECTION = re.compile(r"^## ([EW]\d{4}) .*?(?=^## |\Z)", re.S | re.M)
FILES = {"wind.csv": "time,speed\n0,1\n1,3\n2,2\n", "broken.csv": "time,speed\n0,1\n1,fast\n"}
CHECK = "saltus check model.lisma"


def messages(saltus, model, command):
    """What a command says about a model, in a folder of its own."""
    with tempfile.TemporaryDirectory() as directory:
        for name, content in list(FILES.items()) + [("model.lisma", model)]:
            with open(os.path.join(directory, name), "w", encoding="utf-8") as out:
                out.write(content)
        run = subprocess.run([saltus] + shlex.split(command)[1:], cwd=directory, timeout=60,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
    return run.stderr.decode("utf-8")


def rewrite(saltus, text):
    """The page with the messages of today, and the problems of the page as it is."""
    problems = []

    def replace_example(code, match):
        model, command, old = match.groups()
        said = messages(saltus, model, command or CHECK)
        if said != old:
            problems.append("%s: this example gives other messages:\n%s" % (code, model))
        if "[%s]" % code not in said:
            problems.append("%s: the example gives another code:\n%s" % (code, said))
        line = "`%s`\n\n" % command if command else ""
        return "```lisma\n%s```\n\n%s```text\n%s```\n" % (model, line, said)

    def replace_section(section):
        code = section.group(1)
        return EXAMPLE.sub(lambda match: replace_example(code, match), section.group(0))

    return SECTION.sub(replace_section, text), problems


def table_problems(text):
    """Examples about rule tables that the tests of the tables do not know."""
    expected = ""
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "golden", "rules", "*.expected"))):
        with open(path, encoding="utf-8") as known:
            expected += known.read()
    blocks = re.findall(r"```text\n(.*?)```\n", EXAMPLE.sub("", text), re.S)
    return ["this example is in no file of tests/golden/rules:\n" + block
            for block in blocks if block not in expected]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--saltus", default=os.environ.get("SALTUS", "saltus"),
                           help="the program [$SALTUS, else saltus]")
    arguments.add_argument("--check", action="store_true", help="compare, change nothing")
    options = arguments.parse_args()
    with open(PAGE, encoding="utf-8") as page:
        text = page.read()
    new, problems = rewrite(os.path.abspath(options.saltus) if os.sep in options.saltus
                            else options.saltus, text)
    problems += table_problems(text)
    print("\n".join(problems) or "all examples are what saltus says")
    if options.check:
        sys.exit(1 if problems else 0)
    with open(PAGE, "w", encoding="utf-8") as page:
        page.write(new)


main()
