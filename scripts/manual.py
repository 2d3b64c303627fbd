#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Build the manual as HTML: manual.py FOLDER [--program SALTUS] writes FOLDER/index.html and its companions.

The pages are those of docs/, with the README and the gallery; Debian's python3-markdown reads them (cmark knows no tables, pandoc
brings 150 MB). Links between pages become links between the HTML files. With --program every model of the gallery is run and drawn
on the gallery's page. The search needs no server: its index is a script beside the pages.
"""
import argparse
import concurrent.futures
import glob
import html
import json
import os
import re
import shutil
import subprocess
import sys

import markdown

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
CHAPTERS = [
    ("Begin", ["README.md", "docs/tutorial.md", "docs/workbench.md", "models/README.md"]),
    ("Do", ["docs/howdoi.md", "docs/command-line.md", "docs/experiments.md", "docs/troubleshooting.md", "docs/editors.md"]),
    ("Understand", ["docs/finding-events.md", "docs/methods.md", "docs/events.md", "docs/modes.md", "docs/transitions.md"]),
    ("Program", ["docs/embedding.md", "docs/library-examples.md", "docs/queueing.md", "docs/blocks-examples.md", "docs/cdcsis.md", "docs/python.md", "docs/fmi.md"]),
    ("Come from elsewhere", ["docs/comparison.md", "docs/migration.md", "docs/rules.md"]),
    ("Look up", ["docs/language.md", "docs/grammar.md", "docs/diagnostics.md"]),
]
NAMES = {"README.md": "index", "models/README.md": "gallery", "docs/README.md": "contents"}
PICTURE_SECONDS = 60
SEARCHED = 3000  # characters of a section that the search knows


def page_name(path):
    return NAMES.get(path) or os.path.splitext(os.path.basename(path))[0]


def pages():
    return [path for _, paths in CHAPTERS for path in paths if os.path.exists(os.path.join(SOURCE, path))]


def slug(text, _separator="-"):
    """The anchors that the links in the pages use: lower case, no marks, hyphens."""
    text = re.sub(r"[^\w\- ]", "", text.strip().lower())
    return text.replace(" ", "-")


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


# ---- links --------------------------------------------------------------------------------------

class Site:
    """Where everything of the source is in the manual."""

    def __init__(self, out):
        self.out = out
        self.pages = {path: page_name(path) + ".html" for path in pages()}

    def target(self, page, link):
        """The address of a link from a page; other files of the source are copied along."""
        if re.match(r"[a-z]+:", link) or link.startswith("#"):
            return link
        name, _, anchor = link.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page), name))
        anchor = "#" + anchor if anchor else ""
        if path in self.pages:
            return self.pages[path] + anchor
        full = os.path.join(SOURCE, path)
        if os.path.isfile(full):
            to = os.path.join(self.out, "files", path)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(full, to + (".txt" if is_text(path) else ""))
            return "files/" + path + (".txt" if is_text(path) else "")
        return "index.html" if path in ("docs", ".") or os.path.isdir(full) else link

    def rewrite(self, page, text):
        return re.sub(r'(href|src)="([^"]*)"',
                      lambda m: f'{m.group(1)}="{html.escape(self.target(page, html.unescape(m.group(2))))}"', text)


def is_text(path):
    """Files that a browser would rather save than show."""
    return os.path.splitext(path)[1] in (".lisma", ".md", ".c", ".h", ".1", ".ipynb", "")


# ---- pages --------------------------------------------------------------------------------------

FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title} - Saltus</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="style.css"></head>
<body><nav><a class="name" href="index.html">Saltus</a>
<input id="search" type="search" placeholder="Search the manual" autocomplete="off" aria-label="Search the manual">
<div id="found"></div>{contents}</nav><main>{body}</main>
<script src="search-index.js"></script><script src="search.js"></script></body></html>
"""


def title_of(text):
    match = re.search(r"^# (.*)$", text, re.M)
    return match.group(1) if match else "Saltus"


def contents(site, current):
    out = []
    for chapter, paths in CHAPTERS:
        out.append(f"<h2>{chapter}</h2><ul>")
        for path in paths:
            if path in site.pages:
                mark = ' class="here"' if path == current else ""
                title = {"README.md": "Saltus in a minute", "models/README.md": "The gallery"}.get(path) or title_of(read(path))
                out.append(f'<li{mark}><a href="{site.pages[path]}">{html.escape(title)}</a></li>')
        out.append("</ul>")
    return "".join(out)


