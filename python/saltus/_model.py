# SPDX-License-Identifier: MIT
"""Models: loading, asking what they are, running."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _experiments, _saltus
from ._errors import Diagnostic, RunError
from ._events import Event
from ._result import Result
from ._sim import Sim

_EVENT_ROWS = {"changes": 0, "modes": 1, "all": 2, "none": 3}
_EVENTS = {False: 0, "light": 1, True: 2}
_NATIVE = {"off": 0, "auto": 1, "on": 2, False: 0, True: 2}


def _check_calls(on_event: object, on_step: object) -> None:
    for name, call in (("on_event", on_event), ("on_step", on_step)):
        if call is not None and not callable(call):
            raise TypeError(f"{name} must be a function, not {call!r}")


def _settings(params: Mapping[str, float] | None) -> dict[str, float] | None:
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"params must be a mapping of names to numbers, not {params!r}")
    return dict(params) if params else None


def _once(names: Iterable[Any]) -> list[Any]:
    """Names in their order, each of them once."""
    listed = list(names)
    return list(dict.fromkeys(listed)) if all(isinstance(name, str) for name in listed) else listed


class Constant:
    """A constant of a model."""

    __slots__ = ("name", "fixed", "line")

    def __init__(self, name: str, fixed: bool, line: int) -> None:
        self.name = name
        self.fixed = fixed  #: it shapes the model: it can be set in load() only
        self.line = line

    def __repr__(self) -> str:
        return f"<Constant {self.name}{' (fixed)' if self.fixed else ''}>"


class Variable:
    """A variable of a model."""

    __slots__ = ("name", "unit", "discrete", "input", "derivatives", "line")

    def __init__(self, name: str, unit: str, discrete: bool, input: bool, derivatives: int, line: int) -> None:
        self.name = name
        self.unit = unit
        self.discrete = discrete  #: no equation determines it: it keeps what is written to it
        self.input = input  #: ... and the model itself never writes it
        self.derivatives = derivatives  #: the highest one that can be recorded
        self.line = line

    def __repr__(self) -> str:
        kind = " input" if self.input else " discrete" if self.discrete else ""
        return f"<Variable {self.name}{f' [{self.unit}]' if self.unit else ''}{kind}>"


class Model:
    """A compiled model; made by :func:`load`. It does not change: threads can run it at the same time."""

    def __init__(self, name: str, text: str | None, params: Mapping[str, float] | None, native: str | bool) -> None:
        if native not in _NATIVE:
            raise ValueError(f"native must be 'auto', 'on' or 'off', not {native!r}")
        params = _settings(params)
        self._source = (name, text, params, native)
        self._digest = _digest(name) if text is None else None
        compiler, cache = _native_places() if _NATIVE[native] else (None, None)
        self._model, messages = _saltus.compile(name, text, params, False, _NATIVE[native], compiler, cache)
        self.warnings = [Diagnostic(**m) for m in messages]
        self._names: list[dict[str, Any]] | None = None
        self._name = Path(name).name.removesuffix(".lisma").removesuffix(".rules.md")

    # ---- what it is ----

    @property
    def name(self) -> str:
        """Name of the file without folder and ending, or what load() was given."""
        return self._name

    @property
    def text(self) -> str | None:
        """The text that the model was made from; None for files that cannot be read any more."""
        name, text = self._source[:2]
        if text is not None:
            return text
        try:
            return Path(name).read_text(encoding="utf-8")
        except OSError:
            return None

    def _listed(self, kind: str) -> list[dict[str, Any]]:
        if self._names is None:
            self._names = self._model.names()
        return [n for n in self._names if n["kind"] == kind]

    @property
    def variables(self) -> dict[str, Variable]:
        """Variables by name, in the order of the text."""
        return {
            n["name"]: Variable(n["name"], n["unit"], n["discrete"], n["input"], n["derivatives"], n["line"])
            for n in self._listed("variable")
        }

    @property
    def inputs(self) -> list[str]:
        """Variables that a Sim can be steered with: no equation and no event of the model writes them."""
        return [n["name"] for n in self._listed("variable") if n["input"]]

    @property
    def constants(self) -> dict[str, Constant]:
        """Constants by name: what ``params`` can set."""
        return {n["name"]: Constant(n["name"], n["fixed"], n["line"]) for n in self._listed("constant")}

    @property
    def macros(self) -> list[str]:
        """Named expressions that can be recorded."""
        return [n["name"] for n in self._listed("macro")]

    @property
    def automata(self) -> dict[str, list[str]]:
        """The states of each automaton."""
        return {n["name"]: self._model.states(n["index"]) for n in self._listed("automaton")}

    @property
    def experiment(self) -> dict[str, Any]:
        """Defaults of a run as the model's text states them."""
        given = self._model.experiment()
        return {k: v for k, v in given.items() if v and not (isinstance(v, float) and math.isnan(v))}

    def explain(self, form: str = "text") -> str:
        """Structure of the modes: for people (``text``), as data (``json``), or the inner form (``ir``)."""
        return self._model.explain(form)

    def graph(self) -> str | None:
        """The automata as a picture in SVG; None where there are none."""
        return self._model.graph(self.name)

    @property
    def native(self) -> dict[str, Any]:
        """What of the model runs as machine code by now."""
        return self._model.native_report()

    # ---- runs ----

    def run(
        self,
        until: float | None = None,
        *,
        params: Mapping[str, float] | None = None,
        out: Iterable[str] | None = None,
        every: float | None = None,
        samples: int | None = None,
        all_steps: bool = False,
        event_rows: str = "changes",
        events: bool | str = True,
        on_event: Callable[[Event], object] | None = None,
        on_step: Callable[[float], object] | None = None,
        **options: Any,
    ) -> Result:
        """Run the model and record it, as ``saltus run`` does, with the same bits.

        Without ``until`` the run ends where the model's experiment says, else at 10.

        params      constants and initial values, by name: {"k": 2, "x(t0)": 1}
        out         what to record: variables, derivatives (``x'``), macros, constants, ``AUTOMATON.state``;
                    without it the experiment's list, else all variables
        every       distance of the rows, or
        samples     number of them (500 without either), or
        all_steps   a row per step of the integrator
        event_rows  which events get rows, before and after: "changes" (of what is recorded), "modes", "all", "none"
        events      True: all that is known of each; "light": the arrays alone; False: none
        on_event    called with each record as it happens
        on_step     called with the time between steps; the run ends when it returns something true
        options     start, method, rtol, atol, h0, h_min, h_max, step, event_eps, gamma, detection, sliding,
                    zeno, seed, max_events, max_steps, threads

        Other Python threads go on meanwhile. Ctrl-C ends the run. An exception of a callback ends it and is
        raised. Where a run fails, a :class:`RunError` is raised. What was recorded until then is in the attribute
        ``result`` of the exception, whatever it was.
        """
        if event_rows not in _EVENT_ROWS:
            raise ValueError(f"event_rows must be one of {', '.join(_EVENT_ROWS)}, not {event_rows!r}")
        if events not in _EVENTS:
            raise ValueError(f"events must be True, False or 'light', not {events!r}")
        if every is not None and samples is not None:
            raise ValueError("every and samples are two ways to say the same; give one of them")
        _check_calls(on_event, on_step)
        if out is not None and not isinstance(out, str):
            out = _once(out)
        recording, error, exception = self._model.run(
            until,
            _settings(params),
            out,
            every,
            samples,
            all_steps,
            _EVENT_ROWS[event_rows],
            _EVENTS[events],
            on_event,
            on_step,
            options or None,
        )
        result = Result._of(recording, self.name, _EVENTS[events])
        if exception is not None:
            with contextlib.suppress(Exception):  # one that takes no attributes
                setattr(exception, "result", result)
            raise exception
        if error is not None:
            failure = RunError(error.pop("message"), file=self._source[0], **error)
            failure.result = result
            failure.mode = result.final_states
            raise failure
        return result

    def sim(
        self,
        *,
        params: Mapping[str, float] | None = None,
        on_event: Callable[[Event], object] | None = None,
        on_step: Callable[[float], object] | None = None,
        **options: Any,
    ) -> Sim:
        """A run under your control, started and standing at its first time: see :class:`Sim`. Options as of run()."""
        _check_calls(on_event, on_step)
        return Sim(self._model, _settings(params), options or None, on_event, on_step, False)

    # ---- experiments ----

    def sweep(
        self,
        parameters: Mapping[str, Any],
        measures: str | Iterable[str] | Mapping[str, str] | None = None,
        *,
        until: float | None = None,
        sampling: str = "grid",
        samples: int | None = None,
        seed: int = 0,
        correlate: Mapping[tuple[str, str], float] | None = None,
        jobs: int = 0,
        **options: Any,
    ) -> _experiments.Sweep:
        """Run the model for many parameters and take measures of each run, on all cores.

        parameters  {name: values}: constants, initial values ``x(t0)``, ``seed``; values are numbers, or a text as
                    ``saltus sweep`` takes it: "0:10:101", "log(1:1000:4)", "~normal(0, 1)"
        measures    formulas such as "max(y)", "time(main.rest)", or {name: formula}; without any those of the model
        sampling    "grid": every combination; "random", "lhs", "sobol": so many ``samples``
        correlate   {("a", "b"): 0.8} of parameters that are drawn
        jobs        threads; 0: as many as there are processors. Results do not depend on it.
        options     of every run, as of run()

        A run that fails has measures nan; ``failures`` tells why.
        """
        return _experiments.sweep(
            self._model, parameters, measures, until, sampling, samples, seed, correlate, jobs, options or None
        )

    def sens(
        self,
        measures: str | Iterable[str] | Mapping[str, str] | None,
        params: Iterable[str] | Mapping[str, float],
        *,
        until: float | None = None,
        reach: float | None = None,
        **options: Any,
    ) -> _experiments.Sensitivities:
        """Derivatives of measures with respect to parameters, through events, with a verdict for each.

        ``params`` are names, or {name: value to take the derivative at}; ``reach`` is how far they are moved, relative.
        """
        if isinstance(params, str):
            raise TypeError(f"params must be names or a mapping; for one name write [{params!r}]")
        if reach is not None and not 0 < reach < math.inf:
            raise ValueError(f"reach must be greater than 0, not {reach!r}")
        at: dict[str, float | None] = dict(params) if isinstance(params, Mapping) else dict.fromkeys(params)
        found = self._model.sens(
            _experiments._texts(measures), list(at), list(at.values()), until, reach, options or None
        )
        return _experiments.Sensitivities(found)

    def fit(
        self,
        data: Any,
        params: Mapping[str, Any] | Iterable[str],
        *,
        settings: Any = None,
        loss: str = "squares",
        starts: int = 0,
        seed: int = 0,
        weights: Mapping[str, float] | None = None,
        iterations: int = 0,
        **options: Any,
    ) -> _experiments.Fit:
        """Find parameters for which the model fits measured data, by least squares.

        data      a path, {column: numbers} or a data frame, with a column ``time``; or a list of them. A column
                  ``time(A.s)`` holds times of entries into a state.
        params    {name: start}, {name: (lower, upper)}, {name: (start, lower, upper)}, or names
        settings  constants that were set while the data were measured: one mapping, or one per set of data
        loss      "squares", "huber", "cauchy"
        starts    further beginnings, spread over the bounds
        weights   {column: factor of its residuals}
        """
        return _experiments.fit(
            self._model, data, params, settings, loss, starts, seed, weights, iterations, options or None
        )

    def optimize(
        self,
        measure: str,
        params: Mapping[str, Any] | Iterable[str],
        *,
        constraints: str | Iterable[str] = (),
        search: str = "gradient",
        maximize: bool = False,
        evaluations: int = 0,
        tolerance: float | None = None,
        seed: int = 0,
        until: float | None = None,
        **options: Any,
    ) -> _experiments.Optimum:
        """Find parameters for which a measure is smallest, or largest.

        params       as of fit()
        constraints  texts such as "max(y) <= 3"
        search       "gradient", "simplex" (for measures with kinks), "global" (over the whole region; needs bounds)
        """
        return _experiments.optimize(
            self._model,
            measure,
            params,
            constraints,
            search,
            maximize,
            evaluations,
            tolerance,
            seed,
            until,
            options or None,
        )

    def __copy__(self) -> "Model":
        return self  # it does not change

    def __deepcopy__(self, memo: Any) -> "Model":
        return self

    def __reduce__(self) -> Any:
        return (_again, (*self._source, self._digest))

    def __repr__(self) -> str:
        shown = list(self.variables)
        return f"<Model {self.name}: {', '.join(shown[:6])}{', ...' if len(shown) > 6 else ''}>"

    def _repr_html_(self) -> str:
        from ._notebook import model_html

        return model_html(self)


