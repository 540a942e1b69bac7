"""`diff`: what differs between two moments of a database, two databases, or two archives.

Rule: files are only read, and none of them needs an engine.
"""

from contextlib import AbstractContextManager, ExitStack

import click

from dashboard.cli.database import database_of
from dashboard.cli.printing.output import DONE, emit, fail
from dashboard.cli.printing.times import seq_of
from dashboard.user.typed_paths import exists, expand_path
from dashboard.views.changes.differences import MAX_SHOWN, difference_lines
from dashboard.views.words.amounts import duration, pluralize
from dashboard.views.words.amounts import moment as said_moment
from engine.core.queries.differences import Difference
from engine.core.records.records import field_names
from engine.errors import ImportRefused
from engine.history.moments import Moment, compare_moments, open_moment
from store.wall_clock import wall_ms


@click.command("diff")
@click.argument("a", metavar="A[@SEQ]")
@click.argument("b", metavar="B[@SEQ]")
@click.option("--all", "show_all", is_flag=True, help="Show every difference, also where there are many.")
@click.pass_context
def diff(ctx: click.Context, a: str, b: str, *, show_all: bool) -> int:
    """Show what differs from A to B, by subject: databases, archives, or moments of a database.

    A and B are paths; after @ comes a seq or a time, as for --at of fork. @SEQ alone is of the team's own database.
    """
    with ExitStack() as stack:
        try:
            moment, other = (stack.enter_context(_open_side(ctx, side)) for side in (a, b))
            differences = compare_moments(moment, other)
        except ImportRefused as refused:
            fail("import_refused", str(refused))
    body = {
        "a": _side_item(moment),
        "b": _side_item(other),
        "items": [{name: getattr(difference, name) for name in field_names(difference)} for difference in differences],
    }
    emit(ctx, "diff", body, lambda: _format_diff(moment, other, differences, show_all=show_all))
    return DONE


def _open_side(ctx: click.Context, side: str) -> AbstractContextManager[Moment]:
    path, when = expand_path(side), ""
    if not exists(path) and "@" in side:
        named, _, when = side.rpartition("@")
        path = expand_path(named) if named else database_of(ctx, changes=False)
    if not exists(path):
        fail("no_database", f"there is no file {str(path)!r}", "A and B are paths, or @SEQ")
    return open_moment(path, (lambda reader: seq_of(reader, when)) if when else None)


def _side_item(moment: Moment) -> dict[str, object]:
    return {"path": str(moment.path), "seq": moment.seq, "at_ms": moment.state.at_ms}


def _format_diff(moment: Moment, other: Moment, differences: list[Difference], *, show_all: bool) -> list[str]:
    apart_ms = other.state.at_ms - moment.state.at_ms
    apart = f", {duration(abs(apart_ms))} {'later' if apart_ms >= 0 else 'earlier'}" if moment.seq and other.seq else ""
    lines = difference_lines(differences, limit=len(differences) if show_all else MAX_SHOWN)
    texts = [f"{cell.lead}{cell.text}" for cell in lines]
    return [
        f"from {_describe_side(moment)}",
        f"to   {_describe_side(other)}{apart}: {pluralize(len(differences), 'difference')}",
        *texts,
    ]


def _describe_side(moment: Moment) -> str:
    if not moment.seq:
        return f"{moment.path} before its first event"
    return f"{moment.path} at seq {moment.seq:,}, {said_moment(moment.state.at_ms, wall_ms())}"
