# SPDX-License-Identifier: MIT
"""Many runs of one model: sweeps, sensitivities, fits, optimisation, comparisons."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _saltus

_SAMPLING = {"grid": 0, "random": 1, "lhs": 2, "sobol": 3}
_LOSS = {"squares": 0, "huber": 1, "cauchy": 2}
_SEARCH = {"gradient": 0, "simplex": 1, "global": 2}
_VERDICTS = ("exists", "one-sided", "none")


def _choice(what: str, word: str, words: Mapping[str, int]) -> int:
    if word not in words:
        raise ValueError(f"{what} must be one of {', '.join(words)}, not {word!r}")
    return words[word]


def _texts(measures: str | Iterable[str] | Mapping[str, str] | None) -> list[str] | None:
    """Measures as the library reads them: one text, several, or {name: formula}."""
    if measures is None:
        return None
    if isinstance(measures, str):
        return [measures]
    if isinstance(measures, Mapping):
        return [f"{name} = {formula}" for name, formula in measures.items()]
    return list(measures)


# ---- data ----


def _cell(value: Any) -> str:
    number = float(value)
    return "" if math.isnan(number) else repr(number)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _numbers(name: str, values: Any) -> Any:
    """`values` as floats; what is masked or missing is NaN. Dates would become nanoseconds: they are refused."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()  # pandas
    numbers = np.ma.asarray(values)
    if numbers.dtype.kind in "mM":
        raise TypeError(f"{name} holds dates or durations; give numbers, in the model's unit of time")
    if numbers.dtype.kind == "c":
        raise TypeError(f"{name} holds complex numbers")
    try:
        return np.ma.filled(numbers.astype(float), math.nan)
    except (TypeError, ValueError):
        pass
    try:
        missing = [value is None or type(value).__name__ == "NAType" for value in numbers]
        return np.array([math.nan if gone else float(value) for gone, value in zip(missing, numbers)])
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} holds what is no number: {error}") from None


def csv_text(data: Any) -> str:
    """Rows as CSV: of a path, a mapping of columns, a structured array, a data frame, a Result."""
    if isinstance(data, (str, os.PathLike)):
        return Path(data).read_text(encoding="utf-8")
    if hasattr(data, "to_pandas") and hasattr(data, "names"):  # a Result
        names = [n for n in data.names if np.issubdtype(np.asarray(data[n]).dtype, np.number)]
        columns = {n: np.asarray(data[n]) for n in names}
    elif hasattr(data, "columns") and hasattr(data, "index"):  # a data frame
        names = [str(n) for n in data.columns]
        if len(set(names)) < len(names):
            twice = next(n for n in names if names.count(n) > 1)
            raise ValueError(f"two columns have the name {twice!r}")
        columns = {str(n): _numbers(f"column {n}", data[n]) for n in data.columns}
        if "time" not in columns:
            if data.index.name is None and type(data.index).__name__ == "RangeIndex":
                raise ValueError("the data frame has no column 'time', and its index does no more than number its rows")
            columns = {"time": _numbers("the index", data.index), **columns}
    elif isinstance(data, Mapping):
        columns = {str(n): _numbers(f"column {n}", c) for n, c in data.items()}
    elif isinstance(data, np.ndarray) and data.dtype.names:
        columns = {n: _numbers(f"column {n}", data[n]) for n in data.dtype.names}
    else:
        raise TypeError(
            "data are a path, a mapping of columns, a structured array, a data frame or a Result, "
            f"not {type(data).__name__}"
        )
    lengths = {c.shape for c in columns.values()}
    if len(lengths) != 1 or len(next(iter(lengths))) != 1:
        raise ValueError("columns must be of one dimension and of equal length")
    lines = [",".join(map(_quoted, columns))]
    lines += [",".join(map(_cell, row)) for row in zip(*columns.values())]
    return "\n".join(lines) + "\n"


# ---- sweeps ----


def _parameter(name: str, values: Any) -> str:
    """`values` as the design reads them: a text ("0:10:101", "~normal(0, 1)"), a number, or numbers."""
    if isinstance(values, str):
        text = values.strip()
        return f"{name}{text}" if text.startswith("~") else f"{name}={text}"
    if isinstance(values, Iterator):
        values = list(values)
    numbers = np.atleast_1d(_numbers(f"parameter {name}", values))
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise ValueError(f"the values of {name} must be finite numbers in one dimension, one at least")
    return f"{name}=" + ",".join(map(repr, numbers.tolist()))


