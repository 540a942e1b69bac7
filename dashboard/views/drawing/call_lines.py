"""What a person has to approve, in full: the arguments and diffs of a call, or agents that may join the team."""

import json
from collections.abc import Iterator

from msgspec import to_builtins

from dashboard.clean import clean
from dashboard.views.drawing.rows import Cell, labelled_cell
from dashboard.views.words.field_names import FIELDS
from engine.core.queries.people.offers import ScoredOffer, scored_offers
from engine.core.queries.team.code import references_of
from engine.core.queries.team.discovery import PLACES
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
    for offer in scored_offers(escalation.detail):
        yield from _offer_lines(offer)
    for path, lines in diffs_of(escalation):
        yield "diff", clean(path)
        yield "", "\n".join(lines)


def _offer_lines(offer: ScoredOffer) -> Iterator[tuple[str, str]]:
    """Yield who is offered from where, all that it uses outside the engine, and what its spec says."""
    found, match = offer
    yield "agent", clean(f"{found.spec.name}, from {PLACES[found.source]}: {found.id}")
    if match is not None:
        yield "", clean(f"score {match.score:.2f}, matches {', '.join(match.matched)}")
    for reference in references_of(found.spec):
        yield "uses", clean(reference)
    values, defaults = to_builtins(found.spec), to_builtins(AgentSpec(name=found.spec.name))
    for label, name in FIELDS:
        if name == "agent_type" or values[name] != defaults[name]:
            yield "", f"{BAR}{label}: {_in_json(values[name])}"


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
