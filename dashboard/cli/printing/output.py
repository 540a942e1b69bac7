"""Output of subcommands: one JSON object or a table on stdout, and failures as one line on stderr.

Rule: every line is cleaned, also in a pipe, whose content may be printed later; so a path or a name can neither control
a terminal nor start a line of its own. JSON is escaped to ASCII and needs no cleaning. Only the output of a run is
written to a pipe unchanged. See docs/reference/command-line.md.
"""

import math
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

import click

from dashboard.clean import clean, clean_lines

if TYPE_CHECKING:
    from pathlib import Path

DONE = 0
WORK_FAILED = 1
WRONG_USAGE = 2
"""Wrong usage, or a file that cannot be used."""
REFUSED = 3
"""Refused by the engine, or not trusted."""
NO_ENGINE = 4
INTERRUPTED = 130

FAULTS = frozenset({"team_file_error", "unusable_team_file"})
UNKNOWN = "–"
_GAP = "  "


@dataclass(slots=True)
class OutputSettings:
    """Options of every subcommand; kept in `ctx.obj`."""

    db: "Path | None" = None
    """`--db` or QUARTERDECK_DB, as it was given."""
    json: bool = False
    debug: bool = False
    database: "Path | None" = None
    """The database that the subcommand is about, once that is known."""


def quote_path(path: "Path | str") -> str:
    """Return a path as a shell reads it, for a command that is shown."""
    return shlex.quote(str(path))


class CommandFailure(Exception):
    """Ends a subcommand; `main` prints it and exits.

    Attributes:
        code: The kind of failure, such as `no_database`.
        message: What and why, in one line; several lines where a file has several faults.
        hint: What to do next; empty where the message says it.
        exit_status: 1 the work failed, 2 wrong usage, 3 refused, 4 no engine answered.
        details: Lines that stand below.
        about: More fields for `--json`, such as which team it is about.
    """

    def __init__(
        self,
        code: str,
        message: str,
        hint: str = "",
        exit_status: int = WRONG_USAGE,
        *,
        details: Sequence[str] = (),
        about: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.exit_status = code, message, hint, exit_status
        self.details, self.about = details, about or {}


def fail(
    code: str,
    message: str,
    hint: str = "",
    exit_status: int = WRONG_USAGE,
    *,
    details: Sequence[str] = (),
    about: Mapping[str, object] | None = None,
) -> NoReturn:
    """Raise a `CommandFailure` with these attributes, which ends the subcommand."""
    raise CommandFailure(code, message, hint, exit_status, details=details, about=about)


def is_interactive() -> bool:
    """Return True if a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class TextTable(NamedTuple):
    """Rows under headings; numbers stand at the right, None is shown as unknown."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    empty: str = "nothing"
    """Printed instead of a table without rows."""
    right: frozenset[str] = frozenset()
    """Columns at the right although their cells are texts, such as times."""

    def lines(self) -> list[str]:
        """Lay the table out for a terminal."""
        if not self.rows:
            return [self.empty]
        cells = [[_cell(value) for value in row] for row in self.rows]
        numeric = [
            name in self.right or all(row[at] is None or isinstance(row[at], int | float) for row in self.rows)
            for at, name in enumerate(self.columns)
        ]
        lines = [list(self.columns), *cells]
        widths = [max(_width(line[at]) for line in lines) for at in range(len(self.columns))]
        return [_align_cells(line, widths, numeric) for line in lines]


Lines: TypeAlias = TextTable | str | Sequence[str]
"""A table, one line, or several."""
Shown: TypeAlias = Lines | Callable[[], Lines] | None
"""What a person sees instead of the JSON; None shows nothing. A callable is only called where it is needed."""


def is_json(ctx: click.Context) -> bool:
    """Return whether stdout is to hold JSON."""
    return ctx.ensure_object(OutputSettings).json


def emit(ctx: click.Context, kind: str, fields: Mapping[str, Any], table: Shown) -> None:
    """Write the result of a subcommand to stdout: with `--json` its fields as one line of JSON, else `table`."""
    if is_json(ctx):
        write_json({"v": 1, "kind": kind, **fields})
        return
    content = table() if callable(table) else table
    if content is not None:
        write_lines(
            content.lines() if isinstance(content, TextTable) else [content] if isinstance(content, str) else content
        )


def write_json(obj: Mapping[str, Any]) -> None:
    """Write one object as one line to stdout."""
    _write(sys.stdout, _to_json(_to_json_value(obj), separators=(",", ":")))


def _to_json(obj: object, separators: tuple[str, str] | None = None) -> str:
    import json  # with `--json` alone; the help is to be there at once

    return json.dumps(obj, ensure_ascii=True, allow_nan=False, separators=separators)


def write_lines(lines: Sequence[str]) -> None:
    """Write lines to stdout."""
    _write(sys.stdout, "\n".join(map(clean, lines)))


def write_output(text: str) -> None:
    """Write the output of a team to stdout: cleaned on a terminal, unchanged in a pipe or a file."""
    _write(sys.stdout, "\n".join(clean_lines(text)) if sys.stdout.isatty() else text)


def say(*lines: str) -> None:
    """Write lines for the person at the terminal to stderr, so that stdout holds results only."""
    _write(sys.stderr, "\n".join(map(clean, lines)))


_LONGEST = 1_000
"""Characters of a line about a failure: a name in it may be as long as an argument can be."""


def _cut_middle(text: str) -> str:
    """Return a text with its middle left out where it is too long: what was wrong often stands at its end."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"


def show_failure(failure: CommandFailure, *, as_json: bool) -> None:
    """Write a failure to stderr, where nothing else is written to it in the same shape."""
    if as_json:
        message = "\n".join([failure.message, *failure.details])
        body = {"v": 1, "kind": "error", "code": failure.code, "message": message, "hint": failure.hint}
        _write(sys.stderr, _to_json(body | dict(failure.about)))
        return
    hint = f"; {failure.hint}" if failure.hint else ""
    team = f"team {failure.about['team']}" if "team" in failure.about else ""
    hint = hint if team in failure.message else f" ({team}){hint}"
    if failure.code in FAULTS:  # a line each, which begins with the name of the file and the line, as editors read them
        lines = clean_lines(failure.message)
    else:
        lines = [
            f"quarterdeck: {clean(_cut_middle(failure.message))}{clean(_cut_middle(hint))}",
            *map(clean, failure.details),
        ]
    _write(sys.stderr, "\n".join(map(_cut_middle, lines)))


def _write(stream: Any, text: str) -> None:
    stream.write(text + "\n")
    stream.flush()


def _to_json_value(value: Any) -> Any:
    """Bring values into what JSON has: unknown and not-a-number are null, money is a string."""
    if isinstance(value, Mapping):
        return {str(key): _to_json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    # Money and paths, whose modules need not be here: 8 ms of every `--help`.
    return str(value) if hasattr(value, "as_tuple") or hasattr(value, "__fspath__") else value


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return UNKNOWN
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return clean(str(value))


def _align_cells(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = [
        " " * (width - _width(cell)) + cell if at_right else cell + " " * (width - _width(cell))
        for cell, width, at_right in zip(cells, widths, numeric, strict=True)
    ]
    return _GAP.join(padded).rstrip()


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # its tables cost 10 ms, and most texts are ASCII

    return cell_len(text)
