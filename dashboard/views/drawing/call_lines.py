"""The arguments and diffs of a call that a person has to approve, in full."""

import json
from collections.abc import Iterator

from msgspec import to_builtins

from dashboard.clean import clean
from dashboard.views.drawing.rows import Cell, labelled_cell
from engine.core.queries.people.offers import offered_in
from engine.core.queries.team.code import references_of
from engine.core.records.records import JsonValue
from engine.core.specs.spec import AgentSpec
from engine.core.state import Escalation

PIECE_CHARACTERS = 50_000
"""Maximum characters of one paragraph; a pane cuts longer ones."""
BAR = "│ "
"""Starts each line of an argument, so that none can look like another argument."""


def call_cells(escalation: Escalation) -> list[Cell]:
    """Return the arguments and diffs of a question; none if it is not about a call."""
    return [
        labelled_cell(label if not at else "", piece)
        for label, text in call_lines(escalation)
        for at, piece in enumerate(_pieces(text))
    ]


def call_lines(escalation: Escalation) -> Iterator[tuple[str, str]]:
    """Yield labels and texts: an argument as JSON on one line, a multi-line text and a diff as they are."""
    arguments = escalation.detail.get("arguments")
    if isinstance(arguments, dict):
        for at, (name, value) in enumerate(arguments.items()):
            label = "" if at else "with"
            if isinstance(value, str) and "\n" in value:
                yield label, f"{clean(name)}:"
                yield "", "\n".join(f"{BAR}{line}" for line in value.split("\n"))
            else:
                yield label, f"{clean(name)}: {_in_json(value)}"
    elif arguments is not None:
        yield "with", _in_json(arguments)
    for offer in offered_in(escalation.detail):
        yield "agent", clean(f"{offer.spec.name}, {offer.source} {offer.id}")
        yield from _spec_lines(offer.spec)
    for path, lines in diffs_of(escalation):
        yield "diff", clean(path)
        yield "", "\n".join(lines)


def _spec_lines(spec: AgentSpec) -> Iterator[tuple[str, str]]:
    """Yield all that a spec says, with the code, programs and addresses that it uses in full."""
    for name, value in to_builtins(spec).items():
        if name != "name" and value not in (None, [], {}, ""):
            yield "", f"{BAR}{clean(name)}: {_in_json(value)}"
    for reference in references_of(spec):
        yield "uses", clean(reference)


def plain_lines(escalation: Escalation) -> list[str]:
    """Return the same as text for the command line, below the question."""
    return [
        f"  {label if not at else '':<6}{line}"
        for label, text in call_lines(escalation)
        for at, line in enumerate(text.split("\n"))
    ]


def diffs_of(escalation: Escalation) -> Iterator[tuple[str, list[str]]]:
    """Yield path and lines of each file change that a question is about."""
    diffs = escalation.detail.get("diffs")
    for each in diffs if isinstance(diffs, list) else ():
        if isinstance(each, dict):
            diff = str(each.get("diff", ""))
            # The file may contain other line separators; the text after one must not look like a line of this diff.
            yield str(each.get("path", "")), diff.split("\n") if diff else []


def _in_json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in parts of at most `PIECE_CHARACTERS`, cut at ends of lines if possible."""
    start = 0
    while len(text) - start > PIECE_CHARACTERS:
        end = text.rfind("\n", start, start + PIECE_CHARACTERS)
        end = end if end > start else start + PIECE_CHARACTERS
        yield text[start:end]
        start = end + text.startswith("\n", end)
    yield text[start:]
