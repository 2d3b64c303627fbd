# SPDX-License-Identifier: MIT
"""Saltus: simulate systems that flow and jump.

>>> import saltus
>>> m = saltus.load("x' = -x; x(t0) = 1;")
>>> r = m.run(until=1)
>>> round(r.last("x"), 4)
0.3679
"""

from __future__ import annotations

import os as _os
import threading as _threading
from typing import Any as _Any

from . import _saltus

_saltus.set_main_thread(_threading.main_thread().ident or 0)  # refuses a second interpreter

from ._errors import Diagnostic, ModelError, RunError, SaltusError, UnknownName
from ._events import Event, Events
from ._experiments import Comparison, Derivative, Fit, Fitted, Optimum, Sensitivities, Sweep, compare
from ._model import Constant, Model, Variable, load
from ._result import Band, Result
from ._rules import Cyclic, Rules, load_rules
from ._sim import Instant, Sim

__version__: str = _saltus.__version__

__all__ = [
    "Band",
    "Comparison",
    "Constant",
    "Cyclic",
    "Derivative",
    "Diagnostic",
    "Event",
    "Events",
    "Fit",
    "Fitted",
    "Instant",
    "Model",
    "ModelError",
    "Optimum",
    "Result",
    "Rules",
    "RunError",
    "SaltusError",
    "Sensitivities",
    "Sim",
    "Sweep",
    "UnknownName",
    "Variable",
    "compare",
    "format",
    "load",
    "load_rules",
    "methods",
]


def methods() -> list[dict[str, _Any]]:
    """The integration methods: name, description, order, stages, adaptive."""
    return _saltus.methods()


def format(text: str) -> str:
    """A model's text with its layout in order; comments and meaning stay."""
    return _saltus.format_text(text)


def _after_fork() -> None:
    _saltus.after_fork()
    _saltus.set_main_thread(_threading.get_ident())


if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_after_fork)


def load_ipython_extension(shell: _Any) -> None:
    """``%load_ext saltus``: the cell magic ``%%lisma`` and its completion."""
    from ._notebook import load_extension

    load_extension(shell)


def unload_ipython_extension(shell: _Any) -> None:
    """``%unload_ext saltus``."""
    from ._notebook import unload_extension

    unload_extension(shell)
