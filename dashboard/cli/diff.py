"""`diff`: what differs between two moments of a database, two databases, or two archives.

Rule: files are only read, and none of them needs an engine.
"""

from contextlib import AbstractContextManager, ExitStack

import click

from dashboard.cli.database import database_of
from dashboard.cli.printing.output import DONE, WRONG_USAGE, emit, fail
from dashboard.cli.printing.times import seq_of
from dashboard.user.typed_paths import exists, path_typed
from dashboard.views.changes.differences import MANY, difference_lines
from dashboard.views.words.amounts import duration, pluralize
from dashboard.views.words.amounts import moment as said_moment
from engine.core.queries.differences import Difference
from engine.core.records.records import names
from engine.errors import ImportRefused
from engine.history.moments import Moment, compare_moments, open_moment
from store.wall_clock import wall_ms


@click.command("diff")
@click.argument("a", metavar="A[@SEQ]")
@click.argument("b", metavar="B[@SEQ]")
@click.option("--all", "every", is_flag=True, help="Show every difference, also where there are many.")
@click.pass_context
def diff(ctx: click.Context, a: str, b: str, *, every: bool) -> int:
    """Show what differs from A to B, by subject: databases, archives, or moments of a database.

    A and B are paths; after @ comes a seq or a time, as for --at of fork. @SEQ alone is of the team's own database.
    """
    with ExitStack() as stack:
        try:
            one, other = (stack.enter_context(_opened(ctx, said)) for said in (a, b))
            found = compare_moments(one, other)
        except ImportRefused as refused:
            fail("import_refused", str(refused), "", WRONG_USAGE)
    body = {"v": 1, "kind": "diff", "a": _side(one), "b": _side(other), "items": [_item(each) for each in found]}
    emit(ctx, body, lambda: _shown(one, other, found, every=every))
    return DONE


def _opened(ctx: click.Context, said: str) -> AbstractContextManager[Moment]:
    path, when = path_typed(said), ""
    if not exists(path) and "@" in said:
        named, _, when = said.rpartition("@")
        path = path_typed(named) if named else database_of(ctx, changes=False)
    if not exists(path):
        fail("no_database", f"there is no file {str(path)!r}", "A and B are paths, or @SEQ", WRONG_USAGE)
    return open_moment(path, (lambda reader: seq_of(reader, when)) if when else None)


def _side(one: Moment) -> dict[str, object]:
    return {"path": str(one.path), "seq": one.seq, "at_ms": one.state.at_ms}


def _item(one: Difference) -> dict[str, object]:
    return {name: getattr(one, name) for name in names(one)}


def _shown(one: Moment, other: Moment, found: list[Difference], *, every: bool) -> list[str]:
    apart_ms = other.state.at_ms - one.state.at_ms
    apart = f", {duration(abs(apart_ms))} {'later' if apart_ms >= 0 else 'earlier'}" if one.seq and other.seq else ""
    lines = difference_lines(found, most=len(found) if every else MANY)
    told = [f"{cell.lead}{cell.text}" for cell in lines]
    return [f"from {_called(one)}", f"to   {_called(other)}{apart}: {pluralize(len(found), 'difference')}", *told]


def _called(one: Moment) -> str:
    if not one.seq:
        return f"{one.path} before its first event"
    return f"{one.path} at seq {one.seq:,}, {said_moment(one.state.at_ms, wall_ms())}"
