# SPDX-License-Identifier: MIT
"""The build tree that a script tests, and how much of its repetitions it is asked for.

SALTUS_TEST_SHARE=N takes every N-th of what is repeated (seeds, models of the gallery, cases). Sanitized builds set it,
because they are several times slower; elsewhere it is 1.
"""
import os
import re

SOURCE = os.environ.get("SALTUS_SOURCE") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ.get("SALTUS_BUILD") or os.path.join(SOURCE, "build", "release")
SHARE = max(1, int(os.environ.get("SALTUS_TEST_SHARE") or "1"))


def cache_value(name):
    """What CMake was told about `name`; an empty text if nothing."""
    try:
        with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as cache:
            found = re.search(rf"^{name}:[^=]*=(.*)$", cache.read(), re.M)
    except OSError:
        return ""
    return found.group(1) if found else ""


SANITIZED = cache_value("SALTUS_SANITIZE")  # e.g. "address,undefined"


def share(things):
    """Every SHARE-th of a list, or that part of a number; never nothing."""
    return -(-things // SHARE) if isinstance(things, int) else things[::SHARE]


def tool(name):
    """The path of a program that the tests have built for themselves."""
    return os.path.join(BUILD, "tests", name)
