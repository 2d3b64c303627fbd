#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare runs with the reference values of tests/cases/cases.json.

Arguments, if any, are the ids of the cases to run.
"""
import concurrent.futures
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import expectations  # noqa: E402
import saltus_run  # noqa: E402


def plan_of(case):
    plan = expectations.Plan(case.get("options", []))
    for quantity in case["quantities"]:
        words = expectations.WORD.findall(quantity["of"])
        words += [repr(quantity[key]) for key in ("value", "tolerance") if key in quantity]
        plan.expectations.append((quantity["name"], words))
    return plan


def check_case(case):
    model = os.path.join(saltus_run.SOURCE, case["model"])
    return [f"{case['id']} {place or case['title']}: {text}"
            for place, text in expectations.failures(model, plan_of(case))]


def main():
    with open(os.path.join(saltus_run.SOURCE, "tests", "cases", "cases.json"),
              encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    wanted = sys.argv[1:]
    cases = [c for c in cases if not wanted or c["id"] in wanted]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for messages in pool.map(check_case, cases):
            failed += len(messages)
            for message in messages:
                print(message)
    total = sum(len(c["quantities"]) for c in cases)
    print(f"{len(cases)} cases, {total} quantities, {failed} failed")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
