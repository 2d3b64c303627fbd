#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/rules.md describes every procedure, its pictures exist, its models run; generated tables are
up to date; the model folder's tables are all without mistakes."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("SALTUS_SOURCE", pathlib.Path(__file__).parents[2]))
SALTUS = os.environ.get("SALTUS", "saltus")
problems = []


def run(*arguments):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        problems.append(f"{' '.join(str(a) for a in arguments)}: {done.stdout}{done.stderr}")


def main():
    text = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
    headings = {h.lower() for h in re.findall(r"^### (.+)$", text, re.M)}
    header = (ROOT / "src/rules/model.h").read_text(encoding="utf-8")
    listed = header[header.index("#define RULES_PROCEDURE_LIST"):header.index("typedef enum RulesClass")]
    names = re.findall(r'X\((?:.|\n)*?"([^"|]+)[|"]', listed)
    if len(names) < 38:
        problems.append(f"only {len(names)} procedures found in model.h")
    problems.extend(f"docs/rules.md does not describe '{n}'" for n in names if n not in headings)
    for link in re.findall(r"\]\((rules/[^)]+)\)", text):
        if not (ROOT / "docs" / link).exists():
            problems.append(f"docs/rules.md shows {link}, which does not exist")
    with tempfile.TemporaryDirectory() as folder:
        for i, model in enumerate(re.findall(r"```markdown\n(.*?)```", text, re.S)):
            path = pathlib.Path(folder) / f"snippet{i}.rules.md"
            path.write_text(model, encoding="utf-8")
            run(SALTUS, "run", path, "-q", "-o", pathlib.Path(folder) / "out.csv")
    run(sys.executable, ROOT / "scripts/rules_generate.py", "--check")
    for model in sorted((ROOT / "models/rules").glob("*.rules.md")):
        run(SALTUS, "check", model)
    print("\n".join(problems) or f"{len(names)} procedures described: ok")
    return 1 if problems else 0


sys.exit(main())
