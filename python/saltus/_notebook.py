# SPDX-License-Identifier: MIT
"""What notebooks show, and the cell magic %%lisma."""

from __future__ import annotations

import ast
import html
import keyword
import re
from typing import TYPE_CHECKING, Any

from . import _saltus
from ._model import load

if TYPE_CHECKING:
    from ._events import Events
    from ._model import Model
    from ._result import Result

_ROWS_MAX = 20
_WORDS = (
    "state from init const macro if else for at every set goto stop contact friction data var der pre post noEvent "
    "critical unilateral bilateral shortliving end time experiment and or not sin cos tan exp log sqrt abs min max sign"
).split()


def _table(head: list[str], rows: list[list[Any]]) -> str:
    cells = "".join(f"<th>{html.escape(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(c))}</td>" for c in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def model_html(model: "Model") -> str:
    rows = [
        [v.name, v.unit, "input" if v.input else "discrete" if v.discrete else "", v.line or ""]
        for v in list(model.variables.values())[:_ROWS_MAX]
    ]
    more = len(model.variables) - len(rows)
    parts = [f"<b>{html.escape(model.name)}</b>", _table(["variable", "unit", "", "line"], rows)]
    if more > 0:
        parts.append(f"<p>... and {more} more</p>")
    if model.constants:
        parts.append("<p>constants: " + html.escape(", ".join(list(model.constants)[:_ROWS_MAX])) + "</p>")
    graph = model.graph()
    if graph:
        parts.append(graph[graph.index("<svg") :])
    if model.warnings:
        parts.append("<pre>" + html.escape("\n".join(str(w) for w in model.warnings)) + "</pre>")
    return "".join(parts)


def events_html(events: "Events") -> str:
    rows = [
        [f"{e.t:.9g}", e.kind, e.automaton or "", e.source or "", e.target or "", "yes" if e.certified else "no"]
        for e in events[:_ROWS_MAX]
    ]
    text = _table(["t", "kind", "automaton", "from", "to", "certified"], rows)
    return text + (f"<p>... and {len(events) - _ROWS_MAX} more</p>" if len(events) > _ROWS_MAX else "")


def result_html(result: "Result") -> str:
    text = f"<p>{html.escape(repr(result)[1:-1])}</p>"
    try:
        picture = result.svg()
    except ValueError:  # nothing to draw, or no memory of the engine behind it
        return text
    return text + picture[picture.index("<svg") :]


# ---- %%lisma ------------------------------------------------------------------------------------


def _value(text: str) -> Any:
    """What Python reads in a word; a text where it reads nothing."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _lisma(line: str, cell: str) -> Any:
    """Compile the cell. ``%%lisma NAME`` puts the model into the variable NAME; ``%%lisma NAME until=5`` runs it too
    and shows the result, which is then in NAME_result."""
    from IPython import get_ipython

    words = line.split()
    name = words[0] if words and "=" not in words[0] else "model"
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"%%lisma {name}: a name of Python is needed")
    options: dict[str, Any] = {}
    for word in words[bool(words and "=" not in words[0]) :]:
        key, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"%%lisma: {word!r} is not like until=5")
        options[key] = value.split(",") if key == "out" else _value(value)
    shell = get_ipython()
    # a cell that holds no statement is a text all the same
    model = load(cell if cell.endswith("\n") else cell + "\n", name=f"{name}.lisma")
    shell.push({name: model})
    if not options:
        return model
    result = model.run(**options)
    shell.push({f"{name}_result": result})
    return result


def completions(text: str, start: str) -> list[str]:
    """Names of a text, and words of the language, that begin so."""
    names = {name for _, name, _, _ in _saltus.outline(text)}
    return sorted(n for n in names | set(_WORDS) if n.startswith(start) and n != start)


def _in_cell(text: str, offset: int) -> list[Any]:
    """Completions inside a cell that begins with %%lisma."""
    from IPython.core.completer import Completion, provisionalcompleter

    found = re.search(r"[^\W\d]\w*$", text[:offset])
    start = found.group() if found else ""
    names = completions(text.partition("\n")[2], start)
    with provisionalcompleter():
        return [Completion(offset - len(start), offset, name, type="lisma") for name in names]


def load_extension(shell: Any) -> None:
    shell.register_magic_function(_lisma, "cell", "lisma")
    completer = getattr(shell, "Completer", None)
    if completer is None or hasattr(completer, "_saltus_usual"):
        return
    usual = completer._saltus_usual = completer.completions

    def both(text: str, offset: int) -> Any:
        return iter(_in_cell(text, offset)) if re.match(r"\s*%%lisma\b", text) else usual(text, offset)

    completer.completions = both


def unload_extension(shell: Any) -> None:
    completer: Any = getattr(shell, "Completer", None)
    if hasattr(completer, "_saltus_usual"):
        completer.completions = completer._saltus_usual
        del completer._saltus_usual
