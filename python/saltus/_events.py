# SPDX-License-Identifier: MIT
"""Event records: as arrays, and one by one with everything that is known of them."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ._saltus import Recording

#: The fixed part of a record; keep in step with EventRow in src/saltus_py.h.
EVENT_DTYPE = np.dtype(
    [
        ("t", "f8"),
        ("lo", "f8"),
        ("hi", "f8"),
        ("slope", "f8"),
        ("n", "u4"),
        ("iter", "u4"),
        ("line", "u4"),
        ("automaton", "i4"),
        ("from", "i4"),
        ("to", "i4"),
        ("kind", "i1"),
        ("class", "i1"),
        ("type", "i1"),
        ("cause", "i1"),
        ("certified", "?"),
        ("padding", "V3"),
    ]
)
KINDS = ("initial", "time", "state", "slide-in", "slide-out", "zeno", "reinit", "chatter", "limit", "stop")
CLASSES = ("interior", "mythical", "pinnacle", "boundary", "sliding")
TYPES = ("critical", "unilateral", "bilateral", "shortliving", "noEvent", "time", None)
CAUSES = (None, "crossing", "level", "candidate", "flow", "time")

_NAMES = {"class": "event_class", "from": "source", "to": "target", "because": "cause"}


class Event:
    """One record: a transition that fired, a firing of ``at``, or one of the other kinds.

    The fields are those of the file of events that ``saltus run --events`` writes, as attributes: ``t``, ``n``,
    ``iter``, ``kind``, ``automaton``, ``atom``, ``type``, ``line``, ``bracket``, ``slope``, ``certified``,
    ``changed`` (name: (before, after)), ``impulses``; Python's own words are avoided: ``event_class``, ``source``
    (from), ``target`` (to), ``cause`` (because). What a record does not have is None. ``as_dict()`` gives all fields
    under their names in the file.
    """

    __slots__ = ("_fields",)

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        fields = self._fields
        key = _KEYS.get(name, name)
        if key in fields:
            value = fields[key]
            if key in ("changed", "candidate"):
                return {n: tuple(pair) for n, pair in value.items()}
            return tuple(value) if key in ("bracket", "energy", "residual") else value
        if key in _OPTIONAL:
            return None
        raise AttributeError(f"an event has no '{name}'")

    def as_dict(self) -> dict[str, Any]:
        """All fields, under their names in the file of events."""
        return dict(self._fields)

    def __dir__(self) -> list[str]:
        return sorted({_NAMES.get(k, k) for k in self._fields} | {"as_dict"})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash((self._fields["t"], self._fields["n"]))

    def __reduce__(self) -> Any:
        return (Event, (self._fields,))

    def __repr__(self) -> str:
        f = self._fields
        move = f" {f['automaton']}: {f['from']} -> {f['to']}" if f.get("automaton") else ""
        why = f" [{' and '.join(f['atom'])}]" if f.get("atom") else ""
        proof = "" if f.get("certified", True) else " (not certified)"
        return f"<Event t={f['t']:.9g} {f['kind']}{move}{why}{proof}>"


_KEYS = {word: key for key, word in _NAMES.items()}
_OPTIONAL = frozenset(
    "t n iter kind class automaton from to atom type line bracket slope certified changed impulses because guard "
    "caused_by residual share equivalent candidate undetermined energy text".split()
)


def event_from_line(line: str) -> Event:
    """A record from its line of JSON."""
    return Event(json.loads(line))


class Events(Sequence[Event]):
    """The records of a run, in order.

    Attributes are arrays with an entry per record: ``t``, ``n``, ``iter``, ``line``, ``lo`` and ``hi`` (the event
    time lies between them), ``slope``, ``certified``, and, as texts, ``kind``, ``event_class``, ``type``,
    ``cause``, ``automaton``, ``source``, ``target``. Numbers are not copied. An entry is an :class:`Event`.
    """

    def __init__(self, rows: NDArray[Any], texts: list[str], lines: bytes | memoryview | None) -> None:
        self._rows = rows
        self._texts = texts
        self._lines = lines
        self._starts: NDArray[np.int64] | None = None

    @classmethod
    def _of(cls, recording: Recording, full: bool) -> "Events":
        view = recording.event_rows
        rows: NDArray[Any] = np.frombuffer(view, dtype=EVENT_DTYPE) if len(view) else np.empty(0, EVENT_DTYPE)
        return cls(rows, recording.event_texts, recording.event_lines if full else None)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        if isinstance(index, slice):
            return [self._event(i) for i in range(*index.indices(len(self)))]
        try:
            i = operator.index(index)
        except TypeError:
            raise TypeError(f"events are counted from 0; arrays over all of them are attributes, not {index!r}") from None
        if i < 0:
            i += len(self)
        if not 0 <= i < len(self):
            raise IndexError("no such event")
        return self._event(i)

    def __iter__(self) -> Iterator[Event]:
        return (self._event(i) for i in range(len(self)))

    def _event(self, i: int) -> Event:
        if self._lines is None:
            return Event(self._light(i))
        if self._starts is None:
            ends = np.flatnonzero(np.frombuffer(self._lines, dtype=np.uint8) == 10)
            self._starts = np.concatenate((np.zeros(1, np.int64), ends + 1))
        return Event(json.loads(bytes(self._lines[self._starts[i] : self._starts[i + 1]])))

    def _light(self, i: int) -> dict[str, Any]:
        row = self._rows[i]

        def text(number: int) -> str | None:
            return self._texts[number] if number >= 0 else None

        slope = float(row["slope"])
        return {
            "t": float(row["t"]),
            "n": int(row["n"]),
            "iter": int(row["iter"]),
            "kind": KINDS[row["kind"]],
            "class": CLASSES[row["class"]],
            "automaton": text(row["automaton"]),
            "from": text(row["from"]),
            "to": text(row["to"]),
            "type": TYPES[row["type"]],
            "line": int(row["line"]) or None,
            "bracket": [float(row["lo"]), float(row["hi"])],
            "slope": slope if np.isfinite(slope) else None,
            "certified": bool(row["certified"]),
            "because": CAUSES[row["cause"]],
        }

    def _column(self, name: str) -> NDArray[Any]:
        column: NDArray[Any] = self._rows[name]
        return column

    def _named(self, name: str, words: Sequence[str | None]) -> NDArray[Any]:
        table = np.array([*words, None], dtype=object)
        named: NDArray[Any] = table[self._rows[name]]  # -1 is the last one: None
        return named

    t = property(lambda self: self._column("t"), doc="Times.")
    n = property(lambda self: self._column("n"), doc="Counts the records of an instant from 0.")
    iter = property(lambda self: self._column("iter"), doc="Round of the event iteration.")
    line = property(lambda self: self._column("line"), doc="Lines of the model's text; 0 for none.")
    lo = property(lambda self: self._column("lo"), doc="The event time is not before this.")
    hi = property(lambda self: self._column("hi"), doc="The event time is not behind this.")
    slope = property(lambda self: self._column("slope"), doc="Slope of the event indicator; nan for none.")
    certified = property(lambda self: self._column("certified"), doc="Proved that no crossing was missed.")
    kind = property(lambda self: self._named("kind", KINDS), doc="Kinds, as texts.")
    event_class = property(lambda self: self._named("class", CLASSES), doc="Classes, as texts.")
    type = property(lambda self: self._named("type", TYPES), doc="Types of what was located, as texts.")
    cause = property(lambda self: self._named("cause", CAUSES), doc="What made transitions fire, as texts.")
    automaton = property(lambda self: self._named("automaton", self._texts), doc="Automata, as texts.")
    source = property(lambda self: self._named("from", self._texts), doc="States that were left.")
    target = property(lambda self: self._named("to", self._texts), doc="States that were entered.")

    @property
    def json_lines(self) -> str:
        """The records as the command line writes them; empty where they were not kept (``events="light"``)."""
        return bytes(self._lines).decode() if self._lines is not None else ""

    def to_pandas(self) -> Any:
        """A DataFrame with a row per record."""
        import pandas

        names = "t n iter kind event_class automaton source target type line lo hi slope certified cause".split()
        return pandas.DataFrame({name: getattr(self, name) for name in names})

    def __reduce__(self) -> Any:
        lines = bytes(self._lines) if self._lines is not None else None
        return (Events, (self._rows.copy(), self._texts, lines))

    def __repr__(self) -> str:
        shown = ", ".join(repr(e) for e in self[:3])
        return f"<Events: {len(self)} record{'s' * (len(self) != 1)}{': ' + shown if shown else ''}{', ...' * (len(self) > 3)}>"

    def _repr_html_(self) -> str:
        from ._notebook import events_html

        return events_html(self)
