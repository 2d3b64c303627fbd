# SPDX-License-Identifier: MIT
"""Runs under the caller's control."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _saltus
from ._events import Event, event_from_line


class Instant:
    """An event while a Sim stands at it: ``t``, and the records of all that happened."""

    __slots__ = ("t", "records")

    def __init__(self, t: float, records: list[Event]) -> None:
        self.t = t
        self.records = records

    def __repr__(self) -> str:
        return f"<Instant t={self.t:.9g}: {self.records}>"


class Sim(_saltus.Sim):
    """A run under your control; made by :meth:`Model.sim`.

    ``sim.advance(t)`` goes on to time t, ``for instant in sim.events(until=t)`` stops at each event.
    ``sim["x"]`` reads a quantity, ``sim["u"] = 1`` writes an input, a discrete variable, a state or a constant; it acts
    from here on, and guards that now hold fire with the next advance. ``sim.snapshot()`` and ``sim.restore(s)`` go back.
    Advancing in pieces gives the same bits as advancing at once, unless something is written in between.

    A Sim is used by one thread at a time; another one gets a RuntimeError.
    """

    def events(self, until: float) -> Iterator[Instant]:
        """Go on to ``until`` and stop at each event on the way. The values are those after the event;
        ``sim.before(name)`` gives those before it."""
        while self.time <= until and not self.stopped:
            self.take_records(True)
            try:
                found = self.to_event(until)
            finally:
                lines = self.take_records(False).splitlines()
            if not found:
                return
            yield Instant(self.time, [event_from_line(line) for line in lines])

    def values(self, names: Iterable[str] | None = None) -> NDArray[np.float64]:
        """Present values as an array; without names those of all variables, in the order of ``columns``."""
        return np.array(self.get_many(self.columns if names is None else names), dtype=float)

    def __enter__(self) -> "Sim":
        return self

    def __exit__(self, *ignored: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a run cannot be pickled; send the model, its parameters and the time instead")

    def __repr__(self) -> str:
        try:
            return f"<Sim t={self.time:.9g}{' stopped' if self.stopped else ''}>"
        except (ValueError, RuntimeError):
            return "<Sim closed or at work>"
