# SPDX-License-Identifier: MIT
"""Rule tables: what only they can do. Their located execution is that of any model: load()."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

from . import _saltus
from ._errors import Diagnostic


class Cyclic(_saltus.Cyclic):
    """Cyclic execution: ``c["valve"] = 0.3``, ``c.cycle()``, ``c["level"]``. One thread at a time."""

    def __repr__(self) -> str:
        return f"<Cyclic t={self.time:.9g}>"


class Rules:
    """Rule tables; made by :func:`load_rules`."""

    def __init__(self, name: str, text: str | None, params: Mapping[str, float] | None) -> None:
        self._source = (name, text, dict(params) if params else None)
        self._rules, messages = _saltus.compile_rules(name, text, self._source[2])
        self.warnings = [Diagnostic(**m) for m in messages]

    @property
    def settings(self) -> dict[str, Any]:
        """What the tables say about a run."""
        given = self._rules.settings()
        return {k: v for k, v in given.items() if not (isinstance(v, float) and math.isnan(v))}

    def write(self, form: str = "markdown") -> str:
        """The tables as ``markdown``, as ``lisma`` equations, as an ``explanation``, or one of them as CSV:
        ``settings``, ``constants``, ``states``, ``predicates``, ``situations``, ``rules``."""
        return self._rules.write(form)

    def cyclic(self, dt: float | None = None, *, seed: int = 0) -> Cyclic:
        """Execution at a fixed period; without ``dt`` that of the tables."""
        period = self.settings.get("cycle") if dt is None else dt
        if period is None:
            raise ValueError("the tables give no cycle; say dt")
        return Cyclic(self._rules, period, seed)

    def __reduce__(self) -> Any:
        return (Rules, self._source)

    def __repr__(self) -> str:
        return f"<Rules {os.path.basename(self._source[0])}: {self._rules.settings()['rules']} rules>"


def load_rules(source: str | os.PathLike[str], *, params: Mapping[str, float] | None = None) -> Rules:
    """Read a document of rule tables or a folder of CSV files; a ``str`` with line ends is the document itself."""
    if isinstance(source, str) and "\n" in source:
        return Rules("tables.rules.md", source, params)
    path = os.fspath(source)
    if not os.path.exists(path):
        raise FileNotFoundError(2, "no such tables", path)
    return Rules(os.path.abspath(path), None, params)
