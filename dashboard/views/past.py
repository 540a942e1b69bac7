"""Texts about a past moment: the header, refusals, keys, and the preview of a fork."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dashboard.views.drawing.rows import Cell, labelled_cell
from dashboard.views.event_log import Entry
from dashboard.views.words.amounts import duration, moment, pluralize
from dashboard.views.words.keyed import fill_keys
from engine.core.queries.team.tree import open_tasks
from engine.core.state import State

PAST_REFUSAL = (
    "refused: this is the past, where nothing can be changed; <live:L> goes back to live, <fork:F> forks from here"
)
RATE_MS = 5_000
"""Period of the rate of events, in milliseconds."""
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
"""Keys in the last line of every screen in the past."""
_MAX_RUNS = 6
"""Runs that a fork dialog lists."""


@dataclass(frozen=True, slots=True)
class PastMoment:
    """The past moment that is shown."""

    seq: int
    at_ms: int
    """Its time, UTC milliseconds; while playing, it may be between two events."""
    live_seq: int
    """Seq of the newest event of the file."""
    now_ms: int
    """The present time of the team, UTC milliseconds."""
    speed: int = 0
    """Speed of playing, as a multiple of real time; 0 while it stands still."""


def past_header_cells(past: PastMoment) -> list[Cell]:
    """Return the right side of the header in the past, the most important cells first."""
    ago = duration(past.now_ms - past.at_ms)
    plays = [Cell(f"▸ ×{past.speed}", "past bold")] if past.speed else []
    return [
        Cell(" PAST ", "past-badge"),
        Cell(moment(past.at_ms, past.now_ms), "past bold"),
        *plays,
        Cell(f"{ago} ago", "past"),
        Cell("actions are off", "muted"),
    ]


def empty_in_past(empty: Sequence[str], past: PastMoment) -> Sequence[str]:
    """Return the text of an empty table in the past, with a hint how to leave it."""
    if len(empty) < 2:
        return empty
    hint = fill_keys("<next mark:]> goes to the next mark, <live:L> back to live")
    return (empty[0], f"so it was at {moment(past.at_ms, past.now_ms)}; {hint}")


def play_keys(speed: int) -> tuple[tuple[str, str], ...]:
    """Return the keys in the past; while playing, those of the speed first."""
    played = (("<play:p>", f"stop ×{speed}"), ("<slower:(> <faster:)>", "slower, faster"))
    keys = (*played, *(pair for pair in KEYS if pair[1] != "play")) if speed else KEYS
    return tuple((fill_keys(key), does) for key, does in keys)


def fork_path(db: Path, seq: int) -> Path:
    """Return the default path of a fork of `db`."""
    return db.with_name(f"{db.stem}.at-{seq}{db.suffix}")


def fork_lines(state: State, *, live_seq: int, now_ms: int) -> list[Cell]:
    """Describe a fork of the moment shown: its contents, and what happens to open work."""
    begun = sum(run.running for run in state.runs.values())
    later = live_seq - state.seq
    lines = [
        labelled_cell(
            "from",
            f"the team as of seq {state.seq:,}, {moment(state.at_ms, now_ms)}"
            + (f"; {pluralize(later, 'later event')} stay behind" if later > 0 else ""),
        ),
        labelled_cell(
            "carries on",
            f"{pluralize(len(state.runs), 'open run')}, {pluralize(open_tasks(state), 'open task')}, "
            f"{pluralize(len(state.agents), 'agent')}",
        ),
    ]
    for index, run in enumerate(list(state.runs.values())[:_MAX_RUNS]):
        lines.append(Cell(f"{run.id}  {run.title}", "muted", "runs        " if index == 0 else " " * 12))
    if len(state.runs) > _MAX_RUNS:
        lines.append(Cell(f"and {len(state.runs) - _MAX_RUNS} more", "faint", " " * 12))
    if begun:
        again = "begins again from its" if begun == 1 else "begin again from their"
        lines.append(labelled_cell("at work", f"{pluralize(begun, 'attempt')} {again} finished steps"))
    lines.append(Cell("everything in the new file is paused until it is resumed; this one stays as it is", "muted"))
    return lines


def fork_shell(db: Path, target: str, seq: int) -> str:
    """Return the equivalent command line of a fork."""
    return f"quarterdeck fork {shlex.quote(target)} --at {seq} --db {shlex.quote(str(db))}"


def describe_fork(*, asked_seq: int, at_seq: int, runs: int, tasks: int) -> str:
    """Describe a new fork; its last event `at_seq` may be after the requested one, at the end of that step."""
    work = f"{pluralize(runs, 'run')} and {pluralize(tasks, 'open task')}, all paused"
    return f"✓ forked at {fork_moment(asked_seq, at_seq)}: {work}"


def fork_moment(asked_seq: int, at_seq: int) -> str:
    """Return the moment of a fork, such as `seq 2,884–2,886`: from the requested event to the end of its step."""
    return f"seq {asked_seq:,}" + (f"–{at_seq:,}" if at_seq > asked_seq else "")


def no_mark_message(by: int) -> str:
    """Return the message that there is no further mark."""
    return fill_keys(
        "no mark before this moment; <minute before:{> goes back by a minute"
        if by < 0
        else "no mark after this moment; <live:L> goes back to live"
    )


def rate_of(recent: Sequence[Entry], at_ms: int) -> float:
    """Return the rate of events per second before a moment.

    Args:
        recent: Events up to that moment, the newest last.
        at_ms: Its time.
    """
    count, first_ms = 0, at_ms - RATE_MS
    for entry in reversed(recent):
        if entry.at_ms <= first_ms:
            break
        count += 1
    else:  # `recent` covers less than the period
        first_ms = recent[0].at_ms if len(recent) > 1 else first_ms
    return count * 1_000 / max(1_000, at_ms - first_ms)
