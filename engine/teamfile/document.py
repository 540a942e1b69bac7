"""Reads YAML into plain values with the line of each, and reports faults by file, line and field.

Built on the events of PyYAML's parser, not on its loaders: tags never create objects, only `true` and `false` are
booleans (a team named `on` or `no` keeps its name), duplicate keys are faults, and depth, size and the expansion of
aliases are limited while reading.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from engine.core.errors import did_you_mean

Loc = tuple[str | int, ...]
"""Path of a value: keys and list indices."""

MAX_SHOWN = 20
"""Faults, or names, that a message lists."""
MAX_PROBLEMS = 100
"""Faults that are described; finding the nearest name for one takes a millisecond."""
MAX_COMPARED_NAMES = 1_000
"""Names that a wrong name is compared with."""


@dataclass(frozen=True, slots=True)
class FileFault:
    """One fault of a file."""

    line: int
    """Line number, from 1."""
    field: str
    """Path of the value, such as `agents[scout].timeout_s`; empty for the whole file."""
    text: str
    """What is wrong and what is allowed."""

    def as_line(self, path: Path | str) -> str:
        """Return the fault as one line."""
        field = f" {self.field}:" if self.field else ""
        return f"{printable(str(path))}:{self.line}:{field} {self.text}"


class TeamFileError(Exception):
    """A team file has faults.

    Attributes:
        path: The file.
        problems: The faults in the order of the file; each kind of check reports at most `MAX_PROBLEMS`.
    """

    def __init__(self, path: Path, problems: Sequence[FileFault]) -> None:
        self.path = path
        self.problems = sorted(problems, key=lambda problem: problem.line)
        lines = [problem.as_line(path) for problem in self.problems[:MAX_SHOWN]]
        if len(self.problems) > MAX_SHOWN:
            more = f"{len(self.problems) - MAX_SHOWN} more{' at least' * (len(self.problems) >= MAX_PROBLEMS)}"
            lines.append(f"{printable(str(path))}: and {more}")
        super().__init__("\n".join(lines))


class UnusableTeamFile(TeamFileError):
    """The file at a path cannot be read as a team file."""

    def __init__(self, path: Path, text: str) -> None:
        Exception.__init__(self, f"{printable(str(path))}: {text}")
        self.path = path
        self.problems = [FileFault(1, "", text)]


def printable(text: str, limit: int = 300) -> str:
    """Return `text` on one line, with control characters escaped that a terminal would interpret."""
    plain = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def describe_value(value: object) -> str:
    """Return a value for a message: its type and its beginning."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {printable(repr(value), 60)}"
    return "a list" if isinstance(value, list) else "a block of keys"


def suggest(name: str, allowed: Iterable[str]) -> str:
    """Return `did you mean …?`, or the allowed names if none is similar."""
    names = list(dict.fromkeys(allowed))
    near = get_close_matches(name, names[:MAX_COMPARED_NAMES], n=1, cutoff=0.6)
    listed = ", ".join(names[:MAX_SHOWN]) + (", …" if len(names) > MAX_SHOWN else "")
    return did_you_mean(near, f"there are {listed}" if names else "there are none")


MAX_DEPTH = 32
MAX_VALUES = 100_000
"""Values of a team file, with aliases expanded."""

