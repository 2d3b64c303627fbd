#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Build the manual as HTML: manual.py FOLDER [--program SALTUS] writes FOLDER/index.html and its companions.

The pages are those of docs/, with the README and the gallery; Debian's python3-markdown reads them (cmark knows no tables, pandoc
brings 150 MB). Links between pages become links between the HTML files. With --program every model of the gallery is run and drawn:
small on the gallery's page, large on a page of its own with its source, the numbers it must give and its text. The search needs no
server: its index is a script beside the pages.
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
    ("Program", ["docs/embedding.md", "docs/library-examples.md", "docs/experiment-examples.md", "docs/queueing.md", "docs/blocks-examples.md", "docs/cdcsis.md", "docs/python.md", "docs/fmi.md"]),
    ("Come from elsewhere", ["docs/comparison.md", "docs/migration.md", "docs/rules.md"]),
    ("Look up", ["docs/language.md", "docs/grammar.md", "docs/diagnostics.md"]),
]
NAMES = {"README.md": "index", "models/README.md": "gallery", "docs/README.md": "contents"}
PICTURE_SECONDS = 60
MADE = "made/"  # links to what is made here
SECTIONS_LISTED = 12  # a page with so many sections has a list of them
SEARCHED = 12000  # characters of a section that the search knows


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
        if link.startswith(MADE):  # made here, not found in the source
            return link[len(MADE):]
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
<div id="found"></div><details id="chapters" open><summary>All pages</summary>{contents}</details></nav><main>{body}{turn}</main>
<script src="search-index.js"></script><script src="search.js"></script></body></html>
"""


def title_of(text):
    match = re.search(r"^# (.*)$", text, re.M)
    return match.group(1) if match else "Saltus"


def name_of(path):
    return {"README.md": "Saltus in a minute", "models/README.md": "The gallery"}.get(path) or title_of(read(path))


def contents(site, current):
    out = []
    for chapter, paths in CHAPTERS:
        out.append(f"<h2>{chapter}</h2><ul>")
        for path in paths:
            if path in site.pages:
                mark = ' class="here"' if path == current else ""
                out.append(f'<li{mark}><a href="{site.pages[path]}">{html.escape(name_of(path))}</a></li>')
        out.append("</ul>")
    return "".join(out)


def on_this_page(body):
    """A list of the sections, folded up, under the title of a page that has many."""
    headings = re.findall(r'<h([23]) id="([^"]*)">(.*?)</h\1>', body, re.S)
    if len(headings) < SECTIONS_LISTED:
        return body
    lines = [f'<li class="level{level}"><a href="#{anchor}">{re.sub("<[^>]*>", "", words)}</a></li>' for level, anchor, words in headings]
    listed = f'<details class="sections"><summary>On this page ({len(headings)})</summary><ul>{"".join(lines)}</ul></details>'
    return re.sub(r"(</h1>)", lambda match: match.group(1) + listed, body, count=1)


NOTE = "\x01"  # stands for what a comment before a block of code says about it

WORDS = {
    "lisma": r"state|automaton|from|set|const|experiment|at|each|repeat|every|after|if|else|part|port|connect|for|macro|function|measure|"
             r"contact|friction|include|data|stop|goto|invariant|delete|like|ic|priority",
    "c": r"#include|static|void|int|double|const|return|if|else|for|while|struct|typedef|sizeof|NULL|bool|char",
    "python": r"def|return|while|for|in|if|not|with|as|yield|import|from|class|except|try",
    "modelica": r"model|parameter|Real|Boolean|Integer|discrete|equation|when|then|end|if|else|algorithm|annotation",
}
COMMAND = r"^(\$ (?:.*; do\n(?:.*\n)*? *done\b.*|(?:.*[\\|]\n)*.*))$"  # goes on after a backslash or `|`, and from `do` to `done`
STRINGS = r'&quot;[^\n]*?&quot;|"[^"\n]*"'


def coloured(kind, code):
    """Escaped code with its comments, texts and words marked."""
    if kind == "console":
        code = re.sub(COMMAND, r"<b>\1</b>", code, flags=re.M)
        return re.sub(r"( {2,}# .*?)</b>$", r"</b><i>\1</i>", code, flags=re.M)
    if kind not in WORDS:
        return code
    comment = r"#[^\n]*" if kind == "python" else r"//[^\n]*|/\*.*?\*/"
    pattern = re.compile(rf"(?P<i>{comment})|(?P<q>{STRINGS})|(?P<b>(?<![\w.'])(?:{WORDS[kind]})\b(?! *=))", re.S)
    return pattern.sub(lambda m: f"<{m.lastgroup}>{m.group(0)}</{m.lastgroup}>", code)


def dress(body):
    """Blocks of code: coloured, with the name of their file, and two of them side by side where the page asks for it."""
    body = re.sub(r'<code class="language-(\w+)">(.*?)</code>',
                  lambda m: f'<code class="{m.group(1)}">{coloured(m.group(1), m.group(2))}</code>', body, flags=re.S)
    body = re.sub(rf"<p>{NOTE}file: ([^<]*)</p>\n<pre>", r'<pre data-name="\1">', body)
    body = re.sub(rf"<p>{NOTE}beside</p>\n(<pre.*?</pre>)\n(<pre.*?</pre>)", r'<div class="beside">\1\2</div>', body, flags=re.S)
    return re.sub(rf"<p>{NOTE}[^<]*</p>\n", "", body)


def convert(text):
    reader = markdown.Markdown(extensions=["tables", "fenced_code", "toc", "sane_lists"], tab_length=2,
                               extension_configs={"toc": {"slugify": slug}})
    # comments are for the tests; what they say of a file or of two blocks is for the reader, too
    text = re.sub(r"^<!-- (file: \S+|beside) -->$", rf"{NOTE}\1\n", text, flags=re.M)
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S)
    # a list may follow a line of text at once, as everywhere else
    text = re.sub(r"^((?![-*|#>` ]|\d+\.).+)\n(?=(?:[-*]|\d+\.) )", r"\1\n\n", text, flags=re.M)
    return dress(reader.convert(text))


def turn(site, current):
    """Links to the pages before and behind."""
    order = list(site.pages)
    at = order.index(current)
    links = []
    for mark, other in (("back", at - 1), ("on", at + 1)):
        if 0 <= other < len(order):
            links.append(f'<a class="{mark}" href="{site.pages[order[other]]}">{html.escape(name_of(order[other]))}</a>')
    return f'<p class="turn">{"".join(links)}</p>'


def entries(address, body):
    """What the search knows of a page: a piece for each heading."""
    pieces = re.split(r'<h[1-4] id="([^"]*)">(.*?)</h[1-4]>', body)
    for anchor, heading, text in zip(pieces[1::3], pieces[2::3], pieces[3::3]):
        plain = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))
        yield {"u": f"{address}#{anchor}", "h": html.unescape(re.sub(r"<[^>]+>", "", heading)), "t": plain[:SEARCHED]}
    for anchor, name, text in re.findall(r'<a class="card" id="([^"]*)".*?<b>(.*?)</b> (.*?)</a>', body):
        yield {"u": f"{address}#{anchor}", "h": name, "t": html.unescape(text)}


# ---- the gallery --------------------------------------------------------------------------------

THUMB = ["--size", "300:170", "--legend", "none", "--bands", "off", "--title", ""]


def flat(name):
    return name[:-len(".lisma")].replace("/", "_")


def draw(program, out, name):
    """The pictures of a model, large and small; None when its run gives none."""
    options = re.search(r"^// picture (.*)$", read("models/" + name), re.M)
    pictures = []
    for ending, more in ((".svg", []), (".small.svg", THUMB)):
        picture = os.path.join("pictures", flat(name) + ending)
        command = [program, "run", os.path.join(SOURCE, "models", name), "--quiet", "-o", os.devnull, "--plot",
                   os.path.join(out, picture), *more, *(options.group(1).split() if options else [])]
        try:
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PICTURE_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return name, None
        if not os.path.exists(os.path.join(out, picture)):
            return name, None
        pictures.append(picture)
    return name, pictures


class Told:
    """What a model tells about itself in the comment it begins with, and in its lines `expect`."""

    def __init__(self, name):
        self.text = read("models/" + name)
        lines = []
        for line in self.text.split("\n"):
            if not line.startswith("//"):
                break
            lines.append(line[2:].strip())
        self.parts = {"about": ""}
        current = "about"
        for line in lines:
            key = re.match(r"(Source|Equations|Reference): ", line)
            if re.match(r"(expect|run|picture)\b", line):
                current = None
            elif key:
                current = key.group(1)
                self.parts[current] = line[key.end():]
            elif current and line:
                self.parts[current] = (self.parts[current] + " " + line).strip()
        self.expected = []
        for line in self.text.split("\n"):
            match = re.match(r"// (expect|run) (.*)", line)
            if match:
                self.expected.append((match.group(1), match.group(2)))
        self.code = re.sub(r"^// (?:expect|run|picture) .*\n", "", "\n".join(self.text.split("\n")[len(lines):]), flags=re.M).strip("\n")


EXPECTATION = [  # what a line `expect` says, in words
    (r"events (\d+)", r"\1 events"),
    (r"event (\d+) time (\S+) (\S+)", r"event \1 at t = \2 ± \3"),
    (r"event (\d+) to (\S+) (\S+)", r"event \1 leads to \3 of \2"),
    (r"event (\d+) class (\S+)", r"event \1 is of the class \2"),
    (r"event (\d+) (before|after) (\S+) (\S+) (\S+)", r"\3 = \4 ± \5 \2 event \1"),
    (r"event (\d+) impulse (\S+) (\S+) (\S+)", r"impulse of \2 in event \1: \3 ± \4"),
    (r"t=(\S+?)- (\S+) (\S+) (\S+)", r"\2 = \3 ± \4 just before t = \1"),
    (r"t=(\S+) (\S+) (\S+) (\S+)", r"\2 = \3 ± \4 at t = \1"),
    (r"end (\S+) (\S+) (\S+)", r"\1 = \2 ± \3 at the end"),
    (r"(max|min) (\S+) (\S+) (\S+)", r"\1 of \2: \3 ± \4"),
    (r"most (\S+) (\S+)", r"\1 is never above \2"),
    (r"least (\S+) (\S+)", r"\1 is never below \2"),
    (r"error (\S+)", r"the run fails, with the message \1"),
]


def expectation(text):
    for pattern, words in EXPECTATION:
        if re.fullmatch(pattern, text):
            return re.sub(pattern, words, text)
    return text


def marked(text):
    """A line of comment as HTML: backquotes are code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text, quote=False))


