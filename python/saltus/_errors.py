# SPDX-License-Identifier: MIT
"""Exceptions: what went wrong, where in the model, when, and what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._result import Result


#: options of the command line that have another name as arguments here
_ARGUMENTS = {"hmin": "h_min", "hmax": "h_max", "from": "start", "jobs": "threads"}
_OPTION = re.compile(
    r"--(rtol|atol|h0|hmin|hmax|step|from|until|every|gamma|seed|jobs|event-eps|max-events|max-steps)\b"
    r"|--(method|zeno|detection|sliding) (\w+)"
)


def _argument(found: re.Match[str]) -> str:
    name = found[1] or found[2]
    name = _ARGUMENTS.get(name, name.replace("-", "_"))
    return f'{name}="{found[3]}"' if found[2] else name


def in_python(text: str) -> str:
    """A hint of the library with the options of the command line as the arguments that they are here."""
    return _OPTION.sub(_argument, text) if "--" in text else text


def _rendered_in_python(text: str) -> str:
    """Only the hints: lines of the model stay what they are."""
    lines = text.split("\n")
    return "\n".join(in_python(line) if line.lstrip().startswith("= hint:") else line for line in lines)


@dataclass(frozen=True)
class Diagnostic:
    """One message about a model."""

    code: str
    severity: str  #: "note", "warning" or "error"
    file: str | None
    line: int
    column: int
    span: tuple[int, int]  #: bytes of the source that it speaks of
    message: str
    hint: str | None
    rendered: str  #: the whole message: place, source line, carets, hint

    def __post_init__(self) -> None:
        if self.hint:
            object.__setattr__(self, "hint", in_python(self.hint))
            object.__setattr__(self, "rendered", _rendered_in_python(self.rendered or ""))

    def __str__(self) -> str:
        return self.rendered or self.message

    def _repr_pretty_(self, p: Any, cycle: bool) -> None:
        p.text(str(self))


class SaltusError(Exception):
    """The base of all errors that concern a model or a run.

    Attributes: ``code`` (documented, such as ``"E0203"``; None where there is none), ``message``, ``hint``,
    ``file``, ``line`` (0 where there is none), ``column``, ``span`` (bytes of the source, or None) and ``rendered``,
    the whole message with the line of the model and carets below the place.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        file: str | None = None,
        line: int = 0,
        column: int = 0,
        span: tuple[int, int] | None = None,
        rendered: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = in_python(hint) if hint else hint
        self.file = file
        self.line = line
        self.column = column
        self.span = span
        self.rendered = _rendered_in_python(rendered or "").rstrip("\n") or None

    def __str__(self) -> str:
        if self.rendered:
            return self.rendered
        text = f"{self.code}: {self.message}" if self.code else self.message
        return f"{text}\nhint: {self.hint}" if self.hint else text

    def __reduce__(self) -> Any:
        return (_rebuild, (type(self), self.message, self.__dict__))

    def _render_traceback_(self) -> list[str]:
        """What notebooks show: the message with its carets instead of frames of Python."""
        return [f"{type(self).__name__}: {self}"]


def _rebuild(kind: type[SaltusError], message: str, fields: dict[str, Any]) -> SaltusError:
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.__dict__.update(fields)
    return error


class ModelError(SaltusError):
    """The text of a model is wrong. ``diagnostics`` holds all messages; the other attributes are those of the first
    error."""

    diagnostics: list[Diagnostic]

    def __init__(self, message: str, diagnostics: list[Diagnostic]) -> None:
        first = next((d for d in diagnostics if d.severity == "error"), None)
        if first is None:
            super().__init__(message)
        else:
            super().__init__(
                first.message,
                code=first.code,
                hint=first.hint,
                file=first.file,
                line=first.line,
                column=first.column,
                span=first.span,
                rendered="\n".join(d.rendered.rstrip("\n") for d in diagnostics),
            )
        self.diagnostics = diagnostics


class RunError(SaltusError):
    """A run failed after it had begun. ``time`` is when; ``result`` holds everything recorded until then (None for a
    Sim, whose values stay at the last good point)."""

    time: float | None
    status: int
    mode: dict[str, str]
    result: "Result | None"

    def __init__(self, message: str, *, status: int, time: float | None, **fields: Any) -> None:
        super().__init__(message, **fields)
        self.status = status
        self.time = time
        self.mode = {}
        self.result = None


class UnknownName(SaltusError, KeyError):
    """The model, or a result, has no quantity of this name."""

    name: str

    def __init__(self, name: str, hint: str | None = None, where: str = "the model") -> None:
        SaltusError.__init__(self, f"{where} has no '{name}'", hint=hint)
        self.name = name


# ---- made for the extension ---------------------------------------------------------------------


def model_error(*, status: int, text: str, name: str, messages: list[dict[str, Any]]) -> ModelError:
    return ModelError(f"{name}: {text}", [Diagnostic(**m) for m in messages])


def value_error(*, text: str) -> ValueError:
    return ValueError(in_python(text))


def run_error(**fields: Any) -> RunError:
    return RunError(fields.pop("message"), **fields)


def nearest(name: str, names: list[str], lead: str) -> str | None:
    """A hint: the name that was perhaps meant, else those there are."""
    import difflib

    near = difflib.get_close_matches(name, names, 1)
    if near:
        return f"did you mean '{near[0]}'?"
    return f"{lead} {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}" if names else None


def unknown_name(*, name: str, model: Any = None, columns: list[str] | None = None) -> UnknownName:
    if columns is not None:
        return UnknownName(name, nearest(name, columns, "recorded are"), "the result")
    listed = model.names() if model is not None else []
    names = [n["name"] for kind in ("variable", "constant", "macro") for n in listed if n["kind"] == kind]
    names += [f"{n['name']}.state" for n in listed if n["kind"] == "automaton"]
    return UnknownName(name, nearest(name, names, "it has"))


def cyclic_error(
    *, status: int, time: float, rule: str | None, variable: str | None, file: str | None, line: int
) -> RunError:
    where = f"rule {rule} gave no finite number for '{variable}'" if rule else "a rule gave no finite number"
    return RunError(f"{where}; the variable kept its value", status=status, time=time, file=file, line=line)
