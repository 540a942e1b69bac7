"""The times of an agent's last tasks, as a plot with marks at swaps. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dashboard.views.drawing.lines import Line, Span
from dashboard.views.drawing.plots import axis_top, plot
from dashboard.views.event_log import Entry
from dashboard.views.words.amounts import duration
from engine.core.events import AgentSwapped, AttemptDone, StepRecorded, SwapRolledBack
from engine.core.queries.team.figures import median
from engine.core.state import MAX_DURATIONS, Agent

SWAP_MARK = "◆"
_TONES = ("busy-before", "busy-before", "busy")
_MAX_SAMPLES = 8
"""Maximum samples of a task; two per cell."""


class SwapMark(NamedTuple):
    """A swap between two tasks, or a rollback."""

    place: int
    """Number of times before it."""
    generation: int


class Times(NamedTuple):
    """Milliseconds of the last tasks or turns, the oldest first."""

    ms: Sequence[int]
    swaps: Sequence[SwapMark] = ()


def times_of(agent: Agent, entries: Iterable[Entry]) -> Times:
    """Return the times of the last tasks of an agent; `entries` are its events, the oldest first."""
    times_ms: list[int] = []
    swaps: list[SwapMark] = []
    for entry in entries:
        event = entry.event
        if isinstance(event, AttemptDone) and event.agent_id == agent.id:
            times_ms.append(event.usage.time_ms)
        elif isinstance(event, AgentSwapped | SwapRolledBack) and event.agent_id == agent.id:
            swaps.append(SwapMark(len(times_ms), event.generation))
    if len(times_ms) > len(agent.at_work_ms):
        return Times(times_ms, swaps)
    earlier = len(agent.at_work_ms) - len(times_ms)  # tasks whose events were not read
    return Times(agent.at_work_ms, [swap._replace(place=swap.place + earlier) for swap in swaps])


def turn_times(steps: Iterable[Entry]) -> Times:
    """Return the times of the turns of a model."""
    events = (step.event for step in steps)
    return Times([event.duration_ms for event in events if isinstance(event, StepRecorded) and event.what == "model"])


def split_by_swap(times: Times, index: int = -1) -> tuple[list[int], list[int]]:
    """Return the times between the swap before one and that one, and those between it and the next swap."""
    places = [0, *(swap.place for swap in times.swaps), len(times.ms)]
    at = range(1, len(places) - 1)[index]
    return list(times.ms[places[at - 1] : places[at]]), list(times.ms[places[at] : places[at + 1]])


def medians_around_swap(times: Times) -> str:
    """Return the medians before and after the last swap that has tasks on both sides, such as `59 ms ◆ 10 ms`."""
    for index in reversed(range(len(times.swaps))):
        before, after = split_by_swap(times, index)
        if before and after:
            return f"{duration(median(before))} {SWAP_MARK} {duration(median(after))}"
    return ""


def describe_times(times: Times) -> str:
    """Return the median of the times, and the medians around the last swap."""
    if not times.ms:
        return ""
    changed = medians_around_swap(times)
    middle = f"p50 {duration(median([*times.ms[-MAX_DURATIONS:]]))}"
    return f"{middle} · {changed}" if changed else middle


def times_plot(times: Times, width: int, height: int) -> list[Line]:
    """Return the times as bars, the newest at the right, below a line of marks for swaps."""
    if height < 2 or not times.ms:
        return []
    top = axis_top(max(times.ms))
    labels = [duration(top), duration(top / 2), "0"] if height > 3 else [duration(top), "0"]
    axis = max(map(len, labels)) + 2
    room = 2 * max(1, width - axis)
    visible_ms = list(times.ms[-room:])
    each = max(1, min(_MAX_SAMPLES, room // len(visible_ms)))
    gap = 1 if each > 2 else 0
    bars = [value for ms in visible_ms for value in (*[float(ms)] * (each - gap), *[-1.0] * gap)]
    first = len(times.ms) - len(visible_ms)
    ends = [
        (room - each * (len(visible_ms) - (swap.place - first)), swap.generation)
        for swap in times.swaps
        if swap.place >= first
    ]
    marks = _marks([(min(place, room - 1) // 2, generation) for place, generation in ends], room // 2)
    mark_lines = [Line((Span(" " * axis), Span(marks, "accent")))] if marks and width > axis else []
    return [*mark_lines, *plot(bars, width, height - len(mark_lines), top=top, labels=labels, tones=_TONES)]


def _marks(places: Sequence[tuple[int, int]], room: int) -> str:
    """Return marks with their generations in a line; where they overlap, the later one is complete."""
    line = ""
    for place, generation in places:
        sign = f"{SWAP_MARK}g{generation}"
        sign = sign if len(sign) <= room else SWAP_MARK
        at = place if place + len(sign) <= room else max(0, place - len(sign) + 1)
        sign = sign if at == place else f"{sign[1:]}{SWAP_MARK}"  # the mark itself keeps its place
        line = f"{line[:at]:<{at}}{sign}"
    return line