def _correlation(pair: tuple[str, str], value: float) -> str:
    if not (isinstance(pair, tuple) and len(pair) == 2):
        raise TypeError(f"correlate has pairs of names, ('a', 'b'), not {pair!r}")
    return f"{pair[0]},{pair[1]}={float(value)!r}"


class Sweep:
    """Runs of a model for different parameters: ``s["peak"]`` is a measure, ``s["k"]`` a parameter, one number per run."""

    def __init__(
        self, parameters: list[str], measures: list[str], values: bytes, states: bytes, messages: list[tuple[int, str | None, str]]
    ) -> None:
        self.parameters = parameters  #: names
        self.measures = measures  #: names
        names = parameters + measures
        self._values = np.frombuffer(values).reshape(-1, len(names)) if names else np.empty((0, 0))
        self._index = {name: i for i, name in enumerate(names)}
        self.status = np.frombuffer(states, dtype=np.int32)  #: of each run: 0 done, 2 stopped by the model, below 0 failed
        self.failures = {member: (code, text) for member, code, text in messages}  #: {number of the run: (code, message)}

    def __len__(self) -> int:
        return len(self.status)

    @property
    def failed(self) -> Any:
        """Which runs have failed."""
        return self.status < 0

    def __getitem__(self, name: str) -> Any:
        if name not in self._index:
            raise KeyError(f"{name!r}; there are {', '.join(self._index)}")
        return self._values[:, self._index[name]]

    def to_pandas(self) -> Any:
        """A data frame: a row per run, with a column ``status``."""
        import pandas

        return pandas.DataFrame({**{n: self[n] for n in self._index}, "status": self.status})

    def __repr__(self) -> str:
        failed = int(self.failed.sum())
        return f"<Sweep of {len(self)} runs{f', {failed} failed' if failed else ''}: {', '.join(self._index)}>"


def sweep(
    model: _saltus.Model,
    parameters: Mapping[str, Any],
    measures: Any,
    until: float | None,
    sampling: str,
    samples: int | None,
    seed: int,
    correlate: Mapping[tuple[str, str], float] | None,
    jobs: int,
    options: dict[str, Any] | None,
) -> Sweep:
    """See :meth:`Model.sweep`."""
    kind = _choice("sampling", sampling, _SAMPLING)
    if kind and not samples:
        raise ValueError(f"how many samples? sampling={sampling!r} needs samples=...")
    if not kind and samples:
        raise ValueError("a grid has as many runs as it has points; samples=... belongs to the other kinds of sampling")
    for what, given in (("parameters", parameters), ("correlate", correlate or {})):
        if not isinstance(given, Mapping):
            raise TypeError(f"{what} must be a mapping, not {given!r}")
    texts = [_parameter(name, values) for name, values in parameters.items()]
    links = [_correlation(pair, value) for pair, value in (correlate or {}).items()]
    return Sweep(*model.sweep(texts, links, kind, samples or 0, seed, _texts(measures), until, jobs, options))


# ---- sensitivities ----


class Derivative:
    """How a measure depends on a parameter, with a verdict."""

    __slots__ = ("measure", "parameter", "at", "value", "derivative", "left", "right", "error", "verdict", "reason", "changes_at")

    def __init__(self, *fields: Any) -> None:
        self.measure: str = fields[0]
        self.parameter: str = fields[1]
        self.at: float = fields[2]  #: value of the parameter
        self.value: float = fields[3]  #: ... and of the measure there
        self.derivative: float = fields[4]  #: nan where it does not exist
        self.left: float = fields[5]
        self.right: float = fields[6]
        self.error: float = fields[7]  #: estimated
        self.verdict: str = _VERDICTS[fields[8]]  #: "exists", "one-sided" or "none"
        self.reason: str | None = fields[9]
        #: nearest values below and above at which the sequence of events changes; nan: none was met
        self.changes_at: tuple[float, float] = (fields[10], fields[11])

    def __repr__(self) -> str:
        told = f" ({self.verdict}: {self.reason})" if self.verdict != "exists" else ""
        return f"<d {self.measure} / d {self.parameter} = {self.derivative:.9g}{told}>"


