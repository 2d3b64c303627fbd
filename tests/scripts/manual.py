#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pages that teach: their models and commands are tried as readme.py tries those of the reference, and the manual is built as
HTML, in which every link leads somewhere and the search knows every heading."""
import glob
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import readme  # noqa: E402

PAGES = ["docs/tutorial.md", "docs/howdoi.md", "docs/finding-events.md", "docs/methods.md", "docs/troubleshooting.md",
         "docs/comparison.md", "docs/migration.md", "docs/blocks-examples.md", "docs/library-examples.md",
         "docs/experiment-examples.md"]
TASKS = 60
STEPS = 10


ELSEWHERE = {"docs/diagnostics.md": "script.diagnostics", "docs/grammar.md": "script.grammar_ll2", "docs/python.md": "python.docs",
             "docs/rules.md": "script.rules_docs"}  # pages whose other blocks have a test of their own
SHOWN = ("text", "json")  # files and drawings
QUERIES = (("how do I stop the run", "howdoi.html#19"), ("zero-order hold", "howdoi.html#5"), ("overlay plots", "howdoi.html#60"),
           ("log scale", "howdoi.html#61"), ("sensitivities", "experiments.html#sensitivities"), ("impatient customers", "queueing.html"),
           ("continuing a run with another parameter", "howdoi.html#52"), ("why did it not happen", "howdoi.html#71"),
           ("assert", "howdoi.html#20"), ("E0203", "diagnostics.html#e0203"), ("monte carlo", "howdoi.html#66"), ("bode plot", "experiments.html#equilibria"),
           ("stop when empty", "howdoi.html#19"), ("step input", "howdoi.html#27"), ("save figure", "howdoi.html#59"),
           ("initial value of array", "howdoi.html#46"), ("remove warm-up", "howdoi.html#66"), ("dead time", "howdoi.html#8"),
           ("anti-windup", "howdoi.html#32"), ("time axis in hours", "howdoi.html#60"), ("LaTeX", "howdoi.html#59"), ("decimal commas", "howdoi.html#56"),
           ("own sink", "howdoi.html#74"), ("final value in a script", "howdoi.html#73"), ("uninstall", "howdoi.html#75"), ("monte carlo xyzzy", "howdoi.html#66"))
ASK = """
const words = process.argv.slice(2), element = () => ({children: [], append(x) { this.children.push(x); }, addEventListener() {}});
const field = element(), found = element();
globalThis.document = {getElementById: (id) => id === "search" ? field : found, createElement: element};
const fs = require("fs"), text = ["search-index.js", "search.js"].map((name) => fs.readFileSync(name, "utf8")).join("\\n");
const show = new Function(text + "; return show;")();
for (const word of words) { field.value = word; found.children = []; show(); console.log(found.children.map((c) => c.href ?? "").join(" ")); }
"""


def check_search(folder):
    """What newcomers ask for is among the first three answers; nothing where node is not installed."""
    if not shutil.which("node"):
        return
    done = subprocess.run(["node", "-e", ASK, "-", *(query for query, _ in QUERIES)], cwd=folder, capture_output=True, text=True,
                          timeout=60, check=False)
    if done.returncode != 0:
        yield f"the search fails:\n{done.stderr}"
        return
    for (query, wanted), line in zip(QUERIES, done.stdout.split("\n")):
        answers = [answer for answer in line.split(" ") if answer][:3]
        if not any(answer.startswith(wanted) for answer in answers):
            yield f"the search for `{query}` does not lead to {wanted} but to {answers}"


def check_commands(folder):
    """What is bold in a block of the terminal is what is typed there, whole, and none of what it prints. The
    pages of models are left out: their commands are in no text that a person wrote."""
    typed = set()
    for path in ["README.md", "models/README.md", "examples/README.md", *glob.glob(os.path.join(readme.saltus_run.SOURCE, "docs", "*.md"))]:
        for block in readme.blocks(readme.read(path)):
            typed.update(re.sub(r" {2,}# .*", "", command) for command, _ in readme.commands(block) if block.kind == "console")
    for name, text in pieces(folder).items():
        for code in re.findall(r'<code class="console">(.*?)</code>', text, re.S) if not name.startswith("model_") else ():
            for bold in re.findall(r"<b>\$ (.*?)</b>", code, re.S):
                if html.unescape(bold) not in typed:
                    yield f"{name}: bold, but no command: {bold}"


def check_tried():
    """Every block of every page is tried by a test, or says why not."""
    for path in ["README.md", "models/README.md", "examples/README.md", *glob.glob(os.path.join(readme.saltus_run.SOURCE, "docs", "*.md"))]:
        page = os.path.relpath(path, readme.saltus_run.SOURCE) if os.path.isabs(path) else path
        for block in readme.blocks(readme.read(page)):
            tried = page in readme.PAGES + PAGES and block.kind in ("lisma", "console", "c")
            if not (tried or page in ELSEWHERE or block.kind in SHOWN or "file" in block.notes or block.notes.get("not run")):
                yield f"{page}:{block.line}: no test tries this block, and it does not say why"


def count(page, pattern, least):
    found = len(re.findall(pattern, readme.read(page), re.M))
    if found < least:
        yield f"{page}: {found} instead of {least}"


def check_functions(header):
    """Every function of a header is at work in some program of the manual or the examples."""
    names = re.findall(r"SLT_API[^;{]*?\b(slt_\w+)\(", readme.read(header))
    code = ""
    for path in glob.glob(os.path.join(readme.saltus_run.SOURCE, "examples", "**", "*.c"), recursive=True):
        code += readme.read(path)
    for path in glob.glob(os.path.join(readme.saltus_run.SOURCE, "docs", "*.md")):
        code += "".join(re.findall(r"```c\n(.*?)```", readme.read(path), re.S))
    for name in names:
        if not re.search(rf"\b{name}\(", code):
            yield f"{header}: there is no example of {name}"


def pieces(folder):
    """{file: its text} of the built pages."""
    found = {}
    for name in os.listdir(folder):
        if name.endswith(".html"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found[name] = file.read()
    return found


def check_html(folder):
    built = pieces(folder)
    for name, text in built.items():
        for link in re.findall(r'(?:href|src)="([^"]*)"', text):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            path = path or name
            if not os.path.exists(os.path.join(folder, path)):
                yield f"{name}: {link} is not there"
            elif anchor and path in built and f'id="{anchor}"' not in built[path]:
                yield f"{name}: {link} leads to no place"
    with open(os.path.join(folder, "search-index.js"), encoding="utf-8") as file:
        index = json.loads(re.fullmatch(r"const INDEX = (.*);\n", file.read(), re.S).group(1))
    for word, page in (("dry friction", "howdoi.html"), ("E0807", "troubleshooting.html"), ("SimPy", "migration.html")):
        if not any(word.lower() in (e["h"] + e["t"]).lower() and e["u"].startswith(page) for e in index):
            yield f"the search does not find '{word}' in {page}"


def check_gallery(folder):
    """Every model of the index has a small picture there, and a page with what it is, its source, its numbers and its text."""
    built = pieces(folder)
    names = re.findall(r"\]\(([\w/]+)\.lisma\)", readme.read("models/README.md"))
    for name in names:
        page = built.get(f"model_{name.replace('/', '_')}.html", "")
        fails = "<li>the run fails" in page
        for part, there in (("a page", page), ("a large picture", fails or "<img " in page), ("what it shows", "What it shows: " in page),
                            ("its source", "<strong>Source.</strong>" in page), ("numbers", 'class="numbers"><li>' in page),
                            ("its text", 'id="text"' in page), ("words for its numbers", "<li>expect" not in page),
                            ("a small picture", fails or f"{name.replace('/', '_')}.small.svg" in built["gallery.html"])):
            if not there:
                yield f"the gallery lacks {part} of {name}"


def build():
    """Messages about the built manual; nothing where python3-markdown is not installed."""
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import markdown"], capture_output=True, check=False).returncode != 0:
        print("the pages are not built: python3-markdown is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(readme.saltus_run.SOURCE, "scripts", "manual.py")
        drawn = not readme.suite.SANITIZED  # with sanitizers it takes minutes and tells nothing new
        program = ["--program", readme.saltus_run.PROGRAM] if drawn else []
        done = subprocess.run([python, script, folder, *program], capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            yield f"{script} fails:\n{done.stderr}"
            return
        yield from check_html(folder)
        yield from check_commands(folder)
        yield from check_search(folder)
        if drawn:
            yield from check_gallery(folder)


def main():
    total, messages = 0, []
    pages = readme.suite.share(PAGES)
    for page in pages:
        tried, found = readme.check_page(page)
        total += tried
        messages += found + list(readme.check_links(page))
    messages += count("docs/howdoi.md", r"^### \d+\. ", TASKS)
    messages += count("docs/tutorial.md", r"^## \d+\. ", STEPS)
    for header in ("saltus", "saltus_rt", "saltus_rules", "saltus_world", "saltus_experiment"):
        messages += check_functions(f"include/saltus/{header}.h")
    messages += check_tried()
    messages += build()
    for message in messages:
        print(message)
    print(f"{len(pages)} pages, {total} blocks, {len(messages)} failed")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
