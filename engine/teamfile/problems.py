"""What is wrong with a team file: each fault in one line with file, line and field."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

Loc = tuple[str | int, ...]
"""The way to a value: keys and list positions."""

MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault."""

    line: int
    """Where it stands, 1 for the first line."""
    field: str
    """The way to it, such as `agents[scout].timeout_s`; empty where it is the whole file."""
    text: str
    """What is wrong and what is allowed."""

    def shown(self, path: Path | str) -> str:
        """Return the one line that a person reads."""
        field = f" {self.field}:" if self.field else ""
        return f"{printable(str(path))}:{self.line}:{field} {self.text}"


class TeamFileError(Exception):
    """A team file cannot be used.

    Attributes:
        path: Which file.
        problems: Every fault that was found, in the order of the file.
    """

    def __init__(self, path: Path, problems: Sequence[Problem]) -> None:
        self.path = path
        self.problems = sorted(problems, key=lambda problem: problem.line)
        lines = [problem.shown(path) for problem in self.problems[:MOST_SHOWN]]
        if len(self.problems) > MOST_SHOWN:
            lines.append(f"{printable(str(path))}: and {len(self.problems) - MOST_SHOWN} more")
        super().__init__("\n".join(lines))


class UnusableTeamFile(TeamFileError):
    """What stands at a path cannot be a team file at all."""

    def __init__(self, path: Path, text: str) -> None:
        Exception.__init__(self, f"{printable(str(path))}: {text}")
        self.path = path
        self.problems = [Problem(1, "", text)]


def printable(text: str, limit: int = 300) -> str:
    """Return `text` on one line, with everything escaped that a terminal would act on."""
    plain = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def value_shown(value: object) -> str:
    """Return a value as it is named in a fault: what it is, and the beginning of it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {printable(repr(value), 60)}"
    return "a list" if isinstance(value, list) else "a block of keys"


def or_nearest(name: str, allowed: Iterable[str]) -> str:
    """Return `did you mean …?`, or what is allowed where nothing is near."""
    names = list(dict.fromkeys(allowed))
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    shown = ", ".join(names[:MOST_SHOWN]) + (", …" if len(names) > MOST_SHOWN else "")
    return f"there are {shown}" if names else "there are none"
