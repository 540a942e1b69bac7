"""A moment of the past as the frame says it: the header, what cannot be done there, and what a fork would carry on."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dashboard.views.drawing.rows import Cell, labelled
from dashboard.views.event_log import Entry
from dashboard.views.words.amounts import duration, moment, pluralize
from dashboard.views.words.keyed import fill_keys
from engine.core.queries.team.tree import open_tasks
from engine.core.state import State

PAST_REFUSAL = (
    "refused: this is the past, where nothing can be changed; <live:L> goes back to live, <fork:F> forks from here"
)
RATE_MS = 5_000
"""What happened a second is counted over so long."""
CAUGHT_UP = "played up to the newest event; live again"
ALREADY_LIVE = (
    "this is the newest event already; <mark before:[> goes back to the last mark, <minute before:{> by a minute"
)
KEYS = (
    ("<mark before:[> <next mark:]>", "mark"),
    (", .", "event"),
    ("<play:p>", "play"),
    ("<fork:F>", "fork"),
    ("<live:L>", "live"),
    ("<minute before:{> <next minute:}>", "1 min"),
)
"""What the last line of every screen says there."""
_MAX_RUNS = 6
"""Runs that a fork dialog names."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The moment that is shown in place of the newest one."""

    seq: int
    at_ms: int
    """The time there, UTC milliseconds; between two events, while it plays, that of neither."""
    live_seq: int
    """The newest event of the file."""
    now_ms: int
    """The time of the team now."""
    speed: int = 0
    """How many times as fast as it happened it plays; 0 while it stands still."""


def past_header_cells(past: Moment) -> list[Cell]:
    """Return the right side of the header there; those first that may not fall away."""
    ago = duration(past.now_ms - past.at_ms)
    plays = [Cell(f"▸ ×{past.speed}", "past bold")] if past.speed else []
    return [
        Cell(" PAST ", "past-badge"),
        Cell(moment(past.at_ms, past.now_ms), "past bold"),
        *plays,
        Cell(f"{ago} ago", "past"),
        Cell("actions are off", "muted"),
    ]


def empty_in_past(empty: Sequence[str], past: Moment) -> Sequence[str]:
    """Return what an empty table says there: instead of what to do about it, how to leave the moment."""
    if len(empty) < 2:
        return empty
    hint = fill_keys("<next mark:]> goes to the next mark, <live:L> back to live")
    return (empty[0], f"so it was at {moment(past.at_ms, past.now_ms)}; {hint}")


def play_keys(speed: int) -> tuple[tuple[str, str], ...]:
    """Return the keys of the past; while it plays those that change how fast."""
    played = (("<play:p>", f"stop ×{speed}"), ("<slower:(> <faster:)>", "slower, faster"))
    keys = (*played, *(pair for pair in KEYS if pair[1] != "play")) if speed else KEYS
    return tuple((fill_keys(key), does) for key, does in keys)


def fork_path(db: Path, seq: int) -> Path:
    """Return where a fork of `db` stands unless another path is chosen."""
    return db.with_name(f"{db.stem}.at-{seq}{db.suffix}")


def fork_lines(state: State, *, live_seq: int, now_ms: int) -> list[Cell]:
    """Return what a fork of the moment shown would carry on."""
    begun = sum(run.running for run in state.runs.values())
    later = live_seq - state.seq
    lines = [
        labelled(
            "from",
            f"the team as of seq {state.seq:,}, {moment(state.at_ms, now_ms)}"
            + (f"; {pluralize(later, 'later event')} stay behind" if later > 0 else ""),
        ),
        labelled(
            "carries on",
            f"{pluralize(len(state.runs), 'open run')}, {pluralize(open_tasks(state), 'open task')}, "
            f"{pluralize(len(state.agents), 'agent')}",
        ),
    ]
    for place, run in enumerate(list(state.runs.values())[:_MAX_RUNS]):
        lines.append(Cell(f"{run.id}  {run.title}", "muted", "runs        " if place == 0 else " " * 12))
    if len(state.runs) > _MAX_RUNS:
        lines.append(Cell(f"and {len(state.runs) - _MAX_RUNS} more", "faint", " " * 12))
    if begun:
        again = "begins again from its" if begun == 1 else "begin again from their"
        lines.append(labelled("at work", f"{pluralize(begun, 'attempt')} {again} finished steps"))
    lines.append(Cell("everything in the new file is paused until it is resumed; this one stays as it is", "muted"))
    return lines


def fork_shell(db: Path, target: str, seq: int) -> str:
    """Return the command line that makes the same fork."""
    return f"quarterdeck fork {shlex.quote(target)} --at {seq} --db {shlex.quote(str(db))}"


def describe_fork(*, asked_seq: int, at_seq: int, runs: int, tasks: int) -> str:
    """Return what was made; `at_seq` is its last event, later than the one asked for where others came with that."""
    work = f"{pluralize(runs, 'run')} and {pluralize(tasks, 'open task')}, all paused"
    return f"✓ forked at {fork_moment(asked_seq, at_seq)}: {work}"


def fork_moment(asked_seq: int, at_seq: int) -> str:
    """Return the moment of a fork, such as `seq 2,884–2,886`: the event asked for and what followed at once."""
    return f"seq {asked_seq:,}" + (f"–{at_seq:,}" if at_seq > asked_seq else "")


def no_mark_message(by: int) -> str:
    """Return what is said where no further mark is there."""
    return fill_keys(
        "no mark before this moment; <minute before:{> goes back by a minute"
        if by < 0
        else "no mark after this moment; <live:L> goes back to live"
    )


def rate_of(recent: Sequence[Entry], at_ms: int) -> float:
    """Return the events a second over the last seconds before a moment.

    Args:
        recent: Events up to that moment, the newest last.
        at_ms: Its time.
    """
    count, first_ms = 0, at_ms - RATE_MS
    for entry in reversed(recent):
        if entry.at_ms <= first_ms:
            break
        count += 1
    else:  # no older one is kept: where those kept fill less time, they came faster
        first_ms = recent[0].at_ms if len(recent) > 1 else first_ms
    return count * 1_000 / max(1_000, at_ms - first_ms)
