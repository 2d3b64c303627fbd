# SPDX-License-Identifier: MIT
"""What a run has recorded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import Diagnostic, unknown_name
from ._events import CLASSES, Events
from ._saltus import Recording

_MYTHICAL = CLASSES.index("mythical")


class Band:
    """The states of one automaton over a run: ``state[i]`` holds from ``start[i]`` to ``end[i]``."""

    __slots__ = ("start", "end", "state")

    def __init__(self, start: NDArray[Any], end: NDArray[Any], state: list[str]) -> None:
        self.start = start
        self.end = end
        self.state = state

    def __len__(self) -> int:
        return len(self.state)

    def __iter__(self) -> Iterator[tuple[float, float, str]]:
        return zip(self.start.tolist(), self.end.tolist(), self.state)

    def at(self, t: float) -> str:
        """The state at time t, after the events there."""
        if not len(self.state) or not self.start[0] <= t <= self.end[-1]:
            raise ValueError(f"the run has no time {t}")
        return self.state[int(np.searchsorted(self.start, t, side="right")) - 1]

    def __reduce__(self) -> Any:
        return (Band, (self.start, self.end, self.state))

    def __repr__(self) -> str:
        parts = [f"{s} {a:.6g}..{b:.6g}" for a, b, s in list(self)[:4]]
        return f"<Band {', '.join(parts)}{', ...' if len(self) > 4 else ''}>"


def _bands(events: Events, final: dict[str, str], start: float, end: float) -> dict[str, Band]:
    """From the transitions that were carried out, and from where they ended."""
    rows = events._rows
    bands = {}
    moved = rows[(rows["automaton"] >= 0) & (rows["class"] != _MYTHICAL) & (rows["from"] != rows["to"])]
    for name, last in final.items():
        mine = moved[moved["automaton"] == events._texts.index(name)] if name in events._texts else moved[:0]
        states = [events._texts[i] for i in mine["from"]] + [last]
        edges = np.concatenate(([start], mine["t"], [end]))
        # states that were passed through in no time are not shown
        keep = [i for i in range(len(states)) if edges[i + 1] > edges[i] or i == len(states) - 1]
        begins = edges[:-1][keep]
        bands[name] = Band(begins, np.append(begins[1:], end), [states[i] for i in keep])
    return bands


class Result(Mapping[str, NDArray[Any]]):
    """Rows and events of one run.

    ``r["y"]`` is the column ``y`` as an array. It is not copied: it is the memory that the engine has written, it
    owns it, and stays valid when the result and the model are gone. It is read-only; ``r["y"].copy()`` is yours.
    States of automata (``"main.state"``) are arrays of texts.

    ``r.t`` are the times. An event that changes something gives two rows of the same time, before and after.
    ``r.events`` are the event records, ``r.modes`` the states of the automata over time, ``r.warnings`` what the
    run had to say, ``r.statistics`` what it has cost, ``r.stopped`` whether the model ended it.
    """

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields  # what is known by now; the rest is asked for when it is wanted
        self._columns: dict[str, NDArray[Any]] = fields.pop("columns", {})
        self._recording: Recording | None = fields.pop("recording", None)
        self._modes: dict[str, Band] | None = None

    @classmethod
    def _of(cls, recording: Recording, title: str, kept: int) -> "Result":
        return cls({"recording": recording, "title": title, "kept": kept})

    def _field(self, name: str) -> Any:
        if name not in self._fields:
            assert self._recording is not None
            if name == "events":
                value: Any = Events._of(self._recording, self._fields["kept"] == 2)
            elif name == "warnings":
                value = [Diagnostic(**w) for w in self._recording.warnings]
            else:
                value = getattr(self._recording, name)
            self._fields.setdefault(name, value)
        return self._fields[name]

    # ---- columns ----

    def __getitem__(self, name: str) -> NDArray[Any]:
        column = self._columns.get(name) if isinstance(name, str) else None
        if column is None:
            column = self._columns[name] = self._load(name)
        return column

    def _load(self, name: str) -> NDArray[Any]:
        names: list[str] = self._field("names")
        if not isinstance(name, str):
            raise TypeError(f"a column has a name, not {name!r}")
        if name not in names:
            raise unknown_name(name=name, columns=names)
        assert self._recording is not None
        index = names.index(name)
        if self._recording.is_text(index):
            return np.array(self._recording.texts(index), dtype=object)
        if self._recording.row_count == 0:
            return np.empty(0)
        column: NDArray[Any] = np.frombuffer(self._recording.column(index), dtype=np.float64)
        return column

    def __iter__(self) -> Iterator[str]:
        return iter(self._field("names"))

    def __len__(self) -> int:
        return len(self._field("names"))

    def __contains__(self, name: object) -> bool:
        return name in self._field("names")

    @property
    def names(self) -> list[str]:
        """Names of the columns; the first is ``time``."""
        return list(self._field("names"))

    @property
    def t(self) -> NDArray[np.float64]:
        """Times of the rows."""
        return self["time"]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.t)

    def last(self, name: str) -> Any:
        """Value at the end."""
        value = self[name][-1]
        return float(value) if isinstance(value, np.floating) else value

    def at(self, name: str, t: Any) -> Any:
        """Values at other times, by straight lines between rows; at a jump the value after it."""
        times, values = self.t, self[name]
        if values.dtype == object:
            raise TypeError(f"'{name}' holds texts; use modes")
        wanted = np.asarray(t, dtype=float)
        if np.any((wanted < times[0]) | (wanted > times[-1]) | np.isnan(wanted)):
            raise ValueError(f"the run has times from {times[0]} to {times[-1]}")
        right = np.clip(np.searchsorted(times, wanted, side="right"), 1, max(len(times) - 1, 1))
        if len(times) == 1:
            return values[np.zeros_like(right)] if wanted.ndim else float(values[0])
        left = right - 1
        span = times[right] - times[left]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(span > 0, (wanted - times[left]) / span, 1.0)
        found = np.where(
            share <= 0, values[left], np.where(share >= 1, values[right], values[left] * (1 - share) + values[right] * share)
        )
        return found if wanted.ndim else float(found)

    # ---- the rest ----

    @property
    def events(self) -> Events:
        """The event records."""
        events: Events = self._field("events")
        return events

    @property
    def modes(self) -> dict[str, Band]:
        """The states of each automaton over time."""
        if self._modes is None:
            if self._fields["kept"] == 0:
                raise ValueError("modes follow from events, which this run has not kept (events=False)")
            first = float(self.t[0]) if self.rows else self._field("t")
            self._modes = _bands(self.events, self._field("final"), first, self._field("t"))
        return self._modes

    @property
    def final_states(self) -> dict[str, str]:
        """The states that the automata ended in."""
        return dict(self._field("final"))

    @property
    def end(self) -> float:
        """Time reached."""
        return float(self._field("t"))

    @property
    def stopped(self) -> bool:
        """Whether the model has ended the run."""
        return bool(self._field("status") == 2)

    @property
    def complete(self) -> bool:
        """Whether the run went to its end; the result of an error or an interruption did not."""
        return bool(self._field("status") >= 0)

    @property
    def warnings(self) -> list[Diagnostic]:
        """What the run had to say."""
        return list(self._field("warnings"))

    @property
    def statistics(self) -> dict[str, Any]:
        """What the run has cost: steps, evaluations, events, method."""
        return dict(self._field("statistics"))

    @property
    def title(self) -> str:
        """Name of the model."""
        return str(self._fields["title"])

    # ---- elsewhere ----

    def to_numpy(self) -> NDArray[Any]:
        """A structured array with a field per column."""
        names = list(dict.fromkeys(self.names))
        table = np.empty(self.rows, [(name, self[name].dtype) for name in names])
        for name in names:
            table[name] = self[name]
        return table

    def __array__(self, *ignored: Any, **options: Any) -> NDArray[Any]:
        # numpy and pandas would make something of the names alone
        raise TypeError("a result is several columns: r['y'] is one of them, r.to_numpy() and r.to_pandas() are all")

    def to_pandas(self) -> Any:
        """A DataFrame with the time as its index."""
        import pandas

        columns = {name: self[name] for name in self.names[1:]}
        return pandas.DataFrame(columns, index=pandas.Index(self.t, name="time"))

    def to_xarray(self) -> Any:
        """A Dataset over the coordinate ``time``. At a jump the coordinate has two equal entries."""
        import xarray

        columns = {name: ("time", self[name]) for name in self.names[1:]}
        return xarray.Dataset(columns, coords={"time": self.t}, attrs={"model": self.title})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rows to a file; the ending says how: .csv, .csv.gz, .jsonl, .mat, .h5."""
        name = os.fspath(path)
        if self._recording is None:
            raise ValueError("a result that came from another process cannot be saved; save it there")
        data = self._recording.write(name)
        with open(name, "wb") as file:
            file.write(data)

    def plot(self, *names: str, x: str = "time", ax: Any = None, bands: bool = True, **style: Any) -> Any:
        """Draw columns with matplotlib: jumps as jumps, states of automata as bands. Returns the axes."""
        from ._plot import plot

        return plot(self, names, x, ax, bands, style)

    def svg(self, *names: str, x: str | None = None, width: int = 800, height: int = 0) -> str:
        """The picture that ``saltus run --plot`` draws; needs no other package."""
        if self._recording is None:
            raise ValueError("a result that came from another process has no picture; use plot()")
        return self._recording.plot(self.title, x, list(names) or None, width, height)

    def __reduce__(self) -> Any:
        parts = "title kept names events final status t warnings statistics".split()
        columns = {name: np.array(self[name]) for name in self.names}
        return (Result, ({"columns": columns, **{part: self._field(part) for part in parts}},))

    def __copy__(self) -> "Result":
        return self  # it does not change

    def __deepcopy__(self, memo: Any) -> "Result":
        return self

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        shown = ", ".join(self.names[1:6]) + (", ..." if len(self) > 6 else "")
        how = "" if self.complete else ", not complete"
        return f"<Result {self.title}: {self.rows} rows to t = {self.end:.9g}, {len(self.events)} records{how}; {shown}>"

    def _repr_html_(self) -> str:
        from ._notebook import result_html

        return result_html(self)
