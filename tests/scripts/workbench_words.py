#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every text of the workbench's page, every answer of its server, every model of the gallery and every code of a message has its
Russian translation, and no translation is there for nothing."""
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(os.environ.get("SALTUS_SOURCE") or pathlib.Path(__file__).parents[2]) / "workbench/src"
TEXT = r'"((?:[^"\\]|\\.)+)"'

words = (SOURCE / "russian.ts").read_text(encoding="utf-8").split("const WORDS")[1]
words += (SOURCE / "words.ts").read_text(encoding="utf-8").split("/** Texts of the page")[0]
known = {a or b for a, b in re.findall(r'^  (?:"([^"]+)"|(\w+)):', words, re.M)}
code = "\n".join(p.read_text(encoding="utf-8") for p in sorted(SOURCE.glob("*.ts")) if p.name not in ("words.ts", "russian.ts"))
asked = set(re.findall(r"\bsay\(\s*" + TEXT, code))
for pair in re.findall(r"\bsay\([^()]*\? " + TEXT + " : " + TEXT, code):
    asked.update(pair)
asked.update(re.findall(r"\{ name: " + TEXT + r", (?:keys|action|file)", code))  # commands and templates
asked.update(re.findall(r"new EngineError\(" + TEXT, code))
server = re.sub(r'"\s*\n\s*"', "", (SOURCE.parents[1] / "cli/serve_http.c").read_text(encoding="utf-8"))
answers = set(re.findall(r'"((?:[^"\\\n]| \\")+ (?:[^"\\\n])+)\\n"', server)) - {"GET, PUT"}
asked.update(answers)
code += "".join(f'"{answer}"' for answer in answers)
gallery = (SOURCE.parents[1] / "models/README.md").read_text(encoding="utf-8")
asked.update(re.findall(r"^## (.*)\n\n\|", gallery, re.M))  # its subjects
code += gallery
problems = [f"no Russian for: {text}" for text in sorted(asked - known)]
# a translation may also be asked for by a name: say(name)
problems += [f"nobody says: {text}" for text in sorted(known) if f'"{text}"' not in code and not re.search(rf"\b{re.escape(text)}\b", code)]

russian = re.split("const CODES|const WORDS", (SOURCE / "russian.ts").read_text(encoding="utf-8"))
models = SOURCE.parents[1] / "models"
paths = {p.relative_to(models).as_posix() for p in models.rglob("*") if p.name.endswith((".lisma", ".rules.md"))}
codes = set(re.findall(r"^X\((\w+)", (SOURCE.parents[1] / "src/base/diag_codes.def").read_text(encoding="utf-8"), re.M))
for here, there in ((paths, set(re.findall(r'^  "([^"]+)":', russian[0], re.M))), (codes, set(re.findall(r"^  (\w+):", russian[1], re.M)))):
    problems += [f"no Russian for: {name}" for name in sorted(here - there)] + [f"there is no {name}" for name in sorted(there - here)]
print("\n".join(problems) or f"{len(known)} texts in two languages")
sys.exit(1 if problems else 0)