class Sensitivities(Sequence[Derivative]):
    """Derivatives of all measures by all parameters: ``s["peak", "k"]``; ``s.matrix`` has a row per measure."""

    def __init__(self, items: Iterable[tuple[Any, ...]]) -> None:
        self._items = [Derivative(*fields) for fields in items]
        self.measures = list(dict.fromkeys(d.measure for d in self._items))
        self.parameters = list(dict.fromkeys(d.parameter for d in self._items))
        self._of: dict[Any, Derivative] = {(d.measure, d.parameter): d for d in self._items}

    @property
    def matrix(self) -> Any:
        """The derivatives; nan where one does not exist."""
        return np.array([[self._of[m, p].derivative for p in self.parameters] for m in self.measures])

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            found = self._of.get(key)
            if found is None:
                raise KeyError(f"{key!r}; measures are {', '.join(self.measures)}, parameters {', '.join(self.parameters)}")
            return found
        if isinstance(key, str):
            raise TypeError(f"a derivative has a measure and a parameter: s[{key!r}, 'k']")
        return self._items[key]

    def __repr__(self) -> str:
        return "<Sensitivities\n  " + "\n  ".join(map(repr, self._items)) + ">"


# ---- searched parameters ----


def _searched(params: Mapping[str, Any] | Iterable[str]) -> list[tuple[str, float | None, float, float]]:
    """{name: start}, {name: (lower, upper)}, {name: (start, lower, upper)}, or names alone."""
    if not isinstance(params, Mapping):
        if isinstance(params, str):
            raise TypeError(f"params must be names or a mapping; for one name write [{params!r}]")
        params = dict.fromkeys(params)
    found: list[tuple[str, float | None, float, float]] = []
    for name, given in params.items():
        parts = given if isinstance(given, (tuple, list)) else (given, None, None)
        if len(parts) == 2:
            parts = (None, *parts)
        if len(parts) != 3:
            raise ValueError(f"{name}: give a start, (lower, upper) or (start, lower, upper)")
        start, lower, upper = parts
        low = -math.inf if lower is None else float(lower)
        high = math.inf if upper is None else float(upper)
        if start is None and math.isfinite(low) and math.isfinite(high) and isinstance(given, (tuple, list)) and len(given) == 2:
            start = 0.5 * (low + high)
        found.append((name, start, low, high))
    return found


class Fitted:
    """A parameter that was found."""

    __slots__ = ("name", "value", "deviation", "interval")

    def __init__(self, name: str, value: float, deviation: float, interval: tuple[float, float]) -> None:
        self.name = name
        self.value = value
        self.deviation = deviation  #: standard deviation; infinite where the data do not determine it
        self.interval = interval  #: 95 %

    def __repr__(self) -> str:
        return f"<{self.name} = {self.value:.9g} +- {self.deviation:.3g}>"


class Fit:
    """What a fit has found: ``f["k"].value``, ``f.params`` for the next run."""

    def __init__(self, names: list[str], raw: tuple[Any, ...]) -> None:
        values, self.points, self.rms, self.iterations, self.runs, self.converged, correlation, weakest, *rest = raw
        self.condition, self.left_out = rest  #: left out: numbers of the data before the start, or at jumps
        self.found = {n: Fitted(n, v, d, (lo, hi)) for n, (v, d, lo, hi) in zip(names, values)}
        self.correlation = np.frombuffer(correlation).reshape(len(names), len(names))
        #: the direction that the data determine least, in relative changes; of no weight below a condition of 1e6
        self.weakest = dict(zip(names, np.frombuffer(weakest).tolist()))

    @property
    def params(self) -> dict[str, float]:
        """{name: value}"""
        return {n: p.value for n, p in self.found.items()}

    def __getitem__(self, name: str) -> Fitted:
        return self.found[name]

    def __repr__(self) -> str:
        told = "" if self.converged else ", not converged"
        return f"<Fit rms {self.rms:.3g}{told}: {', '.join(f'{n} = {p.value:.6g}' for n, p in self.found.items())}>"


def fit(
    model: _saltus.Model,
    data: Any,
    params: Any,
    settings: Any,
    loss: str,
    starts: int,
    seed: int,
    weights: Mapping[str, float] | None,
    iterations: int,
    options: dict[str, Any] | None,
) -> Fit:
    """See :meth:`Model.fit`."""
    tables = list(data) if isinstance(data, (list, tuple)) else [data]
    given = list(settings) if isinstance(settings, (list, tuple)) else [settings] * len(tables)
    if len(given) != len(tables):
        raise ValueError(f"{len(tables)} sets of data, but {len(given)} of settings")
    pairs = [(csv_text(t), dict(s) if s else None) for t, s in zip(tables, given)]
    searched = _searched(params)
    kind = _choice("loss", loss, _LOSS)
    raw = model.fit(pairs, searched, kind, starts, seed, dict(weights) if weights else None, iterations, options)
    return Fit([p[0] for p in searched], raw)


