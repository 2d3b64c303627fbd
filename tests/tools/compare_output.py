#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run a program and compare what it prints with a file: compare_output.py EXPECTED PROGRAM [ARGS].

SALTUS_UPDATE=1 writes the file instead.
"""
import difflib
import os
import subprocess
import sys


def main():
    path, command = sys.argv[1], sys.argv[2:]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          encoding="utf-8", check=False)
    if done.returncode != 0 or done.stderr:
        print(f"{command[0]} ended with status {done.returncode}\n{done.stderr}{done.stdout}")
        return 1
    if os.environ.get("SALTUS_UPDATE"):
        with open(path, "w", encoding="utf-8") as f:
            f.write(done.stdout)
        return 0
    with open(path, encoding="utf-8") as f:
        expected = f.read()
    if done.stdout == expected:
        return 0
    sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True),
                                               done.stdout.splitlines(True), path, command[0]))
    return 1


if __name__ == "__main__":
    sys.exit(main())