def convert(text):
    reader = markdown.Markdown(extensions=["tables", "fenced_code", "toc", "sane_lists"], tab_length=2,
                               extension_configs={"toc": {"slugify": slug}})
    # comments are for the tests, and a fence just behind one would not be seen as such
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S)
    # a list may follow a line of text at once, as everywhere else
    text = re.sub(r"^((?![-*|#>` ]|\d+\.).+)\n(?=(?:[-*]|\d+\.) )", r"\1\n\n", text, flags=re.M)
    return reader.convert(text)


def entries(address, body):
    """What the search knows of a page: a piece for each heading."""
    pieces = re.split(r'<h[1-4] id="([^"]*)">(.*?)</h[1-4]>', body)
    for anchor, heading, text in zip(pieces[1::3], pieces[2::3], pieces[3::3]):
        plain = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))
        yield {"u": f"{address}#{anchor}", "h": html.unescape(re.sub(r"<[^>]+>", "", heading)), "t": plain[:SEARCHED]}
    for anchor, name, text in re.findall(r'<a class="card" id="([^"]*)".*?<b>(.*?)</b> (.*?)</a>', body):
        yield {"u": f"{address}#{anchor}", "h": name, "t": html.unescape(text)}


# ---- the gallery --------------------------------------------------------------------------------

def draw(program, out, name):
    """The picture of a model; None when its run gives none."""
    picture = os.path.join("pictures", name.replace("/", "_").replace(".lisma", ".svg"))
    command = [program, "run", os.path.join(SOURCE, "models", name), "--quiet", "-o", os.devnull, "--plot",
               os.path.join(out, picture)]
    try:
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PICTURE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return name, None
    return name, picture if os.path.exists(os.path.join(out, picture)) else None


def about(name):
    """The first words of a model: its title, and the sentences behind it."""
    text = read("models/" + name)
    words = []
    for line in text.split("\n"):
        if not line.startswith("// ") or re.match(r"// (Source|Equations|expect|run)\b", line):
            break
        words.append(line[3:])
    return " ".join(words)


def gallery(program, out, body):
    """Rows of the index as cards with pictures."""
    names = sorted(set(re.findall(r'href="([\w/]+\.lisma)"', body)))
    os.makedirs(os.path.join(out, "pictures"), exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        pictures = dict(pool.map(lambda name: draw(program, out, name), names))

    def cards(match):
        out_cards = []
        for name in re.findall(r'href="([\w/]+\.lisma)"', match.group(0)):
            image = f'<img src="{pictures[name]}" loading="lazy" alt="">' if pictures[name] else ""
            out_cards.append(f'<a class="card" id="{name[:-len(".lisma")]}" href="{name}">{image}<b>{os.path.splitext(os.path.basename(name))[0]}</b> '
                             f"{html.escape(about(name).replace('`', ''))}</a>")
        return f'<div class="cards">{"".join(out_cards)}</div>' if out_cards else match.group(0)

    return re.sub(r"<table>.*?</table>", cards, body, flags=re.S)


# ---- everything ---------------------------------------------------------------------------------

def build(out, program):
    os.makedirs(out, exist_ok=True)
    site = Site(out)
    index = []
    for path, address in site.pages.items():
        text = read(path)
        body = convert(text)
        if path == "models/README.md" and program:
            body = gallery(program, out, body)
            # pictures are in the manual already, models in the source
            body = re.sub(r'src="pictures/', 'src="./pictures/', body)
        index += entries(address, body)
        body = re.sub(r'src="\./pictures/', 'src="PICTURES/', body)
        body = site.rewrite(path, body).replace('src="PICTURES/', 'src="pictures/')
        with open(os.path.join(out, address), "w", encoding="utf-8") as file:
            file.write(FRAME.format(title=html.escape(title_of(text)), contents=contents(site, path), body=body))
    with open(os.path.join(out, "search-index.js"), "w", encoding="utf-8") as file:
        file.write("const INDEX = " + json.dumps(index, ensure_ascii=False, separators=(",", ":")) + ";\n")
    for path in glob.glob(os.path.join(SOURCE, "docs", "manual", "*")):
        shutil.copy(path, out)
    return len(site.pages), len(index)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder")
    parser.add_argument("--program", help="draw the gallery with this saltus")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.program) if arguments.program else None
    count, headings = build(os.path.abspath(arguments.folder), program)
    print(f"{arguments.folder}/index.html: {count} pages, {headings} headings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
