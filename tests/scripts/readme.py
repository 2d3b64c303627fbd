#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the manual shows is true: its models are checked, its commands run, its outputs compared.

Of README.md and the pages of docs/ named below, each block of code is tried in a folder of its own
page, in which `saltus`, `cc` and pkg-config's module `saltus` are those of the build tree and
`models` is the gallery.

  lisma    must be a model without errors and warnings; a piece may leave out initial values (W0809)
  console  lines that begin with `$ ` are commands, which must succeed; the lines behind a command
           are its output. A line `...` stands for any lines. What a run costs may differ.
  c        must compile with all warnings as errors

A comment just before a block says more about it:

  <!-- file: NAME -->     the block is this file; later blocks find it
  <!-- with: TEXT -->     a piece of a model: TEXT stands before it
  <!-- error: E0203 -->   the model must be refused, with this code
  <!-- warning: W0520 --> the model is accepted with this warning
  <!-- status: 3 -->      the last command must end with this status
  <!-- needs: COMMAND --> where the command fails (a library is missing), the block is only read
  <!-- not run: WHY -->   only to be read

Pictures in docs/img are those that the commands of their page write: `readme.py --update PAGE...` keeps them.
Links between the pages, and to places in them, must lead somewhere.
"""
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402
import suite  # noqa: E402
import svg_same  # noqa: E402

PAGES = ["README.md", "docs/cdcsis.md", "docs/editors.md", "docs/fmi.md", "docs/rules.md", "docs/workbench.md", "docs/language.md", "docs/modes.md", "docs/events.md", "docs/embedding.md",
         "docs/command-line.md", "docs/transitions.md", "docs/experiments.md", "docs/queueing.md", "examples/README.md"]
LINKED = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/README.md",
          "docs/language.md", "docs/modes.md", "docs/events.md", "docs/embedding.md",
          "docs/command-line.md", "docs/experiments.md",
          "docs/transitions.md", "docs/queueing.md", "examples/README.md", "models/README.md"]
WARNINGS = ["-std=c17", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
SECONDS = 120
UPDATE = "--update" in sys.argv


class Block:
    def __init__(self, kind, line):
        self.kind = kind
        self.line = line
        self.text = []
        self.notes = {}

    def content(self):
        return "\n".join(self.text) + "\n"


def read(path):
    with open(os.path.join(saltus_run.SOURCE, path), encoding="utf-8") as f:
        return f.read()


def blocks(text):
    """The blocks of a page, each with the notes of the comment before it."""
    text = re.sub(r"<!--(.*?)-->", lambda m: "<!--" + m.group(1).replace("\n", "\v") + "-->", text,
                  flags=re.S)
    found, current, notes = [], None, {}
    line_number = 0
    for line in text.split("\n"):
        line_number += 1 + line.count("\v")
        if current is not None:
            if line.strip() == "```":
                found.append(current)
                current, notes = None, {}
            else:
                current.text.append(line)
            continue
        comment = re.fullmatch(r"<!--\s*([\w ]+?)\s*(?::\s?(.*?))?\s*-->", line, re.S)
        fence = re.fullmatch(r"```(\w*)", line)
        if comment:
            notes[comment.group(1)] = (comment.group(2) or "").replace("\v", "\n")
        elif fence:
            current = Block(fence.group(1), line_number)
            current.notes = notes
        elif line.strip():
            notes = {}
    return found


class Workshop:
    """A folder with the tools of the build tree in reach."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "work")
        tools = os.path.join(folder, "tools")
        os.makedirs(self.folder)
        os.makedirs(tools)
        build = os.path.abspath(suite.BUILD)
        source = os.path.abspath(saltus_run.SOURCE)
        for name in ("models", "docs", "examples"):
            os.symlink(os.path.join(source, name), os.path.join(self.folder, name))
        os.symlink(os.path.abspath(saltus_run.PROGRAM), os.path.join(tools, "saltus"))
        flags = [f"-fsanitize={suite.SANITIZED}"] if suite.SANITIZED else []
        if "--coverage" in suite.cache_value("CMAKE_C_FLAGS_DEBUG"):
            flags.append("--coverage")
        self.compiler = [suite.cache_value("CMAKE_C_COMPILER"), *flags]
        self.script(os.path.join(tools, "cc"), f'exec {" ".join(self.compiler)} "$@"')
        with open(os.path.join(tools, "saltus.pc"), "w", encoding="utf-8") as f:
            f.write(f"Name: saltus\nDescription: -\nVersion: 0\nCflags: -I{source}/include\n"
                    f"Libs: -L{build} -lsaltus -Wl,-rpath,{build}\n")
        self.include = os.path.join(source, "include")
        self.environment = {k: v for k, v in os.environ.items()
                            if k not in ("NO_COLOR", "COLUMNS", "TERM")}
        self.environment.update(PATH=tools + os.pathsep + os.environ["PATH"],
                                PKG_CONFIG_PATH=tools, LC_ALL="C.UTF-8", COLUMNS="80")

    @staticmethod
    def script(path, text):
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def run(self, command):
        done = subprocess.run(["bash", "-c", "set -o pipefail\n" + command], cwd=self.folder,
                              env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS,
                              check=False)
        return done.returncode, done.stdout.decode("utf-8", "replace")


# ---- models -------------------------------------------------------------------------------------

