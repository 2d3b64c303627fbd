#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Large loops are lowered for a few instances and extended field by field (ir/extend_read.c): a member of the
model's records that is not listed there would be lost in loops of thousands, and nowhere else."""
import os
import re
import sys

SOURCE = os.environ.get("SALTUS_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(name):
    with open(os.path.join(SOURCE, "src", "ir", name), encoding="utf-8") as file:
        return re.sub(r"//[^\n]*", "", file.read())


def members(header, record):
    body = re.search(r"typedef struct %s \{(.*?)\n\} %s;" % (record, record), header, re.S).group(1)
    for declaration in body.split(";"):
        yield from re.findall(r"(\w+)(?:\[\w*\])?(?=\s*(?:,|$))", declaration.strip())


def main():
    header = read("ir.h")
    listed = {}
    for record, member in re.findall(r"\b(?:FREE|EXACT|TEXT|TERM)\((Ir\w+), (\w+)\)", read("extend_read.c")):
        listed.setdefault(record, set()).add(member)
    missing = [f"{record}.{member}" for record in sorted(listed)
               for member in members(header, record) if member not in listed[record]]
    if len(listed) < 10 or missing:
        sys.exit(f"{len(listed)} records; not listed in ir/extend_read.c: {', '.join(missing)}")
    print(f"{len(listed)} records, all members listed")


if __name__ == "__main__":
    main()
