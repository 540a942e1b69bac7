"""How long an agent worked on each of its last tasks, as a plot with a mark where it was swapped. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dashboard.views.drawing.lines import Line, Span
from dashboard.views.drawing.plots import axis_top, plot
from dashboard.views.event_log import Entry
from dashboard.views.words.amounts import duration, median
from engine.core.events import AgentSwapped, AttemptDone, StepRecorded, SwapRolledBack
from engine.core.state import DURATIONS, Agent

SWAPPED = "◆"
_TONES = ("busy-before", "busy-before", "busy")
_MOST = 8
"""Samples of a task at most; two of them take a cell."""


class Swap(NamedTuple):
    """A swap between two tasks, or a rollback."""

    place: int
    """How many of the times are from before it."""
    generation: int


class Times(NamedTuple):
    """Milliseconds of the last tasks or turns, the oldest first."""

    ms: Sequence[int]
    swaps: Sequence[Swap] = ()


def times_of(agent: Agent, entries: Iterable[Entry]) -> Times:
    """Return the times of the last tasks of an agent; `entries` are its events, the oldest first."""
    known: list[int] = []
    swaps: list[Swap] = []
    for entry in entries:
        event = entry.event
        if isinstance(event, AttemptDone) and event.agent_id == agent.id:
            known.append(event.usage.time_ms)
        elif isinstance(event, AgentSwapped | SwapRolledBack) and event.agent_id == agent.id:
            swaps.append(Swap(len(known), event.generation))
    if len(known) > len(agent.at_work_ms):
        return Times(known, swaps)
    earlier = len(agent.at_work_ms) - len(known)  # whose events were not read
    return Times(agent.at_work_ms, [one._replace(place=one.place + earlier) for one in swaps])


def turns_among(steps: Iterable[Entry]) -> Times:
    """Return the times of the turns of a model."""
    found = (one.event for one in steps)
    return Times([one.duration_ms for one in found if isinstance(one, StepRecorded) and one.what == "model"])


def before_and_after(times: Times) -> str:
    """Return the medians before and after the last swap that has tasks on both sides, such as `59 ms ◆ 10 ms`."""
    for at in reversed(range(len(times.swaps))):
        begin = times.swaps[at - 1].place if at else 0
        end = times.swaps[at + 1].place if at + 1 < len(times.swaps) else len(times.ms)
        before, after = times.ms[begin : times.swaps[at].place], times.ms[times.swaps[at].place : end]
        if before and after:
            return f"{duration(median(list(before)))} {SWAPPED} {duration(median(list(after)))}"
    return ""


def told_of(times: Times) -> str:
    """Return the median of the times, as every screen says it, and how a swap changed it."""
    if not times.ms:
        return ""
    changed = before_and_after(times)
    middle = f"p50 {duration(median([*times.ms[-DURATIONS:]]))}"
    return f"{middle} · {changed}" if changed else middle


def times_plot(times: Times, width: int, height: int) -> list[Line]:
    """Return the times as bars, the newest at the right, with a line of marks above them where there was a swap."""
    if height < 2 or not times.ms:
        return []
    top = axis_top(max(times.ms))
    labels = [duration(top), duration(top / 2), "0"] if height > 3 else [duration(top), "0"]
    axis = max(map(len, labels)) + 2
    room = 2 * max(1, width - axis)
    shown = list(times.ms[-room:])
    each = max(1, min(_MOST, room // len(shown)))
    gap = 1 if each > 2 else 0
    bars = [value for ms in shown for value in (*[float(ms)] * (each - gap), *[-1.0] * gap)]
    first = len(times.ms) - len(shown)
    ends = [
        (room - each * (len(shown) - (one.place - first)), one.generation) for one in times.swaps if one.place >= first
    ]
    marks = _marks([(min(place, room - 1) // 2, generation) for place, generation in ends], room // 2)
    above = [Line((Span(" " * axis), Span(marks, "accent")))] if marks and width > axis else []
    return [*above, *plot(bars, width, height - len(above), top=top, labels=labels, tones=_TONES)]


def _marks(places: Sequence[tuple[int, int]], room: int) -> str:
    """Return marks with their generations in a line; of those that would cover each other the later stays whole."""
    line = ""
    for place, generation in places:
        sign = f"{SWAPPED}g{generation}"
        sign = sign if len(sign) <= room else SWAPPED
        at = place if place + len(sign) <= room else max(0, place - len(sign) + 1)
        sign = sign if at == place else f"{sign[1:]}{SWAPPED}"  # the mark itself stays where it belongs
        line = f"{line[:at]:<{at}}{sign}"
    return line
