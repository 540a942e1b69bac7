"""Reads docstrings in the styles of Google, NumPy and Sphinx: a description, and one for each parameter.

Of the three styles, the one with which docstring_parser finds most sections is used. A docstring that violates its
style, for example with an unindented continuation line, is used whole as the description. See docs/reference/tools.md.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from docstring_parser import Docstring, ParseError, numpydoc, rest
from docstring_parser.google import GoogleParser, Section, SectionType

_PARAMETER_SECTIONS = (
    "Args",
    "Arguments",
    "Parameters",
    "Params",
    "Keyword Args",
    "Keyword Arguments",
    "Other Parameters",
)
_OTHER_SECTIONS = (
    "Returns",
    "Return",
    "Yields",
    "Raises",
    "Example",
    "Examples",
    "Note",
    "Notes",
    "Warning",
    "Warnings",
    "See Also",
    "Todo",
    "References",
    "Attributes",
    "Source",
)


@dataclass(slots=True)
class ParsedDocstring:
    """A parsed docstring."""

    text: str = ""
    """The text before the first section."""
    parameters: dict[str, str] = field(default_factory=dict)
    """One line for each described parameter."""


def docstring_of(function: Callable[..., Any]) -> ParsedDocstring:
    """Return the parsed docstring of a function; empty if it has none of its own."""
    docstring = inspect.getdoc(function) if getattr(function, "__doc__", None) else None
    return parse_docstring(docstring or "")


def parse_docstring(docstring: str) -> ParsedDocstring:
    """Return a parsed docstring; common indentation is ignored."""
    readings: list[Docstring] = []
    for parse in _parsers():
        with suppress(ParseError):
            readings.append(parse(docstring))
    if not readings:
        return ParsedDocstring(docstring.strip())
    reading = max(readings, key=lambda candidate: len(candidate.meta))
    return ParsedDocstring((reading.description or "").strip(), dict(_descriptions(reading)))


def _descriptions(reading: Docstring) -> Iterator[tuple[str, str]]:
    """Yield the name of each parameter, and its description as one line."""
    for parameter in reading.params:
        if parameter.args[0] != "attribute":
            for name in parameter.arg_name.split(","):
                yield name.strip().lstrip("*"), " ".join((parameter.description or "").split())


@cache
def _parsers() -> tuple[Callable[[str], Docstring], ...]:
    # The other sections are ignored; each is a single text, so that no fault in them matters.
    sections = [Section(title, "param", SectionType.MULTIPLE) for title in _spellings(_PARAMETER_SECTIONS)]
    sections += [Section(title, "other", SectionType.SINGULAR) for title in _spellings(_OTHER_SECTIONS)]
    return GoogleParser(sections).parse, rest.parse, numpydoc.parse


def _spellings(titles: Iterable[str]) -> Iterator[str]:
    for title in titles:
        yield from dict.fromkeys((title, title.capitalize(), title.lower()))