class Optimum:
    """What an optimisation has found: ``o.params``, ``o.value``; ``o.history[...]`` has every run."""

    def __init__(self, names: list[str], raw: tuple[Any, ...]) -> None:
        values, self.value, self.evaluations, self.feasible, self.converged, measures, history = raw
        self.params = {n: v[0] for n, v in zip(names, values)}
        columns = [*names, *measures, "feasible"]
        rows = np.frombuffer(history).reshape(-1, len(columns))
        self.history = {n: rows[:, i] for i, n in enumerate(columns)}

    def __repr__(self) -> str:
        told = ("" if self.feasible else ", constraints do not hold") + ("" if self.converged else ", not converged")
        return f"<Optimum {self.value:.9g}{told}: {', '.join(f'{n} = {v:.6g}' for n, v in self.params.items())}>"


def _constraint(text: str) -> tuple[str, bool, float]:
    """The measure, whether it is at least the number, and the number."""
    if not isinstance(text, str):
        raise TypeError(f"a constraint is a text, not {text!r}")
    parts = re.fullmatch(r"(.+?)(<=|>=)([^<>=]+)", text.strip(), re.DOTALL)
    try:
        bound = float(parts[3]) if parts else None
    except ValueError:
        bound = None
    if not parts or bound is None:
        raise ValueError(f"a constraint is MEASURE <= NUMBER or MEASURE >= NUMBER, not {text!r}")
    return parts[1].strip(), parts[2] == ">=", bound


def optimize(
    model: _saltus.Model,
    measure: str,
    params: Any,
    constraints: Iterable[str],
    search: str,
    maximize: bool,
    evaluations: int,
    tolerance: float | None,
    seed: int,
    until: float | None,
    options: dict[str, Any] | None,
) -> Optimum:
    """See :meth:`Model.optimize`."""
    measures = [measure]
    limits = []
    for text in [constraints] if isinstance(constraints, str) else constraints:
        formula, at_least, bound = _constraint(text)
        if formula not in measures:
            measures.append(formula)
        limits.append((measures.index(formula), at_least, bound))
    searched = _searched(params)
    kind = _choice("search", search, _SEARCH)
    raw = model.optimize(
        measures, searched, limits, kind, bool(maximize), evaluations, tolerance, seed, until, options
    )
    return Optimum([p[0] for p in searched], raw)


# ---- comparisons ----


class Comparison:
    """How far two courses of a quantity are apart."""

    __slots__ = ("name", "largest", "t_largest", "rms", "scale", "jumps", "jump_shift", "points", "within")

    def __init__(self, *fields: Any) -> None:
        self.name: str = fields[0]
        self.largest: float = fields[1]  #: difference; infinite where one of them has no value
        self.t_largest: float = fields[2]
        self.rms: float = fields[3]
        self.scale: float = fields[4]  #: largest magnitude
        self.jumps: tuple[int, int] = (fields[5], fields[6])
        self.jump_shift: float = fields[7]  #: largest distance in time of jumps that belong together
        self.points: int = fields[8]
        self.within: bool = fields[9]  #: the tolerances

    def __repr__(self) -> str:
        if not self.points:
            return f"<{self.name}: no time in common>"
        return f"<{self.name}: {self.largest:.3g} apart at t = {self.t_largest:.6g}, {'within' if self.within else 'beyond'}>"


def compare(a: Any, b: Any, *, tol: float = 1e-6, abs_tol: float = 0.0, time_tol: float | None = None) -> dict[str, Comparison]:
    """Compare the columns that two tables have in common: paths of CSV files, mappings of columns, data frames, results.

    Jumps are matched in order, and what is between them is compared with each other. ``tol`` is relative to the largest
    magnitude of a quantity, ``time_tol`` for the times of jumps.
    """
    for what, value in (("tol", tol), ("abs_tol", abs_tol), ("time_tol", 0.0 if time_tol is None else time_tol)):
        if not 0 <= value < math.inf:
            raise ValueError(f"{what} must be a number from 0 on, not {value!r}")
    found = _saltus.compare_tables(csv_text(a), csv_text(b), tol, abs_tol, time_tol)
    return {fields[0]: Comparison(*fields) for fields in found}
