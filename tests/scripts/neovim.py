#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The language server as Neovim uses it, with the settings that docs/editors.md gives. Skipped where there is none."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

MODEL = """const loss = 0.1;
T' = -loss * (T - room);
T(t0) = 90;
room = 20;
q = los;
function flow(p, A) = A * p;
part Tank(A = 1) {
  h' = -flow(h, A);  h(t0) = 1;
}
Tank   upper(A = 2);
"""
DRIVE = """
local function ask(method, line, character, more)
  local params = vim.tbl_extend("force", { textDocument = vim.lsp.util.make_text_document_params(0),
    position = { line = line, character = character } }, more or {})
  local answers = vim.lsp.buf_request_sync(0, "textDocument/" .. method, params, 20000) or {}
  for _, answer in pairs(answers) do return answer.result end
end
local ready = vim.wait(20000, function() return #vim.diagnostic.get(0) > 0 end, 20)
local out = { ready = ready, codes = {} }
for _, d in ipairs(vim.diagnostic.get(0)) do table.insert(out.codes, d.code) end
out.hover = ask("hover", 1, 7)
out.definition = ask("definition", 1, 7)
out.rename = ask("rename", 0, 6, { newName = "k" })
out.symbols = ask("documentSymbol", 0, 0)
out.signature = ask("signatureHelp", 7, 16)
out.folding = ask("foldingRange", 0, 0)
out.tokens = ask("semanticTokens/full", 0, 0)
out.completion = ask("completion", 4, 7)
out.formatting = ask("formatting", 0, 0, { options = { tabSize = 2, insertSpaces = true } })
out.actions = ask("codeAction", 4, 5, { range = { start = { line = 4, character = 0 },
  ["end"] = { line = 4, character = 7 } }, context = { diagnostics = {} } })
out.filetype = vim.bo.filetype
io.open(vim.env.SALTUS_ANSWERS, "w"):write(vim.json.encode(out))
vim.cmd("qa!")
"""


def main():
    editor = shutil.which("nvim")
    if not editor:
        print("Neovim is not installed")
        return 77
    with open(os.path.join(saltus_run.SOURCE, "docs", "editors.md"), encoding="utf-8") as page:
        settings = re.search(r"```lua\n(.*?)```", page.read(), re.S).group(1)
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: os.path.join(folder, name) for name in ("init.lua", "drive.lua", "m.lisma", "answers.json")}
        for name, text in (("init.lua", settings), ("drive.lua", DRIVE), ("m.lisma", MODEL)):
            with open(paths[name], "w", encoding="utf-8") as out:
                out.write(text)
        os.symlink(saltus_run.PROGRAM, os.path.join(folder, "saltus"))
        environment = {**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"], "SALTUS_ANSWERS": paths["answers.json"],
                       "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder, "XDG_STATE_HOME": folder}
        subprocess.run([editor, "--headless", "-n", "-u", paths["init.lua"], paths["m.lisma"], "-c",
                        "luafile " + paths["drive.lua"]], env=environment, timeout=120, check=False, stdout=subprocess.DEVNULL)
        with open(paths["answers.json"], encoding="utf-8") as file:
            answers = json.load(file)
    assert answers["ready"] and answers["filetype"] == "lisma", answers
    assert answers["codes"] == ["E0203"], answers
    assert "loss = 0.1" in answers["hover"]["contents"]["value"], answers
    assert answers["definition"]["range"]["start"] == {"line": 0, "character": 6}, answers
    assert len(next(iter(answers["rename"]["changes"].values()))) == 2, answers
    symbols = {s["name"]: s for s in answers["symbols"]}
    assert list(symbols) == ["loss", "T", "room", "q", "flow", "Tank", "upper"], answers["symbols"]
    assert [s["name"] for s in symbols["Tank"]["children"]] == ["A", "h"], symbols["Tank"]
    assert answers["signature"]["signatures"][0]["label"] == "function flow(p, A)", answers["signature"]
    assert answers["signature"]["activeParameter"] == 1, answers["signature"]
    assert [(f["startLine"], f["endLine"]) for f in answers["folding"]] == [(6, 7)], answers["folding"]
    assert len(answers["tokens"]["data"]) % 5 == 0 and len(answers["tokens"]["data"]) > 50, answers["tokens"]
    items = answers["completion"] if isinstance(answers["completion"], list) else answers["completion"]["items"]
    assert "loss" in [item["label"] for item in items], items[:5]
    assert "\nTank upper(A = 2);\n" in answers["formatting"][0]["newText"], answers["formatting"]
    assert "loss" in json.dumps(answers["actions"]), answers["actions"]
    print("Neovim and the server understand each other")
    return 0


sys.exit(main())
