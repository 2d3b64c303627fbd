#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""saltus lsp as an editor sees it: messages while a text changes, declarations, completion, layout, quick
fixes, positions in both encodings, and what it does with nonsense."""
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402
import suite  # noqa: E402

BALL = """\
// шар: a ball
const e = 0.8, g = 9.81;
y' = v;   y(t0) = 10;
v' = -g;  v(t0) = 0;
automaton lamp {
  state on [y <= 1] {} from init, off;
  state off [y > 1] {} from on;
}
state bounce [y <= 0] && [v < 0] { v(t0) = -e * v; } from init, bounce;
seen = if(lamp.on, 1, 0);
"""


def all_symbols(outline):
    for symbol in outline:
        yield symbol
        yield from all_symbols(symbol.get("children", []))


class Editor:
    """The other end: sends messages, reads what comes back."""

    def __init__(self, *encodings):
        self.server = subprocess.Popen([saltus_run.PROGRAM, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        general = {"positionEncodings": list(encodings)} if encodings else {}
        self.capabilities = self.ask("initialize", {"capabilities": {"general": general}})["result"]["capabilities"]
        self.tell("initialized", {})

    def send_raw(self, body):
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.server.stdin.flush()

    def send(self, **message):
        self.send_raw(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def receive(self):
        length = 0
        for line in iter(self.server.stdout.readline, b"\r\n"):
            if not line:
                raise EOFError("the server has gone")
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.server.stdout.read(length))

    def ask(self, method, params):
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        answer = self.receive()
        assert answer["id"] == self.number, answer
        return answer

    def tell(self, method, params):
        self.send(method=method, params=params)

    def open(self, text, uri="file:///tmp/model.lisma"):
        self.uri = uri
        self.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "lisma", "version": 1, "text": text}})
        return self.messages()

    def change(self, text):
        self.tell("textDocument/didChange", {"textDocument": {"uri": self.uri, "version": 2},
                                             "contentChanges": [{"text": text}]})
        return self.messages()

    def messages(self):
        note = self.receive()
        assert note["method"] == "textDocument/publishDiagnostics" and note["params"]["uri"] == self.uri, note
        return note["params"]["diagnostics"]

    def about(self, question, line=0, character=0, **more):
        params = {"textDocument": {"uri": self.uri}, "position": {"line": line, "character": character}, **more}
        return self.ask("textDocument/" + question, params)["result"]

    def quit(self):
        self.ask("shutdown", None)
        self.tell("exit", None)
        self.server.stdin.close()
        status = self.server.wait(timeout=60)
        self.server.stdout.close()
        return status


def span(start_line, start, end_line, end):
    return {"start": {"line": start_line, "character": start}, "end": {"line": end_line, "character": end}}


def tree(symbols):
    return [(s["name"], s["detail"], tree(s["children"])) if s.get("children") else (s["name"], s["detail"]) for s in symbols]


def flat(symbols):
    return [s for symbol in symbols for s in [symbol] + flat(symbol.get("children", []))]


def edited(text, edits):
    """A text of ASCII after edits, which do not overlap."""
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda e: (-e["range"]["start"]["line"], -e["range"]["start"]["character"])):
        begin, end = edit["range"]["start"], edit["range"]["end"]
        line = lines[begin["line"]]
        lines[begin["line"]] = line[:begin["character"]] + edit["newText"] + line[end["character"]:]
    return "\n".join(lines)


PARTS = """\
function flow(p, A) = A * sqrt(2 * abs(p));
const k = 0.1 "1/s", level = 2 "m";
part Tank(A = 1, k = 0.1) {
  /* what is inside
     of a tank */
  port p { across v; through i; }
  h' = (inflow - q) / A;  h(t0) = 1;
  q = k * sqrt(h);
  state low [h <= 0.5] {
    q = 0;
  } from init;
}
Tank upper(A = 2), row[3](A = 1 + i);
upper.inflow = k;  // k of the model
lower = upper.h + row[2].h + flow(upper.q, 3);
h = level;
for i = 1:3 { row[i].inflow = if(upper.low, k, 0); }
"""


class Lsp(unittest.TestCase):
    def editor(self, *encodings):
        editor = Editor(*encodings)
        self.addCleanup(lambda: editor.server.poll() is None and editor.quit())
        return editor

    def test_messages_come_and_go(self):
        editor = self.editor()
        self.assertEqual(editor.open(BALL), [])
        found = editor.change(BALL.replace("-e * v", "-ee * v"))
        self.assertEqual([(m["code"], m["severity"], m["range"]) for m in found],
                         [("E0203", 1, span(8, 44, 8, 46))])
        self.assertIn("unknown name 'ee'", found[0]["message"])
        self.assertEqual(editor.change(BALL), [])
        editor.tell("textDocument/didClose", {"textDocument": {"uri": editor.uri}})
        self.assertEqual(editor.messages(), [])
        self.assertEqual(editor.ask("textDocument/hover", {"textDocument": {"uri": editor.uri}, "position": {}})["error"]["code"],
                         -32602)
        self.assertEqual(editor.quit(), 0)

    def test_structure_is_checked_too(self):
        found = self.editor().open("x' = a;  x(t0) = 0;\na = 1;\na = 2;\n")
        self.assertTrue(any(m["code"].startswith("E05") for m in found), found)

    def test_positions_in_both_encodings(self):
        text = "высота' = скорость;  /* 𝄞 */ скорость' = 0 * неизв;\n"
        for encodings, unit in (((), "utf-16-le"), (("utf-16", "utf-8"), "utf-8")):
            editor = self.editor(*encodings)
            self.assertEqual(editor.capabilities["positionEncoding"], unit[:6].rstrip("-"))
            found = [m for m in editor.open(text) if m["code"] == "E0203"]
            size = 2 if unit.startswith("utf-16") else 1
            begin = len(text[:text.index("неизв")].encode(unit)) // size
            self.assertEqual(found[0]["range"], span(0, begin, 0, begin + len("неизв".encode(unit)) // size))
            word = len(text[:text.index("скорость' =") + 2].encode(unit)) // size
            first = len(text[:text.index("скорость")].encode(unit)) // size
            uses = editor.about("references", 0, word, context={"includeDeclaration": True})
            self.assertEqual([u["range"]["start"]["character"] for u in uses],
                             [first, len(text[:text.index("скорость' =")].encode(unit)) // size])
            self.assertEqual(editor.quit(), 0)

    def test_declarations(self):
        editor = self.editor()
        editor.open(BALL)
        outline = tree(editor.about("documentSymbol"))
        self.assertEqual(outline, [("e", "constant"), ("g", "constant"), ("y", "variable"), ("v", "variable"),
                                   ("lamp", "automaton", [("on", "state of lamp"), ("off", "state of lamp")]),
                                   ("bounce", "state"), ("seen", "variable")])
        hover = editor.about("hover", 8, 44)["contents"]["value"]
        self.assertIn("e = 0.8", hover)
        self.assertIn("constant", hover)
        self.assertIn("becomes true", editor.about("hover", 8, 2)["contents"]["value"])
        self.assertIsNone(editor.about("hover", 0, 5))  # a comment
        self.assertIsNone(editor.about("hover", 2, 8))
        self.assertEqual(editor.about("definition", 8, 48)["range"], span(3, 0, 3, 1))
        self.assertEqual(len(editor.about("documentHighlight", 3, 0)), 6)

    def test_outline_of_parts(self):
        editor = self.editor()
        editor.open(PARTS)
        names = [(s["name"], [c["name"] for c in s.get("children", [])]) for s in editor.about("documentSymbol")]
        self.assertEqual(names, [("flow", []), ("k", []), ("level", []),
                                 ("Tank", ["A", "k", "p", "h", "q", "low"]), ("upper", []), ("row", []),
                                 ("lower", []), ("h", [])])

    def at(self, text, word, nth=0):
        """Line and character of the n-th occurrence of a piece of text."""
        at = -1
        for _ in range(nth + 1):
            at = text.index(word, at + 1)
        return text.count("\n", 0, at), at - (text.rfind("\n", 0, at) + 1)

    def test_scopes(self):
        editor = self.editor()
        editor.open(PARTS)
        # k of the part and k of the model are different things, and members are found through instances
        for word, nth, wanted in (("k * sqrt", 0, ("k = 0.1)", 0)), ("k;  //", 0, ("k = 0.1 ", 0)), ("k, 0)", 0, ("k = 0.1 ", 0)),
                                  ("h + row", 0, ("h' =", 0)), ("h + flow", 0, ("h' =", 0)), ("low, k", 0, ("low [", 0)),
                                  ("level;", 0, ("level =", 0)), ("flow(upper", 0, ("flow(p", 0)), ("upper.q", 0, ("upper(A", 0)),
                                  ("h = level", 0, ("h = level", 0))):
            line, character = self.at(PARTS, word, nth)
            found = editor.about("definition", line, character)["range"]["start"]
            self.assertEqual((found["line"], found["character"]), self.at(PARTS, *wanted), word)
        line, character = self.at(PARTS, "h' =")
        self.assertEqual(len(editor.about("references", line, character, context={"includeDeclaration": True})), 6)
        line, character = self.at(PARTS, "h = level")
        self.assertEqual(len(editor.about("references", line, character, context={"includeDeclaration": True})), 1)

    def test_rename(self):
        editor = self.editor()
        for text, word, name in ((PARTS, "k * sqrt", "loss"), (PARTS, "h' =", "height"), (PARTS, "upper(A", "top"),
                                 (PARTS, "low [", "dry"), (PARTS, "flow(p", "outflow"), (PARTS, "Tank(A", "Vessel"),
                                 (BALL.replace("шар", "ball"), "y' = v", "height"), (PARTS, "level =", "two words")):
            before = editor.open(text)
            line, character = self.at(text, word)
            ready = editor.about("prepareRename", line, character)
            self.assertEqual((ready["start"]["line"], ready["start"]["character"]), (line, character))
            changes = editor.about("rename", line, character, newName=name)["changes"][editor.uri]
            after = edited(text, changes)
            self.assertNotEqual(after, text)
            # the model is the same model: it has the same messages, and renaming back gives the same text
            self.assertEqual([m["code"] for m in editor.change(after)], [m["code"] for m in before], after)
            if " " not in name:
                old = word.split("(")[0].split("'")[0].split(" ")[0]
                back = editor.about("rename", line, character, newName=old)["changes"][editor.uri]
                self.assertEqual(edited(after, back), text)
        editor.open(BALL)
        self.assertIsNone(editor.about("prepareRename", 8, 2))  # a word of the language
        params = {"textDocument": {"uri": editor.uri}, "position": {"line": 2, "character": 0}}
        for bad in ("", "a`b", "a\nb"):
            self.assertEqual(editor.ask("textDocument/rename", {**params, "newName": bad})["error"]["code"], -32602)

    def test_rename_beside_a_port(self):
        """A variable and a quantity of a port may have one name, and are two things."""
        text = "part P { port a { across p; through q; } q = 2; a.q = q; } P x, y; connect(x.a, y.a);\n"
        editor = self.editor()
        editor.open(text)
        line, character = self.at(text, "q = 2")
        changes = editor.about("rename", line, character, newName="flow")["changes"][editor.uri]
        self.assertEqual(edited(text, changes), text.replace("q = 2", "flow = 2").replace("a.q = q", "a.q = flow"))

    def test_rename_of_a_part_that_is_called_like_a_parameter(self):
        """Names of parts stand apart from all others."""
        text = "part R(R = 1) { y = R; } part D(R = 2) { R a(R = R), b; } D d; R r(R = 3); D = r.y + d.a.y;\n"
        part = "part Q(R = 1) { y = R; } part D(R = 2) { Q a(R = R), b; } D d; Q r(R = 3); D = r.y + d.a.y;\n"
        parameter = "part R(R = 1) { y = R; } part D(Q = 2) { R a(R = Q), b; } D d; R r(R = 3); D = r.y + d.a.y;\n"
        variable = "part R(R = 1) { y = R; } part D(R = 2) { R a(R = R), b; } D d; R r(R = 3); Q = r.y + d.a.y;\n"
        editor = self.editor()
        editor.open(text)
        for word, nth, wanted in (("R(R", 0, part), ("R a", 0, part), ("R r", 0, part), ("R = 2", 0, parameter), ("R), b", 0, parameter),
                                  ("D = r", 0, variable)):
            line, character = self.at(text, word, nth)
            changes = editor.about("rename", line, character, newName="Q")["changes"][editor.uri]
            self.assertEqual(edited(text, changes), wanted, word)

    def test_renames_of_the_gallery(self):
        """Every name of every model, given a new one: the model has the same messages, or it is said why not."""
        editor = self.editor()
        folder = os.path.join(saltus_run.SOURCE, "models")
        refused = renamed = 0
        for name in suite.share(sorted(f for f in os.listdir(folder) if f.endswith(".lisma"))):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            before = sorted(m["code"] for m in editor.open(text, "file://" + os.path.join(folder, name)))
            for symbol in all_symbols(editor.about("documentSymbol")):
                answer = editor.ask("textDocument/rename", {"textDocument": {"uri": editor.uri}, "newName": "zz_fresh",
                                                            "position": symbol["selectionRange"]["start"]})
                if "error" in answer:
                    self.assertRegex(answer["error"]["message"], "in another spelling|cannot be a name here|only what is declared", name)
                    refused += 1
                    continue
                after = editor.change(edited(text, answer["result"]["changes"][editor.uri]))
                self.assertEqual(sorted(m["code"] for m in after), before, (name, symbol["name"]))
                editor.change(text)
                renamed += 1
        self.assertGreater(renamed, 4 * refused)  # refusals are the exception, in any share of the models

    def test_names_that_are_taken(self):
        """A name that means something already, here or in what uses the renamed one, is refused with its place."""
        text = ("part Tank(A = 1) { h' = inflow - k*h/A; h(t0) = 1; }\nconst k = 7, deep = 3;\nTank up(A = 2); up.inflow = deep;\n"
                "for i = 1:3 { T[i]' = -T[i] + x; T[i](t0) = i; }\nx' = 1; x(t0) = 0; y = f(x) + T2;\nfunction f(u) { w = u*deep; return w; }\n"
                "automaton A1 { state on [x > 1] {} from init; }\nautomaton A2 { state on [x > 3] {} from init; }\n")
        editor = self.editor()
        self.assertEqual(editor.open(text), [])
        for word, name, why in (("x' =", "y", "line 5"), ("x' =", "deep", "line 2"), ("x' =", "w", "line 6"), ("h' =", "k", "line 1"),
                                ("k = 7", "inflow", "line 1"), ("deep = 3", "T2", "line 4"), ("T[i]'", "Z", "another spelling"),
                                ("x' =", "sin", "word of the language")):
            params = {"textDocument": {"uri": editor.uri}, "newName": name,
                      "position": dict(zip(("line", "character"), self.at(text, word)))}
            answer = editor.ask("textDocument/rename", params)
            self.assertIn(why, answer.get("error", {}).get("message", "done"), (word, name))
        # a name of another part or automaton is free
        for word, name in (("h' =", "deep"), ("A = 1", "y"), ("on [x > 1", "off")):
            after = edited(text, editor.about("rename", *self.at(text, word), newName=name)["changes"][editor.uri])
            self.assertEqual(editor.change(after), [], after)
            editor.change(text)

    def test_hover_inside_parts(self):
        text = ("function gain(x, a) { w = x*a; return w; }\npart R(R = 2) { port p { across v; through i; } p.v = R*p.i; }\n"
                "part Cell(C = 3) { R r(R = C); port a { across v; through i; } connect(a, r.p); u = 2*r.p.v; }\n"
                "part Bank { Cell c[2](C = 4); port t { across v; through i; } connect(t, c[1].a, c[2].a); }\n"
                "part B { port p { across v; through i; } p.v = 5; }\nB b; Bank bank; connect(b.p, bank.t); x = gain(bank.c[2].r.p.i, 2);\n")
        editor = self.editor()
        self.assertEqual(editor.open(text), [])
        for word, wanted in (("v = R*p", "port, 5 at the start"), ("u = 2", "variable, 10 at the start"), ("C);", "C = 3\n```\nconstant, 4"),
                             ("i, 2)", "port, 1.25 at the start"), ("a; return", "a name of this function"), ("x = gain", "2.5 at the start")):
            self.assertIn(wanted, editor.about("hover", *self.at(text, word))["contents"]["value"], word)

    def test_signatures(self):
        editor = self.editor()
        text = PARTS + "z = atan2(1, max(2, 3)) + flow(1, ); w = (1 + 2);\nTank x(A = 1, k = 2);\n"
        editor.open(text)
        for word, label, active in (("1, max", "atan2(y, x)", 0), ("2, 3", "max(a, b, ...)", 0), ("3))", "max(a, b, ...)", 1),
                                    (")) +", "max(a, b, ...)", 1), ("1, );", "function flow(p, A)", 0), ("); w", "function flow(p, A)", 1),
                                    ("k = 2", "part Tank(A = 1, k = 0.1)", 1)):
            help_ = editor.about("signatureHelp", *self.at(text, word))
            self.assertEqual((help_["signatures"][0]["label"], help_["activeParameter"]), (label, active), word)
        self.assertEqual([p["label"] for p in help_["signatures"][0]["parameters"]], ["A = 1", "k = 0.1"])
        for word in ("1 + 2", "z = atan2", "part Tank"):
            self.assertIsNone(editor.about("signatureHelp", *self.at(text, word)), word)

    def test_folding(self):
        editor = self.editor()
        editor.open(PARTS)
        folds = {(f["startLine"], f["endLine"], f.get("kind")) for f in editor.about("foldingRange")}
        self.assertEqual(folds, {(2, 10, None), (3, 4, "comment"), (8, 9, None)})

    def test_semantic_tokens(self):
        editor = self.editor()
        editor.open(PARTS)
        legend = editor.capabilities["semanticTokensProvider"]["legend"]["tokenTypes"]
        data, line, character, tokens = editor.about("semanticTokens/full")["data"], 0, 0, []
        self.assertEqual(len(data) % 5, 0)
        for i in range(0, len(data), 5):
            lines, characters, length, kind, _ = data[i:i + 5]
            line, character = line + lines, characters if lines else character + characters
            tokens.append((PARTS.split("\n")[line][character:character + length], legend[kind]))
        for token in (("function", "keyword"), ("flow", "function"), ("sqrt", "function"), ("k", "parameter"), ("h", "variable"),
                      ("Tank", "class"), ("low", "enumMember"), ("p", "interface"), ("upper", "variable")):
            self.assertIn(token, tokens)
        self.assertNotIn("inside", [t[0] for t in tokens])  # a comment

    def test_hover_knows_the_functions_of_the_manual(self):
        with open(os.path.join(suite.SOURCE, "docs", "language.md"), encoding="utf-8") as page:
            table = page.read().split("\n## Functions\n")[1].split("\nThe piecewise")[0]
        cells = [line.split(" | ")[0] for line in table.split("\n") if line.startswith("| `")]
        names = sorted({name for cell in cells for code in cell.split("`")[1::2] for name in code.split("(")[0].split()})
        self.assertGreater(len(names), 40)
        editor = self.editor()
        for name in names + ["return", "across", "through", "hold", "periodic", "cubic", "TIME", "nan"]:
            editor.open("y = %s(2);\n" % name)
            self.assertIsNotNone(editor.about("hover", 0, 4), name)

    def test_hover_tells_units(self):
        editor = self.editor()
        editor.open('x(t0) = 1 "km";  x\' = v;  v(t0) = 0;\n')
        self.assertIn("in km", editor.about("hover", 0, 0)["contents"]["value"])
        self.assertIn("in km/s", editor.about("hover", 0, 22)["contents"]["value"])

    def test_hover_tells_equation_and_value(self):
        editor = self.editor()
        text = "const a = 2, b = 3*a;\nx(t0) = b;  x' = -a*x;\npart P(k = 4) { y = k*u; }\nP p, r[2];\np.u = x; for i = 1:2 { r[i].u = i; }\n"
        editor.open(text)
        for word, wanted in (("b = 3", "b = 3*a\n```\nconstant, 6"), ("x(t0)", "x' = -a*x;\n```\nvariable, 6 at the start"),
                             ("y = k", "y = k*u;\n```\nvariable, 24 at the start"), ("k = 4", "constant, 4")):
            self.assertIn(wanted, editor.about("hover", *self.at(text, word))["contents"]["value"])

    def family(self):
        """A model and a file that it includes, on disk."""
        folder = tempfile.TemporaryDirectory(prefix="saltus test-")
        self.addCleanup(folder.cleanup)
        library = ("function flow(p, A) = A*p;\npart Tank(A = 1, k = 0.1) {\n  h' = (inflow - q)/A;  h(t0) = 1;\n  q = flow(k, h);\n}\n"
                   "const common = 3;\n")
        model = ('include "lib/tank s.lisma";\nTank upper(A = 2), row[3](k = 1 + i, A = 3);\nupper.inflow = common;\n'
                 "for i = 1:3 { row[i].inflow = upper.q; }\nz = flow(upper.h, 3) + upper.A + row[2].h;\n")
        os.mkdir(os.path.join(folder.name, "lib"))
        paths = [os.path.join(folder.name, name) for name in ("m.lisma", "lib/tank s.lisma")]
        for path, text in zip(paths, (model, library)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return model, library, ["file://" + path.replace(" ", "%20") for path in paths]

    def test_included_files(self):
        model, library, (uri, other) = self.family()
        editor = self.editor()
        self.assertEqual(editor.open(model, uri), [])
        for word, wanted in (("Tank", "Tank("), ("common", "common ="), ("flow(upper", "flow(p"), ("h, 3", "h' ="), ("q; }", "q ="),
                             ("A = 2", "A = 1"), ("k = 1", "k = 0.1"), ("A = 3", "A = 1")):
            found = editor.about("definition", *self.at(model, word))
            self.assertEqual(found["uri"], other, word)
            self.assertEqual((found["range"]["start"]["line"], found["range"]["start"]["character"]), self.at(library, wanted), word)
        self.assertIn("1 at the start", editor.about("hover", *self.at(model, "h, 3"))["contents"]["value"])
        self.assertEqual(editor.about("signatureHelp", *self.at(model, "3) + upper"))["signatures"][0]["label"], "function flow(p, A)")
        self.assertEqual([i["label"] for i in editor.about("completion", *self.at(model, "h, 3"))], ["A", "k", "h", "q", "inflow"])
        labels = [item["label"] for item in editor.about("completion", 5, 0)]
        self.assertTrue({"Tank", "common", "upper"} <= set(labels) and "h" not in labels, labels)
        for word, name in (("common", "usual"), ("flow(upper", "stream"), ("h, 3", "level"), ("A = 2", "area"), ("Tank", "Vessel")):
            changes = editor.about("rename", *self.at(model, word), newName=name)["changes"]
            self.assertEqual(set(changes), {uri, other}, word)
            editor.tell("textDocument/didOpen", {"textDocument": {"uri": other, "version": 1, "text": edited(library, changes[other])}})
            editor.receive(), editor.receive()  # messages about both
            self.assertEqual(editor.change(edited(model, changes[uri])), [], word)
            editor.tell("textDocument/didClose", {"textDocument": {"uri": other}})
            editor.receive()
            editor.change(model)

    def test_open_files_count(self):
        model, library, (uri, other) = self.family()
        editor = self.editor()
        editor.open(model, uri)
        # the file that is included, with a mistake that is not saved: both are told
        editor.uri = other
        editor.tell("textDocument/didOpen", {"textDocument": {"uri": other, "version": 1, "text": library.replace("flow(k, h)", "flow(kk, h)")}})
        notes = [editor.receive()["params"] for _ in range(2)]
        self.assertEqual([n["uri"] for n in notes], [other, uri])
        told = notes[1]["diagnostics"][0]
        self.assertEqual((told["range"]["start"]["line"], told["range"]["start"]["character"]), (0, model.index("tank s")))
        editor.tell("textDocument/didChange", {"textDocument": {"uri": other, "version": 2}, "contentChanges": [{"text": library}]})
        self.assertEqual([editor.receive()["params"]["diagnostics"] for _ in range(2)][1], [])
        # from the file that is included the model is known
        uses = editor.about("references", *self.at(library, "common"), context={"includeDeclaration": True})
        self.assertEqual({u["uri"] for u in uses}, {uri, other})
        changes = editor.about("rename", *self.at(library, "A = 1"), newName="area")["changes"]
        self.assertEqual([len(changes[u]) for u in (uri, other)], [3, 2])

    def test_parts_of_the_program_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            text = 'include "parts/electrical.lisma";\nResistor r(R = 2);\n'
            editor = self.editor()
            editor.open(text, "file://" + os.path.join(folder, "m.lisma"))
            self.assertTrue(editor.about("definition", 1, 2)["uri"].endswith("/models/parts/electrical.lisma"))
            self.assertIsNone(editor.about("prepareRename", 1, 2))
            self.assertIsNotNone(editor.about("prepareRename", *self.at(text, "r(R")))

    def test_completion(self):
        editor = self.editor()
        editor.open(BALL)
        labels = [item["label"] for item in editor.about("completion", 2, 0)]
        for word in ("e", "y", "bounce", "lamp", "sqrt", "unilateral", "experiment"):
            self.assertIn(word, labels)
        editor.change(BALL + "z = if(lamp.o, 1, 0);\n")
        labels = [item["label"] for item in editor.about("completion", 10, 13)]
        self.assertEqual(labels, ["on", "off", "state"])
        editor.change(PARTS + "z = upper.;\n")
        labels = [item["label"] for item in editor.about("completion", *self.at(PARTS + "z = upper.;\n", ".;"), context={})]
        editor.change(PARTS + "z = row[2].q;\n")
        labels = [item["label"] for item in editor.about("completion", *self.at(PARTS + "z = row[2].q;\n", "q;\n"))]
        self.assertEqual(labels, ["A", "k", "p", "h", "q", "low", "inflow"])
        # what a part leaves open, and nothing of the language, of loops and of functions
        text = ("part P(k = 1) { function f(x) { u = x; return u*k; } for i = 1:2 { z[i] = f(in1)*i + g*pi*time; }"
                "y' = in2; y(t0) = 1e5; contact c { gap = y; force = N; restitution = 0.5; } } P p; w = p.;\n")
        editor.change(text)
        labels = [item["label"] for item in editor.about("completion", *self.at(text, ";\n")) if item["detail"] == "left open"]
        self.assertEqual(labels, ["in1", "in2"])

    def test_layout_and_fixes(self):
        editor = self.editor()
        editor.open("x'=-x ;x(t0)=1;")
        self.assertEqual(editor.about("formatting", options={}),
                         [{"range": span(0, 0, 0, 15), "newText": "x' = -x; x(t0) = 1;\n"}])
        editor.change("x' = -x; x(t0) = 1;\n")
        self.assertEqual(editor.about("formatting", options={}), [])
        editor.change("const loss = 8;\nT' = -los * T;  T(t0) = 1;\n")
        actions = editor.about("codeAction", range=span(1, 7, 1, 7), context={"diagnostics": []})
        self.assertEqual([a["title"] for a in actions], ["write 'loss'"])
        self.assertEqual(actions[0]["edit"]["changes"][editor.uri], [{"range": span(1, 6, 1, 9), "newText": "loss"}])
        self.assertEqual(editor.about("codeAction", range=span(0, 0, 0, 0), context={"diagnostics": []}), [])

    def test_a_line_without_its_end(self):
        editor = self.editor()
        editor.open("x' = -x   // decay\nx(t0) = 1;\ny = 2*x z = 1;\n")
        actions = editor.about("codeAction", range=span(0, 7, 0, 7), context={"diagnostics": []})
        self.assertEqual([a["title"] for a in actions], ["write ';'"])
        self.assertEqual([e["range"] for edits in actions[0]["edit"]["changes"].values() for e in edits], [span(0, 7, 0, 7)])
        self.assertEqual(editor.about("codeAction", range=span(2, 0, 2, 20), context={"diagnostics": []}), [])

    def test_files_beside_the_model(self):
        with tempfile.TemporaryDirectory(prefix="saltus test-") as folder:
            with open(os.path.join(folder, "t.csv"), "w", encoding="utf-8") as file:
                file.write("time,u\n0,1\n1,2\n")
            uri = "file://" + os.path.join(folder, "m.lisma").replace(" ", "%20")
            editor = self.editor()
            self.assertEqual(editor.open('data U = "t.csv", "u";\nx = table(U, time);\n', uri), [])
            found = editor.change('data U = "no.csv", "u";\nx = table(U, time);\n')
            self.assertEqual(len(found), 1)
            self.assertIn("no.csv", found[0]["message"])

    def test_rule_tables(self):
        with open(os.path.join(saltus_run.SOURCE, "models", "rules", "hoop.rules.md"), encoding="utf-8") as file:
            text = file.read()
        editor = self.editor()
        self.assertEqual(editor.open(text, "file:///tmp/hoop.rules.md"), [])
        self.assertEqual(editor.about("formatting", options={}), [])
        self.assertEqual(editor.about("documentSymbol"), [])

    def test_the_gallery(self):
        editor = self.editor()
        folder = os.path.join(saltus_run.SOURCE, "models")
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".lisma"):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            uri = "file://" + os.path.join(folder, name)
            self.assertEqual([m for m in editor.open(text, uri) if m["severity"] == 1], [], name)
            for symbol in flat(editor.about("documentSymbol")):
                begin = symbol["selectionRange"]["start"]
                self.assertEqual(editor.about("definition", begin["line"], begin["character"])["uri"], uri)

    def test_nonsense_is_answered(self):
        editor = self.editor()
        self.assertEqual(editor.ask("no/such/method", {})["error"]["code"], -32601)
        for body in (b"{", b"[1,2", b'"\\ud800"x', b"nul", b"{\"a\":}", b"1e999", b"\x00\x00", b"[" * 5000):
            editor.send_raw(body)
            self.assertEqual(editor.receive()["error"]["code"], -32700, body[:20])
        for body in (b"[]", b"{}", b"3", b'{"method":3,"id":1}', b'{"id":4,"result":null}', b'{"method":"x"}',
                     b'{"method":"textDocument/didOpen","params":{"textDocument":{"uri":1}}}',
                     b'{"method":"textDocument/didChange","params":{"contentChanges":[]}}'):
            editor.send_raw(body)
        editor.open(BALL)
        draw = random.Random(7)
        questions = ["hover", "definition", "references", "documentHighlight", "completion", "codeAction", "documentSymbol", "rename",
                     "prepareRename", "signatureHelp", "foldingRange", "semanticTokens/full"]
        for _ in range(200):
            at = draw.randrange(len(BALL) + 1)
            text = BALL[:at] + draw.choice(["", "'", "[", "}", "\"", "/*", "\\u0000", "é", "`", "."]) + BALL[at + draw.randrange(9):]
            editor.change(text)
            editor.ask("textDocument/" + draw.choice(questions),
                       {"textDocument": {"uri": editor.uri}, "newName": "n", "range": span(0, 0, 9, 9),
                        "position": {"line": draw.randrange(12), "character": draw.randrange(60)}})
        self.assertEqual(editor.quit(), 0)

    def test_the_end(self):
        editor = Editor()
        editor.server.stdin.close()  # without a word
        self.assertEqual(editor.server.wait(timeout=60), 1)
        editor.server.stdout.close()
        status, _, errors = saltus_run.command("lsp", "ball.lisma")
        self.assertEqual(status, 2)
        self.assertIn("the editor sends them", errors)


if __name__ == "__main__":
    unittest.main()