def _digest(path: str) -> bytes | None:
    """Of what a file holds; None where there is none to read, such as a folder."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest()
    except OSError:
        return None


def _again(
    name: str, text: str | None, params: dict[str, float] | None, native: str | bool, digest: bytes | None
) -> Model:
    model = Model(name, text, params, native)
    if model._digest != digest:
        raise ValueError(f"{name} is not what it was when the model that was pickled was loaded")
    return model


def _native_places() -> tuple[str | None, str | None]:
    """The compiler and the cache that the command line uses."""
    chosen = os.environ.get("SALTUS_CC")
    compiler = shutil.which(chosen) if chosen else shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    base = os.environ.get("XDG_CACHE_HOME") or ""
    if not base.startswith("/"):
        home = os.environ.get("HOME") or ""
        base = os.path.join(home, ".cache") if home.startswith("/") else ""
    cache = os.path.join(base, "saltus") if base else None
    return (compiler, cache) if compiler and cache else (None, None)


def load(
    source: str | os.PathLike[str],
    *,
    params: Mapping[str, float] | None = None,
    name: str | None = None,
    native: str | bool = "auto",
) -> Model:
    """Compile a model.

    ``source`` is the path of a ``.lisma`` file, of a document of rule tables (``.rules.md``), of a folder of tables,
    or the text of a model. A ``str`` counts as text when it has a line end, ``;`` or ``=`` in it; a ``Path`` never
    does. ``params`` sets constants, also those that shape the model. ``name`` is how messages call a text; with one
    that ends in ``.rules.md`` it is read as rule tables. ``native`` says whether equations are compiled to machine
    code: "auto" (in the background, when runs are long enough), "on" or "off"; results have the same bits.

    A text that is wrong raises :class:`ModelError`; warnings are in ``Model.warnings``.
    """
    if isinstance(source, str) and any(c in source for c in "\n;="):
        return Model(name or "model.lisma", source, params, native)
    path = os.fspath(source)
    if not isinstance(path, str):
        raise TypeError(f"the source must be a path or a text, not {source!r}")
    if not os.path.exists(path):
        raise FileNotFoundError(2, "no such model; a text has ';', '=' or line ends in it", path)
    return Model(os.path.abspath(path), None, params, native)