_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]{1,300}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]{1,300}(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_TEXT_TAGS = {"!", "tag:yaml.org,2002:str"}


class YamlDocument:
    """The values of one YAML file."""

    def __init__(self, value: Any, lines: dict[Loc, int]) -> None:
        self.value = value
        self._lines = lines

    def line(self, loc: Loc) -> int:
        """Return the line of a value, or of the nearest enclosing value that is in the file."""
        while loc and loc not in self._lines:
            loc = loc[:-1]
        return self._lines.get(loc, 1)


_UNCLOSED = {
    "while scanning a quoted scalar": "quote",
    "while parsing a flow sequence": "[",
    "while parsing a flow mapping": "{",
}
"""The unclosed sign at the end of a text, by the context that the parser reports."""


def read_document(text: str, path: Path, *, max_values: int = MAX_VALUES) -> YamlDocument:
    """Read one YAML document.

    Args:
        max_values: Limit on the values, with aliases expanded.

    Raises:
        TeamFileError: If it is not YAML, or uses a feature of YAML that team files may not use.
    """
    try:
        return _Reader(text, path, max_values).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        text_of_fault = error.problem or error.context or "not YAML"
        opened = _UNCLOSED.get(error.context or "")
        if opened and mark and error.context_mark and mark.index >= len(text.rstrip()):
            mark, text_of_fault = error.context_mark, f"the {opened} that begins here is not closed"
        line = mark.line + 1 if mark is not None else 1
        if mark is not None and text[mark.index : mark.index + 1] == "\t":
            text_of_fault = "a tab cannot indent a line; use spaces"
        raise TeamFileError(path, [FileFault(line, "", f"not valid YAML: {printable(text_of_fault)}")]) from error
    except (yaml.reader.ReaderError, UnicodeEncodeError) as error:
        # Searched again, because the position in the error may count bytes or characters.
        character = yaml.reader.Reader.NON_PRINTABLE.search(text)
        line = text.count("\n", 0, character.start()) + 1 if character is not None else 1
        sign = f" ({printable(character[0])})" if character is not None else ""
        text_of_fault = f"not valid YAML: a control character{sign}; in double quotes it can be written as an escape"
        raise TeamFileError(path, [FileFault(line, "", text_of_fault)]) from error
    except yaml.YAMLError as error:
        text_of_fault = str(error).split("\n", 1)[0]
        raise UnusableTeamFile(path, f"not valid YAML: {printable(text_of_fault)}") from error


class _Reader:
    """One pass over the events of a file."""

    def __init__(self, text: str, path: Path, max_values: int) -> None:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml, if present, is ten times faster
        self._events: Iterator[Any] = yaml.parse(text, Loader=loader)
        self._path = path
        self._lines: dict[Loc, int] = {}
        self._anchors: dict[str, Any] = {}
        self._values = 0
        self._max_values = max_values
        self._duplicates: list[FileFault] = []

    def document(self) -> YamlDocument:
        value: Any = None
        documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._refuse(event, "only one document is allowed; remove what follows '---'")
                value = self._value(next(self._events), ())
        if self._duplicates:
            raise TeamFileError(self._path, self._duplicates)
        return YamlDocument(value, self._lines)

    def _value(self, event: Any, loc: Loc) -> Any:
        self._lines.setdefault(loc, event.start_mark.line + 1)
        self._count(event, 1)
        if len(loc) > MAX_DEPTH:
            self._refuse(event, f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(event, yaml.AliasEvent):
            return self._resolve_alias(event)
        if isinstance(event, yaml.ScalarEvent):
            value: Any = self._scalar(event)
        elif event.tag is not None and event.tag not in ("!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            self._refuse_tag(event)
        else:
            value = self._list(loc) if isinstance(event, yaml.SequenceStartEvent) else self._mapping(loc)
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        return value

    def _list(self, loc: Loc) -> list[Any]:
        items: list[Any] = []
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._value(event, (*loc, len(items))))
        return items

    def _mapping(self, loc: Loc) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self._key(event)
            place = (*loc, key)
            line = event.start_mark.line + 1
            if key in values:
                fault = f"the key {printable(repr(key))} occurs twice; the first is on line {self._lines[place]}"
                self._duplicates.append(FileFault(line, "", fault))
            self._lines.setdefault(place, line)
            value = self._value(next(self._events), place)
            values.setdefault(key, value)
        return values

    def _key(self, event: Any) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            self._refuse(event, "a key must be a word")
        if event.value == "<<" and not event.style:
            self._refuse(event, "merging with '<<' is not supported; write the keys out")
        if not isinstance(self._scalar(event), str):
            self._refuse(event, f"a key must be a word, not {printable(event.value, 40)}")
        return str(event.value)

    def _resolve_alias(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            self._refuse(event, f"the alias *{printable(event.anchor, 40)} stands for nothing that is finished")
        value = self._anchors[event.anchor]
        self._count(event, _size(value, self._max_values))
        return value

    def _scalar(self, event: Any) -> Any:
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            self._refuse_tag(event)
        if event.style or event.tag is not None:
            return str(event.value)
        return plain_value(event.value)

    def _count(self, event: Any, more: int) -> None:
        self._values += more
        if self._values > self._max_values:
            self._refuse(event, f"more than {self._max_values:,} values")

    def _refuse_tag(self, event: Any) -> None:
        self._refuse(event, f"the tag {printable(event.tag, 60)} is not allowed; write plain values")

    def _refuse(self, event: Any, text: str) -> None:
        raise TeamFileError(self._path, [*self._duplicates, FileFault(event.start_mark.line + 1, "", text)])


def plain_value(text: str) -> Any:
    """Return the value of an unquoted word in the core schema of YAML 1.2, without octal and hexadecimal numbers."""
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def _size(value: Any, limit: int) -> int:
    """Count the values in `value`, no further than `limit`."""
    waiting = [value]
    count = 0
    while waiting and count <= limit:
        item = waiting.pop()
        count += 1
        if isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return count
