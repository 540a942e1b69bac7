"""The JSON Lines protocol with programs: the lines of a program, and the encoding of lines to it.

Rule: any other line is text that the program printed; it is shown, and never an error. See docs/reference/programs.md.
"""

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct

from engine.core.records.records import JsonValue
from engine.runtimes.attempts.questions import MOST_OPTIONS, OPTION_CHARACTERS


class TextLine(Struct, tag_field="type", tag="text"):
    """Output, shown as it comes."""

    text: str


class StepLine(Struct, tag_field="type", tag="step"):
    """A finished step, which is not repeated."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    output: JsonValue = None


class UsageLine(Struct, tag_field="type", tag="usage"):
    """Usage since the last usage line."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cost_usd: float | str | None = None


Option: TypeAlias = Annotated[str, Meta(min_length=1, max_length=OPTION_CHARACTERS)]


class AskLine(Struct, tag_field="type", tag="ask"):
    """A question to a person; the answer has the same id."""

    id: str | int
    question: Annotated[str, Meta(min_length=1)]
    options: Annotated[list[Option], Meta(max_length=MOST_OPTIONS)] = []
    default: str | None = None
    """The answer if none is given within `due_s`."""
    due_s: float | None = None


class ResultLine(Struct, tag_field="type", tag="result"):
    """The output; the program ends after it."""

    output: JsonValue = None


Line: TypeAlias = TextLine | StepLine | UsageLine | AskLine | ResultLine


class NotUnderstood(ValueError):
    """A JSON line of the protocol with invalid fields; the message says which."""


def parse(line: bytes) -> Line | str:
    """Return the parsed line of a program; any other line as text.

    Raises:
        NotUnderstood: If it is a line of the protocol with invalid fields.
    """
    text = line.decode(errors="replace")
    if not line.lstrip().startswith(b"{"):
        return text
    try:
        value: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return text
    if value.get("type") not in ("text", "step", "usage", "ask", "result"):
        return text
    try:
        return msgspec.convert(value, Line)  # type: ignore[no-any-return]  # a union is not a class
    except msgspec.ValidationError as error:
        raise NotUnderstood(str(error)) from None


def encode(kind: str, **fields: JsonValue) -> bytes:
    """Return an encoded line for a program."""
    return msgspec.json.encode({"type": kind, **fields}) + b"\n"