def model_page(site, name, shows, picture):
    """The page of one model: picture, what it is, what it shows, its source, its numbers, its text."""
    told = Told(name)
    title = flat(name) if "/" not in name else name[:-len(".lisma")]
    body = [f"<h1>{title}</h1><p>{marked(told.parts['about'])}</p>"]
    if shows:
        body.append(f"<p>What it shows: {shows}.</p>")
    if picture:
        body.append(f'<p><img src="{picture}" alt="The run of {title}"></p>')
    body.append(f'<pre><code class="console"><b>$ saltus gallery --copy {title}\n$ saltus run {os.path.basename(title)}.lisma --plot -</b></code></pre>')
    for key in ("Equations", "Source", "Reference"):
        if key in told.parts:
            body.append(f"<p><strong>{key}.</strong> {marked(told.parts[key])}</p>")
    if told.expected:
        body.append('<h2 id="numbers">Numbers it must give</h2><p>The tests check each of them.</p><ul class="numbers">')
        for kind, text in told.expected:
            body.append(f"<li>{html.escape(expectation(text))}</li>" if kind == "expect" else
                        f"</ul><p>With <code>{html.escape(text)}</code>:</p><ul class=\"numbers\">")
        body.append("</ul>")
    body.append(f'<h2 id="text">The model</h2><pre data-name="{html.escape(name)}"><code class="lisma">'
                f'{coloured("lisma", html.escape(told.code, quote=False))}</code></pre><p><a href="gallery.html">The gallery</a></p>')
    with open(os.path.join(site.out, f"model_{flat(name)}.html"), "w", encoding="utf-8") as file:
        file.write(FRAME.format(title=title, contents=contents(site, "models/README.md"), body="".join(body), turn=""))


