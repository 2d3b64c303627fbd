#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hold docs/grammar.md and the parser together.

1. Reads the EBNF, computes FIRST2 and FOLLOW2, and shows that the grammar is strongly LL(2).
2. Generates random sentences: the parser must accept each.
3. Changes tokens at random: parser and grammar must agree whether the result is a sentence.
4. Changes bytes at random: the parser must survive.

Semantic restrictions (E012x, E013x, E0201, E0216) and warnings do not count as syntax errors.
"""
import argparse
import os
import random
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "tools"))
import suite  # noqa: E402

EOF_TOKEN = "END"


# ----------------------------------------------------------------------------------------------
# Grammar

def read_ebnf(path):
    """Productions as {name: tree}; trees are ('seq', [..]), ('alt', [..]), ('opt', t), ('rep', t),
    ('name', n), ('tok', t)."""
    text = open(path, encoding="utf-8").read()
    block = re.search(r"```ebnf\n(.*?)```", text, re.S).group(1)
    rules = {}
    for line in block.splitlines():
        if not line.strip():
            continue
        name, body = line.split(" = ", 1)
        tokens = re.findall(r"'[^']+'|\"'\"|[A-Za-z]+|[{}\[\]()|]", body)
        assert name not in rules, name
        rules[name] = parse_alternatives(tokens, [0])
    return rules


def parse_alternatives(tokens, at):
    alternatives = [[]]
    while at[0] < len(tokens) and tokens[at[0]] not in (")", "]", "}"):
        token = tokens[at[0]]
        at[0] += 1
        if token == "|":
            alternatives.append([])
            continue
        if token in "([{":
            inner = parse_alternatives(tokens, at)
            at[0] += 1
            item = {"(": inner, "[": ("opt", inner), "{": ("rep", inner)}[token]
        elif token[0] in "'\"":
            item = ("tok", token[1:-1])
        elif token.isupper():
            item = ("tok", token)
        else:
            item = ("name", token)
        alternatives[-1].append(item)
    return ("alt", [("seq", a) for a in alternatives])


class Grammar:
    """Plain BNF: rules[name] is a list of alternatives, each a tuple of symbols; a symbol that is a
    key of rules is a nonterminal."""

    def __init__(self, trees):
        self.rules = {}
        self.start = next(iter(trees))
        self.counter = 0
        for name, tree in trees.items():
            self.rules[name] = self.flatten(tree, name)
        self.check_names()
        self.first = self.compute_first()
        self.follow = self.compute_follow()

    def fresh(self, owner):
        self.counter += 1
        return "%s#%d" % (owner.split("#")[0], self.counter)

    def flatten(self, tree, owner):
        """List of alternatives of a tree."""
        kind, value = tree
        if kind == "alt":
            return [a for t in value for a in self.flatten(t, owner)]
        assert kind == "seq"
        symbols = []
        for item in value:
            if item[0] in ("tok", "name"):
                symbols.append(item)
            else:
                helper = self.fresh(owner)
                symbols.append(("name", helper))
                inner = item[1] if item[0] in ("opt", "rep") else item
                alternatives = self.flatten(inner, owner)
                if item[0] == "rep":
                    alternatives = [a + (("name", helper),) for a in alternatives]
                if item[0] in ("opt", "rep"):
                    alternatives = alternatives + [()]
                self.rules[helper] = alternatives
        return [tuple(symbols)]

    def check_names(self):
        used = {s[1] for alts in self.rules.values() for a in alts for s in a if s[0] == "name"}
        missing = used - set(self.rules)
        assert not missing, "no production for %s" % missing
        unused = {n for n in self.rules if "#" not in n} - used - {self.start}
        assert not unused, "productions never used: %s" % unused

    def terminals(self):
        return sorted({s[1] for alts in self.rules.values() for a in alts for s in a
                       if s[0] == "tok"})

    @staticmethod
    def concat(left, right):
        """Strings of at most two tokens."""
        out = set()
        for a in left:
            if len(a) == 2:
                out.add(a)
            else:
                for b in right:
                    out.add((a + b)[:2])
        return out

    def first_of(self, symbols, tail=frozenset([()])):
        result = {()}
        for kind, value in symbols:
            if all(len(a) == 2 for a in result):
                return result
            result = self.concat(result, {(value,)} if kind == "tok" else self.first[value])
        if all(len(a) == 2 for a in result):
            return result
        return self.concat(result, tail)

    def compute_first(self):
        self.first = {name: set() for name in self.rules}
        changed = True
        while changed:
            changed = False
            for name, alternatives in self.rules.items():
                for alternative in alternatives:
                    new = self.first_of(alternative) - self.first[name]
                    if new:
                        self.first[name] |= new
                        changed = True
        return self.first

    def compute_follow(self):
        follow = {name: set() for name in self.rules}
        follow[self.start] = {()}
        changed = True
        while changed:
            changed = False
            for name, alternatives in self.rules.items():
                for alternative in alternatives:
                    for i, (kind, value) in enumerate(alternative):
                        if kind != "name":
                            continue
                        new = self.first_of(alternative[i + 1:], follow[name]) - follow[value]
                        if new:
                            follow[value] |= new
                            changed = True
        return follow

    def conflicts(self):
        """Pairs of alternatives with a common look-ahead."""
        found = []
        self.predict = {}
        for name, alternatives in self.rules.items():
            table = {}
            for index, alternative in enumerate(alternatives):
                for ahead in self.first_of(alternative, self.follow[name]):
                    if ahead in table:
                        found.append((name, table[ahead], index, ahead))
                    table[ahead] = index
            self.predict[name] = table
        return found

    def accepts(self, tokens):
        """Is the list of tokens (with END) a sentence? A table-driven LL(2) parser."""
        stack = [("name", self.start)]
        at = 0
        while stack:
            kind, value = stack.pop()
            if kind == "tok":
                if at >= len(tokens) or tokens[at] != value:
                    return False
                at += 1
                continue
            ahead = tuple(tokens[at:at + 2])
            if value not in self.predict or ahead not in self.predict[value]:
                return False
            stack.extend(reversed(self.rules[value][self.predict[value][ahead]]))
        return at == len(tokens)

    def heights(self):
        """Least depth of a derivation, to end random ones."""
        height = {name: 10**6 for name in self.rules}
        changed = True
        while changed:
            changed = False
            for name, alternatives in self.rules.items():
                best = min(self.height_of(a, height) for a in alternatives)
                if best < height[name]:
                    height[name] = best
                    changed = True
        return height

    @staticmethod
    def height_of(alternative, height):
        return 1 + max([height[v] for k, v in alternative if k == "name"], default=0)

    @staticmethod
    def weight(name, alternative):
        """Leads random sentences to what models look like: many statements, names, short terms."""
        owner = name.split("#")[0]
        if not alternative:
            return 1 if owner in ("Model", "Block") else 3
        first = alternative[0][1]
        if owner == "Model":
            return 30
        if owner == "Block" or first in ("IDENT", "PlainName", "PlainNameX"):
            return 5
        return 3 if first == "Operand" else 1

    def sentence(self, rng, budget):
        """A random sentence; beyond the budget every choice is the shortest one."""
        height = self.height_cache = getattr(self, "height_cache", None) or self.heights()
        out = []
        stack = [(("name", self.start), 0)]
        while stack:
            (kind, value), depth = stack.pop()
            if kind == "tok":
                out.append(value)
                continue
            alternatives = self.rules[value]
            if len(out) > budget or depth > 60 + len(out):
                least = min(self.height_of(a, height) for a in alternatives)
                alternatives = [a for a in alternatives if self.height_of(a, height) == least]
            weights = [self.weight(value, a) for a in alternatives]
            chosen = rng.choices(alternatives, weights)[0]
            stack.extend((s, depth + 1) for s in reversed(chosen))
        return out


# ----------------------------------------------------------------------------------------------
# Tokens to text

IDENTS = ["x", "y", "v_x", "t0", "sum", "prod", "der", "energy", "experiment", "init", "eps",
          "gamma", "длина", "Δx", "T", "i", "sin", "pre", "x2", "_", "dx", "noevent", "State"]
NUMBERS = ["0", "1", "2.", ".5", "1e-6", "3.25E+7", "10", "007", "4e2"]
QUOTED = ["`Fy реакц.`", "`t0`", "`state`", "`a b`", "`not`"]
STRINGS = ['""', '"a.csv"', '"текст // no comment"', '"it\'s"']
TAILS = ["a", "2", "2x", "and", "at", "unilateral", "_", "ы", "0e1"]
NO_INDEX = {"and", "or", "xor", "implies", "not", "mod", "invariant", "unilateral", "bilateral", "ordinary",
            "shortliving", "noEvent"}
RESERVED = {"const", "macro", "state", "from", "for", "if", "else", "at", "automaton"}
BLANKS = [" ", " ", " ", " ", "\n", "\t", "\r\n", " /* x */ ", " // x\n", "  "]


def spell(rng, token):
    """A token and its text."""
    pool = {"IDENT": IDENTS, "NUMBER": NUMBERS, "QUOTED": QUOTED, "STRING": STRINGS, "TAIL": TAILS}
    if token in pool:
        return (token, rng.choice(pool[token]))
    if token == "INDEX":
        return (token, "[")
    if token == "~=":
        return (token, rng.choice(["~=", "~"]))
    return (token, token)


def is_word(text):
    return re.fullmatch(r"[^\W\d]\w*", text) is not None


def terminal_of_word(text, terminals):
    return text if text in terminals or text in RESERVED else "IDENT"


def normalise(spelt, terminals):
    """What the lexer makes of a changed sequence: brackets and tails depend on their neighbours."""
    out = []
    open_brackets = []
    behind_index = False
    for token, text in spelt:
        before = out[-1][0] if out else None
        glued = token == "TAIL"
        if token == "INDEX":
            nameable = before in ("IDENT", "QUOTED", "TAIL", "]") or (
                before is not None and is_word(before) and before.upper() != before
                and before not in NO_INDEX and before not in RESERVED)
            if not nameable:
                token = "["
        if token == "TAIL":
            if before != "]":
                return None  # glued to something else: not a sequence we can write
            if not behind_index and is_word(text):
                token = terminal_of_word(text, terminals)
        if token in ("INDEX", "["):
            open_brackets.append(token)
        behind_index = token == "]" and bool(open_brackets) and open_brackets.pop() == "INDEX"
        out.append((token, text, glued or token == "INDEX"))
    return out


def write(rng, normalised):
    text = ""
    for token, spelling, glued in normalised:
        if text and not glued:
            text += rng.choice(BLANKS)
        text += spelling
    return text + rng.choice(["", "\n"])


# ----------------------------------------------------------------------------------------------
# The parser

def verdicts(tool, texts):
    """Codes of syntax errors for each text."""
    data = b"".join(b"%d\n" % len(t) + t for t in texts)
    run = subprocess.run([tool, "--batch"], input=data, stdout=subprocess.PIPE)
    lines = run.stdout.decode().splitlines()
    if run.returncode != 0 or len(lines) != len(texts):
        culprit = texts[len(lines)] if len(lines) < len(texts) else b""
        sys.exit("the parser failed (status %d) on:\n%r" % (run.returncode, culprit))
    return [[c for c in line.split() if c[0] == "E" and c[:4] not in ("E012", "E013") and c not in ("E0201", "E0216")] for line in lines]


def mutate_tokens(rng, spelt, terminals):
    spelt = list(spelt)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at = rng.randrange(len(spelt) + 1)
        kind = rng.randrange(4)
        fresh = spell(rng, rng.choice(terminals))
        if kind == 0 or at == len(spelt):
            spelt.insert(at, fresh)
        elif kind == 1:
            del spelt[at]
        elif kind == 2:
            spelt[at] = fresh
        else:
            other = rng.randrange(len(spelt))
            spelt[at], spelt[other] = spelt[other], spelt[at]
        if not spelt:
            break
    return spelt


def mutate_bytes(rng, text):
    data = bytearray(text)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(3)
        if kind == 0:
            data[at:at] = bytes([rng.randrange(256)])
        elif kind == 1 and data:
            del data[at:at + rng.randrange(1, 10)]
        elif at < len(data):
            data[at] = rng.randrange(256)
    return bytes(data)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--count", type=int, default=suite.share(1200), help="random sentences")
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()

    grammar = Grammar(read_ebnf(os.path.join(ROOT, "docs", "grammar.md")))
    conflicts = grammar.conflicts()
    for name, one, other, ahead in conflicts[:20]:
        print("conflict in %s: alternatives %d and %d share %s" % (name, one, other, ahead))
    if conflicts:
        sys.exit("the grammar is not LL(2)")
    pairs = sum(len(t) for t in grammar.predict.values())
    terminals = [t for t in grammar.terminals() if t != EOF_TOKEN]
    print("LL(2): %d productions, %d terminals, %d look-aheads, no conflict" %
          (len([n for n in grammar.rules if "#" not in n]), len(terminals), pairs))

    rng = random.Random(options.seed)
    sentences = []
    while len(sentences) < options.count:
        tokens = grammar.sentence(rng, rng.choice([5, 20, 60, 200]))
        assert grammar.accepts(tokens)
        sentences.append([spell(rng, t) for t in tokens if t != EOF_TOKEN])

    tool = suite.tool("lisma_parse_tool")
    texts = [write(rng, normalise(s, terminals)).encode() for s in sentences]
    failures = 0
    for text, codes in zip(texts, verdicts(tool, texts)):
        if codes:
            failures += 1
            print("a sentence of the grammar is refused with %s:\n%s" % (codes, text.decode()))
    changed = []
    while len(changed) < options.count:
        spelt = mutate_tokens(rng, rng.choice(sentences), terminals + sorted(RESERVED))
        normalised = normalise(spelt, terminals)
        if normalised is not None:
            wanted = grammar.accepts([n[0] for n in normalised] + [EOF_TOKEN])
            changed.append((wanted, write(rng, normalised).encode()))
    refused = 0
    for (wanted, text), codes in zip(changed, verdicts(tool, [c[1] for c in changed])):
        refused += not wanted
        if wanted != (not codes):
            failures += 1
            print("grammar says %s, parser says %s:\n%s" %
                  ("right" if wanted else "wrong", codes or "right", text.decode()))
    broken = [mutate_bytes(rng, rng.choice(texts)) for _ in range(options.count)]
    verdicts(tool, broken)
    print("%d sentences accepted, %d changed ones judged alike (%d of them wrong), %d broken texts "
          "survived" % (len(texts), len(changed), refused, len(broken)))
    if failures:
        sys.exit("%d failures" % failures)


main()
