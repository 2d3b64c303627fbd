# SPDX-License-Identifier: MIT
"""Pictures with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._result import Band, Result

_BANDS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#edc948", "#76b7b2", "#9c755f")
_LABELS_MAX = 12
_BANDS_MAX = 4
_BAND_HEIGHT = 0.06  # of the axes


def _broken(t: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """With a gap at every jump, so that no line joins what was before with what was after."""
    jumps = np.flatnonzero((np.diff(t) == 0) & ((y[1:] != y[:-1]) | (x[1:] != x[:-1]))) + 1
    return np.insert(x, jumps, np.nan), np.insert(y, jumps, np.nan)


def _draw_band(ax: Any, band: "Band", name: str, low: float, high: float) -> None:
    states = list(dict.fromkeys(band.state))
    seen: set[str] = set()
    for start, end, state in band:
        colour = _BANDS[states.index(state) % len(_BANDS)]
        label = f"{name}: {state}" if len(states) > _LABELS_MAX else None
        ax.axvspan(start, end, ymin=low, ymax=high, color=colour, alpha=0.25, lw=0, label=label if state not in seen else None)
        if state not in seen and len(states) <= _LABELS_MAX:
            place = ax.get_xaxis_transform()
            ax.text(start, (low + high) / 2, f" {state}", transform=place, va="center", fontsize="small", clip_on=True)
        seen.add(state)


def _make_room(ax: Any, share: float) -> None:
    """Leave a share of the axes below the curves."""
    low, high = ax.get_ylim()
    if share and ax.get_yscale() == "linear":
        ax.set_ylim(low - (high - low) * share / (1 - share), high, auto=True)


def plot(result: "Result", names: tuple[str, ...], x: str, ax: Any, bands: bool, style: dict[str, Any]) -> Any:
    from matplotlib import pyplot

    if ax is None:
        ax = pyplot.subplots()[1]
    t, across = result.t, result[x]
    chosen = names or tuple(n for n in result.names[1:] if n != x and result[n].dtype != object)
    for name in chosen:
        column = result[name]
        if column.dtype == object:
            raise TypeError(f"'{name}' holds texts: states of automata are drawn as bands")
        (line,) = ax.plot(*_broken(t, across, column), label=name, **style)
        jumps = np.flatnonzero((np.diff(t) == 0) & (column[1:] != column[:-1]))
        if len(jumps):
            ends = np.stack([jumps, jumps + 1])
            ax.plot(across[ends], column[ends], ":", color=line.get_color(), lw=0.8, label="_jumps")
    if bands and x == "time" and result._fields["kept"]:
        moving = [(name, band) for name, band in result.modes.items() if len(band) > 1][:_BANDS_MAX]
        _make_room(ax, len(moving) * _BAND_HEIGHT)
        for i, (name, band) in enumerate(moving):
            _draw_band(ax, band, name, i * _BAND_HEIGHT, (i + 1) * _BAND_HEIGHT)
    ax.set_xlabel(x)
    ax.set_title(result.title)
    if 0 < len(chosen) <= _LABELS_MAX:
        ax.legend(loc="best")
    return ax
