#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files for editors from the words of the language, as the lexer and the tables of functions have them.

gen_editors.py          write editors/vim and editors/vscode
gen_editors.py --check  compare only
"""
import json
import os
import re
import sys

ROOT = os.environ.get("SALTUS_SOURCE", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPERATORS = {"and", "or", "xor", "implies", "not", "mod"}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def words():
    """Keywords, operators, event types, functions, constants."""
    lexer = read("src", "lisma", "lexer.h")
    reserved = re.findall(r"X\(TOK_[A-Z]+, \"'([a-z]+)'\"\)", lexer)
    contextual = re.findall(r'X\(WORD_[A-Z_]+, "(\w+)"\)', lexer)
    events = contextual[contextual.index("unilateral"):]
    keywords = [w for w in reserved + contextual if w not in events and w not in OPERATORS]
    calls = re.findall(r'F\(X, \w+, "(\w+)"', read("src", "base", "functions.h"))
    calls += re.findall(r'^X\((\w+), "function', read("src", "lisma", "prelude.def"), re.M)
    calls += re.findall(r'\{"(\w+)", IR_\w+, \d', read("src", "lisma", "lower_call.c"))
    calls += ["sum", "prod"]
    names = re.findall(r'\{"(\w+)", BUILTIN_', read("src", "lisma", "resolve_builtin.c"))
    functions = sorted(set(calls) - set(events) - OPERATORS)
    return sorted(set(keywords)) + ["experiment", "energy"], sorted(OPERATORS), events, functions, names


def vim(keywords, operators, events, functions, names):
    lines = ['" Vim syntax for LISMA; written by scripts/gen_editors.py.',
             'if exists("b:current_syntax") | finish | endif',
             "syntax keyword lismaKeyword " + " ".join(keywords),
             "syntax keyword lismaOperator " + " ".join(operators),
             "syntax keyword lismaEvent " + " ".join(events),
             "syntax keyword lismaFunction " + " ".join(functions),
             "syntax keyword lismaConstant " + " ".join(names),
             r"syntax match lismaNumber /\<\d\+\(\.\d*\)\?\([eE][+-]\?\d\+\)\?\|\.\d\+\([eE][+-]\?\d\+\)\?/",
             'syntax region lismaString start=/"/ end=/"/ oneline',
             "syntax region lismaName start=/`/ end=/`/ oneline",
             "syntax match lismaComment /\\/\\/.*$/",
             r"syntax region lismaComment start=/\/\*/ end=/\*\//",
             "highlight default link lismaKeyword Keyword",
             "highlight default link lismaOperator Operator",
             "highlight default link lismaEvent Type",
             "highlight default link lismaFunction Function",
             "highlight default link lismaConstant Constant",
             "highlight default link lismaNumber Number",
             "highlight default link lismaString String",
             "highlight default link lismaName Identifier",
             "highlight default link lismaComment Comment",
             'let b:current_syntax = "lisma"']
    return "\n".join(lines) + "\n"


def pattern(name, group):
    return {"name": name + ".lisma", "match": r"\b(%s)\b" % "|".join(group)}


def textmate(keywords, operators, events, functions, names):
    return {"name": "LISMA", "scopeName": "source.lisma", "fileTypes": ["lisma"], "patterns": [
        {"name": "comment.line.lisma", "match": "//.*$"},
        {"name": "comment.block.lisma", "begin": r"/\*", "end": r"\*/"},
        {"name": "string.quoted.double.lisma", "begin": '"', "end": '"|$'},
        {"name": "variable.other.quoted.lisma", "match": "`[^`\n]*`"},
        {"name": "constant.numeric.lisma",
         "match": r"\b\d+(\.\d*)?([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?"},
        pattern("keyword.control", keywords), pattern("keyword.operator.word", operators),
        pattern("storage.type.event", events), pattern("support.function", functions),
        pattern("constant.language", names)]}


def package():
    return {"name": "lisma", "displayName": "LISMA", "description": "Models of Saltus",
            "version": "0.1.0", "publisher": "saltus", "license": "MIT",
            "engines": {"vscode": "^1.75.0"}, "categories": ["Programming Languages"],
            "main": "./extension.js", "dependencies": {"vscode-languageclient": "^8.1.0"},
            "contributes": {
                "configuration": {"title": "LISMA", "properties": {"lisma.command": {
                    "type": "string", "default": "saltus",
                    "description": "The program whose `lsp` is the language server"}}},
                "languages": [{"id": "lisma", "aliases": ["LISMA"], "extensions": [".lisma"],
                               "configuration": "./language-configuration.json"}],
                "grammars": [{"language": "lisma", "scopeName": "source.lisma",
                              "path": "./syntaxes/lisma.tmLanguage.json"}]}}


def configuration():
    pairs = [["{", "}"], ["[", "]"], ["(", ")"]]
    return {"comments": {"lineComment": "//", "blockComment": ["/*", "*/"]}, "brackets": pairs,
            "autoClosingPairs": pairs + [['"', '"'], ["`", "`"]]}


def main():
    groups = words()
    files = {"vim/syntax/lisma.vim": vim(*groups),
             "vim/ftdetect/lisma.vim": "autocmd BufRead,BufNewFile *.lisma setfiletype lisma\n"}
    for name, content in (("package.json", package()),
                          ("language-configuration.json", configuration()),
                          ("syntaxes/lisma.tmLanguage.json", textmate(*groups))):
        files["vscode/" + name] = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    stale = 0
    for name, content in files.items():
        path = os.path.join(ROOT, "editors", name)
        if "--check" in sys.argv:
            same = os.path.exists(path) and read("editors", name) == content
            stale += not same
            if not same:
                print("editors/%s is not what scripts/gen_editors.py writes" % name)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(content)
    print("%d files, %d words" % (len(files), sum(len(g) for g in groups)))
    return 1 if stale else 0


sys.exit(main())