def check_model(shop, block):
    text = block.content()
    if "with" in block.notes:
        text = block.notes["with"].strip() + "\n" + text
    name = block.notes.get("file", "snippet.lisma")
    shop.write(name, text)
    status, output = shop.run(f"saltus check '{name}'")
    wanted = block.notes.get("error")
    if wanted:
        if status != 1 or f"error[{wanted}]" not in output:
            yield f"expected {wanted}, got status {status}:\n{output}"
    elif "warning" in block.notes:
        if status != 0 or f"warning[{block.notes['warning']}]" not in output:
            yield f"expected {block.notes['warning']}, got status {status}:\n{output}"
    elif status != 0 or [line for line in output.splitlines() if ": warning[" in line and "[W0809]" not in line]:
        yield f"`saltus check` complains:\n{output}"


# ---- commands -----------------------------------------------------------------------------------

def commands(block):
    """(command, output) of a console block; a command goes on after a backslash, `|` or `do`."""
    found, looping = [], False
    for line in block.text:
        if line.startswith("$ "):
            found.append([line[2:], []])
            looping = line.endswith("; do")
        elif found and not found[-1][1] and (looping or found[-1][0].endswith(("\\", "|"))):
            found[-1][0] += "\n" + line
            looping = looping and line.strip() != "done"
        elif found:
            found[-1][1].append(line)
    return found


def normal(line):
    """A line without what differs from machine to machine: the time it took."""
    return re.sub(r"^  (wall time) .*", r"  \1", line.rstrip())


def matches(wanted, got):
    """Whether lines match, `...` standing for any number of them."""
    if not wanted:
        return not got
    if wanted[0] == "...":
        return any(matches(wanted[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and normal(wanted[0]) == normal(got[0]) and matches(wanted[1:], got[1:])


def check_commands(shop, block):
    all_commands = commands(block)
    for number, (command, wanted) in enumerate(all_commands):
        status, output = shop.run(command)
        expected = int(block.notes.get("status", 0)) if number == len(all_commands) - 1 else 0
        if status != expected:
            yield f"`{command}` ended with status {status}:\n{output}"
            continue
        got = output.rstrip("\n").split("\n") if output.rstrip("\n") else []
        while wanted and not wanted[-1]:
            wanted = wanted[:-1]
        if not wanted or matches(wanted, got):
            continue
        difference = difflib.unified_diff([normal(w) for w in wanted], [normal(g) for g in got],
                                          "page", "program", lineterm="", n=1)
        yield f"`{command}` prints something else:\n" + "\n".join(difference)


# ---- programs -----------------------------------------------------------------------------------

def check_program(shop, block):
    name = block.notes.get("file", "snippet.c")
    shop.write(name, block.notes.get("with", "") + block.content())
    done = subprocess.run([*shop.compiler, *WARNINGS, f"-I{shop.include}", "-c", name, "-o",
                           "snippet.o"], cwd=shop.folder, capture_output=True, text=True,
                          timeout=SECONDS, check=False)
    if done.returncode != 0:
        yield f"does not compile:\n{done.stderr}"


# ---- pictures -----------------------------------------------------------------------------------

def check_pictures(shop, page):
    """The pictures of a page are those that its commands have just drawn."""
    for link in re.findall(r"!\[[^\]]*\]\(((?:docs/)?img/\w+\.svg)\)", read(page)):
        kept = os.path.join(saltus_run.SOURCE, os.path.dirname(page), link)
        drawn = os.path.join(shop.folder, os.path.basename(link))
        if not os.path.exists(drawn):
            yield f"{page}: no command of the page draws {link}"
        elif UPDATE:
            shutil.copyfile(drawn, kept)
        elif svg_same.difference(kept, drawn):
            yield (f"{page}: {link} is not what the commands draw now, {svg_same.difference(kept, drawn)}; "
                   f"`readme.py --update {page}` keeps the new one")


def check_page(page):
    """(number of blocks tried, messages)."""
    messages, tried = [], 0
    checks = {"lisma": check_model, "console": check_commands, "c": check_program}
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(folder)
        for block in blocks(read(page)):
            if "not run" in block.notes:
                continue
            check = checks.get(block.kind)
            if "needs" in block.notes and shop.run(block.notes["needs"])[0] != 0:
                continue
            if check:
                tried += 1
                messages += [f"{page}:{block.line}: {m}" for m in check(shop, block)]
            elif "file" in block.notes:
                shop.write(block.notes["file"], block.content())
        messages += check_pictures(shop, page)
    return tried, messages


# ---- links --------------------------------------------------------------------------------------

def anchors(text):
    """Places in a page, as GitHub names them."""
    found = set()
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(name)
    return found


def check_links(page):
    text = re.sub(r"^```.*?^```", "", read(page), flags=re.S | re.M)
    text = re.sub(r"`[^`\n]*`", "", text)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, place = urllib.parse.unquote(target).partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(os.path.join(saltus_run.SOURCE, path)):
            yield f"{page}: link to {target}, which is not there"
        elif place and place not in anchors(read(path)):
            yield f"{page}: link to {target}, but {path} has no such place"


def main():
    if not shutil.which("pkg-config") or not shutil.which("bash"):
        print("needs bash and pkg-config")
        return 77
    named = [page for page in sys.argv[1:] if page != "--update"]
    pages = named or suite.share(PAGES)
    total, failed = 0, 0
    for page in pages:
        tried, messages = check_page(page)
        total += tried
        failed += len(messages)
        for message in messages:
            print(message)
    for page in pages if named else LINKED:
        for message in check_links(page):
            failed += 1
            print(message)
    print(f"{len(pages)} pages, {total} blocks, {failed} failed")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