def rows_of(body):
    """{model: what its row of the index says it shows}."""
    found = {}
    for row in re.findall(r"<tr>(.*?)</tr>", body, re.S):
        cells = re.findall(r"<td>(.*?)</td>", row, re.S)
        for name in re.findall(r'href="([\w/]+\.lisma)"', row):
            found[name] = re.sub(r"</?a[^>]*>", "", cells[1])
    return found


def gallery(site, program, body):
    """Rows of the index as cards with small pictures, each leading to the page of its model."""
    shows = rows_of(body)
    os.makedirs(os.path.join(site.out, "pictures"), exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        pictures = dict(pool.map(lambda name: draw(program, site.out, name), sorted(shows)))
    for name, words in shows.items():
        model_page(site, name, words, pictures[name][0] if pictures[name] else None)

    def cards(match):
        out = []
        for name in re.findall(r'href="([\w/]+\.lisma)"', match.group(0)):
            image = f'<img src="{MADE}{pictures[name][1]}" loading="lazy" alt="">' if pictures[name] else ""
            out.append(f'<a class="card" id="{name[:-len(".lisma")]}" href="{MADE}model_{flat(name)}.html">{image}'
                       f"<b>{os.path.splitext(os.path.basename(name))[0]}</b> {marked(Told(name).parts['about'])}</a>")
        return f'<div class="cards">{"".join(out)}</div>' if out else match.group(0)

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
            body = gallery(site, program, body)
        index += entries(address, body)
        body = site.rewrite(path, on_this_page(body))
        with open(os.path.join(out, address), "w", encoding="utf-8") as file:
            file.write(FRAME.format(title=html.escape(title_of(text)), contents=contents(site, path), body=body,
                                    turn=turn(site, path)))
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
