#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run every model of the gallery and check the results its comments promise.

The `expect` lines are described in models/README.md. Arguments, if any, name the models to run.
"""
import concurrent.futures
import glob
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import expectations  # noqa: E402
import saltus_run  # noqa: E402


def check_model(path):
    """Messages about one model; (number of expectations, messages)."""
    messages, count = [], 0
    name = os.path.basename(path)
    status, out, errors = saltus_run.command("check", path)
    said = re.findall(r"(?:error|warning)\[(\w+)\]", errors)
    if status != 0 and not said or any(code[1:3] != "08" for code in said):  # what runs say is for the expectations
        messages.append(f"{name}: `saltus check` complains ({status}):\n{out}{errors}")
        if status != 0:
            return 0, messages
    for plan in expectations.read_plans(path):
        if not plan.expectations and not plan.options:
            continue
        count += len(plan.expectations)
        messages += [f"{name}:{place}: {text}" for place, text in expectations.failures(path, plan)]
    if count == 0:
        messages.append(f"{name}: expects nothing")
    return count, messages


def main():
    models = sys.argv[1:] or sorted(
        glob.glob(os.path.join(saltus_run.SOURCE, "models", "*.lisma")) +
        glob.glob(os.path.join(saltus_run.SOURCE, "models", "dae", "*.lisma")) +
        glob.glob(os.path.join(saltus_run.SOURCE, "models", "stiff", "*.lisma")) +
        glob.glob(os.path.join(saltus_run.SOURCE, "models", "ontology", "*.lisma")))
    total = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for count, messages in pool.map(check_model, models):
            total += count
            failed += len(messages)
            for message in messages:
                print(message)
    print(f"{len(models)} models, {total} expectations, {failed} failed")
    return 1 if failed or not models else 0


if __name__ == "__main__":
    sys.exit(main())
